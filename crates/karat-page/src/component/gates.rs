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
    /// The change that the threshold is for; `None` where it is for the value.
    pub change: Option<Estimate>,
    /// The scale of the observed value.
    pub scale: Scale,
    /// The threshold, such as `≥ 0.900`.
    pub threshold: String,
    /// The reason for the verdict.
    pub reason: String,
}

/// Renders gates in their order; `left_out` of them are not shown.
pub fn render(gates: &[GateRow], left_out: u64) -> Markup {
    let has_changes = gates.iter().any(|gate| gate.change.is_some());
    html! {
        div.wide tabindex="0" role="region" aria-label="Gates" {
            table {
                caption { "Gates" }
                thead { tr {
                    th scope="col" { "Gate" } th scope="col" { "Verdict" } th.number scope="col" { "Observed" }
                    @if has_changes { th.number scope="col" { "Change" } }
                    th.number scope="col" { "Threshold" } th.prose scope="col" { "Reason" }
                } }
                tbody {
                    @for gate in gates {
                        tr data-testid="gate-row" data-verdict=(gate.verdict.word()) {
                            th scope="row" { (Line(&gate.name)) }
                            td { (verdict::mark(gate.verdict)) }
                            td.number { (observed_value(&gate.observed, &gate.scale)) }
                            @if has_changes {
                                td.number { @if let Some(change) = &gate.change { (observed_change(change, &gate.scale)) } }
                            }
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

/// A change with its sign and interval, in the unit of the value.
fn observed_change(change: &Estimate, scale: &Scale) -> Markup {
    html! {
        @if let Some(value) = change.finite_value() {
            (scale.signed_text(value))
            @if let Some(interval) = change.finite_interval() {
                " " span.interval data-testid="interval" { (scale.signed_interval(value, interval)) }
            }
        } @else { (table::missing(change.reason.as_deref())) }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// F64: a gate on a change shows the value and, apart from it, the change, both in the unit of the value.
    #[test]
    fn a_change_stands_apart_from_its_value() {
        let row = |change| GateRow {
            name: "cost".to_owned(),
            verdict: Verdict::Pass,
            observed: Estimate::point(0.005_7, 0),
            change,
            scale: Scale::of(crate::number::Unit::Dollars),
            threshold: "rise ≤ $0.001".to_owned(),
            reason: String::new(),
        };
        let shown = render(&[row(Some(Estimate::point(0.000_949, 0)))], 0).into_string();
        assert!(shown.contains(">Change<") && shown.contains("$0.0057") && shown.contains("+$0.000949"), "{shown}");
        assert!(!render(&[row(None)], 0).into_string().contains(">Change<"));
    }
}
