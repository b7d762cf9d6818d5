//! Reads an expression as a test.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::amount::Amount;
use super::operand::{
    Edge, JsonPath, Operand, Reading, at_edge, compare, includes, is_among, matches, member_includes,
};
use super::pieces::Pieces;
use super::test::{Step, Test};
use super::tokens::Token;
use super::{Code, Language, Root};
use crate::promptfoo::values;

/// Code that reads an output as JSON unless it is a value already, in tokens.
const READ_ONCE: [&str; 12] =
    ["typeof", "output", "string", "?", "JSON", ".", "parse", "(", "output", ")", ":", "output"];

/// The largest number of tests that loops over lists make.
const MAX_TESTS: usize = 500;

pub(super) struct Parser<'a> {
    tokens: &'a [Token],
    pub at: usize,
    code: Code<'a>,
    /// Names that the code binds to a value, or to a list of values.
    bound: BTreeMap<String, Bound>,
    /// Tests of single values of lists that may still be read: loops within loops are many.
    budget: usize,
    /// True once a score is read between those of a pass and a failure.
    pub is_graded: bool,
    /// The value whose length a number is computed from.
    pub counted: Option<Operand>,
}

/// The value of a name.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    Operand(Operand),
    List(Vec<Value>),
    Amount(Amount),
}

impl<'a> Parser<'a> {
    pub fn new(tokens: &'a [Token], code: Code<'a>) -> Self {
        Self { tokens, at: 0, code, bound: BTreeMap::new(), budget: MAX_TESTS, is_graded: false, counted: None }
    }

    pub fn language(&self) -> Language {
        self.code.language
    }

    pub fn threshold(&self) -> Option<f64> {
        self.code.threshold
    }

    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub fn is_next(&self, mark: &str) -> bool {
        match self.peek() {
            Some(Token::Mark(next)) => *next == mark,
            Some(Token::Name(next)) => next == mark,
            _ => false,
        }
    }

    pub fn takes(&mut self, mark: &str) -> bool {
        let is_next = self.is_next(mark);
        self.at += usize::from(is_next);
        is_next
    }

    pub fn expects(&mut self, mark: &str) -> Option<()> {
        self.takes(mark).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        let Some(Token::Name(name)) = self.peek() else { return None };
        let name = name.clone();
        self.at += 1;
        Some(name)
    }

    /// Reads `const x = …;` any number of times. Returns true if one of them reads the output's JSON.
    pub fn bindings(&mut self) -> Option<bool> {
        let mut reads_json = false;
        while ["const", "let", "var"].iter().any(|keyword| self.takes(keyword)) {
            let name = self.name()?;
            self.expects("=")?;
            let value = self.bound_to()?;
            self.takes(";");
            let is_json = match &value {
                Bound::Operand(Operand::Json(_)) => true,
                Bound::Operand(Operand::Test(test)) => test.requires_json(),
                _ => false,
            };
            reads_json |= is_json && self.code.root == Root::Text;
            self.bound.insert(name, value);
        }
        Some(reads_json)
    }

    /// The value that a name is bound to, which the statement ends with.
    fn bound_to(&mut self) -> Option<Bound> {
        let forms: [fn(&mut Self) -> Option<Bound>; 4] = [
            |parser| parser.operand().map(Bound::Operand),
            |parser| parser.list().map(Bound::List),
            |parser| parser.any().map(|test| Bound::Operand(Operand::Test(test))),
            |parser| parser.sum().map(Bound::Amount),
        ];
        let start = self.at;
        forms.into_iter().find_map(|form| {
            self.at = start;
            form(self).filter(|_| self.is_at_end())
        })
    }

    /// The value of a name that comes next.
    pub fn bound_value(&self) -> Option<Bound> {
        let Some(Token::Name(name)) = self.peek() else { return None };
        self.bound.get(name).cloned()
    }

    /// Returns true if nothing that belongs to a value comes next.
    pub fn is_at_end(&self) -> bool {
        match self.peek() {
            None | Some(Token::Mark(";" | "," | "}" | ")" | ":")) => true,
            Some(Token::Name(name)) => {
                matches!(name.as_str(), "const" | "let" | "var" | "return" | "if" | "else")
            }
            Some(_) => false,
        }
    }

    pub fn any(&mut self) -> Option<Test> {
        let mut tests = vec![self.all()?];
        while self.takes("||") || self.takes("or") {
            tests.push(self.all()?);
        }
        // With a part that always holds, the whole always does: that stands for a mistake.
        (tests.len() == 1 || !tests.contains(&Test::True)).then_some(())?;
        Some(if tests.len() == 1 { tests.pop()? } else { Test::Any(tests) })
    }

    fn all(&mut self) -> Option<Test> {
        let mut tests = vec![self.single()?];
        while self.takes("&&") || self.takes("and") {
            tests.push(self.single()?);
        }
        Some(if tests.len() == 1 { tests.pop()? } else { Test::All(tests) })
    }

    fn single(&mut self) -> Option<Test> {
        if self.takes("!") || self.takes("not") {
            let start = self.at;
            if let Some(test) = self.comparison() {
                return (test != Test::True).then(|| test.not());
            }
            self.at = start;
            return self.operand()?.truth().map(Test::not);
        }
        self.comparison()
    }

    /// A test in brackets, a comparison, or a value of which only its truth is asked.
    fn comparison(&mut self) -> Option<Test> {
        if self.is_next("!") || self.is_next("not") {
            return self.single();
        }
        let start = self.at;
        if self.takes("(") {
            if let Some(test) = self.any()
                && self.takes(")")
                && !matches!(self.peek(), Some(Token::Mark("." | "===" | "==" | "!==" | "!=")))
            {
                return Some(test);
            }
            self.at = start;
        }
        if let Some(test) = self.membership() {
            return Some(test);
        }
        let left = self.operand()?;
        let operators = ["===", "!==", "==", "!=", "<=", ">=", "<", ">"];
        let operator = operators.into_iter().find(|operator| self.takes(operator));
        match (operator, left) {
            (Some(operator), left) => {
                let right = self.operand()?;
                compare(left, operator, right, self.code.language)
            }
            (None, Operand::Test(test)) => Some(test),
            (None, Operand::Literal(Value::String(text))) => {
                let is_negated = self.takes("not");
                self.expects("in")?;
                let test = match self.operand()? {
                    Operand::Output(form) => includes(form, &text)?,
                    Operand::Json(path) => member_includes(path, &json!(text), true),
                    _ => return None,
                };
                Some(if is_negated { test.not() } else { test })
            }
            // Before `&&` the truth of a value is enough; at the end it is not a verdict.
            (None, left) if self.is_next("&&") || self.is_next("and") => left.truth(),
            _ => None,
        }
    }

    /// The texts and numbers of a list that is written down.
    fn list(&mut self) -> Option<Vec<Value>> {
        let start = self.at;
        let list = self.list_items();
        if list.is_none() {
            self.at = start;
        }
        list
    }

    fn list_items(&mut self) -> Option<Vec<Value>> {
        self.expects("[")?;
        let mut items = Vec::new();
        while !self.takes("]") {
            items.push(match self.peek()? {
                Token::Text(text) => json!(text),
                Token::Number(number) => values::number(*number),
                _ => return None,
            });
            self.at += 1;
            if !self.takes(",") {
                self.expects("]")?;
                break;
            }
        }
        // A list of one may be an index behind a value that cannot be read here.
        (!items.is_empty()).then_some(items)
    }

    /// A list, written down or bound to a name.
    fn known_list(&mut self) -> Option<Vec<Value>> {
        if let Some(Token::Name(name)) = self.peek()
            && let Some(Bound::List(list)) = self.bound.get(name)
        {
            let list = list.clone();
            self.at += 1;
            return Some(list);
        }
        self.list()
    }

    /// A test of a list: `['a', 'b'].includes(x)`, `.some(…)`, `.every(…)`, or `any(… for x in ['a', 'b'])`.
    fn membership(&mut self) -> Option<Test> {
        let start = self.at;
        let test = self.listed_test();
        if test.is_none() {
            self.at = start;
        }
        test
    }

    fn listed_test(&mut self) -> Option<Test> {
        if self.code.language == Language::Python && (self.is_next("any") || self.is_next("all")) {
            return self.comprehension();
        }
        if let Some(Token::Text(_)) = self.peek() {
            return None;
        }
        let list = self.known_list()?;
        self.expects(".")?;
        match self.name()?.as_str() {
            "includes" => {
                self.expects("(")?;
                let operand = self.operand()?;
                self.expects(")")?;
                is_among(operand, &list, self.code.language)
            }
            "some" => Some(Test::Any(self.callback(&list)?)),
            "every" => Some(Test::All(self.callback(&list)?)),
            _ => None,
        }
    }

    /// `(x => TEST)`: the test of each value.
    fn callback(&mut self, values: &[Value]) -> Option<Vec<Test>> {
        self.expects("(")?;
        let in_brackets = self.takes("(");
        let name = self.name()?;
        if in_brackets {
            self.expects(")")?;
        }
        self.expects("=>")?;
        let tests = self.of_each(&name, values)?;
        self.expects(")")?;
        Some(tests)
    }

    /// The test that follows, read for each value of a name.
    fn of_each(&mut self, name: &str, values: &[Value]) -> Option<Vec<Test>> {
        let (start, hidden) = (self.at, self.bound.get(name).cloned());
        let mut tests = Vec::new();
        for value in values {
            self.at = start;
            self.budget = self.budget.checked_sub(1)?;
            self.bound.insert(name.to_owned(), Bound::Operand(Operand::Literal(value.clone())));
            tests.push(self.any().filter(|test| *test != Test::True)?);
        }
        match hidden {
            Some(hidden) => self.bound.insert(name.to_owned(), hidden),
            None => self.bound.remove(name),
        };
        (!tests.is_empty()).then_some(tests)
    }

    /// `any(TEST for x in LIST)`.
    fn comprehension(&mut self) -> Option<Test> {
        let quantifier = self.name()?;
        self.expects("(")?;
        let start = self.at;
        let mut depth = 0_usize;
        let keyword = self.tokens[start..].iter().position(|token| {
            match token {
                Token::Mark("(" | "[") => depth += 1,
                Token::Mark(")" | "]") => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *token == Token::Name("for".to_owned())
        })?;
        self.at = start + keyword + 1;
        let name = self.name()?;
        self.expects("in")?;
        let list = self.known_list()?;
        self.expects(")")?;
        let end = std::mem::replace(&mut self.at, start);
        let tests = self.of_each(&name, &list)?;
        (self.at == start + keyword).then_some(())?;
        self.at = end;
        Some(if quantifier == "any" { Test::Any(tests) } else { Test::All(tests) })
    }

    pub fn operand(&mut self) -> Option<Operand> {
        let mut operand = match self.filter() {
            Some(operand) => operand,
            None => self.primary()?,
        };
        loop {
            let is_optional = self.is_next("?.");
            if self.takes(".") || self.takes("?.") {
                let name = self.name()?;
                operand = if self.takes("(") {
                    self.method(operand, &name)?
                } else {
                    operand.member(Step::Name(name), is_optional, self.code.root)?
                };
            } else if self.takes("[") {
                let step = match self.peek()? {
                    Token::Number(number) if *number >= 0.0 && number.fract() == 0.0 => Step::Index(*number as usize),
                    Token::Text(text) => Step::Name(text.clone()),
                    _ => return None,
                };
                self.at += 1;
                self.expects("]")?;
                operand = operand.member(step, is_optional, self.code.root)?;
            } else {
                return Some(operand);
            }
        }
    }

    /// `['a', 'b'].filter(x => TEST)`.
    fn filter(&mut self) -> Option<Operand> {
        let start = self.at;
        let mut read = || {
            let list = self.known_list()?;
            self.expects(".")?;
            self.expects("filter")?;
            self.callback(&list).map(Operand::Matching)
        };
        let operand = read();
        if operand.is_none() {
            self.at = start;
        }
        operand
    }

    fn primary(&mut self) -> Option<Operand> {
        let token = self.peek()?.clone();
        self.at += 1;
        Some(match token {
            Token::Text(text) => Operand::Literal(json!(text)),
            Token::Number(number) => Operand::Literal(values::number(number)),
            Token::Pattern(pattern, flags) => {
                self.expects(".")?;
                self.expects("test")?;
                let Operand::Output(form) = self.in_brackets()? else { return None };
                Operand::Test(matches(form, &pattern, &flags)?)
            }
            Token::Mark("(") => {
                let operand = self.operand()?;
                self.expects(")")?;
                operand
            }
            Token::Name(name) => self.value_of(&name)?,
            Token::Template | Token::Mark(_) => return None,
        })
    }

    /// A value that begins with a name.
    fn value_of(&mut self, name: &str) -> Option<Operand> {
        Some(match name {
            "output" if self.code.root == Root::Json => Operand::Json(JsonPath::default()),
            "output" => Operand::Output(Reading::default()),
            "true" | "True" => Operand::Literal(json!(true)),
            "false" | "False" => Operand::Literal(json!(false)),
            "null" | "None" => Operand::Literal(Value::Null),
            "undefined" => Operand::Undefined,
            "typeof" => {
                if self.reads_once() {
                    return Some(Operand::Json(JsonPath::default()));
                }
                Operand::Type(Box::new(self.operand()?))
            }
            "JSON" | "json" => {
                self.expects(".")?;
                let is_call = self.takes("parse") || self.takes("loads");
                is_call.then_some(())?;
                // A value that was read already is not text.
                let of_output = matches!(self.in_brackets()?, Operand::Output(form) if !form.is_lower);
                of_output.then(|| Operand::Json(JsonPath::default()))?
            }
            "len" => Operand::Length(Box::new(self.in_brackets()?)),
            "Boolean" => Operand::Test(self.in_brackets()?.truth()?),
            "Array" => {
                self.expects(".")?;
                self.expects("isArray")?;
                let Operand::Json(path) = self.in_brackets()? else { return None };
                Operand::Test(path.member(json!({"type": "array"})))
            }
            "context" => {
                self.expects(".")?;
                self.expects("vars")?;
                self.expects(".")?;
                let name = self.name()?;
                let value = self.code.vars.get(&name).filter(|value| !value.is_object() && !value.is_array())?;
                Operand::Literal(value.clone())
            }
            name => match self.bound.get(name)? {
                Bound::Operand(operand) => operand.clone(),
                Bound::List(_) | Bound::Amount(_) => return None,
            },
        })
    }

    /// Takes the rest of `typeof output === 'string' ? JSON.parse(output) : output`.
    fn reads_once(&mut self) -> bool {
        let text = |token: &Token| match token {
            Token::Mark(mark) => (*mark).to_owned(),
            Token::Name(text) | Token::Text(text) => text.clone(),
            Token::Number(_) | Token::Template | Token::Pattern(..) => String::new(),
        };
        let start = self.at - 1;
        let found: Vec<String> = self.tokens[start..].iter().take(READ_ONCE.len() + 1).map(text).collect();
        let is_equality = found.get(2).is_some_and(|mark| mark.starts_with("=="));
        let rest = found.iter().enumerate().filter(|(at, _)| *at != 2).map(|(_, text)| text.as_str());
        let is_such = is_equality && rest.eq(READ_ONCE);
        if is_such {
            self.at = start + READ_ONCE.len() + 1;
        }
        is_such
    }

    fn in_brackets(&mut self) -> Option<Operand> {
        self.expects("(")?;
        let operand = self.operand()?;
        self.expects(")")?;
        Some(operand)
    }

    /// A method of a value, whose bracket is open.
    fn method(&mut self, operand: Operand, name: &str) -> Option<Operand> {
        if self.takes(")") {
            return Some(match (operand, name) {
                (Operand::Output(form), "toLowerCase" | "toLocaleLowerCase" | "lower") => {
                    Operand::Output(Reading { is_lower: true, ..form })
                }
                (Operand::Output(form), "trim" | "strip") => Operand::Output(Reading { is_trimmed: true, ..form }),
                (Operand::Output(form), "toString") => Operand::Output(form),
                (Operand::Output(_), "split") if self.code.language == Language::Python => {
                    Operand::Pieces(Pieces::Words)
                }
                (Operand::Literal(Value::String(text)), "toLowerCase" | "toLocaleLowerCase" | "lower") => {
                    Operand::Literal(json!(text.to_lowercase()))
                }
                (Operand::Literal(Value::String(text)), "trim" | "strip") => Operand::Literal(json!(text.trim())),
                _ => return None,
            });
        }
        match (self.peek()?.clone(), name, &operand) {
            (Token::Pattern(pattern, flags), "match", Operand::Output(form)) => {
                self.at += 1;
                self.expects(")")?;
                return matches(*form, &pattern, &flags).map(Operand::Test);
            }
            (Token::Pattern(pattern, _), "split", Operand::Output(form)) if pattern == r"\s+" => {
                self.at += 1;
                self.expects(")")?;
                return Some(Operand::Pieces(if form.is_trimmed { Pieces::OfTrimmed } else { Pieces::BetweenBlanks }));
            }
            (Token::Name(what), "filter", Operand::Pieces(Pieces::BetweenBlanks | Pieces::OfTrimmed))
                if what == "Boolean" =>
            {
                self.at += 1;
                self.expects(")")?;
                return Some(Operand::Pieces(Pieces::Words));
            }
            _ => {}
        }
        let Operand::Literal(argument) = self.operand()? else { return None };
        self.expects(")")?;
        let text = argument.as_str();
        Some(match (operand, name) {
            (Operand::Output(form), "split") if !form.is_trimmed && !form.is_lower => {
                let mut chars = text?.chars();
                match (chars.next(), chars.next()) {
                    (Some(char), None) => Operand::Pieces(Pieces::Between(char)),
                    _ => return None,
                }
            }
            (Operand::Output(form), "includes") => Operand::Test(includes(form, text?)?),
            (Operand::Output(form), "startsWith" | "startswith") => Operand::Test(at_edge(form, text?, Edge::Start)?),
            (Operand::Output(form), "endsWith" | "endswith") => Operand::Test(at_edge(form, text?, Edge::End)?),
            (Operand::Json(path), "includes") => Operand::Test(member_includes(path, &argument, false)),
            (Operand::Json(path), "hasOwnProperty") => Operand::Test(path.has(text?)),
            _ => return None,
        })
    }
}
