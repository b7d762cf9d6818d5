//! Calls of tools that a running program answers, which keeps its state by conversation.
//!
//! A call is one line `{"id": N, "conversation": …, "begin": true, "tool": …, "arguments": {…}, "sample": {"id": …}}`,
//! with `begin` in the first of a conversation. Its answer is one line `{"id": N, "result": …}` or `{"id": N, "error":
//! "why"}`. At the end of a conversation the program gets `{"id": N, "conversation": …, "end": true}`, whose answer
//! nothing waits for. Arguments of a model are in this line only: never in the program's words or environment.

use std::time::Duration;

use karat_types::{CallError, CallErrorCode, CommandRequest, FinishReason, Reply, ToolRequest};
use serde_json::{Map, Value, json};

use crate::answer::failure::{CallTarget, Callee};
use crate::process::jsonl_process::{ConversationLine, Line};
use crate::process::program::{Environment, Program};
use crate::registry::providers::Providers;

impl Providers {
    /// Calls a tool. The reply's text is the line of the program. A call is made once: the tool may have acted.
    ///
    /// # Errors
    /// The program failed, timed out, or has lost the state of the conversation.
    pub async fn call_tool(&self, who: &str, call: &ToolRequest, timeout: Duration) -> Result<Reply, CallError> {
        let secrets = &self.dispatch.secrets;
        let failed = |message| CallError { code: CallErrorCode::Process, message, status: None };
        let program = self.tool_program(&call.command).map_err(|problem| failed(format!("{who}: {problem}")))?;
        let mut members = Map::from_iter([("conversation".to_owned(), Value::from(call.conversation.as_str()))]);
        if call.begin {
            members.insert("begin".to_owned(), true.into());
        }
        members.insert("tool".to_owned(), call.tool.as_str().into());
        members.insert("arguments".to_owned(), call.arguments.clone());
        members.insert("sample".to_owned(), json!({ "id": call.sample }));
        let conversation = ConversationLine { name: call.conversation.clone(), begin: call.begin };
        let line = Line { members: members_text(&members), conversation: Some(conversation) };
        let answer = self.jsonl_programs.ask(&program, line, timeout, &self.settings).await;
        let target = CallTarget { who: Callee::External(who), address: "" };
        let line = answer.map_err(|failure| failure.error(target, 1, secrets))?;
        let captured = secrets.capture(line, true);
        let text = std::str::from_utf8(&captured);
        let text = text.map_err(|_| {
            failed(format!("{who}: program `{}` answered with bytes that are not UTF-8", program.name()))
        })?;
        Ok(Reply::new(text, FinishReason::Stop))
    }

    /// Tells a program that a conversation is over, if it is still running.
    pub async fn end_conversation(&self, call: &ToolRequest) {
        let Ok(program) = self.tool_program(&call.command) else { return };
        let members = json!({ "conversation": call.conversation, "end": true });
        let members = members.as_object().map(members_text).unwrap_or_default();
        self.jsonl_programs.tell_end(&program, &call.conversation, members, &self.settings).await;
    }

    fn tool_program(&self, command: &CommandRequest) -> Result<Program, String> {
        let env = command.env.iter().map(|(name, text)| Ok((name.clone(), self.fill(text)?)));
        let environment = Environment::Clean(env.collect::<Result<_, String>>()?);
        Ok(Program { run: command.run.clone(), environment, folder: command.folder.clone() })
    }
}

/// The members of an object as JSON, without its braces.
fn members_text(members: &Map<String, Value>) -> String {
    let members = members.iter().map(|(name, value)| format!("{}:{value}", Value::from(name.as_str())));
    members.collect::<Vec<_>>().join(",")
}
