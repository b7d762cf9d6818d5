//! Words that make the number behind them part of a name or date: "page 12", "iPhone 16", "June 30".

use crate::chars::is_inline_space;

/// More characters than any word or list that tells a role; looking no farther keeps the time
/// linear in the text.
pub(crate) const NEAR: usize = 40;

/// The Latin, Greek or Cyrillic word, with digits, that `before` ends with.
pub(crate) fn trailing_word(before: &str) -> &str {
    let start = before
        .char_indices()
        .rev()
        .take(NEAR)
        .take_while(|(_, c)| c.is_alphanumeric() && u32::from(*c) < 0x2e80)
        .last()
        .map_or(before.len(), |(at, _)| at);
    &before[start..]
}

pub(crate) fn near_end(text: &str) -> &str {
    let start = text.char_indices().rev().nth(NEAR).map_or(0, |(at, _)| at);
    &text[start..]
}

/// Words, in the singular, after which a number names a place or thing.
#[rustfmt::skip]
const REFERRING: &[&str] = &[
    "page", "p", "pp", "slide", "table", "figure", "fig", "section", "chapter", "note", "footnote", "item", "step",
    "exhibit", "appendix", "question", "version", "line", "row", "column", "no", "number", "id", "source", "citation",
    "seite", "s", "folie", "form", "rule", "article", "schedule", "level", "tier", "phase", "basel", "asc", "asu", "ifrs",
    "ias", "sfas", "s&p", "fortune", "russell", "nasdaq", "ftse", "nikkei", "stoxx", "dax", "windows", "boeing",
    "airbus", "iso", "seiten", "tabelle", "página", "pagina", "pág", "release", "build", "clause", "annex", "paragraph",
    "para", "art", "abs", "ziff", "ziffer", "nr", "kapitel", "abschnitt", "absatz", "artikel", "anhang", "abbildung", "abb",
    "chapitre", "tableau", "diapositive", "artículo", "capítulo", "tabla", "diapositiva", "anexo", "nº", "n°",
    "chunk", "passage", "snippet", "document", "doc", "galaxy", "pixel", "android", "playstation",
];

/// Those of them that stand before a colon, too: "Sources: 7".
const LISTED: &[&str] = &["page", "slide", "chunk", "passage", "snippet", "document", "source", "citation"];

/// True if the number behind `before` is a day or belongs to a name: "June 30", "page 12".
pub(crate) fn names_number(before: &str) -> bool {
    let previous = trailing_word(before.trim_end_matches(is_inline_space)).to_lowercase();
    MONTHS.contains(&previous.as_str()) || is_referred_to(before)
}

/// True if `before` ends with such a word, or with one and earlier numbers: "pages 12–", "Tables 2 and ".
pub(crate) fn is_referred_to(before: &str) -> bool {
    let earlier = |before: &str| -> Option<usize> {
        let before = before.trim_end_matches(is_inline_space);
        let joined = ["and", "&", "to", "or", "–", "-", "of", "/", "von", "sur", "und", "et", "y"]
            .iter()
            .find_map(|joint| before.strip_suffix(joint))?;
        let joined = joined.trim_end_matches(is_inline_space);
        let number = joined.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        (number.len() < joined.len()).then_some(number.len())
    };
    let paragraph = before.trim_end_matches(is_inline_space).ends_with('§');
    paragraph || names_next(before) || earlier(near_end(before)).is_some_and(|end| names_next(&near_end(before)[..end]))
}

fn names_next(before: &str) -> bool {
    let colon = before.trim_end_matches(is_inline_space).ends_with(':');
    let margin = |c: char| is_inline_space(c) || matches!(c, '.' | '#' | '(') || colon && c == ':';
    let trimmed = before.trim_end_matches(margin);
    let word = match trimmed.ends_with("S&P") {
        true => "S&P",
        false => trailing_word(trimmed),
    };
    let is = |known: &str| word.eq_ignore_ascii_case(known);
    let known = if colon { LISTED } else { REFERRING };
    let named =
        known.iter().any(|known| is(known) || word.strip_suffix('s').is_some_and(|w| w.eq_ignore_ascii_case(known)));
    // "iPhone 16".
    let product = !colon && word.starts_with(char::is_lowercase) && word.contains(char::is_uppercase);
    let named = named || product;
    // "The number 42" and "no 42" are answers; "no. 42" and "number of" are not asked here.
    let dotted = before.trim_end_matches(is_inline_space).ends_with('.');
    let weak = ["no", "number", "s", "p", "pp", "nr", "art", "abs", "ziff", "abb", "para"].iter().any(|weak| is(weak));
    named && before.len() > trimmed.len() && (dotted || !weak)
}

pub(crate) const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
    "januar",
    "februar",
    "märz",
    "mai",
    "juni",
    "juli",
    "oktober",
    "dezember",
    "janvier",
    "février",
    "mars",
    "avril",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
    "gennaio",
    "febbraio",
    "aprile",
    "maggio",
    "giugno",
    "luglio",
    "settembre",
    "ottobre",
    "dicembre",
];
