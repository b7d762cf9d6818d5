//! Files of promptfoo: configs as live suites, results as recorded ones.
//!
//! - `config` makes the suite of a config, `results` that of results.
//! - For both, `asserts` turns asserts into checks, `rows` makes rows of the dataset, and `refusal` is what is dropped.
//! - `nunjucks` translates templates, `models` reads models wherever they are named, with `settings`, the environment and secrets;
//!   `values` reads values; `files` finds files; `references` puts parts that stand elsewhere in their place.
//!
//! Read `config`, then `asserts`.

mod asserts;
mod config;
mod files;
mod models;
mod nunjucks;
mod references;
mod refusal;
mod results;
mod rows;
mod settings;
mod values;

use serde_json::Value;

use self::config::ConfigImport;
use crate::draft::Draft;
use crate::error::ImportError;
use crate::source::Source;

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
    if is_json && results::file::holds_results(source, &file)? {
        return results::import(source, &file, draft);
    }
    let content = if is_json { source.json(&file)? } else { source.yaml(&file)? };
    let Value::Object(content) = content else {
        return Err(ImportError::new(file.display(), "holds no map, and is neither a config nor results of promptfoo")
            .at_line(1));
    };
    if content.get("results").is_some_and(Value::is_object) {
        return Err(ImportError::new(file.display(), "holds results as YAML; JSON was expected")
            .with_hint("write them again: `promptfoo export eval ID -o results.json`"));
    }
    if !["prompts", "providers", "targets", "tests", "scenarios"].iter().any(|key| content.contains_key(*key)) {
        if content.contains_key("redteam") {
            return Err(config::red_teaming_alone(&file));
        }
        let problem = "has none of the keys `prompts`, `providers`, `tests` and `results`";
        return Err(ImportError::new(file.display(), problem)
            .at_line(1)
            .with_hint("name a `promptfooconfig.yaml`, or results that `promptfoo eval -o results.json` wrote"));
    }
    ConfigImport { source, from: file, config: content }.run(draft)
}
