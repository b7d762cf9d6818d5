//! From raw rows to samples: schema, columns, condition, id, selection.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_text::path::Path;
use karat_text::template::Context;
use karat_types::{Key, Sample};
use serde_json::{Map, Value};

use super::row_schema::Leniency;
use super::source::{RawRow, RowPlace};
use super::{Dataset, DatasetError, Source, date};

/// One pass over a dataset.
pub(super) struct Rows {
    dataset: Arc<Dataset>,
    raw: Box<dyn Iterator<Item = Result<RawRow, DatasetError>> + Send>,
    /// What was read leniently in this pass.
    pub leniencies: BTreeMap<Leniency, u64>,
    /// Hash over the files that columns were read from.
    pub contents: blake3::Hasher,
}

/// A row that the dataset's condition lets through. Its sample has no number yet.
pub(super) struct Kept {
    pub sample: Sample,
    pub at: Arc<RowPlace>,
}

impl Rows {
    pub fn new(dataset: Arc<Dataset>) -> Self {
        let raw = dataset.source.stream(&dataset.files);
        Self { dataset, raw, leniencies: BTreeMap::new(), contents: blake3::Hasher::new() }
    }

    /// The rows that are planned, numbered.
    pub fn planned(mut self) -> impl Iterator<Item = Result<Sample, DatasetError>> + Send {
        let limit = self.dataset.limit.unwrap_or(u64::MAX);
        let mut row = 0;
        let mut is_over = false;
        std::iter::from_fn(move || {
            while row < limit && !is_over {
                match self.next_kept()? {
                    Ok(kept) if self.dataset.wants(&kept.sample.id) => {
                        let sample = Sample { row, ..kept.sample };
                        row += 1;
                        return Some(Ok(sample));
                    }
                    Ok(_) => {}
                    Err(error) if self.dataset.reports_broken => {
                        if error.id.as_deref().is_none_or(|id| self.dataset.wants(id)) {
                            let error = DatasetError { row: Some(row), ..error };
                            row += 1;
                            return Some(Err(error));
                        }
                    }
                    Err(error) => {
                        is_over = true;
                        return Some(Err(error));
                    }
                }
            }
            None
        })
    }

    /// The next row that the condition lets through.
    pub fn next_kept(&mut self) -> Option<Result<Kept, DatasetError>> {
        loop {
            let kept = match self.raw.next()? {
                Ok(raw) => self.keep(raw),
                Err(error) => Err(error),
            };
            if let Some(kept) = kept.transpose() {
                return Some(kept);
            }
        }
    }

    fn keep(&mut self, raw: RawRow) -> Result<Option<Kept>, DatasetError> {
        let dataset = self.dataset.clone();
        let at = raw.at;
        let given_id = |error: DatasetError, row: &Map<String, Value>| {
            let whole = Value::Object(row.clone());
            let id = dataset.roles.id.value("id", row, &whole, &at).ok().flatten().map(|id| plain(id).into());
            DatasetError { id, ..error }
        };
        let original = raw.columns.clone();
        let mut columns = match &dataset.row_schema {
            Some(schema) => schema
                .row(raw.columns, dataset.is_table(), &at, &mut self.leniencies)
                .map_err(|error| given_id(error, &original))?,
            None => raw.columns,
        };
        let early = dataset.condition_is_early();
        if early && !dataset.holds(&columns, &at)? {
            return Ok(None);
        }
        self.add_columns(&mut columns, &at).map_err(|error| given_id(error, &original))?;
        if !early && !dataset.holds(&columns, &at)? {
            return Ok(None);
        }
        let sample = dataset.sample(columns, &original, &at).map_err(|error| given_id(error, &original))?;
        Ok(Some(Kept { sample, at }))
    }

    fn add_columns(&mut self, columns: &mut Map<String, Value>, at: &RowPlace) -> Result<(), DatasetError> {
        for column in &self.dataset.columns {
            let contents = &mut self.contents;
            let mut seen = |bytes: &[u8]| {
                contents.update(&(bytes.len() as u64).to_le_bytes());
                contents.update(bytes);
            };
            let mut value = column.value(columns, &*self.dataset.files, at, &mut seen)?;
            if let Some(schema) = self.dataset.row_schema.as_ref().filter(|_| !value.is_null()) {
                schema.column(&column.name, &mut value, at, &mut self.leniencies)?;
            }
            columns.insert(column.name.clone(), value);
        }
        Ok(())
    }
}

impl Dataset {
    /// Whether a sample is among those that are asked for.
    pub(super) fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.contains(id)
    }

    fn is_table(&self) -> bool {
        matches!(self.source, Source::Files { format: super::source::Format::Csv, .. })
    }

    /// Whether the condition reads none of the added columns, so that it can be asked before files are read.
    fn condition_is_early(&self) -> bool {
        self.condition.as_ref().is_none_or(|condition| {
            !condition.reads().iter().any(|name| {
                let mut parts = name.split('.').skip(1);
                parts
                    .next()
                    .is_none_or(|column| column == "id" || self.columns.iter().any(|added| added.name == column))
            })
        })
    }

    fn holds(&self, columns: &Map<String, Value>, at: &RowPlace) -> Result<bool, DatasetError> {
        let Some(condition) = &self.condition else { return Ok(true) };
        condition.is_true(&Context::new().with("sample", columns)).map_err(|error| {
            at.problem_with_hint("", format!("`where` cannot be decided: {}", error.message), error.hint)
        })
    }

    fn sample(
        &self,
        mut columns: Map<String, Value>,
        original: &Map<String, Value>,
        at: &RowPlace,
    ) -> Result<Sample, DatasetError> {
        let whole = Value::Object(std::mem::take(&mut columns));
        let Some(row) = whole.as_object() else { return Err(at.problem("", "a row must be an object")) };
        let roles = &self.roles;
        let id = match roles.id.value("id", row, &whole, at)? {
            Some(id @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => plain(id),
            Some(other) => return Err(at.problem("id", format!("an id must be a text or a number, this is {other}"))),
            None if matches!(roles.id, super::Role::Declared(_)) => {
                let near = Some("the column that `id` names must hold a value in every row".to_owned());
                return Err(at.problem_with_hint("", "this row has no id", near));
            }
            None => row_hash(original),
        };
        if id.trim().is_empty() {
            return Err(at.problem("id", "the id is empty"));
        }
        let input = roles.input.value("input", row, &whole, at)?.cloned();
        let reference = roles.reference.value("reference", row, &whole, at)?.cloned();
        let value_at = |path: &Path| path.first(&whole).filter(|value| !value.is_null());
        let date = match roles.date.as_ref().and_then(value_at) {
            Some(value) => Some(date::day(value, &roles.zone).ok_or_else(|| {
                let hint = "write 2026-01-31, or 2026-01-31T08:00:00Z".to_owned();
                at.problem_with_hint("date", format!("{value} is no date"), Some(hint))
            })?),
            None => None,
        };
        let cluster = roles.cluster.as_ref().and_then(value_at).map(plain);
        let metadata =
            self.metadata.iter().filter_map(|(name, path)| Some((name.clone(), value_at(path)?.clone()))).collect();
        let Value::Object(mut columns) = whole else { return Err(at.problem("", "a row must be an object")) };
        if !columns.contains_key("id") {
            columns.insert("id".to_owned(), Value::String(id.clone()));
        }
        Ok(Sample { row: 0, id: id.into(), input, reference, cluster, date, columns, metadata })
    }
}

/// A scalar as text, without the quotes of JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The id of a row that has none: 16 digits of its content's hash.
fn row_hash(row: &Map<String, Value>) -> String {
    let bytes = serde_json::to_vec(row).unwrap_or_default();
    let mut digits = Key::of("karat/row/1", &bytes).to_string();
    digits.truncate(16);
    digits
}
