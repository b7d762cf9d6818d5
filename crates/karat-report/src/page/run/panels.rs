//! Panels: the leaderboards, the analyses in the suite's order, the failures, and the cost.

use karat_analysis::{Errors, Outcome};
use karat_page::component::ledger::{self, FailureGroup};
use karat_page::number::count_noun;
use karat_page::text::visible::Words;
use karat_page::{Block, Markup, html, render, render_all};
use karat_types::Money;

use crate::blocks::changes::leaderboards;
use crate::blocks::samples::{errors, notes};
use crate::blocks::{self, cost, of_analysis};
use crate::page::links::Links;
use crate::page::sections::{disclosure, long_disclosure, remarks};
use crate::shared::report::Report;
use crate::shared::visible::{MESSAGE, both_ends};

/// Number of panels of one analysis that are shown at once; a reader opens the others.
const SHOWN: usize = 2;

/// Number of rankings shown at once.
const BOARDS: usize = 2;

/// The rankings: the headline metrics first.
pub(super) fn leaderboards(report: Report<'_>) -> Markup {
    let boards = leaderboards::blocks(report);
    if boards.is_empty() {
        return html! {};
    }
    let shown = |board: &Block| html! { div data-testid="leaderboard" { (render(board)) } };
    let (first, rest) = boards.split_at(boards.len().min(BOARDS));
    let rest_content = html! { div.pair { @for board in rest { (shown(board)) } } };
    html! {
        @for note in leaderboards::notes(report) { p.soft { (Words(&note)) } }
        div.pair { @for board in first { (shown(board)) } }
        @if !rest.is_empty() { (disclosure(&count_noun(rest.len() as u64, "more leaderboard"), &rest_content)) }
    }
}

/// The panels of all analyses that have no section of their own: those of the first, and a line for each other, which a
/// reader opens.
pub(super) fn analyses(report: Report<'_>) -> Markup {
    let own = report.findings.analyses.iter().filter(|it| blocks::is_of_analyses(it));
    let all: Vec<Vec<Block>> = own.map(|it| of_analysis(report, it)).filter(|it| !it.is_empty()).collect();
    let Some((first, others)) = all.split_first() else { return html! {} };
    html! {
        (panels(first))
        @if !others.is_empty() { div.folds { @for blocks in others { (fold_panels(blocks)) } } }
    }
}

/// Panels behind the title and the question of the first.
fn fold_panels(blocks: &[Block]) -> Markup {
    let summary = blocks.first().map(|first| format!("{}: {}", first.head().title, first.head().question));
    html! { @if let Some(summary) = summary { (disclosure(&summary, &html! { div.section { (panels(blocks)) } })) } }
}

fn panels(blocks: &[Block]) -> Markup {
    let (first, rest) = blocks.split_at(blocks.len().min(SHOWN));
    html! {
        (render_all(first))
        @if !rest.is_empty() {
            (disclosure(&count_noun(rest.len() as u64, "more panel"), &html! { div.section { (render_all(rest)) } }))
        }
    }
}

/// The failures: groups by code and message, then cells below thresholds, skipped cells and notes.
pub(super) fn failures(report: Report<'_>, links: &Links) -> Markup {
    let of = |chosen| blocks::of_outcomes(report, chosen);
    let below = of(|it| matches!(it, Outcome::Failures(found) if found.cells > 0));
    // The first panel of errors repeats the groups.
    let skipped: Vec<Block> = of(|it| matches!(it, Outcome::Errors(_))).into_iter().skip(1).collect();
    let notes = of(|it| matches!(it, Outcome::Notes(found) if notes::has_any(found)));
    let groups = report.findings.errors().map(|errors| groups(errors, links)).unwrap_or_default();
    html! {
        (ledger::failures(&groups))
        (panels(&below))
        div.folds {
            @for block in skipped.iter().chain(&notes) { (fold_panels(std::slice::from_ref(block))) }
            (changed_remarks(report))
        }
    }
}

/// Remarks of judges that changed. There are hundreds, so they stand below the failures.
fn changed_remarks(report: Report<'_>) -> Markup {
    html! {
        @for (first, rest) in blocks::changed_remarks(report) {
            (fold_panels(&std::iter::once(first).chain(rest).collect::<Vec<_>>()))
        }
    }
}

fn groups(found: &Errors, links: &Links) -> Vec<FailureGroup> {
    let group = |kind: &karat_analysis::ErrorKind| {
        let message = kind.examples.first().map_or_else(String::new, |it| both_ends(&it.message, MESSAGE));
        let stage = errors::stage_name(kind.stage);
        let example =
            kind.examples.first().map_or_else(String::new, |it| format!(" (first: {} {})", it.sample, it.who));
        FailureGroup {
            code: kind.code.clone(),
            message: format!("{stage}: {message}{example}"),
            cells: kind.count,
            href: links.cells(&[("flag", if stage == "cell" { "error" } else { "unscored" }), ("q", &kind.code)]),
        }
    };
    found.kinds.iter().map(group).collect()
}

/// The cost: the ledger with its budget, then by model, variant, step and sample.
pub(super) fn cost(report: Report<'_>) -> Markup {
    if cost::is_free(report) {
        return html! { p { "No model was called, and nothing was billed." } };
    }
    let findings = report.findings;
    let details = cost::details(report);
    html! {
        (ledger::cost(&cost::rows(report), findings.run.spend.cost().map(Money::usd), findings.plan.run.budget_usd))
        (remarks(&cost::totals(report)))
        @if !details.is_empty() {
            (long_disclosure("Cost by model, step, sample and score", &html! { div.section { (render_all(&details)) } }))
        }
    }
}
