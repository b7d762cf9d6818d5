//! Flags become an invocation.

use karat_app::Invocation;
use karat_types::Tier;

use crate::args::{ExecutionArgs, SelectionArgs, SuiteArgs, TierArg};
use crate::failure::Failure;

/// The invocation of a suite's flags.
pub fn invocation(selection: &SelectionArgs, execution: &ExecutionArgs) -> Result<Invocation, Failure> {
    let SelectionArgs { suite, systems } = selection;
    Ok(Invocation {
        sweep: pairs("--sweep", &systems.sweep)?,
        models: systems.models.clone(),
        tier: systems.tier.map(|tier| match tier {
            TierArg::Frontier => Tier::Frontier,
            TierArg::Midtier => Tier::Midtier,
            TierArg::Budget => Tier::Budget,
        }),
        variants: systems.variants.clone(),
        ..of_suite(suite, execution)?
    })
}

/// The invocation of what makes no outputs.
pub fn of_suite(suite: &SuiteArgs, execution: &ExecutionArgs) -> Result<Invocation, Failure> {
    let mut params = pairs("-p", &suite.param)?;
    params.extend(suite.corpus.iter().map(|corpus| ("corpus".to_owned(), corpus.clone())));
    Ok(Invocation {
        suite: suite.suite.clone(),
        params,
        set: pairs("--set", &suite.set)?,
        as_of: suite.as_of.clone(),
        safe: suite.safe,
        judges: suite.judges.clone(),
        samples: suite.sample.clone(),
        limit: suite.limit,
        trials: suite.trials,
        max_output_tokens: suite.max_output_tokens,
        max_chunks: suite.max_chunks,
        judge_max_tokens: suite.judge_max_tokens,
        judge_timeout_ms: duration("--judge-timeout", suite.judge_timeout.as_deref())?,
        ..self::execution(execution)?
    })
}

/// The invocation of a run's flags alone.
pub fn execution(execution: &ExecutionArgs) -> Result<Invocation, Failure> {
    if execution.budget_usd.is_some_and(|budget| !budget.is_finite() || budget < 0.0) {
        return Err(Failure::Message("`--budget-usd` wants an amount in dollars of 0 or more".to_owned()));
    }
    Ok(Invocation {
        max_concurrency: execution.max_concurrency,
        max_calls: execution.max_calls,
        budget_usd: execution.budget_usd,
        timeout_ms: duration("--timeout", execution.timeout.as_deref())?,
        retries: execution.retries,
        yes: execution.yes,
        no_cache: execution.no_cache,
        ..Invocation::default()
    })
}

/// `name=value` texts.
pub fn pairs(flag: &str, texts: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Failure::Message(format!("`{flag} {text}` has no `=`. Write `{flag} name=value`")))?;
        Ok((name.trim().to_owned(), value.to_owned()))
    };
    texts.iter().map(pair).collect()
}

fn duration(flag: &str, text: Option<&str>) -> Result<Option<u64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    match karat_app::duration_ms(text) {
        Some(duration) => Ok(Some(duration)),
        None => Err(Failure::Message(format!("`{flag} {text}` is no duration. Write `90s`, `20m` or `1500ms`"))),
    }
}
