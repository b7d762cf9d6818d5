//! `summary_corpus`: sessions by name, each dimension with its reason. With several systems, each
//! has its own figures, and those of the corpus are over all systems with equal weight.

use std::collections::BTreeSet;
use std::sync::Arc;

use karat_types::{AnalysisSpec, CellStatus, PlanHeader, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, OrderedMap, Outcome, ScoredCell, options, options_error};
use crate::figures::aggregate::spread;
use crate::figures::groups::system_id;
use crate::figures::spread::Spread;
use crate::infer::finding::Finding;

/// Number of sessions listed; all are counted.
const LISTED: usize = 10_000;

/// Options of `summary_corpus`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryCorpusOptions {
    /// The scorer to report: a metric with several dimensions, or a rubric.
    pub scorer: String,
}

/// The scores of a corpus of sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SummaryCorpus {
    /// The scorer.
    pub scorer: String,
    /// Number of sessions with an output, including those without a candidate.
    pub corpus_size: u64,
    /// Number of sessions to which the scorer does not apply, such as those without a reference; excluded from all
    /// other figures.
    pub not_curated: u64,
    /// Number of sessions without an output because of an error; excluded from all figures.
    pub failed: u64,
    /// Mean of the overall scores; null if nothing is scored.
    pub overall_mean: Option<f64>,
    /// The lowest overall score.
    pub overall_min: Option<f64>,
    /// The highest overall score.
    pub overall_max: Option<f64>,
    /// The mean with its n, interval and method.
    pub overall: Option<Finding>,
    /// Mean by dimension, in the scorer's order.
    pub dimension_means: OrderedMap<Option<f64>>,
    /// Figures of each system, if the run has several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub systems: Vec<SystemCorpus>,
    /// The first sessions, in plan order.
    pub sessions: Vec<CorpusSession>,
}

/// The scores of a corpus with one system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemCorpus {
    /// The system.
    pub system: String,
    /// Mean of its overall scores; null if nothing is scored.
    pub overall_mean: Option<f64>,
    /// Its lowest overall score.
    pub overall_min: Option<f64>,
    /// Its highest overall score.
    pub overall_max: Option<f64>,
    /// Mean by dimension, in the scorer's order.
    pub dimension_means: OrderedMap<Option<f64>>,
}

impl SummaryCorpus {
    /// The sessions with the lowest overall scores, lowest first; those without one come first of all, ties by name.
    pub fn worst(&self, limit: usize) -> Vec<&CorpusSession> {
        let mut worst: Vec<&CorpusSession> = self.sessions.iter().collect();
        let overall = |session: &CorpusSession| session.overall.unwrap_or(f64::NEG_INFINITY);
        worst.sort_by(|a, b| overall(a).total_cmp(&overall(b)).then_with(|| a.name.cmp(&b.name)));
        worst.truncate(limit);
        worst
    }
}

/// One session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorpusSession {
    /// The sample's id.
    pub name: String,
    /// The system, if the run has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Repetition, from 0, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// Every dimension, in the scorer's order.
    pub dimensions: Vec<CorpusDimension>,
    /// The overall score; null if not applicable or unscored.
    pub overall: Option<f64>,
}

impl CorpusSession {
    /// The reason shared by all dimensions, such as a missing candidate.
    pub fn reason(&self) -> Option<&str> {
        let (first, rest) = self.dimensions.split_first()?;
        let reason = first.reason.as_deref()?;
        (!rest.is_empty() && rest.iter().all(|it| it.reason.as_deref() == Some(reason))).then_some(reason)
    }
}

/// One dimension of one session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorpusDimension {
    /// Its name.
    pub dimension: String,
    /// Its score; null if not applicable or unscored.
    pub score: Option<f64>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

struct SummaryCorpusFold {
    plan: Arc<PlanHeader>,
    scorer: String,
    /// Name and metric index of each dimension.
    dimensions: Vec<(String, usize)>,
    overall: usize,
    /// Indices of the samples that count.
    counted: BTreeSet<usize>,
    not_curated: u64,
    failed: u64,
    sessions: Vec<CorpusSession>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let SummaryCorpusOptions { scorer } = options(spec)?;
    let Some(at) = plan.scorers.iter().position(|known| known.id == scorer) else {
        return Err(options_error(spec, format!("scorer: {scorer:?} is not a scorer of this suite")));
    };
    let own = plan.metrics.iter().enumerate().filter(|(_, metric)| metric.scorer == at);
    let mut figures: Vec<(String, usize)> = own
        .map(|(index, metric)| {
            let dimension = metric.name.strip_prefix(&scorer).and_then(|rest| rest.strip_prefix('.'));
            (dimension.unwrap_or(&metric.name).to_owned(), index)
        })
        .collect();
    // The composite is named `overall`, or comes last.
    let place = figures.iter().position(|(name, _)| name == "overall").or(figures.len().checked_sub(1));
    let Some((_, overall)) = place.map(|place| figures.remove(place)) else {
        return Err(options_error(
            spec,
            format!("the scorer {scorer:?} has no figure in this run; choose a judge or another scorer"),
        ));
    };
    let fold = SummaryCorpusFold {
        plan: plan.clone(),
        scorer,
        dimensions: figures,
        overall,
        counted: BTreeSet::new(),
        not_curated: 0,
        failed: 0,
        sessions: Vec::new(),
    };
    Ok(Some(Box::new(fold)))
}

impl SummaryCorpusFold {
    fn session(&self, cell: &ScoredCell<'_>) -> CorpusSession {
        let dimension = |(name, at): &(String, usize)| {
            let score = cell.scores.scores.get(*at).and_then(Option::as_ref);
            CorpusDimension {
                dimension: name.clone(),
                score: score.and_then(Score::number),
                reason: score.and_then(reason).map(str::to_owned),
            }
        };
        CorpusSession {
            name: cell.row.sample.id.clone(),
            system: (self.plan.systems.len() > 1).then(|| system_id(&self.plan, cell.row.system)),
            trial: (self.plan.trials > 1).then_some(cell.row.trial),
            dimensions: self.dimensions.iter().map(dimension).collect(),
            overall: cell.scores.number(self.overall),
        }
    }
}

fn reason(score: &Score) -> Option<&str> {
    match score {
        Score::Value { reason, .. } => reason.as_deref(),
        Score::NotApplicable { na } => Some(na),
        Score::Unscored { unscored } => Some(unscored),
    }
}

impl Analysis for SummaryCorpusFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if cell.row.cell.status != CellStatus::Ok {
            self.failed += u64::from(cell.row.cell.status == CellStatus::Error);
            return;
        }
        if matches!(cell.scores.scores.get(self.overall), Some(Some(Score::NotApplicable { .. }))) {
            self.not_curated += 1;
            return;
        }
        self.counted.insert(cell.sample);
        if self.sessions.len() < LISTED {
            let session = self.session(cell);
            self.sessions.push(session);
        }
    }

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let all: Vec<usize> = (0..context.plan.systems.len()).collect();
        let of = |metric: usize, systems: &[usize]| {
            let measure = context.measures.get(metric)?;
            Some(spread(context.table, metric, *measure, systems, 0..context.table.samples()))
        };
        let means = |systems: &[usize]| {
            let mean = |metric: usize| of(metric, systems).as_ref().and_then(Spread::mean);
            self.dimensions.iter().map(|(name, at)| (name.clone(), mean(*at))).collect()
        };
        let alone = |system: &usize| {
            let overall = of(self.overall, &[*system]);
            SystemCorpus {
                system: system_id(context.plan, *system),
                overall_mean: overall.as_ref().and_then(Spread::mean),
                overall_min: overall.as_ref().and_then(Spread::min),
                overall_max: overall.as_ref().and_then(Spread::max),
                dimension_means: means(&[*system]),
            }
        };
        let systems = if all.len() > 1 { all.iter().map(alone).collect() } else { Vec::new() };
        let (overall, dimension_means) = (of(self.overall, &all), means(&all));
        Outcome::SummaryCorpus(Box::new(SummaryCorpus {
            scorer: self.scorer,
            corpus_size: self.counted.len() as u64,
            not_curated: self.not_curated,
            failed: self.failed,
            overall_mean: overall.as_ref().and_then(Spread::mean),
            overall_min: overall.as_ref().and_then(Spread::min),
            overall_max: overall.as_ref().and_then(Spread::max),
            overall: overall.as_ref().and_then(Spread::figure).cloned(),
            dimension_means,
            systems,
            sessions: self.sessions,
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Sketch;
    use crate::{AnalysisError, Options, Outcome, analyse};

    fn run(scorer: &str) -> Result<crate::Findings, AnalysisError> {
        let sketch = Sketch::new(1, 1, 4).value(0, 0, 8.0).value(1, 0, 2.0).error(2, 0, "parse").not_applicable(3, 0);
        analyse(&sketch.analysis("summary_corpus", "corpus", json!({"scorer": scorer})).run(), &Options::default())
    }

    /// SU-01, SU-04: mean, extremes and every session; failed cells and sessions without a reference do not count as 0.
    #[test]
    fn a_corpus_is_summed_up() {
        let findings = run("quality").unwrap();
        let Outcome::SummaryCorpus(corpus) = &findings.analyses[0].outcome else { panic!("no corpus") };
        assert_eq!((corpus.corpus_size, corpus.not_curated, corpus.failed), (2, 1, 1));
        assert_eq!(corpus.overall_mean, Some(5.0));
        assert_eq!((corpus.overall_min, corpus.overall_max), (Some(2.0), Some(8.0)));
        assert_eq!(corpus.overall.as_ref().map(crate::Finding::n), Some(2));
        let names: Vec<&str> = corpus.sessions.iter().map(|session| session.name.as_str()).collect();
        assert_eq!(names, ["sample-0", "sample-1"]);
    }

    /// SU-04: with two systems each has its own figures, and a session counts once.
    #[test]
    fn each_system_has_its_own_figures() {
        let sketch = Sketch::new(1, 2, 2).value(0, 0, 8.0).value(1, 0, 6.0).value(0, 1, 2.0).value(1, 1, 4.0);
        let run = sketch.analysis("summary_corpus", "corpus", json!({"scorer": "quality"})).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        let Outcome::SummaryCorpus(corpus) = &findings.analyses[0].outcome else { panic!("no corpus") };
        assert_eq!((corpus.corpus_size, corpus.overall_mean), (2, Some(5.0)));
        let systems: Vec<_> =
            corpus.systems.iter().map(|it| (it.overall_mean, it.overall_min, it.overall_max)).collect();
        assert_eq!(systems, [(Some(7.0), Some(6.0), Some(8.0)), (Some(3.0), Some(2.0), Some(4.0))]);
    }

    #[test]
    fn an_unknown_scorer_is_refused() {
        assert!(matches!(run("qualty"), Err(AnalysisError::Options { .. })));
    }
}
