//! Checks the estimate of a run against its budget and its maximum of calls.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use karat_engine::Estimate;
use karat_report::{count_noun, usd};
use karat_store::Account;
use karat_suite::Plan;
use karat_types::{Money, PlanHeader, Pricing, RunSpec, UncachedCost};

use crate::Invocation;
use crate::error::{BudgetError, CallCount, Names, Usd};
use crate::runs::ending::refusal::failures_message;

/// The default ceiling of a run's cost in dollars.
pub(crate) const DEFAULT_CEILING_USD: f64 = 25.0;

/// The calls of earlier parts of a run. Budget and maximum of calls hold for all parts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EarlierCalls {
    /// Calls.
    pub calls: u64,
    /// Calls whose replies no cell uses yet: they need not be repeated.
    pub waiting: u64,
}

impl EarlierCalls {
    pub fn of(account: &Account) -> Self {
        Self { calls: account.spending.committed_total().calls, waiting: account.paid.len() as u64 }
    }

    /// The lower bound of remaining calls.
    fn calls_left(self, estimate: &Estimate) -> u64 {
        estimate.calls().0.saturating_sub(self.waiting)
    }
}

/// Refuses a plan with more calls than its suite allows, before the first call.
fn check_call_limit(plan: &Plan, estimate: &Estimate, earlier: EarlierCalls) -> Result<(), BudgetError> {
    let run = &plan.header.run;
    let (made, left) = (earlier.calls, earlier.calls_left(estimate));
    let needed = made + left;
    let Some(max) = run.max_calls.filter(|max| run.refuses_calls && needed > *max) else { return Ok(()) };
    Err(match made {
        0 => BudgetError::TooManyCalls { needed, calls: CallCount(needed), max },
        _ => BudgetError::TooManyCallsLeft { needed, left: CallCount(left), made, max },
    })
}

/// A run that stopped because its calls or its money are used up.
pub(crate) struct BudgetStop<'a> {
    /// Its id.
    pub run: &'a str,
    /// The command that resumes it: `resume` or `retry`.
    pub command: &'a str,
    /// The limits of this part.
    pub settings: &'a RunSpec,
    /// The limits at its start: they hold again for the next part unless it sets its own.
    pub begun: &'a RunSpec,
    /// The account that counts against them.
    pub account: Account,
    /// The estimate of the rest.
    pub left: &'a Estimate,
    /// The upper bound of the largest refused call.
    pub refused: Money,
    /// The error of the latest call that failed and may have been billed.
    pub failure: Option<String>,
}

impl BudgetStop<'_> {
    /// The reason why it stopped and the command to resume it.
    pub fn message(&self) -> String {
        match self.settings.max_calls.filter(|max| self.account.spending.committed_total().calls >= *max) {
            Some(max) => self.calls_message(max),
            None => self.money_message(),
        }
    }

    fn calls_message(&self, max: u64) -> String {
        let Self { run, command, account, settings, .. } = self;
        let spending = account.spending;
        let declared = settings.budget_usd.filter(|_| settings.budget_declared);
        let made = spending.committed_total().calls;
        let left = EarlierCalls { calls: made, waiting: self.unused_replies() }.calls_left(self.left).max(1);
        format!(
            "the maximum of {} is used up{}, and at least {left} {} left to make: continue with \
             `karat {command} {run} --max-calls {}{}`",
            count_noun(max, "call"),
            uncertain_note(spending.open.calls > 0, &spending.open.calls.to_string(), "that were cut off"),
            if left == 1 { "is" } else { "are" },
            made + left,
            repeat_flag("--budget-usd", declared, self.begun.budget_usd),
        )
    }

    fn money_message(&self) -> String {
        let Self { run, command, account, .. } = self;
        let spending = account.spending;
        let budget = self.settings.budget_usd.unwrap_or(DEFAULT_CEILING_USD);
        let is_for_failures = spending.spent + self.refused <= Money::from_usd(budget).unwrap_or_default();
        if let Some(error) = self.failure.as_ref().filter(|_| is_for_failures) {
            let amount = |money: Money| usd(Some(money.usd()));
            return failures_message(&usd(Some(budget)), &amount(spending.spent), &amount(spending.open.upper), error);
        }
        let (low, high) = self.left.cost();
        let high = high.max(self.cost_by_experience().min(self.largest_rest()));
        // Before the last call, its upper bound must fit beside the cost of all others.
        let enough = ((spending.committed_total().upper + high + self.refused).usd() * 100.0).ceil() / 100.0;
        let calls = self.left.calls().1.saturating_sub(self.unused_replies()).max(1);
        let bound = Money(self.refused.0.saturating_mul(calls.into()));
        format!(
            "the next call does not fit the budget of {}: {} are paid{}, the rest costs {} to {}, and a call reserves \
             up to {}{}. Continue with `karat {command} {run} --budget-usd {enough:.2}{}`",
            usd(Some(budget)),
            usd(Some(spending.spent.usd())),
            uncertain_note(spending.open.upper > Money::ZERO, &usd(Some(spending.open.upper.usd())), "of unknown cost",),
            usd(Some(low.usd())),
            usd(Some(high.usd())),
            usd(Some(self.refused.usd())),
            if bound > high {
                format!(" ({} at that: {})", count_noun(calls, "call"), usd(Some(bound.usd())))
            } else {
                String::new()
            },
            repeat_flag("--max-calls", self.settings.max_calls, self.begun.max_calls),
        )
    }

    /// The cost of the remaining calls at a tenth above the average of those billed before: estimates may know nothing of
    /// services, and too little of providers with other tokenizers. What counts for calls that failed is not part of it.
    fn cost_by_experience(&self) -> Money {
        let left = self.left.calls().0.saturating_sub(self.unused_replies());
        let billed = i128::from(self.account.billed.max(1));
        Money(self.account.spending.spent.0 * i128::from(left) * 11 / (10 * billed))
    }

    /// The most that the remaining calls can be billed: each at the bound of the refused call.
    fn largest_rest(&self) -> Money {
        let calls = i128::from(self.left.calls().1.saturating_sub(self.unused_replies()).max(1));
        Money(self.refused.0.saturating_mul(calls))
    }

    /// The number of calls whose replies no cell uses yet.
    fn unused_replies(&self) -> u64 {
        self.account.paid.len() as u64
    }
}

/// The message for a run that went beyond its budget because answers cost more than could be reserved.
pub(crate) fn overspend_message(settings: &RunSpec, by: Money) -> Option<String> {
    let budget = settings.budget_usd.filter(|_| by > Money::ZERO)?;
    Some(format!(
        "the run went {} beyond its budget of {}: answers were billed higher than what could be reserved for them (a service's \
         first or dearest answer, a provider that counts more tokens than it was allowed). The report's notes and `karat trace` \
         show which; a lower `--max-concurrency` keeps it smaller",
        usd(Some(by.usd())),
        usd(Some(budget))
    ))
}

/// The flag for the other limit, if the next part would not have it by itself.
fn repeat_flag<T: PartialEq + Display>(flag: &str, now: Option<T>, begun: Option<T>) -> String {
    now.filter(|now| Some(now) != begun.as_ref()).map_or_else(String::new, |now| format!(" {flag} {now}"))
}

/// A note on the amount that counts for calls of unknown outcome.
fn uncertain_note(is_any: bool, amount: &str, calls: &str) -> String {
    if is_any { format!(" ({amount} more count for calls {calls})") } else { String::new() }
}

/// Checks the estimate against the limits and settles the limit of the run.
pub(crate) fn check_limits(
    plan: &mut Plan,
    estimate: &Estimate,
    invocation: &Invocation,
    earlier: EarlierCalls,
) -> Result<(), BudgetError> {
    check_call_limit(plan, estimate, earlier)?;
    let unpriced: Vec<&str> = estimate.unpriced_models().collect();
    let declared = plan.header.run.budget_declared;
    let (low, high) = estimate.cost();
    if let Some(first) = unpriced.first().filter(|_| declared) {
        return Err(BudgetError::UnpricedUnderBudget { first: (*first).to_owned(), models: Names::of(unpriced) });
    }
    let budget = plan.header.run.budget_usd.unwrap_or(DEFAULT_CEILING_USD);
    let limit = Money::from_usd(budget).unwrap_or(Money::ZERO);
    if declared && estimate.floor() > limit {
        return Err(BudgetError::AboveBudget { least: estimate.floor().into(), budget: Usd(budget) });
    }
    // A budget caps what is paid; it does not approve of paying that for a part of the run.
    if declared && !invocation.yes && low > limit {
        return Err(BudgetError::BelowEstimate { least: low.into(), most: high.into(), budget: Usd(budget) });
    }
    let ceiling = if declared { DEFAULT_CEILING_USD } else { budget };
    if !invocation.yes && low > Money::from_usd(ceiling).unwrap_or(Money::ZERO) {
        return Err(BudgetError::AboveCeiling { least: low.into(), most: high.into(), ceiling: Usd(ceiling) });
    }
    settle_limit(plan, invocation);
    Ok(())
}

/// The limits that hold for a run: what its budget caps, and above what it asks first.
pub(crate) fn limits_line(plan: &PlanHeader, estimate: &Estimate, invocation: &Invocation) -> String {
    let run = &plan.run;
    let declared = run.budget_usd.filter(|_| run.budget_declared);
    let ceiling = if declared.is_some() { DEFAULT_CEILING_USD } else { run.budget_usd.unwrap_or(DEFAULT_CEILING_USD) };
    let lowest = declared.map_or(ceiling, |budget| budget.min(ceiling));
    let dollars = |amount: f64| usd(Some(amount));
    let budget = match (declared, invocation.yes) {
        (Some(budget), _) => format!("the budget of {} caps what is paid", dollars(budget)),
        (None, true) => "no budget, by `--yes`".to_owned(),
        (None, false) => format!("the default ceiling of {} caps what is paid", dollars(ceiling)),
    };
    let asks = match invocation.yes {
        true => "approved by `--yes`".to_owned(),
        false if estimate.cost().0 > Money::from_usd(lowest).unwrap_or_default() => {
            format!("the lower estimate is above {}, so `run` starts with `--yes` only", dollars(lowest))
        }
        false => format!("`run` asks for `--yes` where the lower estimate is above {}", dollars(lowest)),
    };
    format!("limits: {budget}; {asks}")
}

/// The note on what the limit of a run cannot bind: models without a known price where there is no budget, and steps whose
/// cost no answer says where there is one.
pub(crate) fn ceiling_note(plan: &PlanHeader, invocation: &Invocation) -> Option<String> {
    if plan.run.budget_declared {
        return unseen_cost_note(plan);
    }
    if invocation.yes {
        return None;
    }
    let unpriced: BTreeSet<&str> =
        plan.all_models().filter(|model| model.price == Pricing::Unknown).map(|model| model.id.as_str()).collect();
    let names = unpriced.iter().copied().collect::<Vec<_>>().join(", ");
    let ceiling = usd(Some(DEFAULT_CEILING_USD));
    (!unpriced.is_empty()).then(|| {
        format!(
            "the price of {names} is unknown: the default ceiling of {ceiling} binds priced models only; `price:` in a \
             model's entry makes it count"
        )
    })
}

/// The note on services and programs that say nothing of their cost. Models without a price are refused under a budget.
fn unseen_cost_note(plan: &PlanHeader) -> Option<String> {
    let steps = plan.variants.iter().flat_map(|variant| &variant.steps);
    let unseen: BTreeSet<String> = steps
        .filter(|step| step.action.is_outside() && !step.meters_cost())
        .map(|step| format!("step {}", step.id))
        .collect();
    let names = unseen.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    (!unseen.is_empty()).then(|| {
        format!("the budget does not count what {names} may cost: `meter:` in a step reads the cost from its answers")
    })
}

/// Removes the limit of an approved run without a budget.
pub(crate) fn settle_limit(plan: &mut Plan, invocation: &Invocation) {
    if !plan.header.run.budget_declared && invocation.yes {
        Arc::make_mut(&mut plan.header).run.budget_usd = None;
    }
}

/// Returns whether a plan is certainly allowed with nothing cached: its budget is declared and suffices, or it needs
/// none. A plan may be allowed even if this returns false. The default ceiling is compared with the usage that calls
/// really had, which may exceed the estimate.
pub(crate) fn allows_all(run: &RunSpec, uncached: &UncachedCost, invocation: &Invocation) -> bool {
    let budget = run.budget_usd.filter(|_| run.budget_declared).and_then(Money::from_usd);
    let is_approved = invocation.yes || Money::from_usd(DEFAULT_CEILING_USD).is_some_and(|it| uncached.total.1 <= it);
    let is_enough = match budget {
        Some(budget) => is_approved && uncached.total.1 <= budget,
        None => !run.budget_declared && invocation.yes,
    };
    let is_priced = !uncached.per_cell.is_empty() && uncached.per_cell.iter().all(Option::is_some);
    is_enough && is_priced && !(run.refuses_calls && run.max_calls.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F37, BY-05: a plan is allowed as a whole if no limit could refuse it: neither the budget nor the ceiling beside it.
    #[test]
    fn a_plan_within_its_limits_is_allowed_whole() {
        let uncached = |usd: f64| UncachedCost {
            total: (Money::ZERO, Money::from_usd(usd).unwrap()),
            per_cell: vec![Some(Money::ZERO)],
            sampled: false,
        };
        let unpriced = UncachedCost { per_cell: vec![Some(Money::ZERO), None], ..uncached(1.0) };
        let unknown = UncachedCost { per_cell: Vec::new(), ..uncached(0.0) };
        let given = serde_json::json!({ "max_concurrency": 1, "timeout_ms": 1, "retries": 0, "seed": 1 });
        let free: RunSpec = serde_json::from_value(given).unwrap();
        let budget = RunSpec { budget_usd: Some(100.0), budget_declared: true, ..free.clone() };
        let calls = RunSpec { max_calls: Some(10), ..free.clone() };
        let bounded = RunSpec { refuses_calls: true, ..calls.clone() };
        for (run, yes, uncached, expected) in [
            (&free, false, uncached(1.0), false),
            (&free, true, uncached(25.1), true),
            (&free, true, unpriced, false),
            (&free, true, unknown, false),
            (&budget, false, uncached(25.0), true),
            (&budget, false, uncached(100.0), false),
            (&budget, true, uncached(100.0), true),
            (&budget, true, uncached(100.1), false),
            (&calls, true, uncached(1.0), true),
            (&bounded, true, uncached(1.0), false),
        ] {
            let invocation = Invocation { yes, ..Invocation::default() };
            assert_eq!(allows_all(run, &uncached, &invocation), expected, "{run:?}, {yes}, {uncached:?}");
        }
    }
}
