//! Services that a config asks over HTTP, as `http` steps.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::cases::is_plain_path;
use super::prompts::Prompt;
use crate::promptfoo::nunjucks;
use crate::promptfoo::refusal::Refusal;
use crate::promptfoo::settings::{Settings, is_secret, variable_name};
use crate::promptfoo::values::{duration, text_of};
use crate::report::ImportReport;

/// Stands for the prompt while the rest of a template is translated; no text of a file holds it.
const PROMPT: &str = "\u{0}prompt\u{0}";

#[allow(clippy::expect_used, reason = "the pattern is a constant")]
static PROMPT_TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{-?\s*prompt\s*(?:\|\s*safe\s*)?-?\}\}").expect("a valid pattern"));

#[allow(clippy::expect_used, reason = "the pattern is a constant")]
static PROMPT_JSON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{-?\s*prompt\s*\|\s*dump\s*(?:\|\s*safe\s*)?-?\}\}").expect("a valid pattern"));

/// A name and its written value in a text that is not JSON, such as a form.
#[allow(clippy::expect_used, reason = "the pattern is a constant")]
static NAMED_VALUE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"([\w-]+)["']?\s*[=:]\s*["']?([^\s"'&,;{}]+)"#).expect("a valid pattern"));

/// Variables that promptfoo itself gives to a request.
const OWN_VARIABLES: [&str; 3] = ["signature", "signatureTimestamp", "token"];

/// A request to a service.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Service {
    url: String,
    method: Option<String>,
    headers: Value,
    body: Value,
    /// Path of the answer's text; the whole answer without it.
    path: Option<String>,
    /// The longest time that an answer takes, in milliseconds.
    timeout_ms: Option<u64>,
    /// Dropped settings that change its answers.
    pub unchecked: Vec<String>,
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
        let raw = match config.get("request").map(text_of) {
            Some(text) => raw_request(&text, config)
                .ok_or_else(|| Refusal::new("has a `request` that is not a raw HTTP").instead("an `http` step"))?,
            None => Map::new(),
        };
        let config: &Map<String, Value> =
            &raw.into_iter().chain(config.clone()).filter(|(key, _)| key != "request").collect();
        let url = config.get("url").and_then(Value::as_str).unwrap_or(id);
        // The whole address, or its beginning, may stand in the environment.
        let url = settings.with_env(url);
        if !url.contains("://") && !url.starts_with("${") {
            return Err(Refusal::new("has no `url`").instead("an `http` step with the service's address"));
        }
        let mut service = Self {
            url: template(&without_keys(&url, &path, report), settings)
                .map_err(|why| Refusal::new(format!("its `url` is {why}")))?,
            method: None,
            headers: Value::Null,
            body: Value::Null,
            path: None,
            timeout_ms: None,
            unchecked: Vec::new(),
        };
        for (key, value) in config {
            match key.as_str() {
                "url" => {}
                "method" => service.method = value.as_str().map(str::to_uppercase).filter(|method| method != "POST"),
                "headers" => service.read_headers(value, &format!("{path}.headers"), settings, report),
                "body" => {
                    // A text that is not JSON is sent as it is.
                    let body = json_body(value).unwrap_or_else(|| value.clone());
                    if let Some(name) = secret_name(&body) {
                        let refusal = Refusal::new(format!("its `body` holds a key, `{name}`"));
                        return Err(refusal.instead("an `http` step with the key in a header, as `${NAME}`"));
                    }
                    service.body = templates(&body, settings)
                        .map_err(|why| Refusal::new(format!("its `body` is {why}")).instead(command))?;
                }
                "transformResponse" | "responseParser" => match value.as_str().and_then(taken_path).as_deref() {
                    Some("") => {}
                    Some(taken) => service.path = Some(taken.trim_start_matches('.').to_owned()),
                    None => {
                        let refusal = Refusal::new("is code").instead("`take` in the step");
                        report.drop(refusal.of_all(&format!("{path}.{key}"), key));
                        service.unchecked.push(key.clone());
                    }
                },
                "useHttps" => {}
                "timeout" | "responseTimeout" | "requestTimeout" if value.as_u64().is_some_and(|ms| ms > 0) => {
                    service.timeout_ms = value.as_u64();
                }
                // They decide how often it is asked, not what it answers.
                "maxRetries" | "retries" => {}
                _ => {
                    let refusal = Refusal::new("is not a setting of an `http` step");
                    report.drop(refusal.of_all(&format!("{path}.{key}"), key));
                    service.unchecked.push(key.clone());
                }
            }
        }
        Ok(service)
    }

    /// Headers that read variables of a row are templates; one that cannot be filled in is left out.
    fn read_headers(&mut self, value: &Value, path: &str, settings: &mut Settings, report: &mut ImportReport) {
        let Value::Object(headers) = settings.headers(value, path, report) else { return };
        let mut kept = Map::new();
        for (name, value) in headers {
            let text = text_of(&value);
            let own = OWN_VARIABLES.iter().find(|variable| nunjucks::reads(&text, variable));
            let translated = match own {
                Some(variable) => Err(format!("reads `{variable}`, which promptfoo computes")),
                None => template(&text, settings),
            };
            match translated {
                Ok(text) => drop(kept.insert(name, json!(text))),
                Err(why) => {
                    let refusal =
                        Refusal::new(format!("is a header that {why}")).instead("a `command` step that sends it");
                    report.drop(refusal.of_all(&format!("{path}.{name}"), &name));
                    self.unchecked.push(name);
                }
            }
        }
        self.headers = Value::Object(kept);
    }

    /// The step that sends a prompt; its output has the answer as `text`.
    pub fn to_step(&self, prompt: &Prompt) -> Value {
        let text = prompt.to_text();
        let mut http = Map::from_iter([("url".to_owned(), json!(self.url.replace(PROMPT, &text)))]);
        http.extend(self.method.iter().map(|method| ("method".to_owned(), json!(method))));
        let parts = [("headers", self.headers.clone()), ("body", with_prompt(&self.body, &text))];
        http.extend(parts.into_iter().filter(|(_, part)| !part.is_null()).map(|(key, part)| (key.to_owned(), part)));
        let path = self.path.as_ref().map_or("$".to_owned(), |path| format!("$.{path}"));
        let mut step = json!({"http": http, "take": {"text": path}});
        if let Some(timeout) = self.timeout_ms {
            step["timeout"] = json!(duration(timeout));
        }
        step
    }
}

/// The path that a transform of an answer takes: `json.a`, `(json) => json.a`, `return json.a`, with `{ output: … }` around.
fn taken_path(code: &str) -> Option<String> {
    let code = code.trim().trim_end_matches(';').trim();
    let body = match code.split_once("=>") {
        Some((head, body)) => {
            let first = head.trim().trim_start_matches('(').split([',', ')']).next()?.trim();
            matches!(first, "json" | "data" | "response" | "result").then_some(())?;
            body.trim()
                .strip_prefix(first)
                .map(|rest| format!("json{rest}"))
                .or_else(|| Some(body.trim().to_owned()))?
        }
        None => code.strip_prefix("return ").unwrap_or(code).to_owned(),
    };
    let body = body.trim().trim_start_matches('(').trim_end_matches(')');
    let inner = body.strip_prefix('{').and_then(|inner| inner.trim().strip_prefix("output:")?.strip_suffix('}'));
    let path = inner.unwrap_or(body).trim().strip_prefix("json")?.replace("?.", ".");
    is_plain_path(&path).then_some(path)
}

/// A request that is written as raw HTTP, as the settings of one.
fn raw_request(text: &str, config: &Map<String, Value>) -> Option<Map<String, Value>> {
    let text = text.trim().replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let mut lines = head.lines();
    let mut first = lines.next()?.split_whitespace();
    let (method, path) = (first.next()?, first.next()?);
    let headers: Map<String, Value> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), json!(value.trim())))
        .collect();
    let host = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| text_of(host))?;
    let scheme = if config.get("useHttps") == Some(&json!(true)) { "https" } else { "http" };
    let is_own = |name: &String| ["host", "content-length"].iter().any(|own| name.eq_ignore_ascii_case(own));
    let sent: Map<String, Value> = headers.into_iter().filter(|(name, _)| !is_own(name)).collect();
    let url = if path.contains("://") { path.to_owned() } else { format!("{scheme}://{host}{path}") };
    let mut settings = Map::from_iter([("url".to_owned(), json!(url)), ("method".to_owned(), json!(method))]);
    settings.extend((!sent.is_empty()).then(|| ("headers".to_owned(), Value::Object(sent))));
    settings.extend((!body.trim().is_empty()).then(|| ("body".to_owned(), json!(body))));
    Some(settings)
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

/// The name of a key that a body holds.
fn secret_name(body: &Value) -> Option<&str> {
    match body {
        Value::String(text) => {
            let names = NAMED_VALUE.captures_iter(text).filter_map(|pair| pair.get(1));
            names.map(|name| name.as_str()).find(|name| is_secret(name))
        }
        body => secret_member(body),
    }
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
