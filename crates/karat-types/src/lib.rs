//! Plain data that all crates share: identities, samples, requests and replies, specs of a plan, ledger records, scores,
//! money and exit codes.
//!
//! Nothing here does I/O, reads a clock or draws a random number.
//!
//! - `plan/` holds the specs that fix a run; `call/` requests, replies and the contract of steps and judges ([`Machine`]);
//!   `run/` ledger records and the contract of stored runs ([`RunRows`]).
//! - `sample.rs`, `reads.rs`, `label.rs` and `score.rs` are about rows and scores; `key.rs` is content identity, `money.rs`
//!   amounts, `price.rs` prices, `exit.rs` the exit codes, `json.rs` reads JSON without losing digits.

mod call;
mod clock;
mod exit;
pub mod json;
mod key;
mod label;
mod money;
mod plan;
mod price;
mod reads;
mod report_format;
mod run;
mod sample;
mod score;

pub use call::{
    Answer, Ask, AskId, Billing, Blob, CallError, CallErrorCode, ChatRequest, CommandRequest, Content, EnvTemplate,
    EnvTemplatePart, FilePath, FileRow, FileTrial, FinishReason, HttpRequest, Machine, Media, MediaSource, Message,
    Parameters, Part, Protocol, RawTurn, Reply, ReplyFormat, Request, Role, ServedName, ToolCall, ToolChoice,
    ToolDefinition, ToolRequest, Turn, Usage, host_function,
};
pub use clock::{Clock, FixedClock, Moment};
pub use exit::Exit;
pub use key::{Key, KeyBuilder, ParseKeyError, output_key, seeded_uniform};
pub use label::{ExampleOrder, Label, all_drawn_examples, is_example};
pub use money::Money;
pub use plan::{
    AbsentDimension, Action, AgentLimits, AgentSpec, AnalysisSpec, Availability, Better, Bound, BreakdownSpec,
    CELL_LINE_FIELDS, CachePolicy, Cap, Capture, CascadeSpec, ChunkMerge, ChunkSize, ChunkSpec, CommandSpec, Consensus,
    ConsensusMethod, Correction, CountedShare, DatasetDesign, DatasetHeader, DesignFrame, DesignKind, DesignStratum,
    DiagnosticSpec, Dimension, EarlyRule, FieldType, FindingMerge, Gate, GateBasis, GateReference, GateRules, HttpSpec,
    ImageTokens, InvalidReplyAction, InvalidReplyRule, JsonMode, Layout, Limits, MOST_CONCURRENCY, MOST_TRIALS,
    MergeHow, MergeSpec, MeterSpec, MeteredTokens, MetricSpec, MetricTraits, Mismatch, Mismatches, MissingOutput,
    ModelSpec, OutOfRangeScore, Overall, OverallMethod, PASS, PairDesign, PairOrders, ParseAs, ParseShardError,
    ParseSpec, PlanHeader, Policy, PrivacySpec, PromptContent, PromptMedia, PromptPart, PromptSpec, PromptTurn,
    Rationale, RecordedSpec, ReferenceUse, ReplyShape, Requires, Rubric, RubricPrompt, RubricScorer, RunSpec, Sampling,
    Scale, ScorerKind, ScorerSpec, ServiceSpec, Shard, ShardRows, ShowAs, ShowChunk, ShowItem, SourceDigest,
    StatisticsSpec, StepSpec, StopEarlySpec, Subject, System, TakeSpec, Threshold, Tier, ToolExecutor, ToolReply,
    ToolSpec, UnreadableOutput, UnsureRule, UserSpec, VariantSpec, Versus, first_metric,
};
pub use price::{
    CostSource, LongRates, Price, Pricing, RateSet, Rates, RequestTerms, Share, TierPrice, UncachedCost, tier_of,
};
pub use reads::{Reads, read_label, scored_part};
pub use report_format::{ReportFormat, UnknownFormat};
pub use run::{
    AskedJudge, CallRecord, CallSummary, CascadeDraw, CellCost, CellError, CellProgress, CellRecord, CellRow,
    CellStatus, DecidedBy, DroppedSystem, EarlyVerdict, Event, GameResult, GameShare, JudgeRound, JudgedGame,
    JudgmentRecord, JudgmentRow, Note, NoteKind, Observer, OpenGate, OutputOrigin, ReadRows, Record, ResponseFacts,
    RowError, RunHeader, RunRows, RunStatus, STOP_SCHEMA, SampleRecord, SampleText, SilentObserver, StepCost,
    StepRecord, StopRecord, StopRule, StopSpan, StoppedClaim, StoredStop, Tournaments, all_games, unit_key,
};
pub use sample::{Sample, SystemFilter, names_variant};
pub use score::{NO_JSON, NOTHING_AT, Score, UNICODE_WORDS};
