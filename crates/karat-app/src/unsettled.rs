//! What may have been billed for a run beyond what is told as paid: for calls of which nobody knows what became of them.

use karat_report::{count_noun, usd};
use karat_store::Spending;
use karat_types::{Money, PlanHeader, RunStatus, StepSpec};

/// Says so of a run that nobody writes, where there is anything to say. What a run under way has reserved it may still need.
pub(crate) fn unsettled(status: RunStatus, plan: &PlanHeader, spending: Spending) -> Option<String> {
    (status != RunStatus::Running).then(|| said(spending, is_bounded(plan)))?
}

/// Whether what is reserved for a call is the most that it can cost. For a service whose answers say what they cost it is
/// nothing, or what the dearest before it came to.
fn is_bounded(plan: &PlanHeader) -> bool {
    let is_priced = plan.models.iter().chain(&plan.judges).all(|model| model.price.is_known());
    is_priced && !plan.variants.iter().flat_map(|variant| &variant.steps).any(StepSpec::meters_cost)
}

fn said(spending: Spending, is_bounded: bool) -> Option<String> {
    let open = spending.open;
    // At no price a call that was cut off cost nothing, unless the price is one that nobody knows.
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

    /// BY-05: what nobody knows of a run's cost is said with how many calls and how much it can be.
    #[test]
    fn what_nobody_knows_is_said() {
        let spending = |calls, upper, unpriced| Spending {
            open: Reservation { calls, upper: Money(upper) },
            unpriced,
            ..Spending::default()
        };
        let is = |spending, is_bounded| said(spending, is_bounded).unwrap_or_default();
        let said = |spending| is(spending, true);
        assert_eq!(
            said(spending(3, 20_000_000, 0)),
            "Up to 3 calls were under way when the run was cut off: up to $0.02 may have been billed beyond what the run says \
             it paid."
        );
        assert!(said(spending(1, 20_000_000, 0)).starts_with("Up to 1 call was under way"));
        assert!(said(spending(0, 20_000_000, 0)).starts_with("Nobody knows what calls cost"));
        assert!(
            said(spending(2, 0, 5)).ends_with("cut off: they may have been billed beyond what the run says it paid.")
        );
        assert_eq!((said(spending(2, 0, 0)), said(spending(0, 0, 5))), (String::new(), String::new()));
        let beyond = "may have been billed beyond what the run says it paid.";
        assert!(is(spending(3, 20_000_000, 0), false).ends_with(&format!("cut off: $0.02 or more {beyond}")));
        assert!(is(spending(1, 0, 0), false).ends_with(&format!("cut off: it {beyond}")));
        assert_eq!(is(spending(0, 0, 5), false), "");
    }
}
