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
    if is_blank(&text) {
        remarks.problem(pointer, format!("`{}` is {text:?}: the form's blank, not filled in", spec.field));
        return String::new();
    }
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

/// Placeholders of a blank to be filled in.
const BLANKS: [&str; 7] =
    ["goes here", "reasoning here", "reason here", "placeholder", "lorem ipsum", "write reason", "in plain words"];

/// The most words that a blank has.
const SHORT: usize = 8;

/// True if a text is a form's blank: `<your reasoning>`, `[insert reasoning]`, `your reasoning here`, `string, at least 10
/// chars`.
fn is_blank(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_short = text.split_whitespace().count() <= SHORT;
    let within = |open, close| {
        text.strip_prefix(open).and_then(|inner| inner.split_once(close)).is_some_and(|(_, rest)| rest.is_empty())
    };
    let is_type = text.starts_with("string") && (text == "string" || text.contains("at least"));
    let is_bracketed = within('<', '>') || within('[', ']');
    is_bracketed || is_short && (is_type || text.starts_with("todo") || BLANKS.iter().any(|blank| text.contains(blank)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_told_from_words() {
        for blank in [
            "<your reasoning here>",
            "<why, in plain words, at least 10 characters, and more than eight of them>",
            "[insert reasoning]",
            "REASONING GOES HERE",
            "placeholder text",
            "string, at least 10 chars",
            "TODO write reason",
            "Lorem ipsum dolor sit amet",
        ] {
            assert!(is_blank(blank), "{blank}");
        }
        for words in [
            "",
            "<b> is missing from the list; all else is there.",
            "[1] supports it, [2]",
            "[1] is wrong and so is [2] in the list",
            "The placeholder in the second claim was never replaced by its number.",
            "Strings are compared well.",
        ] {
            assert!(!is_blank(words), "{words}");
        }
    }
}
