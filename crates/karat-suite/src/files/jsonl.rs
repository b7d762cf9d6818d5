//! JSON and JSONL files of moderate size, with the line of whatever is wrong in them.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::diagnostics::Diagnostic;

/// Most problems of one file that are shown.
const SHOWN: usize = 20;

/// A JSON text in which no object has a key twice: which of the two counts would be a guess.
///
/// # Errors
/// A syntax error, or the second of two equal keys.
pub(crate) fn parse_strict(text: &str) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = StrictJson.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

struct StrictJson;

impl<'de> DeserializeSeed<'de> for StrictJson {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictJson {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(Self)?;
            match map.entry(name) {
                Entry::Vacant(place) => place.insert(value),
                Entry::Occupied(taken) => {
                    return Err(A::Error::custom(format!("duplicate key {:?}", taken.key())));
                }
            };
        }
        Ok(Value::Object(map))
    }
}

/// One JSON document.
pub(crate) fn document(path: &str, text: &str) -> Result<Value, Box<Diagnostic>> {
    parse_strict(text.trim_start_matches('\u{feff}')).map_err(|error| Box::new(syntax(path, text, 1, &error)))
}

/// The rows of a JSON list or of a JSONL text.
pub(crate) fn rows(path: &str, text: &str) -> (Vec<Value>, Vec<Diagnostic>) {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('[') {
        return match document(path, text) {
            Ok(Value::Array(rows)) => (rows, Vec::new()),
            Ok(_) => (Vec::new(), vec![Diagnostic::of_line(path, 1, "", 0..0, "expected a list of rows")]),
            Err(problem) => (Vec::new(), vec![*problem]),
        };
    }
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match parse_strict(line) {
            Ok(row) => rows.push(row),
            Err(error) => problems.push(syntax(path, line, index + 1, &error)),
        }
        if problems.len() == SHOWN {
            break;
        }
    }
    (rows, problems)
}

/// Returns the byte range of each row of a text that [`rows`] could read.
pub(crate) fn places(text: &str) -> Vec<std::ops::Range<usize>> {
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('[') {
        return members("", text.trim_start_matches('\u{feff}')).map_or_else(
            |_| Vec::new(),
            |members| {
                let mark = text.len() - text.trim_start_matches('\u{feff}').len();
                members.into_iter().map(|(_, span)| span.start + mark..span.end + mark).collect()
            },
        );
    }
    let mut from = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let span = from..from + line.trim_end().len();
        from += line.len();
        span
    });
    lines.filter(|span| !text[span.clone()].trim_matches(['\u{feff}', ' ', '\t', '\r']).is_empty()).collect()
}

/// A problem of a stretch of a text, shown in the line in which it begins.
pub(crate) fn problem_in_row(
    path: &str,
    text: &str,
    span: std::ops::Range<usize>,
    message: impl Into<String>,
) -> Diagnostic {
    let start = text[..span.start].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let shown = span.start - start..(span.end - start).min(line.len());
    Diagnostic::of_line(path, text[..start].matches('\n').count() + 1, line, shown, message)
}

/// Line (from 1) and byte range of each member of a JSON list.
pub(crate) fn members(path: &str, text: &str) -> Result<Vec<(usize, std::ops::Range<usize>)>, Box<Diagnostic>> {
    let list: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| Box::new(syntax(path, text, 1, &error)))?;
    let mut line = 1;
    let mut done = 0;
    let mut found = Vec::with_capacity(list.len());
    for member in list {
        let start = member.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[done..start].matches('\n').count();
        done = start;
        found.push((line, start..start + member.get().len()));
    }
    Ok(found)
}

/// A syntax error at its own line and column; `first` is the line at which the text begins.
pub(crate) fn syntax(path: &str, text: &str, first: usize, error: &serde_json::Error) -> Diagnostic {
    // A text that ends too early is wrong at the end of its last line, not behind it.
    let last = text.lines().count().saturating_sub(1);
    let index = error.line().saturating_sub(1).min(last);
    let line = text.lines().nth(index).unwrap_or_default();
    let at = if error.is_eof() { line.len() } else { error.column().saturating_sub(1).min(line.len()) };
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or(&reason);
    Diagnostic::of_line(path, first + index, line, at..(at + 1).min(line.len()), format!("invalid JSON: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_know_their_lines() {
        let text = "[\n  {\"a\": 1},\n\n  {\"a\": 2}\n]";
        let found = members("x.json", text).unwrap();
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(&text[found[1].1.clone()], "{\"a\": 2}");
    }

    /// A key that a JSON row has twice is an error.
    #[test]
    fn a_key_stands_once() {
        let error = parse_strict(r#"{"a": {"b": 1, "b": 2}}"#).unwrap_err();
        assert!(error.to_string().starts_with("duplicate key \"b\""), "{error}");
        let text = r#"{"a": [1, -2, 0.1, 18446744073709551615, "x", null, true], "b": {}}"#;
        assert_eq!(parse_strict(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert!(parse_strict("{} {}").is_err());
    }

    #[test]
    fn every_broken_line_is_named() {
        let (rows, problems) = rows("x.jsonl", "{\"a\": 1}\n{\"a\": }\n\n{oops}\n");
        assert_eq!(rows.len(), 1);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2, 4]);
    }
}
