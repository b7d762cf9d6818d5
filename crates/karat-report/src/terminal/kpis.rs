//! What gates look at, beside the baseline.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use karat_analysis::Kpi;

use crate::figures;
use crate::kpis::{are_many, bounds, change, state, tells};
use crate::report::Report;
use crate::visible::brief;

/// Rows that are shown.
const ROWS: usize = 6;
/// Characters of a name.
const NAME: usize = 50;

/// The lines of the key figures that gates look at, the worst first; none without a baseline.
pub(super) fn lines(report: Report<'_>) -> Vec<String> {
    let kpis = &report.context.verdicts.kpis;
    let brief_only = are_many(kpis);
    let mut gated: Vec<&Kpi> =
        kpis.iter().filter(|kpi| !kpi.bounds.is_empty()).filter(|kpi| !brief_only || tells(kpi)).collect();
    if gated.is_empty() {
        return Vec::new();
    }
    let worst = |kpi: &Kpi| kpi.bounds.iter().map(|it| it.verdict as u8).max();
    gated.sort_by_key(|kpi| std::cmp::Reverse(worst(kpi)));
    let several = gated.iter().any(|kpi| kpi.system != gated[0].system);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["figure", "value", "baseline", "change", "threshold", "state"]);
    for kpi in gated.into_iter().take(ROWS) {
        let Some((_, metric)) = report.metrics().find(|(_, metric)| metric.name == kpi.metric) else { continue };
        let name = if several { format!("{} {}", kpi.metric, kpi.system) } else { kpi.metric.clone() };
        table.add_row([
            brief(&name, NAME),
            figures::value(metric, kpi.figure.value()),
            figures::maybe(metric, kpi.baseline),
            change(metric, kpi),
            bounds(metric, kpi),
            state(kpi).to_owned(),
        ]);
    }
    for column in 1..=3 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.push(String::new());
    lines
}
