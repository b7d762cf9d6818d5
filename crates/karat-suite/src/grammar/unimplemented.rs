//! The table of language features that this version does not implement yet. Remove a line when its feature is built.

/// Address (`*` matches a name that the author invents, or a position in a list) and name of each. Without these a
/// suite does less than it asks for, but nothing different: they are warnings.
const NOT_YET: &[(&str, &str)] = &[("schedules.*.keep", "`keep`")];

/// The beginning of the description of each key of [`NOT_YET`], and the remark on the objects that they hold.
#[cfg(test)]
const NOTICE: &str = "Accepted with a warning; this version does not act on it.";

/// Metrics and analyses of the language's catalogue; those that the caller's catalog lacks are not built yet.
const METRICS: &[&str] = &[
    "exact",
    "contains",
    "regex",
    "levenshtein",
    "jaccard",
    "token_f1",
    "rouge",
    "bleu",
    "chrf",
    "length",
    "json_schema",
    "json_field",
    "numeric",
    "numeric_contested",
    "count",
    "set_f1",
    "label",
    "summary",
    "combine",
    "hit_rate",
    "recall",
    "precision",
    "mrr",
    "map",
    "ndcg",
    "citation_match",
    "citation_precision",
    "citation_recall",
    "attribution",
    "quote_match",
    "tool_calls",
    "valid_calls",
    "assert",
    "checks",
    "given",
    "latency",
    "cost",
    "tokens",
    "command",
    "http",
];
const ANALYSES: &[&str] = &[
    "aggregate",
    "leaderboards",
    "cost",
    "errors",
    "delta",
    "agreement",
    "calibration",
    "human_anchor",
    "judge_bias",
    "drift",
    "diagnostics",
    "missing_items",
    "slices",
    "balance",
    "failures",
    "power",
    "summary_corpus",
    "recommendations",
];
const PROVIDERS: &[&str] = &[
    "openai",
    "anthropic",
    "gemini",
    "azure",
    "openrouter",
    "groq",
    "mistral",
    "deepseek",
    "together",
    "fireworks",
    "xai",
    "ollama",
    "vllm",
    "openai-compatible",
    "openai-responses",
    "command",
    "stub",
    "scripted",
];

/// Returns a message if the key at an address is not implemented.
pub(crate) fn at(address: &[&str]) -> Option<String> {
    let feature = NOT_YET.iter().find(|(pattern, _)| pattern.split('.').eq(address.iter().copied()));
    feature.map(|(_, what)| message(what))
}

/// The message for a feature.
pub(crate) fn message(what: &str) -> String {
    format!("{what} is not implemented in this version")
}

/// Returns whether a member of a kind is part of the language.
pub(crate) fn is_member(kind: crate::grammar::Kind, name: &str) -> bool {
    use crate::grammar::Kind;
    match kind {
        Kind::Metric => METRICS,
        Kind::Analysis => ANALYSES,
        Kind::Provider => PROVIDERS,
        Kind::Free => &[],
    }
    .contains(&name)
}

/// The providers of the language.
pub(crate) fn providers() -> &'static [&'static str] {
    PROVIDERS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Object, SUITE, Shape};

    /// The description of the key at an address.
    fn description(address: &str) -> &'static str {
        let mut object: &'static Object = &SUITE;
        let mut about = "";
        for name in address.split('.').filter(|name| *name != "*") {
            let key = object.key(name).unwrap();
            about = key.about;
            object = match key.shape {
                Shape::Object(inner) => inner,
                Shape::Map(&Shape::Object(inner)) => inner,
                _ => object,
            };
        }
        about
    }

    #[test]
    fn the_description_of_an_unimplemented_key_says_so() {
        for (address, _) in NOT_YET {
            assert!(description(address).starts_with(NOTICE), "{address}: {}", description(address));
        }
    }
}
