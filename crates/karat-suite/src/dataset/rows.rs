//! From raw rows to samples: schema, columns, condition, id, selection.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_text::kind::kind;
use karat_text::path::{Path, member};
use karat_text::template::Context;
use karat_types::{Key, Sample};
use serde_json::{Map, Value};

use super::checks::only;
use super::checks::row_schema::Leniency;
use super::columns::ColumnEffects;
use super::columns::earlier_values::{EarlierValues, History};
use super::draw::{Draw, DrawSampler, DrawnRows};
use super::scalar::plain;
use super::source::RowStream;
use super::source::raw::{RowPlace, SourceRow};
use super::source::read_ahead::ReadAhead;
use super::{Dataset, DatasetError, DatasetSource, Role, date};
use crate::diagnostics::nearest::suggestion;

/// One pass over a dataset.
pub(super) struct Rows {
    dataset: Arc<Dataset>,
    raw: RowStream,
    /// Rows of the source so far.
    ordinal: u64,
    /// Lenient readings in this pass, with their number.
    pub leniencies: BTreeMap<Leniency, u64>,
    /// Hash over the files that columns were read from.
    pub contents: blake3::Hasher,
    /// Contradictions between the latest row and the files beside it.
    pub mismatches: Vec<String>,
}

/// A row that the dataset's condition lets through. Its sample has no number yet.
pub(super) struct KeptRow {
    pub sample: Sample,
    pub at: Arc<RowPlace>,
    /// Position of the row in the source, from 0.
    pub number: u64,
}

impl Rows {
    pub fn new(dataset: Arc<Dataset>) -> Self {
        let raw = dataset.source.stream(&dataset.files);
        Self::over(dataset, raw)
    }

    /// The same rows; a thread reads and parses ahead if there are many.
    pub fn with_read_ahead(dataset: Arc<Dataset>) -> Self {
        let raw = ReadAhead::of(dataset.source.stream(&dataset.files));
        Self::over(dataset, Box::new(raw))
    }

    fn over(dataset: Arc<Dataset>, raw: RowStream) -> Self {
        Self {
            dataset,
            raw,
            ordinal: 0,
            leniencies: BTreeMap::new(),
            contents: blake3::Hasher::new(),
            mismatches: Vec::new(),
        }
    }

    /// The rows that are planned, numbered.
    pub fn planned_samples(mut self) -> impl Iterator<Item = Result<Sample, DatasetError>> + Send {
        let limit = self.dataset.limit.unwrap_or(u64::MAX);
        let mut row = 0;
        let mut number = 0;
        let mut is_over = false;
        std::iter::from_fn(move || {
            while row < limit && !is_over {
                let kept = self.next_kept()?;
                let is_drawn = kept.is_err() || self.dataset.is_drawn(number);
                number += u64::from(kept.is_ok());
                match kept {
                    Ok(kept) if is_drawn && self.dataset.wants(&kept.sample.id) => {
                        let sample = Sample { row, ..kept.sample };
                        row += 1;
                        return Some(Ok(sample));
                    }
                    Ok(_) => {}
                    Err(error) if self.dataset.reports_broken && !error.hides_rows => {
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
    pub fn next_kept(&mut self) -> Option<Result<KeptRow, DatasetError>> {
        loop {
            let raw = self.raw.next()?;
            self.mismatches.clear();
            let number = Some(self.ordinal);
            let kept = raw.and_then(|raw| self.keep(raw)).map_err(|error| DatasetError { number, ..error });
            self.ordinal += 1;
            if let Some(kept) = kept.transpose() {
                return Some(kept);
            }
        }
    }

    fn keep(&mut self, raw: SourceRow) -> Result<Option<KeptRow>, DatasetError> {
        let SourceRow { mut value, at } = raw;
        let dataset = self.dataset.clone();
        let only = only::take(&mut value, &at);
        let own = dataset.own_id(&value, &at);
        match only.and_then(|only| Ok((self.complete(&mut value, &at)?, only))) {
            Ok((true, only)) => dataset.sample(value, own.as_deref(), &at).and_then(|sample| {
                let sample = Sample { only, ..sample };
                let mut turns = dataset.turns.iter();
                turns.try_for_each(|turns| turns.check(&sample, &at, &*dataset.files, &mut self.contents))?;
                Ok(Some(KeptRow { sample, at, number: self.ordinal }))
            }),
            Ok((false, _)) => Ok(None),
            Err(error) => Err(error),
        }
        .map_err(|error| DatasetError { id: own.map(Into::into), ..error })
    }

    /// Checks a row, adds its columns, and asks whether it counts.
    fn complete(&mut self, row: &mut Value, at: &RowPlace) -> Result<bool, DatasetError> {
        let dataset = self.dataset.clone();
        if let Some(schema) = &dataset.row_schema {
            schema.row(row, dataset.is_table(), at, &mut self.leniencies)?;
        }
        let early = dataset.condition_is_early();
        if early && !dataset.counts(row, at)? {
            return Ok(false);
        }
        self.add_columns(row, at, dataset.columns.len())?;
        if early { Ok(true) } else { dataset.counts(row, at) }
    }

    /// The values of a column of earlier values over all rows, whether they count or not. Rows that cannot be read have
    /// none; they are reported where they are planned.
    pub fn history(mut self, column: usize, prior: &EarlierValues) -> History {
        let mut history = History::default();
        while let Some(raw) = self.raw.next() {
            if let Ok(SourceRow { mut value, at }) = raw
                && self.add_columns(&mut value, &at, column).is_ok()
            {
                prior.add_row(&mut history, self.ordinal, &value);
            }
            self.ordinal += 1;
        }
        history
    }

    /// Adds the first `count` columns.
    fn add_columns(&mut self, row: &mut Value, at: &RowPlace, count: usize) -> Result<(), DatasetError> {
        for column in &self.dataset.columns[..count] {
            let mut seen = ColumnEffects { contents: &mut self.contents, mismatches: Vec::new() };
            let mut value = column.value(row, self.ordinal, &*self.dataset.files, at, &mut seen)?;
            // Two columns that are resolved from the same files may find the same.
            let new = seen.mismatches.into_iter().filter(|what| !self.mismatches.contains(what)).collect::<Vec<_>>();
            self.mismatches.extend(new);
            if let Some(schema) = self.dataset.row_schema.as_ref().filter(|_| !value.is_null())
                && let Err(error) = schema.column(&column.name, &mut value, at, &mut self.leniencies)
            {
                // Reported at the place of the value, which may be in another file.
                let place = column.place(row, &*self.dataset.files);
                let schema_error =
                    place.and_then(|place| schema.column(&column.name, &mut value, &place, &mut BTreeMap::new()).err());
                return Err(schema_error.unwrap_or(error));
            }
            if let Some(columns) = row.as_object_mut() {
                columns.insert(column.name.clone(), value);
            }
        }
        Ok(())
    }
}

impl Dataset {
    /// Returns whether a sample is requested.
    pub(super) fn wants(&self, id: &str) -> bool {
        self.only.is_empty() || self.only.contains(id)
    }

    /// The ids that texts ask for: an id with commas where a row has it, else the ids between the commas.
    pub fn requested_ids(self: &Arc<Self>, texts: &[String]) -> Vec<String> {
        let mut lists: BTreeSet<&str> = texts.iter().map(String::as_str).filter(|text| text.contains(',')).collect();
        let mut rows = Rows::new(self.clone());
        while !lists.is_empty()
            && let Some(row) = rows.next_kept()
        {
            let id = row.map_or_else(|error| error.id, |kept| Some(kept.sample.id));
            id.map(|id| lists.remove(&*id));
        }
        let parts = |text: &String| match lists.contains(text.as_str()) {
            true => text.split(',').map(str::to_owned).collect(),
            false => vec![text.clone()],
        };
        texts.iter().flat_map(parts).collect()
    }

    fn is_table(&self) -> bool {
        use super::source::Format;
        matches!(self.source, DatasetSource::Files { format: Format::Csv | Format::Tsv, .. })
    }

    /// Returns whether the condition reads none of the added columns, so that it can be asked before files are read.
    fn condition_is_early(&self) -> bool {
        let added = |path: &Path| {
            self.columns.iter().any(|column| path.to_string().trim_start_matches("$.").starts_with(&column.name))
        };
        if self.days.is_some() && self.roles.date.as_ref().is_some_and(added) {
            return false;
        }
        self.condition.as_ref().is_none_or(|condition| {
            !condition.reads().iter().any(|name| {
                let mut parts = name.split('.').skip(1);
                parts
                    .next()
                    .is_none_or(|column| column == "id" || self.columns.iter().any(|added| added.name == column))
            })
        })
    }

    /// Returns whether a row is within the selected days and meets the condition.
    fn counts(&self, row: &Value, at: &RowPlace) -> Result<bool, DatasetError> {
        if let (Some((first, last)), Some(path)) = (&self.days, &self.roles.date) {
            let value = path.first(row).filter(|value| !value.is_null());
            let value = value.ok_or_else(|| {
                let hint = "`days` needs a date in every row".to_owned();
                at.problem_with_hint("", format!("this row has no date at `{path}`"), Some(hint))
            })?;
            let day = self.day(value, at)?;
            if day < *first || day > *last {
                return Ok(false);
            }
        }
        self.holds(row, at)
    }

    /// Returns whether the row of this number, among those that count, is drawn. Requested samples are always drawn.
    pub(super) fn is_drawn(self: &Arc<Self>, number: u64) -> bool {
        let Some(draw) = self.draw.as_ref().filter(|_| self.only.is_empty()) else { return true };
        self.drawn_rows(draw).rows.contains(&number)
    }

    /// The rows that a draw takes.
    pub(crate) fn drawn_rows(self: &Arc<Self>, draw: &Draw) -> &DrawnRows {
        self.drawn.get_or_init(|| {
            let mut urn = DrawSampler::new(draw);
            let mut rows = Rows::new(self.clone());
            let kept = std::iter::from_fn(|| rows.next_kept()).filter_map(Result::ok);
            for (number, kept) in kept.enumerate() {
                let sample = kept.sample;
                urn.add(number as u64, &sample.id, sample.date.as_deref(), &Value::Object(sample.columns));
            }
            urn.into_rows()
        })
    }

    fn holds(&self, row: &Value, at: &RowPlace) -> Result<bool, DatasetError> {
        let Some(condition) = &self.condition else { return Ok(true) };
        condition.is_true(&Context::new().with_json("sample", row)).map_err(|error| {
            at.problem_with_hint("", format!("`where` failed for this row: {}", error.message), error.hint)
        })
    }

    /// The id that a row has before anything is added to it; of a row in which no column could hold one, its hash.
    fn own_id(&self, row: &Value, at: &RowPlace) -> Option<String> {
        match self.roles.id.value("id", row, at) {
            Ok(Some(id)) => Some(self.id_text(id, at).into_owned()),
            Ok(None) if matches!(self.roles.id, Role::Common(_)) => Some(row_hash(row)),
            _ => None,
        }
    }

    /// An id is a name: a number with a fraction stays as it is written, since `1.10` is not `1.1`.
    fn id_text<'v>(&self, id: &'v Value, at: &RowPlace) -> Cow<'v, str> {
        if let Value::String(id) = id {
            return Cow::Borrowed(id);
        }
        let written = id.as_f64().filter(|_| id.is_f64()).and_then(|number| {
            let mut texts = self.roles.id.columns().into_iter().filter_map(|column| at.written_value(&column));
            texts.find(|text| text.parse() == Ok(number))
        });
        Cow::Owned(written.unwrap_or_else(|| plain(id)))
    }

    fn sample(&self, mut row: Value, own: Option<&str>, at: &RowPlace) -> Result<Sample, DatasetError> {
        let id_value = self.roles.id.value("id", &row, at)?;
        let is_fraction = id_value.is_some_and(Value::is_f64);
        let id = match id_value {
            Some(id @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => self.id_text(id, at),
            Some(other) => return Err(at.problem("id", format!("an id must be text or a number, not {other}"))),
            None => own.map(Cow::Borrowed).ok_or_else(|| {
                let column = self.roles.id.columns().join("` or `");
                let columns: Vec<&str> = row.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
                let near = match columns.contains(&"id") {
                    true => Some("did you mean `id`?".to_owned()),
                    false => suggestion(&column, columns.iter().copied()),
                };
                let known = columns.contains(&column.as_str());
                let hint = near.filter(|_| !known).unwrap_or_else(|| "every row needs a value there".to_owned());
                at.problem_with_hint(
                    "",
                    format!("this row has no `{column}`, which `id` of the dataset names"),
                    Some(hint),
                )
            })?,
        };
        if id.trim().is_empty() {
            return Err(at.problem("id", "the id is empty"));
        }
        let roles = &self.roles;
        let value_at = |path: &Path| path.first(&row).filter(|value| !value.is_null());
        let named = |(name, path): &(String, Path)| Some((name.clone(), value_at(path)?.clone()));
        let mut sample = Sample {
            row: 0,
            id: Arc::from(&*id),
            input: roles.input.value("input", &row, at)?.cloned(),
            reference: roles.reference.value("reference", &row, at)?.cloned(),
            cluster: roles.cluster.as_ref().and_then(value_at).map(|it| cluster(it, at)).transpose()?.flatten(),
            date: roles.date.as_ref().and_then(value_at).map(|date| self.day(date, at)).transpose()?,
            columns: Map::new(),
            metadata: self.metadata.iter().filter_map(named).collect(),
            only: None,
        };
        if is_fraction && let Some(held) = self.roles.id.place(&mut row) {
            // What templates read of it is the same.
            *held = Value::from(&*sample.id);
        }
        if let Value::Object(columns) = row {
            sample.columns = columns;
        }
        if member(&sample.columns, "id").is_none() {
            sample.columns.insert("id".to_owned(), Value::from(&*sample.id));
        }
        Ok(sample)
    }

    fn day(&self, value: &Value, at: &RowPlace) -> Result<String, DatasetError> {
        date::day(value, &self.roles.zone).ok_or_else(|| {
            let hint = "write 2026-01-31, or 2026-01-31T08:00:00Z".to_owned();
            at.problem_with_hint("date", format!("{value} is not a date"), Some(hint))
        })
    }
}

/// The name of a cluster; an empty one is none.
fn cluster(value: &Value, at: &RowPlace) -> Result<Option<String>, DatasetError> {
    match value {
        Value::Array(_) | Value::Object(_) => {
            Err(at.problem("cluster", format!("a cluster must be text or a number, not {}", kind(value))))
        }
        named => Ok(Some(plain(named)).filter(|name| !name.trim().is_empty())),
    }
}

/// The id of a row that has none: 16 digits of its content's hash.
pub(super) fn row_hash(row: &Value) -> String {
    let mut digits = Key::of("karat/row/1", row.to_string().as_bytes()).to_string();
    digits.truncate(16);
    digits
}
