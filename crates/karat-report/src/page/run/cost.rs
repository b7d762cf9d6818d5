//! Cost: the ledger with its budget, then by model, variant, step and sample.

use karat_page::component::ledger;
use karat_page::{Markup, html, render_all};
use karat_types::Money;

use crate::blocks::cost::{details, is_free, rows, totals};
use crate::page::sections::{long_disclosure, remarks};
use crate::shared::report::Report;

pub(super) fn section(report: Report<'_>) -> Markup {
    if is_free(report) {
        return html! { p { "No model was called, and nothing was billed." } };
    }
    let findings = report.findings;
    let details = details(report);
    html! {
        (ledger::cost(&rows(report), findings.run.spend.cost().map(Money::usd), findings.plan.run.budget_usd))
        (remarks(&totals(report)))
        @if !details.is_empty() {
            (long_disclosure("Cost by model, step, sample and score", &html! { div.section { (render_all(&details)) } }))
        }
    }
}
