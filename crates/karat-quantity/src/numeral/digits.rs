//! Numerals: digits with the separators of several locales.
//!
//! `1,234.5` `1.234,5` `1 234,5` `1'234.5` `12,34,567` are read by their own shape. `1,234` and
//! `1.234` alone could be either; they follow the decimal mark of the text.

use std::str::FromStr;

use rust_decimal::Decimal;

use super::fraction;
pub(crate) use super::{Form, Numeral};
use crate::chars::{digit, is_dash, is_inline_space};
use crate::references;
use crate::unit;
use crate::unit::{noun, scale};

/// The mark between units and decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecimalMark {
    /// The comma if a number of the text can only be read so and none only with a point; else the
    /// point.
    #[default]
    Auto,
    /// `1.5`; a lone `1,234` is one thousand two hundred and thirty-four.
    Point,
    /// `1,5`; a lone `1.234` is one thousand two hundred and thirty-four.
    Comma,
}

/// True if a numeral starts at `at`.
pub(crate) fn starts_at(text: &str, at: usize) -> bool {
    starts_with_digits(text, at) || fraction::starts_at(text, at)
}

/// True if digits start at `at`, or a point before one that nothing else precedes.
fn starts_with_digits(text: &str, at: usize) -> bool {
    let mut ahead = text[at..].chars();
    match ahead.next() {
        Some('.') => {
            let before = text[..at].chars().next_back();
            let free = before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | ')' | ']'));
            free && ahead.next().is_some_and(|c| digit(c).is_some())
        }
        Some(c) => digit(c).is_some(),
        None => false,
    }
}

/// Reads the numeral that starts at `at`; where it ends, when it is too long for a [`Decimal`].
pub(crate) fn read(text: &str, at: usize, mark: DecimalMark) -> Result<Numeral, usize> {
    if !starts_with_digits(text, at) {
        let next = text[at..].chars().next().map_or(1, char::len_utf8);
        return fraction::read(text, at).ok_or(at + next);
    }
    let shape = Shape::read(text, at);
    let (whole, fraction, end, form) = shape.split(mark);
    let digits = format!("{whole}.{fraction}");
    let value = Decimal::from_str(digits.trim_end_matches('.')).map_err(|_| end)?;
    let shown = whole.len() + fraction.len();
    let zeros = whole.chars().chain(fraction.chars()).take_while(|c| *c == '0').count();
    if fraction.len() > 20 || whole.len() > 25 {
        return Err(end);
    }
    let significant = (shown - zeros) as u32;
    let decimals = fraction.len() as u32;
    let numeral = Numeral { start: at, end, value, decimals, significant, form, is_fraction: false };
    Ok(fraction::extend(text, numeral))
}

/// The decimal mark that the numerals of `text` agree on; `continental` tells that it declares a scale that is written
/// where commas are decimal marks.
pub(crate) fn mark_of(text: &str, continental: bool) -> DecimalMark {
    let (mut point, mut comma) = (false, continental);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if !starts_with_digits(text, at) {
            at += c.len_utf8();
            continue;
        }
        let shape = Shape::read(text, at);
        match shape.evidence() {
            Some('.') => point = true,
            Some(_) => comma = true,
            None => {
                let marked = scale::is_continental(&text[shape.end()..]) || unit::is_continental(&text[..at]);
                comma |= shape.ambiguous() && marked;
            }
        }
        at = shape.end();
    }
    if comma && !point { DecimalMark::Comma } else { DecimalMark::Point }
}

/// No numeral has more groups of digits: 28 digits in groups of two or three.
const MOST_GROUPS: usize = 14;

/// Groups of digits and the separators between them.
struct Shape {
    start: usize,
    /// Digits in ASCII form, and the byte where the group ends in the text.
    groups: Vec<(String, usize)>,
    /// The separator before each group but the first.
    separators: Vec<char>,
    /// The decimal mark that dashes follow in place of decimals, and where they end: "1.500,- €".
    dashed: Option<(char, usize)>,
}

impl Shape {
    fn read(text: &str, at: usize) -> Self {
        let (first, mut end) = digits_at(text, at);
        let mut shape = Self { start: at, groups: vec![(first, end)], separators: Vec::new(), dashed: None };
        let in_list = follows_list_comma(text, at);
        while let Some((separator, length)) = separator_at(&text[end..]) {
            let (group, group_end) = digits_at(text, end + length);
            let listed = in_list && separator == ',';
            let full = shape.groups.len() == MOST_GROUPS;
            if group.is_empty() || listed || full || !shape.accepts(separator, &group, text, group_end) {
                break;
            }
            end = group_end;
            shape.separators.push(kind_of(separator));
            shape.groups.push((group, end));
        }
        shape.dashed = shape.dashes(text);
        shape
    }

    /// Dashes in place of decimals, beside money.
    fn dashes(&self, text: &str) -> Option<(char, usize)> {
        let written = text[self.end()..].chars().next()?;
        let mark =
            Some(kind_of(written)).filter(|mark| matches!(mark, '.' | ',') && !self.separators.contains(mark))?;
        // A full-width mark takes three bytes.
        let rest = &text[self.end() + written.len_utf8()..];
        let dashes = rest.trim_start_matches(is_dash);
        let count = rest[..rest.len() - dashes.len()].chars().count();
        let free = !dashes.starts_with(char::is_alphanumeric);
        let paid = || unit::is_money_after(dashes.trim_start_matches(is_inline_space));
        let whole = self.separators.is_empty() || self.thousands(1..self.groups.len());
        ((1..=2).contains(&count) && free && whole && (self.is_money(text) || paid()))
            .then_some((mark, text.len() - dashes.len()))
    }

    /// True if `separator` and `group` can continue the numeral.
    fn accepts(&self, separator: char, group: &str, text: &str, end: usize) -> bool {
        match kind_of(separator) {
            '.' | ',' => true,
            // A plain space may also stand between two numbers, so that what follows decides.
            ' ' => {
                let grouped = group.len() == 3 && self.groups_of_three();
                grouped && (separator != ' ' || self.continues(text, end))
            }
            '\'' => group.len() == 3 && self.groups_of_three(),
            _ => false,
        }
    }

    /// True if the groups of three digits after plain spaces make one number: a currency stands before them, their end is
    /// followed by a decimal mark, a scale, a unit or the noun they count, or there are several after a shorter first group.
    fn continues(&self, text: &str, end: usize) -> bool {
        let mut rest = &text[end..];
        let mut count = self.groups.len() + 1;
        while let Some(body) = rest.strip_prefix(' ').filter(|_| count < MOST_GROUPS) {
            let (group, end) = digits_at(body, 0);
            if group.len() != 3 {
                break;
            }
            rest = &body[end..];
            count += 1;
        }
        let mut ahead = rest.chars();
        let decimal = matches!(ahead.next(), Some(',' | '.')) && ahead.next().is_some_and(|c| digit(c).is_some());
        let unit = unit::after(rest.trim_start_matches(is_inline_space)).is_some();
        let scale = scale::after(rest, unit::money_follows(rest)).is_some();
        let several = count > 2 && self.groups[0].0.len() < 3;
        decimal || unit || scale || several || self.is_money(text) || self.counts(text, rest)
    }

    /// "€ 1 234".
    fn is_money(&self, text: &str) -> bool {
        unit::before(text[..self.start].trim_end_matches(is_inline_space)).is_some()
    }

    /// "12 345 employees"; in "Q2 345 employees" and "June 30 345 employees" the first group is part of something else.
    fn counts(&self, text: &str, rest: &str) -> bool {
        let before = &text[..self.start];
        let free = !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '/' | '\'' | '’'));
        let thing = |word: &String| noun::is_unit(word) && !noun::is_measure(word);
        free && !references::names_number(before) && noun::phrase(rest, 0).iter().any(thing)
    }

    fn groups_of_three(&self) -> bool {
        let mut digits = self.groups.iter().map(|(group, _)| group.len());
        let first = digits.next().is_some_and(|len| (1..=3).contains(&len));
        first && digits.all(|len| len == 3) && !self.separators.iter().any(|s| matches!(s, '.' | ','))
    }

    fn end(&self) -> usize {
        let digits = self.groups.last().map_or(0, |(_, end)| *end);
        self.dashed.map_or(digits, |(_, end)| end)
    }

    /// The decimal mark that the shape itself proves.
    fn evidence(&self) -> Option<char> {
        if let Some((mark, _)) = self.dashed {
            return Some(mark);
        }
        let (last, rest) = self.separators.split_last()?;
        if !matches!(last, '.' | ',') {
            return None;
        }
        let other = if *last == '.' { ',' } else { '.' };
        if rest.is_empty() {
            return (!self.ambiguous()).then_some(*last);
        }
        if rest.contains(last) {
            return (self.thousands(1..self.groups.len())).then_some(other);
        }
        self.thousands(1..self.groups.len() - 1).then_some(*last)
    }

    /// One point or comma before three digits: thousands or decimals.
    fn ambiguous(&self) -> bool {
        match self.groups.as_slice() {
            [(first, _), (second, _)] => second.len() == 3 && (1..=3).contains(&first.len()) && !first.starts_with('0'),
            _ => false,
        }
    }

    /// True if these groups are thousands: of three digits, or Indian: of two before the last.
    fn thousands(&self, groups: std::ops::Range<usize>) -> bool {
        let lengths: Vec<usize> = self.groups[groups.clone()].iter().map(|(g, _)| g.len()).collect();
        let first = self.groups[0].0.len();
        let same = self.separators[..groups.end - 1].windows(2).all(|pair| pair[0] == pair[1]);
        let western = lengths.iter().all(|len| *len == 3) && (1..=3).contains(&first);
        let indian = matches!(lengths.split_last(), Some((3, twos)) if twos.iter().all(|len| *len == 2))
            && (1..=2).contains(&first)
            && self.separators[0] == ',';
        same && (western || indian)
    }

    /// Digits before and after the decimal mark, the end in the text, and the form.
    fn split(&self, mark: DecimalMark) -> (String, String, usize, Form) {
        let whole = |groups: &[(String, usize)]| groups.iter().map(|(g, _)| g.as_str()).collect();
        let count = self.groups.len();
        if let Some((_, end)) = self.dashed {
            return (whole(&self.groups), String::new(), end, Form::Separated);
        }
        let (last_digits, end) = self.groups[count - 1].clone();
        let Some((last, rest)) = self.separators.split_last() else {
            return (last_digits, String::new(), end, Form::Bare);
        };
        let decimal = match last {
            '.' | ',' if rest.is_empty() && self.ambiguous() => (*last == '.') == (mark != DecimalMark::Comma),
            '.' | ',' => !rest.contains(last),
            _ => false,
        };
        if decimal && (rest.is_empty() || self.thousands(1..count - 1)) {
            let whole: String = whole(&self.groups[..count - 1]);
            let whole = if whole.is_empty() { "0".to_owned() } else { whole };
            return (whole, last_digits, end, Form::Separated);
        }
        if !decimal && self.thousands(1..count) {
            return (whole(&self.groups), String::new(), end, Form::Separated);
        }
        if self.separators.iter().all(|s| *s == '.') {
            return (whole(&self.groups), String::new(), end, Form::Dotted);
        }
        // A list such as "1,2,3": the first number only, the next ones follow.
        match &*self.groups {
            [(whole, _), (decimals, end), ..] if whole.is_empty() => {
                ("0".to_owned(), decimals.clone(), *end, Form::Separated)
            }
            groups => (groups[0].0.clone(), String::new(), groups[0].1, Form::Bare),
        }
    }
}

fn digits_at(text: &str, at: usize) -> (String, usize) {
    let mut digits = String::new();
    let mut end = at;
    for c in text.get(at..).unwrap_or_default().chars() {
        let Some(value) = digit(c) else { break };
        digits.extend(char::from_digit(value, 10));
        end += c.len_utf8();
    }
    (digits, end)
}

/// The character that may separate two groups of digits, and its length; the forms of LaTeX stand for a comma, a point or a
/// thin space.
fn separator_at(rest: &str) -> Option<(char, usize)> {
    #[rustfmt::skip]
    const LATEX: &[(&str, char)] = &[
        ("{,}", ','), ("{.}", '.'), (",\\!", ','), ("\\,", '\u{2009}'), ("\\ ", '\u{2009}'), ("\\;", '\u{2009}'), ("\\:", '\u{2009}'),
        ("~", '\u{a0}'),
    ];
    let latex = LATEX.iter().find(|(written, _)| rest.starts_with(written)).map(|(written, c)| (*c, written.len()));
    latex.or_else(|| rest.chars().next().map(|c| (c, c.len_utf8())))
}

/// Separators of one kind under one character.
fn kind_of(separator: char) -> char {
    match separator {
        '.' | '．' => '.',
        ',' | '，' | '\u{66b}' => ',',
        '\'' | '’' | '_' => '\'',
        ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' => ' ',
        other => other,
    }
}

/// True if the numeral at `at` follows another and a comma: "1,2,3" is a list.
fn follows_list_comma(text: &str, at: usize) -> bool {
    let before = text[..at].strip_suffix(',');
    before.is_some_and(|rest| rest.ends_with(|c| digit(c).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, mark: DecimalMark) -> String {
        read(text, 0, mark).unwrap().value.to_string()
    }

    #[test]
    fn shapes_that_prove_themselves() {
        for (text, expected) in [
            ("0", "0"),
            ("1234", "1234"),
            ("1,234,567.89", "1234567.89"),
            ("1.234.567,89", "1234567.89"),
            ("1\u{202f}234\u{202f}567,89", "1234567.89"),
            ("1 234 567,8", "1234567.8"),
            ("1'234’567.5", "1234567.5"),
            ("12,34,567.5", "1234567.5"),
            ("1,23,45,678", "12345678"),
            ("3,14", "3.14"),
            ("0,123", "0.123"),
            ("1234,567", "1234.567"),
            ("3.1415", "3.1415"),
            (".5", "0.5"),
            ("１２３", "123"),
            ("٤٢", "42"),
        ] {
            assert_eq!(value(text, DecimalMark::Point), expected, "{text}");
            assert_eq!(value(text, DecimalMark::Comma), expected, "{text}");
        }
    }

    /// A number that begins with its point is read to an end behind it, or the scan of its text would not go on.
    #[test]
    fn lists_may_begin_with_a_point() {
        for (text, values) in
            [(".0,123", &["0", "123"][..]), (".5,6,7", &["0.5", "6", "7"]), (".25 .5,1.5", &["0.25", "0.5", "1.5"])]
        {
            let found: Vec<_> = crate::extract(text).iter().map(|found| found.value.normalize().to_string()).collect();
            assert_eq!(found, values, "{text}");
        }
    }

    #[test]
    fn lone_groups_follow_the_mark_of_the_text() {
        assert_eq!(value("1,234", DecimalMark::Point), "1234");
        assert_eq!(value("1,234", DecimalMark::Comma), "1.234");
        assert_eq!(value("1.234", DecimalMark::Point), "1.234");
        assert_eq!(value("1.234", DecimalMark::Comma), "1234");
        assert_eq!(mark_of("4,5 % von 1.234 Stück", false), DecimalMark::Comma);
        assert_eq!(mark_of("1.234 and 1,234", false), DecimalMark::Point);
        assert_eq!(mark_of("4,5 and 4.5", false), DecimalMark::Point);
    }

    #[test]
    fn numbers_end_where_they_end() {
        assert_eq!(read("12,", 0, DecimalMark::Point).unwrap().end, 2);
        assert_eq!(read("1,2,3", 0, DecimalMark::Point).unwrap().end, 1);
        assert_eq!(read("100 200", 0, DecimalMark::Point).unwrap().end, 3);
        assert_eq!(read("12 345 employees", 0, DecimalMark::Point).unwrap().end, 6);
        assert_eq!(read("12 345 of", 0, DecimalMark::Point).unwrap().end, 2);
        assert_eq!(read("100 200 %", 0, DecimalMark::Point).unwrap().end, 7);
        assert_eq!(read("1.2.3", 0, DecimalMark::Point).unwrap().form, Form::Dotted);
        assert_eq!(read(&"9".repeat(40), 0, DecimalMark::Point), Err(40));
    }

    #[test]
    fn significant_digits_start_at_the_first_that_is_not_zero() {
        let significant = |text| read(text, 0, DecimalMark::Point).unwrap().significant;
        assert_eq!(significant("0.012"), 2);
        assert_eq!(significant("1.20"), 3);
        assert_eq!(significant("1,200"), 4);
        assert_eq!(significant("0"), 0);
    }
}
