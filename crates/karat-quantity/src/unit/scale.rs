//! Scale words and letters: thousand, million, bn, Mrd., lakh, 億, …

use rust_decimal::Decimal;

use crate::chars::is_superscript;

/// Words, with the power of ten they stand for. Longer words come before their beginnings.
const WORDS: &[(&str, u32)] = &[
    ("mil millones", 9),
    ("thousands", 3),
    ("thousand", 3),
    ("hundred", 2),
    ("millionen", 6),
    ("millions", 6),
    ("million", 6),
    ("milliarden", 9),
    ("milliarde", 9),
    ("milliards", 9),
    ("milliard", 9),
    ("milliers", 3),
    ("millones", 6),
    ("millón", 6),
    ("milioni", 6),
    ("milione", 6),
    ("miliardi", 9),
    ("miliardo", 9),
    ("milhões", 6),
    ("milhão", 6),
    ("miljoen", 6),
    ("miljard", 9),
    ("mille", 3),
    ("mila", 3),
    ("miles de", 3),
    ("billionen", 12),
    ("billions", 9),
    ("billion", 9),
    ("billones", 12),
    ("bilhões", 9),
    ("bilhão", 9),
    ("trillions", 12),
    ("trillion", 12),
    ("quadrillion", 15),
    ("tausend", 3),
    ("tsd.", 3),
    ("tsd", 3),
    ("lacs", 5),
    ("lac", 5),
    ("lakhs", 5),
    ("lakh", 5),
    ("crores", 7),
    ("crore", 7),
    ("mln", 6),
    ("mio.", 6),
    ("mio", 6),
    ("mn", 6),
    ("bln", 9),
    ("bn", 9),
    ("mrd.", 9),
    ("mrd", 9),
    ("mld", 9),
    ("mds", 9),
    ("md", 9),
    ("trn", 12),
    ("tn", 12),
    ("тысяч", 3),
    ("тыс.", 3),
    ("тыс", 3),
    ("миллионов", 6),
    ("миллиона", 6),
    ("миллион", 6),
    ("млн", 6),
    ("миллиардов", 9),
    ("миллиарда", 9),
    ("миллиард", 9),
    ("млрд", 9),
    ("трлн", 12),
];

/// Characters that need no boundary after them.
const CHARACTERS: &[(&str, u32)] = &[
    ("百万", 6),
    ("十亿", 9),
    ("十億", 9),
    ("千万", 7),
    ("万", 4),
    ("萬", 4),
    ("亿", 8),
    ("億", 8),
    ("兆", 12),
    ("千", 3),
    ("만", 4),
    ("억", 8),
    ("조", 12),
];

/// Letters and short forms that scale money, or any number they are attached to.
const LETTERS: &[(&str, u32)] = &[
    ("mill.", 6),
    ("mill", 6),
    ("mil.", 6),
    ("bil.", 9),
    ("bil", 9),
    ("Cr", 7),
    ("cr", 7),
    ("mm", 6),
    ("MM", 6),
    ("K", 3),
    ("k", 3),
    ("M", 6),
    ("m", 6),
    ("B", 9),
    ("b", 9),
    ("G", 9),
    ("T", 12),
    ("t", 12),
];

/// A scale at the start of `rest`: its power of ten and its length in bytes. `rest` begins right
/// after the number, with a space or hyphen before a word. `money` tells that the number has a
/// currency, so that ambiguous letters are scales.
pub(crate) fn after(rest: &str, money: bool) -> Option<(u32, usize)> {
    let gap = gap_before_word(rest);
    let body = &rest[gap..];
    if !body.starts_with(char::is_alphabetic) {
        return None;
    }
    if let Some(found) = CHARACTERS.iter().find(|(word, _)| body.starts_with(word)) {
        return Some((found.1, gap + found.0.len()));
    }
    let word = WORDS.iter().find(|(word, _)| starts_with_word(body, word));
    if let Some((word, power)) = word {
        return Some((*power, gap + word.len()));
    }
    let (letter, power) = LETTERS.iter().find(|(l, _)| body.starts_with(l) && ends_word(&body[l.len()..]))?;
    if !money && matches!(*letter, "m" | "b") && is_unit_beside(&body[letter.len()..]) {
        return None;
    }
    let attached = gap == 0 && matches!(*letter, "K" | "k" | "M" | "m" | "B" | "b");
    let spaced = rest.starts_with([' ', '\u{a0}', '\u{202f}']) && matches!(*letter, "M" | "B" | "K");
    (money && !matches!(*letter, "G") || attached || spaced).then_some((*power, gap + letter.len()))
}

/// True if what follows a letter makes it a unit: "72m/s", "72m²".
fn is_unit_beside(rest: &str) -> bool {
    let per = rest.strip_prefix('/').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    per || rest.starts_with(['²', '³'])
}

/// A scale in front of the sign or code of a currency, at the end of `before`, and its length with the space behind it:
/// `k` in "k€ 500", "Mio. " in "Mio. € 500".
pub(crate) fn before(before: &str) -> Option<(u32, usize)> {
    #[rustfmt::skip]
    const SHORT: &[(&str, u32)] = &[("Mds", 9), ("Md", 9), ("k", 3), ("K", 3), ("T", 3), ("M", 6), ("m", 6)];
    #[rustfmt::skip]
    const LONG: &[(&str, u32)] = &[
        ("Tsd.", 3), ("Tsd", 3), ("Mio.", 6), ("Mio", 6), ("Mln.", 6), ("Mln", 6), ("Mrd.", 9), ("Mrd", 9), ("Mds", 9),
        ("mill.", 6), ("mio.", 6), ("mln", 6), ("mrd.", 9),
    ];
    let spaceless = before.trim_end_matches([' ', '\u{a0}', '\u{202f}']);
    let spaces = before.len() - spaceless.len();
    let attached = if spaces == 0 { SHORT } else { &[] };
    let (word, power) = attached.iter().chain(LONG).find(|(word, _)| {
        let rest = spaceless.strip_suffix(word);
        rest.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    })?;
    Some((*power, word.len() + spaces))
}

/// True if a scale follows that is written where commas are decimal marks: "1.234 Mio.".
pub(crate) fn is_continental(rest: &str) -> bool {
    #[rustfmt::skip]
    const CONTINENTAL: &[&str] = &[
        "millionen", "milliarden", "milliarde", "milliards", "milliard", "mil millones", "millones", "milioni", "miliardi", "milhões",
        "bilhões", "miljoen", "miljard", "tausend", "teur", "t€", "tsd.", "tsd", "mio.", "mio", "mrd.", "mrd", "mds", "mila", "miles de", "тыс",
        "млн", "млрд",
    ];
    let body = &rest[gap_before_word(rest)..];
    CONTINENTAL.iter().any(|word| starts_with_word(body, word))
}

/// 10 to the power `power`; `None` beyond the range of [`Decimal`].
pub(crate) fn factor(power: u32) -> Option<Decimal> {
    10_i128.checked_pow(power).and_then(|n| Decimal::try_from_i128_with_scale(n, 0).ok())
}

/// The bytes of one space, or of one hyphen between number and word.
fn gap_before_word(rest: &str) -> usize {
    let mut ahead = rest.chars();
    match ahead.next() {
        Some(c @ (' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')) => c.len_utf8(),
        Some(c @ ('-' | '\u{2011}')) if ahead.next().is_some_and(char::is_alphabetic) => {
            let word: String = rest[c.len_utf8()..].chars().take(8).collect();
            let long = WORDS.iter().any(|(w, _)| w.len() >= 5 && starts_with_word(&word, w));
            if long { c.len_utf8() } else { 0 }
        }
        _ => 0,
    }
}

/// True if `text` starts with `word`, in any case, and the word ends there.
pub(crate) fn starts_with_word(text: &str, word: &str) -> bool {
    // Most words differ in their first byte already.
    let (Some(first), Some(wanted)) = (text.bytes().next(), word.bytes().next()) else {
        return false;
    };
    if first.is_ascii() && !first.eq_ignore_ascii_case(&wanted) {
        return false;
    }
    let mut ahead = text.chars();
    let same = word.chars().all(|w| ahead.next().is_some_and(|c| c == w || c.to_lowercase().eq(w.to_lowercase())));
    same && (word.ends_with('.') || ends_word(ahead.as_str()))
}

/// True if no letter, digit or underscore follows. Scripts written without spaces and notes (`million¹`) end any word.
pub(crate) fn ends_word(rest: &str) -> bool {
    let ends = |c: char| c != '_' && (!c.is_alphanumeric() || is_superscript(c) || u32::from(c) >= 0x2e80);
    rest.chars().next().is_none_or(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_letters_scale() {
        for (rest, money, expected) in [
            (" billion", false, Some((9, 8))),
            ("bn in cash", false, Some((9, 2))),
            ("-million plan", false, Some((6, 8))),
            (" Mrd. €", false, Some((9, 5))),
            ("M", false, Some((6, 1))),
            (" M USD", false, Some((6, 2))),
            (" m", false, None),
            (" m", true, Some((6, 2))),
            ("t", true, Some((12, 1))),
            ("t", false, None),
            ("億円", false, Some((8, 3))),
            ("-K report", false, None),
            ("mb", true, None),
            (" billionaires", false, None),
            ("", true, None),
        ] {
            assert_eq!(after(rest, money), expected, "{rest}");
        }
    }
}
