//! A folder of files as a dataset: a file a row, columns from its name and from its content.

use std::sync::Arc;

use karat_types::FilePath;
use serde_json::{Map, Value};

use super::raw::{RowPlace, SourceRow};
use super::readers::{ReadError, Reader, ReaderRules};
use crate::dataset::DatasetError;
use crate::diagnostics::{Diagnostic, Severity};
use crate::files::{Files, file_text, is_outside, join, jsonl};

/// The pattern of a dataset's files below its folder: `{name}` binds a column, `*` and `?` match anything, `/` goes a
/// folder down. `{date}` only matches YYYY-MM-DD.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pattern {
    segments: Vec<Vec<PatternPiece>>,
}

#[derive(Debug, Clone, PartialEq)]
enum PatternPiece {
    Literal(String),
    Any,
    One,
    Column(String),
}

impl Pattern {
    /// Parses a pattern. The error is a message.
    pub fn parse(text: &str) -> Result<Self, String> {
        let segments =
            text.split('/').filter(|segment| !segment.is_empty()).map(pieces).collect::<Result<Vec<_>, _>>()?;
        if segments.is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(Self { segments })
    }

    /// The columns that it binds.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().flatten().filter_map(|piece| match piece {
            PatternPiece::Column(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

fn pieces(segment: &str) -> Result<Vec<PatternPiece>, String> {
    let mut pieces = Vec::new();
    let mut rest = segment;
    while !rest.is_empty() {
        let at = rest.find(['{', '*', '?']).unwrap_or(rest.len());
        if at > 0 {
            pieces.push(PatternPiece::Literal(rest[..at].to_owned()));
        }
        rest = &rest[at..];
        if let Some(inner) = rest.strip_prefix('{') {
            let (name, behind) = inner.split_once('}').ok_or_else(|| "a `{` is not closed".to_owned())?;
            let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_name {
                return Err(format!("`{{{name}}}` is not a column name"));
            }
            pieces.push(PatternPiece::Column(name.to_owned()));
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix('*') {
            pieces.push(PatternPiece::Any);
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix('?') {
            pieces.push(PatternPiece::One);
            rest = behind;
        }
    }
    Ok(pieces)
}

/// Test for a text that `{date}` may match.
type DateTest = fn(&str) -> bool;

/// Returns whether a name matches, and appends the values of its columns. A column matches as little as possible.
fn fits(pieces: &[PatternPiece], name: &str, dates: DateTest, bound: &mut Vec<(String, String)>) -> bool {
    let Some((piece, rest)) = pieces.split_first() else { return name.is_empty() };
    let ends = || name.char_indices().map(|(at, c)| at + c.len_utf8());
    match piece {
        PatternPiece::Literal(text) => {
            name.strip_prefix(text.as_str()).is_some_and(|name| fits(rest, name, dates, bound))
        }
        PatternPiece::One => ends().next().is_some_and(|end| fits(rest, &name[end..], dates, bound)),
        PatternPiece::Any => std::iter::once(0).chain(ends()).any(|end| fits(rest, &name[end..], dates, bound)),
        PatternPiece::Column(column) => ends().any(|end| {
            if column == "date" && !dates(&name[..end]) {
                return false;
            }
            let before = bound.len();
            bound.push((column.clone(), name[..end].to_owned()));
            let fits = fits(rest, &name[end..], dates, bound);
            if !fits {
                bound.truncate(before);
            }
            fits
        }),
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// Returns whether a text looks like a date: 2026-02-30, 2026-3-1, 20260301.
fn is_like_date(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    digits >= 6 && text.chars().all(|c| c.is_ascii_digit() || "-_.".contains(c))
}

/// Returns whether a date that a calendar knows begins where the columns found something like one.
fn has_date(name: &str, columns: &[(String, String)]) -> bool {
    let meant = columns.iter().rfind(|(column, _)| column == "date").and_then(|(_, meant)| name.find(meant.as_str()));
    meant.and_then(|at| name.get(at..at + 10)).is_some_and(is_date)
}

/// A file of the dataset with the columns in its name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowFile {
    /// Its path; `path.path` is its path below the dataset's folder.
    pub path: FilePath,
    columns: Vec<(String, String)>,
}

/// The files of a dataset, in order, and how they are read.
#[derive(Debug, Clone)]
pub(crate) struct Dir {
    pub files: Arc<Vec<RowFile>>,
    pub reader: Reader,
    pub rules: Arc<ReaderRules>,
    /// The column with the id, if it is in the file's name: so a broken file has an id too.
    pub id: Option<String>,
}

/// The entries of a folder that a pattern matches, and those that it nearly matches.
#[derive(Debug, Default)]
pub(crate) struct FolderMatches {
    /// The files that fit, in the order of their names. What is not a folder counts as a file, whether it can be read or
    /// not.
    pub files: Vec<RowFile>,
    /// Files that fit but for their date, which no calendar knows.
    pub undated: Vec<String>,
    /// Files with a date that fit but for the rest of their name.
    pub unfit: Vec<String>,
    /// Folders that are called as a file should be.
    pub folders: Vec<String>,
    /// Folders in which the rest of the pattern fits nothing.
    pub empty_folders: u64,
}

/// Finds the files that fit a pattern below a folder.
///
/// # Errors
/// The folder cannot be listed.
pub(crate) fn find(files: &dyn Files, folder: &str, pattern: &Pattern) -> std::io::Result<FolderMatches> {
    let mut matches = FolderMatches::default();
    descend(files, (folder, ""), &pattern.segments, &[], &mut matches)?;
    Ok(matches)
}

fn descend(
    files: &dyn Files,
    (folder, prefix): (&str, &str),
    segments: &[Vec<PatternPiece>],
    bound: &[(String, String)],
    found: &mut FolderMatches,
) -> std::io::Result<()> {
    let Some((segment, below)) = segments.split_first() else { return Ok(()) };
    let mut names = files.list(&join(folder, prefix))?;
    names.sort_unstable();
    for name in names {
        let mut columns = bound.to_vec();
        let shown = format!("{prefix}{name}");
        if !fits(segment, &name, is_date, &mut columns) {
            if fits(segment, &name, is_like_date, &mut columns) {
                let left_out = if has_date(&name, &columns) { &mut found.unfit } else { &mut found.undated };
                left_out.push(shown);
            }
            continue;
        }
        let path = join(folder, &shown);
        let is_folder = || !files.is_file(&path) && files.list(&path).is_ok();
        if below.is_empty() {
            if is_folder() {
                found.folders.push(shown);
            } else {
                found.files.push(RowFile { path: FilePath::beneath(folder, shown), columns });
            }
        } else if is_folder() {
            let before = found.files.len();
            descend(files, (folder, &format!("{shown}/")), below, &columns, found)?;
            found.empty_folders += u64::from(found.files.len() == before);
        }
    }
    Ok(())
}

impl RowFile {
    /// Returns the key by which files of several folders are the same row.
    pub fn identity(&self) -> String {
        match self.columns.is_empty() {
            true => self.path.path.clone(),
            false => self.columns.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join("\n"),
        }
    }
}

impl Dir {
    /// The row of a file.
    pub fn row(&self, files: &dyn Files, file: &RowFile) -> Result<SourceRow, DatasetError> {
        let at = RowPlace { file: file.path.to_string().into(), line: 1, text: String::new() };
        let id = file.columns.iter().find(|(name, _)| Some(name) == self.id.as_ref());
        let id = id.map(|(_, value)| Arc::from(value.as_str()));
        let columns =
            self.columns(files, file).map_err(|problem| DatasetError { id, ..DatasetError::new(*problem) })?;
        Ok(SourceRow { value: Value::Object(columns), at: Arc::new(at) })
    }

    fn columns(&self, files: &dyn Files, file: &RowFile) -> Result<Map<String, Value>, Box<Diagnostic>> {
        let path = file.path.to_string();
        let problem = |message: String| Box::new(Diagnostic::of_file(Severity::Error, &path, message));
        let bytes = files.read_path(&file.path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => problem("the file is a broken link".to_owned()),
            _ if is_outside(&error) => {
                let mut problem = problem("the file is a link to a place outside of the dataset's folder".to_owned());
                problem.hint("put the file itself there, or name the folder where it lies as `source` or under `more`");
                problem
            }
            _ => problem(format!("the file cannot be read: {error}")),
        })?;
        let text = file_text(bytes).map_err(|_| problem("the file is not UTF-8 text".to_owned()))?;
        let read = self.reader.read(&text, &self.rules).map_err(|error| match error {
            ReadError::Syntax(error) => Box::new(jsonl::syntax(&path, &text, 1, &error)),
            ReadError::Form(message) => problem(message),
        })?;
        let named = file.columns.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        let mut columns: Map<String, Value> = named.collect();
        for (name, value) in read {
            columns.entry(name).or_insert(value);
        }
        Ok(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(pattern: &str, name: &str) -> Option<Vec<(String, String)>> {
        let pattern = Pattern::parse(pattern).unwrap();
        let mut bound = Vec::new();
        fits(&pattern.segments[0], name, is_date, &mut bound).then_some(bound)
    }

    #[test]
    fn names_of_files_become_columns() {
        let pairs = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>())
        };
        assert_eq!(bound("{date}-card.json", "2026-03-01-card.json"), pairs(&[("date", "2026-03-01")]));
        assert_eq!(bound("{date}-card.json", "draft-card.json"), None);
        assert_eq!(bound("{date}-card.json", "2026-02-30-card.json"), None);
        assert_eq!(bound("{date}-*.md", "2026-03-01-news.md"), pairs(&[("date", "2026-03-01")]));
        assert_eq!(bound("{id}-{mode}.md", "a-b-c.md"), pairs(&[("id", "a"), ("mode", "b-c")]));
        assert!(["2026-02-30", "2026-3-1", "20260301", "2026-03-05-2"].iter().all(|text| is_like_date(text)));
        assert!(!["draft", "2026", "v1.2.3", "2026-03-01x"].iter().any(|text| is_like_date(text)));
        assert!(Pattern::parse("{date-card.json").is_err() && Pattern::parse("/").is_err());
    }
}
