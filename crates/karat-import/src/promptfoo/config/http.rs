//! Services that a config asks over HTTP, as `http` steps.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::cases::is_plain_path;
use super::prompts::Prompt;
use crate::promptfoo::refusal::Refusal;
use crate::promptfoo::settings::{Settings, is_secret, variable_name};
use crate::report::ImportReport;

/// Stands for the prompt while the rest of a template is translated; no text of a file holds it.
const PROMPT: &str = "\u{0}prompt\u{0}";

#[allow(clippy::expect_used, reason = "the pattern is a constant")]
static PROMPT_TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{-?\s*prompt\s*(?:\|\s*safe\s*)?-?\}\}").expect("a valid pattern"));

#[allow(clippy::expect_used, reason = "the pattern is a constant")]
static PROMPT_JSON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{-?\s*prompt\s*\|\s*dump\s*(?:\|\s*safe\s*)?-?\}\}").expect("a valid pattern"));

/// A request to a service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Service {
    url: String,
    method: Option<String>,
    headers: Value,
    body: Value,
    /// Path of the answer's text; the whole answer without it.
    path: Option<String>,
}

impl Service {
    /// Reads the `config` of a provider that is an address.
    ///
    /// # Errors
    /// The reason why no step can ask it.
    pub fn read(
        id: &str,
        path: &str,
        config: &Map<String, Value>,
        settings: &mut Settings,
        report: &mut ImportReport,
    ) -> Result<Self, Refusal> {
        let path = format!("{path}.config");
        let command = "a `command` step that sends the request";
        if config.contains_key("request") {
            return Err(Refusal::new("writes the request as raw HTTP").instead("an `http` step"));
        }
        let url = config.get("url").and_then(Value::as_str).unwrap_or(id);
        if !url.contains("://") {
            return Err(Refusal::new("has no `url`").instead("an `http` step with the service's address"));
        }
        let mut service = Self {
            url: template(&without_keys(&settings.with_env(url), &path, report), settings)
                .map_err(|why| Refusal::new(format!("its `url` is {why}")))?,
            method: None,
            headers: Value::Null,
            body: Value::Null,
            path: None,
        };
        for (key, value) in config {
            match key.as_str() {
                "url" => {}
                "method" => service.method = value.as_str().map(str::to_uppercase).filter(|method| method != "POST"),
                "headers" => service.headers = settings.headers(value, &format!("{path}.headers"), report),
                "body" => {
                    let body =
                        json_body(value).ok_or_else(|| Refusal::new("its `body` is no JSON").instead(command))?;
                    if let Some(name) = secret_member(&body) {
                        let refusal = Refusal::new(format!("its `body` holds a key, `{name}`"));
                        return Err(refusal.instead("an `http` step with the key in a header, as `${NAME}`"));
                    }
                    service.body = templates(&body, settings)
                        .map_err(|why| Refusal::new(format!("its `body` is {why}")).instead(command))?;
                }
                "transformResponse" | "responseParser" => {
                    let taken =
                        value.as_str().and_then(|code| code.trim().strip_prefix("json")).filter(|it| is_plain_path(it));
                    match taken {
                        Some("") => {}
                        Some(taken) => service.path = Some(taken.trim_start_matches('.').to_owned()),
                        None => {
                            let refusal = Refusal::new("is code").instead("`take` in the step");
                            report.drop(refusal.of_all(&format!("{path}.{key}"), key));
                        }
                    }
                }
                _ => {
                    let refusal = Refusal::new("is no setting of an `http` step");
                    report.drop(refusal.of_all(&format!("{path}.{key}"), key));
                }
            }
        }
        Ok(service)
    }

    /// The step that sends a prompt; its output has the answer as `text`.
    pub fn to_step(&self, prompt: &Prompt) -> Value {
        let text = prompt.to_text();
        let mut http = Map::from_iter([("url".to_owned(), json!(self.url.replace(PROMPT, &text)))]);
        http.extend(self.method.iter().map(|method| ("method".to_owned(), json!(method))));
        let parts = [("headers", self.headers.clone()), ("body", with_prompt(&self.body, &text))];
        http.extend(parts.into_iter().filter(|(_, part)| !part.is_null()).map(|(key, part)| (key.to_owned(), part)));
        let path = self.path.as_ref().map_or("$".to_owned(), |path| format!("$.{path}"));
        json!({"http": http, "take": {"text": path}})
    }
}

/// An address in whose query keys are variables of the environment.
fn without_keys(url: &str, path: &str, report: &mut ImportReport) -> String {
    let Some((address, query)) = url.split_once('?') else { return url.to_owned() };
    let parts = query.split('&').map(|part| match part.split_once('=') {
        Some((name, value)) if is_secret(name) && !value.contains("${") && !value.contains("{{") => {
            let variable = variable_name(name);
            report.note(
                format!("{path}.url"),
                format!("the value of `{name}` is not copied: set the environment variable {variable}"),
            );
            format!("{name}=${{{variable}}}")
        }
        _ => part.to_owned(),
    });
    format!("{address}?{}", parts.collect::<Vec<_>>().join("&"))
}

/// The name of a member that holds a key, wherever it stands.
fn secret_member(body: &Value) -> Option<&str> {
    match body {
        Value::Array(items) => items.iter().find_map(secret_member),
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let is_written = value.as_str().is_some_and(|text| !text.is_empty() && !text.contains("{{"));
            if is_secret(name) && is_written { Some(name.as_str()) } else { secret_member(value) }
        }),
        _ => None,
    }
}

/// A body as JSON; a text is JSON in which the prompt may stand as a value.
fn json_body(body: &Value) -> Option<Value> {
    match body {
        Value::String(text) => {
            serde_json::from_str(&PROMPT_JSON.replace_all(text, format!("\"{}\"", "{{ prompt }}"))).ok()
        }
        body => Some(body.clone()),
    }
}

/// The value with every text translated.
fn templates(value: &Value, settings: &mut Settings) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => json!(template(text, settings)?),
        Value::Array(items) => items.iter().map(|item| templates(item, settings)).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Ok((name.clone(), templates(value, settings)?)));
            Value::Object(members.collect::<Result<_, String>>()?)
        }
        other => json!(other),
    })
}

fn template(text: &str, settings: &mut Settings) -> Result<String, String> {
    let text = PROMPT_JSON.replace_all(text, PROMPT);
    settings.reads.translate(&PROMPT_TAG.replace_all(&text, PROMPT)).map_err(|why| format!("a template that {why}"))
}

fn with_prompt(value: &Value, prompt: &str) -> Value {
    match value {
        Value::String(text) => json!(text.replace(PROMPT, prompt)),
        Value::Array(items) => items.iter().map(|item| with_prompt(item, prompt)).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), with_prompt(value, prompt))).collect())
        }
        other => other.clone(),
    }
}
