//! The digest of a suite's last days. Makes no call.

use karat_analysis::RowFilter;
use karat_analysis::digest::{Digest, digest};

use crate::error::StoredError;
use crate::judged::{check_date, collect_named};
use crate::{App, AppError};

/// Days that a digest may sum up.
const MOST_DAYS: u32 = 3660;

/// Which window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// The last day, YYYY-MM-DD; the last one with a row without it.
    pub as_of: Option<String>,
    /// Calendar days.
    pub days: u32,
    /// Of which judge and prompt version.
    pub choice: RowFilter,
}

/// A window, summed up.
#[derive(Debug, Clone)]
pub struct Digested(Digest);

impl Digested {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        karat_report::markdown::digest(&self.0)
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, AppError> {
        karat_report::json::digest(&self.0).map_err(AppError::from)
    }
}

impl App {
    /// Sums up a window of days of a suite, over all of its runs.
    ///
    /// # Errors
    /// A suite that is unknown, has no run, or whose samples have no date; a window of no or too many days.
    pub fn digest(&self, suite: &str, window: &Window) -> Result<Digested, AppError> {
        if !(1..=MOST_DAYS).contains(&window.days) {
            return Err(StoredError::BadWindow { days: window.days, most: MOST_DAYS }.into());
        }
        let store = self.existing_store()?;
        let suite = self.suite_name(&store, suite)?;
        let history = collect_named(&store, &suite, &window.choice, None)?;
        let as_of = match &window.as_of {
            Some(date) => check_date("--as-of", date).map(|()| date.clone())?,
            None => history
                .rows()
                .filter_map(|row| row.date.clone())
                .max()
                .ok_or_else(|| StoredError::NoDates { suite: suite.clone() })?,
        };
        let found = digest(&suite, &history, &as_of, window.days);
        found.map(Digested).ok_or_else(|| StoredError::NoDay { date: as_of }.into())
    }
}
