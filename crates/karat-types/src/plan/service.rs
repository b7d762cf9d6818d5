//! Programs, facts that services and programs report about themselves, and services that are started for a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Pricing, Protocol};

/// Paths to the facts of a step in its answer, or in the row of a recorded step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MeterSpec {
    /// Paths of times in milliseconds, by stage. `total` is the time of the whole step.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_ms: BTreeMap<String, String>,
    /// Token counts by model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<MeteredTokens>,
    /// Path of what the step cost in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<String>,
    /// Path of the service's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Path of the names of the service's models: an object, part to name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<String>,
    /// Prices of the models that may be named. Not part of identity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, Pricing>,
}

impl MeterSpec {
    /// Returns true if an answer says what it cost, in dollars or in tokens.
    pub fn has_cost(&self) -> bool {
        self.cost_usd.is_some() || !self.tokens.is_empty()
    }
}

/// Tokens used by a call of a service or program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeteredTokens {
    /// Path of a list of uses; the other paths look into each of its members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<String>,
    /// Registry id of the model, or (beginning with `$`) the path to it.
    pub model: String,
    /// Path of the input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Path of the output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A process that is started for a run and stopped after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceSpec {
    /// The program and its arguments; `{{ port }}` stands for the port it is to listen on (also in its environment,
    /// as `PORT`).
    pub command: Vec<String>,
    /// Path below its address that answers 2xx when it is ready; without one, that the port accepts connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Declared version, part of the identity of steps that use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Variables of its environment; `${NAME}` as in [`HttpSpec`](crate::HttpSpec).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The folder it runs in. No part of identity.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}

impl ServiceSpec {
    /// Returns whether it is a demonstration that ships with Karat: nobody bills its answers, whatever they say.
    pub fn is_demo(&self) -> bool {
        let words: Vec<&str> = self.command.iter().take(2).map(String::as_str).collect();
        words == ["karat", "demo"]
    }

    /// The part that can change an answer: the declared version, otherwise the command.
    pub fn identity(&self) -> Value {
        match &self.version {
            Some(version) => Value::from(version.as_str()),
            None => Value::from(self.command.clone()),
        }
    }
}

/// The program of a command step. It is started without a shell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// Templates of the program and its arguments. With [`Protocol::Jsonl`] they read nothing of the row.
    pub run: Vec<String>,
    /// Template of what the program reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Variables of its environment, beside the few that every program needs; `${NAME}` as in [`HttpSpec`](crate::HttpSpec).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// The folder it runs in: that of the file it is written in. No part of identity.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
}
