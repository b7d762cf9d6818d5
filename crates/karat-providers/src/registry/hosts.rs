//! The providers known by name: address, codec, variables.

use schemars::schema_for;
use serde_json::Value;

use crate::codec::anthropic::Anthropic;
use crate::codec::azure::Azure;
use crate::codec::gemini::Gemini;
use crate::codec::openai::embeddings::Embeddings;
use crate::codec::openai::responses::Responses;
use crate::codec::openai::{MISTRAL, OPENAI};
use crate::codec::protocol::Codec;
use crate::options::{COMMAND, CommandOptions, HttpOptions, SCRIPTED, STUB, ScriptedOptions, StubOptions};

/// A provider with an HTTP API.
pub(crate) struct Host {
    /// Its name in the registry.
    pub name: &'static str,
    /// Its protocol.
    pub codec: &'static dyn Codec,
    /// Its API root; `None` if each customer has their own.
    pub base_url: Option<&'static str>,
    /// Environment variable that overrides the API root.
    pub base_url_variable: Option<&'static str>,
    /// Environment variables for its key; the first one that is set counts. Empty if it needs no key.
    pub key_variables: &'static [&'static str],
    /// Environment variable that selects the API version.
    pub version_variable: Option<&'static str>,
    /// True if its models cost nothing unless an entry has a price.
    pub free: bool,
}

impl Host {
    /// A provider with a fixed API root.
    const fn new(
        name: &'static str,
        codec: &'static dyn Codec,
        base_url: &'static str,
        base_url_variable: Option<&'static str>,
        key_variables: &'static [&'static str],
    ) -> Self {
        let base_url = Some(base_url);
        Self { name, codec, base_url, base_url_variable, key_variables, version_variable: None, free: false }
    }

    /// A server with OpenAI's protocol, at the address that it has by default on one's own machine.
    const fn local(name: &'static str, base_url: &'static str) -> Self {
        Self { free: true, ..Self::new(name, &OPENAI, base_url, None, &[]) }
    }
}

#[rustfmt::skip]
pub(crate) static HOSTS: [Host; 15] = [
    Host::new("openai",     &OPENAI,    "https://api.openai.com/v1",      Some("OPENAI_BASE_URL"),    &["OPENAI_API_KEY"]),
    Host::new("openai-responses", &Responses, "https://api.openai.com/v1", Some("OPENAI_BASE_URL"), &["OPENAI_API_KEY"]),
    Host::new("anthropic",  &Anthropic, "https://api.anthropic.com",      Some("ANTHROPIC_BASE_URL"), &["ANTHROPIC_API_KEY"]),
    Host::new("gemini",     &Gemini,    "https://generativelanguage.googleapis.com/v1beta", Some("GEMINI_BASE_URL"), &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
    Host::new("openrouter", &OPENAI,    "https://openrouter.ai/api/v1",   None, &["OPENROUTER_API_KEY"]),
    Host::new("groq",       &OPENAI,    "https://api.groq.com/openai/v1", None, &["GROQ_API_KEY"]),
    Host::new("mistral",    &MISTRAL,   "https://api.mistral.ai/v1",      None, &["MISTRAL_API_KEY"]),
    Host::new("deepseek",   &OPENAI,    "https://api.deepseek.com/v1",    None, &["DEEPSEEK_API_KEY"]),
    Host::new("together",   &OPENAI,    "https://api.together.xyz/v1",    None, &["TOGETHER_API_KEY"]),
    Host { name: "azure", codec: &Azure, base_url: None, base_url_variable: Some("AZURE_OPENAI_ENDPOINT"), key_variables: &["AZURE_OPENAI_API_KEY"], version_variable: Some("AZURE_OPENAI_API_VERSION"), free: false },
    Host::new("fireworks",  &OPENAI,    "https://api.fireworks.ai/inference/v1", None, &["FIREWORKS_API_KEY"]),
    Host::new("xai",        &OPENAI,    "https://api.x.ai/v1",            None, &["XAI_API_KEY"]),
    Host::local("ollama", "http://localhost:11434/v1"),
    Host::local("vllm",   "http://localhost:8000/v1"),
    Host { name: "openai-compatible", codec: &OPENAI, base_url: None, base_url_variable: None, key_variables: &[], version_variable: None, free: false },
];

/// Variables with the logins of programs that act as models.
const LOGINS: [&str; 5] =
    ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "HF_TOKEN"];

/// All variables known to hold a secret.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> {
    HOSTS.iter().flat_map(|host| host.key_variables).chain(&LOGINS).copied()
}

/// The HTTP provider of this name.
pub(crate) fn host(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name)
}

impl Host {
    /// Its protocol for vectors of texts; `None` if Karat knows none.
    pub fn embeddings(&self) -> Option<&'static dyn Codec> {
        (!["anthropic", "gemini", "azure", "openai-responses"].contains(&self.name))
            .then_some(&Embeddings as &dyn Codec)
    }
}

/// Returns whether Karat can ask a provider for vectors of texts.
pub fn makes_embeddings(provider: &str) -> bool {
    provider == STUB || host(provider).is_some_and(|host| host.embeddings().is_some())
}

/// The address and variables of a provider that is called over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpProvider {
    /// Its name in the registry.
    pub name: &'static str,
    /// Its API root; `None` if each customer has their own.
    pub base_url: Option<&'static str>,
    /// Environment variable that replaces the API root.
    pub base_url_variable: Option<&'static str>,
    /// Environment variables that hold its key, in the order in which they are tried; empty if it needs none.
    pub key_variables: &'static [&'static str],
    /// Environment variable with the API version to request.
    pub version_variable: Option<&'static str>,
    /// True if its models cost nothing unless an entry has a price.
    pub free: bool,
}

/// Every provider that is called over HTTP, in the order of the registry.
pub fn http_providers() -> Vec<HttpProvider> {
    let entry = |host: &Host| HttpProvider {
        name: host.name,
        base_url: host.base_url,
        base_url_variable: host.base_url_variable,
        key_variables: host.key_variables,
        version_variable: host.version_variable,
        free: host.free,
    };
    HOSTS.iter().map(entry).collect()
}

/// All providers by name, with the JSON Schema of their `with` options.
pub fn catalog() -> Vec<(&'static str, Value)> {
    let http = schema_for!(HttpOptions).to_value();
    let offline = [
        (COMMAND, schema_for!(CommandOptions).to_value()),
        (SCRIPTED, schema_for!(ScriptedOptions).to_value()),
        (STUB, schema_for!(StubOptions).to_value()),
    ];
    HOSTS.iter().map(|host| (host.name, http.clone())).chain(offline).collect()
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::*;

    #[test]
    fn names_are_unique_and_addresses_are_encrypted() {
        let catalog = catalog();
        for (at, (name, options)) in catalog.iter().enumerate() {
            assert!(catalog[..at].iter().all(|(other, _)| other != name), "{name} stands twice");
            assert_eq!(options["type"], "object", "{name}");
        }
        for host in &HOSTS {
            let root = host.base_url.map(|root| Url::parse(root).unwrap());
            let is_here = root.as_ref().is_some_and(crate::registry::connect::is_loopback);
            assert!(is_here || root.is_none_or(|root| root.scheme() == "https"), "{}", host.name);
            let needs_entry = host.base_url.is_none() && host.base_url_variable.is_none();
            assert_eq!(host.key_variables.is_empty(), is_here || needs_entry, "{}", host.name);
            assert_eq!(host.free, is_here, "{}", host.name);
        }
    }
}
