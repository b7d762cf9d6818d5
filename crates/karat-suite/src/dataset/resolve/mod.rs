//! Columns that are resolved from files beside the dataset. A new resolver is one file here and one line in
//! [`RESOLVERS`].

mod filing;

use std::fmt;
use std::io::ErrorKind;

use karat_types::FilePath;
use serde_json::{Map, Value, json};

use crate::diagnostics::{Diagnostic, Severity};
use crate::files::Files;

/// Makes a column's value out of files that were read when the suite was loaded.
pub(crate) trait Resolver: Send + Sync {
    /// The value for a row; `None` where the row has nothing to resolve.
    fn resolve(&self, row: &Value) -> Option<Resolved>;
}

/// What was found for a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Resolved {
    pub value: Value,
    /// What row and files contradict each other in, in words.
    pub mismatches: Vec<String>,
}

/// Files that a resolver reads, and what it found wrong with them.
pub(crate) struct Shelf<'a> {
    pub files: &'a dyn Files,
    /// Over the content of everything that was read.
    pub digest: blake3::Hasher,
    pub problems: Vec<Diagnostic>,
}

impl Shelf<'_> {
    /// The text of a file; `None` where there is none, or where it cannot be read, which is a problem.
    fn text(&mut self, path: &FilePath) -> Option<String> {
        let shown = path.to_string();
        let bytes = match self.files.read_path(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.error(&shown, format!("it cannot be read: {error}"));
                }
                return None;
            }
        };
        for part in [shown.rsplit('/').next().unwrap_or_default().as_bytes(), &bytes] {
            self.digest.update(&(part.len() as u64).to_le_bytes());
            self.digest.update(part);
        }
        match String::from_utf8(bytes) {
            Ok(text) => Some(text),
            Err(_) => {
                self.error(&shown, format!("the file {shown} is not UTF-8 text"));
                None
            }
        }
    }

    fn error(&mut self, path: &str, message: String) {
        self.problems.push(Diagnostic::of_file(Severity::Error, path, message));
    }

    fn warning(&mut self, path: &str, message: String) {
        self.problems.push(Diagnostic::of_file(Severity::Warning, path, message));
    }

    /// The entries of a folder, by name; none where it is none.
    fn list(&self, folder: &str) -> Vec<String> {
        let mut names = self.files.list(folder).unwrap_or_default();
        names.sort_unstable();
        names
    }
}

/// A line of the registry.
pub(crate) struct Registered {
    pub name: &'static str,
    pub about: &'static str,
    /// Options that name folders, and what lies there.
    pub folders: &'static [(&'static str, &'static str)],
    /// Reads the folders, in the order of `folders`; `None` for one that the suite leaves empty.
    pub make: fn(&[Option<String>], &mut Shelf<'_>) -> Box<dyn Resolver>,
}

impl Registered {
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

/// Every resolver by name: one line about it, and the JSON Schema of its options.
pub fn resolvers() -> impl Iterator<Item = (&'static str, &'static str, Value)> {
    RESOLVERS.iter().map(|resolver| (resolver.name, resolver.about, resolver.options()))
}

/// Folders of filings.
const FILINGS: &[(&str, &str)] = &[
    ("chunks", "Folder of chunk manifests: `DOC/chunk_manifest.jsonl`."),
    ("tables", "Folder of tables: `DOC/tables/TABLE.json`."),
];

/// Every resolver.
pub(crate) static RESOLVERS: &[Registered] = &[
    Registered {
        name: "filing_evidence",
        about: "the chunks that a gold answer rests on: ids by space (text, table, page)",
        folders: FILINGS,
        make: filing::evidence,
    },
    Registered {
        name: "filing_gold",
        about: "the expected value with unit and currency, filled from its tables, and who answers in its chunks",
        folders: FILINGS,
        make: filing::gold,
    },
];

/// A resolver in a column.
#[derive(Clone)]
pub(crate) struct Resolving {
    pub name: &'static str,
    pub resolver: std::sync::Arc<dyn Resolver>,
}

impl fmt::Debug for Resolving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
