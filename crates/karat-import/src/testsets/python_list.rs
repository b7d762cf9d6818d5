//! Lists as Python prints them: `['a', "it's"]`.

use serde_json::Value;

/// Reads a list of texts in JSON, or as Python or numpy prints it; `None` of anything else.
pub(super) fn parse_list(text: &str) -> Option<Vec<Value>> {
    let text = text.trim();
    // `array(['a', 'b'], dtype=object)`
    let text = text.strip_prefix("array(").and_then(|inner| Some(&inner[..inner.rfind(']')? + 1])).unwrap_or(text);
    if let Ok(Value::Array(list)) = serde_json::from_str(text) {
        return Some(list);
    }
    let mut chars = text.strip_prefix('[')?.strip_suffix(']')?.trim().chars();
    let mut list = Vec::new();
    while let Some(quote) = chars.next() {
        if !matches!(quote, '\'' | '"') {
            return None;
        }
        list.push(Value::String(read_text(&mut chars, quote)?));
        let behind = chars.as_str();
        let rest = behind.trim_start();
        chars = match rest.strip_prefix(',') {
            Some(more) => more.trim_start().chars(),
            // numpy separates members by blanks or lines.
            None if rest.is_empty() || behind.len() > rest.len() => rest.chars(),
            None => return None,
        };
    }
    Some(list)
}

/// Reads to the closing quote.
fn read_text(chars: &mut std::str::Chars<'_>, quote: char) -> Option<String> {
    let mut text = String::new();
    loop {
        match chars.next()? {
            char if char == quote => return Some(text),
            '\\' => text.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'x' => code(chars, 2)?,
                'u' => code(chars, 4)?,
                'U' => code(chars, 8)?,
                char @ ('\\' | '\'' | '"') => char,
                _ => return None,
            }),
            char => text.push(char),
        }
    }
}

/// A character by its number in hexadecimal digits.
fn code(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let text: String = chars.take(digits).collect();
    u32::from_str_radix(&text, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// F97, IO-09: lists in JSON and in the forms of Python and numpy.
    #[test]
    fn lists_of_both_forms_are_read() {
        let cases = [
            ("[]", json!([])),
            ("[\"a\", \"b\"]", json!(["a", "b"])),
            ("['a', 'b']", json!(["a", "b"])),
            ("['it\\'s', \"it's\", ]", json!(["it's", "it's"])),
            ("['a' 'b'\n \"c\"]", json!(["a", "b", "c"])),
            ("array(['a', 'b'], dtype=object)", json!(["a", "b"])),
            (r"['a\n\x41\u00e9\\', 'b, c']", json!(["a\nA\u{e9}\\", "b, c"])),
        ];
        for (text, list) in cases {
            assert_eq!(parse_list(text).map(Value::Array), Some(list), "{text}");
        }
        for text in ["", "a", "['a'", "['a''b']", "['a' ... 'b']", "[a]", "['a\\q']", "{'a': 1}"] {
            assert_eq!(parse_list(text), None, "{text}");
        }
    }
}
