//! CSV and TSV: tables whose first line names the columns.

use std::collections::VecDeque;
use std::io::BufRead;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use super::csv_quotes::QuoteReader;
use super::raw::{RowPlace, SourceRow};
use super::{RowResult, RowStream};
use crate::dataset::DatasetError;
use crate::diagnostics::Diagnostic;

/// The character between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Comma,
    Tab,
    Semicolon,
    Bar,
}

impl Separator {
    fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
            Self::Semicolon => b';',
            Self::Bar => b'|',
        }
    }

    /// The character between the cells of a first line: this one, or another where the line has none of this and of one other.
    pub fn of_line(self, line: &[u8]) -> Self {
        let mut is_quoted = false;
        let mut seen = [0_usize; 4];
        let all = [Self::Comma, Self::Semicolon, Self::Tab, Self::Bar];
        for byte in line {
            is_quoted ^= *byte == b'"';
            for (separator, count) in all.iter().zip(&mut seen) {
                *count += usize::from(!is_quoted && separator.byte() == *byte);
            }
        }
        let mut found = all.into_iter().zip(seen).filter(|(_, count)| *count > 0).map(|(separator, _)| separator);
        match (found.next(), found.next()) {
            (Some(only), None) if self == Self::Comma => only,
            _ => self,
        }
    }

    /// The note on a table with another separator than a comma.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Self::Comma => None,
            Self::Tab => Some("columns are separated by tabs"),
            Self::Semicolon => {
                Some("columns are separated by `;`, so numbers may have a comma as decimal mark: they are texts here")
            }
            Self::Bar => Some("columns are separated by `|`"),
        }
    }

    /// Advice for a header that has another character between its cells.
    fn hint(self, mark: char) -> String {
        match (self, mark) {
            (Self::Tab, ',') => "columns are separated by commas: say `format: csv`".to_owned(),
            _ => format!("this line has {mark:?} between its columns: save the table with commas, as CSV"),
        }
    }
}

/// The first line of a table, as far as one read reaches.
pub(super) fn first_line(reader: &mut (dyn BufRead + Send)) -> std::io::Result<Vec<u8>> {
    let start = reader.fill_buf()?;
    let end = start.iter().position(|byte| *byte == b'\n').unwrap_or(start.len());
    Ok(start.get(..end).unwrap_or_default().to_vec())
}

/// The rows of a table with a header. A table of commas whose header has none may have another separator. Lines of empty
/// cells at its end, as spreadsheets write them, are not rows.
pub(super) fn rows(path: &str, mut reader: Box<dyn BufRead + Send>, separator: Separator) -> RowStream {
    let file: Arc<str> = path.into();
    let separator = match first_line(&mut *reader) {
        Ok(line) => separator.of_line(&line),
        Err(error) => return Box::new(std::iter::once(Err(super::unreadable(&file, &error)))),
    };
    let mut table = csv::ReaderBuilder::new()
        .delimiter(separator.byte())
        .flexible(true)
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
    // Rows of empty cells, until another row follows them, and that row.
    let mut waiting: VecDeque<RowResult> = VecDeque::new();
    let may_trail = headers.len() > 1;
    Box::new(std::iter::from_fn(move || {
        let mut is_ready = waiting.back().is_some_and(|row| !is_blank(row));
        while !is_ready && !is_over {
            let record = records.next();
            let quotes = records.reader().get_ref();
            // The quotes are ahead of the records.
            let is_read = |line: &usize| record.is_none() || records.reader().position().line() as usize > *line;
            let broken = quotes.text_after_quote().filter(is_read).map(|line| text_after_quote_error(&file, line));
            let unclosed = || quotes.unclosed_quote().map(|line| unclosed_quote_error(&file, line));
            let broken = broken.or_else(unclosed);
            let Some(record) = record.filter(|_| broken.is_none()) else {
                is_over = true;
                waiting.clear();
                return broken.map(Err);
            };
            let row = record.map_err(|error| csv_error(&file, &error)).and_then(|it| read_record(&it, &headers, &file));
            is_ready = !may_trail || !is_blank(&row);
            waiting.push_back(row);
        }
        waiting.pop_front()
    }))
}

/// Returns true of a row in which all cells are empty.
fn is_blank(row: &RowResult) -> bool {
    let columns = row.as_ref().ok().and_then(|row| row.value.as_object());
    columns.is_some_and(|columns| columns.values().all(|cell| cell.as_str().is_some_and(str::is_empty)))
}

fn read_record(record: &csv::StringRecord, headers: &[String], file: &Arc<str>) -> RowResult {
    let line = record.position().map_or(0, |position| position.line() as usize);
    let is_empty = record.iter().all(str::is_empty);
    if record.len() != headers.len() && !(is_empty && headers.len() > 1) {
        let message = format!("this row has {} cells, the header has {}", record.len(), headers.len());
        let mut problem = Diagnostic::of_line(file, line, "", 0..0, message);
        problem.hint("put a cell that contains a comma, a quote or a line break in double quotes");
        return Err(DatasetError::new(problem));
    }
    let cells = headers.iter().zip(record.iter().chain(std::iter::repeat("")));
    let columns: Map<String, Value> =
        cells.map(|(name, cell)| (name.clone(), Value::String(cell.to_owned()))).collect();
    let text = record.iter().collect::<Vec<_>>().join(",");
    Ok(SourceRow { value: Value::Object(columns), at: Arc::new(RowPlace { file: file.clone(), line, text }) })
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
