//! Models without an entry: `PROVIDER:NAME`, split at the first colon. Names may hold further colons and slashes
//! (`ollama:llama3.2:1b`, `together:meta-llama/Llama-3.3-70B-Instruct-Turbo`).

use karat_types::{ModelSpec, Pricing};

use crate::catalog::NamedModels;

/// The families that names begin with.
const FAMILIES: [&str; 9] = ["gpt", "claude", "gemini", "llama", "deepseek", "qwen", "mistral", "grok", "gemma"];

/// The provider of a spelling.
pub(super) fn provider(spelling: &str) -> &str {
    if spelling == "google" { "gemini" } else { spelling }
}

/// The provider that serves the same models in another protocol: what is known of a model there holds.
pub(super) fn other_protocol(provider: &str) -> Option<&'static str> {
    (provider == "openai-responses").then_some("openai")
}

/// The provider and the name of a reference; `None` if one of them is missing.
pub(super) fn split(reference: &str) -> Option<(&str, &str)> {
    let (spelling, name) = reference.split_once(':')?;
    (!spelling.is_empty() && !name.trim().is_empty()).then(|| (provider(spelling), name))
}

/// The model of this name, if its provider serves models without an entry. The provider's own settings hold, and
/// replies in JSON are asked for in words, since nothing is known of the model.
pub(super) fn model(provider: &str, name: &str, models: NamedModels) -> Option<ModelSpec> {
    let price = match models {
        NamedModels::None | NamedModels::NeedAddress => return None,
        NamedModels::Billed => Pricing::Unknown,
        NamedModels::Free => Pricing::Unmetered,
    };
    Some(ModelSpec { price, ..bare_model(provider, name) })
}

/// A model of which only provider and name are known.
pub(super) fn bare_model(provider: &str, name: &str) -> ModelSpec {
    let mut model = ModelSpec::new(format!("{provider}:{name}"), provider);
    name.clone_into(&mut model.model);
    model.family = family(name);
    model
}

fn family(name: &str) -> Option<String> {
    let last = name.rsplit('/').next()?.to_lowercase();
    FAMILIES.iter().find(|family| last.starts_with(**family)).map(|family| (*family).to_owned())
}

/// Returns true for providers that call no server: what answers is on this machine, and needs no key.
pub(super) fn is_offline(provider: &str) -> bool {
    ["scripted", "stub", "command"].contains(&provider)
}

/// Returns true if a model only turns texts into vectors: its entry says so by its family, or its name does, as in
/// `text-embedding-3-small` and `nomic-embed-text`.
pub(crate) fn makes_embeddings(model: &ModelSpec) -> bool {
    let name = model.model.to_lowercase();
    let says = |word: &str| matches!(word, "embed" | "embedding" | "embeddings");
    !is_offline(&model.provider)
        && (model.family.as_deref() == Some("text-embedding")
            || name.split(|c: char| !c.is_ascii_alphanumeric()).any(says))
}
