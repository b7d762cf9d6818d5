//! Models that a config names: of providers, judges and embeddings, wherever one can stand. What they are asked with (address, key,
//! temperature, …) goes with them. A model whose address or key cannot be carried over is refused: another address would get
//! its data and a key.

use karat_text::host::host_of;
use serde_json::{Map, Value, json};

use super::refusal::Refusal;
use super::settings::{Settings, variable_name};
use super::values::{number, number_of, text_of};
use crate::report::ImportReport;
use crate::text::names::Names;

/// Keys of a model's `config` that become its parameters.
const PARAMETERS: [(&str, &str); 14] = [
    ("temperature", "temperature"),
    ("max_tokens", "max_tokens"),
    ("maxTokens", "max_tokens"),
    ("max_completion_tokens", "max_tokens"),
    ("max_output_tokens", "max_tokens"),
    ("maxOutputTokens", "max_tokens"),
    ("num_predict", "max_tokens"),
    ("top_p", "top_p"),
    ("topP", "top_p"),
    ("seed", "seed"),
    ("stop", "stop"),
    ("stop_sequences", "stop"),
    ("stopSequences", "stop"),
    ("reasoning_effort", "effort"),
];

/// Keys that name an address, and those that name a host of which the provider's paths are known.
const ADDRESSES: [&str; 4] = ["apiBaseUrl", "baseUrl", "baseURL", "apiHost"];

/// Words in keys that decide where a request goes. Such a key that is not known here is a reason to refuse.
const ROUTES: [&str; 11] = [
    "url",
    "host",
    "endpoint",
    "proxy",
    "gateway",
    "region",
    "location",
    "projectid",
    "project_id",
    "publisher",
    "credentials",
];

/// The beginnings of the environment's variables of a provider.
const PREFIXES: [(&str, &[&str]); 4] = [
    ("gemini", &["GOOGLE", "GEMINI", "PALM"]),
    ("azure", &["AZURE", "AZURE_OPENAI"]),
    ("together", &["TOGETHER"]),
    ("openai-compatible", &[]),
];

/// Services that speak OpenAI's protocol and have no provider of their own here: the beginning of an id, the address, and the
/// variable of the key.
const COMPATIBLE: [(&str, &str, Option<&str>); 10] = [
    ("aimlapi:", "https://api.aimlapi.com/v1", Some("AIML_API_KEY")),
    ("alibaba:", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", Some("DASHSCOPE_API_KEY")),
    ("cerebras:", "https://api.cerebras.ai/v1", Some("CEREBRAS_API_KEY")),
    ("dashscope:", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", Some("DASHSCOPE_API_KEY")),
    ("github:", "https://models.github.ai/inference", Some("GITHUB_TOKEN")),
    ("huggingface:chat:", "https://router.huggingface.co/v1", Some("HF_TOKEN")),
    ("hyperbolic:", "https://api.hyperbolic.xyz/v1", Some("HYPERBOLIC_API_KEY")),
    ("localai:", "http://localhost:8080/v1", None),
    ("novita:", "https://api.novita.ai/openai/v1", Some("NOVITA_API_KEY")),
    ("perplexity:", "https://api.perplexity.ai", Some("PERPLEXITY_API_KEY")),
];

/// Settings that change how a model is asked or shown, and not what it answers.
const WITHOUT_EFFECT: [&str; 5] = ["isReasoningModel", "maxRetries", "omitDefaults", "cache_control", "apiKeyRequired"];

/// A model that a suite can ask.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    provider: String,
    name: String,
    /// The keys of its entry but id, provider and model.
    settings: Map<String, Value>,
}

/// A model that is asked for a purpose; the error: one is named that is not carried over.
pub(super) type Choice = Option<Result<Model, ()>>;

/// The models that grade: those of a test's options or of an assert.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Grading {
    pub text: Choice,
    pub embedding: Choice,
}

impl Grading {
    /// Reads `provider`: a name, `{id, config}`, or `{text, embedding}` with such. A place with `[*]` or an earlier one repeats
    /// nothing.
    pub fn read(value: &Value, path: &str, settings: &Settings, report: &mut ImportReport) -> Self {
        let is_typed = value
            .as_object()
            .is_some_and(|it| !it.contains_key("id") && (it.contains_key("text") || it.contains_key("embedding")));
        let mut read = |value: &Value, path: &str| {
            Model::of_value(value, path, settings, report).map_err(|refusal| {
                let construct = value.get("id").map_or_else(|| text_of(value), text_of);
                report.drop(refusal.of_sample(path, &construct));
            })
        };
        if is_typed {
            let mut part =
                |key: &str| value.get(key).filter(|it| !it.is_null()).map(|it| read(it, &format!("{path}.{key}")));
            return Self { text: part("text"), embedding: part("embedding") };
        }
        if value.is_null() {
            return Self::default();
        }
        match is_embedding(&id_of(value)) {
            true => Self { text: None, embedding: Some(read(value, path)) },
            false => Self { text: Some(read(value, path)), embedding: None },
        }
    }

    /// This choice, and another one's where it makes none.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            text: self.text.clone().or_else(|| other.text.clone()),
            embedding: self.embedding.clone().or_else(|| other.embedding.clone()),
        }
    }
}

fn id_of(value: &Value) -> String {
    value.get("id").or(Some(value)).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn is_embedding(id: &str) -> bool {
    id.split(':').any(|part| matches!(part, "embedding" | "embeddings"))
}

impl Model {
    /// The model of a name, or of `{id, config, env}`.
    ///
    /// # Errors
    /// The reason why a suite cannot ask it where the config asks it.
    pub fn of_value(
        value: &Value,
        path: &str,
        settings: &Settings,
        report: &mut ImportReport,
    ) -> Result<Self, Refusal> {
        let map = |key: &str| value.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        let id = id_of(value);
        Self::read(&id, &map("config"), &settings.with(&map("env")), path, report)
    }

    /// The model of an id, with its `config`.
    ///
    /// # Errors
    /// As [`Self::named`].
    pub fn read(
        id: &str,
        config: &Map<String, Value>,
        settings: &Settings,
        path: &str,
        report: &mut ImportReport,
    ) -> Result<Self, Refusal> {
        // `openai:chat` alone has the model's name in its config.
        let written = config.get("model").and_then(Value::as_str).filter(|model| !model.is_empty());
        let named = match (id.split_once(':'), written) {
            (Some((_, mode)), Some(model)) if MODES.contains(&mode) => format!("{id}:{model}"),
            _ => id.to_owned(),
        };
        let service = compatible(id);
        let known = match &service {
            Some((_, name)) => Some(("openai-compatible", *name)),
            None if is_embedding(id) => embedding_by_name(id),
            None => model_by_name(&named),
        };
        let (provider, name) = known.ok_or_else(|| {
            Refusal::new("is not a model that a suite can ask by name")
                .instead("`provider: openai-compatible` with its `base_url`, if it speaks OpenAI's protocol")
        })?;
        let path = format!("{path}.config");
        let address = address(id, provider, config, settings)?;
        let mut model = Self { provider: provider.to_owned(), name: name.to_owned(), settings: Map::new() };
        let own = service.filter(|_| address.is_none()).map(|(service, _)| service);
        let url = address.as_deref().or(own.map(|service| service.url));
        model.settings.extend(url.map(|url| ("base_url".to_owned(), json!(url))));
        model.settings.extend(own.and_then(|it| it.key).map(|key| ("api_key_env".to_owned(), json!(key))));
        if id.starts_with("vertex:") {
            report.note(
                path.clone(),
                "Vertex AI is not asked, but the Gemini API of the same models, with GEMINI_API_KEY",
            );
        }
        model.read_key(address.as_deref(), config, settings, &path, report);
        let mut parameters = Map::new();
        for (key, value) in config {
            model.read_setting(key, value, &mut parameters, settings, &path, report);
        }
        model.read_price(config, &path, report);
        if !parameters.is_empty() {
            model.settings.insert("parameters".to_owned(), Value::Object(parameters));
        }
        Ok(model)
    }

    /// The variable of the key. A key that is written down becomes the provider's own variable only at the provider's own
    /// address: elsewhere the real key would be sent to whoever has the other.
    fn read_key(
        &mut self,
        address: Option<&str>,
        config: &Map<String, Value>,
        settings: &Settings,
        path: &str,
        report: &mut ImportReport,
    ) {
        let of_service = self.settings.get("api_key_env").map(text_of);
        let usual = of_service.unwrap_or_else(|| format!("{}_API_KEY", self.provider.to_uppercase().replace('-', "_")));
        let of_env =
            || prefixes(&self.provider).iter().find_map(|prefix| settings.env.get(&format!("{prefix}_API_KEY")));
        let variable =
            config.get("apiKeyEnvar").filter(|name| name.as_str().is_some_and(|name| !name.trim().is_empty()));
        let written = config.get("apiKey").filter(|key| !key.is_null());
        let name = match (variable, written.or_else(of_env)) {
            (Some(variable), _) => text_of(variable),
            (None, Some(key)) => {
                let own = match address {
                    None => usual.clone(),
                    Some(address) => {
                        let host = host_of(address);
                        let is_name = host.starts_with(|c: char| c.is_ascii_alphabetic());
                        format!("{}_API_KEY", variable_name(if is_name { host } else { "model" }))
                    }
                };
                settings.secret_name(&text_of(key), &own, &format!("{path}.apiKey"), report)
            }
            (None, None) => {
                let needs_none = config.get("apiKeyRequired") == Some(&json!(false));
                if address.is_some() && needs_none && self.provider == "openai" {
                    // It has no key of its own that could be sent.
                    self.provider = "openai-compatible".to_owned();
                }
                return;
            }
        };
        let is_usual = name == usual && address.is_none() && variable.is_none() && written.is_none();
        if !is_usual {
            self.settings.insert("api_key_env".to_owned(), json!(name));
        }
    }

    fn read_setting(
        &mut self,
        key: &str,
        value: &Value,
        parameters: &mut Map<String, Value>,
        settings: &Settings,
        path: &str,
        report: &mut ImportReport,
    ) {
        let parameter = PARAMETERS.iter().find(|(name, _)| *name == key);
        match (key, parameter) {
            (_, Some((_, "stop"))) if value.is_string() => drop(parameters.insert("stop".to_owned(), json!([value]))),
            (_, Some((_, parameter))) => drop(parameters.insert((*parameter).to_owned(), value.clone())),
            ("headers", _) => {
                let headers = settings.headers(value, &format!("{path}.{key}"), report);
                self.settings.insert("with".to_owned(), json!({"headers": headers}));
            }
            ("model", _) if self.name == text_of(value) => {}
            ("apiKeyEnvar" | "apiKey" | "inputCost" | "outputCost" | "cost" | "tools", _) => {}
            ("showThinking", _) if value == &json!(false) => {}
            (key, _) if WITHOUT_EFFECT.contains(&key) => {}
            (key, _) if ADDRESSES.contains(&key) => {}
            ("functions" | "tool_choice" | "function_call", _) => {
                let refusal =
                    Refusal::new("belongs to the prompt here").instead("`tools` and `tool_choice` of the prompt");
                report.drop(refusal.of_all(&format!("{path}.{key}"), key));
            }
            _ => report.drop(Refusal::new("is not a setting of a model here").of_all(&format!("{path}.{key}"), key)),
        }
    }

    /// US dollars a token there, a million tokens here.
    fn read_price(&mut self, config: &Map<String, Value>, path: &str, report: &mut ImportReport) {
        let cost = |key: &str| config.get(key).or_else(|| config.get("cost")).and_then(number_of);
        match (cost("inputCost"), cost("outputCost")) {
            (Some(input), Some(output)) => {
                let price = json!({"input": number(input * 1e6), "output": number(output * 1e6)});
                self.settings.insert("price".to_owned(), price);
            }
            (None, None) => {}
            _ => {
                let refusal = Refusal::new("a price needs both parts").instead("`price: { input, output }`");
                report.drop(refusal.of_all(path, "cost"));
            }
        }
    }

    /// Its id and its entry under a label: the name alone where nothing goes with it.
    pub fn entry(&self, label: Option<&str>, ids: &mut Names) -> (String, Value) {
        let by_name = format!("{}:{}", self.provider, self.name);
        let (id, mut entry) = match label.filter(|label| *label != by_name) {
            None if ids.claim(&by_name) && self.provider != "openai-compatible" => {
                (by_name.clone(), Map::from_iter([("id".to_owned(), json!(by_name))]))
            }
            label => {
                let id = ids.take(label.unwrap_or(&by_name), "model");
                // At its provider's own address a model costs what its name says.
                let is_by_name = self.provider != "openai-compatible" && !self.settings.contains_key("base_url");
                let named = match is_by_name {
                    true => vec![("id", json!(id)), ("like", json!(by_name))],
                    false => {
                        vec![("id", json!(id)), ("provider", json!(self.provider)), ("model", json!(self.name))]
                    }
                };
                (id, named.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }
        };
        if self.settings.is_empty() && entry.len() == 1 {
            return (id.clone(), json!(id));
        }
        entry.extend(self.settings.clone());
        (id, Value::Object(entry))
    }
}

/// Models beside the suite's own, which single scorers ask: their entries stand in a registry file.
#[derive(Debug, Default)]
pub(super) struct OwnModels {
    ids: Names,
    known: Vec<(Model, String)>,
    pub entries: Vec<Value>,
}

impl OwnModels {
    /// The id by which a scorer names the model.
    pub fn id(&mut self, model: &Model) -> String {
        if let Some((_, id)) = self.known.iter().find(|(known, _)| known == model) {
            return id.clone();
        }
        let is_plain = model.settings.is_empty() && model.provider != "openai-compatible";
        let label = (!is_plain).then(|| format!("{}-own", model.name));
        let (id, entry) = model.entry(label.as_deref(), &mut self.ids);
        self.entries.extend((!is_plain).then_some(entry));
        self.known.push((model.clone(), id.clone()));
        id
    }
}

/// The beginnings of the environment's variables of a provider.
fn prefixes(provider: &str) -> Vec<String> {
    let known = PREFIXES.iter().find(|(name, _)| *name == provider).map(|(_, prefixes)| *prefixes);
    known.map_or_else(
        || vec![provider.to_uppercase().replace('-', "_")],
        |all| all.iter().map(|it| (*it).to_owned()).collect(),
    )
}

/// The key of a config that decides where a request goes.
pub(super) fn route(config: &Map<String, Value>) -> Option<&str> {
    config.keys().map(String::as_str).find(|key| is_route(key))
}

fn is_route(key: &str) -> bool {
    let key = key.to_lowercase();
    ROUTES.iter().any(|word| key.contains(word))
}

/// The address that a model's config or the environment of the config names; `None` for the provider's own.
///
/// # Errors
/// One is named that cannot be carried over.
fn address(
    id: &str,
    provider: &str,
    config: &Map<String, Value>,
    settings: &Settings,
) -> Result<Option<String>, Refusal> {
    if let Some(key) = config.keys().filter(|key| !ADDRESSES.contains(&key.as_str())).find(|key| is_route(key)) {
        return Err(Refusal::new(format!("its `{key}` decides where it is asked, and has no counterpart"))
            .instead("an entry with `base_url`, and `api_key_env` or `api_key_command`"));
    }
    if id.starts_with("vertex:")
        && settings.env.keys().any(|key| key.starts_with("VERTEX_") || key.contains("CLOUD_PROJECT"))
    {
        return Err(Refusal::new("is asked at an address of a project of Vertex AI")
            .instead("`provider: openai-compatible` with its `base_url` and `api_key_command`"));
    }
    let of_config =
        ADDRESSES.iter().find_map(|key| Some((*key == "apiHost", config.get(*key).filter(|it| !it.is_null())?)));
    let variables = [("_API_HOST", true), ("_API_BASE_URL", false), ("_BASE_URL", false), ("_ENDPOINT", false)];
    let of_env = || {
        let names = prefixes(provider)
            .into_iter()
            .flat_map(|prefix| variables.map(|(end, is_host)| (is_host, format!("{prefix}{end}"))));
        names.into_iter().find_map(|(is_host, name)| Some((is_host, settings.env.get(&name)?)))
    };
    let Some((is_host, value)) = of_config.or_else(of_env) else { return Ok(None) };
    let text = settings.with_env(text_of(value).trim());
    let refused = |why: &str| Refusal::new(format!("its address {why}")).instead("an entry with `base_url`");
    if text.is_empty() || !value.is_string() || text.contains("{{") || text.contains("{%") {
        return Err(refused("cannot be read"));
    }
    let mut url = if is_host && !text.contains("://") { format!("https://{text}") } else { text };
    let root = match provider {
        "openai" | "mistral" if is_host => "/v1",
        "gemini" => "/v1beta",
        "ollama" => "/v1",
        _ => "",
    };
    let bare = url.trim_end_matches('/').len();
    url.truncate(bare);
    let has_root = url.ends_with(root) || provider == "gemini" && url.ends_with("/v1");
    if !has_root {
        url.push_str(root);
    }
    if !url.contains("://") && !url.starts_with("${") {
        return Err(refused("is none with `http://` or `https://`"));
    }
    Ok(Some(url))
}

/// A service that speaks OpenAI's protocol.
#[derive(Clone, Copy)]
struct Compatible {
    url: &'static str,
    key: Option<&'static str>,
}

/// The service that an id names, and its model.
fn compatible(id: &str) -> Option<(Compatible, &str)> {
    COMPATIBLE.iter().find_map(|(prefix, url, key)| {
        let model = id.strip_prefix(prefix)?;
        let model = model.strip_prefix("chat:").unwrap_or(model);
        let is_chat = !model.is_empty() && !is_embedding(id) && !model.starts_with("image:");
        is_chat.then_some((Compatible { url, key: *key }, model))
    })
}

/// The provider and name of a model that makes embeddings; `None` of what a suite cannot ask.
fn embedding_by_name(id: &str) -> Option<(&'static str, &str)> {
    let (provider, model) = id.split_once(":embedding:").or_else(|| id.split_once(":embeddings:"))?;
    let provider = ["openai", "ollama", "mistral"].into_iter().find(|known| *known == provider)?;
    (!model.is_empty()).then_some((provider, model))
}

/// Interfaces of providers, which stand between provider and model.
const MODES: [&str; 4] = ["chat", "responses", "completion", "messages"];

/// The provider and the model's name in a suite; `None` of what a suite cannot ask by name.
fn model_by_name(id: &str) -> Option<(&'static str, &str)> {
    let (prefix, rest) = id.split_once(':')?;
    if MODES.contains(&rest) {
        return None;
    }
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
    use super::*;

    /// F82: services that speak OpenAI's protocol are asked at their own address, with their own key.
    #[test]
    fn compatible_services_have_their_address() {
        let entry = |id: &str, config: Value| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("c.yaml");
            std::fs::write(&file, "").unwrap();
            let source = crate::source::Source::open(&file, None).unwrap();
            let mut report = ImportReport::new("promptfoo", &source);
            let settings = Settings::default();
            let model = Model::read(id, config.as_object().unwrap(), &settings, "providers[0]", &mut report).unwrap();
            model.entry(None, &mut Names::default()).1
        };
        let own = entry("huggingface:chat:google/gemma:novita", json!({}));
        assert_eq!(own["model"], "google/gemma:novita");
        assert_eq!(own["base_url"], "https://router.huggingface.co/v1");
        assert_eq!(own["api_key_env"], "HF_TOKEN");
        // A key goes to no other address than its own.
        let elsewhere = entry("cerebras:llama", json!({"apiBaseUrl": "https://proxy.example/v1"}));
        assert_eq!(elsewhere["base_url"], "https://proxy.example/v1");
        assert_eq!(elsewhere.get("api_key_env"), None);
        let written = entry("cerebras:llama", json!({"apiKey": "sk-abc"}));
        assert_eq!(written["api_key_env"], "CEREBRAS_API_KEY");
        assert!(compatible("localai:embeddings:x").is_none() && compatible("cerebras:").is_none());
    }

    /// IO-02: names of models.
    #[test]
    fn models_by_name() {
        for (id, expected) in [
            ("openai:gpt-4.1", Some("openai:gpt-4.1")),
            ("openai:chat:gpt-5", Some("openai:gpt-5")),
            ("openai:responses:gpt-5", Some("openai:gpt-5")),
            ("openai:embedding:text-embedding-3-large", Some("openai:text-embedding-3-large")),
            ("azure:embedding:mine", None),
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
            ("openai:chat", None),
            ("anthropic:messages", None),
        ] {
            let known = if is_embedding(id) { embedding_by_name(id) } else { model_by_name(id) };
            assert_eq!(known.map(|(provider, name)| format!("{provider}:{name}")).as_deref(), expected, "{id}");
        }
    }
}
