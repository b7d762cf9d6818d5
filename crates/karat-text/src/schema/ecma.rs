//! Patterns of ECMA-262 in words that `jsonschema` compiles: it refuses `\k<name>`, `[^]` and `[]`.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Keywords whose members have names of their own: a `pattern` among them is none.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords whose values are data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// The schema with its patterns translated; `None` if none needs it.
pub(crate) fn translate(schema: &Value) -> Option<Value> {
    let text = schema.to_string();
    let may_need = text.contains("\"pattern") && [r"\\k<", "[^]", "[]"].iter().any(|part| text.contains(part));
    may_need.then(|| part(schema, false))
}

/// A part of a schema; `named` tells that the keys of an object are names and no keywords.
fn part(value: &Value, named: bool) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| part(item, false)).collect(),
        Value::Object(members) => {
            let translate = |(key, value): (&String, &Value)| {
                let value = match (key.as_str(), value) {
                    ("pattern", Value::String(text)) if !named => Value::String(pattern(text).into_owned()),
                    ("patternProperties", Value::Object(inside)) if !named => {
                        let inside = inside.iter().map(|(key, value)| (pattern(key).into_owned(), part(value, false)));
                        Value::Object(inside.collect())
                    }
                    (key, value) if !named && DATA.contains(&key) => value.clone(),
                    (key, value) => part(value, !named && NAMED.contains(&key)),
                };
                (key.clone(), value)
            };
            Value::Object(members.iter().map(translate).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// A pattern with numbers for the names that it refers to, and with classes of any and of no character written out.
fn pattern(text: &str) -> Cow<'_, str> {
    const ANY: &str = r"[\u0000-\u{10FFFF}]";
    const NONE: &str = r"[^\u0000-\u{10FFFF}]";
    let groups = groups(text);
    let mut translated = String::new();
    let mut in_class = false;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let reference = rest.strip_prefix(r"\k<").filter(|_| !in_class).and_then(|rest| rest.split_once('>'));
        let number = reference.and_then(|(name, _)| {
            let mut of_name = groups.iter().zip(1..).filter(|(group, _)| **group == Some(name));
            // Of several groups with one name, each may be meant.
            of_name.next().map(|(_, number): (_, usize)| (name, number)).filter(|_| of_name.next().is_none())
        });
        let (part, length) = match c {
            _ if let Some((name, number)) = number => {
                // A digit behind it is none of the number.
                (Cow::Owned(format!(r"(?:\{number})")), r"\k<>".len() + name.len())
            }
            '\\' => {
                let escaped = rest.chars().nth(1).map_or(0, char::len_utf8);
                (Cow::Borrowed(&rest[..1 + escaped]), 1 + escaped)
            }
            '[' if !in_class && rest.starts_with("[^]") => (Cow::Borrowed(ANY), "[^]".len()),
            '[' if !in_class && rest.starts_with("[]") => (Cow::Borrowed(NONE), "[]".len()),
            _ => {
                in_class = (in_class || c == '[') && c != ']';
                (Cow::Borrowed(&rest[..c.len_utf8()]), c.len_utf8())
            }
        };
        translated.push_str(&part);
        at += length;
    }
    if translated == text { Cow::Borrowed(text) } else { Cow::Owned(translated) }
}

/// The groups that capture, in order, with their names.
fn groups(text: &str) -> Vec<Option<&str>> {
    let mut groups = Vec::new();
    let (mut in_class, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let rest = &text[at + 1..];
                let name = rest.strip_prefix("?<").filter(|name| !name.starts_with(['=', '!']));
                match name.and_then(|name| name.split_once('>')) {
                    Some((name, _)) => groups.push(Some(name)),
                    None if !rest.starts_with('?') => groups.push(None),
                    None => {}
                }
            }
            _ => {}
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// F27: names become the numbers of their groups; classes and escapes are told apart.
    #[test]
    fn names_become_numbers() {
        for (text, expected) in [
            (r"(?<a>\d)-\k<a>0", r"(?<a>\d)-(?:\1)0"),
            (r"(x)(?:y)(?<=z)\((?<b>[(])\k<b>", r"(x)(?:y)(?<=z)\((?<b>[(])(?:\2)"),
            (r"\\k<a>(?<a>x)", r"\\k<a>(?<a>x)"),
            (r"\k<unknown>", r"\k<unknown>"),
            (r"a[^]b", r"a[\u0000-\u{10FFFF}]b"),
            (r"a[]b", r"a[^\u0000-\u{10FFFF}]b"),
            (r"[[^]\[\]]", r"[[^]\[\]]"),
        ] {
            assert_eq!(pattern(text), expected);
        }
    }

    /// F27: only keywords are patterns.
    #[test]
    fn names_and_data_stay() {
        let schema = json!({
            "properties": {"pattern": {"const": {"pattern": "[^]"}}, "enum": {"pattern": "[^]"}},
            "patternProperties": {"^[^]$": {"type": "string"}},
        });
        let expected = json!({
            "properties": {"pattern": {"const": {"pattern": "[^]"}}, "enum": {"pattern": r"[\u0000-\u{10FFFF}]"}},
            "patternProperties": {r"^[\u0000-\u{10FFFF}]$": {"type": "string"}},
        });
        assert_eq!(translate(&schema), Some(expected));
        assert_eq!(translate(&json!({"pattern": "^a$"})), None);
    }
}
