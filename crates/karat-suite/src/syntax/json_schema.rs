//! JSON Schemas in suites and rows: which options hold them, and their faults in plain words.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use karat_text::kind::kind;
use karat_text::schema::Schema;
use serde_json::{Map, Value};

/// The JSON Schemas that an option holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeldSchemas {
    None,
    /// The option is one.
    One,
    /// The option is an object of them.
    ByName,
}

impl HeldSchemas {
    /// Those of an option, by its own schema.
    pub fn of(option: &Value) -> Self {
        const MEDIA_TYPE: &str = "application/schema+json";
        match option.get("contentMediaType").is_some_and(|kind| kind == MEDIA_TYPE) {
            false => Self::None,
            true if option.get("type").is_some_and(|kind| kind == "object") => Self::ByName,
            true => Self::One,
        }
    }
}

/// The first fault of the JSON Schemas in options that stand in a row, where a text is not a file.
pub(crate) fn fault_of_schemas(with: &Map<String, Value>, options: &Value) -> Option<String> {
    let fault = |value: &Value| match value {
        Value::String(_) => Some("rows cannot name files: write the schema itself".to_owned()),
        value => Schema::new(value).err().map(|error| schema_fault(&error)),
    };
    with.iter().find_map(|(key, value)| {
        let held = options.pointer("/properties")?.get(key).map(HeldSchemas::of)?;
        let fault = match held {
            HeldSchemas::None => None,
            HeldSchemas::One => fault(value),
            HeldSchemas::ByName => value.as_object()?.values().find_map(fault),
        };
        Some(format!("`{key}` is not a valid JSON Schema: {}", fault?))
    })
}

/// The fault of a document that is not JSON Schema, in plain words.
pub(crate) fn schema_fault(error: &ValidationError<'_>) -> String {
    const TYPES: &str = "array, boolean, integer, null, number, object or string";
    let pointer = error.instance_path().to_string();
    let path = pointer.trim_start_matches('/').replace('/', ".");
    let subject = if path.is_empty() { "the whole".to_owned() } else { format!("`{path}`") };
    let found = error.instance();
    let shown = match &**found {
        Value::Object(_) | Value::Array(_) => kind(found).to_owned(),
        other => format!("`{other}`"),
    };
    match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(one) } => {
            let wanted = match one.as_str() {
                "array" => "a list",
                "object" => "an object",
                "string" => "a text",
                "boolean" => "true or false",
                "integer" => "a whole number",
                _ => "a number",
            };
            format!("{subject} must be {wanted}, not {shown}")
        }
        _ if path == "type" || path.ends_with(".type") => {
            format!("{subject} is {shown}; types are {TYPES}, or a list of them")
        }
        ValidationErrorKind::AnyOf { .. }
        | ValidationErrorKind::OneOfNotValid { .. }
        | ValidationErrorKind::Enum { .. } => {
            format!("{subject} cannot be {shown}")
        }
        ValidationErrorKind::Format { format } => format!("{subject} is {shown}, which is no {format}"),
        _ => format!("{subject}: {error}"),
    }
}
