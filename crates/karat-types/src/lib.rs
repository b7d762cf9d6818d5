//! Plain data that all crates share: identities, samples, requests and replies, specs of a plan, ledger records, scores,
//! money and exit codes.
//!
//! Nothing here does I/O, reads a clock or draws a random number.
//!
//! - `plan/` holds the specs that fix a run; `call/` requests, replies and the contract of steps and judges ([`Machine`]);
//!   `run/` ledger records and the contract of stored runs ([`RunRows`]).
//! - `sample.rs`, `reads.rs`, `label.rs` and `score.rs` are about rows and scores; `key.rs` is content identity, `money.rs`
//!   prices and amounts, `exit.rs` the exit codes.

mod call;
mod clock;
mod exit;
mod key;
mod label;
mod money;
mod plan;
mod reads;
mod run;
mod sample;
mod score;

pub use call::{
    Answer, Ask, AskId, CallError, CallErrorCode, ChatRequest, CommandRequest, EnvTemplate, EnvTemplatePart, FilePath,
    FinishReason, HttpRequest, Machine, Message, Parameters, Protocol, Reply, ReplyFormat, Request, Role, ServedName,
    Turn, Usage,
};
pub use clock::{Clock, FixedClock, Moment};
pub use exit::Exit;
pub use key::{Key, KeyBuilder, ParseKeyError, output_key};
pub use label::{Label, all_drawn_examples, draw_examples, is_example};
pub use money::{Money, Price, Pricing};
pub use plan::{
    AbsentDimension, Action, AnalysisSpec, Availability, Better, Bound, BreakdownSpec, CELL_LINE_FIELDS, CachePolicy,
    Cap, Capture, ChunkMerge, ChunkSize, ChunkSpec, CommandSpec, Consensus, ConsensusMethod, Correction, CountedShare,
    DatasetHeader, DiagnosticSpec, Dimension, FieldType, FindingMerge, Gate, GateBasis, GateReference, GateRules,
    HttpSpec, InvalidReplyAction, InvalidReplyRule, JsonMode, Layout, Limits, MergeHow, MergeSpec, MeterSpec,
    MeteredTokens, MetricSpec, Mismatch, Mismatches, MissingOutput, ModelSpec, OutOfRangeScore, Overall, OverallMethod,
    PASS, PairOrders, ParseAs, ParseSpec, PlanHeader, Policy, PrivacySpec, PromptSpec, Rationale, RecordedSpec,
    ReferenceUse, ReplyShape, Requires, Rubric, RubricPrompt, RubricScorer, RunSpec, Sampling, Scale, ScorerKind,
    ScorerSpec, ServiceSpec, ShowAs, ShowChunk, ShowItem, SourceDigest, StatisticsSpec, StepSpec, Subject, System,
    TakeSpec, Threshold, Tier, UnreadableOutput, VariantSpec, Versus,
};
pub use reads::{Reads, read_label};
pub use run::{
    CallRecord, CellCost, CellError, CellProgress, CellRecord, CellRow, CellStatus, Event, JudgeRound, JudgmentRecord,
    JudgmentRow, Note, NoteKind, Observer, OutputOrigin, Record, ResponseFacts, RowError, RunHeader, RunRows,
    RunStatus, SampleRecord, SampleText, SilentObserver, StepCost, StepRecord,
};
pub use sample::Sample;
pub use score::{NOTHING_AT, Score};
