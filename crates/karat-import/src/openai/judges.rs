//! Testing criteria that ask a model, as rubrics.

use serde_json::{Map, Value, json};

use super::calls::{messages, model_id, parameters};
use super::rows::Rows;
use super::template::{Piece, pieces};
use super::{Lost, list_at, text_at};
use crate::draft::{Draft, RubricFile};
use crate::error::ImportError;
use crate::report::Approximate;
use crate::text::names::valid_id;

/// The name of the only dimension of a score.
const SCORE: &str = "score";

/// Writes the rubric of a criterion and its prompt, and returns its scorer.
pub(super) fn scorer(
    criterion: &Value,
    id: &str,
    path: &str,
    rows: &Rows,
    draft: &mut Draft<'_>,
) -> Result<Result<Value, Lost>, ImportError> {
    let kind = text_at(criterion, "type").unwrap_or_default();
    let prompt = match JudgePrompt::of(criterion, kind, rows) {
        Ok(prompt) => prompt,
        Err(lost) => return Ok(Err(lost)),
    };
    let (dimensions, min) = if kind == "label_model" { labels(criterion) } else { scale(criterion) };
    let file = RubricFile { id, ask: &prompt.ask, user: &prompt.user, show: Value::Object(prompt.show), dimensions };
    let rubric = draft.write_rubric(&file)?;
    let mut scorer = Map::from_iter([("rubric".to_owned(), json!(rubric))]);
    scorer.extend(min.map(|min| ("min".to_owned(), min)));
    if let Some(model) = text_at(criterion, "model") {
        let model = json!(model_id(model));
        scorer.insert("judges".to_owned(), json!([model]));
        if !draft.suite.judges.contains(&model) {
            draft.suite.judges.push(model);
        }
    }
    let settings = criterion.get("sampling_params").unwrap_or(&Value::Null);
    let parameters = parameters(settings, &format!("{path}.sampling_params"), 0, draft);
    if !parameters.is_empty() {
        scorer.insert("parameters".to_owned(), Value::Object(parameters));
    }
    draft.report.approximate(Approximate {
        path: path.to_owned(),
        construct: kind.to_owned(),
        metric: "rubric".to_owned(),
        difference: "the wording is kept, but values stand in sections of their own and the reply is JSON".to_owned(),
    });
    Ok(Ok(Value::Object(scorer)))
}

fn scale(criterion: &Value) -> (Value, Option<Value>) {
    let range = criterion.get("range").filter(|range| range.as_array().is_some_and(|range| range.len() == 2));
    let range = range.cloned().unwrap_or_else(|| json!([0, 1]));
    (json!({SCORE: {"scale": range}}), criterion.get("pass_threshold").filter(|min| min.is_number()).cloned())
}

fn labels(criterion: &Value) -> (Value, Option<Value>) {
    let passing = list_at(criterion, "passing_labels");
    let choices: Map<String, Value> = list_at(criterion, "labels")
        .iter()
        .filter_map(|label| Some((label.as_str()?.to_owned(), json!(u8::from(passing.contains(label))))))
        .collect();
    (json!({"label": {"choices": choices}}), Some(json!(1)))
}

/// The messages of a criterion with names of sections in place of values.
struct JudgePrompt {
    /// The system's messages.
    ask: String,
    /// The others.
    user: String,
    /// Sections by name.
    show: Map<String, Value>,
}

impl JudgePrompt {
    fn of(criterion: &Value, kind: &str, rows: &Rows) -> Result<Self, Lost> {
        let messages = messages(criterion, "input")
            .ok_or_else(|| Lost::new(kind, "its messages hold parts that are not text, and a rubric shows texts"))?;
        let mut show = Map::new();
        let mut texts = [Vec::new(), Vec::new()];
        for (role, text) in &messages {
            texts[usize::from(role != "system")].push(with_sections(text, kind, rows, &mut show)?);
        }
        let [system, user] = texts.map(|texts| texts.join("\n\n"));
        if show.is_empty() {
            return Err(Lost::new(kind, "its messages show neither the output nor the item"));
        }
        // A judge is always told its task; without a message of the system, the user's says it.
        let ask = if system.trim().is_empty() { "Grade as the message of the user says.".to_owned() } else { system };
        Ok(Self { ask, user, show })
    }
}

/// Puts the name of a section in the place of each value: the judge sees values only as fenced data.
fn with_sections(text: &str, kind: &str, rows: &Rows, show: &mut Map<String, Value>) -> Result<String, Lost> {
    let mut out = String::new();
    for piece in pieces(text) {
        let (name, value) = match piece {
            Piece::Text(text) => {
                out.push_str(&text);
                continue;
            }
            Piece::Item(path) => (valid_id(&path, "item"), format!("{{{{ {} }}}}", rows.columns.expression(&path))),
            Piece::OutputText => ("output".to_owned(), "{{ output }}".to_owned()),
            Piece::OutputJson(path) => {
                let name = format!("sample.output_json.{path}");
                return Err(Lost::new(kind, format!("its messages read `{name}`, which a rubric does not have")));
            }
            Piece::Other(name) => {
                return Err(Lost::new(kind, format!("its messages read `{name}`, which a suite does not have")));
            }
        };
        // The output and a column of its name are two sections.
        let name = if name == "output" && value != "{{ output }}" { "item_output".to_owned() } else { name };
        out.push_str(&format!("(see section {})", karat_text::fence::label(&name)));
        show.insert(name, json!(value));
    }
    Ok(out)
}
