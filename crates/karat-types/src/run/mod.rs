//! Runs: what the ledger stores and how it is read.
//!
//! - `record.rs` holds the rows that a run writes, in the order of its life.
//! - `rows.rs` is the contract through which analysis and reports read a stored run.
//! - `games.rs` reads the games of tournaments out of judgments.
//! - `event.rs` holds the volatile events for progress output.
//! - `stop_rule.rs` is the contract of rules that stop a run early, `stopping.rs` the record of a stop.

mod event;
mod games;
mod record;
mod rows;
mod stop_rule;
mod stopping;

pub use event::{CallSummary, CellProgress, Event, Observer, OutputOrigin, SilentObserver};
pub use games::{GameResult, JudgedGame, ReadRows, Tournaments, all_games};
pub use record::{
    AskedJudge, CallRecord, CascadeDraw, CellCost, CellError, CellRecord, CellStatus, JudgeRound, JudgmentRecord, Note,
    NoteKind, Record, ResponseFacts, RunHeader, RunStatus, SampleRecord, SampleText, StepCost, StepRecord,
};
pub use rows::{CellRow, GameShare, JudgmentRow, RowError, RunRows};
pub use stop_rule::StopRule;
pub use stopping::{
    DecidedBy, DroppedSystem, EarlyVerdict, OpenGate, STOP_SCHEMA, StopRecord, StopSpan, StoppedClaim, StoredStop,
    unit_key,
};
