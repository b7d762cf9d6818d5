//! Providers: models, and services that are asked over HTTP.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::http::Service;
use super::program::Program;
use super::prompts::Prompt;
use crate::error::ImportError;
use crate::promptfoo::files;
use crate::promptfoo::models::Model;
use crate::promptfoo::refusal::{Refusal, drop_unknown_keys};
use crate::promptfoo::settings::Settings;
use crate::promptfoo::values::text_of;
use crate::report::ImportReport;
use crate::source::Source;
use crate::text::names::{Names, valid_id};

const KEYS: [&str; 7] = ["id", "label", "config", "env", "prompts", "transform", "delay"];

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
    /// True if promptfoo reads its replies as JSON.
    pub is_structured: bool,
    /// Dropped settings that change its outputs: checks see other outputs than there.
    pub unchecked: Vec<String>,
}

/// The recipient of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    /// A model, as a suite writes it, and its id.
    Model { id: String, entry: Value },
    /// A service or a program, asked by a step.
    Service { id: String, service: Asked },
}

/// A recipient that is asked by a step of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asked {
    Http(Box<Service>),
    Program(Program),
}

impl Asked {
    /// The step that sends a prompt; its output has the answer as `text`.
    pub fn to_step(&self, prompt: &Prompt) -> Value {
        match self {
            Self::Http(service) => service.to_step(prompt),
            Self::Program(program) => program.to_step(prompt),
        }
    }
}

/// Reads providers in order.
pub(super) struct ProviderReader<'a> {
    pub source: &'a Source,
    /// The config's file.
    pub from: &'a Path,
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
    /// Variables of the environment for this provider alone.
    env: Map<String, Value>,
    /// Dropped settings that change its outputs.
    unchecked: Vec<String>,
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
                    let content = match read_file(name) {
                        Ok(content) => content,
                        Err(error) => {
                            report.drop(Refusal::of_error(&error).of_all(path, id));
                            return Ok(Vec::new());
                        }
                    };
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
                    let (config, env) = (Map::new(), Map::new());
                    let raw = Raw { path: path.to_owned(), id, label: None, config, env, unchecked: Vec::new() };
                    Ok(self.provider(&raw, None, report))
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
        let part = |key: &str| map.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        let (config, env) = (part("config"), part("env"));
        let label = map.get("label").and_then(Value::as_str).filter(|label| !label.is_empty());
        let prompts = map.get("prompts").and_then(Value::as_array);
        let prompts = prompts.map(|prompts| prompts.iter().map(text_of).collect());
        let unchecked = map.keys().filter(|key| *key == "transform").cloned().collect();
        self.provider(&Raw { path: path.to_owned(), id, label, config, env, unchecked }, prompts, report)
    }

    fn provider(&mut self, raw: &Raw<'_>, prompts: Option<Vec<String>>, report: &mut ImportReport) -> Vec<Provider> {
        let target = if raw.id == "echo" {
            Ok(self.echo(raw, report))
        } else if is_address(raw.id) {
            self.service(raw, report)
        } else if is_program(raw.id) {
            Program::read(raw.id, &raw.config, self.source, self.from).map(|program| {
                let id = self.services.take(raw.label.unwrap_or("program"), "program");
                report.note(raw.path.clone(), "the program is called where it lies, and is not copied");
                Target::Service { id, service: Asked::Program(program) }
            })
        } else {
            match refusal(raw.id) {
                Some(refusal) => Err(refusal),
                None => self.model(raw, report),
            }
        };
        match target {
            Ok(target) => {
                let names = [raw.label, Some(raw.id)].into_iter().flatten().map(str::to_owned).collect();
                let tools = raw.config.get("tools").filter(|_| matches!(target, Target::Model { .. })).cloned();
                let mut unchecked = raw.unchecked.clone();
                if let Target::Service { service: Asked::Http(service), .. } = &target {
                    unchecked.extend(service.unchecked.iter().cloned());
                }
                let format = raw.config.get("response_format").and_then(|format| format.get("type"));
                let is_structured = format == Some(&json!("json_schema"));
                vec![Provider { path: raw.path.clone(), names, target, prompts, tools, is_structured, unchecked }]
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
        Ok(Target::Service { id, service: Asked::Http(Box::new(service)) })
    }

    fn model(&mut self, raw: &Raw<'_>, report: &mut ImportReport) -> Result<Target, Refusal> {
        let model = Model::read(raw.id, &raw.config, &self.settings.with(&raw.env), &raw.path, report)?;
        let (id, entry) = model.entry(raw.label.filter(|label| *label != raw.id), &mut self.models);
        Ok(Target::Model { id, entry })
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

/// Returns true of a provider that is a program.
fn is_program(id: &str) -> bool {
    ["file://", "exec:", "python:"].iter().any(|prefix| id.starts_with(prefix)) || files::is_code(id)
}

/// The reason why a provider is not a model, where its name says so.
fn refusal(id: &str) -> Option<Refusal> {
    let command = "a `command` step, or a model with `provider: command`";
    Some(match id.split(':').next().unwrap_or_default() {
        "ruby" | "golang" => Refusal::new("runs a program").instead(command),
        "webhook" => Refusal::new("is a service with a protocol of promptfoo's own").instead("an `http` step"),
        "package" => Refusal::new("is code of a package").instead(command),
        "" => Refusal::new("has no `id`"),
        _ if id.contains(":embedding") => Refusal::new("makes embeddings, and answers no prompt"),
        _ => return None,
    })
}

/// The id that a variant of a service has.
pub(super) fn service_variant(prompt: &str, service: &str) -> String {
    format!("{prompt}.{}", valid_id(service, "service"))
}
