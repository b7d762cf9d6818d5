//! Rows of a suite's history as JSON.

use karat_analysis::GradeRow;

use crate::shared::history_row::{CheckedRow, row};

/// Returns all rows as a JSON list with one row a line.
pub fn history<'a>(rows: impl Iterator<Item = CheckedRow<'a>>) -> String {
    let lines: Vec<String> = rows.map(|judged| row(judged).to_string()).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

/// Returns all rows as JSON lines.
pub fn history_lines<'a>(rows: impl Iterator<Item = &'a GradeRow>) -> String {
    rows.map(|judged| format!("{}\n", row((judged, None)))).collect()
}
