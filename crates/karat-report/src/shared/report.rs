//! The input of every format.

use std::fmt;
use std::io;
use std::ops::{ControlFlow, Range};

use karat_analysis::gate::{Counted, Prefix, StopSummary};
use karat_analysis::series::SeriesView;
use karat_analysis::{Findings, Group, Verdicts, headline_metrics};
use karat_text::kind::ends;
use karat_types::{
    Better, CallErrorCode, CellError, CellRow, Money, PlanHeader, Pricing, RowError, RunRows, UncachedCost,
};

/// The cells that a report shows with input, output, reference and reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShownOutputs {
    /// All, those that failed first.
    All,
    /// Those that failed: without an output, with a score below its threshold, or unscored.
    #[default]
    Failed,
    /// None.
    None,
}

/// The texts that a report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outputs {
    /// The cells; by default those that failed, and in cells.csv all.
    pub shown: Option<ShownOutputs>,
    /// Largest number of cells, except in cells.csv.
    pub cells: usize,
}

impl Outputs {
    /// Number of cells that are shown unless another is asked for.
    pub const CELLS: usize = 40;
}

impl Default for Outputs {
    fn default() -> Self {
        Self { shown: None, cells: Self::CELLS }
    }
}

/// Facts that a report shows besides the findings.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The estimate of the plan.
    pub estimate: Option<UncachedCost>,
    /// Cost of all calls of the run, including calls that no cell uses. If `None`, the sum over cells and judgments
    /// is shown.
    pub paid: Option<Money>,
    /// Part of `paid` that providers stated themselves.
    pub reported: Money,
    /// Part of `paid` whose tokens Karat counted, because the provider counted none.
    pub counted: Money,
    /// Calls of the run whose price is unknown: `paid` is without them.
    pub unpriced_calls: u64,
    /// Leaves out what differs between an interrupted and an uninterrupted run: run.{id, started_at, completed_at},
    /// latencies, call_ids, cached, actual cost, and metrics flagged volatile.
    pub canonical: bool,
    /// The verdicts of the gates.
    pub verdicts: Verdicts,
    /// The early stop of a run that may stop early.
    pub stop: Option<StopSummary>,
    /// The reason for a missing verdict.
    pub verdict_note: Option<String>,
    /// Reasons for a failed run besides its gates.
    pub failures: Vec<Failure>,
    /// Warnings about the course of the run. The canonical form has none.
    pub warnings: Vec<String>,
    /// The texts of cells that are shown.
    pub outputs: Outputs,
    /// The days of a dated suite up to this run, for the page of the run.
    pub series: Option<SeriesView>,
}

/// A reason for a failed run besides its gates. As a text it is one sentence: `what; advice: cause`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// The fault, without a capital letter.
    pub what: String,
    /// The next step, without a capital letter.
    pub advice: Option<String>,
    /// The message of the error behind it.
    pub cause: Option<String>,
}

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self { what, ..Self::default() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.advice.iter().try_for_each(|advice| write!(f, "; {advice}"))?;
        self.cause.iter().try_for_each(|cause| write!(f, ": {}", ends(cause, 200, 200)))
    }
}

/// A run to report on.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// The findings of the analysis.
    pub findings: &'a Findings,
    /// The rows of the run, for formats that show cells.
    pub rows: &'a dyn RunRows,
    /// Facts besides the findings.
    pub context: &'a Context,
}

/// The cells of a report. They can be written before the findings are known.
#[derive(Clone, Copy)]
pub struct Cells<'a> {
    /// The plan of the run.
    pub plan: &'a PlanHeader,
    /// The rows of the run.
    pub rows: &'a dyn RunRows,
    /// The estimated cost.
    pub estimate: Option<&'a UncachedCost>,
    /// See [`Context::canonical`].
    pub canonical: bool,
    /// True if long outputs are written whole, in place of a reference.
    pub whole_outputs: bool,
    /// The findings, if they are known: they estimate what a cascade's judges did not grade.
    pub findings: Option<&'a Findings>,
}

impl<'a> Cells<'a> {
    /// Returns the metrics that are shown, with their index. The canonical form leaves out volatile ones.
    pub(crate) fn metrics(self) -> impl Iterator<Item = (usize, &'a karat_types::MetricSpec)> + Clone {
        self.plan.metrics.iter().enumerate().filter(move |(_, metric)| !(self.canonical && metric.volatile))
    }

    /// Calls `each` for the cells in plan order, until it fails.
    pub(crate) fn each_row(self, each: impl FnMut(CellRow<'_>) -> Result<(), RenderError>) -> Result<(), RenderError> {
        self.each_row_of(0..u64::MAX, each)
    }

    /// Calls `each` for the cells with these ordinals, until it fails.
    pub(crate) fn each_row_of(
        self,
        ordinals: Range<u64>,
        mut each: impl FnMut(CellRow<'_>) -> Result<(), RenderError>,
    ) -> Result<(), RenderError> {
        self.each_marked_row(ordinals, |row, counted| match counted {
            Counted::InFigures => each(row),
            Counted::AfterStop => Ok(()),
        })
    }

    /// Calls `each` for the cells with these ordinals, until it fails, with whether they enter figures. Cells that were
    /// under way when the run stopped are not part of the canonical form.
    pub(crate) fn each_marked_row(
        self,
        ordinals: Range<u64>,
        mut each: impl FnMut(CellRow<'_>, Counted) -> Result<(), RenderError>,
    ) -> Result<(), RenderError> {
        let mut failed = None;
        let mut give = |row: CellRow<'_>, counted: Counted| {
            if counted == Counted::AfterStop && self.canonical {
                return ControlFlow::Continue(());
            }
            match each(row, counted) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        match Prefix::of(self.rows)? {
            Some(prefix) => prefix.for_each_marked(ordinals, &mut give)?,
            None => self.rows.for_each_in(ordinals, &mut |row| give(row, Counted::InFigures))?,
        }
        failed.map_or(Ok(()), Err)
    }

    /// Returns the estimated cost of one cell of a system.
    pub(crate) fn cell_estimate(self, system: usize) -> Option<Money> {
        self.estimate?.per_cell.get(system).copied().flatten()
    }
}

impl<'a> Report<'a> {
    /// Returns the cells of the report.
    pub fn cells(self) -> Cells<'a> {
        let Context { estimate, canonical, .. } = self.context;
        Cells {
            plan: &self.findings.plan,
            rows: self.rows,
            estimate: estimate.as_ref(),
            canonical: *canonical,
            whole_outputs: false,
            findings: Some(self.findings),
        }
    }

    /// Returns the amount that the run paid, without reused results.
    pub(crate) fn amount_paid(self) -> Money {
        self.context.paid.unwrap_or_else(|| self.findings.run.spend.amount_paid())
    }

    /// Returns `true` if every model and judge of the run is simulated, so that no provider bills anything.
    pub(crate) fn is_simulated(self) -> bool {
        self.findings.plan.is_simulated()
    }

    /// Returns where and when the prices of the run's models were read: `gpt-5 2026-11-20, list; …`. Nothing for simulated
    /// models, and for prices that say neither.
    pub(crate) fn price_origins(self) -> Option<String> {
        let plan = &self.findings.plan;
        let billed = plan.all_models();
        let billed = billed.filter(|model| !model.is_scripted());
        let mut origins: Vec<String> = Vec::new();
        for model in billed {
            let Pricing::Known(price) = &model.price else { continue };
            let said: Vec<&str> = [&price.as_of, &price.source].into_iter().flatten().map(String::as_str).collect();
            let origin = format!("{} {}", model.id, said.join(", "));
            if !said.is_empty() && !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        (!origins.is_empty()).then(|| origins.join("; "))
    }

    /// Returns the warnings: first about the course of the run, then about its results.
    pub(crate) fn warnings(self) -> impl Iterator<Item = &'a String> {
        self.context.warnings.iter().chain(&self.findings.warnings)
    }

    /// Returns the metrics that are shown, with their index.
    pub(crate) fn metrics(self) -> impl Iterator<Item = (usize, &'a karat_types::MetricSpec)> + Clone {
        self.cells().metrics()
    }

    /// Returns the primary metric with its index.
    pub(crate) fn primary(self) -> Option<(usize, &'a karat_types::MetricSpec)> {
        let at = self.findings.primary?;
        let metric = self.findings.plan.metrics.get(at)?;
        // A suite that measures only time or money has nothing that is the same in every run.
        (!(self.context.canonical && metric.volatile)).then_some((at, metric))
    }

    /// Returns whether what the run decides depends on time or price, which the canonical form leaves out.
    pub(crate) fn leaves_out_answers(self) -> bool {
        self.findings.primary.is_some() && self.primary().is_none()
    }

    /// Returns the metrics that summaries show, with their index, most important first.
    pub(crate) fn headline(self) -> Vec<(usize, &'a karat_types::MetricSpec)> {
        let shown = headline_metrics(&self.findings.plan).into_iter();
        let metric = |at| Some((at, self.findings.plan.metrics.get(at)?));
        shown.filter_map(metric).filter(|(_, metric)| !(self.context.canonical && metric.volatile)).collect()
    }

    /// Returns the command that shows the calls of a cell. The canonical form does not name the run.
    pub(crate) fn trace_command(self, cell: u64) -> String {
        let run = if self.context.canonical { String::new() } else { format!("{} ", self.rows.header().id) };
        format!("karat trace {run}{cell}")
    }

    /// Returns the command that shows the reply which caused an error with this code; `None` if no reply did, or none is
    /// stored.
    pub(crate) fn reply_command(self, code: &str, cell: u64) -> Option<String> {
        let plan = &self.findings.plan;
        let is_of_reply = [CellError::UNREADABLE, CallErrorCode::Malformed.as_str()].contains(&code);
        let is_stored = plan.privacy.keep_content && plan.run.capture.is_full();
        (is_of_reply && is_stored).then(|| self.trace_command(cell))
    }

    /// Returns the estimated cost of all cells of a group, without sharing between cells.
    pub(crate) fn group_estimate(self, group: &Group) -> Option<Money> {
        let plan = &self.findings.plan;
        let of_system = |system: &usize| {
            let cells = i128::from(plan.dataset.rows) * i128::from(plan.systems.get(*system)?.trials);
            Some(Money(self.cells().cell_estimate(*system)?.0 * cells))
        };
        group.systems.iter().map(of_system).sum()
    }

    /// Returns the systems, best by the primary metric first. Systems without a figure come last, ties keep plan
    /// order.
    pub(crate) fn systems_by_rank(self) -> Vec<&'a Group> {
        let mut ranked: Vec<&Group> = self.findings.systems.iter().collect();
        let Some((at, metric)) = self.primary() else { return ranked };
        let value = |group: &Group| group.metrics.get(at).and_then(|spread| spread.value());
        ranked.sort_by(|a, b| match (value(a), value(b)) {
            (Some(a), Some(b)) if metric.better == Better::Higher => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        ranked
    }
}

/// A report could not be rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The stored rows could not be read.
    #[error("the report could not be made because the run's rows could not be read: {0}")]
    Rows(#[from] RowError),
    /// The bytes could not be written.
    #[error("the report could not be written: {0}")]
    Write(#[from] io::Error),
}
