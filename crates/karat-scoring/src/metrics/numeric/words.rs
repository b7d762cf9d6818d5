//! English number words: "twenty-five", "one hundred and five", "three point two".

use rust_decimal::Decimal;

use super::digits::{Form, Numeral};

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// More letters than any number word has.
const LONGEST: usize = 12;

/// Reads the number words that start at `at`, up to 999; larger scales are read like those after
/// digits. A lone "one" is left alone: it is a pronoun more often than a number.
pub(super) fn read(text: &str, at: usize) -> Option<Numeral> {
    let mut reader = Reader { text, end: at, next: at };
    let whole = reader.below_thousand()?;
    let decimals = reader.decimals();
    let digits = format!("{whole}{decimals}");
    let mantissa: i64 = digits.parse().ok()?;
    Some(Numeral {
        start: at,
        end: reader.end,
        value: Decimal::new(mantissa, decimals.len() as u32),
        decimals: decimals.len() as u32,
        significant: digits.trim_start_matches('0').len() as u32,
        form: Form::Spelled,
    })
}

/// Whether a spelled number stands for nothing but the word "one".
pub(super) fn is_lone_one(text: &str, numeral: &Numeral) -> bool {
    text[numeral.start..numeral.end].eq_ignore_ascii_case("one")
}

struct Reader<'a> {
    text: &'a str,
    /// Where the last accepted word ends.
    end: usize,
    /// Where the next word starts.
    next: usize,
}

impl Reader<'_> {
    /// Accepts the next word if `meaning` knows it.
    fn accept<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let rest = self.text.get(self.next..)?;
        let longest = rest.char_indices().nth(LONGEST).map_or(rest.len(), |(at, _)| at);
        let length = rest[..longest].find(|c: char| !c.is_alphanumeric()).unwrap_or(longest);
        let found = meaning(&rest[..length].to_ascii_lowercase())?;
        self.end = self.next + length;
        let gap = self.text[self.end..].chars().next();
        let gap = gap.filter(|c| matches!(c, ' ' | '-')).map_or(0, char::len_utf8);
        self.next = if gap == 0 { self.text.len() } else { self.end + gap };
        Some(found)
    }

    fn below_thousand(&mut self) -> Option<u32> {
        let first = self.below_hundred()?;
        if first == 0 || first > 9 || self.accept(|word| (word == "hundred").then_some(())).is_none() {
            return Some(first);
        }
        let (end, next) = (self.end, self.next);
        let joined = self.accept(|word| (word == "and").then_some(())).is_some();
        let rest = self.below_hundred();
        if rest.is_none() && joined {
            (self.end, self.next) = (end, next);
        }
        Some(first * 100 + rest.unwrap_or(0))
    }

    fn below_hundred(&mut self) -> Option<u32> {
        if let Some(tens) = self.accept(|word| position(&TENS, word)) {
            let unit = self.accept(|word| small(word).filter(|n| (1..10).contains(n)));
            return Some(20 + tens * 10 + unit.unwrap_or(0));
        }
        self.accept(small)
    }

    /// The digits after "point".
    fn decimals(&mut self) -> String {
        let (end, next) = (self.end, self.next);
        let mut digits = String::new();
        if self.accept(|word| (word == "point").then_some(())).is_none() {
            return digits;
        }
        while let Some(n) = self.accept(|word| small(word).filter(|n| *n < 10)) {
            digits.extend(char::from_digit(n, 10));
        }
        if digits.is_empty() {
            (self.end, self.next) = (end, next);
        }
        digits
    }
}

fn small(word: &str) -> Option<u32> {
    position(&SMALL, word)
}

fn position(words: &[&str], word: &str) -> Option<u32> {
    let index = words.iter().position(|w| *w == word)?;
    u32::try_from(index).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(String, usize)> {
        read(text, 0).map(|n| (n.value.to_string(), n.end))
    }

    #[test]
    fn spelled_numbers() {
        for (text, value, end) in [
            ("two", "2", 3),
            ("Twenty-five percent", "25", 11),
            ("one hundred and five of", "105", 20),
            ("three hundred and more", "300", 13),
            ("three point two five", "3.25", 20),
            ("three point of", "3", 5),
            ("ninety twelve", "90", 6),
            ("seven million", "7", 5),
        ] {
            assert_eq!(parse(text), Some((value.to_owned(), end)), "{text}");
        }
        assert_eq!(parse("hundred"), None);
        assert_eq!(parse("often"), None);
        assert_eq!(parse("tenth"), None);
    }
}
