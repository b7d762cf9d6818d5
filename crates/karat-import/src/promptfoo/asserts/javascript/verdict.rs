//! The answer of code: a test, a score, or an object with `pass`, behind `if` and `return`.
//!
//! promptfoo passes an output whose score is above 0 or, with a threshold, reaches it.

use serde_json::json;

use super::super::Item;
use super::operand::JsonPath;
use super::parser::Parser;
use super::test::Test;
use super::tokens::Token;

/// The answer about an output.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    Always,
    Never,
    If(Test),
}

impl Verdict {
    fn of(test: Test) -> Self {
        if test == Test::True { Self::Always } else { Self::If(test) }
    }

    /// The verdict that is one where a test holds, and another where it does not.
    fn choice(test: Test, then: Self, otherwise: Self) -> Self {
        if test == Test::True {
            return then;
        }
        let not = || test.clone().not();
        let needed = test.needs();
        let chosen = match (then, otherwise) {
            (Self::Never, Self::Never) => return Self::Never,
            (Self::Always, Self::Never) => return Self::If(test),
            (Self::Never, Self::Always) => return Self::If(not()),
            (Self::If(then), Self::Never) => return Self::If(Test::All(vec![test, then])),
            (Self::Never, Self::If(otherwise)) => return Self::If(Test::All(vec![not(), otherwise])),
            (Self::Always, Self::Always) if needed.is_empty() => return Self::Always,
            (Self::Always, Self::Always) => return Self::If(Test::All(needed)),
            (Self::Always, Self::If(otherwise)) => Test::Any(vec![test, otherwise]),
            (Self::If(then), Self::Always) => Test::Any(vec![not(), then]),
            (Self::If(then), Self::If(otherwise)) => {
                let not = not();
                Test::Any(vec![Test::All(vec![test, then]), Test::All(vec![not, otherwise])])
            }
        };
        if needed.is_empty() {
            return Self::If(chosen);
        }
        // The code fails where it cannot read what the condition is about.
        Self::If(Test::All(needed.into_iter().chain(std::iter::once(chosen)).collect()))
    }

    /// The same of code that reads the output's JSON first, and fails where it is none.
    fn of_json(self) -> Self {
        let json = || JsonPath::default().member(json!({}));
        match self {
            Self::Never => Self::Never,
            Self::Always => Self::If(json()),
            Self::If(test) if test.requires_json() => Self::If(test),
            Self::If(test) => Self::If(Test::All(vec![json(), test])),
        }
    }

    /// The check; `None` of code that never or always passes, which is a mistake of its author. Code that gives scores may
    /// well pass every output.
    pub fn into_item(self, is_graded: bool) -> Option<Item> {
        match self {
            Self::Always => is_graded.then(|| Item::new("length").min(0.0)),
            Self::Never => None,
            Self::If(test) => test.into_item(),
        }
    }
}

impl Parser<'_> {
    /// The verdict of the whole code, and whether it gives scores between those of a pass and a failure.
    pub fn verdict(mut self, must_return: bool) -> Option<(Verdict, bool)> {
        let verdict = self.statements(must_return)?;
        self.peek().is_none().then_some((verdict, self.is_graded))
    }

    /// The verdict of statements: names that are bound, `if`s, and an expression or its `return`.
    pub(super) fn statements(&mut self, must_return: bool) -> Option<Verdict> {
        let reads_json = self.bindings()?;
        let verdict = if self.takes("if") {
            self.branches()?
        } else {
            (self.takes("return") || !must_return).then_some(())?;
            let verdict = self.answer()?;
            self.takes(";");
            verdict
        };
        Some(if reads_json { verdict.of_json() } else { verdict })
    }

    fn branches(&mut self) -> Option<Verdict> {
        self.expects("(")?;
        let test = self.condition()?;
        let then = self.block()?;
        let otherwise = if self.takes("else") { self.block()? } else { self.statements(true)? };
        Some(Verdict::choice(test, then, otherwise))
    }

    fn block(&mut self) -> Option<Verdict> {
        if !self.takes("{") {
            return self.statements(true);
        }
        let verdict = self.statements(true)?;
        self.expects("}")?;
        Some(verdict)
    }

    /// A test and the bracket behind it, or a value of which the truth is asked.
    fn condition(&mut self) -> Option<Test> {
        let start = self.at;
        if let Some(test) = self.any()
            && self.takes(")")
        {
            return Some(test);
        }
        self.at = start;
        let test = self.operand()?.truth()?;
        self.expects(")")?;
        Some(test)
    }

    /// A value that is returned.
    fn answer(&mut self) -> Option<Verdict> {
        if self.takes("{") {
            return self.graded_object();
        }
        let start = self.at;
        if let Some(test) = self.any() {
            if self.takes("?") {
                let then = self.answer()?;
                self.expects(":")?;
                let otherwise = self.answer()?;
                return Some(Verdict::choice(test, then, otherwise));
            }
            if self.is_at_end() {
                return Some(Verdict::of(test));
            }
        }
        self.at = start;
        if self.takes("(") {
            if let Some(verdict) = self.answer()
                && self.takes(")")
                && self.is_at_end()
            {
                return Some(verdict);
            }
            self.at = start;
        }
        for (word, verdict) in [("true", Verdict::Always), ("false", Verdict::Never)] {
            if self.takes(word) {
                return Some(verdict);
            }
        }
        self.number_verdict()
    }

    /// The rest of `{ pass: TEST, score: …, reason: … }`.
    fn graded_object(&mut self) -> Option<Verdict> {
        self.threshold().is_none().then_some(())?;
        let mut verdict = None;
        while !self.takes("}") {
            let Some(Token::Name(key) | Token::Text(key)) = self.peek().cloned() else { return None };
            self.at += 1;
            let has_value = self.takes(":");
            match key.as_str() {
                "pass" => {
                    self.at -= usize::from(!has_value);
                    verdict = Some(self.answer()?);
                }
                _ if has_value => {
                    self.is_graded |= key == "score";
                    self.skip_value();
                }
                key => self.is_graded |= key == "score",
            }
            if !self.takes(",") {
                self.expects("}")?;
                break;
            }
        }
        verdict
    }

    /// Passes over a member's value.
    fn skip_value(&mut self) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token {
                Token::Mark("," | "}") if depth == 0 => return,
                Token::Mark("(" | "[" | "{") => depth += 1,
                Token::Mark(")" | "]" | "}") => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
    }
}
