//! Events for observers of a run. Observers may drop events; the ledger keeps everything.

use crate::{CallErrorCode, CellError, CellStatus, Money, RunStatus, Usage};

/// Receives the events of a run. Called from many threads; it must not block.
pub trait Observer: Send + Sync {
    /// Receives one event.
    fn on_event(&self, event: &Event<'_>);
}

/// An observer that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct SilentObserver;

impl Observer for SilentObserver {
    fn on_event(&self, _: &Event<'_>) {}
}

/// The origin of a finished cell's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputOrigin {
    /// Made now.
    Fresh,
    /// From an earlier run, or an earlier part of this one.
    Reused,
}

/// A finished cell, for progress lines.
#[derive(Debug, Clone, Copy)]
pub struct CellProgress<'a> {
    /// Its place in the plan, from 0.
    pub ordinal: u64,
    /// Finished cells of this run so far, this one included.
    pub done: u64,
    /// Cells of the plan.
    pub total: u64,
    /// Id of the sample.
    pub sample: &'a str,
    /// Id of the model, where the system has one.
    pub model: Option<&'a str>,
    /// Id of the variant.
    pub variant: &'a str,
    /// Repetition, from 0.
    pub trial: u32,
    /// Its outcome.
    pub status: CellStatus,
    /// True if any of its judgments is unscored.
    pub unscored: bool,
    /// The origin of the output.
    pub reuse: OutputOrigin,
    /// From its start to its end, in milliseconds.
    pub duration_ms: u64,
    /// The error, when there is no output.
    pub error: Option<&'a CellError>,
    /// Money that the run has spent so far, earlier parts of it included.
    pub spent: Money,
}

/// A call that has ended, for counters.
#[derive(Debug, Clone, Copy)]
pub struct CallSummary<'a> {
    /// The provider; `command` or `http` where no model was called.
    pub provider: &'a str,
    /// Id of the model; empty where none was called.
    pub model: &'a str,
    /// The code of the error; `None` if there is a reply.
    pub error: Option<CallErrorCode>,
    /// Requests that were sent, retries included; 0 for an answer from a recording.
    pub requests: u32,
    /// Duration of the last attempt in milliseconds; `None` where nobody knows it, as in a batch.
    pub latency_ms: Option<f64>,
    /// Tokens of all attempts, as reported or estimated.
    pub usage: Usage,
}

/// One thing that happened. Volatile: what must last stands in the ledger.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The run begins, or goes on.
    Started {
        /// Its id.
        run: &'a str,
        /// Cells of the plan.
        cells: u64,
        /// Cells that an earlier part of the run finished.
        done: u64,
        /// Money that earlier parts of the run have spent.
        spent: Money,
        /// Money that the run may spend.
        budget: Option<Money>,
        /// The suite's `run.cell_line`.
        cell_line: Option<&'a str>,
    },
    /// An attempt failed and another will follow.
    Retrying {
        /// Registry id of the model.
        model: &'a str,
        /// Attempts made.
        attempt: u32,
        /// Milliseconds until the next.
        delay_ms: u64,
        /// The error.
        error: &'a crate::CallError,
    },
    /// A call has ended: of a model, a service or a program.
    CallEnded(CallSummary<'a>),
    /// A cell and its judgments are on disk.
    CellFinished(CellProgress<'a>),
    /// Something the user should know.
    Warning(&'a str),
    /// A step of the run, such as a submitted batch.
    Notice(&'a str),
    /// The run ended.
    Finished {
        /// Its state.
        status: RunStatus,
        /// Calls made in this part of the run.
        calls: u64,
        /// Money spent in this part of the run.
        spent: Money,
    },
}
