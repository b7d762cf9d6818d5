//! Whether a run may begin: its estimate against its budget and its bound of calls.

use std::sync::Arc;

use karat_engine::Estimate;
use karat_suite::Plan;
use karat_types::Money;

use crate::{AppError, Invocation};

/// Money that a run may spend when nothing is said.
const DEFAULT_CEILING_USD: f64 = 25.0;

/// A suite that bounds its calls refuses a larger sweep before the first of them (BR-10).
fn within_calls(plan: &Plan, estimate: &Estimate, made: u64) -> Result<(), AppError> {
    let run = &plan.header.run;
    let needed = estimate.calls().0 + made;
    match run.max_calls.filter(|max| run.refuses_calls && needed > *max) {
        None => Ok(()),
        Some(max) => Err(AppError::budget(format!(
            "the run takes at least {needed} calls, and its suite allows {max}; none was made"
        ))
        .hint("raise `--max-calls`, or make the run smaller with `--sample`, `--limit` or `--as-of`")),
    }
}

/// Holds the estimate against the budget (law 13) and settles which limit the run has.
pub(crate) fn allow(plan: &mut Plan, estimate: &Estimate, invocation: &Invocation, made: u64) -> Result<(), AppError> {
    within_calls(plan, estimate, made)?;
    let unpriced: Vec<&str> = estimate.unpriced().collect();
    let declared = plan.header.run.budget_declared;
    let (low, high) = estimate.cost();
    if !unpriced.is_empty() && declared {
        return Err(AppError::budget(format!(
            "the run has a budget, but nobody knows the price of {}",
            unpriced.join(", ")
        ))
        .hint("declare `price: { input, output }` for it in the suite, or run without a budget and with `--yes`"));
    }
    if !unpriced.is_empty() && !invocation.yes {
        return Err(AppError::budget(format!("nobody knows the price of {}", unpriced.join(", ")))
            .hint("declare `price: { input, output }` for it in the suite, or approve with `--yes`"));
    }
    let budget = plan.header.run.budget_usd.unwrap_or(DEFAULT_CEILING_USD);
    let limit = Money::from_usd(budget).unwrap_or(Money::ZERO);
    if declared && estimate.floor() > limit {
        return Err(AppError::budget(format!(
            "the run costs at least ${:.6}, and its budget is ${budget:.6}",
            estimate.floor().usd()
        ))
        .hint("raise `--budget-usd`, or make the run smaller with `--limit`, `--models` or `--variants`"));
    }
    if !declared && !invocation.yes && high > limit {
        let range = format!("${:.2} to ${:.2}", low.usd(), high.usd());
        return Err(AppError::budget(format!(
            "the run may cost {range}, which is above the default ceiling of ${budget:.2}"
        ))
        .hint("approve with `--yes`, set `--budget-usd`, or make the run smaller; `karat plan` shows where it goes"));
    }
    if !declared && invocation.yes {
        let header = Arc::make_mut(&mut plan.header);
        header.run.budget_usd = None;
    }
    Ok(())
}
