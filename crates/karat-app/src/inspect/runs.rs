//! The list of stored runs, and the cells of one.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_analysis::{CellScores, resolve_checks};
use karat_store::{RunSummary, Store};
use karat_types::{CellError, CellRow, CellStatus, PlanHeader, RunRows, RunStatus, Score, ScorerKind};
use serde::Serialize;

use crate::{App, AppError};

/// A stored run in one line.
#[derive(Debug, Clone, Serialize)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// Its status.
    pub status: String,
    /// Cells of its plan.
    pub planned: u64,
    /// Finished cells, including their judgments.
    pub cells: u64,
    /// Finished cells that are errors.
    pub errors: u64,
    /// Start of the run, RFC 3339.
    pub started_at: String,
}

/// A cell in one line.
#[derive(Debug, Clone, Serialize)]
pub struct CellLine {
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
    /// Its status.
    pub status: CellStatus,
    /// Scores by metric; the mean over judges if there are several.
    pub scores: BTreeMap<String, Score>,
    /// The reason for a missing output.
    pub error: Option<CellError>,
}

impl App {
    /// The newest runs.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunLine>, AppError> {
        if !self.store.exists() {
            self.store.check_orphans()?;
            return Ok(Vec::new());
        }
        let store = self.store_to_read()?;
        let line = |run: RunSummary| {
            Ok(RunLine {
                status: serialized_name(&run.status),
                cells: count_done(&store, &run)?,
                errors: run.totals.errors,
                started_at: rfc3339(run.started_at),
                planned: run.planned,
                id: run.id,
                suite: run.suite,
            })
        };
        store.runs(limit)?.into_iter().map(line).collect()
    }

    /// The cells of a run, and the names of its metrics.
    pub fn cells(&self, run: &str) -> Result<(Vec<String>, Vec<CellLine>), AppError> {
        let store = self.existing_store()?;
        let rows = store.rows(&store.resolve(run)?)?;
        let plan = resolve_checks(&rows)?;
        let mut lines = Vec::new();
        let read = rows.for_each(&mut |row| {
            lines.push(CellLine {
                cell: row.cell.ordinal,
                sample: row.sample.id.clone(),
                model: plan.system_model(row.system).map(|model| model.id.clone()),
                variant: plan.system_variant(row.system).to_owned(),
                trial: row.trial,
                status: row.cell.status,
                scores: scores(&plan, &row),
                error: row.cell.error.clone(),
            });
            ControlFlow::Continue(())
        });
        read?;
        Ok((plan.metrics.iter().map(|metric| metric.name.clone()).collect(), lines))
    }
}

/// Scores by metric name as in reports: averaged over judges, bounds applied.
fn scores(plan: &PlanHeader, row: &CellRow<'_>) -> BTreeMap<String, Score> {
    let scores = CellScores::of(plan, row).scores;
    let named = plan.metrics.iter().zip(scores).filter_map(|(metric, score)| Some((metric.name.clone(), score?)));
    named.collect()
}

/// A moment as RFC 3339 in UTC; empty if it is out of range.
pub fn rfc3339(moment: karat_types::Moment) -> String {
    jiff::Timestamp::from_millisecond(moment.0).map_or_else(|_| String::new(), |moment| moment.to_string())
}

/// The number of finished cells of a run.
fn count_done(store: &Store, run: &RunSummary) -> Result<u64, AppError> {
    if run.status == RunStatus::Finished {
        return Ok(run.totals.cells);
    }
    let plan = store.run(&run.id)?.plan;
    let index = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let mut judges = Vec::new();
    for (scorer, spec) in plan.scorers.iter().enumerate() {
        let ScorerKind::Rubric(rubric) = &spec.kind else { continue };
        let own = plan.judges.iter().enumerate().filter(|(_, judge)| rubric.judges.contains(&judge.id));
        judges.extend(own.map(|(judge, _)| (index(scorer), index(judge))));
    }
    Ok(store.finished_cells(&run.id)?.count_done(&judges))
}

/// The serialized name of a unit enum.
fn serialized_name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
