//! The sans-IO contract of steps and judges.
//!
//! A machine is polled with the answers to what it asked last and says what it needs next, or that it is done.
//! It does no I/O, knows no clock, and is deterministic: the same answers lead to the same asks. So the engine can
//! drive it asynchronously, a library user synchronously, and a resumed run can feed it stored answers.

use std::fmt;
use std::sync::Arc;

use crate::{CallError, Reply, Request};

/// The id of a call within its machine: stable over runs, so that a stored reply finds its place again.
/// Texts such as `"0"` (the only call), `"3"` (fourth chunk) or `"3/reask1"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub Arc<str>);

impl AskId {
    /// An id from its text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One request of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Its id; no two asks of one machine share one.
    pub id: AskId,
    /// The request.
    pub request: Request,
}

/// The answer to one [`Ask`].
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The id of the ask.
    pub id: AskId,
    /// The reply, or why there is none after all attempts.
    pub outcome: Result<Arc<Reply>, CallError>,
}

/// The next action of a machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn<D> {
    /// Answers to these, in any order of execution. Never empty.
    Ask(Vec<Ask>),
    /// Nothing more: this is the result.
    Done(D),
}

/// A step or a judge as a state machine.
///
/// Contract: the first poll gets no answers. Every later poll gets exactly one answer per ask of the turn before, in
/// the order of the asks. After [`Turn::Done`] it is not polled again. Failures of a step are part of `Done`.
pub trait Machine: Send {
    /// The result.
    type Done;

    /// Takes the answers and says what is needed next.
    fn poll(&mut self, answers: Vec<Answer>) -> Turn<Self::Done>;
}
