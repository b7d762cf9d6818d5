//! The dataset of a suite: a row a sample, written as it is made.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::asserts::RowChecks;
use super::nunjucks::{self, column_name};
use super::refusal::Refusal;
use crate::draft::Rows;
use crate::error::ImportError;
use crate::report::ImportReport;
use crate::text::names::Names;

/// The dataset's file.
pub(super) const SAMPLES: &str = "data/samples.jsonl";

/// Columns that a suite takes for the input, and those that it takes for the reference, without being told.
const INPUTS: [&str; 5] = ["input", "inputs", "user_input", "question", "prompt"];
const REFERENCES: [&str; 7] =
    ["reference", "target", "ideal", "expected", "expected_output", "expectedOutput", "expectations"];

/// Writes rows and remembers which columns they have.
pub(super) struct RowWriter {
    out: Rows,
    ids: Names,
    summary: Summary,
}

/// A row in the making.
pub(super) struct Row {
    columns: Map<String, Value>,
    only: Option<Value>,
    checks: u64,
    is_judged: bool,
}

/// The facts of all rows together.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub rows: u64,
    /// Checks of rows.
    pub checks: u64,
    /// True if a judge decides a check of any row.
    pub is_judged: bool,
    has_metadata: bool,
    pub roles: ColumnRoles,
}

/// The columns that may be the input or the reference.
#[derive(Debug, Default)]
pub(super) struct ColumnRoles {
    rows: u64,
    /// The number of rows that have a column.
    columns: BTreeMap<String, u64>,
    /// Roles for which a row has several columns.
    ambiguous: BTreeSet<&'static str>,
}

impl RowWriter {
    pub fn new(out: Rows) -> Self {
        Self { out, ids: Names::default(), summary: Summary::default() }
    }

    /// A new row with these variables, and the next id.
    pub fn row(&mut self, vars: &Map<String, Value>, id: Option<String>) -> Row {
        let number = (self.summary.rows + 1).to_string();
        let id = self.ids.take(id.as_deref().unwrap_or(&number), &number);
        let mut columns = Map::from_iter([("id".to_owned(), json!(id))]);
        columns.extend(vars.iter().map(|(name, value)| (column_name(name), value.clone())));
        Row { columns, only: None, checks: 0, is_judged: false }
    }

    pub fn write(&mut self, row: Row) -> Result<(), ImportError> {
        let Row { mut columns, only, checks, is_judged } = row;
        self.summary.roles.add_row(&columns);
        columns.extend(only.map(|only| ("only".to_owned(), only)));
        self.summary.rows += 1;
        self.summary.checks += checks;
        self.summary.is_judged |= is_judged;
        self.summary.has_metadata |= columns.contains_key("metadata");
        self.out.push(&Value::Object(columns))
    }

    pub fn finish(self) -> Result<Summary, ImportError> {
        self.out.finish()?;
        Ok(self.summary)
    }
}

impl Row {
    /// The row as templates see it.
    pub fn columns(&self) -> &Map<String, Value> {
        &self.columns
    }

    /// Sets a column.
    pub fn set(&mut self, column: &str, value: Value) {
        self.columns.insert(column.to_owned(), value);
    }

    /// Limits the row to some cells.
    pub fn only(&mut self, only: Option<Value>) {
        self.only = only;
    }

    /// Adds checks and metadata.
    pub fn finish(&mut self, description: Option<&str>, metadata: &Map<String, Value>, checks: RowChecks) {
        let RowChecks { items, columns, unchecked } = checks;
        self.checks = items.len() as u64;
        self.is_judged = items.iter().any(|item| item.get("rubric").is_some());
        self.columns.extend(columns);
        self.columns.insert("assert".to_owned(), Value::Array(items));
        let metadata = with_metadata(description, metadata, &unchecked);
        if metadata.as_object().is_some_and(|metadata| !metadata.is_empty()) {
            self.columns.insert("metadata".to_owned(), metadata);
        }
    }
}

impl ColumnRoles {
    pub fn add_row(&mut self, row: &Map<String, Value>) {
        self.rows += 1;
        for (role, names) in [("input", &INPUTS[..]), ("reference", &REFERENCES[..])] {
            if names.iter().filter(|name| row.contains_key(**name)).count() > 1 {
                self.ambiguous.insert(role);
            }
        }
        for column in row.keys() {
            *self.columns.entry(column.clone()).or_default() += 1;
        }
    }

    /// The column of the input, if every row has one; `reads` are the variables of the prompts.
    fn input(&self, reads: &BTreeSet<String>) -> Option<String> {
        let is_whole = |name: &str| self.columns.get(name) == Some(&self.rows);
        let only = reads.first().filter(|_| reads.len() == 1).map(|name| column_name(name));
        let common = INPUTS.iter().find(|name| is_whole(name)).map(|name| (*name).to_owned());
        common.or(only.filter(|name| is_whole(name)))
    }

    /// Returns true if every row has an input.
    pub fn has_input(&self, reads: &BTreeSet<String>) -> bool {
        self.rows > 0 && self.input(reads).is_some()
    }

    /// Declares the roles that a suite does not find out itself.
    pub fn declare(&self, reads: &BTreeSet<String>, dataset: &mut Map<String, Value>) {
        let first = |names: &[&'static str]| names.iter().copied().find(|name| self.columns.contains_key(*name));
        let input = match first(&INPUTS) {
            Some(first) => self.ambiguous.contains("input").then(|| self.input(reads).unwrap_or(first.to_owned())),
            None => self.input(reads),
        };
        let reference = first(&REFERENCES).filter(|_| self.ambiguous.contains("reference"));
        dataset.extend(input.map(|input| ("input".to_owned(), json!(input))));
        dataset.extend(reference.map(|reference| ("reference".to_owned(), json!(reference))));
    }
}

impl Summary {
    /// `dataset` of the suite.
    pub fn dataset(&self, reads: &BTreeSet<String>) -> Map<String, Value> {
        let mut dataset = Map::from_iter([("source".to_owned(), json!(SAMPLES)), ("id".to_owned(), json!("id"))]);
        self.roles.declare(reads, &mut dataset);
        if self.has_metadata {
            dataset.insert("metadata".to_owned(), json!(["metadata"]));
        }
        dataset
    }
}

/// The metadata of a row: its description, the source's own, and the dropped checks that decided whether it passes.
pub(super) fn with_metadata(description: Option<&str>, own: &Map<String, Value>, unchecked: &[String]) -> Value {
    let mut all = Map::new();
    all.extend(description.map(|description| ("description".to_owned(), json!(description))));
    all.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
    if !unchecked.is_empty() {
        all.insert("unchecked".to_owned(), json!(unchecked));
    }
    Value::Object(all)
}

/// Fills in variables that name other variables, and returns the names of those that cannot be.
pub(super) fn fill_in(
    row: &mut Map<String, Value>,
    path: &str,
    env: &Map<String, Value>,
    report: &mut ImportReport,
) -> Vec<String> {
    let mut lost = Vec::new();
    let templates: Vec<(String, String)> = row
        .iter()
        .filter_map(|(name, value)| {
            Some((name.clone(), value.as_str().filter(|text| nunjucks::is_template(text))?.to_owned()))
        })
        .collect();
    for (name, template) in templates {
        match nunjucks::render(&template, row, env) {
            Ok(text) => drop(row.insert(name, json!(text))),
            Err(why) => {
                let refusal =
                    Refusal::new(format!("is a template that cannot be filled in: {why}")).instead("its text as it is");
                report.drop(refusal.of_sample(&format!("{path}.vars.{name}"), "template"));
                lost.push(name);
            }
        }
    }
    lost
}
