//! Labels and verdicts of closed tasks about the outputs of a run: they anchor figures and play in tournaments.
//!
//! A closed task takes no event, so what it says never changes; a report depends on the set of closed tasks only.

use std::collections::BTreeMap;

use karat_analysis::{PeopleGame, PeopleLabel, PeopleTask, UnusedTask};
use karat_store::{Store, StoredAnnotationTask, StoredRun};
use karat_types::{Key, KeyBuilder, Label, PlanHeader, RubricScorer, RunRows, ScorerKind, output_key};
use serde_json::Value;

use super::settle::{SETTLED, is_score};
use super::settle::{SettledState, settle_item};
use crate::AppError;
use crate::stored::labels::question::{Question, QuestionKind};
use crate::stored::labels::state::{TaskState, kind};
use crate::stored::labels::task::{ItemBody, LoadedTask, TaskBody, read_body};

/// A closed task that asked the rubric of a run's scorer.
struct ClosedTask {
    stored: StoredAnnotationTask,
    body: TaskBody,
    scorer: String,
    /// True if its questions are those that the rubric asks now.
    asks_rubric: bool,
}

/// The closed tasks that asked a rubric of a run's suite, the newest first.
fn closed_tasks(stored: &StoredRun) -> Result<Vec<ClosedTask>, AppError> {
    let plan = &stored.header().plan;
    if !plan.scorers.iter().any(|scorer| matches!(scorer.kind, ScorerKind::Rubric(_))) {
        return Ok(Vec::new());
    }
    let mut closed = Vec::new();
    for stored in stored.store().annotation_tasks_ended_by(kind::CLOSE)? {
        let body = read_body(&stored)?;
        let scorer = body.scorer.clone().filter(|_| body.suite.as_ref() == Some(&plan.suite));
        let rubric = scorer.as_deref().and_then(|id| rubric_of(plan, id));
        if let (Some(scorer), Some(rubric)) = (scorer, rubric) {
            let asks_rubric = Question::of_rubric(rubric) == body.questions;
            closed.push(ClosedTask { stored, body, scorer, asks_rubric });
        }
    }
    Ok(closed)
}

fn rubric_of<'p>(plan: &'p PlanHeader, id: &str) -> Option<&'p RubricScorer> {
    plan.scorers.iter().find_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) if scorer.id == id => Some(rubric.as_ref()),
        _ => None,
    })
}

/// The state of everything that the findings of a run rest on: its rows, and the closed tasks about its outputs.
pub(crate) fn findings_state(stored: &StoredRun) -> Result<Key, AppError> {
    let (rows, closed) = (stored.state()?, closed_tasks(stored)?);
    if closed.is_empty() {
        return Ok(rows);
    }
    let key = KeyBuilder::new("karat/findings-state/1").key(rows);
    Ok(closed.iter().fold(key, |key, task| key.key(task.stored.hash)).finish())
}

/// Labels and verdicts of people on a run's outputs, the newest task first.
pub(crate) fn people_tasks(stored: &StoredRun) -> Result<Vec<PeopleTask>, AppError> {
    let closed = closed_tasks(stored)?;
    let mut people = Vec::new();
    for task in &closed {
        // Of tasks with the same questions and other guidelines the newest says how people are asked now.
        let counts = |other: &&ClosedTask| other.scorer == task.scorer && other.asks_rubric && !other.body.targeted;
        let newest = closed.iter().find(counts).map(|newest| newest.body.questions_key);
        let unused = match () {
            () if task.body.targeted => Some(UnusedTask::Targeted),
            () if newest != Some(task.body.questions_key) => Some(UnusedTask::OtherVersion),
            () => None,
        };
        people.push(read_task(stored.store(), task, unused)?);
    }
    Ok(people)
}

fn read_task(store: &Store, closed: &ClosedTask, unused: Option<UnusedTask>) -> Result<PeopleTask, AppError> {
    let task = LoadedTask::read(store, closed.stored.clone())?;
    let events = |after| store.annotation_events(task.stored.id, after);
    task.with_state(events, |state| PeopleTask {
        task: format!("{}@{}", task.stored.name, task.stored.version),
        scorer: closed.scorer.clone(),
        unused,
        labels: people_labels(&task, state),
        design: task.body.design(),
        games: games(&task, state),
        places: task.body.places,
        median_ms: median_ms(state),
    })
}

/// The labels of single outputs: settled scores, and of open questions the mean of their labels with the lowest and the
/// highest, or the ends of the scale where there is none.
fn people_labels(task: &LoadedTask, state: &TaskState) -> Vec<PeopleLabel> {
    let label = |(position, item): (usize, &ItemBody)| {
        let ([output], None) = (item.outputs.as_slice(), &item.gold) else { return None };
        let settled = settle_item(task, state, position);
        let has_flags = state.items.get(position).is_some_and(|item| !item.flags.is_empty());
        let (mut scores, mut any_open) = (BTreeMap::<String, [Value; 3]>::new(), false);
        for question in task.body.questions.iter().filter(|question| is_score(question)) {
            let Some(found) = settled.questions.get(&question.id) else { continue };
            let is_open = found.state == SettledState::Open || has_flags && found.state == SettledState::Settled;
            let three = match &found.value {
                Some(value) if !is_open => Some([(); 3].map(|()| value.clone())),
                _ if is_open => open_scores(question, state, position),
                _ => None,
            };
            any_open |= is_open && three.is_some();
            scores.extend(three.map(|three| (question.id.clone(), three)));
        }
        let of = |at: usize| scores.iter().map(|(id, three)| (id.clone(), three[at].clone())).collect();
        let label = Label {
            sample: item.sample.clone(),
            output: Some(output.output.clone()),
            annotator: Some(SETTLED.to_owned()),
            scores: of(1),
            ..Label::default()
        };
        let open = any_open.then(|| (of(0), of(2)));
        (!scores.is_empty()).then_some(PeopleLabel { label, open, passed: item.passed })
    };
    task.items.iter().enumerate().filter_map(label).collect()
}

/// The lowest, the mean and the highest score that people gave; the ends and the middle of the scale where nobody labelled
/// the item. `None` where people left out a question that need not be answered.
fn open_scores(question: &Question, state: &TaskState, position: usize) -> Option<[Value; 3]> {
    let given: Vec<f64> = state
        .labels(position)
        .filter_map(|(_, label)| question.number(label.body.answers.get(&question.id)?))
        .collect();
    if given.is_empty() && (state.labels(position).next().is_some() || !question.is_always_asked()) {
        return None;
    }
    let ends = if given.is_empty() { question.ends()? } else { given };
    let (low, high) = ends.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), it| (lo.min(*it), hi.max(*it)));
    Some([low, ends.iter().sum::<f64>() / ends.len() as f64, high].map(Value::from))
}

/// Every person's verdicts on pairs; a pair of which both are bad is a tie.
fn games(task: &LoadedTask, state: &TaskState) -> Vec<PeopleGame> {
    let questions = || task.body.questions.iter().filter(|question| question.kind == QuestionKind::Pairwise);
    let mut games = Vec::new();
    for (position, item) in task.items.iter().enumerate() {
        let ([first, second], None) = (item.outputs.as_slice(), &item.gold) else { continue };
        let outputs = (output_key(&first.output), output_key(&second.output));
        for (_, label) in state.labels(position) {
            let answers = questions().filter_map(|question| Some((question, label.body.answers.get(&question.id)?)));
            games.extend(answers.map(|(question, answer)| PeopleGame {
                sample: item.sample.clone(),
                question: question.id.clone(),
                outputs,
                verdict: match answer.as_str() {
                    Some("a") => 1,
                    Some("b") => -1,
                    _ => 0,
                },
            }));
        }
    }
    games
}

/// The median time of a label; those of earlier tasks took none here.
fn median_ms(state: &TaskState) -> Option<u64> {
    let labels = (0..state.items.len()).flat_map(|position| state.labels(position));
    let own = labels.filter(|(_, label)| label.body.earlier.is_none());
    let mut ms: Vec<u64> = own.filter_map(|(_, label)| label.body.ms).collect();
    ms.sort_unstable();
    ms.get(ms.len() / 2).copied()
}
