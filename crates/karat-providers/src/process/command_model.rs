//! Models that are local programs: `claude -p`, `codex exec`, `gemini -p`, or the user's own.
//!
//! The prompt is the conversation as text: a single message as it is, several under the names of their roles. The
//! program's output is the reply. It is started without a shell and inherits the environment, which holds its own
//! login, except for Claude Code's session variables and those that its entry removes. Failures are not retried.

use bytes::Bytes;
use karat_types::{ChatRequest, FinishReason, Reply, ReplyFormat, Role};

use crate::answer::json::UnreadableReply;
use crate::options::CommandOptions;
use crate::process::program::{Environment, Program};

/// Maximum size of a prompt as an argument, in bytes; systems refuse arguments of 128 KiB.
const MOST_AS_ARGUMENT: usize = 100_000;

/// Variables of a Claude Code session: a program that finds one takes itself for a part of that session. Claude Code's
/// settings and its login (`CLAUDE_CODE_OAUTH_TOKEN`) are not among them.
const SESSION_MARKS: [&str; 4] = ["CLAUDECODE", "CLAUDE_CODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT"];

/// A connected local program.
pub(crate) struct CommandModel {
    words: Vec<String>,
    env_remove: Vec<String>,
}

impl CommandModel {
    /// Reads the options.
    pub fn new(options: CommandOptions, model: &str) -> Result<Self, String> {
        if options.command.first().is_none_or(|program| program.trim().is_empty()) {
            return Err("`command` names no program; write `command: [claude, -p, \"{{ prompt }}\"]`".to_owned());
        }
        let at = options.command.iter().position(|word| is_prompt(word)).unwrap_or(options.command.len());
        let mut words: Vec<String> = options.command.iter().map(|word| fill_model(word, model)).collect();
        words.splice(at..at, options.args);
        let marks = SESSION_MARKS.iter().map(|&mark| mark.to_owned());
        Ok(Self { words, env_remove: marks.chain(options.env_remove).collect() })
    }

    /// Its command line, with `<prompt>` for the prompt.
    pub fn display_line(&self) -> String {
        let word = |word: &String| match word.as_str() {
            word if is_prompt(word) => "<prompt>".to_owned(),
            word if word.is_empty() || word.contains(char::is_whitespace) => format!("{word:?}"),
            word => word.to_owned(),
        };
        self.words.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    /// The program for a request, and its standard input.
    pub fn program(&self, request: &ChatRequest) -> (Program, Bytes) {
        let prompt = prompt(request);
        let is_argument = can_be_argument(&prompt) && self.words.iter().any(|word| is_prompt(word));
        let run = self.words.iter().filter(|word| is_argument || !is_prompt(word));
        let run = run.map(|word| if is_prompt(word) { prompt.clone() } else { word.clone() }).collect();
        let environment = Environment::Without(self.env_remove.clone());
        let input = if is_argument { Bytes::new() } else { prompt.into() };
        (Program { run, environment, folder: String::new() }, input)
    }
}

/// Returns whether a text can be an argument of a program: a NUL would end it.
fn can_be_argument(text: &str) -> bool {
    text.len() <= MOST_AS_ARGUMENT && !text.contains('\0')
}

/// Parses a program's output as a reply.
///
/// # Errors
/// It printed nothing.
pub(crate) fn parse_reply(printed: &[u8]) -> Result<Reply, UnreadableReply> {
    let text = String::from_utf8_lossy(printed).trim().to_owned();
    if text.is_empty() {
        return Err(UnreadableReply::invalid_body("printed nothing"));
    }
    Ok(Reply::new(text, FinishReason::Stop))
}

fn is_prompt(word: &str) -> bool {
    placeholder(word) == Some("prompt")
}

fn fill_model(word: &str, model: &str) -> String {
    if placeholder(word) == Some("model") { model.to_owned() } else { word.to_owned() }
}

/// The name in a word that is only a `{{ placeholder }}`.
fn placeholder(word: &str) -> Option<&str> {
    word.trim().strip_prefix("{{")?.strip_suffix("}}").map(str::trim)
}

/// The conversation as one text.
fn prompt(request: &ChatRequest) -> String {
    let several = request.messages.iter().filter(|message| message.role != Role::System).count() > 1;
    let part = |message: &karat_types::Message| match message.role {
        Role::Assistant => format!("[Your reply]\n{}", message.text()),
        Role::Tool => format!("[Result]\n{}", message.text()),
        Role::User if several => format!("[User]\n{}", message.text()),
        Role::User | Role::System => message.text().into_owned(),
    };
    let mut parts: Vec<String> = request.messages.iter().map(part).collect();
    match &request.format {
        ReplyFormat::Text | ReplyFormat::Vectors { .. } => {}
        ReplyFormat::Json => parts.push("Reply with one JSON object and nothing else.".to_owned()),
        ReplyFormat::Schema { schema, .. } => {
            parts.push(format!(
                "Reply with one JSON value that satisfies this JSON Schema, and nothing else:\n{schema}"
            ));
        }
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use karat_types::Message;
    use serde_json::json;

    use super::*;

    fn request(messages: &[(Role, &str)]) -> ChatRequest {
        let message = |(role, content): &(Role, &str)| Message::new(*role, *content);
        let messages = messages.iter().map(message).collect();
        ChatRequest { messages, ..ChatRequest::default() }
    }

    fn claude(args: &[&str]) -> CommandModel {
        let options = json!({"command": ["claude", "-p", "--model", "{{ model }}", "{{ prompt }}"], "args": args});
        CommandModel::new(serde_json::from_value(options).unwrap(), "haiku").unwrap()
    }

    /// BR-05: the prompt is an argument up to 100 kB, else standard input, as is one with a NUL; no flags are added but
    /// those of the entry.
    #[test]
    fn a_long_prompt_goes_to_standard_input() {
        let (program, input) = claude(&[]).program(&request(&[(Role::User, "grade; $(this)")]));
        assert_eq!(program.run, ["claude", "-p", "--model", "haiku", "grade; $(this)"]);
        assert!(input.is_empty());
        let long = "x".repeat(100_001);
        let (program, input) = claude(&["--fast"]).program(&request(&[(Role::User, &long)]));
        assert_eq!(program.run, ["claude", "-p", "--model", "haiku", "--fast"]);
        assert_eq!(input.len(), 100_001);
        let (program, input) = claude(&[]).program(&request(&[(Role::User, "grade \0 this")]));
        assert_eq!((program.run.len(), &input[..]), (4, &b"grade \0 this"[..]));
        assert_eq!(claude(&["two words"]).display_line(), "claude -p --model haiku \"two words\" <prompt>");
    }

    /// BR-05: session variables are removed for every program, whatever its entry says; a login is not.
    #[test]
    fn programs_do_not_inherit_session_variables() {
        let options = json!({"command": ["mine", "{{ prompt }}"], "env_remove": ["DEBUG"]});
        let mine = CommandModel::new(serde_json::from_value(options).unwrap(), "m").unwrap();
        let (program, _) = mine.program(&request(&[(Role::User, "grade")]));
        let Environment::Without(names) = program.environment else { panic!("a clean environment") };
        for name in ["CLAUDECODE", "CLAUDE_CODE", "DEBUG"] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        assert!(!names.iter().any(|known| known == "CLAUDE_CODE_OAUTH_TOKEN"));
    }

    #[test]
    fn a_conversation_names_its_roles() {
        let turns = [(Role::System, "s"), (Role::User, "a"), (Role::Assistant, "b"), (Role::User, "c")];
        assert_eq!(prompt(&request(&turns)), "s\n\n[User]\na\n\n[Your reply]\nb\n\n[User]\nc");
    }

    #[test]
    fn empty_output_is_not_a_reply() {
        assert!(parse_reply(b" \n").is_err());
        assert_eq!(parse_reply(b"{\"a\":1}\n").unwrap().text, "{\"a\":1}");
    }
}
