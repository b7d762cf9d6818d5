//! Files that recorded steps read: each is read once a run, and rows of a large one are found through an index.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use karat_suite::Files;
use karat_types::{Answer, Ask, CallError, CallErrorCode, FinishReason, Reply, Request};
use serde_json::Value;

/// The files of a run.
pub(crate) struct Library {
    files: Arc<dyn Files>,
    read: Mutex<HashMap<String, Arc<Result<Book, CallError>>>>,
}

struct Book {
    text: String,
    /// Where each row lies, by its id; made at the first question for a row.
    rows: std::sync::OnceLock<HashMap<String, Range<usize>>>,
}

impl Library {
    pub fn new(files: Arc<dyn Files>) -> Self {
        Self { files, read: Mutex::new(HashMap::new()) }
    }

    /// The text of a file or of one of its rows.
    pub fn get(&self, path: &str, row: Option<&str>) -> Result<Reply, CallError> {
        let book = self.book(path);
        let book = book.as_ref().as_ref().map_err(Clone::clone)?;
        let text = match row {
            None => book.text.as_str(),
            Some(id) => {
                let rows = book.rows.get_or_init(|| index(&book.text));
                let range = rows.get(id).ok_or_else(|| not_found(format!("{path} has no row with id {id:?}")))?;
                &book.text[range.clone()]
            }
        };
        Ok(Reply { text: text.to_owned(), finish: FinishReason::Stop, usage: None, model: None })
    }

    /// Answers what a step asks of files; anything else is a bug of the step.
    pub fn answer(&self, ask: Ask) -> Answer {
        let outcome = match &ask.request {
            Request::File { path, row } => self.get(path, row.as_deref()).map(Arc::new),
            Request::Chat(_) => {
                Err(failed("a step that calls no model asked for a reply; this is a bug in karat".to_owned()))
            }
        };
        Answer { slot: ask.slot, outcome }
    }

    fn book(&self, path: &str) -> Arc<Result<Book, CallError>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = read.get(path) {
            return book.clone();
        }
        let book = Arc::new(self.open(path));
        read.insert(path.to_owned(), book.clone());
        book
    }

    fn open(&self, path: &str) -> Result<Book, CallError> {
        let bytes = self.files.read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => not_found(format!("there is no file {path}")),
            _ => failed(format!("reading {path}: {error}")),
        })?;
        let text =
            String::from_utf8(bytes).map_err(|_| failed(format!("reading {path}: the file is not UTF-8 text")))?;
        Ok(Book { text, rows: std::sync::OnceLock::new() })
    }
}

fn not_found(message: String) -> CallError {
    CallError { code: CallErrorCode::NotFound, message, status: None }
}

fn failed(message: String) -> CallError {
    CallError { code: CallErrorCode::Process, message, status: None }
}

/// Where the rows of a JSONL text lie, by their `id` (or `sample`). Lines that are no JSON object have no id.
fn index(text: &str) -> HashMap<String, Range<usize>> {
    let mut rows = HashMap::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.trim_end().len();
        start += line.len();
        if let Ok(row) = serde_json::from_str::<Value>(line)
            && let Some(id) = ["id", "sample"].iter().find_map(|name| row.get(name))
        {
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            rows.entry(id).or_insert(range);
        }
    }
    rows
}
