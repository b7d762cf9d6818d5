//! Texts within diagnostics: what they say, and when two say the same.

use serde_json::Value;

/// What an item of a diagnostic list says: itself, its `text`, its first text field, or its JSON.
pub(crate) fn text_of(item: &Value) -> String {
    let field = |object: &serde_json::Map<String, Value>| {
        let named = object.get("text").and_then(Value::as_str);
        named.or_else(|| object.values().find_map(Value::as_str)).map(str::to_owned)
    };
    match item {
        Value::String(text) => text.clone(),
        Value::Object(object) => field(object).unwrap_or_else(|| item.to_string()),
        other => other.to_string(),
    }
}

/// Every text within an output, one below the other; other values as JSON.
pub(crate) fn all_text(output: &Value) -> String {
    fn gather<'v>(value: &'v Value, into: &mut Vec<std::borrow::Cow<'v, str>>) {
        match value {
            Value::String(text) => into.push(text.into()),
            Value::Array(items) => items.iter().for_each(|item| gather(item, into)),
            Value::Object(members) => members.values().for_each(|member| gather(member, into)),
            Value::Null => {}
            other => into.push(other.to_string().into()),
        }
    }
    let mut texts = Vec::new();
    gather(output, &mut texts);
    texts.join("\n")
}

/// The text in lower case, its words apart by one blank and without punctuation at their ends:
/// two texts with one folded form count as equal.
pub(crate) fn folded(text: &str) -> String {
    let words = text.split_whitespace().map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The first `limit` characters, with an ellipsis where something was cut.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_item_says_its_text() {
        assert_eq!(text_of(&json!("plain")), "plain");
        assert_eq!(text_of(&json!({"area": "costs", "weight": 1})), "costs");
        assert_eq!(text_of(&json!({"n": 1, "text": "t", "a": "b"})), "t");
        assert_eq!(text_of(&json!(3)), "3");
        assert_eq!(all_text(&json!({"a": "x", "b": [1, {"c": "y"}, null]})), "x\n1\ny");
    }

    #[test]
    fn case_space_and_punctuation_do_not_part_texts() {
        assert_eq!(folded("  Iron\trusts, fast. "), folded("iron rusts fast"));
        assert_ne!(folded("iron rusts"), folded("iron rests"));
    }

    #[test]
    fn an_excerpt_ends_on_a_character() {
        assert_eq!(excerpt("äöü", 2), "äö…");
        assert_eq!(excerpt("äöü", 3), "äöü");
    }
}
