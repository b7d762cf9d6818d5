//! Texts from outside, made harmless for readers and terminals: nothing in them acts on a terminal.
//!
//! Control characters become their pictures, and characters that move text around or hide it become U+FFFD.

use std::borrow::Cow;

use karat_text::kind::ends;

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
    visible_name(name).into_owned()
}

/// Returns the first `limit` characters of the text on one line, with an ellipsis if something was cut.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    let text = one_line(text);
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text,
    }
}

/// Returns the text on one line, without its middle if it has more than `limit` characters: the cause of an error often stands
/// at its end.
pub(crate) fn both_ends(text: &str, limit: usize) -> String {
    let text = one_line(text);
    ends(&text, limit / 2, limit / 2).into_owned()
}

/// Returns a text of several lines. Line breaks and tabs stay; so do the joiners that some scripts need.
pub fn visible(text: &str) -> Cow<'_, str> {
    let stays = |c: char| matches!(c, '\n' | '\t' | '\u{200c}' | '\u{200d}') || harmless(c) == c;
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    // A line break of Windows is one line break.
    let text = text.replace("\r\n", "\n");
    Cow::Owned(text.chars().map(|c| if stays(c) { c } else { harmless(c) }).collect())
}

/// Returns a name on one line without loss: different names stay different.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    if name.chars().all(|c| harmless(c) == c) { name.into() } else { name.chars().map(harmless).collect() }
}

/// Returns JSON in which harmful characters are escaped as `\uXXXX`. They only stand in its strings, so the value is the
/// same.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    let stays = |c: char| c == '\n' || harmless(c) == c;
    if json.chars().all(stays) {
        return json.into();
    }
    let mut out = String::with_capacity(json.len() + 16);
    let mut units = [0; 2];
    for c in json.chars() {
        if stays(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out.into()
}

/// Replaces a character that has an effect by one that is only shown.
pub fn harmless(c: char) -> char {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// D2: C1 controls, direction overrides and carriage returns have no effect, in texts, names and JSON.
    #[test]
    fn nothing_acts_on_a_terminal() {
        let hostile = "a\u{9b}31mb\u{9d}0;title\u{7}\u{202e}gnp\r\u{1b}[2Jend\u{2066}";
        for shown in [visible(hostile), visible_name(hostile)] {
            assert!(shown.chars().all(|c| harmless(c) == c), "{shown:?}");
        }
        let json = serde_json::to_string(hostile).unwrap();
        let escaped = escape_json(&json);
        assert!(escaped.is_ascii(), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), hostile);
    }

    #[test]
    fn ordinary_text_stays() {
        let text = "naïve\n\t東京 👩\u{200d}🔬";
        assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        assert_eq!(visible("a\r\nb\rc"), "a\nb␍c");
    }

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
