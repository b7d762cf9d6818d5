//! Parts into which a text is split, counted by a pattern.

use super::super::Item;
use super::test::Test;

/// The largest count that a pattern repeats.
const MAX_COUNT: f64 = 1000.0;

/// The parts of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pieces {
    /// Between every two places of a character.
    Between(char),
    /// Between runs of blanks, where a blank at an end of the text has an empty part beyond it.
    BetweenBlanks,
    /// The same of a text without blanks at its ends.
    OfTrimmed,
    /// Runs of other characters than blanks.
    Words,
}

impl Pieces {
    /// The test that their number is within bounds; `None` of bounds that all texts keep, or none.
    pub fn count(self, min: Option<f64>, max: Option<f64>) -> Option<Test> {
        let least = if self == Self::Words { 0.0 } else { 1.0 };
        let min = min.filter(|min| *min > least);
        let is_bound = min.is_some() || max.is_some();
        let is_possible = max.is_none_or(|max| max >= least) && min.into_iter().chain(max).all(|it| it <= MAX_COUNT);
        (is_bound && is_possible).then_some(())?;
        let patterns = [min.map(|min| self.at_least(min as usize)), max.map(|max| self.at_most(max as usize))];
        let test = |pattern: String| Test::Check(Item::new("regex").set("value", pattern));
        let mut tests: Vec<Test> = patterns.into_iter().flatten().map(test).collect();
        if tests.len() > 1 { Some(Test::All(tests)) } else { tests.pop() }
    }

    fn at_least(self, count: usize) -> String {
        match self {
            Self::Between(char) => {
                let char = escape(char);
                format!(r"\A(?:[^{char}]*{char}){{{}}}", count - 1)
            }
            Self::BetweenBlanks => format!(r"\A\S*(?:\s+\S+){{{}}}\s", count.saturating_sub(2)),
            Self::Words | Self::OfTrimmed => format!(r"\A\s*(?:\S+\s+){{{}}}\S", count - 1),
        }
    }

    fn at_most(self, count: usize) -> String {
        match self {
            Self::Between(char) => {
                let char = escape(char);
                format!(r"\A[^{char}]*(?:{char}[^{char}]*){{0,{}}}\z", count - 1)
            }
            Self::BetweenBlanks => format!(r"\A\S*(?:\s+\S*){{0,{}}}\z", count - 1),
            Self::Words | Self::OfTrimmed => format!(r"\A\s*(?:\S+(?:\s+|\z)){{0,{count}}}\z"),
        }
    }
}

/// A character in a pattern, also within brackets.
fn escape(char: char) -> String {
    format!("\\x{{{:x}}}", char as u32)
}

/// The smallest and largest whole number that a comparison admits.
pub(super) fn whole_bounds(operator: &str, number: f64) -> Option<(Option<f64>, Option<f64>)> {
    Some(match operator {
        "<" => (None, Some(number.ceil() - 1.0)),
        "<=" => (None, Some(number.floor())),
        ">" => (Some(number.floor() + 1.0), None),
        ">=" => (Some(number.ceil()), None),
        "===" | "==" if number.fract() == 0.0 => (Some(number), Some(number)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// F83: the patterns count as `split` does.
    #[test]
    fn patterns_count_as_split_does() {
        let blanks = Regex::new(r"\s+").unwrap();
        for text in ["", "a", " ", "a b", " a  b ", "a\nb\n", "\n\n", "a b c d", "ä ö\u{a0}ü "] {
            let counts = [
                (Pieces::Between(' '), text.split(' ').count()),
                (Pieces::Between('\n'), text.split('\n').count()),
                (Pieces::BetweenBlanks, blanks.split(text).count()),
                (Pieces::OfTrimmed, blanks.split(text.trim()).count()),
                (Pieces::Words, text.split_whitespace().count()),
            ];
            for (pieces, count) in counts {
                for bound in 1..6 {
                    let least = if pieces == Pieces::Words { 1 } else { 2 };
                    if bound >= least {
                        let found = Regex::new(&pieces.at_least(bound)).unwrap().is_match(text);
                        assert_eq!(found, count >= bound, "{pieces:?} of {text:?} at least {bound}");
                    }
                    let found = Regex::new(&pieces.at_most(bound)).unwrap().is_match(text);
                    assert_eq!(found, count <= bound, "{pieces:?} of {text:?} at most {bound}");
                }
            }
        }
        for pieces in [Pieces::BetweenBlanks, Pieces::Words] {
            assert!(Regex::new(&pieces.at_most(MAX_COUNT as usize)).is_ok());
            assert!(Regex::new(&pieces.at_least(MAX_COUNT as usize)).is_ok());
        }
    }
}
