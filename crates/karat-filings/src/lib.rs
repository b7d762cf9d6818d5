//! Resolvers of columns for questions about filings: `filing_evidence`, the relevant chunks by space, and
//! `filing_gold`, the expected value with its unit and who answered.
//!
//! The row's `gold` names citations, source tables, a quote, speakers, an expected value. Chunk manifests and tables say
//! which chunks are at those places, who answered there, and whether the value is in the tables. Contradictions between
//! gold and filings are reported and change nothing.
//!
//! - `library.rs` reads the manifests and tables of a folder
//! - `evidence.rs` gathers, for one row, chunks, value and speakers; `sources.rs` finds the tables that its gold means
//! - `figure.rs` compares numbers with their units; `written_number.rs`, `period.rs` and `speaker.rs` read texts

mod evidence;
mod figure;
mod library;
mod period;
mod sources;
mod speaker;
mod written_number;

use karat_suite::{Resolved, Resolver, ResolverEntry, ResolverFiles};
use karat_text::similar::fold;
use serde_json::{Map, Value, json};

use evidence::Evidence;
use library::{Library, SPACES};

/// The folders that both resolvers read.
const FOLDERS: &[(&str, &str)] = &[
    ("chunks", "Folder of chunk manifests: `DOC/chunk_manifest.jsonl`."),
    ("tables", "Folder of tables: `DOC/tables/TABLE.json`."),
];

/// Every resolver of this crate by name.
pub fn resolvers() -> [(&'static str, ResolverEntry); 2] {
    let evidence =
        "ids of the passages of a company filing that support the expected answer, by kind: text, table, page";
    let gold = "the expected value with unit and currency, completed from the cited table, and the people who speak in the cited passages";
    [
        ("filing_evidence", ResolverEntry { about: evidence, folders: FOLDERS, make: relevant_chunks }),
        ("filing_gold", ResolverEntry { about: gold, folders: FOLDERS, make: expected_values }),
    ]
}

/// Reads the filings: the folders of chunks and of tables.
fn read_library(folders: &[Option<String>], files: &mut ResolverFiles<'_>) -> Library {
    let folder = |at: usize| folders.get(at).and_then(Option::as_deref);
    Library::read(folder(0), folder(1), files)
}

/// `filing_evidence`.
fn relevant_chunks(folders: &[Option<String>], files: &mut ResolverFiles<'_>) -> Box<dyn Resolver> {
    Box::new(ByPlace(read_library(folders, files)))
}

/// `filing_gold`.
fn expected_values(folders: &[Option<String>], files: &mut ResolverFiles<'_>) -> Box<dyn Resolver> {
    Box::new(ByTable(read_library(folders, files)))
}

/// A value as folded text; nothing where it is null or empty.
fn folded_text(value: &Value) -> Option<String> {
    let text = if value.is_null() { String::new() } else { fold(&plain_text(value)) };
    (!text.is_empty()).then_some(text)
}

/// The relevant chunks: ids by space.
struct ByPlace(Library);

impl Resolver for ByPlace {
    fn resolve(&self, row: &Value) -> Option<Resolved> {
        let mut evidence = Evidence::for_row(&self.0, row)?;
        let chunks = evidence.chunks();
        evidence.slides(&chunks);
        let ids = |space: &str| -> Vec<&str> {
            chunks.iter().filter(|it| it.space == space).map(|it| it.id.as_str()).collect()
        };
        let value = SPACES.map(|space| (space.to_owned(), json!(ids(space)))).into_iter().collect();
        Some(Resolved { value: Value::Object(value), mismatches: evidence.mismatches })
    }
}

/// The expected value, and who answered.
struct ByTable(Library);

impl Resolver for ByTable {
    fn resolve(&self, row: &Value) -> Option<Resolved> {
        let mut evidence = Evidence::for_row(&self.0, row)?;
        let mut value = Map::new();
        evidence.number(&mut value);
        let chunks = evidence.quietly(Evidence::chunks);
        evidence.speakers(&chunks, &mut value);
        Some(Resolved { value: Value::Object(value), mismatches: evidence.mismatches })
    }
}

/// A scalar as text, without the quotes of JSON.
fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
