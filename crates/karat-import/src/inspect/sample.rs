//! Samples of a log.

use serde_json::Value;

use super::content::{read_content, read_input, with_attachments};
use super::is_blank;
use super::log::{Entry, id_text};
use super::value::{ScoreValue, read_value};
use crate::error::ImportError;
use crate::recorded::{Output, Sample, TokenUse};
use crate::report::Dropped;

/// Members of a sample that are read, that only repeat what is read, or that identify it. `events_data` is a part of `events`.
const READ: [&str; 20] = [
    "id",
    "epoch",
    "input",
    "choices",
    "target",
    "messages",
    "output",
    "scores",
    "metadata",
    "model_usage",
    "role_usage",
    "started_at",
    "completed_at",
    "total_time",
    "working_time",
    "uuid",
    "error",
    "attachments",
    "turn_count",
    "events_data",
];

/// Members that are left out for a reason of their own. Any other member is named with the last reason.
const REASONS: [(&str, &str); 5] = [
    ("events", "a suite keeps outputs and scores, not how they came about"),
    ("store", "it is the state of a program"),
    ("timelines", "they belong to `events`"),
    ("sandbox", "the outputs are recorded, and need none"),
    ("", "a suite has no place for it"),
];

/// Reads an entry: the sample, its output, and what is not carried over.
///
/// # Errors
/// An entry without an id.
pub(super) fn read(entry: &Entry) -> Result<(Sample, Output, Vec<Dropped>), ImportError> {
    let part = |name: &str| entry.members.get(name).unwrap_or(&Value::Null);
    let attachments = part("attachments").as_object();
    let resolved = |value: &Value| with_attachments(value, attachments);
    let id = part("id");
    if !(id.is_string() || id.is_number()) {
        return Err(ImportError::new(&entry.place, format!("has the `id` {id}; a text or a number is expected")));
    }
    let mut drops = Drops::default();
    let (input, has_media) = read_input(&resolved(part("input")));
    if has_media {
        drops.add("input[*].content", "media", "only texts of messages are carried over");
    }
    let choices = Some(part("choices")).filter(|choices| !is_blank(choices));
    let sample = Sample {
        id: id_text(id),
        input: Some(input),
        reference: Some(resolved(part("target"))).filter(|target| !is_blank(target)),
        columns: choices.map(|choices| ("choices".to_owned(), resolved(choices))).into_iter().collect(),
        metadata: resolved(part("metadata")).as_object().cloned().unwrap_or_default(),
    };
    let output = read_output(entry, &sample.id, &resolved, &mut drops);
    let others = entry.members.iter().filter(|(name, value)| !READ.contains(&name.as_str()) && !is_blank(value));
    for (name, _) in others {
        let why = REASONS.iter().find(|(known, _)| known == name || known.is_empty()).map_or("", |(_, why)| why);
        drops.add(name, name, why);
    }
    Ok((sample, output, drops.0))
}

fn read_output(entry: &Entry, id: &str, resolved: &impl Fn(&Value) -> Value, drops: &mut Drops) -> Output {
    let part = |name: &str| entry.members.get(name).unwrap_or(&Value::Null);
    let message = part("output").pointer("/choices/0/message").unwrap_or(&Value::Null);
    let content = read_content(&resolved(message.get("content").unwrap_or(&Value::Null)));
    if content.has_media {
        drops.add("output.choices[0].message.content", "media", "only texts of messages are carried over");
    }
    if uses_tools(part("messages")) || !is_blank(message.get("tool_calls").unwrap_or(&Value::Null)) {
        drops.add("messages", "tools", "calls of tools and their results are not part of the output");
    }
    let error = part("error").get("message").map(|message| message.as_str().unwrap_or("error").trim().to_owned());
    let error = error.map(|error| if error.is_empty() { "error".to_owned() } else { error });
    let ScoresAndReasons { values: scores, reasons } = read_scores(part("scores"), resolved, drops);
    let (usage, cost_usd) = read_usage(part("model_usage"));
    Output {
        sample: id.to_owned(),
        trial: part("epoch").as_u64().and_then(|epoch| u32::try_from(epoch).ok()).unwrap_or(1).max(1),
        output: if error.is_some() && content.text.is_empty() { Value::Null } else { Value::String(content.text) },
        beside: content.reasoning.map(|reasoning| ("reasoning", Value::String(reasoning))).into_iter().collect(),
        error,
        latency_ms: part("total_time").as_f64().map(|seconds| (seconds * 1e6).round() / 1e3),
        usage,
        cost_usd,
        scores,
        reasons,
    }
}

/// True if a message calls a tool or holds its result.
fn uses_tools(messages: &Value) -> bool {
    let is_tool = |message: &Value| {
        message.get("role").and_then(Value::as_str) == Some("tool")
            || message.get("tool_calls").is_some_and(|calls| !is_blank(calls))
    };
    messages.as_array().is_some_and(|messages| messages.iter().any(is_tool))
}

/// Scores and reasons by name; the name of a score with keys is `SCORE.KEY`.
fn read_scores(scores: &Value, resolved: &impl Fn(&Value) -> Value, drops: &mut Drops) -> ScoresAndReasons {
    let mut read = ScoresAndReasons::default();
    let (values, reasons) = (&mut read.values, &mut read.reasons);
    for (name, score) in scores.as_object().into_iter().flatten() {
        let part = |key: &str| score.get(key).unwrap_or(&Value::Null);
        let scored = match read_value(part("value")) {
            ScoreValue::Scalar(value) => vec![(name.clone(), value)],
            ScoreValue::ByKey(keys) => keys.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)).collect(),
            ScoreValue::NoNumber(kind) => {
                drops.add(&format!("scores.{name}.value"), kind, "only numbers and truth values are scores");
                Vec::new()
            }
        };
        let explanation = resolved(part("explanation"));
        if let Some(reason) = explanation.as_str().filter(|text| !text.is_empty()) {
            reasons.extend(scored.iter().map(|(name, _)| (name.clone(), reason.to_owned())));
        }
        values.extend(scored);
        // The answer is a part of the output, the reason a kind of it.
        for (key, value) in score.as_object().into_iter().flatten() {
            if !matches!(key.as_str(), "value" | "answer" | "explanation" | "reason") && !is_blank(value) {
                drops.add(
                    &format!("scores.{name}.{key}"),
                    key,
                    "a suite keeps the value and the explanation of a score",
                );
            }
        }
    }
    read
}

/// Scores, and explanations by the same names.
#[derive(Default)]
struct ScoresAndReasons {
    values: Vec<(String, Value)>,
    reasons: Vec<(String, String)>,
}

/// Tokens by model, and the cost of all where each has one.
fn read_usage(usage: &Value) -> (Vec<TokenUse>, Option<f64>) {
    let members = usage.as_object();
    let uses = members.into_iter().flatten().map(|(model, usage)| {
        let count = |key: &str| usage.get(key).and_then(Value::as_u64);
        TokenUse {
            model: model.clone(),
            input: count("input_tokens"),
            output: count("output_tokens"),
            cached: count("input_tokens_cache_read"),
        }
    });
    let costs: Option<Vec<f64>> =
        members.into_iter().flatten().map(|(_, usage)| usage.get("total_cost")?.as_f64()).collect();
    (uses.collect(), costs.filter(|costs| !costs.is_empty()).map(|costs| costs.iter().sum()))
}

/// Parts of a sample that are not carried over.
#[derive(Debug, Default)]
struct Drops(Vec<Dropped>);

impl Drops {
    /// `path` is relative to the sample.
    fn add(&mut self, path: &str, construct: &str, why: &str) {
        self.0.push(Dropped {
            path: format!("samples[*].{path}"),
            line: None,
            construct: construct.to_owned(),
            why: why.to_owned(),
            instead: None,
            samples: 1,
        });
    }
}
