//! The short sections of report.md: recommendations after the summary; the legend, contradictions of the dataset, cost, and how
//! the figures were made behind the analyses.

use crate::blocks::cost::{details, is_free, table, totals};
use crate::markdown::block;
use crate::markdown::page::{Inline, Page};
use crate::shared::figures::count;
use crate::shared::report::Report;
use crate::shared::visible::excerpt;
use crate::wording::{answer, provenance};

/// Number of contradictions listed.
const MISMATCHES: usize = 10;

/// Writes the recommendations, each with its caveat.
pub(super) fn recommendations(page: &mut Page, report: Report<'_>) {
    page.heading(2, Inline::plain("Recommendations"));
    let all = answer::recommendations(report);
    if all.is_empty() {
        page.paragraph(Inline::plain("None: there is nothing to choose between, and every cell has an output."));
    }
    page.list(all.iter().map(|it| {
        let advice = Inline::sentence(&it.advice);
        match &it.caveat {
            Some(caveat) => advice.and(" *Caveat:* ").then(Inline::sentence(caveat)),
            None => advice,
        }
    }));
}

/// Writes the suite's own description of its metrics.
pub(super) fn legend(page: &mut Page, report: Report<'_>) {
    let scorers = report.findings.plan.scorers.iter();
    let descriptions =
        scorers.filter_map(|scorer| Some(Inline::code(&scorer.id).and(": ").and_text(scorer.about.as_ref()?)));
    let descriptions: Vec<Inline> = descriptions.collect();
    if descriptions.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("What is measured"));
    page.list(descriptions);
}

/// Writes contradictions between expected values and files.
pub(super) fn mismatches(page: &mut Page, report: Report<'_>) {
    let mismatches = &report.findings.plan.dataset.mismatches;
    if mismatches.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("Contradictions between expected values and files"));
    let line = |it: &karat_types::Mismatch| Inline::code(&it.sample).and(": ").and_text(excerpt(&it.what, 200));
    page.list(mismatches.first.iter().take(MISMATCHES).map(line));
    let more = mismatches.count.saturating_sub(MISMATCHES as u64);
    if more > 0 {
        page.paragraph(Inline::text(count(more)).and(" more are in report.json."));
    }
}

/// Writes tokens and money: totals, shares, and score per dollar.
pub(super) fn cost(page: &mut Page, report: Report<'_>) {
    page.heading(2, Inline::plain("Cost"));
    if is_free(report) {
        return page.paragraph(Inline::plain("No model was called, and nothing was billed."));
    }
    page.list(totals(report).iter().map(|line| Inline::sentence(line)));
    table(report).into_iter().chain(details(report)).for_each(|it| block::write(page, &it, 3));
}

/// Writes everything that a reader needs to reproduce the figures.
pub(super) fn provenance(page: &mut Page, report: Report<'_>) {
    page.heading(2, Inline::plain("How this number was made"));
    page.list(provenance::parts(report).into_iter().map(|(label, text)| Inline::text(label).and(": ").and_code(text)));
}
