//! A comparison for a terminal.

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use karat_analysis::Finding;
use karat_analysis::compare::{ComparedMetric, RunComparison};

use crate::shared::figures::{self, percent};
use crate::shared::visible::excerpt;
use crate::wording::changes;
use crate::wording::comparison::{
    aggregate_name, answer, bounds, changed_samples, conclusion, costs, deciding_difference, how_made, p_value,
    pairing_line, signed_difference, unmatched_samples, verdict_word,
};
use crate::wording::movers::{system_correction, unchanged_systems};

/// Length of an id or a message on one line, in characters.
const WIDTH: usize = 100;

/// Returns the comparison for a terminal, without control sequences.
pub fn comparison(compared: &RunComparison) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    };
    answer(compared).into_iter().for_each(|it| line(excerpt(&it, 6 * WIDTH)));
    for (label, side) in [("candidate", &compared.candidate), ("baseline ", &compared.baseline)] {
        line(format!("{label}  {} ({})", excerpt(&side.label, WIDTH), excerpt(&side.systems.join(", "), WIDTH)));
    }
    line(pairing_line(compared));
    for side in [&compared.baseline, &compared.candidate] {
        unmatched_samples(side).into_iter().for_each(&mut line);
    }
    changed_samples(compared).into_iter().for_each(&mut line);
    unchanged_systems(compared).into_iter().for_each(&mut line);
    line(String::new());
    let movers = super::movers::movers(compared);
    if compared.systems.is_empty() {
        table(&compared.metrics).lines().for_each(|it| line(it.to_owned()));
        line(String::new());
        movers.into_iter().for_each(&mut line);
    } else {
        line(format!("each system ({}):", system_correction(compared)));
        systems(compared).lines().for_each(|it| line(it.to_owned()));
        line(String::new());
        movers.into_iter().for_each(&mut line);
        line(format!("average over {} systems:", compared.systems.len()));
        table(&compared.metrics).lines().for_each(|it| line(it.to_owned()));
        line(String::new());
    }
    for metric in &compared.metrics {
        line(format!("{}: {}", excerpt(&name(metric), WIDTH), conclusion(compared, metric)));
    }
    costs(compared).into_iter().for_each(&mut line);
    for it in &compared.not_compared {
        line(format!("{}: not compared; {}", excerpt(&it.metric, WIDTH), it.reason));
    }
    let changes = compared.diagnostics.iter().flat_map(|found| changes::terminal_lines(found, compared.level));
    changes.for_each(|it| line(excerpt(&it, 3 * WIDTH)));
    compared.warnings.iter().for_each(|it| line(format!("warning: {}", excerpt(it, 2 * WIDTH))));
    line(format!("how these numbers were made: {}", how_made(compared)));
    text
}

/// Returns the table of each system's metrics.
fn systems(compared: &RunComparison) -> Table {
    let mut table = empty_table(&["system"]);
    for system in &compared.systems {
        for metric in &system.metrics {
            let mut row = vec![Cell::new_owned(excerpt(&system.candidate, WIDTH / 2))];
            row.extend(cells(metric));
            table.add_row(row);
        }
    }
    table
}

fn table(metrics: &[ComparedMetric]) -> Table {
    let mut table = empty_table(&[]);
    for metric in metrics {
        table.add_row(cells(metric));
    }
    table
}

/// Returns a table with these columns before those of [`cells`].
fn empty_table(before: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let heads = ["metric", "baseline", "candidate", "change", "interval", "p", "verdict"];
    let head = |(at, head): (usize, &&str)| {
        if matches!(at, 1..=5) { right((*head).to_owned()) } else { Cell::new(head) }
    };
    let before = before.iter().map(Cell::new);
    table.set_header(before.chain(heads.iter().enumerate().map(head)));
    table
}

fn right(text: String) -> Cell {
    Cell::new_owned(text).set_alignment(CellAlignment::Right)
}

fn cells(metric: &ComparedMetric) -> [Cell; 7] {
    [
        Cell::new_owned(excerpt(&name(metric), WIDTH / 2)),
        right(figures::value(metric, metric.baseline.value())),
        right(figures::value(metric, metric.candidate.value())),
        right(signed_difference(metric, metric.difference.value())),
        right(interval_with_level(metric, deciding_difference(metric))),
        right(p_value(metric.p_adjusted)),
        Cell::new(verdict_word(metric.verdict)),
    ]
}

/// Returns a metric's name, with the kind of its figures unless they are means: `latency (p95)`.
fn name(metric: &ComparedMetric) -> String {
    match aggregate_name(metric) {
        Some(aggregate) => format!("{} ({aggregate})", metric.metric),
        None => metric.metric.clone(),
    }
}

/// Returns the ends of the interval with its level, and marks a collapsed interval.
fn interval_with_level(metric: &ComparedMetric, difference: &Finding) -> String {
    let level = difference.level().map_or_else(String::new, |level| format!(" ({})", percent(level)));
    let collapsed = if difference.is_degenerate() { " collapsed" } else { "" };
    format!("{}{level}{collapsed}", bounds(metric, difference))
}
