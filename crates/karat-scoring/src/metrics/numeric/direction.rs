//! Words that say that a number is a loss or a fall: "down 4 %", "a loss of $1.2 billion", "a 4 % decline".

use std::ops::Range;

use super::chars::{digit, is_inline_space};

/// Whether a number is said to be a loss or a fall, so that it stands for a negative one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Fall {
    /// Nothing says so.
    #[default]
    No,
    /// It may be meant so or as an amount: "credit losses of $5 million", "outflows of $5 million".
    Possible,
    /// A word of loss or fall governs it: "a net loss of $5 million", "declined 3.4 %".
    Certain,
}

/// Nouns and verbs of falling before a number.
#[rustfmt::skip]
const FALLING: &[&str] = &[
    "contracted", "contraction", "decline", "declined", "declines", "decrease", "decreased", "decreases", "dipped",
    "down", "drop", "dropped", "drops", "fall", "fallen", "falls", "fell", "loss", "losses", "lost", "lower",
    "plunged", "reduced", "reduction", "sank", "shrank", "slid", "slipped", "tumbled",
    "fiel", "fielen", "fällt", "gefallen", "gesunken", "sank", "sanken", "schrumpfte", "schrumpften", "sinken",
    "sinkt", "verlor", "verloren", "verringerte", "verringerten", "zurückgegangen",
    "baisse", "baissent", "baissé", "chute", "chutent", "chuté", "cède", "cédé", "diminue", "diminuent", "diminution",
    "diminué", "perdu", "perte", "recul", "recule", "reculent", "reculé", "repli",
    "baja", "bajan", "bajaron", "bajó", "cae", "caen", "cayeron", "cayó", "caída", "descendieron", "descendió",
    "descenso", "desciende", "descienden", "disminución", "disminuye", "disminuyeron", "disminuyó", "perdieron",
    "perdió", "pérdida", "redujeron", "redujo", "retrocede", "retrocedió",
];

/// Words of amounts that are as often given without sign.
#[rustfmt::skip]
const AMOUNTS: &[&str] = &[
    "deficit", "deficits", "fewer", "less", "outflow", "outflows", "reductions", "shortfall", "shortfalls", "pertes",
    "pérdidas", "verluste",
];

/// What turns a loss or reduction into an expense or saving.
#[rustfmt::skip]
const EXPENSES: &[&str] = &[
    "actuarial", "catastrophe", "cost", "credit", "debt", "expense", "impairment", "insurance", "loan", "tax", "workforce",
];

/// Nouns and adverbs of falling after a number; a verb there is about the subject: "sales of $5 million fell".
#[rustfmt::skip]
const BEHIND: &[&str] = &[
    "contraction", "decline", "decrease", "drop", "fall", "loss", "losses", "lower", "reduction", "baisse", "perte",
    "rückgang", "verlust", "zurück",
];

/// Last parts of German words for losses and falls: "Nettoverlust", "Umsatzrückgang".
const GERMAN: &[&str] = &["verlust", "fehlbetrag", "rückgang"];

/// What a loss is called that is a result.
const RESULTS: &[&str] = &["net", "operating", "pretax", "pre-tax", "quarterly", "annual", "ebit", "ebitda"];

/// Nouns of loss in other languages.
const FOREIGN: &[&str] = &["perte", "pertes", "pérdida", "pérdidas", "verlust", "verluste"];

/// Words of other languages between a loss and its amount: "La perte nette s'élève à", "Der Verlust je Aktie lag bei".
#[rustfmt::skip]
const FOREIGN_LINKS: &[&str] = &[
    "betrug", "betrugen", "belief", "beliefen", "sich", "auf", "lag", "lagen", "bei", "in", "höhe", "von", "rund", "je",
    "aktie", "vor", "nach", "steuern", "est", "était", "été", "de", "s'est", "s'élève", "s'établit", "s'élevait", "élevée",
    "établie", "atteint", "a", "à", "nette", "nettes", "opérationnelle", "opérationnelles", "par", "action", "fue",
    "fueron", "asciende", "ascienden", "ascendió", "ascendieron", "alcanzó", "alcanzaron", "neta", "netas", "operativa",
    "operativas", "por", "acción",
];

/// Words from a result to its amount: "net loss for the quarter was".
#[rustfmt::skip]
const LINKS: &[&str] = &[
    "was", "were", "is", "to", "of", "at", "totaled", "totalled", "amounted", "widened", "narrowed", "came", "in",
    "stood", "increased", "decreased", "rose", "grew", "shrank", "from",
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
    "roughly", "some", "the", "totaling", "totalling", "was", "were", "year-on-year", "year-over-year", "yoy", "|",
    "de", "del", "en", "etwa", "neta", "nette", "rund", "sich", "um", "un", "von",
];

/// Words behind which a sentence speaks of something else than its subject.
const ENDS: &[&str] = &["but", "costs", "due", "expenses", "from", "revenue", "sales", "while"];

/// Words looked at before the number.
const NEAR: usize = 5;

/// Characters looked at before the number.
const LONGEST: usize = 60;

/// Whether a number is said to be a loss or a fall by what stands `before` and `after` it; `phrase` are the first words
/// after it.
pub(super) fn fall(before: &str, phrase: &[String], after: &str) -> Fall {
    fall_before(before).max(fall_behind(phrase)).max(down_behind(after)).max(lost_behind(after))
}

/// The same where `previous` is the amount that the number is the other end of: "the operating loss widened by $300 million
/// to $1.5 billion", "increased from $10 million to $12 million", "narrowed to $5 million from $6 million".
pub(super) fn fall_between(text: &str, previous: &Range<usize>, start: usize) -> Fall {
    let before = text[..previous.start].trim_end_matches(is_inline_space);
    let subject = match text.get(previous.end..start).map(str::trim) {
        Some("to") => [" by", " from"].iter().find_map(|word| before.strip_suffix(word)),
        Some("from") => before.strip_suffix(" to"),
        _ => None,
    };
    subject.map_or(Fall::No, of_result)
}

/// Whether words near a number in parentheses say that it is a loss: "Net loss for the year (1,234)", "fell (4%)".
pub(super) fn is_loss(before: &str, phrase: &[String]) -> bool {
    let loss = |word: &str| LOSSES.contains(&word.trim_end_matches([',', ':']).to_lowercase().as_str());
    let mut words = before.rsplit(is_inline_space).take(NEAR).take_while(|word| !word.ends_with('.'));
    fall_before(before) > Fall::No || words.any(loss) || phrase.iter().any(|word| loss(word))
}

/// The words that `before` ends with, last first, lower-cased, no farther than the phrase: a unit in parentheses is left
/// out, as in "Net loss (EUR m): ".
fn words_back(before: &str) -> impl Iterator<Item = String> {
    let margin = |c: char| is_inline_space(c) || matches!(c, ':' | '*' | '_' | '`');
    let start = before.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    let near = before[start..].trim_end_matches(margin);
    let label = near.strip_suffix(')').and_then(|inside| Some(inside[..inside.rfind('(')?].trim_end_matches(margin)));
    let words = label.unwrap_or(near).rsplit(is_inline_space).filter(|word| !word.is_empty());
    words.map(move |word| word.trim_matches(margin).trim_start_matches(['(', '[']).to_lowercase())
}

fn fall_before(before: &str) -> Fall {
    let mut words = words_back(before).take(NEAR).peekable();
    let mut behind = String::new();
    while let Some(word) = words.next() {
        let previous = words.peek().map_or("", String::as_str);
        match word.as_str() {
            word if AMOUNTS.contains(&word) => return Fall::Possible,
            // "ein Minus von"; "10 minus 5" subtracts.
            "minus" if behind == "von" => return Fall::Certain,
            "red" if previous == "the" => return Fall::Certain,
            "zahlen" if matches!(previous, "rote" | "roten") => return Fall::Certain,
            word if is_falling(word) && EXPENSES.contains(&previous) => return Fall::Possible,
            word if is_falling(word) => return Fall::Certain,
            word if BETWEEN.contains(&word) || word.len() > 4 && word.ends_with("ly") => {}
            _ => break,
        }
        behind = word;
    }
    let certain = is_foreign_result(before) || is_negative_result(before);
    if certain { Fall::Certain } else { of_result(before) }
}

fn is_falling(word: &str) -> bool {
    FALLING.contains(&word) || GERMAN.iter().any(|end| word.ends_with(end))
}

/// The same in other languages: "Der Nettoverlust lag bei ", "Las pérdidas ascendieron a ".
fn is_foreign_result(before: &str) -> bool {
    let mut words = words_back(before).take(2 * NEAR).map(|word| word.replace('’', "'"));
    let subject = words.find(|word| !FOREIGN_LINKS.contains(&word.as_str()));
    subject.is_some_and(|word| FOREIGN.contains(&word.as_str()) || GERMAN[..2].iter().any(|end| word.ends_with(end)))
}

/// What the subject of the number after `before` makes of it: "Net loss for the quarter was ", "net loss widened to ".
/// A loss that nothing says to be a result may be an expense: "Losses on loans were ".
fn of_result(before: &str) -> Fall {
    let mut words =
        words_back(before).take(2 * NEAR).take_while(|word| !word.ends_with(['.', ',', ';', ')'])).peekable();
    if !words.peek().is_some_and(|word| LINKS.contains(&word.as_str())) {
        return Fall::No;
    }
    let mut behind = words.next().unwrap_or_default();
    while let Some(word) = words.next() {
        if LOSSES.contains(&word.as_str()) {
            let qualifier = words.peek().map_or("", String::as_str);
            let linked = LINKS.contains(&behind.as_str());
            let named = RESULTS.contains(&qualifier) || matches!(behind.as_str(), "before" | "per");
            let alone = linked && behind != "of" && word.starts_with("loss") && !EXPENSES.contains(&qualifier);
            return match (named || alone, linked) {
                (true, _) => Fall::Certain,
                (false, true) => Fall::Possible,
                (false, false) => Fall::No,
            };
        }
        if ENDS.contains(&word.as_str()) || word.contains(|c| digit(c).is_some()) && !word.starts_with(['q', 'h', '2'])
        {
            return Fall::No;
        }
        behind = word;
    }
    Fall::No
}

/// "a negative free cash flow of ", "EBITDA was negative at ", "ein negatives Ergebnis von "; an impact may be of either sign.
fn is_negative_result(before: &str) -> bool {
    #[rustfmt::skip]
    const BETWEEN: &[&str] = &[
        "of", "at", "with", "von", "mit", "de", "free", "cash", "flow", "ebit", "ebitda", "net", "operating", "income",
        "earnings", "result", "results", "profit", "margin", "growth", "equity", "ergebnis", "wachstum", "résultat",
        "resultado", "flujo", "caja", "about", "around", "rund",
    ];
    #[rustfmt::skip]
    const NEGATIVE: &[&str] = &[
        "negative", "negatives", "negativen", "negatif", "négatif", "négative", "negativo", "negativa",
    ];
    let mut words = words_back(before).take(2 * NEAR).skip_while(|word| BETWEEN.contains(&word.as_str()));
    let linked = words_back(before).next().is_some_and(|word| BETWEEN.contains(&word.as_str()));
    linked && words.next().is_some_and(|word| NEGATIVE.contains(&word.as_str()))
}

fn fall_behind(phrase: &[String]) -> Fall {
    let Some(at) = phrase.iter().position(|word| BEHIND.contains(&word.as_str()) || AMOUNTS.contains(&word.as_str()))
    else {
        return Fall::No;
    };
    let expense = at.checked_sub(1).is_some_and(|before| EXPENSES.contains(&phrase[before].as_str()));
    let amount = AMOUNTS.contains(&phrase[at].as_str());
    // "$5 million loss provision" is no loss.
    let last = at + 1 == phrase.len() || phrase[at] == "lower";
    if expense || amount || !last { Fall::Possible } else { Fall::Certain }
}

/// "€12.3m in losses", "12,3 M€ de pertes", "€12.3m in the red"; in "$5m in credit losses" the losses are expenses.
fn lost_behind(after: &str) -> Fall {
    #[rustfmt::skip]
    const NOUNS: &[&str] = &["loss", "losses", "perte", "pertes", "pérdidas", "verlust", "verlusten", "verluste"];
    const LESS: &[&str] = &["weniger", "menos", "de moins"];
    let near: String = after.trim_start_matches(is_inline_space).chars().take(LONGEST).collect();
    let near = near.to_lowercase();
    if near.starts_with("in the red") {
        return Fall::Certain;
    }
    if LESS.iter().any(|less| near.starts_with(less)) {
        return Fall::Possible;
    }
    let Some(what) = ["in ", "of ", "de ", "en ", "an "].iter().find_map(|joint| near.strip_prefix(joint)) else {
        return Fall::No;
    };
    let mut words = what.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).take(2);
    match (words.next().unwrap_or_default(), words.next().unwrap_or_default()) {
        (noun, _) if NOUNS.contains(&noun) => Fall::Certain,
        (kind, noun) if NOUNS.contains(&noun) && RESULTS.contains(&kind) => Fall::Certain,
        (_, noun) if NOUNS.contains(&noun) => Fall::Possible,
        _ => Fall::No,
    }
}

/// "3 % unter Vorjahr", "3 % below last year".
fn is_below_earlier(after: &str) -> bool {
    #[rustfmt::skip]
    const EARLIER: &[&str] = &[
        "unter vorjahr", "unter dem vorjahr", "unter vorquartal", "unter dem vorquartal", "unter dem niveau",
        "below last year", "below the prior", "below the previous", "below the same",
    ];
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

    /// RG-05: a word of loss or fall makes the number that it governs negative, and no other.
    #[test]
    fn what_falls_by_an_amount_and_not_to_it() {
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
