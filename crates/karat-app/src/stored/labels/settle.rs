//! One value of several labels: each item ends settled, adjudicated or open, and says which.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::stored::labels::question::{Question, QuestionKind, SettleRule};
use crate::stored::labels::state::TaskState;
use crate::stored::labels::task::LoadedTask;

/// The end of an item or question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SettledState {
    /// By the rule.
    Settled,
    /// By the owner.
    Adjudicated,
    /// Labels are missing, or differ by more than the tolerance.
    Open,
    /// An optional question without an answer, or free text, which has no common value.
    Unanswered,
}

/// The value of a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SettledValue {
    pub state: SettledState,
    pub value: Option<Value>,
    /// People whose answers it rests on.
    pub n: usize,
    pub rule: SettleRule,
}

/// The values of an item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SettledItem {
    pub state: SettledState,
    pub questions: BTreeMap<String, SettledValue>,
    /// True if two people differ by more than the tolerance of a question.
    pub differs: bool,
    /// The largest disagreement of a question, from 0 to 1.
    pub disagreement: f64,
}

impl SettledItem {
    /// The answers that are settled.
    pub fn answers(&self) -> Map<String, Value> {
        let answers = self.questions.iter().filter_map(|(id, it)| Some((id.clone(), it.value.clone()?)));
        answers.collect()
    }
}

impl Question {
    /// An answer as a number: of a scale, or the worth of a choice.
    pub(crate) fn number(&self, answer: &Value) -> Option<f64> {
        match self.kind {
            QuestionKind::Scale => answer.as_f64(),
            QuestionKind::Choice => {
                let choice = self.choices.iter().find(|choice| answer.as_str() == Some(choice.id.as_str()))?;
                choice.value
            }
            _ => None,
        }
    }

    /// Returns whether answers differ by more than the tolerance, and their disagreement from 0 to 1.
    pub(crate) fn disagreement(&self, answers: &[&Value]) -> (bool, f64) {
        if self.kind == QuestionKind::Text || answers.len() < 2 {
            return (false, 0.0);
        }
        let numbers: Option<Vec<f64>> = answers.iter().map(|answer| self.number(answer)).collect();
        let numbers = numbers.filter(|_| self.kind == QuestionKind::Scale || self.largest_tolerance() > 0.0);
        if let Some(numbers) = numbers {
            let lo = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let range = self.scale.map_or(1.0, |(lo, hi)| hi - lo);
            return (hi - lo > self.largest_tolerance() + 1e-9, ((hi - lo) / range).min(1.0));
        }
        let most = count(answers).into_iter().map(|(_, count)| count).max().unwrap_or(0);
        let share = 1.0 - most as f64 / answers.len() as f64;
        (share > 0.0, share)
    }

    /// One value of several answers; `None` if there are none, or the most frequent ones tie.
    pub(crate) fn settle_answers(&self, answers: &[&Value]) -> Option<Value> {
        let numbers = || -> Option<Vec<f64>> { answers.iter().map(|answer| self.number(answer)).collect() };
        match self.rule() {
            SettleRule::Mean => {
                let numbers = numbers()?;
                (!numbers.is_empty()).then(|| Value::from(numbers.iter().sum::<f64>() / numbers.len() as f64))
            }
            SettleRule::Median => {
                let mut numbers = numbers()?;
                numbers.sort_by(f64::total_cmp);
                let (lower, upper) = (numbers.get(numbers.len().checked_sub(1)? / 2)?, numbers.get(numbers.len() / 2)?);
                Some(Value::from(0.5 * (lower + upper)))
            }
            SettleRule::Majority => {
                let counts = count(answers);
                let most = counts.iter().map(|(_, count)| *count).max()?;
                let mut first = counts.into_iter().filter(|(_, count)| *count == most);
                let (value, _) = first.next()?;
                first.next().is_none().then_some(value)
            }
        }
    }
}

/// Different answers and how often each was given. The order of a list does not matter.
fn count(answers: &[&Value]) -> Vec<(Value, usize)> {
    let mut counts: Vec<(Value, usize)> = Vec::new();
    for answer in answers {
        let answer = in_order(answer);
        match counts.iter_mut().find(|(known, _)| *known == answer) {
            Some((_, count)) => *count += 1,
            None => counts.push((answer, 1)),
        }
    }
    counts
}

/// An answer with its list in a fixed order, and whole numbers written in one way.
pub(crate) fn in_order(answer: &Value) -> Value {
    match answer {
        Value::Array(items) => {
            let mut items = items.clone();
            items.sort_by_key(ToString::to_string);
            Value::Array(items)
        }
        Value::Number(number) => number.as_f64().map_or_else(|| answer.clone(), Value::from),
        other => other.clone(),
    }
}

/// Settles an item. It needs the labels of as many people as the task has places.
pub(crate) fn settle_item(task: &LoadedTask, state: &TaskState, position: usize) -> SettledItem {
    let labels: Vec<&Map<String, Value>> = state.labels(position).map(|(_, label)| &label.body.answers).collect();
    let adjudication = state.items.get(position).and_then(|item| item.adjudication.as_ref());
    let has_enough = labels.len() >= state.places;
    let (mut questions, mut differs, mut disagreement) = (BTreeMap::new(), false, 0.0_f64);
    for question in &task.body.questions {
        let answers: Vec<&Value> = labels.iter().filter_map(|answers| answers.get(&question.id)).collect();
        let (too_far, how_far) = question.disagreement(&answers);
        differs |= too_far;
        disagreement = disagreement.max(how_far);
        let (state, value) = match adjudication {
            Some((_, decision, _)) => match decision.answers.get(&question.id) {
                Some(answer) => (SettledState::Adjudicated, Some(answer.clone())),
                None => (SettledState::Unanswered, None),
            },
            None if !has_enough || too_far => (SettledState::Open, None),
            None if answers.is_empty() || question.kind == QuestionKind::Text => (SettledState::Unanswered, None),
            None => match question.settle_answers(&answers) {
                Some(value) => (SettledState::Settled, Some(value)),
                None => (SettledState::Open, None),
            },
        };
        let settled = SettledValue { state, value, n: answers.len(), rule: question.rule() };
        questions.insert(question.id.clone(), settled);
    }
    let state = match adjudication {
        Some(_) => SettledState::Adjudicated,
        None if questions.values().any(|it| it.state == SettledState::Open) => SettledState::Open,
        None => SettledState::Settled,
    };
    SettledItem { state, questions, differs, disagreement }
}

/// Items without a settled value: their labels are missing or differ, or a person flagged them. Gold items are apart.
pub(crate) fn count_open(task: &LoadedTask, state: &TaskState) -> usize {
    let is_open = |position: usize| {
        let has_flags = state.items.get(position).is_some_and(|item| !item.flags.is_empty());
        has_flags || settle_item(task, state, position).state == SettledState::Open
    };
    (0..task.items.len()).filter(|at| task.items[*at].gold.is_none() && is_open(*at)).count()
}

/// The name of the annotator of settled labels.
pub(crate) const SETTLED: &str = "settled";

/// Returns whether the answers of a question can be scores.
pub(super) fn is_score(question: &Question) -> bool {
    matches!(question.kind, QuestionKind::Scale | QuestionKind::Choice)
}

/// Rows of a labels file: of single outputs with answers that are scores. Gold items are not outputs of the run.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(text: &str) -> Question {
        Question::parse_file(&format!("[{{ id: q, ask: x, {text} }}]"), "q.yaml").unwrap().remove(0)
    }

    /// HU-31: the three rules, and a tie, which stays open.
    #[test]
    fn rules_make_one_value() {
        let settle =
            |question: &Question, answers: &[Value]| question.settle_answers(&answers.iter().collect::<Vec<_>>());
        let scale = "kind: scale, scale: [1, 5], step: 1";
        let median = question(scale);
        assert_eq!(settle(&median, &[json!(1), json!(5), json!(4)]), Some(json!(4.0)));
        assert_eq!(settle(&median, &[json!(3), json!(4)]), Some(json!(3.5)));
        assert_eq!(settle(&median, &[]), None);
        let mean = question(&format!("{scale}, settle: mean"));
        assert_eq!(settle(&mean, &[json!(1), json!(5), json!(4.0)]), Some(json!(10.0 / 3.0)));
        let choice = question("kind: choice, choices: [{ id: a }, { id: b }]");
        assert_eq!(settle(&choice, &[json!("a"), json!("b"), json!("b")]), Some(json!("b")));
        assert_eq!(settle(&choice, &[json!("a"), json!("b")]), None);
        let multi = question("kind: multi, choices: [{ id: a }, { id: b }]");
        assert_eq!(settle(&multi, &[json!(["b", "a"]), json!(["a", "b"]), json!([])]), Some(json!(["a", "b"])));
    }

    /// HU-31: the default tolerance is 0 of a choice and one step of a scale.
    #[test]
    fn tolerance_decides_what_is_adjudicated() {
        let differs = |question: &Question, a: Value, b: Value| question.disagreement(&[&a, &b]);
        let scale = question("kind: scale, scale: [1, 5], step: 1");
        assert_eq!(differs(&scale, json!(2), json!(3)), (false, 0.25));
        assert_eq!(differs(&scale, json!(2), json!(4)), (true, 0.5));
        assert!(differs(&question("kind: scale, scale: [1, 5], step: 1, tolerance: 0"), json!(2), json!(3)).0);
        let choice = question("kind: choice, choices: [{ id: a }, { id: b }]");
        assert_eq!(differs(&choice, json!("a"), json!("a")), (false, 0.0));
        assert_eq!(differs(&choice, json!("a"), json!("b")), (true, 0.5));
        assert_eq!(differs(&question("kind: text"), json!("a"), json!("b")), (false, 0.0));
    }
}
