//! Rows for the commands of datasets: of a file, a suite, traces or a run, each as a suite would read them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use karat_analysis::{CellScores, resolve_checks};
use karat_dataset::duplicates::{DuplicateFinder, Duplicates, Preference, Search};
use karat_dataset::row_text;
use karat_store::StoredRun;
use karat_suite::{Plan, RowSource, RowSourceSpec};
use karat_text::template::{Context, Expression};
use karat_types::{PlanHeader, RunRows, Sample, SampleRecord, SampleText};
use serde_json::{Map, Value};

use crate::datasets::Datasets;
use crate::error::{DatasetError, Names};
use crate::project::load;
use crate::project::presets::{SuiteFiles, suite_path};
use crate::{AppError, Invocation};

/// The beginning of a source that is a run.
const RUN: &str = "run:";
/// The beginning of a source that is a dataset of traces.
const TRACES: &str = "traces:";

/// The request for the rows of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatasetRequest {
    /// A file, a folder, a suite, `traces:NAME` or `run:R`.
    pub source: String,
    /// Column of the id, where it has none of the known names.
    pub id: Option<String>,
    /// Column of the input.
    pub input: Option<String>,
    /// Column of the reference.
    pub reference: Option<String>,
    /// Column of the group whose rows belong together.
    pub cluster: Option<String>,
    /// Column of the date.
    pub date: Option<String>,
    /// Condition on the rows, such as `sample.language == 'en'`.
    pub condition: Option<String>,
}

/// Rows that can be read several times.
pub struct DatasetRows {
    /// The source as it was named.
    pub source: String,
    /// Name of the dataset: of its file without the ending, of its suite, traces or run.
    pub name: String,
    /// The plan, where the rows are those of a suite.
    pub plan: Option<Plan>,
    /// Columns that were named by flags.
    named: Vec<(&'static str, String)>,
    reader: Reader,
    condition: Option<(String, Expression)>,
    /// Rows of a suite that are read.
    most: u64,
}

enum Reader {
    Rows(RowSource),
    Suite(Box<Plan>),
    Run(Box<StoredRun>, Arc<PlanHeader>),
}

/// A row of a dataset.
#[derive(Debug, Clone)]
pub struct SourceRow {
    /// The row with its roles. `row` counts from 0.
    pub sample: Sample,
    /// Means of the metrics over all cells of the sample, where the source is a run.
    pub metrics: BTreeMap<String, f64>,
    /// True if the run stored only the beginning of a text.
    pub is_cut: bool,
}

impl DatasetRequest {
    /// A source without settings.
    pub fn of(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    /// The flags that name columns, with the columns that they name.
    fn column_flags(&self) -> Vec<(&'static str, String)> {
        let columns = [
            ("--id", &self.id),
            ("--input", &self.input),
            ("--reference", &self.reference),
            ("--cluster", &self.cluster),
            ("--time", &self.date),
        ];
        columns.into_iter().filter_map(|(flag, column)| Some((flag, column.clone()?))).collect()
    }
}

impl Datasets<'_> {
    /// Opens the rows of a dataset. Makes no API calls.
    ///
    /// # Errors
    /// A source that is not there or cannot be read, and a condition that is none.
    pub fn rows(&self, asked: &DatasetRequest) -> Result<DatasetRows, AppError> {
        let named = asked.column_flags();
        let source = asked.source.clone();
        let condition = asked.condition.as_deref().map(compile).transpose()?;
        let (name, reader) = match (source.strip_prefix(RUN), is_suite_source(&source)) {
            (Some(run), _) => {
                let run = self.app.stored().run(run)?;
                (run.header().id.clone(), Reader::of_run(run)?)
            }
            (None, true) => {
                let plan = self.app.project().load(&Invocation::of(&*source))?;
                (plan.header.suite.clone(), Reader::Suite(Box::new(plan)))
            }
            (None, false) => (name_of(&source), Reader::Rows(self.row_source(asked)?)),
        };
        let plan = match &reader {
            Reader::Suite(plan) => Some((**plan).clone()),
            Reader::Rows(_) | Reader::Run(..) => None,
        };
        if let (Reader::Suite(_) | Reader::Run(..), Some((flag, _))) = (&reader, named.first()) {
            return Err(DatasetError::SuiteColumns { flag: (*flag).to_owned(), suite: source }.into());
        }
        Ok(DatasetRows { source, name, plan, named, reader, condition, most: u64::MAX })
    }

    fn row_source(&self, asked: &DatasetRequest) -> Result<RowSource, AppError> {
        let path = Path::new(&asked.source);
        // A file without an ending is most often one of JSON lines.
        let is_plain = !asked.source.starts_with(TRACES) && path.extension().is_none() && !path.is_dir();
        let spec = RowSourceSpec {
            source: asked.source.clone(),
            format: is_plain.then(|| "jsonl".to_owned()),
            id: asked.id.clone(),
            input: asked.input.clone(),
            reference: asked.reference.clone(),
            cluster: asked.cluster.clone(),
            date: asked.date.clone(),
        };
        Ok(RowSource::open(Arc::new(SuiteFiles), &spec, &self.app.project().trace_files())?)
    }
}

impl Reader {
    fn of_run(run: StoredRun) -> Result<Self, AppError> {
        let plan = resolve_checks(&run)?;
        Ok(Self::Run(Box::new(run), plan))
    }
}

impl DatasetRows {
    /// The rows of a suite that was loaded.
    pub fn of_plan(source: &str, plan: &Plan) -> Self {
        Self {
            source: source.to_owned(),
            name: plan.header.suite.clone(),
            plan: Some(plan.clone()),
            named: Vec::new(),
            reader: Reader::Suite(Box::new(plan.clone())),
            condition: None,
            most: u64::MAX,
        }
    }

    /// The first rows of a suite.
    pub(crate) fn first(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Calls `row` for each row that the condition lets through, in order. Every pass gives the same rows unless the source
    /// changes. Memory does not grow with their number.
    ///
    /// # Errors
    /// A row that cannot be read, with its place; a column that was named and that no row has; what `row` returns.
    pub fn for_each(&self, row: &mut dyn FnMut(SourceRow) -> Result<(), AppError>) -> Result<u64, AppError> {
        let mut count = 0;
        let mut missing: Vec<&(&str, String)> = self.named.iter().collect();
        let mut known = BTreeSet::new();
        let mut next = |mut source: SourceRow| {
            missing.retain(|(_, column)| !has_column(&source.sample.columns, column));
            if count == 0 {
                known.extend(source.sample.columns.keys().cloned());
            }
            if self.counts(&source.sample)? {
                source.sample.row = count;
                count += 1;
                row(source)?;
            }
            Ok(())
        };
        match &self.reader {
            Reader::Rows(rows) => read(rows.rows(), &mut next)?,
            Reader::Suite(plan) => read(plan.rows().take(usize::try_from(self.most).unwrap_or(usize::MAX)), &mut next)?,
            Reader::Run(run, plan) => read_run(run, plan, &mut next)?,
        }
        match missing.first() {
            Some((flag, column)) if count > 0 => Err(DatasetError::NoColumn {
                flag: (*flag).to_owned(),
                column: column.clone(),
                rows: self.source.clone(),
                known: Names::of(known),
            }
            .into()),
            _ => Ok(count),
        }
    }

    /// The columns that may hold a row's id.
    pub fn id_columns(&self) -> Vec<String> {
        match &self.reader {
            Reader::Rows(rows) => rows.id_columns(),
            Reader::Suite(plan) => plan.id_columns(),
            Reader::Run(..) => vec!["id".to_owned()],
        }
    }

    /// The columns that describe a row to readers.
    pub fn metadata_columns(&self) -> Vec<String> {
        match &self.reader {
            Reader::Suite(plan) => plan.metadata_columns(),
            Reader::Rows(_) | Reader::Run(..) => Vec::new(),
        }
    }

    /// The names of the metrics, where the source is a run.
    pub fn metrics(&self) -> Option<Vec<String>> {
        match &self.reader {
            Reader::Run(_, plan) => Some(plan.metrics.iter().map(|metric| metric.name.clone()).collect()),
            Reader::Rows(_) | Reader::Suite(_) => None,
        }
    }

    /// The error for a source of which no row was read.
    pub(crate) fn empty(&self) -> AppError {
        let filter = self.condition.as_ref().map(|(text, _)| format!(" that meet `{text}`")).unwrap_or_default();
        DatasetError::NoRows { rows: self.source.clone(), filter }.into()
    }

    fn counts(&self, sample: &Sample) -> Result<bool, AppError> {
        let Some((text, condition)) = &self.condition else { return Ok(true) };
        let context = Context::new().with("sample", &Value::Object(sample.columns.clone()));
        condition.is_true(&context).map_err(|error| {
            let problem = format!("at the row `{}`: {}", sample.id, error.message);
            DatasetError::Condition { text: text.clone(), problem }.into()
        })
    }
}

fn compile(text: &str) -> Result<(String, Expression), AppError> {
    match Expression::compile(text) {
        Ok(condition) => Ok((text.to_owned(), condition)),
        Err(error) => Err(DatasetError::Condition { text: text.to_owned(), problem: error.message }.into()),
    }
}

/// Returns whether a source is a suite: a YAML file, a preset, or a folder with a `karat.yaml`.
pub fn is_suite_source(source: &str) -> bool {
    let is_yaml = [".yaml", ".yml"].iter().any(|ending| source.ends_with(ending));
    let path = Path::new(source);
    if source.starts_with(TRACES) || (path.exists() && !path.is_dir() && !is_yaml) {
        return false;
    }
    is_yaml || suite_path(source).is_some() || (path.is_dir() && load::find_suite(source, &SuiteFiles).is_ok())
}

/// The name of a file or of traces: letters, digits, `-`, `_` and `.`.
fn name_of(source: &str) -> String {
    let name = source.strip_prefix(TRACES).unwrap_or(source);
    let name = name.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    let safe = |it: char| if it.is_alphanumeric() || matches!(it, '-' | '_' | '.') { it } else { '-' };
    let name: String = name.chars().map(safe).collect();
    if name.trim_matches(['.', '-']).is_empty() { "dataset".to_owned() } else { name }
}

fn has_column(columns: &Map<String, Value>, path: &str) -> bool {
    let held = karat_text::path::Path::parse(path).ok().and_then(|path| {
        let row = Value::Object(columns.clone());
        path.first(&row).map(|value| !value.is_null())
    });
    held.unwrap_or(false)
}

fn read(
    rows: impl Iterator<Item = Result<Sample, karat_suite::DatasetError>>,
    next: &mut dyn FnMut(SourceRow) -> Result<(), AppError>,
) -> Result<(), AppError> {
    for sample in rows {
        let sample = sample.map_err(|error| DatasetError::Row { problem: error.to_string() })?;
        next(SourceRow { sample, metrics: BTreeMap::new(), is_cut: false })?;
    }
    Ok(())
}

/// The samples of a run, each once. Their cells follow each other.
fn read_run(
    run: &StoredRun,
    plan: &PlanHeader,
    next: &mut dyn FnMut(SourceRow) -> Result<(), AppError>,
) -> Result<(), AppError> {
    let mut current: Option<(SampleRecord, Vec<(f64, u32)>)> = None;
    let mut outcome = Ok(());
    run.for_each(&mut |row| {
        if current.as_ref().is_none_or(|(sample, _)| sample.row != row.sample.row) {
            let finished = current.replace((row.sample.clone(), vec![(0.0, 0); plan.metrics.len()]));
            outcome = finished.map_or(Ok(()), |(sample, sums)| next(of_record(&sample, plan, &sums)));
        }
        let scores = CellScores::of(plan, &row);
        let sums = current.iter_mut().flat_map(|(_, sums)| sums).enumerate();
        for (metric, (sum, n)) in sums {
            if let Some(value) = scores.number(metric) {
                (*sum, *n) = (*sum + value, *n + 1);
            }
        }
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    outcome?;
    current.map_or(Ok(()), |(sample, sums)| next(of_record(&sample, plan, &sums)))
}

fn of_record(sample: &SampleRecord, plan: &PlanHeader, sums: &[(f64, u32)]) -> SourceRow {
    let mut columns = Map::new();
    columns.insert("id".to_owned(), sample.id.clone().into());
    let mut is_cut = false;
    for SampleText { name, text, chars } in &sample.texts {
        is_cut |= *chars > text.chars().count() as u64;
        let column = name.strip_prefix(SampleText::EXPECTED).unwrap_or(name);
        columns.insert(column.to_owned(), text.clone().into());
    }
    for (role, value) in [("cluster", &sample.cluster), ("date", &sample.date)] {
        if let Some(value) = value {
            columns.insert(role.to_owned(), value.clone().into());
        }
    }
    for (name, value) in &sample.metadata {
        columns.entry(name.clone()).or_insert_with(|| value.clone());
    }
    let text = |name: &str| columns.get(name).cloned();
    let means = plan.metrics.iter().zip(sums).filter(|(_, (_, n))| *n > 0);
    SourceRow {
        sample: Sample {
            row: sample.row,
            id: sample.id.as_str().into(),
            input: text(SampleText::INPUT),
            reference: text(SampleText::REFERENCE),
            cluster: sample.cluster.clone(),
            date: sample.date.clone(),
            columns,
            metadata: sample.metadata.clone(),
            only: None,
        },
        metrics: means.map(|(metric, (sum, n))| (metric.name.clone(), sum / f64::from(*n))).collect(),
        is_cut,
    }
}

/// Jaccard index from which rows repeat each other, unless a command names another.
pub(crate) const NEAR: f64 = 0.8;

/// Finds the duplicates among rows by their texts. `prefer` sees each row of the first pass with its text, and says which of
/// a cluster is kept; by default the first is.
///
/// # Errors
/// The rows cannot be read.
pub(crate) fn find_row_duplicates(
    rows: &DatasetRows,
    cut: f64,
    prefer: &mut dyn FnMut(&SourceRow, Option<&str>) -> Preference,
) -> Result<Duplicates, AppError> {
    let mut finder = DuplicateFinder::new(cut);
    rows.for_each(&mut |row| {
        let text = row_text(&row.sample);
        let preference = prefer(&row, text.as_deref());
        finder.add(text.as_deref(), preference);
        Ok(())
    })?;
    let mut verifier = finder.into_verifier(Search::Likeliest);
    let mut at = 0_u32;
    rows.for_each(&mut |row| {
        if let Some(text) = row_text(&row.sample).filter(|_| verifier.needs(at)) {
            verifier.add(at, &text);
        }
        at += 1;
        Ok(())
    })?;
    Ok(verifier.clusters())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-01: the name of a dataset is a safe file name, whatever its source is called.
    #[test]
    fn names_are_safe_file_names() {
        assert_eq!(name_of("data/tickets.jsonl.gz"), "tickets");
        assert_eq!(name_of("traces:faq"), "faq");
        assert_eq!(name_of("a b*.csv"), "a-b-");
        assert_eq!(name_of("../.."), "dataset");
        assert_eq!(name_of("tests/"), "tests");
    }

    /// BC-01: YAML files and presets are suites; files of rows are not, even where a preset has their name.
    #[test]
    fn suites_are_told_from_files() {
        assert!(is_suite_source("evals/karat.yaml") && is_suite_source("rag"));
        assert!(!is_suite_source("rows.jsonl") && !is_suite_source("traces:rag") && !is_suite_source("nowhere"));
    }
}
