//! The calls of one cell, with their raw bytes.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_analysis::resolve_checks;
use karat_report::{Scale, scale_of};
use karat_store::StoreError;
use karat_types::{RunRows, SampleText, Score};
use serde::Serialize;

use crate::AppError;
use crate::error::StoredError;
use crate::stored::messages::JudgeWords;
use crate::stored::names;
use crate::views::Views;
use crate::views::show::calls::{CellKeys, Contents, TracedCall};
use crate::views::show::cells;

/// The calls of one cell.
#[derive(Debug, Clone, Serialize)]
pub struct Trace {
    /// Its ordinal in the plan.
    pub cell: u64,
    /// Id of its sample.
    pub sample: String,
    /// Registry id of its model.
    pub model: Option<String>,
    /// Its variant.
    pub variant: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// Notes of its steps, then of its judgments.
    pub notes: Vec<String>,
    /// Its calls, steps first, then judges.
    pub calls: Vec<TracedCall>,
    /// Its output, as text or JSON.
    pub output: Option<String>,
    /// The reason for a missing output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Input, reference and columns of its sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<SampleText>,
    /// Scores by metric; judges joined.
    pub scores: BTreeMap<String, Score>,
    /// The scale that the values of each metric are written by.
    #[serde(skip)]
    pub scales: BTreeMap<String, Scale>,
    /// The words of each judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeWords>,
}

impl Views<'_> {
    /// Returns whether a word names a stored run.
    pub fn has_run(&self, word: &str) -> bool {
        self.app.existing_store().is_ok_and(|store| store.resolve(word).is_ok())
    }

    /// Refuses the id of a sample in the place of a run.
    ///
    /// # Errors
    /// No run is called so, and the newest run has such a sample.
    pub fn check_not_a_sample(&self, word: &str) -> Result<(), AppError> {
        let store = self.app.existing_store()?;
        let (Err(StoreError::NoSuchRun { .. }), Ok(run)) = (store.resolve(word), store.resolve("latest")) else {
            return Ok(());
        };
        let mut is_sample = false;
        store.rows(&run)?.samples(|sample| is_sample |= sample.id == word)?;
        match is_sample {
            true => Err(StoredError::RunIsSample { sample: word.to_owned(), run }.into()),
            false => Ok(()),
        }
    }

    /// The error of a trace without a cell: it shows the address of one that is there, a failed one if any.
    pub fn without_cell(&self, run: &str) -> AppError {
        match self.example_cell(run) {
            Ok(Some(cell)) => {
                let run = if run == "latest" { String::new() } else { format!("{run} ") };
                StoredError::CellNotNamed { run, cell }.into()
            }
            Ok(None) => {
                StoredError::CellNotNamed { run: String::new(), cell: "sample/model/variant".to_owned() }.into()
            }
            Err(error) => error,
        }
    }

    fn example_cell(&self, run: &str) -> Result<Option<String>, AppError> {
        let store = self.app.existing_store()?;
        let run = store.resolve(run)?;
        let rows = store.rows(&run)?;
        let plan = rows.header().plan.clone();
        let mut example = None;
        rows.for_each(&mut |row| {
            let failed = row.cell.error.is_some();
            if failed || example.is_none() {
                let path = names::path(&plan, &row.sample.id, row.system);
                example = Some(if row.trial > 0 { format!("{path}/{}", row.trial) } else { path });
            }
            if failed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(example)
    }

    /// The calls of one cell: by its number, or by `sample/model/variant[/trial]` (`sample/variant` without a model).
    pub fn trace(&self, run: &str, cell: &str) -> Result<Trace, AppError> {
        let store = self.app.existing_store()?;
        let run = store.resolve(run)?;
        let rows = store.rows(&run)?;
        let plan = rows.header().plan.clone();
        // The scores may be needed to know that a metric is a check.
        let scored_plan = resolve_checks(&rows)?;
        let mut found = None;
        let of_number = cell.parse().ok().map(|number: u64| number..number.saturating_add(1));
        rows.for_each_in(of_number.unwrap_or(0..u64::MAX), &mut |row| {
            if !names::is_row(cell, &plan, &row) {
                return ControlFlow::Continue(());
            }
            let notes = row.cell.notes.iter().chain(row.judgments.iter().flat_map(|judgment| &judgment.notes));
            let trace = Trace {
                notes: notes.map(|note| note.text.clone()).collect(),
                cell: row.cell.ordinal,
                sample: row.sample.id.clone(),
                model: plan.system_model(row.system).map(|model| model.id.clone()),
                variant: plan.system_variant(row.system).to_owned(),
                trial: row.trial,
                calls: Vec::new(),
                output: None,
                error: row.cell.error.as_ref().map(|error| format!("{}: {}", error.code, error.message)),
                texts: row.sample.texts.clone(),
                scores: cells::scores(&scored_plan, &row),
                scales: BTreeMap::new(),
                judges: row.judgments.iter().map(|judgment| JudgeWords::of(&scored_plan, judgment)).collect(),
            };
            found = Some((trace, CellKeys::of(&plan, &row)));
            ControlFlow::Break(())
        })?;
        let Some((mut trace, keys)) = found else { return Err(missing_cell(&rows, &run, cell)?.into()) };
        let calls = keys.read(&store, &run)?.into_iter().filter_map(|call| match call.contents {
            Contents::Kept(call) => Some(*call),
            Contents::Pruned | Contents::Missing => None,
        });
        trace.calls = calls.collect();
        let scales = scored_plan.metrics.iter().map(|metric| (metric.name.clone(), scale_of(&scored_plan, metric)));
        trace.scales = scales.collect();
        let output = rows.output(trace.cell)?;
        trace.output = output.map(|output| match output {
            serde_json::Value::String(text) => text,
            other => serde_json::to_string_pretty(&other).unwrap_or_default(),
        });
        Ok(trace)
    }
}

/// The error of a cell that is not there: the numbers that there are, or the sample that is named in its place.
fn missing_cell(rows: &dyn RunRows, run: &str, cell: &str) -> Result<StoredError, AppError> {
    let (run, cell, plan) = (run.to_owned(), cell.to_owned(), &rows.header().plan);
    if cell.parse::<u64>().is_ok() {
        let last = plan.cells().saturating_sub(1);
        let is_planned = cell.parse::<u64>().is_ok_and(|number| number <= last);
        return Ok(match is_planned {
            true => StoredError::CellNotMade { run, cell },
            false => StoredError::NoCellNumber { run, cell, last },
        });
    }
    let mut path = None;
    rows.for_each(&mut |row| match &*row.sample.id == cell.as_str() {
        true => {
            path = Some(names::path(plan, &row.sample.id, row.system));
            ControlFlow::Break(())
        }
        false => ControlFlow::Continue(()),
    })?;
    Ok(match path {
        Some(path) => StoredError::CellIsSample { run, cell, path },
        None => StoredError::NoCell { run, cell },
    })
}
