//! Section on tokens and money: totals, shares, and score per dollar (CL-22).

use karat_analysis::{Bill, CostLine, Group};
use karat_types::Money;

use crate::markdown::page::{Column, Inline, Page, columns};
use crate::shared::figures::{self, count};
use crate::shared::report::Report;

/// Number of samples shown, the most expensive first.
const SAMPLES: usize = 20;

pub(super) fn write(page: &mut Page, report: Report<'_>) {
    let findings = report.findings;
    let spend = findings.run.spend;
    page.heading(2, Inline::plain("Cost"));
    let tokens = spend.extraction.usage.total() + spend.judging.usage.total();
    if findings.models.is_empty() && tokens == 0 && spend.cost() == Some(Money::ZERO) {
        page.paragraph(Inline::plain("No model was called, and nothing was billed."));
        return;
    }
    page.list(totals(report));
    let heads = columns(&["Calls", "Input tokens", "Output tokens", "Cost", "Share"]);
    let shares = Shares(spend.cost());
    let row = |name: &'static str, bill: &Bill| {
        vec![
            Inline::plain(name),
            Inline::text(count(bill.usage.input_tokens)),
            Inline::text(count(bill.usage.output_tokens)),
            Inline::text(figures::money(bill.cost())),
            shares.of(bill.cost()),
        ]
    };
    let users = spend.has_users().then(|| row("simulated users", &spend.users));
    let vectors = spend.has_vectors().then(|| row("vectors of texts", &spend.vectors));
    let rows = [row("systems", &spend.extraction), row("judges", &spend.judging)];
    page.table(&heads, rows.into_iter().chain(users).chain(vectors));
    if findings.run.tally.errors > 0 {
        page.paragraph(Inline::plain("$/cell is the total cost divided by all cells, including failed ones."));
    }
    by_group(page, report, "By model", "Model", &findings.models);
    by_group(page, report, "By variant", "Variant", &findings.variants);
    by_judge(page, &shares, &findings.breakdown.judges);
    by_step(page, &shares, &findings.breakdown.steps);
    by_sample(page, report);
    efficiency(page, report);
}

/// Computes shares of the run's cost.
struct Shares(Option<Money>);

impl Shares {
    /// Returns for example `12.5 %`, or `n/a` if a cost is unknown or the total is zero.
    fn of(&self, cost: Option<Money>) -> Inline {
        let total = self.0.filter(|total| *total > Money::ZERO);
        let share = cost.zip(total).map(|(cost, total)| figures::percent(cost.usd() / total.usd()));
        Inline::text(share.unwrap_or_else(|| figures::NONE.to_owned()))
    }
}

fn totals(report: Report<'_>) -> Vec<Inline> {
    let spend = report.findings.run.spend;
    let estimate = report.context.estimate.as_ref();
    let mut lines = vec![
        Inline::plain("Estimate: ").and_text(figures::estimate(estimate)),
        Inline::plain("At list price, with cached results: ").and_text(figures::money(spend.cost())),
    ];
    if !report.context.canonical {
        let paid = figures::money(Some(report.amount_paid()));
        lines.push(if report.is_simulated() {
            Inline::plain("Paid in this run: nothing was billed (").and_text(paid).and(" at the scripted prices)")
        } else {
            Inline::plain("Paid in this run, without reused results: ").and_text(paid)
        });
    }
    let origins = report.price_origins();
    lines.extend(origins.map(|origins| Inline::plain("Prices read: ").and_text(origins)));
    let unpriced = spend.extraction.unpriced + spend.judging.unpriced;
    if unpriced > 0 {
        let known = figures::money(Some(spend.known_cost()));
        lines.push(
            Inline::plain("Cells without a known price: ")
                .and_text(count(spend.extraction.unpriced))
                .and("; judgments: ")
                .and_text(count(spend.judging.unpriced))
                .and(". Sums that include one of them are unknown; the others cost ")
                .and_text(known)
                .and(". Set the model's ")
                .and_code("price")
                .and(" in the registry."),
        );
    }
    lines
}

fn by_group(page: &mut Page, report: Report<'_>, title: &'static str, head: &'static str, groups: &[Group]) {
    if groups.is_empty() {
        return;
    }
    page.heading(3, Inline::plain(title));
    let shares = Shares(report.findings.run.spend.cost());
    let row = |group: &Group| {
        let (spend, money) = (&group.spend, |amount| Inline::text(figures::money(amount)));
        vec![
            Inline::code(&group.id),
            Inline::text(count(spend.cells)),
            Inline::text(figures::usd(spend.per_cell_usd())),
            money(spend.extraction.cost()),
            money(spend.judging.cost()),
            money(spend.cost()),
            shares.of(spend.cost()),
            money(report.group_estimate(group)),
        ]
    };
    let heads = columns(&[head, "Cells", "$/cell", "Systems", "Judges", "Cost", "Share", "Estimated"]);
    page.table(&heads, groups.iter().map(row));
}

fn by_judge(page: &mut Page, shares: &Shares, judges: &[CostLine]) {
    if judges.is_empty() {
        return;
    }
    page.heading(3, Inline::plain("By judge"));
    let heads = columns(&["Judge", "Judgments", "Input tokens", "Output tokens", "Cost", "Share"]);
    page.table(&heads, judges.iter().map(|line| [vec![Inline::code(&line.id)], usage_cells(shares, line)].concat()));
}

fn by_step(page: &mut Page, shares: &Shares, steps: &[CostLine]) {
    if steps.is_empty() {
        return;
    }
    page.heading(3, Inline::plain("By step"));
    let mut heads = vec![Column::left(Inline::plain("Variant"))];
    heads.push(Column::left(Inline::plain("Step")));
    heads.extend(columns(&["", "Cells", "Input tokens", "Output tokens", "Cost", "Share"]).into_iter().skip(1));
    let row = |line: &CostLine| {
        let variant = line.variant.as_ref().map_or_else(Inline::default, Inline::code);
        [vec![variant, Inline::code(&line.id)], usage_cells(shares, line)].concat()
    };
    page.table(&heads, steps.iter().map(row));
}

fn usage_cells(shares: &Shares, line: &CostLine) -> Vec<Inline> {
    vec![
        Inline::text(count(line.times)),
        Inline::text(count(line.usage.input_tokens)),
        Inline::text(count(line.usage.output_tokens)),
        Inline::text(figures::money(line.cost)),
        shares.of(line.cost),
    ]
}

/// Writes the cost of the samples over all systems and judges. Unknown costs come first.
fn by_sample(page: &mut Page, report: Report<'_>) {
    let findings = report.findings;
    let mut costs: Vec<(usize, Option<Money>)> =
        (0..findings.samples()).map(|at| (at, findings.sample_cost(at))).collect();
    if costs.is_empty() {
        return;
    }
    page.heading(3, Inline::plain("By sample"));
    let samples = costs.len();
    if samples > SAMPLES {
        // Only the few that are shown are sorted.
        let most_expensive_first =
            |(at, cost): &(usize, Option<Money>)| (cost.is_some(), std::cmp::Reverse(*cost), *at);
        costs.select_nth_unstable_by_key(SAMPLES, most_expensive_first);
        costs.truncate(SAMPLES);
        costs.sort_unstable_by_key(most_expensive_first);
    }
    let shares = Shares(findings.run.spend.cost());
    let row = |(at, cost): &(usize, Option<Money>)| {
        vec![Inline::code(findings.sample_id(*at)), Inline::text(figures::money(*cost)), shares.of(*cost)]
    };
    page.table(&columns(&["Sample", "Cost", "Share"]), costs.iter().map(row));
    if let Some(left) = samples.checked_sub(SAMPLES).filter(|left| *left > 0) {
        page.paragraph(
            Inline::plain("The most expensive are shown; ")
                .and_text(count(left as u64))
                .and(" more are in report.json."),
        );
    }
}

/// Writes the score per dollar by model; n/a if the cost is 0 or unknown.
fn efficiency(page: &mut Page, report: Report<'_>) {
    let Some((at, metric)) = report.primary().filter(|_| !report.findings.models.is_empty()) else { return };
    page.heading(3, Inline::plain("Cost-efficiency"));
    page.paragraph(
        Inline::plain("Mean ")
            .and_code(&metric.name)
            .and(" divided by the model's own cost per cell, without judges; n/a if that cost is 0 or unknown."),
    );
    let row = |group: &Group| {
        let score = group.metrics.get(at).and_then(|spread| spread.value());
        let rate = score.and_then(|score| group.spend.efficiency(score));
        vec![
            Inline::code(&group.id),
            Inline::text(figures::value_or_none(metric, score)),
            Inline::text(figures::usd(group.spend.system_per_cell_usd())),
            Inline::text(rate.map_or(figures::NONE.to_owned(), |rate| count(rate.round().max(0.0) as u64))),
        ]
    };
    let heads = columns(&["Model", "Score", "$/cell (own)", "Score per $"]);
    page.table(&heads, report.findings.models.iter().map(row));
}
