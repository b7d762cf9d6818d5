//! Key figures that gates check, compared with the baseline.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use karat_analysis::Kpi;

use crate::shared::figures;
use crate::shared::report::Report;
use crate::shared::scales;
use crate::shared::visible::excerpt;
use crate::wording::kpis::{bounds_text, change_text, gate_state, has_many_systems, is_notable};

/// Number of rows shown.
const ROWS: usize = 5;
/// Length of a name, in characters.
const NAME: usize = 50;

/// Returns the key figures that gates check, the worst first. Empty without a baseline.
pub(super) fn lines(report: Report<'_>) -> Vec<String> {
    let kpis = &report.context.verdicts.kpis;
    let brief_only = has_many_systems(kpis);
    let mut gated: Vec<&Kpi> =
        kpis.iter().filter(|kpi| !kpi.bounds.is_empty()).filter(|kpi| !brief_only || is_notable(kpi)).collect();
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
        let metric = &scales::scale_of(&report.findings.plan, metric);
        let name = if several { format!("{} {}", kpi.metric, kpi.system) } else { kpi.metric.clone() };
        table.add_row([
            excerpt(&name, NAME),
            figures::value(metric, kpi.figure.value()),
            figures::value_or_none(metric, kpi.baseline),
            change_text(metric, kpi),
            bounds_text(kpi, |it| figures::value(metric, it)),
            gate_state(kpi).to_owned(),
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
