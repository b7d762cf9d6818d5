//! Specs of a plan: a suite with files read, defaults filled in and names resolved. All of them are stored as JSON.
//!
//! - `header.rs` is the plan without its rows; it holds all others. Read it first.
//! - `model.rs`, `step.rs` (variants), `prompt.rs`, `service.rs`, `agent.rs` (with tools), `scorer.rs` (with `pairs.rs`)
//!   and `rubric.rs` (with `cap.rs`) are its parts.
//! - `judge_warnings.rs` finds judges whose grades say little.
//! - `shard.rs` is a part of a plan that runs apart.
//! - `gate.rs` holds gates and their policy, which can also be applied to a stored run.

mod agent;
mod cap;
mod design;
mod gate;
mod header;
mod judge_warnings;
mod model;
mod pairs;
mod prompt;
mod rubric;
mod scorer;
mod service;
mod shard;
mod step;

pub use agent::{AgentLimits, AgentSpec, ToolExecutor, ToolReply, ToolSpec, UserSpec};
pub use cap::Cap;
pub use design::{DatasetDesign, DesignFrame, DesignKind, DesignStratum};
pub use gate::{Correction, Gate, GateBasis, GateReference, GateRules, Policy, Subject, Threshold};
pub use header::{
    AnalysisSpec, CELL_LINE_FIELDS, CachePolicy, Capture, DatasetHeader, EarlyRule, Layout, MOST_CONCURRENCY,
    MOST_TRIALS, MetricSpec, Mismatch, Mismatches, PASS, PlanHeader, PrivacySpec, RunSpec, SourceDigest,
    StatisticsSpec, StopEarlySpec, System, first_metric,
};
pub use model::{Availability, ImageTokens, JsonMode, Limits, ModelSpec, Sampling, Tier};
pub use pairs::PairDesign;
pub use prompt::{PromptContent, PromptMedia, PromptPart, PromptSpec, PromptTurn};
pub use rubric::{
    AbsentDimension, Better, BreakdownSpec, ChunkMerge, CountedShare, DiagnosticSpec, Dimension, FieldType,
    FindingMerge, InvalidReplyAction, InvalidReplyRule, OutOfRangeScore, Overall, OverallMethod, Rationale,
    ReferenceUse, ReplyShape, Rubric, RubricPrompt, Scale, ShowAs, ShowChunk, ShowItem,
};
pub use scorer::{
    Bound, CascadeSpec, Consensus, ConsensusMethod, MetricTraits, PairOrders, RubricScorer, ScorerKind, ScorerSpec,
    UnsureRule, Versus,
};
pub use service::{CommandSpec, MeterSpec, MeteredTokens, ServiceSpec};
pub use shard::{ParseShardError, Shard, ShardRows};
pub use step::{
    Action, ChunkSize, ChunkSpec, HttpSpec, MergeHow, MergeSpec, MissingOutput, ParseAs, ParseSpec, RecordedSpec,
    Requires, StepSpec, TakeSpec, UnreadableOutput, VariantSpec,
};
