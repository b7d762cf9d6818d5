//! Runs judging machines without an engine.

use std::sync::Arc;

use karat_types::{
    Answer, Ask, CallError, CallErrorCode, ChatRequest, FinishReason, Machine, Message, Reply, Request, Role, Turn,
    Usage,
};

/// A prompt for a model.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// Messages, call settings, and the form that the reply must have.
    pub request: &'a ChatRequest,
    /// The wanted class of model, such as `haiku`; the completer may ignore it.
    pub model_hint: Option<&'a str>,
}

impl Prompt<'_> {
    /// The system messages, one after the other.
    pub fn system(&self) -> String {
        self.of(|role| role == Role::System)
    }

    /// The rest of the conversation.
    pub fn user(&self) -> String {
        self.of(|role| role != Role::System)
    }

    /// Everything, for models that take one text.
    pub fn text(&self) -> String {
        self.of(|_| true)
    }

    fn of(&self, wanted: impl Fn(Role) -> bool) -> String {
        let messages = self.request.messages.iter().filter(|message| wanted(message.role));
        messages.map(Message::text).collect::<Vec<_>>().join("\n\n")
    }
}

/// A model's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The reply, as it came.
    pub text: String,
    /// The model that made it; empty when unknown.
    pub model_used: String,
    /// Tokens of the prompt; 0 = unknown.
    pub prompt_tokens: u64,
    /// Tokens of the reply; 0 = unknown.
    pub completion_tokens: u64,
    /// The reason it ends: [`FinishReason::Length`] for a reply that was cut off, so that it is never taken for complete.
    pub finish: FinishReason,
}

impl Completion {
    /// A complete reply of which nothing else is known.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            model_used: String::new(),
            prompt_tokens: 0,
            completion_tokens: 0,
            finish: FinishReason::Stop,
        }
    }
}

impl From<Completion> for Reply {
    fn from(completion: Completion) -> Self {
        let Completion { text, model_used, prompt_tokens, completion_tokens, finish } = completion;
        let usage = Usage { input_tokens: prompt_tokens, output_tokens: completion_tokens, ..Usage::default() };
        Self {
            usage: (usage.total() > 0).then_some(usage),
            model: (!model_used.is_empty()).then_some(model_used),
            ..Self::new(text, finish)
        }
    }
}

/// The interface to a model, implemented by the library's user with their own keys, retries, limits and transport; any
/// `FnMut(&Prompt<'_>) -> Result<Completion, CallError>` is one.
pub trait Completer {
    /// Calls a model and returns its reply.
    ///
    /// # Errors
    /// The call failed; the judgment is then unscored with this error.
    fn complete(&mut self, prompt: &Prompt<'_>) -> Result<Completion, CallError>;
}

impl<F: FnMut(&Prompt<'_>) -> Result<Completion, CallError>> Completer for F {
    fn complete(&mut self, prompt: &Prompt<'_>) -> Result<Completion, CallError> {
        self(prompt)
    }
}

/// Polls a machine until it is done, one request after the other. Files, which no judge asks for, are not found.
///
/// ```
/// use karat_scoring::judge::{JudgeInput, RubricJudge};
/// use karat_scoring::{Completion, Prompt, drive};
/// use karat_types::{ModelSpec, RubricScorer, Sample};
/// use serde_json::json;
///
/// let scorer: RubricScorer = serde_json::from_value(json!({
///     "rubric": {
///         "id": "tone", "ask": "Is the answer polite?", "show": [{"name": "answer", "value": "{{ output }}"}],
///         "dimensions": [{"name": "polite", "scale": {"choices": [["yes", 1], ["no", 0]]}, "weight": 1}],
///         "rationale": {}, "invalid": {},
///     },
///     "judges": [], "consensus": {}, "parameters": {},
/// }))?;
/// let judge = RubricJudge::new(&scorer, &ModelSpec::new("mine", "library"))?;
/// let (sample, output) = (Sample::new("s-01", None), json!("Sorry for the delay."));
/// let machine = judge.machine(JudgeInput { sample: &sample, output: &output, seed: 1 });
/// let mut ask = |prompt: &Prompt<'_>| {
///     assert!(prompt.user().contains("Sorry for the delay."));
///     Ok(Completion::text(r#"{"polite": "yes", "reasoning": "It apologises."}"#))
/// };
/// assert_eq!(drive(machine, &mut ask).scores[0].1.number(), Some(1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn drive<M: Machine>(machine: M, completer: &mut impl Completer) -> M::Done {
    drive_hinted(machine, completer, None)
}

/// As [`drive`]; every prompt names the wanted class of model.
pub fn drive_hinted<M: Machine>(mut machine: M, completer: &mut impl Completer, model_hint: Option<&str>) -> M::Done {
    let mut answers = Vec::new();
    loop {
        match machine.poll(answers) {
            Turn::Done(done) => return done,
            Turn::Ask(asks) => answers = asks.into_iter().map(|ask| answer(ask, completer, model_hint)).collect(),
        }
    }
}

fn answer(ask: Ask, completer: &mut impl Completer, model_hint: Option<&str>) -> Answer {
    let outcome = match &ask.request {
        Request::Chat(request) => completer.complete(&Prompt { request, model_hint }).map(Reply::from),
        Request::File { path, .. } => {
            let message = format!("there is no file `{path}`: a machine without an engine reads no files");
            Err(CallError { code: CallErrorCode::NotFound, message, status: None })
        }
        Request::Http(_) | Request::Command(_) | Request::Tool(_) | Request::SimulatedUser(_) => {
            let message = "a machine without an engine asks no services and runs no programs".to_owned();
            Err(CallError { code: CallErrorCode::Unsupported, message, status: None })
        }
    };
    Answer { id: ask.id, outcome: outcome.map(Arc::new) }
}
