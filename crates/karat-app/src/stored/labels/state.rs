//! The present state of a task: the fold of its events.

use std::collections::{BTreeMap, BTreeSet};

use karat_store::AnnotationEvent;
use karat_types::Moment;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::AppError;
use crate::error::AnnotateError;

/// Skips beyond the places of an item after which it goes to the owner.
const MORE_SKIPS: usize = 2;

/// The kinds of events.
pub(crate) mod kind {
    pub const SHOW: &str = "show";
    pub const LABEL: &str = "label";
    pub const SKIP: &str = "skip";
    pub const FLAG: &str = "flag";
    pub const UNDO: &str = "undo";
    pub const ADJUDICATE: &str = "adjudicate";
    pub const REQUEUE: &str = "requeue";
    pub const EXCLUDE: &str = "exclude";
    pub const CLOSE: &str = "close";
}

/// A label that stands. It is also the body of its event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LabelBody {
    pub answers: Map<String, Value>,
    #[serde(default)]
    pub note: String,
    /// Time that the person spent, in milliseconds.
    #[serde(default)]
    pub ms: Option<u64>,
    /// The program that sent it.
    #[serde(default)]
    pub client: String,
    /// False if all places were taken by others when it came.
    pub counted: bool,
    /// The answers that it replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Map<String, Value>>,
    /// The task that the same person answered it in before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<String>,
}

/// A label with its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StandingLabel {
    pub body: LabelBody,
    pub at: Moment,
    pub seq: i64,
}

/// A reason in an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReasonBody {
    pub reason: String,
    #[serde(default)]
    pub note: String,
}

/// A skip or a flag with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StandingReason {
    pub person: String,
    pub body: ReasonBody,
    pub at: Moment,
}

/// The owner's decision on an item. It is also the body of its event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AdjudicationBody {
    pub answers: Map<String, Value>,
    #[serde(default)]
    pub note: String,
    /// True if the adjudicator had labelled the item.
    #[serde(default)]
    pub labelled: bool,
}

/// The order of a pair for one person.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ShowBody {
    pub swapped: bool,
}

/// The state of an item.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ItemState {
    /// Labels that stand, by person.
    pub labels: BTreeMap<String, StandingLabel>,
    /// Skips that stand, by person.
    pub skips: BTreeMap<String, StandingReason>,
    /// People who skipped it since the owner gave it back.
    skipped_since: BTreeSet<String>,
    /// Flags that the owner has not answered.
    pub flags: Vec<StandingReason>,
    pub adjudication: Option<(String, AdjudicationBody, Moment)>,
    /// For pairs, true by person if the second output stands first.
    pub swapped: BTreeMap<String, bool>,
}

impl ItemState {
    /// Returns whether the item is with the owner, and handed out to nobody.
    pub fn is_with_owner(&self, places: usize) -> bool {
        !self.flags.is_empty() || self.is_skipped_out(places)
    }

    /// Returns whether so many people skipped it that it goes to the owner.
    pub fn is_skipped_out(&self, places: usize) -> bool {
        self.skipped_since.len() >= places + MORE_SKIPS && self.adjudication.is_none()
    }
}

/// The state of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskState {
    last_seq: i64,
    /// Time of the last event: the clock of the task never goes back.
    pub last_at: Moment,
    pub places: usize,
    pub items: Vec<ItemState>,
    /// Reasons by person.
    pub excluded: BTreeMap<String, String>,
    pub closed: Option<(String, Moment)>,
}

impl TaskState {
    pub fn new(places: usize, items: usize) -> Self {
        Self {
            last_seq: 0,
            last_at: Moment(i64::MIN),
            places,
            items: vec![ItemState::default(); items],
            excluded: BTreeMap::new(),
            closed: None,
        }
    }

    /// The number of the last event.
    pub fn last_seq(&self) -> i64 {
        self.last_seq
    }

    /// Adds an event.
    ///
    /// # Errors
    /// The event cannot be read.
    pub fn apply(&mut self, event: &AnnotationEvent) -> Result<(), AppError> {
        let wrong = |source| AnnotateError::Damaged { task: format!("event {}", event.seq), source };
        let reason = || serde_json::from_str::<ReasonBody>(&event.body).map_err(wrong);
        self.last_seq = event.seq;
        self.last_at = self.last_at.max(event.at);
        let item = event.item.and_then(|at| self.items.get_mut(usize::try_from(at).ok()?));
        let person = event.person.clone();
        match (event.kind.as_str(), item) {
            (kind::SHOW, Some(item)) => {
                let ShowBody { swapped } = serde_json::from_str(&event.body).map_err(wrong)?;
                item.swapped.insert(person, swapped);
            }
            (kind::LABEL, Some(item)) => {
                let body = serde_json::from_str(&event.body).map_err(wrong)?;
                item.skips.remove(&person);
                item.skipped_since.remove(&person);
                item.labels.insert(person, StandingLabel { body, at: event.at, seq: event.seq });
            }
            (kind::UNDO, Some(item)) => {
                item.labels.remove(&person);
            }
            (kind::SKIP, Some(item)) => {
                item.skipped_since.insert(person.clone());
                item.skips.insert(person.clone(), StandingReason { person, body: reason()?, at: event.at });
            }
            (kind::FLAG, Some(item)) => item.flags.push(StandingReason { person, body: reason()?, at: event.at }),
            (kind::ADJUDICATE, Some(item)) => {
                let body = serde_json::from_str(&event.body).map_err(wrong)?;
                item.flags.clear();
                item.adjudication = Some((person, body, event.at));
            }
            (kind::REQUEUE, Some(item)) => {
                item.flags.clear();
                item.skipped_since.clear();
                item.adjudication = None;
            }
            (kind::EXCLUDE, _) => {
                let ReasonBody { reason, note } = reason()?;
                self.excluded.insert(note, reason);
            }
            (kind::CLOSE, _) => self.closed = Some((person, event.at)),
            // A later Karat may know more kinds.
            _ => {}
        }
        Ok(())
    }

    /// The names of those who did something; a name may come several times.
    pub fn people(&self) -> impl Iterator<Item = &str> + Clone {
        self.items.iter().flat_map(|item| {
            let flags = item.flags.iter().map(|flag| flag.person.as_str());
            let acted = item.labels.keys().chain(item.skips.keys()).chain(item.swapped.keys());
            acted.map(String::as_str).chain(flags)
        })
    }

    /// The labels of an item whose people are not excluded.
    pub fn labels(&self, position: usize) -> impl Iterator<Item = (&String, &StandingLabel)> {
        let labels = self.items.get(position).into_iter().flat_map(|item| &item.labels);
        labels.filter(|(person, _)| !self.excluded.contains_key(*person))
    }

    /// The people whose labels take a place of an item.
    pub fn count_labels(&self, position: usize) -> usize {
        self.labels(position).filter(|(_, label)| label.body.counted).count()
    }
}
