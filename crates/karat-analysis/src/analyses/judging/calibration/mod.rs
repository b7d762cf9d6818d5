//! `calibration`: agreement of each judge with people's labels, by dimension, and whether it is sufficient.
//!
//! A label applies to the cells of its sample whose output is the labelled one. Scores of several people for one output
//! are averaged. `outcome` holds the figures and decides the verdicts.

mod outcome;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_stats::interval::Level;
use karat_types::{AnalysisSpec, Key, Label, PlanHeader, RubricScorer, Scale, ScorerKind, output_key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::outcome::is_constant;
pub use self::outcome::{
    CalibratedDimension, CalibratedJudge, Calibration, CalibrationForm, CalibrationGap, CalibrationVerdict,
    SETS_TO_DECIDE, SetDelta, TOLERATED_BIAS,
};
use crate::AnalysisError;
use crate::agreement::coefficients::{GradedItem, Panel, agreement};
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::infer::finding::Finding;
use crate::infer::measure::Measure;
use crate::score::observations::Observations;
use crate::score::people::labels::grades;
use crate::score::scales::{dimension_scale, steps};

/// A scale with more whole numbers than this has no AC2.
const MOST_STEPS: f64 = 100.0;

/// Rater name of the people.
const PEOPLE: &str = "people";

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
    /// Agreement must exceed it in every dimension of the rubric; default: 0.7 for `within_share`, else 0.4. A lower one
    /// needs a `reason`.
    pub threshold: Option<f64>,
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
            threshold: None,
            reason: None,
            decisions: BTreeMap::new(),
            coverage: 0.9,
        }
    }
}

/// The whole numbers of a range, where all grades are such.
fn whole_steps(range: Option<(f64, f64)>, scored: &[(u32, f64, f64)]) -> Option<Vec<f64>> {
    let (lo, hi) = range?;
    let is_step = |value: f64| (value - lo).fract().abs() <= 0.0;
    let fits = hi - lo <= MOST_STEPS && scored.iter().all(|(_, judge, people)| is_step(*judge) && is_step(*people));
    fits.then(|| (0..=(hi - lo) as u32).map(|at| lo + f64::from(at)).collect())
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
            // A scorer that is off in this run is not an error.
            Some(off) if rubrics.clone().next().is_some() => {
                Err(options_error(spec, format!("scorer: {off:?} is not a scorer with judges in this suite")))
            }
            _ => Ok(None),
        };
    };
    let usual = options.agreement.threshold();
    let threshold = options.threshold.unwrap_or(usual);
    if !(0.0..1.0).contains(&threshold) {
        return Err(options_error(spec, format!("threshold is {threshold}, but must be at least 0 and below 1")));
    }
    if threshold < usual && options.reason.as_ref().is_none_or(|reason| reason.trim().is_empty()) {
        let what = format!("threshold is {threshold}, below the usual {usual}, and no reason is given");
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
        let usual = self.options.threshold.unwrap_or(self.options.agreement.threshold());
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
        let is_scale = metric.is_some_and(|metric| {
            !metric.binary && !matches!(dimension_scale(context.plan, metric), Some(Scale::Choices(_)))
        });
        let never_differ = is_constant(scored.iter().map(|(.., people)| *people));
        let ac_scale = steps.clone().or_else(|| whole_steps(range, &scored)).filter(|_| never_differ);
        let found = agreement(&items, &Panel { raters: &raters, scale: steps, range, level });
        let ac = ac_scale.and_then(|scale| {
            let found = agreement(&items, &Panel { raters: &raters, scale: Some(scale), range, level });
            found.pairs.into_iter().next()?.ac
        });
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
            beyond_chance: match found.icc.as_ref().filter(|icc| is_scale && icc.n() >= SETS_TO_DECIDE) {
                Some(icc) => Some(icc.clone()),
                None => found.alpha.clone(),
            },
            ac,
            icc: found.icc,
            alpha: found.alpha,
            bias: pair.as_ref().map(|pair| pair.bias.clone()),
            mean_abs_difference: pair.as_ref().map(|pair| pair.mean_abs_difference.clone()),
            deltas: grades.iter().map(|(_, delta)| delta.clone()).collect(),
            labelled: labelled as u64,
            threshold: decision.map_or(usual, |it| it.threshold),
            reason: decision.map(|it| it.reason.clone()).or_else(|| self.options.reason.clone()),
            passed: None,
            verdict: None,
            open: None,
            needed: None,
            poor: false,
            biased: pair.as_ref().is_some_and(|pair| is_beyond(&pair.bias, TOLERATED_BIAS * range)),
        };
        if context.is_finished {
            dimension.decide(self.options.agreement, &scored);
        }
        dimension
    }

    fn judge_id(&self, judge: usize) -> String {
        self.plan.judges.get(judge).map(|judge| judge.id.clone()).unwrap_or_default()
    }
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
                let open = (!context.is_finished).then_some(None);
                let verdict =
                    CalibrationVerdict::on_all(dimensions.iter().map(|dimension| dimension.verdict).chain(open));
                CalibratedJudge {
                    judge: judge.id.clone(),
                    graded: self.graded.get(&at).copied().unwrap_or(0),
                    passed: CalibrationVerdict::pass_or_fail(verdict),
                    verdict,
                    dimensions,
                }
            })
            .collect();
        let verdict = CalibrationVerdict::on_all(judges.iter().map(|judge| judge.verdict));
        let sets = self.labels.values().filter(|label| label.seen).count() as u64;
        Outcome::Calibration(Calibration {
            scorer: self.id.clone(),
            prompt_version: self.prompt_version.clone(),
            agreement: self.options.agreement,
            sets,
            samples: self.samples.len() as u64,
            unmatched: self.labels.len() as u64 - sets,
            coverage: self.options.coverage,
            passed: CalibrationVerdict::pass_or_fail(verdict),
            verdict,
            judges,
        })
    }
}

#[cfg(test)]
mod tests {
    use karat_types::{Exit, Score};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::judged_run;
    use crate::{Options, analyse};

    /// The findings of `people` and one judge's grades of an output a sample, 0 to 10.
    fn calibrated(people: &[f64], judged: &[Option<f64>], with: Value) -> Calibration {
        let output = json!("text");
        let label = |(at, grade): (usize, &f64)| json!({ "sample": format!("sample-{at}"), "output": output, "scores": { "overall": grade } });
        let labels: Vec<Value> = people.iter().enumerate().map(label).collect();
        let mut run = judged_run(1, people.len(), &["j0"], json!(labels));
        let mut plan = serde_json::to_value(run.header.plan.as_ref()).unwrap();
        plan["analyses"] = json!([{ "analysis": "calibration", "id": "calibration", "with": with }]);
        run.header.plan = Arc::new(serde_json::from_value(plan).unwrap());
        for (cell, grade) in run.cells.iter_mut().zip(judged) {
            cell.cell.output_hash = output_key(&output);
            cell.judgments[0].scores = grade.iter().map(|grade| (0, Score::value(*grade))).collect();
        }
        analyse(&run, &Options::default()).unwrap().calibration().unwrap().clone()
    }

    fn verdict(people: &[f64], judged: &[f64], form: &str) -> (Exit, CalibratedDimension) {
        let judged: Vec<Option<f64>> = judged.iter().copied().map(Some).collect();
        let found = calibrated(people, &judged, json!({ "scorer": "quality", "agreement": form }));
        assert_eq!(found.verdict, found.judges[0].verdict);
        (found.exit(), found.judges[0].dimensions[0].clone())
    }

    /// DC-25: a constant judge fails, permuted grades never pass, six labels decide nothing; by `within_share` none of
    /// these passes, although people's grades are so close together that each share is above 0.7.
    #[test]
    fn a_judge_that_agrees_by_chance_never_passes() {
        let people: Vec<f64> = (0..40).map(|at| f64::from(at * 7 % 5 + 4)).collect();
        let permuted: Vec<f64> = (0..40).map(|at| people[(at * 11 + 3) % 40]).collect();
        let constant = vec![6.0; 40];
        let close: Vec<f64> = people.iter().enumerate().map(|(at, it)| it + f64::from(u8::from(at % 9 == 0))).collect();
        for form in ["beyond_chance", "icc", "alpha"] {
            assert_eq!(verdict(&people, &constant, form).0, Exit::GateFailed, "{form}");
            let (exit, found) = verdict(&people, &permuted, form);
            assert!(matches!(exit, Exit::GateFailed | Exit::Undecided), "{form}: {found:?}");
            assert_eq!(verdict(&people, &close, form).0, Exit::Pass, "{form}");
            assert_eq!(verdict(&people, &people, form).0, Exit::Pass, "{form}: as people grade");
            let (exit, few) = verdict(&people[..6], &people[..6], form);
            assert_eq!((exit, few.open, few.needed), (Exit::Undecided, Some(CalibrationGap::FewSets), Some(20)));
        }
        for judged in [&constant, &permuted] {
            let (exit, found) = verdict(&people, judged, "within_share");
            assert_eq!((exit, found.open), (Exit::Undecided, Some(CalibrationGap::ReachesChance)));
            assert!(found.within_share.unwrap().value() > found.threshold && found.threshold > 0.69);
        }
        assert_eq!(verdict(&people[..6], &people[..6], "within_share").0, Exit::Undecided);
        assert_eq!(verdict(&people[..19], &constant[..19], "within_share").0, Exit::Undecided);
        assert_eq!(verdict(&people, &close, "within_share").0, Exit::Pass);
        let far: Vec<f64> = people.iter().map(|it| it - 4.0).collect();
        assert_eq!(verdict(&people, &far, "within_share").0, Exit::GateFailed);
    }

    /// DC-25: where the interval holds the threshold, the sets that would decide are named; a lower threshold needs a reason.
    #[test]
    fn an_open_verdict_names_the_sets_that_would_decide_it() {
        let people: Vec<f64> = (0..30).map(|at| f64::from(at * 7 % 10)).collect();
        let judged: Vec<f64> = people
            .iter()
            .enumerate()
            .map(|(at, it)| if at % 3 == 0 { f64::from(at as u32 * 3 % 10) } else { *it })
            .collect();
        let (exit, found) = verdict(&people, &judged, "beyond_chance");
        let (lo, hi) = found.beyond_chance.as_ref().unwrap().interval().unwrap();
        assert!(exit == Exit::Undecided && lo <= 0.4 && hi > 0.4, "{lo} {hi}");
        assert!(found.open == Some(CalibrationGap::ReachesThreshold) && found.needed.unwrap() > 30, "{found:?}");
        let refused = |with: Value| {
            let plan = judged_run(1, 1, &["j0"], json!([])).header.plan;
            let spec: AnalysisSpec =
                serde_json::from_value(json!({ "analysis": "calibration", "id": "c", "with": with })).unwrap();
            build(&spec, &plan).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(refused(json!({ "scorer": "quality", "threshold": 0.3 })).contains("below the usual 0.4"));
        assert!(refused(json!({ "scorer": "quality", "threshold": 0.6, "agreement": "within_share" })).contains("0.7"));
        assert_eq!(refused(json!({ "scorer": "quality", "threshold": 0.6 })), "");
    }

    /// DC-25: people who never differ say nothing of a judge, whatever it grades, and AC2 is shown; a judge that left sets
    /// unscored fails all the same.
    #[test]
    fn people_who_never_differ_decide_nothing() {
        let people = vec![8.0; 30];
        let judged: Vec<f64> = (0..30).map(|at| if at % 6 == 0 { 7.0 } else { 8.0 }).collect();
        for form in ["beyond_chance", "within_share"] {
            for judged in [&judged, &people] {
                let (exit, found) = verdict(&people, judged, form);
                assert_eq!((exit, found.open), (Exit::Undecided, Some(CalibrationGap::PeopleNeverDiffer)), "{form}");
                assert!(found.ac.unwrap().value() > 0.9, "{form}");
            }
        }
        let some: Vec<Option<f64>> = (0..30).map(|at| (at % 2 == 0).then_some(8.0)).collect();
        assert_eq!(calibrated(&people, &some, json!({ "scorer": "quality" })).exit(), Exit::GateFailed);
    }

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
