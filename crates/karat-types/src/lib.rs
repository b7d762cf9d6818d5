//! Plain data that every Karat crate speaks: identities, samples, requests and replies, specs of a plan,
//! ledger records, scores, money and exit codes.
//!
//! Nothing here does I/O, reads a clock or draws a random number. The two traits that live here are
//! contracts between crates that must not know each other: [`Machine`] (steps and judges ask, the engine
//! or a library user answers) and [`RunRows`] (the store yields, analysis and reports read).

mod answered;
mod call;
mod clock;
mod event;
mod exit;
mod gate;
mod key;
mod label;
mod machine;
mod model;
mod money;
mod plan;
mod reads;
mod record;
mod request;
mod rows;
mod rubric;
mod sample;
mod score;
mod scorer;
mod step;

pub use answered::Answered;
pub use call::{CallError, CallErrorCode, FinishReason, Reply, Usage};
pub use clock::{Clock, FixedClock, Moment};
pub use event::{CellProgress, Event, Observer, ReuseLabel, Silent};
pub use exit::Exit;
pub use gate::{Against, Correction, Decide, Gate, Policy, Rules, Subject, Threshold};
pub use key::{Key, KeyBuilder, ParseKeyError, output_key};
pub use label::{Label, examples, is_example, shown_examples};
pub use machine::{Answer, Ask, Machine, Slot, Turn};
pub use model::{Availability, JsonMode, Limits, ModelSpec, Tier};
pub use money::{Money, Price, Pricing};
pub use plan::{
    AnalysisSpec, CELL_LINE_FIELDS, CachePolicy, Capture, DatasetHeader, Layout, MetricSpec, Mismatch, Mismatches,
    PASS, PlanHeader, PrivacySpec, RunSpec, SourceDigest, StatisticsSpec, System,
};
pub use reads::{Reads, name_of_read};
pub use record::{
    CallRecord, CellCost, CellError, CellRecord, CellStatus, Facts, JudgmentRecord, Note, NoteKind, Record, Round,
    RunHeader, RunStatus, SampleRecord, StepCost, StepRecord,
};
pub use request::{
    ChatRequest, CommandRequest, FilePath, GapText, HttpRequest, Message, Parameters, Part, Protocol, ReplyFormat,
    Request, Role,
};
pub use rows::{CellRow, JudgmentRow, RowError, RunRows};
pub use rubric::{
    Absent, Better, BreakdownSpec, Cap, ChunkFold, DiagnosticSpec, Dimension, FieldType, FindingFold, Invalid,
    OutOfRange, Overall, OverallMethod, Rationale, ReferenceUse, ReplyShape, Rubric, RubricPrompt, Scale, ShowAs,
    ShowChunk, ShowItem, Then,
};
pub use sample::Sample;
pub use score::Score;
pub use scorer::{Bound, Consensus, ConsensusMethod, Orders, RubricScorer, ScorerKind, ScorerSpec, Versus};
pub use step::{
    Action, Broken, ChunkSize, ChunkSpec, CommandSpec, HttpSpec, Merge, MergeHow, MeterSpec, MeteredTokens, Missing,
    ParseAs, ParseSpec, PromptSpec, RecordedSpec, Requires, ServiceSpec, StepSpec, Taken, VariantSpec,
};
