//! The rubric for judges of summaries: that of the preset `summary`, whose file is its only source.

use karat_scoring::judge::RubricError;
use karat_types::Rubric;
use serde_json::{Map, Value, json};

/// The preset's rubric in the language of suites.
const PRESET: &str = include_str!("../embedded/summary.yaml");

/// Options of a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeOptions {
    /// The wanted class of model, such as `haiku`: passed on to the [`Completer`](karat_scoring::Completer), which may ignore
    /// it.
    pub model_hint: Option<String>,
    /// True if the judge is asked for up to five ways to improve the summary.
    pub include_suggestions: bool,
    /// Longest rationale in characters; what is longer is cut.
    pub max_rationale_chars: u32,
}

/// No hint, suggestions, 600 characters.
impl Default for JudgeOptions {
    fn default() -> Self {
        Self { model_hint: None, include_suggestions: true, max_rationale_chars: 600 }
    }
}

/// The rubric that [`CompleterJudge`](crate::CompleterJudge) puts to its model: paired where there is a reference,
/// absolute where not; strict JSON; an absent dimension counts 0, a score outside 0..=1 invalidates the reply.
///
/// # Errors
/// A preset's file that was changed to something this reader does not know.
pub fn judge_rubric(options: &JudgeOptions) -> Result<Rubric, RubricError> {
    let unreadable = |problem: String| RubricError::Inconsistent { rubric: "session-summary".to_owned(), problem };
    let written: Value = serde_saphyr::from_str(PRESET).map_err(|error| unreadable(error.to_string()))?;
    let mut rubric: Rubric = serde_json::from_value(decode(written)).map_err(|error| unreadable(error.to_string()))?;
    rubric.rationale.max_chars = Some(options.max_rationale_chars);
    if !options.include_suggestions {
        rubric.diagnostics.clear();
    }
    Ok(rubric)
}

/// The few forms of the language that this rubric uses, in the form of a plan: named entries as lists, `[low, high]` as a range,
/// `each: text` as items without fields. The preset's own loader reads all of them; a test compares both.
fn decode(mut written: Value) -> Value {
    for (part, decode_entry) in [
        ("show", (|entry: Map<String, Value>| entry) as fn(Map<String, Value>) -> Map<String, Value>),
        ("dimensions", dimension),
        ("diagnostics", diagnostic),
    ] {
        if let Some(Value::Object(entries)) = written.get_mut(part).map(Value::take) {
            let named = entries.into_iter().map(|(name, entry)| {
                let entry = decode_entry(entry.as_object().cloned().unwrap_or_default());
                Value::Object(Map::from_iter([("name".to_owned(), Value::String(name))].into_iter().chain(entry)))
            });
            written[part] = named.collect();
        }
    }
    written
}

fn dimension(mut entry: Map<String, Value>) -> Map<String, Value> {
    if let Some([low, high]) = entry.get("scale").and_then(Value::as_array).map(Vec::as_slice) {
        let scale = json!({"range": {"lo": low, "hi": high, "step": null}});
        entry.insert("scale".to_owned(), scale);
    }
    entry.entry("weight").or_insert_with(|| json!(1.0));
    entry
}

fn diagnostic(mut entry: Map<String, Value>) -> Map<String, Value> {
    if entry.get("each") == Some(&json!("text")) {
        entry.remove("each");
        entry.insert("fields".to_owned(), json!([]));
    }
    entry
}
