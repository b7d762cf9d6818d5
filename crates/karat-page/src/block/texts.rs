//! Texts of samples, systems and judges.

use serde_json::{Map, Value};

use crate::block::Head;
use crate::block::verdict::Verdict;

/// A marked part of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Highlight {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// Its label.
    pub label: String,
    /// Its category, which decides the line under it.
    pub category: usize,
}

/// An output that is an answer with lists of objects beside it, such as what it cites.
#[derive(Debug, Clone)]
pub struct Answer<'a> {
    /// The name of the answer: the longest text among the members.
    pub name: &'a str,
    /// The answer.
    pub text: &'a str,
    /// The lists by name.
    pub lists: Vec<(&'a str, &'a [Value])>,
    /// The other members.
    pub others: Map<String, Value>,
}

impl<'a> Answer<'a> {
    /// The answer that an output holds, or `None` if it has another form.
    pub fn of_output(output: &'a Value) -> Option<Self> {
        let members = output.as_object()?;
        let texts = members.iter().filter_map(|(name, member)| Some((name, member.as_str()?)));
        let (name, text) = texts.max_by_key(|(_, text)| text.len())?;
        let (mut lists, mut others) = (Vec::new(), Map::new());
        for (other, member) in members.iter().filter(|(other, _)| *other != name) {
            match member.as_array() {
                Some(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
                    lists.push((other.as_str(), items.as_slice()));
                }
                _ => {
                    others.insert(other.clone(), member.clone());
                }
            }
        }
        (!lists.is_empty()).then_some(Self { name, text, lists, others })
    }
}

/// A score of an output, with the reasons of who gave it.
#[derive(Debug, Clone, Default)]
pub struct ExcerptScore {
    /// The metric.
    pub metric: String,
    /// The value as text; see [`crate::number::Scale::text`].
    pub value: String,
    /// A verdict about it.
    pub verdict: Option<Verdict>,
    /// The judge, where there was one.
    pub judge: Option<String>,
    /// The reason.
    pub reason: Option<String>,
}

/// An output of a system.
#[derive(Debug, Clone, Default)]
pub struct ExcerptOutput {
    /// The system.
    pub system: String,
    /// The text, or `None` if there is none.
    pub text: Option<String>,
    /// The reason why there is no text, or why it was cut.
    pub note: Option<String>,
    /// The messages of a conversation, shown before the text.
    pub messages: Vec<Message>,
    /// Trials that gave this text.
    pub repeats: u64,
    /// Marked parts of the text.
    pub highlights: Vec<Highlight>,
    /// Its scores.
    pub scores: Vec<ExcerptScore>,
}

/// A text of a sample, under the name of its column.
#[derive(Debug, Clone, Default)]
pub struct ExcerptText {
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
    /// A remark, such as how much was cut.
    pub note: Option<String>,
    /// Marked parts of the text.
    pub highlights: Vec<Highlight>,
}

/// A sample with the outputs of systems.
#[derive(Debug, Clone, Default)]
pub struct Excerpt {
    /// The id of the sample.
    pub sample: String,
    /// The reason why this sample is worth reading.
    pub why: Option<String>,
    /// The page of the sample.
    pub href: Option<String>,
    /// The input.
    pub input: Option<String>,
    /// Marked parts of the input.
    pub input_highlights: Vec<Highlight>,
    /// The reference.
    pub reference: Option<String>,
    /// Other texts of the sample, such as columns that a prompt reads.
    pub texts: Vec<ExcerptText>,
    /// The outputs.
    pub outputs: Vec<ExcerptOutput>,
    /// True if the two outputs are to be compared word by word.
    pub with_diff: bool,
}

/// Samples with the outputs of systems side by side.
#[derive(Debug, Clone, Default)]
pub struct Excerpts {
    /// The head.
    pub head: Head,
    /// The samples.
    pub items: Vec<Excerpt>,
    /// Samples that are not shown.
    pub left_out: u64,
    /// The command that shows all of them.
    pub all_by: Option<String>,
}

/// The form of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextForm {
    /// Shown as it is.
    #[default]
    Plain,
    /// Markdown, with raw HTML as text.
    Markdown,
}

/// A text.
#[derive(Debug, Clone, Default)]
pub struct TextBlock {
    /// The head.
    pub head: Head,
    /// The text.
    pub text: String,
    /// Its form.
    pub form: TextForm,
    /// Marked parts, for a plain text.
    pub highlights: Vec<Highlight>,
}

/// One message of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The role: `system`, `user`, `assistant`, `tool` or another.
    pub role: String,
    /// The name of who speaks, or of the tool.
    pub name: Option<String>,
    /// The content.
    pub content: String,
    /// Calls of tools: name and arguments.
    pub calls: Vec<(String, String)>,
}

impl Message {
    /// The messages of an output that is a conversation: an object whose `messages` is a list of turns, each with a
    /// `role`. `None` for any other output.
    pub fn of_output(output: &Value) -> Option<Vec<Self>> {
        let turns = output.get("messages")?.as_array().filter(|turns| !turns.is_empty())?;
        turns.iter().map(|turn| Self::of_turn(turn, turns)).collect()
    }

    fn of_turn(turn: &Value, turns: &[Value]) -> Option<Self> {
        let role = turn.get("role")?.as_str()?.to_owned();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let content = match turn.get("content") {
            None | Some(Value::Null) => String::new(),
            Some(Value::Array(parts)) => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
            Some(content) => text(content),
        };
        let calls = turn.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        let calls = calls.map(|call| {
            let arguments = call.get("raw").or_else(|| call.get("arguments")).map(text).unwrap_or_default();
            (call.get("name").map(text).unwrap_or_default(), arguments)
        });
        let name = turn.get("tool_call_id").and_then(|id| {
            let mut known = turns.iter().filter_map(|turn| turn.get("tool_calls")?.as_array()).flatten();
            known.find(|call| call.get("id") == Some(id))?.get("name").map(text)
        });
        Some(Self { role, name, content, calls: calls.collect() })
    }
}

/// A part of a message as text: an image or file by its kind.
fn part_text(part: &Value) -> String {
    match part.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => {
            let kind = part.as_object().and_then(|part| part.keys().next()).map_or("part", String::as_str);
            format!("[{kind}]")
        }
    }
}

/// The messages of an output.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    /// The head.
    pub head: Head,
    /// The messages in order.
    pub messages: Vec<Message>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// TG-13: an output with `messages` is a conversation: roles, texts, calls with their arguments, results with the name
    /// of their tool. Anything else is not.
    #[test]
    fn an_output_with_messages_is_a_conversation() {
        let output = json!({ "text": "Done.", "messages": [
            { "role": "user", "content": [{ "text": "Look:" }, { "image": { "source": "x" } }] },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c1", "name": "find", "arguments": { "q": "<b>" } }, { "id": "c2", "name": "find", "arguments": null, "raw": "{" }
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "none" },
        ] });
        let messages = Message::of_output(&output).unwrap();
        assert_eq!(messages[0].content, "Look:\n[image]");
        let call = |arguments: &str| ("find".to_owned(), arguments.to_owned());
        assert_eq!(messages[1].calls, [call(r#"{"q":"<b>"}"#), call("{")]);
        assert_eq!((messages[2].name.as_deref(), messages[2].content.as_str()), (Some("find"), "none"));
        for other in [
            json!("text"),
            json!({"messages": []}),
            json!({"messages": ["a"]}),
            json!({"messages": [{"content": "x"}]}),
        ] {
            assert_eq!(Message::of_output(&other), None, "{other}");
        }
    }
}
