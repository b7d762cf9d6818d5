//! The words before a number, back to where its clause begins.

use crate::chars::is_inline_space;
use crate::finance::periods;

use crate::finance::word_list::word_lists;

word_lists!("clause.txt": COMPANIES);

/// Characters looked at before the number.
const LONGEST: usize = 120;

fn is_margin(c: char) -> bool {
    is_inline_space(c) || matches!(c, ':' | '*' | '_' | '`')
}

/// True if a text ends with what names the number behind it: "Net loss: ", "| Loss before tax | ".
pub(crate) fn is_label(before: &str) -> bool {
    before.trim_end_matches(|c| is_margin(c) && c != ':').ends_with([':', '|'])
}

/// The words that `before` ends with, last first, as written, no farther than the phrase: a unit in parentheses is left out,
/// as in "Net loss (EUR m): ".
fn words_back_as_written(before: &str) -> impl Iterator<Item = &str> {
    let start = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let near = before[start..].trim_end_matches(is_margin);
    let label =
        near.strip_suffix(')').and_then(|inside| Some(inside[..inside.rfind('(')?].trim_end_matches(is_margin)));
    let words = label.unwrap_or(near).rsplit(is_inline_space).filter(|word| !word.is_empty());
    words.map(|word| word.trim_matches(is_margin).trim_start_matches(['(', '[']))
}

/// The words that `before` ends with, last first, lower-cased.
pub(crate) fn words_back(before: &str) -> impl Iterator<Item = String> {
    words_back_as_written(before).map(str::to_lowercase)
}

/// The same, no farther than the clause, without its commas and dots.
pub(crate) fn clause_back(before: &str) -> impl Iterator<Item = String> {
    let mut next = "";
    let words = words_back_as_written(before).take_while(move |word| {
        let ends = ends_clause(word, next);
        next = word;
        !ends
    });
    words.map(|word| word.trim_end_matches([',', '.']).to_lowercase())
}

/// True if a clause ends with `word`, before the word `next`.
fn ends_clause(word: &str, next: &str) -> bool {
    let bare = word.trim_end_matches([',', '.']).to_lowercase();
    match word.chars().next_back() {
        Some(';' | ')' | '!' | '?') => true,
        // "Acme Inc. was", "under U.S. GAAP".
        Some('.') => !bare.contains('.') && !next.starts_with(char::is_lowercase),
        Some(',') => {
            let date = bare.bytes().all(|byte| byte.is_ascii_digit()) && periods::is_period(next.trim_end_matches(','));
            let of_company = COMPANIES.contains(next.trim_end_matches([',', '.']).to_lowercase().as_str());
            !date && !of_company && !COMPANIES.contains(bare.as_str())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: dots of companies and commas of dates end no clause.
    #[test]
    fn clauses_end_at_punctuation() {
        for (before, first) in [
            ("It paid. Net loss of Acme Inc. was ", "net"),
            ("Net loss of Acme, Inc. was ", "net"),
            ("Net loss under U.S. GAAP was ", "net"),
            ("Net loss for the period ended June 30, 2025 was ", "net"),
            ("In Europe, revenue was ", "revenue"),
            ("Sales fell; revenue was ", "revenue"),
            ("Sales fell. Revenue was ", "revenue"),
        ] {
            assert_eq!(clause_back(before).last().as_deref(), Some(first), "{before}");
        }
    }
}
