//! An example for each metric, analysis and provider. The rows of metrics are scored by a test of the binary
//! (`crates/karat/tests/cli/docs.rs`), and every YAML is checked there.

/// The example of a metric.
pub(super) struct MetricExample {
    name: &'static str,
    /// The scorer in YAML.
    pub scorer: &'static str,
    /// Output and reference as JSON, and the score; an empty reference stands for none.
    pub row: Option<(&'static str, &'static str, &'static str)>,
}

/// The example of a provider.
pub(super) struct ProviderExample {
    name: &'static str,
    /// One or two sentences.
    pub about: &'static str,
    /// A model's entry in YAML.
    pub entry: &'static str,
}

const fn with_score(
    name: &'static str,
    scorer: &'static str,
    output: &'static str,
    reference: &'static str,
    score: &'static str,
) -> MetricExample {
    MetricExample { name, scorer, row: Some((output, reference, score)) }
}

const fn without_score(name: &'static str, scorer: &'static str) -> MetricExample {
    MetricExample { name, scorer, row: None }
}

#[rustfmt::skip]
static METRICS: &[MetricExample] = &[
    without_score("assert", "{ metric: assert }"),
    without_score("attribution", "{ metric: attribution, output: $.speakers, with: { need: all } }"),
    with_score("bleu", "{ metric: bleu }", r#""the cat sat on the mat""#, r#""the cat is on the mat""#, "37.992"),
    with_score("checks", "{ metric: checks, with: { of: [ { metric: contains, value: Paris, weight: 3 }, { metric: length, max: 10 } ] } }", r#""Paris is the capital.""#, "", "0.75"),
    with_score("chrf", "{ metric: chrf }", r#""the cat sat on the mat""#, r#""the cat is on the mat""#, "64.578"),
    with_score("citation_match", "{ metric: citation_match, with: { keys: [doc, page] } }", r#"[{"doc": "a", "page": 3}]"#, r#"[{"doc": "a", "page": 3}, {"doc": "b", "page": 1}]"#, "1"),
    with_score("citation_precision", "{ metric: citation_precision }", r#"[{"doc": "a", "page": 3}, {"doc": "c", "page": 9}]"#, r#"[{"doc": "a", "page": 3}, {"doc": "b", "page": 1}]"#, "0.5"),
    with_score("citation_recall", "{ metric: citation_recall }", r#"[{"doc": "a", "page": 3}]"#, r#"[{"doc": "a", "page": 3}, {"doc": "b", "page": 1}]"#, "0.5"),
    without_score("combine", "{ metric: combine, with: { of: [quality, long], how: min } }"),
    without_score("command", "{ metric: command, with: { run: [python3, tone.py] } }"),
    with_score("contains", "{ metric: contains, with: { ignore_case: true } }", r#""Paris is the capital.""#, r#""paris""#, "1"),
    without_score("cost", "{ metric: cost, max: 0.01 }"),
    with_score("count", "{ metric: count }", r#"["a", "b", "c"]"#, "", "3"),
    with_score("exact", "{ metric: exact, with: { ignore_case: true, trim: true } }", r#"" Paris""#, r#""paris""#, "1"),
    without_score("given", "{ metric: given, with: { from: scores.jsonl, path: scores.accuracy } }"),
    with_score("hit_rate", "{ metric: hit_rate, with: { k: 3 } }", r#"["d4", "d2", "d7"]"#, r#"["d2", "d9"]"#, "1"),
    without_score("http", r#"{ metric: http, with: { url: "http://localhost:9000/score" } }"#),
    with_score("jaccard", "{ metric: jaccard }", r#""red green blue""#, r#""green blue yellow""#, "0.5"),
    with_score("json_field", "{ metric: json_field }", r#"{"city": "Paris"}"#, r#"{"city": "Paris"}"#, "1"),
    with_score("json_schema", "{ metric: json_schema, with: { schema: { type: object, required: [city] } } }", r#"{"town": "Paris"}"#, "", "0"),
    with_score("label", "{ metric: label, with: { labels: [billing, bug] } }", r#""Billing""#, r#""billing""#, "1"),
    without_score("latency", "{ metric: latency, aggregate: p95, max: 3000 }"),
    with_score("length", "{ metric: length, with: { unit: words } }", r#""three short words""#, "", "3"),
    with_score("levenshtein", "{ metric: levenshtein }", r#""kitten""#, r#""sitting""#, "0.571"),
    with_score("map", "{ metric: map }", r#"["d4", "d2", "d9"]"#, r#"["d2", "d9"]"#, "0.583"),
    with_score("mrr", "{ metric: mrr }", r#"["d4", "d2", "d7"]"#, r#"["d2", "d9"]"#, "0.5"),
    with_score("ndcg", "{ metric: ndcg, with: { k: 3 } }", r#"["d4", "d2", "d9"]"#, r#"["d2", "d9"]"#, "0.693"),
    with_score("numeric", "{ metric: numeric, with: { unit: million USD, rel: 0.01 } }", r#""Revenue was $3.21bn.""#, "3200", "1"),
    with_score("numeric_contested", "{ metric: numeric_contested, with: { unit: million USD } }", r#""Revenue was $5 million, or $6 million.""#, "5", "1"),
    with_score("precision", "{ metric: precision, with: { k: 3 } }", r#"["d4", "d2", "d9"]"#, r#"["d2", "d9"]"#, "0.667"),
    with_score("quote_match", "{ metric: quote_match, with: { similar: 0.9 } }", r#""She said: we expect growth to continue.""#, r#""we expect growth to continue""#, "1"),
    with_score("recall", "{ metric: recall, with: { k: 2 } }", r#"["d4", "d2", "d9"]"#, r#"["d2", "d9"]"#, "0.5"),
    with_score("regex", r#"{ metric: regex, value: "[A-Z]+-[0-9]+" }"#, r#""Ticket ABC-123 is closed.""#, "", "1"),
    with_score("rouge", "{ metric: rouge, with: { type: rougeL } }", r#""the cat sat on the mat""#, r#""the cat is on the mat""#, "0.833"),
    with_score("set_f1", "{ metric: set_f1, with: { similar: 0.8 } }", r#"["Sleep helps memory", "Naps help"]"#, r#"["sleep helps memory", "Coffee hurts sleep"]"#, "0.5"),
    without_score("similarity", r#"{ metric: similarity, with: { model: "openai:text-embedding-3-small" }, min: 0.7 }"#),
    without_score("summary", "{ metric: summary, with: { overlap: type } }"),
    with_score("token_f1", "{ metric: token_f1 }", r#""the city of Paris""#, r#""Paris""#, "0.5"),
    without_score("tokens", "{ metric: tokens, with: { of: output } }"),
    with_score("tool_calls", "{ metric: tool_calls, with: { match: any, arguments: subset } }", r#"{"text": "", "tool_calls": [{"name": "get_order", "arguments": {"id": "A1", "full": true}}]}"#, r#"[{"name": "get_order", "arguments": {"id": "A1"}}]"#, "1"),
    with_score("valid_calls", "{ metric: valid_calls, with: { tools: { get_order: { type: object, required: [id] } } } }", r#"{"tool_calls": [{"name": "get_order", "arguments": {"id": "A1"}}, {"name": "get_oder", "arguments": {}}]}"#, "", "0.5"),
];

#[rustfmt::skip]
static ANALYSES: &[(&str, &str)] = &[
    ("agreement", "{ analysis: agreement, with: { scorer: quality } }"),
    ("balance", "{ analysis: balance, with: { by: [category] } }"),
    ("calibration", "{ analysis: calibration, with: { scorer: quality, agreement: icc } }"),
    ("cascade", "{ analysis: cascade }"),
    ("delta", "{ analysis: delta, with: { over: variant, base: raw } }"),
    ("diagnostics", "{ analysis: diagnostics, with: { scorer: quality, items: $.spans } }"),
    ("drift", "{ analysis: drift, with: { metric: long, method: cusum } }"),
    ("failures", "{ analysis: failures, with: { below: { long: 1 }, top: 10 } }"),
    ("human_anchor", "{ analysis: human_anchor, with: { scorer: quality, width: 0.05 } }"),
    ("judge_bias", "{ analysis: judge_bias, with: { scorer: quality, check: [length, style] } }"),
    ("missing_items", "{ analysis: missing_items, with: { items: $.claims, by: text, from: [raw] } }"),
    ("power", "{ analysis: power, with: { mde: 0.05 } }"),
    ("ranking", "{ analysis: ranking }"),
    ("slices", "{ analysis: slices, with: { by: [category, lang] } }"),
    ("summary_corpus", "{ analysis: summary_corpus, with: { scorer: quality } }"),
];

const OPENAI_LIKE: &str = "Speaks OpenAI's protocol.";

#[rustfmt::skip]
static PROVIDERS: &[ProviderExample] = &[
    ProviderExample { name: "openai", about: "OpenAI, and every server with its protocol: set `base_url` for vLLM, Ollama, llama.cpp or LiteLLM.", entry: r#"{ id: local, provider: openai, model: llama3.2, base_url: "http://localhost:11434/v1" }"# },
    ProviderExample { name: "openai-responses", about: "OpenAI's Responses API: reasoning stays with the conversation over turns with tools. Nothing is stored at OpenAI. No `seed`, no `stop`.", entry: "{ id: thinker, provider: openai-responses, model: gpt-5-mini, price: { input: 0.25, output: 2.0 } }" },
    ProviderExample { name: "anthropic", about: "Anthropic's Messages API.", entry: "{ id: sonnet, provider: anthropic, model: claude-sonnet-4, price: { input: 3.0, output: 15.0 } }" },
    ProviderExample { name: "gemini", about: "Google's Gemini API.", entry: "{ id: flash, provider: gemini, model: gemini-2.5-flash, price: { input: 0.3, output: 2.5 } }" },
    ProviderExample { name: "openrouter", about: OPENAI_LIKE, entry: "{ id: qwen, provider: openrouter, model: qwen/qwen3-235b-a22b, price: { input: 0.2, output: 0.6 } }" },
    ProviderExample { name: "groq", about: OPENAI_LIKE, entry: "{ id: oss-fast, provider: groq, model: openai/gpt-oss-120b, price: { input: 0.15, output: 0.6 } }" },
    ProviderExample { name: "mistral", about: "Mistral's API.", entry: "{ id: mistral-small, provider: mistral, model: mistral-small-latest, price: { input: 0.1, output: 0.3 } }" },
    ProviderExample { name: "deepseek", about: OPENAI_LIKE, entry: "{ id: deepseek, provider: deepseek, model: deepseek-v4-flash, price: { input: 0.14, output: 0.28 } }" },
    ProviderExample { name: "together", about: OPENAI_LIKE, entry: "{ id: mixtral, provider: together, model: mistralai/Mixtral-8x7B-Instruct-v0.1, price: { input: 0.6, output: 0.6 } }" },
    ProviderExample { name: "azure", about: "A deployment of Azure OpenAI: `model` is the deployment's name, `AZURE_OPENAI_ENDPOINT` or `base_url` its resource.", entry: r#"{ id: team-gpt, provider: azure, model: my-deployment, base_url: "https://my-resource.openai.azure.com", price: { input: 2.5, output: 10.0 } }"# },
    ProviderExample { name: "fireworks", about: OPENAI_LIKE, entry: "{ id: deepseek, provider: fireworks, model: accounts/fireworks/models/deepseek-v4-flash, price: { input: 0.14, output: 0.28 } }" },
    ProviderExample { name: "xai", about: OPENAI_LIKE, entry: "{ id: grok, provider: xai, model: grok-4.3, price: { input: 1.25, output: 2.5 } }" },
    ProviderExample { name: "ollama", about: "Ollama on this machine; free. `base_url` names one on another machine.", entry: r#"{ id: "ollama:llama3.2:1b", timeout: 300s }"# },
    ProviderExample { name: "vllm", about: "A vLLM server on this machine; free. `base_url` names one on another machine.", entry: r#"{ id: big, provider: vllm, model: qwen3-32b, base_url: "http://gpu-box:8000/v1" }"# },
    ProviderExample { name: "openai-compatible", about: "Any server with OpenAI's protocol. It has no address and no key of its own.", entry: r#"{ id: team, provider: openai-compatible, model: chat-large, base_url: "https://models.example.com/v1", api_key_env: TEAM_KEY }"# },
    ProviderExample { name: "command", about: "A program that prints the reply.", entry: r#"{ id: cmd:mine, provider: command, model: small, with: { command: [mine, --model, "{{ model }}", "{{ prompt }}"] } }"# },
    ProviderExample { name: "scripted", about: "A template that replies, or recorded replies; makes no connection. It sees `system`, `user`, `prompt`, `messages`, `vars`, the fenced sections (`fenced(\"LABEL\")`) and their `code`, which a judge repeats in its verdict.", entry: "{ id: parrot, provider: scripted, price: { input: 0.1, output: 0.4 }, with: { reply: parrot.j2 } }" },
    ProviderExample { name: "stub", about: "Replies with the smallest valid JSON for the requested schema; makes no connection.", entry: "{ id: nothing, provider: stub }" },
];

/// The example of a metric.
pub(super) fn metric(name: &str) -> Option<&'static MetricExample> {
    METRICS.iter().find(|example| example.name == name)
}

/// An entry of `analyses` in YAML.
pub(super) fn analysis(name: &str) -> Option<&'static str> {
    ANALYSES.iter().find(|(known, _)| *known == name).map(|(_, entry)| *entry)
}

/// The example of a provider.
pub(super) fn provider(name: &str) -> Option<&'static ProviderExample> {
    PROVIDERS.iter().find(|example| example.name == name)
}
