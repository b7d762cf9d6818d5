//! `human_anchor`: estimates the mean grade of people for all outputs, from a judge's grades of all and people's labels
//! of a few.
//!
//! | method | λ | for |
//! |---|---|---|
//! | `ppi++` (default) | tuned | any labels that were chosen by a rule |
//! | `ppi` | 1 | the same, with a judge known to be good |
//! | `human` | 0 | to see the contribution of the judge |
//! | `rogan_gladen` | | pass/fail with random labels: (p + q₀ − 1) ÷ (q₀ + q₁ − 1) |
//!
//! The estimate is ΣW_h(λ·mean(judge) + mean(human − λ·judge)) over the strata in which labels were chosen at random: all
//! outputs, the values of a column, or the judge's passes and fails. Labels of several tasks share the strata of all.
//!
//! Labels are those of the scorer's file, which count as random, and those of closed tasks. An output that both have counts
//! once, as in the file. Open labels count with their mean, and the interval holds whatever they become. Labels shown to the
//! judge as examples are left out, because it knows their answers, and so are labels of another version of the rubric, those
//! of tasks whose items were chosen as hard ones, and those chosen by verdicts that the judge of this run does not share. If
//! the dataset names clusters, the interval is cluster-robust.
//!
//! Every scorer with labels is anchored, whether the suite lists the analysis or not.
//!
//! This file matches labels and grades; `estimators` makes figures of both, in the form of `outcome`.

mod estimators;
pub(in crate::analyses) mod outcome;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_stats::describe::mean;
use karat_types::{
    AnalysisSpec, CellRow, CellStatus, Key, Label, PlanHeader, ScorerKind, all_drawn_examples, output_key,
};
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::figures::groups::system_id;
use crate::infer::anchored::{AnchorRule, JudgedOutput};
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::observations::{Aggregate, Observations};
use crate::score::people::labels::{grades, is_about};
use crate::score::people::{LabelDesignKind, PeopleLabel, PeopleTask, UnusedTask, is_pass, tasks_of};
use estimators::{LabelledOutputs, corrected_rate};
use outcome::{AnchorMethod, AnchoredFigure, AnchoringTask, HumanAnchor, HumanAnchorOptions};

/// Sums of labels and grades of one sample × system, over trials and annotators.
#[derive(Debug, Clone, Copy, Default)]
struct LabelledSums {
    human: f64,
    /// The lowest and the highest that `human` can become.
    bounds: (f64, f64),
    is_open: bool,
    n: f64,
}

/// A rule that divides outputs into the strata in which labels were chosen at random.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Stratifier {
    Column(String),
    /// By the judge's verdict in a metric.
    Verdict(usize),
}

/// The wanted width of an interval, as a share of the metric's range, where the suite states none.
const USUAL_WIDTH: f64 = 0.1;

const MS_PER_MINUTE: u64 = 60_000;

struct HumanAnchorFold {
    options: HumanAnchorOptions,
    plan: Arc<PlanHeader>,
    scorer: usize,
    /// With the metric by whose verdict the output was chosen.
    labels: Vec<(PeopleLabel, Option<usize>)>,
    used: Vec<bool>,
    all: u64,
    shown: u64,
    other_version: u64,
    targeted: u64,
    from_file: u64,
    tasks: Vec<AnchoringTask>,
    stratifiers: BTreeSet<Stratifier>,
    /// Values of the stratifying columns, by sample.
    columns: BTreeMap<usize, Vec<String>>,
    /// Systems whose verdicts are not those by which outputs were chosen.
    other_verdicts: BTreeSet<usize>,
    /// Sample and output of the labels that a judge is shown.
    examples: BTreeSet<(String, Key)>,
    /// Milliseconds of people's time for each settled label.
    ms_per_label: Option<u64>,
    /// Positions in `labels`.
    by_sample: BTreeMap<String, Vec<usize>>,
    /// By metric, system, choice by verdict, and sample.
    seen: BTreeMap<(usize, usize, bool, usize), LabelledSums>,
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
        from_file: 0,
        tasks: Vec::new(),
        stratifiers: BTreeSet::new(),
        columns: BTreeMap::new(),
        other_verdicts: BTreeSet::new(),
        examples,
        ms_per_label: None,
        labels: Vec::new(),
        by_sample: BTreeMap::new(),
        options,
        seen: BTreeMap::new(),
    };
    current.into_iter().filter_map(Label::from_row).for_each(|label| fold.add_label(label.into(), None));
    fold.from_file = fold.labels.len() as u64;
    Ok(Some(Box::new(fold)))
}

/// The sample and output that a label names; `None` if it names no output.
fn place_of(label: &Label) -> Option<(String, Key)> {
    Some((label.sample.clone(), output_key(label.output.as_ref()?)))
}

impl HumanAnchorFold {
    fn add_label(&mut self, label: PeopleLabel, by_verdict: Option<usize>) {
        self.by_sample.entry(label.label.sample.clone()).or_default().push(self.labels.len());
        self.labels.push((label, by_verdict));
        self.used.push(false);
    }

    /// Adds the labels of a task, but those of outputs that have one already.
    fn add_task(&mut self, task: &PeopleTask, known: &mut BTreeSet<(String, Key)>) {
        let all = task.labels.len() as u64;
        let open = task.labels.iter().filter(|label| label.open.is_some()).count() as u64;
        let (counts, design) = (task.unused.is_none(), task.design.kind);
        self.tasks.push(AnchoringTask { task: task.task.clone(), settled: all - open, open, design, counts });
        self.all += all;
        match task.unused {
            Some(UnusedTask::Targeted) => self.targeted += all,
            Some(UnusedTask::OtherVersion) => self.other_version += all,
            None => {
                self.ms_per_label = self.ms_per_label.or(task.median_ms.map(|ms| ms * task.places as u64));
                let stratifier = self.stratifier(task);
                let by_verdict = match &stratifier {
                    Some(Stratifier::Verdict(metric)) => Some(*metric),
                    _ => None,
                };
                let before = self.labels.len();
                for label in &task.labels {
                    let Some(place) = place_of(&label.label) else { continue };
                    if self.examples.contains(&place) {
                        self.shown += 1;
                    } else if known.insert(place) {
                        self.add_label(label.clone(), by_verdict);
                    } else {
                        self.all -= 1;
                    }
                }
                self.stratifiers.extend(stratifier.filter(|_| self.labels.len() > before));
            }
        }
    }

    /// The strata of a task. Those of a model or variant hold whole systems, and figures are of one.
    fn stratifier(&self, task: &PeopleTask) -> Option<Stratifier> {
        let by = task.design.by.as_deref()?;
        match task.design.kind {
            LabelDesignKind::Stratified if !["model", "variant"].contains(&by) => {
                Some(Stratifier::Column(by.to_owned()))
            }
            LabelDesignKind::Verdict => {
                self.plan.metrics.iter().position(|metric| metric.name == by).map(Stratifier::Verdict)
            }
            _ => None,
        }
    }

    /// The values of the stratifying columns of a cell's sample.
    fn column_values(&self, row: &CellRow<'_>) -> Vec<String> {
        let columns = self.stratifiers.iter().filter_map(|it| match it {
            Stratifier::Column(column) => Some(column.as_str()),
            Stratifier::Verdict(_) => None,
        });
        let value = |column: &str| match column {
            "cluster" => row.sample.cluster.clone().unwrap_or_default(),
            _ => row.sample.metadata.get(column).map(ToString::to_string).unwrap_or_default(),
        };
        columns.map(value).collect()
    }

    /// Returns whether the verdict of a cell is not the one by which its output was chosen. Of several trials any may be.
    fn has_other_verdict(&self, cell: &ScoredCell<'_>, label: &PeopleLabel, metric: usize) -> bool {
        let passed = cell.scores.number(metric).map(is_pass);
        self.plan.trials > 1 || passed != label.passed
    }
}

/// The labels of a cell in a metric.
#[derive(Default)]
struct LabelsOfCell {
    /// Lowest label, label, and highest label.
    grades: Vec<[f64; 3]>,
    is_open: bool,
}

impl Analysis for HumanAnchorFold {
    fn set_people(&mut self, people: &Arc<[PeopleTask]>) {
        let Some(scorer) = self.plan.scorers.get(self.scorer).map(|it| it.id.clone()) else { return };
        let mut known: BTreeSet<(String, Key)> = self.labels.iter().filter_map(|(it, _)| place_of(&it.label)).collect();
        for task in tasks_of(people, &scorer).filter(|task| !task.labels.is_empty()) {
            self.add_task(task, &mut known);
        }
    }

    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if cell.row.cell.status != CellStatus::Ok {
            return;
        }
        if !self.stratifiers.is_empty() && !self.columns.contains_key(&cell.sample) {
            self.columns.insert(cell.sample, self.column_values(&cell.row));
        }
        let mut said: BTreeMap<(usize, bool), LabelsOfCell> = BTreeMap::new();
        for at in self.by_sample.get(&cell.row.sample.id).into_iter().flatten().copied() {
            let label = self.labels.get(at).filter(|(label, _)| is_about(&self.plan, &cell.row, &label.label));
            let Some((label, by_verdict)) = label else { continue };
            if by_verdict.is_some_and(|metric| self.has_other_verdict(cell, label, metric)) {
                self.other_verdicts.insert(cell.row.system);
            }
            for (metric, grade) in self.label_grades(label) {
                if cell.scores.number(metric).is_none() {
                    continue;
                }
                let said = said.entry((metric, by_verdict.is_some())).or_default();
                said.is_open |= grade[0] < grade[2];
                said.grades.push(grade);
                if let Some(used) = self.used.get_mut(at) {
                    *used = true;
                }
            }
        }
        for ((metric, by_verdict), LabelsOfCell { grades, is_open }) in said {
            let of = |end: usize| mean(&grades.iter().map(|grade| grade[end]).collect::<Vec<_>>());
            let (Some(lo), Some(human), Some(hi)) = (of(0), of(1), of(2)) else { continue };
            let seen = self.seen.entry((metric, cell.row.system, by_verdict, cell.sample)).or_default();
            seen.human += human;
            seen.bounds = (seen.bounds.0 + lo, seen.bounds.1 + hi);
            (seen.is_open, seen.n) = (seen.is_open || is_open, seen.n + 1.0);
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let metrics = self.plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == self.scorer);
        let pairs = metrics.flat_map(|(at, _)| (0..self.plan.systems.len()).map(move |system| (at, system)));
        let figures = pairs.filter_map(|(metric, system)| self.figure(metric, system, context)).collect();
        let is_left_out = |(_, by_verdict): &&(PeopleLabel, Option<usize>)| by_verdict.is_some();
        let by_verdict = self.labels.iter().filter(is_left_out).count() as u64;
        let shares_no_verdict = !self.other_verdicts.is_empty() && self.other_verdicts.len() == self.plan.systems.len();
        Outcome::HumanAnchor(HumanAnchor {
            scorer: self.options.scorer.clone(),
            method: self.options.method,
            labels: (self.used.iter().filter(|used| **used).count() as u64, self.all),
            shown_to_judges: self.shown,
            other_version: self.other_version,
            targeted: self.targeted,
            other_verdicts: if shares_no_verdict { by_verdict } else { 0 },
            from_file: self.from_file,
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
    /// The lowest, the mean and the highest grade that a label gives to each metric, with the bound of the metric.
    fn label_grades(&self, label: &PeopleLabel) -> Vec<(usize, [f64; 3])> {
        let of = |scores: Option<&BTreeMap<String, Value>>| -> BTreeMap<usize, f64> {
            let label = &label.label;
            let scores = scores.unwrap_or(&label.scores).clone();
            grades(&self.plan, &[self.scorer], &Label { scores, ..label.clone() }).into_iter().collect()
        };
        let (lowest, highest) = (label.open.as_ref().map(|it| &it.0), label.open.as_ref().map(|it| &it.1));
        let (lowest, plain, highest) = (of(lowest), of(None), of(highest));
        let graded = |(metric, grade): (usize, f64)| {
            let bound = self.plan.metrics.get(metric).map(|it| &it.bound).filter(|bound| bound.is_some());
            let bounded = |grade: f64| bound.map_or(grade, |bound| f64::from(u8::from(bound.passes(grade))));
            let (lo, hi) = (lowest.get(&metric).copied(), highest.get(&metric).copied());
            let mut ends = [bounded(lo.unwrap_or(grade)), bounded(hi.unwrap_or(grade))];
            ends.sort_by(f64::total_cmp);
            (metric, [ends[0], bounded(grade), ends[1]])
        };
        plain.into_iter().map(graded).collect()
    }

    /// The outputs of a system, with the strata in which they were chosen.
    fn outputs(&self, metric: usize, system: usize, context: &FinishContext<'_>) -> LabelledOutputs {
        let table = context.table;
        let uses_verdicts = !self.other_verdicts.contains(&system);
        let sums = |sample: usize, by_verdict: bool| self.seen.get(&(metric, system, by_verdict, sample));
        let is_used = |it: &&Stratifier| match it {
            Stratifier::Column(_) => true,
            Stratifier::Verdict(_) => uses_verdicts,
        };
        let used: Vec<&Stratifier> = self.stratifiers.iter().filter(is_used).collect();
        let mut found = LabelledOutputs::default();
        let mut strata: BTreeMap<(Vec<String>, Vec<Option<bool>>), usize> = BTreeMap::new();
        for sample in 0..table.samples() {
            let Some(judge) = table.shown_value(metric, sample, system) else { continue };
            let verdicts = used.iter().filter_map(|it| match it {
                Stratifier::Verdict(by) => Some(table.shown_value(*by, sample, system).map(is_pass)),
                Stratifier::Column(_) => None,
            });
            let key = (self.columns.get(&sample).cloned().unwrap_or_default(), verdicts.collect());
            let next = strata.len();
            let stratum = *strata.entry(key).or_insert(next);
            let own = [sums(sample, false), sums(sample, true).filter(|_| uses_verdicts)];
            let (mut all, own) = (LabelledSums::default(), own.into_iter().flatten());
            for it in own {
                all.bounds = (all.bounds.0 + it.bounds.0, all.bounds.1 + it.bounds.1);
                (all.human, all.is_open, all.n) = (all.human + it.human, all.is_open || it.is_open, all.n + it.n);
            }
            let is_labelled = all.n > 0.0;
            let human = is_labelled.then(|| all.human / all.n);
            found.outputs.push(JudgedOutput { stratum, judge, human, cluster: table.cluster(sample) });
            found.bounds.push(is_labelled.then(|| (all.bounds.0 / all.n, all.bounds.1 / all.n)));
            found.open += u64::from(all.is_open);
        }
        let names: Vec<&str> = used
            .iter()
            .map(|it| match it {
                Stratifier::Column(column) => column.as_str(),
                Stratifier::Verdict(_) => "verdict",
            })
            .collect();
        found.chosen_by = (!names.is_empty()).then(|| names.join(" and "));
        found
    }

    /// `None` if the judge graded nothing of the system.
    fn figure(&self, metric: usize, system: usize, context: &FinishContext<'_>) -> Option<AnchoredFigure> {
        let (spec, measure) = (self.plan.metrics.get(metric)?, context.measures.get(metric)?);
        let found = self.outputs(metric, system, context);
        let (labels, clustered) = (found.labels(), context.table.is_clustered());
        let mut observed = Observations { clustered, ..Observations::default() };
        found.outputs.iter().for_each(|it| observed.push(it.judge, 0, it.cluster));
        let own = Measure { aggregate: Aggregate::Mean, bootstrap: None, ..*measure };
        let mut figure = AnchoredFigure {
            metric: spec.name.clone(),
            system: system_id(&self.plan, system),
            labelled: labels as u64,
            open: found.open,
            judged: (found.outputs.len() - labels) as u64,
            judge: Some(own.figure(&observed)?),
            human: None,
            correction: None,
            anchored: None,
            lambda: None,
            worth: None,
            labels_needed: None,
            labels_missing: None,
            minutes_missing: None,
            why: None,
        };
        let (binary, range, level) = (measure.binary, measure.range, measure.level);
        let rule = AnchorRule { binary, range, clustered, weight: None, level };
        let errors = found.write(self.options.method, rule, &mut figure);
        let refused = match self.options.method {
            _ if context.table.cascade(metric).is_some_and(|it| it.is_estimated()) => Some(
                "the judges of a cascade grade part of the outputs only, so people's labels cannot anchor them"
                    .to_owned(),
            ),
            _ if measure.aggregate != Aggregate::Mean => Some("only means are anchored".to_owned()),
            _ if labels < 2 && figure.judged > 0 => {
                Some(format!("at least two labels are needed, but only {labels} match"))
            }
            AnchorMethod::RoganGladen => match corrected_rate(&found, clustered, level) {
                Ok(corrected) => {
                    figure.anchored = corrected;
                    (figure.lambda, figure.worth) = (None, None);
                    None
                }
                Err(why) => Some(why),
            },
            _ => None,
        };
        if refused.is_some() {
            (figure.anchored, figure.lambda, figure.worth) = (None, None, None);
        }
        figure.why = refused;
        let wanted = self.options.width.or_else(|| spec.range.map(|(lo, hi)| USUAL_WIDTH * (hi - lo)));
        let needed = wanted.zip(errors).filter(|_| labels > 1).map(|(width, (error, alone))| {
            let needed = |error| found.labels_needed(error, width, level);
            (needed(error), needed(alone))
        });
        figure.labels_needed = needed.filter(|_| self.options.width.is_some());
        // The formula plans for the average sample: what the interval has already reached needs no label.
        let is_wide = |it: &Finding| it.interval().zip(wanted).is_none_or(|((lo, hi), width)| hi - lo > width);
        let is_wide = figure.judged > 0 && figure.anchored.as_ref().is_none_or(is_wide);
        let missing = needed.map(|(with, _)| with.saturating_sub(figure.labelled).clamp(1, figure.judged.max(1)));
        figure.labels_missing = missing.filter(|_| is_wide);
        let minutes = |(labels, ms): (u64, u64)| labels.saturating_mul(ms).div_ceil(MS_PER_MINUTE);
        figure.minutes_missing = figure.labels_missing.zip(self.ms_per_label).map(minutes);
        Some(figure)
    }
}
