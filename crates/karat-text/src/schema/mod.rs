//! Checks of JSON values against JSON Schemas, within a bound.
//!
//! A schema may refer to itself, and a value of a few hundred bytes can then make a check take exponential time, or its list
//! of errors all memory. So every reading of the value counts as a step, and a check that takes too many ends with
//! [`TooManySteps`]. Errors are listed only for a value that is known to be invalid, up to a number of them.
//!
//! ```
//! use karat_text::schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::new(&json!({ "required": ["id"] }))?;
//! assert_eq!(schema.is_valid(&json!({ "id": 7 })), Ok(true));
//! let value = json!({});
//! assert_eq!(schema.errors(&value)?[0].to_string(), "\"id\" is a required property");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ecma;

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::error::ValidationErrorKind;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use jsonschema::types::JsonType;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Number, Value};

/// Steps of a check: [`STEPS`], and more for large values. A check of a usual schema takes a few for each value within.
const STEPS: u64 = 1_000_000;
const STEPS_EACH: u64 = 200;

/// Largest number of errors that are listed. Each may take some kilobytes.
const MOST_ERRORS: u64 = 1_000;

/// Bytes of the stack for one level of a schema or value, and the stack that checks have at most.
const LEVEL: usize = 8 * 1024;
const MOST_STACK: usize = 256 * 1024 * 1024;

/// A check that was ended because it takes too many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "checking it against the JSON Schema takes more than {0} steps: a schema that refers to itself in several ways, a chain of `$ref`, `anyOf` or `oneOf`, or a `pattern` that can match in many ways multiplies them; simplify the schema"
)]
pub struct TooManySteps(u64);

/// Steps of one pattern, which may look around and refer back as those of ECMA-262 do.
const PATTERN_STEPS: usize = 100_000;

/// A schema, compiled once. References outside of the schema are refused, never fetched.
#[derive(Debug, Clone)]
pub struct Schema {
    validator: Validator<Counted>,
    /// Levels of the schema on its longest way through references.
    levels: usize,
    /// True if it may have patterns.
    has_patterns: bool,
}

impl Schema {
    /// Compiles a schema, or the one in a [wrapper](unwrap_envelope); the draft is the one that `$schema` names, else 2020-12.
    /// Patterns are those of ECMA-262.
    ///
    /// # Errors
    /// The value is not a schema, refers to another document, or has a pattern that cannot be used.
    pub fn new(schema: &Value) -> Result<Self, ValidationError<'static>> {
        let schema = unwrap_envelope(schema);
        let patterns = PatternOptions::fancy_regex().backtrack_limit(PATTERN_STEPS);
        let options = jsonschema::options_for::<Counted>().with_pattern_options(patterns);
        let has_patterns = schema.to_string().contains("\"pattern");
        let translated = ecma::translate(schema);
        let validator = options.offline().build(translated.as_ref().unwrap_or(schema))?;
        Ok(Self { validator, levels: levels(schema), has_patterns })
    }

    /// Returns true if the value obeys the schema.
    ///
    /// # Errors
    /// The check takes too many steps.
    pub fn is_valid(&self, value: &Value) -> Result<bool, TooManySteps> {
        let is_valid = self.check_within(value, u64::MAX, || self.validator.is_valid(CountedNode(value)))?;
        if !is_valid && self.has_patterns {
            // A pattern that was not decided counts as one that does not match.
            let is_undecided = |error: &ValidationError<'_>| {
                matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. })
            };
            let check = || self.validator.iter_errors(CountedNode(value)).any(|error| is_undecided(&error));
            if self.check_within(value, MOST_ERRORS, check).unwrap_or(false) {
                return Err(TooManySteps(PATTERN_STEPS as u64));
            }
        }
        Ok(is_valid)
    }

    /// The ways in which a value breaks the schema; none if it obeys. Of more than a thousand only the first.
    ///
    /// # Errors
    /// The check takes too many steps.
    pub fn errors<'v>(&'v self, value: &'v Value) -> Result<Vec<ValidationError<'v>>, TooManySteps> {
        if self.is_valid(value)? {
            return Ok(Vec::new());
        }
        let all = self.check_within(value, MOST_ERRORS, || self.validator.iter_errors(CountedNode(value)).collect());
        Ok(all.unwrap_or_else(|_| vec![self.any_error(value)]))
    }

    /// The first way in which a value breaks the schema; `None` if it obeys.
    ///
    /// # Errors
    /// The check takes too many steps.
    pub fn first_error<'v>(&self, value: &'v Value) -> Result<Option<ValidationError<'v>>, TooManySteps> {
        Ok(if self.is_valid(value)? { None } else { Some(self.any_error(value)) })
    }

    /// An error of a value that is known to be invalid.
    fn any_error<'v>(&self, value: &'v Value) -> ValidationError<'v> {
        let first = self.check_within(value, MOST_ERRORS, || self.validator.validate(CountedNode(value)).err());
        first
            .ok()
            .flatten()
            .unwrap_or_else(|| ValidationError::custom("it does not match the schema, in more ways than can be listed"))
    }

    /// Runs a check, with as many steps as the value's size allows and a stack for its depth.
    fn check_within<T>(&self, value: &Value, errors: u64, check: impl FnOnce() -> T) -> Result<T, TooManySteps> {
        let (size, depth) = measure(value);
        let steps = STEPS.saturating_add(STEPS_EACH.saturating_mul(size));
        let stack = LEVEL.saturating_mul(self.levels).saturating_mul(depth + 1);
        if stack > MOST_STACK {
            return Err(TooManySteps(steps));
        }
        let before = BUDGET.replace(Some(Budget { steps, errors }));
        let outcome = stacker::maybe_grow(stack, stack, || catch_unwind(AssertUnwindSafe(check)));
        BUDGET.set(before);
        outcome.map_err(|payload| if payload.is::<Spent>() { TooManySteps(steps) } else { resume_unwind(payload) })
    }
}

/// The schema within the form in which providers of models take it: `{name, strict, schema}`, also as `json_schema` of a
/// response format, and the arguments of a tool or function; any other value as it is.
pub fn unwrap_envelope(schema: &Value) -> &Value {
    const BESIDE: [&str; 4] = ["type", "name", "description", "strict"];
    const WITHIN: [&str; 6] = ["schema", "json_schema", "function", "parameters", "input_schema", "input"];
    // These are types of a wrapper, and none of JSON.
    const TYPES: [&str; 2] = ["json_schema", "function"];
    let Some(members) = schema.as_object() else { return schema };
    let mut inner = members.iter().filter(|(key, _)| WITHIN.contains(&key.as_str()));
    let is_beside = |key: &&String| !WITHIN.contains(&key.as_str());
    let is_text = |key: &str| members.get(key).is_none_or(Value::is_string);
    let is_wrapper = members.keys().filter(is_beside).all(|key| BESIDE.contains(&key.as_str()))
        && members.get("type").is_none_or(|kind| TYPES.iter().any(|one| kind == one))
        && (members.contains_key("name") || members.contains_key("type"))
        && is_text("name")
        && is_text("description");
    match (inner.next(), inner.next()) {
        (Some((_, inner)), None) if is_wrapper && (inner.is_object() || inner.is_boolean()) => unwrap_envelope(inner),
        _ => schema,
    }
}

/// The values within a value, and their depth.
fn measure(value: &Value) -> (u64, usize) {
    let (mut size, mut deepest) = (0, 0);
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        size += 1;
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    (size, deepest)
}

/// Levels of a schema on its longest way through parts and references. It is found without recursion: a chain of
/// references may be long.
fn levels(schema: &Value) -> usize {
    let address = |part: &Value| std::ptr::from_ref(part).addr();
    // Levels by address of a part; of one that is being measured none.
    let mut known: HashMap<usize, usize> = HashMap::new();
    let mut open = vec![(schema, false)];
    while let Some((part, is_measured)) = open.pop() {
        let Some(below) = parts_below(schema, part) else {
            // Each part may be on the way.
            return usize::try_from(measure(schema).0).unwrap_or(usize::MAX);
        };
        if is_measured {
            let deepest = below.iter().filter_map(|part| known.get(&address(part))).max().copied().unwrap_or_default();
            known.insert(address(part), deepest + 1);
        } else if let Entry::Vacant(place) = known.entry(address(part)) {
            place.insert(0);
            open.push((part, true));
            open.extend(below.into_iter().map(|part| (part, false)));
        }
    }
    known.get(&address(schema)).copied().unwrap_or_default()
}

/// The parts that a part of a schema holds or refers to; `None` where a reference is no plain path within the schema.
fn parts_below<'s>(schema: &'s Value, part: &'s Value) -> Option<Vec<&'s Value>> {
    let mut below: Vec<&Value> = match part {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    below.retain(|part| part.is_object() || part.is_array());
    for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
        if let Some(reference) = part.get(key).and_then(Value::as_str) {
            below.push(schema.pointer(reference.strip_prefix('#')?)?);
        }
    }
    Some(below)
}

/// The steps and errors that the check of this thread has left.
#[derive(Clone, Copy)]
struct Budget {
    steps: u64,
    errors: u64,
}

/// The end of a check whose budget is spent.
struct Spent;

thread_local! {
    static BUDGET: Cell<Option<Budget>> = const { Cell::new(None) };
}

/// Counts steps and errors, and ends the check when none are left. Nothing in the validator can be told to stop, so the
/// check is unwound, without a message of a panic.
fn count(steps: u64, errors: u64) {
    let Some(left) = BUDGET.get() else { return };
    match (left.steps.checked_sub(steps), left.errors.checked_sub(errors)) {
        (Some(steps), Some(errors)) => BUDGET.set(Some(Budget { steps, errors })),
        _ => {
            // While it unwinds, nothing counts.
            BUDGET.set(None);
            resume_unwind(Box::new(Spent) as Box<dyn Any + Send>)
        }
    }
}

/// Counts the reading of a text: formats and patterns read all of it.
fn count_text(value: &Value) {
    count(1 + value.as_str().map_or(0, |text| text.len() as u64 / 64), 0);
}

/// JSON whose readings count.
struct Counted;

/// A value whose readings count.
#[derive(Clone, Copy)]
struct CountedNode<'a>(&'a Value);

/// A list or object whose members count.
struct CountedItems<'a, T: ?Sized>(&'a T);

impl Json for Counted {
    type Node<'a> = CountedNode<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    const KEYS_PER_LOOKUP: usize = SerdeJson::KEYS_PER_LOOKUP;

    fn prepare_key(key: &str) -> String {
        SerdeJson::prepare_key(key)
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(CountedNode<'_>) -> T) -> T {
        SerdeJson::with_string_node(buffer, string, |value| f(CountedNode(value)))
    }
}

impl<'a> Node<'a, Counted> for CountedNode<'a> {
    type Object = CountedItems<'a, Map<String, Value>>;
    type Array = CountedItems<'a, [Value]>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Self::Object> {
        count(1, 0);
        self.0.as_object().map(CountedItems)
    }

    fn as_array(&self) -> Option<Self::Array> {
        count(1, 0);
        self.0.as_array().map(|items| CountedItems(items.as_slice()))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        count_text(self.0);
        self.0.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        count(1, 0);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        count(1, 0);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        count(1, 0);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        count(1, 0);
        Node::<SerdeJson>::json_type(&self.0)
    }

    fn string_length(&self) -> Option<u64> {
        count_text(self.0);
        Node::<SerdeJson>::string_length(&self.0)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        let is_compared = expected.is_array() && self.0.is_array() || expected.is_object() && self.0.is_object();
        count(if is_compared { measure(self.0).0 } else { 1 }, 0);
        Node::<SerdeJson>::equals_value(&self.0, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        // It is asked for where an error is made.
        count(1, 1);
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        count(1, 0);
        Node::<SerdeJson>::identity(&self.0)
    }
}

/// The members of an object as nodes.
struct Members<'a>(serde_json::map::Iter<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, CountedNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        count(1, 0);
        self.0.next().map(|(name, value)| (name.as_str(), CountedNode(value)))
    }
}

/// The items of a list as nodes.
struct Items<'a>(std::slice::Iter<'a, Value>);

impl<'a> Iterator for Items<'a> {
    type Item = CountedNode<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        count(1, 0);
        self.0.next().map(CountedNode)
    }
}

impl<'a> Object<'a, Counted> for CountedItems<'a, Map<String, Value>> {
    type Node = CountedNode<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<CountedNode<'a>> {
        count(1, 0);
        self.0.get(key.as_str()).map(CountedNode)
    }

    fn members(&self) -> Members<'a> {
        Members(self.0.iter())
    }
}

impl<'a> Array<'a, Counted> for CountedItems<'a, [Value]> {
    type Node = CountedNode<'a>;
    type ElementsIter = Items<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> Items<'a> {
        Items(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        count(self.0.iter().map(|item| measure(item).0).sum(), 0);
        Array::<SerdeJson>::is_unique(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(schema: &Value) -> Schema {
        Schema::new(schema).unwrap()
    }

    /// A value `depth` levels deep.
    fn nested(depth: usize, inner: Value, around: impl Fn(Value) -> Value) -> Value {
        (0..depth).fold(inner, |value, _| around(value))
    }

    /// The definitions `d0` to `dN`, each `combinator` of twice the next one, and the last one as given.
    fn chain(length: usize, combinator: &str, last: Value) -> Value {
        let mut definitions: Map<String, Value> = (0..length)
            .map(|at| {
                let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
                (format!("d{at}"), json!({combinator: [next, next]}))
            })
            .collect();
        definitions.insert(format!("d{length}"), last);
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    /// X6: a schema that refers to itself in several ways is decided, and its errors are few.
    #[test]
    fn recursive_schemas_are_decided() {
        let node = |op: &str| {
            json!({"type": "object", "required": ["op", "args"], "properties": {
                "op": {"const": op}, "args": {"type": "array", "items": {"$ref": "#/$defs/node"}}}})
        };
        for combinator in ["anyOf", "oneOf"] {
            let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {combinator: [node("and"), node("or"), {"type": "string"}]}}});
            for (op, is_valid) in [("or", true), ("xor", false)] {
                let value = nested(40, json!("x"), |value| json!({"op": op, "args": [value]}));
                assert_eq!(schema(&tree).is_valid(&value), Ok(is_valid), "{combinator} {op}");
                let count = |schema: &Schema| schema.errors(&value).unwrap().len();
                assert_eq!(count(&schema(&tree)), usize::from(!is_valid), "{combinator} {op}");
                assert_eq!(schema(&tree).first_error(&value).unwrap().is_some(), !is_valid);
            }
            let items = json!({"type": "array", "items": {combinator: [{"$ref": "#"}, {"$ref": "#"}]}});
            let value = nested(60, json!("x"), |value| json!([value]));
            assert!(schema(&items).errors(&value).is_ok_and(|errors| !errors.is_empty()), "{combinator}");
        }
        let all = json!({"type": "array", "items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}});
        let value = nested(60, json!("x"), |value| json!([value]));
        assert_eq!(schema(&all).errors(&value).unwrap().len(), 1);
    }

    /// X6: a chain of definitions, which multiplies the steps for a text, ends with an error and not with the process.
    #[test]
    fn chains_of_definitions_are_bounded() {
        let count = |schema: &Schema, value: &Value| schema.errors(value).map(|errors| errors.len());
        for combinator in ["anyOf", "oneOf", "allOf"] {
            let long = schema(&chain(
                30,
                combinator,
                json!({"type": if combinator == "allOf" { "string" } else { "number" }}),
            ));
            assert!(count(&long, &json!("x")).is_err(), "{combinator}");
        }
        let outcome = schema(&chain(30, "anyOf", json!({"type": "number"}))).is_valid(&json!("x"));
        assert!(outcome.unwrap_err().to_string().contains("more than 1000200 steps"));
        // Nothing is left of a check that was ended.
        assert_eq!(schema(&json!({"type": "string"})).is_valid(&json!("x")), Ok(true));
    }

    /// X6: a long chain does not overflow the stack, also of a thread with little of it.
    #[test]
    fn long_chains_have_a_stack() {
        let definitions: Map<String, Value> = (0..3_000)
            .map(|at| (format!("d{at}"), json!({"allOf": [{"$ref": format!("#/$defs/d{}", at + 1)}]})))
            .chain([("d3000".to_owned(), json!({"type": "number"}))])
            .collect();
        let long = schema(&json!({"$ref": "#/$defs/d0", "$defs": definitions}));
        let check = move || (long.is_valid(&json!(1)), long.errors(&json!("x")).map(|errors| errors.len()));
        let small = std::thread::Builder::new().stack_size(256 * 1024).spawn(check).unwrap();
        assert_eq!(small.join().unwrap(), (Ok(true), Ok(1)));
    }

    /// X6: errors of a value with very many are not listed all; one is.
    #[test]
    fn very_many_errors_are_one() {
        let list = schema(&json!({"type": "array", "items": {"type": "number"}}));
        let value = |length: usize| Value::Array(vec![json!("x"); length]);
        assert_eq!(list.errors(&value(900)).unwrap().len(), 900);
        assert_eq!(list.errors(&value(5_000)).unwrap().len(), 1);
        // Size alone is not a reason: each value has its steps.
        assert_eq!(list.is_valid(&Value::Array(vec![json!(1); 500_000])), Ok(true));
    }

    /// F27: a schema in the form of a provider is read as the schema within.
    #[test]
    fn wrapped_schemas_are_unwrapped() {
        let inner = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}});
        for wrapped in [
            json!({"name": "ticket", "strict": true, "schema": inner}),
            json!({"name": "ticket", "schema": inner, "description": "A ticket"}),
            json!({"type": "json_schema", "json_schema": {"name": "ticket", "strict": true, "schema": inner}}),
            json!({"type": "json_schema", "name": "ticket", "strict": true, "schema": inner}),
            json!({"type": "function", "function": {"name": "ticket", "parameters": inner}}),
            json!({"name": "ticket", "input_schema": inner}),
        ] {
            assert_eq!(unwrap_envelope(&wrapped), &inner, "{wrapped}");
            assert_eq!(schema(&wrapped).is_valid(&json!({"id": "7"})), Ok(false), "{wrapped}");
            assert_eq!(schema(&wrapped).is_valid(&json!({"id": 7})), Ok(true), "{wrapped}");
        }
        for plain in [
            json!(true),
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"name": {}, "schema": {}}}),
            json!({"type": "object", "name": "x", "schema": {"type": "string"}}),
            json!({"name": "x", "schema": {}, "required": ["a"]}),
            json!({"name": "x", "schema": "schema.json"}),
        ] {
            assert_eq!(unwrap_envelope(&plain), &plain);
        }
    }

    /// F27: patterns are those of ECMA-262; one that would take for ever leaves the value undecided.
    #[test]
    fn patterns_are_those_of_ecma() {
        for (pattern, valid, invalid) in [
            ("^(?=.*[0-9]).{4,}$", "abc1", "abcd"),
            ("^(?!admin)[a-z]+$", "user", "admin"),
            ("(?<=\\$)\\d+", "$12", "12"),
            (r"^(\w)\1$", "aa", "ab"),
            (r"^(?<a>\d)-\k<a>$", "1-1", "1-2"),
            (r"^\u0041\/$", "A/", "B/"),
            (r"^[^]$", "x", "xy"),
            (r"^\p{L}+$", "é", "1"),
        ] {
            let schema = schema(&json!({"pattern": pattern}));
            assert_eq!(schema.is_valid(&json!(valid)), Ok(true), "{pattern}");
            assert_eq!(schema.is_valid(&json!(invalid)), Ok(false), "{pattern}");
        }
        assert!(Schema::new(&json!({"properties": {"a": {"pattern": "(["}}})).is_err());
        let slow = schema(&json!({"properties": {"a": {"pattern": "^((a+)\\2?)+b$"}}}));
        let text = json!({"a": "a".repeat(60)});
        assert!(slow.is_valid(&text).is_err() && slow.errors(&text).is_err() && slow.first_error(&text).is_err());
    }

    /// Values are read as `jsonschema` reads them: keywords over names, texts, numbers and lists.
    #[test]
    fn values_are_read_as_they_are() {
        for (text, valid, invalid) in [
            (json!({"propertyNames": {"maxLength": 2}}), json!({"ab": 1}), json!({"abc": 1})),
            (json!({"pattern": "^a+$"}), json!("aa"), json!("b")),
            (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1.0])),
            (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
            (json!({"enum": [[1], {"a": 2}]}), json!({"a": 2.0}), json!({"a": 3})),
            (json!({"minLength": 2}), json!("éé"), json!("é")),
            (json!({"type": ["null", "boolean", "integer"]}), json!(true), json!(1.5)),
            (json!({"unevaluatedProperties": false, "properties": {"a": true}}), json!({"a": 1}), json!({"b": 1})),
        ] {
            assert_eq!(schema(&text).is_valid(&valid), Ok(true), "{text}");
            assert_eq!(schema(&text).is_valid(&invalid), Ok(false), "{text}");
            assert_eq!(schema(&text).errors(&invalid).unwrap().len(), 1, "{text}");
        }
    }
}
