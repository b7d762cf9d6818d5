//! Files that recorded steps read. A file of rows is read once per run and indexed by row; of a folder, only the
//! requested files are read.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use karat_suite::{Files, MediaKind, RowsById, is_outside};
use karat_text::path::Path;
use karat_types::{
    Answer, Ask, CallError, CallErrorCode, ChatRequest, FilePath, FileRow, FileTrial, FinishReason, Key, Media,
    ModelSpec, Reply, Request,
};
use serde_json::Value;

use crate::rows::media::{MediaFacts, with_bytes};

/// The files that recorded steps of a run read.
pub(crate) struct RecordedFiles {
    files: Arc<dyn Files>,
    /// The number of planned samples.
    samples: u64,
    read: Mutex<HashMap<FilePath, Arc<Result<FileEntry, CallError>>>>,
    media: MediaFacts,
}

/// The content of a path that a step names.
enum FileEntry {
    File {
        text: String,
        /// The rows of the file by the path of their trial's number, if they have one; indexed at the first request.
        rows: Mutex<HashMap<Option<String>, IndexedRows>>,
    },
    /// A folder with one file per row, by id.
    Folder(HashMap<String, FilePath>),
}

/// The id of a row, and the number of its trial where rows are found by trial.
type RowName = (String, Option<u32>);

type IndexedRows = Result<Arc<FileRows>, CallError>;

/// The rows of a file.
enum FileRows {
    /// Lines of a JSONL text.
    Lines(HashMap<RowName, Range<usize>>),
    /// Members of one JSON document.
    Members(HashMap<RowName, String>),
    /// The whole document is one row: that of the only sample, or of the sample that the file is named after.
    Single,
}

impl RecordedFiles {
    /// Files for a run of so many samples.
    pub fn new(files: Arc<dyn Files>, samples: u64) -> Self {
        Self { files, samples, read: Mutex::new(HashMap::new()), media: MediaFacts::default() }
    }

    /// Reads the text of a file or of one of its rows.
    pub fn read(&self, path: &FilePath, row: Option<&FileRow>) -> Result<Reply, CallError> {
        let book = self.entry(path);
        let whole = book.as_ref().as_ref().map_err(|error| match row {
            // A file of rows that is not text fails for every row.
            Some(_) if error.code == CallErrorCode::Malformed => failure(error.message.clone()),
            _ => error.clone(),
        })?;
        let text = match (whole, row) {
            (FileEntry::File { text, .. }, None) => text.clone(),
            (FileEntry::File { text, rows }, Some(row)) => {
                let rows = indexed_rows(rows, path, text, row.trial.as_ref())?;
                if matches!(*rows, FileRows::Single) && self.samples > 1 && stem(&path.path) != row.id {
                    return Err(failure(format!(
                        "{path} is one document without an id, and would be the output of all {} samples: choose its \
                         sample with `--sample`, or name a folder with a file for each",
                        self.samples
                    )));
                }
                rows.get(text, row).ok_or_else(|| not_found(format!("{path} has no {row}")))?
            }
            (FileEntry::Folder(_), None) => {
                return Err(failure(format!("reading {path}: it is a folder; say `by` for its files")));
            }
            (FileEntry::Folder(files), Some(FileRow { id, .. })) => {
                let file = files.get(id).ok_or_else(|| not_found(format!("{path} has no file of {id:?}")))?;
                let text = self.text(file)?;
                // Rows are JSON; any other file is a JSON string.
                if file.path.ends_with(".json") { text } else { Value::from(text).to_string() }
            }
        };
        Ok(Reply::new(text, FinishReason::Stop))
    }

    /// Adds what images and files are to the key of what a step reads of its row.
    pub fn media_key(&self, read: Key, media: &[(MediaKind, Result<Media, String>)]) -> Key {
        self.media.key(&*self.files, read, media)
    }

    /// Estimated tokens of the images and files of a request.
    pub fn media_tokens(&self, request: &ChatRequest, model: Option<&ModelSpec>) -> u64 {
        self.media.tokens(&*self.files, request, model)
    }

    /// A request with the bytes of its images and files; `None` if it has none.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub fn with_media(&self, request: &Request) -> Result<Option<Request>, String> {
        match request {
            Request::Chat(chat) if chat.has_media() => {
                with_bytes(&*self.files, chat).map(|chat| Some(Request::Chat(chat)))
            }
            _ => Ok(None),
        }
    }

    /// Answers a request for a file; any other request is a bug of the step.
    pub fn answer(&self, ask: Ask) -> Answer {
        let outcome = match &ask.request {
            Request::File { path, row } => self.read(path, row.as_ref()).map(Arc::new),
            _ => Err(failure("a step without a recipient asked for a reply; this is a bug in karat".to_owned())),
        };
        Answer { id: ask.id, outcome }
    }

    fn entry(&self, path: &FilePath) -> Arc<Result<FileEntry, CallError>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(book) = read.get(path) {
            return book.clone();
        }
        let book = Arc::new(self.open(path));
        read.insert(path.clone(), book.clone());
        book
    }

    fn open(&self, path: &FilePath) -> Result<FileEntry, CallError> {
        let shown = path.to_string();
        if !self.files.is_file(&shown)
            && let Ok(names) = self.files.list(&shown)
        {
            return Ok(FileEntry::Folder(self.folder(path, &names)));
        }
        Ok(FileEntry::File { text: self.text(path)?, rows: Mutex::default() })
    }

    fn text(&self, path: &FilePath) -> Result<String, CallError> {
        let bytes = self.files.read_path(path).map_err(|error| match error.kind() {
            _ if is_outside(&error) => failure(format!(
                "reading {path}: it lies outside of the folder `{}` or links to a place outside of it. A row can only name \
                 files beneath the folder that the suite's text begins with (`from: FOLDER/{{{{ sample.id }}}}.json`): move \
                 the file there, or name its folder in the suite",
                path.beneath.as_deref().unwrap_or_default()
            )),
            std::io::ErrorKind::NotFound => not_found(format!("there is no file {path}")),
            _ => failure(format!("reading {path}: {error}")),
        })?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| CallError {
            code: CallErrorCode::Malformed,
            message: format!("reading {path}: the file is not UTF-8 text"),
            status: None,
        })?;
        Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }

    /// The file of each row: `ID.EXTENSION`, or the only file of a folder `ID`. Ids are compared with the names there
    /// and never become paths. Of two files with one id, the first by name counts.
    fn folder(&self, path: &FilePath, names: &[String]) -> HashMap<String, FilePath> {
        let mut names: Vec<&String> = names.iter().filter(|name| !name.starts_with('.')).collect();
        names.sort_unstable();
        let mut files = HashMap::new();
        for name in names {
            let inner = path.child(name);
            if self.files.is_file(&inner.to_string()) {
                files.entry(stem(name).to_owned()).or_insert(inner);
            } else if let Ok([only]) = self.files.list(&inner.to_string()).as_deref() {
                files.entry(name.clone()).or_insert(inner.child(only));
            }
        }
        files
    }
}

impl FileRows {
    /// Indexes JSONL, a JSON list of objects with an `id`, a JSON object of objects by id, or a single document. With a
    /// path of trials, a row without a number there has no name. Of several rows with one name, the first counts.
    ///
    /// # Errors
    /// A row that cannot be read, with its place: it may be the one that is asked for.
    fn of(path: &FilePath, text: &str, trial: Option<&Path>) -> Result<Self, String> {
        let read = RowsById::read(&path.to_string(), text).map_err(|problems| {
            let first = problems.first();
            first.map_or_else(String::new, |it| format!("reading {path}:{}: {}", it.line, it.message))
        })?;
        Ok(match read {
            RowsById::Members(rows) => {
                let mut members = HashMap::new();
                for (id, row) in rows {
                    let name = id.or_else(|| id_of(&row)).map(|id| row_name(id, &row, trial));
                    if let Some(name) =
                        name.transpose().map_err(|problem| format!("reading {path}: {problem}"))?.flatten()
                    {
                        members.entry(name).or_insert_with(|| row.to_string());
                    }
                }
                Self::Members(members)
            }
            RowsById::Lines(rows) => {
                let mut lines = HashMap::new();
                for (range, line, row) in rows {
                    let name = id_of(&row).map(|id| row_name(id, &row, trial)).transpose();
                    if let Some(name) = name.map_err(|problem| format!("reading {path}:{line}: {problem}"))?.flatten() {
                        lines.entry(name).or_insert(range);
                    }
                }
                Self::Lines(lines)
            }
            RowsById::Single => Self::Single,
        })
    }

    fn get(&self, text: &str, row: &FileRow) -> Option<String> {
        let name = (row.id.clone(), row.trial.as_ref().map(|trial| trial.number));
        match self {
            Self::Lines(lines) => text.get(lines.get(&name)?.clone()).map(str::to_owned),
            Self::Members(members) => members.get(&name).cloned(),
            Self::Single => Some(text.to_owned()),
        }
    }
}

/// The rows of a text by this path of trials, indexed once.
fn indexed_rows(
    indexes: &Mutex<HashMap<Option<String>, IndexedRows>>,
    path: &FilePath,
    text: &str,
    trial: Option<&FileTrial>,
) -> IndexedRows {
    let at = trial.map(|trial| Path::parse(&trial.path)).transpose().map_err(|error| failure(error.to_string()))?;
    let mut indexes = indexes.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = indexes.entry(trial.map(|trial| trial.path.clone()));
    rows.or_insert_with(|| FileRows::of(path, text, at.as_ref()).map(Arc::new).map_err(failure)).clone()
}

/// The name of a row with this id; `None` where the number of its trial is missing.
fn row_name(id: String, row: &Value, trial: Option<&Path>) -> Result<Option<RowName>, String> {
    let Some(path) = trial else { return Ok(Some((id, None))) };
    let Some(written) = path.first(row).filter(|number| !number.is_null()) else { return Ok(None) };
    // Tables write numbers as text, and some programs write them with a fraction of 0.
    let number = written.as_f64().or_else(|| written.as_str()?.trim().parse().ok());
    let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(number);
    match number.filter(is_whole) {
        Some(number) => Ok(Some((id, Some(number as u32)))),
        None => Err(format!("the number of the trial at `{path}` is {written}, which is not a whole number")),
    }
}

/// The file name without its extension.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn id_of(row: &Value) -> Option<String> {
    let id = ["id", "sample"].iter().find_map(|name| row.get(name).filter(|id| !id.is_null()))?;
    Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
}

fn not_found(message: String) -> CallError {
    CallError { code: CallErrorCode::NotFound, message, status: None }
}

fn failure(message: String) -> CallError {
    CallError { code: CallErrorCode::Process, message, status: None }
}

#[cfg(test)]
mod tests {
    use karat_suite::DiskFiles;

    use super::*;

    /// F3: a row that cannot be read fails every request of its file, with its place; `NaN` is null.
    #[test]
    fn unreadable_rows_are_never_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl").display().to_string();
        let read = |text: &str, id: &str, trial: Option<u32>| {
            std::fs::write(&path, text).unwrap();
            let files = RecordedFiles::new(Arc::new(DiskFiles), 2);
            let trial = trial.map(|number| FileTrial { path: "t".to_owned(), number });
            let row = FileRow { id: id.to_owned(), trial };
            files.read(&FilePath::literal(path.as_str()), Some(&row)).map(|reply| reply.text)
        };
        let good = "{\"id\": \"a\", \"p\": NaN}\n{\"id\": 123456789012345678901, \"t\": \"2\"}\n";
        assert_eq!(read(good, "a", None).unwrap(), "{\"id\": \"a\", \"p\": NaN}");
        assert_eq!(read(good, "123456789012345678901", Some(2)).unwrap(), good.lines().nth(1).unwrap());
        assert_eq!(read(good, "c", None).unwrap_err().code, CallErrorCode::NotFound);
        for (broken, problem) in [
            ("{\"id\": \"a\"}\n{\"id\": \"b\"\n", "rows.jsonl:2: invalid JSON: it ends too early"),
            (
                "{\"id\": \"a\", \"t\": 1}\n{\"id\": \"b\", \"t\": \"first\"}\n",
                "rows.jsonl:2: the number of the trial at",
            ),
            ("{\"id\": \"a\", \"t\": 1}\n{\"id\": \"b\", \"t\": 1.5}\n", "which is not a whole number"),
        ] {
            for id in ["a", "b"] {
                let error = read(broken, id, Some(1)).unwrap_err();
                assert!(error.code != CallErrorCode::NotFound && error.message.contains(problem), "{}", error.message);
            }
        }
    }
}
