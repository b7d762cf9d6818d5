//! Reads numbers that code computes, and finds the counts of the output for which they pass.

use serde_json::json;

use super::Language;
use super::amount::{Amount, Operation, function};
use super::operand::{Operand, compare};
use super::parser::{Bound, Parser};
use super::test::Test;
use super::tokens::Token;
use super::verdict::Verdict;

/// The largest count that is tried to find those of which a number passes.
const TRIED: u32 = 20_000;

/// Counts beyond those, which have to pass as the last one does.
const BEYOND: [f64; 4] = [3e4, 1e5, 1e6, 1e8];

impl Parser<'_> {
    /// The verdict of a number, or of a comparison of two.
    pub(super) fn number_verdict(&mut self) -> Option<Verdict> {
        let left = self.sum()?;
        let operators = ["<=", ">=", "<", ">"];
        let Some(operator) = operators.into_iter().find(|operator| self.takes(operator)) else {
            self.is_graded |= !matches!(left, Amount::Number(number) if [0.0, 1.0].contains(&number));
            let threshold = self.threshold();
            return self.counts(|count| {
                let score = left.at(count);
                threshold.map_or(score > 0.0, |threshold| score >= threshold)
            });
        };
        let right = self.sum()?;
        self.counts(|count| {
            let (left, right) = (left.at(count), right.at(count));
            match operator {
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            }
        })
    }

    /// The verdict that counts for which this is true pass.
    fn counts(&self, passes: impl Fn(f64) -> bool) -> Option<Verdict> {
        let Some(of) = &self.counted else {
            return Some(if passes(0.0) { Verdict::Always } else { Verdict::Never });
        };
        let last = passes(f64::from(TRIED));
        BEYOND.into_iter().all(|count| passes(count) == last).then_some(())?;
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for count in (0..=TRIED).filter(|count| passes(f64::from(*count))) {
            match runs.last_mut() {
                Some((_, end)) if *end + 1 == count => *end = count,
                _ => runs.push((count, count)),
            }
        }
        if runs == [(0, TRIED)] {
            return Some(Verdict::Always);
        }
        let mut tests = Vec::new();
        for (start, end) in runs {
            let bound = |operator: &str, count: u32| {
                let length = Operand::Length(Box::new(of.clone()));
                compare(length, operator, Operand::Literal(json!(count)), self.language())
            };
            let bounds = [(start > 0).then(|| bound(">=", start)), (end < TRIED).then(|| bound("<=", end))];
            let mut bounds = bounds.into_iter().flatten().collect::<Option<Vec<_>>>()?;
            tests.push(if bounds.len() > 1 { Test::All(bounds) } else { bounds.pop()? });
        }
        Some(match tests.len() {
            0 => Verdict::Never,
            1 => Verdict::If(tests.pop()?),
            _ => Verdict::If(Test::Any(tests)),
        })
    }

    pub(super) fn sum(&mut self) -> Option<Amount> {
        let mut sum = self.product()?;
        loop {
            let operation = match () {
                () if self.takes("+") => Operation::Sum,
                () if self.takes("-") => Operation::Difference,
                () => return Some(sum),
            };
            sum = Amount::Of(operation, vec![sum, self.product()?]);
        }
    }

    fn product(&mut self) -> Option<Amount> {
        let mut product = self.factor()?;
        loop {
            let operation = match () {
                () if self.takes("*") => Operation::Product,
                () if self.takes("/") => match self.language() {
                    Language::JavaScript => Operation::Quotient,
                    Language::Python => Operation::QuotientOfPython,
                },
                () => return Some(product),
            };
            product = Amount::Of(operation, vec![product, self.factor()?]);
        }
    }

    fn factor(&mut self) -> Option<Amount> {
        if self.takes("-") {
            return Some(Amount::Of(Operation::Difference, vec![Amount::Number(0.0), self.factor()?]));
        }
        if self.takes("(") {
            let inner = self.sum()?;
            self.expects(")")?;
            return Some(inner);
        }
        if let Some(call) = self.call() {
            return call;
        }
        if let Some(Bound::Amount(amount)) = self.bound_value() {
            self.at += 1;
            return Some(amount);
        }
        match self.operand()? {
            Operand::Literal(value) => value.as_f64().map(Amount::Number),
            Operand::Length(of) => {
                let is_same = self.counted.as_ref().is_none_or(|known| *known == *of);
                self.counted = Some(*of);
                is_same.then_some(Amount::Count)
            }
            _ => None,
        }
    }

    /// A function of numbers; `None` if no such name comes next.
    fn call(&mut self) -> Option<Option<Amount>> {
        let start = self.at;
        if self.language() == Language::JavaScript && !(self.takes("Math") && self.takes(".")) {
            self.at = start;
            return None;
        }
        let Some(Token::Name(name)) = self.peek().cloned() else { return None };
        let Some((operation, count)) = function(&name, self.language()) else {
            self.at = start;
            return None;
        };
        self.at += 1;
        Some(self.values().filter(|values| count == 0 || values.len() == count).map(|it| Amount::Of(operation, it)))
    }

    fn values(&mut self) -> Option<Vec<Amount>> {
        self.expects("(")?;
        let mut values = vec![self.sum()?];
        while self.takes(",") {
            values.push(self.sum()?);
        }
        self.expects(")")?;
        Some(values)
    }
}
