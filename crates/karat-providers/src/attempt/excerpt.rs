//! Foreign bytes quoted in messages.

/// Characters of foreign text that a message shows.
pub(crate) const SHOWN: usize = 200;

/// Quotes foreign bytes: cut after this number of characters, control characters escaped.
pub(crate) fn quote(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * most)]);
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_cut_and_visible() {
        assert_eq!(quote(b" a\nb\x1b[0m ", SHOWN), r#""a\nb\u{1b}[0m""#);
        let long = quote("ä".repeat(1000).as_bytes(), SHOWN);
        assert_eq!(long.chars().count(), SHOWN + 3);
        assert!(long.ends_with("\"…"));
    }
}
