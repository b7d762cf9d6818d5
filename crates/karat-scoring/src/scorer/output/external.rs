//! Scorers in any language: a program that answers line by line, or a service.
//!
//! Both get `{"output", "reference", "input", "sample"}`: a program as the `input` of a line `{"id", "input"}`, a service
//! as the body of a POST. They answer with a number (a program as the `output` of its line), with true or false, which is a
//! pass or a fail, or with `{"score": 0.5, "reason": "…"}`, `{"na": "why"}` or `{"unscored": "why"}`; null does not apply.

use std::collections::BTreeMap;

use karat_text::{env_template, half_characters};
use karat_types::{CommandRequest, EnvTemplate, HttpRequest, Protocol, Request, Score};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::scorer::metric::{Metric, MetricInput, Needs, Options};

/// Options of `command`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    /// The program and its arguments. It is started once, without a shell, and answers every cell line by line.
    run: Vec<String>,
    /// Variables of its environment, beside the few that every program needs. `${NAME}` stands for one of ours.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// The folder it runs in; the suite's without it.
    #[serde(default)]
    #[schemars(extend("format" = "folder"))]
    folder: String,
}

/// Options of `http`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Http {
    /// Where each cell is posted to. `${NAME}` stands for a variable of the environment.
    url: String,
    /// Headers by name; `${NAME}` likewise.
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

/// A program or service that scores.
struct ExternalMetric(CallTarget);

enum CallTarget {
    Command { run: Vec<String>, env: Vec<(String, EnvTemplate)>, folder: String },
    Http { url: EnvTemplate, headers: Vec<(String, EnvTemplate)> },
}

fn parts(texts: BTreeMap<String, String>) -> Vec<(String, EnvTemplate)> {
    texts.into_iter().map(|(name, text)| (name, env_template::parts(&text))).collect()
}

impl Options for Command {
    const NEEDS: Needs = Needs::Output;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        if self.run.is_empty() {
            return Err("`run` names no program".to_owned());
        }
        Ok(Box::new(ExternalMetric(CallTarget::Command { run: self.run, env: parts(self.env), folder: self.folder })))
    }
}

impl Options for Http {
    const NEEDS: Needs = Needs::Output;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(ExternalMetric(CallTarget::Http {
            url: env_template::parts(&self.url),
            headers: parts(self.headers),
        })))
    }
}

impl Metric for ExternalMetric {
    fn score(&self, _: &MetricInput<'_>) -> Score {
        Score::unscored("this metric asks a program or a service, and nobody runs it here")
    }

    fn ask(&self, given: &MetricInput<'_>) -> Option<Request> {
        let sample = given.cell.sample;
        let question = json!({
            "output": given.output,
            "reference": given.reference,
            "input": sample.input,
            "sample": sample.columns,
        });
        Some(match &self.0 {
            CallTarget::Command { run, env, folder } => Request::Command(CommandRequest {
                run: run.clone(),
                input: question,
                env: env.clone(),
                protocol: Protocol::Jsonl,
                folder: folder.clone(),
            }),
            CallTarget::Http { url, headers } => Request::Http(HttpRequest {
                method: "POST".to_owned(),
                url: url.clone(),
                headers: headers.clone(),
                body: question,
            }),
        })
    }
}

/// The answers that an object gives; null gives none.
fn answer_fields(object: &Map<String, Value>) -> Vec<String> {
    let names = ["score", "na", "unscored"].into_iter();
    names
        .filter(|name| object.get(*name).is_some_and(|value| !value.is_null()))
        .map(|name| format!("`{name}`"))
        .collect()
}

/// The score in an answer.
pub(crate) fn read(answer: &str) -> Score {
    let unreadable = || {
        let begin: String = answer.chars().take(80).collect();
        Score::unscored(format!(
            "the scorer answered {begin:?}, which is not a score: give a number, or an object with `score`, `na` or `unscored`"
        ))
    };
    match half_characters::parse(answer.trim()).map(|read| read.value) {
        Ok(Value::Bool(passed)) => Score::verdict(passed),
        Ok(Value::Number(number)) => number.as_f64().map_or_else(unreadable, Score::value),
        Ok(Value::Null) => Score::not_applicable("the scorer says that it does not apply"),
        Ok(Value::Object(object)) if answer_fields(&object).len() > 1 => Score::unscored(format!(
            "the scorer answered {} at once, which contradict each other: give exactly one of them",
            answer_fields(&object).join(" and ")
        )),
        Ok(Value::Object(mut object)) => {
            // A program may put the score beside the id of its line.
            object.retain(|name, value| !value.is_null() && name != "id");
            if let Some(score) = object.remove("score") {
                let score = score.as_f64().map(Score::value).or_else(|| score.as_bool().map(Score::verdict));
                let reason = object.get("reason").and_then(Value::as_str).map(str::to_owned);
                return score.map_or_else(unreadable, |score| score.with_reason(reason));
            }
            serde_json::from_value(Value::Object(object)).unwrap_or_else(|_| unreadable())
        }
        _ => unreadable(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3 of the field test, BY-15: a scorer in any language says a number, a verdict, a reason, or that it cannot say.
    #[test]
    fn answers_become_scores() {
        assert_eq!(read("0.5").number(), Some(0.5));
        assert_eq!((read("true"), read("false").number()), (Score::verdict(true), Some(0.0)));
        assert_eq!(
            read(r#"{"score": false, "reason": "rude"}"#),
            Score::verdict(false).with_reason(Some("rude".into()))
        );
        assert_eq!(read(r#"{"score": 3, "reason": "short"}"#), Score::value_because(3.0, "short"));
        assert_eq!(read(r#"{"na": "no gold"}"#), Score::not_applicable("no gold"));
        assert_eq!(read(r#"{"id": 3, "na": "no gold"}"#), Score::not_applicable("no gold"));
        assert_eq!(read(r#"{"unscored": "model down"}"#), Score::unscored("model down"));
        let two = read(r#"{"score": 1, "na": "no gold"}"#);
        assert_eq!(
            two,
            Score::unscored(
                "the scorer answered `score` and `na` at once, which contradict each other: give exactly one of them"
            )
        );
        assert_eq!(read(r#"{"score": 1, "na": null, "unscored": null}"#), Score::value(1.0));
        for nonsense in ["", "good", "[1]", r#"{"score": "high"}"#, r#"{"points": 3}"#] {
            assert!(read(nonsense).is_unscored(), "{nonsense}");
        }
    }
}
