//! Which numbers a declaration of unit and scale reaches.
//!
//! Of several the nearest counts, for unit and scale each:
//! 1. directly behind a number (`472.2 million (EUR)`), it is about that number;
//! 2. before other numbers of its sentence or row, about those; else about the number before it, in a row about all;
//! 3. in the head of a table, about the column below it, in the first cell about the table;
//! 4. in a sentence or line without numbers, about all that follows; where no number follows, about the whole text.

use std::collections::BTreeMap;
use std::ops::Range;

use karat_text::label::Label;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::chars::is_inline_space;
use crate::finance::declarations::{Declaration, Declared};
use crate::finance::row_labels::Labels;
use crate::unit::Unit;
use crate::unit::noun;
use crate::{Quantity, Role};

/// Bytes that are looked at on either side of a declaration for the ends of its sentence or row.
const NEAR: usize = 400;

/// Gives the numbers of `text` what is declared for them.
pub(crate) fn apply(text: &str, declarations: &[Declaration], quantities: &mut [Quantity]) {
    let apart = |declaration: &&Declaration| {
        let next = quantities.partition_point(|quantity| quantity.span.end <= declaration.span.start);
        quantities.get(next).is_none_or(|quantity| quantity.span.start >= declaration.span.end)
    };
    let declarations: Vec<&Declaration> = declarations.iter().filter(apart).collect();
    if declarations.is_empty() {
        return;
    }
    let takes = |quantity: &Quantity| quantity.role == Role::Quantity && quantity.own_unit != Unit::Percent;
    let amounts: Vec<usize> = (0..quantities.len()).filter(|at| takes(&quantities[*at])).collect();
    let spans: Vec<Range<usize>> = amounts.iter().map(|at| quantities[*at].span.clone()).collect();
    let mut labels = Labels::new(text);
    for (at, given) in amounts.into_iter().zip(declarations_for(text, &declarations, &spans)) {
        let label = labels.of(&quantities[at].span);
        adopt(&mut quantities[at], given, label);
    }
}

/// The unit and scale declared for a number.
#[derive(Debug, Clone, Copy, Default)]
struct DeclaredFor {
    declared: Declared,
    /// The part declared in the number's own sentence or row.
    near: Declared,
    /// True if it stands directly behind the number.
    beside: bool,
}

/// The numbers that a declaration applies to.
enum Reach {
    /// The number directly before it.
    Beside(usize),
    /// Some of the numbers, by their index.
    Numbers(Range<usize>),
    /// The numbers below it in a table.
    Below,
    /// All that follows.
    Rest,
}

/// Returns what is declared for each of the numbers at `spans`.
fn declarations_for(text: &str, declarations: &[&Declaration], spans: &[Range<usize>]) -> Vec<DeclaredFor> {
    let mut given = vec![DeclaredFor::default(); spans.len()];
    let mut walk = TableWalk::new(text);
    let mut general = Vec::new();
    for Declaration { span, declared } in declarations {
        match reach(text, span, spans) {
            Reach::Beside(at) => {
                given[at] = DeclaredFor { near: given[at].near.under(*declared), beside: true, ..given[at] }
            }
            Reach::Numbers(some) => {
                given[some].iter_mut().for_each(|given| given.near = given.near.under(*declared));
            }
            Reach::Rest if spans.last().is_none_or(|last| last.start < span.start) => {
                walk.rest = walk.rest.under(*declared);
            }
            reach => general.push((span.start, *declared, reach)),
        }
    }
    let mut general = general.into_iter().peekable();
    for (given, span) in given.iter_mut().zip(spans) {
        while let Some((at, declared, reach)) = general.next_if(|(at, ..)| *at < span.start) {
            walk.advance(at);
            match reach {
                Reach::Below => walk.head(declared),
                _ => walk.rest = walk.rest.under(declared),
            }
        }
        walk.advance(span.start);
        given.declared = walk.here().under(given.near);
    }
    given
}

fn reach(text: &str, declaration: &Range<usize>, spans: &[Range<usize>]) -> Reach {
    let Range { start, end } = *declaration;
    let next = spans.partition_point(|span| span.start < start);
    let previous = next.checked_sub(1).filter(|at| is_beside(text, &spans[*at], declaration));
    if let Some(previous) = previous {
        return Reach::Beside(previous);
    }
    let (around, is_row) = surroundings(text, declaration);
    let within = |bytes: Range<usize>| {
        let index = |byte: usize| spans.partition_point(|span| span.start < byte);
        index(bytes.start)..index(bytes.end)
    };
    let (before, after) = (within(around.start..start), within(end..around.end));
    match (before.is_empty(), after.is_empty()) {
        (_, false) => Reach::Numbers(after),
        (false, true) if is_row => Reach::Numbers(before),
        (false, true) => Reach::Numbers(before.end - 1..before.end),
        (true, true) if is_row => Reach::Below,
        (true, true) => Reach::Rest,
    }
}

/// True if a declaration directly follows a number and heads nothing itself.
fn is_beside(text: &str, number: &Range<usize>, declaration: &Range<usize>) -> bool {
    let joint = |c: char| is_inline_space(c) || matches!(c, ',' | '*' | '_' | '`');
    let between = text.get(number.end..declaration.start).is_some_and(|between| between.chars().all(joint));
    between && !text[declaration.end..].trim_start_matches(joint).starts_with(':')
}

/// The row of a table around `span`, or its sentence, and whether it is a row.
fn surroundings(text: &str, span: &Range<usize>) -> (Range<usize>, bool) {
    let from = text.floor_char_boundary(span.start.saturating_sub(NEAR));
    let to = text.ceil_char_boundary((span.end + NEAR).min(text.len()));
    let line_start = text[from..span.start].rfind(['\n', '\r']).map_or(from, |at| from + at + 1);
    let line_end = text[span.end..to].find(['\n', '\r']).map_or(to, |at| span.end + at);
    let line = line_start..line_end;
    if text[line.clone()].contains(['|', '\t']) {
        return (line, true);
    }
    let (before, after) = (&text[line.start..span.start], &text[span.end..line.end]);
    let start = ends(before, &text[span.start..]).last().map_or(line.start, |at| line.start + at);
    let end = ends(after, "").next().map_or(line.end, |at| span.end + at);
    (start..end, false)
}

/// Returns the ends of sentences in `text`, before `rest`.
fn ends<'a>(text: &'a str, rest: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.char_indices().filter_map(move |(at, c)| {
        let end = at + c.len_utf8();
        let after = &text[end..];
        let begins = after.trim_start().chars().chain(rest.chars()).next();
        let spaced = after.starts_with(char::is_whitespace) && begins.is_some_and(|c| c.is_uppercase() || c == '(');
        (c == '。' || (matches!(c, '.' | '!' | '?') && spaced)).then_some(end)
    })
}

/// Goes through a text and its tables.
struct TableWalk<'a> {
    text: &'a str,
    at: usize,
    /// Separators before the place in its line; 0 outside tables.
    column: usize,
    rest: Declared,
    table: Declared,
    columns: BTreeMap<usize, Declared>,
}

impl<'a> TableWalk<'a> {
    fn new(text: &'a str) -> Self {
        let (rest, table) = (Declared::default(), Declared::default());
        Self { text, at: 0, column: 0, rest, table, columns: BTreeMap::new() }
    }

    fn advance(&mut self, to: usize) {
        for c in self.text.get(self.at..to).unwrap_or_default().chars() {
            match c {
                '|' | '\t' => self.column += 1,
                '\n' => {
                    if self.column == 0 {
                        self.table = Declared::default();
                        self.columns.clear();
                    }
                    self.column = 0;
                }
                _ => {}
            }
        }
        self.at = self.at.max(to);
    }

    /// Returns what is declared for a number at this place.
    fn here(&self) -> Declared {
        match self.column {
            0 => self.rest,
            column => self.rest.under(self.table).under(self.columns.get(&column).copied().unwrap_or_default()),
        }
    }

    /// Takes what the head of a table declares at this place.
    fn head(&mut self, declared: Declared) {
        if self.column > 1 {
            self.columns.insert(self.column, declared);
        } else {
            self.table = self.table.under(declared);
        }
    }
}

/// Gives a number what it lacks. What counts something else takes nothing.
fn adopt(quantity: &mut Quantity, given: DeclaredFor, label: Label) {
    if quantity.phrase.iter().any(|word| noun::is_unit(word)) {
        return;
    }
    let unmarked = quantity.own_unit == Unit::Plain && given.near.unit.is_none();
    let Declared { unit, scale } = match label {
        Label::Count(noun) if unmarked => {
            quantity.phrase = vec![noun.to_owned()];
            given.near
        }
        Label::Percent(_)
            if quantity.own_unit == Unit::Plain && quantity.value.to_f64().is_some_and(|value| label.allows(value)) =>
        {
            Declared { unit: Some(Unit::Percent), scale: None }
        }
        _ => given.declared,
    };
    match (quantity.own_unit, unit) {
        (Unit::Plain, Some(Unit::Percent)) if quantity.scaled => return,
        (Unit::Plain, Some(unit)) => quantity.unit = unit,
        (Unit::Money(own), Some(Unit::Money(declared))) if own.agrees_with(&declared) => {
            quantity.unit = Unit::Money(if own.is_certain() { own } else { declared });
        }
        (Unit::Money(_), Some(_)) => {
            if given.beside {
                quantity.unit = Unit::Conflicting;
            }
            return;
        }
        _ => {}
    }
    let scale = scale.filter(|_| !quantity.scaled && label != Label::PerShare);
    if let Some(scale) = scale {
        rescale(quantity, scale);
    }
}

fn rescale(quantity: &mut Quantity, scale: Decimal) {
    let times = |value: Decimal| value.checked_mul(scale);
    let (Some(value), Some(step), Some(factor)) = (times(quantity.value), times(quantity.step), times(quantity.factor))
    else {
        return;
    };
    quantity.value = value.normalize();
    quantity.step = step;
    quantity.factor = factor;
    quantity.declared = scale;
    quantity.scaled = scale > Decimal::ONE;
    quantity.names_scale = quantity.scaled;
}
