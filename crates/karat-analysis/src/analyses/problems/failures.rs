//! `failures`: cells below a threshold in any dimension, worst first.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use karat_text::path::{Path, PathError};
use karat_types::{AnalysisSpec, Better, MetricSpec, PlanHeader, SampleText, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::categories::{Categories, FailureCategory};
use super::shortfall::Shortfall;
use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, excerpt, options, options_error};
use crate::figures::groups::system_id;
use crate::score::instrument::metric_names::matches_pattern;

/// Without `below`, a score in the worst 40 % of its metric's range is a failure: below 4 on 0 to 10.
const SHARE: f64 = 0.4;

/// Options of `failures`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FailuresOptions {
    /// Threshold by metric, in its own unit; a name may end in `*`. A metric for which lower is better fails above it.
    pub below: BTreeMap<String, f64>,
    /// Number of samples listed in addition to the examples, and number of metrics listed.
    pub top: usize,
    /// Number of examples listed for each of these metrics.
    pub examples: usize,
    /// Paths into the output: the parts shown of an example.
    pub show: Vec<String>,
}

impl Default for FailuresOptions {
    fn default() -> Self {
        Self { below: BTreeMap::new(), top: 20, examples: 3, show: Vec::new() }
    }
}

/// The worst failing cell of a sample and system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// The cell's place in the plan.
    pub ordinal: u64,
    /// The sample.
    pub sample: String,
    /// The system.
    pub system: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// Its shortfalls, worst first.
    pub shortfalls: Vec<Shortfall>,
    /// The reason given by the scorer or a judge for the worst of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The reference that the output is compared with, cut to 240 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Parts of the output by path, cut to 240 characters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub shown: BTreeMap<String, String>,
    /// Distance of the worst score from its threshold, relative to the largest possible one.
    #[serde(skip)]
    severity: f64,
}

/// Cells below a threshold.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Failures {
    /// The thresholds used, by metric.
    pub below: BTreeMap<String, f64>,
    /// Number of cells with a score beyond its threshold.
    pub cells: u64,
    /// Number of cells with an output and a score.
    pub of: u64,
    /// The worst cells and the examples of the categories, one per sample and system, worst first.
    pub worst: Vec<Failure>,
    /// The metrics with the most failing cells.
    pub categories: Vec<FailureCategory>,
}

struct FailuresFold {
    plan: Arc<PlanHeader>,
    thresholds: Vec<Option<f64>>,
    top: usize,
    found: Failures,
    categories: Categories,
    examples: Vec<Failure>,
    /// The severity that a later cell must exceed to be kept, once enough are kept.
    floor: Option<f64>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: FailuresOptions = options(spec)?;
    let unknown = |pattern: &&String| !plan.metrics.iter().any(|metric| matches_pattern(pattern, &metric.name));
    if let Some(pattern) = options.below.keys().find(unknown) {
        return Err(options_error(spec, format!("below: {pattern:?} is not a metric of this suite")));
    }
    let show = options.show.iter().map(|text| Ok((text.clone(), Path::parse(text)?)));
    let show = show.collect::<Result<_, PathError>>().map_err(|error| options_error(spec, format!("show: {error}")))?;
    let thresholds: Vec<Option<f64>> = plan.metrics.iter().map(|metric| threshold(metric, &options)).collect();
    let below = plan.metrics.iter().zip(&thresholds);
    let below = below.filter_map(|(metric, limit)| Some((metric.name.clone(), (*limit)?))).collect();
    Ok(Some(Box::new(FailuresFold {
        plan: plan.clone(),
        thresholds,
        top: options.top,
        found: Failures { below, ..Failures::default() },
        categories: Categories::new(plan, options.examples, show),
        examples: Vec::new(),
        floor: None,
    })))
}

/// The threshold of the longest matching pattern; without patterns, the share of the range.
fn threshold(metric: &MetricSpec, options: &FailuresOptions) -> Option<f64> {
    if !options.below.is_empty() {
        let fitting = options.below.iter().filter(|(pattern, _)| matches_pattern(pattern, &metric.name));
        return fitting.max_by_key(|(pattern, _)| pattern.len()).map(|(_, limit)| *limit);
    }
    let (lo, hi) = metric.range.filter(|_| !metric.volatile)?;
    Some(match metric.better {
        Better::Higher => lo + SHARE * (hi - lo),
        Better::Lower => hi - SHARE * (hi - lo),
    })
}

/// Returns the threshold of each metric of a plan below which a score is a failure; the analysis runs with its own options
/// if the suite does not name it.
pub fn failure_thresholds(plan: &PlanHeader) -> Vec<Option<f64>> {
    let spec = plan.analyses.iter().find(|spec| spec.analysis == "failures");
    let asked: Option<FailuresOptions> =
        spec.map_or_else(|| Some(FailuresOptions::default()), |spec| options(spec).ok());
    plan.metrics.iter().map(|metric| threshold(metric, asked.as_ref()?)).collect()
}

/// Distance of a value beyond its threshold, relative to the largest possible one; `None` if it is not beyond.
pub fn shortfall_severity(metric: &MetricSpec, value: f64, threshold: f64) -> Option<f64> {
    let (beyond, worst) = match metric.better {
        Better::Higher => (threshold - value, metric.range.map(|(lo, _)| threshold - lo)),
        Better::Lower => (value - threshold, metric.range.map(|(_, hi)| hi - threshold)),
    };
    let scale = worst.filter(|room| *room > 0.0).unwrap_or(1.0);
    (beyond > 0.0).then_some(beyond / scale)
}

impl FailuresFold {
    fn keep_worst(&mut self) {
        self.found.worst = worst_per_sample(std::mem::take(&mut self.found.worst));
        self.found.worst.truncate(self.top);
        let last = self.found.worst.last().filter(|_| self.found.worst.len() == self.top);
        self.floor = last.map(|last| last.severity);
    }

    fn shortfalls(&self, cell: &ScoredCell<'_>) -> Vec<(f64, usize, Shortfall)> {
        let metrics = self.plan.metrics.iter().zip(&self.thresholds).enumerate();
        let mut found: Vec<_> = metrics
            .filter_map(|(at, (metric, limit))| {
                let (value, threshold) = (cell.scores.number(at)?, (*limit)?);
                let severity = shortfall_severity(metric, value, threshold)?;
                let shortfall =
                    Shortfall { metric: metric.name.clone(), value, threshold, why: shortfall_reason(cell, at) };
                Some((severity, at, shortfall))
            })
            .collect();
        found.sort_by(|(a, at, _), (b, bt, _)| b.total_cmp(a).then(at.cmp(bt)));
        found
    }
}

/// The worst cell of each sample and system, worst first, ties in plan order.
fn worst_per_sample(mut failures: Vec<Failure>) -> Vec<Failure> {
    failures.sort_by(|a, b| b.severity.total_cmp(&a.severity).then(a.ordinal.cmp(&b.ordinal)));
    let mut seen = HashSet::new();
    failures.retain(|failure| seen.insert((failure.sample.clone(), failure.system.clone())));
    failures
}

/// The score's own reason, else the first judge's reasoning.
fn shortfall_reason(cell: &ScoredCell<'_>, metric: usize) -> Option<String> {
    let reason = match cell.scores.scores.get(metric)?.as_ref()? {
        Score::Value { reason, .. } => reason.as_deref(),
        _ => None,
    };
    let reasoning = || cell.row.judgments.iter().map(|it| it.reasoning.as_str()).find(|text| !text.is_empty());
    reason.or_else(reasoning).map(|text| excerpt(text, 240))
}

impl Analysis for FailuresFold {
    fn wants_output(&self) -> bool {
        self.categories.wants_output()
    }

    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        self.found.of += u64::from((0..self.plan.metrics.len()).any(|at| cell.scores.number(at).is_some()));
        let shortfalls = self.shortfalls(cell);
        let is_example = self.categories.add_cell(&self.plan, cell, &shortfalls);
        let Some((severity, _, worst)) = shortfalls.first() else { return };
        self.found.cells += 1;
        // Cells come in plan order, so an equally bad one ranks after those that are kept.
        if !is_example && self.floor.is_some_and(|floor| *severity <= floor) {
            return;
        }
        let failure = Failure {
            ordinal: cell.row.cell.ordinal,
            sample: cell.row.sample.id.clone(),
            system: system_id(&self.plan, cell.row.system),
            trial: cell.row.trial,
            why: worst.why.clone(),
            expected: SampleText::expected_text(&cell.row.sample.texts).map(|text| excerpt(&text, 240)),
            shown: self.categories.shown_parts(cell.output),
            severity: *severity,
            shortfalls: shortfalls.into_iter().map(|(_, _, shortfall)| shortfall).collect(),
        };
        self.examples.extend(is_example.then(|| failure.clone()));
        self.found.worst.push(failure);
        if self.found.worst.len() >= 2 * self.top.max(1) {
            self.keep_worst();
        }
    }

    fn finish(mut self: Box<Self>, _: &FinishContext<'_>) -> Outcome {
        self.keep_worst();
        self.found.categories = self.categories.top(self.top);
        self.found.worst.append(&mut self.examples);
        self.found.worst = worst_per_sample(self.found.worst);
        Outcome::Failures(self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, worst_per_sample};
    use crate::testing::Sketch;
    use crate::{AnalysisError, Options, analyse};
    use serde_json::json;

    /// CL-19: a cell with any dimension below 4 of 10 fails; 4 itself does not.
    #[test]
    fn a_score_below_four_of_ten_is_a_failure() {
        let run = Sketch::new(1, 1, 4).value(0, 0, 4.0).value(1, 0, 3.9).value(2, 0, 0.5).value(3, 0, 9.0).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let failures = findings.failures().unwrap();
        assert_eq!((failures.cells, failures.of), (2, 4));
        let samples: Vec<&str> = failures.worst.iter().map(|failure| failure.sample.as_str()).collect();
        assert_eq!(samples, ["sample-2", "sample-1"]);
        assert_eq!(failures.below.get("quality.overall"), Some(&4.0));
    }

    /// RG-10: metrics with the most failing cells come first, with examples.
    #[test]
    fn failures_have_categories_with_examples() {
        let sketch = Sketch::new(1, 1, 5).value(0, 0, 1.0).value(1, 0, 2.0).value(2, 0, 3.0).value(3, 0, 9.0);
        let run = sketch.analysis("failures", "failures", json!({"below": {"*": 5}, "examples": 2})).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let categories = &findings.failures().unwrap().categories;
        assert_eq!(categories.len(), 1);
        assert_eq!((categories[0].cells, categories[0].of, categories[0].examples.len()), (3, 4, 2));
        assert_eq!((categories[0].examples[0].sample.as_str(), categories[0].examples[0].value), ("sample-0", 1.0));
        let listed: Vec<&str> = findings.failures().unwrap().worst.iter().map(|it| it.sample.as_str()).collect();
        assert_eq!(listed, ["sample-0", "sample-1", "sample-2"]);
        let broken = json!({"show": ["$.a["]});
        let refused =
            analyse(&Sketch::new(1, 1, 1).fill(1.0).analysis("failures", "f", broken).run(), &Options::default());
        assert!(matches!(refused, Err(AnalysisError::Options { .. })));
    }

    /// RG-10: the worst of many failures are listed, ties in plan order.
    #[test]
    fn the_worst_of_many_are_listed() {
        let values: Vec<f64> = (0..200).map(|at| f64::from((at * 37 + 11) % 40) / 10.0).collect();
        let sketch = Sketch::new(1, 1, values.len()).analysis("failures", "failures", json!({"top": 7, "examples": 0}));
        let run = values.iter().enumerate().fold(sketch, |sketch, (at, value)| sketch.value(at, 0, *value)).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let failures = findings.failures().unwrap();
        let mut worst: Vec<usize> = (0..values.len()).collect();
        worst.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let listed: Vec<u64> = failures.worst.iter().map(|failure| failure.ordinal).collect();
        assert_eq!((failures.cells, failures.of), (200, 200));
        assert_eq!(listed, worst[..7].iter().map(|at| *at as u64).collect::<Vec<_>>());
    }

    /// RG-10: a sample that fails in several metrics or trials is listed once, with all shortfalls, and the examples of
    /// every category are always listed.
    #[test]
    fn a_sample_is_listed_once() {
        let run =
            Sketch::new(1, 1, 4).fill(1.0).analysis("failures", "failures", json!({"top": 1, "examples": 2})).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let failures = findings.failures().unwrap();
        let listed: Vec<&str> = failures.worst.iter().map(|it| it.sample.as_str()).collect();
        assert_eq!((failures.cells, listed), (4, vec!["sample-0", "sample-1"]));
        let twice = Failure { severity: 2.0, trial: 1, ..failures.worst[1].clone() };
        let of_trials = worst_per_sample(failures.worst.iter().cloned().chain([twice]).collect());
        let trials: Vec<(&str, u32)> = of_trials.iter().map(|it| (it.sample.as_str(), it.trial)).collect();
        assert_eq!(trials, [("sample-1", 1), ("sample-0", 0)]);
    }

    #[test]
    fn thresholds_are_options_and_name_known_metrics() {
        let with =
            |options: serde_json::Value| Sketch::new(1, 1, 2).fill(5.0).analysis("failures", "failures", options).run();
        let findings = analyse(&with(json!({"below": {"quality.*": 6}})), &Options::default()).unwrap();
        assert_eq!(findings.failures().unwrap().cells, 2);
        let refused = analyse(&with(json!({"below": {"qualty.*": 6}})), &Options::default());
        assert!(matches!(refused, Err(AnalysisError::Options { .. })));
    }
}
