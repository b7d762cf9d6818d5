//! The table of the summary: the headline metrics of each system, with intervals.
//!
//! One metric has a line a system with its n. Several stand beside each other if they fit, else below each other.

use std::collections::BTreeSet;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use karat_analysis::{Finding, Group, Verdict};
use karat_page::number::Scale;

use crate::shared::figures::{self, count};
use crate::shared::report::Report;
use crate::shared::scales;
use crate::shared::visible::excerpt;

/// Number of columns of a terminal that a table is made for.
const COLUMNS: usize = 80;

/// Number of systems shown, and of lines where metrics stand below each other.
const ROWS: usize = 12;

/// Length of an id, in characters.
const NAME: usize = 32;

/// A metric of the table.
struct Shown<'a> {
    at: usize,
    name: &'a str,
    scale: Scale,
}

/// Returns the table, the best systems by the primary metric first, and what it leaves out. Metrics are left out before
/// systems, and systems that failed a gate never before others.
pub(super) fn lines(report: Report<'_>) -> Vec<String> {
    let plan = &report.findings.plan;
    let metrics: Vec<Shown<'_>> = report
        .headline()
        .into_iter()
        .map(|(at, metric)| Shown { at, name: &metric.name, scale: scales::scale_of(plan, metric) })
        .collect();
    let ranked = report.systems_by_rank();
    let shown = most_important(report, &ranked);
    let Some(first) = metrics.first() else { return Vec::new() };
    let hidden = ranked.len() - shown.len();
    if metrics.len() == 1 {
        return with_rest(text(&single(&shown, first)), hidden, "system");
    }
    let wide = text(&beside(&shown, &metrics));
    if wide.iter().all(|line| line.chars().count() <= COLUMNS) {
        return with_rest(wide, hidden, "system");
    }
    let kept = (ROWS / shown.len().max(1)).clamp(1, metrics.len());
    let lines = match kept {
        1 => text(&single(&shown, first)),
        _ => text(&below(&shown, &metrics[..kept])),
    };
    with_rest(with_rest(lines, hidden, "system"), metrics.len() - kept, "metric")
}

/// Returns the systems shown, best first: all that failed a gate, then the best.
fn most_important<'a>(report: Report<'_>, ranked: &[&'a Group]) -> Vec<&'a Group> {
    let failed = report.context.verdicts.decisions.iter().filter(|it| it.verdict == Verdict::Fail);
    let failed: BTreeSet<&str> = failed.filter_map(|it| it.system.as_deref()).collect();
    let (named, others): (Vec<usize>, Vec<usize>) =
        (0..ranked.len()).partition(|at| ranked.get(*at).is_some_and(|it| failed.contains(it.id.as_str())));
    let mut shown: Vec<usize> = named.into_iter().chain(others).take(ROWS).collect();
    shown.sort_unstable();
    shown.into_iter().filter_map(|at| ranked.get(at).copied()).collect()
}

fn text(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn with_rest(mut lines: Vec<String>, left: usize, what: &str) -> Vec<String> {
    if left > 0 {
        lines.push(format!("… and {} in the report", figures::count_noun(left as u64, &format!("more {what}"))));
    }
    lines
}

fn new_table(head: Vec<Cell>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head);
    table
}

fn right(text: impl Into<String>) -> Cell {
    Cell::new_owned(text.into()).set_alignment(CellAlignment::Right)
}

fn name(text: &str) -> Cell {
    Cell::new_owned(excerpt(text, NAME))
}

fn figure(group: &Group, at: usize) -> Option<&Finding> {
    group.metrics.get(at)?.figure()
}

fn value(scale: &Scale, figure: Option<&Finding>) -> String {
    figures::value_or_none(scale, figure.map(Finding::value))
}

/// The columns behind the figures: failures where there are any, and the cost of a cell.
struct Tail {
    failed: bool,
    unscored: bool,
}

impl Tail {
    fn of(shown: &[&Group]) -> Self {
        Self {
            failed: shown.iter().any(|group| group.tally.errors > 0),
            unscored: shown.iter().any(|group| group.tally.unscored > 0),
        }
    }

    fn heads(&self) -> impl Iterator<Item = Cell> {
        let failed = self.failed.then(|| right("failed"));
        failed.into_iter().chain(self.unscored.then(|| right("unscored"))).chain([right("$/cell")])
    }

    fn cells(&self, group: &Group) -> impl Iterator<Item = Cell> {
        let failed = self.failed.then(|| right(count(group.tally.errors)));
        let unscored = self.unscored.then(|| right(count(group.tally.unscored)));
        failed.into_iter().chain(unscored).chain([right(figures::usd(group.spend.per_cell_usd()))])
    }
}

fn single(shown: &[&Group], metric: &Shown<'_>) -> Table {
    let tail = Tail::of(shown);
    let head = [Cell::new("system"), right(excerpt(metric.name, NAME)), right("interval"), right("n")];
    let mut table = new_table(head.into_iter().chain(tail.heads()).collect());
    for group in shown {
        let of = figure(group, metric.at);
        let row = [
            name(&group.id),
            right(value(&metric.scale, of)),
            right(of.map_or(figures::NONE.to_owned(), |it| figures::interval(&metric.scale, it))),
            right(count(of.map_or(0, Finding::n))),
        ];
        table.add_row(row.into_iter().chain(tail.cells(group)));
    }
    table
}

fn beside(shown: &[&Group], metrics: &[Shown<'_>]) -> Table {
    let tail = Tail::of(shown);
    let heads = metrics.iter().map(|metric| right(excerpt(metric.name, NAME)));
    let mut table =
        new_table([Cell::new("system")].into_iter().chain(heads).chain([right("n")]).chain(tail.heads()).collect());
    for group in shown {
        let of = |metric: &Shown<'_>| {
            let found = figure(group, metric.at);
            found.map_or(figures::NONE.to_owned(), |it| figures::value_with_interval(&metric.scale, it))
        };
        let figures = metrics.iter().map(|it| right(of(it)));
        let n = n_of_all(metrics.iter().filter_map(|metric| Some(figure(group, metric.at)?.n())));
        table.add_row([name(&group.id)].into_iter().chain(figures).chain([right(n)]).chain(tail.cells(group)));
    }
    table
}

/// The one n of figures that stand beside each other, or the range where they differ.
fn n_of_all(each: impl Iterator<Item = u64> + Clone) -> String {
    let (least, most) = (each.clone().min().unwrap_or(0), each.max().unwrap_or(0));
    if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) }
}

fn below(shown: &[&Group], metrics: &[Shown<'_>]) -> Table {
    let head = [Cell::new("metric"), Cell::new("system"), right("value"), right("interval"), right("n")];
    let mut table = new_table(head.into_iter().collect());
    for metric in metrics {
        for (row, group) in shown.iter().enumerate() {
            let of = figure(group, metric.at);
            table.add_row([
                if row == 0 { name(metric.name) } else { Cell::new("") },
                name(&group.id),
                right(value(&metric.scale, of)),
                right(of.map_or(figures::NONE.to_owned(), |it| figures::interval(&metric.scale, it))),
                right(count(of.map_or(0, Finding::n))),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::n_of_all;

    /// Figures with different n beside each other show the range of n, not the largest.
    #[test]
    fn different_n_are_a_range() {
        let said = |each: &[u64]| n_of_all(each.iter().copied());
        assert_eq!([said(&[40, 40]), said(&[40, 1_200, 38]), said(&[])], ["40", "38 to 1,200", "0"]);
    }
}
