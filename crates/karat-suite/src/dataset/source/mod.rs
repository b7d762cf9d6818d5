//! Rows as they are in their files.
//!
//! - here: JSONL and JSON files, and rows in the suite; `raw.rs` is a row with its place
//! - `table.rs`: CSV and TSV; `columnar.rs`: Parquet and Arrow; `compressed.rs` unpacks gzip and zstd
//! - `dir.rs`: a folder with a file per row, read by one of the `readers/`
//! - `traces.rs`: calls that applications report
//! - `csv_quotes.rs` finds quotes that never end; `read_ahead.rs` reads on a thread; `common_hosts.rs` finds hosts that all
//!   documents link to

mod columnar;
pub(crate) mod common_hosts;
mod compressed;
pub(crate) mod csv_quotes;
pub(crate) mod dir;
pub(crate) mod raw;
pub(crate) mod read_ahead;
pub(crate) mod readers;
mod table;
pub(crate) mod traces;

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use karat_columnar::ClassLabels;
use karat_types::{FilePath, json};
use serde_json::{Map, Value};

use self::dir::Dir;
use self::raw::{RowPlace, SourceRow};
use self::table::Separator;
use self::traces::Traces;
use super::DatasetError;
use crate::diagnostics::Diagnostic;
use crate::files::Files;
use crate::files::jsonl;

/// Bytes of a row, in JSON lines and tables. Beyond it, a file without line breaks would be one row.
const MOST_BYTES_OF_ROW: usize = if cfg!(test) { 1 << 20 } else { 128 << 20 };

/// Bytes of a JSON file, which is read at once.
const MOST_BYTES_OF_DOCUMENT: u64 = 512 << 20;

/// Room that is made for a line before it is read, at most.
const USUAL_LINE: usize = 16 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Form of a dataset's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Json,
    Csv,
    Tsv,
    Parquet,
    /// Arrow batches: a stream, as Hugging Face's `save_to_disk` writes it, or a file, which is Feather, too.
    Arrow,
    /// A list of rows.
    Yaml,
}

impl Format {
    pub const NAMES: &'static [&'static str] = &["jsonl", "json", "csv", "tsv", "parquet", "arrow", "yaml"];

    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" => Some(Self::Arrow),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }

    /// The format that a file's name says, apart from the ending of a compressed file.
    pub fn extension(name: &str) -> Option<String> {
        let name = name.to_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        name.rsplit_once('.').map(|(_, extension)| extension.to_owned())
    }
}

/// The source of the rows.
#[derive(Debug, Clone)]
pub(crate) enum DatasetSource {
    /// Files of one form, in order.
    Files { paths: Vec<FilePath>, format: Format, labels: ClassLabels },
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
            Self::Files { paths, format, labels } => {
                let (files, format, labels) = (files.clone(), *format, labels.clone());
                Box::new(paths.clone().into_iter().flat_map(move |path| one_file(&files, &path, format, &labels)))
            }
        }
    }
}

/// Remarks on the form of a file that is read although it is not the usual one.
pub(crate) fn form_notes(files: &Arc<dyn Files>, path: &FilePath, format: Format) -> Vec<String> {
    let mut notes = Vec::new();
    match format {
        Format::Csv | Format::Tsv | Format::Json | Format::Jsonl | Format::Yaml => {
            let start = files.open_path(path).and_then(|mut reader| Ok(compressed::utf16_order(reader.fill_buf()?)));
            if matches!(start, Ok(Some(_))) {
                notes.push("is UTF-16, and is read as such".to_owned());
            }
            if format == Format::Csv {
                let line = files.open_path(path).and_then(compressed::unpack);
                let line = line.and_then(|mut reader| table::first_line(&mut *reader));
                notes.extend(line.ok().and_then(|line| Separator::Comma.of_line(&line).note()).map(str::to_owned));
            }
        }
        Format::Parquet | Format::Arrow => {
            let left_out = files.open_seekable(path).map(|file| columnar::left_out(file, format == Format::Parquet));
            for column in left_out.unwrap_or_default() {
                notes.push(format!(
                    "has the binary column `{column}`, which is left out: rows are text, numbers and lists"
                ));
            }
        }
    }
    notes
}

/// The rows of one file, as a suite's `dataset` reads them: CSV with a head, a JSON list, or JSON lines. The ending of the
/// name decides; a file without one of theirs is a JSON list or lines if it begins like them.
///
/// # Errors
/// The file cannot be read, or has a row that is not an object.
pub fn read_rows(files: &Arc<dyn Files>, path: &str) -> Result<Vec<Map<String, Value>>, DatasetError> {
    Ok(read_placed_rows(files, path)?.into_iter().map(|(_, columns)| columns).collect())
}

/// The columns of a row, with its line.
pub type PlacedRow = (usize, Map<String, Value>);

/// The same rows, each with its line.
///
/// # Errors
/// Those of [`read_rows`].
pub fn read_placed_rows(files: &Arc<dyn Files>, path: &str) -> Result<Vec<PlacedRow>, DatasetError> {
    let ending = Format::extension(path).and_then(|ending| Format::from_name(&ending));
    let format = match ending {
        Some(Format::Jsonl) | None if begins_with(files, path) == Some(b'[') => Format::Json,
        None if begins_with(files, path).is_some_and(|byte| byte != b'{') => Format::Csv,
        ending => ending.unwrap_or(Format::Jsonl),
    };
    let rows = one_file(files, &FilePath::literal(path), format, &ClassLabels::default()).map(|row| {
        let SourceRow { value, at } = row?;
        Ok(match value {
            Value::Object(columns) => (at.line, columns),
            _ => (at.line, Map::new()),
        })
    });
    rows.collect()
}

/// The first byte of a file that is not a blank.
fn begins_with(files: &Arc<dyn Files>, path: &str) -> Option<u8> {
    let mut reader = files.open(path).ok()?;
    let start = reader.fill_buf().ok()?;
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    start.iter().find(|byte| !byte.is_ascii_whitespace()).copied()
}

fn inline(file: &str, rows: Arc<Vec<(usize, Value)>>) -> RowStream {
    let file: Arc<str> = file.into();
    let count = rows.len();
    Box::new((0..count).map(move |index| {
        let (line, value) = &rows[index];
        row(value.clone(), RowPlace { file: file.clone(), line: *line, text: value.to_string() })
    }))
}

fn one_file(files: &Arc<dyn Files>, path: &FilePath, format: Format, labels: &ClassLabels) -> RowStream {
    let shown = path.to_string();
    let open = || files.open_path(path).and_then(compressed::unpack);
    let opened = match format {
        Format::Json => open().and_then(read_whole).map(|bytes| json(&shown, bytes)),
        Format::Jsonl => open().map(|reader| lines(&shown, reader)),
        Format::Csv => open().map(|reader| table::rows(&shown, reader, Separator::Comma)),
        Format::Tsv => open().map(|reader| table::rows(&shown, reader, Separator::Tab)),
        Format::Parquet => files.open_seekable(path).map(|file| columnar::parquet(&shown, file, labels)),
        Format::Arrow => files.open_seekable(path).map(|file| columnar::arrow(&shown, file, labels)),
        Format::Yaml => open().and_then(read_whole).map(|bytes| yaml(&shown, bytes)),
    };
    let rows = opened.unwrap_or_else(|error| Box::new(std::iter::once(Err(unreadable(&shown, &error)))));
    match format {
        Format::Parquet | Format::Arrow => rows,
        Format::Json | Format::Jsonl | Format::Csv | Format::Tsv | Format::Yaml => name_labels(rows, labels),
    }
}

/// The same rows, with names in the place of labels' numbers.
fn name_labels(rows: RowStream, labels: &ClassLabels) -> RowStream {
    if labels.is_empty() {
        return rows;
    }
    let labels = labels.clone();
    Box::new(rows.map(move |row| {
        let mut row = row?;
        if let Some(columns) = row.value.as_object_mut() {
            labels.apply(columns);
        }
        Ok(row)
    }))
}

fn read_whole(reader: Box<dyn BufRead + Send>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MOST_BYTES_OF_DOCUMENT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES_OF_DOCUMENT {
        let problem = "it is larger than 512 MiB, and JSON is read at once: write it as JSON lines, an object a line";
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(bytes)
}

/// The error of a row without an end.
fn too_long(line: usize) -> io::Error {
    let most = MOST_BYTES_OF_ROW >> 20;
    let problem = format!("line {line} belongs to a row of more than {most} MiB: rows end with a line break");
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

fn unreadable(path: &str, error: &io::Error) -> DatasetError {
    let message = format!("the dataset's file {path} cannot be read: {error}");
    DatasetError::new(Diagnostic::of_file(crate::diagnostics::Severity::Error, path, message))
}

fn lines(path: &str, mut reader: Box<dyn BufRead + Send>) -> RowStream {
    let file: Arc<str> = path.into();
    let mut line = 0;
    let (mut is_begun, mut is_over) = (false, false);
    // Lines are as long as the longest so far, as a rule.
    let mut room = 0;
    Box::new(std::iter::from_fn(move || {
        while !is_over {
            let mut bytes = Vec::with_capacity(room);
            line += 1;
            match reader.by_ref().take(MOST_BYTES_OF_ROW as u64 + 1).read_until(b'\n', &mut bytes) {
                Ok(length) if length > MOST_BYTES_OF_ROW => {
                    is_over = true;
                    return Some(Err(unreadable(&file, &too_long(line))));
                }
                Ok(0) => is_over = true,
                Ok(_) if bytes.iter().all(u8::is_ascii_whitespace) => {}
                Ok(length) => {
                    room = room.max(length).min(USUAL_LINE);
                    if !is_begun && jsonl::begins_document(&bytes) {
                        // The other lines are parts of it.
                        is_over = true;
                        let problem = jsonl::document_problem(&file, line);
                        return Some(Err(DatasetError { hides_rows: true, ..DatasetError::new(problem) }));
                    }
                    is_begun = true;
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
            (text, json::parse_slice(broken.as_bytes()))
        }
    };
    match read {
        Ok(value) => row(value, RowPlace { file: file.clone(), line, text }),
        Err(error) => Err(DatasetError::new(jsonl::syntax(file, &text, line, &error))),
    }
}

fn once(problem: Diagnostic) -> RowStream {
    Box::new(std::iter::once(Err(DatasetError::new(problem))))
}

fn text(path: &str, bytes: Vec<u8>) -> Result<String, Box<Diagnostic>> {
    let text = String::from_utf8(bytes).map_err(|broken| {
        let line = broken.as_bytes()[..broken.utf8_error().valid_up_to()].iter().filter(|it| **it == b'\n').count();
        let message = "this line is not UTF-8 text";
        let mut problem = Diagnostic::of_line(path, line + 1, "", 0..0, message);
        problem.hint("save the file as UTF-8: some programs write Windows-1252");
        Box::new(problem)
    })?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

/// The rows of a YAML list, or of the one list of rows in a map.
fn yaml(path: &str, bytes: Vec<u8>) -> RowStream {
    let text = match text(path, bytes) {
        Ok(text) => text,
        Err(problem) => return once(*problem),
    };
    let value = match crate::syntax::yaml::value(&text) {
        Ok(value) => value,
        Err(reason) => {
            let reason = reason.lines().next().unwrap_or_default();
            return once(Diagnostic::of_line(path, 1, "", 0..0, format!("invalid YAML: {reason}")));
        }
    };
    let list = match value {
        Value::Array(list) => Some(list),
        Value::Object(map) => {
            let mut lists = map.into_iter().filter(|(_, value)| is_row_list(value)).map(|(_, value)| value);
            lists.next().filter(|_| lists.next().is_none()).and_then(|list| match list {
                Value::Array(list) => Some(list),
                _ => None,
            })
        }
        _ => None,
    };
    let Some(list) = list else {
        let mut problem = Diagnostic::of_line(path, 1, "", 0..0, "expected a list of rows");
        problem.hint("write a row as `- id: q1`, with its columns below");
        return once(problem);
    };
    // Members of a list begin at one depth; without their lines, rows are told by number.
    let depth =
        text.lines().find_map(|line| line.trim_start().starts_with("- ").then(|| line.len() - line.trim_start().len()));
    let begins =
        |line: &&str| Some(line.len() - line.trim_start().len()) == depth && line.trim_start().starts_with("- ");
    let lines: Vec<usize> = (1..).zip(text.lines()).filter(|(_, line)| begins(line)).map(|(at, _)| at).collect();
    let is_block = lines.len() == list.len();
    let file: Arc<str> = path.into();
    Box::new(list.into_iter().enumerate().map(move |(at, value)| {
        let line = lines.get(at).filter(|_| is_block).copied().unwrap_or(1);
        let text = value.to_string();
        row(value, RowPlace { file: file.clone(), line, text })
    }))
}

fn is_row_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_object))
}

fn json(path: &str, bytes: Vec<u8>) -> RowStream {
    let text = match text(path, bytes) {
        Ok(text) => text,
        Err(problem) => return once(*problem),
    };
    let members = jsonl::members(path, &text).or_else(|problem| match jsonl::wrapped_members(&text) {
        Ok(members) => Ok(members),
        Err(Some(message)) => {
            let mut wrapped = Diagnostic::of_line(path, 1, "", 0..0, message);
            wrapped.hint("keep the list of rows alone in the file");
            Err(Box::new(wrapped))
        }
        Err(None) => Err(problem),
    });
    if members.is_err() && jsonl::begins_as_lines(&text) {
        return lines(path, Box::new(io::Cursor::new(text.into_bytes())));
    }
    match members {
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

fn row(value: Value, place: RowPlace) -> RowResult {
    match value {
        Value::Object(_) => Ok(SourceRow { value, at: Arc::new(place) }),
        _ => Err(place.problem("", "a row must be an object with named columns")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(name: &str, content: String) -> RowResult {
        let reader = Box::new(io::Cursor::new(content.into_bytes()));
        let mut rows = match name.rsplit('.').next() {
            Some("jsonl") => lines(name, reader),
            Some("csv") => table::rows(name, reader, Separator::Comma),
            Some("tsv") => table::rows(name, reader, Separator::Tab),
            _ => json(name, reader.into_inner()),
        };
        rows.next().unwrap()
    }

    fn problem_of(name: &str, content: String) -> String {
        first(name, content).err().unwrap().to_string()
    }

    /// X11: a table of very many columns is read in the time that its length takes, with the check for columns of one name.
    #[test]
    fn many_columns_are_read() {
        for (name, separator) in [("a.csv", ","), ("a.tsv", "\t")] {
            let head: Vec<String> = (0..140_000).map(|n| format!("c{n}")).collect();
            let cells = vec!["1"; head.len()].join(separator);
            let row = first(name, format!("{}\n{cells}\n", head.join(separator))).unwrap();
            assert_eq!(row.value["c139999"], "1");
            let twice = problem_of(name, format!("{0}{separator}c7\n{cells}{separator}1\n", head.join(separator)));
            assert!(twice.contains("two columns have the name `c7`"));
        }
    }

    /// X12: a row of very many values, or without an end, is an error with its place, in each format.
    #[test]
    fn a_row_without_an_end_is_an_error() {
        for name in ["a.jsonl", "a.csv", "a.tsv"] {
            let endless = problem_of(name, format!("a{}", " ".repeat(2 << 20)));
            assert!(endless.contains("line 1 belongs to a row of more than 1 MiB"), "{name}: {endless}");
        }
        let quoted = problem_of("a.csv", format!("a,b\n1,\"{}\"\n", "x\n".repeat(1 << 20)));
        assert!(quoted.contains("a row of more than 1 MiB"), "{quoted}");
        let values = format!("[{{\"a\": [0{}]}}]", ",0".repeat(json::MOST_VALUES));
        let values = problem_of("a.json", values);
        assert!(values.contains("more than 5000000 values"), "{values}");
    }
}
