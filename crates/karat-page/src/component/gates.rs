//! Gates: observed value, threshold and the reason of each decision.

use maud::{Markup, html};

use crate::block::verdict::{self, Verdict};
use crate::component::{state, table};
use crate::number::{Estimate, Scale};
use crate::text::visible::{Line, Words, line};

/// A check of a gate.
#[derive(Debug, Clone)]
pub struct GateRow {
    /// Its name.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The observed value.
    pub observed: Estimate,
    /// The scale of the observed value.
    pub scale: Scale,
    /// The threshold, such as `≥ 0.900`.
    pub threshold: String,
    /// The reason for the verdict.
    pub reason: String,
}

/// Renders gates in their order; `left_out` of them are not shown.
pub fn render(gates: &[GateRow], left_out: u64) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Gates" {
            table {
                caption { "Gates" }
                thead { tr {
                    th scope="col" { "Gate" } th scope="col" { "Verdict" } th.number scope="col" { "Observed" }
                    th.number scope="col" { "Threshold" } th.prose scope="col" { "Reason" }
                } }
                tbody {
                    @for gate in gates {
                        tr data-testid="gate-row" data-verdict=(gate.verdict.word()) {
                            th scope="row" { (Line(&gate.name)) }
                            td { (verdict::mark(gate.verdict)) }
                            td.number { (observed_value(&gate.observed, &gate.scale)) }
                            td.number { (line(&gate.threshold)) }
                            td.prose { (Words(&gate.reason)) }
                        }
                    }
                }
            }
        }
        (state::left_out(left_out, "check", None))
    }
}

/// A value with its interval and number of observations.
pub(crate) fn observed_value(estimate: &Estimate, scale: &Scale) -> Markup {
    html! {
        @if let Some(value) = estimate.finite_value() {
            (scale.text(value))
            @if let Some(interval) = estimate.finite_interval() {
                " " span.interval data-testid="interval" { (scale.interval(value, interval)) }
            }
            @if estimate.n > 0 { " " (table::observations(estimate.n)) }
        } @else { (table::missing(estimate.reason.as_deref())) }
    }
}
