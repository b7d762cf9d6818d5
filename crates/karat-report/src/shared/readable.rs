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

/// Returns a text that is JSON as [`text()`] writes it, JSON that was cut up to its last whole member; any other text as it
/// is.
pub(crate) fn of_text(whole: &str) -> String {
    let value = serde_json::from_str(whole).ok().filter(|it: &Value| it.is_object() || it.is_array());
    let begun = || begun_value(whole).map(|value| format!("{}\n…", text(&value)));
    value.as_ref().map(text).or_else(begun).unwrap_or_else(|| whole.to_owned())
}

/// The part of cut JSON before its last comma, with its lists and objects closed.
fn begun_value(cut: &str) -> Option<Value> {
    let (mut open, mut end) = (Vec::new(), None);
    let (mut in_text, mut is_escaped) = (false, false);
    for (at, c) in cut.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_text => is_escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            ',' => end = Some((at, open.clone())),
            _ => {}
        }
    }
    let (at, open) = end.filter(|_| cut.starts_with(['{', '[']))?;
    let closed: String = cut.get(..at)?.chars().chain(open.into_iter().rev()).collect();
    serde_json::from_str(&closed).ok()
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

    /// F70: JSON that was cut reads like that which was not.
    #[test]
    fn cut_json_is_read_up_to_its_last_whole_member() {
        let claims = r#"{"claims":[{"text":"Oats, \"rolled\"."},{"text":"Fiber helps"},{"text":"It was c"#;
        assert_eq!(of_text(claims), "claims:\n  1. text: Oats, \"rolled\".\n  2. text: Fiber helps\n…");
        for text in ["{\"claims\":[\"it was c", "a, b", "[1] one, two"] {
            assert_eq!(of_text(text), text);
        }
    }
}
