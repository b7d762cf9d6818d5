//! Conversations of rows: OpenAI-shaped messages as turns of a request.
//!
//! - here: [`Conversation`], which gathers turns and checks that they follow each other
//! - `turns.rs` reads the messages of a row; `media.rs` reads images and files

mod media;
mod turns;

use std::collections::HashSet;

use karat_types::{Message, Role};
use serde_json::Value;

pub use media::image_size;
pub(crate) use media::{MAX_MEDIA_BYTES, media_of, media_type_of};

/// The turns of one request so far.
#[derive(Debug, Default)]
pub struct Conversation {
    messages: Vec<Message>,
    calls: HashSet<String>,
    /// The name of the list that the last turn came from.
    last: Option<String>,
}

impl Conversation {
    /// Adds a turn that the suite writes.
    pub fn push(&mut self, message: Message) {
        self.last = None;
        self.messages.push(message);
    }

    /// Adds the turns of a row. `name` stands for them in messages; files are named relative to `folder`. Null is not a turn.
    /// Texts of the row are taken as they are.
    ///
    /// # Errors
    /// The value is not a list of messages, or a turn answers a call that nothing before it made.
    pub fn splice(&mut self, name: &str, value: &Value, folder: &str) -> Result<(), String> {
        let items = match value {
            Value::Null => return Ok(()),
            Value::Array(items) => items,
            Value::String(_) => {
                return Err(format!(
                    "`{name}` is a text, `messages` takes a list: `{{{{ sample.{name} | fromjson }}}}`"
                ));
            }
            other => {
                return Err(format!(
                    "`{name}` is {}, `messages` takes a list of messages",
                    karat_text::kind::kind(other)
                ));
            }
        };
        for (at, item) in items.iter().enumerate() {
            let place = format!("{name}[{at}]");
            let message = turns::read(item, &place, folder)?;
            if let Some(id) = message.tool_call_id.as_ref().filter(|id| !self.calls.contains(*id)) {
                return Err(format!("`{place}` answers call `{id}`, which nothing before it made"));
            }
            self.calls.extend(message.tool_calls.iter().map(|call| call.id.clone()));
            self.messages.push(message);
            self.last = Some(name.to_owned());
        }
        Ok(())
    }

    /// The turns, in whatever order they are.
    pub fn into_messages(self) -> Vec<Message> {
        self.messages
    }

    /// The turns.
    ///
    /// # Errors
    /// Nothing is asked: there is no turn, or the last one is the assistant's.
    pub fn finish(self) -> Result<Vec<Message>, String> {
        let name = self.last.as_deref().unwrap_or("messages");
        match self.messages.iter().rfind(|message| message.role != Role::System) {
            None => Err(format!("`{name}` is empty: nothing is asked")),
            Some(message) if message.role == Role::Assistant => {
                Err(format!("`{name}` ends with the assistant: nothing is asked"))
            }
            Some(_) => Ok(self.messages),
        }
    }
}

/// The name of an expression's value in messages: `turns` for `sample.turns`.
pub fn value_name(expression: &str) -> &str {
    let expression = expression.trim();
    expression.strip_prefix("sample.").unwrap_or(expression)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Vec<Message>, String> {
        let mut conversation = Conversation::default();
        conversation.splice("turns", &value, "data")?;
        conversation.finish()
    }

    /// TG-01: OpenAI-shaped messages are read with their roles, calls and parts, and texts are left as they are.
    #[test]
    fn messages_of_rows_are_read() {
        let messages = read(json!([
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "{{ x }}"}, {"type": "image_url", "image_url": {"url": "https://h/a.png", "detail": "low"}}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "get", "arguments": "{\"id\":7}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            {"role": "assistant", "tool_calls": [{"id": "c2", "name": "get", "arguments": {}}]},
            {"role": "tool", "tool_call_id": "c2", "content": "again"},
        ]))
        .unwrap();
        assert_eq!(messages[0], Message::new(Role::System, "Be brief."));
        assert_eq!(messages[1].text(), "{{ x }}");
        assert_eq!(messages[1].content.media().next().unwrap().detail.as_deref(), Some("low"));
        assert_eq!(messages[2].tool_calls[0].arguments, json!({"id": 7}));
        assert_eq!(messages[3], Message::tool_result("c1", "done"));
        assert_eq!(messages[4].tool_calls[0].name, "get");
        assert_eq!(read(json!([{"role": "user", "content": "hi"}])).unwrap().len(), 1);
    }

    /// TG-01: everything that is wrong with a row's messages is named with its place.
    #[test]
    fn wrong_messages_are_named() {
        for (value, wanted) in [
            (json!([{"role": "user", "content": ""}, {}, {"role": "bot"}]), "`turns[1].role` is missing; roles are"),
            (
                json!([{"role": "bot", "content": "a"}]),
                "`turns[0].role` is `bot`; roles are system, user, assistant, tool",
            ),
            (json!("[]"), "`turns` is a text, `messages` takes a list: `{{ sample.turns | fromjson }}`"),
            (json!({"role": "user"}), "`turns` is an object, `messages` takes a list of messages"),
            (json!(["hi"]), "`turns[0]` is a text, not a message"),
            (json!([{"role": "user", "content": 5}]), "`turns[0].content` is a number"),
            (
                json!([{"role": "user", "content": [{"type": "video"}]}]),
                "`turns[0].content[0]` is not text, image or file",
            ),
            (json!([{"role": "tool", "content": "a"}]), "`turns[0]` has no `tool_call_id`"),
            (
                json!([{"role": "tool", "content": "a", "tool_call_id": "c9"}]),
                "`turns[0]` answers call `c9`, which nothing before it made",
            ),
            (json!([{"role": "assistant", "tool_calls": [{"id": "c"}]}]), "`turns[0].tool_calls[0]` has no name"),
            (
                json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]),
                "`turns` ends with the assistant: nothing is asked",
            ),
            (json!([]), "`messages` is empty: nothing is asked"),
            (json!(null), "`messages` is empty: nothing is asked"),
        ] {
            let said = read(value.clone()).unwrap_err();
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
    }
}
