//! Texts from outside, made harmless for people's eyes and terminals.

/// Characters of an error's message: with what a program said of it, whose 400 characters quoting makes some more of.
pub(crate) const MESSAGE: usize = 1_000;

/// The text on one line, with every character that acts instead of showing made visible or replaced: control
/// characters become their pictures, direction overrides and other invisible characters the replacement character.
pub(crate) fn visible(text: &str) -> String {
    let on_one_line = |c| match c {
        '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        _ => harmless(c),
    };
    let shown: String = text.chars().map(on_one_line).collect();
    shown.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A name with nothing left out of it, so that two names stay two: line breaks have pictures, too, and spaces stay.
pub(crate) fn exact(name: &str) -> String {
    name.chars().map(harmless).collect()
}

/// A character that shows instead of acting.
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

/// The first `limit` characters of the visible text, with an ellipsis where something was cut.
pub(crate) fn brief(text: &str, limit: usize) -> String {
    let text = visible(text);
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
        assert_eq!(visible("a\u{1b}[31mb\u{7}\r\n c\u{9b}d"), "a␛[31mb␇ c\u{fffd}d");
        assert_eq!(visible("\u{202e}gnp.exe\u{200b}"), "\u{fffd}gnp.exe\u{fffd}");
    }

    #[test]
    fn names_stay_apart() {
        let names = ["lead", " lead", "lead ", "le  ad", "le ad", "le\nad", "le\tad", "\u{1b}[1mlead"];
        let shown: std::collections::BTreeSet<_> = names.iter().map(|name| exact(name)).collect();
        assert_eq!(shown.len(), names.len());
        assert!(shown.iter().all(|name| !name.chars().any(char::is_control)));
    }

    #[test]
    fn letters_of_any_script_stay() {
        assert_eq!(visible("naïve 東京 👩‍🔬 مرحبا"), "naïve 東京 👩\u{fffd}🔬 مرحبا");
        assert_eq!(brief("aäöü", 2), "aä…");
    }
}
