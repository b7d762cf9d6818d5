//! `agreement`: agreement of judges with each other on the cells that they share.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader, ScorerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AnalysisError;
use crate::agreement::coefficients::{GradedItem, MetricAgreement, Panel, agreement};
use crate::analyses::judging::calibration::SETS_TO_DECIDE;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, options, options_error};
use crate::score::scales::steps;

/// Options of `agreement`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgreementOptions {
    /// The scorer; default: all scorers with judges.
    pub scorer: Option<String>,
    /// Ids of the judges to compare; default: all.
    pub between: Option<Vec<String>>,
    /// Agreement of two judges, 0 to 1, that the whole interval must exceed: 1 − their mean difference as a share of the
    /// scale. With it, each pair has a verdict in each metric from 20 shared outputs on.
    pub threshold: Option<f64>,
}

/// Agreement by metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Agreement {
    /// By metric name; only metrics in which two judges share a cell.
    pub metrics: BTreeMap<String, MetricAgreement>,
}

struct AgreementFold {
    /// The compared judges: index in the plan and id.
    judges: Vec<(usize, String)>,
    scorers: Vec<usize>,
    threshold: Option<f64>,
    /// By metric.
    cells: BTreeMap<usize, Vec<GradedItem>>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: AgreementOptions = options(spec)?;
    let with_judges = plan.scorers.iter().enumerate().filter(|(_, it)| matches!(it.kind, ScorerKind::Rubric(_)));
    let wanted = |id: &str| options.scorer.as_deref().is_none_or(|wanted| wanted == id);
    let scorers: Vec<usize> = with_judges.filter(|(_, it)| wanted(&it.id)).map(|(at, _)| at).collect();
    if let (Some(scorer), true) = (&options.scorer, scorers.is_empty()) {
        return Err(options_error(spec, format!("scorer: {scorer:?} is not a scorer with judges in this suite")));
    }
    if let Some(threshold) = options.threshold.filter(|it| !(0.0..1.0).contains(it)) {
        return Err(options_error(spec, format!("threshold: {threshold} is not from 0 to 1")));
    }
    // A listed judge that is not in this run is not an error: `--judges` may have left it out.
    let listed = |id: &String| options.between.as_ref().is_none_or(|list| list.contains(id));
    let judges = plan.judges.iter().enumerate().map(|(at, judge)| (at, judge.id.clone()));
    let judges = judges.filter(|(_, id)| listed(id)).collect();
    Ok(Some(Box::new(AgreementFold { judges, scorers, threshold: options.threshold, cells: BTreeMap::new() })))
}

impl Analysis for AgreementFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let mut rows: BTreeMap<usize, Vec<Option<f64>>> = BTreeMap::new();
        let wanted = cell.row.judgments.iter().filter(|it| self.scorers.contains(&usize::from(it.scorer)));
        for judgment in wanted {
            let place = self.judges.iter().position(|(at, _)| *at == usize::from(judgment.judge));
            for (metric, score) in &judgment.scores {
                let row = rows.entry(usize::from(*metric)).or_insert_with(|| vec![None; self.judges.len()]);
                if let Some(grade) = place.and_then(|place| row.get_mut(place)) {
                    *grade = score.number();
                }
            }
        }
        for (metric, grades) in rows {
            if grades.iter().flatten().count() >= 2 {
                self.cells.entry(metric).or_default().push(GradedItem { cluster: cell.sample as u32, grades });
            }
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let raters: Vec<String> = self.judges.iter().map(|(_, id)| id.clone()).collect();
        let found = self.cells.into_iter().filter_map(|(at, mut cells)| {
            let (metric, measure) = (context.plan.metrics.get(at)?, context.measures.get(at)?);
            // The clusters of all samples are known only now.
            cells.iter_mut().for_each(|cell| cell.cluster = context.table.cluster(cell.cluster as usize));
            let panel = Panel {
                raters: &raters,
                scale: steps(context.plan, metric),
                range: metric.range,
                level: measure.level,
            };
            let mut agreed = agreement(&cells, &panel);
            if let Some(threshold) = self.threshold {
                agreed.pairs.iter_mut().for_each(|pair| pair.decide(threshold, SETS_TO_DECIDE));
            }
            Some((metric.name.clone(), agreed))
        });
        Outcome::Agreement(Agreement { metrics: found.collect() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_types::AnalysisSpec;
    use serde_json::json;

    use crate::testing::example;
    use crate::{Options, PairVerdict, analyse};

    /// CL-16, BR-18: two judges on the same cells, with mean absolute difference, bias and ICC.
    #[test]
    fn a_strict_and_a_lenient_judge_differ_by_their_bias() {
        let findings = analyse(&example(), &Options::default()).unwrap();
        let agreement = findings.agreement().unwrap();
        let accuracy = &agreement.metrics["quality.accuracy"];
        let pair = &accuracy.pairs[0];
        assert_eq!(pair.judges, ("judge-strict".to_owned(), "judge-lenient".to_owned()));
        assert!(pair.bias.value() < 0.0);
        assert!(pair.mean_abs_difference.value() >= pair.bias.value().abs() - 1e-12);
        assert!(accuracy.icc.as_ref().unwrap().value() <= 1.0);
        assert!(accuracy.n > 0 && accuracy.alpha.is_some());
    }

    /// CL-13, F117: with a threshold each pair has a verdict in each metric: above it with its whole interval, below it, or open;
    /// few outputs decide nothing, and without a threshold there is no verdict.
    #[test]
    fn two_judges_agree_or_not() {
        let verdicts = |threshold: Option<f64>| {
            let mut run = example();
            let with = threshold.map(|threshold| ("threshold".to_owned(), json!(threshold))).into_iter().collect();
            let spec = AnalysisSpec { analysis: "agreement".to_owned(), id: "agreement".to_owned(), with };
            Arc::make_mut(&mut run.header.plan).analyses = vec![spec];
            let findings = analyse(&run, &Options::default()).unwrap();
            findings.agreement().unwrap().metrics["quality.accuracy"].pairs[0].clone()
        };
        let open = verdicts(None);
        assert_eq!(open.verdict, None);
        let agreement = open.agreement.clone().unwrap();
        assert!((agreement.value() - (1.0 - open.mean_abs_difference.value() / 10.0)).abs() < 1e-9);
        let (lo, hi) = agreement.interval().unwrap();
        for (threshold, wanted) in
            [(lo - 0.01, PairVerdict::Pass), ((lo + hi) / 2.0, PairVerdict::Undecided), (hi, PairVerdict::Fail)]
        {
            let mut pair = open.clone();
            pair.decide(threshold, agreement.n());
            assert_eq!(pair.verdict, Some(wanted), "{threshold}");
            pair.decide(threshold, agreement.n() + 1);
            assert_eq!(pair.verdict, Some(PairVerdict::Undecided));
        }
        assert!(verdicts(Some(0.7)).verdict.is_some());
    }
}
