//! Section on contradictions between expected values and files.

use crate::markdown::page::{Inline, Page};
use crate::shared::figures::count;
use crate::shared::report::Report;
use crate::shared::visible::excerpt;

/// Number of contradictions listed.
const MISMATCHES: usize = 10;

pub(super) fn write(page: &mut Page, report: Report<'_>) {
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
