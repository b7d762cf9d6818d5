//! Inputs, outputs, references, scores and reasons of single cells, for every format that shows them.
//!
//! - `select` chooses the cells: those that failed, the worst first, or all.
//! - `cell_text` reads one of them and cuts its texts.
//! - here: [`each_sample`], which gives the chosen cells sample by sample, so that memory holds one sample.
//!
//! The formats are in `markdown/samples/outputs`, `page/texts`, `terminal/outputs` and `csv`.

pub(crate) mod cell_text;
pub(crate) mod select;

use std::collections::BTreeMap;

use karat_types::CellRow;

use crate::outputs::cell_text::{CellText, SampleTexts};
use crate::outputs::select::Selection;
use crate::shared::report::{RenderError, Report};

/// Returns the chosen cells sample by sample, the sample of the worst cell first, each sample's cells in plan order.
pub(crate) fn by_sample(report: Report<'_>, selection: &Selection) -> Vec<Vec<u64>> {
    let plan = &report.findings.plan;
    let mut order: Vec<u64> = Vec::new();
    let mut chosen: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for ordinal in &selection.ordinals {
        let (row, ..) = plan.place(*ordinal);
        if !chosen.contains_key(&row) {
            order.push(row);
        }
        chosen.entry(row).or_default().push(*ordinal);
    }
    let sorted = |row: u64| {
        let mut ordinals = chosen.remove(&row).unwrap_or_default();
        ordinals.sort_unstable();
        ordinals
    };
    order.into_iter().map(sorted).collect()
}

/// Calls `each` for the rows of these cells, which are sorted and belong to one sample.
pub(crate) fn each_row_of_sample(
    report: Report<'_>,
    ordinals: &[u64],
    mut each: impl FnMut(CellRow<'_>) -> Result<(), RenderError>,
) -> Result<(), RenderError> {
    let (Some(first), Some(last)) = (ordinals.first(), ordinals.last()) else { return Ok(()) };
    report.cells().each_row_of(*first..*last + 1, |row| {
        if ordinals.binary_search(&row.cell.ordinal).is_ok() { each(row) } else { Ok(()) }
    })
}

/// Calls `each` for every sample with chosen cells: the sample of the worst cell first.
pub(crate) fn each_sample(
    report: Report<'_>,
    selection: &Selection,
    mut each: impl FnMut(SampleTexts) -> Result<(), RenderError>,
) -> Result<(), RenderError> {
    for ordinals in by_sample(report, selection) {
        let mut sample: Option<SampleTexts> = None;
        each_row_of_sample(report, &ordinals, |row| {
            let cell = CellText::of(report, &selection.thresholds, &row)?;
            sample.get_or_insert_with(|| SampleTexts::of(report, row.sample)).cells.push(cell);
            Ok(())
        })?;
        sample.map_or(Ok(()), &mut each)?;
    }
    Ok(())
}
