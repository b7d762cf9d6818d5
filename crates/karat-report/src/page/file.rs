//! report.html: the page of a run as one file of a limited size.

use super::links::Links;
use super::run::run_within;
use crate::shared::report::{RenderError, Report};

/// Largest size of the file, in bytes.
pub const MOST_BYTES: usize = 5_000_000;

/// Bytes of markup that texts of cells may take at first.
const TEXTS: usize = 3_000_000;

/// Returns the page of a run as one file that loads nothing. Texts of cells that have no place are counted on the page.
///
/// # Errors
/// Rows that cannot be read.
pub fn file(report: Report<'_>) -> Result<String, RenderError> {
    let mut texts = TEXTS;
    loop {
        let file = run_within(report, &Links::none(), texts)?.to_file();
        // Without texts, only names of samples and systems can be long.
        if file.len() <= MOST_BYTES || texts == 0 {
            return Ok(file);
        }
        texts = texts.saturating_sub(file.len() - MOST_BYTES + TEXTS / 10);
    }
}
