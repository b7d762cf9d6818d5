//! Section with recommendations, each with its caveat.

use crate::markdown::page::{Inline, Page};
use crate::shared::report::Report;
use crate::wording::answer;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
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
