//! Providers: models, and services that are asked over HTTP.

use serde_json::{Map, Value, json};

use super::http::Service;
use super::settings::Settings;
use crate::error::ImportError;
use crate::promptfoo::refusal::{Refusal, drop_unknown_keys};
use crate::promptfoo::values::{number, number_of, text_of};
use crate::promptfoo::{files, models};
use crate::report::ImportReport;
use crate::text::names::{Names, valid_id};

const KEYS: [&str; 6] = ["id", "label", "config", "prompts", "transform", "delay"];

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

/// A provider of a config.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Provider {
    pub path: String,
    /// Names by which tests mean it.
    pub names: Vec<String>,
    pub target: Target,
    /// The prompts that it gets; all without it.
    pub prompts: Option<Vec<String>>,
    /// The tools that it offers to the model.
    pub tools: Option<Value>,
}

/// The recipient of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    /// A model, as a suite writes it, and its id.
    Model { id: String, entry: Value },
    /// A service, asked by a step.
    Service { id: String, service: Service },
}

/// Reads providers in order.
pub(super) struct ProviderReader<'a> {
    pub settings: &'a mut Settings,
    pub models: Names,
    pub services: Names,
}

/// A provider as it stands in the config.
struct Raw<'v> {
    path: String,
    id: &'v str,
    label: Option<&'v str>,
    config: Map<String, Value>,
}

impl ProviderReader<'_> {
    /// The provider of an item of `providers`; a file may hold several.
    ///
    /// # Errors
    /// A file that cannot be read or lies outside.
    pub fn read_item(
        &mut self,
        path: &str,
        item: &Value,
        read_file: &mut dyn FnMut(&str) -> Result<Value, ImportError>,
        report: &mut ImportReport,
    ) -> Result<Vec<Provider>, ImportError> {
        match item {
            Value::String(id) => match files::file_name(id) {
                Some(name) if !files::is_code(name) => {
                    let content = read_file(name)?;
                    let items = match &content {
                        Value::Array(items) => items.as_slice(),
                        single => std::slice::from_ref(single),
                    };
                    let mut providers = Vec::new();
                    for item in
                        items.iter().filter(|item| item.as_str().is_none_or(|id| files::file_name(id).is_none()))
                    {
                        providers.extend(self.read_item(path, item, read_file, report)?);
                    }
                    Ok(providers)
                }
                _ => {
                    Ok(self.provider(&Raw { path: path.to_owned(), id, label: None, config: Map::new() }, None, report))
                }
            },
            Value::Object(map) => Ok(self.read_map(path, map, report)),
            _ => {
                report.drop(Refusal::new("is neither a name nor a map").of_all(path, "provider"));
                Ok(Vec::new())
            }
        }
    }

    fn read_map(&mut self, path: &str, map: &Map<String, Value>, report: &mut ImportReport) -> Vec<Provider> {
        // `{ID: {config, …}}` is the other form.
        let nested = map.iter().next().filter(|_| map.len() == 1 && !map.contains_key("id"));
        let (id, map) = match nested {
            Some((id, Value::Object(map))) => (map.get("id").and_then(Value::as_str).unwrap_or(id), map),
            _ => (map.get("id").and_then(Value::as_str).unwrap_or_default(), map),
        };
        drop_unknown_keys(path, map, &KEYS, report);
        for (key, why) in [("transform", "is code"), ("delay", "is a pause between calls")] {
            if map.contains_key(key) {
                let instead =
                    if key == "delay" { "`limits: { rpm }` of the model" } else { "`parse` and `take` in the step" };
                report.drop(Refusal::new(why).instead(instead).of_all(&format!("{path}.{key}"), key));
            }
        }
        let config = map.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
        let label = map.get("label").and_then(Value::as_str).filter(|label| !label.is_empty());
        let prompts = map.get("prompts").and_then(Value::as_array);
        let prompts = prompts.map(|prompts| prompts.iter().map(text_of).collect());
        self.provider(&Raw { path: path.to_owned(), id, label, config }, prompts, report)
    }

    fn provider(&mut self, raw: &Raw<'_>, prompts: Option<Vec<String>>, report: &mut ImportReport) -> Vec<Provider> {
        let target = if raw.id == "echo" {
            Ok(self.echo(raw, report))
        } else if is_address(raw.id) {
            self.service(raw, report)
        } else {
            match models::model_by_name(raw.id) {
                Some((provider, model)) => Ok(self.model(raw, provider, model, report)),
                None => Err(refusal(raw.id)),
            }
        };
        match target {
            Ok(target) => {
                let names = [raw.label, Some(raw.id)].into_iter().flatten().map(str::to_owned).collect();
                let tools = raw.config.get("tools").filter(|_| matches!(target, Target::Model { .. })).cloned();
                vec![Provider { path: raw.path.clone(), names, target, prompts, tools }]
            }
            Err(refusal) => {
                report.drop(refusal.of_all(&raw.path, raw.id));
                Vec::new()
            }
        }
    }

    /// The model that replies with its prompt; of a chat it gets the JSON.
    fn echo(&mut self, raw: &Raw<'_>, report: &mut ImportReport) -> Target {
        drop_unknown_keys(&format!("{}.config", raw.path), &raw.config, &[], report);
        let id = self.models.take(raw.label.unwrap_or("echo"), "echo");
        let entry = json!({
            "id": id, "provider": "scripted", "price": {"input": 0, "output": 0}, "with": {"reply": "{{ prompt }}"}
        });
        Target::Model { id, entry }
    }

    fn service(&mut self, raw: &Raw<'_>, report: &mut ImportReport) -> Result<Target, Refusal> {
        let service = Service::read(raw.id, &raw.path, &raw.config, self.settings, report)?;
        let id = self.services.take(raw.label.unwrap_or("service"), "service");
        Ok(Target::Service { id, service })
    }

    fn model(&mut self, raw: &Raw<'_>, provider: &str, model: &str, report: &mut ImportReport) -> Target {
        let by_name = format!("{provider}:{model}");
        let mut entry = Map::new();
        let path = format!("{}.config", raw.path);
        let mut parameters = Map::new();
        for (key, value) in &raw.config {
            let parameter = PARAMETERS.iter().find(|(name, _)| name == key);
            match (key.as_str(), parameter) {
                (_, Some((_, "stop"))) if value.is_string() => {
                    drop(parameters.insert("stop".to_owned(), json!([value])))
                }
                (_, Some((_, parameter))) => drop(parameters.insert((*parameter).to_owned(), value.clone())),
                ("apiBaseUrl" | "baseUrl" | "apiHost", _) => {
                    let url = self.settings.with_env(&text_of(value));
                    let url = if key == "apiHost" && !url.contains("://") { format!("https://{url}") } else { url };
                    entry.insert("base_url".to_owned(), json!(url));
                }
                ("apiKeyEnvar", _) => drop(entry.insert("api_key_env".to_owned(), value.clone())),
                ("apiKey", _) => {
                    let name = format!("{}_API_KEY", provider.to_uppercase().replace('-', "_"));
                    let name = self.settings.secret_name(&text_of(value), &name, &format!("{path}.{key}"), report);
                    entry.insert("api_key_env".to_owned(), json!(name));
                }
                ("headers", _) => {
                    let headers = self.settings.headers(value, &format!("{path}.{key}"), report);
                    entry.insert("with".to_owned(), json!({"headers": headers}));
                }
                ("inputCost" | "outputCost" | "cost", _) => {}
                ("tools", _) => {}
                ("functions" | "tool_choice" | "function_call", _) => {
                    let refusal =
                        Refusal::new("belongs to the prompt here").instead("`tools` and `tool_choice` of the prompt");
                    report.drop(refusal.of_all(&format!("{path}.{key}"), key));
                }
                _ => {
                    let refusal = Refusal::new("is no setting of a model here");
                    report.drop(refusal.of_all(&format!("{path}.{key}"), key));
                }
            }
        }
        // US dollars a token there, a million tokens here.
        let cost = |key: &str| raw.config.get(key).or_else(|| raw.config.get("cost")).and_then(number_of);
        match (cost("inputCost"), cost("outputCost")) {
            (Some(input), Some(output)) => {
                let price = json!({"input": number(input * 1e6), "output": number(output * 1e6)});
                entry.insert("price".to_owned(), price);
            }
            (None, None) => {}
            _ => {
                let refusal = Refusal::new("a price needs both parts").instead("`price: { input, output }`");
                report.drop(refusal.of_all(&path, "cost"));
            }
        }
        if !parameters.is_empty() {
            entry.insert("parameters".to_owned(), Value::Object(parameters));
        }
        let (id, mut named) = match raw.label.filter(|label| *label != raw.id) {
            None if self.models.claim(&by_name) => {
                (by_name.clone(), Map::from_iter([("id".to_owned(), json!(by_name))]))
            }
            label => {
                let id = self.models.take(label.unwrap_or(&by_name), "model");
                let named = [("id", json!(id)), ("provider", json!(provider)), ("model", json!(model))];
                (id, named.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }
        };
        let entry = if entry.is_empty() && named.len() == 1 {
            json!(id)
        } else {
            named.append(&mut entry);
            Value::Object(named)
        };
        Target::Model { id, entry }
    }
}

impl Provider {
    /// Returns true if a test that lists these names uses the provider.
    pub fn is_among(&self, wanted: &[String]) -> bool {
        wanted.iter().any(|wanted| {
            self.names.iter().any(|name| match wanted.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == wanted || name.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with(':')),
            })
        })
    }

    /// The id in the suite.
    pub fn id(&self) -> &str {
        let (Target::Model { id, .. } | Target::Service { id, .. }) = &self.target;
        id
    }
}

/// Returns true of a provider that is an address, or asks for one in its config.
fn is_address(id: &str) -> bool {
    matches!(id, "http" | "https") || id.starts_with("http://") || id.starts_with("https://")
}

fn refusal(id: &str) -> Refusal {
    let command = "a `command` step, or a model with `provider: command`";
    match id.split(':').next().unwrap_or_default() {
        "exec" | "python" | "ruby" | "golang" => Refusal::new("runs a program").instead(command),
        "file" => Refusal::of_program().instead(command),
        "webhook" => Refusal::new("is a service with a protocol of promptfoo's own").instead("an `http` step"),
        "package" => Refusal::new("is code of a package").instead(command),
        "" => Refusal::new("has no `id`"),
        _ => Refusal::new("is no provider of this version")
            .instead("`provider: openai-compatible` with its `base_url`, if it speaks OpenAI's protocol"),
    }
}

/// The id that a variant of a service has.
pub(super) fn service_variant(prompt: &str, service: &str) -> String {
    format!("{prompt}.{}", valid_id(service, "service"))
}
