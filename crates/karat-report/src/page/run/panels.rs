//! Panels of the analyses in the suite's order, and the failures.

use karat_analysis::{Errors, Outcome};
use karat_page::component::ledger::{self, FailureGroup};
use karat_page::number::count_noun;
use karat_page::{Block, Markup, html, render_all};

use crate::blocks::samples::{errors, notes};
use crate::blocks::{self, of_analysis};
use crate::page::links::Links;
use crate::page::sections::disclosure;
use crate::shared::report::Report;
use crate::shared::visible::{MESSAGE, both_ends};

/// Number of panels of one analysis that are shown at once; a reader opens the others.
const SHOWN: usize = 2;

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
