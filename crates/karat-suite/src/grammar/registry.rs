//! Registry files and model entries.

use super::step::PARAMETERS;
use super::{Kind, Object, POSITIVE, Shape, may, must};

pub(crate) static REGISTRY: Object = Object::new(
    "registry",
    &[
        may("schema", Shape::Words(&["karat.models/1"]), "Version of the registry format.", "karat.models/1"),
        may("as_of", Shape::Text, "Date of every price that has none of its own.", "2025-11-02"),
        may(
            "source",
            Shape::Text,
            "Where the prices were read, unless one says so itself.",
            "https://example.com/prices",
        ),
        must(
            "models",
            Shape::List(&Shape::Object(&MODEL)),
            "The entries.",
            r#"[{ id: my-llama, provider: openai, base_url: "http://localhost:11434/v1", price: unmetered }]"#,
        ),
        may(
            "sets",
            Shape::Map(&Shape::List(&Shape::Text)),
            "Named sets of models. In `models` and `--models`, the name of a set stands for its models.",
            "{ small: [gpt-5-mini, gemini-2.5-flash] }",
        ),
    ],
);

pub(crate) static MODEL: Object = Object::new(
    "model",
    &[
        must("id", Shape::Text, "Id by which suites and flags name the model.", "my-llama"),
        may("like", Shape::Text, "Id of another entry from which this one takes what it does not set.", "gpt-5-mini"),
        may("provider", Shape::Text, "Protocol of the provider.", "openai"),
        may("with", Shape::With(Kind::Provider), "Options of the provider.", "{ headers: { X-Team: evals } }"),
        may("model", Shape::Text, "Name that is sent to the provider. Default: the id.", "llama3.1:8b"),
        may("family", Shape::Text, "Family of the model. `judge_bias` compares how a judge grades its own family.", "llama"),
        may("base_url", Shape::Text, "Root of the API, if it is not the provider's own.", "http://localhost:11434/v1"),
        may("api_key_env", Shape::Text, "Environment variable with the API key.", "OPENAI_API_KEY"),
        may(
            "api_key_command",
            Shape::List(&Shape::Text),
            "Program and arguments that print the API key. It runs again after 30 minutes, and once when a key is refused.",
            "[gcloud, auth, print-access-token]",
        ),
        may(
            "price",
            Shape::WordOr(&["unmetered"], &Shape::Object(&PRICE)),
            "Price in US dollars per million tokens, or `unmetered`.",
            "{ input: 0.25, output: 2 }",
        ),
        may("context_window", Shape::Integer(1), "Tokens that request and reply may have together.", "128000"),
        may(
            "image_tokens",
            Shape::Object(&IMAGE_TOKENS),
            "Tokens of an image, for estimates: width × height ÷ `per_pixels`, at most `most`. Without it an image counts as 16,000.",
            "{ most: 1600, per_pixels: 750 }",
        ),
        may("max_output", Shape::Integer(1), "Largest number of tokens in a reply.", "8192"),
        may(
            "json_mode",
            Shape::Words(&["none", "object", "schema"]),
            "Support for JSON replies: none, any object, or a schema.",
            "schema",
        ),
        may(
            "tier",
            Shape::Words(&["frontier", "midtier", "budget"]),
            "Price tier, for `--tier` and `requires`.",
            "budget",
        ),
        may(
            "availability",
            Shape::Words(&["stable", "experimental", "free-tier"]),
            "Stability of the offer.",
            "stable",
        ),
        may("limits", Shape::Object(&LIMITS), "Rate limits to keep to.", "{ rpm: 500, tpm: 200000 }"),
        may("parameters", Shape::Open(&PARAMETERS), "Call settings of every call to this model.", "{ temperature: 0 }"),
        may(
            "sampling",
            Shape::Words(&["free", "fixed"]),
            "Sampling settings that the model takes. With `fixed`, judges send it no temperature unless `parameters` sets one; \
             reasoning models of OpenAI are known by their names.",
            "fixed",
        ),
        may("timeout", Shape::Duration, "Time limit for one attempt of a call.", "120s"),
        may("notes", Shape::Text, "Remarks for readers.", "runs on the team's own GPU"),
    ],
)
.foreign(&[("config", "parameters"), ("name", "id"), ("url", "base_url"), ("api_key", "api_key_env")]);

/// The keys of a set of rates, and more.
macro_rules! with_rates {
    ($($more:expr),* $(,)?) => {
        &[
            must("input", POSITIVE, "US dollars per million input tokens; write `input: 0` if they are free.", "0.25"),
            must("output", POSITIVE, "US dollars per million output tokens; write `output: 0` if they are free.", "2"),
            may(
                "cached_input",
                POSITIVE,
                "US dollars per million input tokens from the provider's cache. Default: `input`; of Anthropic a tenth of it.",
                "0.025",
            ),
            may(
                "cache_write",
                POSITIVE,
                "US dollars per million input tokens that the provider stores in its cache. Default: `input`; of Anthropic 1.25 times it.",
                "0.3125",
            ),
            may(
                "cache_write_1h",
                POSITIVE,
                "US dollars per million input tokens that it stores for an hour or longer. Default: `cache_write`; of Anthropic twice `input`.",
                "0.5",
            ),
            may(
                "reasoning",
                POSITIVE,
                "US dollars per million output tokens of reasoning. Default: `output`.",
                "2",
            ),
            may(
                "audio_input",
                POSITIVE,
                "US dollars per million input tokens of audio. Without it the cost of a call with audio is unknown.",
                "1",
            ),
            $($more),*
        ]
    };
}

/// A share of a price, or rates of its own.
const SHARE_OR_SET: Shape = Shape::NumberOr(0.0, 1_000.0, &Shape::Object(&RATE_SET));

const ABOVE: Shape = Shape::List(&Shape::Object(&LONG_RATES));

static PRICE: Object = Object::new(
    "price",
    with_rates![
        may(
            "above",
            ABOVE,
            "Rates of calls with more input tokens than `tokens`, for all of their tokens. Of several the largest passed holds.",
            "[{ tokens: 200000, input: 0.5, output: 3 }]",
        ),
        may(
            "batch",
            SHARE_OR_SET,
            "Price of calls by a batch API: a share of every rate, or rates of its own. A share below 1 leaves `cached_input` \
             and `audio_input` as they are. Default: 0.5.",
            "0.5",
        ),
        may(
            "service",
            Shape::Map(&SHARE_OR_SET),
            "Prices by the tier of service that a reply names, as `batch`. The cost of a call in a tier that is missing here is \
             unknown.",
            "{ flex: 0.5, priority: { input: 0.45, output: 3.6 } }",
        ),
        may("as_of", Shape::Text, "Date on which the price was looked up, as YYYY-MM-DD.", "2025-11-02"),
        may("source", Shape::Text, "Where the price was looked up.", "https://example.com/prices"),
    ],
);

static RATE_SET: Object = Object::new(
    "rates",
    with_rates![may(
        "above",
        ABOVE,
        "Rates of calls with more input tokens than `tokens`. A long call without them here, but in the base, has no known price.",
        "[{ tokens: 200000, input: 0.5, output: 3 }]",
    )],
);

static LONG_RATES: Object = Object::new(
    "long rates",
    with_rates![must("tokens", Shape::Integer(1), "Input tokens above which these rates hold.", "200000")],
);

static IMAGE_TOKENS: Object = Object::new(
    "image tokens",
    &[
        must("most", Shape::Integer(1), "Largest number of tokens of an image.", "1600"),
        must("per_pixels", Shape::Integer(1), "Pixels of a token.", "750"),
    ],
);

static LIMITS: Object = Object::new(
    "limits",
    &[
        may("rpm", Shape::Integer(1), "Requests per minute.", "500"),
        may("tpm", Shape::Integer(1), "Tokens per minute.", "200000"),
        may("concurrency", Shape::Integer(1), "Number of calls at the same time.", "8"),
    ],
);

/// Spellings of other tools that a user's registry may have, and what they are here.
pub(crate) const SEED_SPELLINGS: &[(&str, &str)] = &[
    ("costPer1kTokens", "price"),
    ("supportsJsonMode", "json_mode"),
    ("contextWindow", "context_window"),
    ("modelName", "model"),
    ("baseUrl", "base_url"),
];
