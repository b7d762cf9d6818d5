//! Rows as they are in their files.
//!
//! - here: JSONL, JSON and CSV files, and rows in the suite; `raw.rs` is a row with its place
//! - `dir.rs`: a folder with a file per row, read by one of the `readers/`
//! - `traces.rs`: calls that applications report
//! - `csv_quotes.rs` finds quotes that never end; `read_ahead.rs` reads on a thread; `common_hosts.rs` finds hosts that all
//!   documents link to

pub(crate) mod common_hosts;
pub(crate) mod csv_quotes;
pub(crate) mod dir;
pub(crate) mod raw;
pub(crate) mod read_ahead;
pub(crate) mod readers;
pub(crate) mod traces;

use std::io::{self, BufRead};
use std::sync::Arc;

use karat_types::FilePath;
use serde_json::{Map, Value};

use self::csv_quotes::QuoteReader;
use self::dir::Dir;
use self::raw::{RowPlace, SourceRow};
use self::traces::Traces;
use super::DatasetError;
use crate::diagnostics::Diagnostic;
use crate::files::Files;
use crate::files::jsonl;

/// Room that is made for a line before it is read, at most.
const USUAL_LINE: usize = 16 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Form of a dataset's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Json,
    Csv,
}

impl Format {
    pub const NAMES: &'static [&'static str] = &["jsonl", "json", "csv"];

    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// The source of the rows.
#[derive(Debug, Clone)]
pub(crate) enum DatasetSource {
    /// Files of one form, in order.
    Files { paths: Vec<FilePath>, format: Format },
    /// Files that are a row each.
    Dir(Dir),
    /// Calls that applications report.
    Traces(Traces),
    /// Rows written in the suite, with the line of each.
    Inline { file: String, rows: Arc<Vec<(usize, Value)>> },
}

pub(super) type RowResult = Result<SourceRow, DatasetError>;
pub(super) type RowStream = Box<dyn Iterator<Item = RowResult> + Send>;

impl DatasetSource {
    /// The rows, file after file. A file that cannot be read is one error.
    pub fn stream(&self, files: &Arc<dyn Files>) -> RowStream {
        match self {
            Self::Inline { file, rows } => inline(file, rows.clone()),
            Self::Traces(traces) => traces.stream(),
            Self::Dir(dir) => {
                let (files, dir) = (files.clone(), dir.clone());
                Box::new((0..dir.files.len()).map(move |at| dir.row(&*files, &dir.files[at])))
            }
            Self::Files { paths, format } => {
                let (files, format) = (files.clone(), *format);
                Box::new(paths.clone().into_iter().flat_map(move |path| one_file(&files, &path, format)))
            }
        }
    }
}

/// The rows of one file, as a suite's `dataset` reads them: CSV with a head, a JSON list, or JSON lines. The ending of the
/// name decides; a file without one of theirs is a JSON list if it begins like one.
///
/// # Errors
/// The file cannot be read, or has a row that is no object.
pub fn read_rows(files: &Arc<dyn Files>, path: &str) -> Result<Vec<Map<String, Value>>, DatasetError> {
    let ending = path.rsplit_once('.').and_then(|(_, ending)| Format::from_name(&ending.to_lowercase()));
    let format = match ending {
        Some(Format::Jsonl) | None if begins_as_list(files, path) => Format::Json,
        ending => ending.unwrap_or(Format::Jsonl),
    };
    let rows = one_file(files, &FilePath::literal(path), format).map(|row| match row?.value {
        Value::Object(columns) => Ok(columns),
        _ => Ok(Map::new()),
    });
    rows.collect()
}

fn begins_as_list(files: &Arc<dyn Files>, path: &str) -> bool {
    let Ok(mut reader) = files.open(path) else { return false };
    let start = reader.fill_buf().unwrap_or_default();
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

fn inline(file: &str, rows: Arc<Vec<(usize, Value)>>) -> RowStream {
    let file: Arc<str> = file.into();
    let count = rows.len();
    Box::new((0..count).map(move |index| {
        let (line, value) = &rows[index];
        row(value.clone(), RowPlace { file: file.clone(), line: *line, text: value.to_string() })
    }))
}

fn one_file(files: &Arc<dyn Files>, path: &FilePath, format: Format) -> RowStream {
    let shown = path.to_string();
    let opened = match format {
        Format::Json => files.read_path(path).map(|bytes| json(&shown, bytes)),
        Format::Jsonl => files.open_path(path).map(|reader| lines(&shown, reader)),
        Format::Csv => files.open_path(path).map(|reader| csv_rows(&shown, reader)),
    };
    opened.unwrap_or_else(|error| Box::new(std::iter::once(Err(unreadable(&shown, &error)))))
}

fn unreadable(path: &str, error: &io::Error) -> DatasetError {
    let message = format!("the dataset's file {path} cannot be read: {error}");
    DatasetError::new(Diagnostic::of_file(crate::diagnostics::Severity::Error, path, message))
}

fn lines(path: &str, mut reader: Box<dyn BufRead + Send>) -> RowStream {
    let file: Arc<str> = path.into();
    let mut line = 0;
    let mut is_over = false;
    // Lines are as long as the longest so far, as a rule.
    let mut room = 0;
    Box::new(std::iter::from_fn(move || {
        while !is_over {
            let mut bytes = Vec::with_capacity(room);
            line += 1;
            match reader.read_until(b'\n', &mut bytes) {
                Ok(0) => is_over = true,
                Ok(_) if bytes.iter().all(u8::is_ascii_whitespace) => {}
                Ok(length) => {
                    room = room.max(length).min(USUAL_LINE);
                    return Some(json_line(&file, line, bytes));
                }
                Err(error) => {
                    is_over = true;
                    return Some(Err(unreadable(&file, &error)));
                }
            }
        }
        None
    }))
}

fn json_line(file: &Arc<str>, line: usize, mut bytes: Vec<u8>) -> RowResult {
    if line == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    let (text, read) = match String::from_utf8(bytes) {
        Ok(mut text) => {
            text.truncate(text.trim_end().len());
            let read = jsonl::parse_strict(&text);
            (text, read)
        }
        Err(broken) => {
            let text = String::from_utf8_lossy(broken.as_bytes()).trim_end().to_owned();
            (text, serde_json::from_slice(broken.as_bytes()))
        }
    };
    match read {
        Ok(value) => row(value, RowPlace { file: file.clone(), line, text }),
        Err(error) => Err(DatasetError::new(jsonl::syntax(file, &text, line, &error))),
    }
}

fn json(path: &str, bytes: Vec<u8>) -> RowStream {
    let once = |problem: Diagnostic| -> RowStream { Box::new(std::iter::once(Err(DatasetError::new(problem)))) };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(broken) => {
            let line = broken.as_bytes()[..broken.utf8_error().valid_up_to()].iter().filter(|it| **it == b'\n').count();
            let message = "this line is not UTF-8 text";
            let mut problem = Diagnostic::of_line(path, line + 1, "", 0..0, message);
            problem.hint("save the file as UTF-8: some programs write UTF-16 or Windows-1252");
            return once(problem);
        }
    };
    let text = text.trim_start_matches('\u{feff}').to_owned();
    match jsonl::members(path, &text) {
        Ok(members) => {
            let file: Arc<str> = path.into();
            Box::new(members.into_iter().map(move |(line, range)| {
                let place = RowPlace { file: file.clone(), line, text: text[range.clone()].to_owned() };
                match jsonl::parse_strict(&text[range]) {
                    Ok(value) => row(value, place),
                    Err(error) => Err(DatasetError::new(jsonl::syntax(&file, &place.text, line, &error))),
                }
            }))
        }
        Err(problem) => once(*problem),
    }
}

fn csv_rows(path: &str, reader: Box<dyn BufRead + Send>) -> RowStream {
    let file: Arc<str> = path.into();
    let mut table = csv::ReaderBuilder::new().flexible(false).from_reader(QuoteReader::of(reader));
    let headers: Vec<String> = match table.headers() {
        Ok(headers) => headers.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect(),
        Err(error) => return Box::new(std::iter::once(Err(csv_error(&file, &error)))),
    };
    if let Some(line) = table.get_ref().unclosed_quote() {
        return Box::new(std::iter::once(Err(unclosed_quote_error(&file, line))));
    }
    if let Some(twice) =
        headers.iter().enumerate().find(|(at, name)| headers[..*at].contains(name)).map(|(_, name)| name)
    {
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
        && let Some(mark) = [';', '\t', '|'].into_iter().find(|mark| only.contains(*mark))
    {
        let mut problem = Diagnostic::of_line(&file, 1, only, 0..only.len(), "the header is a single column");
        problem
            .hint(format!("columns are separated by commas, but this line has {mark:?}: save the table with commas"));
        return Box::new(std::iter::once(Err(DatasetError::new(problem))));
    }
    let mut records = table.into_records();
    let mut is_over = false;
    Box::new(std::iter::from_fn(move || {
        let record = if is_over { None } else { records.next() }?;
        if let Some(line) = records.reader().get_ref().unclosed_quote() {
            is_over = true;
            return Some(Err(unclosed_quote_error(&file, line)));
        }
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

fn row(value: Value, place: RowPlace) -> RowResult {
    match value {
        Value::Object(_) => Ok(SourceRow { value, at: Arc::new(place) }),
        _ => Err(place.problem("", "a row must be an object with named columns")),
    }
}
