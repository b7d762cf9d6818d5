//! Stores what people submit: labels, drafts, skips, flags and what they take back, and what the owner
//! decides.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::queue::{Turn, to_text, turn_sides};
use crate::error::{AnnotateError, Names};
use crate::stored::labels::answers::{check_answers, check_given};
use crate::stored::labels::settle::count_open;
use crate::stored::labels::state::{AdjudicationBody, LabelBody, ReasonBody, kind};
use crate::stored::labels::task::LoadedTask;
use crate::tasks::Tasks;
use crate::{AppError, rfc3339};

/// The longest note, in characters.
const LONGEST_NOTE: usize = 10_000;

/// Reasons of a skip.
const SKIP_REASONS: [&str; 3] = ["cannot_judge", "not_my_language", "broken"];

/// Reasons of a flag.
const FLAG_REASONS: [&str; 3] = ["harmful", "wrong_reference", "private_data"];

/// A label that is submitted.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationLabel")]
pub struct LabelRequest {
    /// The item.
    pub item: String,
    /// Answers by question.
    pub answers: Map<String, Value>,
    /// A note to the owner.
    #[serde(default)]
    pub note: String,
    /// Time that the person spent, in milliseconds.
    #[serde(default)]
    pub ms: Option<u64>,
    /// The program that sends it.
    #[serde(default)]
    pub client: String,
}

/// Answers that are not submitted yet, and a sign of life.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationDraft")]
pub struct DraftRequest {
    /// The item.
    pub item: String,
    /// Answers by question; without them the lease is renewed and the draft stays.
    #[serde(default)]
    pub answers: Option<Map<String, Value>>,
    /// A note to the owner.
    #[serde(default)]
    pub note: String,
}

/// A skip or a flag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationReason")]
pub struct ReasonRequest {
    /// The item.
    pub item: String,
    /// The reason, by name.
    pub reason: String,
    /// More words.
    #[serde(default)]
    pub note: String,
}

/// A decision of the owner.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnnotationDecision")]
pub struct AdjudicationRequest {
    /// The item.
    #[serde(default)]
    pub item: Option<String>,
    /// The adjudicator's own answers.
    #[serde(default)]
    pub answers: Option<Map<String, Value>>,
    /// The number of the person whose answers are taken, from 1.
    #[serde(default)]
    pub take: Option<usize>,
    /// The reason of the decision.
    #[serde(default)]
    pub note: String,
    /// False to see the labels first; then nothing is stored.
    #[serde(default)]
    pub confirm: bool,
    /// True to hand the item out again.
    #[serde(default)]
    pub requeue: bool,
    /// A person whose labels count no more.
    #[serde(default)]
    pub exclude: Option<String>,
    /// The reason of the exclusion.
    #[serde(default)]
    pub reason: String,
}

fn check_open(turn: &Turn<'_>) -> Result<(), AppError> {
    match turn.state.closed {
        Some(_) => Err(AnnotateError::Closed { task: turn.task.stored.name.clone() }.into()),
        None => Ok(()),
    }
}

fn check_seen(turn: &Turn<'_>, position: usize) -> Result<(), AppError> {
    match turn.has_seen(position) {
        true => Ok(()),
        false => Err(AnnotateError::NotShown { id: turn.task.id(position).to_owned() }.into()),
    }
}

fn is_swapped(turn: &Turn<'_>, position: usize) -> bool {
    let item = turn.state.items.get(position);
    item.and_then(|item| item.swapped.get(turn.person)).copied().unwrap_or_default()
}

fn check_note(note: &str) -> Result<(), AppError> {
    match note.chars().count() > LONGEST_NOTE {
        true => Err(refuse(format!("a note has at most {LONGEST_NOTE} characters"))),
        false => Ok(()),
    }
}

fn refuse(problem: String) -> AppError {
    AnnotateError::Answers { problem }.into()
}

impl Tasks<'_> {
    /// Stores a label. Whoever holds a place may submit; a label that comes late counts if a place is free, and is kept as
    /// `extra` otherwise. A second label of the same person replaces the first.
    ///
    /// # Errors
    /// Answers that do not fit, an item that the person never saw, a closed task.
    pub fn submit(&self, task: &str, person: &str, asked: &LabelRequest) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(task)?;
        let person = task.check_person(person)?;
        let position = task.position(&asked.item)?;
        let counted = self.take_turn(&task, person, |turn| {
            check_open(turn)?;
            check_seen(turn, position)?;
            let item = task.item(position)?;
            check_note(&asked.note)?;
            check_answers(&task.body.questions, &asked.answers, item.text()).map_err(refuse)?;
            let standing = turn.state.items.get(position).and_then(|item| item.labels.get(person));
            let has_counted = standing.is_some_and(|label| label.body.counted);
            let counted = has_counted || turn.holds(position) || turn.has_place(position);
            let label = LabelBody {
                answers: turn_sides(&task, &asked.answers, is_swapped(turn, position)),
                note: asked.note.clone(),
                ms: asked.ms,
                client: asked.client.chars().take(64).collect(),
                counted,
                previous: standing.map(|label| label.body.answers.clone()),
                earlier: None,
            };
            turn.change.add_event(Some(position as u64), person, kind::LABEL, &to_text(&label)?, turn.now)?;
            turn.change.set_draft(position as u64, person, None, turn.now)?;
            turn.release(position)?;
            Ok(counted)
        })?;
        let message = match counted {
            true => Value::Null,
            false => "all places of this item were taken when the label came; it is kept beside the others".into(),
        };
        let state = if counted { "counted" } else { "extra" };
        let progress = self.progress_of(&task, person)?;
        Ok(json!({ "item": asked.item, "state": state, "message": message, "progress": progress }))
    }

    /// Keeps a draft and renews the lease. After one's own submit there is nothing to renew, which is not an error.
    ///
    /// # Errors
    /// Answers that do not fit, an item that the person never saw.
    pub fn save_draft(&self, task: &str, person: &str, asked: &DraftRequest) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(task)?;
        let person = task.check_person(person)?;
        let position = task.position(&asked.item)?;
        self.take_turn(&task, person, |turn| {
            check_seen(turn, position)?;
            let answer = |state: &str, lease: Value| Ok(json!({ "item": asked.item, "state": state, "lease": lease }));
            if turn.state.closed.is_some() {
                return answer("closed", Value::Null);
            }
            if let Some(answers) = &asked.answers {
                check_note(&asked.note)?;
                check_given(&task.body.questions, answers, task.item(position)?.text()).map_err(refuse)?;
                let draft = json!({ "answers": answers, "note": asked.note });
                turn.change.set_draft(position as u64, person, Some(&draft.to_string()), turn.now)?;
            }
            let item = turn.state.items.get(position);
            if item.is_some_and(|item| item.labels.contains_key(person)) {
                return answer("submitted", Value::Null);
            }
            let is_owners = item.is_some_and(|item| item.is_with_owner(turn.state.places));
            if turn.holds(position) || (!is_owners && turn.has_place(position)) {
                let lease = turn.lease(position)?;
                return answer("open", lease);
            }
            answer("lost", Value::Null)
        })
    }

    /// Stores a skip: the place goes to another person. It is not a label.
    ///
    /// # Errors
    /// An unknown reason, an item that the person never saw or has labelled, a closed task.
    pub fn skip(&self, task: &str, person: &str, asked: &ReasonRequest) -> Result<Value, AppError> {
        self.add_reason(task, person, asked, kind::SKIP, &SKIP_REASONS)
    }

    /// Stores a flag: the item goes to the owner at once.
    ///
    /// # Errors
    /// As [`Self::skip`].
    pub fn flag(&self, task: &str, person: &str, asked: &ReasonRequest) -> Result<Value, AppError> {
        self.add_reason(task, person, asked, kind::FLAG, &FLAG_REASONS)
    }

    fn add_reason(
        &self,
        task: &str,
        person: &str,
        asked: &ReasonRequest,
        kind: &str,
        reasons: &[&str],
    ) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(task)?;
        let person = task.check_person(person)?;
        let position = task.position(&asked.item)?;
        if !reasons.contains(&asked.reason.as_str()) {
            let known = Names::of(reasons.iter().copied());
            return Err(AnnotateError::Reason { reason: asked.reason.clone(), known }.into());
        }
        self.take_turn(&task, person, |turn| {
            check_open(turn)?;
            check_seen(turn, position)?;
            let item = turn.state.items.get(position);
            if kind == kind::SKIP && item.is_some_and(|item| item.labels.contains_key(person)) {
                return Err(refuse("this item has your label; take it back with `undo` before you skip it".to_owned()));
            }
            check_note(&asked.note)?;
            let body = ReasonBody { reason: asked.reason.clone(), note: asked.note.clone() };
            turn.change.add_event(Some(position as u64), person, kind, &to_text(&body)?, turn.now)?;
            turn.release(position)
        })?;
        Ok(json!({ "item": asked.item, "state": kind, "progress": self.progress_of(&task, person)? }))
    }

    /// Takes back a label of a person: the last one, or that of an item. It is then as if it had not been given; its answers
    /// become a draft.
    ///
    /// # Errors
    /// There is no such label, or the task is closed.
    pub fn undo(&self, task: &str, person: &str, item: Option<&str>) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(task)?;
        let person = task.check_person(person)?;
        let wanted = item.map(|id| task.position(id)).transpose()?;
        let position = self.take_turn(&task, person, |turn| {
            check_open(turn)?;
            let labels = turn.state.items.iter().enumerate();
            let labels = labels.filter_map(|(at, item)| Some((at, item.labels.get(person)?)));
            let label = labels
                .filter(|(at, label)| wanted.map_or(label.body.earlier.is_none(), |wanted| wanted == *at))
                .max_by_key(|(_, label)| label.seq);
            let (position, label) = label.ok_or(AnnotateError::NothingToUndo {})?;
            let body = json!({ "previous": label.body.answers });
            turn.change.add_event(Some(position as u64), person, kind::UNDO, &body.to_string(), turn.now)?;
            let answers = turn_sides(&task, &label.body.answers, is_swapped(turn, position));
            let draft = json!({ "answers": answers, "note": label.body.note });
            turn.change.set_draft(position as u64, person, Some(&draft.to_string()), turn.now)?;
            if turn.has_place(position) {
                turn.lease(position)?;
            }
            Ok(position)
        })?;
        Ok(json!({ "item": task.id(position), "state": "open", "progress": self.progress_of(&task, person)? }))
    }

    /// Stores a decision of the owner. Without `confirm`, it answers with the labels, as of persons 1 to k, and stores
    /// nothing.
    ///
    /// # Errors
    /// Answers that do not fit, an unknown item or person, an exclusion without a reason, a closed task.
    pub fn adjudicate(&self, task: &str, owner: &str, asked: &AdjudicationRequest) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(task)?;
        if let Some(person) = &asked.exclude {
            return self.exclude(&task, owner, person, &asked.reason);
        }
        let id = asked.item.as_deref().ok_or_else(|| refuse("name an `item`, or a person to `exclude`".to_owned()))?;
        let position = task.position(id)?;
        self.take_turn(&task, owner, |turn| {
            check_open(turn)?;
            let place = Some(position as u64);
            if asked.requeue {
                turn.change.add_event(place, owner, kind::REQUEUE, "{}", turn.now)?;
                return Ok(json!({ "item": id, "stored": true, "state": "open" }));
            }
            let mut labels: Vec<_> = turn.state.labels(position).collect();
            // Numbers say nothing of names, and stay while the labels do.
            labels.sort_by_key(|(person, _)| task.rank(person, position));
            let answers = match (&asked.answers, asked.take) {
                (Some(answers), None) => answers.clone(),
                (None, Some(number)) => {
                    let taken = number.checked_sub(1).and_then(|at| labels.get(at));
                    let taken = taken.ok_or_else(|| refuse(format!("there is no person {number}")))?;
                    taken.1.body.answers.clone()
                }
                _ => return Err(refuse("give either `answers` or the number of a person to `take`".to_owned())),
            };
            check_answers(&task.body.questions, &answers, task.item(position)?.text()).map_err(refuse)?;
            let labelled = labels.iter().any(|(person, _)| *person == owner);
            if asked.confirm {
                let body = AdjudicationBody { answers: answers.clone(), note: asked.note.clone(), labelled };
                turn.change.add_event(place, owner, kind::ADJUDICATE, &to_text(&body)?, turn.now)?;
            }
            let of_person = |(at, (_, label)): (usize, &(&String, &crate::stored::labels::state::StandingLabel))| {
                json!({ "person": at + 1, "answers": label.body.answers, "note": label.body.note })
            };
            let shown: Vec<Value> = labels.iter().enumerate().map(of_person).collect();
            Ok(json!({
                "item": id, "stored": asked.confirm, "state": if asked.confirm { "adjudicated" } else { "open" },
                "answers": answers, "labels": shown, "labelled_by_you": labelled,
            }))
        })
    }

    fn exclude(&self, task: &LoadedTask, owner: &str, person: &str, reason: &str) -> Result<Value, AppError> {
        if reason.trim().is_empty() {
            return Err(AnnotateError::Exclusion {}.into());
        }
        self.take_turn(task, owner, |turn| {
            check_open(turn)?;
            let has_done = |item: &crate::stored::labels::state::ItemState| {
                item.labels.contains_key(person) || item.skips.contains_key(person)
            };
            if !turn.state.items.iter().any(has_done) {
                let (person, task) = (person.to_owned(), task.stored.name.clone());
                return Err(AnnotateError::NoPerson { person, task }.into());
            }
            let body = ReasonBody { reason: reason.trim().to_owned(), note: person.to_owned() };
            turn.change.add_event(None, owner, kind::EXCLUDE, &to_text(&body)?, turn.now)?;
            Ok(json!({ "excluded": person, "reason": body.reason, "stored": true }))
        })
    }

    /// Closes a task for good: nobody labels any more, and the blinding ends. Closing it again changes nothing.
    ///
    /// # Errors
    /// An unknown task; the store cannot be written.
    pub fn close(&self, task: &str, owner: &str) -> Result<Value, AppError> {
        let task = self.app.stored().loaded_task(task)?;
        let ((by, at), open) = self.take_turn(&task, owner, |turn| {
            let open = count_open(&task, turn.state);
            if let Some(closed) = &turn.state.closed {
                return Ok((closed.clone(), open));
            }
            turn.change.add_event(None, owner, kind::CLOSE, "{}", turn.now)?;
            Ok(((owner.to_owned(), turn.now), open))
        })?;
        Ok(json!({
            "task": task.stored.name, "version": task.stored.version, "closed_by": by, "closed_at": rfc3339(at),
            "open": open,
        }))
    }
}
