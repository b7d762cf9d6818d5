//! Two numbers that are one: "10–12 %", "between $1.0 and $1.2 billion".

use crate::chars::digit;
use crate::finance::direction;
use crate::quantity::{Hedge, Quantity};
use crate::role::Role;
use crate::scan::Context;
use crate::unit::Unit;
use crate::unit::scale::starts_with_word;

/// The relation of two neighbouring numbers.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    /// The ends of a range.
    Range,
    /// Two numbers that share the unit and scale of the second: "from 5 to 6 million".
    Shared,
    /// A middle and how far the ends are from it: "$485 million ± $5 million".
    Around,
    /// A change and the level that it led to: "rose 120 bps to 41.8 %".
    Change,
}

/// Words before and between two numbers of which the one became the other.
const FROM_TO: [(&str, &str); 16] = [
    ("from", "to"),
    ("from", "through"),
    ("von", "auf"),
    ("von", "bis"),
    ("de", "à"),
    ("de", "a"),
    ("de", "para"),
    ("desde", "a"),
    ("desde", "hasta"),
    ("da", "a"),
    ("dal", "al"),
    ("van", "naar"),
    ("van", "tot"),
    ("från", "till"),
    ("fra", "til"),
    ("z", "do"),
];

/// Words before and between the ends of a range.
const BETWEEN: [(&str, &str); 10] = [
    ("between", "and"),
    ("zwischen", "und"),
    ("entre", "et"),
    ("entre", "y"),
    ("entre", "e"),
    ("tra", "e"),
    ("tussen", "en"),
    ("mellan", "och"),
    ("mellem", "og"),
    ("od", "do"),
];

/// Joins the ends of ranges and lets them share unit and scale.
pub(crate) fn join(text: &str, quantities: Vec<Quantity>, context: Context) -> Vec<Quantity> {
    let mut joined: Vec<Quantity> = Vec::with_capacity(quantities.len());
    for mut next in quantities {
        let Some(previous) = joined.last_mut() else {
            joined.push(next);
            continue;
        };
        match link(text, previous, &next, context) {
            Some(Link::Change) => {
                let bare = |q: &Quantity| q.unit == Unit::Plain && !q.scaled;
                if bare(previous) || bare(&next) {
                    share(previous, &mut next);
                }
                joined.push(next);
            }
            Some(Link::Around) if share(previous, &mut next) => {
                spread(previous, &mut next);
                joined.push(next);
            }
            Some(link) if share(previous, &mut next) => {
                // In "desde 5 hasta 6" the word leads to the other end and bounds nothing.
                next.hedge = None;
                if link == Link::Range && previous.value <= next.value {
                    close(text, previous, &next);
                } else {
                    joined.push(next);
                }
            }
            _ => joined.push(next),
        }
    }
    share_in_lists(text, &mut joined);
    joined
}

/// Gives the figures of a list the scale and unit that stand only at its last: "$1.0, $1.1 and $1.2 billion".
fn share_in_lists(text: &str, quantities: &mut [Quantity]) {
    let mut listed = false;
    for at in (1..quantities.len()).rev() {
        let (before, after) = quantities.split_at_mut(at);
        let (Some(first), Some(second)) = (before.last_mut(), after.first_mut()) else { return };
        let joint = text.get(first.span.end..second.span.start).map_or("", str::trim);
        let joined = matches!(joint, "and" | ", and" | "or" | "und" | "et" | "y") || listed && joint == ",";
        listed = joined && is_alike(first, second) && share(first, second);
    }
}

/// True if `first` is written like `second`, but for the scale: with the same currency and as many decimals.
fn is_alike(first: &Quantity, second: &Quantity) -> bool {
    let amounts = first.role == Role::Quantity && second.role == Role::Quantity;
    let open = !first.scaled && first.high.is_none() && first.phrase.is_empty();
    let decimals = |quantity: &Quantity| quantity.step.checked_div(quantity.factor).map(|step| step.scale());
    let fraction = decimals(first).is_some_and(|decimals| decimals > 0);
    let units = match (first.unit, second.unit) {
        (Unit::Money(one), Unit::Money(other)) => one.agrees_with(&other),
        (Unit::Plain, _) => fraction,
        _ => false,
    };
    amounts && open && units && second.scaled && decimals(first) == decimals(second)
}

fn link(text: &str, first: &Quantity, second: &Quantity, context: Context) -> Option<Link> {
    let amounts = first.role == Role::Quantity && second.role == Role::Quantity;
    if !amounts || first.high.is_some() {
        return None;
    }
    let between = text.get(first.span.end..second.span.start)?;
    let connector = between.trim();
    if between.contains(['\n', '\r']) {
        return None;
    }
    let before = text[..first.span.start].trim_end();
    let opens = |pairs: &[(&str, &str)]| pairs.iter().any(|(open, link)| *link == connector && ends_with(before, open));
    match connector.trim_start_matches([',', ' ']) {
        "±" | "+/-" | "+/−" | "+-" | "plus or" | "plus ou" | "plus/minus" => Some(Link::Around),
        _ if connector.starts_with(',') => None,
        "-" | "–" | "—" | "‑" | "~" | "〜" | "～" => Some(Link::Range),
        _ if bounds(first, second, connector) => Some(Link::Range),
        _ if opens(&FROM_TO) => Some(Link::Shared),
        _ if opens(&BETWEEN) => Some(Link::Range),
        "to" if context == Context::Finance && direction::changes(before) => Some(Link::Change),
        "to" | "bis" | "à" | "through" => Some(Link::Range),
        _ if starts_with_word(connector, "to between") => Some(Link::Range),
        _ => None,
    }
}

/// "at least 400 and at most 450 million".
fn bounds(first: &Quantity, second: &Quantity, connector: &str) -> bool {
    let both = first.hedge == Some(Hedge::AtLeast) && second.hedge == Some(Hedge::AtMost);
    both && ["and", "und", "et", "y"].iter().any(|word| starts_with_word(connector, word))
}

/// True if a text ends with a word, in any case.
fn ends_with(text: &str, word: &str) -> bool {
    let Some((before, last)) = text.len().checked_sub(word.len()).and_then(|at| text.split_at_checked(at)) else {
        return false;
    };
    last.eq_ignore_ascii_case(word) && !before.ends_with(char::is_alphanumeric)
}

/// Gives either number what only the other one has; false when their units differ.
fn share(first: &mut Quantity, second: &mut Quantity) -> bool {
    match (first.unit, second.unit) {
        (Unit::Plain, Unit::Percent) => {
            first.unit = Unit::Percent;
            if !rescale(first, second) {
                return false;
            }
        }
        (Unit::Plain, unit) => {
            first.unit = unit;
            if !first.scaled && second.scaled && !rescale(first, second) {
                return false;
            }
        }
        (Unit::Money(a), Unit::Money(b)) if !a.agrees_with(&b) => return false,
        (Unit::Percent, Unit::Money(_)) | (Unit::Money(_), Unit::Percent) => return false,
        (unit, _) => {
            if second.unit == Unit::Plain {
                second.unit = unit;
                // "MUSD 5–6": the scale before both.
                let leads = first.scaled && first.text.ends_with(|c| digit(c).is_some());
                if leads && !second.scaled && !rescale(second, first) {
                    return false;
                }
            }
            if !first.scaled && second.scaled && !rescale(first, second) {
                return false;
            }
        }
    }
    true
}

/// Multiplies `first` by the factor of `second`.
fn rescale(first: &mut Quantity, second: &Quantity) -> bool {
    let scaled = (first.value.checked_mul(second.factor), first.step.checked_mul(second.factor));
    let (Some(value), Some(step)) = scaled else {
        return false;
    };
    first.value = value.normalize();
    first.step = step;
    first.factor = second.factor;
    first.scaled = second.scaled;
    first.names_scale = second.names_scale;
    true
}

/// Makes a deviation the range around the middle before it.
fn spread(middle: &Quantity, deviation: &mut Quantity) {
    let by = deviation.value.abs();
    if let (Some(low), Some(high)) = (middle.value.checked_sub(by), middle.value.checked_add(by)) {
        (deviation.value, deviation.high) = (low.normalize(), Some(high.normalize()));
        deviation.fall = middle.fall;
        deviation.significant = middle.significant;
    }
}

fn close(text: &str, first: &mut Quantity, second: &Quantity) {
    first.high = Some(second.value);
    first.phrase.clone_from(&second.phrase);
    first.fall = first.fall.max(second.fall);
    first.span.end = second.span.end;
    text[first.span.clone()].clone_into(&mut first.text);
    first.step = first.step.min(second.step);
    first.significant = first.significant.min(second.significant);
}
