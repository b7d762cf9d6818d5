//! The cells of a stored run, one at a time: lines of a table, and the texts that people read.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;

use karat_analysis::{CellScores, resolve_checks};
use karat_report::{Outputs, Report, Scale, scale_of, terminal};
use karat_types::{CellError, CellRow, CellStatus, JudgmentRow, PlanHeader, RunRows, SampleText, Score};
use serde::Serialize;
use serde_json::Value;

use crate::AppError;
use crate::error::StoredError;
use crate::stored::findings::findings;
use crate::stored::messages::JudgeWords;
use crate::views::Views;

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
    /// Input, reference and columns of its sample, if they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<SampleText>,
    /// Its output, if it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// The reasoning of its judges, by scorer and judge, if it is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeWords>,
}

/// Selects cells of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CellFilter {
    /// Only cells with this status.
    pub status: Option<CellStatus>,
    /// Only cells of this sample.
    pub sample: Option<String>,
    /// True if lines hold input, output and reasons.
    pub with_texts: bool,
}

impl CellFilter {
    fn matches(&self, row: &CellRow<'_>) -> bool {
        self.status.is_none_or(|status| status == row.cell.status)
            && self.sample.as_ref().is_none_or(|sample| row.sample.id == *sample)
    }
}

impl Views<'_> {
    /// The names of a run's metrics, each with the scale that its values are written by.
    ///
    /// # Errors
    /// The run cannot be read.
    pub fn metric_scales(&self, run: &str) -> Result<Vec<(String, Scale)>, AppError> {
        let plan = resolve_checks(&self.app.stored().run(run)?)?;
        Ok(plan.metrics.iter().map(|metric| (metric.name.clone(), scale_of(&plan, metric))).collect())
    }

    /// Calls `each` with every cell of a run that the filter selects, in plan order, until it fails. Memory holds one of
    /// them.
    ///
    /// # Errors
    /// The run cannot be read, or `each` fails.
    pub fn each_cell(
        &self,
        run: &str,
        filter: &CellFilter,
        each: &mut dyn FnMut(&CellLine) -> io::Result<()>,
    ) -> Result<(), AppError> {
        let rows = self.app.stored().run(run)?;
        let plan = resolve_checks(&rows)?;
        let mut failed = None;
        rows.for_each(&mut |row| {
            if !filter.matches(&row) {
                return ControlFlow::Continue(());
            }
            let line = cell_line(&rows, &plan, &row, filter.with_texts);
            match line.and_then(|line| each(&line).map_err(AppError::printing)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Calls `each` with input, outputs, scores and reasons of the chosen cells as text, a sample at a time.
    ///
    /// # Errors
    /// The run cannot be read, or `each` fails.
    pub fn show_outputs(
        &self,
        run: &str,
        outputs: Outputs,
        each: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<(), AppError> {
        let stored = self.app.stored().run(run)?;
        let findings = findings(&stored)?;
        let (mut context, _) = self.app.analysis().context(&stored, &findings, false)?;
        context.outputs = outputs;
        let report = Report { findings: &findings, rows: &stored, context: &context };
        terminal::outputs(report, &mut |text| Ok(each(text)?)).map_err(AppError::from)
    }

    /// Input, reference, outputs, scores and reasons of one sample as text: in a run, or in the newest run of a suite
    /// that has the sample.
    ///
    /// # Errors
    /// No such run, suite or sample.
    pub fn show_sample(&self, target: &str, sample: &str) -> Result<String, AppError> {
        let store = self.app.existing_store()?;
        let runs = if self.app.stored().is_suite(target) {
            store.runs_of_suite(&self.app.stored().suite_name(&store, target)?, usize::MAX)?
        } else {
            vec![store.resolve(target)?]
        };
        for run in &runs {
            let stored = store.rows(run)?;
            let mut is_there = false;
            stored.samples(|it| is_there |= it.id == sample)?;
            if !is_there {
                continue;
            }
            let findings = findings(&stored)?;
            let (context, _) = self.app.analysis().context(&stored, &findings, false)?;
            let report = Report { findings: &findings, rows: &stored, context: &context };
            if let Some(text) = terminal::sample_outputs(report, sample)? {
                return Ok(format!("run {run}\n{text}"));
            }
        }
        Err(StoredError::NoSample { target: target.to_owned(), sample: sample.to_owned() }.into())
    }
}

pub(crate) fn cell_line(
    rows: &dyn RunRows,
    plan: &PlanHeader,
    row: &CellRow<'_>,
    with_texts: bool,
) -> Result<CellLine, AppError> {
    let judge = |judgment: &JudgmentRow| JudgeWords::of(plan, judgment);
    Ok(CellLine {
        cell: row.cell.ordinal,
        sample: row.sample.id.clone(),
        model: plan.system_model(row.system).map(|model| model.id.clone()),
        variant: plan.system_variant(row.system).to_owned(),
        trial: row.trial,
        status: row.cell.status,
        scores: scores(plan, row),
        error: row.cell.error.clone(),
        texts: if with_texts { row.sample.texts.clone() } else { Vec::new() },
        output: if with_texts { rows.output(row.cell.ordinal)? } else { None },
        judges: if with_texts { row.judgments.iter().map(judge).collect() } else { Vec::new() },
    })
}

/// Scores by metric name as in reports: averaged over judges, bounds applied.
pub(crate) fn scores(plan: &PlanHeader, row: &CellRow<'_>) -> BTreeMap<String, Score> {
    let scores = CellScores::of(plan, row).scores;
    let named = plan.metrics.iter().zip(scores).filter_map(|(metric, score)| Some((metric.name.clone(), score?)));
    named.collect()
}
