//! Keys of objects, and the quotes that texts stand in.

/// The length of the opening quote, and what may close it.
pub(super) fn opening(text: &str) -> Option<(usize, &'static [char], Option<&'static str>)> {
    Some(match text.chars().next()? {
        '"' => (1, &['"'], None),
        '\'' => (1, &['\''], Some("single quotes")),
        '`' => (1, &['`'], Some("back quotes")),
        quote @ ('“' | '”' | '„') => (quote.len_utf8(), &['”', '“', '"'], Some("typographic quotes")),
        quote @ '＂' => (quote.len_utf8(), &['＂'], Some("full-width quotes")),
        quote @ ('‘' | '’') => (quote.len_utf8(), &['’', '\''], Some("typographic quotes")),
        _ => return None,
    })
}

/// The length of a key that the text begins with: quoted up to the next closing quote, or a bare word.
pub(super) fn key_length(text: &str) -> Option<usize> {
    if let Some((open, closing, _)) = opening(text) {
        let mut escaped = false;
        for (at, character) in text[open..].char_indices() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '\n' => return None,
                _ if closing.contains(&character) => return Some(open + at + character.len_utf8()),
                _ => {}
            }
        }
        return None;
    }
    let length = bare_key_length(text);
    (length > 0).then_some(length)
}

/// The length of a key without quotes.
pub(super) fn bare_key_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.'))).unwrap_or(text.len())
}
