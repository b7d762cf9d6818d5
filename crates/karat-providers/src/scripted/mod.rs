//! Scripted models: the reply is a function of the request, written in the suite.
//!
//! A script sees the request and its own `vars`, but neither the model's name nor the sample. So effects planted in the
//! data must be found by the evaluation itself, and any suite can define a model without Rust code.
//!
//! Files: this one compiles scripts and renders replies; `functions` and `support` are the filters of scripts; `schema_stub` is
//! the `stub` model, which needs no script.

mod functions;
pub(crate) mod schema_stub;
mod support;

use std::collections::HashMap;
use std::sync::LazyLock;

use karat_text::chunking::tokens::Tokenizer;
use karat_text::fence;
use karat_types::{ChatRequest, FinishReason, ReplyFormat, Role, Usage};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior, context};
use serde_json::{Map, Value};

use crate::registry::options::{Replies, ScriptedOptions, WrittenAnswer, WrittenReply};

/// Instructions of one reply: far above any sensible script, far below a hang.
const FUEL: u64 = 5_000_000;

/// Maximum recursion of one reply.
const RECURSION: usize = 100;

/// Characters of a text that a message quotes.
const QUOTED: usize = 200;

/// The name of the only template in an environment.
const NAME: &str = "reply";

/// A scripted model.
pub(crate) enum Script {
    /// A template over the request.
    Template {
        /// The environment with the compiled template.
        environment: Box<Environment<'static>>,
        /// The value of `vars` in the template.
        vars: minijinja::Value,
    },
    /// Written replies; the first whose needle occurs in the request answers.
    Written(Vec<WrittenReply>),
    /// Recorded replies, by the whole content of a section of the request.
    Recorded {
        /// The section's label.
        label: String,
        /// The replies by content.
        replies: HashMap<String, WrittenAnswer>,
    },
}

impl Script {
    /// Compiles a script. The error names the problem of the options.
    pub fn new(options: ScriptedOptions) -> Result<Self, String> {
        match (options.reply, options.replies) {
            (Some(_), None) if options.by.is_some() => {
                Err("`by` applies to `replies`, and this model has `reply`".to_owned())
            }
            (Some(source), None) => {
                let mut environment = BASE.clone();
                environment
                    .add_template_owned(NAME, source)
                    .map_err(|error| format!("`reply` does not compile: {}", describe(&error)))?;
                let vars = minijinja::Value::from(Serde(&options.vars));
                Ok(Self::Template { environment: Box::new(environment), vars })
            }
            (None, Some(replies)) => match options.by {
                None => parse_rows(replies).map(Self::Written),
                Some(name) => index_recorded(&name, parse_rows(replies)?),
            },
            (Some(_), Some(_)) => Err("it has both `reply` and `replies`; keep one".to_owned()),
            (None, None) => Err("it has neither `reply` (a template) nor `replies` (rows)".to_owned()),
        }
    }

    /// The reply to a request. The error is the end of a sentence that begins with the model.
    pub fn reply(&self, request: &ChatRequest) -> Result<String, String> {
        let reply = match self {
            Self::Template { environment, vars } => render(environment, vars, request),
            Self::Written(rows) => find(rows, request),
            Self::Recorded { label, replies } => find_recorded(label, replies, request),
        };
        reply.map(|reply| with_code(request, reply))
    }
}

/// A written reply that the schema wants with the code of the prompt's fences, with it: nobody can write the code down ahead of
/// the call. A reply that is more than one JSON object stays as it is.
fn with_code(request: &ChatRequest, reply: String) -> String {
    let ReplyFormat::Schema { schema, .. } = &request.format else { return reply };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let mut wanted = properties.filter(|(_, property)| schema_stub::is_code(property)).map(|(name, _)| name);
    let prompt = join_contents(request, |_| true);
    let Some((name, code)) = wanted.next().zip(fence::code(&prompt)) else { return reply };
    match serde_json::from_str::<Map<String, Value>>(&reply) {
        Ok(object) if !object.contains_key(name) => {
            let mut signed = Map::from_iter([(name.clone(), Value::from(code))]);
            signed.extend(object);
            Value::Object(signed).to_string()
        }
        _ => reply,
    }
}

/// A reply as a provider would send it: cut off if it has more tokens than the request allows or the model can return.
pub(crate) fn cut_to_limit(
    request: &ChatRequest,
    max_output: Option<u32>,
    mut reply: String,
) -> (String, FinishReason) {
    let Some(limit) = request.parameters.max_tokens.into_iter().chain(max_output).min() else {
        return (reply, FinishReason::Stop);
    };
    if Tokenizer::plan().fits(&reply, limit as usize) {
        return (reply, FinishReason::Stop);
    }
    let last = (limit as usize).checked_sub(1);
    let end = last.and_then(|last| Tokenizer::plan().ends(&reply).get(last).copied()).unwrap_or(0);
    reply.truncate(reply.floor_char_boundary(end));
    (reply, FinishReason::Length)
}

/// The usage of a script, in tokens of the plan's tokenizer.
pub(crate) fn usage(request: &ChatRequest, reply: &str) -> Usage {
    let count = |text: &str| Tokenizer::plan().count(text) as u64;
    Usage {
        input_tokens: request.messages.iter().map(|message| count(&message.text())).sum(),
        output_tokens: count(reply),
        ..Usage::default()
    }
}

fn render(environment: &Environment<'_>, vars: &minijinja::Value, request: &ChatRequest) -> Result<String, String> {
    let prompt = join_contents(request, |_| true);
    let sections: Vec<Value> = fence::sections(&prompt)
        .into_iter()
        .map(|(label, content)| serde_json::json!({ "label": label, "content": content }))
        .collect();
    let seen = context! {
        system => join_contents(request, |role| role == Role::System),
        user => join_contents(request, |role| role == Role::User),
        messages => Serde(&request.messages),
        sections => Serde(&sections),
        code => fence::code(&prompt).unwrap_or_default(),
        prompt,
        vars,
    };
    environment
        .get_template(NAME)
        .and_then(|template| template.render(seen))
        .map_err(|error| format!("its script failed: {}", describe(&error)))
}

fn find(rows: &[WrittenReply], request: &ChatRequest) -> Result<String, String> {
    let occurs = |needle: &str| request.messages.iter().any(|message| message.text().contains(needle));
    let row = rows.iter().find(|row| occurs(&row.needle)).ok_or_else(|| {
        format!("none of its {} written replies has a `match` that occurs in the request", rows.len())
    })?;
    reply_text(&row.answer)
}

fn reply_text(answer: &WrittenAnswer) -> Result<String, String> {
    match answer {
        WrittenAnswer::Reply(Value::String(text)) => Ok(text.clone()),
        WrittenAnswer::Reply(json) => Ok(json.to_string()),
        WrittenAnswer::Error(error) => Err(format!("it failed when it was recorded: {error}")),
    }
}

/// Indexes replies by the content of the named section; two replies with the same content are an error.
fn index_recorded(name: &str, rows: Vec<WrittenReply>) -> Result<Script, String> {
    let label = fence::label(name);
    let mut replies = HashMap::with_capacity(rows.len());
    for row in rows {
        if replies.contains_key(&row.needle) {
            return Err(format!("two of its `replies` have the `match` {:?}", excerpt(&row.needle)));
        }
        replies.insert(row.needle, row.answer);
    }
    Ok(Script::Recorded { label, replies })
}

fn find_recorded(
    label: &str,
    replies: &HashMap<String, WrittenAnswer>,
    request: &ChatRequest,
) -> Result<String, String> {
    let sections = fence::sections(&join_contents(request, |_| true));
    let Some((_, content)) = sections.into_iter().find(|(known, _)| known == label) else {
        return Err(format!("the prompt has no section {label}, by which its replies are found"));
    };
    let missing =
        || format!("none of its {} recorded replies is for the {label} {:?}", replies.len(), excerpt(&content));
    replies.get(&content).map_or_else(|| Err(missing()), reply_text)
}

/// The beginning of a text, for messages.
fn excerpt(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

/// Rows written inline, as a JSON array, or as JSON Lines.
fn parse_rows(replies: Replies) -> Result<Vec<WrittenReply>, String> {
    let text = match replies {
        Replies::Rows(rows) => return Ok(rows),
        Replies::Text(text) => text,
    };
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(&text).map_err(|error| format!("`replies` is not a list of rows: {error}"));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| format!("line {} of `replies` is not a row: {error}", at + 1))
        })
        .collect()
}

/// The contents of messages with these roles, separated by blank lines.
fn join_contents(request: &ChatRequest, of: impl Fn(Role) -> bool) -> String {
    let contents = request.messages.iter().filter(|message| of(message.role)).map(|message| message.text());
    contents.collect::<Vec<_>>().join("\n\n")
}

/// The message and line of a template error, without source excerpt.
fn describe(error: &minijinja::Error) -> String {
    let words = error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
    error.line().map_or(words.clone(), |line| format!("{words} (line {line})"))
}

static BASE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(write);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(RECURSION);
    environment.remove_global("debug");
    functions::register(&mut environment);
    environment
});

/// Renders lists and objects as JSON, like all other templates of a suite.
fn write(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &minijinja::Value) -> Result<(), minijinja::Error> {
    use minijinja::value::ValueKind;
    match value.kind() {
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
            out.write_str(&functions::json(value)?).map_err(Into::into)
        }
        ValueKind::None => out.write_str("null").map_err(Into::into),
        _ => minijinja::escape_formatter(out, state, value),
    }
}

#[cfg(test)]
mod tests;
