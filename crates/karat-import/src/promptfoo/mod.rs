//! Files of promptfoo: configs as live suites (IO-02), results as recorded ones (IO-04).
//!
//! - `config` makes the suite of a config; `prompts`, `providers` with `http`, and `cases` with `csv_tests` read its parts;
//!   `settings` keeps secrets out; `rows` writes the dataset.
//! - `results` makes the suite of results, which `results_file` streams.
//! - `asserts` turns asserts into checks, for both; `nunjucks` translates templates; `files` finds files.
//!
//! Read `config`, then `asserts`.

mod asserts;
mod cases;
mod config;
mod csv_tests;
mod files;
mod http;
mod nunjucks;
mod prompts;
mod providers;
mod results;
mod results_file;
mod rows;
mod settings;

use std::path::Path;

use serde_json::{Map, Value};

use self::asserts::unsupported::Refusal;
use self::config::ConfigImport;
use crate::draft::Draft;
use crate::error::ImportError;
use crate::names::valid_id;
use crate::report::ImportReport;
use crate::source::Source;

/// Names of files that say nothing about their content.
const USUAL_NAMES: [&str; 5] = ["promptfooconfig", "config", "results", "output", "."];

pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let path = source.path();
    let file = if path.is_dir() { config::file_in(path, source)? } else { path.to_owned() };
    let name = file.to_string_lossy().into_owned();
    if files::is_code(&name) {
        return Err(ImportError::new(file.display(), "is a program, which an import does not run")
            .with_hint("run it with promptfoo and import its results: `promptfoo eval -o results.json`"));
    }
    if files::ending(&name) == "jsonl" {
        return results::import_lines(source, &file, draft);
    }
    let is_json = files::ending(&name) == "json";
    if is_json && results_file::holds_results(source, &file)? {
        return results::import(source, &file, draft);
    }
    let content = if is_json { source.json(&file)? } else { source.yaml(&file)? };
    let Value::Object(content) = content else {
        return Err(ImportError::new(file.display(), "holds no map, and is neither a config nor results of promptfoo").at_line(1));
    };
    if !["prompts", "providers", "targets", "tests", "scenarios"].iter().any(|key| content.contains_key(*key)) {
        let problem = "has none of the keys `prompts`, `providers`, `tests` and `results`";
        return Err(ImportError::new(file.display(), problem)
            .at_line(1)
            .with_hint("name a `promptfooconfig.yaml`, or results that `promptfoo eval -o results.json` wrote"));
    }
    ConfigImport { source, from: file, config: content }.run(draft)
}

/// The suite's name: that of the file, or of its folder where the file's says nothing.
fn suite_name(source: &Source) -> String {
    let stem = source.stem();
    let name = if USUAL_NAMES.contains(&stem.as_str()) { source.folder_name().unwrap_or(stem) } else { stem };
    valid_id(&name, "promptfoo")
}

/// Lists the keys of a map that are not known.
fn drop_unknown_keys(path: &str, map: &Map<String, Value>, known: &[&str], report: &mut ImportReport) {
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        let refusal = Refusal::new("is no key that this version knows");
        report.drop(asserts::dropped(&format!("{path}.{key}"), key, refusal));
    }
}

/// The name of a file relative to the folder of another.
fn relative_name(file: &Path, from: &Path) -> String {
    let base = from.parent().unwrap_or(Path::new(""));
    file.strip_prefix(base).unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests;
