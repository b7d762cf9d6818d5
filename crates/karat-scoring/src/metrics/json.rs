//! JSON values: schema validation and equality.

use jsonschema::error::ValidationErrorKind;
use karat_text::schema::{Schema, TooManySteps};
use karat_types::json::{Parsed, same_number};
use serde_json::Value;
use thiserror::Error;

/// A JSON Schema, compiled once. References outside the schema are refused, never fetched.
///
/// ```
/// use karat_scoring::metrics::json::JsonSchema;
/// use serde_json::json;
///
/// let schema = JsonSchema::new(&json!({ "required": ["id"] }))?;
/// assert_eq!(schema.is_valid(&json!({ "id": 7 })), Ok(true));
/// let violations = schema.violations(&json!({}))?;
/// assert_eq!(violations[0].to_string(), "$: \"id\" is a required property");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct JsonSchema(Schema);

/// A schema that cannot be used.
#[derive(Debug, Clone, Error)]
#[error("compiling the JSON Schema: {reason} (at {place}){hint}")]
pub struct SchemaError {
    place: String,
    reason: String,
    hint: &'static str,
}

/// One way in which a value breaks a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where, as a JSON Pointer (RFC 6901); empty for the whole value.
    pub pointer: String,
    /// The problem.
    pub message: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.pointer.is_empty() { "$" } else { &self.pointer };
        write!(f, "{place}: {}", self.message)
    }
}

/// The longest message of a violation, in characters: a message quotes the offending value.
const LONGEST_MESSAGE: usize = 300;

impl JsonSchema {
    /// Compiles a schema; the draft is the one `$schema` names, else 2020-12.
    ///
    /// # Errors
    /// When it is not a schema, or refers to another document.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        Schema::new(schema).map(Self).map_err(|error| SchemaError {
            place: with_location(error.instance_path().as_str()),
            reason: error.to_string(),
            hint: match error.kind() {
                ValidationErrorKind::Referencing(_) => "; only references within the schema itself are followed",
                _ => "",
            },
        })
    }

    /// True if `value` obeys the schema.
    ///
    /// # Errors
    /// The check takes too many steps.
    pub fn is_valid(&self, value: &Value) -> Result<bool, TooManySteps> {
        self.0.is_valid(value)
    }

    /// The ways in which `value` breaks the schema; none when it obeys, of very many only the first.
    ///
    /// # Errors
    /// The check takes too many steps.
    pub fn violations(&self, value: &Value) -> Result<Vec<Violation>, TooManySteps> {
        let violation = |error: jsonschema::ValidationError| Violation {
            pointer: error.instance_path().as_str().to_owned(),
            message: shorten(&error.to_string()),
        };
        Ok(self.0.errors(value)?.into_iter().map(violation).collect())
    }
}

fn with_location(pointer: &str) -> String {
    if pointer.is_empty() { "$" } else { pointer }.to_owned()
}

fn shorten(message: &str) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

/// True if two JSON values are equal: numbers by value (`1` is `1.0`), objects whatever the order
/// of their members.
///
/// ```
/// use karat_scoring::metrics::json::equal;
/// use serde_json::json;
///
/// assert!(equal(&json!({ "a": 1, "b": [2.5] }), &json!({ "b": [2.5], "a": 1.0 })));
/// assert!(!equal(&json!("1"), &json!(1)));
/// ```
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let same = |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

/// The agreement of the members of an output object with those of a reference object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldAgreement {
    /// Members of the reference that the output has with an [`equal`] value.
    pub equal: Vec<String>,
    /// Members of the reference that the output has with another value.
    pub different: Vec<String>,
    /// Members of the reference that the output lacks.
    pub missing: Vec<String>,
    /// Members of the output that the reference lacks.
    pub extra: Vec<String>,
}

impl FieldAgreement {
    /// Compares two objects member by member; `None` when either is not an object.
    ///
    /// ```
    /// use karat_scoring::metrics::json::FieldAgreement;
    /// use serde_json::json;
    ///
    /// let (output, reference) = (json!({ "sum": 4, "vat": 1 }), json!({ "sum": 4.0, "due": null }));
    /// let fields = FieldAgreement::of(&output, &reference).unwrap();
    /// assert_eq!(fields.share(), Some(0.5));
    /// assert_eq!(fields.missing, ["due"]);
    /// ```
    #[must_use]
    pub fn of(output: &Value, reference: &Value) -> Option<Self> {
        let (output, reference) = (output.as_object()?, reference.as_object()?);
        let mut fields = Self::default();
        for (name, wanted) in reference {
            let list = match output.get(name) {
                Some(value) if equal(value, wanted) => &mut fields.equal,
                Some(_) => &mut fields.different,
                None => &mut fields.missing,
            };
            list.push(name.clone());
        }
        let unknown = output.keys().filter(|name| !reference.contains_key(*name));
        fields.extra.extend(unknown.cloned());
        Some(fields)
    }

    /// Equal members ÷ members of the reference; `None` when it has none.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let wanted = self.equal.len() + self.different.len() + self.missing.len();
        (wanted > 0).then(|| self.equal.len() as f64 / wanted as f64)
    }
}

/// The JSON objects and lists that stand in a text, in their order; those within others are not listed.
///
/// ```
/// use karat_scoring::metrics::json::values_within;
///
/// let found: Vec<_> = values_within(r#"I think {"a": [1]} or [2]."#).collect();
/// assert_eq!(found, [serde_json::json!({"a": [1]}), serde_json::json!([2])]);
/// ```
pub fn values_within(text: &str) -> impl Iterator<Item = Value> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(rest) = text.get(at..) {
            at += rest.find(['{', '['])?;
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Parsed>();
            match values.next() {
                Some(Ok(parsed)) => {
                    at += values.byte_offset();
                    return Some(parsed.value);
                }
                _ => at += 1,
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn violations_say_where_and_what() {
        let schema = JsonSchema::new(&json!({
            "type": "object",
            "properties": { "claims": { "items": { "required": ["text"] } } },
        }))
        .unwrap();
        let found = schema.violations(&json!({ "claims": [{ "text": "a" }, {}] })).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pointer, "/claims/1");
        assert_eq!(schema.is_valid(&json!([])), Ok(false));
    }

    #[test]
    fn remote_references_are_refused_when_compiling() {
        let error = JsonSchema::new(&json!({ "$ref": "https://example.com/a.json" })).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("compiling the JSON Schema: "), "{text}");
        assert!(JsonSchema::new(&json!({ "$ref": "file:///etc/passwd" })).is_err());
        assert!(JsonSchema::new(&json!({ "type": 7 })).is_err());
        let own = json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "number" } } });
        assert_eq!(JsonSchema::new(&own).unwrap().is_valid(&json!(1)), Ok(true));
    }

    #[test]
    fn long_values_do_not_make_long_messages() {
        let schema = JsonSchema::new(&json!({ "type": "number" })).unwrap();
        let found = schema.violations(&json!("東".repeat(10_000))).unwrap();
        assert!(found[0].message.chars().count() <= LONGEST_MESSAGE + 1);
    }

    #[test]
    fn equality_is_by_value() {
        assert!(equal(&json!(0.0), &json!(-0.0)));
        assert!(equal(&json!(u64::MAX), &json!(u64::MAX)));
        assert!(!equal(&json!(u64::MAX), &json!(u64::MAX - 1)));
        assert!(!equal(&json!([1, 2]), &json!([2, 1])));
        assert!(!equal(&json!({ "a": null }), &json!({})));
        assert!(!equal(&json!(null), &json!(0)));
    }

    #[test]
    fn fields_are_sorted_into_four_lists() {
        let (output, reference) = (json!({ "a": 1, "b": 2, "x": 0 }), json!({ "a": 1, "b": 3, "c": 4 }));
        let fields = FieldAgreement::of(&output, &reference).unwrap();
        assert_eq!(fields.equal, ["a"]);
        assert_eq!(fields.different, ["b"]);
        assert_eq!(fields.missing, ["c"]);
        assert_eq!(fields.extra, ["x"]);
        assert_eq!(FieldAgreement::of(&json!([]), &reference), None);
        assert_eq!(FieldAgreement::of(&output, &json!({})).unwrap().share(), None);
    }
}
