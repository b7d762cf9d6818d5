//! Labels of a task as rows of a labels file, which rubrics and analyses read.

use serde_json::{Map, Value, json};

use super::settle::settle_item;
use crate::stored::labels::question::{Question, QuestionKind};
use crate::stored::labels::state::TaskState;
use crate::stored::labels::task::LoadedTask;

/// The name of the annotator of settled labels.
pub(crate) const SETTLED: &str = "settled";

/// Returns whether the answers of a question can be scores.
pub(super) fn is_score(question: &Question) -> bool {
    matches!(question.kind, QuestionKind::Scale | QuestionKind::Choice)
}

/// Rows of a labels file: of single outputs with answers that are scores. Gold items are no outputs of the run.
pub(crate) fn label_rows(
    task: &LoadedTask,
    state: &TaskState,
    settled: bool,
    rename: &dyn Fn(&str) -> String,
) -> Vec<Value> {
    let is_score = |id: &String| task.body.questions.iter().any(|question| question.id == *id && is_score(question));
    let mut rows = Vec::new();
    for (position, item) in task.items.iter().enumerate() {
        let [output] = item.outputs.as_slice() else { continue };
        if item.gold.is_some() {
            continue;
        }
        let mut add = |answers: &Map<String, Value>, annotator: &str, note: &str| {
            let scores = answers.iter().filter(|(id, _)| is_score(id));
            let scores: Map<String, Value> = scores.map(|(id, answer)| (id.clone(), answer.clone())).collect();
            if !scores.is_empty() {
                rows.push(json!({
                    "sample": item.sample, "output": output.output, "scores": scores, "annotator": annotator, "note": note,
                }));
            }
        };
        if settled {
            let decision = state.items.get(position).and_then(|item| item.adjudication.as_ref());
            let note = decision.map_or("", |(_, decision, _)| &decision.note);
            add(&settle_item(task, state, position).answers(), SETTLED, note);
        } else {
            for (person, label) in state.labels(position) {
                add(&label.body.answers, &rename(person), &label.body.note);
            }
        }
    }
    rows
}
