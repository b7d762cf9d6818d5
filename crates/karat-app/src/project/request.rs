//! Requests of callers over a wire: JSON objects whose names, kinds and ranges are those of a type's schema. The same schema
//! describes the object in OpenAPI and to agents.

use std::fmt;

use karat_types::json;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A problem of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestError {
    /// A name that there is not, and those that there are.
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        names: Vec<String>,
    },
    /// A value that has to be there.
    Missing {
        /// Its name.
        name: String,
    },
    /// A value of another kind, or out of range.
    Wrong {
        /// Its name.
        name: String,
        /// The kind and range that it must have, as words.
        form: String,
    },
    /// A problem inside of a value.
    Unreadable(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, .. } => write!(f, "there is no `{name}`"),
            Self::Missing { name } => write!(f, "`{name}` is missing"),
            Self::Wrong { name, form } => write!(f, "`{name}` must be {form}"),
            Self::Unreadable(problem) => f.write_str(problem),
        }
    }
}

/// The settings of schemas: without what only Rust needs.
pub fn schema_settings() -> SchemaSettings {
    let tidy: fn(&mut Schema) = |schema| {
        let is_empty = |value: &Value| match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            value => value.is_null() || *value == Value::Bool(false) || value.as_str() == Some(""),
        };
        if schema.get("default").is_some_and(is_empty) {
            schema.remove("default");
        }
        let is_size = |format: &str| format.starts_with("int") || format.starts_with("uint") || format == "double";
        if schema.get("format").and_then(Value::as_str).is_some_and(is_size) {
            schema.remove("format");
        }
        if schema.remove("unevaluatedProperties").is_some() {
            schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
    };
    let settings = SchemaSettings::draft2020_12().with(|it| it.meta_schema = None);
    settings.with_transform(RecursiveTransform(tidy))
}

/// The schema of the object that a caller sends, in one piece.
pub fn request_schema<T: JsonSchema>() -> Value {
    let settings = schema_settings().with(|it| it.inline_subschemas = true);
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    schema.remove("title");
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema.to_value()
}

/// Reads a request.
///
/// # Errors
/// A name that the schema has not, or a value that does not fit it.
pub fn read_request<T: DeserializeOwned + JsonSchema>(mut given: Map<String, Value>) -> Result<T, RequestError> {
    let schema = request_schema::<T>();
    let none = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    if let Some(name) = given.keys().find(|name| !fields.contains_key(*name)) {
        return Err(RequestError::Unknown { name: name.clone(), names: fields.keys().cloned().collect() });
    }
    let needed = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    if let Some(name) = needed.into_iter().find(|name| !given.contains_key(*name)) {
        return Err(RequestError::Missing { name: name.to_owned() });
    }
    for (name, value) in &mut given {
        shorten(value);
        let Some(form) = fields.get(name).map(Form::of).filter(|form| !form.fits(value)) else { continue };
        return Err(RequestError::Wrong { name: name.clone(), form: form.to_string() });
    }
    serde_json::from_value(Value::Object(given)).map_err(|error| RequestError::Unreadable(error.to_string()))
}

/// Writes a number in its shortest form, which every type reads: in JSON, `2.0` is a whole number as good as `2`.
fn shorten(value: &mut Value) {
    const MOST: f64 = 9_007_199_254_740_992.0;
    let Value::Number(number) = value else { return };
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= MOST => {
            *value = Value::from(float as i64);
        }
        _ => *number = json::number(number.as_str()).unwrap_or_else(|| number.clone()),
    }
}

/// The form of a value: its kind and its range. What a schema says beyond that is left to the reader of the value, which knows
/// more to say about it.
struct Form<'a> {
    schema: &'a Value,
    kind: &'a str,
    is_optional: bool,
}

impl<'a> Form<'a> {
    fn of(schema: &'a Value) -> Self {
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => kind.and_then(Value::as_str).into_iter().collect(),
        };
        let kind = kinds.iter().find(|kind| **kind != "null").copied().unwrap_or_default();
        Self { schema, kind, is_optional: kinds.contains(&"null") }
    }

    fn bound(&self, name: &str) -> Option<f64> {
        self.schema.get(name).and_then(Value::as_f64)
    }

    fn items(&self) -> Option<Form<'a>> {
        self.schema.get("items").map(Form::of)
    }

    fn fits(&self, value: &Value) -> bool {
        let is_in_range = |number: f64| {
            self.bound("minimum").is_none_or(|least| number >= least)
                && self.bound("maximum").is_none_or(|most| number <= most)
        };
        match (self.kind, value) {
            (_, Value::Null) if self.is_optional => true,
            ("string", value) => value.is_string(),
            ("boolean", value) => value.is_boolean(),
            ("object", value) => value.is_object(),
            ("integer", value) => (value.is_u64() || value.is_i64()) && value.as_f64().is_some_and(is_in_range),
            ("number", value) => value.as_f64().is_some_and(is_in_range),
            ("array", Value::Array(items)) => self.items().is_none_or(|form| items.iter().all(|item| form.fits(item))),
            ("array", _) => false,
            _ => true,
        }
    }
}

impl fmt::Display for Form<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |name| match name {
            "integer" => "a whole number",
            _ => "a number",
        };
        match (self.kind, self.bound("minimum"), self.bound("maximum")) {
            ("string", ..) => f.write_str("a text"),
            ("boolean", ..) => f.write_str("true or false"),
            ("array", ..) => match self.items().map(|form| form.kind) {
                Some("string") => f.write_str("a list of texts"),
                _ => f.write_str("a list"),
            },
            ("object", ..) => f.write_str("an object"),
            (kind, Some(least), Some(most)) => write!(f, "{} from {least} to {most}", number(kind)),
            (kind, Some(least), None) => write!(f, "{}, {least} or more", number(kind)),
            (kind, ..) => f.write_str(number(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::RunRequest;

    fn read<T: DeserializeOwned + JsonSchema>(given: Value) -> Result<T, RequestError> {
        read_request(given.as_object().unwrap().clone())
    }

    /// LI-03: a run that is asked for over a wire has the names of its schema, and a wrong value is named with its form.
    #[test]
    fn a_run_request_is_read_by_its_schema() {
        let given = json!({
            "suite": "faq", "params": { "a": "x", "b": [1, 2.50] }, "limit": 2.0, "budget_usd": 0.5, "trials": null,
            "gate": false, "run_id": "mine",
        });
        let request: RunRequest = read(given).unwrap();
        assert_eq!((request.run_id.as_deref(), request.gate), (Some("mine"), Some(false)));
        assert_eq!(request.overrides.params[0], ("a".to_owned(), "x".to_owned()));
        assert_eq!((request.overrides.limit, request.overrides.budget_usd), (Some(2), Some(0.5)));
        let problem = |name: &str, value: Value| {
            let mut given = json!({ "suite": "faq" });
            given[name] = value;
            read::<RunRequest>(given).unwrap_err().to_string()
        };
        assert_eq!(problem("suite", json!(1)), "`suite` must be a text");
        assert_eq!(problem("models", json!(["a", 1])), "`models` must be a list of texts");
        assert_eq!(problem("models", json!(null)), "`models` must be a list of texts");
        assert_eq!(problem("trials", json!(0)), "`trials` must be a whole number from 1 to 10000");
        assert_eq!(problem("limit", json!(-1)), "`limit` must be a whole number from 0 to 4294967295");
        assert_eq!(problem("budget_usd", json!(-0.5)), "`budget_usd` must be a number from 0 to 1000000000");
        assert_eq!(problem("params", json!([])), "`params` must be an object");
        assert_eq!(problem("gate", json!("yes")), "`gate` must be true or false");
        let spelled: Value = serde_json::from_str(r#"{"suite": "faq", "budget_usd": 1.50, "limit": 2.00}"#).unwrap();
        let spelled: RunRequest = read(spelled).unwrap();
        assert_eq!(
            (spelled.overrides.budget_usd, spelled.overrides.limit),
            (Some(1.5), Some(2)),
            "as an agent writes it"
        );
        assert_eq!(read::<RunRequest>(json!({})).unwrap_err().to_string(), "`suite` is missing");
    }

    /// LI-03, SV-10: what belongs to the user of the machine has no name over a wire, although Python may set it.
    #[test]
    fn a_caller_over_a_wire_sets_no_values_of_the_suite() {
        for name in ["set", "sweep", "safe", "plain_params", "yes", "of_ruler", "context", "shard", "no_cache"] {
            let mut given = json!({ "suite": "faq" });
            given[name] = json!(true);
            let refused = read::<RunRequest>(given).unwrap_err();
            assert!(matches!(refused, RequestError::Unknown { .. }), "{name}");
        }
        let own =
            r#"{"suite": "faq", "set": [["run.seed", "7"]], "params": [["a", "1"]], "yes": true, "budget_usd": 1.5}"#;
        let own: RunRequest = json::decode(own).unwrap();
        assert_eq!((own.overrides.set.len(), own.overrides.params.len(), own.yes), (1, 1, true));
        assert!(json::decode::<RunRequest>(r#"{"suite": "faq", "modles": []}"#).is_err());
    }

    /// SV-02: a whole number may be written with a fraction of zero; the values inside of an object stay as they are.
    #[test]
    fn a_whole_number_may_have_a_point() {
        #[derive(Debug, Deserialize, JsonSchema)]
        struct Body {
            a: f64,
            b: Map<String, Value>,
        }
        let body: Body = read(json!({ "a": 763723652.0, "b": { "c": 1.0 } })).unwrap();
        assert_eq!((body.a, body.b["c"].to_string()), (763_723_652.0, "1.0".to_owned()));
    }
}
