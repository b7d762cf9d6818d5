//! A call of a tool, as outputs and references write it.

use std::fmt;

use karat_text::kind::kind;
use serde_json::{Map, Value};

/// Characters of a call that a reason shows.
const SHOWN: usize = 160;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its arguments; none where they are no object.
    pub arguments: Option<Map<String, Value>>,
}

impl ToolCall {
    /// The calls in a list, or in an output that has a list `tool_calls`. A text that is not JSON, and nothing, are not calls.
    ///
    /// # Errors
    /// The problem of the list.
    pub fn list(value: &Value) -> Result<Vec<Self>, String> {
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Array(items) => items.iter().enumerate().map(|(at, item)| Self::read(item, at)).collect(),
            Value::Object(members) => match members.get("tool_calls") {
                // Prose in the place of the list is no absence of calls.
                Some(Value::String(text)) if !text.trim_start().starts_with(['[', '{']) => {
                    Err("an object whose `tool_calls` is a text, not a list of calls".to_owned())
                }
                Some(list) => Self::list(list),
                None => Err("an object without `tool_calls`".to_owned()),
            },
            Value::String(text) => match karat_types::json::parse(text) {
                Ok(list @ (Value::Array(_) | Value::Object(_))) => Self::list(&list),
                _ => Ok(Vec::new()),
            },
            other => Err(format!("{}, not a list of calls", kind(other))),
        }
    }

    /// Reads `{name, arguments}`, `{name, args}` or OpenAI's `{function: {name, arguments}}`; a text is a name alone.
    fn read(item: &Value, at: usize) -> Result<Self, String> {
        let inner = item.get("function").filter(|inner| inner.is_object()).unwrap_or(item);
        let name = item.as_str().or_else(|| inner.get("name").and_then(Value::as_str));
        let Some(name) = name else { return Err(format!("a list whose member {at} has no `name`")) };
        let arguments = inner.get("arguments").or_else(|| inner.get("args"));
        let arguments = match arguments {
            Some(Value::Object(members)) => Some(members.clone()),
            Some(Value::String(text)) if text.trim().is_empty() => Some(Map::new()),
            Some(Value::String(text)) => match karat_types::json::parse(text) {
                Ok(Value::Object(members)) => Some(members),
                _ => None,
            },
            None | Some(Value::Null) => inner.get("raw").is_none_or(Value::is_null).then(Map::new),
            Some(_) => None,
        };
        Ok(Self { name: name.to_owned(), arguments })
    }
}

/// As in a program: `refund({"id":"A1"})`, cut where it is long.
impl fmt::Display for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = match &self.arguments {
            Some(members) => Value::Object(members.clone()).to_string(),
            None => "unreadable arguments".to_owned(),
        };
        let written = format!("{}({arguments})", self.name);
        match written.char_indices().nth(SHOWN) {
            Some((end, _)) => write!(f, "{}…", &written[..end]),
            None => f.write_str(&written),
        }
    }
}
