//! Agreement of judges with each other: a table of pairs by metric.

use karat_analysis::{Agreement, JudgePair, PairVerdict};
use karat_page::block::{Block, Cell, Column, Head};
use karat_page::number::Scale;

use crate::blocks::build::{difference, figure, table};
use crate::shared::report::Report;
use crate::shared::scales;

pub(in crate::blocks) fn blocks(report: Report<'_>, found: &Agreement) -> Vec<Block> {
    let coefficient = Scale::score(-1.0, 1.0);
    let has_verdicts = found.metrics.values().flat_map(|metric| &metric.pairs).any(|pair| pair.verdict.is_some());
    let rows = found.metrics.iter().flat_map(|(name, metric)| {
        let scale = scales::scale_named(&report.findings.plan, name);
        let coefficient = coefficient.clone();
        metric.pairs.iter().map(move |pair| {
            let names = [Cell::text(name), Cell::text(format!("{}, {}", pair.judges.0, pair.judges.1))];
            let verdict = has_verdicts.then(|| Cell::text(verdict(pair)));
            let figures = [
                figure(pair.agreement.as_ref(), &scales::shares()),
                figure(Some(&pair.exact), &scales::shares()),
                figure(Some(&pair.mean_abs_difference), &scale),
                difference(Some(&pair.bias), &scale),
                figure(pair.icc.as_ref(), &coefficient),
                figure(pair.alpha.as_ref(), &coefficient),
                Cell::Count(pair.bias.n()),
            ];
            names.into_iter().chain(verdict).chain(figures).collect()
        })
    });
    let numbers = ["Agreement", "Equal grades", "Mean abs. difference", "Bias (first − second)", "ICC(2,1)", "α", "n"];
    let names = ["Metric", "Judges"].into_iter().chain(has_verdicts.then_some("Verdict"));
    let columns = names.map(Column::text).chain(numbers.map(Column::number));
    let head = Head::new("Agreement of judges", "Do the judges mean the same?")
        .when_empty("No two judges graded the same output.", "karat run --judges A,B");
    vec![table(head, columns.collect(), rows)]
}

/// The verdict on two judges; empty where their scale has no ends.
fn verdict(pair: &JudgePair) -> &'static str {
    match pair.verdict {
        None => "",
        Some(PairVerdict::Pass) => "agree",
        Some(PairVerdict::Fail) => "disagree",
        Some(PairVerdict::Undecided) => "undecided",
    }
}
