//! The analyses that a suite can request. Each is one file with a `build` function and one line in [`REGISTRY`].
//! `judging` has the analyses of judges, `problems` those of failures, `comparing` those of differences within a run,
//! `dataset` those of the dataset, `diagnostics` those of findings within outputs. The pass calls [`Analysis::add_cell`]
//! for every cell in plan order, then [`Analysis::finish`].

mod comparing;
mod dataset;
mod diagnostics;
mod judging;
mod ordered_map;
mod problems;

use std::sync::Arc;

use karat_stats::interval::Level;
use karat_types::{AnalysisSpec, CellRow, PlanHeader, ScorerKind};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

pub use comparing::delta::{
    Comparison, DecidedDelta, Delta, DeltaOptions, MetricDelta, NotableLimit, SampleMove, TextChange, TextDelta,
};
pub use comparing::leaderboards::Leaderboards;
pub use comparing::missing_items::{MissingGroup, MissingItem, MissingItems, MissingItemsOptions};
pub use comparing::power::{Power, PowerOptions};
pub use comparing::ranking::{ComparedPair, MetricRanking, RankedSystem, RankingOptions, Rankings, WithoutJudge};
pub use dataset::balance::{Balance, BalanceOptions, ColumnBalance, ValueShare};
pub use dataset::slices::{Slice, Slices, SlicesOptions};
pub use dataset::summary_corpus::{CorpusDimension, CorpusSession, SummaryCorpus, SummaryCorpusOptions, SystemCorpus};
pub use diagnostics::{
    BestThreshold, Bucket, Buckets, Category, Confidence, ConfidenceOptions, Confusion, ConfusionOptions, CurveBin,
    Diagnostics, DiagnosticsOptions, Evaluation, Latency, Offsets, SectionRange, SpanFigures, TextCount,
};
pub use judging::agreement::{Agreement, AgreementOptions};
pub use judging::calibration::{
    CalibratedDimension, CalibratedJudge, Calibration, CalibrationForm, CalibrationGap, CalibrationOptions,
    CalibrationVerdict, SETS_TO_DECIDE, SetDelta, TOLERATED_BIAS, ThresholdDecision,
};
pub use judging::cascade::{Cascade, CascadeMetric, CascadeSpend, CascadeSystem, Cascades};
pub use judging::evidence_position::{EvidencePosition, PlaceEffect, PlaceMeasure, PlaceUnit};
pub use judging::grading::{FailingJudge, FlaggedCell, Grading};
pub use judging::human_anchor::outcome::{
    AnchorMethod, AnchoredFigure, AnchoringTask, HumanAnchor, HumanAnchorOptions,
};
pub use judging::judge_bias::{
    BiasCheck, FeatureSlope, JudgeBias, JudgeBiasOptions, OwnFamily, PositionEffect, VoteConsistency,
};
pub use ordered_map::OrderedMap;
pub use problems::categories::{CategoryExample, FailureCategory};
pub use problems::errors::{ErrorCode, ErrorExample, ErrorKind, Errors, SkippedCells, Stage};
pub use problems::failures::{Failure, Failures, FailuresOptions, failure_thresholds, shortfall_severity};
pub use problems::notes::{NoteCount, Notes};
pub use problems::services::Services;
pub use problems::shortfall::Shortfall;

use crate::AnalysisError;
use crate::figures::leaderboard::{Leaderboard, rank_all};
use crate::infer::measure::Measure;
use crate::reference::pinned::Pinned;
use crate::score::consensus::CellScores;
use crate::score::people::{PeopleTask, tasks_of};
use crate::score::table::{ScoreTable, TableBuilder};

/// A cell as the pass hands it to analyses.
pub(crate) struct ScoredCell<'a> {
    pub(crate) row: CellRow<'a>,
    pub(crate) scores: &'a CellScores,
    /// Index of its sample in the table.
    pub(crate) sample: usize,
    /// Its output, if an analysis needs outputs and the cell has one.
    pub(crate) output: Option<&'a Value>,
}

#[cfg(any(test, feature = "testing"))]
pub(crate) use diagnostics::confidence_of;

/// The figures of a run that an analysis may read when it finishes.
pub(crate) struct FinishContext<'a> {
    pub(crate) plan: &'a PlanHeader,
    pub(crate) measures: &'a [Measure],
    pub(crate) table: &'a ScoreTable,
    /// By metric.
    pub(crate) leaderboards: &'a [Leaderboard],
    /// True if every cell of the plan has a row. Otherwise a missing judgment is not a failure.
    pub(crate) is_finished: bool,
    /// The pinned run named by the suite, if it was read.
    pub(crate) baseline: Option<&'a Pinned>,
}

/// An analysis accumulates the cells of a run, in plan order, into an outcome.
pub(crate) trait Analysis: Send {
    /// Returns true if it reads outputs, which are then fetched one at a time.
    fn wants_output(&self) -> bool {
        false
    }

    /// Takes what people said in closed tasks; called once, before the first cell.
    fn set_people(&mut self, _people: &Arc<[PeopleTask]>) {}

    /// Adds the next cell.
    fn add_cell(&mut self, cell: &ScoredCell<'_>);

    /// Returns the outcome.
    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome;
}

/// The outcome of an analysis.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Outcome of `delta`.
    Delta(Delta),
    /// Outcome of `agreement`.
    Agreement(Agreement),
    /// Outcome of `cascade`.
    Cascades(Cascades),
    /// Outcome of `calibration`.
    Calibration(Calibration),
    /// Outcome of `failures`.
    Failures(Failures),
    /// Outcome of `errors`.
    Errors(Errors),
    /// Outcome of `evidence_position`.
    EvidencePosition(EvidencePosition),
    /// Outcome of `missing_items`.
    MissingItems(MissingItems),
    /// Outcome of `notes`.
    Notes(Notes),
    /// Outcome of `grading`.
    Grading(Grading),
    /// Outcome of `human_anchor`.
    HumanAnchor(HumanAnchor),
    /// Outcome of `judge_bias`.
    JudgeBias(JudgeBias),
    /// Outcome of `leaderboards`.
    Leaderboards(Leaderboards),
    /// Outcome of `power`.
    Power(Power),
    /// Outcome of `ranking`.
    Ranking(Rankings),
    /// Outcome of `services`.
    Services(Services),
    /// Outcome of `slices`.
    Slices(Slices),
    /// Outcome of `balance`.
    Balance(Balance),
    /// Outcome of `summary_corpus`.
    SummaryCorpus(Box<SummaryCorpus>),
    /// Outcome of `diagnostics`.
    Diagnostics(Box<Diagnostics>),
    /// Outcome of `drift`.
    Drift(crate::drift::SystemDrifts),
}

/// An outcome under its key in `analyses{}`.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalysisResult {
    /// The key.
    pub id: String,
    /// The registered name.
    pub analysis: String,
    /// The outcome.
    pub outcome: Outcome,
}

/// No options.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

type Build = fn(&AnalysisSpec, &Arc<PlanHeader>) -> Result<Option<Box<dyn Analysis>>, AnalysisError>;

/// The condition under which an analysis runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunCondition {
    /// A suite lists it.
    OnRequest,
    /// Every run has it.
    Always,
    /// It names figures that every report has outside of `analyses`; listing it adds nothing.
    BuiltIn,
}

/// One line of the registry.
struct RegistryEntry {
    name: &'static str,
    about: &'static str,
    options: fn() -> Schema,
    build: Build,
    runs: RunCondition,
}

/// Builds nothing: the findings contain the figures already (aggregates, cost, recommendations).
const BUILT_IN: Build = |spec, _| options::<NoOptions>(spec).map(|_| None);

const REGISTRY: &[RegistryEntry] = &[
    RegistryEntry {
        name: "aggregate",
        about: "figures of each system, model, variant and sample",
        options: || schema_for!(NoOptions),
        build: BUILT_IN,
        runs: RunCondition::BuiltIn,
    },
    RegistryEntry {
        name: "agreement",
        about: "agreement between judges",
        options: || schema_for!(AgreementOptions),
        build: judging::agreement::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "balance",
        about: "number of samples of each kind in the dataset",
        options: || schema_for!(BalanceOptions),
        build: dataset::balance::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "calibration",
        about: "agreement of judges with human labels, and whether it suffices",
        options: || schema_for!(CalibrationOptions),
        build: judging::calibration::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "cascade",
        about: "estimates, calls and money of judge cascades",
        options: || schema_for!(NoOptions),
        build: judging::cascade::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "cost",
        about: "tokens and money",
        options: || schema_for!(NoOptions),
        build: BUILT_IN,
        runs: RunCondition::BuiltIn,
    },
    RegistryEntry {
        name: "delta",
        about: "paired differences between variants or models",
        options: || schema_for!(DeltaOptions),
        build: comparing::delta::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "diagnostics",
        about: "errors that judges found in the items of outputs: kinds, positions, and whether confidence predicts them",
        options: || schema_for!(DiagnosticsOptions),
        build: diagnostics::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "drift",
        about: "whether the last days are worse than the weeks before them",
        options: || schema_for!(crate::drift::DriftOptions),
        build: comparing::drift::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "errors",
        about: "failures by error code and cause",
        options: || schema_for!(NoOptions),
        build: problems::errors::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "evidence_position",
        about: "whether judges grade or find differently at the beginning, middle and end of long texts",
        options: || schema_for!(NoOptions),
        build: judging::evidence_position::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "failures",
        about: "the worst cells",
        options: || schema_for!(FailuresOptions),
        build: problems::failures::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "grading",
        about: "how the judges' consensus was formed",
        options: || schema_for!(NoOptions),
        build: judging::grading::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "human_anchor",
        about: "estimated human scores of all outputs, from a judge and a few labels",
        options: || schema_for!(HumanAnchorOptions),
        build: judging::human_anchor::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "judge_bias",
        about: "whether judges favour long or formatted outputs, their own model family, or a position",
        options: || schema_for!(JudgeBiasOptions),
        build: judging::judge_bias::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "leaderboards",
        about: "rankings on shared cells, with their basis",
        options: || schema_for!(NoOptions),
        build: comparing::leaderboards::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "missing_items",
        about: "items that the outputs of some variants contain and those of others lack",
        options: || schema_for!(MissingItemsOptions),
        build: comparing::missing_items::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "notes",
        about: "events that every report must mention",
        options: || schema_for!(NoOptions),
        build: problems::notes::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "power",
        about: "differences that the samples can detect, and the samples that a given one needs",
        options: || schema_for!(PowerOptions),
        build: comparing::power::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "ranking",
        about: "strengths and ranks of systems from judges' verdicts on pairs of outputs",
        options: || schema_for!(RankingOptions),
        build: comparing::ranking::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "recommendations",
        about: "advice from the findings, with caveats",
        options: || schema_for!(NoOptions),
        build: BUILT_IN,
        runs: RunCondition::BuiltIn,
    },
    RegistryEntry {
        name: "services",
        about: "versions and models that the called services report",
        options: || schema_for!(NoOptions),
        build: problems::services::build,
        runs: RunCondition::Always,
    },
    RegistryEntry {
        name: "slices",
        about: "figures of each part of the dataset",
        options: || schema_for!(SlicesOptions),
        build: dataset::slices::build,
        runs: RunCondition::OnRequest,
    },
    RegistryEntry {
        name: "summary_corpus",
        about: "sessions by name, each dimension with its reason",
        options: || schema_for!(SummaryCorpusOptions),
        build: dataset::summary_corpus::build,
        runs: RunCondition::OnRequest,
    },
];

/// A registered analysis, for the suite's catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogEntry {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub about: &'static str,
    /// The condition under which it runs.
    pub runs: RunCondition,
    /// JSON Schema of its `with`.
    pub options: Value,
}

/// Every registered analysis, by name.
pub fn catalog() -> Vec<CatalogEntry> {
    let entry = |it: &RegistryEntry| CatalogEntry {
        name: it.name,
        about: it.about,
        runs: it.runs,
        options: (it.options)().to_value(),
    };
    REGISTRY.iter().map(entry).collect()
}

/// The analyses of a plan that this version does not make. Runs that other versions stored may have them.
#[derive(Debug, Default)]
pub(crate) struct SkippedAnalyses {
    /// Ids of those with an unknown name.
    pub(crate) unknown: Vec<String>,
    /// Those with options that this version does not have, by id.
    pub(crate) unreadable: Vec<(String, AnalysisError)>,
}

/// Builds the analyses of a run: those of the plan, then those that always run.
pub(crate) fn start_analyses(
    plan: &Arc<PlanHeader>,
    people: &Arc<[PeopleTask]>,
) -> Result<(Vec<RunningAnalysis>, SkippedAnalyses), AnalysisError> {
    let is_requested = |name: &str| plan.analyses.iter().any(|spec| spec.analysis == name);
    let always =
        REGISTRY.iter().filter(|entry| entry.runs == RunCondition::Always && !is_requested(entry.name)).map(|entry| {
            AnalysisSpec { analysis: entry.name.to_owned(), id: entry.name.to_owned(), with: serde_json::Map::new() }
        });
    let (mut running, mut skipped) = (Vec::new(), SkippedAnalyses::default());
    for spec in plan.analyses.iter().cloned().chain(implied_anchors(plan, people)).chain(always) {
        match REGISTRY.iter().find(|entry| entry.name == spec.analysis) {
            None => skipped.unknown.push(spec.id),
            Some(entry) => match (entry.build)(&spec, plan) {
                Ok(None) => {}
                Ok(Some(mut analysis)) => {
                    analysis.set_people(people);
                    running.push(RunningAnalysis { spec, analysis });
                }
                Err(error @ AnalysisError::UnreadableOptions { .. }) => skipped.unreadable.push((spec.id, error)),
                Err(error) => return Err(error),
            },
        }
    }
    Ok((running, skipped))
}

/// `human_anchor` for every scorer with labels, in its file or of a task, that the suite does not anchor itself. A
/// suite that calibrates its judges only asks how far they agree.
fn implied_anchors(plan: &PlanHeader, people: &[PeopleTask]) -> Vec<AnalysisSpec> {
    const NAME: &str = "human_anchor";
    if plan.run.measures_judges || plan.analyses.iter().any(|spec| spec.analysis == "calibration") {
        return Vec::new();
    }
    let requested = || plan.analyses.iter().filter(|spec| spec.analysis == NAME);
    let is_anchored = |id: &str| requested().any(|spec| spec.with.get("scorer").is_some_and(|it| it == id));
    let labelled = plan.scorers.iter().filter(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => {
            let is_labelled = |task: &PeopleTask| !task.labels.is_empty();
            let has_labels = !rubric.labels.is_empty() || tasks_of(people, &scorer.id).any(is_labelled);
            has_labels && !is_anchored(&scorer.id)
        }
        ScorerKind::Metric { .. } => false,
    });
    let labelled: Vec<&str> = labelled.map(|scorer| scorer.id.as_str()).collect();
    let is_free = requested().next().is_none() && labelled.len() == 1;
    let spec = |scorer: &str| AnalysisSpec {
        analysis: NAME.to_owned(),
        id: if is_free { NAME.to_owned() } else { format!("{NAME}.{scorer}") },
        with: serde_json::Map::from_iter([("scorer".to_owned(), Value::from(scorer))]),
    };
    labelled.into_iter().map(spec).collect()
}

/// Ids of the analyses of a run of this plan.
pub(crate) fn outcome_ids(plan: &Arc<PlanHeader>) -> Result<Vec<String>, AnalysisError> {
    let (running, skipped) = start_analyses(plan, &Arc::default())?;
    let unreadable = skipped.unreadable.into_iter().map(|(id, _)| id);
    Ok(running.into_iter().map(|it| it.spec.id).chain(unreadable).collect())
}

/// A running analysis with its spec.
pub(crate) struct RunningAnalysis {
    spec: AnalysisSpec,
    pub(crate) analysis: Box<dyn Analysis>,
}

impl RunningAnalysis {
    pub(crate) fn finish(self, context: &FinishContext<'_>) -> AnalysisResult {
        AnalysisResult { id: self.spec.id, analysis: self.spec.analysis, outcome: self.analysis.finish(context) }
    }
}

/// Parses the options of a spec.
fn options<T: DeserializeOwned>(spec: &AnalysisSpec) -> Result<T, AnalysisError> {
    let unreadable = |error: serde_json::Error| AnalysisError::UnreadableOptions {
        id: spec.id.clone(),
        analysis: spec.analysis.clone(),
        message: error.to_string(),
    };
    serde_json::from_value(Value::Object(spec.with.clone())).map_err(unreadable)
}

fn options_error(spec: &AnalysisSpec, message: impl Into<String>) -> AnalysisError {
    AnalysisError::Options { id: spec.id.clone(), analysis: spec.analysis.clone(), message: message.into() }
}

/// The first `limit` characters, followed by an ellipsis if the text is longer.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// The results of a plan's analyses without any cell: their structure.
///
/// # Errors
/// A metric or an analysis that the plan cannot have.
pub(crate) fn empty_outcomes(plan: &Arc<PlanHeader>) -> Result<Vec<AnalysisResult>, AnalysisError> {
    let measure = |metric| Measure::of(plan, metric, Level::P95);
    let measures: Vec<Measure> = plan.metrics.iter().map(measure).collect::<Result<_, _>>()?;
    let table = TableBuilder::new(plan.clone())?.finish();
    let leaderboards = rank_all(plan, &table, &measures);
    let context = FinishContext {
        plan,
        measures: &measures,
        table: &table,
        leaderboards: &leaderboards,
        is_finished: true,
        baseline: None,
    };
    let (analyses, _) = start_analyses(plan, &Arc::default())?;
    Ok(analyses.into_iter().map(|running| running.finish(&context)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_in_order_and_each_schema_closed() {
        let names: Vec<&str> = catalog().iter().map(|entry| entry.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        for entry in catalog() {
            assert_eq!(entry.options["additionalProperties"], Value::Bool(false), "{}", entry.name);
            assert!(!entry.about.is_empty());
        }
    }

    #[test]
    fn an_excerpt_ends_on_a_character() {
        assert_eq!(excerpt("äöü", 2), "äö…");
        assert_eq!(excerpt("äöü", 3), "äöü");
    }
}
