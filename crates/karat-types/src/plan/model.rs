//! An entry of the model registry.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Billing, Money, Parameters, Pricing, Usage};

/// The quality and price class of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// The ceiling.
    Frontier,
    /// A likely production default.
    Midtier,
    /// The cost floor.
    Budget,
}

/// The availability of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Availability {
    /// Generally available.
    #[default]
    Stable,
    /// May change or go.
    Experimental,
    /// A free gateway: may change or go, and is limited.
    FreeTier,
}

/// The support for JSON replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JsonMode {
    /// No: it is asked in words only.
    #[default]
    None,
    /// Any JSON object.
    Object,
    /// JSON after a schema.
    Schema,
}

/// Declared limits of an account and model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Requests a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rpm: Option<u32>,
    /// Tokens a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpm: Option<u64>,
    /// Calls in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
}

/// The sampling settings that a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// A temperature and the like.
    Free,
    /// None: requests with a temperature are refused.
    Fixed,
}

/// The rule by which a model counts an image: min(`most`, ceil(width · height / `per_pixels`)) tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageTokens {
    /// The largest number of tokens of an image.
    pub most: u64,
    /// Pixels of a token.
    pub per_pixels: u64,
}

/// A model as the registry knows it, everything resolved. Secrets are named, never held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelSpec {
    /// Registry id, for example `gpt-5`.
    pub id: String,
    /// Codec: `openai`, `anthropic`, `scripted`, …
    pub provider: String,
    /// The provider's own options, checked by the codec (`reply`, `vars` of a script: contents, not paths).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub with: Map<String, Value>,
    /// The name sent to the provider.
    pub model: String,
    /// True if it is asked for the vectors of texts, and not for replies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embeds: bool,
    /// Models of one family judge each other with suspicion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// API root, where it is not the provider's own. May hold `${NAME}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// A program and its arguments that print the key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub api_key_command: Vec<String>,
    /// The known price.
    #[serde(default)]
    pub price: Pricing,
    /// The price of calls that are made live, where `price` is that of batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_price: Option<Pricing>,
    /// Tokens that request and reply may have together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens that a reply may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// The tokens of an image, where they are known. No part of identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_tokens: Option<ImageTokens>,
    /// The support for JSON replies.
    #[serde(default)]
    pub json_mode: JsonMode,
    /// The price class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// The availability.
    #[serde(default)]
    pub availability: Availability,
    /// Declared limits.
    #[serde(default)]
    pub limits: Limits,
    /// Call settings of every call to it.
    #[serde(default)]
    pub parameters: Parameters,
    /// The sampling settings that it takes; absent = known by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// Timeout of one attempt in milliseconds, where it is not the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Digests of the files its options were read from, by path as written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

impl ModelSpec {
    /// Returns whether a script on this machine plays the model: nobody bills its calls, and its replies say nothing of any
    /// model.
    pub fn is_scripted(&self) -> bool {
        matches!(self.provider.as_str(), "scripted" | "stub")
    }

    /// Returns true if both call one model of one provider, whatever their ids and settings.
    pub fn is_same_model(&self, other: &Self) -> bool {
        (&self.provider, &self.model, &self.base_url) == (&other.provider, &other.model, &other.base_url)
    }

    /// Returns true if both declare one family.
    pub fn is_same_family(&self, other: &Self) -> bool {
        self.family.is_some() && self.family == other.family
    }

    /// The model with the price of calls that are made live.
    #[must_use]
    pub fn live(&self) -> Self {
        let mut live = self.clone();
        if let Some(price) = live.live_price.take() {
            live.price = price;
        }
        live
    }

    /// The cost of a call as [`Pricing::bill`] says. Batches have one price, whatever tier their replies name.
    pub fn bill(&self, usage: &Usage, billing: &Billing) -> Option<Money> {
        match self.live_price {
            Some(_) => self.price.bill(usage, &Billing { tier: None, ..billing.clone() }),
            None => self.price.bill(usage, billing),
        }
    }

    /// Its id as suites may also write it, with the provider before it: `openai:gpt-5`, `openai/gpt-5`.
    pub fn spellings(&self) -> [String; 2] {
        [":", "/"].map(|between| format!("{}{between}{}", self.provider, self.id))
    }

    /// Returns true if a name means this model: its id, or one of its [`spellings`](Self::spellings).
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.spellings().iter().any(|spelling| spelling == name)
    }
}

impl ModelSpec {
    /// Returns true if a temperature may be sent to it without being asked for: where `sampling` says so, or where it is not
    /// known by its name to refuse one.
    pub fn takes_temperature(&self) -> bool {
        match self.sampling {
            Some(sampling) => sampling == Sampling::Free,
            None => !self.is_openai_reasoning(),
        }
    }

    /// Returns true if it is one of OpenAI's reasoning models by its name: the o series, and `gpt-5` but for its chat models.
    pub fn is_openai_reasoning(&self) -> bool {
        let name = self.model.rsplit('/').next().unwrap_or(&self.model);
        let is_o_series = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        is_o_series || (name.starts_with("gpt-5") && !name.contains("chat"))
    }

    /// A model of which only the name is known: no price, no limits, the provider's own settings.
    pub fn new(id: impl Into<String>, provider: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            model: id.clone(),
            embeds: false,
            id,
            provider: provider.into(),
            with: Map::new(),
            family: None,
            base_url: None,
            api_key_env: None,
            api_key_command: Vec::new(),
            price: Pricing::default(),
            live_price: None,
            context_window: None,
            max_output: None,
            image_tokens: None,
            json_mode: JsonMode::default(),
            tier: None,
            availability: Availability::default(),
            limits: Limits::default(),
            parameters: Parameters::default(),
            sampling: None,
            timeout_ms: None,
            notes: None,
            files: BTreeMap::new(),
        }
    }

    /// Returns true if a program on this machine answers. Its content is unknown, so other runs reuse its results only
    /// under a declared version.
    pub fn is_program(&self) -> bool {
        self.provider == "command"
    }

    /// The part of the entry that can change an answer and is therefore part of identities. Prices, the place of a stated
    /// cost, limits, notes and the registry id are not in it, so renaming or repricing a model re-runs nothing.
    pub fn identity(&self) -> impl Serialize + '_ {
        let mut with = Cow::Borrowed(&self.with);
        if with.contains_key("cost") {
            with.to_mut().shift_remove("cost");
        }
        (&self.provider, with, &self.model, &self.base_url, &self.parameters, self.max_output, self.json_mode)
    }
}
