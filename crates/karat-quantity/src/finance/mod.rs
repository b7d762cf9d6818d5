//! The optional language layer for financial text ([`Context::Finance`](crate::Context)), in English, German, French and
//! Spanish; its word lists are data, in `words/`.
//!
//! `scan/` calls [`Finance`] only. It first finds units declared apart from numbers (`declarations`); then, number by
//! number, what the words around say: a loss or fall (`direction`, with `clause` and `periods` for the words between), a
//! denial (`negation`), a bound (`hedge`), an amount in parentheses (`accounts`); last, which numbers a declaration
//! applies to (`scope`, with `row_labels`). `word_list` reads the data files.

mod accounts;
mod clause;
mod declarations;
pub(crate) mod direction;
mod hedge;
mod negation;
pub(crate) mod periods;
mod row_labels;
mod scope;
mod word_list;

use std::ops::Range;

pub(crate) use accounts::Parentheses;

use crate::finance::declarations::Declaration;
use crate::numeral::digits::Numeral;
use crate::quantity::{Fall, Quantity};

/// The finance layer over one text.
pub(crate) struct Finance<'a> {
    text: &'a str,
    declarations: Vec<Declaration>,
}

impl<'a> Finance<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, declarations: declarations::find(text) }
    }

    /// True if the text declares a scale that is written where commas are decimal marks: "in Mio. €".
    pub(crate) fn is_continental(&self) -> bool {
        self.declarations.iter().any(|declaration| declaration.is_continental(self.text))
    }

    /// The declarations that contain zeros, which are not numbers: "£'000".
    pub(crate) fn zeros(&self) -> impl Iterator<Item = &Range<usize>> {
        let spans = self.declarations.iter().map(|declaration| &declaration.span);
        spans.filter(|span| self.text[span.start..span.end].contains("000"))
    }

    /// True if a label with a unit stands directly before the number that begins at `start`.
    pub(crate) fn labels(&self, start: usize) -> bool {
        declarations::names(self.text, &self.declarations, start)
    }

    /// Adds what the words around a number say of it; `previous` is the number before it, and `parentheses` are its own
    /// where nothing else signs it.
    pub(crate) fn describe(
        &self,
        found: &mut Quantity,
        numeral: &Numeral,
        previous: Option<&Quantity>,
        parentheses: Option<Parentheses>,
    ) {
        let (start, end) = (found.span.start, found.span.end);
        let beside = previous.map_or(Fall::No, |previous| direction::fall_between(self.text, previous, start));
        let (before, after) = (&self.text[..start], &self.text[end..]);
        found.hedge = hedge::before(before);
        found.fall = beside.max(direction::fall(before, &found.phrase, after));
        found.negated = negation::is_denied(self.text, start, previous);
        if let Some(parentheses) = parentheses {
            accounts::read(self.text, found, numeral, previous, parentheses);
        }
    }

    /// Gives numbers the units and scales that are declared elsewhere for them.
    pub(crate) fn apply_declarations(&self, quantities: &mut [Quantity]) {
        scope::apply(self.text, &self.declarations, quantities);
    }
}
