//! Number words, in English: "twenty-five", "one hundred and five", "three point two", "half a million", "two dozen".

use rust_decimal::Decimal;

use crate::numeral::digits::{Form, Numeral};
use crate::numeral::foreign;
use crate::unit;
use crate::unit::Unit;
use crate::unit::scale;

/// The numbers below twenty.
pub(crate) const SMALL: [&str; 20] = [
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

/// The tens from twenty on.
pub(crate) const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// More letters than any number word has.
const LONGEST: usize = 12;

/// Reads the number words that start at `at`, up to 999; larger scales are read like those after
/// digits. A lone "one" is left alone: it is a pronoun more often than a number.
pub(crate) fn read(text: &str, at: usize) -> Option<Numeral> {
    let mut reader = Reader { text, end: at, next: at };
    let value = match reader.part() {
        Some(part) => part,
        None => reader.cardinal().or_else(|| reader.foreign())?,
    };
    let digits = value.mantissa().unsigned_abs().to_string();
    let significant = if value.is_zero() { 0 } else { digits.len() as u32 };
    Some(Numeral {
        start: at,
        end: reader.end,
        value,
        decimals: value.scale(),
        significant,
        form: Form::Spelled,
        is_fraction: false,
    })
}

/// True if a spelled number stands for nothing but the word "one".
pub(crate) fn is_lone_one(text: &str, numeral: &Numeral) -> bool {
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

    /// Tries a reading; goes back to where it began when it fails.
    fn attempt<T>(&mut self, reading: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (end, next) = (self.end, self.next);
        let found = reading(self);
        if found.is_none() {
            (self.end, self.next) = (end, next);
        }
        found
    }

    fn word(&mut self, any: &[&str]) -> Option<()> {
        self.accept(|word| any.contains(&word).then_some(()))
    }

    /// A share of one of something, or one of it: "half a million", "a quarter of a billion", "a dozen", "a thousand".
    fn part(&mut self) -> Option<Decimal> {
        self.attempt(|it| {
            let share = it.share();
            if share.is_some() {
                it.attempt(|it| it.word(&["of"]));
            }
            let article = it.attempt(|it| it.word(&["a", "an"]));
            let value = share.or(article.map(|()| Decimal::ONE))?;
            it.dozens(value).or_else(|| it.counts_on(share.is_some()).then_some(value))
        })
    }

    fn share(&mut self) -> Option<Decimal> {
        let half = |it: &mut Self| it.word(&["half"]).map(|()| Decimal::new(5, 1));
        let quarter = |it: &mut Self| {
            it.attempt(|it| it.word(&["a"]));
            it.word(&["quarter"]).map(|()| Decimal::new(25, 2))
        };
        let quarters = |it: &mut Self| {
            it.word(&["three"])?;
            it.word(&["quarters"]).map(|()| Decimal::new(75, 2))
        };
        self.attempt(half).or_else(|| self.attempt(quarter)).or_else(|| self.attempt(quarters))
    }

    /// True if a scale follows, or, where allowed, a percentage.
    fn counts_on(&self, percent: bool) -> bool {
        let rest = &self.text[self.end..];
        let is_percent = || {
            let mark = unit::after(rest.trim_start_matches(' '));
            matches!(mark, Some((mark, _)) if mark.unit == Unit::Percent)
        };
        rest.starts_with([' ', '-']) && (scale::after(rest, false).is_some() || (percent && is_percent()))
    }

    /// "zwölf Millionen", "vingt-cinq pour cent", "mil millones de euros".
    fn foreign(&mut self) -> Option<Decimal> {
        let (text, at) = (self.text, self.end);
        let rest = &text[at..];
        let billion = rest.strip_prefix("mil ").is_some_and(|rest| rest.starts_with("millones de "));
        let counts = |end: usize| Self { text, end: at + end, next: text.len() }.counts_on(true);
        let (value, length) = match billion {
            true => (Decimal::ONE_THOUSAND, "mil".len()),
            false => foreign::read(rest, counts)?,
        };
        self.end += length;
        Some(value)
    }

    fn dozens(&mut self, of: Decimal) -> Option<Decimal> {
        self.attempt(|it| it.word(&["dozen"]))?;
        Some((of * Decimal::from(12)).normalize())
    }

    /// "twenty-five", "three point two", "two and a half", "two dozen".
    fn cardinal(&mut self) -> Option<Decimal> {
        let whole = self.below_thousand()?;
        let decimals = self.decimals();
        let mantissa: i64 = format!("{whole}{decimals}").parse().ok()?;
        let value = Decimal::new(mantissa, decimals.len() as u32);
        if !decimals.is_empty() {
            return Some(value);
        }
        let more = self.attempt(|it| {
            it.word(&["and"])?;
            it.word(&["a"])?;
            it.accept(|word| match word {
                "half" => Some(Decimal::new(5, 1)),
                "quarter" => Some(Decimal::new(25, 2)),
                _ => None,
            })
        });
        Some(more.map(|more| value + more).or_else(|| self.dozens(value)).unwrap_or(value))
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
            ("half a million", "0.5", 6),
            ("a quarter of a billion", "0.25", 14),
            ("three quarters of a percent", "0.75", 19),
            ("three quarters of growth", "3", 5),
            ("two and a half percent", "2.5", 14),
            ("a thousand", "1", 1),
            ("a dozen eggs", "12", 7),
            ("half a dozen", "6", 12),
            ("two dozen", "24", 9),
        ] {
            assert_eq!(parse(text), Some((value.to_owned(), end)), "{text}");
        }
        assert_eq!(parse("hundred"), None);
        assert_eq!(parse("half of a year"), None);
        assert_eq!(parse("a quarter of revenue"), None);
        assert_eq!(parse("a"), None);
        assert_eq!(parse("often"), None);
        assert_eq!(parse("tenth"), None);
    }
}
