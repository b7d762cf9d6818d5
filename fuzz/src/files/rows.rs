//! Rows of datasets: JSONL, JSON, CSV, TSV, Parquet and Arrow, plain or compressed.

use std::panic;
use std::sync::Arc;

use karat_suite::{Files, read_rows};
use serde_json::{Map, Value};

use crate::memory::MemoryFiles;

/// Files of each kind; the ending decides.
const NAMES: [&str; 7] = ["a.jsonl", "a.json", "a.csv", "a.tsv", "a.parquet", "a.arrow", "a"];

/// Lets panics pass that the product catches. One that it does not catch still ends the process, after this message.
pub fn allow_contained_panics() {
    panic::set_hook(Box::new(|_| ()));
}

/// The first byte chooses the kind; the rest is the file.
pub fn run(data: &[u8]) {
    let Some((choice, content)) = data.split_first() else { return };
    let name = NAMES[usize::from(*choice) % NAMES.len()];
    let (first, second) = (read(name, content), read(name, content));
    match (first, second) {
        (Ok(rows), Ok(again)) => {
            check(rows == again, "a file has the same rows each time", name);
            let lines: String = rows.iter().map(|row| format!("{}\n", Value::Object(row.clone()))).collect();
            check(read("b.jsonl", lines.as_bytes()).as_ref() == Ok(&rows), "rows survive being written as JSONL", name);
        }
        (Err(error), Err(again)) => {
            check(!error.is_empty() && error == again, "a file has the same problem each time", name);
        }
        _ => check(false, "a file is readable or not", name),
    }
}

fn read(name: &str, content: &[u8]) -> Result<Vec<Map<String, Value>>, String> {
    let files: Arc<dyn Files> = Arc::new(MemoryFiles::default().with(name, content));
    read_rows(&files, name).map_err(|error| error.to_string())
}

/// The hook is silent, so the message is printed here.
fn check(holds: bool, rule: &str, name: &str) {
    if !holds {
        eprintln!("{name}: {rule}");
        std::process::abort();
    }
}
