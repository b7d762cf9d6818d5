//! Numbers that a text denies: "was not $5 million", "neither 5 nor 6", "5 rather than 6".

use crate::Quantity;
use crate::chars::is_inline_space;

use crate::finance::word_list::word_lists;

word_lists!("negation.txt": DENYING, PHRASES, CLAIMS, STATING, EVIDENCE, REFUSING, LACKING, NOTHING, BETWEEN, DENIES_STATEMENT_THAT, CONTRASTS, DENIES_STATEMENT_VERBS);

/// Characters looked at before the number.
const LONGEST: usize = 60;

/// True if the number at `start` is denied; `previous` is the number before it: "not 5 or 6" denies both.
pub(crate) fn is_denied(text: &str, start: usize, previous: Option<&Quantity>) -> bool {
    let listed = previous.filter(|previous| previous.negated).is_some_and(|previous| {
        let between = text.get(previous.span.end..start).map(str::trim);
        matches!(between, Some("or" | "oder" | "ou" | "o"))
    });
    listed || denies(&text[..start]) || denies_claim(&text[..start]) || denies_statement(&text[..start])
}

fn denies(before: &str) -> bool {
    let start = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let near = before[start..].to_lowercase().replace('’', "'");
    let mut rest = near.as_str();
    loop {
        rest = rest.trim_end_matches(|c| is_inline_space(c) || matches!(c, '*' | '_' | '`' | '"' | '“'));
        if PHRASES.iter().any(|phrase| ends_with_word(rest, phrase)) {
            return true;
        }
        // Spaces may take several bytes: "3 456,7" with narrow ones.
        let word = rest.rsplit(is_inline_space).next().unwrap_or_default();
        let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let neither = word == "noch" && near.contains("weder");
        if DENYING.contains(word) || word.ends_with("n't") || neither {
            return true;
        }
        if !BETWEEN.contains(word) {
            return false;
        }
        rest = &rest[..rest.len() - word.len()];
    }
}

/// True if a claim that goes on to the number is denied: "It is incorrect that revenue was $5 million".
fn denies_claim(before: &str) -> bool {
    let start = before.char_indices().rev().nth(2 * LONGEST).map_or(0, |(at, _)| at);
    let near = before[start..].to_lowercase();
    let claims = CLAIMS.iter().filter_map(|words| near.rfind(words).map(|at| &near[at + words.len()..]));
    let mut claims = claims.filter(|claim| !claim.contains([';', ',', '\n', '!', '?']));
    claims.any(|claim| !claim.contains(". ") && !claim.contains(" but "))
}

/// True if it is denied that something says so, or is found: "The filing does not state that revenue was $5 million", "I could
/// not find revenue of $5 million". Without "that" it is only about an object, and a verb begins something else.
fn denies_statement(before: &str) -> bool {
    let start = before.char_indices().rev().nth(2 * LONGEST).map_or(0, |(at, _)| at);
    let near = before[start..].to_lowercase().replace('’', "'").replace(", dass", " dass");
    let sentence = near.rsplit([';', '\n', '!', '?', ':', ',']).next().unwrap_or_default();
    let sentence = sentence.rsplit(". ").next().unwrap_or_default();
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let refuses = |at: usize| {
        let (word, next) = (words[at], words.get(at + 1).copied().unwrap_or_default());
        let refuses = REFUSING.contains(word) || word.ends_with("n't") || word.starts_with("n'");
        refuses && !matches!(next, "only" | "just" | "nur")
    };
    let denied = |at: &usize| {
        let has = |stems: &[&str]| stems.iter().any(|stem| words[*at].trim_start_matches("n'").starts_with(stem));
        let near = |count: usize| &words[at.saturating_sub(count)..*at];
        // The negation stands before the verb, or right behind it: "steht nicht", "ne dit pas".
        let refused = (at.saturating_sub(3)..words.len().min(at + 2)).any(refuses);
        let lacking = near(if has(&EVIDENCE) { 2 } else { 1 }).iter().any(|word| LACKING.contains(word));
        has(&STATING) && (refused || lacking || near(5).iter().any(|word| NOTHING.contains(word)))
    };
    (0..words.len()).filter(denied).any(|at| {
        let claim = &words[at + 1..];
        let that = claim.iter().take(4).position(|word| DENIES_STATEMENT_THAT.contains(word));
        let about = &claim[that.map_or(0, |that| that + 1)..];
        let goes_on = |word: &&str| CONTRASTS.contains(word) || that.is_none() && DENIES_STATEMENT_VERBS.contains(word);
        !about.iter().any(goes_on)
    })
}

fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|before| !before.ends_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: what a filing is denied to say, or nobody finds, is denied; what is beside it is not.
    #[test]
    fn denied_statements_are_recognised() {
        for (before, denied) in [
            ("I could not find revenue of ", true),
            ("The filing does not explicitly state that revenue was ", true),
            ("There is no evidence that revenue was ", true),
            ("Nothing in the filing says that revenue was ", true),
            ("Im Bericht steht nicht, dass der Umsatz ", true),
            ("Le rapport n'indique pas que le chiffre d'affaires était de ", true),
            ("El informe no dice que los ingresos fueron de ", true),
            ("Not only does it state that revenue was ", false),
            ("There is no doubt that revenue was ", false),
            ("It does not mention guidance, but revenue was ", false),
            ("It does not state the margin and revenue was ", false),
            ("Costs are not reported. Revenue was ", false),
            ("It is reported that revenue was ", false),
        ] {
            assert_eq!(denies_statement(before), denied, "{before}");
        }
    }

    /// RG-05: a number that is denied is none.
    #[test]
    fn denied_numbers_are_recognised() {
        for (before, denied) in [
            ("Revenue was not ", true),
            ("Revenue was not\u{a0}", true),
            ("Der Umsatz war nicht\u{202f}", true),
            ("3\u{202f}456,7\u{202f}M", false),
            ("It wasn’t exactly ", true),
            ("It did not reach ", true),
            ("neither 5 nor ", true),
            ("Revenue was never ", true),
            ("5 rather than ", true),
            ("Es waren nicht ", true),
            ("weder 5 noch ", true),
            ("noch ", false),
            ("statt ", true),
            ("au lieu de ", true),
            ("Ce n'est pas ", true),
            ("no fue de ", true),
            ("no. ", false),
            ("not only this, but ", false),
            ("not less than ", false),
            ("not 5 but ", false),
            ("knot ", false),
            ("", false),
        ] {
            assert_eq!(denies(before), denied, "{before}");
        }
    }
}
