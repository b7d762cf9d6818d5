//! Texts from outside, made harmless for readers and terminals.

/// Length of an error message, in characters. Messages quote up to 400 characters of a program's output, which
/// escaping lengthens.
pub(crate) const MESSAGE: usize = 1_000;

/// Returns the text on one line. Control characters become their pictures; direction overrides and other invisible
/// characters become the replacement character.
pub(crate) fn one_line(text: &str) -> String {
    let on_one_line = |c| match c {
        '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        _ => harmless(c),
    };
    let shown: String = text.chars().map(on_one_line).collect();
    shown.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns a name without loss, so that different names stay different: line breaks become pictures, and spaces stay.
pub(crate) fn exact_name(name: &str) -> String {
    name.chars().map(harmless).collect()
}

/// Returns the text with its line breaks and tabs, and everything else as in [`one_line`].
pub(crate) fn several_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { harmless(c) }).collect()
}

/// Replaces a character that has an effect by one that is only shown.
fn harmless(c: char) -> char {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => '\u{fffd}',
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => '\u{fffd}',
        '\u{e0000}'..='\u{e007f}' => '\u{fffd}',
        _ => c,
    }
}

/// Returns the first `limit` characters of the text on one line, with an ellipsis if something was cut.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    let text = one_line(text);
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_lose_their_effect() {
        assert_eq!(one_line("a\u{1b}[31mb\u{7}\r\n c\u{9b}d"), "a␛[31mb␇ c\u{fffd}d");
        assert_eq!(one_line("\u{202e}gnp.exe\u{200b}"), "\u{fffd}gnp.exe\u{fffd}");
    }

    #[test]
    fn different_names_stay_different() {
        let names = ["lead", " lead", "lead ", "le  ad", "le ad", "le\nad", "le\tad", "\u{1b}[1mlead"];
        let shown: std::collections::BTreeSet<_> = names.iter().map(|name| exact_name(name)).collect();
        assert_eq!(shown.len(), names.len());
        assert!(shown.iter().all(|name| !name.chars().any(char::is_control)));
    }

    #[test]
    fn letters_of_any_script_are_kept() {
        assert_eq!(one_line("naïve 東京 👩‍🔬 مرحبا"), "naïve 東京 👩\u{fffd}🔬 مرحبا");
        assert_eq!(excerpt("aäöü", 2), "aä…");
    }
}
