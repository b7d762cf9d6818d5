//! Redaction: blacks out personal data and keys in texts.
//!
//! Rules are strict rather than eager, so that amounts, dates and ids stay what they are: cards pass Luhn, IBANs their
//! checksum, a phone number has a country code or the form of one, and no amount is touched, by own rules neither: no
//! number in one piece or in groups of three beside a sign or word of money, of a scale or of a share. In JSON string values
//! and names of members are looked at; numbers are never changed.
//!
//! `phone` and `api_key` know the forms of numbers and keys; this file has the other rules and applies all of them.

mod api_key;
mod phone;

use std::borrow::Cow;
use std::collections::HashSet;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::LazyLock;

use karat_types::PrivacySpec;
use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// The kind of data a built-in rule finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An e-mail address.
    Email,
    /// A telephone number: a country code and its digits in any grouping, or a usual form without one.
    Phone,
    /// A payment card number: 13 to 19 digits that pass Luhn.
    Card,
    /// An international bank account number whose checksum holds.
    Iban,
    /// Keys of well-known services, keys that are named as such, bearer tokens, JSON web tokens, private keys.
    ApiKey,
}

impl Kind {
    /// Every kind, in the order in which they are applied.
    pub const ALL: [Self; 5] = [Self::ApiKey, Self::Email, Self::Iban, Self::Card, Self::Phone];

    /// Its name in suites, and between brackets in texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Card => "card",
            Self::Iban => "iban",
            Self::ApiKey => "api_key",
        }
    }
}

/// Blacks out texts. Made once, used for everything; cheap to share.
#[derive(Debug, Clone)]
pub struct Redactor {
    kinds: Vec<Kind>,
    own: Vec<(String, Regex)>,
}

type Rule = LazyLock<Option<Regex>>;

/// The separators allowed within a number: a space of any width or a hyphen; `~` in patterns.
const GAP: &str = r"[ \u{a0}\u{2007}\u{2009}\u{202f}\-‐‑]";

fn rule(pattern: &str) -> Option<Regex> {
    Regex::new(&pattern.replace('~', GAP)).ok()
}

static EMAIL: Rule = LazyLock::new(|| {
    rule(r"[\p{L}\p{N}._%+\-]+(?:[@＠]|%40)[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)*\.(?:xn--[A-Za-z0-9\-]+|\p{L}{2,})")
});
static CARD: Rule =
    LazyLock::new(|| rule(r"[2-6]\d{3}(?:(?:[._–]\d{4}){2,3}(?:[._–]\d{1,4})?|[._–]\d{6}[._–]\d{4,5}|(?:~?\d){9,15})"));
static IBAN: Rule = LazyLock::new(|| rule(r"[A-Za-z]{2}\d{2}(?:~?[A-Za-z0-9]){11,30}"));
impl Redactor {
    /// The rules of a plan; `None` where it has none.
    ///
    /// # Errors
    /// As [`Redactor::new`].
    pub fn of(privacy: &PrivacySpec) -> Result<Option<Self>, (String, String)> {
        if privacy.redact.is_empty() && privacy.patterns.is_empty() {
            return Ok(None);
        }
        let kinds = Kind::ALL.into_iter().filter(|kind| privacy.redact.iter().any(|name| name == kind.as_str()));
        Self::new(kinds, privacy.patterns.iter().map(|(name, pattern)| (name.as_str(), pattern.as_str()))).map(Some)
    }

    /// Rules by kind, and own patterns by name.
    ///
    /// # Errors
    /// The name of a pattern that is not a regular expression, and what is wrong with it.
    pub fn new<'a>(
        kinds: impl IntoIterator<Item = Kind>,
        own: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, (String, String)> {
        let kinds: Vec<Kind> = kinds.into_iter().collect();
        let compiled = own.into_iter().map(|(name, pattern)| match Regex::new(pattern) {
            Ok(regex) => Ok((name.to_owned(), regex)),
            Err(error) => Err((name.to_owned(), error.to_string())),
        });
        Ok(Self {
            kinds: Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect(),
            own: compiled.collect::<Result<_, _>>()?,
        })
    }

    /// The text without what the rules find; the same text where they find nothing.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut done = Cow::Borrowed(text);
        for kind in &self.kinds {
            if let Some(changed) = replace(*kind, &done) {
                done = Cow::Owned(changed);
            }
        }
        for (name, regex) in &self.own {
            if let Some(changed) = replace_own(name, regex, &done) {
                done = Cow::Owned(changed);
            }
        }
        done
    }

    /// Every string value and every name of a member, wherever it stands; numbers stay. Names that become the same are
    /// told apart by a number: `[email]`, `[email 2]`. The value of a member named as a key is one if it looks random.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(changed) = self.text(text) {
                    *text = changed;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                let has_keys = self.kinds.contains(&Kind::ApiKey);
                for (name, item) in members.iter_mut() {
                    match item {
                        Value::String(text) if has_keys && api_key::is_value_of(name, text) => {
                            *text = format!("[{}]", Kind::ApiKey.as_str());
                        }
                        item => self.value(item),
                    }
                }
                if members.keys().any(|name| self.finds(name)) {
                    self.names(members);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn finds(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// The names of members, which stay in their order and as many as they are.
    fn names(&self, members: &mut Map<String, Value>) {
        let mut taken: HashSet<String> = members.keys().filter(|name| !self.finds(name)).cloned().collect();
        let renamed = std::mem::take(members).into_iter().map(|(name, value)| {
            let name = match self.text(&name) {
                Cow::Borrowed(_) => name,
                Cow::Owned(black) => free(black, &mut taken),
            };
            (name, value)
        });
        *members = renamed.collect();
    }

    /// A body: its string values and names where it is JSON, else its text. `None` where nothing changes.
    pub fn body(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => {
                let mut changed = value.clone();
                self.value(&mut changed);
                if changed == value { None } else { serde_json::to_vec(&changed).ok() }
            }
            Err(_) => {
                let text = String::from_utf8_lossy(bytes);
                match self.text(&text) {
                    Cow::Owned(changed) => Some(changed.into_bytes()),
                    Cow::Borrowed(_) => None,
                }
            }
        }
    }
}

/// A name that is not taken yet, which it is then.
fn free(name: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2_u64..).map(|number| match name.strip_suffix(']') {
        Some(open) => format!("{open} {number}]"),
        None => format!("{name} {number}"),
    });
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

fn replace(kind: Kind, text: &str) -> Option<String> {
    let regex = match kind {
        Kind::Email => EMAIL.as_ref(),
        Kind::Phone => phone::regex(),
        Kind::Card => CARD.as_ref(),
        Kind::Iban => IBAN.as_ref(),
        Kind::ApiKey => api_key::regex(),
    }?;
    let mut replaced = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = regex.find_at(text, at) {
        match part(kind, text, found.range()) {
            Some(part) => {
                replaced.extend([&text[copied..part.start], "[", kind.as_str(), "]"]);
                copied = part.end;
                at = copied;
            }
            // What is none may hold the beginning of one: "in FY24 DE89 3704 …".
            None => at = found.start() + text[found.start()..].chars().next().map_or(1, char::len_utf8),
        }
    }
    replaced.push_str(&text[copied..]);
    (copied > 0).then_some(replaced)
}

/// The part of a candidate that a rule is sure of.
fn part(kind: Kind, text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let candidate = &text[at.clone()];
    let length = match kind {
        Kind::ApiKey => return api_key::part(text, at),
        Kind::Email => Some(candidate.len()),
        Kind::Phone => phone::length(text, &at),
        Kind::Card => card(text, &at),
        Kind::Iban => iban(candidate).filter(|_| !text[..at.start].ends_with(char::is_alphanumeric)),
    };
    length.map(|length| at.start..at.start + length)
}

/// Replaces the matches of the suite's own rule, except amounts: a pattern that is a bare number would take them, too. What is
/// joined by hyphens is not an amount.
fn replace_own(name: &str, regex: &Regex, text: &str) -> Option<String> {
    let replaced = regex.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get(0).map_or(0..0, |found| found.range());
        let candidate = &text[whole.clone()];
        let number = surrounding_number(text, &whole);
        let joined = |text: &str| text.contains(['-', '‐', '‑']);
        if is_bare_number(candidate) && !joined(candidate) && is_amount(text, &number) {
            return candidate.to_owned();
        }
        format!("[{name}]")
    });
    Some(replaced.into_owned()).filter(|replaced| replaced != text)
}

/// Characters on either side of a match that may belong to the same number.
const NUMBER: usize = 40;

/// The whole number that a match is a part of: `12345678` within `12345678.90` or `1,234,567,890`.
fn surrounding_number(text: &str, at: &Range<usize>) -> Range<usize> {
    let belongs = |c: &char| c.is_ascii_digit() || ".,'’".contains(*c);
    let length = |chars: &mut dyn Iterator<Item = char>| -> usize {
        chars.take(NUMBER).take_while(belongs).map(char::len_utf8).sum()
    };
    let before = length(&mut text[..at.start].chars().rev());
    at.start - before..at.end + length(&mut text[at.end..].chars())
}

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

/// True if a number is not part of a longer one, and no amount.
fn stands_alone(text: &str, at: &Range<usize>) -> bool {
    let (before, after) = (&text[..at.start], &text[at.end..]);
    let continues = after.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_part = continues
        || before.ends_with(|c: char| c.is_alphanumeric() || ".,".contains(c))
        || after.starts_with(char::is_alphanumeric);
    let may_be_amount = is_grouped_by_three(&text[at.clone()]);
    !(is_part || may_be_amount && is_amount(text, at))
}

/// True if a number is written as amounts are: in one piece, or in groups of three. Cards and most phone numbers are not.
fn is_grouped_by_three(number: &str) -> bool {
    let mut groups = number.trim_start_matches('+').split(char::is_whitespace);
    let first = groups.next().unwrap_or_default();
    let rest: Vec<&str> = groups.collect();
    let digits = |group: &str| group.chars().all(|c| c.is_ascii_digit());
    digits(first) && rest.iter().all(|group| group.len() == 3 && digits(group)) && (rest.is_empty() || first.len() <= 3)
}

/// Signs of money and shares.
const SIGNS: &str = "$€£¥₹₩₽₺₫฿₪%‰";

/// Words of money, scales and shares, in lower case. Letters that may stand for something else are not among them.
#[rustfmt::skip]
const AMOUNT_WORDS: &[&str] = &[
    "usd", "eur", "gbp", "jpy", "chf", "cny", "inr", "aud", "cad", "sek", "nok", "dkk", "pln", "krw", "brl", "mxn",
    "hkd", "sgd", "nzd", "zar", "try", "thb", "aed", "sar", "ils", "huf", "czk", "ron", "idr", "twd",
    "dollar", "dollars", "euro", "euros", "pound", "pounds", "yen", "yuan", "won", "rupee", "rupees", "franc", "francs",
    "franken", "kr", "kronor", "kroner", "zł", "rs", "rp", "rm", "cents",
    "hundred", "thousand", "tsd", "lakh", "lakhs", "million", "millions", "millionen", "millones", "milioni", "mio",
    "mn", "mln", "crore", "crores", "billion", "billions", "milliard", "milliards", "milliarden", "miliardi", "mrd",
    "bn", "trillion", "trillions", "tn", "percent", "prozent", "pct", "bps", "basis", "teur", "keur", "meur", "kusd", "musd",
    "gbpm", "eurm", "usdm",
];

/// True if a sign or word of money, of a scale or of a share stands beside a number and belongs to it: in
/// `4111111111111111 $5` it is the five's.
fn is_amount(text: &str, at: &Range<usize>) -> bool {
    is_marked(text[..at.start].chars().rev(), true) || is_marked(text[at.end..].chars(), false)
}

/// Letters of the longest word of money.
const LONGEST_WORD: usize = 16;

/// True if the characters that lead `away` from a number begin with a mark of its own, white space, emphasis and
/// brackets apart; `backwards` where they lead to the left.
fn is_marked<I: Iterator<Item = char>>(away: I, backwards: bool) -> bool {
    let between = |c: &char| c.is_whitespace() || "*_():|-−+".contains(*c);
    let mut away = away.peekable();
    let gap = |away: &mut Peekable<I>| {
        std::iter::from_fn(|| away.next_if(between)).take(NUMBER).filter(|c| c.is_whitespace()).count()
    };
    let own = gap(&mut away);
    let read = |away: &mut Peekable<I>, part: fn(&char) -> bool| -> String {
        let letters: Vec<char> = std::iter::from_fn(|| away.next_if(part)).take(LONGEST_WORD).collect();
        if backwards { letters.into_iter().rev().collect() } else { letters.into_iter().collect() }
    };
    let named = away.next_if(|c| SIGNS.contains(*c)).is_some() || {
        away.next_if(|c| backwards && *c == '.');
        let word = read(&mut away, |c| c.is_alphabetic()).to_lowercase();
        AMOUNT_WORDS.contains(&word.as_str())
    };
    let other = gap(&mut away);
    named && belongs(own, other, &read(&mut away, char::is_ascii_digit))
}

/// True if a mark belongs to a number `own` spaces away, and not to the digits `other` spaces away on its other side; of
/// two that are equally near a year takes no mark.
fn belongs(own: usize, other: usize, digits: &str) -> bool {
    let is_year = digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20"));
    digits.is_empty() || own < other || own == other && is_year
}

/// True if a text is a number and nothing else.
fn is_bare_number(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || " .,'’-".contains(c))
}

/// The Luhn checksum of ISO/IEC 7812.
fn luhn(digits: &[u32]) -> bool {
    let doubled = |at: usize, digit: u32| if at % 2 == 1 { digit * 2 - if digit > 4 { 9 } else { 0 } } else { digit };
    let sum: u32 = digits.iter().rev().enumerate().map(|(at, digit)| doubled(at, *digit)).sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

/// Bytes of the longest beginning that is a card number by itself.
fn card(text: &str, at: &Range<usize>) -> Option<usize> {
    let candidate = &text[at.clone()];
    let ends = candidate.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(index, _)| index + 1);
    ends.rev().find(|end| luhn(&digits(&candidate[..*end])) && stands_alone(text, &(at.start..at.start + end)))
}

/// Characters of an IBAN by country (ISO 13616 registry).
#[rustfmt::skip]
const IBAN_LENGTHS: &[(usize, &str)] = &[
    (15, "NO"), (16, "BE"), (18, "DK FI FK FO GL NL SD"), (19, "MK SI"), (20, "AT BA EE KZ LT LU MN XK"),
    (21, "CH HR LI LV"), (22, "BG BH CR DE GB GE IE ME RS VA"), (23, "AE GI IL IQ OM SO TL"),
    (24, "AD CZ ES MD PK RO SA SE SK TN VG"), (25, "LY PT ST"), (26, "IS TR"), (27, "BI DJ FR GR IT MC MR SM"),
    (28, "AL AZ BY CY DO GT HN HU LB NI PL SV"), (29, "BR EG PS QA UA"), (30, "JO KW MU YE"), (31, "MT SC"),
    (32, "LC"), (33, "RU"),
];

/// Bytes of the IBAN that the candidate begins with: of its country's length, remainder 1 modulo 97.
fn iban(candidate: &str) -> Option<usize> {
    let country = candidate.get(..2)?.to_uppercase();
    let wanted = IBAN_LENGTHS.iter().find(|(_, countries)| countries.split(' ').any(|it| it == country))?.0;
    let characters = || candidate.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric());
    let end = characters().nth(wanted - 1)?.0 + 1;
    let (head, rest) = (characters().take(4), characters().take(wanted).skip(4));
    let remainder = rest.chain(head).filter_map(|(_, c)| c.to_digit(36)).fold(0, |remainder, digit| {
        if digit > 9 { (remainder * 100 + digit) % 97 } else { (remainder * 10 + digit) % 97 }
    });
    let ends_word = !candidate[end..].starts_with(|c: char| c.is_ascii_alphanumeric());
    (ends_word && remainder == 1).then_some(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(Kind::ALL, [("ticket", r"TCK-\d+")]).unwrap()
    }

    /// RG-15: each kind is found in the forms in which it is written.
    #[test]
    fn personal_data_is_blacked_out() {
        for (text, expected) in [
            ("Mail ann.o'hara+x@mail.example.co.uk now", "Mail ann.o'[email] now"),
            ("call +49 (30) 1234 5678 or (555) 123-4567", "call [phone] or [phone]"),
            ("call 555-123-4567.", "call [phone]."),
            ("+44 20 7946 0958, please", "[phone], please"),
            ("card 4242 4242 4242 4242 ok", "card [card] ok"),
            ("5500-0055-5555-5559", "[card]"),
            ("charged 4242 4242 4242 4242 EUR 5", "charged [card] EUR 5"),
            ("call +49 30 1234 5678 Euro desk", "call [phone] Euro desk"),
            ("to DE89 3704 0044 0532 0130 00 AND more", "to [iban] AND more"),
            ("GB82WEST12345698765432", "[iban]"),
            ("key sk-proj-abcdefghijklmnop1234 and AKIAIOSFODNN7EXAMPLE", "key [api_key] and [api_key]"),
            ("-----BEGIN RSA PRIVATE KEY-----\nab\n-----END RSA PRIVATE KEY-----", "[api_key]"),
            ("see TCK-4711", "see [ticket]"),
            ("card 4111111111111111 $5 fee", "card [card] $5 fee"),
            ("paid 5€ 4111111111111111, EUR 7", "paid 5€ [card], EUR 7"),
            ("card 4111111111111111 EUR 5", "card [card] EUR 5"),
            ("4111\u{a0}1111\u{202f}1111\u{a0}1111", "[card]"),
            ("4111–1111–1111–1111 4111.1111.1111.1111 4111_1111_1111_1111", "[card] [card] [card]"),
            ("in 2024 4111 1111 1111 1111 2025", "in 2024 [card] 2025"),
            ("+49\u{a0}30\u{a0}1234\u{a0}5678, 0049 30 12345678, 555‑123‑4567", "[phone], [phone], [phone]"),
            ("de89370400440532013000, DE89-3704-0044-0532-0130-00", "[iban], [iban]"),
            ("FY24 DE89\u{a0}3704 0044 0532 0130 00", "FY24 [iban]"),
            ("jörg@müller.example ann%40mail.example bob＠mail.example", "[email] [email] [email]"),
        ] {
            assert_eq!(redactor().text(text), expected);
        }
    }

    /// RG-15: amounts, dates, shares, ids and numbers that only look alike stay.
    #[test]
    fn amounts_stay_intact() {
        for text in [
            "revenue of 4,242,424,242,424,242 and $4242424242424242",
            "4242424242424241",
            "+12.5 % in 2026-11-21, +1 234 567.89",
            "net 1 234 567 890 USD",
            "3.14159265358979 and 299792458",
            "DE00 3704 0044 0532 0130 00",
            "a@b, @handle, 12:30:45.123",
            "EUR +491234567890",
            "4242424242424242 yen",
            "4242424242424242\u{a0}€ and **4242424242424242** million",
            "Rs. 4242424242424242",
            "+491 234 567 890 Mio.",
            "kr 4242424242424242 or 4242424242424242 dollars",
            "4242424242424242 EUR 2024, 2024 EUR 4242424242424242 and 3 $4242424242424242",
            "+491\u{a0}234\u{a0}567\u{a0}890 Mio.",
            "2024-11-21_10.30.45 and 4242.42424242424",
            "de00370400440532013000",
        ] {
            assert_eq!(redactor().text(text), text);
        }
    }

    /// RG-15: a pattern for account numbers takes no amounts.
    #[test]
    fn own_patterns_leave_amounts() {
        let redactor = Redactor::new([], [("account", r"\d{8,12}"), ("money", r"\$\d+")]).unwrap();
        for (text, expected) in [
            ("account 12345678 holds 1200000000 USD", "account [account] holds 1200000000 USD"),
            ("revenue of €1200000000.50, 12345678", "revenue of €1200000000.50, [account]"),
            ("12345678.90 EUR to 87654321", "12345678.90 EUR to [account]"),
            ("asked for: $5", "asked for: [money]"),
            ("USD: 12345678 or (EUR) 12345678 or 12345678 (GBP)", "USD: 12345678 or (EUR) 12345678 or 12345678 (GBP)"),
            ("USD -12345678 and TEUR 12345678", "USD -12345678 and TEUR 12345678"),
            ("| USD | 12345678 |", "| USD | 12345678 |"),
            ("account 12345678 (USD 5)", "account [account] (USD 5)"),
        ] {
            assert_eq!(redactor.text(text), expected);
        }
    }

    /// RG-15: what is joined by hyphens is a phone or an account, whatever stands beside it.
    #[test]
    fn hyphenated_numbers_are_no_amounts() {
        let own = Redactor::new([], [("line", r"\d{3}-\d{3}-\d{4}")]).unwrap();
        assert_eq!(own.text("415-555-0199 USD"), "[line] USD");
        assert_eq!(redactor().text("415-555-0199 USD"), "[phone] USD");
    }

    /// Invariant 2, capture before parsing, RG-15: texts and names of JSON change, numbers stay; names that become the same lose no value.
    #[test]
    fn texts_and_names_of_json_change() {
        let body = r#"{"a@b.example": 4242424242424242, "to": ["a@b.example"], "[email 2]": 0, "c@d.example": {"e@f.example": 1.10}}"#;
        let done = redactor().body(body.as_bytes()).unwrap();
        let expected =
            json!({"[email]": 4242424242424242_u64, "to": ["[email]"], "[email 2]": 0, "[email 3]": {"[email]": 1.10}});
        assert_eq!(karat_types::json::parse_slice(&done).unwrap(), expected);
        assert_eq!(redactor().body(br#"{ "n": 1.10 }"#), None);
        assert_eq!(redactor().body(b"x a@b.example").unwrap(), b"x [email]");
        assert!(Redactor::new([], [("x", "(")]).is_err());
    }
}
