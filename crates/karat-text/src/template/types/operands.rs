//! Finds the operations of a source, by Jinja's precedence, and writes checks around their operands.
//!
//! `a > b` becomes `karat_compare(a,"a",">",b,"b")`, `a + b` likewise with `karat_math`, and
//! `a ~ b` with `karat_concat`; the condition `c` of a block, a choice, `and`, `or` or `not` becomes `(c)|karat_truth("c")`.

use std::ops::Range;

use serde_json::Value;

use super::{COMPARE, CONCAT, MATH, TRUTH};
use crate::template::code::{Block, Edit, Kind, Token};

/// Characters of an operand that a message shows.
const SHOWN: usize = 60;

/// The levels of arithmetic from the loosest, each with its operators. `~` joins whatever it gets, up to a size.
const ARITHMETIC: [&[&str]; 4] = [&["+", "-"], &["~"], &["*", "/", "//", "%"], &["**"]];

/// Words that an operand cannot end with.
const WORD_OPERATORS: [&str; 7] = ["and", "or", "not", "in", "if", "else", "is"];

/// The edits that write the checks into the blocks of a source.
pub(in crate::template) fn edits(source: &str, blocks: &[Block<'_>]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for block in blocks {
        let mut finder = OperationFinder { source, tokens: &block.tokens, edits: &mut edits };
        finder.block(block.keyword());
    }
    edits
}

struct OperationFinder<'a, 's> {
    source: &'s str,
    tokens: &'a [Token<'s>],
    edits: &'a mut Vec<Edit>,
}

impl OperationFinder<'_, '_> {
    fn block(&mut self, keyword: Option<&str>) {
        let all = 0..self.tokens.len();
        match keyword {
            None => self.members(all),
            Some("raw") => {}
            Some("if" | "elif") => self.choice(1..all.end, true),
            Some("for") => {
                let Some(list) = self.find(1..all.end, &["in"]).map(|at| at + 1) else { return };
                let condition = self.find(list..all.end, &["if"]);
                self.choice(list..condition.unwrap_or(all.end), false);
                if let Some(at) = condition {
                    let end = self.find(at + 1..all.end, &["recursive"]).unwrap_or(all.end);
                    self.choice(at + 1..end, true);
                }
            }
            Some(_) => self.members(1..all.end),
        }
    }

    /// The members of a list, of arguments or of assignments.
    fn members(&mut self, range: Range<usize>) {
        for member in self.split(range, |token, _| [",", ":", "="].iter().any(|mark| token.is(mark))) {
            self.choice(member, false);
        }
    }

    /// `a if condition else b`.
    fn choice(&mut self, range: Range<usize>, is_tested: bool) {
        let Some(first) = self.find(range.clone(), &["if"]) else { return self.any(range, is_tested) };
        self.wrap(range.clone(), is_tested, |this| {
            this.any(range.start..first, false);
            let mut at = first;
            loop {
                let end = this.find(at + 1..range.end, &["if", "else"]).unwrap_or(range.end);
                this.any(at + 1..end, true);
                match this.tokens.get(end).filter(|_| end < range.end) {
                    Some(token) if token.is("else") => return this.choice(end + 1..range.end, false),
                    Some(_) => at = end,
                    None => return,
                }
            }
        });
    }

    fn any(&mut self, range: Range<usize>, is_tested: bool) {
        self.chain(range, is_tested, "or", |this, part, is_tested| {
            this.chain(part, is_tested, "and", |this, part, is_tested| this.negation(part, is_tested));
        });
    }

    /// The parts of `or` or `and`: each but the last decides whether the next one counts.
    fn chain(
        &mut self,
        range: Range<usize>,
        is_tested: bool,
        word: &str,
        part: impl Fn(&mut Self, Range<usize>, bool),
    ) {
        let mut parts = self.split(range.clone(), |token, _| token.is(word));
        if parts.len() < 2 {
            return part(self, range, is_tested);
        }
        self.wrap(range, is_tested, |this| {
            let last = parts.pop();
            parts.into_iter().for_each(|one| part(this, one, true));
            last.into_iter().for_each(|one| part(this, one, false));
        });
    }

    fn negation(&mut self, range: Range<usize>, is_tested: bool) {
        match self.tokens.get(range.start).filter(|token| !range.is_empty() && token.is("not")) {
            Some(_) => self.negation(range.start + 1..range.end, true),
            None => self.comparison(range, is_tested),
        }
    }

    fn comparison(&mut self, range: Range<usize>, is_tested: bool) {
        const SIGNS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];
        let is_sign = |token: &Token<'_>| SIGNS.iter().any(|sign| token.is(sign)) || token.is("in") || token.is("not");
        let operands = self.split(range.clone(), |token, _| is_sign(token));
        // `not in` is two tokens with nothing between them.
        let operands: Vec<Range<usize>> = operands.into_iter().filter(|operand| !operand.is_empty()).collect();
        if operands.len() < 2 {
            // What `is` asks is true or false.
            let is_answer = self.find(range.clone(), &["is"]).is_some();
            return self.wrap(range.clone(), is_tested && !is_answer, |this| this.arithmetic(range, 0));
        }
        self.operation(COMPARE, operands, |this, operand| this.arithmetic(operand, 0));
    }

    fn arithmetic(&mut self, range: Range<usize>, level: usize) {
        let Some(signs) = ARITHMETIC.get(level) else { return self.operand(range) };
        let operands = self.split(range.clone(), |token, before| {
            let ends_operand = before.is_some_and(|before| match before.kind {
                Kind::Operator => before.is_closing(),
                Kind::Word => !WORD_OPERATORS.contains(&before.text),
                Kind::Literal => true,
            });
            ends_operand && signs.iter().any(|sign| token.is(sign))
        });
        match (operands.len(), signs) {
            (..2, _) => self.arithmetic(range, level + 1),
            (_, signs) => self.operation(if *signs == ["~"] { CONCAT } else { MATH }, operands, |this, operand| {
                this.arithmetic(operand, level + 1)
            }),
        }
    }

    /// A name, a literal or a call: what stands within its brackets.
    fn operand(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let end = if self.tokens[at].is_opening() { self.closing(at, range.end) } else { at };
            if end > at {
                self.members(at + 1..end);
            }
            at = end + 1;
        }
    }

    /// Writes a call with the operands of one level; what cannot be a text has no check.
    fn operation(&mut self, function: &str, operands: Vec<Range<usize>>, operand: impl Fn(&mut Self, Range<usize>)) {
        if !operands.iter().any(|range| self.may_be_text(range)) {
            return operands.into_iter().for_each(|range| operand(self, range));
        }
        let places: Vec<Range<usize>> = operands.iter().map(|range| self.place(range)).collect();
        self.insert(places[0].start, format!("{function}("), Edit::OPENS);
        for (at, range) in operands.into_iter().enumerate() {
            operand(self, range);
            let quoted = self.quote(&places[at]);
            match places.get(at + 1) {
                Some(next) => {
                    let sign = self.source[places[at].end..next.start].split_whitespace().collect::<Vec<_>>().join(" ");
                    let (start, end) = self.sign_place(places[at].end, next.start);
                    let text = format!(",{quoted},{},", Value::from(sign));
                    self.edits.push(Edit { start, end, text, order: Edit::OPENS });
                }
                None => self.insert(places[at].end, format!(",{quoted})"), Edit::CLOSES),
            }
        }
    }

    /// Writes a check of a truth value around a condition.
    fn wrap(&mut self, range: Range<usize>, is_tested: bool, inner: impl FnOnce(&mut Self)) {
        if !is_tested || !self.may_be_text(&range) {
            return inner(self);
        }
        let place = self.place(&range);
        self.insert(place.start, "(".to_owned(), Edit::OPENS);
        inner(self);
        let quoted = self.quote(&place);
        self.insert(place.end, format!(")|{TRUTH}({quoted})"), Edit::CLOSES);
    }

    /// Returns whether tokens hold more than numbers.
    fn may_be_text(&self, range: &Range<usize>) -> bool {
        let is_text = |token: &Token<'_>| token.kind == Kind::Literal && token.text.starts_with(['"', '\'']);
        self.tokens[range.clone()].iter().any(|token| token.kind == Kind::Word || is_text(token))
    }

    fn insert(&mut self, at: usize, text: String, order: u8) {
        self.edits.push(Edit::insert(at, text, order));
    }

    /// The bytes of some tokens.
    fn place(&self, range: &Range<usize>) -> Range<usize> {
        let (first, last) = (self.tokens[range.start], self.tokens[range.end - 1]);
        first.at..last.span().end
    }

    /// The bytes of an operator between two operands, without white space around it.
    fn sign_place(&self, from: usize, to: usize) -> (usize, usize) {
        let between = &self.source[from..to];
        (from + (between.len() - between.trim_start().len()), from + between.trim_end().len())
    }

    fn quote(&self, place: &Range<usize>) -> String {
        let written = self.source[place.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = match written.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &written[..end]),
            None => written,
        };
        Value::from(shown).to_string()
    }

    /// The first of these words in a range, outside of brackets.
    fn find(&self, range: Range<usize>, words: &[&str]) -> Option<usize> {
        self.outside(range).find(|at| words.iter().any(|word| self.tokens[*at].is(word)) && !self.is_name(*at))
    }

    /// The parts between the tokens that separate them, outside of brackets. `separates` gets a token and the one before it
    /// in its part.
    fn split(
        &self,
        range: Range<usize>,
        separates: impl Fn(&Token<'_>, Option<&Token<'_>>) -> bool,
    ) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut from = range.start;
        for at in self.outside(range.clone()) {
            let before = at.checked_sub(1).filter(|before| *before >= from).map(|before| &self.tokens[before]);
            if !self.is_name(at) && !self.is_argument(at) && separates(&self.tokens[at], before) {
                parts.push(from..at);
                from = at + 1;
            }
        }
        parts.push(from..range.end);
        parts
    }

    /// The tokens of a range outside of brackets, without the brackets.
    fn outside(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        let mut depth = 0_usize;
        range.filter(move |at| {
            let token = &self.tokens[*at];
            depth = depth.saturating_sub(usize::from(token.is_closing()));
            let is_outside = depth == 0 && !token.is_opening() && !token.is_closing();
            depth += usize::from(token.is_opening());
            is_outside
        })
    }

    /// Returns whether a word is a name, whatever else it could be: of a member, a filter or a test.
    fn is_name(&self, at: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).and_then(|before| self.tokens.get(before));
        let follows = |mark: &str| before(1).is_some_and(|token| token.is(mark));
        // In `a is not b` the word `not` is none.
        follows(".") || follows("|") || self.is_test_name(at) || follows("is") && self.tokens[at].is("not")
    }

    fn is_test_name(&self, at: usize) -> bool {
        let before = |back: usize| at.checked_sub(back).and_then(|before| self.tokens.get(before));
        let follows_is = |back| before(back).is_some_and(|token| token.is("is"));
        follows_is(1) && !self.tokens[at].is("not") || follows_is(2) && before(1).is_some_and(|it| it.is("not"))
    }

    /// Returns whether a sign is that of a test's argument, as in `a is gt -1`.
    fn is_argument(&self, at: usize) -> bool {
        self.tokens[at].is("-") && at.checked_sub(1).is_some_and(|before| self.is_test_name(before))
    }

    /// The closing bracket of an opening one.
    fn closing(&self, at: usize, end: usize) -> usize {
        let mut depth = 0_usize;
        for place in at..end {
            depth += usize::from(self.tokens[place].is_opening());
            depth -= usize::from(self.tokens[place].is_closing());
            if depth == 0 {
                return place;
            }
        }
        end
    }
}
