//! Warns of cost that may have been billed beyond the reported amount, for calls of unknown outcome.

use karat_report::{count_noun, usd};
use karat_store::Spending;
use karat_types::{Money, PlanHeader, RunStatus, StepSpec};

/// The warning for a run that is not being written, if there is a risk. A running run may still need its reservations.
pub(crate) fn possible_unbilled_cost(status: RunStatus, plan: &PlanHeader, spending: Spending) -> Option<String> {
    (status != RunStatus::Running).then(|| risk_message(spending, is_bounded(plan)))?
}

/// Returns whether reservations bound the cost of calls. For a service that reports its cost, the reservation is zero
/// or the cost of the dearest answer before.
fn is_bounded(plan: &PlanHeader) -> bool {
    let is_priced = plan.all_models().all(|model| model.price.is_known());
    is_priced && !plan.variants.iter().flat_map(|variant| &variant.steps).any(StepSpec::meters_cost)
}

fn risk_message(spending: Spending, is_bounded: bool) -> Option<String> {
    let open = spending.open;
    // A cut-off call at no price cost nothing, unless its price is unknown.
    let is_unknown = !is_bounded || spending.unpriced > 0;
    if open.upper == Money::ZERO && (open.calls == 0 || !is_unknown) {
        return None;
    }
    let (were, they) = if open.calls == 1 { ("was", "it") } else { ("were", "they") };
    let what = match open.calls {
        0 => "Nobody knows what calls cost that have no answer, or one that says no usage".to_owned(),
        calls => format!("Up to {} {were} under way when the run was cut off", count_noun(calls, "call")),
    };
    let upper = usd(Some(open.upper.usd()));
    let most = match open.upper {
        Money::ZERO => they.to_owned(),
        _ if is_bounded => format!("up to {upper}"),
        _ => format!("{upper} or more"),
    };
    Some(format!("{what}: {most} may have been billed beyond what the run says it paid."))
}

#[cfg(test)]
mod tests {
    use karat_store::Reservation;

    use super::*;

    /// BY-05: unknown cost is reported with the number of calls and the largest possible amount.
    #[test]
    fn unknown_cost_is_reported() {
        let spending = |calls, upper, unpriced| Spending {
            open: Reservation { calls, upper: Money(upper) },
            unpriced,
            ..Spending::default()
        };
        let is = |spending, is_bounded| risk_message(spending, is_bounded).unwrap_or_default();
        let message = |spending| is(spending, true);
        assert_eq!(
            message(spending(3, 20_000_000, 0)),
            "Up to 3 calls were under way when the run was cut off: up to $0.02 may have been billed beyond what the run says \
             it paid."
        );
        assert!(message(spending(1, 20_000_000, 0)).starts_with("Up to 1 call was under way"));
        assert!(message(spending(0, 20_000_000, 0)).starts_with("Nobody knows what calls cost"));
        assert!(
            message(spending(2, 0, 5))
                .ends_with("cut off: they may have been billed beyond what the run says it paid.")
        );
        assert_eq!((message(spending(2, 0, 0)), message(spending(0, 0, 5))), (String::new(), String::new()));
        let beyond = "may have been billed beyond what the run says it paid.";
        assert!(is(spending(3, 20_000_000, 0), false).ends_with(&format!("cut off: $0.02 or more {beyond}")));
        assert!(is(spending(1, 0, 0), false).ends_with(&format!("cut off: it {beyond}")));
        assert_eq!(is(spending(0, 0, 5), false), "");
    }
}
