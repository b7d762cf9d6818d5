//! The providers that are known by name.

use schemars::schema_for;
use serde_json::Value;

use crate::anthropic::Anthropic;
use crate::codec::Codec;
use crate::openai::{MISTRAL, OPENAI};
use crate::options::{HttpOptions, ScriptedOptions, StubOptions};

/// A provider that is reached over HTTP.
pub(crate) struct Host {
    /// Its name in the registry.
    pub name: &'static str,
    /// What it speaks.
    pub codec: &'static dyn Codec,
    /// Its API root.
    pub base_url: &'static str,
    /// Environment variable that replaces the API root.
    pub base_url_variable: Option<&'static str>,
    /// Environment variable that holds its key.
    pub key_variable: &'static str,
}

#[rustfmt::skip]
pub(crate) static HOSTS: [Host; 7] = [
    Host { name: "openai",     codec: &OPENAI,    base_url: "https://api.openai.com/v1",    base_url_variable: Some("OPENAI_BASE_URL"),    key_variable: "OPENAI_API_KEY" },
    Host { name: "anthropic",  codec: &Anthropic, base_url: "https://api.anthropic.com",    base_url_variable: Some("ANTHROPIC_BASE_URL"), key_variable: "ANTHROPIC_API_KEY" },
    Host { name: "openrouter", codec: &OPENAI,    base_url: "https://openrouter.ai/api/v1", base_url_variable: None,                       key_variable: "OPENROUTER_API_KEY" },
    Host { name: "groq",       codec: &OPENAI,    base_url: "https://api.groq.com/openai/v1", base_url_variable: None,                     key_variable: "GROQ_API_KEY" },
    Host { name: "mistral",    codec: &MISTRAL,   base_url: "https://api.mistral.ai/v1",    base_url_variable: None,                       key_variable: "MISTRAL_API_KEY" },
    Host { name: "deepseek",   codec: &OPENAI,    base_url: "https://api.deepseek.com/v1",  base_url_variable: None,                       key_variable: "DEEPSEEK_API_KEY" },
    Host { name: "together",   codec: &OPENAI,    base_url: "https://api.together.xyz/v1",  base_url_variable: None,                       key_variable: "TOGETHER_API_KEY" },
];

/// The model whose replies a suite writes.
pub(crate) const SCRIPTED: &str = "scripted";
/// The model that gives a valid reply without meaning.
pub(crate) const STUB: &str = "stub";
/// Providers that make no connection.
pub(crate) const OFFLINE: [&str; 2] = [SCRIPTED, STUB];

/// The provider of this name that is reached over HTTP.
pub(crate) fn host(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name)
}

/// Every provider by name, with the JSON Schema of its `with` options.
pub fn catalog() -> Vec<(&'static str, Value)> {
    let http = schema_for!(HttpOptions).to_value();
    let offline = [(SCRIPTED, schema_for!(ScriptedOptions).to_value()), (STUB, schema_for!(StubOptions).to_value())];
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
            assert_eq!(Url::parse(host.base_url).unwrap().scheme(), "https", "{}", host.name);
        }
    }
}
