//! Pages and reports of large runs that the store keeps: each takes passes over all cells of its run, and a
//! person who opens one again should not wait for them.

use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use karat_report::Outputs;
use karat_store::StoredRun;
use karat_types::{Exit, Key, KeyBuilder};
use serde::{Deserialize, Serialize};

use crate::AppError;
use crate::reports::Reports;
use crate::stored::kept_pages::RunPage;

/// Cells from which something is kept: a page about fewer is made before a person notices.
const LARGE: u64 = 10_000;

/// The kinds of derived data.
const REPORT: &str = "run-report";
const PAGE: &str = "run-page";

/// The report of a run as one page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptReport {
    /// `report.html`.
    pub page: String,
    /// The summary for a terminal, without the files.
    pub summary: String,
    /// The code of [`Exit`].
    exit: u8,
}

impl KeptReport {
    pub fn new(page: String, summary: String, exit: Exit) -> Self {
        Self { page, summary, exit: exit.code() }
    }

    pub fn exit(&self) -> Exit {
        Exit::from_code(self.exit)
    }
}

impl Reports<'_> {
    /// The key of what the store keeps about a run under its page's key, for a choice of outputs. `None` for small runs
    /// and those whose page is not to be kept.
    pub(crate) fn report_key(&self, stored: &StoredRun, outputs: Outputs) -> Result<Option<Key>, AppError> {
        if stored.totals()?.cells < LARGE {
            return Ok(None);
        }
        let key = self.app.stored().page_key(stored)?;
        Ok(key.map(|key| {
            let key = KeyBuilder::new("karat/kept-report").key(key).text(&format!("{outputs:?}"));
            key.text(program_state()).finish()
        }))
    }
}

/// The report that is kept under a key.
pub(crate) fn find_report(stored: &StoredRun, key: Option<Key>) -> Result<Option<KeptReport>, AppError> {
    read(stored, REPORT, key)
}

/// Keeps a report. A store that cannot be written now is not a reason to show nothing.
pub(crate) fn keep_report(stored: &StoredRun, key: Option<Key>, report: &KeptReport) {
    keep(stored, REPORT, key, report);
}

/// The page that is kept under a key.
pub(super) fn find_page(stored: &StoredRun, key: Option<Key>) -> Result<Option<RunPage>, AppError> {
    read(stored, PAGE, key)
}

/// Keeps a page, as [`keep_report`] keeps a report.
pub(super) fn keep_page(stored: &StoredRun, key: Option<Key>, page: &RunPage) {
    keep(stored, PAGE, key, page);
}

fn read<T: for<'a> Deserialize<'a>>(stored: &StoredRun, kind: &str, key: Option<Key>) -> Result<Option<T>, AppError> {
    let Some(key) = key else { return Ok(None) };
    Ok(stored.read_derived(kind, key)?.and_then(|bytes| postcard::from_bytes(&bytes).ok()))
}

fn keep<T: Serialize>(stored: &StoredRun, kind: &str, key: Option<Key>, data: &T) {
    if let (Some(key), Ok(bytes)) = (key, postcard::to_stdvec(data)) {
        let _ = stored.keep_derived(kind, key, &bytes);
    }
}

/// The state of the program's file: a page that other code made is made again, even if its version is the same.
fn program_state() -> &'static str {
    static STATE: OnceLock<String> = OnceLock::new();
    STATE.get_or_init(|| {
        let file = std::env::current_exe().and_then(std::fs::metadata);
        let state = file.and_then(|file| Ok((file.len(), file.modified()?)));
        let state = state.map(|(size, at)| (size, at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()));
        state.map_or_else(|_| String::new(), |(size, at)| format!("{size}/{at}"))
    })
}
