//! The files of the registry: evals, rows and model-graded specifications.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Lost;
use crate::error::ImportError;
use crate::report::ImportReport;
use crate::source::Source;

/// The key of an eval that names the code by which it is run.
const CLASS: &str = "class";

/// An eval of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Eval {
    /// Its name there, as `test-match.s1.simple-v0`.
    pub key: String,
    /// The short name that people use, where there is one.
    pub name: String,
    /// The class without its module, as `Match`.
    pub class: String,
    pub args: Map<String, Value>,
}

impl Eval {
    pub fn text(&self, arg: &str) -> Option<&str> {
        self.args.get(arg).and_then(Value::as_str).filter(|text| !text.is_empty())
    }
}

/// A file of the registry with what lies around it.
pub(super) struct Registry<'a> {
    pub source: &'a Source,
    file: PathBuf,
    evals: Vec<Eval>,
    /// Folders in which `data` and `modelgraded` are looked for.
    folders: Vec<PathBuf>,
}

/// Returns true of a YAML file, which only the registry has.
pub(crate) fn is_registry_file(source: &Source) -> bool {
    let is_yaml = source.path().extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    is_yaml && !source.path().is_dir()
}

impl<'a> Registry<'a> {
    /// # Errors
    /// A file that is not YAML, or holds no eval.
    pub fn read(source: &'a Source) -> Result<Self, ImportError> {
        let file = source.path().to_owned();
        let content = source.yaml(&file)?;
        let refused = |problem: &str| {
            ImportError::new(file.display(), problem).at_line(1).with_hint(
                "name a file of the registry of OpenAI's `evals`, such as registry/evals/NAME.yaml, or JSON of hosted evals",
            )
        };
        let Value::Object(entries) = content else { return Err(refused("holds no map of evals")) };
        let is_promptfoo = entries.contains_key("prompts") && entries.contains_key("providers");
        if is_promptfoo {
            let hint = format!("this is a config of promptfoo: `karat import promptfoo {}`", file.display());
            return Err(ImportError::new(file.display(), "holds no eval").at_line(1).with_hint(hint));
        }
        let names: HashMap<&str, &str> =
            entries.iter().filter_map(|(name, entry)| Some((entry.get("id")?.as_str()?, name.as_str()))).collect();
        let evals: Vec<Eval> = entries
            .iter()
            .filter_map(|(key, entry)| {
                let class = entry.get(CLASS)?.as_str()?;
                let name = names.get(key.as_str()).copied().unwrap_or(key).to_owned();
                let args = entry.get("args").and_then(Value::as_object).cloned().unwrap_or_default();
                let class = class.rsplit([':', '.']).next().unwrap_or(class).to_owned();
                Some(Eval { key: key.clone(), name, class, args })
            })
            .collect();
        if evals.is_empty() {
            return Err(refused("holds no eval: no entry has a `class`"));
        }
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let above = folder.join("..");
        Ok(Self { source, file, evals, folders: vec![above, folder] })
    }

    pub fn evals(&self) -> Vec<Eval> {
        self.evals.clone()
    }

    /// The place of an eval in the file.
    pub fn position(&self, name: &str) -> usize {
        self.evals.iter().position(|eval| eval.name == name).unwrap_or(self.evals.len())
    }

    /// A file of rows, as an eval names it.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn data(&self, name: &str) -> Result<PathBuf, Lost> {
        if name.contains("://") {
            return Err(Lost::new("samples_jsonl", format!("lies at {name}, and an import opens no connection"))
                .instead("the file, downloaded into `data`"));
        }
        let candidates = self.folders.iter().flat_map(|folder| [folder.join("data").join(name), folder.join(name)]);
        for path in candidates {
            if path.is_file() && self.source.is_within(&path) {
                return Ok(path);
            }
        }
        Err(Lost::new("samples_jsonl", format!("names `{name}`, which is not in the folder `data` of the registry"))
            .instead("the registry with its data, as `git lfs pull` fetches it"))
    }

    /// A model-graded specification by its name.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn specification(&self, name: &str) -> Result<Map<String, Value>, Lost> {
        let lost = |why: String| Lost::new("modelgraded_spec", why);
        for folder in self.folders.iter().map(|folder| folder.join("modelgraded")).filter(|folder| folder.is_dir()) {
            let Ok(files) = std::fs::read_dir(&folder) else { continue };
            let mut files: Vec<PathBuf> = files.filter_map(Result::ok).map(|entry| entry.path()).collect();
            files.sort();
            let is_yaml = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
            for file in files.iter().filter(is_yaml).filter(|file| self.source.is_within(file)) {
                let Ok(content) = self.source.yaml(file) else { continue };
                if let Some(Value::Object(specification)) = content.get(name) {
                    return Ok(specification.clone());
                }
            }
        }
        Err(lost(format!("names `{name}`, which is in no file of the folder `modelgraded` of the registry")))
    }

    /// The error of a file of which nothing is carried over.
    pub fn nothing_carried(&self, report: &ImportReport) -> ImportError {
        let why = report
            .dropped
            .first()
            .map(|dropped| format!(": `{}` at {} {}", dropped.construct, dropped.path, dropped.why));
        let instead = report.dropped.first().and_then(|dropped| dropped.instead.clone());
        let problem = format!("holds no eval that can be carried over{}", why.unwrap_or_default());
        let error = ImportError::new(self.file.display(), problem);
        match instead {
            Some(instead) => error.with_hint(format!("use {instead}")),
            None => error.with_hint("run it with `oaieval`: an import runs no code"),
        }
    }
}
