//! The digest of a suite's last days. Makes no API calls.

use karat_analysis::RowFilter;
use karat_analysis::digest::{Digest, digest};

use crate::AppError;
use crate::analysis::Analysis;
use crate::analysis::suite_rows::{check_date, collect_named};
use crate::error::StoredError;

/// Maximum of days in a digest.
const MAX_DAYS: u32 = 3660;

/// The window of a digest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// The last day, YYYY-MM-DD; the last day with a row if absent.
    pub as_of: Option<String>,
    /// Calendar days.
    pub days: u32,
    /// The filter of rows.
    pub choice: RowFilter,
}

/// The digest of a window.
#[derive(Debug, Clone)]
pub struct DigestReport(Digest);

impl DigestReport {
    /// As Markdown.
    pub fn markdown(&self) -> String {
        karat_report::markdown::digest(&self.0)
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, AppError> {
        karat_report::json::digest(&self.0).map_err(AppError::from)
    }
}

impl Analysis<'_> {
    /// Computes the digest of a window of days over all runs of a suite.
    ///
    /// # Errors
    /// An unknown suite, one without runs or dates, a window of no or too many days.
    pub fn digest(&self, suite: &str, window: &Window) -> Result<DigestReport, AppError> {
        if !(1..=MAX_DAYS).contains(&window.days) {
            return Err(StoredError::BadWindow { days: window.days, most: MAX_DAYS }.into());
        }
        let store = self.app.existing_store()?;
        let suite = self.app.stored().suite_name(&store, suite)?;
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
        found.map(DigestReport).ok_or_else(|| StoredError::NoDay { date: as_of }.into())
    }
}
