//! A failed attempt: its code, its message with advice, and the part of its cost that is unknown.

use std::time::Duration;

use bytes::Bytes;
use karat_types::{Billing, CallError, CallErrorCode, Reply, Usage};
use reqwest::Url;
use serde_json::Value;

use crate::answer::billing::Bill;
use crate::answer::excerpt::{SHOWN, quote, quote_ends};
use crate::answer::json::{UnreadableReply, without_bom};
use crate::answer::secrets::Secrets;

/// The end of an advice that always works. A message with several errors says it once, so the advice of an error ends with
/// it where it has more to say.
pub const RERUN: &str = "run the suite again: finished cells are reused";

/// An attempt without a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub code: CallErrorCode,
    pub status: Option<u16>,
    /// Exit code of a program.
    pub exit: Option<i32>,
    /// The problem, as the end of a sentence that begins with the model and its address.
    pub what: String,
    /// The program's own output about it, as received. It is appended to `what` in quotes, once secrets are removed.
    pub program_output: Option<Bytes>,
    /// True if a retry can help.
    pub retry: bool,
    /// Largest number of further attempts for failures of this kind, if that is fewer than the run allows.
    pub most_retries: u32,
    /// The wait that the provider asks for.
    pub named_wait: Option<Duration>,
    /// True if this machine had no file descriptor for it, so nothing was sent.
    pub lacks_descriptor: bool,
    /// True if nothing listens at the address, or its host is unknown.
    pub is_unreachable: bool,
    /// The advice, if it does not follow from the code.
    pub remedy: Option<String>,
    /// The bill as far as the answer says it.
    pub bill: Option<Box<FailedBill>>,
}

/// The bill of an answer without a usable reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedBill {
    /// The tokens that it counts.
    pub usage: Option<Usage>,
    /// The rest of its bill.
    pub billing: Billing,
    /// The words that it has, for an answer that counts no tokens.
    pub words: Option<String>,
}

impl FailedBill {
    /// Returns true if it says what it cost, or is a reply whose tokens can be counted.
    pub(crate) fn is_known(&self) -> bool {
        self.usage.is_some() || self.billing.reported.is_some() || self.words.is_some()
    }

    /// Returns true if it reports more tokens than any call has.
    pub(crate) fn is_impossible(&self) -> bool {
        self.usage.is_some_and(|usage| !usage.is_possible())
    }
}

/// The addressee of an attempt, for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallTarget<'a> {
    pub who: Callee<'a>,
    /// The address of requests; empty if there is none.
    pub address: &'a str,
}

/// The model or service that was called.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Callee<'a> {
    Model {
        /// Registry id of the model.
        id: &'a str,
        /// The name sent to the provider.
        name: &'a str,
        /// The environment variable with the key, if one was sent.
        key_variable: Option<&'a str>,
    },
    /// The service or program of a step or scorer, such as `step query`.
    External(&'a str),
}

impl<'a> Callee<'a> {
    /// The registry id, or the step or scorer.
    pub fn name(self) -> &'a str {
        match self {
            Self::Model { id, .. } => id,
            Self::External(who) => who,
        }
    }
}

impl std::fmt::Display for Callee<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Model { id, .. } => write!(f, "model {id}"),
            Self::External(who) => f.write_str(who),
        }
    }
}

impl Failure {
    pub fn new(code: CallErrorCode, what: impl Into<String>) -> Self {
        let (what, retry) = (what.into(), code.is_retryable());
        Self {
            code,
            status: None,
            exit: None,
            what,
            program_output: None,
            retry,
            most_retries: u32::MAX,
            named_wait: None,
            lacks_descriptor: false,
            is_unreachable: false,
            remedy: None,
            bill: None,
        }
    }

    /// A failure because this machine has no file descriptor left.
    pub fn without_descriptor(what: impl std::fmt::Display) -> Self {
        let what = format!("{what}: this process has no file descriptor left");
        let remedy =
            "raise `ulimit -n`, or lower `run.max_concurrency`, then run the suite again: finished cells are reused";
        let remedy = Some(remedy.to_owned());
        Self { retry: false, lacks_descriptor: true, remedy, ..Self::new(CallErrorCode::Connect, what) }
    }

    /// An answer with a status that is not 2xx.
    pub fn of_status(status: u16, location: Option<&[u8]>, body: &[u8]) -> Self {
        let refusal = ErrorBody::read(body);
        let code = if refusal.is_out_of_credit { CallErrorCode::Auth } else { code_of(status) };
        let what = match location.filter(|_| code == CallErrorCode::Redirect) {
            Some(location) => format!("answered {status}, a redirect to {}", quote(location, SHOWN)),
            None => format!("answered {status}{}", refusal.words.map_or(String::new(), |words| format!(", {words}"))),
        };
        Self { status: Some(status), ..Self::new(code, what) }
    }

    /// A 2xx answer without a reply.
    pub fn of_body(status: u16, unreadable: UnreadableReply, (usage, billing): Bill) -> Self {
        let UnreadableReply { code, what, most_retries, words } = unreadable;
        let bill = Some(Box::new(FailedBill { usage, billing, words })).filter(|bill| bill.is_known());
        Self { status: Some(status), bill, most_retries, ..Self::new(code, what) }
    }

    /// A reply that is paid and has no content.
    pub fn without_content(reply: &Reply) -> Self {
        let words = Some(reply.text.clone());
        let bill = FailedBill { usage: reply.usage, billing: reply.billing.clone(), words };
        let failure = Self::new(CallErrorCode::Malformed, "answered with a message without content");
        Self { bill: Some(Box::new(bill)), most_retries: 1, ..failure }
    }

    /// An answer in an unexpected form, which a retry would not change.
    pub fn of_gateway(how: impl std::fmt::Display) -> Self {
        let what = format!("answered {how}, perhaps by a gateway before it");
        Self { retry: false, ..Self::new(CallErrorCode::Malformed, what) }
    }

    /// The same failure, without a retry if the provider asks for a longer wait than `longest_wait`.
    pub fn limit_wait(self, longest_wait: Duration) -> Self {
        match self.named_wait.filter(|named_wait| self.retry && *named_wait > longest_wait) {
            Some(named_wait) => {
                let what = format!("{}, and asks for a wait of {} s", self.what, named_wait.as_secs());
                Self { what, retry: false, ..self }
            }
            None => self,
        }
    }

    /// The wait that the provider asked for, if the call is given up because of it.
    pub fn excessive_wait(&self) -> Option<Duration> {
        self.named_wait.filter(|_| !self.retry && self.code.is_retryable())
    }

    /// The address that would refuse any other call alike, until something outside the run changes. The paths and hosts of
    /// services may differ from row to row, so theirs is as narrow as the failure.
    pub fn refusing_address(&self, CallTarget { who, address }: CallTarget<'_>) -> Option<String> {
        use CallErrorCode::{Auth, BadRequest, Connect, Redirect};
        let is_refusal = match (self.code, who) {
            (Connect, _) => self.is_unreachable,
            (Auth, _) => true,
            (BadRequest, _) => self.status == Some(404),
            (Redirect, Callee::Model { .. }) => true,
            _ => false,
        };
        let origin = || Url::parse(address).ok().map(|url| url.origin().ascii_serialization());
        match who {
            Callee::External(_) if self.code == Connect => origin().filter(|_| is_refusal),
            _ => is_refusal.then(|| address.to_owned()),
        }
    }

    /// Returns whether it may have been billed an unknown amount: it was sent and not answered, or its 2xx answer broke
    /// off, cannot be read, or says nothing of its bill. An attempt refused with a status, or without a connection, costs
    /// nothing.
    pub fn is_of_unknown_cost(&self) -> bool {
        match self.status {
            Some(status) => (200..=299).contains(&status) && self.bill.as_ref().is_none_or(|bill| bill.is_impossible()),
            None => {
                use CallErrorCode::{Cut, Malformed, Timeout, TooLarge};
                matches!(self.code, Cut | Malformed | Timeout | TooLarge)
            }
        }
    }

    /// The error for the caller after this number of attempts, without secrets.
    pub fn error(&self, target: CallTarget<'_>, attempts: u32, secrets: &Secrets) -> CallError {
        let CallTarget { who, address } = target;
        let at = if address.is_empty() { String::new() } else { format!(" at {address}") };
        let attempts = if attempts > 1 { format!(", {attempts} attempts") } else { String::new() };
        // Cleaned before it is cut: half a secret would not be recognized.
        let output = self.program_output.clone().map(|output| secrets.clean_broken(output));
        let output = output.map(|output| quote_ends(&secrets.redact_for_message(&output))).unwrap_or_default();
        let message = format!("{who}{at}: {}{output}{attempts}; {}", self.what, self.advice(target));
        CallError { code: self.code, message: secrets.clean_text(message), status: self.status }
    }

    fn advice(&self, CallTarget { who, address }: CallTarget<'_>) -> String {
        if let Some(remedy) = &self.remedy {
            return remedy.clone();
        }
        match who {
            _ if self.excessive_wait().is_some() => {
                "a call does not wait that long: `karat retry` the run after that time; finished cells are kept"
                    .to_owned()
            }
            Callee::Model { .. } if address.is_empty() => self.advice_on_program().to_owned(),
            Callee::Model { name, key_variable, .. } => self.advice_on_model(name, key_variable),
            Callee::External(_) => self.advice_on_service().to_owned(),
        }
    }

    /// A model without an address is a local program.
    fn advice_on_program(&self) -> &'static str {
        match self.code {
            CallErrorCode::Timeout => "raise `timeout`, or run its command by hand to see why it is slow",
            CallErrorCode::TooLarge => "make its output shorter, or run its command by hand to see what it prints",
            CallErrorCode::Process | CallErrorCode::Malformed => {
                "correct the model's `with`, run its command by hand, or select another model (`--judges`, `--models`)"
            }
            _ => "check the model's registry entry",
        }
    }

    fn advice_on_service(&self) -> &'static str {
        match self.code {
            CallErrorCode::Auth => "check its `headers`",
            CallErrorCode::BadRequest if self.status == Some(404) => "check its `url`",
            CallErrorCode::BadRequest => "the request was rejected, so it was not retried: check its `body`",
            CallErrorCode::RateLimited => {
                "lower `run.max_concurrency`, then run the suite again: finished cells are reused"
            }
            CallErrorCode::ServerError => {
                "check the service's log, then run the suite again: finished cells are reused"
            }
            CallErrorCode::Timeout => {
                "raise `timeout` or lower `retries` (of its step, or of `run`), or find out why it is slow"
            }
            CallErrorCode::Connect => "check its `url` and that the service is up",
            CallErrorCode::Cut => "check the network and the service",
            CallErrorCode::Redirect => {
                "redirects are not followed, because headers would be sent along: put the final address into `url`"
            }
            CallErrorCode::TooLarge => "make its answer smaller",
            CallErrorCode::Process => {
                "run the command by hand in the suite's folder; unlike your shell, Karat gives it only PATH, HOME, the language and \
                 what `env` names, such as `env: { NAME: \"${NAME}\" }`"
            }
            _ => "correct its answer",
        }
    }

    fn advice_on_model(&self, name: &str, key_variable: Option<&str>) -> String {
        let key = match key_variable {
            Some(variable) => format!("the key in {variable}"),
            None => "`api_key_env` (no key was sent)".to_owned(),
        };
        match (self.code, self.status) {
            (CallErrorCode::Auth, Some(429)) => match key_variable {
                Some(_) => format!("add credit to the account of {key}"),
                None => "no key was sent: name one whose account has credit in `api_key_env`".to_owned(),
            },
            (CallErrorCode::Auth, Some(403)) => format!("check {key} and that it may use `{}`", name),
            (CallErrorCode::Auth, _) => format!("check {key}"),
            (CallErrorCode::BadRequest, Some(404)) => {
                format!("check that `base_url` is the API root and that the provider has a model `{}`", name)
            }
            (CallErrorCode::BadRequest, _) => {
                "the request was rejected, so it was not retried: check the model's entry and parameters"
                    .to_owned()
            }
            (CallErrorCode::RateLimited, _) => {
                "give the model the limit of your account, such as `limits: { rpm: 60 }`, then run the suite again: finished cells are reused".to_owned()
            }
            (CallErrorCode::ServerError, _) => {
                "the problem is on the provider's side: run the suite again later; finished cells are reused".to_owned()
            }
            (CallErrorCode::Timeout, _) => "raise `timeout`, or lower `max_tokens`, then run the suite again: finished cells are reused".to_owned(),
            (CallErrorCode::Connect, _) => {
                "check `base_url`, the network and that the server is up, then run the suite again: finished cells are reused".to_owned()
            }
            (CallErrorCode::Cut, _) => "check the network and the server, then run the suite again: finished cells are reused".to_owned(),
            (CallErrorCode::Redirect, _) => {
                "redirects are not followed, because the key would be sent along: put the final address into `base_url`".to_owned()
            }
            (CallErrorCode::Malformed, _) => "check that `base_url` is the API root of this provider".to_owned(),
            (CallErrorCode::TooLarge, _) => "check `base_url`, and lower `max_tokens`".to_owned(),
            _ => "check the model's registry entry".to_owned(),
        }
    }
}

/// The error code of an HTTP status.
pub(crate) fn code_of(status: u16) -> CallErrorCode {
    match status {
        300..=399 => CallErrorCode::Redirect,
        401 | 403 => CallErrorCode::Auth,
        408 => CallErrorCode::Timeout,
        429 => CallErrorCode::RateLimited,
        // A conflict and a request that came too early are both temporary.
        409 | 425 | 500..=599 => CallErrorCode::ServerError,
        400..=499 => CallErrorCode::BadRequest,
        _ => CallErrorCode::Malformed,
    }
}

/// The body of a refusal.
struct ErrorBody {
    words: Option<String>,
    /// OpenAI answers 429 here, too, but waiting does not help.
    is_out_of_credit: bool,
}

impl ErrorBody {
    fn read(body: &[u8]) -> Self {
        if body.is_empty() {
            return Self { words: None, is_out_of_credit: false };
        }
        let json: Value = serde_json::from_slice(without_bom(body)).unwrap_or_default();
        // Google wraps the refusals of its OpenAI protocol into a list.
        let json = json.get(0).unwrap_or(&json);
        let error = &json["error"];
        let words = [&error["message"], error, &json["message"], &json["detail"]].into_iter().find_map(Value::as_str);
        let is_out_of_credit = ["code", "type"].iter().any(|field| error[field] == "insufficient_quota");
        Self { words: Some(quote(words.map_or(body, str::as_bytes), SHOWN)), is_out_of_credit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_that_pass_are_tried_again_and_others_never() {
        let retried: Vec<u16> = (300..600).filter(|status| code_of(*status).is_retryable()).collect();
        let passing = [408, 409, 425, 429].into_iter().chain(500..600);
        assert_eq!(retried, passing.collect::<Vec<u16>>());
    }

    #[test]
    fn exhausted_credit_is_not_retried() {
        let body = br#"{"error":{"message":"You exceeded your quota","type":"insufficient_quota"}}"#;
        let failure = Failure::of_status(429, None, body);
        assert!(!failure.retry);
        assert_eq!(failure.code, CallErrorCode::Auth);
    }
}
