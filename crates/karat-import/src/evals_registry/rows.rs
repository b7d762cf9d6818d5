//! The rows of an eval: a line of JSON each, with `input` and `ideal`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Lost;
use super::registry::{Eval, Registry};
use crate::draft::Draft;
use crate::report::{Approximate, ImportReport};

/// A file of rows, and the examples that stand in each prompt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowFile {
    name: String,
    examples: Option<(String, usize)>,
}

/// A row of an eval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EvalRow {
    /// Its line in the file.
    pub number: usize,
    pub input: Value,
    /// The members beside the input.
    pub members: Map<String, Value>,
}

/// The form of all inputs of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputForm {
    Text,
    Messages,
}

impl RowFile {
    /// The file that an eval names.
    ///
    /// # Errors
    /// An eval that names none.
    pub fn of(eval: &Eval) -> Result<Self, Lost> {
        let name = eval
            .text("samples_jsonl")
            .ok_or_else(|| Lost::new("args", "names no `samples_jsonl`: its rows are made by code or lie elsewhere"))?;
        let number = eval.args.get("num_few_shot").and_then(Value::as_u64).unwrap_or(0) as usize;
        let examples = eval.text("few_shot_jsonl").filter(|_| number > 0).map(|file| (file.to_owned(), number));
        Ok(Self { name: name.to_owned(), examples })
    }

    /// Reads the rows. A line that is none is left out, and listed.
    ///
    /// # Errors
    /// A file that cannot be read, or without any row.
    pub fn read(&self, registry: &Registry<'_>, draft: &mut Draft<'_>) -> Result<Vec<EvalRow>, Lost> {
        let path = registry.data(&self.name)?;
        let examples = match &self.examples {
            None => Vec::new(),
            Some((file, number)) => examples(registry, file, *number)?,
        };
        let text = text_of(registry, &path, "samples_jsonl")?;
        let mut rows = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let row = read_row(line, at + 1, &examples, &self.name, &mut draft.report);
            match row {
                Ok(row) => rows.push(row),
                Err(why) => draft.report.drop(Lost::new("row", why).at(format!("{}:{}", self.name, at + 1), 1)),
            }
        }
        if rows.is_empty() {
            return Err(Lost::new("samples_jsonl", format!("`{}` holds no row with an `input`", self.name)));
        }
        Ok(rows)
    }
}

/// Messages that stand before the last one of each prompt.
fn examples(registry: &Registry<'_>, file: &str, number: usize) -> Result<Vec<Value>, Lost> {
    let lost = |why: String| Lost::new("few_shot_jsonl", why);
    let path = registry.data(file).map_err(|lost_file| Lost { construct: "few_shot_jsonl".to_owned(), ..lost_file })?;
    let text = text_of(registry, &path, "few_shot_jsonl")?;
    let mut messages = Vec::new();
    for (at, line) in text.lines().filter(|line| !line.trim().is_empty()).take(number).enumerate() {
        let row: Value = serde_json::from_str(line)
            .map_err(|error| lost(format!("{file}:{} is not valid JSON: {error}", at + 1)))?;
        let sample = row.get("sample").and_then(Value::as_array);
        messages.extend(sample.ok_or_else(|| lost(format!("{file}:{} has no list `sample`", at + 1)))?.iter().cloned());
    }
    Ok(messages)
}

fn text_of(registry: &Registry<'_>, path: &Path, construct: &str) -> Result<String, Lost> {
    registry.source.text(path).map_err(|error| {
        let lost = Lost::new(construct, error.to_string());
        if error.hint().is_some_and(|hint| hint.contains("lfs")) {
            lost.instead("`git lfs pull`, which fetches it")
        } else {
            lost
        }
    })
}

fn read_row(
    line: &str,
    number: usize,
    examples: &[Value],
    file: &str,
    report: &mut ImportReport,
) -> Result<EvalRow, String> {
    let row: Value = serde_json::from_str(line.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("is not valid JSON: {error}"))?;
    let Value::Object(mut members) = row else { return Err("is not an object".to_owned()) };
    let input = members.shift_remove("input").filter(|input| !input.is_null()).ok_or("has no `input`")?;
    let input = match input {
        Value::Array(messages) => {
            let (last, before) = messages.split_last().ok_or("has an empty `input`")?;
            let all = before.iter().chain(examples).chain(std::iter::once(last));
            let mut messages = all.map(|it| message(it, file, report)).collect::<Result<Vec<_>, _>>()?;
            ask_as_user(&mut messages, file, report);
            Value::Array(messages)
        }
        Value::String(_) if !examples.is_empty() => {
            return Err("has a text as `input`, and examples need messages".to_owned());
        }
        Value::String(text) => json!(text),
        _ => return Err("has an `input` that is neither a text nor messages".to_owned()),
    };
    let last = input.as_array().and_then(|messages| messages.iter().rev().find(|it| it["role"] != "system"));
    if last.is_some_and(|last| last["role"] == "assistant") {
        return Err("has an `input` that ends with the assistant, so nothing is asked".to_owned());
    }
    Ok(EvalRow { number, input, members })
}

/// Messages of the system alone ask nothing in a suite: the last of them is asked as the user's.
fn ask_as_user(messages: &mut [Value], file: &str, report: &mut ImportReport) {
    if messages.iter().any(|message| message["role"] != "system") {
        return;
    }
    let Some(last) = messages.last_mut() else { return };
    last["role"] = json!("user");
    report.approximate(Approximate {
        path: file.to_owned(),
        construct: "input".to_owned(),
        metric: "prompt".to_owned(),
        difference: "rows hold messages of the system alone; the last of them is asked as the user's".to_owned(),
    });
}

/// A message with the roles of a suite. Examples there are messages of the system with a name.
fn message(value: &Value, file: &str, report: &mut ImportReport) -> Result<Value, String> {
    let role = value.get("role").and_then(Value::as_str).ok_or("has a message without a `role`")?;
    let role = match (role, value.get("name").and_then(Value::as_str)) {
        ("system", Some("example_user")) => "user",
        ("system", Some("example_assistant")) => "assistant",
        ("developer", _) => "system",
        (role @ ("system" | "user" | "assistant"), _) => role,
        (other, _) => return Err(format!("has a message of the role `{other}`")),
    };
    if value.get("name").is_some() {
        report.note(
            file,
            "messages have names: those of examples are written as user and assistant, others are left out",
        );
    }
    let content = value.get("content").filter(|content| content.is_string() || content.is_array());
    let content = match content.ok_or("has a message without a text")? {
        Value::Array(parts) => {
            let texts: Option<Vec<&str>> = parts.iter().map(|part| part.get("text").unwrap_or(part).as_str()).collect();
            json!(texts.ok_or("has a message with parts that are not text")?.join("\n"))
        }
        text => text.clone(),
    };
    Ok(json!({"role": role, "content": content}))
}

impl EvalRow {
    /// The input in the form that all rows have.
    pub fn input_as(&self, form: InputForm) -> Value {
        match (&self.input, form) {
            (Value::String(text), InputForm::Messages) => json!([{"role": "user", "content": text}]),
            (input, _) => input.clone(),
        }
    }
}
