//! From the checked tree to the specs of the plan. Problems that the checker has reported are skipped here; problems
//! that only show when names are resolved and files are read are reported here.
//!
//! - here: the [`Decoder`], shared state and helpers of all of these
//! - `dataset/`: `dataset` and its columns; `steps/`: `variants`, their steps, and `services`
//! - `scorers/`: `scorers`, rubrics, labels and analyses; `gates.rs`: `gates` and `policy`
//! - `service.rs`: `schedules` and `alerts`
//! - `models.rs`, `tools.rs`, `run.rs`, `privacy.rs`: the keys of these names

pub(crate) mod dataset;
pub(crate) mod gates;
pub(crate) mod models;
pub(crate) mod privacy;
pub(crate) mod run;
pub(crate) mod scorers;
pub(crate) mod service;
pub(crate) mod steps;
pub(crate) mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_text::path::Path;
use karat_text::schema::{Schema, unwrap_envelope};
use karat_text::template::{Context, Template};
use karat_types::{Parameters, ServiceSpec, ToolSpec};
use serde_json::Value;

use crate::catalog::Catalog;
use crate::dataset::turns::TurnsCheck;
use crate::decode::scorers::output_fields::OutputFields;
use crate::decode::scorers::stored_outputs::OutputSamples;
use crate::diagnostics::Problems;
use crate::files::{Files, file_text, join, jsonl};
use crate::syntax::duration;
use crate::syntax::environment::{self, Environment};
use crate::syntax::json_schema::schema_fault;
use crate::syntax::names::PendingName;
use crate::syntax::node::{Node, Place};
use crate::syntax::params::Params;
use crate::syntax::{notation, yaml};

/// Shared state of decoding: its inputs, and what it gathers.
pub(crate) struct Decoder<'a> {
    pub files: Arc<dyn Files>,
    pub catalog: &'a Catalog,
    pub params: Params,
    /// The services of the suite, by id.
    pub services: BTreeMap<String, ServiceSpec>,
    /// The tools of the suite, in its order, without those that cannot be read.
    pub tools: Vec<ToolSpec>,
    /// Names of all tools of the suite.
    pub declared_tools: Vec<String>,
    /// The folder that files of rows are relative to.
    pub dataset_folder: String,
    /// Checks of the messages that rows hold.
    pub turns_checks: Vec<TurnsCheck>,
    /// The day that the run is about, once it is known.
    pub as_of: Option<String>,
    /// Answers `${NAME}` where its value is part of identity.
    pub environment: Environment,
    /// Versions of the host functions of the caller, by name.
    pub host_functions: BTreeMap<String, String>,
    pub problems: Problems,
    /// Names that can be judged only when the dataset's columns are known.
    pub pending: Vec<PendingName>,
    /// Values that conditions of gates compare columns with.
    pub compared: Vec<ComparedValue>,
    /// Digests of files whose content the header does not hold.
    pub digests: BTreeSet<String>,
    /// Identity of each recording, by the path in its step.
    pub recordings: BTreeMap<String, String>,
    /// Paths into the row that must match at least one row.
    pub watched: Vec<RequiredPath>,
    /// The fields of the outputs, once the variants are known.
    pub output_fields: Option<OutputFields>,
    /// The first chosen variant whose outputs are texts that no step parses.
    pub text_variant: Option<String>,
    /// Outputs of the suite's last run.
    pub stored_outputs: Option<OutputSamples>,
    /// True if files of labels may be empty or not be there yet.
    pub labelling: bool,
}

/// A text that a condition compares a column with.
pub(crate) struct ComparedValue {
    /// The path into the row.
    pub path: Path,
    pub value: String,
    pub place: Place,
}

/// A path into the row that must match at least one row.
pub(crate) struct RequiredPath {
    pub path: Path,
    pub place: Place,
}

/// A file that was read.
pub(crate) struct Content {
    /// Path as resolved.
    pub path: String,
    pub bytes: Vec<u8>,
}

impl<'a> Decoder<'a> {
    /// A decoder that has gathered nothing yet.
    pub fn new(files: Arc<dyn Files>, catalog: &'a Catalog) -> Self {
        Self {
            files,
            catalog,
            params: Params::default(),
            services: BTreeMap::new(),
            tools: Vec::new(),
            declared_tools: Vec::new(),
            dataset_folder: String::new(),
            turns_checks: Vec::new(),
            as_of: None,
            environment: Environment::default(),
            host_functions: BTreeMap::new(),
            problems: Problems::default(),
            pending: Vec::new(),
            compared: Vec::new(),
            digests: BTreeSet::new(),
            recordings: BTreeMap::new(),
            watched: Vec::new(),
            output_fields: None,
            text_variant: None,
            stored_outputs: None,
            labelling: false,
        }
    }

    /// Demands that the path of a node matches at least one row.
    pub fn require_match(&mut self, node: &Node) -> Option<Path> {
        // A template has been reported as none.
        let path = Path::parse(node.text().filter(|text| !text.contains("{{"))?).ok()?;
        self.watched.push(RequiredPath { path: path.clone(), place: node.place.clone() });
        Some(path)
    }

    /// The path that a node names, with parameters filled in, resolved against the folder of its file.
    pub fn path(&mut self, node: &Node) -> Option<String> {
        let text = node.text().filter(|text| !environment::mentions(text))?;
        self.check_not_empty(node, text)?;
        let inlined = self.params.inline_template(text, &node.place, &mut self.problems);
        let template = Template::compile(&inlined).ok()?;
        if let Some(name) = template.reads().iter().find(|name| !name.starts_with("params.")) {
            let place = notation::name_within(&node.place, text, name, &self.problems);
            self.problems
                .error(&place, format!("`{name}` cannot be used here: this path is the same for every row"))
                .hint("only `params` can be used in it");
            return None;
        }
        let rendered = template.render(&Context::new()).ok()?;
        Some(self.seen_from(node, text, &rendered))
    }

    /// The path that a node names, without a word about what is wrong with it.
    pub fn quiet_path(&mut self, node: &Node) -> Option<String> {
        let text = node.text().filter(|text| !environment::mentions(text))?;
        let mut unreported = Problems::default();
        let inlined = self.params.inline_template(text, &node.place, &mut unreported);
        let rendered = Template::compile(&inlined).ok()?.render(&Context::new()).ok()?;
        Some(self.seen_from(node, text, &rendered))
    }

    /// The template of a path that differs by row, rewritten to be relative to the working directory.
    pub fn row_path(&mut self, node: &Node) -> Option<String> {
        let text = node.text()?;
        self.check_not_empty(node, text)?;
        let inlined = self.params.inline_template(text, &node.place, &mut self.problems);
        if self.params.leads(text) || crate::files::is_rooted(text) {
            return Some(inlined);
        }
        let folder = self.problems.folder(node.place.file);
        let separator = if folder.is_empty() || folder.ends_with('/') { "" } else { "/" };
        Some(format!("{}{separator}{inlined}", literal_prefix(folder)))
    }

    /// A path that begins with a parameter needs one that is not empty.
    fn check_not_empty(&mut self, node: &Node, text: &str) -> Option<()> {
        if self.params.is_absent(text) {
            self.problems
                .error(&node.place, format!("`{text}` is empty, but a path is needed here"))
                .hint("give one: -p NAME=PATH");
            return None;
        }
        Some(())
    }

    fn seen_from(&self, node: &Node, text: &str, rendered: &str) -> String {
        if self.params.leads(text) {
            return join("", rendered);
        }
        join(self.problems.folder(node.place.file), rendered)
    }

    /// The content of the file that a node names; a file that cannot be read becomes a problem.
    pub fn content(&mut self, node: &Node) -> Option<Content> {
        let path = self.path(node)?;
        match self.files.read(&path) {
            Ok(bytes) => Some(Content { path, bytes }),
            Err(error) => {
                self.unreadable(node, &path, &error);
                None
            }
        }
    }

    /// Records that a file cannot be read.
    pub fn unreadable(&mut self, node: &Node, path: &str, error: &std::io::Error) {
        let hint = self.nearest_file(path);
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no file {path}"),
            _ => format!("the file {path} cannot be read: {error}"),
        };
        self.problems.error(&node.place, message).maybe_hint(hint);
    }

    pub fn nearest_file(&self, path: &str) -> Option<String> {
        let folder = crate::files::folder(path);
        let name = path.rsplit('/').next()?;
        let mut names = self.files.list(folder).ok()?;
        names.sort();
        let near = crate::diagnostics::nearest::nearest(name, names.iter().map(String::as_str))?;
        Some(format!("did you mean `{}`?", join(folder, near)))
    }

    /// The text of the file that a node names.
    pub fn text(&mut self, node: &Node) -> Option<(String, String)> {
        let content = self.content(node)?;
        match file_text(content.bytes) {
            Ok(text) => Some((content.path, text)),
            Err(_) => {
                self.problems.error(&node.place, format!("the file {} is not UTF-8 text", content.path));
                None
            }
        }
    }

    /// The JSON or YAML document in the file that a node names.
    pub fn document(&mut self, node: &Node) -> Option<Value> {
        let (path, text) = self.text(node)?;
        let value = match is_yaml(&path) {
            true => yaml::value(&text).map_err(|error| format!("{path} is not valid YAML: {error}")),
            false => match jsonl::document(&path, &text) {
                Ok(value) => Ok(value),
                Err(problem) => {
                    self.problems.push(*problem);
                    return None;
                }
            },
        };
        match value {
            Ok(value) => Some(value),
            Err(message) => {
                self.problems.error(&node.place, message);
                None
            }
        }
    }

    /// The rows of the JSON or JSONL file that a node names.
    pub fn rows(&mut self, node: &Node) -> Option<Vec<Value>> {
        let (path, text) = self.text(node)?;
        let (rows, problems) = jsonl::rows(&path, &text);
        let broken = !problems.is_empty();
        problems.into_iter().for_each(|problem| {
            self.problems.push(problem);
        });
        (!broken).then_some(rows)
    }

    /// A JSON Schema from the file that a node names; a schema that is none becomes a problem.
    pub fn schema(&mut self, node: &Node) -> Option<Arc<Value>> {
        let schema = self.document(node)?;
        let path = self.path(node).unwrap_or_default();
        self.usable_schema(schema, &path, node).map(Arc::new)
    }

    /// A JSON Schema, out of the wrapper of a provider; one that cannot be used becomes a problem.
    pub fn usable_schema(&mut self, schema: Value, name: &str, node: &Node) -> Option<Value> {
        if let Err(error) = Schema::new(&schema) {
            let at = node.nearest_at(error.instance_path().as_str().split('/').skip(1));
            let fault = schema_fault(&error);
            self.problems.error(&at.place, format!("{name} is not a valid JSON Schema: {fault}"));
            return None;
        }
        Some(unwrap_envelope(&schema).clone())
    }

    /// Call settings.
    pub fn parameters(&mut self, node: Option<&Node>) -> Parameters {
        node.and_then(|node| serde_json::from_value(node.json()).ok()).unwrap_or_default()
    }

    /// Milliseconds of the duration under a key.
    pub fn duration(&self, node: &Node, key: &str) -> Option<u64> {
        node.text_of(key).and_then(duration::parse)
    }

    /// The place of a file as a whole, for problems of its content.
    pub fn register(&mut self, path: &str, text: &str) -> Place {
        let file = self.problems.source(path, text);
        Place { file, span: 0..text.len() }
    }
}

/// One of the language's words as a value of its type.
pub(crate) fn word_at<T: serde::de::DeserializeOwned>(node: &Node, key: &str) -> Option<T> {
    let text = node.text_of(key)?;
    serde_json::from_value(Value::String(text.to_owned())).ok()
}

/// The whole number under a key.
pub(crate) fn integer_at<T: TryFrom<i64>>(node: &Node, key: &str) -> Option<T> {
    node.field(key).and_then(Node::integer).and_then(|number| T::try_from(number).ok())
}

pub(crate) fn is_yaml(path: &str) -> bool {
    path.ends_with(".yaml") || path.ends_with(".yml")
}

/// A folder as the beginning of a template: braces in its name must not be read as code.
fn literal_prefix(folder: &str) -> String {
    if folder.contains('{') { format!("{{{{ {} }}}}", Value::from(folder)) } else { folder.to_owned() }
}
