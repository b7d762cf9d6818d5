//! Compares the arguments of an expected call with those of a call that was made.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::call::ToolCall;
use crate::metrics::json;

/// The rule by which arguments match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ArgumentRule {
    /// Every expected argument is there with an equal value; others may stand beside it, also in objects within.
    #[default]
    Subset,
    /// The arguments are equal.
    Equal,
    /// The expected values are JSON Schemas, which the arguments of these names obey.
    Schema,
    /// Arguments do not count.
    Ignore,
}

/// Compares arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct ArgumentMatcher {
    pub rule: ArgumentRule,
    /// Names of arguments that do not count.
    pub ignored: Vec<String>,
    /// Largest difference of two numbers, relative to the expected one.
    pub relative: f64,
    /// Largest difference of two numbers.
    pub absolute: f64,
    pub ignores_case: bool,
}

impl ArgumentMatcher {
    /// True if a call is the expected one.
    pub fn matches(&self, expected: &ToolCall, made: &ToolCall) -> bool {
        expected.name == made.name && self.difference(expected, made).is_none()
    }

    /// The first difference between the arguments of two calls of one tool, in words.
    pub fn difference(&self, expected: &ToolCall, made: &ToolCall) -> Option<String> {
        if self.rule == ArgumentRule::Ignore {
            return None;
        }
        let (Some(expected), Some(made)) = (&expected.arguments, &made.arguments) else {
            return Some("its arguments are no object".to_owned());
        };
        let counts = |name: &String| !self.ignored.contains(name);
        for (name, wanted) in expected.iter().filter(|(name, _)| counts(name)) {
            match made.get(name) {
                None => return Some(format!("it has no `{name}`")),
                Some(found) if !self.fits(wanted, found) => {
                    return Some(format!("its `{name}` is {}, expected {}", shorten(found), shorten(wanted)));
                }
                Some(_) => {}
            }
        }
        let mut others = made.keys().filter(|name| counts(name) && !expected.contains_key(*name));
        match others.next() {
            Some(other) if self.rule == ArgumentRule::Equal => Some(format!("it has `{other}`, which is not expected")),
            _ => None,
        }
    }

    fn fits(&self, wanted: &Value, found: &Value) -> bool {
        match self.rule {
            ArgumentRule::Schema => {
                json::JsonSchema::new(wanted).is_ok_and(|schema| schema.is_valid(found) == Ok(true))
            }
            _ => self.is_equal(wanted, found),
        }
    }

    fn is_equal(&self, wanted: &Value, found: &Value) -> bool {
        match (wanted, found) {
            (Value::Object(wanted), Value::Object(found)) => self.has_members(wanted, found),
            (Value::Array(wanted), Value::Array(found)) => {
                wanted.len() == found.len() && wanted.iter().zip(found).all(|(one, other)| self.is_equal(one, other))
            }
            (Value::String(wanted), Value::String(found)) if self.ignores_case => {
                wanted.to_lowercase() == found.to_lowercase()
            }
            (Value::Number(number), Value::Number(_)) => {
                let near = number.as_f64().zip(found.as_f64()).is_some_and(|(wanted, found)| {
                    let allowed = self.absolute.max(self.relative * wanted.abs());
                    allowed > 0.0 && (wanted - found).abs() <= allowed
                });
                near || json::equal(wanted, found)
            }
            _ => json::equal(wanted, found),
        }
    }

    fn has_members(&self, wanted: &Map<String, Value>, found: &Map<String, Value>) -> bool {
        let has = |(name, value): (&String, &Value)| found.get(name).is_some_and(|other| self.is_equal(value, other));
        (self.rule == ArgumentRule::Subset || wanted.len() == found.len()) && wanted.iter().all(has)
    }

    /// The problem of an expected call whose arguments are not schemas, or schemas by which a call of its tool cannot be
    /// decided.
    pub fn problem(&self, expected: &ToolCall, made: &[ToolCall]) -> Option<String> {
        if self.rule != ArgumentRule::Schema {
            return None;
        }
        let mut schemas = expected.arguments.iter().flatten();
        schemas.find_map(|(name, schema)| {
            let schema = match json::JsonSchema::new(schema) {
                Ok(schema) => schema,
                Err(error) => {
                    return Some(format!("the expected `{name}` of `{}` is not JSON Schema: {error}", expected.name));
                }
            };
            let found = made.iter().filter(|call| call.name == expected.name);
            let mut found = found.filter_map(|call| call.arguments.as_ref()?.get(name));
            let why = found.find_map(|value| schema.is_valid(value).err())?;
            Some(format!("`{name}` of `{}`: {why}", expected.name))
        })
    }
}

/// A value for a reason.
fn shorten(value: &Value) -> String {
    let written = value.to_string();
    match written.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &written[..end]),
        None => written,
    }
}
