//! Foreign bytes quoted in messages.

use karat_text::kind::split_ends;

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

/// Characters that a message shows of the beginning and of the end of what a program printed: it says first what it was doing,
/// and last why it ended.
const ENDS: (usize, usize) = (400, 2000);

/// Quotes the output of a program as [`quote`] does; of a long one the beginning and the end.
pub(crate) fn quote_ends(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    match split_ends(text, ENDS.0, ENDS.1) {
        Some((head, tail)) => format!("{head:?} … {tail:?}"),
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

    /// F54, BR-05: of a long output, the first 400 characters and the last 2,000 are shown.
    #[test]
    fn the_end_of_a_long_output_is_shown() {
        assert_eq!(quote_ends(b" a\nb "), r#""a\nb""#);
        let whole = "ü".repeat(2400);
        assert_eq!(quote_ends(whole.as_bytes()), format!("{whole:?}"));
        let long = format!("HEAD{}MIDDLE{}KeyError", "a".repeat(396), "b".repeat(1992));
        let (head, tail) = (format!("HEAD{}", "a".repeat(396)), format!("{}KeyError", "b".repeat(1992)));
        assert_eq!(quote_ends(long.as_bytes()), format!("{head:?} … {tail:?}"));
    }
}
