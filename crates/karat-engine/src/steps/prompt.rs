//! `prompt`: renders messages, calls a model, once or once per chunk, and reads the replies.

use std::sync::Arc;

use karat_suite::MediaKind;
use karat_text::chunking::tokens::Tokenizer;
use karat_text::template::Context;
use karat_types::{
    Answer, Ask, AskId, CellError, ChatRequest, FinishReason, JsonMode, Machine, Media, Message, ModelSpec, Note,
    NoteKind, Parameters, ParseAs, PromptSpec, Reply, ReplyFormat, Request, Role, StepSpec, ToolChoice, ToolDefinition,
    Turn,
};
use serde_json::{Value, json};

use super::parse::{ParseFailure, Parser};
use super::pieces::{Cutter, merge_pieces, piece_context};
use super::turns::CompiledTurns;
use super::{Metered, StepEnd, StepError, StepInput, take};

/// Maximum of reply tokens if neither step nor model sets one.
pub(crate) const DEFAULT_MAX_TOKENS: u32 = 4096;

/// The settings of a call: the step's, then the model's, with a maximum of tokens.
pub(crate) fn parameters(step: &Parameters, model: Option<&ModelSpec>) -> Parameters {
    let Some(model) = model else { return step.clone() };
    let mut parameters = step.or(&model.parameters);
    let bound = model.max_output;
    let asked = parameters.max_tokens.or(bound).unwrap_or(DEFAULT_MAX_TOKENS);
    parameters.max_tokens = Some(bound.map_or(asked, |bound| asked.min(bound)));
    parameters
}

/// A prompt step with templates compiled.
pub(crate) struct CompiledPrompt {
    turns: CompiledTurns,
    tools: Vec<ToolDefinition>,
    tool_choice: Option<ToolChoice>,
    cutter: Cutter,
    parser: Option<Parser>,
}

impl CompiledPrompt {
    pub(crate) fn new(spec: &StepSpec, prompt: &PromptSpec) -> Result<Self, StepError> {
        let parser = spec.parse.as_ref().map(Parser::new).transpose()?;
        let (tools, tool_choice) = (prompt.tools.clone(), prompt.tool_choice.clone());
        Ok(Self {
            turns: CompiledTurns::new(&prompt.messages)?,
            tools,
            tool_choice,
            cutter: Cutter::new(spec)?,
            parser,
        })
    }
}

impl CompiledPrompt {
    /// The images and files that it shows of a row.
    pub(super) fn media(&self, context: &Context) -> Vec<(MediaKind, Result<Media, String>)> {
        self.turns.media(context)
    }
}

/// One piece of the input and its reply.
struct Piece {
    messages: Vec<Message>,
    asked: u32,
    state: PieceState,
}

enum PieceState {
    /// Its reply is outstanding.
    Open,
    Done(Value),
}

pub(super) struct PromptMachine {
    step: Arc<StepSpec>,
    prompt: Arc<CompiledPrompt>,
    input: StepInput,
    pieces: Vec<Piece>,
    notes: Vec<Note>,
}

impl PromptMachine {
    pub(super) fn new(step: Arc<StepSpec>, prompt: Arc<CompiledPrompt>, input: StepInput) -> Self {
        Self { step, prompt, input, pieces: Vec::new(), notes: Vec::new() }
    }

    fn parameters(&self) -> Parameters {
        parameters(&self.step.parameters, self.input.model.as_deref())
    }

    /// Renders every piece. The error is the end of a step that makes no API calls.
    fn start(&mut self) -> Result<Vec<Ask>, StepEnd> {
        let pieces = self.prompt.cutter.cut(&self.step, &self.input.context, || self.room())?;
        self.notes.extend(pieces.note);
        for context in pieces.contexts {
            let messages = self.prompt.turns.render(&self.step.id, &context).map_err(StepEnd::Failed)?;
            self.pieces.push(Piece { messages, asked: 0, state: PieceState::Open });
        }
        self.check_fits()?;
        Ok((0..self.pieces.len()).map(|at| self.ask(at, None)).collect())
    }

    /// Tokens that a chunk may have so that prompt and reply fit the model.
    fn room(&self) -> Result<u32, CellError> {
        let window = self.input.model.as_ref().and_then(|model| model.context_window).unwrap_or(32_000);
        let context = piece_context(&self.input.context, &Value::from(""), 0);
        let messages = self.prompt.turns.render(&self.step.id, &context)?;
        let overhead: u64 = messages.iter().map(|message| Tokenizer::plan().count(&message.text()) as u64 + 8).sum();
        let reply = u64::from(self.parameters().max_tokens.unwrap_or(DEFAULT_MAX_TOKENS));
        let room = (window * 8 / 10).saturating_sub(overhead + reply).max(256);
        Ok(u32::try_from(room).unwrap_or(u32::MAX))
    }

    fn check_fits(&self) -> Result<(), StepEnd> {
        let Some(window) = self.input.model.as_ref().and_then(|model| model.context_window) else { return Ok(()) };
        if !self.step.requires.fits {
            return Ok(());
        }
        let reply = u64::from(self.parameters().max_tokens.unwrap_or(DEFAULT_MAX_TOKENS));
        for piece in &self.pieces {
            let prompt: u64 =
                piece.messages.iter().map(|message| Tokenizer::plan().count(&message.text()) as u64 + 8).sum();
            if prompt + reply > window {
                return Err(StepEnd::Skipped(format!(
                    "`requires: fits`: prompt ({prompt} tokens) and reply ({reply}) exceed the context window ({window})"
                )));
            }
        }
        Ok(())
    }

    fn ask(&mut self, at: usize, again: Option<(&Reply, &ParseFailure)>) -> Ask {
        let piece = &mut self.pieces[at];
        // Without a parser nothing is asked again.
        let mut messages =
            if self.prompt.parser.is_some() { piece.messages.clone() } else { std::mem::take(&mut piece.messages) };
        let id = match again {
            None => at.to_string(),
            Some((reply, failure)) => {
                messages.push(reply.turn());
                messages.push(Message::new(
                    Role::User,
                    format!(
                        "Your reply could not be used: {}. Send the whole reply again, corrected, and nothing else.",
                        failure.0
                    ),
                ));
                format!("{at}/reask{}", piece.asked)
            }
        };
        let (tools, tool_choice) = (self.prompt.tools.clone(), self.prompt.tool_choice.clone());
        let request =
            ChatRequest { messages, parameters: self.parameters(), format: self.format(), tools, tool_choice };
        Ask { id: AskId::new(id), request: Request::Chat(request) }
    }

    fn format(&self) -> ReplyFormat {
        let mode = self.input.model.as_ref().map_or(JsonMode::None, |model| model.json_mode);
        let Some(parse) = self.step.parse.as_ref().filter(|parse| parse.form == ParseAs::Json) else {
            return ReplyFormat::Text;
        };
        match (mode, &parse.schema) {
            (JsonMode::Schema, Some(schema)) => {
                ReplyFormat::Schema { name: "reply".to_owned(), schema: schema.clone() }
            }
            (JsonMode::None, _) => ReplyFormat::Text,
            _ => ReplyFormat::Json,
        }
    }

    /// Returns whether the request offers tools: those of the prompt, or such as the settings of step or model hold.
    fn offers_tools(&self) -> bool {
        let of_model = self.input.model.as_ref().and_then(|model| model.parameters.extra.get("tools"));
        self.step.offers_tools() || of_model.is_some_and(|tools| !tools.is_null())
    }

    /// Reads one reply: a value, a re-ask, or the end of the step.
    fn read(&mut self, at: usize, reply: Arc<Reply>) -> Result<Option<Ask>, StepEnd> {
        if reply.finish == FinishReason::Length {
            let text = format!("a reply of step `{}` ran into max_tokens and is truncated", self.step.id);
            self.note(NoteKind::Truncated, text);
        }
        if reply.finish == FinishReason::Refusal {
            let text = format!(
                "a reply of step `{}` was ended by its provider's content filter, or is a refusal",
                self.step.id
            );
            self.note(NoteKind::Filtered, text);
        }
        if self.offers_tools() {
            self.pieces[at].state = PieceState::Done(calling_output(Arc::unwrap_or_clone(reply)));
            return Ok(None);
        }
        if !reply.tool_calls.is_empty() {
            if reply.text.trim().is_empty() {
                let name = reply.tool_calls.first().map(|call| call.name.as_str()).unwrap_or_default();
                return Err(StepEnd::Failed(CellError::new(
                    "tool_call",
                    format!(
                        "step `{}`: the model called the tool `{name}` instead of giving a text; offer it under `tools` if \
                         calls are outputs, or ask for a text",
                        self.step.id
                    ),
                )));
            }
            let text = format!(
                "a reply of step `{}` calls tools that it was not offered; its text is the output",
                self.step.id
            );
            self.note(NoteKind::UnaskedCall, text);
        }
        let prompt = self.prompt.clone();
        let Some(parser) = &prompt.parser else {
            self.pieces[at].state = PieceState::Done(Value::String(Arc::unwrap_or_clone(reply).text));
            return Ok(None);
        };
        let called = reply.tool_calls.first().filter(|_| reply.text.trim().is_empty());
        let of_call = |failure: ParseFailure| match called {
            Some(call) => ParseFailure::of_call(&call.name),
            None => failure.of(reply.finish),
        };
        match parser.read(&reply.text).map_err(of_call) {
            Ok((value, note)) => {
                self.pieces[at].state = PieceState::Done(value);
                if let Some(note) = note {
                    self.note(note.kind, note.text);
                }
                Ok(None)
            }
            Err(failure) if self.pieces[at].asked < parser.reask_limit() => {
                self.pieces[at].asked += 1;
                self.note(NoteKind::Reasked, format!("step `{}` asked again: {}", self.step.id, failure.0));
                Ok(Some(self.ask(at, Some((&reply, &failure)))))
            }
            Err(failure) => Err(StepEnd::Failed(CellError::new(
                "parse",
                format!("step `{}`: the model's reply could not be read: {}", self.step.id, failure.0),
            ))),
        }
    }

    /// Adds a note; equal notes are counted.
    fn note(&mut self, kind: NoteKind, text: String) {
        match self.notes.iter_mut().find(|note| note.kind == kind && note.text == text) {
            Some(note) => note.count += 1,
            None => self.notes.push(Note { kind, text, count: 1 }),
        }
    }

    fn finish(&mut self) -> StepEnd {
        let values = self.pieces.drain(..).filter_map(|piece| match piece.state {
            PieceState::Done(value) => Some(value),
            PieceState::Open => None,
        });
        let (merged, note) = merge_pieces(&self.step, values);
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(note);
        StepEnd::Output { output: take(&self.step, merged), notes, metered: Box::new(Metered::none()) }
    }
}

/// The output of a reply that may call tools.
fn calling_output(reply: Reply) -> Value {
    json!({
        "text": reply.text,
        "tool_calls": reply.tool_calls,
        "stop_reason": reply.finish.stop_reason(),
    })
}

impl Machine for PromptMachine {
    type Done = StepEnd;

    fn poll(&mut self, answers: Vec<Answer>) -> Turn<StepEnd> {
        if self.pieces.is_empty() {
            return match self.start() {
                Ok(asks) => Turn::Ask(asks),
                Err(end) => Turn::Done(end),
            };
        }
        let mut again = Vec::new();
        let mut answers = answers.into_iter();
        for at in 0..self.pieces.len() {
            if let PieceState::Done(_) = self.pieces[at].state {
                continue;
            }
            let Some(answer) = answers.next() else { break };
            let reply = match answer.outcome {
                Ok(reply) => reply,
                Err(error) => return Turn::Done(StepEnd::Failed(error.into())),
            };
            match self.read(at, reply) {
                Ok(ask) => again.extend(ask),
                Err(end) => return Turn::Done(end),
            }
        }
        if again.is_empty() { Turn::Done(self.finish()) } else { Turn::Ask(again) }
    }
}
