//! Scripted models: the reply is a function of the request, written in the suite.
//!
//! A script sees the request and its own `vars`, but neither the model's name nor the sample. So effects planted in the
//! data must be found by the evaluation itself, and any suite can define a model without Rust code.
//!
//! Files: this one compiles scripts and renders replies; `functions` and `support` are the filters of scripts; `schema_stub` and
//! `trigram_vectors` are the `stub` model, which needs no script.

mod functions;
pub(crate) mod schema_stub;
mod support;
pub(crate) mod trigram_vectors;

use std::collections::HashMap;
use std::sync::LazyLock;

use karat_text::chunking::tokens::Tokenizer;
use karat_text::{fence, template};
use karat_types::{ChatRequest, FinishReason, ReplyFormat, Role, Usage};
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior, context};
use serde_json::{Map, Value};

use crate::options::{Replies, ScriptedOptions, WrittenCall, WrittenReply};

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
        replies: HashMap<String, WrittenReply>,
    },
}

/// The reply of a script.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ScriptedReply {
    /// Its words.
    pub text: String,
    /// The tools that it calls.
    pub calls: Vec<WrittenCall>,
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
                let vars = template::from_json(&Value::Object(options.vars));
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
    pub fn reply(&self, request: &ChatRequest) -> Result<ScriptedReply, String> {
        let reply = match self {
            Self::Template { environment, vars } => {
                render(environment, vars, request).map(|text| rendered_reply(text, request))
            }
            Self::Written(rows) => find(rows, request),
            Self::Recorded { label, replies } => find_recorded(label, replies, request),
        };
        reply.map(|reply| ScriptedReply { text: with_code(request, reply.text), ..reply })
    }
}

/// The turn of the model in a conversation, from 1.
fn turn(request: &ChatRequest) -> u32 {
    let earlier = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    u32::try_from(earlier + 1).unwrap_or(u32::MAX)
}

/// The reply of a template. If the request offers tools, a JSON object with `tool_calls` is calls, beside an optional `text`.
fn rendered_reply(text: String, request: &ChatRequest) -> ScriptedReply {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Calling {
        #[serde(default)]
        text: String,
        tool_calls: Vec<WrittenCall>,
    }
    let calling = (!request.tools.is_empty()).then(|| serde_json::from_str(text.trim()).ok()).flatten();
    match calling {
        Some(Calling { text, tool_calls }) => ScriptedReply { text, calls: tool_calls },
        None => ScriptedReply { text, calls: Vec::new() },
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
pub(crate) fn usage(request: &ChatRequest, reply: &ScriptedReply) -> Usage {
    let count = |text: &str| Tokenizer::plan().count(text) as u64;
    let called = request.messages.iter().flat_map(|message| &message.tool_calls);
    let called: u64 = called.map(|call| count(&call.name) + count(&call.arguments_text())).sum();
    let calls: u64 = reply.calls.iter().map(|call| count(&call.name) + count(&arguments_text(call))).sum();
    Usage {
        input_tokens: request.messages.iter().map(|message| count(&message.text())).sum::<u64>() + called,
        output_tokens: count(&reply.text) + calls,
        ..Usage::default()
    }
}

/// Ids of the calls of a reply: unique in the conversation and the same in every run.
pub(crate) fn call_ids(request: &ChatRequest) -> impl Iterator<Item = String> {
    let turn = turn(request);
    (1..).map(move |at: u32| format!("call_{turn}_{at}"))
}

/// The arguments of a call as a provider sends them: JSON text.
pub(crate) fn arguments_text(call: &WrittenCall) -> String {
    match &call.arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        arguments => arguments.to_string(),
    }
}

fn render(environment: &Environment<'_>, vars: &minijinja::Value, request: &ChatRequest) -> Result<String, String> {
    let prompt = join_contents(request, |_| true);
    let sections: minijinja::Value =
        fence::sections(&prompt).into_iter().map(|(label, content)| context! { label, content }).collect();
    let messages = serde_json::to_value(&request.messages).unwrap_or_default();
    let seen = context! {
        system => join_contents(request, |role| role == Role::System),
        user => join_contents(request, |role| role == Role::User),
        messages => template::from_json(&messages),
        sections,
        code => fence::code(&prompt).unwrap_or_default(),
        turn => turn(request),
        prompt,
        vars,
    };
    environment
        .get_template(NAME)
        .and_then(|template| template.render(seen))
        .map_err(|error| format!("its script failed: {}", describe(&error)))
}

fn find(rows: &[WrittenReply], request: &ChatRequest) -> Result<ScriptedReply, String> {
    let occurs = |needle: &String| request.messages.iter().any(|message| message.text().contains(needle.as_str()));
    let turn = turn(request);
    let fits =
        |row: &&WrittenReply| row.needle.as_ref().is_none_or(occurs) && row.turn.is_none_or(|wanted| wanted == turn);
    let row = rows.iter().find(fits).ok_or_else(|| {
        let in_turn =
            if rows.iter().any(|row| row.turn.is_some()) { format!(" in turn {turn}") } else { String::new() };
        format!("none of its {} written replies has a `match` that occurs in the request{in_turn}", rows.len())
    })?;
    written_reply(row)
}

fn written_reply(row: &WrittenReply) -> Result<ScriptedReply, String> {
    if let Some(error) = &row.error {
        return Err(format!("it failed when it was recorded: {error}"));
    }
    let text = match &row.reply {
        Some(Value::String(text)) => text.clone(),
        Some(json) => json.to_string(),
        None => String::new(),
    };
    Ok(ScriptedReply { text, calls: row.tool_calls.clone() })
}

/// Checks that a row can be found and has an answer.
fn check_row(row: &WrittenReply, number: usize) -> Result<(), String> {
    if row.needle.is_none() && row.turn.is_none() {
        return Err(format!("row {number} of `replies` has neither `match` nor `turn`"));
    }
    if row.turn == Some(0) {
        return Err(format!("row {number} of `replies` has `turn: 0`; the model's first reply is turn 1"));
    }
    let answers = row.reply.is_some() || !row.tool_calls.is_empty();
    if answers == row.error.is_some() {
        return Err(format!("row {number} of `replies` needs `reply`, `tool_calls` or both, or `error`"));
    }
    Ok(())
}

/// Indexes replies by the content of the named section; two replies with the same content are an error.
fn index_recorded(name: &str, rows: Vec<WrittenReply>) -> Result<Script, String> {
    let label = fence::label(name);
    let mut replies = HashMap::with_capacity(rows.len());
    for (at, row) in rows.into_iter().enumerate() {
        let needle = row.needle.clone().filter(|_| row.turn.is_none());
        let needle =
            needle.ok_or_else(|| format!("with `by`, row {} of `replies` needs `match` and no `turn`", at + 1))?;
        if replies.contains_key(&needle) {
            return Err(format!("two of its `replies` have the `match` {:?}", excerpt(&needle)));
        }
        replies.insert(needle, row);
    }
    Ok(Script::Recorded { label, replies })
}

fn find_recorded(
    label: &str,
    replies: &HashMap<String, WrittenReply>,
    request: &ChatRequest,
) -> Result<ScriptedReply, String> {
    let sections = fence::sections(&join_contents(request, |_| true));
    let Some((_, content)) = sections.into_iter().find(|(known, _)| known == label) else {
        return Err(format!("the prompt has no section {label}, by which its replies are found"));
    };
    let missing =
        || format!("none of its {} recorded replies is for the {label} {:?}", replies.len(), excerpt(&content));
    replies.get(&content).map_or_else(|| Err(missing()), written_reply)
}

/// The beginning of a text, for messages.
fn excerpt(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

/// Rows written inline, as a JSON array, or as JSON Lines.
fn parse_rows(replies: Replies) -> Result<Vec<WrittenReply>, String> {
    let rows = read_rows(replies)?;
    rows.iter().enumerate().try_for_each(|(at, row)| check_row(row, at + 1))?;
    Ok(rows)
}

fn read_rows(replies: Replies) -> Result<Vec<WrittenReply>, String> {
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
