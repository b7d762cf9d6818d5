//! Words that only say when, or against what: "in the second quarter", "year over year", "compared with Q2 2024". They may
//! stand between a word and the number that it governs.

use std::ops::Range;

use crate::chars::is_inline_space;
use crate::references::MONTHS;

use crate::finance::word_list::word_lists;

word_lists!("periods.txt": PERIODS, LEADING, COMPARISONS);

/// True if a lower-cased word belongs to such a phrase, where `behind` is the word after it.
pub(crate) fn holds(word: &str, behind: &str) -> bool {
    let leads = LEADING.contains(word) || word == "to" || word.bytes().all(|b| b.is_ascii_digit());
    let before_period = || is_period(behind) || LEADING.contains(behind);
    is_period(word) || leads && before_period()
}

/// True if a lower-cased word ends such a phrase: "quarter", "q2", "2025", "june".
pub(crate) fn is_period(word: &str) -> bool {
    PERIODS.contains(word) || is_dated(word)
}

/// "q2", "h1", "fy25", "2025", "june".
fn is_dated(word: &str) -> bool {
    let digits = |text: &str, lengths: Range<usize>| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let numbered = |prefix: &str, lengths| word.strip_prefix(prefix).is_some_and(|rest| digits(rest, lengths));
    let year = digits(word, 4..5) && (word.starts_with("19") || word.starts_with("20"));
    year || numbered("q", 1..2) || numbered("h", 1..2) || numbered("fy", 2..5) || MONTHS.contains(&word)
}

/// True if all of `text` is such a phrase, or nothing.
pub(crate) fn is_whole(text: &str) -> bool {
    let mut behind = String::new();
    text.rsplit(is_inline_space).filter(|word| !word.is_empty()).all(|word| {
        let word = word.trim_end_matches(',').to_lowercase();
        let held = holds(&word, &behind);
        behind = word;
        held
    })
}

/// True if two numbers of a text are told apart by their periods: "5 % in Q1 and 6 % in Q2".
pub(crate) fn tells_apart(text: &str, first: &Range<usize>, second: &Range<usize>) -> bool {
    /// Characters looked at behind the second number.
    const NEAR: usize = 40;
    let dated = |text: &str| -> Option<String> {
        text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).find(|word| is_dated(word))
    };
    let between = text.get(first.end..second.start).and_then(dated);
    let rest = &text[second.end..];
    let near = rest.char_indices().nth(NEAR).map_or(rest, |(at, _)| &rest[..at]);
    between.is_some_and(|period| dated(near.split(['.', ';', '\n']).next().unwrap_or_default()) != Some(period))
}

/// `text` behind a comparison that it begins with: " year-on-year decline" without the comparison.
pub(crate) fn behind_comparison(text: &str) -> &str {
    let rest = text.trim_start_matches(is_inline_space);
    let beyond = |words: &&str| {
        let head = rest.get(..words.len())?;
        head.eq_ignore_ascii_case(words).then(|| &rest[words.len()..])
    };
    COMPARISONS.iter().find_map(beyond).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: what says when or against what is known in four languages, and ends with a period.
    #[test]
    fn phrases_of_time_are_recognised() {
        for (text, whole) in [
            ("in the second quarter", true),
            ("year over year", true),
            ("compared with Q2 2024", true),
            ("for the three months ended June 30, 2025", true),
            ("im zweiten Quartal", true),
            ("gegenüber dem Vorjahr", true),
            ("par rapport à l'année précédente", true),
            ("en el segundo trimestre", true),
            ("", true),
            ("in the", false),
            ("to", false),
            ("in Europe", false),
            ("and the quarter", false),
        ] {
            assert_eq!(is_whole(text), whole, "{text}");
        }
    }

    /// RG-05: figures of two periods are not the ends of a range.
    #[test]
    fn figures_of_two_periods_are_no_range() {
        let apart = |text: &str, first, second| tells_apart(text, &first, &second);
        assert!(apart("5% in Q1 and 6% in Q2", 0..2, 13..15));
        assert!(!apart("5% and 6% in Q2", 0..2, 7..9));
        assert!(!apart("at least 5% in Q1 and at most 6% in Q1", 9..11, 30..32));
    }
}
