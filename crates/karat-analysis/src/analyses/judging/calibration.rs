//! `calibration`: agreement of each judge with people's labels, by dimension, and whether it is sufficient (CL-13).
//!
//! A label applies to the cells of its sample whose output is the labelled one. Scores of several people for one output
//! are averaged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_stats::interval::Level;
use karat_types::{AnalysisSpec, Key, Label, PlanHeader, RubricScorer, ScorerKind, output_key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AnalysisError;
use crate::agreement::coefficients::{GradedItem, Panel, agreement};
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::figures::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::labels::grades;
use crate::score::observations::Observations;
use crate::score::scales::steps;

/// With fewer sets, α replaces ICC.
const ICC_FROM: u64 = 20;

/// The default threshold of agreement; a lower one needs a reason.
const THRESHOLD: f64 = 0.7;

/// Agreement beyond chance below this is poor (Cicchetti 1994).
const POOR: f64 = 0.4;

/// Bias up to this share of the scale raises no caution: half a point of 0 to 10.
pub const TOLERATED_BIAS: f64 = 0.05;

/// Rater name of the people.
const PEOPLE: &str = "people";

/// The figure that is compared with the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationForm {
    /// 1 − mean |judge − people| / range of the scale.
    #[default]
    WithinShare,
    /// ICC(2,1); Krippendorff's α below 20 sets.
    Icc,
    /// Krippendorff's α.
    Alpha,
}

/// A threshold for one dimension, with its reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdDecision {
    /// Agreement must exceed it.
    pub threshold: f64,
    /// The reason for a threshold other than the default.
    pub reason: String,
}

/// Options of `calibration`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CalibrationOptions {
    /// The scorer; default: the first with judges and labels.
    pub scorer: Option<String>,
    /// The figure that is compared with the threshold.
    pub agreement: CalibrationForm,
    /// Agreement must exceed it in every dimension of the rubric; below 0.7 it needs a `reason`.
    pub threshold: f64,
    /// The reason for a threshold other than the default; recorded with every dimension.
    pub reason: Option<String>,
    /// Thresholds by dimension, each with its reason.
    pub decisions: BTreeMap<String, ThresholdDecision>,
    /// Share, 0 to 1, of the labelled sets that a judge must have scored in every dimension: agreement on few sets does
    /// not extend to the others.
    pub coverage: f64,
}

impl Default for CalibrationOptions {
    fn default() -> Self {
        Self {
            scorer: None,
            agreement: CalibrationForm::default(),
            threshold: THRESHOLD,
            reason: None,
            decisions: BTreeMap::new(),
            coverage: 0.9,
        }
    }
}

/// The calibration of the judges of one scorer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// The scorer.
    pub scorer: String,
    /// Declared version of its rubric.
    pub prompt_version: Option<String>,
    /// The figure that is compared with the threshold.
    pub agreement: CalibrationForm,
    /// Number of labelled outputs that are cells of this run.
    pub sets: u64,
    /// Number of their samples.
    pub samples: u64,
    /// Number of labelled outputs that are no cell of this run.
    pub unmatched: u64,
    /// Share of the labelled sets that a judge must have scored in every dimension.
    pub coverage: f64,
    /// True if every judge passes; `None` while the run is unfinished.
    pub passed: Option<bool>,
    /// By judge, in the plan's order.
    pub judges: Vec<CalibratedJudge>,
}

/// One judge compared with people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibratedJudge {
    /// Its id.
    pub judge: String,
    /// Number of labelled sets that it was asked to grade.
    pub graded: u64,
    /// True if it agrees enough in every dimension; `None` while the run is unfinished.
    pub passed: Option<bool>,
    /// By dimension, in the rubric's order.
    pub dimensions: Vec<CalibratedDimension>,
}

/// One labelled set in one dimension.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetDelta {
    /// The sample.
    pub sample: String,
    /// Hash of the labelled output.
    pub output: Key,
    /// Mean grade of people.
    pub people: f64,
    /// Grade of the judge; `None` if it left the set unscored.
    pub judge: Option<f64>,
    /// judge − people.
    pub delta: Option<f64>,
}

/// One dimension of one judge. Differences are judge − people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibratedDimension {
    /// Its name.
    pub dimension: String,
    /// Number of sets that people scored in this dimension (in an unfinished run, of those the judge was asked to
    /// grade). Without any the judge does not pass.
    pub labelled: u64,
    /// Number of them that the judge left unscored.
    pub unscored: u64,
    /// True if the judge scored the required share of them; otherwise it does not pass.
    pub covered: bool,
    /// 1 − mean |judge − people| / range.
    pub within_share: Option<Finding>,
    /// ICC(2,1) of judge and people.
    pub icc: Option<Finding>,
    /// Krippendorff's α of judge and people.
    pub alpha: Option<Finding>,
    /// Mean of judge − people.
    pub bias: Option<Finding>,
    /// Mean of |judge − people|.
    pub mean_abs_difference: Option<Finding>,
    /// The differences of all sets, in plan order.
    pub deltas: Vec<SetDelta>,
    /// The threshold that agreement had to exceed.
    pub threshold: f64,
    /// The reason for a threshold other than the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if it did; `None` while the run is unfinished.
    pub passed: Option<bool>,
    /// True if it passed although ICC (or α) is poor: the judge hardly distinguishes the sets, and agrees because
    /// people's scores hardly differ.
    pub poor: bool,
    /// True if it grades higher or lower than people: the whole interval of `bias` is beyond [`TOLERATED_BIAS`]. It may
    /// pass all the same.
    pub biased: bool,
}

impl CalibratedDimension {
    /// ICC(2,1), or Krippendorff's α below 20 sets.
    fn beyond_chance(&self) -> Option<&Finding> {
        self.icc.as_ref().filter(|icc| icc.n() >= ICC_FROM).or(self.alpha.as_ref())
    }

    /// Returns true if the judge needs caution although it may pass.
    pub fn needs_caution(&self) -> bool {
        self.poor || self.biased
    }

    /// The figure that is compared with the threshold.
    pub fn decisive(&self, form: CalibrationForm) -> Option<&Finding> {
        match form {
            CalibrationForm::WithinShare => self.within_share.as_ref(),
            CalibrationForm::Icc => self.beyond_chance(),
            CalibrationForm::Alpha => self.alpha.as_ref(),
        }
    }
}

/// Sum and number of people's scores of one output, by metric.
#[derive(Debug, Default)]
struct PeopleScores {
    scores: BTreeMap<usize, (f64, u32)>,
    seen: bool,
}

/// One labelled output in one dimension, and the index of its sample in the table.
type LabelledGrade = (usize, SetDelta);

struct CalibrationFold {
    plan: Arc<PlanHeader>,
    scorer: usize,
    id: String,
    prompt_version: Option<String>,
    judges: Vec<String>,
    /// Names of the rubric's dimensions.
    dimensions: Vec<String>,
    options: CalibrationOptions,
    /// By sample and output.
    labels: BTreeMap<(String, Key), PeopleScores>,
    /// By judge and metric.
    grades: BTreeMap<(usize, usize), Vec<LabelledGrade>>,
    /// Number of labelled sets that each judge was asked to grade.
    graded: BTreeMap<usize, u64>,
    samples: BTreeSet<usize>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: CalibrationOptions = options(spec)?;
    let rubrics = plan.scorers.iter().enumerate().filter_map(|(at, scorer)| match &scorer.kind {
        ScorerKind::Rubric(rubric) => Some((at, &scorer.id, rubric)),
        ScorerKind::Metric { .. } => None,
    });
    let wanted = |id: &str, rubric: &RubricScorer| match &options.scorer {
        Some(wanted) => wanted == id,
        None => !rubric.labels.is_empty(),
    };
    let found = rubrics.clone().find(|(_, id, rubric)| wanted(id, rubric));
    let Some((at, id, rubric)) = found else {
        return match &options.scorer {
            // A scorer that is off in this run is no error.
            Some(off) if rubrics.clone().next().is_some() => {
                Err(options_error(spec, format!("scorer: {off:?} is not a scorer with judges in this suite")))
            }
            _ => Ok(None),
        };
    };
    if !(0.0..1.0).contains(&options.threshold) {
        return Err(options_error(
            spec,
            format!("threshold is {}, but must be at least 0 and below 1", options.threshold),
        ));
    }
    if options.threshold < THRESHOLD && options.reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
        let what = format!("threshold is {}, below the usual {THRESHOLD}, and no reason is given", options.threshold);
        return Err(options_error(spec, format!("{what}: add `reason: …`, which is recorded with each round")));
    }
    if !(0.0..=1.0).contains(&options.coverage) {
        return Err(options_error(spec, format!("coverage is {}, but must be from 0 to 1", options.coverage)));
    }
    let dimensions = &rubric.rubric.dimensions;
    for (dimension, decision) in &options.decisions {
        if !dimensions.iter().any(|known| known.name == *dimension) {
            return Err(options_error(spec, format!("decisions: {dimension:?} is not a dimension of `{id}`")));
        }
        if decision.reason.trim().is_empty() {
            return Err(options_error(spec, format!("the decision on {dimension:?} has no reason")));
        }
    }
    Ok(Some(Box::new(CalibrationFold {
        plan: plan.clone(),
        scorer: at,
        id: id.clone(),
        prompt_version: rubric.rubric.version.clone(),
        judges: rubric.judges.clone(),
        dimensions: dimensions.iter().map(|dimension| dimension.name.clone()).collect(),
        labels: labels(plan, at, rubric),
        options,
        grades: BTreeMap::new(),
        graded: BTreeMap::new(),
        samples: BTreeSet::new(),
    })))
}

/// People's scores for one scorer by sample and output. Rows without an output or scores are ignored.
fn labels(plan: &PlanHeader, scorer: usize, rubric: &RubricScorer) -> BTreeMap<(String, Key), PeopleScores> {
    let mut labels: BTreeMap<(String, Key), PeopleScores> = BTreeMap::new();
    for label in rubric.labels.iter().filter_map(Label::from_row) {
        let Some(output) = &label.output else { continue };
        let labelled = labels.entry((label.sample.clone(), output_key(output))).or_default();
        for (metric, score) in grades(plan, &[scorer], &label) {
            let (sum, n) = labelled.scores.entry(metric).or_default();
            *sum += score;
            *n += 1;
        }
    }
    labels
}

impl CalibrationFold {
    /// The rubric's dimensions, and its overall if it was labelled: metric index and name.
    fn measured_dimensions(&self) -> Vec<(usize, String)> {
        let is_labelled = |at: usize| self.labels.values().any(|label| label.scores.contains_key(&at));
        let of_scorer = self.plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == self.scorer);
        let named = of_scorer.map(|(at, metric)| (at, dimension(&metric.name).to_owned()));
        named.filter(|(at, name)| self.dimensions.contains(name) || is_labelled(*at)).collect()
    }

    fn dimension(
        &self,
        context: &FinishContext<'_>,
        judge: usize,
        (at, name): &(usize, String),
    ) -> CalibratedDimension {
        let grades = self.grades.get(&(judge, *at)).map_or(&[][..], Vec::as_slice);
        let scored: Vec<(u32, f64, f64)> =
            grades.iter().filter_map(|(at, it)| Some((context.table.cluster(*at), it.judge?, it.people))).collect();
        let decision = self.options.decisions.get(name);
        let level = context.measures.get(*at).map_or(Level::P95, |measure| measure.level);
        let items: Vec<GradedItem> = scored
            .iter()
            .map(|(cluster, judged, people)| GradedItem {
                cluster: *cluster,
                grades: vec![Some(*judged), Some(*people)],
            })
            .collect();
        let metric = context.plan.metrics.get(*at);
        let raters = [self.judge_id(judge), PEOPLE.to_owned()];
        let steps = metric.and_then(|metric| steps(context.plan, metric));
        let range = metric.and_then(|metric| metric.range);
        let found = agreement(&items, &Panel { raters: &raters, scale: steps, range, level });
        let range = metric.and_then(|metric| metric.range).map_or(1.0, |(lo, hi)| hi - lo);
        let pair = found.pairs.into_iter().next();
        let labelled = match context.is_finished {
            true => self.labels.values().filter(|label| label.seen && label.scores.contains_key(at)).count(),
            false => grades.len(),
        };
        let mut dimension = CalibratedDimension {
            dimension: name.clone(),
            unscored: labelled.saturating_sub(scored.len()) as u64,
            covered: labelled > 0 && scored.len() as f64 / labelled as f64 >= self.options.coverage,
            within_share: within_share(&scored, range, level),
            icc: found.icc,
            alpha: found.alpha,
            bias: pair.as_ref().map(|pair| pair.bias.clone()),
            mean_abs_difference: pair.as_ref().map(|pair| pair.mean_abs_difference.clone()),
            deltas: grades.iter().map(|(_, delta)| delta.clone()).collect(),
            labelled: labelled as u64,
            threshold: decision.map_or(self.options.threshold, |it| it.threshold),
            reason: decision.map(|it| it.reason.clone()).or_else(|| self.options.reason.clone()),
            passed: None,
            poor: false,
            biased: pair.as_ref().is_some_and(|pair| is_beyond(&pair.bias, TOLERATED_BIAS * range)),
        };
        let decisive = dimension.decisive(self.options.agreement).map(Finding::value);
        let passed = dimension.covered && decisive.is_some_and(|value| value > dimension.threshold);
        dimension.passed = context.is_finished.then_some(passed);
        dimension.poor = passed && dimension.beyond_chance().is_some_and(|found| found.value() < POOR);
        dimension
    }

    fn judge_id(&self, judge: usize) -> String {
        self.plan.judges.get(judge).map(|judge| judge.id.clone()).unwrap_or_default()
    }
}

/// `Some(true)` if all pass and there is at least one; `None` if one is unknown.
fn all_pass(passed: impl ExactSizeIterator<Item = Option<bool>>) -> Option<bool> {
    let some = passed.len() > 0;
    passed.collect::<Option<Vec<bool>>>().map(|passed| some && passed.into_iter().all(|it| it))
}

/// The last part of a metric's name.
fn dimension(metric: &str) -> &str {
    metric.rsplit_once('.').map_or(metric, |(_, last)| last)
}

/// Returns true if the whole interval of a difference is on one side of zero and beyond a tolerance.
fn is_beyond(difference: &Finding, tolerance: f64) -> bool {
    difference.interval().is_some_and(|(lo, hi)| lo > tolerance || hi < -tolerance)
}

/// 1 − mean |judge − people| / range, with a cluster-robust interval within 0 to 1.
fn within_share(scored: &[(u32, f64, f64)], range: f64, level: Level) -> Option<Finding> {
    let mut observed = Observations::default();
    for (cluster, judged, people) in scored.iter().filter(|_| range > 0.0) {
        observed.push(1.0 - (judged - people).abs() / range, 0, *cluster);
    }
    observed.clustered = true;
    Measure::of_mean(false, Some((0.0, 1.0)), level).figure(&observed)
}

impl Analysis for CalibrationFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let place = (cell.row.sample.id.clone(), cell.row.cell.output_hash);
        let dimensions = self.measured_dimensions();
        let Some(labelled) = self.labels.get_mut(&place) else { return };
        if labelled.seen {
            return;
        }
        labelled.seen = true;
        self.samples.insert(cell.sample);
        for judgment in cell.row.judgments.iter().filter(|it| usize::from(it.scorer) == self.scorer) {
            *self.graded.entry(usize::from(judgment.judge)).or_default() += 1;
            for (at, _) in &dimensions {
                let Some((sum, n)) = labelled.scores.get(at) else { continue };
                let given = judgment.scores.iter().find(|(metric, _)| usize::from(*metric) == *at);
                let judge = given.and_then(|(_, score)| score.number());
                let grades = self.grades.entry((usize::from(judgment.judge), *at)).or_default();
                let (sample, output) = place.clone();
                let people = sum / f64::from(*n);
                let delta = judge.map(|judge| judge - people);
                grades.push((cell.sample, SetDelta { sample, output, people, judge, delta }));
            }
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let dimensions = self.measured_dimensions();
        let own = self.plan.judges.iter().enumerate().filter(|(_, judge)| self.judges.contains(&judge.id));
        let judges: Vec<CalibratedJudge> = own
            .map(|(at, judge)| {
                let dimensions: Vec<CalibratedDimension> =
                    dimensions.iter().map(|dimension| self.dimension(context, at, dimension)).collect();
                CalibratedJudge {
                    judge: judge.id.clone(),
                    graded: self.graded.get(&at).copied().unwrap_or(0),
                    passed: all_pass(dimensions.iter().map(|dimension| dimension.passed)),
                    dimensions,
                }
            })
            .collect();
        let sets = self.labels.values().filter(|label| label.seen).count() as u64;
        Outcome::Calibration(Calibration {
            scorer: self.id.clone(),
            prompt_version: self.prompt_version.clone(),
            agreement: self.options.agreement,
            sets,
            samples: self.samples.len() as u64,
            unmatched: self.labels.len() as u64 - sets,
            coverage: self.options.coverage,
            passed: all_pass(judges.iter().map(|judge| judge.passed)),
            judges,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CL-13: 1 − mean |Δ| / range; a constant shift of 3 on 0 to 10 is 0.7, which is not above 0.7.
    #[test]
    fn the_share_of_the_scale_is_exact() {
        let scored: Vec<(u32, f64, f64)> = (0..6).map(|at| (at, f64::from(at) + 3.0, f64::from(at))).collect();
        let found = within_share(&scored, 10.0, Level::P95).unwrap();
        assert!((found.value() - 0.7).abs() < 1e-12 && found.value() <= 0.7 + 1e-12);
        assert_eq!((found.n(), dimension("quality.accuracy"), dimension("pass")), (6, "accuracy", "pass"));
        assert!(within_share(&[], 10.0, Level::P95).is_none());
        let scored: Vec<(u32, f64, f64)> = (0..4).map(|at| (at, if at == 0 { 6.0 } else { 9.0 }, 9.0)).collect();
        let (lo, hi) = within_share(&scored, 10.0, Level::P95).unwrap().interval().unwrap();
        assert!(lo > 0.0 && lo < 0.9 && (0.95..=1.0).contains(&hi), "{lo} {hi}");
    }
}
