//! Human annotation.
//!
//! - `queue`: the queue under many people, blindness, settling and exports
//! - `runs`: labels of the outputs of runs: golden sets, figures, tournaments
//! - `selecting`: the choice of items, and what a request for a task may say
//!
//! This file has what they share: a clock, a small task, and what people do.

mod queue;
mod runs;
mod selecting;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use karat_app::{App, DraftRequest, ItemsFrom, LabelRequest, NextRequest, ReasonRequest, TaskRequest, TextFrom};
use karat_types::{Clock, Moment};
use serde_json::{Map, Value, json};

use crate::place;

pub(super) const MINUTE: i64 = 60_000;

/// A clock that tests move.
pub(super) struct MovedClock(pub AtomicI64);

impl Clock for MovedClock {
    fn now(&self) -> Moment {
        Moment(self.0.load(Ordering::SeqCst))
    }
}

pub(super) fn moved_app(folder: &Path) -> (App, Arc<MovedClock>) {
    let clock = Arc::new(MovedClock(AtomicI64::new(1_700_000_000_000)));
    (App { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..place::app(folder) }, clock)
}

pub(super) const QUESTIONS: &str = "[{ id: quality, ask: How good?, kind: scale, scale: [1, 5], step: 1 }]";

pub(super) fn rows(folder: &Path, name: &str, count: usize) -> std::path::PathBuf {
    let row = |at: usize| {
        format!(
            "{}\n",
            json!({ "id": format!("s{at}"), "input": format!("question {at}"), "output": format!("output {at}") })
        )
    };
    let file = folder.join(name);
    std::fs::write(&file, (0..count).map(row).collect::<String>()).unwrap();
    file
}

pub(super) fn request(folder: &Path, items: usize, places: usize) -> TaskRequest {
    let questions = Some(TextFrom::Text(QUESTIONS.to_owned()));
    let from = ItemsFrom::Dataset(rows(folder, "rows.jsonl", items));
    TaskRequest { questions, places, name: Some("t".to_owned()), ..TaskRequest::new(from) }
}

pub(super) fn next(app: &App, person: &str) -> Value {
    app.tasks().next("t", person, &NextRequest::default()).unwrap()
}

pub(super) fn item_of(answer: &Value) -> String {
    answer["item"]["id"].as_str().unwrap().to_owned()
}

pub(super) fn label(item: &str, quality: u32) -> LabelRequest {
    let answers = Map::from_iter([("quality".to_owned(), json!(quality))]);
    LabelRequest { item: item.to_owned(), answers, ms: Some(1_000), ..LabelRequest::default() }
}

pub(super) fn submit(app: &App, person: &str, item: &str, quality: u32) -> Value {
    app.tasks().submit("t", person, &label(item, quality)).unwrap()
}

pub(super) fn reason(item: &str, reason: &str) -> ReasonRequest {
    ReasonRequest { item: item.to_owned(), reason: reason.to_owned(), note: String::new() }
}

pub(super) fn draft(app: &App, person: &str, item: &str) -> Value {
    app.tasks().save_draft("t", person, &DraftRequest { item: item.to_owned(), ..DraftRequest::default() }).unwrap()
}
