//! The call log: every call that leaves the process, told to whoever writes it down (BR-07).

use std::borrow::Cow;

use karat_providers::Exchange;
use karat_types::{HttpRequest, ModelSpec, Request};

use crate::privacy::Privacy;

/// Who writes calls down. It is told of a call when its answer is there, before it is used.
pub trait CallLog: Send + Sync {
    /// One call.
    fn call(&self, call: &LoggedCall<'_>);
}

/// A call as it is written down. Secrets, and what `privacy` blacks out, are removed.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedCall<'a> {
    /// How it ended: `rc=0`, `status=200`, or `failed`.
    pub end: String,
    /// Seconds of the last attempt.
    pub seconds: f64,
    /// The program's words, or who was asked; where content is not kept, only the latter.
    pub command: String,
    /// The request's body; empty where content is not kept.
    pub input: &'a [u8],
    /// The answer's body; empty where content is not kept.
    pub output: &'a [u8],
    /// Why there is no reply; where content is not kept, only the error's code.
    pub error: Option<Cow<'a, str>>,
}

impl<'a> LoggedCall<'a> {
    /// The call of somebody as it is told. `None` for models that answer within the process. The exchange is blacked out
    /// already; the words of a program and an address are filled from rows, too.
    pub(crate) fn of(
        exchange: &'a Exchange,
        request: &Request,
        who: &str,
        model: Option<&ModelSpec>,
        privacy: &Privacy,
    ) -> Option<Self> {
        if model.is_some_and(|model| ["scripted", "stub"].contains(&model.provider.as_str())) || exchange.is_replayed {
            return None;
        }
        let is_ok = exchange.outcome.is_ok();
        let code = exchange.program_run.as_ref().and_then(|ran| ran.code);
        let end = match (code, exchange.status) {
            (Some(code), _) => format!("rc={code}"),
            (None, Some(status)) => format!("status={status}"),
            (None, None) if is_ok => "rc=0".to_owned(),
            (None, None) => "rc=none".to_owned(),
        };
        let keeps_words = privacy.keeps_words();
        let asked = || match model {
            Some(model) => format!("model {} ({}/{})", model.id, model.provider, model.model),
            None => who.to_owned(),
        };
        let command = match (&exchange.program_run, request) {
            _ if !keeps_words => asked(),
            (Some(ran), _) => ran.command.clone(),
            (None, Request::Command(command)) => command.run.join(" "),
            (None, Request::Http(HttpRequest { method, url, .. })) => format!("{method} {}", url.shown()),
            (None, _) => asked(),
        };
        let error = exchange.outcome.as_ref().err().map(|error| match keeps_words {
            true => error.message.as_str().into(),
            false => error.code.as_str().to_owned().into(),
        });
        let kept = |bytes: &'a [u8]| if keeps_words { bytes } else { &[] };
        Some(Self {
            end,
            seconds: exchange.latency_ms / 1e3,
            command: privacy.text(command),
            input: kept(&exchange.request),
            output: kept(&exchange.response),
            error,
        })
    }
}
