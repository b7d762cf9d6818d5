//! The documents: chunks with their words counted, tables.

use std::collections::HashMap;

use serde_json::Value;
use thiserror::Error;

use crate::question::words;

/// A file of the library that cannot be read.
#[derive(Debug, Error)]
#[error("reading {path} of the demo's library: {problem}")]
pub struct LibraryError {
    path: String,
    problem: String,
}

/// A piece of a document.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    pub id: String,
    pub space: String,
    /// The entry of the manifest.
    pub entry: Value,
    /// The number of occurrences of each word.
    pub counts: HashMap<String, u32>,
}

impl Chunk {
    /// A field as text; empty when absent.
    pub fn field(&self, name: &str) -> &str {
        self.entry.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// All chunks and tables.
#[derive(Debug, Default)]
pub struct Library {
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) tables: Vec<Value>,
    /// The number of chunks that contain each word.
    pub(crate) document_counts: HashMap<String, u32>,
}

impl Library {
    /// Reads `…/chunk_manifest.jsonl` and `…/tables/*.json`; other files are ignored.
    ///
    /// # Errors
    /// A file that is not JSON, or a chunk without an id.
    pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, LibraryError> {
        let mut library = Self::default();
        for (path, text) in files {
            let wrong = |problem: String| LibraryError { path: path.to_owned(), problem };
            let parse = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| wrong(error.to_string()));
            if path.ends_with("chunk_manifest.jsonl") {
                for line in text.lines().filter(|line| !line.trim().is_empty()) {
                    let entry = parse(line)?;
                    let chunk = chunk(entry).ok_or_else(|| wrong("a chunk has no chunk_id".to_owned()))?;
                    library.add(chunk);
                }
            } else if path.contains("/tables/") && path.ends_with(".json") {
                library.tables.push(parse(text)?);
            }
        }
        Ok(library)
    }

    fn add(&mut self, chunk: Chunk) {
        for word in chunk.counts.keys() {
            *self.document_counts.entry(word.clone()).or_default() += 1;
        }
        self.chunks.push(chunk);
    }

    /// The tables of a quarter.
    pub(crate) fn tables_of<'a>(&'a self, quarter: &'a str) -> impl Iterator<Item = &'a Value> {
        self.tables.iter().filter(move |table| table.get("quarter").and_then(Value::as_str) == Some(quarter))
    }
}

fn chunk(entry: Value) -> Option<Chunk> {
    let field = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
    let id = field("chunk_id")?;
    let space = field("space").unwrap_or_else(|| "text".to_owned());
    let known = ["text", "title", "quarter", "doc_type"].map(|name| field(name).unwrap_or_default()).join(" ");
    let mut counts = HashMap::new();
    for word in words(&known) {
        *counts.entry(word).or_default() += 1;
    }
    Some(Chunk { id, space, entry, counts })
}
