//! What may have been billed for a run beyond what is told as paid: for calls of which nobody knows what became of them.

use karat_report::{counted, usd};
use karat_store::Spending;
use karat_types::{Money, RunStatus};

/// Says so of a run that nobody writes, where there is anything to say. What a run under way has reserved it may still need.
pub(crate) fn unsettled(status: RunStatus, spending: Spending) -> Option<String> {
    let open = spending.open;
    // At no price a call that was cut off cost nothing, unless the price is one that nobody knows.
    let is_owed = open.upper > Money::ZERO || (open.calls > 0 && spending.unpriced > 0);
    if status == RunStatus::Running || !is_owed {
        return None;
    }
    let what = match open.calls {
        0 => "Nobody knows what calls cost that have no answer, or one that says no usage".to_owned(),
        calls => {
            let were = if calls == 1 { "was" } else { "were" };
            format!("Up to {} {were} under way when the run was cut off", counted(calls, "call"))
        }
    };
    let most = if open.upper > Money::ZERO {
        format!("up to {} may", usd(Some(open.upper.usd())))
    } else {
        "they may".to_owned()
    };
    Some(format!("{what}: {most} have been billed beyond what the run says it paid."))
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
        let said = |spending| unsettled(RunStatus::Finished, spending).unwrap_or_default();
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
        assert_eq!(unsettled(RunStatus::Running, spending(3, 20_000_000, 0)), None);
    }
}
