//! Last section: everything a reader needs to reproduce the figures.

use crate::markdown::page::{Inline, Page};
use crate::shared::report::Report;
use crate::wording::provenance;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    page.heading(2, Inline::plain("How this number was made"));
    page.list(provenance::parts(report).into_iter().map(|(label, text)| Inline::text(label).and(": ").and_code(text)));
}
