//! The environment of a config: variables that templates read, and secrets, which become `${NAME}`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::promptfoo::nunjucks::{self, Members};
use crate::promptfoo::values::text_of;
use crate::report::ImportReport;

#[allow(clippy::expect_used, reason = "the pattern is a constant")]
static ENV: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{\{-?\s*env\.([A-Za-z_][A-Za-z0-9_]*)\s*-?\}\}").expect("a valid pattern"));

/// Words in names of what must not be written into a suite.
const SECRET: [&str; 8] = ["key", "token", "secret", "password", "passwd", "authorization", "cookie", "credential"];

/// The names that templates read.
#[derive(Debug, Default)]
pub(super) struct Reads {
    pub vars: BTreeSet<String>,
    pub env: BTreeSet<String>,
    /// The reading of members of absent values.
    pub members: Members,
}

impl Reads {
    /// Translates a template and keeps what it reads.
    pub fn translate(&mut self, text: &str) -> Result<String, String> {
        let translated = nunjucks::translate_with(text, self.members)?;
        self.vars.extend(translated.reads);
        self.env.extend(translated.env);
        Ok(translated.text)
    }
}

/// The environment that a config declares, and what its templates read.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// `env` of the config.
    pub env: Map<String, Value>,
    pub reads: Reads,
}

/// Returns true if a name is that of a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET.iter().any(|word| name.contains(word))
}

/// A name as that of a variable of the environment.
pub(super) fn variable_name(name: &str) -> String {
    name.chars().map(|char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' }).collect()
}

impl Settings {
    /// The same with the environment of one provider above that of the config.
    pub fn with(&self, env: &Map<String, Value>) -> Self {
        let mut all = self.env.clone();
        all.extend(env.clone());
        Self { env: all, reads: Reads::default() }
    }

    /// A variable of the environment, with the config's own value as default unless it is a secret.
    fn variable(&self, name: &str) -> String {
        match self.env.get(name).filter(|_| !is_secret(name)).map(text_of) {
            Some(default) if !default.contains('}') => format!("${{{name}:-{default}}}"),
            _ => format!("${{{name}}}"),
        }
    }

    /// The parameters of the suite that stand for the environment in prompts, which cannot read it themselves.
    pub fn params(&self, report: &mut ImportReport) -> Map<String, Value> {
        let known = self.known_env();
        let mut params = Map::new();
        for name in &self.reads.env {
            let default = known.get(name).cloned().unwrap_or_else(|| {
                let text =
                    format!("prompts read it as a parameter, which is empty: set it with `-p {name}=\"${name}\"`");
                report.note(format!("env.{name}"), text);
                json!("")
            });
            params.insert(name.clone(), default);
        }
        params
    }

    /// The values that are known when files are imported.
    pub fn known_env(&self) -> Map<String, Value> {
        self.env
            .iter()
            .filter(|(name, _)| !is_secret(name))
            .map(|(name, value)| (name.clone(), json!(text_of(value))))
            .collect()
    }

    /// A text in which variables of the environment are `${NAME}`.
    pub fn with_env(&self, text: &str) -> String {
        ENV.replace_all(text, |found: &regex::Captures<'_>| {
            self.variable(found.get(1).map_or("", |name| name.as_str()))
        })
        .into_owned()
    }

    /// The variable that holds a key: the one that the text reads, or `fallback` in place of a key that is written down.
    pub fn secret_name(&self, text: &str, fallback: &str, path: &str, report: &mut ImportReport) -> String {
        match ENV.captures(text.trim()).and_then(|found| found.get(1)) {
            Some(name) => name.as_str().to_owned(),
            None => {
                report.note(path, format!("the key is not copied: set the environment variable {fallback}"));
                fallback.to_owned()
            }
        }
    }

    /// Headers by name; a secret that is written down becomes a variable of the environment.
    pub fn headers(&self, value: &Value, path: &str, report: &mut ImportReport) -> Value {
        let headers = value.as_object().into_iter().flatten().map(|(name, value)| {
            let text = self.with_env(&text_of(value));
            if !is_secret(name) || text.contains("${") {
                return (name.clone(), json!(text));
            }
            let variable = variable_name(name);
            report.note(
                format!("{path}.{name}"),
                format!("the value is not copied: set the environment variable {variable}"),
            );
            (name.clone(), json!(format!("${{{variable}}}")))
        });
        Value::Object(headers.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-01: secrets become `${NAME}`, other variables keep their default.
    #[test]
    fn secrets_are_not_copied() {
        let env = json!({"REGION": "eu", "API_TOKEN": "abc"}).as_object().cloned().unwrap();
        let settings = Settings { env, reads: Reads::default() };
        assert_eq!(settings.with_env("a {{ env.REGION }}/{{env.OTHER}}"), "a ${REGION:-eu}/${OTHER}");
        assert_eq!(settings.with_env("Bearer {{ env.API_TOKEN }}"), "Bearer ${API_TOKEN}");
        assert!(!settings.known_env().contains_key("API_TOKEN"));
    }
}
