//! The judge's words.

use karat_text::kind::kind;
use karat_types::Rationale;
use serde_json::{Map, Value};

use super::{Remarks, escape, places};

/// The rationale: long enough, and cut where it is too long.
pub(super) fn read(spec: &Rationale, object: &Map<String, Value>, prefix: &str, remarks: &mut Remarks) -> String {
    let pointer = format!("{prefix}/{}", escape(&spec.field));
    let text = match places::member(object, &spec.field).map(|(_, value)| value) {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Array(lines)) if lines.iter().all(Value::is_string) => {
            remarks.lenience(format!("`{}` was a list of texts", spec.field));
            lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
        }
        None | Some(Value::Null) => String::new(),
        Some(other) => {
            remarks.problem(pointer, format!("`{}` is {}, but must be a text", spec.field, kind(other)));
            return String::new();
        }
    };
    let length = text.chars().count();
    if length < spec.min_chars as usize {
        let message = format!("`{}` has {length} characters, but needs at least {}", spec.field, spec.min_chars);
        remarks.problem(pointer, message);
    }
    match spec.max_chars.map(|max| max as usize) {
        Some(max) if length > max => {
            remarks.lenience(format!("`{}` was cut from {length} to {max} characters", spec.field));
            text.chars().take(max).collect()
        }
        _ => text,
    }
}
