//! The rows of a stopped run that enter figures. Calls that were under way at the stop are recorded and paid, but they
//! arrived because they were fast, so their results count nowhere.

pub(crate) mod span;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use karat_types::{CellRow, Key, PlanHeader, RowError, RunHeader, RunRows, SampleRecord, StoredStop, unit_key};
use serde_json::Value;

use self::span::CellSpan;

/// The rows of a stopped run up to its stop.
pub struct Prefix<'a> {
    rows: &'a dyn RunRows,
    plan: Arc<PlanHeader>,
    stop: &'a StoredStop,
    /// Each with the last unit that counts.
    spans: Vec<(CellSpan, Option<Key>)>,
}

impl<'a> Prefix<'a> {
    /// The prefix of a run; `None` for a run that all of its rows belong to.
    ///
    /// # Errors
    /// The record of its stop cannot be read.
    pub fn of(rows: &'a dyn RunRows) -> Result<Option<Self>, RowError> {
        let Some(stop) = rows.stop().filter(|stop| !stop.to_end) else { return Ok(None) };
        let plan = rows.header().plan.clone();
        let spans = stop.record.spans.iter().map(|span| Ok((CellSpan::compile(&plan, span)?, span.last)));
        let spans = spans.collect::<Result<_, String>>().map_err(RowError)?;
        Ok(Some(Self { rows, plan, stop, spans }))
    }

    /// Returns whether the cells of a sample and system enter figures.
    pub fn includes(&self, sample: &SampleRecord, system: usize) -> bool {
        let unit = unit_key(self.stop.record.seed, sample.unit());
        let is_in = |(span, last): &(CellSpan, Option<Key>)| {
            last.is_none_or(|last| unit <= last) && span.covers(&self.plan, sample, system).unwrap_or(true)
        };
        self.spans.iter().any(is_in)
    }

    /// Calls `row` for each cell of these ordinals, also those after the stop, with whether it enters figures.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn for_each_marked(
        &self,
        ordinals: Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>, Counted) -> ControlFlow<()>,
    ) -> Result<(), RowError> {
        let mut latest: Option<(u64, usize, Counted)> = None;
        self.rows.for_each_in(ordinals, &mut |cell| {
            let place = (cell.sample.row, cell.system);
            let counted = match latest {
                Some((row, system, counted)) if (row, system) == place => counted,
                _ if self.includes(cell.sample, cell.system) => Counted::InFigures,
                _ => Counted::AfterStop,
            };
            latest = Some((place.0, place.1, counted));
            row(cell, counted)
        })
    }
}

/// The part that a cell has in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// It does.
    InFigures,
    /// It was under way when the run stopped.
    AfterStop,
}

impl RunRows for Prefix<'_> {
    fn header(&self) -> &RunHeader {
        self.rows.header()
    }

    fn stop(&self) -> Option<&StoredStop> {
        Some(self.stop)
    }

    fn for_each_in(
        &self,
        ordinals: Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowError> {
        self.for_each_marked(ordinals, &mut |cell, counted| match counted {
            Counted::InFigures => row(cell),
            Counted::AfterStop => ControlFlow::Continue(()),
        })
    }

    fn output(&self, ordinal: u64) -> Result<Option<Value>, RowError> {
        self.rows.output(ordinal)
    }
}
