//! The call log: every call that leaves the process.

use std::borrow::Cow;

use karat_providers::Exchange;
use karat_types::{HttpRequest, ModelSpec, Request};

use crate::plan::privacy::Privacy;

/// Writes calls down. It gets a call when its answer is there, before the answer is used.
pub trait CallLog: Send + Sync {
    /// Writes one call.
    fn call(&self, call: &LoggedCall<'_>);
}

/// A call for the log, without secrets and without what `privacy` redacts.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedCall<'a> {
    /// The end of the call: `rc=0`, `status=200`, or `failed`.
    pub end: String,
    /// Duration of the last attempt in seconds.
    pub seconds: f64,
    /// The program's command line, or the name of the recipient; only the latter where content is not kept.
    pub command: String,
    /// The request body; empty where content is not kept.
    pub input: &'a [u8],
    /// The response body; empty where content is not kept.
    pub output: &'a [u8],
    /// The reason for a missing reply; only the error's code where content is not kept.
    pub error: Option<Cow<'a, str>>,
}

impl<'a> LoggedCall<'a> {
    /// The log entry of a call; `None` for models that answer within the process. The exchange is redacted already;
    /// command lines and addresses are filled from rows and are redacted here.
    pub(crate) fn of(
        exchange: &'a Exchange,
        request: &Request,
        who: &str,
        model: Option<&ModelSpec>,
        privacy: &Privacy,
    ) -> Option<Self> {
        if model.is_some_and(|model| model.is_scripted()) || exchange.is_replayed {
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
            (None, Request::Http(HttpRequest { method, url, .. })) => format!("{method} {}", url.with_placeholders()),
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
