//! Sets that are made from other sets, and leaks (BC-01 to BC-05).
//!
//! - `items.rs`: versions, differences, items and datasheets (BC-06 to BC-09)
//! - here: files and requests; `made_sets.rs`: sample, dedup, split; `leaks.rs`: leaks and warnings; `bad_input.rs`: what is
//!   refused

mod bad_input;
mod items;
mod leaks;
mod made_sets;

use std::fs;
use std::path::{Path, PathBuf};

use karat_app::{DatasetOutput, DatasetRequest, DedupRequest, KeptRow, SampleMethod, SampleRequest, SplitRequest};
use serde_json::Value;

/// Writes rows as JSON lines.
pub(crate) fn write_rows(path: &Path, rows: impl IntoIterator<Item = Value>) -> DatasetRequest {
    let lines: String = rows.into_iter().map(|row| format!("{row}\n")).collect();
    fs::write(path, lines).unwrap();
    DatasetRequest::of(path.display().to_string())
}

pub(crate) fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn ids(path: &Path) -> Vec<String> {
    read(path).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn output(path: PathBuf) -> DatasetOutput {
    DatasetOutput { path, ..DatasetOutput::default() }
}

pub(crate) fn sample(rows: &DatasetRequest, n: u64, method: SampleMethod, file: PathBuf) -> SampleRequest {
    SampleRequest { rows: rows.clone(), n, method, seed: 7, output: output(file) }
}

pub(crate) fn dedup(rows: &DatasetRequest, file: Option<PathBuf>) -> DedupRequest {
    DedupRequest { rows: rows.clone(), at: 0.8, keep: KeptRow::First, output: file.map(output) }
}

pub(crate) fn split(rows: &DatasetRequest, parts: &str, folder: PathBuf) -> SplitRequest {
    SplitRequest {
        rows: rows.clone(),
        parts: parts.to_owned(),
        by: Vec::new(),
        stratify: None,
        time: None,
        keep: None,
        seed: 1,
        output: output(folder),
    }
}

/// Panics if an object of a JSON text holds a key twice.
pub(crate) fn check_keys(json: &str) {
    if let Err(error) = karat_types::json::parse_strict(json) {
        panic!("{error} in {json}");
    }
}

/// A question of nine words that resembles no other one.
pub(crate) fn question(at: usize) -> String {
    const SYLLABLES: [&str; 12] = ["ba", "co", "di", "fe", "gu", "ha", "ki", "lo", "mu", "ne", "po", "ra"];
    let mut state = at as u64 + 1;
    let mut syllable = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        SYLLABLES[(state >> 33) as usize % SYLLABLES.len()]
    };
    (0..9).map(|_| (0..4).map(|_| syllable()).collect::<String>()).collect::<Vec<_>>().join(" ")
}
