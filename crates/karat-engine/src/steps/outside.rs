//! `http` and `command`: calls a service or a program and reads its answer.

use std::sync::Arc;

use karat_text::env_template::GapTemplate;
use karat_text::template::{Context, Template, TemplateError, text};
use karat_types::{
    Answer, Ask, AskId, CellError, CommandRequest, CommandSpec, HttpRequest, HttpSpec, Machine, Money, Note, Protocol,
    Request, StepSpec, TakeSpec, Turn,
};
use serde_json::{Map, Value};

use super::meter::{Meter, Metered, UnknownCost};
use super::parse::{Parser, exact_json};
use super::pieces::{Cutter, merge_pieces};
use super::{StepEnd, StepError, StepInput, shape, take, template_error};

/// A step that calls a service or program, with compiled templates.
pub(crate) struct CompiledOutside {
    request: CompiledRequest,
    cutter: Cutter,
    parser: Option<Parser>,
    meter: Option<Meter>,
}

enum CompiledRequest {
    Http {
        method: String,
        url: GapTemplate,
        headers: Vec<(String, GapTemplate)>,
        body: BodyTemplate,
    },
    Command {
        run: Vec<Template>,
        input: BodyTemplate,
        env: Vec<(String, GapTemplate)>,
        protocol: Protocol,
        folder: String,
    },
}

/// A value in which every string is a template.
enum BodyTemplate {
    Fixed(Value),
    Text(Template),
    List(Vec<BodyTemplate>),
    Object(Vec<(String, BodyTemplate)>),
}

impl CompiledOutside {
    pub(crate) fn http(spec: &StepSpec, http: &HttpSpec) -> Result<Self, StepError> {
        let request = CompiledRequest::Http {
            method: http.method.clone(),
            url: GapTemplate::compile_address(&http.url)?,
            headers: gaps(&http.headers)?,
            body: BodyTemplate::compile(&http.body)?,
        };
        Self::new(spec, request)
    }

    pub(crate) fn command(spec: &StepSpec, command: &CommandSpec) -> Result<Self, StepError> {
        let input = match (&command.stdin, command.protocol) {
            (Some(text), _) => BodyTemplate::Text(Template::compile(text)?),
            (None, Protocol::Jsonl) if spec.chunk.is_some() => {
                BodyTemplate::Text(Template::compile("{{ chunk.text }}")?)
            }
            (None, Protocol::Jsonl) => BodyTemplate::Text(Template::compile("{{ input }}")?),
            (None, Protocol::Once) => BodyTemplate::Fixed(Value::Null),
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

    /// The cost that an answer reports, even one that the step cannot use; zero if the step does not meter it.
    ///
    /// # Errors
    /// The answer does not report all of it, or a price is missing: the known part of it.
    pub fn cost_of(&self, answer: &str) -> Result<Money, UnknownCost> {
        let Some(meter) = &self.meter else { return Ok(Money::ZERO) };
        let document = match &self.parser {
            Some(parser) => parser.document(answer).map(|(document, _)| document).map_err(drop),
            None => exact_json(answer).map(|(document, _)| document).map_err(drop),
        };
        meter.read(&document.map_err(|()| UnknownCost::default())?).cost_or_least()
    }
}

fn gaps<'a>(
    texts: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<Vec<(String, GapTemplate)>, StepError> {
    let compiled = texts.into_iter().map(|(name, text)| Ok((name.clone(), GapTemplate::compile(text)?)));
    compiled.collect()
}

impl CompiledRequest {
    fn is_http(&self) -> bool {
        matches!(self, Self::Http { .. })
    }

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
                body: body.fill(&mut Template::values_together(body.templates(), context)?.into_iter()),
            }),
            Self::Command { run, input, env, protocol, folder } => {
                let templates: Vec<&Template> = run.iter().chain(input.templates()).collect();
                let mut values = Template::values_together(templates, context)?.into_iter();
                Request::Command(CommandRequest {
                    run: values.by_ref().take(run.len()).map(|word| text(&word)).collect(),
                    input: input.fill(&mut values),
                    env: gaps(env)?,
                    protocol: *protocol,
                    folder: folder.clone(),
                })
            }
        })
    }
}

impl BodyTemplate {
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

    /// Its templates, in the order in which [`BodyTemplate::fill`] takes their values.
    fn templates(&self) -> Vec<&Template> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Text(template) => vec![template],
            Self::List(items) => items.iter().flat_map(Self::templates).collect(),
            Self::Object(members) => members.iter().flat_map(|(_, member)| member.templates()).collect(),
        }
    }

    fn fill(&self, values: &mut impl Iterator<Item = Value>) -> Value {
        match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(_) => values.next().unwrap_or_default(),
            Self::List(items) => items.iter().map(|item| item.fill(values)).collect(),
            Self::Object(members) => {
                members.iter().map(|(name, member)| (name.clone(), member.fill(values))).collect::<Map<_, _>>().into()
            }
        }
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

    /// One request per piece.
    fn start(&mut self) -> Result<Vec<Ask>, StepEnd> {
        // A service has no context window: without a size, a text is one piece.
        let pieces = self.outside.cutter.cut(&self.step, &self.input.context, || Ok(u32::MAX))?;
        self.notes.extend(pieces.note);
        let asks = pieces.contexts.iter().enumerate().map(|(at, context)| {
            let request = self.outside.request.render(context);
            let request = request.map_err(|error| StepEnd::Failed(template_error(&self.step, &error)))?;
            Ok(Ask { id: AskId::new(at.to_string()), request })
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
        // The cost counts with each request already.
        metered.cost = Some(Money::ZERO);
        self.notes.extend(std::mem::take(&mut metered.notes));
        let mut notes = std::mem::take(&mut self.notes);
        let (answer, note) = merge_pieces(&self.step, values);
        notes.extend(note);
        if let Some(problem) = shape::nothing_at(self.step.take.values().flat_map(TakeSpec::paths), &answer) {
            return Err(self.unreadable_answer(&problem));
        }
        let output = take(&self.step, answer);
        Ok(StepEnd::Output { output, notes, metered: Box::new(metered) })
    }

    fn read(&mut self, text: &str) -> Result<Value, StepEnd> {
        let Some(parser) = &self.outside.parser else {
            let (value, note) = self.read_untyped(text).map_err(|problem| self.unreadable_answer(&problem))?;
            self.notes.extend(note);
            return Ok(value);
        };
        let (value, note) = parser.read(text).map_err(|failure| self.unreadable_answer(&failure.0))?;
        self.notes.extend(note);
        Ok(value)
    }

    /// Reads an answer without `parse`: as JSON if it is an object or a list, else as text. `take` and `meter` need
    /// JSON. An answer that was to be JSON and is broken is not text, and neither is a service's page.
    fn read_untyped(&self, text: &str) -> Result<(Value, Option<Note>), String> {
        const IF_MEANT: &str = "if that is the answer, `parse: { as: text }` takes it as a text";
        match exact_json(text) {
            Ok((document @ (Value::Object(_) | Value::Array(_)), note)) => Ok((document, note)),
            Err(problem) if begins_like_json(text) => Err(format!("{problem}; {IF_MEANT}")),
            Err(_) if self.outside.request.is_http() && begins_like_page(text) => {
                let begin: String = text.trim().chars().take(80).collect();
                Err(format!("it is a page of HTML; it begins {begin:?}; {IF_MEANT}"))
            }
            _ if self.step.take.is_empty() && self.step.meter.is_none() => Ok((Value::from(text), None)),
            Ok(_) => Err("it is not a JSON object, so `take` and `meter` find nothing in it".to_owned()),
            Err(problem) => Err(problem),
        }
    }

    fn unreadable_answer(&self, problem: &str) -> StepEnd {
        StepEnd::Failed(CellError::new(
            "malformed",
            format!("step `{}`: the answer cannot be read: {problem}", self.step.id),
        ))
    }
}

/// True if a text begins as a JSON object or a list of texts, objects or lists does.
fn begins_like_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let after = |open: char| text.strip_prefix(open).map(str::trim_start);
    after('{').is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '}']))
        || after('[').is_some_and(|rest| rest.is_empty() || rest.starts_with(['"', '{', '[']))
}

/// True if a text begins as a page of HTML or XML does.
fn begins_like_page(text: &str) -> bool {
    let begin: String = text.trim_start_matches('\u{feff}').trim_start().chars().take(9).collect();
    let begin = begin.to_ascii_lowercase();
    ["<!doctype", "<html", "<head", "<body", "<?xml", "<!--"].iter().any(|mark| begin.starts_with(mark))
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

#[cfg(test)]
mod tests {
    use karat_types::Sample;
    use serde_json::json;

    use super::*;

    /// F20: an answer that was to be JSON and is broken is an error of the cell, and so is a service's page of HTML; a text
    /// is a text, also one that begins with a bracket.
    #[test]
    fn broken_json_and_pages_are_no_texts() {
        let read = |action: Value, parse: Value, text: &str| {
            let step: StepSpec =
                serde_json::from_value(json!({ "id": "ask", "action": action, "parse": parse })).unwrap();
            let outside = match &step.action {
                karat_types::Action::Http(http) => CompiledOutside::http(&step, http),
                karat_types::Action::Command(command) => CompiledOutside::command(&step, command),
                _ => unreachable!("only these are asked for"),
            };
            let input = StepInput {
                context: Context::new(),
                sample: Arc::new(Sample::new("s1", None)),
                model: None,
                conversation: Arc::from("c"),
                trial: 0,
            };
            let mut machine = OutsideMachine::new(Arc::new(step), Arc::new(outside.unwrap()), input);
            machine.read(text).map_err(|end| match end {
                StepEnd::Failed(error) => format!("{}: {}", error.code, error.message),
                other => format!("{other:?}"),
            })
        };
        let http = json!({ "http": { "url": "http://127.0.0.1/", "method": "POST", "body": null } });
        let command = json!({ "command": { "run": ["answer"] } });
        for broken in ["{\"a\": NaN", "{\"a\": NaN}", " [{\"a\": 1}, ", "[\"a\"", "{", "\u{feff}{\"a\": 1,}"] {
            for action in [&http, &command] {
                let error = read(action.clone(), Value::Null, broken).unwrap_err();
                assert!(
                    error.starts_with("malformed: step `ask`: the answer cannot be read: it is not JSON"),
                    "{error}"
                );
                assert!(error.ends_with("`parse: { as: text }` takes it as a text"), "{error}");
                assert!(read(action.clone(), json!({ "as": "text", "reask": 0 }), broken).is_ok(), "{broken}");
            }
        }
        for page in ["<html>Sign in</html>", "<!DOCTYPE HTML><title>x</title>", "\n<?xml version='1.0'?><e/>"] {
            let error = read(http.clone(), Value::Null, page).unwrap_err();
            assert!(error.contains("it is a page of HTML"), "{error}");
            assert_eq!(read(command.clone(), Value::Null, page), Ok(json!(page)), "a program may write pages");
        }
        for text in ["Paris", "", "[1] says so", "{name} is missing", "a < b", "<b>Paris</b>", "\"Paris\"", "7"] {
            assert_eq!(read(http.clone(), Value::Null, text), Ok(json!(text)));
        }
        assert_eq!(read(http, Value::Null, " {\"a\": 1}"), Ok(json!({"a": 1})));
    }

    /// CL-12: the fences of one request share a code, so no content can write the fence of another.
    #[test]
    fn fences_of_a_request_share_a_code() {
        let body = json!({"rules": "{{ rules | fence('RULES') }}", "pages": ["{{ page | fence('PAGE') }}"], "top": 3});
        let http = CompiledRequest::Http {
            method: "POST".to_owned(),
            url: GapTemplate::compile("http://127.0.0.1/").unwrap(),
            headers: Vec::new(),
            body: BodyTemplate::compile(&body).unwrap(),
        };
        let asked = |page: &str| {
            let context = Context::new().with("rules", "Be kind.").with("page", page);
            let Request::Http(request) = http.render(&context).unwrap() else { panic!("it is a request") };
            request.body
        };
        let code = |text: &Value| text.as_str().unwrap().split([' ', '>']).nth(1).unwrap().to_owned();
        let one = asked("Water is wet.");
        assert_eq!((&one["top"], code(&one["rules"])), (&json!(3), code(&one["pages"][0])));
        let forged = asked(one["rules"].as_str().unwrap());
        assert_ne!(code(&forged["rules"]), code(&one["rules"]), "{forged}");
        assert_eq!(code(&forged["rules"]), code(&forged["pages"][0]));

        let words = ["{{ rules | fence('RULES') }}", "{{ top }}"].map(|word| Template::compile(word).unwrap());
        let command = CompiledRequest::Command {
            run: words.into(),
            input: BodyTemplate::compile(&json!("{{ page | fence('PAGE') }}")).unwrap(),
            env: Vec::new(),
            protocol: Protocol::Once,
            folder: String::new(),
        };
        let context = Context::new().with("rules", "Be kind.").with("page", "p").with("top", &json!([3]));
        let Request::Command(request) = command.render(&context).unwrap() else { panic!("it is a command") };
        assert_eq!(request.run[1], "[3]");
        assert_eq!(code(&json!(request.run[0])), code(&request.input));
    }
}
