//! Stored runs in the formats of other tools.
//!
//! - `inspect`: logs that Inspect opens
//! - `otel`: events and spans of OpenTelemetry, and how they are sent
//! - `figures`: the table of figures, and as CSV; `span_snapshot`: labelled spans with their verdicts
//! - `tables`: rows of a run's other tables; `parquet` writes them as files for DuckDB, polars, pandas, `stream` hands
//!   them to a reader in this process

mod figures;
mod inspect;
mod otel;
mod parquet;
mod span_snapshot;
mod stream;
mod tables;

pub use otel::SpanContent;
pub use tables::RunTable;

use std::ops::ControlFlow;
use std::path::PathBuf;

use karat_store::StoredRun;
use karat_types::{CellRow, Dimension, RunRows, SampleRecord, SampleText, Scale, ScorerKind, ScorerSpec};

use crate::AppError;

/// Files that an export wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedFiles {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Cells in them.
    pub cells: u64,
}

/// The input of a sample as one text: its role, or the columns that steps read, each with its name.
fn input_text(sample: &SampleRecord) -> Option<String> {
    if let Some(input) = sample.texts.iter().find(|text| text.name == SampleText::INPUT) {
        return Some(input.text.clone());
    }
    let columns = sample.texts.iter().filter(|text| !text.is_expected());
    let named: Vec<String> = columns.map(|text| format!("{}: {}", text.name, text.text)).collect();
    (!named.is_empty()).then(|| named.join("\n\n"))
}

/// The texts that the output is compared with: the reference, and the columns that only metrics read, each with its name.
fn expected_text(sample: &SampleRecord) -> Option<String> {
    SampleText::expected_text(&sample.texts)
}

/// The dimension of a rubric that a metric is; the metric of a lone dimension has the scorer's name.
fn dimension<'p>(scorer: &'p ScorerSpec, metric: &str) -> Option<&'p Dimension> {
    let ScorerKind::Rubric(rubric) = &scorer.kind else { return None };
    let dimensions = &rubric.rubric.dimensions;
    match (dimensions.as_slice(), metric.strip_prefix(scorer.id.as_str())) {
        ([only], Some("")) => Some(only),
        (_, rest) => dimensions.iter().find(|known| rest.and_then(|rest| rest.strip_prefix('.')) == Some(&known.name)),
    }
}

/// The answer of a judge that chooses among named ones.
fn choice<'p>(scorer: &'p ScorerSpec, metric: &str, score: f64) -> Option<&'p str> {
    let Scale::Choices(choices) = &dimension(scorer, metric)?.scale else { return None };
    choices.iter().find(|(_, worth)| worth.total_cmp(&score).is_eq()).map(|(name, _)| name.as_str())
}

/// Calls `each` for every cell of a run, in plan order, until it fails.
fn for_each_cell(run: &StoredRun, mut each: impl FnMut(&CellRow<'_>) -> Result<(), AppError>) -> Result<(), AppError> {
    let mut failed = None;
    run.for_each(&mut |row| match each(&row) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(()), Err)
}
