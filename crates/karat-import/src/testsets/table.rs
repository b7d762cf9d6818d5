//! Rows of a file, as a suite's dataset reads them: JSON, JSONL, CSV and others.

use std::io::BufRead;
use std::sync::Arc;

use karat_suite::{DiskFiles, Files};
use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::source::Source;

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    /// All values are texts; an empty cell is null.
    Csv,
}

/// The rows of a file.
#[derive(Debug)]
pub(super) struct Table {
    pub form: Form,
    pub rows: Vec<Map<String, Value>>,
}

/// Reads a file by its content. `known` are columns, of which a row must have at least one.
pub(super) fn read(source: &Source, known: &[&str]) -> Result<Table, ImportError> {
    let path = source.path();
    if path.is_dir() {
        return Err(
            ImportError::new(path.display(), "is a folder; a file is expected").with_hint("name the file itself")
        );
    }
    let refused = |problem: String, line: usize| {
        let known = known.iter().take(3).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        ImportError::new(path.display(), problem)
            .at_line(line)
            .with_hint(format!("expected a list in JSON, JSONL or CSV with columns such as {known}"))
    };
    source.include(path)?;
    // Refuses a pointer of Git LFS.
    let start = source.reader(path)?.fill_buf().map_err(|error| ImportError::reading(path, &error))?.to_vec();
    let is_table = !matches!(
        start.trim_ascii_start().strip_prefix("\u{feff}".as_bytes()).unwrap_or(&start).trim_ascii_start(),
        [b'[' | b'{', ..]
    );
    let form = if is_table { Form::Csv } else { Form::Json };
    let lone = if is_table { None } else { lone_object(source.reader(path)?, known) };
    let rows = match lone {
        Some(object) => of_columns(object).into_iter().map(|row| (1, row)).collect(),
        None => {
            let files: Arc<dyn Files> = Arc::new(DiskFiles);
            karat_suite::read_placed_rows(&files, &path.to_string_lossy()).map_err(|error| {
                let problem = error.problem();
                refused(problem.message.clone(), problem.line.max(1))
            })?
        }
    };
    let mut table = Table { form, rows: Vec::new() };
    for (line, mut row) in rows {
        if form == Form::Csv {
            row.values_mut().filter(|cell| cell.as_str() == Some("")).for_each(|cell| *cell = Value::Null);
        }
        if !known.iter().any(|column| row.contains_key(*column)) {
            return Err(refused("holds a row without any of the columns".to_owned(), line));
        }
        table.rows.push(row);
    }
    if table.rows.is_empty() {
        return Err(refused("holds no rows".to_owned(), 1));
    }
    Ok(table)
}

/// The rows of the lists of these names in the object that is the whole file; `None` of another file.
pub(super) fn read_lists(source: &Source, names: &[&str]) -> Result<Option<Table>, ImportError> {
    let path = source.path();
    if path.is_dir() {
        return Ok(None);
    }
    let Ok(mut object) = serde_json::from_reader::<_, Map<String, Value>>(source.reader(path)?) else {
        return Ok(None);
    };
    let lists = names.iter().filter_map(|name| match object.shift_remove(*name) {
        Some(Value::Array(rows)) => Some(rows),
        _ => None,
    });
    let rows: Vec<_> =
        lists.flatten().filter_map(|row| if let Value::Object(row) = row { Some(row) } else { None }).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    source.include(path)?;
    Ok(Some(Table { form: Form::Json, rows }))
}

/// The object that is the whole file, if it has one of the columns: a single row, or a table that is written as columns.
fn lone_object(reader: impl BufRead, known: &[&str]) -> Option<Map<String, Value>> {
    let object: Map<String, Value> = serde_json::from_reader(reader).ok()?;
    known.iter().any(|column| object.contains_key(*column)).then_some(object)
}

/// The rows of a table that is written as columns: `{"a": [1, 2]}`, or `{"a": {"0": 1, "1": 2}}` as pandas does.
fn of_columns(row: Map<String, Value>) -> Vec<Map<String, Value>> {
    let length = |column: &Value| match column {
        Value::Array(cells) => Some(cells.len()),
        Value::Object(cells) if cells.keys().enumerate().all(|(at, key)| *key == at.to_string()) => Some(cells.len()),
        _ => None,
    };
    let mut lengths = row.values().map(length);
    let first = lengths.next().flatten().filter(|first| *first > 0);
    let Some(count) = first.filter(|first| lengths.all(|length| length == Some(*first))) else { return vec![row] };
    // The only column of a row may be a list.
    if row.len() < 2 {
        return vec![row];
    }
    let cell = |column: &Value, at: usize| match column {
        Value::Array(cells) => cells.get(at).cloned(),
        column => column.get(at.to_string()).cloned(),
    };
    (0..count)
        .map(|at| row.iter().map(|(name, column)| (name.clone(), cell(column, at).unwrap_or_default())).collect())
        .collect()
}
