//! Scripted models: a reply is a function of the request that a suite writes.
//!
//! A script sees the request and its own `vars`, nothing else: neither the model's name nor the sample. So quality that
//! is planted in data must be found the honest way, and any suite can write a model without touching Rust.

mod functions;
mod support;

use std::collections::HashMap;
use std::sync::LazyLock;

use karat_text::fence;
use karat_text::chunking::tokens::Tokenizer;
use karat_types::{ChatRequest, FinishReason, Role, Usage};
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior, context};
use serde_json::Value;

use crate::options::{Replies, ScriptedOptions, WrittenAnswer, WrittenReply};

/// Instructions that one reply may take: far above any honest script, far below a hang.
const FUEL: u64 = 5_000_000;

/// Nesting that one reply may have.
const RECURSION: usize = 100;

/// Characters of a text that a message quotes.
const QUOTED: usize = 200;

/// The name under which an environment knows its one script.
const NAME: &str = "reply";

/// A scripted model.
pub(crate) enum Script {
    /// A template over the request.
    Template {
        /// Holds the compiled template.
        environment: Box<Environment<'static>>,
        /// What the template finds under `vars`.
        vars: minijinja::Value,
    },
    /// Written replies; the first whose needle stands in the request.
    Written(Vec<WrittenReply>),
    /// Recorded replies, by all that a section of the request holds.
    Recorded {
        /// The section's label.
        label: String,
        /// By its content.
        replies: HashMap<String, WrittenAnswer>,
    },
}

impl Script {
    /// Compiles a script. The error says what is wrong with the options.
    pub fn new(options: ScriptedOptions) -> Result<Self, String> {
        match (options.reply, options.replies) {
            (Some(_), None) if options.by.is_some() => {
                Err("`by` says how `replies` are found; it has `reply`".to_owned())
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
                None => rows(replies).map(Self::Written),
                Some(name) => recorded(&name, rows(replies)?),
            },
            (Some(_), Some(_)) => Err("it has both `reply` and `replies`; keep one".to_owned()),
            (None, None) => Err("it has neither `reply` (a template) nor `replies` (rows)".to_owned()),
        }
    }

    /// The reply to a request. The error ends a sentence that begins with the model.
    pub fn reply(&self, request: &ChatRequest) -> Result<String, String> {
        match self {
            Self::Template { environment, vars } => render(environment, vars, request),
            Self::Written(rows) => find(rows, request),
            Self::Recorded { label, replies } => look_up(label, replies, request),
        }
    }
}

/// A reply as a provider would send it: cut off where it has more tokens than the request allows, or the model can give.
pub(crate) fn limited(request: &ChatRequest, max_output: Option<u32>, mut reply: String) -> (String, FinishReason) {
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

/// What a script uses, in tokens of the plan's tokenizer.
pub(crate) fn usage(request: &ChatRequest, reply: &str) -> Usage {
    let count = |text: &str| Tokenizer::plan().count(text) as u64;
    Usage {
        input_tokens: request.messages.iter().map(|message| count(&message.content)).sum(),
        output_tokens: count(reply),
        ..Usage::default()
    }
}

fn render(environment: &Environment<'_>, vars: &minijinja::Value, request: &ChatRequest) -> Result<String, String> {
    let prompt = joined(request, |_| true);
    let sections: Vec<Value> = fence::sections(&prompt)
        .into_iter()
        .map(|(label, content)| serde_json::json!({ "label": label, "content": content }))
        .collect();
    let seen = context! {
        system => joined(request, |role| role == Role::System),
        user => joined(request, |role| role == Role::User),
        messages => Serde(&request.messages),
        sections => Serde(&sections),
        prompt,
        vars,
    };
    environment
        .get_template(NAME)
        .and_then(|template| template.render(seen))
        .map_err(|error| format!("its script failed: {}", describe(&error)))
}

fn find(rows: &[WrittenReply], request: &ChatRequest) -> Result<String, String> {
    let stands = |needle: &str| request.messages.iter().any(|message| message.content.contains(needle));
    let row = rows.iter().find(|row| stands(&row.needle)).ok_or_else(|| {
        format!("none of its {} written replies has a `match` that stands in the request", rows.len())
    })?;
    answered(&row.answer)
}

fn answered(answer: &WrittenAnswer) -> Result<String, String> {
    match answer {
        WrittenAnswer::Reply(Value::String(text)) => Ok(text.clone()),
        WrittenAnswer::Reply(json) => Ok(json.to_string()),
        WrittenAnswer::Error(error) => Err(format!("it failed when it was recorded: {error}")),
    }
}

/// Replies by the content of the section that a name stands for; two with one content could not be told apart.
fn recorded(name: &str, rows: Vec<WrittenReply>) -> Result<Script, String> {
    let label = fence::label(name);
    let mut replies = HashMap::with_capacity(rows.len());
    for row in rows {
        if replies.contains_key(&row.needle) {
            return Err(format!("two of its `replies` have the `match` {:?}", cut(&row.needle)));
        }
        replies.insert(row.needle, row.answer);
    }
    Ok(Script::Recorded { label, replies })
}

fn look_up(label: &str, replies: &HashMap<String, WrittenAnswer>, request: &ChatRequest) -> Result<String, String> {
    let sections = fence::sections(&joined(request, |_| true));
    let Some((_, content)) = sections.into_iter().find(|(known, _)| known == label) else {
        return Err(format!("the prompt has no section {label}, by which its replies are found"));
    };
    let missing = || format!("none of its {} recorded replies is for the {label} {:?}", replies.len(), cut(&content));
    replies.get(&content).map_or_else(|| Err(missing()), answered)
}

/// The beginning of a text that a message quotes.
fn cut(text: &str) -> String {
    text.chars().take(QUOTED).collect()
}

/// Rows in place, from a JSON array, or from JSON Lines.
fn rows(replies: Replies) -> Result<Vec<WrittenReply>, String> {
    let text = match replies {
        Replies::Rows(rows) => return Ok(rows),
        Replies::Text(text) => text,
    };
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(&text).map_err(|error| format!("`replies` is no list of rows: {error}"));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| format!("line {} of `replies` is no row: {error}", at + 1))
        })
        .collect()
}

/// The contents of the messages of some roles, with blank lines between.
fn joined(request: &ChatRequest, of: impl Fn(Role) -> bool) -> String {
    let contents = request.messages.iter().filter(|message| of(message.role)).map(|message| message.content.as_str());
    contents.collect::<Vec<_>>().join("\n\n")
}

/// What went wrong and where, without the source around it.
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

/// Lists and objects stand in a reply as JSON, like in every other template of a suite.
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
