//! Number words of German, French and Spanish before a scale or unit: "zwölf Millionen", "vingt-cinq pour cent",
//! "dos mil millones". Alone they are articles and the like ("un", "eine") too often to be numbers.

use rust_decimal::Decimal;

#[rustfmt::skip]
const CARDINALS: &[(&str, u32)] = &[
    ("ein", 1), ("eine", 1), ("einer", 1), ("einem", 1), ("einen", 1), ("zwei", 2), ("drei", 3), ("vier", 4), ("fünf", 5),
    ("sechs", 6), ("sieben", 7), ("acht", 8), ("neun", 9), ("zehn", 10), ("elf", 11), ("zwölf", 12), ("dreizehn", 13),
    ("vierzehn", 14), ("fünfzehn", 15), ("sechzehn", 16), ("siebzehn", 17), ("achtzehn", 18), ("neunzehn", 19),
    ("zwanzig", 20), ("dreißig", 30), ("dreissig", 30), ("vierzig", 40), ("fünfzig", 50), ("sechzig", 60), ("siebzig", 70),
    ("achtzig", 80), ("neunzig", 90), ("hundert", 100), ("einhundert", 100),
    ("un", 1), ("une", 1), ("deux", 2), ("trois", 3), ("quatre", 4), ("cinq", 5), ("six", 6), ("sept", 7), ("huit", 8),
    ("neuf", 9), ("dix", 10), ("onze", 11), ("douze", 12), ("treize", 13), ("quatorze", 14), ("quinze", 15), ("seize", 16),
    ("dix-sept", 17), ("dix-huit", 18), ("dix-neuf", 19), ("vingt", 20), ("trente", 30), ("quarante", 40),
    ("cinquante", 50), ("soixante", 60), ("soixante-dix", 70), ("quatre-vingts", 80), ("quatre-vingt", 80),
    ("quatre-vingt-dix", 90), ("cent", 100),
    ("uno", 1), ("una", 1), ("dos", 2), ("tres", 3), ("cuatro", 4), ("cinco", 5), ("seis", 6), ("siete", 7), ("ocho", 8),
    ("nueve", 9), ("diez", 10), ("once", 11), ("doce", 12), ("trece", 13), ("catorce", 14), ("quince", 15),
    ("dieciséis", 16), ("diecisiete", 17), ("dieciocho", 18), ("diecinueve", 19), ("veinte", 20), ("veintiún", 21),
    ("veintiuno", 21), ("veintidós", 22), ("veintitrés", 23), ("veinticuatro", 24), ("veinticinco", 25),
    ("veintiséis", 26), ("veintisiete", 27), ("veintiocho", 28), ("veintinueve", 29), ("treinta", 30), ("cuarenta", 40),
    ("cincuenta", 50), ("sesenta", 60), ("setenta", 70), ("ochenta", 80), ("noventa", 90), ("cien", 100),
];

/// Hundreds in one word, before what they are added to.
#[rustfmt::skip]
const HUNDREDS: &[(&str, u32)] = &[
    ("ciento", 100), ("doscientos", 200), ("doscientas", 200), ("trescientos", 300), ("trescientas", 300),
    ("cuatrocientos", 400), ("cuatrocientas", 400), ("quinientos", 500), ("quinientas", 500), ("seiscientos", 600),
    ("seiscientas", 600), ("setecientos", 700), ("setecientas", 700), ("ochocientos", 800), ("ochocientas", 800),
    ("novecientos", 900), ("novecientas", 900), ("cent ", 100), ("hundert", 100), ("einhundert", 100),
];

#[rustfmt::skip]
const HALVES: &[(&str, u32)] = &[
    ("halbe", 0), ("eine halbe", 0), ("einer halben", 0), ("anderthalb", 1), ("eineinhalb", 1), ("zweieinhalb", 2),
    ("dreieinhalb", 3), ("viereinhalb", 4), ("fünfeinhalb", 5), ("un demi", 0), ("demi", 0), ("medio", 0), ("media", 0),
];

/// More characters than a number below a thousand has.
const LONGEST: usize = 44;

/// Words of the longest number, and one more.
const WORDS: usize = 6;

/// The value of the words at the start of `rest` and their length; `counts` tells whether a scale or unit follows there.
pub(crate) fn read(rest: &str, counts: impl Fn(usize) -> bool) -> Option<(Decimal, usize)> {
    let near = rest.char_indices().nth(LONGEST).map_or(rest.len(), |(at, _)| at);
    let lower = rest[..near].to_lowercase();
    // Lower case of other lengths occurs in no number word.
    let lower = if lower.len() == near { lower } else { return None };
    let word = |c: char| c.is_alphanumeric() || c == '-';
    let first = lower.split(|c| !word(c)).next().unwrap_or_default();
    if !begins(first) {
        return None;
    }
    let mut ends = Vec::new();
    for (at, c) in lower.char_indices() {
        let hyphen_before_scale = c == '-' && !lower[at + 1..].starts_with(word);
        if (!word(c) || hyphen_before_scale) && ends.len() < WORDS {
            ends.push(at);
        }
    }
    ends.iter().rev().find_map(|end| Some((value(&lower[..*end])?, *end)).filter(|(_, end)| counts(*end)))
}

/// True if a number may begin with this word.
fn begins(word: &str) -> bool {
    let mut tables = [CARDINALS, HUNDREDS, HALVES].into_iter().flatten();
    tables.any(|(known, _)| word.starts_with(known.split(' ').next().unwrap_or_default()))
}

fn of(table: &[(&str, u32)], words: &str) -> Option<u32> {
    table.iter().find(|(word, _)| *word == words).map(|(_, value)| *value)
}

fn value(words: &str) -> Option<Decimal> {
    if let Some(whole) = of(HALVES, words) {
        return Some(Decimal::from(whole) + Decimal::new(5, 1));
    }
    below_hundred(words).or_else(|| below_thousand(words)).map(Decimal::from)
}

/// "zweihundertfünfzig", "deux cent vingt", "ciento veinte".
fn below_thousand(words: &str) -> Option<u32> {
    let rest = |rest: &str| match rest.trim_start_matches([' ', '-']) {
        "" => Some(0),
        rest => below_hundred(rest.strip_prefix("und").unwrap_or(rest)).filter(|rest| *rest < 100),
    };
    let of_word = HUNDREDS.iter().find_map(|(word, value)| Some((words.strip_prefix(word)?, *value)));
    let of_factor = || {
        let (factor, rest) = ["hundert", " cents", " cent"].iter().find_map(|word| words.split_once(word))?;
        let factor = of(CARDINALS, factor).filter(|factor| (1..10).contains(factor))?;
        Some((rest, 100 * factor))
    };
    let (tail, hundreds) = of_word.or_else(of_factor)?;
    Some(hundreds + rest(tail)?)
}

fn below_hundred(words: &str) -> Option<u32> {
    if let Some(value) = of(CARDINALS, words) {
        return Some(value);
    }
    // "fünfundzwanzig", "vingt-cinq", "vingt et un", "treinta y cinco".
    let german = words.split_once("und").map(|(units, tens)| (tens, units));
    let latin = || [" y ", " et ", "-et-", "-"].iter().find_map(|joint| words.rsplit_once(joint));
    let (tens, units) = german.or_else(latin)?;
    let (tens, units) = (of(CARDINALS, tens)?, of(CARDINALS, units)?);
    let teens = matches!(tens, 60 | 80) && units < 20;
    let joined = (20..100).contains(&tens) && units > 0 && (units < 10 || teens);
    joined.then_some(tens + units)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: number words of other languages, before what they count alone.
    #[test]
    fn words_before_scales() {
        for (text, expected) in [
            ("zwölf Millionen", Some("12")),
            ("fünfundzwanzig Prozent", Some("25")),
            ("anderthalb Milliarden", Some("1.5")),
            ("eine halbe Million", Some("0.5")),
            ("vingt-cinq pour cent", Some("25")),
            ("vingt et un millions", Some("21")),
            ("soixante-quinze millions", Some("75")),
            ("deux cents millions", Some("200")),
            ("cent vingt millions", Some("120")),
            ("zweihundertfünfzig Millionen", Some("250")),
            ("trescientos cuarenta y cinco millones", Some("345")),
            ("treinta y cinco millones", Some("35")),
            ("un millón", Some("1")),
            ("undzwanzig Millionen", None),
            ("rund Millionen", None),
        ] {
            let scale = |end: usize| text[end..].starts_with(" M") || text[end..].starts_with(" m");
            let unit = |end: usize| scale(end) || text[end..].starts_with(" P") || text[end..].starts_with(" pour");
            let found = read(text, unit).map(|(value, _)| value.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
