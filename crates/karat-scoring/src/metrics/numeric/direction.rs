//! Words that say that a number is a loss or a fall: "down 4 %", "a loss of $1.2 billion", "a 4 % decline".

use super::digits::is_inline_space;

/// Nouns and verbs of falling.
#[rustfmt::skip]
const FALLING: &[&str] = &[
    "contracted", "contraction", "decline", "declined", "declines", "decrease", "decreased", "decreases", "deficit",
    "dipped", "down", "drop", "dropped", "drops", "fall", "fallen", "falls", "fell", "less", "loss", "losses", "lost",
    "lower", "outflow", "outflows", "plunged", "reduced", "reduction", "shortfall", "shrank", "slid", "slipped",
    "tumbled", "baisse", "gefallen", "gesunken", "perte", "rückgang", "sank", "verlust",
];

/// Words that may stand between them and the number.
#[rustfmt::skip]
const BETWEEN: &[&str] = &[
    "a", "about", "almost", "an", "another", "approximately", "around", "by", "is", "just", "nearly", "of", "over",
    "roughly", "some", "the", "totaling", "totalling", "was", "were", "de", "um", "von",
];

/// Words looked at before the number.
const NEAR: usize = 5;

/// Characters looked at before the number.
const LONGEST: usize = 60;

/// Whether the number between `before` and the words of `phrase` is said to be a loss or a fall.
pub(super) fn falls(before: &str, phrase: &[String]) -> bool {
    falls_before(before) || phrase.iter().any(|word| FALLING.contains(&word.as_str()))
}

fn falls_before(before: &str) -> bool {
    let start = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let words = before[start..].trim_end_matches(is_inline_space).rsplit(is_inline_space).take(NEAR);
    for word in words {
        let word = word.trim_end_matches(':').to_lowercase();
        if FALLING.contains(&word.as_str()) {
            return true;
        }
        if !BETWEEN.contains(&word.as_str()) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_falls_by_an_amount_and_not_to_it() {
        for (before, falls) in [
            ("revenue fell ", true),
            ("a net loss of about ", true),
            ("Net loss: ", true),
            ("fell to ", false),
            ("lost the case. It paid ", false),
            ("grew ", false),
            ("", false),
        ] {
            assert_eq!(falls_before(before), falls, "{before}");
        }
        assert!(falls("", &["net".to_owned(), "loss".to_owned()]));
    }
}
