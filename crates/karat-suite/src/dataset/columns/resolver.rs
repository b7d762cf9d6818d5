//! Columns that are resolved from files beside the dataset. The resolvers themselves come with the [`Catalog`].
//!
//! [`Catalog`]: crate::Catalog

use std::fmt;
use std::io::ErrorKind;

use karat_types::FilePath;
use serde_json::{Map, Value, json};

use crate::diagnostics::{Diagnostic, Severity};
use crate::files::{Files, file_text, jsonl};

/// Makes a column's value out of files that were read when the suite was loaded.
pub trait Resolver: Send + Sync {
    /// Returns the value for a row; `None` where the row has nothing to resolve.
    fn resolve(&self, row: &Value) -> Option<Resolved>;
}

/// The outcome for a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resolved {
    /// The column's value.
    pub value: Value,
    /// Contradictions between row and files, one sentence each.
    pub mismatches: Vec<String>,
}

/// A registered resolver.
#[derive(Debug, Clone, Copy)]
pub struct ResolverEntry {
    /// One line about it.
    pub about: &'static str,
    /// Options that name folders, with the description of each.
    pub folders: &'static [(&'static str, &'static str)],
    /// Reads the folders, in the order of `folders`; `None` for one that the suite leaves empty.
    pub make: fn(&[Option<String>], &mut ResolverFiles<'_>) -> Box<dyn Resolver>,
}

impl ResolverEntry {
    /// JSON Schema of its options.
    pub fn options(&self) -> Value {
        let folder =
            |(name, what): &(&str, &str)| ((*name).to_owned(), json!({ "type": "string", "description": what }));
        let properties: Map<String, Value> = self.folders.iter().map(folder).collect();
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": self.folders.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "properties": properties,
        })
    }
}

/// Files that a resolver reads: hashes their contents, and gathers what is wrong with them.
pub struct ResolverFiles<'a> {
    files: &'a dyn Files,
    digest: blake3::Hasher,
    problems: Vec<Diagnostic>,
}

impl<'a> ResolverFiles<'a> {
    /// Nothing is read yet.
    pub fn new(files: &'a dyn Files) -> Self {
        Self { files, digest: blake3::Hasher::new(), problems: Vec::new() }
    }

    /// The sorted names of the entries of a folder; none where it cannot be listed.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let mut names = self.files.list(folder).unwrap_or_default();
        names.sort_unstable();
        names
    }

    /// The rows of a JSON list or JSONL file, as many as can be read. A missing file has none.
    pub fn rows(&mut self, path: &FilePath) -> Vec<Value> {
        let Some(text) = self.text(path) else { return Vec::new() };
        let (rows, problems) = jsonl::rows(&path.to_string(), &text);
        self.problems.extend(problems);
        rows
    }

    /// The document in a JSON file; `None` where there is none that can be read.
    pub fn document(&mut self, path: &FilePath) -> Option<Value> {
        let text = self.text(path)?;
        jsonl::document(&path.to_string(), &text).map_err(|problem| self.problems.push(*problem)).ok()
    }

    /// Records an error about a file or folder.
    pub fn error(&mut self, path: &str, message: String) {
        self.problems.push(Diagnostic::of_file(Severity::Error, path, message));
    }

    /// Records a warning about a file or folder.
    pub fn warning(&mut self, path: &str, message: String) {
        self.problems.push(Diagnostic::of_file(Severity::Warning, path, message));
    }

    /// The problems so far.
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// The hash over everything that was read, and the problems.
    pub(crate) fn finish(self) -> (String, Vec<Diagnostic>) {
        (self.digest.finalize().to_hex().to_string(), self.problems)
    }

    fn text(&mut self, path: &FilePath) -> Option<String> {
        let shown = path.to_string();
        let bytes = match self.files.read_path(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.error(&shown, format!("the file cannot be read: {error}"));
                }
                return None;
            }
        };
        for part in [shown.rsplit('/').next().unwrap_or_default().as_bytes(), &bytes] {
            self.digest.update(&(part.len() as u64).to_le_bytes());
            self.digest.update(part);
        }
        match file_text(bytes) {
            Ok(text) => Some(text),
            Err(_) => {
                self.error(&shown, format!("the file {shown} is not UTF-8 text"));
                None
            }
        }
    }
}

/// A resolver in a column.
#[derive(Clone)]
pub(crate) struct ColumnResolver {
    pub name: String,
    pub resolver: std::sync::Arc<dyn Resolver>,
}

impl fmt::Debug for ColumnResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
