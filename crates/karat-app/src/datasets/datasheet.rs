//! The datasheet of a set of rows.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use karat_dataset::datasheet::{SheetCounts, SheetFacts, datasheet, unwritten_sections};
use karat_dataset::duplicates::{Likeness, Preference};
use karat_dataset::version::RowsHasher;
use karat_suite::Plan;

use super::manifest_file::read_manifest;
use super::source::DatasetRequest;
use super::source::{NEAR, find_row_duplicates};
use crate::AppError;
use crate::datasets::Datasets;
use crate::error::{DatasetError, FileError};
use crate::project::atomic_file::AtomicFile;
use crate::project::load;
use crate::project::presets::SuiteFiles;

/// The name of the file.
const DATASHEET: &str = "datasheet.md";

/// The request for a datasheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasheetRequest {
    /// The rows.
    pub rows: DatasetRequest,
    /// Columns that are counted by value, besides the suite's metadata.
    pub by: Vec<String>,
    /// The file; `datasheet.md` beside the rows if absent.
    pub output: Option<PathBuf>,
}

/// A written datasheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenDatasheet {
    /// Its path.
    pub path: PathBuf,
    /// The sections that nobody wrote yet.
    pub unwritten: Vec<String>,
}

impl Datasets<'_> {
    /// The text of a datasheet; what people wrote in `earlier` is kept.
    ///
    /// # Errors
    /// Rows or a manifest that cannot be read.
    pub fn datasheet(&self, asked: &DatasheetRequest, earlier: Option<&str>) -> Result<Option<String>, AppError> {
        let rows = self.rows(&asked.rows)?;
        let path = rows.manifest_path();
        let manifest = path.as_deref().map(read_manifest).transpose()?.flatten();
        let apart = rows.recorded_columns(manifest.as_ref());
        let mut counted = rows.metadata_columns();
        let more = asked.by.iter().filter(|column| !counted.contains(column)).cloned();
        counted.extend(more.collect::<Vec<String>>());
        let mut counts = SheetCounts::new(counted);
        let mut hasher = RowsHasher::new();
        let duplicates = find_row_duplicates(&rows, NEAR, &mut |row, _| {
            counts.add(&row.sample);
            hasher.add(&row.sample.id, &row.sample.columns, &apart);
            Preference::default()
        })?;
        let labels = self.label_lines(&rows.source, rows.plan.as_ref())?;
        let facts = SheetFacts {
            name: &rows.name,
            version: &hasher.finish(),
            declared: rows.plan.as_ref().and_then(|plan| plan.header.dataset.version.as_deref()),
            manifest: manifest.as_ref(),
            duplicates: (duplicates.count(Likeness::Exact), duplicates.count(Likeness::Near), duplicates.framed_rows()),
            labels: &labels,
        };
        Ok(datasheet(&counts, &facts, earlier))
    }

    /// Writes a datasheet, and keeps what people wrote in it.
    ///
    /// # Errors
    /// Another file is in its place, a file that cannot be read or written, and as [`Datasets::datasheet`].
    pub fn write_datasheet(&self, asked: &DatasheetRequest) -> Result<WrittenDatasheet, AppError> {
        let rows = self.rows(&asked.rows)?;
        let beside = || rows.manifest_path().map(|path| path.with_file_name(DATASHEET));
        let path = asked.output.clone().or_else(beside).unwrap_or_else(|| PathBuf::from(DATASHEET));
        drop(rows);
        let earlier = match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(FileError::reading(&path, error).into()),
        };
        let Some(text) = self.datasheet(asked, earlier.as_deref())? else {
            return Err(DatasetError::NoDatasheet { path: path.display().to_string() }.into());
        };
        let write = || -> std::io::Result<()> {
            let mut file = AtomicFile::create(&path)?;
            file.write_all(text.as_bytes())?;
            file.finish()
        };
        write().map_err(|error| FileError::writing(&path, error))?;
        Ok(WrittenDatasheet { path, unwritten: unwritten_sections(&text) })
    }

    /// A sentence on the unwritten sections of the datasheet beside a suite's rows; `None` if it has none, or all are
    /// written.
    pub fn datasheet_gaps(&self, suite: &str, plan: &Plan) -> Option<String> {
        let [first, ..] = plan.header.dataset.sources.as_slice() else { return None };
        let suite = load::find_suite(suite, &SuiteFiles).ok()?;
        let path = Path::new(&suite).parent()?.join(&first.path).with_file_name(DATASHEET);
        let unwritten = unwritten_sections(&std::fs::read_to_string(&path).ok()?);
        (!unwritten.is_empty()).then(|| {
            format!(
                "{}: {} still to do: {}",
                path.display(),
                karat_report::count_noun(unwritten.len() as u64, "section"),
                unwritten.join(", ")
            )
        })
    }

    /// A line for each annotation task of the suite or file: its labels, and how far people agree.
    fn label_lines(&self, source: &str, plan: Option<&Plan>) -> Result<Vec<String>, AppError> {
        let mut lines = Vec::new();
        if !self.app.store.exists() {
            return Ok(lines);
        }
        for stored in self.app.store_to_read()?.annotation_tasks()? {
            let task = self.app.stored().load_task(stored)?;
            let is_of_suite = plan.is_some_and(|plan| task.body.suite.as_deref() == Some(plan.header.suite.as_str()));
            if !is_of_suite && task.body.source != source {
                continue;
            }
            let found = self
                .app
                .stored()
                .read_state(&task, |state| crate::stored::labels::agreement::agreement(&task, state))?;
            let questions = found["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
            let told = questions.iter().map(|question| {
                let name = question["question"].as_str().unwrap_or_default();
                let items = question["items"].as_u64().unwrap_or_default();
                match question["alpha"]["value"].as_f64() {
                    Some(alpha) => format!("{name}: {items} items with two labels, alpha {alpha:.2}"),
                    None => format!("{name}: {items} items with two labels"),
                }
            });
            let told = told.collect::<Vec<_>>().join("; ");
            lines.push(format!(
                "task {}@{}: {} items; {told}",
                task.stored.name,
                task.stored.version,
                task.items.len()
            ));
        }
        lines.sort();
        Ok(lines)
    }
}
