//! Section on tokens and money: totals, shares, and score per dollar.

use crate::blocks::cost::{details, is_free, table, totals};
use crate::markdown::block;
use crate::markdown::page::{Inline, Page};
use crate::shared::report::Report;

pub(super) fn write(page: &mut Page, report: Report<'_>) {
    page.heading(2, Inline::plain("Cost"));
    if is_free(report) {
        return page.paragraph(Inline::plain("No model was called, and nothing was billed."));
    }
    page.list(totals(report).iter().map(|line| Inline::sentence(line)));
    table(report).into_iter().chain(details(report)).for_each(|it| block::write(page, &it, 3));
}
