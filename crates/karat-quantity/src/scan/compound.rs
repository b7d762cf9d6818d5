//! Numbers that are written in several parts: "one billion two hundred million", "1 Mrd. 250 Mio. €".

use rust_decimal::Decimal;

use crate::unit::Unit;
use crate::{Quantity, Role};

/// Joins parts of falling scale into one number.
pub(crate) fn join(text: &str, quantities: Vec<Quantity>) -> Vec<Quantity> {
    let mut joined: Vec<Quantity> = Vec::with_capacity(quantities.len());
    for next in quantities {
        match joined.last_mut() {
            Some(previous) if goes_on(text, previous, &next) => add(text, previous, next),
            _ => joined.push(next),
        }
    }
    joined
}

/// True if `next` is a smaller part of the number that `first` begins.
fn goes_on(text: &str, first: &Quantity, next: &Quantity) -> bool {
    let spelled = is_spelled(first) && is_spelled(next);
    let between = text.get(first.span.end..next.span.start).map(str::trim);
    let joint = match between {
        Some("") => next.scaled || spelled,
        Some("," | "and" | ", and") => spelled,
        _ => false,
    };
    let amounts = first.role == Role::Quantity && next.role == Role::Quantity;
    let smaller = next.value > Decimal::ZERO && next.value < first.factor;
    let one_unit = first.unit == Unit::Plain || next.unit == Unit::Plain;
    let begins_bare = next.text.starts_with(char::is_alphanumeric);
    joint && amounts && first.scaled && smaller && one_unit && begins_bare
}

fn is_spelled(quantity: &Quantity) -> bool {
    !quantity.text.contains(|c| crate::chars::digit(c).is_some())
}

fn add(text: &str, first: &mut Quantity, next: Quantity) {
    let sum = if first.value.is_sign_negative() {
        first.value.checked_sub(next.value)
    } else {
        first.value.checked_add(next.value)
    };
    let Some(sum) = sum else { return };
    first.value = sum.normalize();
    first.unit = if first.unit == Unit::Plain { next.unit } else { first.unit };
    first.span.end = next.span.end;
    text[first.span.clone()].clone_into(&mut first.text);
    first.phrase = next.phrase;
    first.fall = first.fall.max(next.fall);
    first.step = next.step;
    first.factor = next.factor;
    let steps = sum.checked_div(next.step).map(|steps| steps.abs().trunc().to_string().len());
    first.significant = steps.and_then(|digits| u32::try_from(digits).ok()).unwrap_or(first.significant);
}
