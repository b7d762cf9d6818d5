//! Words that say that a number is a loss or a fall: "down 4 %", "a loss of $1.2 billion", "a 4 % decline".

use crate::chars::{digit, is_inline_space};
use crate::finance::clause;
use crate::finance::clause::words_back;
use crate::finance::periods;
use crate::quantity::{Negativity, Quantity};
use crate::unit::Unit;
use crate::unit::noun;

use crate::finance::word_list::word_lists;

word_lists!("direction.txt": FALLING, AMOUNTS, EXPENSES, NOUNS_AFTER, GERMAN, GERMAN_LOSSES, RESULTS, FOREIGN, FOREIGN_LINKS, LINKS, CHANGED, CHANGES, LOSSES, PLANNED, BETWEEN, ENDS, JOINTS, LEADING, HEDGES, OBJECT, OF_CHANGE_NOUNS, COSTS, OPERATIONS, TAXES, NEGATIVE_RESULT_LINKS, NEGATIVE, LOSS_AFTER_NOUNS, LOSS_AFTER_EXCEPTIONS, EARLIER);

/// Words looked at before the number.
const NEAR: usize = 5;

/// Words looked at between a subject and its number: "net loss for the three months ended June 30, 2025 was".
const WORDS: usize = 16;

/// Characters looked at before the number.
const LONGEST: usize = 60;

/// Returns the negativity that the words `before` and `after` a number give it; `phrase` are the first words
/// after it.
pub(crate) fn negativity(before: &str, phrase: &[String], after: &str) -> Negativity {
    let rest = periods::after_comparison(after);
    let noun = if rest.len() < after.len() {
        negative_noun_after(&noun::phrase(rest, 0))
    } else {
        negative_noun_after(phrase)
    };
    negativity_before(before).max(noun).max(down_after(after)).max(loss_after(after))
}

/// The same where `previous` is the amount that the number is the other end of: "the operating loss widened by $300 million
/// to $1.5 billion", "increased from $10 million to $12 million", "narrowed to $5 million from $6 million", "decreased 10 %
/// year over year to $12 million"; or the amount that it says in another unit: "decreased by $5 million, or 4 %".
pub(crate) fn negativity_between(text: &str, previous: &Quantity, start: usize) -> Negativity {
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
            return if lost { Negativity::Certain } else { Negativity::No };
        }
        _ => None,
    };
    subject.map_or_else(|| restated_negativity(between, previous, &text[start..]), of_result)
}

/// Returns the negativity of a number that restates the one before it, after `between`: "fell 4 %, or $5 million", "a 4 % decline ($5
/// million)". In parentheses it may also be the level that was reached.
fn restated_negativity(between: &str, previous: &Quantity, number: &str) -> Negativity {
    /// Characters of the longest number in parentheses that is looked at.
    const NUMBER: usize = 40;
    let noun = between.split_once(is_inline_space).filter(|(word, _)| NOUNS_AFTER.contains(word.trim_end_matches(',')));
    let joint = noun.map_or(between, |(_, joint)| joint).trim_start_matches(',').trim().trim_end_matches(',');
    let enclosed =
        joint == "(" || joint.is_empty() && number.starts_with('(') && noun.is_none_or(|(_, rest)| rest.is_empty());
    let is_share = || {
        let inside = number.char_indices().nth(NUMBER).map_or(number, |(at, _)| &number[..at]).split_once(')');
        matches!(previous.unit, Unit::Money(_)) && inside.is_some_and(|(inside, _)| inside.ends_with('%'))
    };
    match previous.negativity {
        negativity if JOINTS.contains(joint) => negativity,
        Negativity::Certain if enclosed && !is_share() => Negativity::Possible,
        negativity if enclosed => negativity,
        _ => Negativity::No,
    }
}

/// True if words near a number in parentheses say that it is a loss: "Net loss for the year (1,234)", "fell (4%)".
pub(crate) fn is_loss(before: &str, phrase: &[String]) -> bool {
    let loss = |word: &str| LOSSES.contains(word.trim_end_matches([',', ':']).to_lowercase().as_str());
    let mut words = before.rsplit(is_inline_space).take(NEAR).take_while(|word| !word.ends_with('.'));
    negativity_before(before) > Negativity::No || words.any(loss) || phrase.iter().any(|word| loss(word))
}

fn negativity_before(before: &str) -> Negativity {
    let labelled = clause::is_label(before);
    let words: Vec<String> = words_back(before).collect();
    let (mut following, mut looked_at, mut apart) = ("", 0, false);
    for (at, word) in words.iter().enumerate() {
        let previous = words.get(at + 1).map_or("", String::as_str);
        // "declined, year over year, 3.4 %".
        apart |= matches!(word.as_str(), "year," | "quarter,") && matches!(previous, "over" | "on");
        let word = if apart { word.trim_end_matches(',') } else { word };
        match word {
            word if AMOUNTS.contains(word) => return Negativity::Possible,
            // "ein Minus von"; "10 minus 5" subtracts.
            "minus" if following == "von" => return Negativity::Certain,
            "red" if previous == "the" => return Negativity::Certain,
            "zahlen" if matches!(previous, "rote" | "roten") => return Negativity::Certain,
            word if is_falling(word) && EXPENSES.contains(previous) => return Negativity::Possible,
            word if is_falling(word) => return Negativity::Certain,
            word if !labelled && periods::holds(word, following) => {}
            word if BETWEEN.contains(word) || word.len() > 4 && word.ends_with("ly") => looked_at += 1,
            _ => break,
        }
        following = word;
        if looked_at == NEAR {
            break;
        }
    }
    let certain = is_foreign_result(before) || is_negative_result(before);
    let negativity = if certain { Negativity::Certain } else { of_result(before) };
    negativity.max(of_change(before))
}

/// Returns the negativity that a noun of falling gives the number after its object: "a decline in revenue of ", "une baisse du chiffre d'affaires
/// de ". A decline in costs may be given as an amount.
fn of_change(before: &str) -> Negativity {
    let mut words =
        clause::clause_back(before).skip_while(|word| HEDGES.contains(word.as_str()) || word.ends_with("ly"));
    if !words.next().is_some_and(|word| LEADING.contains(word.as_str())) {
        return Negativity::No;
    }
    let words: Vec<String> = words.take(NEAR).collect();
    let falls = |word: &str| OF_CHANGE_NOUNS.contains(word) || is_german(word);
    let at = words.windows(2).position(|pair| OBJECT.contains(pair[0].as_str()) && falls(&pair[1]));
    match at.and_then(|at| words.get(..at)) {
        Some(object) if object.iter().any(|word| COSTS.contains(word.as_str())) => Negativity::Possible,
        Some(_) => Negativity::Certain,
        None => Negativity::No,
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
    let mut following = String::new();
    for word in words_back(before).take(WORDS).map(|word| word.replace('’', "'")) {
        if is_loss(&word) {
            return true;
        }
        let links = FOREIGN_LINKS.contains(word.as_str()) || FALLING.contains(word.as_str());
        if !links && !periods::holds(&word, &following) {
            return false;
        }
        following = word;
    }
    false
}

/// Returns the negativity that the subject gives the number after `before`: "Net loss for the quarter was ", "net loss widened to ",
/// "Loss before tax: ". A loss that nothing says to be a result may be an expense: "Losses on loans were ".
fn of_result(before: &str) -> Negativity {
    let words: Vec<String> = clause::clause_back(before).take(WORDS).collect();
    let links = |word: &String| LINKS.contains(word.as_str()) || CHANGED.contains(word.as_str());
    let label = clause::is_label(before);
    if !label && !words.first().is_some_and(links) {
        return Negativity::No;
    }
    for (at, word) in words.iter().enumerate().skip(usize::from(!label)) {
        let (following, qualifier) = (&words[..at], words.get(at + 1).map_or("", String::as_str));
        if LOSSES.contains(word.as_str()) {
            let linked = following.last().is_some_and(links);
            let named = RESULTS.contains(qualifier) || !EXPENSES.contains(qualifier) && is_of_result(following);
            let follows_of = following.last().is_some_and(|word| word == "follows_of");
            let alone = linked && !follows_of && word.starts_with("loss") && !EXPENSES.contains(qualifier);
            return match (named || alone, linked) {
                (true, _) => Negativity::Certain,
                (false, true) => Negativity::Possible,
                (false, false) => Negativity::No,
            };
        }
        let operations = word == "from" && LOSSES.contains(qualifier) && is_of_result(&words[..=at]);
        let dated = || words[at.saturating_sub(1)..].iter().take(3).any(|word| periods::is_period(word));
        let figure = word.contains(|c| digit(c).is_some()) && !dated();
        let income = word == "income" && !following.last().is_some_and(|word| word.starts_with("tax"));
        if ENDS.contains(word.as_str()) && !operations || income || figure {
            return Negativity::No;
        }
    }
    Negativity::No
}

/// True if the words `following` a loss, last first, make it a result: "before tax", "per share", "from continuing operations",
/// "for the quarter", "attributable to Acme".
fn is_of_result(following: &[String]) -> bool {
    let mut words = following.iter().rev().map(String::as_str);
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
    let mut words = words_back(before).take(2 * NEAR).skip_while(|word| NEGATIVE_RESULT_LINKS.contains(word.as_str()));
    let linked = words_back(before).next().is_some_and(|word| NEGATIVE_RESULT_LINKS.contains(word.as_str()));
    linked && words.next().is_some_and(|word| NEGATIVE.contains(word.as_str()))
}

fn negative_noun_after(phrase: &[String]) -> Negativity {
    let Some(at) =
        phrase.iter().position(|word| NOUNS_AFTER.contains(word.as_str()) || AMOUNTS.contains(word.as_str()))
    else {
        return Negativity::No;
    };
    let expense = at.checked_sub(1).is_some_and(|before| EXPENSES.contains(phrase[before].as_str()));
    let amount = AMOUNTS.contains(phrase[at].as_str());
    // "$5 million loss provision" is no loss.
    let last = at + 1 == phrase.len() || phrase[at] == "lower";
    if expense || amount || !last { Negativity::Possible } else { Negativity::Certain }
}

/// "€12.3m in losses", "12,3 M€ de pertes", "€12.3m in the red"; in "$5m in credit losses" the losses are expenses.
fn loss_after(after: &str) -> Negativity {
    let near: String = after.trim_start_matches(is_inline_space).chars().take(LONGEST).collect();
    let near = near.to_lowercase();
    if near.starts_with("in the red") {
        return Negativity::Certain;
    }
    if LOSS_AFTER_EXCEPTIONS.iter().any(|less| near.starts_with(less)) {
        return Negativity::Possible;
    }
    let Some(what) = ["in ", "of ", "de ", "en ", "an "].iter().find_map(|joint| near.strip_prefix(joint)) else {
        return Negativity::No;
    };
    let mut words = what.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).take(2);
    match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
        (noun, _) if LOSS_AFTER_NOUNS.contains(noun) => Negativity::Certain,
        (kind, noun) if LOSS_AFTER_NOUNS.contains(noun) && RESULTS.contains(kind) => Negativity::Certain,
        (_, noun) if LOSS_AFTER_NOUNS.contains(noun) => Negativity::Possible,
        _ => Negativity::No,
    }
}

/// "3 % unter Vorjahr", "3 % below last year".
fn is_below_earlier(after: &str) -> bool {
    let near: String = after.trim_start_matches(is_inline_space).chars().take(24).collect();
    let near = near.to_lowercase();
    EARLIER.iter().any(|words| near.starts_with(words))
}

/// "3 % down on last year"; in "$5 million, down 3 %" and "$5 million down 3 %" another number is meant.
fn down_after(after: &str) -> Negativity {
    let rest = after.trim_start_matches(is_inline_space).strip_prefix("down");
    let rest = rest.filter(|rest| rest.starts_with([' ', '.', ',', ';', ')']) || rest.is_empty());
    let end = |rest: &str| {
        let next = rest.trim_start_matches(is_inline_space);
        next.starts_with(['.', ',', ';', ')'])
            || next.is_empty()
            || next.starts_with("on ")
            || next.starts_with("from ")
    };
    if rest.is_some_and(end) || is_below_earlier(after) { Negativity::Certain } else { Negativity::No }
}

/// True if the number after `before` is the amount by which something changed: "rose by about ".
pub(crate) fn changes(before: &str) -> bool {
    let start = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let mut words = before[start..].trim_end_matches(is_inline_space).rsplit(is_inline_space).take(NEAR);
    let mut after_of = false;
    while let Some(word) = words.next() {
        let word = word.to_lowercase();
        if CHANGED.contains(word.as_str()) || (after_of && CHANGES.contains(word.as_str())) {
            return !words.any(|word| PLANNED.contains(word.to_lowercase().as_str()));
        }
        after_of |= word == "after_of";
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
            ("revenue fell ", Negativity::Certain),
            ("a net loss of about ", Negativity::Certain),
            ("Net loss: ", Negativity::Certain),
            ("Net loss (EUR m): ", Negativity::Certain),
            ("Net loss for the quarter was ", Negativity::Certain),
            ("Net loss widened to ", Negativity::Certain),
            ("Der Umsatz sank um ", Negativity::Certain),
            ("une perte nette de ", Negativity::Certain),
            ("una pérdida de ", Negativity::Certain),
            ("credit losses of ", Negativity::Possible),
            ("Der Nettoverlust lag bei ", Negativity::Certain),
            ("Der Konzernfehlbetrag betrug ", Negativity::Certain),
            ("ein Verlust in Höhe von ", Negativity::Certain),
            ("La perte nette s’élève à ", Negativity::Certain),
            ("Las pérdidas ascendieron a ", Negativity::Certain),
            ("Umsatzrückgang um ", Negativity::Certain),
            ("ein Minus von ", Negativity::Certain),
            ("The loss before tax was ", Negativity::Certain),
            ("The operating loss increased from ", Negativity::Certain),
            ("The loss narrowed to ", Negativity::Certain),
            ("Credit losses narrowed to ", Negativity::Possible),
            ("in the red by ", Negativity::Certain),
            ("a negative free cash flow of ", Negativity::Certain),
            ("a negative impact of ", Negativity::No),
            ("Trotz Verlust lag der Umsatz bei ", Negativity::No),
            ("Der Umsatz sank auf ", Negativity::No),
            ("Le chiffre d'affaires a reculé à ", Negativity::No),
            ("profit fell from ", Negativity::No),
            ("outflows of ", Negativity::Possible),
            ("a loss ratio of ", Negativity::No),
            ("fell to ", Negativity::No),
            ("Revenue decreased in the second quarter by approximately ", Negativity::Certain),
            ("Revenue fell in Q2 2025: ", Negativity::No),
            ("a decline in revenue of ", Negativity::Certain),
            ("a decrease in operating expenses of ", Negativity::Possible),
            ("an increase in revenue of ", Negativity::No),
            ("Loss before tax: ", Negativity::Certain),
            ("Loss from continuing operations was ", Negativity::Certain),
            ("Loss from theft was ", Negativity::No),
            ("Impairment loss for the quarter was ", Negativity::Possible),
            ("Net loss of Acme Inc. was ", Negativity::Certain),
            ("It made a loss. EBITDA was ", Negativity::No),
            ("Der Verlust im zweiten Quartal betrug ", Negativity::Certain),
            ("from a net loss of 3 to ", Negativity::No),
            ("lost the case. It paid ", Negativity::No),
            ("grew ", Negativity::No),
            ("", Negativity::No),
        ] {
            assert_eq!(negativity_before(before), fall, "{before}");
        }
        let phrase = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(negativity("", &phrase("net loss"), " net loss."), Negativity::Certain);
        assert_eq!(negativity("", &phrase("loss provision"), " loss provision"), Negativity::Possible);
        assert_eq!(negativity("", &phrase("fell short"), " fell short"), Negativity::No);
        assert_eq!(negativity("", &phrase("down"), " down 3 %"), Negativity::No);
        assert_eq!(negativity("", &phrase("down"), " down on last year"), Negativity::Certain);
        assert_eq!(negativity("", &[], " in net losses."), Negativity::Certain);
        assert_eq!(negativity("", &[], " in credit losses."), Negativity::Possible);
        assert_eq!(negativity("", &[], " in lost-and-found items"), Negativity::No);
    }
}
