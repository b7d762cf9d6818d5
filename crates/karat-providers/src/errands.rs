//! Asking services and programs: captured, cleaned and retried as calls of models are.

use std::time::Duration;

use bytes::Bytes;
use karat_text::gaps;
use karat_types::{
    CallError, CallErrorCode, CommandRequest, FinishReason, GapText, HttpRequest, Observer, Part, Protocol, Reply,
    Request,
};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::attempts::{Attempt, Quest, Tries};
use crate::codec::unmarked;
use crate::exchange::{Exchange, Free, Held, Payer, unsent};
use crate::failure::{Failure, Place, Who};
use crate::headers::unfilled;
use crate::letter::Letter;
use crate::limiter::{Gate, Way};
use crate::lines;
use crate::process::{Environment, Program, failed};
use crate::providers::Providers;
use crate::retry::Waits;
use crate::tape::Asked;
use crate::transport::Transport;

/// One request to a service or program.
#[derive(Debug, Clone, Copy)]
pub struct Errand<'a> {
    /// Whose it is, for messages: `step query`.
    pub who: &'a str,
    /// What is asked.
    pub request: &'a Request,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How many attempts may follow the first.
    pub retries: u32,
    /// Seed of the waits between attempts.
    pub jitter_seed: u64,
}

/// The reply in captured bytes of a service or program: what a live call does with them, and what resume does.
///
/// # Errors
/// A line of a program that answers line by line and says that something went wrong; an answer that is no text.
pub fn answer(request: &Request, body: &[u8]) -> Result<Reply, String> {
    let text = match request {
        Request::Command(command) if command.protocol == Protocol::Jsonl => lines::read(body)?,
        Request::Command(_) => text(body)?.trim_end().to_owned(),
        _ => text(body)?.to_owned(),
    };
    Ok(Reply { text, finish: FinishReason::Stop, usage: None, model: None })
}

fn text(body: &[u8]) -> Result<&str, String> {
    let body = unmarked(body);
    std::str::from_utf8(body).map_err(|error| no_text(body, error.valid_up_to()))
}

/// Why a body is no text: from which byte on.
fn no_text(body: &[u8], from: usize) -> String {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    match body.starts_with(&GZIP) {
        true => "answered compressed (gzip), which was not asked for".to_owned(),
        false => format!("answered with bytes that are no UTF-8 text (from byte {from} on)"),
    }
}

impl Providers {
    /// Runs one errand by itself, as [`Providers::errand_within`] does.
    pub async fn errand(&self, errand: Errand<'_>, observer: &dyn Observer) -> Exchange {
        let gate = Gate::new(1);
        let Ok((exchange, _)) = self.errand_within(errand, &gate, &Free, observer).await;
        exchange
    }

    /// Runs one errand behind a gate, as [`Providers::call_within`] makes a call.
    ///
    /// # Errors
    /// That of the payer.
    pub async fn errand_within<'a, P: Payer>(
        &'a self,
        errand: Errand<'_>,
        gate: &'a Gate,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<Held, P::Refusal> {
        let (kind, captured) = match errand.request {
            Request::Http(request) => ("http", captured_http(request)),
            Request::Command(request) => ("command", captured_command(request)),
            Request::Chat(_) | Request::File { .. } => {
                let problem = format!("{}: it asked for a model or a file; this is a bug in karat", errand.who);
                return Ok((unsent(problem), None));
            }
        };
        let asked = || Asked::outside(kind, &captured, errand.jitter_seed);
        let live = async || self.live_errand(&errand, &captured, gate, payer, observer).await;
        let read = |body: &Bytes| answer(errand.request, body).map_err(malformed);
        self.taped(errand.who, gate, payer, asked, live, |player, _| player.answer(&asked(), read)).await
    }

    async fn live_errand<'a, P: Payer>(
        &'a self,
        errand: &Errand<'_>,
        captured: &Value,
        gate: &'a Gate,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<Held, P::Refusal> {
        let way = Way { gate, line: gate.line(errand.who), limiter: None, tokens: 0 };
        let captured = match self.dispatch.secrets.checked(errand.who, &Bytes::from(captured.to_string())) {
            Ok(captured) => captured,
            Err(refused) => return Ok((*refused, None)),
        };
        let waits = Waits::new(self.dispatch.backoff, errand.retries, errand.jitter_seed);
        let quest = |place| Quest { place, request: captured.clone(), waits };
        match errand.request {
            Request::Command(request) => match self.program_tries(errand, request) {
                Ok(tries) => {
                    let place = Place { who: Who::Outside(errand.who), address: "" };
                    self.dispatch.retried(quest(place), way, payer, observer, &tries).await
                }
                Err(problem) => Ok((unsent(format!("{}: {problem}", errand.who)), None)),
            },
            request => match self.service_tries(errand, request) {
                Ok(tries) => {
                    let address = tries.letter.url().as_str().split('?').next().unwrap_or_default();
                    let place = Place { who: Who::Outside(errand.who), address };
                    self.dispatch.retried(quest(place), way, payer, observer, &tries).await
                }
                Err(problem) => {
                    let error = unsent(self.dispatch.secrets.clean_text(format!("{}: {problem}", errand.who)));
                    Ok((Exchange { request: captured, ..error }, None))
                }
            },
        }
    }

    /// Tells programs that answer line by line that nothing more comes, and waits a little for their ends.
    pub async fn end(&self) {
        self.lines.end().await;
    }

    fn service_tries<'a>(&'a self, errand: &'a Errand<'a>, request: &Request) -> Result<ServiceTries<'a>, String> {
        let (Some(transport), Request::Http(request)) = (&self.transport, request) else {
            return Err("there is no HTTP client; this is a bug in karat".to_owned());
        };
        Ok(ServiceTries { providers: self, transport, letter: self.letter(request)?, errand })
    }

    fn letter(&self, request: &HttpRequest) -> Result<Letter, String> {
        let fill = |text: &GapText| self.fill(text);
        let address = fill(&request.url)?;
        let url = Url::parse(address.trim()).map_err(|error| format!("`{address}` is no address ({error})"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{address}` is no address of a service: it does not begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its address holds a user name, which is not sent; send it in a header, as \
                        `Authorization: \"Basic ${NAME}\"`"
                .to_owned());
        }
        let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
            .map_err(|_| format!("`{}` is no HTTP method", request.method))?;
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
            if unfilled(text, &self.settings).is_some() {
                continue;
            }
            let value = HeaderValue::try_from(fill(text)?).ok();
            let (name, mut value) = HeaderName::try_from(name)
                .ok()
                .zip(value)
                .ok_or_else(|| format!("the header `{name}` holds characters that no HTTP header may hold"))?;
            value.set_sensitive(text.0.iter().any(|part| matches!(part, Part::Variable { .. })));
            headers.insert(name, value);
        }
        Letter::new(method, &url, headers, body.map(|(_, bytes)| bytes))
            .map_err(|problem| format!("`{address}` is no address ({problem})"))
    }

    fn program_tries<'a>(
        &'a self,
        errand: &'a Errand<'a>,
        request: &'a CommandRequest,
    ) -> Result<ProgramTries<'a>, String> {
        let env = request.env.iter().map(|(name, text)| Ok((name.clone(), self.fill(text)?)));
        let environment = Environment::Clean(env.collect::<Result<_, String>>()?);
        let program = Program { run: request.run.clone(), environment, folder: request.folder.clone() };
        Ok(ProgramTries { providers: self, program, request, errand })
    }

    fn fill(&self, text: &GapText) -> Result<String, String> {
        gaps::fill(text, |name| self.settings.lookup(name)).map_err(|name| format!("{name} is not set"))
    }
}

/// Attempts to ask a service.
struct ServiceTries<'a> {
    providers: &'a Providers,
    transport: &'a Transport,
    letter: Letter,
    errand: &'a Errand<'a>,
}

impl Tries for ServiceTries<'_> {
    async fn attempt(&self) -> Attempt {
        let sent = self.providers.dispatch.sent(self.transport, &self.letter, self.errand.timeout).await;
        let malformed = |problem| Failure::new(CallErrorCode::Malformed, problem);
        let secrets = &self.providers.dispatch.secrets;
        Attempt::read(sent, |_, body| {
            secrets.reading(body, |body| answer(self.errand.request, body)).map_err(malformed)
        })
    }
}

/// Attempts to ask a program.
struct ProgramTries<'a> {
    providers: &'a Providers,
    program: Program,
    request: &'a CommandRequest,
    errand: &'a Errand<'a>,
}

impl Tries for ProgramTries<'_> {
    async fn attempt(&self) -> Attempt {
        let Self { providers, program, request, errand } = self;
        let start = Instant::now();
        // Boxed: what a program needs is several times what a server needs, and the futures of all calls would be as large.
        let (printed, end) = match request.protocol {
            Protocol::Once => {
                let run = program.run(&providers.settings, input(&request.input), errand.timeout);
                let (printed, end) = Box::pin(run).await;
                (printed, end.map(drop))
            }
            Protocol::Jsonl => {
                let line = providers.lines.ask(program, &request.input, errand.timeout, &providers.settings);
                match Box::pin(line).await {
                    Ok(line) => (line, Ok(())),
                    Err(failure) => (Bytes::new(), Err(failure)),
                }
            }
        };
        let secrets = &providers.dispatch.secrets;
        let response = secrets.captured(printed, end.is_ok());
        let outcome = end.and_then(|()| {
            let said = |problem| failed(format!("program `{}`: it {problem}", program.name()));
            secrets.reading(&response, |response| answer(errand.request, response)).map_err(said)
        });
        let latency = start.elapsed();
        Attempt { response, status: None, latency, exhausted: None, room: None, ran: None, outcome }
    }
}

/// What is written to a program that runs once.
fn input(value: &Value) -> Bytes {
    match value {
        Value::Null => Bytes::new(),
        Value::String(text) => Bytes::from(text.clone()),
        json => Bytes::from(json.to_string()),
    }
}

/// An answer that was captured and says that something went wrong.
fn malformed(message: String) -> CallError {
    CallError { code: CallErrorCode::Malformed, message, status: None }
}

/// What is kept of a request: everything but the values of gaps.
fn captured_http(request: &HttpRequest) -> Value {
    json!({
        "method": request.method,
        "url": request.url.shown(),
        "headers": shown(&request.headers),
        "body": request.body,
    })
}

fn captured_command(request: &CommandRequest) -> Value {
    json!({ "run": request.run, "input": request.input, "env": shown(&request.env) })
}

fn shown(texts: &[(String, GapText)]) -> Map<String, Value> {
    texts.iter().map(|(name, text)| (name.clone(), Value::from(text.shown()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-09: bytes that are no text are an error, not a text with holes.
    #[test]
    fn an_answer_is_text_or_an_error() {
        let request = Request::Http(HttpRequest {
            method: "GET".to_owned(),
            url: GapText::default(),
            headers: Vec::new(),
            body: Value::Null,
        });
        let said = |body: &[u8]| answer(&request, body).map(|reply| reply.text);
        assert_eq!(said("Größe".as_bytes()), Ok("Größe".to_owned()));
        assert_eq!(said("\u{feff}{}".as_bytes()), Ok("{}".to_owned()));
        assert_eq!(said(b"Gr\xf6\xdfe"), Err("answered with bytes that are no UTF-8 text (from byte 2 on)".to_owned()));
        assert!(said(&[0x1f, 0x8b, 8, 0]).unwrap_err().contains("gzip"));
        let program = Request::Command(CommandRequest {
            run: vec!["cat".to_owned()],
            input: Value::Null,
            env: Vec::new(),
            protocol: Protocol::Once,
            folder: String::new(),
        });
        assert_eq!(answer(&program, "fein\n".as_bytes()).map(|reply| reply.text), Ok("fein".to_owned()));
        assert!(answer(&program, b"\xff\xfe").unwrap_err().contains("from byte 0 on"));
    }
}
