//! Stored judgments to findings: aggregates, leaderboards, deltas, agreement, cost, failures.
//!
//! [`analyse`] reads a run once, in plan order, and keeps per metric one number for each sample ×
//! system; everything else is folded as it passes. The order of reduction is fixed: judges become
//! one ([`Consensus`]), then trials become one, then samples become a figure. A statistic leaves this
//! crate only as a [`Finding`] or as a [`Spread`] around one.

mod agreement;
mod analyses;
pub mod compare;
pub mod drift;
mod error;
mod figures;
pub mod gate;
mod pinned;
pub mod planning;
mod reference;
mod run;
mod score;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use agreement::agree;
pub use agreement::coefficients::{JudgePair, MetricAgreement};
pub use analyses::{
    Agreement, AgreementOptions, Analysed, AnchorMethod, Anchored, Balance, BalanceOptions, BestThreshold, BiasCheck,
    Bucket, Buckets, CalibratedDimension, CalibratedJudge, Calibration, CalibrationForm, CalibrationOptions,
    CatalogEntry, Category, CategoryExample, ColumnBalance, Comparison, Confidence, ConfidenceOptions, Confusion,
    ConfusionOptions, CorpusDimension, CorpusSession, CurveBin, Delta, DeltaOptions, Diagnostics, DiagnosticsOptions,
    ErrorCode, ErrorKind, Errors, Evaluation, EvidencePosition, Example, FailingJudge, Failure, FailureCategory,
    Failures, FailuresOptions, Flagged, Grading, HumanAnchor, HumanAnchorOptions, JudgeBias, JudgeBiasOptions, Latency,
    Leaderboards, Leaning, LeftOut, MetricDelta, MissingGroup, MissingItem, MissingItems, MissingItemsOptions, Mover,
    Notable, NoteCount, Notes, Offsets, Often, OrderedMap, Outcome, Over, OwnFamily, PlaceEffect, PlaceMeasure,
    PlaceUnit, Portion, Position, Power, PowerOptions, Repeated, Services, SetDelta, Shortfall, Slice, Slices,
    SlicesOptions, SpanFigures, Stage, Stretch, SummaryCorpus, SummaryCorpusOptions, SystemCorpus, TOLERATED_BIAS,
    TextChange, TextDelta, ThresholdDecision, catalog,
};
pub use error::{AnalysisError, GateProblem};
pub use figures::breakdown::{Breakdown, CostLine};
pub use figures::cost::{Bill, Spend};
pub use figures::finding::Finding;
pub use figures::groups::{Group, Tally, system_id};
pub use figures::leaderboard::{Gap, Leaderboard, Place};
pub use figures::spread::Spread;
pub use gate::{Decision, Kpi, KpiBound, References, Verdict, Verdicts};
pub use pinned::{BASELINE_SCHEMA, Pinned, PinnedRun};
pub use reference::history::{Choice, Day, History, Judged, JudgedCell, judged, source_of};
pub use reference::{canary, digest, golden};
pub use run::baseline_variants::Beside;
pub use run::findings::{Findings, Recommendation, SampleFindings, Summary};
pub use run::instrument::Ruler;
pub use run::metric_names::primary;
pub use run::pass::{Options, Reading, analyse, check};
pub use run::served_models::{AnsweredAs, JudgeAnswers};
pub use score::checks::settled;
pub use score::consensus::{CellScores, Consensus, united_diagnostics};
