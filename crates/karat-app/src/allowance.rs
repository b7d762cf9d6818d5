//! Whether a run may begin: its estimate against its budget and its bound of calls.

use std::fmt::Display;
use std::sync::Arc;

use karat_engine::{Afresh, Estimate};
use karat_report::{count_noun, usd};
use karat_store::Account;
use karat_suite::Plan;
use karat_types::{Money, RunSpec};

use crate::Invocation;
use crate::error::{BudgetError, CallCount, Names, Usd};

/// Money that a run may spend when nothing is said.
const DEFAULT_CEILING_USD: f64 = 25.0;

/// What a run has made in its earlier parts. Budget and bound of calls are of the whole run, over all of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Earlier {
    /// Calls.
    pub calls: u64,
    /// Those of them whose replies no cell rests on yet: they need not be made again.
    pub waiting: u64,
}

impl Earlier {
    pub fn of(account: &Account) -> Self {
        Self { calls: account.spending.committed().calls, waiting: account.paid.len() as u64 }
    }

    /// Calls that are left to make at least.
    fn left(self, estimate: &Estimate) -> u64 {
        estimate.calls().0.saturating_sub(self.waiting)
    }
}

/// A suite that bounds its calls refuses a larger sweep before the first of them (BR-10).
fn within_calls(plan: &Plan, estimate: &Estimate, earlier: Earlier) -> Result<(), BudgetError> {
    let run = &plan.header.run;
    let (made, left) = (earlier.calls, earlier.left(estimate));
    let needed = made + left;
    let Some(max) = run.max_calls.filter(|max| run.refuses_calls && needed > *max) else { return Ok(()) };
    Err(match made {
        0 => BudgetError::TooManyCalls { needed, calls: CallCount(needed), max },
        _ => BudgetError::TooManyCallsLeft { needed, left: CallCount(left), made, max },
    })
}

/// A run that its calls or its money have stopped.
pub(crate) struct Standstill<'a> {
    /// Its id.
    pub run: &'a str,
    /// The command that goes on with it: `resume` or `retry`.
    pub command: &'a str,
    /// The limits of this part of it.
    pub settings: &'a RunSpec,
    /// Those with which it began: they hold again for the next part, unless that has its own.
    pub begun: &'a RunSpec,
    /// What counts against them.
    pub account: Account,
    /// What is left to make.
    pub left: &'a Estimate,
    /// What the largest call that was refused can cost at the most.
    pub refused: Money,
}

impl Standstill<'_> {
    /// What stopped it, and with what it can go on.
    pub fn says(&self) -> String {
        match self.settings.max_calls.filter(|max| self.account.spending.committed().calls >= *max) {
            Some(max) => self.calls_used_up(max),
            None => self.money_used_up(),
        }
    }

    fn calls_used_up(&self, max: u64) -> String {
        let Self { run, command, account, settings, .. } = self;
        let spending = account.spending;
        let declared = settings.budget_usd.filter(|_| settings.budget_declared);
        let made = spending.committed().calls;
        let left = Earlier { calls: made, waiting: self.waiting() }.left(self.left).max(1);
        format!(
            "the maximum of {} is used up{}, and at least {left} {} left to make: go on with \
             `karat {command} {run} --max-calls {}{}`",
            count_noun(max, "call"),
            uncertain(spending.open.calls > 0, &spending.open.calls.to_string(), "that were cut off"),
            if left == 1 { "is" } else { "are" },
            made + left,
            once_more("--budget-usd", declared, self.begun.budget_usd),
        )
    }

    fn money_used_up(&self) -> String {
        let Self { run, command, account, .. } = self;
        let spending = account.spending;
        let (low, high) = self.left.cost();
        let high = high.max(self.by_experience());
        // Before the last call, the most that it can cost must fit beside what the others came to.
        let enough = ((spending.committed().upper + high + self.refused).usd() * 100.0).ceil() / 100.0;
        let calls = self.left.calls().1.saturating_sub(self.waiting()).max(1);
        let bound = Money(self.refused.0.saturating_mul(calls.into()));
        format!(
            "the next call does not fit the budget of {}: {} are paid{}, what is left to make costs {} to {}, and a call \
             reserves up to {}{}. Go on with `karat {command} {run} --budget-usd {enough:.2}{}`",
            usd(Some(self.settings.budget_usd.unwrap_or(DEFAULT_CEILING_USD))),
            usd(Some(spending.spent.usd())),
            uncertain(
                spending.open.upper > Money::ZERO,
                &usd(Some(spending.open.upper.usd())),
                "of which nobody knows what they cost",
            ),
            usd(Some(low.usd())),
            usd(Some(high.usd())),
            usd(Some(self.refused.usd())),
            if bound > high {
                format!(" ({} at that: {})", count_noun(calls, "call"), usd(Some(bound.usd())))
            } else {
                String::new()
            },
            once_more("--max-calls", self.settings.max_calls, self.begun.max_calls),
        )
    }

    /// What the calls that are left cost if they cost a tenth more than those that were billed before, and none of them fails for
    /// nothing: estimates may know nothing of services, and too little of providers that count other tokens than we do.
    fn by_experience(&self) -> Money {
        let left = self.left.calls().0.saturating_sub(self.waiting());
        Money(
            self.account.spending.committed().upper.0 * i128::from(left) * 11
                / (10 * i128::from(self.account.billed.max(1))),
        )
    }

    /// Calls whose replies no cell rests on yet.
    fn waiting(&self) -> u64 {
        self.account.paid.len() as u64
    }
}

/// Why a run is not within its budget although it was kept: answers may cost more than anybody could reserve for them.
pub(crate) fn overspending(settings: &RunSpec, by: Money) -> Option<String> {
    let budget = settings.budget_usd.filter(|_| by > Money::ZERO)?;
    Some(format!(
        "the run went {} beyond its budget of {}: answers were billed higher than what could be reserved for them (a service's \
         first or dearest answer, a provider that counts more tokens than it was allowed). The report's notes and `karat trace` \
         show which; a lower `--max-concurrency` keeps it smaller",
        usd(Some(by.usd())),
        usd(Some(budget))
    ))
}

/// The other limit, where this part of the run was given one that the next would not have.
fn once_more<T: PartialEq + Display>(flag: &str, now: Option<T>, begun: Option<T>) -> String {
    now.filter(|now| Some(now) != begun.as_ref()).map_or_else(String::new, |now| format!(" {flag} {now}"))
}

/// What counts beside what was made and paid for sure: for which calls.
fn uncertain(is_any: bool, amount: &str, calls: &str) -> String {
    if is_any { format!(" ({amount} more count for calls {calls})") } else { String::new() }
}

/// Holds the estimate against the budget (law 13) and settles which limit the run has.
pub(crate) fn allow(
    plan: &mut Plan,
    estimate: &Estimate,
    invocation: &Invocation,
    earlier: Earlier,
) -> Result<(), BudgetError> {
    within_calls(plan, estimate, earlier)?;
    let unpriced: Vec<&str> = estimate.unpriced().collect();
    let declared = plan.header.run.budget_declared;
    let (low, high) = estimate.cost();
    if !unpriced.is_empty() && declared {
        return Err(BudgetError::UnpricedUnderBudget { models: Names::of(unpriced) });
    }
    if !unpriced.is_empty() && !invocation.yes {
        return Err(BudgetError::Unpriced { models: Names::of(unpriced) });
    }
    let budget = plan.header.run.budget_usd.unwrap_or(DEFAULT_CEILING_USD);
    let limit = Money::from_usd(budget).unwrap_or(Money::ZERO);
    if declared && estimate.floor() > limit {
        return Err(BudgetError::AboveBudget { least: estimate.floor().into(), budget: Usd(budget) });
    }
    if !declared && !invocation.yes && high > limit {
        return Err(BudgetError::AboveCeiling { least: low.into(), most: high.into(), ceiling: Usd(budget) });
    }
    settle_limit(plan, invocation);
    Ok(())
}

/// A run without a budget that was approved has no limit.
pub(crate) fn settle_limit(plan: &mut Plan, invocation: &Invocation) {
    if !plan.header.run.budget_declared && invocation.yes {
        Arc::make_mut(&mut plan.header).run.budget_usd = None;
    }
}

/// Whether a plan of this cost is allowed even if nothing of it is there: its budget is declared and suffices, or none is
/// wanted. It may be allowed where this says that it is not. The default ceiling is held against what calls really took
/// before, which may be more than what is expected of those that nobody has made.
pub(crate) fn allows_all(run: &RunSpec, afresh: &Afresh, invocation: &Invocation) -> bool {
    let budget = run.budget_usd.filter(|_| run.budget_declared).and_then(Money::from_usd);
    let is_enough = budget.map_or(!run.budget_declared && invocation.yes, |budget| afresh.total.1 <= budget);
    let is_priced = !afresh.per_cell.is_empty() && afresh.per_cell.iter().all(Option::is_some);
    is_enough && is_priced && !(run.refuses_calls && run.max_calls.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BY-05: what a plan costs is allowed as a whole where nothing of it could be refused.
    #[test]
    fn a_whole_plan_is_allowed_by_what_it_costs() {
        let afresh = |usd: f64| Afresh {
            total: (Money::ZERO, Money::from_usd(usd).unwrap()),
            per_cell: vec![Some(Money::ZERO)],
            sampled: false,
        };
        let unpriced = Afresh { per_cell: vec![Some(Money::ZERO), None], ..afresh(1.0) };
        let unknown = Afresh { per_cell: Vec::new(), ..afresh(0.0) };
        let given = serde_json::json!({ "max_concurrency": 1, "timeout_ms": 1, "retries": 0, "seed": 1 });
        let free: RunSpec = serde_json::from_value(given).unwrap();
        let budget = RunSpec { budget_usd: Some(100.0), budget_declared: true, ..free.clone() };
        let calls = RunSpec { max_calls: Some(10), ..free.clone() };
        let bounded = RunSpec { refuses_calls: true, ..calls.clone() };
        for (run, yes, afresh, expected) in [
            (&free, false, afresh(1.0), false),
            (&free, true, afresh(25.1), true),
            (&free, true, unpriced, false),
            (&free, true, unknown, false),
            (&budget, false, afresh(100.0), true),
            (&budget, true, afresh(100.1), false),
            (&calls, true, afresh(1.0), true),
            (&bounded, true, afresh(1.0), false),
        ] {
            let invocation = Invocation { yes, ..Invocation::default() };
            assert_eq!(allows_all(run, &afresh, &invocation), expected, "{run:?}, {yes}, {afresh:?}");
        }
    }
}
