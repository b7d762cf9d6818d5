//! The difference of two sets of rows, by id and word.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use karat_dataset::duplicates::diff_text;
use karat_dataset::rows_diff::{ChangedRow, RowHashes, RowsDiff, changed_row};
use karat_dataset::version::ApartColumns;
use karat_types::{Sample, SampleText};
use serde::Serialize;
use serde_json::{Map, Value};

use super::source::{DatasetRequest, DatasetRows};
use crate::AppError;
use crate::datasets::Datasets;
use crate::error::DatasetError;

/// Ids of a list in a text.
const LISTED: usize = 10;

/// Words of what is the same around a change.
const CONTEXT: usize = 4;

/// Characters of a difference in a text.
const WIDTH: usize = 400;

/// The difference of two sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DatasetDiff {
    /// The sources as they were named.
    pub sources: [String; 2],
    /// The difference.
    #[serde(flatten)]
    pub rows: RowsDiff,
    /// Notes on parts that were not compared.
    pub notes: Vec<String>,
}

/// A kind of difference that a caller may fail on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowDifference {
    /// Rows that only the second has.
    Added,
    /// Rows that only the first has.
    Removed,
    /// Rows with other content.
    Changed,
}

/// The columns that are compared.
#[derive(Clone, Copy, PartialEq)]
enum Compared {
    /// All of them.
    Columns,
    /// Input and reference, as far as runs keep them.
    Roles,
}

impl Datasets<'_> {
    /// The difference of two files, suites or runs. The columns of the first `limit` changed rows are compared by word.
    ///
    /// # Errors
    /// Rows that cannot be read, or of which two have one id.
    pub fn difference(&self, asked: &[DatasetRequest; 2], limit: usize) -> Result<DatasetDiff, AppError> {
        let [before, after] = [self.rows(&asked[0])?, self.rows(&asked[1])?];
        let is_of_run = before.metrics().is_some() || after.metrics().is_some();
        let compared = if is_of_run { Compared::Roles } else { Compared::Columns };
        let (one, other) = (before.apart_columns(), after.apart_columns());
        // A column that one side calls metadata is not content of the other.
        let apart = match compared {
            Compared::Roles => ApartColumns::default(),
            Compared::Columns => ApartColumns {
                ids: one.ids.into_iter().chain(other.ids).collect(),
                metadata: one.metadata.into_iter().chain(other.metadata).collect(),
            },
        };
        let mut diff = hashes(&before, compared, &apart)?.compare(hashes(&after, compared, &apart)?);
        let wanted: Vec<String> = diff.first_changed(limit).cloned().collect();
        let (old, new) = (texts(&before, compared, &wanted)?, texts(&after, compared, &wanted)?);
        diff.rows =
            (wanted.iter()).filter_map(|id| Some(changed_row(id, old.get(id)?, new.get(id)?, &apart))).collect();
        let mut notes = Vec::new();
        if is_of_run {
            notes.push(format!(
                "A run keeps input and reference, {} characters of each: these are compared.",
                SampleText::STORED
            ));
        }
        Ok(DatasetDiff { sources: [before.source, after.source], rows: diff, notes })
    }
}

fn columns(sample: Sample, compared: Compared) -> Map<String, Value> {
    match compared {
        Compared::Columns => sample.columns,
        Compared::Roles => {
            let roles = [("input", sample.input), ("reference", sample.reference)];
            let text = |(name, value): (&str, Option<Value>)| {
                Some((name.to_owned(), Value::from(SampleText::of(name, &value?).text)))
            };
            roles.into_iter().filter_map(text).collect()
        }
    }
}

fn hashes(rows: &DatasetRows, compared: Compared, apart: &ApartColumns) -> Result<RowHashes, AppError> {
    let mut hashes = RowHashes::new();
    rows.for_each(&mut |row| {
        let id = row.sample.id.clone();
        let columns = columns(row.sample, compared);
        let repeated = |error: karat_dataset::rows_diff::RepeatedId| DatasetError::RepeatedId {
            rows: rows.source.clone(),
            id: error.0,
        };
        Ok(hashes.add(&id, &columns, apart).map_err(repeated)?)
    })?;
    Ok(hashes)
}

/// The columns of the wanted rows.
fn texts(
    rows: &DatasetRows,
    compared: Compared,
    wanted: &[String],
) -> Result<BTreeMap<String, Map<String, Value>>, AppError> {
    let mut found = BTreeMap::new();
    if wanted.is_empty() {
        return Ok(found);
    }
    let wanted: std::collections::BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    rows.for_each(&mut |row| {
        if wanted.contains(&*row.sample.id) {
            let id = row.sample.id.to_string();
            found.insert(id, columns(row.sample, compared));
        }
        Ok(())
    })?;
    Ok(found)
}

impl DatasetDiff {
    /// Returns true if the sets differ in this way.
    pub fn has(&self, kind: RowDifference) -> bool {
        !match kind {
            RowDifference::Added => &self.rows.added,
            RowDifference::Removed => &self.rows.removed,
            RowDifference::Changed => &self.rows.changed,
        }
        .is_empty()
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let diff = &self.rows;
        let mut text = String::new();
        // Writing to a String cannot fail.
        for (sign, source, rows) in [("-", &self.sources[0], &diff.before), ("+", &self.sources[1], &diff.after)] {
            let n = karat_report::count_noun(rows.rows, "row");
            let _ = writeln!(text, "{sign} {source}: {n}, content {}", super::versions::short(&rows.hash.to_string()));
        }
        if diff.is_empty() {
            let _ = writeln!(text, "no difference");
        }
        for (what, ids) in [("added", &diff.added), ("removed", &diff.removed), ("changed", &diff.changed)] {
            list(&mut text, what, ids.len(), ids.iter().map(String::clone));
        }
        let renamed = diff.renamed.iter().map(|row| format!("{} → {}", row.before, row.after));
        list(&mut text, "renamed", diff.renamed.len(), renamed);
        list(&mut text, "other metadata", diff.metadata.len(), diff.metadata.iter().cloned());
        if diff.is_reordered {
            let _ = writeln!(text, "other order of common rows");
        }
        if !diff.is_empty() {
            let _ = writeln!(text, "same: {}", diff.same);
        }
        diff.rows.iter().for_each(|row| changes(&mut text, row));
        let unshown = diff.changed.len() - diff.rows.len();
        if unshown > 0 && !diff.rows.is_empty() {
            let _ = writeln!(text, "\n{unshown} more changed rows; `--rows N` shows more");
        }
        self.notes.iter().for_each(|note| {
            let _ = writeln!(text, "{note}");
        });
        text.trim_end().to_owned()
    }

    /// As JSON.
    ///
    /// # Errors
    /// None that is known: the document is one of texts and numbers.
    pub fn json(&self) -> Result<String, AppError> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n").map_err(|source| crate::error::Bug::Json { what: "the difference", source }.into())
    }
}

fn list(text: &mut String, what: &str, n: usize, ids: impl Iterator<Item = String>) {
    if n > 0 {
        let shown = ids.take(LISTED).map(|id| one_line(&id)).collect::<Vec<_>>().join(", ");
        let more = if n > LISTED { format!(" and {} more", n - LISTED) } else { String::new() };
        let _ = writeln!(text, "{what}: {n} ({shown}{more})");
    }
}

fn changes(text: &mut String, row: &ChangedRow) {
    let _ = writeln!(text, "\n{}", one_line(&row.id));
    for change in &row.columns {
        let shown = match change.is_space {
            true => "other white space".to_owned(),
            false => diff_text(&change.words, CONTEXT),
        };
        let cut: String = shown.chars().take(WIDTH).collect();
        let dots = if shown.chars().count() > WIDTH { " …" } else { "" };
        let _ = writeln!(text, "  {}: {cut}{dots}", one_line(&change.column));
    }
}

/// A text on one line: content of datasets may have line breaks.
fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).collect::<Vec<_>>().join("␊")
}
