//! Prompts: texts and chats, in the config or in files.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::error::ImportError;
use crate::promptfoo::nunjucks::{Members, column_name};
use crate::promptfoo::refusal::{Refusal, drop_unknown_keys};
use crate::promptfoo::settings::Reads;
use crate::promptfoo::values::text_of;
use crate::promptfoo::{files, models};
use crate::report::ImportReport;
use crate::source::Source;
use crate::text::names::Names;

const KEYS: [&str; 3] = ["raw", "id", "label"];

/// Characters up to which a prompt stands in the suite and not in a file of its own.
const INLINE: usize = 160;

/// A prompt of a suite.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Prompt {
    pub id: String,
    /// Names by which tests and providers mean it.
    names: Vec<String>,
    pub body: PromptBody,
    /// The same, where a member of an absent value is empty.
    pub tolerant: PromptBody,
}

/// The id of the prompt that stands for those that were dropped.
const PLACEHOLDER: &str = "placeholder";

/// The content of a prompt, as templates of a suite.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PromptBody {
    Text(String),
    /// Messages as a suite writes them.
    Chat(Vec<Value>),
}

impl PromptBody {
    /// The templates in it.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            Self::Chat(messages) => messages
                .iter()
                .filter_map(|message| message.get("content"))
                .flat_map(|content| match content {
                    Value::Array(parts) => parts.iter().filter_map(|part| part.as_object()?.values().next()).collect(),
                    text => vec![text],
                })
                .filter_map(Value::as_str)
                .collect(),
        }
    }
}

impl Prompt {
    /// The prompt that stands for prompts that were all dropped: it sends the variables as they are.
    pub fn placeholder(vars: &[String]) -> Self {
        let texts = vars.iter().map(|name| format!("{name}: {{{{ sample.{} }}}}", column_name(name)));
        let text =
            if vars.is_empty() { "Write the prompt here.".to_owned() } else { texts.collect::<Vec<_>>().join("\n") };
        let body = PromptBody::Text(text);
        Self { id: PLACEHOLDER.to_owned(), names: Vec::new(), tolerant: body.clone(), body }
    }

    pub fn is_placeholder(&self) -> bool {
        self.id == PLACEHOLDER && self.names.is_empty()
    }

    /// Returns true if a test or provider that lists these names uses the prompt.
    pub fn is_among(&self, wanted: &[String]) -> bool {
        wanted.iter().any(|wanted| {
            self.names.iter().any(|name| match wanted.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == wanted || name.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with(':')),
            })
        })
    }

    /// The action of a step: a file where the text is long, which is then written with `write`.
    pub fn to_action(&self, write: impl FnOnce(&str, &str) -> Result<(), ImportError>) -> Result<Value, ImportError> {
        let messages = match &self.body {
            PromptBody::Text(text) if text.chars().count() <= INLINE && text.lines().count() <= 3 => {
                let end = if text.ends_with('\n') { "\n" } else { "" };
                return Ok(json!({"text": format!("{text}{end}")}));
            }
            PromptBody::Text(text) => {
                // The newline at the end of a file is not part of the text.
                let path = format!("prompts/{}.md", self.id);
                write(&path, &format!("{text}\n"))?;
                return Ok(json!(path));
            }
            PromptBody::Chat(messages) => messages,
        };
        let content = |at: usize, role: &str| {
            let message = messages.get(at).filter(|message| message.get("role") == Some(&json!(role)))?;
            message.get("content").filter(|content| content.is_string()).cloned()
        };
        Ok(match (messages.len(), content(0, "user"), content(0, "system"), content(1, "user")) {
            (1, Some(user), ..) => json!({"text": user}),
            (2, _, Some(system), Some(user)) => json!({"system": system, "user": user}),
            _ => json!({"messages": messages}),
        })
    }

    /// The text that a provider such as `echo` gets: of a chat its JSON.
    pub fn to_text(&self) -> String {
        match &self.body {
            PromptBody::Text(text) => text.clone(),
            PromptBody::Chat(messages) => serde_json::to_string_pretty(messages).unwrap_or_default(),
        }
    }
}

/// A prompt before it has an id.
struct Raw {
    path: String,
    label: Option<String>,
    id: Option<String>,
    /// The file that it is in.
    file: Option<String>,
    text: String,
}

/// Reads prompts in order.
pub(super) struct PromptReader<'a> {
    pub source: &'a Source,
    pub from: &'a Path,
    pub reads: &'a mut Reads,
}

impl PromptReader<'_> {
    /// The prompts of a config.
    ///
    /// # Errors
    /// A file that cannot be read or lies outside.
    pub fn read(&mut self, value: &Value, report: &mut ImportReport) -> Result<Vec<Prompt>, ImportError> {
        let mut raw = Vec::new();
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    raw.extend(self.read_item(format!("prompts[{at}]"), item, report)?);
                }
            }
            // The old form: a file and its label.
            Value::Object(labels) if !labels.contains_key("raw") && !labels.contains_key("id") => {
                for (file, label) in labels {
                    let path = format!("prompts.{file}");
                    raw.extend(self.read_text(&path, file, label.as_str(), report)?);
                }
            }
            item => raw.extend(self.read_item("prompts".to_owned(), item, report)?),
        }
        let mut ids = Names::default();
        let mut prompts = Vec::new();
        for (at, raw) in raw.into_iter().enumerate() {
            match self.body(&raw, report) {
                Ok((body, tolerant)) => {
                    let fallback = format!("prompt-{}", at + 1);
                    let id = ids.take(raw.label.as_deref().unwrap_or(&fallback), &fallback);
                    let names = [raw.label, raw.id, raw.file, Some(raw.text), Some(id.clone())];
                    prompts.push(Prompt { id, names: names.into_iter().flatten().collect(), body, tolerant });
                }
                Err(why) => {
                    let refusal = Refusal::new(format!("its template has no counterpart: {why}"))
                        .instead("the prompt, rewritten");
                    report.drop(refusal.of_all(&raw.path, "prompt"));
                }
            }
        }
        Ok(prompts)
    }

    fn read_item(&self, path: String, item: &Value, report: &mut ImportReport) -> Result<Vec<Raw>, ImportError> {
        match item {
            Value::String(text) => self.read_text(&path, text, None, report),
            Value::Object(prompt) => {
                drop_unknown_keys(&path, prompt, &KEYS, report);
                if let Some(key) = prompt.get("config").and_then(Value::as_object).and_then(models::route) {
                    let refusal = Refusal::new(format!("its `config.{key}` decides where it is sent"));
                    report.drop(refusal.instead("a model's entry with `base_url`").of_all(&path, "prompt"));
                    return Ok(Vec::new());
                }
                let text = |key: &str| prompt.get(key).and_then(Value::as_str);
                let named = |raw: Raw| Raw { id: text("id").map(str::to_owned), ..raw };
                match (text("raw"), text("id"), text("label")) {
                    (Some(raw), id, label) => {
                        let read = self.read_text(&path, raw, label.or(id), report)?;
                        Ok(read.into_iter().map(named).collect())
                    }
                    (None, Some(id), label) => self.read_text(&path, id, label, report),
                    (None, None, _) => {
                        report.drop(Refusal::new("has neither `raw` nor `id`").of_all(&path, "prompt"));
                        Ok(Vec::new())
                    }
                }
            }
            _ => {
                report.drop(Refusal::new("is neither a text nor a map").of_all(&path, "prompt"));
                Ok(Vec::new())
            }
        }
    }

    /// Prompts of a text: itself, or what stands in the file that it names.
    fn read_text(
        &self,
        path: &str,
        text: &str,
        label: Option<&str>,
        report: &mut ImportReport,
    ) -> Result<Vec<Raw>, ImportError> {
        let label = label.map(str::to_owned);
        let name = files::file_name(text).or_else(|| Some(text).filter(|text| is_file_name(text)));
        let Some(name) = name else {
            if text.starts_with("exec:") || text.starts_with("package:") {
                report.drop(code().of_all(path, text));
                return Ok(Vec::new());
            }
            if STORES.iter().any(|store| text.starts_with(store)) {
                let refusal = Refusal::new("lies elsewhere, and an import opens no connection");
                report.drop(refusal.instead("the prompt's text").of_all(path, text));
                return Ok(Vec::new());
            }
            let is_text = chat_messages(text.trim()).is_none();
            let text = if is_text { text.to_owned() } else { text.trim().to_owned() };
            return Ok(vec![Raw { path: path.to_owned(), label, id: None, file: None, text }]);
        };
        if files::is_code(name) {
            report.drop(code().of_all(path, text));
            return Ok(Vec::new());
        }
        let read = files::matching(self.source, self.from, name).and_then(|files| {
            let contents = files.into_iter().map(|file| Ok((self.source.text(&file)?, file)));
            contents.collect::<Result<Vec<_>, ImportError>>()
        });
        let files = match read {
            Ok(files) => files,
            Err(error) => {
                report.drop(Refusal::of_error(&error).of_all(path, text));
                return Ok(Vec::new());
            }
        };
        let mut prompts = Vec::new();
        for (content, file) in files {
            let name = files::relative_name(&file, self.from);
            let raw = |text: &str, label: Option<String>| Raw {
                path: path.to_owned(),
                label,
                id: None,
                file: Some(name.clone()),
                text: text.trim().to_owned(),
            };
            match files::ending(&name).as_str() {
                "txt" => {
                    let parts = split_at_rules(&content);
                    prompts.extend(parts.iter().map(|part| raw(part, label.clone())));
                }
                "jsonl" => {
                    let lines = content.lines().filter(|line| !line.trim().is_empty());
                    prompts.extend(lines.map(|line| raw(line, label.clone())));
                }
                "csv" => {
                    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(content.as_bytes());
                    for row in reader.deserialize::<Map<String, Value>>() {
                        let row = row.map_err(|error| {
                            let line = error.position().map_or(1, |position| position.line() as usize);
                            ImportError::new(file.display(), format!("is not a CSV table: {error}")).at_line(line)
                        })?;
                        let cell = |name: &str| row.get(name).map(text_of).filter(|cell| !cell.is_empty());
                        prompts.extend(cell("prompt").map(|text| raw(&text, cell("label").or(label.clone()))));
                    }
                }
                _ => prompts.push(raw(&content, label.clone())),
            }
        }
        Ok(prompts)
    }

    /// The prompt as templates, and the same where a member of an absent value is empty.
    fn body(&mut self, raw: &Raw, report: &mut ImportReport) -> Result<(PromptBody, PromptBody), String> {
        let plain = self.body_in(raw, report)?;
        self.reads.members = Members::Optional;
        let tolerant = self.body_in(raw, report);
        self.reads.members = Members::Required;
        Ok((plain, tolerant?))
    }

    fn body_in(&mut self, raw: &Raw, report: &mut ImportReport) -> Result<PromptBody, String> {
        let Some(messages) = chat_messages(&raw.text) else {
            if raw.text.starts_with('[') && raw.text.contains("\"role\"") {
                report.note(
                    raw.path.clone(),
                    "a chat that is JSON only after its variables are filled in is sent as one message",
                );
            }
            return self.reads.translate(&raw.text).map(PromptBody::Text);
        };
        let messages = messages.iter().map(|message| self.message(message));
        messages.collect::<Result<_, _>>().map(PromptBody::Chat)
    }

    fn message(&mut self, message: &Value) -> Result<Value, String> {
        let role = match message.get("role").and_then(Value::as_str).unwrap_or_default() {
            role @ ("system" | "user" | "assistant") => role,
            "developer" => "system",
            other => return Err(format!("messages of the role `{other}` cannot be written")),
        };
        let content = match message.get("content") {
            Some(Value::Array(parts)) => parts.iter().map(|part| self.part(part)).collect::<Result<_, _>>()?,
            Some(content) => json!(self.reads.translate(&text_of(content))?),
            None => json!(""),
        };
        Ok(json!({"role": role, "content": content}))
    }

    fn part(&mut self, part: &Value) -> Result<Value, String> {
        let image = part.get("image_url").map(|image| image.get("url").unwrap_or(image));
        match (part.get("text"), image) {
            (Some(text), _) => Ok(json!({"text": self.reads.translate(&text_of(text))?})),
            (None, Some(Value::String(url))) => Ok(json!({"image": self.reads.translate(url)?})),
            _ => Err("a part of a message is neither text nor an image".to_owned()),
        }
    }
}

/// Beginnings of the names of prompts that a service keeps.
const STORES: [&str; 3] = ["langfuse://", "portkey://", "helicone://"];

fn code() -> Refusal {
    Refusal::of_program().instead("a template, or a `command` step")
}

/// Returns true if a prompt without `file://` is the name of a file.
fn is_file_name(text: &str) -> bool {
    let is_path = !text.contains(char::is_whitespace) && !text.contains("{{");
    is_path
        && (files::is_code(text)
            || matches!(files::ending(text).as_str(), "txt" | "md" | "json" | "jsonl" | "yaml" | "yml" | "csv"))
}

/// The parts of a text between lines that are `---`.
fn split_at_rules(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        match parts.last_mut() {
            Some(part) if line.trim_end() != "---" => {
                part.push_str(line);
                part.push('\n');
            }
            _ => parts.push(String::new()),
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// The messages of a prompt that is a list of `{role, content}` as JSON or YAML.
fn chat_messages(text: &str) -> Option<Vec<Value>> {
    let value: Value = match text.chars().next()? {
        '[' => serde_json::from_str(text).ok()?,
        '-' => serde_saphyr::from_str(text).ok()?,
        _ => return None,
    };
    let Value::Array(messages) = value else { return None };
    let is_chat = |message: &Value| message.get("role").is_some_and(Value::is_string);
    (!messages.is_empty() && messages.iter().all(is_chat)).then_some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-02: texts are split at lines of `---`; lists of messages are chats.
    #[test]
    fn files_hold_several_prompts_and_chats() {
        assert_eq!(split_at_rules("a\n---\nb --- c\n\n---\n"), ["a\n", "b --- c\n\n"]);
        assert_eq!(chat_messages("- role: user\n  content: hi").map(|it| it.len()), Some(1));
        assert_eq!(chat_messages("- a list of words"), None);
        assert_eq!(chat_messages("[1]"), None);
    }

    /// IO-02: tests and providers mean prompts by label, id, file, or the beginning of one.
    #[test]
    fn prompts_are_meant_by_name() {
        let names = vec!["plain".to_owned(), "answers: short".to_owned()];
        let body = PromptBody::Text(String::new());
        let prompt = Prompt { id: "plain".to_owned(), names, tolerant: body.clone(), body };
        for (wanted, expected) in [("plain", true), ("pl*", true), ("answers", true), ("pla", false), ("short", false)]
        {
            assert_eq!(prompt.is_among(&[wanted.to_owned()]), expected, "{wanted}");
        }
    }
}
