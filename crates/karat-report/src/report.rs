//! What every format is given.

use std::io;
use std::ops::{ControlFlow, Range};

use karat_analysis::{Findings, Group, Verdicts};
use karat_types::{Better, CellRow, Money, PlanHeader, RowError, RunRows};

/// What the plan expected the run to cost, as if nothing had been stored before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Estimate {
    /// All cells and judgments at least: replies as short as they may be.
    pub least: Money,
    /// All cells and judgments at the most, on conservative assumptions.
    pub total: Money,
    /// One cell with its judgments, by system; `None` where a price is unknown, or told by the answers alone.
    pub per_cell: Vec<Option<Money>>,
    /// Whether some rows stood for others.
    pub sampled: bool,
}

impl Estimate {
    /// At least and at most; `None` where some of it is unknown.
    pub(crate) fn range(&self) -> Option<(Money, Money)> {
        self.per_cell.iter().all(Option::is_some).then_some((self.least, self.total))
    }
}

/// What a report says beside the findings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Context {
    /// What the plan expected.
    pub estimate: Option<Estimate>,
    /// What all calls of the run have cost it, those too that no cell rests on; without it, what its cells and judgments tell.
    pub paid: Option<Money>,
    /// Leave out what differs between an interrupted and an uninterrupted run: run.{id, started_at, completed_at},
    /// latencies, call_ids, cached, actual cost and metrics flagged volatile.
    pub canonical: bool,
    /// What the gates say.
    pub verdicts: Verdicts,
    /// Why there is no verdict, where there is none.
    pub verdict_note: Option<String>,
    /// Why the run failed, whatever its gates say.
    pub failures: Vec<String>,
    /// What the reader should know of how the run went, beside what is found of its results. The canonical form has none.
    pub warnings: Vec<String>,
    /// Paths of the report's files, for the terminal.
    pub files: Vec<String>,
}

/// A run to be reported.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// What is known of it.
    pub findings: &'a Findings,
    /// Its rows, for the formats that show cells.
    pub rows: &'a dyn RunRows,
    /// What is said beside.
    pub context: &'a Context,
}

/// What the cells of a report are made of: they can be written before anything is found.
#[derive(Clone, Copy)]
pub struct Cells<'a> {
    /// The plan of the run.
    pub plan: &'a PlanHeader,
    /// Its rows.
    pub rows: &'a dyn RunRows,
    /// What the plan expected them to cost.
    pub estimate: Option<&'a Estimate>,
    /// See [`Context::canonical`].
    pub canonical: bool,
}

impl<'a> Cells<'a> {
    /// The metrics that are shown, with their index: without volatile ones in the canonical form.
    pub(crate) fn metrics(self) -> impl Iterator<Item = (usize, &'a karat_types::MetricSpec)> + Clone {
        self.plan.metrics.iter().enumerate().filter(move |(_, metric)| !(self.canonical && metric.volatile))
    }

    /// Calls `each` for the cells in plan order, until one cannot be shown.
    pub(crate) fn each_row(self, each: impl FnMut(CellRow<'_>) -> Result<(), RenderError>) -> Result<(), RenderError> {
        self.each_row_of(0..u64::MAX, each)
    }

    /// The same for the cells of these ordinals.
    pub(crate) fn each_row_of(
        self,
        ordinals: Range<u64>,
        mut each: impl FnMut(CellRow<'_>) -> Result<(), RenderError>,
    ) -> Result<(), RenderError> {
        let mut failed = None;
        self.rows.for_each_in(ordinals, &mut |row| match each(row) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// What the plan expected one cell of a system to cost.
    pub(crate) fn cell_estimate(self, system: usize) -> Option<Money> {
        self.estimate?.per_cell.get(system).copied().flatten()
    }
}

impl<'a> Report<'a> {
    /// Its cells.
    pub fn cells(self) -> Cells<'a> {
        let Context { estimate, canonical, .. } = self.context;
        Cells { plan: &self.findings.plan, rows: self.rows, estimate: estimate.as_ref(), canonical: *canonical }
    }

    /// What the run has paid; what was reused is not in it.
    pub(crate) fn paid(self) -> Money {
        self.context.paid.unwrap_or_else(|| self.findings.run.spend.paid())
    }

    /// What the reader should know: of how the run went, then of its results.
    pub(crate) fn warnings(self) -> impl Iterator<Item = &'a String> {
        self.context.warnings.iter().chain(&self.findings.warnings)
    }

    /// The metrics that the report shows, with their index.
    pub(crate) fn metrics(self) -> impl Iterator<Item = (usize, &'a karat_types::MetricSpec)> + Clone {
        self.cells().metrics()
    }

    /// The primary metric, with its index.
    pub(crate) fn primary(self) -> Option<(usize, &'a karat_types::MetricSpec)> {
        let at = self.findings.primary?;
        Some((at, self.findings.plan.metrics.get(at)?))
    }

    /// What the plan expected all cells of a group to cost, each as if it were made alone.
    pub(crate) fn group_estimate(self, group: &Group) -> Option<Money> {
        let plan = &self.findings.plan;
        let of_system = |system: &usize| {
            let cells = i128::from(plan.dataset.rows) * i128::from(plan.systems.get(*system)?.trials);
            Some(Money(self.cells().cell_estimate(*system)?.0 * cells))
        };
        group.systems.iter().map(of_system).sum()
    }

    /// The systems, best by the primary metric first; those without a figure last; ties in plan order.
    pub(crate) fn ranked(self) -> Vec<&'a Group> {
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

/// A report could not be made.
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
