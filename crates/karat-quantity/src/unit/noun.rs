//! Units that only a noun names: employees, GWh, stores.

use crate::chars::{digit, is_inline_space};

/// Words of a phrase that are looked at.
const WORDS: usize = 4;

/// No phrase of [`WORDS`] words is longer, so that reading it takes constant time.
const LONGEST: usize = 80;

/// Words that end the phrase after a number: what follows belongs to something else.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "a", "across", "after", "against", "among", "an", "and", "are", "as", "at", "before", "between", "but", "by",
    "compared", "during", "equals", "exceeds", "for", "from", "had", "has", "have", "in", "includes", "including", "is",
    "its", "marks", "means", "of", "on", "or", "our", "over", "per", "plus", "reflects", "remains", "represents",
    "shows", "since", "than", "that", "the", "their", "this", "through", "to", "under", "until", "up", "versus", "vs",
    "was", "we", "were", "which", "while", "with", "within", "without", "and", "und", "von", "im", "et", "de", "en",
];

/// Units that are counted and are not plurals in s.
#[rustfmt::skip]
const UNITS: &[&str] = &[
    "people", "persons", "staff", "personnel", "headcount", "fte", "men", "women", "children", "stück", "mitarbeiter",
    "mitarbeitende",
];

/// Units that are measured.
#[rustfmt::skip]
const MEASURES: &[&str] = &[
    "gwh", "mwh", "kwh", "twh", "gw", "mw", "kw", "km", "kg", "mt", "kt", "ha", "sqm", "sqft", "boe", "bbl", "bpd",
    "gb", "tb", "pb", "oz", "miles", "kilometers", "kilometres", "liters", "litres", "gallons", "meters", "metres",
];

/// Plurals that name no other unit than the one that is expected: parts of speech, and money by what it is for.
#[rustfmt::skip]
const NEUTRAL: &[&str] = &[
    "always", "assets", "bookings", "cash", "charges", "costs", "deposits", "dividends", "earnings", "expenses",
    "gross", "inflows", "jobs", "less", "liabilities", "loans", "losses", "minus", "outflows", "overseas", "payments",
    "points", "proceeds", "profits", "pts", "receipts", "revenues", "sales", "savings", "shortfalls", "taxes",
];

/// Words for the same thing.
const SAME: &[&[&str]] = &[
    &[
        "employee",
        "people",
        "person",
        "staff",
        "personnel",
        "worker",
        "headcount",
        "fte",
        "colleague",
        "associate",
        "mitarbeiter",
        "mitarbeitende",
        "job",
        "salarié",
        "employé",
        "employée",
        "empleado",
        "beschäftigte",
        "trabajador",
        "trabajadore",
    ],
    &["x", "time", "fold"],
    &["store", "shop"],
    &["percent", "point", "pt"],
];

/// The words after a number up to the end of their phrase, lower-cased: "1,200 full-time employees in Europe" has full,
/// time and employees.
pub(crate) fn phrase(text: &str, end: usize) -> Vec<String> {
    let rest = &text[end..];
    let near = rest.char_indices().nth(LONGEST).map_or(rest.len(), |(at, _)| at);
    let mut rest = &rest[..near];
    let mut words = Vec::new();
    while words.len() < WORDS {
        rest = rest.trim_start_matches(|c| is_inline_space(c) || c == '-');
        let length = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let word = rest[..length].to_lowercase();
        rest = &rest[length..];
        let named = rest.starts_with(|c| digit(c).is_some());
        if word.is_empty() || named || ENDS.contains(&word.as_str()) {
            break;
        }
        words.push(word);
    }
    words
}

/// True if two words name the same unit: but for case and number, or as synonyms.
pub(crate) fn same(found: &str, wanted: &str) -> bool {
    let (found, wanted) = (singular(found), singular(wanted));
    found == wanted || SAME.iter().any(|set| set.contains(&found.as_str()) && set.contains(&wanted.as_str()))
}

/// True if a word names a unit of its own.
pub(crate) fn is_unit(word: &str) -> bool {
    let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
    (word == "x" || plural || UNITS.contains(&word) || MEASURES.contains(&word)) && !NEUTRAL.contains(&word)
}

/// True if a word is a measure, of which there are parts.
pub(crate) fn is_measure(word: &str) -> bool {
    MEASURES.contains(&word) || word.ends_with("tons") || word.ends_with("tonnes") || word.ends_with("hours")
}

fn singular(word: &str) -> String {
    let lower = word.to_lowercase();
    match lower.strip_suffix("ies") {
        Some(stem) if stem.len() > 1 => format!("{stem}y"),
        _ => lower.strip_suffix('s').filter(|stem| !stem.is_empty()).unwrap_or(&lower).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_end_where_something_else_begins() {
        for (text, expected) in [
            (" full-time employees in Europe", vec!["full", "time", "employees"]),
            (" dogs and cats", vec!["dogs"]),
            (" stores, 5 plants", vec!["stores"]),
            (" of users", vec![]),
            (" Mitarbeitende weltweit.", vec!["mitarbeitende", "weltweit"]),
            (" h2o", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(phrase(text, 0), expected, "{text}");
        }
    }

    /// RG-05: two units are the same in number, case and as synonyms, and differ else.
    #[test]
    fn nouns_are_the_same_or_differ() {
        assert!(same("Companies", "company") && same("people", "employees") && same("times", "x"));
        assert!(!same("dogs", "employees") && !same("GWh", "MWh"));
        assert!(is_unit("dogs") && is_unit("gwh") && !is_unit("worldwide") && !is_unit("revenues"));
        assert!(!is_unit("gas") && !is_unit("surplus"));
    }
}
