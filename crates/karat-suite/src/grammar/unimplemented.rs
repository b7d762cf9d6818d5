//! The table of language features that this version does not implement yet. Remove a line when its feature is built.

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
