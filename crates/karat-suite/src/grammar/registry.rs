//! Registry files and model entries.

use super::step::PARAMETERS;
use super::{Kind, Object, POSITIVE, Shape, may, must};

pub(crate) static REGISTRY: Object = Object::new(
    "registry",
    &[
        may("schema", Shape::Words(&["karat.models/1"]), "Format version."),
        may("as_of", Shape::Text, "Date of every price that has none of its own."),
        must("models", Shape::List(&Shape::Object(&MODEL)), "The entries."),
    ],
);

pub(crate) static MODEL: Object = Object::new(
    "model",
    &[
        must("id", Shape::Text, "Registry id."),
        may("like", Shape::Text, "Another entry that this one starts from."),
        may("provider", Shape::Text, "Codec."),
        may("with", Shape::With(Kind::Provider), "The provider's options."),
        may("model", Shape::Text, "The name sent to the provider; the id without it."),
        may("family", Shape::Text, "Models of one family judge each other with suspicion."),
        may("base_url", Shape::Text, "API root, where it is not the provider's own."),
        may("api_key_env", Shape::Text, "Environment variable that holds the key."),
        may(
            "price",
            Shape::WordOr(&["unmetered"], &Shape::Object(&PRICE)),
            "US dollars a million tokens, or `unmetered`.",
        ),
        may("context_window", Shape::Integer(1), "Tokens that request and reply may have together."),
        may("max_output", Shape::Integer(1), "Tokens that a reply may have."),
        may("json_mode", Shape::Words(&["none", "object", "schema"]), "Whether it can be made to reply in JSON."),
        may("tier", Shape::Words(&["frontier", "midtier", "budget"]), "How dear it is."),
        may("availability", Shape::Words(&["stable", "experimental", "free-tier"]), "Whether it can be counted on."),
        may("limits", Shape::Object(&LIMITS), "Declared limits."),
        may("parameters", Shape::Open(&PARAMETERS), "Call settings of every call to it."),
        may("timeout", Shape::Duration, "Timeout of one attempt."),
        may("notes", Shape::Text, "For people."),
    ],
)
.foreign(&[("config", "parameters"), ("name", "id"), ("url", "base_url"), ("api_key", "api_key_env")]);

static PRICE: Object = Object::new(
    "price",
    &[
        must("input", POSITIVE, "Input tokens; write `input: 0` if they are free."),
        must("output", POSITIVE, "Output tokens; write `output: 0` if they are free."),
        may("cached_input", POSITIVE, "Input tokens from the provider's cache."),
        may("as_of", Shape::Text, "Date (YYYY-MM-DD) on which the price was read."),
    ],
);

static LIMITS: Object = Object::new(
    "limits",
    &[
        may("rpm", Shape::Integer(1), "Requests a minute."),
        may("tpm", Shape::Integer(1), "Tokens a minute."),
        may("concurrency", Shape::Integer(1), "Calls in flight."),
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
