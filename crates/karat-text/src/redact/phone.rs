//! Telephone numbers: a country code and its digits in any grouping, and the usual forms without one.
//!
//! What looks like one and stays: amounts, also those with a sign, ranges of amounts, dates, places on a map, and numbers that
//! are padded with zeros.

use std::ops::Range;

use regex::Regex;

use super::{Rule, is_amount, rule};

/// A run of digits that begins like a number with a country code (`+49`, `0049`, `(+49)`, `+(49)`), or a whole number
/// without one. `~` is a gap. Between groups stand a gap, brackets, a slash, a dash or a dot.
static PHONE: Rule = Rule::new(|| {
    rule(concat!(
        r"(?:\((?:[+＋]|00)[1-9][0-9]{0,3}\)|[+＋]\([1-9][0-9]{0,3}\)|(?:[+＋]|(?-u:\b)00)[1-9][0-9]*)",
        r"(?:(?:~?[()/]{1,2}~?|~|–|\.)?[0-9]+){0,20}",
        r"|\([0-9]{3}\)~?[0-9]{3}(?:~|\.)[0-9]{4}|(?-u:\b)[0-9]{3}[.\-‐‑][0-9]{3}[.\-‐‑][0-9]{4}",
    ))
});
/// An extension behind a number.
static EXTENSION: Rule = Rule::new(|| rule(r"^~?(?i:x|ext\.?)~?[0-9]{1,6}\b"));

/// Digits of a number with its country code (ITU-T E.164).
const MOST_DIGITS: usize = 15;
const FEWEST_DIGITS: usize = 9;
/// Country codes of two digits. `1` and `7` have one digit, all others three.
#[rustfmt::skip]
const TWO_DIGITS: [&str; 44] = [
    "20", "27", "30", "31", "32", "33", "34", "36", "39", "40", "41", "43", "44", "45", "46", "47", "48", "49", "51", "52",
    "53", "54", "55", "56", "57", "58", "60", "61", "62", "63", "64", "65", "66", "81", "82", "84", "86", "90", "91", "92",
    "93", "94", "95", "98",
];
/// Country codes behind which a number may begin with a zero.
const WITH_ZERO: [&str; 5] = ["39", "225", "241", "242", "378"];

pub(super) fn regex() -> Option<&'static Regex> {
    PHONE.as_ref()
}

/// Bytes of the number at the beginning of `at`; `None` if it is none.
pub(super) fn length(text: &str, at: &Range<usize>) -> Option<usize> {
    let candidate = &text[at.clone()];
    let length = match Number::read(candidate) {
        Some(number) => number.length(text, at.start)?,
        None => Some(candidate.len()).filter(|_| is_apart(text, at, candidate.contains('.')))?,
    };
    let behind = &text[at.start + length..];
    Some(length + extension(behind))
}

/// Bytes of the extension that a text begins with.
fn extension(text: &str) -> usize {
    EXTENSION.as_ref().and_then(|rule| rule.find(text)).map_or(0, |found| found.len())
}

/// Returns true if a number is not part of a longer one or of a word.
fn is_apart(text: &str, at: &Range<usize>, may_be_amount: bool) -> bool {
    let (before, after) = (&text[..at.start], &text[at.end..]);
    let has_plus = text[at.start..].starts_with(['+', '＋', '(']);
    let digit_before = |mark: char| before.strip_suffix(mark).map(|rest| rest.ends_with(|c: char| c.is_ascii_digit()));
    let is_fraction = digit_before('.').is_some_and(|digit| digit && (may_be_amount || !has_plus));
    let is_cell = digit_before(',') == Some(false);
    let is_part = before.ends_with(char::is_alphanumeric)
        || after.starts_with(char::is_alphanumeric) && extension(after) == 0
        || is_fraction
        || may_be_amount && (digit_before(',') == Some(true) || !is_cell && has_fraction(after));
    !is_part
}

/// Returns true if a text behind a number begins with the number's fraction.
fn has_fraction(after: &str) -> bool {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).count();
    match (after.strip_prefix('.'), after.strip_prefix(',')) {
        (Some(rest), _) => digits(rest) > 0,
        (_, Some(rest)) => (1..=3).contains(&digits(rest)),
        _ => false,
    }
}

/// A group of digits, and what stands before it.
struct Group<'t> {
    separator: &'t str,
    digits: &'t str,
    /// Byte behind it.
    end: usize,
}

impl Group<'_> {
    fn is_behind_space(&self) -> bool {
        self.separator.starts_with(char::is_whitespace)
    }

    fn is_joined(&self) -> bool {
        self.separator.contains(['-', '‐', '‑', '–', '/'])
    }
}

/// A number with a country code.
struct Number<'t> {
    /// It begins with `00`, not with a plus.
    is_dialled: bool,
    groups: Vec<Group<'t>>,
}

impl<'t> Number<'t> {
    /// The groups of a run of digits; `None` without a sign of a country code.
    fn read(text: &'t str) -> Option<Self> {
        let bare = text.strip_prefix('(').unwrap_or(text);
        let sign = ["+", "＋", "00"].into_iter().find(|sign| bare.starts_with(sign))?;
        let end_of = |from: usize, is_digit: bool| {
            text[from..].find(|c: char| c.is_ascii_digit() != is_digit).map_or(text.len(), |length| from + length)
        };
        let (mut groups, mut at) = (Vec::new(), text.len() - bare.len() + sign.len());
        while at < text.len() {
            let start = end_of(at, false);
            let end = end_of(start, true);
            if start < end {
                groups.push(Group { separator: &text[at..start], digits: &text[start..end], end });
            } else if let Some(last) = groups.last_mut() {
                // The bracket behind a country code.
                last.end = end;
            }
            at = end;
        }
        Some(Self { is_dialled: sign == "00", groups })
    }

    /// Bytes of the number in a text in which it begins at `start`.
    fn length(mut self, text: &str, start: usize) -> Option<usize> {
        let has_dot = self.groups.iter().any(|group| group.separator == ".");
        if is_grouped_by_three(&self.groups) && has_dot || self.is_range() {
            return None;
        }
        let is_cut = self.cut_at_dot();
        let behind = &text[start + self.end()..];
        let most = match self.digits() {
            digits if digits > MOST_DIGITS => Some(MOST_DIGITS),
            digits if is_cut || behind.starts_with('.') && has_fraction(behind) => digits.checked_sub(1),
            _ => None,
        };
        // The last groups belong to another number: a date, an amount.
        if let Some(most) = most {
            let is_amount = is_grouped_by_three(&self.groups);
            self.keep(most).filter(|()| !is_amount && !is_grouped_by_three(&self.groups))?;
        }
        let at = start..start + self.end();
        let may_be_amount = is_grouped_by_three(&self.groups);
        let is_number = self.has_country_code()
            && self.has_its_digits()
            && is_apart(text, &at, may_be_amount)
            && !(may_be_amount && is_amount(text, &at));
        is_number.then(|| self.end())
    }

    fn end(&self) -> usize {
        self.groups.last().map_or(0, |group| group.end)
    }

    fn digits(&self) -> usize {
        digits(&self.groups)
    }

    /// Leaves out groups behind a space until there are no more digits than this. What is joined stays together.
    fn keep(&mut self, most: usize) -> Option<()> {
        while self.digits() > most {
            let last = self.groups.iter().rposition(Group::is_behind_space).filter(|at| *at > 0)?;
            self.groups.truncate(last);
        }
        Some(())
    }

    /// Cuts it before a dot that does not separate groups, as in `+49 30 901820 2.50` and in `+40.6894-074.0447`, a place on
    /// a map. Returns true if it was cut.
    fn cut_at_dot(&mut self) -> bool {
        let is_dot = |group: &Group<'_>| group.separator == ".";
        let Some(first) = self.groups.iter().position(is_dot) else { return false };
        let dots = self.groups.iter().filter(|group| is_dot(group)).count();
        let fewest = if self.is_dialled { 3 } else { 2 };
        let has_brackets = self.groups.iter().any(|group| group.separator.contains(['(', ')']));
        let behind_joined = self.groups.iter().skip_while(|group| !group.is_joined()).any(is_dot);
        let separates = !behind_joined && (dots >= fewest || has_brackets);
        if !separates {
            self.groups.truncate(first);
        }
        !separates
    }

    /// Returns true if it is two amounts: `+12 000–15 000`.
    fn is_range(&self) -> bool {
        let is_between = |group: &Group<'_>| {
            group.separator.contains('–') || group.separator.contains('/') && group.is_behind_space()
        };
        let sides: Vec<_> = self.groups.chunk_by(|_, next| !is_between(next)).collect();
        let [one, other] = sides.as_slice() else { return false };
        is_grouped_by_three(one) && is_grouped_by_three(other) && digits(one).abs_diff(digits(other)) <= 2
    }

    /// Length of the country code that the digits begin with.
    fn code(&self) -> usize {
        let first = self.groups.first().map_or("", |group| group.digits);
        match first.get(..2) {
            _ if first.starts_with(['1', '7']) => 1,
            Some(code) if TWO_DIGITS.contains(&code) => 2,
            _ => 3,
        }
    }

    fn has_country_code(&self) -> bool {
        let Some(first) = self.groups.first().map(|group| group.digits) else { return false };
        let is_padded = self.is_dialled
            && !WITH_ZERO.contains(&first)
            && self.groups.get(1).is_some_and(|group| group.digits.starts_with('0') && !group.separator.contains('('));
        first.len() >= self.code() && !is_padded
    }

    /// Returns true if it has as many digits as a number has, and not one by one.
    fn has_its_digits(&self) -> bool {
        let stands_apart = self.groups.first().is_some_and(|group| group.digits.len() == self.code());
        let may_be_short = self.is_dialled || stands_apart && !is_grouped_by_three(&self.groups);
        let fewest = if may_be_short { FEWEST_DIGITS - 1 } else { FEWEST_DIGITS };
        let single = self.groups.iter().skip(1).filter(|group| group.digits.len() == 1).count();
        self.digits() >= fewest && single <= 2
    }
}

fn digits(groups: &[Group<'_>]) -> usize {
    groups.iter().map(|group| group.digits.len()).sum()
}

/// Returns true if groups are written as amounts are: in one piece, or in groups of three.
fn is_grouped_by_three(groups: &[Group<'_>]) -> bool {
    let [first, rest @ ..] = groups else { return true };
    let is_plain = |group: &Group<'_>| group.separator == "." || group.separator.chars().all(char::is_whitespace);
    rest.is_empty() || first.digits.len() <= 3 && rest.iter().all(|group| group.digits.len() == 3 && is_plain(group))
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Redactor};

    fn redacted(text: &str) -> String {
        Redactor::new([Kind::Phone], []).unwrap().text(text).into_owned()
    }

    /// F41: numbers of many countries, as they are written there, in one piece, and dialled with `00`.
    #[test]
    fn numbers_of_countries_are_found() {
        #[rustfmt::skip]
        let numbers = [
            "+1 415 555 0199", "+1 (415) 555-0199", "+1.415.555.0199", "+1-415-555-0199", "+7 495 123 45 67", "+7 (495) 123-45-67",
            "+20 2 12345678", "+27 11 123 4567", "+30 21 0123 4567", "+31 20 123 4567", "+31 (0)20 123 45 67", "+32 2 555 12 12",
            "+33 1 23 45 67 89", "+33.1.23.45.67.89", "+33 (0)1 23 45 67 89", "+34 91 123 45 67", "+36 1 234 5678", "+39 06 69883145",
            "+39 02 1234 567", "+40 21 123 4567", "+41 44 668 18 00", "+43 1 5880000", "+43 664 1234567", "+44 20 7946 0958",
            "+44 (0)20 7946 0958", "+44 (0) 20 7946 0958", "+45 33 12 34 56", "+46 8 123 456 78", "+47 22 12 34 56",
            "+48 22 123 45 67", "+49 30 901820123", "+49 89 123456789", "+49 (0)30 9018-20123", "+49 (30) 1234 5678",
            "+49-30-901820123", "+49 30 / 901820123", "+49/30/901820123", "+49 30 1234–5678", "+49 1525 12345678", "+4930 9018 20123",
            "+49 3 0 9018 20123", "(+49) 30 901820123", "(+49)30 901820123", "+(49) 30 901820123", "＋49 30 901820123",
            "+51 1 123 4567", "+52 55 1234 5678", "+54 9 11 1234-5678", "+55 (11) 91234-5678", "+56 2 2123 4567", "+57 1 1234567",
            "+58 212-1234567", "+60 3-1234 5678", "+61 2 9876 5432", "+62 812-3456-7890", "+63 2 8123 4567", "+64 9 123 4567",
            "+65 6123 4567", "+66 2 123 4567", "+81 3-1234-5678", "+82 2-312-3456", "+84 24 1234 5678", "+86 138 0013 8000",
            "+86 10 12345678", "+90 212 123 45 67", "+91 98765 43210", "+91-98765-43210", "+92 21 12345678", "+94 11 2 123456",
            "+98 21 1234 5678", "+212 522 123456", "+225 07 07 12 34 56", "+234 803 123 4567", "+254 20 1234567", "+298 123456",
            "+351 21 123 4567", "+352 27 12 34 56", "+353 1 234 5678", "+354 512 3456", "+356 2123 4567", "+357 22 123456",
            "+358 9 1234567", "+359 2 123 4567", "+370 5 212 3456", "+371 67 123 456", "+372 612 3456", "+380 44 123 45 67",
            "+381 11 123 4567", "+385 1 2345 678", "+386 1 234 56 78", "+420 224 123 456", "+421 2 123 45 678", "+677 12345",
            "+852 2345 6789", "+880 2 1234567", "+886 2 1234 5678", "+961 1 123 456", "+966 11 123 4567", "+971 4 123 4567",
            "+972-3-123-4567", "+977 1-1234567", "+998 71 123 45 67",
        ];
        for number in numbers {
            for (before, after) in
                [("call ", " now"), ("Tel.: ", "."), ("tel:", ""), ("Ann,", ",Berlin"), ("(", ")"), ("\"", "\"")]
            {
                assert_eq!(
                    redacted(&format!("{before}{number}{after}")),
                    format!("{before}[phone]{after}"),
                    "{number}"
                );
            }
            let digits: String = number.replace("(0)", "").chars().filter(char::is_ascii_digit).collect();
            if digits.len() > 8 {
                assert_eq!(redacted(&format!("call +{digits}.")), "call [phone].", "{number}");
            }
            // Dialled with `00`, and with the spaces of typesetters.
            if number.starts_with('+') && !number.starts_with("+(") {
                assert_eq!(redacted(&number.replacen('+', "00", 1)), "[phone]", "{number}");
            }
            let spaced = number.replace(' ', "\u{a0}").replace('-', "‑");
            assert_eq!(redacted(&spaced), "[phone]", "{spaced}");
        }
        assert!(numbers.len() > 90);
    }

    /// F41: what stands beside a number stays, and an extension goes with it.
    #[test]
    fn neighbours_of_numbers_stay() {
        for (text, expected) in [
            ("+49 30 901820123 2026-11-21", "[phone] 2026-11-21"),
            ("+49 30 901820123 5.5 km", "[phone] 5.5 km"),
            ("+49 30 901820123, 12 people", "[phone], 12 people"),
            ("+49 30 901820123 (555) 123-4567", "[phone] [phone]"),
            ("+49 30 901820123 0049 30 901820123", "[phone] [phone]"),
            ("+49 30 901820123 / +33 1 23 45 67 89", "[phone] / [phone]"),
            ("+1 415 555 0199x123, +1 415 555 0199 ext. 12", "[phone], [phone]"),
            ("id,12,+491234567890,10115", "id,12,+491234567890,10115"),
            ("Ann,+491234567890,10115,Berlin", "Ann,[phone],10115,Berlin"),
            ("Ann,+491234567890,7,Berlin", "Ann,[phone],7,Berlin"),
            ("Ann,555-123-4567,12", "Ann,[phone],12"),
            ("Tel.+49 30 901820123", "Tel.[phone]"),
        ] {
            assert_eq!(redacted(text), expected, "{text}");
        }
    }

    /// F41: amounts, dates, places, versions and ids that look alike stay.
    #[test]
    fn look_alikes_stay() {
        for text in [
            "+1 234 567.89",
            "+1 234 567 890.50",
            "+1 234 567 890,50",
            "+1.234.567.890",
            "+1.234.567,89",
            "+12345678",
            "+12 345 678",
            "+1 234 567 890 123 456 789",
            "+1 234 567 890 123.50",
            "+491234567890,50",
            "EUR +491234567890",
            "+491 234 567 890 Mio.",
            "+12 000 000–15 000 000",
            "+5000000–6000000",
            "+12000 / 13000",
            "+1200  3400  5600",
            "+1500 - 2500 - 3500",
            "+1 2 3 4 5 6 7 8 9 10",
            "+40.6894-074.0447/",
            "+48.8566, +2.3522",
            "+48.8566 +2.3522",
            "+12345.678901",
            "10:30:00+01:00",
            "2026-11-21T10:30:45.123+0100",
            "1.2.3+20261121.1030",
            "+21.11.2026 10.30",
            "00123456-1234-1234-1234-123456789012",
            "0012345a-1234-4abc-8def-123456789012",
            "0012.3456.7890",
            "001.234.567.890",
            "0012 0034 0056",
            "00123 000 456",
            "0x0012345678",
            "978-3-16-148410-0",
            "192.168.100.200",
            "4242 4242 4242",
            "3.00123456789",
            "x+1234567890",
            "+1234567890USD",
            "12:30:45.123",
            "2026-11-21",
            "+5.2 % 123456789",
            "a=1+2345678901",
        ] {
            assert_eq!(redacted(text), text);
        }
    }

    /// F41: a megabyte of digits is read in time that grows with its length; else this test would not end.
    #[test]
    fn long_runs_of_digits_are_read_quickly() {
        for piece in ["001 ", "+1 2 ", "00-1(", "+49 30 901820123 "] {
            assert!(!redacted(&piece.repeat(100_000)).is_empty(), "{piece}");
        }
    }
}
