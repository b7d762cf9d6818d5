//! The stub model: a valid reply from the middle of the allowed range. It has no meaning.

use karat_text::fence;
use karat_types::{ChatRequest, ReplyFormat};
use serde_json::{Number, Value};

/// Depth to which a schema is followed.
const DEPTH: usize = 32;

/// The reply to any request: JSON that satisfies the wanted schema, an empty object, or a sentence.
pub(crate) fn reply(request: &ChatRequest) -> String {
    match &request.format {
        ReplyFormat::Text => "This is a stub's reply.".to_owned(),
        ReplyFormat::Vectors { .. } => String::new(),
        ReplyFormat::Json => "{}".to_owned(),
        ReplyFormat::Schema { schema, .. } => {
            let prompt = super::join_contents(request, |_| true);
            Filler { root: schema, code: fence::code(&prompt) }.fill(schema, DEPTH).to_string()
        }
    }
}

/// True if a property of a schema repeats the code of the prompt's fences.
pub(super) fn is_code(schema: &Value) -> bool {
    schema["description"] == fence::CODE_DESCRIPTION
}

/// Builds a value for a JSON Schema: constants, middles of ranges, the middle choice, the shortest texts and lists, all
/// properties.
struct Filler<'a> {
    root: &'a Value,
    /// The code of the prompt's fences.
    code: Option<&'a str>,
}

impl Filler<'_> {
    fn fill(&self, schema: &Value, depth: usize) -> Value {
        let Some(deeper) = depth.checked_sub(1) else { return Value::Null };
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
            return choices[(choices.len() - 1) / 2].clone();
        }
        if let Some(target) = schema["$ref"].as_str().and_then(|reference| self.resolve(reference)) {
            return self.fill(target, deeper);
        }
        if let Some(first) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema[*key].as_array()?.first()) {
            return self.fill(first, deeper);
        }
        match type_name(schema) {
            "object" => self.object(schema, deeper),
            "array" => self.array(schema, deeper),
            "integer" => middle(schema, true),
            "number" => middle(schema, false),
            "boolean" => true.into(),
            "string" if is_code(schema) => self.code.unwrap_or_default().into(),
            "string" => text(schema).into(),
            _ => Value::Null,
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let properties = schema["properties"].as_object();
        let fill = |(name, schema): (&String, &Value)| (name.clone(), self.fill(schema, depth));
        Value::Object(properties.map(|all| all.iter().map(fill).collect()).unwrap_or_default())
    }

    fn array(&self, schema: &Value, depth: usize) -> Value {
        let items = schema["minItems"].as_u64().unwrap_or(0).min(1000);
        (0..items).map(|_| self.fill(&schema["items"], depth)).collect()
    }

    /// The schema at `#/…`.
    fn resolve(&self, reference: &str) -> Option<&Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

/// The type; of several, the first that is not null.
fn type_name(schema: &Value) -> &str {
    match &schema["type"] {
        Value::String(kind) => kind,
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null"),
        _ if schema["properties"].is_object() => "object",
        _ => "null",
    }
}

/// The middle of the range, on the grid of `multipleOf` if there is one; 0 or the only bound without a range.
fn middle(schema: &Value, is_whole: bool) -> Value {
    let number = |key: &str| schema[key].as_f64();
    let step = number("multipleOf").filter(|step| *step > 0.0).or(is_whole.then_some(1.0));
    // An exclusive bound moves one step inwards; between two bounds any middle is inside.
    let inwards = step.unwrap_or(1.0);
    let low = number("minimum").or_else(|| number("exclusiveMinimum").map(|bound| bound + inwards));
    let high = number("maximum").or_else(|| number("exclusiveMaximum").map(|bound| bound - inwards));
    let wanted = match (low, high) {
        (Some(low), Some(high)) => low + (high - low) / 2.0,
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => 0.0,
    };
    let on_grid = |step: f64| {
        let below = (wanted / step).floor() * step;
        if low.is_some_and(|low| below < low) { below + step } else { below }
    };
    let value = step.map_or(wanted, on_grid);
    if is_whole || value.fract() == 0.0 {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn text(schema: &Value) -> String {
    let least = schema["minLength"].as_u64().unwrap_or(0).min(100_000) as usize;
    let most = schema["maxLength"].as_u64().map_or(usize::MAX, |most| most as usize);
    let words = "stub ".repeat(least / 5 + 1);
    let length = least.max("stub".len()).min(most);
    words.chars().chain(std::iter::repeat('.')).take(length).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_types::{Message, Role};
    use serde_json::json;

    use super::*;

    fn fill(schema: Value) -> Value {
        let format = ReplyFormat::Schema { name: "x".to_owned(), schema: Arc::new(schema) };
        let request = ChatRequest { format, ..ChatRequest::default() };
        serde_json::from_str(&reply(&request)).unwrap()
    }

    #[test]
    fn a_schema_is_filled_from_the_middle() {
        let schema = json!({
            "type": "object",
            "properties": {
                "accuracy": { "type": "integer", "minimum": 1, "maximum": 10 },
                "share": { "type": "number", "minimum": 0, "maximum": 1 },
                "half": { "type": "number", "minimum": 1, "maximum": 5, "multipleOf": 0.5 },
                "verdict": { "enum": ["bad", "fair", "good"] },
                "why": { "type": ["string", "null"], "minLength": 12 },
                "short": { "type": "string", "maxLength": 2 },
                "spans": { "type": "array", "items": { "$ref": "#/$defs/span" }, "minItems": 1 },
                "none": { "type": "array", "items": { "type": "number" } },
                "either": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
                "fixed": { "const": 7 },
            },
            "$defs": { "span": { "type": "object", "properties": { "at": { "type": "integer", "exclusiveMinimum": 3 } } } },
        });
        let expected = json!({
            "accuracy": 5, "share": 0.5, "half": 3, "verdict": "fair", "why": "stub stub st", "short": "st",
            "spans": [{ "at": 4 }], "none": [], "either": true, "fixed": 7,
        });
        assert_eq!(fill(schema), expected);
    }

    /// E1: a judge that is asked for the code of its call gives it.
    #[test]
    fn the_code_of_the_fences_is_repeated() {
        let fence = fence::Fence::new(7);
        let schema = json!({"type": "object", "properties": {"code": {"type": "string", "description": fence::CODE_DESCRIPTION}}});
        let message = Message::new(Role::User, fence.wrap("output", "x"));
        let format = ReplyFormat::Schema { name: "x".to_owned(), schema: Arc::new(schema) };
        let request = ChatRequest { messages: vec![message], format, ..ChatRequest::default() };
        assert_eq!(serde_json::from_str::<Value>(&reply(&request)).unwrap(), json!({"code": fence.nonce()}));
    }

    #[test]
    fn a_schema_without_end_has_one() {
        let filled = fill(json!({ "type": "object", "properties": { "next": { "$ref": "#" } } }));
        assert!(filled["next"]["next"].is_object());
    }
}
