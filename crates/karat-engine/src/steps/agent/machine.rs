//! The loop: the model's turn, its calls, the user, and again, until the model is done or a limit is reached.

use std::sync::Arc;

use karat_text::half_characters;
use karat_types::{
    Answer, Ask, AskId, CallError, CallErrorCode, CellError, ChatRequest, FinishReason, KeyBuilder, Machine, Message,
    Note, NoteKind, Reply, ReplyFormat, Request, Role, StepSpec, ToolCall, Turn,
};
use serde_json::{Map, Value, json};

use super::super::{Metered, StepEnd, StepInput, parameters, take, template_error_text};
use super::CompiledAgent;
use super::tools::{CallContext, CallPath, CompiledTool, ToolResult};
use super::user::{User, UserTurn};

/// One conversation of a model with its tools and its user.
pub(in super::super) struct AgentMachine {
    step: Arc<StepSpec>,
    agent: Arc<CompiledAgent>,
    input: StepInput,
    phase: Phase,
    messages: Vec<Message>,
    user: Option<User>,
    user_turns: u32,
    turns: u32,
    tokens: u64,
    /// The text of the model's last turn.
    text: String,
    /// All calls, in order.
    calls: Vec<MadeCall>,
    invalid_calls: u32,
    unknown_calls: u32,
    /// Programs that know of the conversation.
    begun: Vec<Vec<String>>,
    notes: Vec<Note>,
}

enum Phase {
    Start,
    Model,
    /// Calls of the last turn: the first of them, and those that wait for an answer.
    Tools {
        first: usize,
        waiting: Vec<usize>,
        queued: Vec<usize>,
        stop: Option<&'static str>,
    },
    User,
    State(String),
}

/// A call and its result.
struct MadeCall {
    turn: u32,
    call: ToolCall,
    result: Option<ToolResult>,
    request: Option<Request>,
}

type Next = Result<Vec<Ask>, StepEnd>;

impl AgentMachine {
    pub fn new(step: Arc<StepSpec>, agent: Arc<CompiledAgent>, input: StepInput) -> Self {
        Self {
            step,
            agent,
            input,
            phase: Phase::Start,
            messages: Vec::new(),
            user: None,
            user_turns: 0,
            turns: 0,
            tokens: 0,
            text: String::new(),
            calls: Vec::new(),
            invalid_calls: 0,
            unknown_calls: 0,
            begun: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn start(&mut self) -> Next {
        self.messages = self.agent.first_messages(&self.step, &self.input)?;
        if let Some(user) = &self.agent.user {
            let user = user.start(&self.input);
            self.user = Some(user.map_err(|problem| StepEnd::Failed(template_error_text(&self.step, &problem)))?);
        }
        if self.messages.iter().any(|message| message.role == Role::User) {
            return Ok(self.ask_model());
        }
        self.ask_user()
    }

    fn ask_model(&mut self) -> Vec<Ask> {
        self.phase = Phase::Model;
        let request = ChatRequest {
            messages: self.messages.clone(),
            parameters: parameters(&self.step.parameters, self.input.model.as_deref()),
            format: ReplyFormat::Text,
            tools: self.agent.definitions.clone(),
            tool_choice: None,
        };
        let id = self.turn_id(format!("t{}", self.turns));
        vec![Ask { id, request: Request::Chat(request) }]
    }

    /// The id of a turn. After calls of a program with state it depends on what the program answered.
    fn turn_id(&self, slot: String) -> AskId {
        if self.begun.is_empty() {
            return AskId::new(slot);
        }
        let digest = KeyBuilder::new("karat/conversation/1").json(&self.messages).finish().to_string();
        AskId::new(format!("{slot}~{}", &digest[..digest.floor_char_boundary(16)]))
    }

    fn take_reply(&mut self, outcome: Result<Arc<Reply>, CallError>) -> Next {
        let reply = match outcome.map_err(|error| (limit_name(&error), error)) {
            Ok(reply) => reply,
            Err((Some(limit), _)) => return self.finish(limit),
            Err((None, error)) => return Err(StepEnd::Failed(error.into())),
        };
        self.turns += 1;
        self.tokens += reply.usage.map_or_else(|| self.estimated_tokens(&reply), |usage| usage.total());
        self.text.clone_from(&reply.text);
        self.messages.push(reply.turn());
        match reply.finish {
            FinishReason::Length => {
                let text = format!("a reply of step `{}` ran into max_tokens and is truncated", self.step.id);
                self.note(NoteKind::Truncated, text);
                self.finish("length")
            }
            FinishReason::Refusal => {
                let text = format!("a reply of step `{}` was ended by a content filter, or is a refusal", self.step.id);
                self.note(NoteKind::Filtered, text);
                self.finish("refusal")
            }
            FinishReason::MalformedCall if reply.tool_calls.is_empty() => self.finish("malformed_call"),
            _ if reply.tool_calls.is_empty() => self.after_text(),
            _ => self.begin_calls(&reply.tool_calls),
        }
    }

    /// Four bytes per token, where the provider reports no counts.
    fn estimated_tokens(&self, reply: &Reply) -> u64 {
        let bytes: usize = self.messages.iter().map(|message| message.text().len()).sum();
        (bytes + reply.text.len()).div_ceil(4) as u64
    }

    fn after_text(&mut self) -> Next {
        if self.user.is_none() {
            return self.finish("done");
        }
        match self.reached_limit() {
            Some(limit) => self.finish(limit),
            None => self.ask_user(),
        }
    }

    fn reached_limit(&self) -> Option<&'static str> {
        let limits = &self.agent.limits;
        if self.turns >= limits.turns {
            return Some("turns");
        }
        limits.tokens.is_some_and(|tokens| self.tokens >= tokens).then_some("tokens")
    }

    fn ask_user(&mut self) -> Next {
        let slot = format!("u{}", self.user_turns);
        let Some(user) = &mut self.user else { return self.finish("done") };
        self.user_turns += 1;
        match user.speak(&self.messages) {
            UserTurn::Says(text) => {
                self.messages.push(Message::new(Role::User, text));
                Ok(self.ask_model())
            }
            UserTurn::Ask(request) => {
                self.phase = Phase::User;
                Ok(vec![Ask { id: self.turn_id(slot), request: Request::SimulatedUser(*request) }])
            }
            UserTurn::Done => self.finish("done"),
            UserTurn::Limit => {
                let text = format!("step `{}`: the simulated user did not end the conversation", self.step.id);
                self.note(NoteKind::UserLimit, text);
                self.finish("user")
            }
        }
    }

    fn take_user(&mut self, outcome: Result<Arc<Reply>, CallError>) -> Next {
        let reply = match outcome.map_err(|error| (limit_name(&error), error)) {
            Ok(reply) => reply,
            Err((Some(limit), _)) => return self.finish(limit),
            Err((None, error)) => {
                return Err(StepEnd::Failed(part_error(CellError::USER, error, "the simulated user")));
            }
        };
        if self.user.as_ref().is_some_and(|user| user.is_stop(&reply.text)) {
            return self.finish("done");
        }
        if reply.text.trim().is_empty() {
            let message = format!("step `{}`: the simulated user wrote an empty message", self.step.id);
            return Err(StepEnd::Failed(CellError::new(CellError::USER, message)));
        }
        self.messages.push(Message::new(Role::User, reply.text.as_str()));
        Ok(self.ask_model())
    }

    /// Answers what can be answered here, and queues the rest.
    fn begin_calls(&mut self, calls: &[ToolCall]) -> Next {
        let first = self.calls.len();
        let (mut queued, mut stop) = (Vec::new(), None);
        for call in calls {
            if self.agent.limits.calls.is_some_and(|most| self.calls.len() >= most as usize) {
                stop = Some("calls");
                break;
            }
            let mut made = MadeCall { turn: self.turns, call: call.clone(), result: None, request: None };
            match self.route(call)? {
                CallPath::Ask(request) => {
                    made.request = Some(*request);
                    queued.push(self.calls.len());
                }
                CallPath::Answered(result) | CallPath::Unscripted(result) => made.result = Some(result),
                CallPath::Unanswered | CallPath::Broken(_) => stop = Some("call"),
            }
            self.calls.push(made);
        }
        if stop == Some("call") {
            queued.clear();
        }
        self.phase = Phase::Tools { first, waiting: Vec::new(), queued, stop };
        self.next_calls()
    }

    fn route(&mut self, call: &ToolCall) -> Result<CallPath, StepEnd> {
        let agent = self.agent.clone();
        let Some(tool) = agent.tools.iter().find(|tool| tool.id == call.name) else {
            self.unknown_calls += 1;
            return Ok(CallPath::Answered(unknown_tool(&call.name, &agent.tools)));
        };
        let complaint = tool.check(call).map_err(|why| {
            let message = format!("step `{}`: the arguments of tool `{}`: {why}", self.step.id, tool.id);
            StepEnd::Failed(CellError::new(CellError::TOOL, message))
        })?;
        if let Some(complaint) = complaint {
            self.invalid_calls += 1;
            return Ok(CallPath::Answered(complaint));
        }
        let path = self.call_tool(tool, &call.arguments);
        match &path {
            CallPath::Broken(problem) => return Err(StepEnd::Failed(self.broken_template(tool, problem))),
            CallPath::Unscripted(result) => {
                let text = format!("step `{}`: {}", self.step.id, result.text);
                self.note(NoteKind::Unscripted, text);
            }
            CallPath::Answered(_) | CallPath::Ask(_) | CallPath::Unanswered => {}
        }
        Ok(path)
    }

    fn call_tool(&mut self, tool: &CompiledTool, arguments: &Value) -> CallPath {
        let program = tool.stateful_program().map(|program| &program.run);
        let begin = program.is_some_and(|run| !self.begun.contains(run));
        if let (true, Some(run)) = (begin, program) {
            self.begun.push(run.clone());
        }
        let calls = match tool.reads_calls() {
            true => self.calls.iter().map(MadeCall::to_value).collect(),
            false => Value::Null,
        };
        tool.call(arguments, &CallContext { input: &self.input, begin, calls })
    }

    fn broken_template(&self, tool: &CompiledTool, problem: &str) -> CellError {
        template_error_text(&self.step, &format!("the result of tool `{}`: {problem}", tool.id))
    }

    /// Asks for queued calls: all at once, or in order where a program keeps state.
    fn next_calls(&mut self) -> Next {
        let Phase::Tools { first, waiting, queued, stop } = &mut self.phase else { return Ok(Vec::new()) };
        *waiting = match self.agent.is_stateful {
            true => queued.drain(..queued.len().min(1)).collect(),
            false => std::mem::take(queued),
        };
        let first = *first;
        if waiting.is_empty() {
            let stop = *stop;
            return self.end_of_calls(first, stop);
        }
        let turn = self.turns.saturating_sub(1);
        let (calls, waiting) = (&mut self.calls, waiting.clone());
        let asks = waiting.into_iter().filter_map(|at| {
            let request = calls.get_mut(at)?.request.take()?;
            Some(Ask { id: AskId::new(format!("t{turn}/c{}", at - first)), request })
        });
        Ok(asks.collect())
    }

    fn take_results(&mut self, answers: Vec<Answer>) -> Next {
        let Phase::Tools { waiting, .. } = &mut self.phase else { return Ok(Vec::new()) };
        for (at, answer) in std::mem::take(waiting).into_iter().zip(answers) {
            let Some(made) = self.calls.get_mut(at) else { continue };
            made.result = Some(read_result(&made.call.name, answer.outcome).map_err(StepEnd::Failed)?);
        }
        self.next_calls()
    }

    fn end_of_calls(&mut self, first: usize, stop: Option<&'static str>) -> Next {
        for made in &self.calls[first..] {
            let Some(result) = &made.result else { continue };
            let told = Message::tool_result(made.call.id.as_str(), result.text.as_str());
            self.messages.push(Message { is_error: result.is_error, ..told });
        }
        match stop.or_else(|| self.reached_limit()) {
            Some(stop) => self.finish(stop),
            None => Ok(self.ask_model()),
        }
    }

    /// Ends the loop. The state is read first, if the agent has a tool for it.
    fn finish(&mut self, stop: &str) -> Next {
        let agent = self.agent.clone();
        let Some(tool) = &agent.state else { return Err(self.output(stop, None)) };
        match self.call_tool(tool, &json!({})) {
            CallPath::Answered(result) | CallPath::Unscripted(result) => self.end_with_state(stop, &result),
            CallPath::Ask(request) => {
                self.phase = Phase::State(stop.to_owned());
                Ok(vec![Ask { id: self.turn_id("end".to_owned()), request: *request }])
            }
            CallPath::Unanswered => Err(self.output(stop, None)),
            CallPath::Broken(problem) => Err(StepEnd::Failed(self.broken_template(tool, &problem))),
        }
    }

    fn take_state(&mut self, stop: &str, outcome: Result<Arc<Reply>, CallError>) -> Next {
        let tool = self.agent.state.as_ref().map_or("state", |tool| &tool.id);
        let result = read_result(tool, outcome).map_err(StepEnd::Failed)?;
        self.end_with_state(stop, &result)
    }

    fn end_with_state(&mut self, stop: &str, result: &ToolResult) -> Next {
        if result.is_error {
            let message = format!("step `{}`: reading the state failed: {}", self.step.id, result.text);
            return Err(StepEnd::Failed(CellError::new(CellError::TOOL, message)));
        }
        let state = half_characters::value(&result.text).map(|read| read.value);
        let state = state.unwrap_or_else(|_| Value::from(result.text.as_str()));
        Err(self.output(stop, Some(state)))
    }

    fn output(&mut self, stop: &str, state: Option<Value>) -> StepEnd {
        let messages = self.messages.iter_mut().map(|message| {
            message.raw_turn = None;
            json!(message)
        });
        let mut output = Map::from_iter([
            ("text".to_owned(), Value::from(std::mem::take(&mut self.text))),
            ("messages".to_owned(), messages.collect()),
            ("tool_calls".to_owned(), self.calls.iter().map(MadeCall::to_value).collect()),
            ("turns".to_owned(), self.turns.into()),
            ("stop_reason".to_owned(), stop.into()),
            ("invalid_calls".to_owned(), self.invalid_calls.into()),
            ("unknown_calls".to_owned(), self.unknown_calls.into()),
        ]);
        output.extend(state.map(|state| ("state".to_owned(), state)));
        StepEnd::Output {
            output: take(&self.step, Value::Object(output)),
            notes: std::mem::take(&mut self.notes),
            metered: Box::new(Metered::none()),
        }
    }

    /// Adds a note; equal notes are counted.
    fn note(&mut self, kind: NoteKind, text: String) {
        match self.notes.iter_mut().find(|note| note.kind == kind && note.text == text) {
            Some(note) => note.count += 1,
            None => self.notes.push(Note { kind, text, count: 1 }),
        }
    }
}

impl MadeCall {
    fn to_value(&self) -> Value {
        let Self { turn, call, result, .. } = self;
        let mut shown = Map::from_iter([
            ("turn".to_owned(), Value::from(*turn)),
            ("id".to_owned(), call.id.as_str().into()),
            ("name".to_owned(), call.name.as_str().into()),
            ("arguments".to_owned(), call.arguments.clone()),
        ]);
        shown.extend(call.raw.as_ref().map(|raw| ("raw".to_owned(), raw.as_str().into())));
        shown.extend(result.as_ref().map(|result| {
            let name = if result.is_error { "error" } else { "result" };
            (name.to_owned(), result.text.as_str().into())
        }));
        shown.into()
    }
}

/// The `stop_reason` of a limit that the engine watches; `None` of any other error.
fn limit_name(error: &CallError) -> Option<&'static str> {
    match error.code {
        CallErrorCode::CostLimit => Some("cost"),
        CallErrorCode::TimeLimit => Some("time"),
        _ => None,
    }
}

fn unknown_tool(name: &str, tools: &[CompiledTool]) -> ToolResult {
    let known: Vec<&str> = tools.iter().map(|tool| tool.id.as_str()).collect();
    let verb = if known.len() == 1 { "is" } else { "are" };
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    ToolResult::error(format!("no tool `{name}`; there {verb} {known}"))
}

/// The result in an answer of a program or service.
fn read_result(tool: &str, outcome: Result<Arc<Reply>, CallError>) -> Result<ToolResult, CellError> {
    let part = format!("tool `{tool}`");
    let reply = outcome.map_err(|error| part_error(CellError::TOOL, error, &part))?;
    ToolResult::read(&reply.text).map_err(|problem| CellError::new(CellError::TOOL, format!("{part} {problem}")))
}

/// The error of a cell because a part beside the system failed. A call that was not made keeps its code.
fn part_error(code: &str, error: CallError, part: &str) -> CellError {
    match error.code {
        CallErrorCode::Budget | CallErrorCode::Cancelled | CallErrorCode::CellTimeout => error.into(),
        _ => CellError::new(code, format!("{part}: {}", error.message)),
    }
}

impl Machine for AgentMachine {
    type Done = StepEnd;

    fn poll(&mut self, answers: Vec<Answer>) -> Turn<StepEnd> {
        let next = match &self.phase {
            Phase::Start => self.start(),
            Phase::Tools { .. } => self.take_results(answers),
            Phase::Model | Phase::User | Phase::State(_) => {
                let Some(Answer { outcome, .. }) = answers.into_iter().next() else { return Turn::Ask(Vec::new()) };
                match &self.phase {
                    Phase::User => self.take_user(outcome),
                    Phase::State(stop) => {
                        let stop = stop.clone();
                        self.take_state(&stop, outcome)
                    }
                    _ => self.take_reply(outcome),
                }
            }
        };
        next.map_or_else(Turn::Done, Turn::Ask)
    }
}
