//! Turns stored judgments into findings: aggregates, leaderboards, deltas, agreement, cost, failures.
//!
//! [`analyse`] reads a run once, in plan order, and keeps one number for each metric, sample and system; everything
//! else is accumulated while the rows pass. Scores are reduced in a fixed order: judges ([`Consensus`]), then trials,
//! then samples. A statistic leaves this crate only as a [`Finding`] or as a [`Spread`] around one.

mod agreement;
mod analyses;
pub mod compare;
pub mod drift;
mod figures;
mod findings;
pub mod gate;
mod infer;
pub mod items;
mod reference;
mod run;
mod score;
pub mod series;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use agreement::agree;
pub use agreement::coefficients::{JudgePair, MetricAgreement, PairVerdict};
pub use analyses::{
    Agreement, AgreementOptions, AnalysisResult, AnchorMethod, AnchoredFigure, AnchoringTask, Balance, BalanceOptions,
    BestThreshold, BiasCheck, Bucket, Buckets, CalibratedDimension, CalibratedJudge, Calibration, CalibrationForm,
    CalibrationGap, CalibrationOptions, CalibrationVerdict, Cascade, CascadeMetric, CascadeSpend, CascadeSystem,
    Cascades, CatalogEntry, Category, CategoryExample, ColumnBalance, ComparedPair, Comparison, Confidence,
    ConfidenceOptions, Confusion, ConfusionOptions, CorpusDimension, CorpusSession, CurveBin, Delta, DeltaOptions,
    Diagnostics, DiagnosticsOptions, ErrorCode, ErrorExample, ErrorKind, Errors, Evaluation, EvidencePosition,
    FailingJudge, Failure, FailureCategory, Failures, FailuresOptions, FeatureSlope, FlaggedCell, Grading, HumanAnchor,
    HumanAnchorOptions, JudgeBias, JudgeBiasOptions, Latency, Leaderboards, MetricDelta, MetricRanking, MissingGroup,
    MissingItem, MissingItems, MissingItemsOptions, NotableLimit, NoteCount, Notes, Offsets, OrderedMap, Outcome,
    OwnFamily, PlaceEffect, PlaceMeasure, PlaceUnit, PositionEffect, Power, PowerOptions, RankedSystem, RankingOptions,
    Rankings, RunCondition, SETS_TO_DECIDE, SampleMove, SectionRange, Services, SetDelta, Shortfall, SkippedCells,
    Slice, Slices, SlicesOptions, SpanFigures, Stage, SummaryCorpus, SummaryCorpusOptions, SystemCorpus,
    TOLERATED_BIAS, TextChange, TextCount, TextDelta, ThresholdDecision, ValueShare, VoteConsistency, WithoutJudge,
    catalog, failure_thresholds, shortfall_severity,
};
pub use drift::digest;
pub use figures::breakdown::{Breakdown, CostLine};
pub use figures::contrast::DeltaAxis;
pub use figures::cost::{Bill, Spend};
pub use figures::groups::{CellCounts, Group, is_called, system_id};
pub use figures::leaderboard::{Gap, Leaderboard, RankedPlace};
pub use figures::planning;
pub use figures::spread::{Spread, Weighting};
pub use findings::baseline_variants::BaselineVariant;
pub use findings::stored_deviations::paired_deviations;
pub use findings::unmatched_outputs::UnmatchedOutput;
pub use findings::{Answer, Findings, Recommendation, SampleFindings, Summary};
pub use gate::{Decision, Kpi, KpiBound, References, Verdict, Verdicts};
pub use infer::finding::{FigureDesign, Finding};
pub use reference::history::{Day, GradeRow, GradedCell, History, RowFilter, for_each_graded, source_of};
pub use reference::pinned::{BASELINE_SCHEMA, Pinned, PinnedRun};
pub use reference::{canary, golden, people_golden};
pub use run::pass::{Options, analyse, check};
pub use score::checks::resolve_checks;
pub use score::consensus::{CellScores, Consensus, merge_diagnostics};
pub use score::error::{AnalysisError, GateProblem};
pub use score::instrument::Instrument;
pub use score::instrument::metric_names::{headline_metrics, primary_metric};
pub use score::instrument::served_models::{ServedJudge, ServedModel};
pub use score::people::{
    LabelDesign, LabelDesignKind, LabelStratum, PeopleGame, PeopleLabel, PeopleTask, UnusedTask, is_pass,
};
