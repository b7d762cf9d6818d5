//! Kinds of characters.

/// The decimal value of a digit in ASCII, full-width, Arabic or Devanagari form.
pub fn digit(c: char) -> Option<u32> {
    let zero = match c {
        '0'..='9' => '0',
        '\u{660}'..='\u{669}' => '\u{660}',
        '\u{6f0}'..='\u{6f9}' => '\u{6f0}',
        '\u{966}'..='\u{96f}' => '\u{966}',
        '\u{ff10}'..='\u{ff19}' => '\u{ff10}',
        _ => return None,
    };
    Some(u32::from(c) - u32::from(zero))
}

/// Spaces within a line.
pub(crate) fn is_inline_space(c: char) -> bool {
    c == '\t' || (c.is_whitespace() && !is_line_break(c))
}

/// Hyphens, dashes and minus signs.
pub(crate) fn is_dash(c: char) -> bool {
    matches!(c, '-' | '‐' | '\u{2011}' | '‒' | '–' | '—' | '−' | '﹣' | '－')
}

/// Raised digits, of powers and notes.
pub(crate) fn is_superscript(c: char) -> bool {
    matches!(c, '⁰' | '¹' | '²' | '³' | '⁴'..='⁹')
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
