//! Providers that are programs, as `command` steps. The program stays where it lies: an import neither runs nor copies it.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::prompts::Prompt;
use crate::draft::Draft;
use crate::error::ImportError;
use crate::promptfoo::files;
use crate::promptfoo::refusal::Refusal;
use crate::promptfoo::settings::is_secret;
use crate::source::Source;
use crate::text::escape::literal;

/// The files that call a provider as promptfoo does, and print its output.
const ADAPTERS: [(Language, &str, &str); 2] = [
    (Language::Python, "programs/provider.py", include_str!("adapters/provider.py")),
    (Language::JavaScript, "programs/provider.mjs", include_str!("adapters/provider.mjs")),
];

/// The step's variables, as an argument of the program.
const VARIABLES: &str = "{{ sample | tojson }}";

/// The language of a program with a function that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Python,
    JavaScript,
}

/// A program that answers prompts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Program {
    /// Its language, where a function of it is called; its output is the answer without one.
    language: Option<Language>,
    /// The words before the prompt's.
    words: Vec<String>,
    /// `config` of the provider.
    config: Value,
}

impl Program {
    /// The program of a provider's id: `file://PATH`, `python:PATH`, `exec:COMMAND` or the path of a program.
    ///
    /// # Errors
    /// The reason why no step can call it.
    pub fn read(id: &str, config: &Map<String, Value>, source: &Source, from: &Path) -> Result<Self, Refusal> {
        let command = "a `command` step, or a model with `provider: command`";
        if let Some(name) = config.keys().find(|key| is_secret(key) && config.get(*key).is_some_and(Value::is_string)) {
            return Err(Refusal::new(format!("gets a key, `{name}`, in its `config`")).instead(command));
        }
        let config = Value::Object(config.clone());
        if let Some(line) = id.strip_prefix("exec:") {
            return Ok(Self { language: None, words: words(line, source, from)?, config });
        }
        let name = ["file://", "python:"].iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
        let name = files::file_name(name).unwrap_or(name);
        let (path, function) = match name.rsplit_once(':') {
            Some((path, function)) if files::is_code(path) && !function.contains('/') => (path, Some(function)),
            _ => (name, None),
        };
        let language = match files::ending(path).as_str() {
            "py" => Language::Python,
            "js" | "cjs" | "mjs" => Language::JavaScript,
            _ => {
                return Err(Refusal::new("is a program that needs a tool of its language to run").instead(command));
            }
        };
        let path = source.beneath(from, path).map_err(|error| Refusal::of_error(&error))?;
        let path = in_full(&path).map_err(|error| Refusal::of_error(&error))?;
        let function = function.unwrap_or(if language == Language::Python { "call_api" } else { "default" });
        let interpreter = if language == Language::Python { "python3" } else { "node" };
        let adapter = ADAPTERS.iter().find(|(known, ..)| *known == language).map_or("", |(_, path, _)| *path);
        let words = [interpreter, adapter, &path, function].map(str::to_owned).to_vec();
        Ok(Self { language: Some(language), words, config })
    }

    /// The step that gives it a prompt; its output has the answer as `text`.
    pub fn to_step(&self, prompt: &Prompt) -> Value {
        let mut run: Vec<String> = self.words.iter().map(|word| literal(word)).collect();
        let config = literal(&json!({"config": self.config}).to_string());
        let text = prompt.to_text();
        let command = match self.language {
            Some(_) => {
                run.extend([config, VARIABLES.to_owned()]);
                json!({"run": run, "stdin": text})
            }
            None => {
                run.extend([text, config, format!("{{\"vars\": {VARIABLES}}}")]);
                json!({"run": run})
            }
        };
        json!({"command": command, "parse": {"as": "text", "into": "text"}})
    }

    /// Writes the file that calls the program's function.
    pub fn write_adapter(&self, draft: &Draft<'_>) -> Result<(), ImportError> {
        let adapter = ADAPTERS.iter().find(|(language, ..)| Some(*language) == self.language);
        adapter.map_or(Ok(()), |(_, path, text)| draft.write(path, text))
    }
}

/// The words of a command line. One that needs a shell is given to `sh` in the config's folder; files beside the config are
/// named in full.
fn words(line: &str, source: &Source, from: &Path) -> Result<Vec<String>, Refusal> {
    let line = line.trim();
    if line.is_empty() {
        return Err(Refusal::new("names no command"));
    }
    if line.contains(['|', '&', ';', '<', '>', '$', '`', '(', '"', '\'', '\\', '*']) {
        let folder = source.beneath(from, ".").and_then(|folder| in_full(&folder));
        let folder = folder.map_err(|error| Refusal::of_error(&error))?;
        return Ok(["sh", "-c", &format!("cd \"$0\" || exit\n{line} \"$@\""), &folder].map(str::to_owned).to_vec());
    }
    let word = |(at, word): (usize, &str)| match source.beneath(from, word) {
        Ok(path) if path.is_file() => in_full(&path).map_err(|error| Refusal::of_error(&error)),
        Err(error) if names_file(word, at == 0) => Err(Refusal::of_error(&error)),
        _ => Ok(word.to_owned()),
    };
    line.split_whitespace().enumerate().map(word).collect()
}

/// Returns true of a word that can only be a file, relative to the config's folder.
fn names_file(word: &str, is_program: bool) -> bool {
    ["./", "../"].iter().any(|prefix| word.starts_with(prefix))
        || is_program && word.contains('/') && Path::new(word).is_relative()
}

fn in_full(path: &Path) -> Result<String, ImportError> {
    let whole = std::fs::canonicalize(path).map_err(|error| ImportError::reading(path, &error))?;
    Ok(whole.to_string_lossy().into_owned())
}
