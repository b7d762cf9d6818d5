//! Words that say that a number is a loss or a fall: "down 4 %", "a loss of $1.2 billion", "a 4 % decline".

use crate::chars::{digit, is_inline_space};
use crate::finance::clause;
use crate::finance::clause::words_back;
use crate::finance::periods;
use crate::quantity::{Fall, Quantity};
use crate::unit::Unit;
use crate::unit::noun;

use crate::finance::word_list::word_lists;

word_lists!("direction.txt": FALLING, AMOUNTS, EXPENSES, BEHIND, GERMAN, GERMAN_LOSSES, RESULTS, FOREIGN, FOREIGN_LINKS, LINKS, CHANGED, CHANGES, LOSSES, PLANNED, BETWEEN, ENDS, JOINTS, LEADING, HEDGES, OBJECT, OF_CHANGE_NOUNS, COSTS, OPERATIONS, TAXES, IS_NEGATIVE_RESULT_BETWEEN, NEGATIVE, LOST_BEHIND_NOUNS, LOST_BEHIND_LESS, EARLIER);

/// Words looked at before the number.
const NEAR: usize = 5;

/// Words looked at between a subject and its number: "net loss for the three months ended June 30, 2025 was".
const WORDS: usize = 16;

/// Characters looked at before the number.
const LONGEST: usize = 60;

/// Returns the fall that the words `before` and `after` a number give it; `phrase` are the first words
/// after it.
pub(crate) fn fall(before: &str, phrase: &[String], after: &str) -> Fall {
    let beyond = periods::behind_comparison(after);
    let behind = if beyond.len() < after.len() { fall_behind(&noun::phrase(beyond, 0)) } else { fall_behind(phrase) };
    fall_before(before).max(behind).max(down_behind(after)).max(lost_behind(after))
}

/// The same where `previous` is the amount that the number is the other end of: "the operating loss widened by $300 million
/// to $1.5 billion", "increased from $10 million to $12 million", "narrowed to $5 million from $6 million", "decreased 10 %
/// year over year to $12 million"; or the amount that it says in another unit: "decreased by $5 million, or 4 %".
pub(crate) fn fall_between(text: &str, previous: &Quantity, start: usize) -> Fall {
    let before = text[..previous.span.start].trim_end_matches(is_inline_space);
    let between = text.get(previous.span.end..start).map_or("", str::trim);
    let (middle, joint) = between.rsplit_once(is_inline_space).unwrap_or(("", between));
    let changed = || before.rsplit(is_inline_space).next().is_some_and(|word| CHANGED.contains(&word.to_lowercase()));
    let subject = match joint {
        "to" if periods::is_whole(middle) => {
            let led = [" by", " from"].iter().find_map(|word| before.strip_suffix(word));
            led.or_else(|| changed().then_some(before))
        }
        "from" if middle.is_empty() => before.strip_suffix(" to"),
        "auf" | "à" | "a" if periods::is_whole(middle) => {
            let lead = [" um", " von", " de", " un", " en"].iter().find_map(|word| before.strip_suffix(word));
            let lost = lead.is_some_and(is_foreign_result);
            return if lost { Fall::Certain } else { Fall::No };
        }
        _ => None,
    };
    subject.map_or_else(|| fall_restated(between, previous, &text[start..]), of_result)
}

/// Returns the fall of a number that restates the one before it, behind `between`: "fell 4 %, or $5 million", "a 4 % decline ($5
/// million)". In parentheses it may also be the level that was reached.
fn fall_restated(between: &str, previous: &Quantity, number: &str) -> Fall {
    /// Characters of the longest number in parentheses that is looked at.
    const NUMBER: usize = 40;
    let noun = between.split_once(is_inline_space).filter(|(word, _)| BEHIND.contains(word.trim_end_matches(',')));
    let joint = noun.map_or(between, |(_, joint)| joint).trim_start_matches(',').trim().trim_end_matches(',');
    let enclosed =
        joint == "(" || joint.is_empty() && number.starts_with('(') && noun.is_none_or(|(_, rest)| rest.is_empty());
    let is_share = || {
        let inside = number.char_indices().nth(NUMBER).map_or(number, |(at, _)| &number[..at]).split_once(')');
        matches!(previous.unit, Unit::Money(_)) && inside.is_some_and(|(inside, _)| inside.ends_with('%'))
    };
    match previous.fall {
        fall if JOINTS.contains(joint) => fall,
        Fall::Certain if enclosed && !is_share() => Fall::Possible,
        fall if enclosed => fall,
        _ => Fall::No,
    }
}

/// True if words near a number in parentheses say that it is a loss: "Net loss for the year (1,234)", "fell (4%)".
pub(crate) fn is_loss(before: &str, phrase: &[String]) -> bool {
    let loss = |word: &str| LOSSES.contains(word.trim_end_matches([',', ':']).to_lowercase().as_str());
    let mut words = before.rsplit(is_inline_space).take(NEAR).take_while(|word| !word.ends_with('.'));
    fall_before(before) > Fall::No || words.any(loss) || phrase.iter().any(|word| loss(word))
}

fn fall_before(before: &str) -> Fall {
    let labelled = clause::is_label(before);
    let words: Vec<String> = words_back(before).collect();
    let (mut behind, mut looked_at, mut apart) = ("", 0, false);
    for (at, word) in words.iter().enumerate() {
        let previous = words.get(at + 1).map_or("", String::as_str);
        // "declined, year over year, 3.4 %".
        apart |= matches!(word.as_str(), "year," | "quarter,") && matches!(previous, "over" | "on");
        let word = if apart { word.trim_end_matches(',') } else { word };
        match word {
            word if AMOUNTS.contains(word) => return Fall::Possible,
            // "ein Minus von"; "10 minus 5" subtracts.
            "minus" if behind == "von" => return Fall::Certain,
            "red" if previous == "the" => return Fall::Certain,
            "zahlen" if matches!(previous, "rote" | "roten") => return Fall::Certain,
            word if is_falling(word) && EXPENSES.contains(previous) => return Fall::Possible,
            word if is_falling(word) => return Fall::Certain,
            word if !labelled && periods::holds(word, behind) => {}
            word if BETWEEN.contains(word) || word.len() > 4 && word.ends_with("ly") => looked_at += 1,
            _ => break,
        }
        behind = word;
        if looked_at == NEAR {
            break;
        }
    }
    let certain = is_foreign_result(before) || is_negative_result(before);
    let fall = if certain { Fall::Certain } else { of_result(before) };
    fall.max(of_change(before))
}

/// Returns the fall that a noun of falling gives the number behind its object: "a decline in revenue of ", "une baisse du chiffre d'affaires
/// de ". A decline in costs may be given as an amount.
fn of_change(before: &str) -> Fall {
    let mut words =
        clause::clause_back(before).skip_while(|word| HEDGES.contains(word.as_str()) || word.ends_with("ly"));
    if !words.next().is_some_and(|word| LEADING.contains(word.as_str())) {
        return Fall::No;
    }
    let words: Vec<String> = words.take(NEAR).collect();
    let falls = |word: &str| OF_CHANGE_NOUNS.contains(word) || is_german(word);
    let at = words.windows(2).position(|pair| OBJECT.contains(pair[0].as_str()) && falls(&pair[1]));
    match at.and_then(|at| words.get(..at)) {
        Some(object) if object.iter().any(|word| COSTS.contains(word.as_str())) => Fall::Possible,
        Some(_) => Fall::Certain,
        None => Fall::No,
    }
}

fn is_falling(word: &str) -> bool {
    FALLING.contains(word) || is_german(word)
}

fn is_german(word: &str) -> bool {
    GERMAN.iter().any(|end| word.ends_with(end))
}

/// The same in other languages: "Der Nettoverlust lag bei ", "Las pérdidas ascendieron a ".
fn is_foreign_result(before: &str) -> bool {
    let is_loss = |word: &str| FOREIGN.contains(word) || GERMAN_LOSSES.iter().any(|end| word.ends_with(end));
    let mut behind = String::new();
    for word in words_back(before).take(WORDS).map(|word| word.replace('’', "'")) {
        if is_loss(&word) {
            return true;
        }
        let links = FOREIGN_LINKS.contains(word.as_str()) || FALLING.contains(word.as_str());
        if !links && !periods::holds(&word, &behind) {
            return false;
        }
        behind = word;
    }
    false
}

/// Returns the fall that the subject gives the number after `before`: "Net loss for the quarter was ", "net loss widened to ",
/// "Loss before tax: ". A loss that nothing says to be a result may be an expense: "Losses on loans were ".
fn of_result(before: &str) -> Fall {
    let words: Vec<String> = clause::clause_back(before).take(WORDS).collect();
    let links = |word: &String| LINKS.contains(word.as_str()) || CHANGED.contains(word.as_str());
    let label = clause::is_label(before);
    if !label && !words.first().is_some_and(links) {
        return Fall::No;
    }
    for (at, word) in words.iter().enumerate().skip(usize::from(!label)) {
        let (behind, qualifier) = (&words[..at], words.get(at + 1).map_or("", String::as_str));
        if LOSSES.contains(word.as_str()) {
            let linked = behind.last().is_some_and(links);
            let named = RESULTS.contains(qualifier) || !EXPENSES.contains(qualifier) && is_of_result(behind);
            let of = behind.last().is_some_and(|word| word == "of");
            let alone = linked && !of && word.starts_with("loss") && !EXPENSES.contains(qualifier);
            return match (named || alone, linked) {
                (true, _) => Fall::Certain,
                (false, true) => Fall::Possible,
                (false, false) => Fall::No,
            };
        }
        let operations = word == "from" && LOSSES.contains(qualifier) && is_of_result(&words[..=at]);
        let dated = || words[at.saturating_sub(1)..].iter().take(3).any(|word| periods::is_period(word));
        let figure = word.contains(|c| digit(c).is_some()) && !dated();
        let income = word == "income" && !behind.last().is_some_and(|word| word.starts_with("tax"));
        if ENDS.contains(word.as_str()) && !operations || income || figure {
            return Fall::No;
        }
    }
    Fall::No
}

/// True if the words `behind` a loss, last first, make it a result: "before tax", "per share", "from continuing operations",
/// "for the quarter", "attributable to Acme".
fn is_of_result(behind: &[String]) -> bool {
    let mut words = behind.iter().rev().map(String::as_str);
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match first {
        "before" | "per" | "attributable" => true,
        "after" => TAXES.contains(second),
        "from" => OPERATIONS.contains(second),
        "for" => periods::is_period(second) || words.take(NEAR).any(periods::is_period),
        _ => false,
    }
}

/// "a negative free cash flow of ", "EBITDA was negative at ", "ein negatives Ergebnis von "; an impact may be of either sign.
fn is_negative_result(before: &str) -> bool {
    let mut words =
        words_back(before).take(2 * NEAR).skip_while(|word| IS_NEGATIVE_RESULT_BETWEEN.contains(word.as_str()));
    let linked = words_back(before).next().is_some_and(|word| IS_NEGATIVE_RESULT_BETWEEN.contains(word.as_str()));
    linked && words.next().is_some_and(|word| NEGATIVE.contains(word.as_str()))
}

fn fall_behind(phrase: &[String]) -> Fall {
    let Some(at) = phrase.iter().position(|word| BEHIND.contains(word.as_str()) || AMOUNTS.contains(word.as_str()))
    else {
        return Fall::No;
    };
    let expense = at.checked_sub(1).is_some_and(|before| EXPENSES.contains(phrase[before].as_str()));
    let amount = AMOUNTS.contains(phrase[at].as_str());
    // "$5 million loss provision" is not a loss.
    let last = at + 1 == phrase.len() || phrase[at] == "lower";
    if expense || amount || !last { Fall::Possible } else { Fall::Certain }
}

/// "€12.3m in losses", "12,3 M€ de pertes", "€12.3m in the red"; in "$5m in credit losses" the losses are expenses.
fn lost_behind(after: &str) -> Fall {
    let near: String = after.trim_start_matches(is_inline_space).chars().take(LONGEST).collect();
    let near = near.to_lowercase();
    if near.starts_with("in the red") {
        return Fall::Certain;
    }
    if LOST_BEHIND_LESS.iter().any(|less| near.starts_with(less)) {
        return Fall::Possible;
    }
    let Some(what) = ["in ", "of ", "de ", "en ", "an "].iter().find_map(|joint| near.strip_prefix(joint)) else {
        return Fall::No;
    };
    let mut words = what.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).take(2);
    match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
        (noun, _) if LOST_BEHIND_NOUNS.contains(noun) => Fall::Certain,
        (kind, noun) if LOST_BEHIND_NOUNS.contains(noun) && RESULTS.contains(kind) => Fall::Certain,
        (_, noun) if LOST_BEHIND_NOUNS.contains(noun) => Fall::Possible,
        _ => Fall::No,
    }
}

/// "3 % unter Vorjahr", "3 % below last year".
fn is_below_earlier(after: &str) -> bool {
    let near: String = after.trim_start_matches(is_inline_space).chars().take(24).collect();
    let near = near.to_lowercase();
    EARLIER.iter().any(|words| near.starts_with(words))
}

/// "3 % down on last year"; in "$5 million, down 3 %" and "$5 million down 3 %" another number is meant.
fn down_behind(after: &str) -> Fall {
    let rest = after.trim_start_matches(is_inline_space).strip_prefix("down");
    let rest = rest.filter(|rest| rest.starts_with([' ', '.', ',', ';', ')']) || rest.is_empty());
    let end = |rest: &str| {
        let next = rest.trim_start_matches(is_inline_space);
        next.starts_with(['.', ',', ';', ')'])
            || next.is_empty()
            || next.starts_with("on ")
            || next.starts_with("from ")
    };
    if rest.is_some_and(end) || is_below_earlier(after) { Fall::Certain } else { Fall::No }
}

/// True if the number after `before` is the amount by which something changed: "rose by about ".
pub(crate) fn changes(before: &str) -> bool {
    let start = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let mut words = before[start..].trim_end_matches(is_inline_space).rsplit(is_inline_space).take(NEAR);
    let mut of = false;
    while let Some(word) = words.next() {
        let word = word.to_lowercase();
        if CHANGED.contains(word.as_str()) || (of && CHANGES.contains(word.as_str())) {
            return !words.any(|word| PLANNED.contains(word.to_lowercase().as_str()));
        }
        of |= word == "of";
        let adverb = word.len() > 4 && word.ends_with("ly");
        if !adverb && !BETWEEN.contains(word.as_str()) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: an amount of change is known by its verb; plans and levels are none.
    #[test]
    fn verbs_of_change_mark_amounts() {
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

    /// RG-05: a word of loss or fall makes the number that it governs negative, and no other.
    #[test]
    fn falls_are_negative_and_levels_are_not() {
        for (before, fall) in [
            ("revenue fell ", Fall::Certain),
            ("a net loss of about ", Fall::Certain),
            ("Net loss: ", Fall::Certain),
            ("Net loss (EUR m): ", Fall::Certain),
            ("Net loss for the quarter was ", Fall::Certain),
            ("Net loss widened to ", Fall::Certain),
            ("Der Umsatz sank um ", Fall::Certain),
            ("une perte nette de ", Fall::Certain),
            ("una pérdida de ", Fall::Certain),
            ("credit losses of ", Fall::Possible),
            ("Der Nettoverlust lag bei ", Fall::Certain),
            ("Der Konzernfehlbetrag betrug ", Fall::Certain),
            ("ein Verlust in Höhe von ", Fall::Certain),
            ("La perte nette s’élève à ", Fall::Certain),
            ("Las pérdidas ascendieron a ", Fall::Certain),
            ("Umsatzrückgang um ", Fall::Certain),
            ("ein Minus von ", Fall::Certain),
            ("The loss before tax was ", Fall::Certain),
            ("The operating loss increased from ", Fall::Certain),
            ("The loss narrowed to ", Fall::Certain),
            ("Credit losses narrowed to ", Fall::Possible),
            ("in the red by ", Fall::Certain),
            ("a negative free cash flow of ", Fall::Certain),
            ("a negative impact of ", Fall::No),
            ("Trotz Verlust lag der Umsatz bei ", Fall::No),
            ("Der Umsatz sank auf ", Fall::No),
            ("Le chiffre d'affaires a reculé à ", Fall::No),
            ("profit fell from ", Fall::No),
            ("outflows of ", Fall::Possible),
            ("a loss ratio of ", Fall::No),
            ("fell to ", Fall::No),
            ("Revenue decreased in the second quarter by approximately ", Fall::Certain),
            ("Revenue fell in Q2 2025: ", Fall::No),
            ("a decline in revenue of ", Fall::Certain),
            ("a decrease in operating expenses of ", Fall::Possible),
            ("an increase in revenue of ", Fall::No),
            ("Loss before tax: ", Fall::Certain),
            ("Loss from continuing operations was ", Fall::Certain),
            ("Loss from theft was ", Fall::No),
            ("Impairment loss for the quarter was ", Fall::Possible),
            ("Net loss of Acme Inc. was ", Fall::Certain),
            ("It made a loss. EBITDA was ", Fall::No),
            ("Der Verlust im zweiten Quartal betrug ", Fall::Certain),
            ("from a net loss of 3 to ", Fall::No),
            ("lost the case. It paid ", Fall::No),
            ("grew ", Fall::No),
            ("", Fall::No),
        ] {
            assert_eq!(fall_before(before), fall, "{before}");
        }
        let phrase = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(fall("", &phrase("net loss"), " net loss."), Fall::Certain);
        assert_eq!(fall("", &phrase("loss provision"), " loss provision"), Fall::Possible);
        assert_eq!(fall("", &phrase("fell short"), " fell short"), Fall::No);
        assert_eq!(fall("", &phrase("down"), " down 3 %"), Fall::No);
        assert_eq!(fall("", &phrase("down"), " down on last year"), Fall::Certain);
        assert_eq!(fall("", &[], " in net losses."), Fall::Certain);
        assert_eq!(fall("", &[], " in credit losses."), Fall::Possible);
        assert_eq!(fall("", &[], " in lost-and-found items"), Fall::No);
    }
}
