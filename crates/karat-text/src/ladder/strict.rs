//! Strict JSON, with keys that stand twice noted.

use karat_types::json::Parsed;

/// The notes about keys that stand twice.
pub(super) fn notes(parsed: &Parsed) -> Vec<String> {
    parsed.duplicates.iter().map(|it| format!("the key {:?} stood twice; the last one counts", it.key)).collect()
}

/// The text as one JSON value.
pub(super) fn whole(text: &str) -> Option<Parsed> {
    serde_json::from_str(text).ok()
}

/// The JSON value that the text begins with, and its length.
pub(super) fn prefix(text: &str) -> Option<(Parsed, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Parsed>();
    let parsed = values.next()?.ok()?;
    Some((parsed, values.byte_offset()))
}

/// The JSON value of a text whose quotes are all escaped, like `{\"a\": 1}`.
pub(super) fn parse_escaped(text: &str) -> Option<Parsed> {
    let text = text.trim();
    if !text.strip_prefix(['{', '['])?.trim_start().starts_with("\\\"") {
        return None;
    }
    let quoted = format!("\"{}\"", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"));
    let unescaped: String = serde_json::from_str(&quoted).ok()?;
    whole(&unescaped)
}
