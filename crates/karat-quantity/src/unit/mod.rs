//! Units: plain numbers, percentages, money.
//!
//! This file finds a unit beside a number; `currencies` is the table of rarer currencies, `scale` reads thousand to
//! trillion, `noun` units that only a noun names (employees, GWh).

mod currencies;
pub(crate) mod noun;
pub(crate) mod scale;

use rust_decimal::Decimal;

use crate::chars::is_inline_space;
use crate::unit::currencies::{CODES, NAMES, NATIONS};
use crate::unit::scale::{ends_word, starts_with_word};

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// No unit that is known; the noun after the number may say more.
    Plain,
    /// Percent; percentage points, basis points and per mille are converted.
    Percent,
    /// Money.
    Money(Currency),
    /// Money of which the text says two currencies: "$5 (EUR)". It is none that may be expected.
    Conflicting,
}

impl Unit {
    /// True if both can be the same unit.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Money(one), Self::Money(other)) => one.agrees_with(other),
            _ => self == other,
        }
    }
}

/// A currency, or the few that share a sign: `$` may be any dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Currency {
    codes: &'static [&'static str],
}

impl Currency {
    /// The ISO 4217 code; of a shared sign the usual one (`$` is USD).
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.codes[0]
    }

    /// True if the sign says only one currency.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.codes.len() == 1
    }

    /// True if both can be the same currency.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.codes.iter().any(|code| other.codes.contains(code))
    }

    /// The currency with an ISO 4217 code, sign or English name, in any case.
    ///
    /// ```
    /// use karat_quantity::Currency;
    ///
    /// assert_eq!(Currency::from_name("eur").unwrap().code(), "EUR");
    /// assert!(Currency::from_name("$").unwrap().agrees_with(&Currency::from_name("CAD").unwrap()));
    /// assert!(Currency::from_name("furlong").is_none());
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim();
        let upper = name.to_uppercase();
        let of_code = CODES.iter().find(|(code, _)| *code == upper);
        let of_code = of_code.map(|(_, codes)| *codes);
        let of_sign = || SIGNS.iter().find(|(s, _)| *s == name).map(|(_, codes)| *codes);
        let of_word = || {
            let found = WORDS.iter().find(|(word, _, _)| word.eq_ignore_ascii_case(name));
            found.filter(|(_, _, cents)| !cents).map(|(_, codes, _)| *codes)
        };
        let of_name = || NAMES.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)).map(|(_, codes)| *codes);
        let codes = of_code.or_else(of_sign).or_else(of_name).or_else(of_word)?;
        Some(Self { codes })
    }
}

/// A unit found beside a number, and what one of it is worth in the base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct UnitMark {
    pub(crate) unit: Unit,
    pub(crate) factor: Decimal,
}

impl UnitMark {
    fn money(codes: &'static [&'static str], cents: bool) -> Self {
        let unit = Unit::Money(Currency { codes });
        let factor = if cents { Decimal::new(1, 2) } else { Decimal::ONE };
        Self { unit, factor }
    }

    pub(crate) fn percent(decimals: u32) -> Self {
        Self { unit: Unit::Percent, factor: Decimal::new(1, decimals) }
    }
}

#[rustfmt::skip]
const DOLLARS: &[&str] = &[
    "USD", "CAD", "AUD", "NZD", "HKD", "SGD", "TWD", "MXN", "ARS", "CLP", "COP", "UYU", "DOP", "JMD", "TTD", "BSD", "BBD",
    "BMD", "BND", "BZD", "FJD", "GYD", "KYD", "LRD", "NAD", "SBD", "SRD", "XCD", "ZWL",
];
const CROWNS: &[&str] = &["SEK", "NOK", "DKK", "ISK"];
const RUPEES: &[&str] = &["INR", "PKR", "LKR", "NPR", "MUR"];

/// Signs of currencies, longer ones before their endings.
const SIGNS: &[(&str, &[&str])] = &[
    ("US$", &["USD"]),
    ("AU$", &["AUD"]),
    ("CA$", &["CAD"]),
    ("Can$", &["CAD"]),
    ("Cdn$", &["CAD"]),
    ("NZ$", &["NZD"]),
    ("HK$", &["HKD"]),
    ("NT$", &["TWD"]),
    ("MX$", &["MXN"]),
    ("Mex$", &["MXN"]),
    ("TT$", &["TTD"]),
    ("J$", &["JMD"]),
    ("Z$", &["ZWL"]),
    ("RMB", &["CNY"]),
    ("A$", &["AUD"]),
    ("C$", &["CAD"]),
    ("S$", &["SGD"]),
    ("R$", &["BRL"]),
    ("$", DOLLARS),
    ("＄", DOLLARS),
    ("€", &["EUR"]),
    ("£", &["GBP"]),
    ("￡", &["GBP"]),
    ("¥", &["JPY", "CNY"]),
    ("￥", &["JPY", "CNY"]),
    ("円", &["JPY"]),
    ("元", &["CNY", "TWD"]),
    ("₹", &["INR"]),
    ("₩", &["KRW"]),
    ("원", &["KRW"]),
    ("₽", &["RUB"]),
    ("₺", &["TRY"]),
    ("₫", &["VND"]),
    ("฿", &["THB"]),
    ("₪", &["ILS"]),
    ("₴", &["UAH"]),
    ("₦", &["NGN"]),
    ("₱", &["PHP"]),
    ("zł", &["PLN"]),
    ("Kč", &["CZK"]),
    ("Rs.", RUPEES),
    ("Rs", RUPEES),
    ("Rp.", &["IDR"]),
    ("Rp", &["IDR"]),
    ("RM", &["MYR"]),
    ("SFr.", &["CHF"]),
    ("SFr", &["CHF"]),
    ("Fr.", &["CHF"]),
    ("KD", &["KWD"]),
    ("BD", &["BHD"]),
    ("Dhs.", &["AED"]),
    ("Dhs", &["AED"]),
    ("Bs.", &["BOB", "VES"]),
    ("Bs", &["BOB", "VES"]),
    ("S/.", &["PEN"]),
    ("KSh", &["KES"]),
    ("Ksh", &["KES"]),
    ("₸", &["KZT"]),
    ("₵", &["GHS"]),
    ("৳", &["BDT"]),
    ("kr.", CROWNS),
    ("kr", CROWNS),
];

/// Names of currencies; the last field tells whether they are hundredths.
const WORDS: &[(&str, &[&str], bool)] = &[
    ("U.S. dollars", &["USD"], false),
    ("US dollars", &["USD"], false),
    ("US dollar", &["USD"], false),
    ("US-Dollar", &["USD"], false),
    ("Canadian dollars", &["CAD"], false),
    ("Australian dollars", &["AUD"], false),
    ("New Zealand dollars", &["NZD"], false),
    ("Hong Kong dollars", &["HKD"], false),
    ("Singapore dollars", &["SGD"], false),
    ("dollars", DOLLARS, false),
    ("dollar", DOLLARS, false),
    ("bucks", DOLLARS, false),
    ("dólares", DOLLARS, false),
    ("dólar", DOLLARS, false),
    ("dollari", DOLLARS, false),
    ("долларов", DOLLARS, false),
    ("доллара", DOLLARS, false),
    ("евро", &["EUR"], false),
    ("рублей", &["RUB"], false),
    ("рубля", &["RUB"], false),
    ("euros", &["EUR"], false),
    ("euro", &["EUR"], false),
    ("pounds sterling", &["GBP"], false),
    ("British pounds", &["GBP"], false),
    ("pounds", &["GBP"], false),
    ("pound", &["GBP"], false),
    ("Japanese yen", &["JPY"], false),
    ("yen", &["JPY"], false),
    ("renminbi", &["CNY"], false),
    ("yuan", &["CNY"], false),
    ("RMB", &["CNY"], false),
    ("Swiss francs", &["CHF"], false),
    ("francs", &["CHF"], false),
    ("Franken", &["CHF"], false),
    ("Indian rupees", &["INR"], false),
    ("rupees", RUPEES, false),
    ("rupee", RUPEES, false),
    ("won", &["KRW"], false),
    ("kronor", &["SEK"], false),
    ("kroner", &["NOK", "DKK"], false),
    ("reais", &["BRL"], false),
    ("pesos", &["MXN", "ARS", "CLP", "COP", "PHP"], false),
    ("rubles", &["RUB"], false),
    ("roubles", &["RUB"], false),
    ("zloty", &["PLN"], false),
    ("rand", &["ZAR"], false),
    ("cents", &["USD", "EUR", "CAD", "AUD", "NZD", "SGD", "HKD", "ZAR"], true),
    ("cent", &["USD", "EUR", "CAD", "AUD", "NZD", "SGD", "HKD", "ZAR"], true),
    ("pence", &["GBP"], true),
    ("centimes", &["EUR", "CHF"], true),
    ("céntimos", &["EUR"], true),
    ("Eurocent", &["EUR"], true),
    ("Rappen", &["CHF"], true),
    ("paise", &["INR"], true),
];

/// Names of percentages, with the power of ten below one percent.
const PERCENTAGES: &[(&str, u32)] = &[
    ("percentage points", 0),
    ("percentage point", 0),
    ("percentage-points", 0),
    ("percentage-point", 0),
    ("percent", 0),
    ("per cent", 0),
    ("pct", 0),
    ("p.p.", 0),
    ("ppts", 0),
    ("ppt", 0),
    ("pps", 0),
    ("pp", 0),
    ("Prozentpunkte", 0),
    ("Prozent", 0),
    ("pour cent", 0),
    ("por ciento", 0),
    ("basis points", 2),
    ("basis point", 2),
    ("basis-points", 2),
    ("basis-point", 2),
    ("Prozentpunkten", 0),
    ("points de pourcentage", 0),
    ("point de pourcentage", 0),
    ("puntos porcentuales", 0),
    ("punto porcentual", 0),
    ("points de base", 2),
    ("point de base", 2),
    ("puntos básicos", 2),
    ("punto básico", 2),
    ("pdb", 2),
    ("Basispunkten", 2),
    ("Basispunkte", 2),
    ("b.p.", 2),
    ("v.H.", 0),
    ("v. H.", 0),
    ("bps", 2),
    ("bp", 2),
];

/// A unit at the start of `rest`, and its length in bytes.
pub(crate) fn after(rest: &str) -> Option<(UnitMark, usize)> {
    let first = rest.chars().next()?;
    if first.is_ascii() && !first.is_ascii_alphabetic() && !matches!(first, '%' | '$') {
        return None;
    }
    for (sign, decimals) in [("%", 0), ("％", 0), ("٪", 0), ("‰", 1)] {
        if rest.starts_with(sign) {
            return Some((UnitMark::percent(decimals), sign.len()));
        }
    }
    // "PB" are petabytes.
    if rest.strip_prefix("pb").is_some_and(ends_word) {
        return Some((UnitMark::percent(2), "pb".len()));
    }
    if let Some((word, decimals)) = PERCENTAGES.iter().find(|(word, _)| starts_with_word(rest, word)) {
        return Some((UnitMark::percent(*decimals), word.len()));
    }
    if let Some((word, mark)) = with_scale(leading_word(rest)) {
        return Some((mark, word.len()));
    }
    if let Some((code, codes)) = CODES.iter().find(|(code, _)| rest.starts_with(code)) {
        return ends_word(&rest[code.len()..]).then(|| (UnitMark::money(codes, false), code.len()));
    }
    if let Some((name, codes)) = NAMES.iter().find(|(name, _)| starts_with_word(rest, name)) {
        return Some((UnitMark::money(codes, false), name.len()));
    }
    if let Some((word, codes, cents)) = WORDS.iter().find(|(word, ..)| starts_with_word(rest, word)) {
        return Some((UnitMark::money(codes, *cents), word.len()));
    }
    if rest.starts_with('¢') {
        return Some((UnitMark::money(DOLLARS, true), '¢'.len_utf8()));
    }
    let (sign, codes) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign))?;
    let beyond = &rest[sign.len()..];
    let boundary = !sign.ends_with(char::is_alphabetic) || ends_word(beyond);
    // In "5 $10" the sign belongs to the number after it.
    let next = beyond.trim_start().chars().next();
    let own = next.is_none_or(|c| crate::chars::digit(c).is_none());
    (boundary && own).then(|| (UnitMark::money(codes, false), sign.len()))
}

/// True if money stands at the start of `rest`.
pub(crate) fn is_money_after(rest: &str) -> bool {
    matches!(after(rest), Some((mark, _)) if matches!(mark.unit, Unit::Money(_)))
}

/// Money after a preposition, as after scales: "of dollars", "d'euros", "de dólares".
pub(crate) fn money_of(rest: &str) -> Option<(UnitMark, usize)> {
    ["of ", "d'", "d’", "de ", "di "].iter().find_map(|preposition| {
        let (mark, length) = after(rest.strip_prefix(preposition)?)?;
        matches!(mark.unit, Unit::Money(_)).then_some((mark, preposition.len() + length))
    })
}

/// `unit` as the nation behind it says, where currencies share its sign: "$5 million (Canadian)", "$5 million Canadian".
pub(crate) fn of_nation(unit: Unit, phrase: &[String], after: &str) -> Unit {
    let Unit::Money(shared) = unit else { return unit };
    let enclosed = after.trim_start().strip_prefix('(').unwrap_or_default();
    let is_said = |nation: &str| {
        let closed = enclosed.get(..nation.len()).is_some_and(|inside| inside.eq_ignore_ascii_case(nation));
        closed && enclosed[nation.len()..].starts_with(')') || phrase.len() == 1 && phrase[0] == nation
    };
    let said = NATIONS.iter().find(|(nation, _)| is_said(nation)).map(|(_, codes)| Currency { codes });
    match said.filter(|said| !shared.is_certain() && said.agrees_with(&shared)) {
        Some(said) => Unit::Money(said),
        None => unit,
    }
}

/// Currencies that are written in one word with a scale.
const SCALED: &[&str] = &["EUR", "USD", "GBP", "CHF", "SEK", "NOK", "DKK", "JPY", "CNY", "INR", "AUD", "CAD"];

/// Crowns with a scale in one word, lower-cased.
const SCALED_CROWNS: &[(&str, u32)] = &[("tkr", 3), ("mkr", 6), ("mnkr", 6), ("mdkr", 9), ("mrdkr", 9)];

/// A currency and a scale in one word: `TEUR`, `MSEK`, `EURm`, `USDbn`, `T€`, `mkr`.
fn with_scale(word: &str) -> Option<(&str, UnitMark)> {
    if let Some((_, power)) = SCALED_CROWNS.iter().find(|(crowns, _)| word.eq_ignore_ascii_case(crowns)) {
        return Some((
            word,
            UnitMark { unit: Unit::Money(Currency { codes: CROWNS }), factor: scale::factor(*power)? },
        ));
    }
    let by_letter = [("T", 3), ("K", 3), ("k", 3), ("Mds", 9), ("Md", 9), ("Mrd", 9), ("M", 6)].into_iter().find_map(
        |(letter, power)| {
            let code = word.strip_prefix(letter)?;
            (SCALED.contains(&code) || letter == "T" && code == "€").then_some((code, power))
        },
    );
    let (money, power) =
        by_letter.or_else(|| SCALED.iter().find_map(|code| Some((*code, scale_suffix(word.strip_prefix(code)?)?))))?;
    let currency = Currency::from_name(money)?;
    Some((word, UnitMark { unit: Unit::Money(currency), factor: scale::factor(power)? }))
}

/// True if `before` ends with a currency that is written where commas are decimal marks: "TEUR 1.234".
pub(crate) fn is_continental(before: &str) -> bool {
    ["TEUR", "T€", "KEUR"].contains(&trailing_word(before.trim_end()))
}

/// Scales right behind a currency.
const SUFFIXES: [(&str, u32); 5] = [("k", 3), ("m", 6), ("mn", 6), ("mm", 6), ("bn", 9)];

fn scale_suffix(text: &str) -> Option<u32> {
    SUFFIXES.iter().find(|(suffix, _)| *suffix == text).map(|(_, power)| *power)
}

/// Characters of the longest currency with a scale, `MrdEUR`: so far a text is looked at, however long its words are.
const LONGEST: usize = 6;

fn leading_word(text: &str) -> &str {
    &text[..length_of_word(text.chars())]
}

fn trailing_word(text: &str) -> &str {
    &text[text.len() - length_of_word(text.chars().rev())..]
}

/// Bytes of the word at the beginning, as far as it may be a currency with a scale.
fn length_of_word(chars: impl Iterator<Item = char>) -> usize {
    let word = chars.take(LONGEST + 1).take_while(|c| c.is_alphanumeric() || *c == '€');
    word.map(char::len_utf8).sum()
}

/// A currency in front of a number with its scale, and its length: `TEUR`, `€m`, `$bn`.
fn scaled_before(before: &str) -> Option<(UnitMark, usize)> {
    if let Some((word, mark)) = with_scale(trailing_word(before)) {
        return Some((mark, word.len()));
    }
    let is_sign = |sign: &str| !sign.ends_with(char::is_alphabetic);
    SUFFIXES.iter().find_map(|(suffix, power)| {
        let rest = before.strip_suffix(suffix)?;
        let (sign, codes) = SIGNS.iter().find(|(sign, _)| is_sign(sign) && rest.ends_with(sign))?;
        let mark = UnitMark { unit: Unit::Money(Currency { codes }), factor: scale::factor(*power)? };
        Some((mark, sign.len() + suffix.len()))
    })
}

/// The rand of "R96.4bn" and, before a number with a scale, of "R 5 million": where it begins. "R2" is a name.
pub(crate) fn rand_before(before: &str, scaled: bool) -> Option<(Currency, usize)> {
    let adjoining = before.strip_suffix([' ', '\u{a0}']).filter(|_| scaled).unwrap_or(before);
    let rest = adjoining.strip_suffix('R')?;
    let free = rest.chars().next_back().is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '|' | '~' | '-' | '−'));
    free.then_some((Currency { codes: &["ZAR"] }, rest.len()))
}

/// A currency at the end of `before`, with the scale in front of it ("Mio. €", "k$"), and its length in bytes.
pub(crate) fn before(before: &str) -> Option<(UnitMark, usize)> {
    if let Some(found) = scaled_before(before) {
        return Some(found);
    }
    let (mark, length) = plain_before(before)?;
    let scaled = scale::before(&before[..before.len() - length]);
    let scaled = scaled.and_then(|(power, scale)| Some((scale::factor(power)?, scale)));
    Some(match scaled {
        Some((factor, scale)) => (UnitMark { factor, ..mark }, length + scale),
        None => (mark, length),
    })
}

fn plain_before(before: &str) -> Option<(UnitMark, usize)> {
    let last = before.chars().next_back()?;
    if last.is_ascii() && !last.is_ascii_alphabetic() && !matches!(last, '$' | '.') {
        return None;
    }
    let signs = SIGNS.iter().map(|(sign, codes)| (*sign, *codes));
    let codes = CODES.iter().map(|(code, codes)| (*code, *codes));
    let (mark, codes) = signs.chain(codes).find(|(mark, _)| {
        let free = before.strip_suffix(mark).map(|rest| rest.chars().next_back());
        let lettered = mark.starts_with(char::is_alphabetic);
        free.is_some_and(|c| !lettered || c.is_none_or(|c| !c.is_alphanumeric() && c != '_'))
    })?;
    Some((UnitMark::money(codes, false), mark.len()))
}

/// True if letters such as m, t or mill. are followed by a currency: "5 m€", "1,2 t EUR".
pub(crate) fn money_follows(rest: &str) -> bool {
    let letters = rest.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let after_letters = letters.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let length = letters.len() - after_letters.len();
    let money = |rest: &str| {
        let rest = rest.strip_prefix('.').unwrap_or(rest);
        let mark = after(rest.trim_start_matches(is_inline_space));
        matches!(mark, Some((mark, _)) if matches!(mark.unit, Unit::Money(_)))
    };
    (1..="mill".len()).contains(&length) && !letters.starts_with("T€") && money(after_letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_after_numbers() {
        let code = |rest| match after(rest).map(|(mark, _)| mark.unit) {
            Some(Unit::Money(currency)) => currency.code(),
            Some(Unit::Percent) => "%",
            _ => "",
        };
        for (rest, expected) in [
            ("%", "%"),
            ("percent of", "%"),
            ("bps", "%"),
            ("USD.", "USD"),
            ("USDA", ""),
            ("US dollars", "USD"),
            ("€", "EUR"),
            ("$", "USD"),
            ("$10", ""),
            ("kronen", ""),
            ("wonderful", ""),
            ("億", ""),
        ] {
            assert_eq!(code(rest), expected, "{rest}");
        }
        assert_eq!(after("basis points").map(|(m, _)| m.factor), Some(Decimal::new(1, 2)));
    }

    #[test]
    fn currencies_before_numbers() {
        let code = |text| match before(text)?.0.unit {
            Unit::Money(currency) => Some(currency.code()),
            _ => None,
        };
        assert_eq!(code("about US$"), Some("USD"));
        assert_eq!(code("EUR"), Some("EUR"));
        assert_eq!(code("NEUR"), None);
        assert_eq!(code("¥"), Some("JPY"));
        assert_eq!(code("word"), None);
    }

    #[test]
    fn a_sign_shared_by_currencies_agrees_with_each() {
        let dollar = Currency::from_name("$").unwrap();
        assert!(!dollar.is_certain());
        assert!(dollar.agrees_with(&Currency::from_name("AUD").unwrap()));
        assert!(!dollar.agrees_with(&Currency::from_name("EUR").unwrap()));
    }
}
