//! Stored judgments to findings: aggregates, leaderboards, deltas, agreement, cost, failures.
//!
//! [`analyse`] reads a run once, in plan order, and keeps per metric one number for each sample ×
//! system; everything else is folded as it passes. The order of reduction is fixed: judges become
//! one ([`Consensus`]), then trials become one, then samples become a figure. A statistic leaves this
//! crate only as a [`Finding`] or as a [`Spread`] around one.

mod aggregate;
pub mod agree;
mod agreement;
mod analyses;
mod answered;
mod baseline;
mod breakdown;
pub mod canary;
mod checks;
pub mod compare;
mod consensus;
mod cost;
pub mod digest;
pub mod drift;
mod error;
mod estimate;
mod finding;
mod findings;
pub mod gate;
pub mod golden;
mod groups;
mod history;
mod label_figure;
mod labels;
mod leaderboard;
mod matched;
mod named;
mod observations;
mod pass;
mod pattern;
mod pinned;
pub mod planning;
pub mod power;
mod primary;
mod recommend;
mod reduce;
mod resampled;
mod ruler;
mod scales;
mod slope;
mod table;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod texts;

pub use aggregate::Spread;
pub use agreement::{JudgePair, MetricAgreement};
pub use analyses::{
    Agreement, AgreementOptions, Analysed, AnchorMethod, Anchored, Balance, BalanceOptions, BestThreshold, BiasCheck,
    Bucket, Buckets, CalibratedDimension, CalibratedJudge, Calibration, CalibrationForm, CalibrationOptions,
    CatalogEntry, Category, CategoryExample, ColumnBalance, Comparison, Confidence, ConfidenceOptions, Confusion,
    ConfusionOptions, CorpusDimension, CorpusSession, CurveBin, Delta, DeltaOptions, Diagnostics, DiagnosticsOptions,
    ErrorCode, ErrorKind, Errors, Evaluation, EvidencePosition, Example, FailingJudge, Failure, FailureCategory,
    Failures, FailuresOptions, Flagged, Grading, HumanAnchor, HumanAnchorOptions, JudgeBias, JudgeBiasOptions, Latency,
    Leaderboards, Leaning, LeftOut, MetricDelta, MissingGroup, MissingItem, MissingItems, MissingItemsOptions, Mover,
    Notable, NoteCount, Notes, Offsets, Often, Outcome, Over, OwnFamily, PlaceEffect, PlaceMeasure, PlaceUnit, Portion,
    Position, Power, PowerOptions, Repeated, Services, SetDelta, Shortfall, Slice, Slices, SlicesOptions, SpanFigures,
    Stage, Stretch, SummaryCorpus, SummaryCorpusOptions, SystemCorpus, TOLERATED_BIAS, TextChange, TextDelta,
    ThresholdDecision, catalog,
};
pub use answered::{AnsweredAs, JudgeAnswers};
pub use baseline::Beside;
pub use breakdown::{Breakdown, CostLine};
pub use checks::settled;
pub use consensus::{CellScores, Consensus, united_diagnostics};
pub use cost::{Bill, Spend};
pub use error::{AnalysisError, GateProblem};
pub use finding::Finding;
pub use findings::{Findings, Recommendation, SampleFindings, Summary};
pub use gate::{Decision, Kpi, KpiBound, References, Verdict, Verdicts};
pub use groups::{Group, Tally, system_id};
pub use history::{Choice, Day, History, Judged, JudgedCell, judged, source_of};
pub use leaderboard::{Gap, Leaderboard, Place};
pub use named::Named;
pub use pass::{Options, analyse, check};
pub use pinned::{BASELINE_SCHEMA, Pinned, PinnedRun};
pub use primary::primary;
pub use ruler::Ruler;
