//! The connected models, and the entry point of every call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use karat_types::{CallErrorCode, ChatRequest, ModelSpec, Observer, ReplyFormat};
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::answer::failure::Failure;
use crate::answer::secrets::Secrets;
use crate::attempt::dispatch::{Attempt, AttemptSource, Dispatch, RetrySpec, RewrittenBody, stopped_exchange};
use crate::attempt::exchange::{
    Call, Exchange, ExchangeWithSlot, Payer, ProgramRun, UnmeteredPayer, milliseconds, unsent_exchange,
};
use crate::attempt::refused_settings::{RefusedSetting, RefusedSettings};
use crate::attempt::retry::{Backoff, Waits};
use crate::capture::recorder::Recorder;
use crate::capture::replay::{RecordingKey, RecordingPlayer};
use crate::codec::media::MediaForm;
use crate::codec::openai::embeddings::embeddings_body;
use crate::codec::openai::{OPENAI, completion};
use crate::codec::protocol::Codec;
use crate::http::proxies;
use crate::http::request::PreparedRequest;
use crate::http::transport::Transport;
use crate::limiter::{AdmissionPath, Gate};
use crate::options::STUB;
use crate::process::command_model;
use crate::process::command_model::CommandModel;
use crate::process::jsonl_process::JsonlPrograms;
use crate::process::program::Program;
use crate::registry::connect::{Backend, ConnectedModel, Endpoint, connect};
use crate::registry::error::ProviderError;
use crate::registry::key_command::KeyCommand;
use crate::registry::outside::ExternalTexts;
use crate::registry::reply::{AnswerReader, parse_answer};
use crate::registry::settings::Settings;
use crate::scripted::schema_stub;
use crate::scripted::trigram_vectors;
use crate::scripted::{self, ScriptedReply};

/// Models that can be called. All tasks of a run share one.
pub struct Providers {
    pub(crate) models: FxHashMap<String, ConnectedModel>,
    pub(crate) transport: Option<Transport>,
    pub(crate) dispatch: Dispatch,
    pub(crate) settings: Settings,
    pub(crate) jsonl_programs: JsonlPrograms,
    pub(crate) recording: RecordingMode,
}

/// The recording of a run, if there is one.
pub(crate) enum RecordingMode {
    /// Calls are neither recorded nor replayed.
    None,
    /// Calls are written into it.
    Record(Arc<Recorder>),
    /// Calls are answered from it alone.
    Replay(RecordingPlayer, FxHashMap<String, ModelSpec>),
}

impl Providers {
    /// Connects models: reads keys and addresses, compiles scripts. Opens no connection yet.
    ///
    /// # Errors
    /// All problems, at most one for each model.
    pub fn connect(models: &[ModelSpec], settings: Settings) -> Result<Self, Vec<ProviderError>> {
        Self::connect_all(models, &ExternalTexts::default(), settings)
    }

    /// Like [`Providers::connect`], and prepares the requests of steps and scorers to services and programs.
    ///
    /// # Errors
    /// All problems, at most one for each model and each variable of a text.
    pub fn connect_all(
        models: &[ModelSpec],
        outside: &ExternalTexts,
        settings: Settings,
    ) -> Result<Self, Vec<ProviderError>> {
        let (mut errors, mut secrets) = (Vec::new(), settings.secrets().collect());
        let mut connected = FxHashMap::default();
        for (at, spec) in models.iter().enumerate() {
            match models[..at].iter().find(|earlier| earlier.id == spec.id) {
                Some(earlier) if earlier == spec => continue,
                // The stub answers both kinds of requests.
                Some(earlier) if spec.provider == STUB && *earlier == same_kind(spec, earlier) => continue,
                Some(_) => errors.push(ProviderError::Ambiguous { model: spec.id.clone() }),
                None => match connect(spec, &settings, &mut secrets) {
                    Ok(mut model) => {
                        share_key(&mut model, connected.values());
                        connected.insert(spec.id.clone(), model);
                    }
                    Err(error) => errors.push(error),
                },
            }
        }
        outside.check_and_collect(&settings, &mut secrets, &mut errors);
        if outside.http || connected.values().any(|model| matches!(model.backend, Backend::Http(_))) {
            errors.extend(proxies::invalid_proxies(&settings));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let client = |problem: String| vec![ProviderError::Client { problem }];
        let served = |test: fn(&Endpoint) -> bool| {
            connected.values().any(|model| matches!(&model.backend, Backend::Http(endpoint) if test(endpoint)))
        };
        // The addresses of steps and scorers are known only when their templates are rendered.
        let tls = outside.http || served(|endpoint| endpoint.request.url().scheme() == "https");
        let transport = (outside.http || served(|_| true))
            .then(|| Transport::new(&settings, tls))
            .transpose()
            .map_err(|error| client(error.to_string()))?;
        let secrets =
            Secrets::new(secrets).map_err(|error| client(error.to_string()))?.with_redactor(settings.redactor.clone());
        let dispatch = Dispatch::new(secrets, settings.backoff);
        let (jsonl_programs, recording) = (JsonlPrograms::default(), RecordingMode::None);
        Ok(Self { models: connected, transport, dispatch, settings, jsonl_programs, recording })
    }

    /// Writes every call into a recording.
    #[must_use]
    pub fn with_recorder(self, recorder: Arc<Recorder>) -> Self {
        Self { recording: RecordingMode::Record(recorder), ..self }
    }

    /// Models whose calls are answered from a recording. Reads no key and opens no connection.
    pub fn from_recording(models: &[ModelSpec], player: RecordingPlayer) -> Self {
        let specs = models.iter().map(|spec| (spec.id.clone(), spec.clone())).collect();
        Self {
            models: FxHashMap::default(),
            transport: None,
            dispatch: Dispatch::new(Secrets::none(), Backoff::default()),
            settings: Settings::new(|_| None),
            jsonl_programs: JsonlPrograms::default(),
            recording: RecordingMode::Replay(player, specs),
        }
    }

    /// Returns whether calls are recorded, or answered from a recording.
    pub fn is_recorded(&self) -> bool {
        !matches!(self.recording, RecordingMode::None)
    }

    /// The body of a request, in OpenAI's form for models without a server. `None` if it cannot be written; the call
    /// itself then reports why.
    pub fn request_body(&self, model: &ModelSpec, request: &ChatRequest) -> Option<Bytes> {
        match self.models.get(&model.id) {
            Some(connected) => connected.body(request, MediaForm::Sent),
            None => OPENAI.body(model, "", request).map(Bytes::from),
        }
        .ok()
    }

    /// The body of a request as it is stored, where it is not the one that is sent: images and files are their digests.
    pub fn stored_body(&self, model: &str, request: &ChatRequest) -> Option<Bytes> {
        stored_body(self.models.get(model)?, request)
    }

    /// Makes a single call outside a run, like [`Providers::call_within`].
    pub async fn call(&self, call: Call<'_>, observer: &dyn Observer) -> Exchange {
        let gate = Gate::new(1);
        let Ok((exchange, _)) = self.call_within(call, &gate, &UnmeteredPayer, observer).await;
        exchange
    }

    /// Makes one call, with retries, and reports each wait to the observer.
    ///
    /// Each attempt waits for the model's limits and a slot of the gate, and returns the slot before the wait for the
    /// next one. The payer is asked before each attempt. The slot of the last attempt is returned with the exchange:
    /// hold it until the exchange is on disk. Dropping the future cancels the call.
    ///
    /// # Errors
    /// The payer's refusal. Failures of the call itself are part of the exchange.
    pub async fn call_within<'a, P: Payer>(
        &'a self,
        call: Call<'_>,
        gate: &'a Gate,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        let recording_key = || RecordingKey::of_model_call(&call);
        let live = async || self.call_live(call, gate, payer, observer).await;
        let replay = |player: &RecordingPlayer, specs: &FxHashMap<String, ModelSpec>| match specs.get(call.model) {
            Some(spec) => player.answer(&recording_key(), |body| parse_answer(spec, call.request, body)),
            None => not_connected(call.model),
        };
        self.through_recording(call.model, gate, payer, recording_key, live, replay).await
    }

    /// Makes a call live, records it, or answers it from the recording once the payer agrees.
    ///
    /// # Errors
    /// The refusal of `payer`.
    pub(crate) async fn through_recording<'a, 'q, P: Payer>(
        &'a self,
        who: &str,
        gate: &Gate,
        payer: &P,
        recording_key: impl Fn() -> RecordingKey<'q>,
        live: impl AsyncFnOnce() -> Result<ExchangeWithSlot, P::Refusal>,
        replay: impl FnOnce(&RecordingPlayer, &FxHashMap<String, ModelSpec>) -> Exchange,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        match &self.recording {
            RecordingMode::None => live().await,
            RecordingMode::Record(recorder) => {
                let held = live().await?;
                recorder.write(&recording_key(), &held.0);
                Ok(held)
            }
            RecordingMode::Replay(..) if gate.is_shut() => Ok((stopped_exchange(who, 0), None)),
            RecordingMode::Replay(player, specs) => {
                payer.pay().await?;
                Ok((replay(player, specs), None))
            }
        }
    }

    async fn call_live<'a, P: Payer>(
        &'a self,
        call: Call<'_>,
        gate: &'a Gate,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        let Some(model) = self.models.get(call.model) else { return Ok((not_connected(call.model), None)) };
        let (queue, tokens) = (gate.queue(call.model), expected_tokens(call.request));
        let path = AdmissionPath { gate, queue, limiter: Some(&model.limiter), tokens };
        match &model.backend {
            // Boxed: it is most of a call's size, and the futures around it are moved.
            Backend::Http(endpoint) => {
                Box::pin(self.call_over_http(model, endpoint, call, path, payer, observer)).await
            }
            // Boxed: most models have a server and should not pay for its size.
            Backend::Command(program) => {
                Box::pin(self.call_by_program(model, program, call, path, payer, observer)).await
            }
            Backend::Scripted(script) => {
                let answer = |request: &ChatRequest| scripted_body(&model.spec, request, script.reply(request)?);
                let attempt = async { self.call_offline(model, &call, answer) };
                self.dispatch.run_once(call.model, path, payer, attempt).await
            }
            Backend::Stub => {
                let attempt = async { self.call_offline(model, &call, |request| stub_body(&model.spec, request)) };
                self.dispatch.run_once(call.model, path, payer, attempt).await
            }
        }
    }

    async fn call_over_http<'a, P: Payer>(
        &self,
        model: &ConnectedModel,
        endpoint: &Endpoint,
        call: Call<'_>,
        path: AdmissionPath<'a>,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        let Some(transport) = &self.transport else {
            return Ok((
                unsent_exchange(format!("model {}: there is no HTTP client; this is a bug in karat", call.model)),
                None,
            ));
        };
        let (body, request) = match self.checked_body(model, &call) {
            Ok(checked) => checked,
            Err(refused) => return Ok((*refused, None)),
        };
        let prepared = endpoint.request.with_body(body);
        let (codec, timeout) = (endpoint.codec, call.timeout);
        let key = endpoint.key_command.as_deref().map(|command| (command, &self.settings));
        let refused = &model.refused_settings;
        let reader = AnswerReader { codec, cost_report: &endpoint.cost_report };
        let source = HttpModelAttempts { dispatch: &self.dispatch, transport, reader, prepared, refused, key, timeout };
        let waits = Waits::new(self.dispatch.backoff, call.retries, call.jitter_seed);
        let spec = RetrySpec { target: model.call_target(), request, waits };
        self.dispatch.retry(spec, path, payer, observer, &source).await
    }

    async fn call_by_program<'a, P: Payer>(
        &self,
        model: &ConnectedModel,
        program: &CommandModel,
        call: Call<'_>,
        path: AdmissionPath<'a>,
        payer: &P,
        observer: &dyn Observer,
    ) -> Result<ExchangeWithSlot, P::Refusal> {
        let request = match self.checked_body(model, &call) {
            Ok((_, request)) => request,
            Err(refused) => return Ok((*refused, None)),
        };
        let line = self.dispatch.secrets.clean_text(program.display_line());
        let (program, input) = program.program(call.request);
        let source = CommandModelAttempts { providers: self, program, input, line, timeout: call.timeout };
        let waits = Waits::new(self.dispatch.backoff, 0, call.jitter_seed);
        let spec = RetrySpec { target: model.call_target(), request, waits };
        self.dispatch.retry(spec, path, payer, observer, &source).await
    }

    /// The body of a call as sent, and as stored.
    ///
    /// # Errors
    /// The exchange of a call that is not made: its body cannot be written, or holds a known key.
    fn checked_body(&self, model: &ConnectedModel, call: &Call<'_>) -> Result<(Bytes, Bytes), Box<Exchange>> {
        let body = call_body(model, call).map_err(|problem| Box::new(unsent_exchange(problem)))?;
        let who = format!("model {}", call.model);
        let stored = match stored_body(model, call.request) {
            Some(stored) => self.dispatch.secrets.check_request(&who, &stored)?,
            None => self.dispatch.secrets.check_request(&who, &body)?,
        };
        Ok((body, stored))
    }

    /// A call that is answered without a server. Its bytes take the same path as a server's.
    fn call_offline(
        &self,
        model: &ConnectedModel,
        call: &Call<'_>,
        answer: impl Fn(&ChatRequest) -> Result<Bytes, String>,
    ) -> Exchange {
        let spec = &model.spec;
        let start = Instant::now();
        let request = match call_body(model, call) {
            Ok(body) => self.dispatch.secrets.clean(stored_body(model, call.request).unwrap_or(body)),
            Err(problem) => return unsent_exchange(problem),
        };
        let (response, outcome) = match answer(call.request) {
            Ok(body) => {
                let response = self.dispatch.secrets.clean(body);
                let outcome = parse_answer(spec, call.request, &response);
                (response, outcome)
            }
            Err(problem) => {
                let failure = Failure::new(CallErrorCode::Process, problem);
                (Bytes::new(), Err(failure.error(model.call_target(), 1, &self.dispatch.secrets)))
            }
        };
        let latency_ms = milliseconds(start.elapsed());
        Exchange { request, response, attempts: 1, latency_ms, outcome, ..unsent_exchange(String::new()) }
    }
}

/// The response of a scripted model, in OpenAI's form.
fn scripted_body(
    spec: &ModelSpec,
    request: &ChatRequest,
    ScriptedReply { text, calls }: ScriptedReply,
) -> Result<Bytes, String> {
    if request.wants_vectors() {
        return Err("a scripted model makes no vectors of texts; the model `stub` does".to_owned());
    }
    let (text, finish) = scripted::cut_to_limit(request, spec.max_output, text);
    let reply = ScriptedReply { text, calls };
    let usage = scripted::usage(request, &reply);
    let id = scripted::call_ids(request);
    let calls: Vec<_> = (reply.calls.iter().zip(id))
        .map(|(call, id)| (id, call.name.as_str(), scripted::arguments_text(call)))
        .collect();
    completion(spec, &reply.text, &calls, finish, usage).map_err(|error| error.to_string())
}

/// The response of the stub, in OpenAI's form.
fn stub_body(spec: &ModelSpec, request: &ChatRequest) -> Result<Bytes, String> {
    let reply = ScriptedReply { text: schema_stub::reply(request), calls: Vec::new() };
    let ReplyFormat::Vectors { dimensions } = request.format else { return scripted_body(spec, request, reply) };
    let vectors: Vec<_> =
        request.messages.iter().map(|message| trigram_vectors::vector(&message.text(), dimensions)).collect();
    let tokens = scripted::usage(request, &reply).input_tokens;
    embeddings_body(spec, &vectors, tokens).map_err(|error| error.to_string())
}

/// A model that is asked for what another one is asked for: replies or vectors.
fn same_kind(spec: &ModelSpec, other: &ModelSpec) -> ModelSpec {
    ModelSpec { embeds: other.embeds, ..spec.clone() }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Providers").field("models", &self.models.len()).finish_non_exhaustive()
    }
}

/// Attempts to call a model with an HTTP API.
struct HttpModelAttempts<'a> {
    dispatch: &'a Dispatch,
    transport: &'a Transport,
    reader: AnswerReader<'a>,
    prepared: PreparedRequest,
    /// The settings that the model has refused.
    refused: &'a RefusedSettings,
    /// The program that prints the key, and how programs are run.
    key: Option<(&'a KeyCommand, &'a Settings)>,
    timeout: Duration,
}

impl AttemptSource for HttpModelAttempts<'_> {
    async fn prepare(&self) -> Result<(), Failure> {
        match self.key {
            None => Ok(()),
            // Boxed: few models have one.
            Some((command, settings)) => Box::pin(command.prepare(settings, &self.dispatch.secrets)).await,
        }
    }

    async fn attempt(&self) -> Attempt {
        let Some(body) = self.refused.apply(self.prepared.body()) else {
            let attempt = self.send_authorized(&self.prepared).await;
            return match self.learn(&attempt, &self.prepared) {
                None => attempt,
                // Boxed: a model refuses a setting once in a run.
                Some(body) => Box::pin(self.send_rewritten(body, 1)).await,
            };
        };
        Box::pin(self.send_rewritten(body, 0)).await
    }
}

/// Most settings that one call finds to be refused.
const MOST_REFUSED: u32 = 8;

impl HttpModelAttempts<'_> {
    /// Remembers the setting that an answer refuses, and returns the body without it.
    fn learn(&self, attempt: &Attempt, sent: &PreparedRequest) -> Option<Bytes> {
        let refused = RefusedSetting::read(attempt.status, &attempt.response, sent.body())?;
        self.refused.learn(refused);
        self.refused.apply(sent.body())
    }

    /// Sends bodies without what the model refuses until it refuses nothing more. A refusal costs nothing.
    async fn send_rewritten(&self, mut body: Bytes, mut refused: u32) -> Attempt {
        loop {
            let prepared = self.prepared.with_body(body.clone());
            let attempt = self.send_authorized(&prepared).await;
            match self.learn(&attempt, &prepared).filter(|_| refused < MOST_REFUSED) {
                Some(next) => (body, refused) = (next, refused + 1),
                None => return Attempt { rewritten: Some(RewrittenBody { body, refused }), ..attempt },
            }
        }
    }

    async fn send_authorized(&self, prepared: &PreparedRequest) -> Attempt {
        match self.key {
            None => self.send(prepared).await,
            // Boxed: few models have one.
            Some((command, settings)) => Box::pin(self.send_with_printed_key(prepared, command, settings)).await,
        }
    }

    /// Sends the request with the key that the program prints. A refused key costs nothing: it is printed again, and the
    /// request sent again, once.
    async fn send_with_printed_key(
        &self,
        prepared: &PreparedRequest,
        command: &KeyCommand,
        settings: &Settings,
    ) -> Attempt {
        let mut is_renewed = false;
        loop {
            let authorized = command.authorize(prepared, self.reader.codec, settings, &self.dispatch.secrets).await;
            let (prepared, number) = match authorized {
                Ok(authorized) => authorized,
                Err(failure) => return Attempt::unsent(failure),
            };
            let attempt = self.send(&prepared).await;
            if attempt.status != Some(401) || is_renewed {
                return attempt;
            }
            is_renewed = true;
            command.discard(number).await;
        }
    }

    async fn send(&self, prepared: &PreparedRequest) -> Attempt {
        let sent = self.dispatch.send(self.transport, prepared, self.timeout).await;
        Attempt::read(sent, |status, received| {
            self.reader.read(&self.dispatch.secrets, status, &received.body, received.header.as_deref())
        })
    }
}

/// Attempts to call a model that is a local program.
struct CommandModelAttempts<'a> {
    providers: &'a Providers,
    program: Program,
    input: Bytes,
    /// Its command line, as stored.
    line: String,
    timeout: Duration,
}

impl AttemptSource for CommandModelAttempts<'_> {
    async fn attempt(&self) -> Attempt {
        let Self { providers, program, input, line, timeout } = self;
        let start = Instant::now();
        // Boxed, like the calls of steps to programs.
        let (printed, end) = Box::pin(program.run(&providers.settings, input.clone(), *timeout)).await;
        let latency = start.elapsed();
        let response = providers.dispatch.secrets.capture(printed, end.is_ok());
        let outcome = end.and_then(|complaint| {
            command_model::parse_reply(&response).map_err(|_| program.empty_output_failure(&complaint))
        });
        let code = outcome.as_ref().map_or_else(|failure| failure.exit, |_| Some(0));
        let ran = Some(ProgramRun { command: line.clone(), code });
        let rewritten = None;
        Attempt { response, status: None, latency, exhausted: None, memory: None, program_run: ran, outcome, rewritten }
    }
}

/// Models with the same command for their keys share the key.
fn share_key<'a>(model: &mut ConnectedModel, others: impl Iterator<Item = &'a ConnectedModel>) {
    let Backend::Http(endpoint) = &mut model.backend else { return };
    let known = others.filter_map(|other| match &other.backend {
        Backend::Http(other) => other.key_command.as_ref(),
        Backend::Command(_) | Backend::Scripted(_) | Backend::Stub => None,
    });
    let same = endpoint.key_command.as_ref().and_then(|own| known.into_iter().find(|known| *known == own));
    if let Some(same) = same.cloned() {
        endpoint.key_command = Some(same);
    }
}

/// The body of a call, serialized at most once.
///
/// # Errors
/// It cannot be serialized.
fn call_body(model: &ConnectedModel, call: &Call<'_>) -> Result<Bytes, String> {
    let written = call.body.cloned().map_or_else(|| model.body(call.request, MediaForm::Sent), Ok);
    written.map_err(|error| format!("model {}: the request cannot be written as JSON ({error})", call.model))
}

/// The body of a call as it is stored, where it is not the one that is sent: images and files are their digests.
fn stored_body(model: &ConnectedModel, request: &ChatRequest) -> Option<Bytes> {
    request.has_media().then(|| model.body(request, MediaForm::Stored).ok()).flatten()
}

/// Estimated tokens of a call: a quarter of the bytes sent, plus the longest reply.
fn expected_tokens(request: &ChatRequest) -> u64 {
    let bytes: usize = request.messages.iter().map(|message| message.text().len()).sum();
    (bytes / 4) as u64 + u64::from(request.parameters.max_tokens.unwrap_or_default())
}

fn not_connected(model: &str) -> Exchange {
    unsent_exchange(format!("model {model}: it is not connected, because no call of it was planned"))
}
