//! Section with the suite's own description of its metrics.

use crate::markdown::page::{Inline, Page};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
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
