//! The values that a judge sees, for one sample and output.

use karat_text::template::{Context, TemplateError, text};
use karat_types::{KeyBuilder, ShowAs};
use serde_json::Value;

use crate::judge::rubric::item::Item;

/// A shown value, ready to be written or cut.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// A text.
    Text(String),
    /// A list in the order in which it is shown.
    List(Vec<ShownMember>),
    /// Nothing: the call sees everything except this value.
    Absent,
}

impl Content {
    /// Removes its content.
    pub fn clear(&mut self) {
        match self {
            Self::Text(text) => text.clear(),
            Self::List(members) => members.clear(),
            Self::Absent => {}
        }
    }

    /// True if it has no content: an absent value, blank text, a list of such members.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => match serde_json::from_str(text) {
                Ok(value) => is_nothing(&value),
                Err(_) => text.trim().is_empty(),
            },
            Self::List(members) => members.iter().all(|member| is_nothing(&member.value)),
            Self::Absent => true,
        }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(members) => members.iter().all(is_nothing),
        Value::Object(members) => members.values().all(is_nothing),
        _ => false,
    }
}

/// A member of a shown list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShownMember {
    /// Its position in the list before it was shuffled or cut.
    pub origin: usize,
    pub value: Value,
}

/// Computes a shown value; a list that is to be shuffled is shuffled by the seed.
pub(crate) fn content(item: &Item, context: &Context, seed: u64) -> Result<Content, TemplateError> {
    let value = item.value.value(context)?;
    Ok(match (item.spec.form, value) {
        (ShowAs::Json | ShowAs::Lines, Value::Array(values)) => {
            let mut members: Vec<ShownMember> =
                values.into_iter().enumerate().map(|(origin, value)| ShownMember { origin, value }).collect();
            if item.spec.shuffle {
                shuffle(&mut members, seed, &item.spec.name);
            }
            Content::List(members)
        }
        (ShowAs::Lines, Value::Null) => Content::List(Vec::new()),
        (ShowAs::Json, value) => Content::Text(value.to_string()),
        (_, value) => Content::Text(text(&value)),
    })
}

/// Orders members by a hash of seed, list and position: every order is equally likely.
fn shuffle(members: &mut [ShownMember], seed: u64, list: &str) {
    let rank = |member: &ShownMember| {
        KeyBuilder::new("karat/judge/shuffle").number(seed).text(list).number(member.origin as u64).finish()
    };
    members.sort_by_cached_key(rank);
}

/// Writes a value as the judge sees it.
pub(crate) fn write(item: &Item, content: &Content, context: &Context) -> Result<String, TemplateError> {
    match content {
        Content::Text(text) => Ok(text.clone()),
        Content::Absent => Ok(String::new()),
        Content::List(members) if item.spec.form == ShowAs::Json => Ok(json_list(members)),
        Content::List(members) => {
            let lines = members.iter().enumerate().map(|(index, member)| line(item, index, &member.value, context));
            lines.collect::<Result<Vec<_>, _>>().map(|lines| lines.join("\n"))
        }
    }
}

/// A JSON list with one member a line.
fn json_list(members: &[ShownMember]) -> String {
    if members.is_empty() {
        return "[]".to_owned();
    }
    let lines: Vec<String> = members.iter().map(|member| member.value.to_string()).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}

/// One member on one line.
fn line(item: &Item, index: usize, member: &Value, context: &Context) -> Result<String, TemplateError> {
    let text = match (&item.line, member) {
        (Some(template), _) => template.render(&context.child().with("item", member).with("index", &index))?,
        (None, Value::String(text)) => numbered(item, index, text),
        (None, other) => numbered(item, index, &other.to_string()),
    };
    Ok(text.lines().collect::<Vec<_>>().join(" "))
}

fn numbered(item: &Item, index: usize, text: &str) -> String {
    if item.is_indexed { format!("[{index}] {text}") } else { text.to_owned() }
}
