//! The nearest known name, for hints.

use karat_text::similar;

/// The known name that an unknown one was most likely meant to be; `None` when nothing is near.
///
/// First by edits ([`karat_text::similar::nearest`]), then a name that differs only in case and punctuation, then one
/// that begins with, or ends in, the unknown one: `maxConcurrency` finds `max_concurrency`, `haiku-4-5` finds
/// `claude-haiku-4-5`.
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let wanted = fold_name(unknown);
    let find = |fits: &dyn Fn(&str) -> bool| known.iter().copied().find(|name| fits(&fold_name(name)));
    similar::nearest(unknown, known.iter().copied())
        .or_else(|| find(&|name| name == wanted))
        .or_else(|| find(&|name| is_part(&wanted, name)))
}

/// "did you mean `x`?", or the known names where there are few and none is near.
pub(crate) fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(unknown, known.iter().copied()) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if known.is_empty() => None,
        None if known.len() <= 24 => Some(format!("known: {}", known.join(", "))),
        None => None,
    }
}

fn fold_name(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn is_part(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short.chars().count() >= 4 && (long.starts_with(short) || long.ends_with(short))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant() {
        let keys = ["models", "judges", "variants", "max_concurrency"];
        assert_eq!(nearest("model", keys), Some("models"));
        assert_eq!(nearest("varaints", keys), Some("variants"));
        assert_eq!(nearest("maxConcurrency", keys), Some("max_concurrency"));
        assert_eq!(nearest("dataset", keys), None);
        assert_eq!(nearest("gpt5", ["gpt-5", "gpt-4o"]), Some("gpt-5"));
    }
}
