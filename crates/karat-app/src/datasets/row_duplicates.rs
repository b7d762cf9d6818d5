//! The rows of a set that repeat each other, in two passes over them.

use karat_dataset::duplicates::{DuplicateFinder, Duplicates, Preference, Search};
use karat_dataset::row_text;

use super::source::{DatasetRows, SourceRow};
use crate::AppError;

/// Jaccard index from which rows repeat each other, unless a command names another.
pub(crate) const NEAR: f64 = 0.8;

/// Finds the duplicates among rows by their texts. `prefer` sees each row of the first pass with its text, and says which of
/// a cluster is kept; by default the first is.
///
/// # Errors
/// The rows cannot be read.
pub(crate) fn find_row_duplicates(
    rows: &DatasetRows,
    cut: f64,
    prefer: &mut dyn FnMut(&SourceRow, Option<&str>) -> Preference,
) -> Result<Duplicates, AppError> {
    let mut finder = DuplicateFinder::new(cut);
    rows.for_each(&mut |row| {
        let text = row_text(&row.sample);
        let preference = prefer(&row, text.as_deref());
        finder.add(text.as_deref(), preference);
        Ok(())
    })?;
    let mut verifier = finder.into_verifier(Search::Likeliest);
    let mut at = 0_u32;
    rows.for_each(&mut |row| {
        if let Some(text) = row_text(&row.sample).filter(|_| verifier.needs(at)) {
            verifier.add(at, &text);
        }
        at += 1;
        Ok(())
    })?;
    Ok(verifier.clusters())
}
