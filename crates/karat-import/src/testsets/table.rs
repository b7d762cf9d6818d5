//! Rows of a file: a list in JSON, JSONL, or CSV.

use serde_json::{Map, Value};

use crate::error::ImportError;
use crate::source::Source;

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Jsonl,
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
    let text = source.text(path)?;
    let refused = |problem: String, line: usize| {
        let known = known.iter().take(3).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        ImportError::new(path.display(), problem)
            .at_line(line)
            .with_hint(format!("expected a list in JSON, JSONL or CSV with columns such as {known}"))
    };
    let (form, rows) = match text.trim_start().chars().next() {
        Some('[') => {
            let list: Vec<Value> = serde_json::from_str(&text)
                .map_err(|error| refused(format!("is not a valid JSON list: {error}"), error.line().max(1)))?;
            (Form::Json, list.into_iter().map(|row| (1, row)).collect())
        }
        Some('{') => {
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            let parse = |(index, line): (usize, &str)| {
                let row = serde_json::from_str(line);
                row.map(|row| (index + 1, row))
                    .map_err(|error| refused(format!("is not valid JSON: {error}"), index + 1))
            };
            (Form::Jsonl, lines.map(parse).collect::<Result<Vec<_>, _>>()?)
        }
        _ => (Form::Csv, csv_rows(&text, &refused)?),
    };
    let mut table = Table { form, rows: Vec::new() };
    for (line, row) in rows {
        let Value::Object(row) = row else { return Err(refused("holds a row that is no object".to_owned(), line)) };
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

fn csv_rows(text: &str, refused: &impl Fn(String, usize) -> ImportError) -> Result<Vec<(usize, Value)>, ImportError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let problem = |error: csv::Error| {
        let line = error.position().map_or(1, |position| position.line() as usize);
        refused(format!("is not valid CSV: {error}"), line)
    };
    let header = reader.headers().map_err(problem)?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(problem)?;
        let line = record.position().map_or(1, |position| position.line() as usize);
        let cells = header.iter().zip(record.iter()).map(|(name, cell)| {
            let value = if cell.is_empty() { Value::Null } else { Value::String(cell.to_owned()) };
            (name.trim().to_owned(), value)
        });
        rows.push((line, Value::Object(cells.collect())));
    }
    Ok(rows)
}
