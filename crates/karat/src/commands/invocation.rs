//! Flags become an [`Invocation`] of the app, or a [`RowFilter`] of rows.

use karat_app::{Invocation, Overrides, RowFilter};
use karat_types::Tier;

use crate::args::{DateRangeArgs, ExecutionArgs, JudgedByArgs, SelectionArgs, SuiteArgs, TierArg};
use crate::failure::Failure;

/// Returns the invocation of a suite with models and variants.
pub fn from_selection(selection: &SelectionArgs, execution: &ExecutionArgs) -> Result<Invocation, Failure> {
    let SelectionArgs { suite, systems } = selection;
    let mut invocation = from_suite(suite, execution)?;
    invocation.overrides = Overrides {
        sweep: parse_pairs("--sweep", &systems.sweep)?,
        models: systems.models.clone(),
        tier: systems.tier.map(|tier| match tier {
            TierArg::Frontier => Tier::Frontier,
            TierArg::Midtier => Tier::Midtier,
            TierArg::Budget => Tier::Budget,
        }),
        variants: systems.variants.clone(),
        ..invocation.overrides
    };
    Ok(invocation)
}

/// Returns the invocation of a suite.
pub fn from_suite(suite: &SuiteArgs, execution: &ExecutionArgs) -> Result<Invocation, Failure> {
    let mut params = parse_pairs("-p", &suite.param)?;
    params.extend(suite.corpus.iter().map(|corpus| ("corpus".to_owned(), corpus.clone())));
    let limits = from_execution(execution)?;
    let overrides = Overrides {
        params,
        set: parse_pairs("--set", &suite.set)?,
        as_of: suite.as_of.clone(),
        safe: suite.safe,
        judges: suite.judges.clone(),
        samples: suite.sample.clone(),
        limit: suite.limit,
        trials: suite.trials,
        max_output_tokens: suite.max_output_tokens,
        max_chunks: suite.max_chunks,
        judge_max_tokens: suite.judge_max_tokens,
        judge_timeout_ms: parse_duration("--judge-timeout", suite.judge_timeout.as_deref())?,
        ..limits.overrides
    };
    Ok(Invocation { suite: suite.suite.clone(), overrides, ..limits })
}

/// Returns an invocation with the limits of a run alone.
pub fn from_execution(execution: &ExecutionArgs) -> Result<Invocation, Failure> {
    let overrides = Overrides {
        max_concurrency: execution.max_concurrency,
        max_calls: execution.max_calls,
        budget_usd: execution.budget_usd,
        timeout_ms: parse_duration("--timeout", execution.timeout.as_deref())?,
        retries: execution.retries,
        no_cache: execution.no_cache,
        ..Overrides::default()
    };
    let ExecutionArgs { yes, batch, detach, .. } = *execution;
    Ok(Invocation { overrides, yes, batch, detach, ..Invocation::default() })
}

/// Returns the invocation of a suite with parameters alone.
pub fn from_params(suite: &str, params: &[String]) -> Result<Invocation, Failure> {
    let overrides = Overrides { params: parse_pairs("-p", params)?, ..Overrides::default() };
    Ok(Invocation { overrides, ..Invocation::of(suite) })
}

/// Returns the choice of rows by date and judge.
pub fn rows_in_range(range: &DateRangeArgs) -> RowFilter {
    let DateRangeArgs { since, until, judged } = range.clone();
    RowFilter { since, until, ..rows_judged_by(&judged) }
}

/// Returns the choice of rows by judge.
pub fn rows_judged_by(judged: &JudgedByArgs) -> RowFilter {
    let JudgedByArgs { judge, prompt_version, system } = judged.clone();
    RowFilter { judge, prompt_version, system, ..RowFilter::default() }
}

/// Parses texts of the form `name=value`.
fn parse_pairs(flag: &str, texts: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Failure::Message(format!("`{flag} {text}` has no `=`. Write `{flag} name=value`")))?;
        Ok((name.trim().to_owned(), value.to_owned()))
    };
    texts.iter().map(pair).collect()
}

/// Parses a duration, and returns it in milliseconds.
pub fn parse_duration(flag: &str, text: Option<&str>) -> Result<Option<u64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    match karat_app::duration_ms(text) {
        Some(duration) => Ok(Some(duration)),
        None => {
            Err(Failure::Message(format!("`{flag} {text}` is not a duration. Write `1500ms`, `90s`, `20m` or `90d`")))
        }
    }
}
