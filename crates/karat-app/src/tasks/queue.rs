//! Hands out items, and makes everything that people see.

use std::collections::BTreeMap;

use karat_store::AnnotationChange;
use karat_types::Moment;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::people::refuse_twin;
use crate::error::AnnotateError;
use crate::stored::labels::question::QuestionKind;
use crate::stored::labels::state::{ShowBody, TaskState, kind};
use crate::stored::labels::task::LoadedTask;
use crate::tasks::Tasks;
use crate::{AppError, rfc3339};

/// The time for which a place is held without a sign of life: ten minutes, in milliseconds.
pub(super) const LEASE_MS: i64 = 600_000;

/// Seconds between two renewals by a page that is visible.
const RENEW_AFTER_S: u32 = 60;

/// Places that one person may hold at a time: the item on the screen, the next one, and one that was taken back.
const MOST_LEASES: usize = 3;

/// Labels of the history that a person sees.
const HISTORY: usize = 50;

/// Characters of an item in the history.
const EXCERPT: usize = 120;

/// The request for an item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NextAnnotation")]
pub struct NextRequest {
    /// An item that the person saw before: to change its label, or to come back to a skipped one.
    #[serde(default)]
    pub item: Option<String>,
    /// Items that the person has at hand: another one is wanted.
    #[serde(default)]
    pub except: Vec<String>,
}

/// One transaction of a person on a task.
pub(super) struct Turn<'a> {
    pub task: &'a LoadedTask,
    pub state: &'a TaskState,
    pub change: &'a AnnotationChange<'a>,
    pub person: &'a str,
    pub now: Moment,
    /// Ends of leases, by item and person; of those that ended, too.
    pub leases: BTreeMap<(usize, String), Moment>,
}

impl Turn<'_> {
    /// Returns whether a lease of a person is alive.
    fn is_live(&self, position: usize, person: &str) -> bool {
        self.leases.get(&(position, person.to_owned())).is_some_and(|end| *end > self.now)
    }

    /// Refuses a person whose name differs from that of another one by case or space only.
    fn refuse_twin(&self) -> Result<(), AppError> {
        refuse_twin(self.person, self.state.people().chain(self.leases.keys().map(|(_, person)| person.as_str())))
    }

    /// Returns whether this person holds a place of an item.
    pub fn holds(&self, position: usize) -> bool {
        self.is_live(position, self.person)
    }

    /// Returns whether the item was ever handed out to this person.
    pub fn has_seen(&self, position: usize) -> bool {
        let was_leased = self.leases.contains_key(&(position, self.person.to_owned()));
        was_leased || self.state.items.get(position).is_some_and(|item| item.labels.contains_key(self.person))
    }

    /// Returns whether a place is left for this person: those with a label and those with a lease take one each.
    pub fn has_place(&self, position: usize) -> bool {
        let is_other = |person: &str| person != self.person;
        let labelled = self.state.labels(position).filter(|(person, label)| label.body.counted && is_other(person));
        let labelled: Vec<&String> = labelled.map(|(person, _)| person).collect();
        let leases = self.leases.range((position, String::new())..(position + 1, String::new()));
        let leased =
            leases.filter(|((_, person), end)| **end > self.now && is_other(person) && !labelled.contains(&person));
        labelled.len() + leased.count() < self.state.places
    }

    /// Gives this person a place for ten minutes from now.
    pub fn lease(&self, position: usize) -> Result<Value, AppError> {
        let end = Moment(self.now.0.saturating_add(LEASE_MS));
        self.change.set_lease(position as u64, self.person, end)?;
        Ok(json!({ "expires_at": rfc3339(end), "renew_after_s": RENEW_AFTER_S }))
    }

    /// Ends the lease of this person on an item.
    pub fn release(&self, position: usize) -> Result<(), AppError> {
        Ok(self.change.set_lease(position as u64, self.person, self.now)?)
    }

    /// The order in which this person sees a pair; drawn when it is shown first, and kept.
    ///
    /// The side that the person has seen less often comes first, then that of the item, so that both are balanced; a keyed
    /// hash decides the rest.
    fn draw_order(&self, position: usize) -> Result<bool, AppError> {
        let Some(item) = self.state.items.get(position) else { return Ok(false) };
        if let Some(swapped) = item.swapped.get(self.person) {
            return Ok(*swapped);
        }
        let lead = |sides: &mut dyn Iterator<Item = bool>| sides.map(|side| if side { 1_i64 } else { -1 }).sum::<i64>();
        let own = lead(&mut self.state.items.iter().filter_map(|item| item.swapped.get(self.person).copied()));
        let of_item = lead(&mut item.swapped.values().copied());
        let swapped = match (own, of_item) {
            (0, 0) => self.task.rank(self.person, position)[31] & 1 == 1,
            (0, of_item) => of_item < 0,
            (own, _) => own < 0,
        };
        let body = to_text(&ShowBody { swapped })?;
        self.change.add_event(Some(position as u64), self.person, kind::SHOW, &body, self.now)?;
        Ok(swapped)
    }

    /// The item of this person that is handed out next, by the person's own order; one that the person holds comes first.
    fn next(&self, except: &[usize]) -> Option<usize> {
        let held: Vec<usize> = (0..self.state.items.len()).filter(|position| self.holds(*position)).collect();
        let is_wanted = |position: &usize| !except.contains(position);
        let by_rank = |position: &usize| self.task.rank(self.person, *position);
        if let Some(own) = held.iter().copied().filter(is_wanted).min_by_key(by_rank) {
            return Some(own);
        }
        if held.len() >= MOST_LEASES {
            return None;
        }
        (0..self.state.items.len()).filter(is_wanted).filter(|position| self.is_open(*position)).min_by_key(by_rank)
    }

    /// Returns whether an item can be handed out to this person.
    fn is_open(&self, position: usize) -> bool {
        let Some(item) = self.state.items.get(position) else { return false };
        !item.labels.contains_key(self.person)
            && !item.skips.contains_key(self.person)
            && item.adjudication.is_none()
            && !item.is_with_owner(self.state.places)
            && !self.state.excluded.contains_key(self.person)
            && self.has_place(position)
    }

    /// The item as this person sees it.
    fn blind_item(&self, position: usize, lease: Value) -> Result<Value, AppError> {
        let item = self.task.item(position)?;
        let draft = self.change.draft(position as u64, self.person)?;
        let draft: Value = draft.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let mut shown = json!({
            "id": self.task.id(position), "context": item.context, "lease": lease, "draft": draft,
            "state": "open", "answers": null, "note": "",
        });
        let swapped = match item.outputs.as_slice() {
            [first, second] => {
                let swapped = self.draw_order(position)?;
                let (a, b) = if swapped { (second, first) } else { (first, second) };
                shown["a"] = a.text.clone().into();
                shown["b"] = b.text.clone().into();
                swapped
            }
            _ => {
                shown["text"] = item.text().into();
                false
            }
        };
        let state = self.state.items.get(position);
        if let Some(label) = state.and_then(|state| state.labels.get(self.person)) {
            shown["state"] = if label.body.counted { "labelled" } else { "extra" }.into();
            shown["answers"] = Value::Object(turn_sides(self.task, &label.body.answers, swapped));
            shown["note"] = label.body.note.clone().into();
        } else if state.is_some_and(|state| state.skips.contains_key(self.person)) {
            shown["state"] = "skipped".into();
        }
        Ok(shown)
    }

    /// Items that could be handed out to this person, with those at hand.
    fn left(&self) -> usize {
        (0..self.state.items.len()).filter(|position| self.is_open(*position)).count()
    }
}

/// Exchanges the two sides of pairwise answers, if they were shown in the other order. It is its own inverse.
pub(super) fn turn_sides(task: &LoadedTask, answers: &Map<String, Value>, swapped: bool) -> Map<String, Value> {
    let mut turned = answers.clone();
    for question in task.body.questions.iter().filter(|it| swapped && it.kind == QuestionKind::Pairwise) {
        if let Some(answer) = turned.get_mut(&question.id) {
            match answer.as_str() {
                Some("a") => *answer = "b".into(),
                Some("b") => *answer = "a".into(),
                _ => {}
            }
        }
    }
    turned
}

pub(super) fn to_text(body: &impl serde::Serialize) -> Result<String, AppError> {
    let damaged = |source| AnnotateError::Damaged { task: "an event".to_owned(), source };
    Ok(serde_json::to_string(body).map_err(damaged)?)
}

/// The number of a person's labels, and their median time. Nothing of others.
fn own_progress(state: &TaskState, person: &str, left: usize) -> Value {
    let labels = state.items.iter().filter_map(|item| item.labels.get(person));
    let mut ms: Vec<u64> = labels.clone().filter_map(|label| label.body.ms).collect();
    ms.sort_unstable();
    let skipped = state.items.iter().filter(|item| item.skips.contains_key(person)).count();
    json!({ "done": labels.count(), "left": left, "skipped": skipped, "median_ms": ms.get(ms.len() / 2) })
}

/// The last labels of a person, the newest first.
fn own_history(task: &LoadedTask, state: &TaskState, person: &str) -> Vec<Value> {
    let labels = state.items.iter().enumerate();
    let mut labels: Vec<_> = labels.filter_map(|(at, item)| Some((at, item.labels.get(person)?))).collect();
    labels.sort_by_key(|(_, label)| std::cmp::Reverse(label.seq));
    let line = |(position, label): (usize, &crate::stored::labels::state::StandingLabel)| {
        let text = task.items.get(position).map_or("", |item| item.text());
        let swapped = state.items.get(position).and_then(|item| item.swapped.get(person)).copied();
        // Of a pair, no text: the first one would say which side is which.
        let is_pair = task.items.get(position).is_some_and(|item| item.outputs.len() == 2);
        let excerpt: String = if is_pair { String::new() } else { text.chars().take(EXCERPT).collect() };
        json!({
            "item": task.id(position), "excerpt": excerpt, "at": rfc3339(label.at),
            "answers": turn_sides(task, &label.body.answers, swapped.unwrap_or_default()),
        })
    };
    labels.into_iter().take(HISTORY).map(line).collect()
}

impl Tasks<'_> {
    /// Calls `act` in one transaction of a person on a task.
    pub(super) fn take_turn<T>(
        &self,
        task: &LoadedTask,
        person: &str,
        act: impl FnOnce(&Turn<'_>) -> Result<T, AppError>,
    ) -> Result<T, AppError> {
        self.app.open_store()?.change_annotations(task.stored.id, |change| {
            let leases = change.leases()?;
            let leases = leases.into_iter().map(|(at, person, end)| ((usize::try_from(at).unwrap_or(0), person), end));
            let leases = leases.collect();
            task.with_state(
                |after| change.events(after),
                |state| {
                    // Taken inside of the transaction, and never before the last event: a lease that was given away has
                    // ended for everybody.
                    let now = self.app.clock.now().max(state.last_at);
                    act(&Turn { task, state, change, person, now, leases })
                },
            )?
        })
    }

    /// The next item of a person, with the task, the person's own progress and last labels; no item if none is left.
    ///
    /// # Errors
    /// An unknown task, a person who may not label here, an item that the person never saw.
    pub fn next(&self, task: &str, person: &str, asked: &NextRequest) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(task)?;
        let person = task.check_person(person)?;
        let except: Vec<usize> = asked.except.iter().filter_map(|id| task.position(id).ok()).collect();
        let wanted = asked.item.as_deref().map(|id| task.position(id)).transpose()?;
        self.take_turn(&task, person, |turn| {
            let is_closed = turn.state.closed.is_some();
            turn.refuse_twin()?;
            let item = match wanted {
                _ if is_closed => Value::Null,
                Some(position) if !turn.has_seen(position) => {
                    return Err(AnnotateError::NotShown { id: task.id(position).to_owned() }.into());
                }
                Some(position) => {
                    let state = turn.state.items.get(position);
                    let is_labelled = state.is_some_and(|item| item.labels.contains_key(person));
                    let is_owners = state.is_some_and(|item| item.is_with_owner(turn.state.places));
                    let may_hold = turn.holds(position) || (!is_owners && turn.has_place(position));
                    let lease = if may_hold && !is_labelled { turn.lease(position)? } else { Value::Null };
                    turn.blind_item(position, lease)?
                }
                None => match turn.next(&except) {
                    Some(position) => {
                        let lease = turn.lease(position)?;
                        turn.blind_item(position, lease)?
                    }
                    None => Value::Null,
                },
            };
            let left = if is_closed { 0 } else { turn.left() };
            Ok(json!({
                "task": task.blind(), "closed": is_closed, "item": item,
                "progress": own_progress(turn.state, person, left),
                "recent": own_history(&task, turn.state, person),
            }))
        })
    }

    /// The progress of a person, after a change.
    pub(super) fn progress_of(&self, task: &LoadedTask, person: &str) -> Result<Value, AppError> {
        self.take_turn(task, person, |turn| Ok(own_progress(turn.state, person, turn.left())))
    }
}
