//! Values of the source as numbers and texts.

use serde_json::{Value, json};

/// A number, whole where it is whole.
pub(super) fn number(value: f64) -> Value {
    let rounded = (value * 1e9).round() / 1e9;
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 { json!(rounded as i64) } else { json!(rounded) }
}

/// A number, or a text that is one.
pub(super) fn number_of(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|number| number.is_finite())
}

/// A value as JavaScript's `String(value)` writes it; lists and objects as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => (float as i64).to_string(),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// The values of a list in a text: separated by commas, in double quotes where they hold one; within quotes `""` and `\"`
/// are a quote.
pub(super) fn split_values(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut value = String::new();
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if is_quoted && chars.next_if_eq(&'"').is_some() => value.push('"'),
            '\\' if is_quoted && chars.next_if_eq(&'"').is_some() => value.push('"'),
            '"' if is_quoted => is_quoted = false,
            '"' if value.trim().is_empty() => {
                is_quoted = true;
                value.clear();
            }
            ',' if !is_quoted => values.push(std::mem::take(&mut value).trim().to_owned()),
            char => value.push(char),
        }
    }
    values.push(value.trim().to_owned());
    values.retain(|value| !value.is_empty());
    values
}

/// A time in milliseconds as a suite writes it.
pub(super) fn duration(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-02: values of a cell may stand in quotes.
    #[test]
    fn lists_in_cells_are_split_at_commas_outside_of_quotes() {
        for (text, expected) in [
            ("a, b,c", vec!["a", "b", "c"]),
            (r#""one, two", three"#, vec!["one, two", "three"]),
            (r#""a ""b"" c","d \"e\"""#, vec![r#"a "b" c"#, r#"d "e""#]),
            (r#"5" pipe, x"#, vec![r#"5" pipe"#, "x"]),
            ("", vec![]),
        ] {
            assert_eq!(split_values(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_are_those_of_javascript() {
        for (value, text) in [(json!(42.0), "42"), (json!(0.5), "0.5"), (json!(true), "true"), (json!(null), "")] {
            assert_eq!(text_of(&value), text);
        }
        assert_eq!(number(0.1 + 0.2), json!(0.3));
        assert_eq!(number(90.0), json!(90));
    }
}
