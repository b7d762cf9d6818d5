//! The simulated user: a model that sees the texts of the conversation with roles swapped, or written messages.

use karat_text::template::Template;
use karat_types::{ChatRequest, Message, Role, UserSpec};
use serde_json::Value;

use super::super::{StepError, StepInput};

/// The words to which a simulated user answers first.
const GREETING: &str = "Hi! How can I help you today?";

/// A simulated user with templates compiled.
pub(super) enum CompiledUser {
    Model { text: Template, first: Option<Template>, stop: String, turns: u32 },
    Script(Vec<Template>),
}

/// The user of one conversation.
pub(super) enum User {
    Model {
        prompt: String,
        first: Option<String>,
        stop: String,
        left: u32,
    },
    /// The messages that are left.
    Script(std::vec::IntoIter<String>),
}

/// The next message of a user.
pub(super) enum UserTurn {
    /// The user says this.
    Says(String),
    /// The model that plays the user has to be asked.
    Ask(Box<ChatRequest>),
    /// The user has nothing more to say.
    Done,
    /// The user has said as much as the suite allows.
    Limit,
}

impl CompiledUser {
    pub fn new(user: &UserSpec) -> Result<Self, StepError> {
        Ok(match user {
            UserSpec::Model { text, first, stop, turns, model: _ } => Self::Model {
                text: Template::compile(text)?,
                first: first.as_deref().map(Template::compile).transpose()?,
                stop: stop.clone(),
                turns: *turns,
            },
            UserSpec::Script(turns) => {
                Self::Script(turns.iter().map(|turn| Template::compile(turn)).collect::<Result<_, _>>()?)
            }
        })
    }

    /// The user of a row.
    ///
    /// # Errors
    /// The message of a template that fails, or of a script that is not a list of texts.
    pub fn start(&self, input: &StepInput) -> Result<User, String> {
        let context = &input.context;
        match self {
            Self::Model { text, first, stop, turns } => {
                let text = text.render(context).map_err(|error| error.to_string())?;
                let first = first.as_ref().map(|first| first.render(context)).transpose();
                Ok(User::Model {
                    prompt: instructions(&text, stop),
                    first: first.map_err(|error| error.to_string())?,
                    stop: stop.clone(),
                    left: *turns,
                })
            }
            Self::Script(turns) => {
                let values = Template::values_together(turns, context).map_err(|error| error.to_string())?;
                let mut texts = Vec::new();
                for value in values {
                    match value {
                        Value::String(text) => texts.push(text),
                        Value::Array(list) => {
                            for item in list {
                                let Value::String(text) = item else {
                                    return Err("`script` gives a list with something else than texts".to_owned());
                                };
                                texts.push(text);
                            }
                        }
                        _ => return Err("`script` gives neither a text nor a list of texts".to_owned()),
                    }
                }
                Ok(User::Script(texts.into_iter()))
            }
        }
    }
}

impl User {
    /// The next message, given the conversation so far.
    pub fn speak(&mut self, conversation: &[Message]) -> UserTurn {
        match self {
            Self::Script(texts) => texts.next().map_or(UserTurn::Done, UserTurn::Says),
            Self::Model { left: 0, .. } => UserTurn::Limit,
            Self::Model { prompt, first, left, .. } => {
                *left -= 1;
                match first.take() {
                    Some(first) => UserTurn::Says(first),
                    None => UserTurn::Ask(Box::new(request(prompt, conversation))),
                }
            }
        }
    }

    /// Returns whether a message ends the conversation.
    pub fn is_stop(&self, message: &str) -> bool {
        matches!(self, Self::Model { stop, .. } if message.contains(stop.as_str()))
    }
}

/// The conversation as the user sees it: texts only, roles swapped, without the agent's instructions and calls.
fn request(prompt: &str, conversation: &[Message]) -> ChatRequest {
    let mut messages = vec![Message::new(Role::System, prompt), Message::new(Role::User, GREETING)];
    for message in conversation {
        let role = match message.role {
            Role::User => Role::Assistant,
            Role::Assistant => Role::User,
            Role::System | Role::Tool => continue,
        };
        let text = message.text();
        if text.trim().is_empty() {
            continue;
        }
        match messages.last_mut().filter(|last| last.role == role) {
            // A text beside calls and the text after them are one message to the user.
            Some(last) => *last = Message::new(role, format!("{}\n\n{text}", last.text())),
            None => messages.push(Message::new(role, text.into_owned())),
        }
    }
    ChatRequest { messages, ..ChatRequest::default() }
}

fn instructions(text: &str, stop: &str) -> String {
    format!(
        "You play a user who talks to an assistant. {text}\n\nRules:\n- Write one message at a time, as this user would.\n\
         - Do not tell everything at once; give only what the assistant needs for the next step.\n\
         - Invent nothing that is not given here. If you do not know something, say so.\n\
         - When your goal is reached, or cannot be reached, write {stop} alone and nothing else.\n\
         - Stay in this role, whatever the assistant writes."
    )
}

#[cfg(test)]
mod tests {
    use karat_types::ToolCall;
    use serde_json::json;

    use super::*;

    /// TG-20: the user sees texts with roles swapped: no instructions of the agent, no calls and no results.
    #[test]
    fn the_user_sees_texts_only() {
        let calls = vec![ToolCall::from_value("c", "refund", json!({}))];
        let conversation = [
            Message::new(Role::System, "SECRET POLICY"),
            Message::new(Role::User, "Refund A1."),
            Message { tool_calls: calls, ..Message::new(Role::Assistant, "Let me look.") },
            Message::tool_result("c", "done"),
            Message::new(Role::Assistant, "It is done."),
        ];
        let asked = request("You are Ada.", &conversation);
        let seen: Vec<(Role, String)> =
            asked.messages.iter().map(|message| (message.role, message.text().into_owned())).collect();
        let expected = [
            (Role::System, "You are Ada."),
            (Role::User, GREETING),
            (Role::Assistant, "Refund A1."),
            (Role::User, "Let me look.\n\nIt is done."),
        ];
        assert_eq!(seen, expected.map(|(role, text)| (role, text.to_owned())));
    }
}
