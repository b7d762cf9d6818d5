//! Cost by model, judge and step, with the budget, and the most expensive samples.

use karat_analysis::{Bill, CostLine, Group, Spend};
use karat_page::block::{Block, Cell, Column, Head};
use karat_page::component::ledger::CostRow;
use karat_page::number::{count, share};
use karat_types::Money;

use crate::blocks::build::{self, numbers, table_if_any, value};
use crate::shared::figures;
use crate::shared::report::Report;
use crate::shared::scales;

/// Number of samples shown, the most expensive first.
const SAMPLES: usize = 20;

/// Returns true if no model was called and nothing was billed.
pub(crate) fn is_free(report: Report<'_>) -> bool {
    let spend = report.findings.run.spend;
    let used = spend.extraction.usage.total() + spend.judging.usage.total();
    report.findings.models.is_empty() && used == 0 && spend.cost() == Some(Money::ZERO)
}

/// Returns what models, judges, simulated users and vectors cost.
pub(crate) fn rows(report: Report<'_>) -> Vec<CostRow> {
    let findings = report.findings;
    let spend = findings.run.spend;
    let groups = if findings.models.is_empty() { (&findings.variants, "variant") } else { (&findings.models, "model") };
    let rows = groups.0.iter().map(|group| of_group(report, group, groups.1));
    rows.chain(findings.breakdown.judges.iter().map(|line| of_line(line, "judge")))
        .chain(spend.has_users().then(|| of_bill(&spend, &spend.users, "simulated users", "user")))
        .chain(spend.has_vectors().then(|| of_bill(&spend, &spend.vectors, "vectors of texts", "scorer")))
        .collect()
}

/// Returns the rows as a table, which a page draws as a ledger.
pub(crate) fn table(report: Report<'_>) -> Option<Block> {
    let cells = rows(report).into_iter().map(|row| {
        let cost = row.cost.and_then(Money::from_usd);
        vec![
            Cell::Text(row.name),
            Cell::Text(row.kind),
            Cell::Count(row.calls),
            Cell::Count(row.tokens.0),
            Cell::Count(row.tokens.1),
            Cell::Money(row.cost),
            of_total(report, cost),
        ]
    });
    let mut columns = ["Part", "Calls of"].map(Column::text).to_vec();
    columns.extend(["Calls", "Tokens in", "Tokens out", "Cost", "Share"].map(Column::number));
    table_if_any(Head::new("Cost by part", "Who is paid?"), columns, cells)
}

/// Returns the cost by model, variant, step and sample, and the score for a dollar.
pub(crate) fn details(report: Report<'_>) -> Vec<Block> {
    let findings = report.findings;
    let models = by_group(report, Head::new("Cost by model", "What does a cell cost?"), "Model", &findings.models);
    let variants =
        by_group(report, Head::new("Cost by variant", "What does a cell cost?"), "Variant", &findings.variants);
    [models, variants, by_step(report), by_sample(report), efficiency(report)].into_iter().flatten().collect()
}

fn by_group(report: Report<'_>, head: Head, name: &str, groups: &[Group]) -> Option<Block> {
    let dollars = |amount: Option<Money>| Cell::Money(amount.map(Money::usd));
    let row = |group: &Group| {
        let spend = &group.spend;
        vec![
            Cell::text(&group.id),
            Cell::Count(spend.cells),
            Cell::Money(spend.per_cell_usd()),
            dollars(spend.extraction.cost()),
            dollars(spend.judging.cost()),
            dollars(spend.cost()),
            of_total(report, spend.cost()),
            dollars(report.group_estimate(group)),
        ]
    };
    let columns = numbers(name, ["Cells", "$/cell", "Systems", "Judges", "Cost", "Share", "Estimated"]);
    table_if_any(head, columns, groups.iter().map(row))
}

fn of_group(report: Report<'_>, group: &Group, kind: &str) -> CostRow {
    let bill = &group.spend.extraction;
    CostRow {
        name: group.id.clone(),
        kind: format!("{kind}, cells"),
        calls: group.spend.cells,
        cached: (!report.context.canonical).then_some(group.tally.reused),
        tokens: (bill.usage.input_tokens, bill.usage.output_tokens),
        cost: bill.cost().map(Money::usd),
    }
}

/// The row of what a bill beside systems and judges came to.
fn of_bill(spend: &Spend, bill: &Bill, name: &str, kind: &str) -> CostRow {
    CostRow {
        name: name.to_owned(),
        kind: format!("{kind}, cells"),
        calls: spend.cells,
        cached: None,
        tokens: (bill.usage.input_tokens, bill.usage.output_tokens),
        cost: bill.cost().map(Money::usd),
    }
}

fn of_line(line: &CostLine, kind: &str) -> CostRow {
    CostRow {
        name: line.id.clone(),
        kind: format!("{kind}, judgments"),
        calls: line.times,
        cached: None,
        tokens: (line.usage.input_tokens, line.usage.output_tokens),
        cost: line.cost.map(Money::usd),
    }
}

/// Returns the estimate, what was paid, and what is unknown, in sentences.
pub(crate) fn totals(report: Report<'_>) -> Vec<String> {
    let spend = report.findings.run.spend;
    let mut lines = vec![
        format!("Estimate: {}.", figures::estimate(report.context.estimate.as_ref())),
        format!("At list price, with cached results: {}.", figures::money(spend.cost())),
    ];
    if !report.context.canonical {
        let paid = figures::money(Some(report.amount_paid()));
        lines.push(if report.is_simulated() {
            format!("Paid in this run: nothing was billed ({paid} at the scripted prices).")
        } else {
            format!("Paid in this run, without reused results: {paid}.")
        });
    }
    lines.extend(report.price_origins().map(|origins| format!("Prices read: {origins}.")));
    let unpriced = spend.extraction.unpriced + spend.judging.unpriced + spend.users.unpriced + spend.vectors.unpriced;
    if unpriced > 0 {
        lines.push(format!(
            "{} cells and judgments have no known price: sums that include one are unknown, the others cost {}. Set the \
             model's `price` in the registry.",
            count(unpriced),
            figures::money(Some(spend.known_cost()))
        ));
    }
    if report.findings.run.tally.errors > 0 {
        lines.push("The total and $/cell include failed cells.".to_owned());
    }
    lines
}

fn of_total(report: Report<'_>, cost: Option<Money>) -> Cell {
    let total = report.findings.run.spend.cost().filter(|total| *total > Money::ZERO);
    Cell::text(cost.zip(total).map_or_else(|| "n/a".to_owned(), |(cost, total)| share(cost.usd() / total.usd())))
}

fn by_step(report: Report<'_>) -> Option<Block> {
    let rows = report.findings.breakdown.steps.iter().map(|line| {
        vec![
            Cell::text(line.variant.as_deref().unwrap_or_default()),
            Cell::text(&line.id),
            Cell::Count(line.times),
            Cell::Count(line.usage.input_tokens),
            Cell::Count(line.usage.output_tokens),
            Cell::Money(line.cost.map(Money::usd)),
            of_total(report, line.cost),
        ]
    });
    let mut columns = ["Variant", "Step"].map(Column::text).to_vec();
    columns.extend(["Cells", "Tokens in", "Tokens out", "Cost", "Share"].map(Column::number));
    table_if_any(Head::new("Cost by step", "Which step costs most?"), columns, rows)
}

/// The cost of samples over all systems and judges. Unknown costs come first.
fn by_sample(report: Report<'_>) -> Option<Block> {
    let findings = report.findings;
    let mut costs: Vec<(usize, Option<Money>)> =
        (0..findings.samples()).map(|at| (at, findings.sample_cost(at))).collect();
    let samples = costs.len();
    let most_expensive_first = |(at, cost): &(usize, Option<Money>)| (cost.is_some(), std::cmp::Reverse(*cost), *at);
    if samples > SAMPLES {
        // Only the few that are shown are sorted.
        costs.select_nth_unstable_by_key(SAMPLES, most_expensive_first);
        costs.truncate(SAMPLES);
    }
    costs.sort_unstable_by_key(most_expensive_first);
    let rows = costs.iter().map(|(at, cost)| {
        vec![Cell::text(findings.sample_id(*at)), Cell::Money(cost.map(Money::usd)), of_total(report, *cost)]
    });
    let mut head = Head::new("Cost by sample", "Which samples are expensive?");
    if samples > SAMPLES {
        head =
            head.with_note(format!("The {SAMPLES} most expensive of {}; report.json has all.", count(samples as u64)));
    }
    table_if_any(head, numbers("Sample", ["Cost", "Share"]), rows)
}

/// The score per dollar by model; n/a if the cost is 0 or unknown.
fn efficiency(report: Report<'_>) -> Option<Block> {
    let (at, metric) = report.primary()?;
    let scale = scales::scale_of(&report.findings.plan, metric);
    let rows = report.findings.models.iter().map(|group| {
        let score = group.metrics.get(at).and_then(|spread| spread.value());
        let rate = score.and_then(|score| group.spend.efficiency(score));
        vec![
            Cell::text(&group.id),
            value(score, &scale),
            Cell::Money(group.spend.system_per_cell_usd()),
            build::count(rate.map(|rate| rate.round().max(0.0) as u64)),
        ]
    });
    let head = Head::new("Cost-efficiency", "Who gives most for a dollar?").with_note(format!(
        "Mean {} divided by the model's own cost per cell, without judges; n/a if that cost is 0 or unknown.",
        metric.name
    ));
    table_if_any(head, numbers("Model", ["Score", "$/cell (own)", "Score per $"]), rows)
}
