//! Units and scales that a text declares apart from its numbers: `(EUR m)`, "in $ billions", `Currency: EUR`.

use std::ops::Range;

use rust_decimal::Decimal;

use crate::chars::{digit, is_inline_space};
use crate::unit::money_follows;
use crate::unit::scale::{self, starts_with_word};
use crate::unit::{self, Unit};

use crate::finance::word_list::word_lists;

word_lists!("declarations.txt": STANDS_ALONE_VERBS, NAMED_NAMES);

/// A unit, a scale or both, for numbers that bear none of their own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Declared {
    pub(crate) unit: Option<Unit>,
    /// The value of one of a number: 1,000,000 for "EUR m", 0.01 for "bps".
    pub(crate) scale: Option<Decimal>,
}

impl Declared {
    /// Overrides this declaration by a `nearer` one; a scale is said of units of one kind.
    pub(crate) fn under(self, nearer: Self) -> Self {
        let of_one_kind = match (self.unit, nearer.unit) {
            (Some(farther), Some(nearer)) => farther.agrees_with(&nearer),
            (_, nearer) => nearer != Some(Unit::Percent),
        };
        let scale = self.scale.filter(|_| of_one_kind);
        Self { unit: nearer.unit.or(self.unit), scale: nearer.scale.or(scale) }
    }

    /// Both parts of one expression; `None` when both say a unit, or a scale too large.
    fn and(self, next: Self) -> Option<Self> {
        if self.unit.is_some() && next.unit.is_some() {
            return None;
        }
        let scale = match (self.scale, next.scale) {
            (Some(a), Some(b)) => Some(a.checked_mul(b)?),
            (a, b) => a.or(b),
        };
        Some(Self { unit: self.unit.or(next.unit), scale })
    }
}

/// A place that declares something.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declaration {
    /// The bytes of it, with its parentheses.
    pub(crate) span: Range<usize>,
    pub(crate) declared: Declared,
}

impl Declaration {
    /// True if it says a scale that is written where commas are decimal marks.
    pub(crate) fn is_continental(&self, text: &str) -> bool {
        let mut words = text[self.span.clone()].split(|c| is_inline_space(c) || matches!(c, '(' | '['));
        words.any(scale::is_continental)
    }
}

/// Returns the declarations of a text, left to right. Some of it may belong to a number, as in "5 million (EUR 4 million)".
pub(crate) fn find(text: &str) -> Vec<Declaration> {
    let mut found: Vec<Declaration> = Vec::new();
    let mut previous = None;
    for (at, c) in text.char_indices() {
        let begins_word = previous.is_none_or(|c: char| !c.is_alphanumeric());
        previous = Some(c);
        if found.last().is_some_and(|last| at < last.span.end) {
            continue;
        }
        found.extend(match c {
            '(' | '[' | '（' => in_parentheses(text, at),
            ':' | '：' => after_name(text, at).or_else(|| heading(text, at)),
            '|' | '\t' | '\n' => heading(text, at),
            'i' | 'I' | 'e' | 'E' if begins_word => prepositional(text, at),
            _ => None,
        });
    }
    found
}

/// True if a label with a unit names the number that begins at `start`: "Change (EUR): +1 234 567 890".
pub(crate) fn names(text: &str, declarations: &[Declaration], start: usize) -> bool {
    let before = declarations.partition_point(|declaration| declaration.span.end <= start);
    let nearest = before.checked_sub(1).and_then(|at| declarations.get(at));
    let between = nearest.filter(|it| it.declared.unit.is_some()).and_then(|it| text.get(it.span.end..start));
    between.is_some_and(|between| between.chars().all(|c| is_inline_space(c) || matches!(c, ')' | ']' | ':' | '：')))
}

/// `(EUR m)`, `[in %]`, `($ in millions, except per share)`.
fn in_parentheses(text: &str, open: usize) -> Option<Declaration> {
    let inside = open + text[open..].chars().next()?.len_utf8();
    let (declared, length) = expression(&text[inside..])?;
    let end = inside + length;
    let rest = text[end..].trim_start_matches(is_inline_space);
    let mut end = text.len() - rest.len();
    match rest.chars().next()? {
        c @ (')' | ']' | '）') => end += c.len_utf8(),
        ',' | ';' => {}
        _ => return None,
    }
    Some(Declaration { span: open..end, declared })
}

/// "in euros", "in thousands of USD", "en millions d'euros".
fn prepositional(text: &str, at: usize) -> Option<Declaration> {
    let rest =
        ["in", "en", "em"].iter().find_map(|word| starts_with_word(&text[at..], word).then(|| at + word.len()))?;
    let inside = text.len() - text[rest..].trim_start_matches(is_inline_space).len();
    let (declared, length) = expression(&text[inside..]).filter(|_| inside > rest)?;
    let end = inside + length;
    (declared.unit.is_some() || stands_alone(&text[end..])).then_some(Declaration { span: at..end, declared })
}

/// True if a scale without unit ends what is said of it; "in millions of homes" counts homes.
fn stands_alone(rest: &str) -> bool {
    let rest = rest.trim_start_matches(is_inline_space);
    let punctuated = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '-');
    punctuated || STANDS_ALONE_VERBS.iter().any(|verb| starts_with_word(rest, verb))
}

/// `Currency: EUR`, `"unit": "million USD"`, where `colon` is.
fn after_name(text: &str, colon: usize) -> Option<Declaration> {
    const QUOTES: [char; 5] = ['"', '\'', '`', '*', '_'];
    let before = text[..colon].trim_end_matches(QUOTES);
    let start = before.char_indices().rev().take_while(|(_, c)| c.is_alphabetic()).take(LONGEST).last()?.0;
    let name = before[start..].to_lowercase();
    let after = text[colon..].trim_start_matches([':', '：']);
    let rest = after.trim_start_matches(|c| is_inline_space(c) || QUOTES.contains(&c));
    let (declared, length) = expression(rest).filter(|_| NAMED_NAMES.contains(name.as_str()))?;
    Some(Declaration { span: start..text.len() - rest.len() + length, declared })
}

/// Characters of the longest heading that is a declaration: "thousands of New Zealand dollars".
const LONGEST: usize = 40;

/// A unit at the end of a label or cell, where `end` is: `| EUR m |`, `Revenue, €m:`, `Margin %:`.
fn heading(text: &str, end: usize) -> Option<Declaration> {
    let margin = |c: char| is_inline_space(c) || matches!(c, '*' | '_' | '`');
    let near = text[..end].char_indices().rev().take(LONGEST).last()?.0;
    let line = text[near..end].rfind(['\n', '|', '\t', ':']).map(|at| near + at + 1);
    let begin = line.unwrap_or(near);
    let label = text[begin..end].trim_end_matches(margin);
    let mut previous = None;
    let mut words = label
        .char_indices()
        .filter(|(_, c)| previous.replace(*c).is_none_or(|c: char| !c.is_alphanumeric()) && !is_inline_space(*c));
    let (at, (declared, length)) = words.find_map(|(at, _)| Some((at, expression(&label[at..])?)))?;
    let before = label[..at].trim_end_matches(margin);
    let whole = before.is_empty() && (line.is_some() || near == 0);
    let sure = whole || before.ends_with(',') || declared.unit.is_some() && !text[end..].starts_with('\n');
    let of_number = before.ends_with(|c| digit(c).is_some());
    let span = begin + at..begin + at + length;
    (at + length == label.len() && sure && !of_number).then_some(Declaration { span, declared })
}

/// A unit and a scale in any order at the start of `rest`, without a number, and their length.
fn expression(rest: &str) -> Option<(Declared, usize)> {
    let mut found = Declared::default();
    let mut end = 0;
    // "thousands of euros", "US$ in millions", "EUR bn".
    while let Some((next, length)) = part(&rest[end..], end > 0, found) {
        found = next;
        end += length;
    }
    let (shown, after) = rest.split_at(end);
    let compound = after.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let number = |c: char| digit(c).is_some() || matches!(c, '-' | '−' | '+' | '(');
    let of_number = after.trim_start_matches(is_inline_space).starts_with(number);
    // "m" and "K" alone are more often something else.
    let word =
        shown.chars().filter(|c| c.is_alphabetic()).count() > 2 || matches!(shown, "bn" | "mn") || !shown.is_ascii();
    (end > 0 && !compound && !of_number && (found.unit.is_some() || word)).then_some((found, end))
}

/// Words between the parts of an expression.
const JOINTS: &[&str] = &["in ", "of ", "en ", "em ", "d'", "d’", "de ", "di "];

/// `found` with one more part of an expression, and the length of that part; `joined` where another stands before it.
fn part(rest: &str, joined: bool, found: Declared) -> Option<(Declared, usize)> {
    let body = rest.trim_start_matches(is_inline_space);
    let joint = JOINTS.iter().find(|joint| joined && body.starts_with(**joint)).map_or(0, |joint| joint.len());
    let body = &body[joint..];
    let before = rest.len() - body.len();
    if body.starts_with(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && !matches!(c, '%' | '$' | '\'')) {
        return None;
    }
    if let Some((mark, length)) = unit::after(body) {
        let scale = (mark.factor != Decimal::ONE).then_some(mark.factor);
        return Some((found.and(Declared { unit: Some(mark.unit), scale })?, before + length));
    }
    let word = plural(body).or_else(|| scale::after(body, found.unit.is_some() || money_follows(body)));
    let word =
        word.and_then(|(power, length)| Some((Declared { unit: None, scale: Some(scale::factor(power)?) }, length)));
    let (declared, length) = word.or_else(|| zeros(body, found.unit.is_some()))?;
    Some((found.and(declared)?, before + length))
}

/// Thousands as zeros: `£'000`, `$000s`; `money` tells that a currency stands before.
fn zeros(rest: &str, money: bool) -> Option<(Declared, usize)> {
    let near = rest.char_indices().nth("US$ '000".len()).map_or(rest.len(), |(at, _)| at);
    let at = rest[..near].find("000")?;
    let after = &rest[at + "000".len()..];
    let suffix = ["'s", "’s", "s"].iter().find(|suffix| after.starts_with(**suffix)).map_or(0, |suffix| suffix.len());
    let ends = scale::ends_word(&after[suffix..]) && !after.starts_with(['.', ',']);
    let before = rest[..at].trim_end_matches(['\'', '’']);
    let marked = money || suffix > 0 || before.len() < at;
    let unit = match before.trim_end() {
        "" if marked => None,
        sign => Some(unit::before(sign).filter(|(_, length)| *length == sign.len())?.0.unit),
    };
    let scale = Some(Decimal::ONE_THOUSAND);
    ends.then_some((Declared { unit, scale }, at + "000".len() + suffix))
}

/// Scales that count nothing beside a number: "miles de euros".
fn plural(rest: &str) -> Option<(u32, usize)> {
    const PLURALS: &[(&str, u32)] =
        &[("miles", 3), ("migliaia", 3), ("milhares", 3), ("duizenden", 3), ("miljoenen", 6), ("miljarden", 9)];
    let word = PLURALS.iter().find(|(word, _)| starts_with_word(rest, word));
    word.map(|(word, power)| (*power, word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-05: units and scales apart from numbers, and words that only look like them.
    #[test]
    fn declared_units_are_found() {
        for (text, expected) in [
            ("Revenue (EUR m)", "(EUR m) EUR 1000000"),
            ("($ in millions, except per share)", "($ in millions USD 1000000"),
            ("In $ billions, revenue", "In $ billions USD 1000000000"),
            ("en milliers d'euros", "en milliers d'euros EUR 1000"),
            ("en miles de euros", "en miles de euros EUR 1000"),
            ("Angaben in Mio. €", "in Mio. € EUR 1000000"),
            ("in TEUR", "in TEUR EUR 1000"),
            ("Margin (bps)", "(bps) % 0.01"),
            ("in thousands.", "in thousands - 1000"),
            ("| EUR m | 2025 |", "EUR m EUR 1000000"),
            ("Revenue, €bn: ", "€bn EUR 1000000000"),
            ("\"currency\": \"CHF\"", "currency\": \"CHF CHF -"),
            ("in millions of homes", ""),
            ("in dollar-denominated bonds", ""),
            ("in EUR 5", ""),
            ("(b) items", ""),
            ("5 million: ", ""),
        ] {
            let shown = find(text).first().map(|declaration| {
                let unit = match declaration.declared.unit {
                    Some(Unit::Money(currency)) => currency.code(),
                    Some(Unit::Percent) => "%",
                    _ => "-",
                };
                let scale = declaration.declared.scale.map_or("-".to_owned(), |scale| scale.to_string());
                format!("{} {unit} {scale}", &text[declaration.span.clone()])
            });
            assert_eq!(shown.unwrap_or_default(), expected, "{text}");
        }
    }
}
