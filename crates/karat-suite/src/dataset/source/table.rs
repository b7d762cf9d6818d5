//! CSV and TSV: tables whose first line names the columns.

use std::io::BufRead;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use super::RowStream;
use super::csv_quotes::QuoteReader;
use super::raw::{RowPlace, SourceRow};
use crate::dataset::DatasetError;
use crate::diagnostics::Diagnostic;

/// The character between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Comma,
    Tab,
}

impl Separator {
    fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
        }
    }

    /// Advice for a header that has another character between its cells.
    fn hint(self, mark: char) -> String {
        match (self, mark) {
            (Self::Comma, '\t') => "columns are separated by tabs: say `format: tsv`".to_owned(),
            (Self::Tab, ',') => "columns are separated by commas: say `format: csv`".to_owned(),
            _ => format!("this line has {mark:?} between its columns: save the table with commas, as CSV"),
        }
    }
}

/// The rows of a table with a header.
pub(super) fn rows(path: &str, reader: Box<dyn BufRead + Send>, separator: Separator) -> RowStream {
    let file: Arc<str> = path.into();
    let mut table = csv::ReaderBuilder::new()
        .delimiter(separator.byte())
        .flexible(false)
        .from_reader(QuoteReader::of(reader, separator.byte()));
    let headers: Vec<String> = match table.headers() {
        Ok(headers) => headers.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect(),
        Err(error) => return Box::new(std::iter::once(Err(csv_error(&file, &error)))),
    };
    if let Some(line) = table.get_ref().text_after_quote().filter(|line| *line == 1) {
        return Box::new(std::iter::once(Err(text_after_quote_error(&file, line))));
    }
    if let Some(line) = table.get_ref().unclosed_quote() {
        return Box::new(std::iter::once(Err(unclosed_quote_error(&file, line))));
    }
    let twice = {
        let mut seen = FxHashSet::default();
        headers.iter().find(|name| !seen.insert(name.as_str())).cloned()
    };
    if let Some(twice) = twice {
        let message = if twice.is_empty() {
            "two columns have no name".to_owned()
        } else {
            format!("two columns have the name `{twice}`")
        };
        let mut problem = Diagnostic::of_line(&file, 1, &headers.join(","), 0..0, message);
        problem.hint("rename one of them in the first line");
        return Box::new(std::iter::once(Err(DatasetError::new(problem))));
    }
    if let [only] = &headers[..]
        && let Some(mark) = [',', ';', '\t', '|'].into_iter().find(|mark| only.contains(*mark))
    {
        let mut problem = Diagnostic::of_line(&file, 1, only, 0..only.len(), "the header is a single column");
        problem.hint(separator.hint(mark));
        return Box::new(std::iter::once(Err(DatasetError::new(problem))));
    }
    let mut records = table.into_records();
    let mut is_over = false;
    Box::new(std::iter::from_fn(move || {
        let record = if is_over { None } else { Some(records.next()) }?;
        let quotes = records.reader().get_ref();
        // The quotes are ahead of the records.
        let is_read = |line: &usize| record.is_none() || records.reader().position().line() as usize > *line;
        let broken = quotes.text_after_quote().filter(is_read).map(|line| text_after_quote_error(&file, line));
        let unclosed = || quotes.unclosed_quote().map(|line| unclosed_quote_error(&file, line));
        if let Some(error) = broken.or_else(unclosed) {
            is_over = true;
            return Some(Err(error));
        }
        let record = record?;
        Some(record.map_err(|error| csv_error(&file, &error)).map(|record| {
            let line = record.position().map_or(0, |position| position.line() as usize);
            let cells = headers.iter().zip(record.iter());
            let columns: Map<String, Value> =
                cells.map(|(name, cell)| (name.clone(), Value::String(cell.to_owned()))).collect();
            let text = record.iter().collect::<Vec<_>>().join(",");
            SourceRow { value: Value::Object(columns), at: Arc::new(RowPlace { file: file.clone(), line, text }) }
        }))
    }))
}

/// The parser reads everything after such a quote into one cell.
fn unclosed_quote_error(file: &Arc<str>, line: usize) -> DatasetError {
    let message = "a quote in this line is never closed, so all following rows would be part of its cell";
    let mut problem = Diagnostic::of_line(file, line, "", 0..0, message);
    problem.hint("close it; write a quote within quotes twice");
    DatasetError { hides_rows: true, ..DatasetError::new(problem) }
}

/// The parser takes the quote for a part of the cell, and may take following cells and rows into it.
fn text_after_quote_error(file: &Arc<str>, line: usize) -> DatasetError {
    let message = "there is text after a closing quote, so where this cell ends is not known";
    let mut problem = Diagnostic::of_line(file, line, "", 0..0, message);
    problem.hint(
        "write a quote within quotes twice; a program that escapes it with a backslash, as Spark and MySQL do, \
         has an option for that (`escape='\"'`)",
    );
    DatasetError { hides_rows: true, ..DatasetError::new(problem) }
}

fn csv_error(file: &Arc<str>, error: &csv::Error) -> DatasetError {
    let line = error.position().map_or(1, |position| position.line() as usize);
    let (message, hint) = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => (
            format!("this row has {len} cells, the header has {expected_len}"),
            Some("put a cell that contains a comma, a quote or a line break in double quotes"),
        ),
        csv::ErrorKind::Utf8 { .. } => (
            "this row is not UTF-8 text".to_owned(),
            Some("save the table as UTF-8: spreadsheets often write UTF-16 or Windows-1252"),
        ),
        _ => (format!("invalid CSV: {error}"), None),
    };
    let mut problem = Diagnostic::of_line(file, line, "", 0..0, message);
    problem.maybe_hint(hint.map(str::to_owned));
    DatasetError::new(problem)
}
