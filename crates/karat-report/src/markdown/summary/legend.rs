//! Section with the suite's own description of its metrics.

use crate::markdown::page::{Inline, Page};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    let scorers = report.findings.plan.scorers.iter();
    let told = scorers.filter_map(|scorer| Some(Inline::code(&scorer.id).and(": ").and_text(scorer.about.as_ref()?)));
    let told: Vec<Inline> = told.collect();
    if told.is_empty() {
        return;
    }
    page.heading(2, Inline::plain("What is measured"));
    page.list(told);
}
