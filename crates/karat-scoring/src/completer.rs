//! Driving machines without an engine.

use std::sync::Arc;

use karat_types::{Answer, Ask, CallError, CallErrorCode, ChatRequest, Machine, Reply, Request, Turn};

/// Answers chat requests: the one thing a library user brings.
pub trait Completer {
    /// Calls a model and waits for its reply.
    ///
    /// # Errors
    /// The call that gave no reply; a judgment then is unscored with this error.
    fn complete(&mut self, request: &ChatRequest) -> Result<Reply, CallError>;

    /// The text of a file, or of one row of it. Judges ask for none; without an implementation there is none.
    ///
    /// # Errors
    /// [`NotFound`](CallErrorCode::NotFound) where there is no such file or row.
    fn file(&mut self, path: &str, row: Option<&str>) -> Result<String, CallError> {
        let row = row.map(|row| format!(" with a row `{row}`")).unwrap_or_default();
        let message = format!("there is no file `{path}`{row}: this completer reads no files");
        Err(CallError { code: CallErrorCode::NotFound, message, status: None })
    }
}

/// Polls a machine until it is done, one request after the other.
///
/// ```
/// use karat_scoring::{Completer, drive};
/// use karat_types::{Answer, Ask, CallError, ChatRequest, FinishReason, Machine, Reply, Request, Slot, Turn};
///
/// /// Asks once and returns the reply's text.
/// struct Once;
/// impl Machine for Once {
///     type Done = String;
///     fn poll(&mut self, mut answers: Vec<Answer>) -> Turn<String> {
///         match answers.pop() {
///             None => Turn::Ask(vec![Ask {
///                 slot: Slot::new("0"),
///                 request: Request::Chat(ChatRequest {
///                     messages: vec![],
///                     parameters: Default::default(),
///                     format: Default::default(),
///                 }),
///             }]),
///             Some(answer) => Turn::Done(answer.outcome.map(|reply| reply.text.clone()).unwrap_or_default()),
///         }
///     }
/// }
///
/// struct Echo;
/// impl Completer for Echo {
///     fn complete(&mut self, _: &ChatRequest) -> Result<Reply, CallError> {
///         Ok(Reply { text: "hello".into(), finish: FinishReason::Stop, usage: None, model: None })
///     }
/// }
///
/// assert_eq!(drive(Once, &mut Echo), "hello");
/// ```
pub fn drive<M: Machine>(mut machine: M, completer: &mut impl Completer) -> M::Done {
    let mut answers = Vec::new();
    loop {
        match machine.poll(answers) {
            Turn::Done(done) => return done,
            Turn::Ask(asks) => answers = asks.into_iter().map(|ask| answer(ask, completer)).collect(),
        }
    }
}

fn answer(ask: Ask, completer: &mut impl Completer) -> Answer {
    let outcome = match &ask.request {
        Request::Chat(request) => completer.complete(request),
        Request::File { path, row } => completer.file(path, row.as_deref()).map(|text| Reply {
            text,
            finish: karat_types::FinishReason::Stop,
            usage: None,
            model: None,
        }),
    };
    Answer { slot: ask.slot, outcome: outcome.map(Arc::new) }
}
