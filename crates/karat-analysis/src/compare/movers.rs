//! The samples that got better and worse, with both scores and on demand both outputs.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;

use karat_types::{Better, RunRows};
use serde::Serialize;
use serde_json::Value;

use super::matching::{Matching, MetricPair};
use super::{CompareOptions, RunComparison, is_zero};
use crate::AnalysisError;
use crate::figures::groups::system_id;
use crate::score::instrument::metric_names::primary_metric;

/// Characters kept of an output.
const OUTPUT_CHARS: usize = 2_000;

/// A sample whose score differs between the sides, under one pair of systems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mover {
    /// The sample.
    pub sample: String,
    /// The candidate's system.
    pub system: String,
    /// The baseline's score.
    pub baseline: f64,
    /// The candidate's score.
    pub candidate: f64,
    /// Both outputs, once [`add_outputs`] has read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<BothOutputs>,
    /// Indices of both systems.
    #[serde(skip)]
    pair: (usize, usize),
}

/// The outputs of a sample on both sides, of the first trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct BothOutputs {
    /// The baseline's output; `None` if it has none.
    pub baseline: Option<CutOutput>,
    /// The candidate's output; `None` if it has none.
    pub candidate: Option<CutOutput>,
}

/// An output as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CutOutput {
    /// The first 2,000 characters: a text as it is, anything else as JSON.
    pub text: String,
    /// Number of characters that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u64,
}

impl CutOutput {
    fn of(output: Value) -> Self {
        let text = match output {
            Value::String(text) => text,
            other => other.to_string(),
        };
        match text.char_indices().nth(OUTPUT_CHARS) {
            None => Self { text, cut: 0 },
            Some((end, _)) => {
                let (kept, rest) = text.split_at(end);
                Self { text: kept.to_owned(), cut: rest.chars().count() as u64 }
            }
        }
    }
}

/// The movers of one metric. A sample counts once for each pair of systems.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Movers {
    /// The metric.
    pub metric: String,
    /// Number of samples that got better.
    pub n_better: u64,
    /// Number of samples that got worse.
    pub n_worse: u64,
    /// Number of samples with the same score.
    pub n_same: u64,
    /// The largest improvements, largest first, ties in plan order.
    pub better: Vec<Mover>,
    /// The largest losses, largest first, ties in plan order.
    pub worse: Vec<Mover>,
}

/// A candidate for the list: ordered by the size of its change, then by its position in the plan, the first on top.
#[derive(PartialEq)]
struct Ranked {
    change: f64,
    position: usize,
    mover: Change,
}

/// A change by position: ids are only looked up for those that are shown.
#[derive(Clone, Copy, PartialEq)]
struct Change {
    sample: usize,
    pair: (usize, usize),
    scores: (f64, f64),
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.change.total_cmp(&other.change).then_with(|| other.position.cmp(&self.position))
    }
}

/// The largest changes so far: never more than `limit`.
struct Largest {
    limit: usize,
    /// The smallest of them on top.
    kept: BinaryHeap<Reverse<Ranked>>,
}

impl Largest {
    fn new(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::new() }
    }

    fn offer(&mut self, it: Ranked) {
        self.kept.push(Reverse(it));
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// Returns the largest change first.
    fn into_changes(self) -> Vec<Change> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse(it)| it.mover).collect()
    }
}

/// The movers of each metric, the primary metric first. Metrics of time and price always move, so they are left out unless
/// metrics were chosen.
pub(super) fn movers(matching: &Matching<'_>, metrics: &[MetricPair<'_>], options: &CompareOptions) -> Vec<Movers> {
    let plan = &matching.candidate.findings.plan;
    let primary = primary_metric(plan).and_then(|at| plan.metrics.get(at)).map(|it| it.name.as_str());
    let is_shown = |metric: &&MetricPair<'_>| !metric.spec().volatile || !options.metrics.is_empty();
    let mut shown: Vec<&MetricPair<'_>> = metrics.iter().filter(is_shown).collect();
    shown.sort_by_key(|metric| primary != Some(metric.spec().name.as_str()));
    shown.into_iter().map(|metric| movers_of(matching, *metric, options.movers)).collect()
}

fn movers_of(matching: &Matching<'_>, metric: MetricPair<'_>, limit: usize) -> Movers {
    let (mut up, mut down) = (Largest::new(limit), Largest::new(limit));
    let (mut n_better, mut n_worse, mut n_same, mut position) = (0, 0, 0, 0);
    let sign = if metric.spec().better == Better::Higher { 1.0 } else { -1.0 };
    matching.each_change(metric, &mut |sample, pair, (before, after)| {
        let gain = sign * (after - before);
        let ranked =
            Ranked { change: rank_size(gain.abs()), position, mover: Change { sample, pair, scores: (before, after) } };
        position += 1;
        if gain > 0.0 {
            n_better += 1;
            up.offer(ranked);
        } else if gain < 0.0 {
            n_worse += 1;
            down.offer(ranked);
        } else {
            n_same += 1;
        }
    });
    let named = |it: Change| Mover {
        sample: matching.candidate.findings.sample_id(it.sample).to_owned(),
        system: system_id(&matching.candidate.findings.plan, it.pair.1),
        baseline: it.scores.0,
        candidate: it.scores.1,
        outputs: None,
        pair: it.pair,
    };
    Movers {
        metric: metric.spec().name.clone(),
        n_better,
        n_worse,
        n_same,
        better: up.into_changes().into_iter().map(named).collect(),
        worse: down.into_changes().into_iter().map(named).collect(),
    }
}

/// A change without its rounding error, so that equal changes are ties.
fn rank_size(change: f64) -> f64 {
    (change * 1e9).round()
}

/// Reads the outputs of all movers of a comparison, of the first trial of each. Keeps at most 2,000 characters each.
///
/// # Errors
/// Rows that cannot be read.
pub fn add_outputs(
    compared: &mut RunComparison,
    baseline: &dyn RunRows,
    candidate: &dyn RunRows,
) -> Result<(), AnalysisError> {
    let all = |compared: &RunComparison| -> Vec<(String, (usize, usize))> {
        let lists = compared.movers.iter().flat_map(|it| it.better.iter().chain(&it.worse));
        lists.map(|it| (it.sample.clone(), it.pair)).collect()
    };
    let wanted = all(compared);
    let before = outputs(baseline, wanted.iter().map(|(sample, pair)| (sample.clone(), pair.0)))?;
    let after = outputs(candidate, wanted.iter().map(|(sample, pair)| (sample.clone(), pair.1)))?;
    for movers in &mut compared.movers {
        for it in movers.better.iter_mut().chain(&mut movers.worse) {
            it.outputs = Some(BothOutputs {
                baseline: before.get(&(it.sample.clone(), it.pair.0)).cloned().flatten(),
                candidate: after.get(&(it.sample.clone(), it.pair.1)).cloned().flatten(),
            });
        }
    }
    Ok(())
}

/// Outputs by sample and system.
type Outputs = BTreeMap<(String, usize), Option<CutOutput>>;

fn outputs(rows: &dyn RunRows, wanted: impl Iterator<Item = (String, usize)>) -> Result<Outputs, AnalysisError> {
    let failed = |source| AnalysisError::Rows { run: rows.header().id.clone(), source };
    let mut ordinals: BTreeMap<(String, usize), Option<u64>> = wanted.map(|it| (it, None)).collect();
    let mut open = ordinals.len();
    let read = rows.for_each(&mut |row| {
        if open == 0 {
            return ControlFlow::Break(());
        }
        if row.trial == 0
            && let Some(ordinal) = ordinals.get_mut(&(row.sample.id.clone(), row.system))
        {
            *ordinal = Some(row.cell.ordinal);
            open -= 1;
        }
        ControlFlow::Continue(())
    });
    read.map_err(failed)?;
    let mut outputs = Outputs::new();
    for (cell, ordinal) in ordinals {
        let output = ordinal.map(|ordinal| rows.output(ordinal)).transpose().map_err(failed)?.flatten();
        outputs.insert(cell, output.map(CutOutput::of));
    }
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Side, compare};
    use crate::testing::Sketch;
    use crate::{Options, analyse};
    use serde_json::json;

    fn compared(movers: usize, better: &str) -> (RunComparison, [crate::testing::MemoryRun; 2]) {
        let values = [3.0, -1.0, 0.0, 2.0, -4.0, 3.0, 0.0, -1.0];
        let base = Sketch::new(1, 1, values.len()).metric("better", json!(better));
        let run = |of: fn(f64) -> f64| {
            let sketch = values.iter().enumerate().fold(base.clone(), |it, (at, value)| it.value(at, 0, of(*value)));
            let mut run = sketch.run();
            run.outputs = (0..values.len() as u64).map(|at| (at, json!(format!("{at} ").repeat(1_500)))).collect();
            run
        };
        let (before, after) = (run(|_| 5.0), run(|value| 5.0 + value));
        let (old, new) =
            (analyse(&before, &Options::default()).unwrap(), analyse(&after, &Options::default()).unwrap());
        let side = |label, findings| Side::of(label, findings, None, None).unwrap();
        let options = CompareOptions { movers, ..CompareOptions::default() };
        (compare(&side("before", &old), &side("after", &new), &options).unwrap(), [before, after])
    }

    fn ids(movers: &[Mover]) -> Vec<(&str, f64)> {
        movers.iter().map(|it| (it.sample.as_str(), it.candidate - it.baseline)).collect()
    }

    /// C5: the largest changes are listed, all are counted, and ties keep the plan's order.
    #[test]
    fn the_largest_changes_are_listed() {
        let (found, _) = compared(2, "higher");
        let [movers] = found.movers.as_slice() else { panic!("{:?}", found.movers) };
        assert_eq!((movers.n_better, movers.n_worse, movers.n_same), (3, 3, 2));
        assert_eq!(ids(&movers.better), [("sample-0", 3.0), ("sample-5", 3.0)]);
        assert_eq!(ids(&movers.worse), [("sample-4", -4.0), ("sample-1", -1.0)]);
    }

    /// C5: where lower is better, a lower score is an improvement.
    #[test]
    fn the_direction_of_a_metric_decides() {
        let (found, _) = compared(10, "lower");
        assert_eq!(ids(&found.movers[0].better)[0], ("sample-4", -4.0));
        assert_eq!(found.movers[0].worse.len(), 3);
    }

    /// C5: no movers may be asked for; they are still counted.
    #[test]
    fn no_list_is_allowed() {
        let (found, _) = compared(0, "higher");
        assert!(found.movers[0].better.is_empty() && found.movers[0].n_better == 3);
    }

    /// C5: both outputs are read for listed movers only, and cut.
    #[test]
    fn outputs_are_read_and_cut() {
        let (mut found, [before, mut after]) = compared(1, "higher");
        after.outputs.insert(0, json!({ "answer": 4 }));
        add_outputs(&mut found, &before, &after).unwrap();
        let outputs = found.movers[0].better[0].outputs.clone().unwrap();
        assert_eq!(outputs.candidate.unwrap(), CutOutput { text: "{\"answer\":4}".to_owned(), cut: 0 });
        let old = outputs.baseline.unwrap();
        assert_eq!((old.text.chars().count(), old.cut), (OUTPUT_CHARS, 1_000));
    }
}
