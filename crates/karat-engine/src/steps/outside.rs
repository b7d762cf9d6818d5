//! `http` and `command`: asks a service or a program, and reads what it answers.

use std::sync::Arc;

use karat_text::gaps::GapTemplate;
use karat_text::template::{Context, Template, TemplateError};
use karat_types::{
    Answer, Ask, CellError, CommandRequest, CommandSpec, HttpRequest, HttpSpec, Machine, Money, Note, Protocol,
    Request, Slot, StepSpec, Taken, Turn,
};
use serde_json::{Map, Value};

use super::meter::{Meter, Metered};
use super::parse::{Parser, exact_json};
use super::pieces::{Cutter, united};
use super::{StepEnd, StepError, StepInput, shape, take, template_error};

/// A step that asks somebody outside, with templates compiled.
pub(crate) struct CompiledOutside {
    request: CompiledRequest,
    cutter: Cutter,
    parser: Option<Parser>,
    meter: Option<Meter>,
}

enum CompiledRequest {
    Http { method: String, url: GapTemplate, headers: Vec<(String, GapTemplate)>, body: Body },
    Command { run: Vec<Template>, input: Body, env: Vec<(String, GapTemplate)>, protocol: Protocol, folder: String },
}

/// A value in which every text is a template.
enum Body {
    Fixed(Value),
    Text(Template),
    List(Vec<Body>),
    Object(Vec<(String, Body)>),
}

impl CompiledOutside {
    pub(crate) fn http(spec: &StepSpec, http: &HttpSpec) -> Result<Self, StepError> {
        let request = CompiledRequest::Http {
            method: http.method.clone(),
            url: GapTemplate::compile(&http.url)?,
            headers: gaps(&http.headers)?,
            body: Body::compile(&http.body)?,
        };
        Self::new(spec, request)
    }

    pub(crate) fn command(spec: &StepSpec, command: &CommandSpec) -> Result<Self, StepError> {
        let input = match (&command.stdin, command.protocol) {
            (Some(text), _) => Body::Text(Template::compile(text)?),
            (None, Protocol::Jsonl) if spec.chunk.is_some() => Body::Text(Template::compile("{{ chunk.text }}")?),
            (None, Protocol::Jsonl) => Body::Text(Template::compile("{{ input }}")?),
            (None, Protocol::Once) => Body::Fixed(Value::Null),
        };
        let request = CompiledRequest::Command {
            run: command.run.iter().map(|word| Template::compile(word)).collect::<Result<_, _>>()?,
            input,
            env: gaps(&command.env)?,
            protocol: command.protocol,
            folder: command.folder.clone(),
        };
        Self::new(spec, request)
    }

    fn new(spec: &StepSpec, request: CompiledRequest) -> Result<Self, StepError> {
        let parser = spec.parse.as_ref().map(Parser::new).transpose()?;
        let parser = match request {
            CompiledRequest::Http { .. } => parser.map(Parser::exact),
            CompiledRequest::Command { .. } => parser,
        };
        let meter = spec.meter.as_ref().map(Meter::new).transpose()?;
        Ok(Self { request, cutter: Cutter::new(spec)?, parser, meter })
    }

    /// What an answer says that it cost: nothing where nobody asks, `None` where it does not say.
    pub fn cost_of(&self, answer: &str) -> Option<Money> {
        let Some(meter) = &self.meter else { return Some(Money::ZERO) };
        let document = match &self.parser {
            Some(parser) => parser.read(answer).ok()?.0,
            None => exact_json(answer).ok()?,
        };
        meter.read(&document).cost
    }
}

fn gaps<'a>(
    texts: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<Vec<(String, GapTemplate)>, StepError> {
    let compiled = texts.into_iter().map(|(name, text)| Ok((name.clone(), GapTemplate::compile(text)?)));
    compiled.collect()
}

impl CompiledRequest {
    fn render(&self, context: &Context) -> Result<Request, TemplateError> {
        let gaps = |texts: &[(String, GapTemplate)]| {
            texts
                .iter()
                .map(|(name, text)| Ok((name.clone(), text.render(context)?)))
                .collect::<Result<_, TemplateError>>()
        };
        Ok(match self {
            Self::Http { method, url, headers, body } => Request::Http(HttpRequest {
                method: method.clone(),
                url: url.render(context)?,
                headers: gaps(headers)?,
                body: body.render(context)?,
            }),
            Self::Command { run, input, env, protocol, folder } => Request::Command(CommandRequest {
                run: run.iter().map(|word| word.render(context)).collect::<Result<_, _>>()?,
                input: input.render(context)?,
                env: gaps(env)?,
                protocol: *protocol,
                folder: folder.clone(),
            }),
        })
    }
}

impl Body {
    fn compile(value: &Value) -> Result<Self, TemplateError> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::compile(text)?),
            Value::Array(items) => Self::List(items.iter().map(Self::compile).collect::<Result<_, _>>()?),
            Value::Object(map) => Self::Object(
                map.iter().map(|(name, value)| Ok((name.clone(), Self::compile(value)?))).collect::<Result<_, _>>()?,
            ),
            other => Self::Fixed(other.clone()),
        })
    }

    fn render(&self, context: &Context) -> Result<Value, TemplateError> {
        Ok(match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(template) => template.value(context)?,
            Self::List(items) => items.iter().map(|item| item.render(context)).collect::<Result<_, _>>()?,
            Self::Object(members) => {
                let members = members.iter().map(|(name, member)| Ok((name.clone(), member.render(context)?)));
                Value::Object(members.collect::<Result<Map<_, _>, TemplateError>>()?)
            }
        })
    }
}

pub(super) struct OutsideMachine {
    step: Arc<StepSpec>,
    outside: Arc<CompiledOutside>,
    input: StepInput,
    notes: Vec<Note>,
}

impl OutsideMachine {
    pub(super) fn new(step: Arc<StepSpec>, outside: Arc<CompiledOutside>, input: StepInput) -> Self {
        Self { step, outside, input, notes: Vec::new() }
    }

    /// One request a piece.
    fn start(&mut self) -> Result<Vec<Ask>, StepEnd> {
        // A service has no window to fit: without a size, a text is one piece.
        let pieces = self.outside.cutter.cut(&self.step, &self.input.context, || Ok(u32::MAX))?;
        self.notes.extend(pieces.note);
        let asks = pieces.contexts.iter().enumerate().map(|(at, context)| {
            let request = self.outside.request.render(context);
            let request = request.map_err(|error| StepEnd::Failed(template_error(&self.step, &error)))?;
            Ok(Ask { slot: Slot::new(at.to_string()), request })
        });
        asks.collect()
    }

    fn finish(&mut self, answers: Vec<Answer>) -> Result<StepEnd, StepEnd> {
        let mut metered = Metered::none();
        let mut values = Vec::with_capacity(answers.len());
        for answer in answers {
            let reply = answer.outcome.map_err(|error| StepEnd::Failed(error.into()))?;
            let document = self.read(&reply.text)?;
            if let Some(meter) = &self.outside.meter {
                metered.add(meter.read(&document));
            }
            values.push(document);
        }
        // Each request has its own cost already.
        metered.cost = Some(Money::ZERO);
        self.notes.extend(std::mem::take(&mut metered.notes));
        let notes = std::mem::take(&mut self.notes);
        let answer = united(&self.step, values);
        if let Some(problem) = shape::nothing_at(self.step.take.values().flat_map(Taken::paths), &answer) {
            return Err(self.unreadable(&problem));
        }
        let output = take(&self.step, answer);
        Ok(StepEnd::Output { output, notes, metered: Box::new(metered) })
    }

    fn read(&mut self, text: &str) -> Result<Value, StepEnd> {
        let Some(parser) = &self.outside.parser else {
            return self.plain(text).map_err(|problem| self.unreadable(&problem));
        };
        let (value, note) = parser.read(text).map_err(|failure| self.unreadable(&failure.0))?;
        self.notes.extend(note);
        Ok(value)
    }

    /// An answer that the suite says nothing about: JSON where it is an object or a list, else text. Whoever looks
    /// into it needs JSON.
    fn plain(&self, text: &str) -> Result<Value, String> {
        match exact_json(text) {
            Ok(document @ (Value::Object(_) | Value::Array(_))) => Ok(document),
            _ if self.step.take.is_empty() && self.step.meter.is_none() => Ok(Value::from(text)),
            Ok(_) => Err("it is no JSON object, so `take` and `meter` find nothing in it".to_owned()),
            Err(problem) => Err(problem),
        }
    }

    fn unreadable(&self, problem: &str) -> StepEnd {
        StepEnd::Failed(CellError::new(
            "malformed",
            format!("step `{}`: the answer cannot be read: {problem}. See it with `karat trace`", self.step.id),
        ))
    }
}

impl Machine for OutsideMachine {
    type Done = StepEnd;

    fn poll(&mut self, answers: Vec<Answer>) -> Turn<StepEnd> {
        if answers.is_empty() {
            return self.start().map_or_else(Turn::Done, Turn::Ask);
        }
        let end = self.finish(answers);
        Turn::Done(end.unwrap_or_else(|end| end))
    }
}
