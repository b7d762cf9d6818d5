//! Everything that the owner of a task sees: progress, people, gold, what waits for a decision.

use std::collections::BTreeMap;

use karat_stats::describe::Proportion;
use karat_stats::interval::Level;
use karat_types::Moment;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::stored::labels::agreement::agreement;
use crate::stored::labels::question::QuestionKind;
use crate::stored::labels::settle::{SettledState, in_order, settle_item};
use crate::stored::labels::state::{ItemState, StandingReason, TaskState};
use crate::stored::labels::task::LoadedTask;
use crate::tasks::Tasks;
use crate::{AppError, rfc3339};

/// Gold items of a person below which there is no share.
const LEAST_GOLD: usize = 10;

const HOUR_MS: f64 = 3_600_000.0;

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AnnotationTaskLine")]
pub struct TaskLine {
    /// Its name.
    pub task: String,
    /// Its version.
    pub version: u32,
    /// The origin of its items.
    pub source: String,
    /// Number of its items.
    pub items: usize,
    /// Labels that each item needs.
    pub labels_per_item: usize,
    /// Labels that count.
    pub labels: usize,
    /// Number of people with a label.
    pub people: usize,
    /// Items that are settled or adjudicated.
    pub settled: usize,
    /// Time of its creation, RFC 3339.
    pub created_at: String,
    /// Time at which it was closed.
    pub closed_at: Option<String>,
}

/// The work of a person.
#[derive(Default)]
struct Done {
    labels: usize,
    extra: usize,
    earlier: usize,
    skips: usize,
    flags: usize,
    ms: Vec<u64>,
    times: Vec<Moment>,
    gold: usize,
    gold_right: usize,
}

impl Tasks<'_> {
    /// All tasks, the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list(&self) -> Result<Vec<TaskLine>, AppError> {
        if !self.app.store.exists() {
            return Ok(Vec::new());
        }
        let tasks = self.app.store_to_read()?.annotation_tasks()?;
        tasks.into_iter().map(|stored| self.task_line(&*self.app.stored().load_task(stored)?)).collect()
    }

    fn task_line(&self, task: &LoadedTask) -> Result<TaskLine, AppError> {
        self.app.stored().read_state(task, |state| {
            let people: std::collections::BTreeSet<&String> =
                state.items.iter().flat_map(|item| item.labels.keys()).collect();
            let positions = 0..task.items.len();
            let settled = positions.clone().filter(|at| settle_item(task, state, *at).state != SettledState::Open);
            TaskLine {
                task: task.stored.name.clone(),
                version: task.stored.version,
                source: task.body.source.clone(),
                items: task.items.len(),
                labels_per_item: task.body.places,
                labels: positions.map(|position| state.count_labels(position)).sum(),
                people: people.len(),
                settled: settled.count(),
                created_at: rfc3339(task.stored.created_at),
                closed_at: state.closed.as_ref().map(|(_, at)| rfc3339(*at)),
            }
        })
    }

    /// The owner's view of a task: what is fixed, progress, people, flags, and what waits for adjudication.
    ///
    /// # Errors
    /// An unknown task.
    pub fn overview(&self, name: &str) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(name)?;
        let now = self.app.clock.now();
        self.app.stored().read_state(&task, |state| owner_view(&task, state, now))
    }

    /// The agreement of people on every question of a task.
    ///
    /// # Errors
    /// An unknown task.
    pub fn agreement(&self, name: &str) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(name)?;
        self.app.stored().read_state(&task, |state| agreement(&task, state))
    }
}

fn owner_view(task: &LoadedTask, state: &TaskState, now: Moment) -> Value {
    let mut counts = vec![0_usize; task.body.places + 1];
    let (mut settled, mut adjudicated, mut open) = (0, 0, 0);
    let (mut waiting, mut with_owner) = (Vec::new(), Vec::new());
    for (position, item) in task.items.iter().enumerate() {
        let labels = state.count_labels(position).min(task.body.places);
        counts[labels] += 1;
        let found = settle_item(task, state, position);
        match found.state {
            SettledState::Adjudicated => adjudicated += 1,
            SettledState::Open => open += 1,
            SettledState::Settled | SettledState::Unanswered => settled += 1,
        }
        let shown = |more: Value| {
            let texts: Vec<&str> = item.outputs.iter().map(|output| output.text.as_str()).collect();
            json!({
                "item": task.id(position), "sample": item.sample, "context": item.context, "texts": texts,
                "labels": labels, "gold": item.gold.is_some(), "why": more,
            })
        };
        let Some(place) = state.items.get(position) else { continue };
        if !place.flags.is_empty() {
            with_owner.push(shown(json!({ "flags": place.flags.iter().map(reason).collect::<Vec<_>>() })));
        } else if place.is_skipped_out(task.body.places) {
            with_owner.push(shown(json!({ "skips": place.skips.values().map(reason).collect::<Vec<_>>() })));
        }
        if found.state == SettledState::Open && found.differs {
            waiting.push((found.disagreement, shown(json!({ "disagreement": found.disagreement }))));
        }
    }
    waiting.sort_by(|a, b| b.0.total_cmp(&a.0));
    let people = done_by_person(task, state);
    let labels: usize = (0..task.items.len()).map(|position| state.count_labels(position)).sum();
    let skipped_out = state.items.iter().filter(|item| item.is_skipped_out(task.body.places)).count();
    let times: Vec<Moment> = people.values().flat_map(|done| done.times.iter().copied()).collect();
    let rate = rate(&times);
    // Nobody is asked for labels of an item that the owner has decided, or has to decide.
    let needs_labels = |position: &usize| {
        let is_done = |item: &ItemState| item.adjudication.is_some() || item.is_with_owner(task.body.places);
        state.items.get(*position).is_none_or(|item| !is_done(item))
    };
    let lacking = |position| task.body.places.saturating_sub(state.count_labels(position));
    let missing: usize = (0..task.items.len()).filter(needs_labels).map(lacking).sum();
    let end = rate.filter(|_| missing > 0 && state.closed.is_none());
    let end = end.map(|rate| rfc3339(Moment(now.0.saturating_add((missing as f64 / rate * HOUR_MS) as i64))));
    json!({
        "task": task.stored.name, "version": task.stored.version, "hash": task.stored.hash.to_string(),
        "created_at": rfc3339(task.stored.created_at), "source": task.body.source, "suite": task.body.suite,
        "scorer": task.body.scorer, "select": task.body.select, "targeted": task.body.targeted, "design": task.body.design(),
        "seed": task.body.seed, "assigned": task.body.assigned, "questions": task.body.questions,
        "guidelines": task.body.guidelines, "labels_per_item": task.body.places,
        "closed": state.closed.as_ref().map(|(by, at)| json!({ "by": by, "at": rfc3339(*at) })),
        "items": {
            "total": task.items.len(), "gold": task.items.iter().filter(|item| item.gold.is_some()).count(),
            "by_labels": counts, "settled": settled, "adjudicated": adjudicated, "open": open,
            "flagged": state.items.iter().filter(|item| !item.flags.is_empty()).count(),
            "skipped": skipped_out, "disagreements": waiting.len(),
        },
        "labels": { "counted": labels, "missing": missing, "per_hour": rate, "expected_end": end },
        "people": people.iter().map(|(name, done)| person(task, state, name, done)).collect::<Vec<_>>(),
        "with_owner": with_owner,
        "adjudication": waiting.into_iter().map(|(_, item)| item).collect::<Vec<_>>(),
    })
}

fn reason(it: &StandingReason) -> Value {
    json!({ "person": it.person, "reason": it.body.reason, "note": it.body.note, "at": rfc3339(it.at) })
}

/// Labels in an hour, from the first to the last; `None` before there are two.
fn rate(times: &[Moment]) -> Option<f64> {
    let (first, last) = (times.iter().min()?, times.iter().max()?);
    let hours = (last.0 - first.0) as f64 / HOUR_MS;
    (hours > 0.0).then(|| (times.len() - 1) as f64 / hours)
}

fn done_by_person(task: &LoadedTask, state: &TaskState) -> BTreeMap<String, Done> {
    let mut people: BTreeMap<String, Done> = BTreeMap::new();
    for (item, body) in state.items.iter().zip(&task.items) {
        for (person, label) in &item.labels {
            let done = people.entry(person.clone()).or_default();
            done.labels += 1;
            done.extra += usize::from(!label.body.counted);
            done.earlier += usize::from(label.body.earlier.is_some());
            if label.body.earlier.is_none() {
                done.times.push(label.at);
                done.ms.extend(label.body.ms);
            }
            if let Some(gold) = &body.gold {
                done.gold += 1;
                done.gold_right += usize::from(is_right(task, &label.body.answers, gold));
            }
        }
        for person in item.skips.keys() {
            people.entry(person.clone()).or_default().skips += 1;
        }
        for flag in &item.flags {
            people.entry(flag.person.clone()).or_default().flags += 1;
        }
    }
    people
}

/// Returns whether answers are those of a gold item: numbers within the tolerance, everything else equal. Free text is
/// neither right nor wrong.
fn is_right(task: &LoadedTask, answers: &Map<String, Value>, gold: &Map<String, Value>) -> bool {
    gold.iter().all(|(id, right)| {
        let question = task.body.questions.iter().find(|question| question.id == *id);
        match (question, answers.get(id)) {
            (Some(question), _) if question.kind == QuestionKind::Text => true,
            (Some(question), Some(answer)) => {
                in_order(answer) == in_order(right) || !question.disagreement(&[answer, right]).0
            }
            _ => false,
        }
    })
}

fn person(task: &LoadedTask, state: &TaskState, name: &str, done: &Done) -> Value {
    let mut ms = done.ms.clone();
    ms.sort_unstable();
    let gold = Proportion::new(done.gold_right as f64, done.gold as f64).filter(|_| done.gold >= LEAST_GOLD);
    let gold = gold.map(|share| {
        let interval = share.wilson(Level::P95);
        let value = share.rate();
        json!({
            "share": value, "ci": [interval.lo, interval.hi], "method": "Wilson",
            "below_limit": value < task.body.gold_limit,
        })
    });
    json!({
        "person": name, "labels": done.labels, "extra": done.extra, "earlier": done.earlier, "skips": done.skips,
        "flags": done.flags, "median_ms": ms.get(ms.len() / 2), "per_hour": rate(&done.times),
        "gold": { "n": done.gold, "right": done.gold_right, "share": gold },
        "excluded": state.excluded.get(name),
    })
}
