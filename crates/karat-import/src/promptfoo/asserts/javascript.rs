//! Asserts that are one expression of JavaScript or Python about the output, as checks.
//!
//! Nothing is run: an expression is read as the tests that it is made of (`includes`, `length`, comparisons, members of the
//! output's JSON) and their `and`, `or` and `not`. Anything else is no such expression.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Item;

/// A part of the code.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(f64),
    /// A pattern and its flags.
    Pattern(String, String),
    Mark(&'static str),
}

/// Marks; the first that fits is taken.
const MARKS: [&str; 21] = [
    "===", "!==", "==", "!=", "<=", ">=", "&&", "||", "=>", "?.", "<", ">", "!", "(", ")", "[", "]", ".", ",", ";", "=",
];

/// A value that a test is about.
#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Output(Reading),
    /// A member of the output's JSON.
    Json(Vec<Step>),
    /// The length of another.
    Length(Box<Operand>),
    Literal(Value),
    /// A test of its own, as a method makes it.
    Test(Test),
}

/// The form of the output that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Reading {
    is_lower: bool,
    is_trimmed: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Name(String),
    Index(usize),
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Check(Item),
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
}

/// The check of an expression; `None` of other code. `vars` are those of the row.
pub(super) fn item(code: &str, vars: &Map<String, Value>) -> Option<Item> {
    let tokens = tokens(code)?;
    let mut parser = Parser { tokens: &tokens, at: 0, vars, bound: BTreeMap::new() };
    let test = parser.program()?;
    (parser.at == tokens.len()).then(|| test.into_item())
}

/// Returns true if code reads the variables of its row.
pub(super) fn reads_row(code: &str) -> bool {
    code.contains("context.vars") || code.contains("context[")
}

impl Test {
    fn into_item(self) -> Item {
        match self {
            Self::Check(item) => item,
            Self::Not(test) => match *test {
                Self::Not(inner) => inner.into_item(),
                test => {
                    let item = test.into_item();
                    let is_negated = item.0.get("not") == Some(&json!(true));
                    item.set("not", !is_negated)
                }
            },
            Self::All(tests) => several(tests, |_| 1.0),
            Self::Any(tests) => match phrases(&tests) {
                Some(item) => item,
                // One of n checks is enough.
                None => several(tests, |count| (1e9 / count as f64).floor() / 1e9),
            },
        }
    }
}

fn several(tests: Vec<Test>, min: impl Fn(usize) -> f64) -> Item {
    let items: Vec<Value> = tests.into_iter().map(|test| Value::Object(test.into_item().0)).collect();
    let count = items.len();
    Item::new("checks").with("of", items).min(min(count))
}

/// One `contains` with several phrases, where all tests are one with the same options.
fn phrases(tests: &[Test]) -> Option<Item> {
    let mut phrases = Vec::new();
    let mut common: Option<Map<String, Value>> = None;
    for test in tests {
        let Test::Check(Item(map)) = test else { return None };
        let mut rest = map.clone();
        phrases.push(rest.shift_remove("value")?);
        if rest.get("metric") != Some(&json!("contains")) || common.as_ref().is_some_and(|known| *known != rest) {
            return None;
        }
        common = Some(rest);
    }
    common.map(|rest| Item(rest).with("any", phrases))
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    vars: &'a Map<String, Value>,
    /// Names that the code binds to a value.
    bound: BTreeMap<String, Operand>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn takes(&mut self, mark: &str) -> bool {
        let is_next = match self.peek() {
            Some(Token::Mark(next)) => *next == mark,
            Some(Token::Name(next)) => next == mark,
            _ => false,
        };
        self.at += usize::from(is_next);
        is_next
    }

    fn expects(&mut self, mark: &str) -> Option<()> {
        self.takes(mark).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        let Some(Token::Name(name)) = self.peek() else { return None };
        let name = name.clone();
        self.at += 1;
        Some(name)
    }

    /// `const x = …;` any number of times, then an expression or its `return`.
    fn program(&mut self) -> Option<Test> {
        while ["const", "let", "var"].iter().any(|keyword| self.takes(keyword)) {
            let name = self.name()?;
            self.expects("=")?;
            let value = self.operand()?;
            self.takes(";");
            self.bound.insert(name, value);
        }
        self.takes("return");
        let test = self.any()?;
        self.takes(";");
        Some(test)
    }

    fn any(&mut self) -> Option<Test> {
        let mut tests = vec![self.all()?];
        while self.takes("||") || self.takes("or") {
            tests.push(self.all()?);
        }
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
            return Some(Test::Not(Box::new(self.single()?)));
        }
        let start = self.at;
        if self.takes("(") {
            if let Some(test) = self.any()
                && self.takes(")")
                && !matches!(self.peek(), Some(Token::Mark(".")))
            {
                return Some(test);
            }
            self.at = start;
        }
        let left = self.operand()?;
        let operators = ["===", "!==", "==", "!=", "<=", ">=", "<", ">"];
        let operator = operators.into_iter().find(|operator| self.takes(operator));
        match (operator, left) {
            (Some(operator), left) => {
                let right = self.operand()?;
                compare_length(left, operator, right)
            }
            (None, Operand::Test(test)) => Some(test),
            (None, Operand::Literal(Value::String(text))) if self.takes("in") => match self.operand()? {
                Operand::Output(form) => includes(form, &text),
                Operand::Json(path) => Some(member_includes(&path, &json!(text))),
                _ => None,
            },
            _ => None,
        }
    }

    fn operand(&mut self) -> Option<Operand> {
        let mut operand = self.primary()?;
        loop {
            if self.takes(".") || self.takes("?.") {
                let name = self.name()?;
                operand =
                    if self.takes("(") { self.method(operand, &name)? } else { member(operand, Step::Name(name))? };
            } else if self.takes("[") {
                let step = match self.peek()? {
                    Token::Number(number) if *number >= 0.0 && number.fract() == 0.0 => Step::Index(*number as usize),
                    Token::Text(text) => Step::Name(text.clone()),
                    _ => return None,
                };
                self.at += 1;
                self.expects("]")?;
                operand = member(operand, step)?;
            } else {
                return Some(operand);
            }
        }
    }

    fn primary(&mut self) -> Option<Operand> {
        let token = self.peek()?.clone();
        self.at += 1;
        Some(match token {
            Token::Text(text) => Operand::Literal(json!(text)),
            Token::Number(number) => Operand::Literal(crate::promptfoo::values::number(number)),
            Token::Pattern(pattern, flags) => {
                self.expects(".")?;
                self.expects("test")?;
                self.expects("(")?;
                let Operand::Output(form) = self.operand()? else { return None };
                self.expects(")")?;
                Operand::Test(matches(form, &pattern, &flags)?)
            }
            Token::Mark("(") => {
                let operand = self.operand()?;
                self.expects(")")?;
                operand
            }
            Token::Name(name) => match name.as_str() {
                "output" => Operand::Output(Reading::default()),
                "true" | "True" => Operand::Literal(json!(true)),
                "false" | "False" => Operand::Literal(json!(false)),
                "null" | "None" => Operand::Literal(Value::Null),
                "JSON" | "json" => {
                    self.expects(".")?;
                    let is_call = self.takes("parse") || self.takes("loads");
                    is_call.then_some(())?;
                    self.of_output()?;
                    Operand::Json(Vec::new())
                }
                "len" => {
                    self.expects("(")?;
                    let operand = self.operand()?;
                    self.expects(")")?;
                    Operand::Length(Box::new(operand))
                }
                "Array" => {
                    self.expects(".")?;
                    self.expects("isArray")?;
                    self.expects("(")?;
                    let Operand::Json(path) = self.operand()? else { return None };
                    self.expects(")")?;
                    Operand::Test(schema(&path, json!({"type": "array"})))
                }
                "context" => {
                    self.expects(".")?;
                    self.expects("vars")?;
                    self.expects(".")?;
                    let name = self.name()?;
                    Operand::Literal(
                        self.vars.get(&name).filter(|value| !value.is_object() && !value.is_array())?.clone(),
                    )
                }
                name => self.bound.get(name)?.clone(),
            },
            Token::Mark(_) => return None,
        })
    }

    /// `(output)`, as the argument of a parser.
    fn of_output(&mut self) -> Option<()> {
        self.expects("(")?;
        let operand = self.operand()?;
        self.expects(")")?;
        matches!(operand, Operand::Output(form) if !form.is_lower).then_some(())
    }

    /// A method of a value, whose bracket is open.
    fn method(&mut self, operand: Operand, name: &str) -> Option<Operand> {
        if self.takes(")") {
            let Operand::Output(form) = operand else { return None };
            return Some(Operand::Output(match name {
                "toLowerCase" | "toLocaleLowerCase" | "lower" => Reading { is_lower: true, ..form },
                "trim" | "strip" => Reading { is_trimmed: true, ..form },
                "toString" => form,
                _ => return None,
            }));
        }
        if let (Some(Token::Pattern(pattern, flags)), "match" | "search", Operand::Output(form)) =
            (self.peek().cloned(), name, &operand)
        {
            self.at += 1;
            self.expects(")")?;
            // A search answers with a place, and not with a truth.
            return (name == "match").then(|| matches(*form, &pattern, &flags).map(Operand::Test))?;
        }
        let Operand::Literal(argument) = self.operand()? else { return None };
        self.expects(")")?;
        let text = argument.as_str();
        Some(Operand::Test(match (operand, name) {
            (Operand::Output(form), "includes") => includes(form, text?)?,
            (Operand::Output(form), "startsWith" | "startswith") => edge(form, text?, "^", "")?,
            (Operand::Output(form), "endsWith" | "endswith") => edge(form, text?, "", "$")?,
            (Operand::Json(path), "includes") => member_includes(&path, &argument),
            (Operand::Json(path), "hasOwnProperty") => {
                schema(&[path, vec![Step::Name(text?.to_owned())]].concat(), json!({}))
            }
            _ => return None,
        }))
    }
}

fn member(operand: Operand, step: Step) -> Option<Operand> {
    match (operand, step) {
        (operand @ (Operand::Output(_) | Operand::Json(_)), Step::Name(name)) if name == "length" => {
            Some(Operand::Length(Box::new(operand)))
        }
        (Operand::Json(mut path), step) => {
            path.push(step);
            Some(Operand::Json(path))
        }
        _ => None,
    }
}

/// A text in lower case holds no upper one: such a test never holds, and stands for a mistake.
fn fits(form: Reading, text: &str) -> bool {
    !form.is_lower || text == text.to_lowercase()
}

fn with_case(item: Item, form: Reading) -> Item {
    if form.is_lower { item.with("ignore_case", true) } else { item }
}

fn includes(form: Reading, text: &str) -> Option<Test> {
    // Blanks at the ends of a trimmed text cannot be found in it.
    let is_found = fits(form, text) && !text.is_empty() && (!form.is_trimmed || text.trim() == text);
    is_found.then(|| Test::Check(with_case(Item::new("contains").set("value", text), form)))
}

fn edge(form: Reading, text: &str, before: &str, after: &str) -> Option<Test> {
    (fits(form, text) && !text.is_empty()).then_some(())?;
    let case = if form.is_lower { "(?i)" } else { "" };
    let blank = if form.is_trimmed { "\\s*" } else { "" };
    let (start, end) = (if before.is_empty() { "" } else { "\\A" }, if after.is_empty() { "" } else { "\\z" });
    let (ahead, behind) = (if start.is_empty() { "" } else { blank }, if end.is_empty() { "" } else { blank });
    let pattern = format!("{case}{start}{ahead}{}{behind}{end}", regex::escape(text));
    Some(Test::Check(Item::new("regex").set("value", pattern)))
}

fn matches(form: Reading, pattern: &str, flags: &str) -> Option<Test> {
    flags.chars().all(|flag| "igmsu".contains(flag)).then_some(())?;
    (!form.is_lower && !form.is_trimmed).then_some(())?;
    let options: String = flags.chars().filter(|flag| "ims".contains(*flag)).collect();
    let pattern = super::regex::translate(pattern).ok()?;
    let pattern = if options.is_empty() { pattern } else { format!("(?{options}){pattern}") };
    Some(Test::Check(Item::new("regex").set("value", pattern)))
}

fn compare_length(left: Operand, operator: &str, right: Operand) -> Option<Test> {
    let (left, operator, literal) = match (left, right) {
        (Operand::Literal(_), Operand::Literal(_)) => return None,
        (Operand::Literal(literal), right) => (right, turn_round(operator), literal),
        (left, Operand::Literal(literal)) => (left, operator, literal),
        _ => return None,
    };
    if let Some(equal) = match operator {
        "!==" | "!=" => Some("==="),
        _ => None,
    } {
        let test = compare_length(left.clone(), equal, Operand::Literal(literal))?;
        let negated = Test::Not(Box::new(test));
        // Where the output is no JSON, reading it fails the assert.
        return Some(match left {
            Operand::Json(_) => Test::All(vec![schema(&[], json!({})), negated]),
            _ => negated,
        });
    }
    match left {
        Operand::Test(test) => match (operator, literal) {
            ("===" | "==", Value::Bool(true)) => Some(test),
            ("===" | "==", Value::Bool(false)) => Some(Test::Not(Box::new(test))),
            _ => None,
        },
        Operand::Output(form) if operator.starts_with("==") => {
            let text = literal.as_str().filter(|text| fits(form, text))?;
            let item = with_case(Item::new("exact").set("value", text), form);
            Some(Test::Check(if form.is_trimmed { item.with("trim", true) } else { item }))
        }
        Operand::Json(path) => Some(schema(&path, number_schema(operator, &literal)?)),
        Operand::Length(of) => length(*of, operator, literal.as_f64()?),
        _ => None,
    }
}

/// The operator where the sides are changed.
fn turn_round(operator: &str) -> &str {
    match operator {
        "<" => ">",
        ">" => "<",
        "<=" => ">=",
        ">=" => "<=",
        other => other,
    }
}

/// The smallest and largest whole number that a comparison admits.
fn bounds(operator: &str, number: f64) -> Option<(Option<f64>, Option<f64>)> {
    Some(match operator {
        "<" => (None, Some(number.ceil() - 1.0)),
        "<=" => (None, Some(number.floor())),
        ">" => (Some(number.floor() + 1.0), None),
        ">=" => (Some(number.ceil()), None),
        "===" | "==" if number.fract() == 0.0 => (Some(number), Some(number)),
        _ => return None,
    })
}

fn length(of: Operand, operator: &str, number: f64) -> Option<Test> {
    let (min, max) = bounds(operator, number)?;
    match of {
        Operand::Output(form) if form.is_trimmed => {
            let is_any = max.is_none() && min == Some(1.0);
            is_any.then(|| Test::Check(Item::new("regex").set("value", "\\S")))
        }
        Operand::Output(_) => {
            let item = min.into_iter().fold(Item::new("length"), Item::min);
            Some(Test::Check(max.into_iter().fold(item, Item::max)))
        }
        Operand::Json(path) => {
            let limits = |kind: &str, names: [&str; 2]| {
                let limits = names.into_iter().zip([min, max]);
                let limits = limits.filter_map(|(name, limit)| Some((name.to_owned(), json!(limit?.max(0.0) as u64))));
                Value::Object(std::iter::once(("type".to_owned(), json!(kind))).chain(limits).collect())
            };
            let of_list = limits("array", ["minItems", "maxItems"]);
            let of_text = limits("string", ["minLength", "maxLength"]);
            Some(schema(&path, json!({"anyOf": [of_list, of_text]})))
        }
        _ => None,
    }
}

fn number_schema(operator: &str, literal: &Value) -> Option<Value> {
    let limit = |name: &str| {
        let number = literal.as_number()?;
        Some(json!({"type": "number", name: number}))
    };
    match operator {
        "===" | "==" => Some(json!({"const": literal})),
        "<" => limit("exclusiveMaximum"),
        "<=" => limit("maximum"),
        ">" => limit("exclusiveMinimum"),
        ">=" => limit("minimum"),
        _ => None,
    }
}

fn member_includes(path: &[Step], value: &Value) -> Test {
    let of_list = json!({"type": "array", "contains": {"const": value}});
    let of_text = value.as_str().map(|text| json!({"type": "string", "pattern": regex::escape(text)}));
    schema(path, json!({"anyOf": std::iter::once(of_list).chain(of_text).collect::<Vec<_>>()}))
}

/// The check that the output is JSON with a member of this schema.
fn schema(path: &[Step], inner: Value) -> Test {
    let whole = path.iter().rev().fold(inner, |inner, step| match step {
        Step::Name(name) => json!({"type": "object", "required": [name], "properties": {name: inner}}),
        Step::Index(index) => {
            let mut items = vec![json!(true); *index];
            items.push(inner);
            json!({"type": "array", "minItems": index + 1, "prefixItems": items})
        }
    });
    Test::Check(Item::new("json_schema").with("schema", whole).with("amid", false))
}

fn tokens(code: &str) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = code.trim();
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            rest = rest.trim_start();
            continue;
        }
        let run = |within: &dyn Fn(char) -> bool| rest.find(|char| !within(char)).unwrap_or(rest.len());
        let (token, length) = if first.is_alphabetic() || first == '_' || first == '$' {
            let end = run(&|char| char.is_alphanumeric() || char == '_' || char == '$');
            (Token::Name(rest[..end].to_owned()), end)
        } else if first.is_ascii_digit() {
            let end = run(&|char| char.is_ascii_digit() || char == '.');
            (Token::Number(rest[..end].parse().ok()?), end)
        } else if matches!(first, '"' | '\'' | '`') {
            let (text, end) = text_literal(rest, first)?;
            (Token::Text(text), end)
        } else if first == '/' && !matches!(tokens.last(), Some(Token::Name(_) | Token::Number(_) | Token::Text(_))) {
            let (pattern, end) = pattern_literal(rest)?;
            let flags = rest[end..].find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(rest.len() - end);
            (Token::Pattern(pattern, rest[end..end + flags].to_owned()), end + flags)
        } else {
            let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark))?;
            (Token::Mark(mark), mark.len())
        };
        tokens.push(token);
        rest = &rest[length..];
    }
    Some(tokens)
}

/// A text between quotes and the byte behind it. A template with a value in it is none.
fn text_literal(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => text.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                char @ ('\\' | '\'' | '"' | '`' | '/') => char,
                _ => return None,
            }),
            '$' if quote == '`' && rest[at + 1..].starts_with('{') => return None,
            char if char == quote => return Some((text, at + char.len_utf8())),
            char => text.push(char),
        }
    }
    None
}

/// A pattern between slashes and the byte behind it.
fn pattern_literal(rest: &str) -> Option<(String, usize)> {
    let mut is_class = false;
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()?),
            '[' => is_class = true,
            ']' => is_class = false,
            '/' if !is_class => return Some((rest[1..at].replace("\\/", "/"), at + 1)),
            '\n' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str) -> Option<Value> {
        let vars = json!({"city": "Rome", "n": 3}).as_object().cloned().unwrap();
        item(code, &vars).map(|item| Value::Object(item.0))
    }

    /// F83: expressions about the output are checks.
    #[test]
    fn expressions_are_checks() {
        let schema = |schema: Value| json!({"metric": "json_schema", "with": {"schema": schema, "amid": false}});
        for (code, expected) in [
            ("output.length < 50", json!({"metric": "length", "max": 49})),
            ("return output.length >= 5;", json!({"metric": "length", "min": 5})),
            ("100 > output.length", json!({"metric": "length", "max": 99})),
            ("output.includes('a b')", json!({"metric": "contains", "value": "a b"})),
            ("!output.includes(\"x\")", json!({"metric": "contains", "value": "x", "not": true})),
            (
                "output.toLowerCase().includes('x')",
                json!({"metric": "contains", "value": "x", "with": {"ignore_case": true}}),
            ),
            (
                "output.includes('x') || output.includes('y')",
                json!({"metric": "contains", "with": {"any": ["x", "y"]}}),
            ),
            (
                "output.includes('x') && output.length > 2",
                json!({"metric": "checks", "min": 1, "with": {"of": [{"metric": "contains", "value": "x"}, {"metric": "length", "min": 3}]}}),
            ),
            ("output === 'yes'", json!({"metric": "exact", "value": "yes"})),
            ("output.trim() == 'yes'", json!({"metric": "exact", "value": "yes", "with": {"trim": true}})),
            ("output.startsWith('a.')", json!({"metric": "regex", "value": "\\Aa\\."})),
            ("/^[0-9]+$/i.test(output)", json!({"metric": "regex", "value": "(?i)^[0-9]+$"})),
            ("output.includes(context.vars.city)", json!({"metric": "contains", "value": "Rome"})),
            (
                "JSON.parse(output).a.b === 'x'",
                schema(json!({"type": "object", "required": ["a"], "properties":
                    {"a": {"type": "object", "required": ["b"], "properties": {"b": {"const": "x"}}}}})),
            ),
            (
                "const it = JSON.parse(output); return it['n'] > 3",
                schema(
                    json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "number", "exclusiveMinimum": 3}}}),
                ),
            ),
            ("len(output) < 10", json!({"metric": "length", "max": 9})),
            ("'x' in output.lower()", json!({"metric": "contains", "value": "x", "with": {"ignore_case": true}})),
        ] {
            assert_eq!(check(code), Some(expected), "{code}");
        }
    }

    /// F83: other code is not guessed.
    #[test]
    fn other_code_is_no_check() {
        for code in [
            "",
            "output",
            "output.length",
            "output.split(' ').length < 5",
            "output.toLowerCase().includes('Paris')",
            "output.includes(context.vars.none)",
            "output.includes(x)",
            "output.includes(`${x}`)",
            "fetch('x')",
            "output.length < 5 ? 1 : 0",
            "if (output) { return true }",
            "output.length < 5 } {",
            "output.search(/x/) > 0",
            "(output) => output.length",
            "1 === 1",
        ] {
            assert_eq!(check(code), None, "{code}");
        }
    }
}
