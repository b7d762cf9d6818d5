//! The connected models and the one way to call them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallErrorCode, ChatRequest, ModelSpec, Observer};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::attempts::{Attempt, Dispatch, Quest, Tries, shut_out};
use crate::capture::Secrets;
use crate::codec::Codec;
use crate::command::{self, CommandModel};
use crate::connect::{Backend, Connected, Endpoint, connect};
use crate::error::ProviderError;
use crate::exchange::{Call, Exchange, Free, Held, Payer, Ran, milliseconds, unsent};
use crate::failure::Failure;
use crate::letter::Letter;
use crate::limiter::{Gate, Way};
use crate::lines::Lines;
use crate::openai::{OPENAI, completion};
use crate::outside::Outside;
use crate::process::Program;
use crate::proxies;
use crate::recorder::Recorder;
use crate::reply::parse;
use crate::retry::{Backoff, Waits};
use crate::settings::Settings;
use crate::tape::{Asked, Player};
use crate::transport::Transport;
use crate::{scripted, stub};

/// Models that can be called. Shared by all tasks of a run.
pub struct Providers {
    models: FxHashMap<String, Connected>,
    pub(crate) transport: Option<Transport>,
    pub(crate) dispatch: Dispatch,
    pub(crate) settings: Settings,
    pub(crate) lines: Lines,
    pub(crate) tape: Tape,
}

/// What a recording has to do with the calls.
pub(crate) enum Tape {
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
        let (mut errors, mut secrets) = (Vec::new(), settings.secrets().collect());
        let mut connected = FxHashMap::default();
        for (at, spec) in models.iter().enumerate() {
            match models[..at].iter().find(|earlier| earlier.id == spec.id) {
                Some(earlier) if earlier == spec => continue,
                Some(_) => errors.push(ProviderError::Ambiguous { model: spec.id.clone() }),
                None => match connect(spec, &settings, &mut secrets) {
                    Ok(mut model) => {
                        if let Some(known) = connected.values().find(|known: &&Connected| known.shares_limits(&model)) {
                            model.limiter = known.limiter.clone();
                        }
                        connected.insert(spec.id.clone(), model);
                    }
                    Err(error) => errors.push(error),
                },
            }
        }
        outside.gather(&settings, &mut secrets, &mut errors);
        if outside.http || connected.values().any(|model| matches!(model.backend, Backend::Http(_))) {
            errors.extend(proxies::broken(&settings));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let client = |problem: String| vec![ProviderError::Client { problem }];
        let served = |test: fn(&Endpoint) -> bool| {
            connected.values().any(|model| matches!(&model.backend, Backend::Http(endpoint) if test(endpoint)))
        };
        // Where steps and scorers go over HTTP is known when their templates are rendered.
        let tls = outside.http || served(|endpoint| endpoint.letter.url().scheme() == "https");
        let transport = (outside.http || served(|_| true))
            .then(|| Transport::new(&settings, tls))
            .transpose()
            .map_err(|error| client(error.to_string()))?;
        let secrets = Secrets::new(secrets).map_err(|error| client(error.to_string()))?.and(settings.redactor.clone());
        let dispatch = Dispatch { secrets, backoff: settings.backoff };
        let (lines, tape) = (Lines::default(), Tape::None);
        Ok(Self { models: connected, transport, dispatch, settings, lines, tape })
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
            dispatch: Dispatch { secrets: Secrets::none(), backoff: Backoff::default() },
            settings: Settings::new(|_| None),
            lines: Lines::default(),
            tape: Tape::Replay(player, specs),
        }
    }

    /// The body that is sent for a request, in OpenAI's form where nothing is; `None` where it cannot be written: its call
    /// says why.
    pub fn request_body(&self, model: &ModelSpec, request: &ChatRequest) -> Option<Bytes> {
        match self.models.get(&model.id) {
            Some(connected) => connected.body(request),
            None => OPENAI.body(model, "", request).map(Bytes::from),
        }
        .ok()
    }

    /// Makes one call by itself, as [`Providers::call_within`] does.
    pub async fn call(&self, call: Call<'_>, observer: &dyn Observer) -> Exchange {
        let gate = Gate::new(1);
        let Ok((exchange, _)) = self.call_within(call, &gate, &Free, observer).await;
        exchange
    }

    /// Makes one call, with as many attempts as it may have. Tells the observer of each wait.
    ///
    /// Each attempt waits until the model's limits and the gate let it pass, and gives its slot back before it waits for
    /// the next. The payer is asked before each. The slot of the last attempt comes with the exchange: hold it as long as
    /// the exchange is not on disk. Dropping the future cancels the call.
    ///
    /// # Errors
    /// That of the payer. What goes wrong with the call itself stands in the exchange.
    pub async fn call_within<'a, P: Payer>(
        &'a self,
        call: Call<'_>,
        gate: &'a Gate,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<Held, P::Refusal> {
        let asked = || Asked::of_model(&call);
        let live = async || self.live(call, gate, payer, observer).await;
        let replay = |player: &Player, specs: &FxHashMap<String, ModelSpec>| match specs.get(call.model) {
            Some(spec) => player.answer(&asked(), |body| parse(spec, body)),
            None => never_connected(call.model),
        };
        self.taped(call.model, gate, payer, asked, live, replay).await
    }

    /// What a recording has to do with a call: nothing, or it gets it, or it answers it once there is money for it.
    ///
    /// # Errors
    /// That of `payer`.
    pub(crate) async fn taped<'a, 'q, P: Payer>(
        &'a self,
        who: &str,
        gate: &Gate,
        payer: &P,
        asked: impl Fn() -> Asked<'q>,
        live: impl AsyncFnOnce() -> Result<Held, P::Refusal>,
        replay: impl FnOnce(&Player, &FxHashMap<String, ModelSpec>) -> Exchange,
    ) -> Result<Held, P::Refusal> {
        match &self.tape {
            Tape::None => live().await,
            Tape::Record(recorder) => {
                let held = live().await?;
                recorder.write(&asked(), &held.0);
                Ok(held)
            }
            Tape::Replay(..) if gate.is_shut() => Ok((shut_out(who, 0), None)),
            Tape::Replay(player, specs) => {
                payer.pay().await?;
                Ok((replay(player, specs), None))
            }
        }
    }

    async fn live<'a, P: Payer>(
        &'a self,
        call: Call<'_>,
        gate: &'a Gate,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<Held, P::Refusal> {
        let Some(model) = self.models.get(call.model) else { return Ok((never_connected(call.model), None)) };
        let (line, tokens) = (gate.line(call.model), expected_tokens(call.request));
        let way = Way { gate, line, limiter: Some(&model.limiter), tokens };
        match &model.backend {
            // Boxed: it is the most of a call, and the futures around it are moved about.
            Backend::Http(endpoint) => Box::pin(self.over_http(model, endpoint, call, way, payer, observer)).await,
            // Boxed: most models have a server, and need no room for this.
            Backend::Command(program) => Box::pin(self.by_program(model, program, call, way, payer, observer)).await,
            Backend::Scripted(script) => {
                let made = async { self.offline(model, &call, |request| script.reply(request)) };
                self.dispatch.once(call.model, way, payer, made).await
            }
            Backend::Stub => {
                let made = async { self.offline(model, &call, |request| Ok(stub::reply(request))) };
                self.dispatch.once(call.model, way, payer, made).await
            }
        }
    }

    async fn over_http<'a, P: Payer>(
        &self,
        model: &Connected,
        endpoint: &Endpoint,
        call: Call<'_>,
        way: Way<'a>,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<Held, P::Refusal> {
        let Some(transport) = &self.transport else {
            return Ok((
                unsent(format!("model {}: there is no HTTP client; this is a bug in karat", call.model)),
                None,
            ));
        };
        let body = match body_of(model, &call) {
            Ok(body) => body,
            Err(problem) => return Ok((unsent(problem), None)),
        };
        let request = match self.dispatch.secrets.checked(&format!("model {}", call.model), &body) {
            Ok(request) => request,
            Err(refused) => return Ok((*refused, None)),
        };
        let letter = endpoint.letter.with(body);
        let (codec, timeout) = (endpoint.codec, call.timeout);
        let tries = ModelTries { dispatch: &self.dispatch, transport, codec, letter, timeout };
        let waits = Waits::new(self.dispatch.backoff, call.retries, call.jitter_seed);
        let quest = Quest { place: model.place(), request, waits };
        self.dispatch.retried(quest, way, payer, observer, &tries).await
    }

    async fn by_program<'a, P: Payer>(
        &self,
        model: &Connected,
        program: &CommandModel,
        call: Call<'_>,
        way: Way<'a>,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<Held, P::Refusal> {
        let body = match body_of(model, &call) {
            Ok(body) => body,
            Err(problem) => return Ok((unsent(problem), None)),
        };
        let request = match self.dispatch.secrets.checked(&format!("model {}", call.model), &body) {
            Ok(request) => request,
            Err(refused) => return Ok((*refused, None)),
        };
        let line = self.dispatch.secrets.clean_text(program.line());
        let (program, input) = program.program(call.request);
        let tries = CommandTries { providers: self, program, input, line, timeout: call.timeout };
        let waits = Waits::new(self.dispatch.backoff, 0, call.jitter_seed);
        let quest = Quest { place: model.place(), request, waits };
        self.dispatch.retried(quest, way, payer, observer, &tries).await
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
        let request = match body_of(model, call) {
            Ok(body) => self.dispatch.secrets.clean(body),
            Err(problem) => return unsent(problem),
        };
        let body = answer(call.request).and_then(|text| {
            let (text, finish) = scripted::limited(call.request, spec.max_output, text);
            completion(spec, &text, finish, scripted::usage(call.request, &text)).map_err(|error| error.to_string())
        });
        let (response, outcome) = match body {
            Ok(body) => {
                let response = self.dispatch.secrets.clean(body);
                let outcome = parse(spec, &response);
                (response, outcome)
            }
            Err(problem) => {
                let failure = Failure::new(CallErrorCode::Process, problem);
                (Bytes::new(), Err(failure.error(model.place(), 1, &self.dispatch.secrets)))
            }
        };
        let latency_ms = milliseconds(start.elapsed());
        Exchange { request, response, attempts: 1, latency_ms, outcome, ..unsent(String::new()) }
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Providers").field("models", &self.models.len()).finish_non_exhaustive()
    }
}

/// Attempts to call a model behind a server.
struct ModelTries<'a> {
    dispatch: &'a Dispatch,
    transport: &'a Transport,
    codec: &'a dyn Codec,
    letter: Letter,
    timeout: Duration,
}

impl Tries for ModelTries<'_> {
    async fn attempt(&self) -> Attempt {
        let sent = self.dispatch.sent(self.transport, &self.letter, self.timeout).await;
        Attempt::read(sent, |status, body| {
            let reply = self.dispatch.secrets.reading(body, |body| self.codec.parse(body));
            reply.map_err(|unreadable| Failure::of_body(status, unreadable, self.codec.usage(body)))
        })
    }
}

/// Attempts to call a model behind a program.
struct CommandTries<'a> {
    providers: &'a Providers,
    program: Program,
    input: Bytes,
    /// Its words, as they are kept.
    line: String,
    timeout: Duration,
}

impl Tries for CommandTries<'_> {
    async fn attempt(&self) -> Attempt {
        let Self { providers, program, input, line, timeout } = self;
        let start = Instant::now();
        // Boxed as a program's errands are.
        let (printed, end) = Box::pin(program.run(&providers.settings, input.clone(), *timeout)).await;
        let latency = start.elapsed();
        let response = providers.dispatch.secrets.captured(printed, end.is_ok());
        let outcome = end.and_then(|complaint| command::reply(&response).map_err(|_| program.silent(&complaint)));
        let code = outcome.as_ref().map_or_else(|failure| failure.exit, |_| Some(0));
        let ran = Some(Ran { command: line.clone(), code });
        Attempt { response, status: None, latency, exhausted: None, room: None, ran, outcome }
    }
}

/// The body of a call, written once.
///
/// # Errors
/// It cannot be written.
fn body_of(model: &Connected, call: &Call<'_>) -> Result<Bytes, String> {
    let written = call.body.cloned().map_or_else(|| model.body(call.request), Ok);
    written.map_err(|error| format!("model {}: the request is no JSON ({error})", call.model))
}

/// Tokens that a call may need: four bytes a token of what is sent, and the longest reply.
fn expected_tokens(request: &ChatRequest) -> u64 {
    let bytes: usize = request.messages.iter().map(|message| message.content.len()).sum();
    (bytes / 4) as u64 + u64::from(request.parameters.max_tokens.unwrap_or_default())
}

fn never_connected(model: &str) -> Exchange {
    unsent(format!("model {model}: it was never connected; this is a bug in karat"))
}
