//! Names of models: as promptfoo writes them, and as a suite does.

use serde_json::Value;

/// The name of a judge that a config names: a text, or `{id}`, or `{text: …}` beside an embedding model.
pub(super) fn judge_name(value: &Value) -> Option<String> {
    let id = match value {
        Value::String(id) => id,
        Value::Object(provider) => match (provider.get("id"), provider.get("text")) {
            (Some(Value::String(id)), _) => id,
            (None, Some(text)) => return judge_name(text),
            _ => return None,
        },
        _ => return None,
    };
    model_by_name(id).map(|(provider, model)| format!("{provider}:{model}"))
}

/// The name of an embedding model that a config names: `openai:embedding:MODEL`.
pub(super) fn embedding_name(value: &Value) -> Option<String> {
    let id = value.as_str().or_else(|| value.get("id")?.as_str()).or_else(|| value.get("embedding")?.as_str())?;
    let (provider, model) = id.split_once(":embedding:").or_else(|| id.split_once(":embeddings:"))?;
    Some(format!("{provider}:{model}")).filter(|_| matches!(provider, "openai" | "azure" | "ollama" | "mistral"))
}

/// The provider and the model's name in a suite; `None` of what a suite cannot ask by name.
pub(super) fn model_by_name(id: &str) -> Option<(&'static str, &str)> {
    let (prefix, rest) = id.split_once(':')?;
    let mode = |modes: &[&str]| match rest.split_once(':') {
        Some((mode, model)) if modes.contains(&mode) => Some(model),
        _ => Some(rest),
    };
    let without = |kinds: &[&str]| !kinds.iter().any(|kind| rest.starts_with(kind));
    let (provider, model) = match prefix {
        "openai"
            if without(&[
                "embedding",
                "image:",
                "assistant:",
                "realtime:",
                "moderation:",
                "transcription:",
                "speech:",
            ]) =>
        {
            ("openai", mode(&["chat", "responses", "completion"])?)
        }
        "anthropic" if without(&["claude-agent-sdk"]) => ("anthropic", mode(&["messages", "completion"])?),
        "google" | "vertex" | "palm" if without(&["live:", "image:", "embedding:"]) => ("gemini", mode(&["chat"])?),
        "azure" | "azureopenai" if without(&["embedding", "assistant:", "image:"]) => {
            ("azure", mode(&["chat", "completion", "responses"])?)
        }
        "openrouter" => ("openrouter", rest),
        "groq" => ("groq", rest),
        "mistral" if without(&["embedding"]) => ("mistral", rest),
        "deepseek" => ("deepseek", rest),
        "togetherai" => ("together", mode(&["chat", "completion"])?),
        "fireworks" => ("fireworks", rest),
        "xai" if without(&["image:"]) => ("xai", rest),
        "ollama" if without(&["embeddings:"]) => ("ollama", mode(&["chat", "completion"])?),
        _ => return None,
    };
    (!model.is_empty()).then_some((provider, model))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// IO-02: names of models.
    #[test]
    fn models_by_name() {
        for (id, expected) in [
            ("openai:gpt-4.1", Some("openai:gpt-4.1")),
            ("openai:chat:gpt-5", Some("openai:gpt-5")),
            ("openai:responses:gpt-5", Some("openai:gpt-5")),
            ("openai:embedding:text-embedding-3-large", None),
            ("anthropic:messages:claude-sonnet-4-5", Some("anthropic:claude-sonnet-4-5")),
            ("google:gemini-2.5-pro", Some("gemini:gemini-2.5-pro")),
            ("vertex:gemini-2.5-pro", Some("gemini:gemini-2.5-pro")),
            ("azureopenai:chat:my-deployment", Some("azure:my-deployment")),
            ("openrouter:meta/llama-3", Some("openrouter:meta/llama-3")),
            ("togetherai:meta/llama-3", Some("together:meta/llama-3")),
            ("ollama:chat:llama3.2:1b", Some("ollama:llama3.2:1b")),
            ("ollama:llama3.2:1b", Some("ollama:llama3.2:1b")),
            ("bedrock:x", None),
            ("file://provider.py", None),
            ("openai:chat:", None),
        ] {
            assert_eq!(judge_name(&json!(id)).as_deref(), expected, "{id}");
        }
        assert_eq!(
            judge_name(&json!({"text": {"id": "openai:chat:a"}, "embedding": "x"})).as_deref(),
            Some("openai:a")
        );
    }
}
