//! Rankings as blocks: the table of a metric. Pages that rank with verdicts use `page/leaderboards`.

use karat_analysis::Leaderboards;
use karat_page::block::{Block, Cell, Head};

use crate::blocks::build::{count, figure, numbers, table};
use crate::shared::report::Report;
use crate::shared::scales;

pub(in crate::blocks) fn blocks(report: Report<'_>, found: &Leaderboards) -> Vec<Block> {
    let rows = found.boards.iter().flat_map(|(name, board)| {
        let scale = scales::scale_named(&report.findings.plan, name);
        board.places.iter().enumerate().map(move |(at, place)| {
            vec![
                Cell::text(name),
                Cell::Count(at as u64 + 1),
                Cell::text(&place.id),
                figure(Some(&place.finding), &scale),
                count(Some(place.finding.n())),
            ]
        })
    });
    let mut columns = numbers("Metric", ["Rank", "System", "Value", "n"]);
    if let Some(system) = columns.get_mut(2) {
        system.is_number = false;
    }
    let mut head = Head::new("Leaderboards", "Who leads?");
    head.notes.extend(report.findings.plan.script_warning());
    vec![table(head, columns, rows)]
}
