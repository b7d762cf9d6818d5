//! Labels and verdicts of closed tasks about the outputs of a run: they anchor figures (HU-40) and play in tournaments
//! (PW-01).
//!
//! A closed task takes no event, so what it says never changes; a report depends on the set of closed tasks only.

use karat_analysis::{PeopleGame, PeopleTask, UnusedTask};
use karat_store::{Store, StoredAnnotationTask, StoredRun};
use karat_types::{Key, KeyBuilder, Label, PlanHeader, RubricScorer, RunRows, ScorerKind, output_key};

use super::label_rows::label_rows;
use crate::AppError;
use crate::annotate::question::{Question, QuestionKind};
use crate::annotate::state::{TaskState, kind};
use crate::annotate::task::{LoadedTask, TaskBody, read_body};

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
    task.with_state(events, |state| {
        let rows = label_rows(&task, state, true, &|name| name.to_owned());
        PeopleTask {
            task: format!("{}@{}", task.stored.name, task.stored.version),
            scorer: closed.scorer.clone(),
            unused,
            labels: rows.iter().filter_map(Label::from_row).collect(),
            games: games(&task, state),
            places: task.body.places,
            median_ms: median_ms(state),
        }
    })
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
