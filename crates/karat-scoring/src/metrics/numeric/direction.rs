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

/// What has changed by the number after it; a plan ("will grow 3 to 4 %") gives a range instead.
#[rustfmt::skip]
const CHANGED: &[&str] = &[
    "added", "advanced", "advancing", "climbed", "climbing", "contracted", "declined", "declining", "decreased",
    "decreasing", "dipped", "down", "dropped", "dropping", "expanded", "expanding", "fallen", "falling", "fell", "gained",
    "grew", "growing", "grown", "improved", "improving", "increased", "increasing", "jumped", "jumping", "plunged",
    "reduced", "rise", "risen", "rising", "rose", "sank", "shrank", "slid", "slipped", "soared", "surged", "swelled",
    "tumbled", "up", "widened", "narrowed", "lost",
];

/// Nouns of change, which are followed by "of".
const CHANGES: &[&str] =
    &["decline", "decrease", "drop", "fall", "gain", "growth", "improvement", "increase", "reduction"];

/// Nouns of loss, singular and plural.
#[rustfmt::skip]
const LOSSES: &[&str] = &[
    "deficit", "deficits", "loss", "losses", "outflow", "outflows", "shortfall", "shortfalls", "perte", "verlust",
];

/// Words of a plan or forecast before what is then no change yet: "is seen up 3 to 4 %".
#[rustfmt::skip]
const PLANNED: &[&str] = &[
    "be", "expect", "expected", "expects", "forecast", "forecasts", "guidance", "outlook", "projected", "projects",
    "seen", "sees", "will",
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

/// Whether the number after `before` is denied: "was not $5 million", "isn't exactly 5".
pub(super) fn is_negated(before: &str) -> bool {
    let start = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let words = before[start..].trim_end_matches(|c| is_inline_space(c) || matches!(c, '*' | '_' | '`' | '"' | '“'));
    let mut words = words.rsplit(is_inline_space).map(str::to_lowercase);
    let word = words.by_ref().find(|word| !matches!(word.as_str(), "a" | "the" | "exactly" | "genau"));
    word.is_some_and(|word| word == "not" || word == "nicht" || word.ends_with("n't") || word.ends_with("n’t"))
}

/// Whether words near a number in parentheses say that it is a loss: "Net loss for the year (1,234)", "fell (4%)".
pub(super) fn is_loss(before: &str, phrase: &[String]) -> bool {
    let loss = |word: &str| LOSSES.contains(&word.trim_end_matches([',', ':']).to_lowercase().as_str());
    let mut words = before.rsplit(is_inline_space).take(NEAR).take_while(|word| !word.ends_with('.'));
    falls_before(before) || words.any(loss) || phrase.iter().any(|word| loss(word))
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

/// Whether the number after `before` is the amount by which something changed: "rose by about ".
pub(super) fn changes(before: &str) -> bool {
    let start = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let mut words = before[start..].trim_end_matches(is_inline_space).rsplit(is_inline_space).take(NEAR);
    let mut of = false;
    while let Some(word) = words.next() {
        let word = word.to_lowercase();
        if CHANGED.contains(&word.as_str()) || (of && CHANGES.contains(&word.as_str())) {
            return !words.any(|word| PLANNED.contains(&word.to_lowercase().as_str()));
        }
        of |= word == "of";
        let adverb = word.len() > 4 && word.ends_with("ly");
        if !adverb && !BETWEEN.contains(&word.as_str()) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: a number that is denied is none.
    #[test]
    fn what_is_denied() {
        for (before, negated) in [
            ("Revenue was not ", true),
            ("It wasn’t exactly ", true),
            ("Es waren nicht ", true),
            ("not only this, but ", false),
            ("not less than ", false),
            ("", false),
        ] {
            assert_eq!(is_negated(before), negated, "{before}");
        }
    }

    /// RG-05: an amount of change is known by its verb; plans and levels are none.
    #[test]
    fn what_changed_by_an_amount() {
        for (before, changed) in [
            ("margin rose ", true),
            ("Revenue increased sharply by about ", true),
            ("an increase of ", true),
            ("a margin of ", false),
            ("Revenue will be up ", false),
            ("Revenue should grow ", false),
            ("rose from ", false),
            ("rose to ", false),
        ] {
            assert_eq!(changes(before), changed, "{before}");
        }
    }

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
