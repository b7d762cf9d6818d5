//! The loop over a text that finds its numbers.
//!
//! [`scan`] finds numerals (`numeral/`), reads sign, currency, scale and unit around each (`affix`), asks the finance
//! layer for what the words say, then joins numbers written in several parts (`compound`) and the ends of ranges
//! (`range`).

mod affix;
mod compound;
mod range;

use rust_decimal::Decimal;

use crate::chars::is_dash;
use crate::finance::{Finance, Parentheses};
use crate::numeral::digits::{self, DecimalMark, Form, Numeral};
use crate::numeral::spelled;
use crate::quantity::{Fall, Quantity};
use crate::role::{self, Role, contact};
use crate::scan::affix::{Lead, Tail, closing};
use crate::unit::{self, Unit, noun};

/// The kind of text: which heuristics beyond the number itself apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Context {
    /// The number itself: sign, scale, unit, role.
    #[default]
    General,
    /// Also the words around it: losses and falls, parentheses of accounts, bounds, denials, declared units.
    Finance,
}

/// The settings of [`extract_with`](crate::extract_with).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// The decimal mark that decides how lone groups such as "1.234" are read.
    pub mark: DecimalMark,
    /// The kind of text.
    pub context: Context,
}

/// Finds the numbers of `text`, left to right.
pub(crate) fn scan(text: &str, reading: Reading) -> Vec<Quantity> {
    let finance = (reading.context == Context::Finance).then(|| Finance::of(text));
    let finance = finance.as_ref();
    let mark = match reading.mark {
        DecimalMark::Auto => digits::mark_of(text, finance.is_some_and(Finance::is_continental)),
        given => given,
    };
    let mut zeros = finance.into_iter().flat_map(Finance::zeros).peekable();
    let mut found: Vec<Quantity> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if let Some(span) = zeros.next_if(|span| span.start <= at) {
            at = at.max(span.end);
            continue;
        }
        let numeral = if digits::starts_at(text, at) {
            digits::read(text, at, mark)
        } else if c.is_alphabetic() {
            spelled::read(text, at).ok_or_else(|| end_of_word(text, at))
        } else {
            Err(at + c.len_utf8())
        };
        at = match numeral {
            Ok(numeral) => match quantity(text, &numeral, found.last(), finance) {
                Some(quantity) => {
                    let end = quantity.span.end.max(numeral.end);
                    found.push(quantity);
                    end
                }
                None => numeral.end,
            },
            Err(next) => next,
        };
    }
    let mut found = compound::join(text, found);
    if let Some(finance) = finance {
        finance.apply_declarations(&mut found);
    }
    range::join(text, found, reading.context)
}

fn end_of_word(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    at + rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len())
}

/// The number around `numeral`; `previous` is the one found before it.
fn quantity(
    text: &str,
    numeral: &Numeral,
    previous: Option<&Quantity>,
    finance: Option<&Finance<'_>>,
) -> Option<Quantity> {
    let floor = previous.map_or(0, |quantity| quantity.span.end);
    let mut lead = with_rand(text, floor, numeral, Lead::read(text, floor, numeral.start));
    let minus = affix::minus_behind(text, numeral).filter(|_| !lead.signed);
    (lead.negative, lead.signed) = (lead.negative || minus.is_some(), lead.signed || minus.is_some());
    let formula = is_formula(text, numeral, &lead);
    if formula {
        (lead.currency, lead.start) = (None, lead.start + '$'.len_utf8());
    }
    let mut tail = Tail::read(text, minus.unwrap_or(numeral.end), lead.currency.is_some());
    if formula && text[..tail.end].ends_with('$') {
        (tail.unit, tail.end) = (None, tail.end - '$'.len_utf8());
    }
    let mut parentheses = None;
    if let Some(inside) = lead.parenthesis.take() {
        match closing(text, tail.end) {
            Some(end) => {
                let inside_unit = tail.scaled || tail.unit.is_some();
                tail = tail.continue_after(text, end, lead.currency.is_some());
                let split = lead.currency.is_some() && inside.currency.is_none() || tail.end > end;
                parentheses = Some(Parentheses { inside_unit, split });
            }
            None => lead = *inside,
        }
    }
    let (unit, worth) = unit_of(&lead, &tail);
    let phrase = noun::phrase(text, tail.end);
    let unit = unit::of_nation(unit, &phrase, &text[tail.end..]);
    let counts = phrase.iter().any(|word| noun::is_unit(word));
    let letter = text[..tail.end].chars().next_back().filter(|_| tail.is_letter && !counts);
    let marked = unit != Unit::Plain || tail.scaled;
    if numeral.form == Form::Spelled && !marked && spelled::is_lone_one(text, numeral) {
        return None;
    }
    let labelled = || finance.is_some_and(|finance| finance.labels(lead.start));
    let role = match marked || lead.signed {
        _ if unit == Unit::Plain && contact::holds(text, &(numeral.start..numeral.end)) && !labelled() => {
            Role::Reference
        }
        true if unit == Unit::Percent && role::is_self_rating(&text[..lead.start], "") => Role::Reference,
        true if lead.currency.is_none() && role::is_name(text, numeral, tail.end) => Role::Reference,
        true => Role::Quantity,
        false => role::of_plain(text, numeral),
    };
    let factor = tail.factor.checked_mul(worth)?;
    let half = if tail.half { Decimal::new(5, 1) } else { Decimal::ZERO };
    let magnitude = numeral.value.checked_add(half)?.checked_mul(factor)?;
    let step = Decimal::new(1, numeral.decimals).checked_mul(factor)?;
    let mut found = Quantity {
        value: if lead.negative { -magnitude } else { magnitude }.normalize(),
        high: None,
        unit,
        own_unit: unit,
        role,
        hedge: None,
        fall: Fall::No,
        negated: false,
        phrase,
        text: text[lead.start..tail.end].to_owned(),
        span: lead.start..tail.end,
        significant: numeral.significant,
        step,
        factor,
        declared: Decimal::ONE,
        is_fraction: numeral.is_fraction,
        letter: letter.filter(|_| unit == Unit::Plain),
        scaled: tail.scaled || worth > Decimal::ONE,
        names_scale: tail.names_scale || worth > Decimal::ONE,
    };
    if let Some(finance) = finance {
        finance.describe(&mut found, numeral, previous, parentheses.filter(|_| !lead.signed));
    }
    Some(found)
}

/// True if the dollars around a number are the marks of a formula: `$1000$`, `$50\%$`.
fn is_formula(text: &str, numeral: &Numeral, lead: &Lead) -> bool {
    let before = text[lead.start..numeral.start].trim_end_matches(is_dash);
    let rest = &text[numeral.end..];
    let after = ["\\%", "%"].iter().find_map(|percent| rest.strip_prefix(percent)).unwrap_or(rest);
    lead.currency.is_some()
        && before == "$"
        && after.strip_prefix('$').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The lead with the rand before it, where the number looks like money: "R96.4bn", "R1,500".
fn with_rand(text: &str, floor: usize, numeral: &Numeral, lead: Lead) -> Lead {
    let before = &text[..lead.start];
    if lead.currency.is_some() || !before.trim_end_matches([' ', '\u{a0}']).ends_with('R') {
        return lead;
    }
    let scaled = Tail::read(text, numeral.end, true).scaled;
    match unit::rand_before(before, scaled) {
        Some((rand, start)) if start >= floor && (scaled || numeral.form == Form::Separated) => {
            Lead { currency: Some(rand), ..Lead::read(text, floor, start) }
        }
        _ => lead,
    }
}

/// The unit beside the number, and what one of it is worth. Where marks stand on both sides, the
/// more certain currency wins: "$5 CAD"; two that contradict each other are none: "$5 EUR".
fn unit_of(lead: &Lead, tail: &Tail) -> (Unit, Decimal) {
    match (lead.currency, tail.unit) {
        _ if lead.contradicted => (Unit::Conflicting, lead.factor),
        (Some(before), Some(after)) => match after.unit {
            Unit::Money(currency) if !currency.agrees_with(&before) => (Unit::Conflicting, lead.factor),
            Unit::Money(currency) if currency.is_certain() => (after.unit, after.factor),
            _ => (Unit::Money(before), lead.factor),
        },
        (Some(before), None) => (Unit::Money(before), lead.factor),
        (None, Some(after)) => (after.unit, after.factor),
        (None, None) => (Unit::Plain, Decimal::ONE),
    }
}
