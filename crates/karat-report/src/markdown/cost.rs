//! Tokens, money, and what a score costs (CL-22).

use karat_analysis::{Bill, Group};
use karat_types::Money;

use super::page::{Inline, Page, columns};
use crate::figures::{self, count};
use crate::report::Report;

pub(super) fn write(page: &mut Page, report: Report<'_>) {
    let findings = report.findings;
    let spend = findings.run.spend;
    page.heading(2, Inline::plain("Cost"));
    let tokens = spend.extraction.usage.total() + spend.judging.usage.total();
    if findings.models.is_empty() && tokens == 0 && spend.cost() == Some(Money::ZERO) {
        page.paragraph(Inline::plain("No model was called, and nothing was paid."));
        return;
    }
    page.list(totals(report));
    let heads = columns(&["Calls", "Input tokens", "Output tokens", "Cost"]);
    let row = |name: &'static str, bill: &Bill| {
        let cost = Inline::text(figures::money(bill.cost()));
        let cost =
            if bill.unpriced > 0 { cost.and(" (").and_text(count(bill.unpriced)).and(" unpriced)") } else { cost };
        vec![
            Inline::plain(name),
            Inline::text(count(bill.usage.input_tokens)),
            Inline::text(count(bill.usage.output_tokens)),
            cost,
        ]
    };
    page.table(&heads, [row("systems", &spend.extraction), row("judges", &spend.judging)]);
    efficiency(page, report);
    let heads = columns(&["Variant", "Cells", "$/cell", "Cost"]);
    page.table(&heads, findings.variants.iter().map(by_group));
}

fn totals(report: Report<'_>) -> Vec<Inline> {
    let spend = report.findings.run.spend;
    let estimate = report.context.estimate.as_ref().map(|it| it.total);
    let mut lines = vec![
        Inline::plain("Estimated before the run: ").and_text(figures::money(estimate)),
        Inline::plain("At list price, whoever paid: ").and_text(figures::money(spend.cost())),
    ];
    if !report.context.canonical {
        let paid = figures::money(Some(spend.paid()));
        lines.push(Inline::plain("Paid in this run (what was reused is not in it): ").and_text(paid));
    }
    lines
}

fn by_group(group: &Group) -> Vec<Inline> {
    vec![
        Inline::code(&group.id),
        Inline::text(count(group.spend.cells)),
        Inline::text(figures::usd(group.spend.per_cell_usd())),
        Inline::text(figures::money(group.spend.cost())),
    ]
}

/// Score per dollar by model; n/a when the cost is 0 or unknown.
fn efficiency(page: &mut Page, report: Report<'_>) {
    let Some((at, metric)) = report.primary().filter(|_| !report.findings.models.is_empty()) else { return };
    page.heading(3, Inline::plain("Cost-efficiency"));
    page.paragraph(
        Inline::plain("Mean ")
            .and_code(&metric.name)
            .and(" over the model's own cost of a cell, judges apart; n/a when that cost is 0 or unknown."),
    );
    let row = |group: &Group| {
        let score = group.metrics.get(at).and_then(|spread| spread.value());
        let rate = score.and_then(|score| group.spend.efficiency(score));
        vec![
            Inline::code(&group.id),
            Inline::text(figures::maybe(metric, score)),
            Inline::text(figures::usd(group.spend.system_per_cell_usd())),
            Inline::text(rate.map_or(figures::NONE.to_owned(), |rate| count(rate.round().max(0.0) as u64))),
            Inline::text(figures::money(group.spend.cost())),
        ]
    };
    let heads = columns(&["Model", "Score", "$/cell (own)", "Score per $", "Cost with judges"]);
    page.table(&heads, report.findings.models.iter().map(row));
}
