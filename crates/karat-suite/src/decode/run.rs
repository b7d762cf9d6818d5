//! `run`.

use karat_types::{CachePolicy, RunSpec, StatisticsSpec, StopEarlySpec};

use super::{integer_at, word_at};
use crate::overrides::Overrides;
use crate::syntax::duration;
use crate::syntax::node::Node;

/// The default ceiling of a run in dollars.
const DEFAULT_BUDGET_USD: f64 = 25.0;

/// Execution settings and the number of trials.
pub(crate) fn decode(node: Option<&Node>, overrides: &Overrides) -> (RunSpec, u32) {
    let number = |key| node.and_then(|node| integer_at::<u32>(node, key));
    let large = |key| node.and_then(|node| integer_at::<u64>(node, key));
    let milliseconds = |key| node.and_then(|node| node.text_of(key)).and_then(duration::parse);
    let budget = node.and_then(|node| node.field("budget_usd")).and_then(Node::number);
    let declared = overrides.budget_usd.or(budget);
    let run = RunSpec {
        max_concurrency: overrides.max_concurrency.or(number("max_concurrency")).unwrap_or(32),
        timeout_ms: overrides.timeout_ms.or(milliseconds("timeout")).unwrap_or(120_000),
        cell_timeout_ms: milliseconds("cell_timeout"),
        retries: overrides.retries.or(number("retries")).unwrap_or(5),
        budget_usd: Some(declared.unwrap_or(DEFAULT_BUDGET_USD)),
        budget_declared: declared.is_some(),
        max_calls: overrides.max_calls.or(large("max_calls")),
        refuses_calls: large("max_calls").is_some(),
        call_log: node.and_then(|node| node.text_of("call_log")).map(str::to_owned),
        batch: node.and_then(|node| node.field("batch")).and_then(Node::boolean).unwrap_or(false),
        cell_line: node.and_then(|node| node.text_of("cell_line")).map(str::to_owned),
        capture: node.and_then(|node| word_at(node, "capture")).unwrap_or_default(),
        prints_rows: node.and_then(|node| node.text_of("stdout")) == Some("row"),
        cache: match () {
            () if overrides.no_cache => CachePolicy::Off,
            () if overrides.judge_again => CachePolicy::Outputs,
            () => cache(node),
        },
        measures_judges: overrides.golden_check,
        layout: node.and_then(|node| word_at(node, "layout")).unwrap_or_default(),
        seed: large("seed").unwrap_or(1),
        stop_early: node.and_then(|node| node.field("stop_early")).and_then(stop_early),
    };
    (run, overrides.trials.or(number("trials")).unwrap_or(1))
}

/// `stop_early`: `true`, or its settings.
fn stop_early(node: &Node) -> Option<StopEarlySpec> {
    match node.boolean() {
        Some(on) => on.then(StopEarlySpec::default),
        None => Some(StopEarlySpec {
            rule: word_at(node, "rule").unwrap_or_default(),
            min: integer_at(node, "min"),
            race: node.text_of("race").map(str::to_owned),
        }),
    }
}

/// Default number of bootstrap resamples.
const RESAMPLES: u32 = 10_000;

/// Decodes `statistics`.
pub(crate) fn statistics(node: Option<&Node>) -> StatisticsSpec {
    let resamples = node.and_then(|node| integer_at(node, "resamples"));
    let asked = node.is_some_and(|node| node.text_of("interval") == Some("bootstrap"));
    StatisticsSpec { bootstrap: asked.then(|| resamples.unwrap_or(RESAMPLES)), resamples }
}

fn cache(node: Option<&Node>) -> CachePolicy {
    let Some(cache) = node.and_then(|node| node.field("cache")) else { return CachePolicy::Reuse };
    match (cache.text(), cache.text_of("max_age").and_then(duration::parse)) {
        (Some("off"), _) => CachePolicy::Off,
        (_, Some(age)) => CachePolicy::MaxAge(age),
        _ => CachePolicy::Reuse,
    }
}
