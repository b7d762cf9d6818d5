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
//! Labels shown to the judge as examples are left out, because it knows their answers, and so are labels that name
//! another `version` than the rubric has. If the dataset names clusters, the interval is cluster-robust.
//!
//! Every scorer with labels is anchored, whether the suite lists the analysis or not (HU-40).

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_stats::correction::{AnchoredMean, JudgeCounts, LabelPlan, PpiMean, label_budget, ppi_mean, rogan_gladen};
use karat_stats::describe::{clustered_mean, mean, variance};
use karat_stats::interval::{Interval, Level};
use karat_types::{AnalysisSpec, CellStatus, Label, PlanHeader, ScorerKind, all_drawn_examples};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::figures::estimate::{self, Aggregate, Observations};
use crate::figures::finding::Finding;
use crate::figures::groups::system_id;
use crate::score::labels::{LabelIndex, grades};

/// Options of `human_anchor`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HumanAnchorOptions {
    /// The rubric scorer whose judges are corrected by its `labels`.
    pub scorer: String,
    /// The method: ppi++, unless the labels were chosen by the judge's verdicts.
    #[serde(default)]
    pub method: AnchorMethod,
    /// A wanted width of the interval, in the metric's unit; the result states the labels that it needs. Default: a tenth
    /// of the metric's range, if it has one.
    #[serde(default)]
    pub width: Option<f64>,
}

/// A way to correct a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnchorMethod {
    /// Prediction-powered, the judge's weight tuned.
    #[default]
    #[serde(rename = "ppi++")]
    Tuned,
    /// Prediction-powered, the judge at full weight.
    Ppi,
    /// The labels alone.
    Human,
    /// From the judge's sensitivity and specificity.
    RoganGladen,
}

/// Human-anchored figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HumanAnchor {
    /// The scorer.
    pub scorer: String,
    /// The method of correction.
    pub method: AnchorMethod,
    /// Number of labels used, and of all labels.
    pub labels: (u64, u64),
    /// Number of labels shown to judges as examples, which are left out.
    pub shown_to_judges: u64,
    /// Number of labels given for another version of the rubric, which are left out.
    pub other_version: u64,
    /// By metric and system, in the plan's order.
    pub figures: Vec<AnchoredFigure>,
}

/// One metric of one system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnchoredFigure {
    /// The metric.
    pub metric: String,
    /// The system.
    pub system: String,
    /// Number of samples with a label and a grade of the judge.
    pub labelled: u64,
    /// Number of samples with a grade only.
    pub judged: u64,
    /// The judge's mean over all of them.
    pub judge: Option<Finding>,
    /// The mean of the labels alone.
    pub human: Option<Finding>,
    /// The human-anchored mean.
    pub anchored: Option<Finding>,
    /// Mean of human − judge on the labelled samples: the bias of the judge.
    pub correction: Option<Finding>,
    /// Weight of the judge, 0 to 1, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<Finding>,
    /// Number of labels without a judge that would give the same precision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worth: Option<Finding>,
    /// Labels needed for the wanted width: with the judge, and without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels_needed: Option<(u64, u64)>,
    /// Labels that are missing for the wanted width, with the judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels_missing: Option<u64>,
    /// The reason why there is no anchored figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Sums of labels and grades of one sample × system, over trials and annotators.
#[derive(Debug, Clone, Copy, Default)]
struct LabelledSums {
    human: f64,
    judge: f64,
    n: f64,
}

/// The wanted width of an interval, as a share of the metric's range, where the suite states none.
const USUAL_WIDTH: f64 = 0.1;

struct HumanAnchorFold {
    options: HumanAnchorOptions,
    plan: Arc<PlanHeader>,
    scorer: usize,
    labels: Vec<Label>,
    used: Vec<bool>,
    all: u64,
    shown: u64,
    other_version: u64,
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
    if rubric.labels.is_empty() {
        return Err(options_error(spec, format!("scorer {:?} has no labels: give it `labels: FILE`", options.scorer)));
    }
    let shown = all_drawn_examples(&rubric.labels, rubric.rubric.examples as usize, plan.run.seed);
    let unseen = rubric.labels.iter().enumerate().filter(|(at, _)| !shown.contains(at));
    let is_current = |row: &Value| version_of(row).is_none_or(|version| Some(version) == rubric.rubric.version);
    let (current, old): (Vec<_>, Vec<_>) = unseen.map(|(_, row)| row).partition(|row| is_current(row));
    let labels: Vec<Label> = current.into_iter().filter_map(Label::from_row).collect();
    Ok(Some(Box::new(HumanAnchorFold {
        plan: plan.clone(),
        scorer,
        used: vec![false; labels.len()],
        all: rubric.labels.len() as u64,
        shown: shown.len() as u64,
        other_version: old.len() as u64,
        labels,
        options,
        seen: BTreeMap::new(),
    })))
}

impl Analysis for HumanAnchorFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if cell.row.cell.status != CellStatus::Ok {
            return;
        }
        let labels = LabelIndex::new(&self.labels);
        let mut said: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (at, label) in labels.about(&self.plan, &cell.row) {
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

/// The samples of one metric and system.
#[derive(Default)]
struct AnchorSamples {
    human: Vec<f64>,
    judge: Vec<f64>,
    unlabelled: Vec<f64>,
    /// Clusters of the labelled samples, then of the others.
    clusters: (Vec<u32>, Vec<u32>),
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
            } else if let Some(grade) = context.table.value(metric, sample, system) {
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
        let plain = |values: &[&[f64]], clusters: &[&[u32]], binary: bool| {
            let mut observed = Observations { clustered, ..Observations::default() };
            let (values, clusters) = (values.iter().copied().flatten(), clusters.iter().copied().flatten());
            values.zip(clusters).for_each(|(value, cluster)| observed.push(*value, 0, *cluster));
            estimate::figure(&observed, Aggregate::Mean, binary, measure.level)
        };
        let (labelled, others) = (&samples.clusters.0[..], &samples.clusters.1[..]);
        let judge = plain(&[&samples.judge, &samples.unlabelled], &[labelled, others], measure.binary)?;
        let off: Vec<f64> = samples.human.iter().zip(&samples.judge).map(|(human, judge)| human - judge).collect();
        let mut figure = AnchoredFigure {
            metric: spec.name.clone(),
            system: system_id(&self.plan, system),
            labelled: samples.human.len() as u64,
            judged: samples.unlabelled.len() as u64,
            judge: Some(judge),
            human: plain(&[&samples.human], &[labelled], measure.binary),
            correction: plain(&[&off], &[labelled], false),
            anchored: None,
            lambda: None,
            worth: None,
            labels_needed: None,
            labels_missing: None,
            why: None,
        };
        let outcome = match self.options.method {
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
        Some(figure)
    }
}

/// A prediction-powered mean.
struct PoweredMean {
    lambda: f64,
    estimate: f64,
    se: f64,
    interval: Option<Interval>,
    name: &'static str,
    /// Standard error of the labels alone.
    human_se: f64,
}

impl PoweredMean {
    fn write(self, samples: &AnchorSamples, figure: &mut AnchoredFigure) {
        let n = samples.human.len() + samples.unlabelled.len();
        let point = |value, n, name| Finding::point(value, n, name);
        figure.anchored =
            point(self.estimate, n, self.name).map(|it| it.with_named_interval(self.interval).with_se(self.se));
        figure.lambda =
            point(self.lambda, samples.human.len(), "PPI++ weight of the judge").filter(|_| self.lambda > 0.0);
        let worth = samples.human.len() as f64 * (self.human_se / self.se).powi(2);
        figure.worth = point(worth, samples.human.len(), "labels of equal precision").filter(|_| self.se > 0.0);
    }
}

fn prediction_powered(
    samples: &AnchorSamples,
    method: AnchorMethod,
    clustered: bool,
    level: Level,
) -> Result<PoweredMean, String> {
    let failed = |error: karat_stats::numeric::input::InputError| error.to_string();
    if samples.unlabelled.len() < 2 {
        return labels_alone(samples, clustered, level);
    }
    let found = ppi_mean(&samples.human, &samples.judge, &samples.unlabelled, level).map_err(failed)?;
    let found: PpiMean = found.ok_or("the labels do not determine an estimate")?;
    let (lambda, mean, name): (f64, AnchoredMean, _) = match method {
        AnchorMethod::Ppi => (1.0, found.ppi, "PPI"),
        AnchorMethod::Human => (0.0, found.classical, "labels alone"),
        AnchorMethod::Tuned | AnchorMethod::RoganGladen => (found.lambda, found.tuned, "PPI++"),
    };
    let human_se = found.classical.standard_error;
    if !clustered {
        let interval = Interval { method: karat_stats::interval::Method::StudentT, ..mean.interval };
        return Ok(PoweredMean {
            lambda,
            estimate: mean.estimate,
            se: mean.standard_error,
            interval: Some(interval),
            name,
            human_se,
        });
    }
    let robust = |lambda: f64, centre: f64| influence(samples, lambda, centre, level);
    let (se, interval) = robust(lambda, mean.estimate).ok_or("at least two clusters are needed")?;
    let human_se = robust(0.0, found.classical.estimate).map_or(human_se, |(se, _)| se);
    Ok(PoweredMean { lambda, estimate: mean.estimate, se, interval: Some(interval), name, human_se })
}

/// The mean of the labels alone, if everything is labelled.
fn labels_alone(samples: &AnchorSamples, clustered: bool, level: Level) -> Result<PoweredMean, String> {
    let mut observed = Observations { clustered, ..Observations::default() };
    samples.human.iter().zip(&samples.clusters.0).for_each(|(value, cluster)| observed.push(*value, 0, *cluster));
    let found =
        estimate::figure(&observed, Aggregate::Mean, false, level).ok_or("the labels do not determine a mean")?;
    let se = found.se().unwrap_or_default();
    let interval = found.interval().map(|(lo, hi)| Interval {
        lo,
        hi,
        level,
        method: if clustered {
            karat_stats::interval::Method::ClusterT
        } else {
            karat_stats::interval::Method::StudentT
        },
    });
    Ok(PoweredMean { lambda: 0.0, estimate: found.value(), se, interval, name: "labels alone", human_se: se })
}

/// Cluster-robust standard error and interval of λ·mean(F) + mean(y − λf), as the mean of its influences: with n labelled
/// and N other samples, T of both, θ + T/n·(rᵢ − r̄) and θ + T/N·λ(Fⱼ − F̄).
fn influence(samples: &AnchorSamples, lambda: f64, centre: f64, level: Level) -> Option<(f64, Interval)> {
    let residuals: Vec<f64> =
        samples.human.iter().zip(&samples.judge).map(|(human, judge)| human - lambda * judge).collect();
    let (n, others) = (residuals.len() as f64, samples.unlabelled.len() as f64);
    let (residual, judge) = (mean(&residuals)?, mean(&samples.unlabelled)?);
    let of_labels = residuals.iter().map(|it| centre + (n + others) / n * (it - residual));
    let of_judge = samples.unlabelled.iter().map(|it| centre + (n + others) / others * lambda * (it - judge));
    let values: Vec<f64> = of_labels.chain(of_judge).collect();
    let clusters: Vec<u32> = samples.clusters.0.iter().chain(&samples.clusters.1).copied().collect();
    let found = clustered_mean(&values, &clusters, level).ok()?;
    Some((found.standard_error?, found.interval?))
}

/// The pass rate corrected by the judge's sensitivity and specificity.
fn corrected_rate(samples: &AnchorSamples, clustered: bool, level: Level) -> Result<Option<Finding>, String> {
    let is_verdict = |value: &f64| [0.0_f64, 1.0].iter().any(|verdict| value.total_cmp(verdict).is_eq());
    let all = samples.human.iter().chain(&samples.judge).chain(&samples.unlabelled);
    if !all.clone().all(is_verdict) {
        return Err("rogan_gladen corrects pass and fail; use ppi++ for grades".to_owned());
    }
    if clustered {
        return Err("rogan_gladen does not support clusters; use ppi++".to_owned());
    }
    let passes = |value: &f64| *value >= 1.0;
    let both = samples.human.iter().zip(&samples.judge);
    let count = |human: bool, agrees: bool| {
        both.clone().filter(|(y, f)| passes(y) == human && (!agrees || passes(f) == human)).count() as u64
    };
    let counts = JudgeCounts {
        judge_pass: samples.unlabelled.iter().filter(|value| passes(value)).count() as u64,
        judge_total: samples.unlabelled.len() as u64,
        true_pos: count(true, true),
        human_pos: count(true, false),
        true_neg: count(false, true),
        human_neg: count(false, false),
    };
    let found = rogan_gladen(&counts, level).map_err(|error| error.to_string())?;
    let corrected = found.corrected.ok_or(
        "the judge is no better than chance on the labels, or they lack passes or fails: its pass rate cannot be corrected",
    )?;
    let n = samples.human.len() + samples.unlabelled.len();
    let point = Finding::point(corrected.estimate, n, "Rogan-Gladen");
    Ok(point.map(|it| it.with_named_interval(corrected.interval).with_se(corrected.standard_error)))
}

/// The labels needed for an interval of this width, with the judge and without.
fn labels_needed(samples: &AnchorSamples, width: f64, level: Level) -> Option<(u64, u64)> {
    let plan = LabelPlan {
        var_human: variance(&samples.human)?,
        var_judge: variance(&samples.judge)?,
        correlation: karat_stats::agreement::pearson(&samples.human, &samples.judge, level)
            .ok()
            .flatten()
            .map_or(0.0, |it| it.correlation.value),
        n_unlabelled: samples.unlabelled.len() as u64,
        half_width: 0.5 * width,
        level,
    };
    label_budget(&plan).ok().map(|budget| (budget.labels_ppi_pp, budget.labels_classical))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MemoryRun, judged_run};
    use crate::{Options, analyse};
    use karat_types::Score;
    use serde_json::{Value, json};

    /// Two hundred samples; people give 4, 5 or 6, the judge half a point more; every fourth sample has a label.
    fn run(with: Value, grade: impl Fn(usize) -> (f64, f64)) -> MemoryRun {
        let labels = (0..200)
            .step_by(4)
            .map(|at| json!({ "sample": format!("sample-{at}"), "scores": { "overall": grade(at).0 } }));
        let mut run = judged_run(1, 200, &["judge"], labels.collect());
        for cell in &mut run.cells {
            cell.judgments[0].scores = vec![(0, Score::value(grade(cell.sample).1))];
        }
        let plan = Arc::make_mut(&mut run.header.plan);
        let Value::Object(with) = with else { panic!("options") };
        plan.analyses = vec![AnalysisSpec { analysis: "human_anchor".to_owned(), id: "anchor".to_owned(), with }];
        run
    }

    fn lenient(at: usize) -> (f64, f64) {
        let human = 4.0 + (at * 7 % 5) as f64 / 2.0;
        (human, human + 0.5 + ((at * 11) % 7) as f64 / 20.0)
    }

    fn found(run: &MemoryRun) -> HumanAnchor {
        match analyse(run, &Options::default()).unwrap().analyses.remove(0).outcome {
            Outcome::HumanAnchor(found) => found,
            other => panic!("{other:?}"),
        }
    }

    /// BY-03: the anchored score covers the true mean, and is more precise than labels alone.
    #[test]
    fn human_labels_correct_a_lenient_judge() {
        let anchor = found(&run(json!({ "scorer": "quality", "width": 0.2 }), lenient));
        let [figure] = &anchor.figures[..] else { panic!("{anchor:?}") };
        let truth = (0..200).map(|at| lenient(at).0).sum::<f64>() / 200.0;
        let anchored = figure.anchored.as_ref().unwrap();
        let (lo, hi) = anchored.interval().unwrap();
        assert!(lo < truth && truth < hi && figure.judge.as_ref().unwrap().value() > hi, "{figure:?}");
        let (human_lo, human_hi) = figure.human.as_ref().unwrap().interval().unwrap();
        assert!(hi - lo < 0.7 * (human_hi - human_lo));
        assert_eq!((anchored.method(), anchor.labels, figure.labelled, figure.judged), ("PPI++, t", (50, 50), 50, 150));
        assert_eq!(figure.correction.as_ref().unwrap().sign(), Some(false));
        assert!(figure.worth.as_ref().unwrap().value() > 100.0);
        let (with_judge, without) = figure.labels_needed.unwrap();
        assert!(with_judge < without);
    }

    /// BY-03: labels shown to a judge as examples are left out.
    #[test]
    fn shown_labels_are_left_out() {
        let mut run = run(json!({ "scorer": "quality" }), lenient);
        let plan = Arc::make_mut(&mut run.header.plan);
        let ScorerKind::Rubric(rubric) = &mut plan.scorers[0].kind else { panic!("no rubric") };
        rubric.rubric.examples = 2;
        rubric.labels.iter_mut().for_each(|row| row["output"] = json!("some text"));
        let anchor = found(&run);
        // Labels of another output than the cell's do not match.
        assert_eq!(anchor.labels.0, 0);
        assert!(anchor.shown_to_judges >= 2 && anchor.figures[0].anchored.is_none());
        assert!(anchor.figures[0].why.as_ref().unwrap().contains("two labels"));
    }

    /// BY-03: Rogan–Gladen is available on request, for pass/fail only, and a judge at chance level is refused.
    #[test]
    fn rogan_gladen_is_for_pass_and_fail() {
        let verdict = |at: usize| (f64::from(u8::from(at % 10 < 5)), f64::from(u8::from(at % 10 < 7)));
        let with = json!({ "scorer": "quality", "method": "rogan_gladen" });
        let figure = found(&run(with.clone(), verdict)).figures.remove(0);
        assert!(figure.anchored.unwrap().method().starts_with("Rogan-Gladen, Lang-Reiczigel"));
        let graded = found(&run(with.clone(), lenient)).figures.remove(0);
        assert!(graded.anchored.is_none() && graded.why.unwrap().contains("use ppi++"));
        let coin = found(&run(with, |at| (f64::from(u8::from(at % 8 < 4)), f64::from(u8::from(at % 16 < 8)))))
            .figures
            .remove(0);
        assert!(coin.why.unwrap().contains("no better than chance"));
    }

    /// BY-03, invariant 6: if samples share clusters, the interval is cluster-robust.
    #[test]
    fn clusters_widen_the_interval() {
        let mut clustered = run(json!({ "scorer": "quality" }), lenient);
        Arc::make_mut(&mut clustered.header.plan).dataset.clustered = true;
        for (at, sample) in clustered.samples.iter_mut().enumerate() {
            sample.cluster = Some(format!("c{}", at / 10));
        }
        let figure = found(&clustered).figures.remove(0);
        assert_eq!(figure.anchored.unwrap().method(), "PPI++, cluster t (CR1)");
        let refused = analyse(&run(json!({ "scorer": "other" }), lenient), &Options::default()).unwrap_err();
        assert!(refused.to_string().contains("not a scorer with judges"), "{refused}");
    }

    /// HU-40: a scorer with labels is anchored without being asked, beside its judge's figure; labels of another version
    /// do not count, and what a wide interval lacks is stated.
    #[test]
    fn labels_anchor_without_being_asked() {
        let mut run = run(json!({ "scorer": "quality" }), lenient);
        let asked = found(&run);
        let plan = Arc::make_mut(&mut run.header.plan);
        plan.analyses.clear();
        let findings = analyse(&run, &Options::default()).unwrap();
        let figure = findings.anchored_figure("quality.overall", "model-a/variant-0").unwrap();
        assert!(findings.analyses.iter().any(|it| it.id == "human_anchor"));
        assert_eq!((Some(figure), figure.labels_missing), (asked.figures.first(), None));
        let plan = Arc::make_mut(&mut run.header.plan);
        let ScorerKind::Rubric(rubric) = &mut plan.scorers[0].kind else { panic!("no rubric") };
        rubric.rubric.version = Some("2".to_owned());
        rubric.labels.iter_mut().enumerate().for_each(|(at, row)| row["version"] = json!(if at < 4 { 2 } else { 1 }));
        plan.analyses = vec![AnalysisSpec {
            analysis: "human_anchor".to_owned(),
            id: "anchor".to_owned(),
            with: serde_json::Map::from_iter([
                ("scorer".to_owned(), json!("quality")),
                ("width".to_owned(), json!(0.1)),
            ]),
        }];
        let anchor = found(&run);
        assert_eq!((anchor.labels.0, anchor.other_version), (4, 46));
        assert!(anchor.figures[0].labels_missing.is_some_and(|missing| missing > 0), "{anchor:?}");
    }
}
