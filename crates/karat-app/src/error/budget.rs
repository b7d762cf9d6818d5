//! Runs that their limits do not allow. Nothing was called yet.

use super::{CallCount, Names, Usd, errors};

errors! {
    /// A run that its limits do not allow.
    enum BudgetError {
        TooManyCalls { needed: u64, calls: CallCount, max: u64 } =>
            "the run takes at least {calls}, and its suite allows {max}; none was made"
            hint "raise to `--max-calls {needed}` or more, or make the run smaller with `--sample`, `--limit` or `--as-of`";
        TooManyCallsLeft { needed: u64, left: CallCount, made: u64, max: u64 } =>
            "the rest of the run takes at least {left}; with the {made} made before that is {needed}, and its suite allows \
             {max}; none was made now"
            hint "raise to `--max-calls {needed}` or more, or make the run smaller with `--sample`, `--limit` or `--as-of`";
        UnpricedUnderBudget { models: Names, first: String } =>
            "the price of {models} is unknown, so the budget cannot hold"
            hint "write `price:` into its entry, such as {{ id: \"{first}\", price: {{ input: 1, output: 2 }} }} (US dollars \
                  per million tokens), or run without a budget";
        AboveBudget { least: Usd, budget: Usd } => "the run costs at least {least}, and its budget is {budget}"
            hint "raise `--budget-usd`, or make the run smaller with `--limit`, `--models` or `--variants`";
        AboveCeiling { least: Usd, most: Usd, ceiling: Usd } =>
            "the run may cost {least} to {most}, which is above the default ceiling of {ceiling}"
            hint "approve with `--yes`, set `--budget-usd`, or make the run smaller; `karat plan` shows where it goes";
    }
}
