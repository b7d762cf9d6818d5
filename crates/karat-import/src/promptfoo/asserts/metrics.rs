//! Asserts that a metric decides: type by type, as the item of a row's checks.

use serde_json::{Value, json};

use super::javascript::{self, Code, Language, Translated};
use super::{Given, Item, Tools};
use crate::promptfoo::refusal::Refusal;
use crate::promptfoo::values::{number_of, split_values, text_of};

/// Default thresholds of promptfoo.
const LEVENSHTEIN: f64 = 5.0;
const ROUGE: f64 = 0.75;
const BLEU: f64 = 0.5;

/// The metric that decides an assert; nothing where the assert always holds, `None` of a type that no metric decides.
pub(super) fn item(given: &Given<'_>) -> Option<Result<Option<Item>, Refusal>> {
    Some(match given.kind {
        "equals" => equals(given),
        "contains" => contains(given, Item::new("contains")),
        "icontains" => contains(given, Item::new("contains").with("ignore_case", true)),
        "contains-any" => contains_list(given, "any", Item::new("contains")),
        "contains-all" => contains_list(given, "all", Item::new("contains")),
        "icontains-any" => contains_list(given, "any", Item::new("contains").with("ignore_case", true)),
        "icontains-all" => contains_list(given, "all", Item::new("contains").with("ignore_case", true)),
        "starts-with" => starts_with(given),
        "regex" => regex(given),
        "is-json" => json_schema(given).map(|item| Some(item.with("amid", false))),
        "contains-json" => json_schema(given).map(|item| Some(item.with("amid", true))),
        "levenshtein" => {
            let item = Item::new("levenshtein").set("value", given.text()).with("unit", "edits");
            Ok(Some(item.max(given.threshold.unwrap_or(LEVENSHTEIN))))
        }
        "word-count" => word_count(given),
        "javascript" | "python" => return translation(given).map(|it| Ok(Some(it.item))),
        "latency" | "cost" => match given.threshold {
            Some(limit) => Ok(Some(Item::new(given.kind).max(limit))),
            None => Err(Refusal::new("has no threshold").instead(format!("`metric: {}` with `max`", given.kind))),
        },
        "rouge-n" => {
            let item = Item::new("rouge").set("value", given.text()).with("type", "rouge1");
            Ok(Some(item.min(given.threshold.unwrap_or(ROUGE))))
        }
        "bleu" => {
            let item = Item::new("bleu").set("value", given.text()).with("lowercase", true);
            Ok(Some(item.min(100.0 * given.threshold.unwrap_or(BLEU))))
        }
        _ => return None,
    })
}

fn translation(given: &Given<'_>) -> Option<Translated> {
    let language = match given.kind {
        "javascript" => Language::JavaScript,
        "python" => Language::Python,
        _ => return None,
    };
    let (threshold, root, vars) = (given.threshold, given.root, given.vars);
    javascript::translate(Code { text: &given.text(), language, root, threshold, vars })
}

/// Returns true if the source gives outputs scores where the check says pass or fail.
pub(super) fn is_graded(given: &Given<'_>) -> bool {
    translation(given).is_some_and(|it| it.is_graded)
}

/// Returns true if a type of assert is about calls of tools.
pub(super) fn reads_tools(kind: &str) -> bool {
    matches!(kind, "is-valid-openai-tools-call" | "is-valid-openai-function-call" | "tool-call-f1")
}

/// The metric that decides an assert about calls of tools, where the suite offers tools.
pub(super) fn tool_item(given: &Given<'_>, tools: Tools) -> Option<Result<Option<Item>, Refusal>> {
    if tools == Tools::None || !reads_tools(given.kind) {
        return None;
    }
    if given.kind != "tool-call-f1" {
        return Some(Ok(Some(Item::new("valid_calls").min(1.0))));
    }
    let names = match &given.value {
        Value::Array(names) => names.iter().map(text_of).collect(),
        names => split_values(&text_of(names)),
    };
    let expected: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    let item = Item::new("tool_calls").set("value", expected).with("arguments", "ignore").with("part", "f1");
    Some(Ok(Some(item.min(given.threshold.unwrap_or(1.0)))))
}

/// The difference between the metric and the assert it stands for, where their formulas are not the same.
pub(super) fn difference(kind: &str) -> Option<&'static str> {
    match kind {
        "rouge-n" => Some("promptfoo splits words as the Penn Treebank does"),
        "bleu" => {
            Some("promptfoo splits words as the Penn Treebank does and smooths otherwise; the limit is times 100")
        }
        kind if reads_tools(kind) => {
            Some("promptfoo reads the calls in the output's text, and an output without calls fails there")
        }
        "similar" | "similar:cosine" => {
            Some("the vectors may come from another model, and the limit may need another value")
        }
        _ => None,
    }
}

fn equals(given: &Given<'_>) -> Result<Option<Item>, Refusal> {
    Ok(Some(match &given.value {
        // The output is read as JSON and compared as a value.
        value @ (Value::Object(_) | Value::Array(_)) => {
            Item::new("json_schema").with("schema", json!({"const": value})).with("amid", false)
        }
        _ => Item::new("exact").set("value", given.text()),
    }))
}

fn contains(given: &Given<'_>, item: Item) -> Result<Option<Item>, Refusal> {
    match given.text() {
        text if text.is_empty() && given.negation.is_some() => {
            Err(Refusal::new("has no value: every text contains nothing"))
        }
        text if text.is_empty() => Ok(None),
        text => Ok(Some(item.set("value", text))),
    }
}

fn contains_list(given: &Given<'_>, option: &str, item: Item) -> Result<Option<Item>, Refusal> {
    let values: Vec<String> = match &given.value {
        Value::Array(values) => values.iter().map(text_of).collect(),
        value => split_values(&text_of(value)),
    };
    match values.is_empty() {
        true => Err(Refusal::new("has no values")),
        false => Ok(Some(item.with(option, values))),
    }
}

fn starts_with(given: &Given<'_>) -> Result<Option<Item>, Refusal> {
    Ok(Some(Item::new("exact").set("value", given.text()).with("prefix", true)))
}

fn regex(given: &Given<'_>) -> Result<Option<Item>, Refusal> {
    Ok(Some(Item::new("regex").set("value", super::regex::translate(&given.text())?)))
}

fn json_schema(given: &Given<'_>) -> Result<Item, Refusal> {
    let schema = match &given.value {
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::String(text) => serde_saphyr::from_str(text)
            .map_err(|_: serde_saphyr::Error| Refusal::new("its schema is neither JSON nor YAML"))?,
        schema => schema.clone(),
    };
    match schema {
        // A scorer of the suite takes a schema as a map alone.
        Value::Bool(true) => Ok(Item::new("json_schema").with("schema", json!({}))),
        Value::Bool(false) => Ok(Item::new("json_schema").with("schema", json!({"not": {}}))),
        Value::Object(_) => Ok(Item::new("json_schema").with("schema", schema)),
        _ => Err(Refusal::new("its schema is not JSON Schema")),
    }
}

fn word_count(given: &Given<'_>) -> Result<Option<Item>, Refusal> {
    let item = Item::new("length").with("unit", "words");
    if let Value::Object(limits) = &given.value {
        let limit = |key: &str| limits.get(key).and_then(number_of);
        return match (limit("min"), limit("max")) {
            (None, None) => Err(Refusal::new("has neither `min` nor `max`")),
            (min, max) => {
                let item = min.into_iter().fold(item, Item::min);
                Ok(Some(max.into_iter().fold(item, Item::max)))
            }
        };
    }
    let count = number_of(&given.value).ok_or_else(|| Refusal::new("its value is not a number of words"))?;
    Ok(Some(item.min(count).max(count)))
}
