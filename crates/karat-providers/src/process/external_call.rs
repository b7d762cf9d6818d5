//! Calls of steps and scorers to services and programs: captured, cleaned and retried like calls to models.

use std::time::Duration;

use bytes::Bytes;
use karat_text::env_template;
use karat_text::half_characters::{self, Mended};
use karat_types::{
    CallError, CallErrorCode, CommandRequest, EnvTemplate, EnvTemplatePart, FinishReason, HttpRequest, Observer,
    Protocol, Reply, Request,
};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::answer::failure::{CallTarget, Callee, Failure};
use crate::answer::json::without_bom;
use crate::attempt::dispatch::{Attempt, AttemptSource, RetrySpec};
use crate::attempt::exchange::{Exchange, ExchangeWithSlot, Payer, UnmeteredPayer, unsent_exchange};
use crate::attempt::retry::Waits;
use crate::capture::replay::RecordingKey;
use crate::http::env_headers::unset_variable;
use crate::http::request::PreparedRequest;
use crate::http::transport::Transport;
use crate::limiter::{AdmissionPath, Gate};
use crate::process::jsonl_process::{self, Line};
use crate::process::program::{Environment, Program, process_failure};
use crate::registry::providers::Providers;

/// A call to a service or program.
#[derive(Debug, Clone, Copy)]
pub struct ExternalCall<'a> {
    /// The step or scorer, for messages: `step query`.
    pub who: &'a str,
    /// The request.
    pub request: &'a Request,
    /// Timeout of one attempt.
    pub timeout: Duration,
    /// Maximum number of retries.
    pub retries: u32,
    /// Seed of the waits between attempts.
    pub jitter_seed: u64,
}

/// Parses captured bytes of a service or program as the live call did; used by resume, too.
///
/// # Errors
/// An error line of a program that answers line by line, or an answer that is not UTF-8.
pub fn parse_external_reply(request: &Request, body: &[u8]) -> Result<Reply, String> {
    let Mended { value, was_mended } = match request {
        Request::Command(command) if command.protocol == Protocol::Jsonl => jsonl_process::parse_answer_line(body)?,
        Request::Command(_) => utf8_text(body, |text| text.trim_end().to_owned())?,
        _ => utf8_text(body, str::to_owned)?,
    };
    Ok(Reply { was_mended, ..Reply::new(value, FinishReason::Stop) })
}

/// The text of an answer. The bytes that some writers give half a character become U+FFFD; all others that are not text are an
/// error.
fn utf8_text(body: &[u8], take: impl Fn(&str) -> String) -> Result<Mended<String>, String> {
    let body = without_bom(body);
    let text =
        |bytes: &[u8], was_mended| std::str::from_utf8(bytes).map(|text| Mended { value: take(text), was_mended });
    match text(body, false) {
        Ok(read) => Ok(read),
        Err(error) => text(&half_characters::mend(body), true).map_err(|_| invalid_text(body, error.valid_up_to())),
    }
}

/// The error of a body that is not UTF-8 from this byte on.
fn invalid_text(body: &[u8], from: usize) -> String {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    match body.starts_with(&GZIP) {
        true => "answered compressed (gzip), which was not requested".to_owned(),
        false => format!("answered with bytes that are not UTF-8 text (from byte {from} on)"),
    }
}

impl Providers {
    /// Makes a single external call outside a run, like [`Providers::call_external_within`].
    pub async fn call_external(&self, call: ExternalCall<'_>, observer: &dyn Observer) -> Exchange {
        let gate = Gate::new(1);
        let Ok((exchange, _)) = self.call_external_within(call, &gate, &UnmeteredPayer, observer).await;
        exchange
    }

    /// Makes an external call behind a gate, as [`Providers::call_within`] does for models.
    ///
    /// # Errors
    /// The payer's refusal.
    pub async fn call_external_within<'a, P: Payer>(
        &'a self,
        call: ExternalCall<'_>,
        gate: &'a Gate,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        let (kind, captured) = match call.request {
            Request::Http(request) => ("http", StoredRequest::of_service(request)),
            Request::Command(request) => ("command", StoredRequest::of_program(request)),
            Request::Chat(_) | Request::SimulatedUser(_) | Request::File { .. } | Request::Tool(_) => {
                let problem = format!("{}: it asked for a model or a file; this is a bug in karat", call.who);
                return Ok((unsent_exchange(problem), None));
            }
        };
        let recording_key = || RecordingKey::of_external_call(kind, &json!(captured), call.jitter_seed);
        let live = async || self.make_external_call(&call, &captured, gate, payer, observer).await;
        let read = |body: &Bytes| parse_external_reply(call.request, body).map_err(malformed_error);
        self.through_recording(call.who, gate, payer, recording_key, live, |player, _| {
            player.answer(&recording_key(), read)
        })
        .await
    }

    async fn make_external_call<'a, P: Payer>(
        &'a self,
        call: &ExternalCall<'_>,
        captured: &StoredRequest<'_>,
        gate: &'a Gate,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        let path = AdmissionPath { gate, queue: gate.queue(call.who), limiter: None, tokens: 0 };
        let captured = serde_json::to_vec(captured).unwrap_or_default();
        let captured = match self.dispatch.secrets.check_request(call.who, &captured.into()) {
            Ok(captured) => captured,
            Err(refused) => return Ok((*refused, None)),
        };
        let waits = Waits::new(self.dispatch.backoff, call.retries, call.jitter_seed);
        let spec = |target| RetrySpec { target, request: captured.clone(), waits };
        match call.request {
            Request::Command(request) => match self.program_attempts(call, request) {
                Ok(source) => {
                    let target = CallTarget { who: Callee::External(call.who), address: "" };
                    self.dispatch.retry(spec(target), path, payer, observer, &source).await
                }
                Err(problem) => Ok((unsent_exchange(format!("{}: {problem}", call.who)), None)),
            },
            request => match self.service_attempts(call, request) {
                Ok(source) => {
                    let address = source.prepared.url().as_str().split('?').next().unwrap_or_default();
                    let target = CallTarget { who: Callee::External(call.who), address };
                    self.dispatch.retry(spec(target), path, payer, observer, &source).await
                }
                Err(problem) => {
                    let error = unsent_exchange(self.dispatch.secrets.clean_text(format!("{}: {problem}", call.who)));
                    Ok((Exchange { request: captured, ..error }, None))
                }
            },
        }
    }

    /// Closes the input of programs that answer line by line, and waits briefly for their exits.
    pub async fn end_programs(&self) {
        self.jsonl_programs.end().await;
    }

    fn service_attempts<'a>(
        &'a self,
        call: &'a ExternalCall<'a>,
        request: &Request,
    ) -> Result<ServiceAttempts<'a>, String> {
        let (Some(transport), Request::Http(request)) = (&self.transport, request) else {
            return Err("there is no HTTP client; this is a bug in karat".to_owned());
        };
        Ok(ServiceAttempts { providers: self, transport, prepared: self.prepare_request(request)?, call })
    }

    fn prepare_request(&self, request: &HttpRequest) -> Result<PreparedRequest, String> {
        let fill = |text: &EnvTemplate| self.fill(text);
        let address = fill(&request.url)?;
        let url =
            Url::parse(address.trim()).map_err(|error| format!("`{address}` is not a valid address ({error})"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!(
                "`{address}` is not the address of a service: it does not begin with http:// or https://"
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its address holds a user name, which is not sent; send it in a header, as \
                        `Authorization: \"Basic ${NAME}\"`"
                .to_owned());
        }
        let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
            .map_err(|_| format!("`{}` is not an HTTP method", request.method))?;
        let mut headers = HeaderMap::new();
        let body = match &request.body {
            Value::Null => None,
            Value::String(text) => Some(("text/plain; charset=utf-8", Bytes::from(text.clone()))),
            json => Some(("application/json", Bytes::from(json.to_string()))),
        };
        if let Some((form, _)) = &body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(form));
        }
        for (name, text) in &request.headers {
            if unset_variable(text, &self.settings).is_some() {
                continue;
            }
            let value = HeaderValue::try_from(fill(text)?).ok();
            let (name, mut value) = HeaderName::try_from(name).ok().zip(value).ok_or_else(|| {
                format!("the header `{name}` contains characters that are not allowed in HTTP headers")
            })?;
            value.set_sensitive(text.0.iter().any(|part| matches!(part, EnvTemplatePart::Variable { .. })));
            headers.insert(name, value);
        }
        PreparedRequest::new(method, &url, headers, body.map(|(_, bytes)| bytes))
            .map_err(|problem| format!("`{address}` is not a valid address ({problem})"))
    }

    fn program_attempts<'a>(
        &'a self,
        call: &'a ExternalCall<'a>,
        request: &'a CommandRequest,
    ) -> Result<ProgramAttempts<'a>, String> {
        let env = request.env.iter().map(|(name, text)| Ok((name.clone(), self.fill(text)?)));
        let environment = Environment::Clean(env.collect::<Result<_, String>>()?);
        let program = Program { run: request.run.clone(), environment, folder: request.folder.clone() };
        Ok(ProgramAttempts { providers: self, program, request, call })
    }

    pub(super) fn fill(&self, text: &EnvTemplate) -> Result<String, String> {
        env_template::fill(text, |name| self.settings.lookup(name)).map_err(|name| format!("{name} is not set"))
    }
}

/// Attempts of an HTTP call.
struct ServiceAttempts<'a> {
    providers: &'a Providers,
    transport: &'a Transport,
    prepared: PreparedRequest,
    call: &'a ExternalCall<'a>,
}

impl AttemptSource for ServiceAttempts<'_> {
    async fn attempt(&self) -> Attempt {
        let sent = self.providers.dispatch.send(self.transport, &self.prepared, self.call.timeout).await;
        let malformed = |problem| Failure::new(CallErrorCode::Malformed, problem);
        let secrets = &self.providers.dispatch.secrets;
        Attempt::read(sent, |_, received| {
            secrets
                .read_redacted(&received.body, |body| parse_external_reply(self.call.request, body))
                .map_err(malformed)
        })
    }
}

/// Attempts of a program call.
struct ProgramAttempts<'a> {
    providers: &'a Providers,
    program: Program,
    request: &'a CommandRequest,
    call: &'a ExternalCall<'a>,
}

impl AttemptSource for ProgramAttempts<'_> {
    async fn attempt(&self) -> Attempt {
        let Self { providers, program, request, call } = self;
        let start = Instant::now();
        // Boxed: a program's future is several times larger than a server's, and all calls would be as large.
        let (printed, end) = match request.protocol {
            Protocol::Once => {
                let run = program.run(&providers.settings, stdin_bytes(&request.input), call.timeout);
                let (printed, end) = Box::pin(run).await;
                (printed, end.map(drop))
            }
            Protocol::Jsonl => {
                let line = providers.jsonl_programs.ask(
                    program,
                    input_line(&request.input),
                    call.timeout,
                    &providers.settings,
                );
                match Box::pin(line).await {
                    Ok(line) => (line, Ok(())),
                    Err(failure) => (Bytes::new(), Err(failure)),
                }
            }
        };
        let secrets = &providers.dispatch.secrets;
        let response = secrets.capture(printed, end.is_ok());
        let outcome = end.and_then(|()| {
            let invalid = |problem| process_failure(format!("program `{}`: it {problem}", program.name()));
            secrets.read_redacted(&response, |response| parse_external_reply(call.request, response)).map_err(invalid)
        });
        let latency = start.elapsed();
        let rewritten = None;
        Attempt {
            response,
            status: None,
            latency,
            exhausted: None,
            memory: None,
            program_run: None,
            outcome,
            rewritten,
        }
    }
}

/// The line that asks a program for an output.
fn input_line(input: &Value) -> Line {
    let input = serde_json::to_string(input).unwrap_or_default();
    Line { members: ["\"input\":", &input].concat(), conversation: None }
}

/// The standard input of a program that runs once.
fn stdin_bytes(value: &Value) -> Bytes {
    match value {
        Value::Null => Bytes::new(),
        Value::String(text) => Bytes::from(text.clone()),
        json => Bytes::from(json.to_string()),
    }
}

/// The error of a captured answer that reports a problem.
fn malformed_error(message: String) -> CallError {
    CallError { code: CallErrorCode::Malformed, message, status: None }
}

/// The stored form of a request: everything except the values of variables.
#[derive(Serialize)]
#[serde(untagged)]
enum StoredRequest<'a> {
    Service { method: &'a str, url: String, headers: Map<String, Value>, body: &'a Value },
    Program { run: &'a [String], input: &'a Value, env: Map<String, Value> },
}

impl<'a> StoredRequest<'a> {
    fn of_service(request: &'a HttpRequest) -> Self {
        let HttpRequest { method, url, headers, body } = request;
        Self::Service { method, url: url.with_placeholders(), headers: shown_templates(headers), body }
    }

    fn of_program(request: &'a CommandRequest) -> Self {
        let CommandRequest { run, input, env, .. } = request;
        Self::Program { run, input, env: shown_templates(env) }
    }
}

fn shown_templates(texts: &[(String, EnvTemplate)]) -> Map<String, Value> {
    texts.iter().map(|(name, text)| (name.clone(), Value::from(text.with_placeholders()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-09: an answer that is not UTF-8 is an error, not a text with holes.
    #[test]
    fn an_answer_is_text_or_an_error() {
        let request = Request::Http(HttpRequest {
            method: "GET".to_owned(),
            url: EnvTemplate::default(),
            headers: Vec::new(),
            body: Value::Null,
        });
        let read = |body: &[u8]| parse_external_reply(&request, body).map(|reply| reply.text);
        assert_eq!(read("Größe".as_bytes()), Ok("Größe".to_owned()));
        assert_eq!(read("\u{feff}{}".as_bytes()), Ok("{}".to_owned()));
        assert_eq!(
            read(b"Gr\xf6\xdfe"),
            Err("answered with bytes that are not UTF-8 text (from byte 2 on)".to_owned())
        );
        assert!(read(&[0x1f, 0x8b, 8, 0]).unwrap_err().contains("gzip"));
        // F7: half a character is not a reason to throw an answer away.
        assert_eq!(read(b"a\xed\xa0\xbdb"), Ok("a\u{fffd}b".to_owned()));
        let program = Request::Command(CommandRequest {
            run: vec!["cat".to_owned()],
            input: Value::Null,
            env: Vec::new(),
            protocol: Protocol::Once,
            folder: String::new(),
        });
        assert_eq!(parse_external_reply(&program, "fein\n".as_bytes()).map(|reply| reply.text), Ok("fein".to_owned()));
        assert!(parse_external_reply(&program, b"\xff\xfe").unwrap_err().contains("from byte 0 on"));
    }
}
