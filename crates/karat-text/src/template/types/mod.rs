//! Texts beside numbers, and texts as truth values. Cells of a CSV file are texts, and minijinja puts every text above every
//! number and takes `false` for true: so a condition would hold for all rows or for none, and nobody would know.
//!
//! - a text beside a number, in a comparison, in `in` or in arithmetic, is an error; so are two texts whose order is not that
//!   of the numbers that they are, and their sum
//! - the texts true, false, yes, no, on and off, and numbers written as text, are not truth values; any other text is true
//!   unless it is empty
//!
//! `operands` writes the checks of this file around operands; filters and tests that compare have them built in.

pub(super) mod operands;

use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, Expression, State, Value, context};

use super::growth;
use super::json::Digits;

const COMPARE: &str = "karat_compare";
const MATH: &str = "karat_math";
const CONCAT: &str = "karat_concat";
const TRUTH: &str = "karat_truth";

/// Characters of a text that a message shows.
const SHOWN: usize = 40;

/// Texts that say whether something holds.
const TRUE_WORDS: [&str; 3] = ["true", "yes", "on"];
const FALSE_WORDS: [&str; 3] = ["false", "no", "off"];

/// An operand that has the wrong type: the problem and the advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypeMismatch {
    pub message: String,
    pub hint: String,
}

impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for TypeMismatch {}

impl TypeMismatch {
    /// The mismatch that an error of a rendering is about.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error).and_then(<dyn std::error::Error>::downcast_ref)
    }

    fn error(message: String, hint: String) -> Error {
        Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Self { message, hint })
    }
}

/// A value and the source that it comes from, which is empty where it is unknown.
#[derive(Clone, Copy)]
struct Operand<'a> {
    value: &'a Value,
    source: &'a str,
}

impl<'a> Operand<'a> {
    fn of_value(value: &'a Value) -> Self {
        Self { value, source: "" }
    }

    /// The operand in a sentence: `sample.n` is the text "5".
    fn describe(&self) -> String {
        let value = match self.value.as_str() {
            Some(text) => format!("the text {}", shorten(text)),
            None if is_number(self.value) => format!("the number {}", self.value),
            None => shorten_plain(&growth::concat([self.value]).unwrap_or_else(|_| "a large value".to_owned())),
        };
        if self.source.is_empty() || self.is_literal() { value } else { format!("`{}` ({value})", self.source) }
    }

    fn is_literal(&self) -> bool {
        self.source.starts_with(['"', '\'']) || self.source.parse::<f64>().is_ok()
    }

    /// The source with a filter behind it.
    fn with_filter(&self, filter: &str) -> String {
        let is_simple = self.source.chars().all(|it| it.is_alphanumeric() || "._[]\"'".contains(it));
        match (self.source, is_simple) {
            ("", _) => format!("`| {filter}`"),
            (source, true) => format!("`{source} | {filter}`"),
            (source, false) => format!("`({source}) | {filter}`"),
        }
    }
}

fn shorten(text: &str) -> String {
    let dots = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("{:?}{dots}", text.chars().take(SHOWN).collect::<String>())
}

fn shorten_plain(text: &str) -> String {
    let dots = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
    text.chars().take(SHOWN).collect::<String>() + dots
}

fn is_number(value: &Value) -> bool {
    value.kind() == ValueKind::Number || Digits::of(value).is_some()
}

fn number_in(text: &str) -> Option<f64> {
    let text = text.trim();
    let begins = text.trim_start_matches(['+', '-', '.']).starts_with(|it: char| it.is_ascii_digit());
    text.parse::<f64>().ok().filter(|number| begins && number.is_finite())
}

fn says_truth(text: &str) -> bool {
    let word = text.trim().to_lowercase();
    TRUE_WORDS.contains(&&*word) || FALSE_WORDS.contains(&&*word) || number_in(text).is_some()
}

pub(super) fn add(environment: &mut Environment<'_>) {
    use minijinja::{filters, tests};
    environment.add_function(COMPARE, compare_all);
    environment.add_function(MATH, calculate);
    environment.add_function(CONCAT, concat);
    environment.add_filter(TRUTH, |value: &Value, source: &str| {
        check_truth(Operand { value, source }).map(|()| value.clone())
    });
    environment.add_filter("bool", as_bool);
    environment.add_filter("karat int", filters::int);
    environment.add_filter("karat float", filters::float);
    for (name, inner) in [("int", "karat int"), ("float", "karat float")] {
        environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
            as_number(state, inner, arguments.0.into_iter().map(ValueOrKwargs::into_value).collect())
        });
    }
    environment.add_filter("karat select", filters::select);
    environment.add_filter("karat reject", filters::reject);
    environment.add_filter("karat selectattr", filters::selectattr);
    environment.add_filter("karat rejectattr", filters::rejectattr);
    for (name, inner, plain) in [
        ("select", "karat select", 1),
        ("reject", "karat reject", 1),
        ("selectattr", "karat selectattr", 2),
        ("rejectattr", "karat rejectattr", 2),
    ] {
        environment.add_filter(name, move |state: &mut State<'_, '_>, arguments: Rest<Value>| {
            if arguments.len() == plain {
                check_members(&arguments)?;
            }
            state.apply_filter(inner, &arguments)
        });
    }
    const SIGNS: [(&str, &[&str]); 7] = [
        ("==", &["eq", "equalto", "=="]),
        ("!=", &["ne", "!="]),
        ("<", &["lt", "lessthan", "<"]),
        ("<=", &["le", "<="]),
        (">", &["gt", "greaterthan", ">"]),
        (">=", &["ge", ">="]),
        ("in", &["in"]),
    ];
    environment.add_test("karat in", tests::is_in);
    for (sign, name) in SIGNS.iter().flat_map(|(sign, names)| names.iter().map(move |name| (*sign, *name))) {
        environment.add_test(name, move |state: &mut State<'_, '_>, one: &Value, other: &Value| {
            compare(state, sign, Operand::of_value(one), Operand::of_value(other))
        });
    }
    environment.add_test("karat divisibleby", tests::is_divisibleby);
    environment.add_test("divisibleby", |state: &mut State<'_, '_>, value: &Value, by: &Value| {
        check_pair("is divisibleby", Operand::of_value(value), Operand::of_value(by))?;
        state.perform_test("karat divisibleby", &[value.clone(), by.clone()])
    });
    for (name, rest) in [("odd", 1), ("even", 0)] {
        environment.add_test(name, move |value: &Value| {
            check_pair(&format!("is {name}"), Operand::of_value(value), Operand::of_value(&Value::from(2)))?;
            Ok::<_, Error>(i128::try_from(value.clone()).is_ok_and(|number| number.rem_euclid(2) == rest))
        });
    }
    for (name, wanted) in [("true", true), ("false", false)] {
        environment.add_test(name, move |value: &Value| {
            check_truth(Operand::of_value(value))?;
            Ok::<_, Error>(value.kind() == ValueKind::Bool && value.is_true() == wanted)
        });
    }
}

/// Returns whether a value holds, for a condition that is not within a template.
pub(super) fn truth(value: &Value, source: &str) -> Result<bool, TypeMismatch> {
    let mismatch = |error: Error| match TypeMismatch::of(&error) {
        Some(mismatch) => mismatch.clone(),
        None => TypeMismatch { message: error.to_string(), hint: String::new() },
    };
    check_truth(Operand { value, source }).map(|()| value.is_true()).map_err(mismatch)
}

fn check_truth(operand: Operand<'_>) -> Result<(), Error> {
    match operand.value.as_str().filter(|text| says_truth(text)) {
        None => Ok(()),
        Some(text) => Err(TypeMismatch::error(
            format!("{} is taken as a truth value, and every text but the empty one is true", operand.describe()),
            match number_in(text) {
                Some(_) => format!("write {} to ask for its value", operand.with_filter("int")),
                None => format!("write {} to ask for its value", operand.with_filter("bool")),
            },
        )),
    }
}

/// Checks what `select` and its kin take as truth values: the members of a list, or an attribute of each.
fn check_members(arguments: &[Value]) -> Result<(), Error> {
    let Some(list) = arguments.first().filter(|list| !list.is_undefined()) else { return Ok(()) };
    for member in list.try_iter().into_iter().flatten() {
        match arguments.get(1).and_then(Value::as_str) {
            None => check_truth(Operand::of_value(&member))?,
            Some(path) => {
                let value = path.split('.').try_fold(member, |value, name| value.get_attr(name)).unwrap_or_default();
                check_truth(Operand { value: &value, source: path })?;
            }
        }
    }
    Ok(())
}

/// `{{ sample.flag | bool }}`: the truth that a text says; any other value as a condition takes it.
fn as_bool(value: &Value) -> Result<bool, Error> {
    let Some(text) = value.as_str() else { return Ok(known_value(value)?.is_true()) };
    let word = text.trim().to_lowercase();
    let said = TRUE_WORDS.contains(&&*word) || !FALSE_WORDS.contains(&&*word) && !word.is_empty();
    Ok(number_in(text).map_or(said, |number| number != 0.0))
}

/// `int` and `float`, for texts with white space around the number too, and for numbers of any length.
fn as_number(state: &mut State<'_, '_>, filter: &str, mut arguments: Vec<Value>) -> Result<Value, Error> {
    let Some(value) = arguments.first_mut() else { return state.apply_filter(filter, &arguments) };
    if let Some(float) = Digits::of(value).and_then(Digits::float) {
        *value = Value::from(float);
    }
    let Some(text) = value.as_str().map(|text| text.trim().to_owned()) else {
        return state.apply_filter(filter, &arguments);
    };
    *value = Value::from(text.as_str());
    state.apply_filter(filter, &arguments).map_err(|_| {
        let name = filter.trim_start_matches("karat ");
        let message = format!("`{name}` needs a number, and {} is none", shorten(&text));
        TypeMismatch::error(message, format!("write `{name}(default=0)` for rows without one"))
    })
}

/// The value, or the error of an undefined name.
fn known_value(value: &Value) -> Result<&Value, Error> {
    if !value.is_undefined() {
        return Ok(value);
    }
    value.get_attr("").map(|_| value)
}

/// A chain of comparisons: `a < b <= c`. The arguments are each operand with its source, and the signs between them.
fn compare_all(state: &mut State<'_, '_>, arguments: Rest<Value>) -> Result<bool, Error> {
    let [first, source, rest @ ..] = arguments.as_slice() else { return Ok(true) };
    let mut left = Operand { value: known_value(first)?, source: source.as_str().unwrap_or_default() };
    for step in rest.chunks(3) {
        let [sign, value, source] = step else { break };
        let right = Operand { value: known_value(value)?, source: source.as_str().unwrap_or_default() };
        let holds = match sign.as_str().unwrap_or_default() {
            "not in" => !compare(state, "in", left, right)?,
            sign => compare(state, sign, left, right)?,
        };
        if !holds {
            return Ok(false);
        }
        left = right;
    }
    Ok(true)
}

fn compare(state: &mut State<'_, '_>, sign: &str, left: Operand<'_>, right: Operand<'_>) -> Result<bool, Error> {
    let (one, other) = (left.value, right.value);
    if growth::is_list(one) && growth::is_list(other) {
        growth::weigh(one)?;
        growth::weigh(other)?;
    }
    if sign == "in" {
        check_member(left, right)?;
        return state.perform_test("karat in", &[one.clone(), other.clone()]);
    }
    check_pair(sign, left, right)?;
    let order = order(one, other);
    match sign {
        "==" => return Ok(one == other),
        "!=" => return Ok(one != other),
        _ => {}
    }
    if let Some((a, b)) = one.as_str().and_then(number_in).zip(other.as_str().and_then(number_in))
        && a.total_cmp(&b) != order
    {
        let message = format!("{} and {} are compared letter by letter", left.describe(), right.describe());
        return Err(TypeMismatch::error(message, texts_hint(left)));
    }
    Ok(match sign {
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    })
}

fn order(one: &Value, other: &Value) -> Ordering {
    let float = |value: &Value| Digits::of(value).map_or_else(|| f64::try_from(value.clone()).ok(), Digits::float);
    match (Digits::of(one), Digits::of(other)) {
        (Some(_), None) | (None, Some(_)) => match (float(one), float(other)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => one.cmp(other),
        },
        _ => one.cmp(other),
    }
}

fn texts_hint(text: Operand<'_>) -> String {
    format!("cells of a CSV file are texts: write {} (or `float`) for a number", text.with_filter("int"))
}

/// Refuses a text beside a number, and a text that says a truth beside one.
fn check_pair(sign: &str, left: Operand<'_>, right: Operand<'_>) -> Result<(), Error> {
    for (text, other) in [(left, right), (right, left)] {
        let Some(content) = text.value.as_str() else { continue };
        if is_number(other.value) {
            let message = format!("`{sign}` has {} beside {}", text.describe(), other.describe());
            return Err(TypeMismatch::error(message, texts_hint(text)));
        }
        if other.value.kind() == ValueKind::Bool && says_truth(content) {
            let message = format!("`{sign}` has {} beside {}", text.describe(), other.describe());
            let hint = format!("cells of a CSV file are texts: write {}", text.with_filter("bool"));
            return Err(TypeMismatch::error(message, hint));
        }
    }
    Ok(())
}

/// Refuses to look for a number among texts, for a text among numbers, and for a number in a text.
fn check_member(needle: Operand<'_>, list: Operand<'_>) -> Result<(), Error> {
    if list.value.as_str().is_some() {
        return if is_number(needle.value) { check_pair("in", needle, list) } else { Ok(()) };
    }
    if !matches!(list.value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Ok(());
    }
    let (mut others, mut alike) = (None, false);
    for member in list.value.try_iter()? {
        if member == *needle.value {
            return Ok(());
        }
        let is_other = check_pair("in", needle, Operand::of_value(&member)).is_err();
        let is_same_number = match (needle.value.as_str(), member.as_str()) {
            (Some(text), None) | (None, Some(text)) => {
                let number = if needle.value.as_str().is_some() { &member } else { needle.value };
                number_in(text)
                    .is_some_and(|it| f64::try_from(number.clone()).is_ok_and(|number| number.total_cmp(&it).is_eq()))
            }
            _ => false,
        };
        if is_other && is_same_number {
            return check_pair("in", needle, Operand::of_value(&member));
        }
        alike |= !is_other;
        others = others.or(Some(member).filter(|_| is_other));
    }
    match others {
        Some(member) if !alike => check_pair("in", needle, Operand::of_value(&member)),
        _ => Ok(()),
    }
}

static BARE: LazyLock<Environment<'static>> = LazyLock::new(Environment::new);

/// The operators by themselves, for operands that have been checked.
static OPERATIONS: LazyLock<Vec<(&str, Expression<'static, 'static>)>> = LazyLock::new(|| {
    let signs = ["+", "-", "*", "/", "//", "%", "**"];
    let compiled = |sign: &'static str| Some((sign, BARE.compile_expression_owned(format!("a {sign} b")).ok()?));
    signs.into_iter().filter_map(compiled).collect()
});

/// A chain of arithmetic: `a + b - c`, from the left. The arguments are as those of [`compare_all`].
fn calculate(arguments: Rest<Value>) -> Result<Value, Error> {
    let [first, source, rest @ ..] = arguments.as_slice() else { return Ok(Value::UNDEFINED) };
    let mut result = known_value(first)?.clone();
    let mut left_source = source.as_str().unwrap_or_default();
    for step in rest.chunks(3) {
        let [sign, value, source] = step else { break };
        let sign = sign.as_str().unwrap_or_default();
        let left = Operand { value: &result, source: left_source };
        let right = Operand { value: known_value(value)?, source: source.as_str().unwrap_or_default() };
        check_operands(sign, left, right)?;
        let float =
            |value: &Value| Digits::of(value).and_then(Digits::float).map_or_else(|| value.clone(), Value::from);
        let operation = OPERATIONS.iter().find(|(known, _)| *known == sign);
        let operation = operation.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "an unknown operator"))?;
        let calculated = operation.1.eval(context! { a => float(left.value), b => float(right.value) });
        // Its place is that of the operation in the author's source.
        result = calculated.map_err(|error| match error.detail() {
            Some(detail) => Error::new(error.kind(), detail.to_owned()),
            None => Error::from(error.kind()),
        })?;
        growth::check_size(&result)?;
        left_source = "";
    }
    Ok(result)
}

/// A chain of `a ~ b ~ c`. The arguments are as those of [`compare_all`].
fn concat(arguments: Rest<Value>) -> Result<String, Error> {
    let values = arguments.iter().step_by(3).map(known_value).collect::<Result<Vec<_>, _>>()?;
    growth::concat(values)
}

fn check_operands(sign: &str, left: Operand<'_>, right: Operand<'_>) -> Result<(), Error> {
    let numbers = (left.value.as_str().and_then(number_in), right.value.as_str().and_then(number_in));
    match (sign, numbers) {
        // A text times a number repeats the text.
        ("*", (None, None)) => Ok(()),
        ("+", (Some(_), Some(_))) => {
            let message = format!("`+` would join {} and {}", left.describe(), right.describe());
            let hint = format!("write {} to add numbers, or `~` to join texts", left.with_filter("int"));
            Err(TypeMismatch::error(message, hint))
        }
        _ => check_pair(sign, left, right),
    }
}
