//! The connected models and the one way to call them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallError, CallErrorCode, ChatRequest, Event, ModelSpec, Observer, Reply};
use reqwest::Method;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::capture::Secrets;
use crate::codec::parse;
use crate::command::CommandModel;
use crate::connect::{Backend, Connected, Endpoint, ProviderError, connect};
use crate::exchange::{Call, Exchange};
use crate::failure::{Failure, Place};
use crate::lines::Lines;
use crate::openai::{OPENAI, completion};
use crate::outside::Outside;
use crate::retry::{Backoff, Waits};
use crate::tape::{Player, Recorder};
use crate::transport::{Letter, Transport};
use crate::{codec::Codec, scripted, stub};

/// Looks a variable of the environment up.
type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How models are reached.
#[derive(Clone)]
pub struct Settings {
    /// Looks a variable of the environment up: keys, API roots, `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`.
    pub secret: Lookup,
    /// Bytes that the body of an answer may have.
    pub max_response: usize,
    /// Idle connections that are kept for each server.
    pub max_connections: usize,
    /// How waits between attempts grow.
    pub backoff: Backoff,
    /// This program, which a command named `karat` stands for.
    pub own_program: Option<PathBuf>,
}

impl Settings {
    /// The defaults, with this environment: 8 MiB, 256 connections, waits from half a second to a minute.
    pub fn new(secret: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            secret: Arc::new(secret),
            max_response: 8 * 1024 * 1024,
            max_connections: 256,
            backoff: Backoff::default(),
            own_program: None,
        }
    }

    /// The value of a variable; one that is empty or blank is not set, and the line break at the end of a value that
    /// was read from a file is no part of it.
    pub(crate) fn lookup(&self, name: &str) -> Option<String> {
        (self.secret)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("max_response", &self.max_response)
            .field("max_connections", &self.max_connections)
            .field("backoff", &self.backoff)
            .finish_non_exhaustive()
    }
}

/// Bytes that are kept of a body that broke off or is too large.
const KEPT: usize = 64 * 1024;

/// Models that can be called. Shared by all tasks of a run.
pub struct Providers {
    models: FxHashMap<String, Connected>,
    pub(crate) transport: Option<Transport>,
    pub(crate) secrets: Secrets,
    pub(crate) backoff: Backoff,
    pub(crate) settings: Settings,
    pub(crate) lines: Lines,
    tape: Tape,
}

/// What a recording has to do with the calls.
enum Tape {
    /// Nothing.
    None,
    /// It gets them.
    Record(Arc<Recorder>),
    /// It answers them; nobody else does.
    Replay(Player, FxHashMap<String, ModelSpec>),
}

impl Providers {
    /// Connects models: reads keys and addresses, compiles scripts, makes no connection yet.
    ///
    /// # Errors
    /// All that is wrong, at most one error for each model.
    pub fn connect(models: &[ModelSpec], settings: Settings) -> Result<Self, Vec<ProviderError>> {
        Self::connect_all(models, &Outside::default(), settings)
    }

    /// As [`Providers::connect`], and makes ready for what steps and scorers ask of services and programs.
    ///
    /// # Errors
    /// All that is wrong, at most one error for each model and each gap of a text.
    pub fn connect_all(
        models: &[ModelSpec],
        outside: &Outside,
        settings: Settings,
    ) -> Result<Self, Vec<ProviderError>> {
        let (mut errors, mut secrets) = (Vec::new(), Vec::new());
        let mut connected = FxHashMap::default();
        for (at, spec) in models.iter().enumerate() {
            match models[..at].iter().find(|earlier| earlier.id == spec.id) {
                Some(earlier) if earlier == spec => continue,
                Some(_) => errors.push(ProviderError::Ambiguous { model: spec.id.clone() }),
                None => match connect(spec, &settings, &mut secrets) {
                    Ok(model) => drop(connected.insert(spec.id.clone(), model)),
                    Err(error) => errors.push(error),
                },
            }
        }
        outside.gather(&settings, &mut secrets, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let client = |problem: String| vec![ProviderError::Client { problem }];
        let needs_transport = outside.http || connected.values().any(|model| matches!(model.backend, Backend::Http(_)));
        let transport = needs_transport
            .then(|| Transport::new(&settings))
            .transpose()
            .map_err(|error| client(error.to_string()))?;
        let secrets = Secrets::new(secrets).map_err(|error| client(error.to_string()))?;
        let backoff = settings.backoff;
        let (lines, tape) = (Lines::default(), Tape::None);
        Ok(Self { models: connected, transport, secrets, backoff, settings, lines, tape })
    }

    /// The same, with every call written into a recording.
    #[must_use]
    pub fn recorded(self, recorder: Arc<Recorder>) -> Self {
        Self { tape: Tape::Record(recorder), ..self }
    }

    /// Models whose calls a recording answers. No key is read and no connection is made, not even prepared.
    pub fn replayed(models: &[ModelSpec], player: Player) -> Self {
        let specs = models.iter().map(|spec| (spec.id.clone(), spec.clone())).collect();
        Self {
            models: FxHashMap::default(),
            transport: None,
            secrets: Secrets::none(),
            backoff: Backoff::default(),
            settings: Settings::new(|_| None),
            lines: Lines::default(),
            tape: Tape::Replay(player, specs),
        }
    }

    /// Whether a recording answers, so that nobody else may be asked.
    pub(crate) fn is_replay(&self) -> bool {
        matches!(self.tape, Tape::Replay(..))
    }

    /// Makes one call, with as many attempts as it may have. Tells the observer of each wait.
    ///
    /// It does not fail: what went wrong stands in the exchange. Dropping the future cancels the call.
    pub async fn call(&self, call: Call<'_>, observer: &dyn Observer) -> Exchange {
        match &self.tape {
            Tape::None => self.live(call, observer).await,
            Tape::Record(recorder) => {
                let exchange = self.live(call, observer).await;
                recorder.write(&call, &exchange);
                exchange
            }
            Tape::Replay(player, specs) => match specs.get(call.model) {
                Some(spec) => player.answer(spec, &call),
                None => never_connected(call.model),
            },
        }
    }

    async fn live(&self, call: Call<'_>, observer: &dyn Observer) -> Exchange {
        let Some(model) = self.models.get(call.model) else { return never_connected(call.model) };
        match &model.backend {
            Backend::Http(endpoint) => self.over_http(model, endpoint, call, observer).await,
            Backend::Command(program) => self.program(model, program, &call).await,
            Backend::Scripted(script) => {
                let _permit = permit(model).await;
                self.offline(model, &call, |request| script.reply(request))
            }
            Backend::Stub => {
                let _permit = permit(model).await;
                self.offline(model, &call, |request| Ok(stub::reply(request)))
            }
        }
    }

    async fn over_http(
        &self,
        model: &Connected,
        endpoint: &Endpoint,
        call: Call<'_>,
        observer: &dyn Observer,
    ) -> Exchange {
        let Some(transport) = &self.transport else {
            return unsent(format!("model {}: there is no HTTP client; this is a bug in karat", call.model));
        };
        let body = match endpoint.body(&model.spec, call.request) {
            Ok(body) => Bytes::from(body),
            Err(error) => return unsent(format!("model {}: the request is no JSON ({error})", call.model)),
        };
        let request = self.secrets.clean(body.clone());
        let Endpoint { codec, url, headers, .. } = endpoint;
        let letter = Letter { method: Method::POST, url: url.clone(), headers: headers.clone(), body: Some(body) };
        let tries = ModelTries { providers: self, transport, model, codec: *codec, letter, timeout: call.timeout };
        let waits = Waits::new(self.backoff, call.retries, call.jitter_seed);
        self.retried(model.place(), request, waits, observer, &tries).await
    }

    async fn program(&self, model: &Connected, program: &CommandModel, call: &Call<'_>) -> Exchange {
        let _permit = permit(model).await;
        let (program, input) = program.program(call.request);
        let request = match OPENAI.body(&model.spec, "", call.request) {
            Ok(body) => self.secrets.clean(body.into()),
            Err(error) => return unsent(format!("model {}: the request is no JSON ({error})", call.model)),
        };
        let start = Instant::now();
        let (printed, end) = program.run(&self.settings, input, call.timeout).await;
        let latency_ms = start.elapsed().as_secs_f64() * 1e3;
        let response = self.secrets.clean(printed);
        let outcome = match end {
            Ok(()) => parse(&model.spec, &response),
            Err(failure) => Err(self.told(&failure, model.place(), 1)),
        };
        Exchange { request, response, status: None, attempts: 1, latency_ms, is_replayed: false, outcome }
    }

    /// What a caller is told of a failure.
    pub(crate) fn told(&self, failure: &Failure, place: Place<'_>, attempts: u32) -> CallError {
        let mut error = failure.error(place, attempts);
        error.message = self.secrets.clean_text(error.message);
        error
    }

    /// Attempts until one succeeds, none can help, or no wait is left.
    pub(crate) async fn retried(
        &self,
        place: Place<'_>,
        request: Bytes,
        mut waits: Waits,
        observer: &dyn Observer,
        tries: &impl Tries,
    ) -> Exchange {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let Attempt { response, status, latency, outcome } = tries.attempt().await;
            let outcome = match outcome {
                Ok(reply) => Ok(reply),
                Err(failure) => {
                    let error = self.told(&failure, place, attempts);
                    let wait = if failure.retry { waits.next(failure.retry_after) } else { None };
                    if let Some(wait) = wait {
                        let delay_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                        let who = place.who.name();
                        observer.on(&Event::Retrying { model: who, attempt: attempts, delay_ms, error: &error });
                        tokio::time::sleep(wait).await;
                        continue;
                    }
                    Err(error)
                }
            };
            let latency_ms = latency.as_secs_f64() * 1e3;
            return Exchange { request, response, status, attempts, latency_ms, is_replayed: false, outcome };
        }
    }

    /// One attempt over HTTP: what came of it, and the status where it is 2xx.
    pub(crate) async fn sent(&self, transport: &Transport, letter: &Letter, timeout: Duration) -> Sent {
        let start = Instant::now();
        let (received, end) = transport.send(letter, timeout).await;
        let latency = start.elapsed();
        let response = match &end {
            Ok(()) => self.secrets.clean(received.body),
            Err(_) => self.broken(received.body),
        };
        let end = end.and_then(|()| match received.status {
            Some(status @ 200..=299) => Ok(status),
            status => {
                let location = received.location.map(|location| self.secrets.clean_text(location));
                let status = status.unwrap_or_default();
                Err(Failure::of_status(status, location.as_deref(), received.retry_after, &response))
            }
        });
        Sent { response, status: received.status, latency, end }
    }

    /// What is kept of a body that did not come to its end.
    fn broken(&self, body: Bytes) -> Bytes {
        let mut cleaned = self.secrets.clean_broken(body);
        cleaned.truncate(KEPT);
        cleaned
    }

    /// A call that is answered in place. Its bytes take the same way as those of a server.
    fn offline(
        &self,
        model: &Connected,
        call: &Call<'_>,
        answer: impl Fn(&ChatRequest) -> Result<String, String>,
    ) -> Exchange {
        let spec = &model.spec;
        let start = Instant::now();
        let request = match OPENAI.body(spec, "", call.request) {
            Ok(body) => self.secrets.clean(body.into()),
            Err(error) => return unsent(format!("model {}: the request is no JSON ({error})", spec.id)),
        };
        let body = answer(call.request).and_then(|text| {
            completion(spec, &text, scripted::usage(call.request, &text)).map_err(|error| error.to_string())
        });
        let (response, outcome) = match body {
            Ok(body) => {
                let response = self.secrets.clean(body);
                let outcome = parse(spec, &response);
                (response, outcome)
            }
            Err(problem) => {
                let failure = Failure::new(CallErrorCode::Process, self.secrets.clean_text(problem));
                (Bytes::new(), Err(failure.error(model.place(), 1)))
            }
        };
        let latency_ms = start.elapsed().as_secs_f64() * 1e3;
        Exchange { request, response, status: None, attempts: 1, latency_ms, is_replayed: false, outcome }
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Providers").field("models", &self.models.len()).finish_non_exhaustive()
    }
}

/// What can be tried again.
pub(crate) trait Tries: Sync {
    /// One attempt.
    fn attempt(&self) -> impl Future<Output = Attempt> + Send;
}

/// Attempts to call a model behind a server.
struct ModelTries<'a> {
    providers: &'a Providers,
    transport: &'a Transport,
    model: &'a Connected,
    codec: &'a dyn Codec,
    letter: Letter,
    timeout: Duration,
}

impl Tries for ModelTries<'_> {
    async fn attempt(&self) -> Attempt {
        let _permit = permit(self.model).await;
        let sent = self.providers.sent(self.transport, &self.letter, self.timeout).await;
        sent.read(|status, body| self.codec.parse(body).map_err(|unreadable| Failure::of_body(status, unreadable)))
    }
}

/// An attempt over HTTP whose answer is not read yet.
pub(crate) struct Sent {
    response: Bytes,
    status: Option<u16>,
    latency: Duration,
    end: Result<u16, Failure>,
}

impl Sent {
    /// Reads the body of a 2xx answer.
    pub fn read(self, read: impl FnOnce(u16, &[u8]) -> Result<Reply, Failure>) -> Attempt {
        let Self { response, status, latency, end } = self;
        let outcome = end.and_then(|code| read(code, &response)).map_err(|failure| Failure { status, ..failure });
        Attempt { response, status, latency, outcome }
    }
}

/// One attempt.
pub(crate) struct Attempt {
    pub response: Bytes,
    pub status: Option<u16>,
    pub latency: Duration,
    pub outcome: Result<Reply, Failure>,
}

/// The right to one call in flight, where the model's are limited. A closed semaphore limits nothing.
async fn permit(model: &Connected) -> Option<tokio::sync::SemaphorePermit<'_>> {
    model.permits.as_ref()?.acquire().await.ok()
}

fn never_connected(model: &str) -> Exchange {
    unsent(format!("model {model}: it was never connected; this is a bug in karat"))
}

/// A call that could not be made.
pub(crate) fn unsent(message: String) -> Exchange {
    let error = CallError { code: CallErrorCode::Unsupported, message, status: None };
    Exchange {
        request: Bytes::new(),
        response: Bytes::new(),
        status: None,
        attempts: 0,
        latency_ms: 0.0,
        is_replayed: false,
        outcome: Err(error),
    }
}
