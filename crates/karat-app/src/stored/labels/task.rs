//! A task as it is stored: what is fixed with it, its items, and their ids.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use karat_analysis::{LabelDesign, LabelDesignKind};
use karat_store::{Store, StoredAnnotationTask};
use karat_types::{Key, KeyBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::question::Question;
use super::state::TaskState;
use crate::AppError;
use crate::error::{AnnotateError, Names};
use crate::stored::Stored;

/// The part of a task that is fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TaskBody {
    /// The run or file that the items are from.
    pub source: String,
    /// The suite of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The scorer whose rubric is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<String>,
    pub questions: Vec<Question>,
    /// Version of questions and guidelines.
    pub questions_key: Key,
    pub guidelines: String,
    /// Number of different people who label each item.
    pub places: usize,
    pub seed: u64,
    /// The selection, as it was asked for.
    pub select: String,
    /// True if the items were chosen because they are hard: figures over all outputs must not rest on them.
    pub targeted: bool,
    /// The rule by which the items were chosen; absent in tasks of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<LabelDesign>,
    /// The closed version whose open items this one settles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reopens: Option<String>,
    /// The people who may label; everybody if empty.
    pub assigned: Vec<String>,
    /// Share of right gold items below which the owner is warned.
    pub gold_limit: f64,
}

/// A text that is shown beside the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContextText {
    pub name: String,
    pub text: String,
    /// Length of the whole, in characters, where only its beginning is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chars: Option<u64>,
}

/// An output of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ItemOutput {
    /// The text that is shown: masked, if the task masks.
    pub text: String,
    pub output: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// An item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ItemBody {
    pub sample: String,
    pub context: Vec<ContextText>,
    /// One output, or the two of a pair.
    pub outputs: Vec<ItemOutput>,
    /// The right answers, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold: Option<Map<String, Value>>,
    /// The judge's verdict by which it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
}

impl TaskBody {
    /// The rule by which the items were chosen.
    pub fn design(&self) -> LabelDesign {
        let earlier = || {
            let by = self.select.strip_prefix("stratified:").map(str::to_owned);
            let kind = match (self.targeted, &by) {
                (true, _) => LabelDesignKind::Targeted,
                (false, Some(_)) => LabelDesignKind::Stratified,
                (false, None) => LabelDesignKind::Random,
            };
            LabelDesign { kind, by, strata: Vec::new() }
        };
        self.design.clone().unwrap_or_else(earlier)
    }
}

impl ItemBody {
    /// Hash of what is shown and asked.
    pub fn shown_key(&self, questions: Key) -> Key {
        let key = KeyBuilder::new("karat/annotation/shown/1").key(questions).json(&self.context);
        self.outputs.iter().fold(key, |key, output| key.text(&output.text)).finish()
    }

    /// The text in which spans are marked.
    pub fn text(&self) -> &str {
        self.outputs.first().map_or("", |output| &output.text)
    }
}

/// A task with its items, and the state that was read last.
pub(crate) struct LoadedTask {
    pub stored: StoredAnnotationTask,
    pub body: TaskBody,
    pub items: Vec<ItemBody>,
    /// Ids of items as people see them, by position.
    pub ids: Vec<String>,
    positions: BTreeMap<String, usize>,
    state: Mutex<TaskState>,
}

/// The part of a stored task that is fixed.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read_body(stored: &StoredAnnotationTask) -> Result<TaskBody, AppError> {
    let damaged = |source| AnnotateError::Damaged { task: stored.name.clone(), source }.into();
    serde_json::from_str(&stored.body).map_err(damaged)
}

impl LoadedTask {
    /// Reads a task with its items.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(store: &Store, stored: StoredAnnotationTask) -> Result<Self, AppError> {
        let body = read_body(&stored)?;
        let damaged = |source| AnnotateError::Damaged { task: stored.name.clone(), source };
        let (mut items, mut ids) = (Vec::new(), Vec::new());
        for item in store.annotation_items(stored.id)? {
            ids.push(item_id(&stored.secret, items.len(), item.shown));
            items.push(serde_json::from_str(&item.body).map_err(damaged)?);
        }
        let positions = ids.iter().enumerate().map(|(at, id)| (id.clone(), at)).collect();
        let state = Mutex::new(TaskState::new(body.places, items.len()));
        Ok(Self { stored, body, items, ids, positions, state })
    }

    /// Calls `read` with the state that the events say; `events` reads those behind a number.
    pub fn with_state<T>(
        &self,
        events: impl FnOnce(i64) -> Result<Vec<karat_store::AnnotationEvent>, karat_store::StoreError>,
        read: impl FnOnce(&TaskState) -> T,
    ) -> Result<T, AppError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events(state.last_seq())? {
            state.apply(&event)?;
        }
        Ok(read(&state))
    }

    /// The position of an item.
    ///
    /// # Errors
    /// The task has no such item.
    pub fn position(&self, id: &str) -> Result<usize, AppError> {
        let position = self.positions.get(id).copied();
        position.ok_or_else(|| AnnotateError::NoItem { id: id.to_owned(), task: self.stored.name.clone() }.into())
    }

    /// The item at a position.
    ///
    /// # Errors
    /// An event names an item that the task does not have.
    pub fn item(&self, position: usize) -> Result<&ItemBody, AppError> {
        let item = self.items.get(position);
        item.ok_or_else(|| AnnotateError::NoItem { id: position.to_string(), task: self.stored.name.clone() }.into())
    }

    /// The id of the item at a position.
    pub fn id(&self, position: usize) -> &str {
        self.ids.get(position).map_or("", |id| id)
    }

    /// A number that orders items for one person, the same in every process.
    pub fn rank(&self, person: &str, position: usize) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.stored.secret);
        hasher.update(b"order").update(&self.body.seed.to_le_bytes());
        hasher.update(&(person.len() as u64).to_le_bytes()).update(person.as_bytes());
        *hasher.update(&(position as u64).to_le_bytes()).finalize().as_bytes()
    }

    /// The task as people see it: nothing of where the items come from.
    pub fn blind(&self) -> Value {
        json!({
            "task": self.stored.name, "version": self.stored.version, "questions": self.body.questions,
            "guidelines": self.body.guidelines, "items": self.items.len(), "labels_per_item": self.body.places,
        })
    }
}

/// The id of an item as people see it: a keyed hash, so that equal outputs of reports cannot be looked up.
fn item_id(secret: &[u8; 32], position: usize, shown: Key) -> String {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(b"item").update(&(position as u64).to_le_bytes()).update(&shown.0);
    hasher.finalize().to_hex().chars().take(24).collect()
}

/// Splits `NAME` or `NAME@VERSION`.
fn parse_name(text: &str) -> (&str, Option<u32>) {
    match text.rsplit_once('@').map(|(name, version)| (name, version.parse())) {
        Some((name, Ok(version))) => (name, Some(version)),
        _ => (text, None),
    }
}

impl Stored<'_> {
    /// A task by `NAME`, which is its newest version, or `NAME@VERSION`.
    pub(crate) fn loaded_task(&self, text: &str) -> Result<Arc<LoadedTask>, AppError> {
        let (name, version) = parse_name(text);
        if !self.app.store.exists() {
            return Err(AnnotateError::NoTask { task: text.to_owned(), known: Names(Vec::new()) }.into());
        }
        let store = self.app.store_to_read()?;
        let Some(stored) = store.annotation_task(name, version)? else {
            let known = store.annotation_tasks()?.into_iter().map(|task| task.name);
            return Err(AnnotateError::NoTask { task: text.to_owned(), known: Names::of(known) }.into());
        };
        self.load_task(stored)
    }

    /// A stored task with its items. Items never change, so they are read once.
    pub(crate) fn load_task(&self, stored: StoredAnnotationTask) -> Result<Arc<LoadedTask>, AppError> {
        let known = self.app.opened.annotations().get(&stored.id).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let task = Arc::new(LoadedTask::read(&self.app.store_to_read()?, stored)?);
        self.app.opened.annotations().insert(task.stored.id, Arc::clone(&task));
        Ok(task)
    }

    /// Calls `read` with the present state of a task.
    pub(crate) fn read_state<T>(&self, task: &LoadedTask, read: impl FnOnce(&TaskState) -> T) -> Result<T, AppError> {
        let store = self.app.store_to_read()?;
        task.with_state(|after| store.annotation_events(task.stored.id, after), read)
    }
}
