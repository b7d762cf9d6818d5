//! Section with recommendations, each with its caveat.

use karat_analysis::Verdict;

use crate::markdown::page::{Inline, Page};
use crate::shared::report::Report;

pub(in crate::markdown) fn write(page: &mut Page, report: Report<'_>) {
    page.heading(2, Inline::plain("Recommendations"));
    let all = &report.findings.recommendations;
    if all.is_empty() {
        let has_failed = report.context.verdicts.verdict().is_some_and(|verdict| verdict != Verdict::Pass);
        page.paragraph(Inline::plain(if has_failed {
            "None besides the checks above: the failed cells below say what to look at."
        } else {
            "None: there are no models to choose between, and every cell has an output."
        }));
    }
    page.list(all.iter().map(|it| {
        let advice = Inline::text(&it.advice);
        match &it.caveat {
            Some(caveat) => advice.and(" *Caveat:* ").then(Inline::sentence(caveat)),
            None => advice,
        }
    }));
}
