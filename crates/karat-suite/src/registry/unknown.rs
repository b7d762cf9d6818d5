//! The message about a name that means no model: the provider to write before it, or the one that was meant.

use super::{Registry, named};
use crate::catalog::NamedModels;
use crate::diagnostics::Problems;
use crate::diagnostics::nearest::nearest;
use crate::syntax::node::Place;

/// Beginnings of names, and the provider that serves them.
const MAKERS: [(&str, &str); 16] = [
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude", "anthropic"),
    ("gemini", "gemini"),
    ("mistral", "mistral"),
    ("ministral", "mistral"),
    ("codestral", "mistral"),
    ("magistral", "mistral"),
    ("deepseek", "deepseek"),
    ("grok", "xai"),
    ("llama", "ollama"),
    ("qwen", "ollama"),
    ("gemma", "ollama"),
];

impl Registry {
    /// Records that a reference names nothing.
    pub(crate) fn report_unknown(&self, reference: &str, place: &Place, problems: &mut Problems) {
        let near = || self.nearest(reference).map(|id| format!("did you mean `{id}`?"));
        let (message, hint) = match reference.split_once(':') {
            Some((spelling, name)) if spelling != "cmd" && !self.providers.is_empty() => {
                self.unknown_at_provider(reference, named::provider(spelling), name)
            }
            Some(_) => (format!("no model `{reference}`"), None),
            None => (self.unknown_name(reference), None),
        };
        let near = || near().filter(|near| !message.ends_with(near.as_str()));
        let hint = hint.or_else(near).unwrap_or_else(|| self.advice());
        problems.error(place, message).hint(hint);
    }

    /// The message and hint for `PROVIDER:NAME`.
    fn unknown_at_provider(&self, reference: &str, provider: &str, name: &str) -> (String, Option<String>) {
        let missing = format!("no model `{reference}`");
        match self.providers.get(provider) {
            Some(_) if name.trim().is_empty() => {
                (format!("{missing}: its name is missing"), Some(format!("write `{provider}:NAME`")))
            }
            Some(NamedModels::NeedAddress) => (
                format!("{missing}; the provider `{provider}` needs an entry with `base_url`"),
                Some(format!("{{ id: {name}, provider: {provider}, base_url: \"http://localhost:8080/v1\" }}")),
            ),
            Some(_) => (format!("{missing}; the provider `{provider}` needs an entry"), None),
            // Ollama's names hold colons: `llama3.2:1b`.
            None if provider.contains(|c: char| c.is_ascii_digit()) => (self.unknown_name(reference), None),
            None => match nearest(provider, self.serving_providers()) {
                Some(near) => (format!("no provider `{provider}`; did you mean `{near}`?"), Some(self.advice())),
                None => (format!("no provider `{provider}`"), Some(self.advice())),
            },
        }
    }

    /// The message for a name without a provider.
    fn unknown_name(&self, reference: &str) -> String {
        let missing = format!("no model `{reference}`");
        let serves = |provider: &str| self.serving_providers().any(|known| known == provider);
        let named = match reference.split_once('/') {
            Some((spelling, name)) if serves(named::provider(spelling)) => {
                format!("{}:{name}", named::provider(spelling))
            }
            Some(_) if serves("openrouter") => format!("openrouter:{reference}"),
            _ => match self.likely_provider(reference) {
                Some(provider) => format!("{provider}:{reference}"),
                // A slip of the pen is likelier than a provider that the name does not tell.
                None if let Some(near) = self.nearest(reference) => {
                    return format!("{missing}; did you mean `{near}`?");
                }
                None if self.serving_providers().next().is_some() => format!("PROVIDER:{reference}"),
                None => return missing,
            },
        };
        format!("{missing}; with its provider it needs no entry: `{named}`")
    }

    /// The provider that most likely serves a model of this name.
    fn likely_provider(&self, name: &str) -> Option<&'static str> {
        let name = name.to_lowercase();
        let of_tag = name.contains(':').then_some("ollama");
        let of_name = MAKERS.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, provider)| *provider);
        of_tag.or(of_name).filter(|provider| self.serving_providers().any(|known| known == *provider))
    }

    /// The providers that serve models without an entry.
    fn serving_providers(&self) -> impl Iterator<Item = &str> {
        let serves = |models: &NamedModels| matches!(models, NamedModels::Billed | NamedModels::Free);
        self.providers.iter().filter(move |(_, models)| serves(models)).map(|(name, _)| name.as_str())
    }

    fn advice(&self) -> String {
        let providers: Vec<&str> = self.serving_providers().collect();
        match providers.as_slice() {
            [] => "`karat models` lists the known models; for another one add an entry { id, provider, model, price }"
                .to_owned(),
            providers => format!(
                "`karat models` lists the models with a known price; any other is PROVIDER:NAME, with one of {}",
                providers.join(", ")
            ),
        }
    }
}
