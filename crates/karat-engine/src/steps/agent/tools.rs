//! Calls of tools: checked against the tool's schema, then answered here or turned into a request.

use std::sync::Arc;

use karat_text::schema::Schema;
use karat_text::template::{Template, text};
use karat_text::{env_template, half_characters};
use karat_types::{
    CommandRequest, CommandSpec, EnvTemplate, HttpRequest, Protocol, Request, ToolCall, ToolExecutor, ToolReply,
    ToolRequest, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{StepError, StepInput};

/// The longest result that a model is told, in bytes.
const MAX_RESULT: usize = 64 * 1024;

/// Violations of a schema that a model is told.
const MAX_VIOLATIONS: usize = 5;

/// A tool with its schema and template compiled.
pub(super) struct CompiledTool {
    pub id: String,
    schema: Schema,
    executor: Option<Executor>,
}

enum Executor {
    Result(Template),
    Replies(Arc<Vec<ToolReply>>),
    /// A program; the request without its input.
    Command(CommandRequest),
    Http {
        url: EnvTemplate,
        headers: Vec<(String, EnvTemplate)>,
    },
}

/// The result of a call as the model is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolResult {
    pub text: String,
    pub is_error: bool,
}

/// The next action for a call.
pub(super) enum CallPath {
    /// It is answered.
    Answered(ToolResult),
    /// No written reply fits it.
    Unscripted(ToolResult),
    /// A program or service has to be asked.
    Ask(Box<Request>),
    /// Nothing answers this tool: the call ends the loop.
    Unanswered,
    /// The tool's template cannot be rendered.
    Broken(String),
}

/// The conversation that a call belongs to.
pub(super) struct CallContext<'a> {
    pub input: &'a StepInput,
    /// True if the program has not been asked in this conversation.
    pub begin: bool,
    /// The earlier calls of the conversation, for templates that read them.
    pub calls: Value,
}

impl ToolResult {
    pub fn of(value: &Value) -> Self {
        Self::new(text(value), false)
    }

    pub fn error(message: impl Into<String>) -> Self {
        Self::new(message.into(), true)
    }

    fn new(mut text: String, is_error: bool) -> Self {
        if text.len() > MAX_RESULT {
            text.truncate(text.floor_char_boundary(MAX_RESULT));
            text.push_str("\n[cut at 64 KiB]");
        }
        Self { text, is_error }
    }

    /// Reads the answer of a program or service.
    ///
    /// # Errors
    /// It is not an object with `result` or `error`.
    pub fn read(answer: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct AnswerBody {
            #[serde(default, deserialize_with = "present")]
            result: Option<Value>,
            #[serde(default)]
            error: Option<Value>,
        }
        fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
            Value::deserialize(value).map(Some)
        }
        let quoted: String = answer.chars().take(200).collect();
        let body = half_characters::parse::<AnswerBody>(answer.trim())
            .map(|read| read.value)
            .map_err(|error| format!("answered with what is not a JSON object ({error}); it begins {quoted:?}"))?;
        match (body.error.filter(|error| !error.is_null()), body.result) {
            (Some(error), _) => Ok(Self::error(text(&error))),
            (None, Some(result)) => Ok(Self::of(&result)),
            (None, None) => Err(format!("answered with neither `result` nor `error`: {quoted:?}")),
        }
    }
}

impl CompiledTool {
    pub fn new(tool: &ToolSpec) -> Result<Self, StepError> {
        let schema =
            Schema::new(&tool.input).map_err(|error| StepError::ToolSchema(tool.id.clone(), error.to_string()))?;
        let executor = match &tool.executor {
            None => None,
            Some(ToolExecutor::Result(template)) => Some(Executor::Result(Template::compile(template)?)),
            Some(ToolExecutor::Replies(replies)) => Some(Executor::Replies(replies.clone())),
            Some(ToolExecutor::Command(command)) => Some(Executor::Command(program(command))),
            Some(ToolExecutor::Http { url, headers }) => Some(Executor::Http {
                url: env_template::parts(url),
                headers: headers.iter().map(|(name, text)| (name.clone(), env_template::parts(text))).collect(),
            }),
        };
        Ok(Self { id: tool.id.clone(), schema, executor })
    }

    /// Returns whether a program keeps its state.
    pub fn is_stateful(&self) -> bool {
        self.stateful_program().is_some()
    }

    /// The program that keeps its state, if there is one.
    pub fn stateful_program(&self) -> Option<&CommandRequest> {
        match &self.executor {
            Some(Executor::Command(command)) if command.protocol == Protocol::Jsonl => Some(command),
            _ => None,
        }
    }

    /// Returns whether its result depends on earlier calls.
    pub fn reads_calls(&self) -> bool {
        matches!(&self.executor, Some(Executor::Result(template)) if template.reads().iter().any(|name| name == "calls" || name.starts_with("calls.")))
    }

    /// Checks the arguments of a call; of wrong ones returns what the model is told.
    ///
    /// # Errors
    /// They cannot be decided: the problem.
    pub fn check(&self, call: &ToolCall) -> Result<Option<ToolResult>, String> {
        let complaint =
            |problems: &str| ToolResult::error(format!("the arguments of `{}` are invalid: {problems}", self.id));
        if call.raw.is_some() {
            return Ok(Some(complaint("they are not JSON objects")));
        }
        let errors = self.schema.errors(&call.arguments).map_err(|why| why.to_string())?;
        let problems = errors.iter().take(MAX_VIOLATIONS).map(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            path => format!("{path}: {error}"),
        });
        let problems: Vec<String> = problems.collect();
        Ok((!problems.is_empty()).then(|| complaint(&problems.join("; "))))
    }

    /// Answers a call with valid arguments, or returns the request that does.
    pub fn call(&self, arguments: &Value, context: &CallContext<'_>) -> CallPath {
        let CallContext { input, begin, calls } = context;
        let body = || {
            json!({
                "conversation": &*input.conversation,
                "tool": self.id,
                "arguments": arguments,
                "sample": { "id": &*input.sample.id },
            })
        };
        match &self.executor {
            None => CallPath::Unanswered,
            Some(Executor::Result(template)) => {
                let context = input.context.child().with("arguments", arguments).with("calls", calls);
                match template.value(&context) {
                    Ok(value) => CallPath::Answered(ToolResult::of(&value)),
                    Err(error) => CallPath::Broken(error.to_string()),
                }
            }
            Some(Executor::Replies(replies)) => self.written_reply(replies, arguments),
            Some(Executor::Command(command)) if command.protocol == Protocol::Jsonl => {
                CallPath::Ask(Box::new(Request::Tool(ToolRequest {
                    command: command.clone(),
                    tool: self.id.clone(),
                    conversation: input.conversation.to_string(),
                    begin: *begin,
                    arguments: arguments.clone(),
                    sample: input.sample.id.to_string(),
                })))
            }
            Some(Executor::Command(command)) => {
                CallPath::Ask(Box::new(Request::Command(CommandRequest { input: body(), ..command.clone() })))
            }
            Some(Executor::Http { url, headers }) => CallPath::Ask(Box::new(Request::Http(HttpRequest {
                method: "POST".to_owned(),
                url: url.clone(),
                headers: headers.clone(),
                body: body(),
            }))),
        }
    }

    fn written_reply(&self, replies: &[ToolReply], arguments: &Value) -> CallPath {
        let fits = |reply: &&ToolReply| {
            reply.tool.as_ref().is_none_or(|tool| *tool == self.id) && is_subset(&reply.arguments, arguments)
        };
        match replies.iter().find(fits) {
            Some(ToolReply { error: Some(error), .. }) => CallPath::Answered(ToolResult::error(error)),
            Some(reply) => CallPath::Answered(ToolResult::of(reply.result.as_ref().unwrap_or(&Value::Null))),
            None => {
                let text = format!("no scripted reply for {}({arguments})", self.id);
                CallPath::Unscripted(ToolResult::error(text))
            }
        }
    }
}

/// Returns whether a value holds everything of another: members of objects; anything else is equal.
fn is_subset(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Null, Value::Object(_)) => true,
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(name, value)| whole.get(name).is_some_and(|other| is_subset(value, other)))
        }
        (Value::Number(part), Value::Number(whole)) => part == whole || part.as_f64() == whole.as_f64(),
        (part, whole) => part == whole,
    }
}

fn program(command: &CommandSpec) -> CommandRequest {
    CommandRequest {
        run: command.run.clone(),
        input: Value::Null,
        env: command.env.iter().map(|(name, text)| (name.clone(), env_template::parts(text))).collect(),
        protocol: command.protocol,
        folder: command.folder.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-14: a written reply answers calls whose arguments contain its own, at any depth.
    #[test]
    fn arguments_are_matched_by_parts() {
        let call = json!({"id": "A1", "with": {"a": 1, "b": [1, 2]}, "n": 2.0});
        for part in [json!(null), json!({}), json!({"id": "A1"}), json!({"with": {"b": [1, 2]}}), json!({"n": 2})] {
            assert!(is_subset(&part, &call), "{part}");
        }
        for other in [json!({"id": "A"}), json!({"x": null}), json!({"with": {"b": [1]}})] {
            assert!(!is_subset(&other, &call), "{other}");
        }
    }

    /// TG-14: an answer is an object with `result` or `error`; results are texts of at most 64 KiB.
    #[test]
    fn answers_are_results_or_errors() {
        let read = |answer: &str| ToolResult::read(answer).map(|result| (result.text, result.is_error));
        assert_eq!(read(r#"{"id": 1, "result": {"a": 1}}"#), Ok((r#"{"a":1}"#.to_owned(), false)));
        assert_eq!(read(r#"{"result": null}"#), Ok((String::new(), false)));
        assert_eq!(read(r#"{"error": "no such order"}"#), Ok(("no such order".to_owned(), true)));
        assert!(read(r#"{"output": 1}"#).unwrap_err().contains("neither `result` nor `error`"));
        assert!(read("Traceback").unwrap_err().contains("not a JSON object"));
        let long = ToolResult::of(&Value::from("é".repeat(MAX_RESULT)));
        assert!(long.text.len() < MAX_RESULT + 20 && long.text.ends_with("[cut at 64 KiB]"));
    }
}
