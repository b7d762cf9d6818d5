//! A value, such as an output, as text: strings as they are, everything else as indented lines, so that an answer and what stands beside it
//! read from top to bottom.

use serde_json::{Map, Value};

/// Deepest level that is written on lines of its own.
const DEEPEST: usize = 6;

/// Returns the value as text.
pub(crate) fn text(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out.trim_end().to_owned()
}

/// Returns a text that is JSON as [`text()`] writes it; any other text, such as JSON that was cut, as it is.
pub(crate) fn of_text(whole: &str) -> String {
    let value = serde_json::from_str(whole).ok().filter(|it: &Value| it.is_object() || it.is_array());
    value.as_ref().map_or_else(|| whole.to_owned(), text)
}

fn write(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(text) => out.push_str(text),
        // A whole output has a line for each member, however short: two systems' outputs then look alike.
        Value::Object(fields) if !fields.is_empty() && depth < DEEPEST && (depth == 0 || !is_short(value)) => {
            for (at, (name, field)) in in_reading_order(fields).into_iter().enumerate() {
                separate(out, depth, at);
                out.push_str(name);
                out.push(':');
                below(out, field, depth);
            }
        }
        Value::Array(items) if !items.is_empty() && depth < DEEPEST && !is_short(value) => {
            for (at, item) in items.iter().enumerate() {
                separate(out, depth, at);
                out.push_str(&format!("{}.", at + 1));
                below(out, item, depth);
            }
        }
        other => out.push_str(&inline(other)),
    }
}

/// Returns the members in the order in which they are read: texts first, then the others, long lists last.
fn in_reading_order(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<(&String, &Value)> = fields.iter().collect();
    members.sort_by_key(|(_, value)| if value.is_string() { 0 } else { value.to_string().len() });
    members
}

/// Writes a member: on the same line if it is short, else on lines of its own.
fn below(out: &mut String, value: &Value, depth: usize) {
    if matches!(value, Value::String(_)) || is_short(value) {
        out.push(' ');
        write(out, value, depth + 1);
    } else {
        write(out, value, depth + 1);
    }
}

fn separate(out: &mut String, depth: usize, at: usize) {
    if at > 0 || depth > 0 {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
}

/// Returns true for values that fit on one line: scalars, and small objects and lists of scalars.
fn is_short(value: &Value) -> bool {
    let is_scalar = |value: &Value| !matches!(value, Value::Object(_) | Value::Array(_));
    let is_small = |length: usize| length <= 80;
    match value {
        Value::Object(fields) => fields.values().all(is_scalar) && is_small(inline(value).len()),
        Value::Array(items) => items.iter().all(is_scalar) && is_small(inline(value).len()),
        _ => true,
    }
}

/// Returns a value on one line: `doc_type: slides, page: 4`.
fn inline(value: &Value) -> String {
    let joined = |parts: Vec<String>| if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        Value::Object(fields) => joined(fields.iter().map(|(name, it)| format!("{name}: {}", inline(it))).collect()),
        Value::Array(items) => joined(items.iter().map(inline).collect()),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-22: an answer stands above its citations, each on one line.
    #[test]
    fn an_answer_reads_from_top_to_bottom() {
        let output = serde_json::json!({
            "answer": "Revenue was $4.2bn.\nIt rose.",
            "citations": [{ "doc_type": "slides", "page": 4 }, { "doc_type": "press", "page": null }],
            "speakers": [],
        });
        let expected = "answer: Revenue was $4.2bn.\nIt rose.\nspeakers: none\ncitations:\n  1. doc_type: slides, page: 4\n  \
                        2. doc_type: press, page: none";
        assert_eq!(text(&output), expected);
        assert_eq!(text(&serde_json::json!("as it is")), "as it is");
    }

    /// F70: the members of an object stand on lines of their own whatever their length.
    #[test]
    fn a_short_object_reads_like_a_long_one() {
        let reason = "a".repeat(100);
        for reason in ["x", reason.as_str()] {
            let output = serde_json::json!({ "category": "billing", "reason": reason });
            assert_eq!(text(&output), format!("category: billing\nreason: {reason}"));
        }
        assert_eq!(text(&serde_json::json!({ "at": { "page": 4 } })), "at: page: 4");
    }
}
