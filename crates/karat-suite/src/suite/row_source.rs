//! Rows of a file, or of traces, apart from any suite: read exactly as the `dataset` of a suite reads them.

use std::sync::Arc;

use karat_types::Sample;
use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::check;
use crate::dataset::{Dataset, DatasetError};
use crate::decode::Decoder;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::files::Files;
use crate::grammar::DATASET;
use crate::overrides::{LoadContext, Overrides, TraceFiles};
use crate::syntax::yaml;

/// Settings of a source of rows, as the keys of the same names in `dataset`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowSourceSpec {
    /// A file, a folder, a pattern, or `traces:NAME`. Relative to the working directory.
    pub source: String,
    /// Form of the files, where their names do not say it.
    pub format: Option<String>,
    /// Column of the id.
    pub id: Option<String>,
    /// Column of the input.
    pub input: Option<String>,
    /// Column of the reference.
    pub reference: Option<String>,
    /// Column of the group.
    pub cluster: Option<String>,
    /// Column of the date.
    pub date: Option<String>,
}

impl RowSourceSpec {
    /// A source without settings.
    pub fn of(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    /// The settings as a `dataset`: JSON is YAML.
    fn to_yaml(&self) -> String {
        let keys = [
            ("source", Some(&self.source)),
            ("format", self.format.as_ref()),
            ("id", self.id.as_ref()),
            ("input", self.input.as_ref()),
            ("reference", self.reference.as_ref()),
            ("cluster", self.cluster.as_ref()),
            ("date", self.date.as_ref()),
        ];
        let keys = keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), Value::from(value?.as_str()))));
        Value::Object(keys.collect::<Map<_, _>>()).to_string()
    }
}

/// A source of rows that can be read several times.
#[derive(Clone)]
pub struct RowSource {
    dataset: Arc<Dataset>,
}

impl RowSource {
    /// Finds the files of a source. Its rows are not read yet.
    ///
    /// # Errors
    /// A file that is not there or whose form is not clear, a path that cannot be read.
    pub fn open(files: Arc<dyn Files>, spec: &RowSourceSpec, traces: &TraceFiles) -> Result<Self, Diagnostics> {
        let catalog = Catalog::default();
        let mut decoder = Decoder::new(files, &catalog);
        let text = spec.to_yaml();
        let file = decoder.problems.command_line(&spec.source, &text);
        let node = yaml::read_tree(&text, file, &mut decoder.problems);
        if let Some(node) = &node {
            check::check_at(node, &DATASET, &["dataset"], &catalog, &mut decoder.problems);
        }
        let overrides = Overrides {
            context: LoadContext { traces: traces.clone(), ..LoadContext::default() },
            ..Overrides::default()
        };
        let decoded = match node {
            Some(node) if decoder.problems.errors() == 0 => decoder.dataset(&node, &overrides),
            _ => None,
        };
        let problems = std::mem::take(&mut decoder.problems).into_diagnostics();
        match decoded {
            Some(decoded) if !problems.has_errors() => Ok(Self { dataset: Arc::new(decoded.dataset) }),
            _ if problems.has_errors() => Err(problems.into_iter().map(|problem| about(spec, problem)).collect()),
            _ => {
                let message = "the rows of this file cannot be read: its name has `{{` or `${`";
                Err(Diagnostic::of_file(Severity::Error, &spec.source, message).into())
            }
        }
    }

    /// The rows in order; every pass gives the same ones. An error is the last.
    pub fn rows(&self) -> Box<dyn Iterator<Item = Result<Sample, DatasetError>> + Send> {
        self.dataset.rows()
    }

    /// The columns that may hold a row's id.
    pub fn id_columns(&self) -> Vec<String> {
        self.dataset.roles.id.columns()
    }
}

/// A problem without its place, which would be in a text that no file holds.
fn about(spec: &RowSourceSpec, problem: Diagnostic) -> Diagnostic {
    let mut plain = Diagnostic::of_file(problem.severity, &spec.source, problem.message);
    plain.maybe_hint(problem.hint);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::DiskFiles;

    fn open(spec: &RowSourceSpec) -> Result<Vec<Sample>, String> {
        let source = RowSource::open(Arc::new(DiskFiles), spec, &TraceFiles::default()).map_err(|it| it.plain())?;
        source.rows().collect::<Result<_, _>>().map_err(|error| error.to_string())
    }

    /// BC-01: rows come as a suite's `dataset` reads them, with roles by the known names or by those given.
    #[test]
    fn rows_of_a_file_have_the_roles_of_a_suite() {
        let folder = tempfile::tempdir().unwrap();
        let csv = folder.path().join("rows.csv");
        std::fs::write(&csv, "id,question,answer,kind\r\n7,Wo?,Köln,a\r\n8,Wann?,1248,b\r\n").unwrap();
        let spec = RowSourceSpec {
            reference: Some("answer".to_owned()),
            ..RowSourceSpec::of(csv.display().to_string())
        };
        let rows = open(&spec).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!((&*rows[1].id, rows[1].input.clone()), ("8", Some(Value::from("Wann?"))));
        assert_eq!(rows[1].reference, Some(Value::from("1248")));
    }

    /// BC-01: a file that is not there, a format that is none, and a bad path are named.
    #[test]
    fn a_source_that_cannot_be_read_is_named() {
        let missing = open(&RowSourceSpec::of("nowhere/rows.jsonl")).unwrap_err();
        assert!(missing.contains("there is no file nowhere/rows.jsonl"), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl").display().to_string();
        std::fs::write(&path, "{\"input\":\"a\"}\n").unwrap();
        let broken = open(&RowSourceSpec { input: Some("a[".to_owned()), ..RowSourceSpec::of(&*path) });
        assert!(broken.is_err());
        let unknown = open(&RowSourceSpec { format: Some("xml".to_owned()), ..RowSourceSpec::of(&*path) });
        assert!(unknown.unwrap_err().contains("there is no format `xml`"));
    }
}
