//! `human_anchor`: estimates the mean grade of people for all outputs, from a judge's grades of all and people's labels
//! of a few (BY-03).
//!
//! | method | estimate | for |
//! |---|---|---|
//! | `ppi++` (default) | λ·mean(judge) + mean(human − λ·judge), λ tuned | labels of a random subset of the same outputs |
//! | `ppi` | the same with λ = 1 | as above, with a judge known to be good |
//! | `human` | mean(human) | to see the contribution of the judge |
//! | `rogan_gladen` | (p + q₀ − 1) ÷ (q₀ + q₁ − 1) | pass/fail, with labels chosen by verdict |
//!
//! Labels are those of the scorer's file, and those that people settled in closed tasks. An output that both have counts
//! once, as in the file. Labels shown to the judge as examples are left out, because it knows their answers, and so are
//! labels of another version of the rubric and those of tasks whose items were chosen as hard ones. If the dataset names
//! clusters, the interval is cluster-robust.
//!
//! Every scorer with labels is anchored, whether the suite lists the analysis or not (HU-40).
//!
//! This file matches labels and grades; `estimators` makes figures of both, in the form of `outcome`.

mod estimators;
pub(in crate::analyses) mod outcome;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_stats::describe::mean;
use karat_types::{AnalysisSpec, CellStatus, Key, Label, PlanHeader, ScorerKind, all_drawn_examples, output_key};
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::figures::finding::Finding;
use crate::figures::groups::system_id;
use crate::infer::measure::Measure;
use crate::score::labels::{grades, is_about};
use crate::score::observations::{Aggregate, Observations};
use crate::score::people::{PeopleTask, UnusedTask, tasks_of};
use estimators::{AnchorSamples, corrected_rate, labels_needed, prediction_powered};
use outcome::{AnchorMethod, AnchoredFigure, AnchoringTask, HumanAnchor, HumanAnchorOptions};

/// Sums of labels and grades of one sample × system, over trials and annotators.
#[derive(Debug, Clone, Copy, Default)]
struct LabelledSums {
    human: f64,
    judge: f64,
    n: f64,
}

/// The wanted width of an interval, as a share of the metric's range, where the suite states none.
const USUAL_WIDTH: f64 = 0.1;

const MS_PER_MINUTE: u64 = 60_000;

struct HumanAnchorFold {
    options: HumanAnchorOptions,
    plan: Arc<PlanHeader>,
    scorer: usize,
    labels: Vec<Label>,
    used: Vec<bool>,
    all: u64,
    shown: u64,
    other_version: u64,
    targeted: u64,
    tasks: Vec<AnchoringTask>,
    /// Sample and output of the labels that a judge is shown.
    examples: BTreeSet<(String, Key)>,
    /// Milliseconds of people's time for each settled label.
    ms_per_label: Option<u64>,
    /// Positions in `labels`.
    by_sample: BTreeMap<String, Vec<usize>>,
    /// By metric, system and sample.
    seen: BTreeMap<(usize, usize, usize), LabelledSums>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: HumanAnchorOptions = options(spec)?;
    let at = plan.scorers.iter().position(|it| it.id == options.scorer);
    let Some((scorer, ScorerKind::Rubric(rubric))) = at.and_then(|at| Some((at, &plan.scorers.get(at)?.kind))) else {
        return Err(options_error(
            spec,
            format!("scorer: {:?} is not a scorer with judges in this suite", options.scorer),
        ));
    };
    if options.width.is_some_and(|width| !(width > 0.0 && width.is_finite())) {
        return Err(options_error(spec, "width must be above 0"));
    }
    let shown = all_drawn_examples(&rubric.labels, rubric.rubric.examples as usize, plan.run.seed);
    let (examples, unseen): (Vec<_>, Vec<_>) = rubric.labels.iter().enumerate().partition(|(at, _)| shown.contains(at));
    let examples = examples.into_iter().filter_map(|(_, row)| place_of(&Label::from_row(row)?)).collect();
    let is_current = |row: &Value| version_of(row).is_none_or(|version| Some(version) == rubric.rubric.version);
    let (current, old): (Vec<_>, Vec<_>) = unseen.into_iter().map(|(_, row)| row).partition(|row| is_current(row));
    let mut fold = HumanAnchorFold {
        plan: plan.clone(),
        scorer,
        used: Vec::new(),
        all: rubric.labels.len() as u64,
        shown: shown.len() as u64,
        other_version: old.len() as u64,
        targeted: 0,
        tasks: Vec::new(),
        examples,
        ms_per_label: None,
        labels: Vec::new(),
        by_sample: BTreeMap::new(),
        options,
        seen: BTreeMap::new(),
    };
    current.into_iter().filter_map(Label::from_row).for_each(|label| fold.add_label(label));
    Ok(Some(Box::new(fold)))
}

/// The sample and output that a label names; `None` if it names no output.
fn place_of(label: &Label) -> Option<(String, Key)> {
    Some((label.sample.clone(), output_key(label.output.as_ref()?)))
}

impl HumanAnchorFold {
    fn add_label(&mut self, label: Label) {
        self.by_sample.entry(label.sample.clone()).or_default().push(self.labels.len());
        self.labels.push(label);
        self.used.push(false);
    }

    /// Adds the labels of a task, but those of outputs that have one already.
    fn add_task(&mut self, task: &PeopleTask, known: &mut BTreeSet<(String, Key)>) {
        let settled = task.labels.len() as u64;
        self.tasks.push(AnchoringTask { task: task.task.clone(), settled, counts: task.unused.is_none() });
        self.all += settled;
        match task.unused {
            Some(UnusedTask::Targeted) => self.targeted += settled,
            Some(UnusedTask::OtherVersion) => self.other_version += settled,
            None => {
                self.ms_per_label = self.ms_per_label.or(task.median_ms.map(|ms| ms * task.places as u64));
                for label in &task.labels {
                    let Some(place) = place_of(label) else { continue };
                    if self.examples.contains(&place) {
                        self.shown += 1;
                    } else if known.insert(place) {
                        self.add_label(label.clone());
                    } else {
                        self.all -= 1;
                    }
                }
            }
        }
    }
}

impl Analysis for HumanAnchorFold {
    fn set_people(&mut self, people: &Arc<[PeopleTask]>) {
        let Some(scorer) = self.plan.scorers.get(self.scorer).map(|it| it.id.clone()) else { return };
        let mut known: BTreeSet<(String, Key)> = self.labels.iter().filter_map(place_of).collect();
        for task in tasks_of(people, &scorer).filter(|task| !task.labels.is_empty()) {
            self.add_task(task, &mut known);
        }
    }

    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if cell.row.cell.status != CellStatus::Ok {
            return;
        }
        let mut said: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for at in self.by_sample.get(&cell.row.sample.id).into_iter().flatten().copied() {
            let label = self.labels.get(at).filter(|label| is_about(&self.plan, &cell.row, label));
            let Some(label) = label else { continue };
            let grades = grades(&self.plan, &[self.scorer], label);
            let known = grades.iter().filter(|(metric, _)| cell.scores.number(*metric).is_some());
            for (metric, grade) in known {
                said.entry(*metric).or_default().push(*grade);
                if let Some(used) = self.used.get_mut(at) {
                    *used = true;
                }
            }
        }
        for (metric, grades) in said {
            let (Some(human), Some(judge)) = (mean(&grades), cell.scores.number(metric)) else { continue };
            let seen = self.seen.entry((metric, cell.row.system, cell.sample)).or_default();
            (seen.human, seen.judge, seen.n) = (seen.human + human, seen.judge + judge, seen.n + 1.0);
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let metrics = self.plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == self.scorer);
        let pairs = metrics.flat_map(|(at, _)| (0..self.plan.systems.len()).map(move |system| (at, system)));
        let figures = pairs.filter_map(|(metric, system)| self.figure(metric, system, context)).collect();
        Outcome::HumanAnchor(HumanAnchor {
            scorer: self.options.scorer.clone(),
            method: self.options.method,
            labels: (self.used.iter().filter(|used| **used).count() as u64, self.all),
            shown_to_judges: self.shown,
            other_version: self.other_version,
            targeted: self.targeted,
            tasks: self.tasks,
            figures,
        })
    }
}

/// The version of the rubric that a row of a labels file names.
fn version_of(row: &Value) -> Option<String> {
    match row.get("version")? {
        Value::String(version) => Some(version.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

impl HumanAnchorFold {
    fn samples(&self, metric: usize, system: usize, context: &FinishContext<'_>) -> AnchorSamples {
        let mut samples = AnchorSamples::default();
        for sample in 0..context.table.samples() {
            let cluster = context.table.cluster(sample);
            if let Some(seen) = self.seen.get(&(metric, system, sample)) {
                samples.human.push(seen.human / seen.n);
                samples.judge.push(seen.judge / seen.n);
                samples.clusters.0.push(cluster);
            } else if let Some(grade) = context.table.shown_value(metric, sample, system) {
                samples.unlabelled.push(grade);
                samples.clusters.1.push(cluster);
            }
        }
        samples
    }

    /// `None` if the judge graded nothing of the system.
    fn figure(&self, metric: usize, system: usize, context: &FinishContext<'_>) -> Option<AnchoredFigure> {
        let (spec, measure) = (self.plan.metrics.get(metric)?, context.measures.get(metric)?);
        let samples = self.samples(metric, system, context);
        let clustered = context.table.is_clustered();
        let plain = |values: &[&[f64]], clusters: &[&[u32]], measure: Measure| {
            let mut observed = Observations { clustered, ..Observations::default() };
            let (values, clusters) = (values.iter().copied().flatten(), clusters.iter().copied().flatten());
            values.zip(clusters).for_each(|(value, cluster)| observed.push(*value, 0, *cluster));
            measure.figure(&observed)
        };
        let own = Measure { aggregate: Aggregate::Mean, bootstrap: None, ..*measure };
        let widest = own.max_change().map(|widest| (-widest, widest));
        let difference = Measure { binary: false, range: widest, ..own };
        let (labelled, others) = (&samples.clusters.0[..], &samples.clusters.1[..]);
        let judge = plain(&[&samples.judge, &samples.unlabelled], &[labelled, others], own)?;
        let off: Vec<f64> = samples.human.iter().zip(&samples.judge).map(|(human, judge)| human - judge).collect();
        let mut figure = AnchoredFigure {
            metric: spec.name.clone(),
            system: system_id(&self.plan, system),
            labelled: samples.human.len() as u64,
            judged: samples.unlabelled.len() as u64,
            judge: Some(judge),
            human: plain(&[&samples.human], &[labelled], own),
            correction: plain(&[&off], &[labelled], difference),
            anchored: None,
            lambda: None,
            worth: None,
            labels_needed: None,
            labels_missing: None,
            minutes_missing: None,
            why: None,
        };
        let outcome = match self.options.method {
            _ if context.table.cascade(metric).is_some_and(|it| it.is_estimated()) => {
                Err("the judges of a cascade grade part of the outputs only, so people's labels cannot anchor them"
                    .to_owned())
            }
            _ if measure.aggregate != Aggregate::Mean => Err("only means are anchored".to_owned()),
            _ if samples.human.len() < 2 => {
                Err(format!("at least two labels are needed, but only {} match", samples.human.len()))
            }
            AnchorMethod::RoganGladen => {
                corrected_rate(&samples, clustered, measure.level).map(|it| figure.anchored = it)
            }
            method => prediction_powered(&samples, method, clustered, measure.level)
                .map(|found| found.write(&samples, &mut figure)),
        };
        figure.why = outcome.err();
        let wanted = self.options.width.or_else(|| spec.range.map(|(lo, hi)| USUAL_WIDTH * (hi - lo)));
        let needed = wanted.and_then(|width| labels_needed(&samples, width, measure.level));
        figure.labels_needed = needed.filter(|_| self.options.width.is_some());
        // The formula plans for the average sample: what the interval has already reached needs no label.
        let is_wide = |it: &Finding| it.interval().zip(wanted).is_none_or(|((lo, hi), width)| hi - lo > width);
        let is_wide = figure.anchored.as_ref().is_none_or(is_wide);
        let missing = needed.map(|(with, _)| with.saturating_sub(figure.labelled).max(1)).filter(|_| is_wide);
        figure.labels_missing = missing;
        let minutes = |(labels, ms): (u64, u64)| labels.saturating_mul(ms).div_ceil(MS_PER_MINUTE);
        figure.minutes_missing = missing.zip(self.ms_per_label).map(minutes);
        Some(figure)
    }
}
