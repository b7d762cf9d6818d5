//! Options of a registered kind, checked against the JSON Schema that it declares.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::diagnostics::Problems;
use crate::diagnostics::nearest::suggestion;
use crate::syntax::node::{Entry, Node};

/// Checks options. The value of a text with `{{ }}` is only known per row, so it may have any type.
pub(crate) fn check(node: &Node, schema: &Value, problems: &mut Problems) {
    if !schema.is_object() {
        return;
    }
    let Ok(validator) = jsonschema::validator_for(schema) else {
        problems.error(&node.place, "the schema of these options is broken; this is a bug in Karat");
        return;
    };
    let instance = node.json();
    for error in validator.iter_errors(&instance) {
        if !is_template(&error) {
            report(&error, node, schema, problems);
        }
    }
}

fn is_template(error: &ValidationError<'_>) -> bool {
    error.instance().as_str().is_some_and(|text| text.contains("{{"))
}

fn report(error: &ValidationError<'_>, node: &Node, schema: &Value, problems: &mut Problems) {
    let pointer = error.instance_path().to_string();
    let at = node.nearest_at(pointer.split('/').skip(1));
    match error.kind() {
        ValidationErrorKind::FalseSchema => {
            let name = pointer.rsplit('/').next().unwrap_or_default();
            let above = &pointer[..pointer.len() - name.len()];
            let owner = node.nearest_at(above.split('/').filter(|segment| !segment.is_empty()));
            let entry = owner.entries().iter().find(|entry| entry.key == name);
            report_unknown_option(entry, owner, name, schema, above.trim_end_matches('/'), problems);
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                let entry = at.entries().iter().find(|entry| &entry.key == name);
                report_unknown_option(entry, at, name, schema, &pointer, problems);
            }
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            problems.error(&at.place, format!("the option `{name}` is missing"));
        }
        _ => {
            let option = pointer.trim_start_matches('/').replace('/', ".");
            let subject = if option.is_empty() { "these options".to_owned() } else { format!("the option `{option}`") };
            problems.error(&at.place, format!("{subject} cannot be used: {error}"));
        }
    }
}

fn report_unknown_option(
    entry: Option<&Entry>,
    at: &Node,
    name: &str,
    schema: &Value,
    pointer: &str,
    problems: &mut Problems,
) {
    let known = schema_at(schema, pointer).and_then(|part| part.get("properties")).and_then(Value::as_object);
    let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let has_none = pointer.is_empty() && names.is_empty();
    let hint = if has_none { Some("it has no options".to_owned()) } else { suggestion(name, names.iter().copied()) };
    problems.error(entry.map_or(&at.place, |entry| &entry.place), format!("unknown option `{name}`")).maybe_hint(hint);
}

/// The part of a schema that a JSON pointer into the options leads to.
fn schema_at<'s>(schema: &'s Value, pointer: &str) -> Option<&'s Value> {
    let resolve = |part: &'s Value| match part.get("$ref").and_then(Value::as_str) {
        Some(reference) => schema.pointer(reference.trim_start_matches('#')),
        None => Some(part),
    };
    pointer.split('/').filter(|segment| !segment.is_empty()).try_fold(schema, |part, segment| {
        let inner = part.get("properties").and_then(|properties| properties.get(segment));
        inner.or_else(|| part.get("items")).and_then(resolve)
    })
}
