//! `agreement`: how far judges agree with each other on the cells that they share.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_stats::agreement::{Measurement, Ratings, icc, krippendorff_alpha};
use karat_types::{AnalysisSpec, PlanHeader, ScorerKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Analysis, Outcome, ScoredCell, Setting, options, refused};
use crate::AnalysisError;
use crate::estimate::{self, Aggregate, Observations};
use crate::finding::Finding;

/// Options of `agreement`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgreementOptions {
    /// The scorer; every one with judges without it.
    pub scorer: Option<String>,
    /// Ids of the judges that are compared; all without it.
    pub between: Option<Vec<String>>,
}

/// Two judges in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgePair {
    /// The judges' ids.
    pub judges: (String, String),
    /// Mean of |a − b| over shared cells, in the metric's unit.
    pub mean_abs_difference: Finding,
    /// Mean of a − b: whether one is stricter.
    pub bias: Finding,
}

/// Judges in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricAgreement {
    /// Cells that at least two of the judges graded.
    pub n: u64,
    /// ICC(2,1), absolute agreement of a single judge, on the cells that all judges graded.
    pub icc: Option<Finding>,
    /// Krippendorff's α with interval distances; cells may lack judges.
    pub alpha: Option<Finding>,
    /// Each two judges.
    pub pairs: Vec<JudgePair>,
}

/// Agreement by metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Agreement {
    /// By the metric's name; only metrics that two judges share a cell in.
    pub metrics: BTreeMap<String, MetricAgreement>,
}

/// Grades of one cell, by judge.
struct Graded {
    sample: usize,
    grades: Vec<Option<f64>>,
}

struct Fold {
    /// The compared judges: index in the plan and id.
    judges: Vec<(usize, String)>,
    scorers: Vec<usize>,
    /// By metric.
    cells: BTreeMap<usize, Vec<Graded>>,
}

pub(super) fn build(spec: &AnalysisSpec, plan: &Arc<PlanHeader>) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: AgreementOptions = options(spec)?;
    let with_judges = plan.scorers.iter().enumerate().filter(|(_, it)| matches!(it.kind, ScorerKind::Rubric(_)));
    let wanted = |id: &str| options.scorer.as_deref().is_none_or(|wanted| wanted == id);
    let scorers: Vec<usize> = with_judges.filter(|(_, it)| wanted(&it.id)).map(|(at, _)| at).collect();
    if let (Some(scorer), true) = (&options.scorer, scorers.is_empty()) {
        return Err(refused(spec, format!("scorer is {scorer:?}, which is no scorer with judges in this suite")));
    }
    // A judge of the list that did not run in this run is no mistake: `--judges` may have left it out.
    let listed = |id: &String| options.between.as_ref().is_none_or(|list| list.contains(id));
    let judges = plan.judges.iter().enumerate().map(|(at, judge)| (at, judge.id.clone()));
    let judges = judges.filter(|(_, id)| listed(id)).collect();
    Ok(Some(Box::new(Fold { judges, scorers, cells: BTreeMap::new() })))
}

impl Analysis for Fold {
    fn cell(&mut self, cell: &ScoredCell<'_>) {
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
                self.cells.entry(metric).or_default().push(Graded { sample: cell.sample, grades });
            }
        }
    }

    fn finish(self: Box<Self>, setting: &Setting<'_>) -> Outcome {
        let ids: Vec<&str> = self.judges.iter().map(|(_, id)| id.as_str()).collect();
        let named = |metric: usize| setting.plan.metrics.get(metric).map(|it| it.name.clone());
        let metrics = self
            .cells
            .iter()
            .filter_map(|(metric, cells)| Some((named(*metric)?, agreement(*metric, cells, &ids, setting))));
        Outcome::Agreement(Agreement { metrics: metrics.collect() })
    }
}

fn agreement(metric: usize, cells: &[Graded], judges: &[&str], setting: &Setting<'_>) -> MetricAgreement {
    let level = setting.measures.get(metric).map(|measure| measure.level);
    let complete: Vec<Vec<f64>> =
        cells.iter().filter_map(|cell| cell.grades.iter().copied().collect::<Option<Vec<f64>>>()).collect();
    let icc = level.and_then(|level| icc(&complete, level).ok().flatten()).and_then(|found| {
        let point = Finding::point(found.coefficients.single_absolute?, complete.len(), "ICC(2,1)")?;
        Some(point.with(found.single_absolute_interval, None))
    });
    let units = Ratings::from_units(cells.iter().map(|cell| cell.grades.iter().copied().flatten())).ok();
    let alpha = units.and_then(|units| krippendorff_alpha(&units, Measurement::Interval).ok().flatten());
    let pairs = (0..judges.len()).flat_map(|a| (a + 1..judges.len()).map(move |b| (a, b)));
    MetricAgreement {
        n: cells.len() as u64,
        icc,
        alpha: alpha.and_then(|value| Finding::point(value, cells.len(), "Krippendorff's alpha (interval)")),
        pairs: pairs.filter_map(|(a, b)| pair(cells, (a, b), judges, metric, setting)).collect(),
    }
}

fn pair(
    cells: &[Graded],
    (a, b): (usize, usize),
    judges: &[&str],
    metric: usize,
    setting: &Setting<'_>,
) -> Option<JudgePair> {
    let grade = |cell: &Graded, judge: usize| cell.grades.get(judge).copied().flatten();
    let shared = || cells.iter().filter_map(|cell| Some((grade(cell, a)? - grade(cell, b)?, cell.sample)));
    let figure = |change: &dyn Fn(f64) -> f64| {
        let mut observed = Observations::default();
        shared().for_each(|(gap, sample)| observed.push(change(gap), 0, setting.table.cluster(sample)));
        observed.clustered =
            observed.clusters.windows(2).any(|pair| pair[0] == pair[1]) || setting.table.is_clustered();
        estimate::figure(&observed, Aggregate::Mean, false, setting.measures.get(metric)?.level)
    };
    Some(JudgePair {
        judges: ((*judges.get(a)?).to_owned(), (*judges.get(b)?).to_owned()),
        mean_abs_difference: figure(&f64::abs)?,
        bias: figure(&|gap| gap)?,
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::example;
    use crate::{Options, analyse};

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
}
