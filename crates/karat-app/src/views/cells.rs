//! The page of cells: one row for the trials of a sample and system, with the texts that it shows when opened.

use std::ops::Range;

use crate::AppError;
use crate::views::Views;
use crate::views::index::CellFlag;
use crate::views::query::{CellQuery, Cursor};
use crate::views::run_view::RunView;
use crate::views::texts::SystemOutputs;

/// Rows of a page.
pub(crate) const ROWS: usize = 50;

/// A row: the trials of one sample and system.
#[derive(Debug, Clone)]
pub struct CellsRow {
    /// Ordinal of the first trial.
    pub ordinal: u64,
    /// Id of the sample.
    pub sample: String,
    /// The mean of each metric over the trials that have it, by position in [`RunView::metrics`].
    pub values: Vec<Option<f64>>,
    /// The flags that a trial has.
    pub flags: Vec<CellFlag>,
    /// Statuses, outputs, scores and judgments.
    pub outputs: SystemOutputs,
}

/// A part of the cells that a query selects.
#[derive(Debug, Clone)]
pub struct CellsPage {
    /// The rows, in the query's order.
    pub rows: Vec<CellsRow>,
    /// Rows of the whole list.
    pub total: u64,
    /// Cells of the whole list.
    pub cells: u64,
    /// Position of the first shown row, from 0.
    pub start: u64,
    /// Ordinal before which the previous page ends, if there is one.
    pub before: Option<u64>,
    /// Ordinal after which the next page begins, if there is one.
    pub after: Option<u64>,
}

impl Views<'_> {
    /// A part of the cells of a run. A cursor names the ordinal of a row's first trial; one that the run does not have
    /// means the first rows.
    ///
    /// # Errors
    /// The rows of the shown cells cannot be read.
    pub fn cells_page(&self, view: &RunView, query: &CellQuery, at: Cursor<u64>) -> Result<CellsPage, AppError> {
        let matched = query.select(view);
        let shown = window(view, query, &matched.groups, at);
        let rows = self.app.stored().run(&view.header.id)?;
        let of = |group: &u32| cells_row(view, &rows, *group as usize);
        let page: Vec<CellsRow> =
            matched.groups.get(shown.clone()).unwrap_or_default().iter().map(of).collect::<Result<_, _>>()?;
        Ok(CellsPage {
            before: page.first().filter(|_| shown.start > 0).map(|row| row.ordinal),
            after: page.last().filter(|_| shown.end < matched.groups.len()).map(|row| row.ordinal),
            rows: page,
            total: matched.groups.len() as u64,
            cells: matched.cells,
            start: shown.start as u64,
        })
    }
}

/// The positions that a page shows.
pub(crate) fn window(view: &RunView, query: &CellQuery, groups: &[u32], at: Cursor<u64>) -> Range<usize> {
    let after = |ordinal| view.index.group_of(ordinal).map(|group| query.position_after(view, groups, group));
    match at {
        Cursor::Start => 0..groups.len().min(ROWS),
        Cursor::After(ordinal) => {
            let start = after(ordinal).unwrap_or(0);
            start..groups.len().min(start + ROWS)
        }
        Cursor::Before(ordinal) => {
            let is_it = |group: usize| view.index.place(view.index.group(group).start).ordinal == ordinal;
            let end = after(ordinal).unwrap_or(0);
            // The row itself is not before itself.
            let end = end - usize::from(end > 0 && groups.get(end - 1).is_some_and(|group| is_it(*group as usize)));
            // A first page that is not full would end a list that has enough rows.
            if end < ROWS { 0..groups.len().min(ROWS) } else { end - ROWS..end }
        }
    }
}

fn cells_row(view: &RunView, rows: &karat_store::StoredRun, group: usize) -> Result<CellsRow, AppError> {
    let cells = view.index.group(group);
    let has = |flag: &CellFlag| cells.clone().any(|cell| view.has_flag(cell, *flag));
    let mean = |metric: usize| view.column(metric).and_then(|column| column.mean(cells.clone()));
    Ok(CellsRow {
        ordinal: view.index.place(cells.start).ordinal,
        sample: view.index.sample_id(cells.start).to_owned(),
        values: (0..view.metrics.len()).map(mean).collect(),
        flags: CellFlag::ALL.into_iter().filter(has).collect(),
        outputs: SystemOutputs::read(view, rows, group)?,
    })
}
