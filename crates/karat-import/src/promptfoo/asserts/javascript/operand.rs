//! The values that tests are about, their members, and comparisons of them.

use serde_json::{Value, json};

use super::super::Item;
use super::pieces::{Pieces, whole_bounds};
use super::test::{Member, Need, Step, Test};
use super::{Language, Root};

/// A value that a test is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand {
    Output(Reading),
    /// A part of the output's JSON.
    Json(JsonPath),
    /// The length of another.
    Length(Box<Operand>),
    /// The name of another's type.
    Type(Box<Operand>),
    Literal(Value),
    Undefined,
    /// Parts of the output's text.
    Pieces(Pieces),
    /// Those of some values of which a test holds.
    Matching(Vec<Test>),
    /// A test of its own, as a method makes it.
    Test(Test),
}

/// The form of the output that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reading {
    pub is_lower: bool,
    pub is_trimmed: bool,
}

/// The path to a part of the output's JSON.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct JsonPath {
    pub steps: Vec<Step>,
    /// The part without which reading this one fails: that behind `?.` may be absent.
    needs: usize,
    /// True if the whole output may be null.
    may_be_null: bool,
}

impl JsonPath {
    fn step(mut self, step: Step, is_optional: bool) -> Self {
        self.may_be_null |= is_optional && self.steps.is_empty();
        if !is_optional && self.needs + 1 >= self.steps.len() {
            self.needs = self.steps.len();
        }
        self.steps.push(step);
        self
    }

    /// The test of the part with a schema. Without the part before it the code fails.
    pub fn member(self, schema: Value) -> Test {
        let needs = match self.needs.min(self.steps.len()) {
            // Any JSON is enough where no member is read.
            0 if self.steps.is_empty() || self.may_be_null => Need { path: Vec::new(), schema: json!({}) },
            needs => Need::of_something(self.steps[..needs].to_vec()),
        };
        Test::Member(Member { path: self.steps, schema, needs })
    }

    /// The test of the part with a schema, where the code fails unless the part itself is of another.
    fn with_need(self, schema: Value, need: Value) -> Test {
        let needs = Need { path: self.steps.clone(), schema: need };
        Test::Member(Member { path: self.steps, schema, needs })
    }

    /// The test that an object has a member of its own.
    pub fn has(self, name: &str) -> Test {
        self.with_need(json!({"type": "object", "required": [name]}), json!({"not": {"type": "null"}}))
    }
}

impl Operand {
    /// A member of the value; `None` where it has none.
    pub fn member(self, step: Step, is_optional: bool, root: Root) -> Option<Self> {
        match (self, step) {
            (operand @ (Self::Output(_) | Self::Json(_) | Self::Pieces(_) | Self::Matching(_)), Step::Name(name))
                if name == "length" =>
            {
                Some(Self::Length(Box::new(operand)))
            }
            (Self::Json(path), step) => Some(Self::Json(path.step(step, is_optional))),
            (Self::Output(form), step) if root == Root::Either && form == Reading::default() => {
                Some(Self::Json(JsonPath::default().step(step, is_optional)))
            }
            _ => None,
        }
    }

    /// The test that the value counts as true.
    pub fn truth(self) -> Option<Test> {
        match self {
            Self::Test(test) => Some(test),
            Self::Output(form) => length(Self::Output(form), ">", 0.0),
            Self::Json(path) => Some(path.member(json!({"not": {"enum": [null, false, 0, ""]}}))),
            Self::Length(of) => length(*of, ">", 0.0),
            _ => None,
        }
    }
}

/// A text in lower case holds no upper one: such a test never holds, and stands for a mistake.
fn fits(form: Reading, text: &str) -> bool {
    !form.is_lower || text == text.to_lowercase()
}

fn with_case(item: Item, form: Reading) -> Item {
    if form.is_lower { item.with("ignore_case", true) } else { item }
}

/// The test that the output contains a text.
pub(super) fn includes(form: Reading, text: &str) -> Option<Test> {
    // Blanks at the ends of a trimmed text cannot be found in it.
    let is_found = fits(form, text) && !text.is_empty() && (!form.is_trimmed || text.trim() == text);
    is_found.then(|| Test::Check(with_case(Item::new("contains").set("value", text), form)))
}

/// An end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Start,
    End,
}

/// The test that the output begins or ends with a text.
pub(super) fn at_edge(form: Reading, text: &str, edge: Edge) -> Option<Test> {
    (fits(form, text) && !text.is_empty()).then_some(())?;
    let case = if form.is_lower { "(?i)" } else { "" };
    let blank = if form.is_trimmed { "\\s*" } else { "" };
    let text = regex::escape(text);
    let pattern = match edge {
        Edge::Start => format!("{case}\\A{blank}{text}"),
        Edge::End => format!("{case}{text}{blank}\\z"),
    };
    Some(Test::Check(Item::new("regex").set("value", pattern)))
}

/// The test that a pattern is found in the output.
pub(super) fn matches(form: Reading, pattern: &str, flags: &str) -> Option<Test> {
    flags.chars().all(|flag| "igmsu".contains(flag)).then_some(())?;
    (!form.is_lower && !form.is_trimmed).then_some(())?;
    let options: String = flags.chars().filter(|flag| "ims".contains(*flag)).collect();
    let pattern = super::super::regex::translate(pattern).ok()?;
    let pattern = if options.is_empty() { pattern } else { format!("(?{options}){pattern}") };
    Some(Test::Check(Item::new("regex").set("value", pattern)))
}

/// The test that a part of the output's JSON includes a value: as a list or a text and, with `in`, as an object's name.
pub(super) fn member_includes(path: JsonPath, value: &Value, with_names: bool) -> Test {
    let of_list = json!({"type": "array", "contains": {"const": value}});
    let of_text = value.as_str().map(|text| json!({"type": "string", "pattern": regex::escape(text)}));
    let of_names = value.as_str().filter(|_| with_names).map(|name| json!({"type": "object", "required": [name]}));
    let need = if with_names { json!(["array", "object", "string"]) } else { json!(["array", "string"]) };
    let either: Vec<Value> = std::iter::once(of_list).chain(of_text).chain(of_names).collect();
    path.with_need(json!({"anyOf": either}), json!({"type": need}))
}

/// The test that one of some values is the operand.
pub(super) fn is_among(operand: Operand, values: &[Value], language: Language) -> Option<Test> {
    match operand {
        Operand::Json(path) => Some(path.member(json!({"enum": values}))),
        operand @ Operand::Output(_) => {
            let tests =
                values.iter().map(|value| compare(operand.clone(), "===", Operand::Literal(value.clone()), language));
            tests.collect::<Option<Vec<_>>>().filter(|tests| !tests.is_empty()).map(Test::Any)
        }
        _ => None,
    }
}

/// The test that a comparison makes.
pub(super) fn compare(left: Operand, operator: &str, right: Operand, language: Language) -> Option<Test> {
    if let Some(equality) = operator.strip_prefix('!') {
        let equality = if equality == "==" { "===" } else { "==" };
        return compare(left, equality, right, language).map(Test::not);
    }
    let is_equality = operator.starts_with("==");
    let (left, operator, literal) = match (left, right) {
        (Operand::Literal(_), Operand::Literal(_)) => return None,
        (Operand::Json(path), Operand::Undefined) | (Operand::Undefined, Operand::Json(path)) if is_equality => {
            return Some(absence(path, operator));
        }
        (Operand::Literal(literal), right) => (right, reverse(operator), literal),
        (left, Operand::Literal(literal)) => (left, operator, literal),
        _ => return None,
    };
    let is_loose = operator == "==" && language == Language::JavaScript;
    match left {
        Operand::Test(test) => match literal {
            Value::Bool(true) if is_equality => Some(test),
            Value::Bool(false) | Value::Null if is_equality => Some(test.not()),
            _ => None,
        },
        Operand::Output(form) if is_equality => {
            let text = literal.as_str().filter(|text| fits(form, text))?;
            let item = with_case(Item::new("exact").set("value", text), form);
            Some(Test::Check(if form.is_trimmed { item.with("trim", true) } else { item }))
        }
        Operand::Json(path) if is_loose && literal.is_null() => Some(absence(path, operator)),
        Operand::Json(path) => Some(path.member(value_schema(operator, &literal, is_loose)?)),
        Operand::Type(of) if is_equality => is_type(*of, literal.as_str()?),
        Operand::Length(of) => length(*of, operator, literal.as_f64()?),
        _ => None,
    }
}

/// The test that a part is not there or, compared loosely, null.
fn absence(path: JsonPath, operator: &str) -> Test {
    let there = if operator == "==" { json!({"not": {"type": "null"}}) } else { json!({}) };
    path.member(there).not()
}

/// The operator where the sides are changed.
fn reverse(operator: &str) -> &str {
    match operator {
        "<" => ">",
        ">" => "<",
        "<=" => ">=",
        ">=" => "<=",
        other => other,
    }
}

fn is_type(of: Operand, name: &str) -> Option<Test> {
    let schema = match name {
        "string" | "number" | "boolean" => json!({"type": name}),
        "object" => json!({"type": ["object", "array", "null"]}),
        _ => return None,
    };
    match of {
        Operand::Json(path) => Some(path.member(schema)),
        Operand::Output(_) if name == "string" => Some(Test::True),
        _ => None,
    }
}

fn length(of: Operand, operator: &str, number: f64) -> Option<Test> {
    let (min, max) = whole_bounds(operator, number)?;
    match of {
        Operand::Output(form) if form.is_trimmed => {
            let is_any = max.is_none() && min == Some(1.0);
            is_any.then(|| Test::Check(Item::new("regex").set("value", "\\S")))
        }
        Operand::Output(_) => {
            let item = min.into_iter().fold(Item::new("length"), Item::min);
            Some(Test::Check(max.into_iter().fold(item, Item::max)))
        }
        Operand::Pieces(pieces) => pieces.count(min, max),
        Operand::Matching(tests) => matching(tests, min, max),
        Operand::Json(path) => {
            let limits = |kind: &str, names: [&str; 2]| {
                let limits = names.into_iter().zip([min, max]);
                let limits = limits.filter_map(|(name, limit)| Some((name.to_owned(), json!(limit?.max(0.0) as u64))));
                Value::Object(std::iter::once(("type".to_owned(), json!(kind))).chain(limits).collect())
            };
            let of_list = limits("array", ["minItems", "maxItems"]);
            let of_text = limits("string", ["minLength", "maxLength"]);
            Some(path.with_need(json!({"anyOf": [of_list, of_text]}), json!({"not": {"type": "null"}})))
        }
        _ => None,
    }
}

/// The test that so many of some tests hold.
fn matching(tests: Vec<Test>, min: Option<f64>, max: Option<f64>) -> Option<Test> {
    let all = tests.len() as f64;
    let at_least = |count: f64| match count {
        count if count <= 1.0 => Test::Any(tests.clone()),
        count => Test::Several(count as usize, tests.clone()),
    };
    let min = min.filter(|min| *min > 0.0);
    let max = max.filter(|max| *max < all);
    (min.is_none_or(|min| min <= all) && max.is_none_or(|max| max >= 0.0)).then_some(())?;
    let bounds = [min.map(&at_least), max.map(|max| at_least(max + 1.0).not())];
    let mut bounds: Vec<Test> = bounds.into_iter().flatten().collect();
    if bounds.len() > 1 { Some(Test::All(bounds)) } else { bounds.pop() }
}

fn value_schema(operator: &str, literal: &Value, is_loose: bool) -> Option<Value> {
    let limit = |name: &str| {
        let number = literal.as_number()?;
        Some(json!({"type": "number", name: number}))
    };
    match operator {
        "==" if is_loose => Some(match literal {
            // `5 == '5'` there.
            Value::Number(number) => json!({"enum": [number, number.to_string()]}),
            Value::String(text) => match text.parse::<i64>() {
                Ok(number) if number.to_string() == *text => json!({"enum": [text, number]}),
                _ => json!({"const": text}),
            },
            literal => json!({"const": literal}),
        }),
        "===" | "==" => Some(json!({"const": literal})),
        "<" => limit("exclusiveMaximum"),
        "<=" => limit("maximum"),
        ">" => limit("exclusiveMinimum"),
        ">=" => limit("minimum"),
        _ => None,
    }
}
