//! Paths into one document: `a.b[0]`, `$.a[*].b`, `["a key"]`, `$.a[?@.kind == "text"].id`, `$`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

/// A parsed path. `$` is the document itself and may be left out at the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Path(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    /// `.name` or `["name"]`.
    Key(String),
    /// `[3]`.
    Index(usize),
    /// `[*]`: every member of a list or object.
    Every,
    /// `[?@.kind == "text"]`: every member that has a field of this text (RFC 9535, equality alone).
    Where(String, String),
}

/// The reason why a path leads to no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    /// The value, or one on the way to it, is null.
    Null,
    /// A name on the way is missing.
    Missing,
}

/// A text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a path: {problem} at byte {at}; write paths like `a.b[0]` or `$.items[*].name`")]
pub struct PathError {
    /// The text.
    pub text: String,
    /// The problem.
    pub problem: &'static str,
    /// Where.
    pub at: usize,
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// A text that breaks the notation, with the place.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let mut parser = PathParser { text, at: 0, steps: Vec::new() };
        parser.run().map_err(|problem| PathError { text: text.to_owned(), problem, at: parser.at })?;
        Ok(Self(parser.steps))
    }

    /// The document itself.
    pub fn root() -> Self {
        Self(Vec::new())
    }

    /// True if it names the document itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The first value it names, where there is one.
    pub fn first<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        first(&self.0, document)
    }

    /// The first value it names, for writing.
    pub fn first_mut<'a>(&self, document: &'a mut Value) -> Option<&'a mut Value> {
        let mut place = document;
        for step in &self.0 {
            place = match step {
                Step::Key(key) => place.get_mut(key)?,
                Step::Index(index) => place.get_mut(*index)?,
                Step::Every | Step::Where(..) => match place {
                    Value::Array(items) => items.iter_mut().find(|item| step.admits(item))?,
                    Value::Object(members) => members.values_mut().find(|member| step.admits(member))?,
                    _ => return None,
                },
            };
        }
        Some(place)
    }

    /// All values it names, in document order.
    pub fn all<'a>(&self, document: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![document];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.members(value)).collect();
        }
        found
    }

    /// The first value it names within an object, where there is one. `$` itself names nothing here.
    pub fn first_in<'a>(&self, members: &'a Map<String, Value>) -> Option<&'a Value> {
        if let Some((Step::Key(key), rest)) = self.0.split_first() {
            return first(rest, member(members, key)?);
        }
        let (entry, rest) = self.enter(members)?;
        entry.into_iter().find_map(|value| first(rest, value))
    }

    /// All values it names within an object, in document order. `$` itself names nothing here.
    pub fn all_in<'a>(&self, members: &'a Map<String, Value>) -> Vec<&'a Value> {
        let Some((entry, rest)) = self.enter(members) else { return Vec::new() };
        rest.iter().fold(entry, |found, step| found.into_iter().flat_map(|value| step.members(value)).collect())
    }

    /// The values that the first step names within an object, and the other steps.
    fn enter<'a>(&self, members: &'a Map<String, Value>) -> Option<(Vec<&'a Value>, &[Step])> {
        let (step, rest) = self.0.split_first()?;
        let entry = match step {
            Step::Key(key) => members.get(key).into_iter().collect(),
            Step::Every | Step::Where(..) => members.values().filter(|member| step.admits(member)).collect(),
            Step::Index(_) => Vec::new(),
        };
        Some((entry, rest))
    }

    /// True if it leads to a value, or to a list that is empty, null, or without a member that it asks for. False if a name
    /// on the way is missing.
    pub fn reaches(&self, document: &Value) -> bool {
        let mut found = vec![document];
        for step in &self.0 {
            let next: Vec<&Value> = found.iter().flat_map(|value| step.members(value)).collect();
            if next.is_empty() {
                let may_be_empty = |value: &&Value| matches!(value, Value::Array(_) | Value::Object(_) | Value::Null);
                return matches!(step, Step::Every | Step::Where(..)) && found.iter().any(may_be_empty);
            }
            found = next;
        }
        true
    }

    /// The reason why it leads to no value; `None` where it leads to one, or to a list that is empty.
    pub fn gap(&self, document: &Value) -> Option<Gap> {
        let mut found = vec![document];
        for step in &self.0 {
            let next: Vec<&Value> = found.iter().flat_map(|value| step.members(value)).collect();
            if next.is_empty() {
                let is_name = matches!(step, Step::Key(_) | Step::Index(_));
                return match found.iter().all(|value| value.is_null()) {
                    true => Some(Gap::Null),
                    false => is_name.then_some(Gap::Missing),
                };
            }
            found = next;
        }
        (!self.is_plural() && found.iter().all(|value| value.is_null())).then_some(Gap::Null)
    }

    /// The first name of this path that is missing in all documents, and the names that stand in its place, each with the
    /// path that has it there. `None` if no name is missing.
    pub fn alternatives<'a>(
        &self,
        documents: impl IntoIterator<Item = &'a Value>,
    ) -> Option<(&str, Vec<(String, Self)>)> {
        let mut found: Vec<&Value> = documents.into_iter().collect();
        for (at, step) in self.0.iter().enumerate() {
            let next: Vec<&Value> = found.iter().flat_map(|value| step.members(value)).collect();
            if let (true, Step::Key(missing)) = (next.is_empty(), step) {
                let names: BTreeSet<&String> =
                    found.iter().filter_map(|value| value.as_object()).flat_map(Map::keys).collect();
                let renamed = |name: &String| {
                    let mut steps = self.0.clone();
                    steps[at] = Step::Key(name.clone());
                    Self(steps)
                };
                return Some((missing, names.into_iter().map(|name| (name.clone(), renamed(name))).collect()));
            }
            found = next;
        }
        None
    }

    /// True if it may name more than one value.
    pub fn is_plural(&self) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Every | Step::Where(..)))
    }
}

/// The most members that are compared with a name before hashing it is cheaper.
const FEW: usize = 8;

/// A member of an object. It does not hash the name where there are few members, as in most rows.
pub fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if members.len() > FEW {
        return members.get(name);
    }
    members.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

fn first<'a>(steps: &[Step], value: &'a Value) -> Option<&'a Value> {
    match steps.split_first() {
        None => Some(value),
        Some((Step::Key(key), rest)) => first(rest, member(value.as_object()?, key)?),
        Some((step, rest)) => step.members(value).into_iter().find_map(|member| first(rest, member)),
    }
}

impl Step {
    fn members<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Key(key), _) => value.get(key).into_iter().collect(),
            (Self::Index(index), _) => value.get(*index).into_iter().collect(),
            (_, Value::Array(items)) => items.iter().filter(|item| self.admits(item)).collect(),
            (_, Value::Object(members)) => members.values().filter(|member| self.admits(member)).collect(),
            _ => Vec::new(),
        }
    }

    /// True if a member is one of those that are meant.
    fn admits(&self, member: &Value) -> bool {
        let Self::Where(key, wanted) = self else { return true };
        match member.get(key) {
            Some(Value::String(text)) => text == wanted,
            Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                let shown = value.to_string();
                shown == *wanted
            }
            _ => false,
        }
    }
}

struct PathParser<'a> {
    text: &'a str,
    at: usize,
    steps: Vec<Step>,
}

impl PathParser<'_> {
    fn run(&mut self) -> Result<(), &'static str> {
        if self.text.is_empty() {
            return Err("it is empty");
        }
        if !self.eat("$") && !self.rest().starts_with('[') {
            self.name()?;
        }
        while self.at < self.text.len() {
            if self.eat(".") {
                self.name()?;
            } else if self.eat("[") {
                self.bracket()?;
            } else {
                return Err("a `.` or `[` is expected");
            }
        }
        Ok(())
    }

    fn name(&mut self) -> Result<(), &'static str> {
        let end = self.rest().find(['.', '[', ']']).unwrap_or(self.rest().len());
        let name = self.rest()[..end].trim();
        if name.is_empty() {
            return Err("a name is expected");
        }
        self.steps.push(if name == "*" { Step::Every } else { Step::Key(name.to_owned()) });
        self.at += end;
        Ok(())
    }

    fn bracket(&mut self) -> Result<(), &'static str> {
        if self.eat("*]") {
            self.steps.push(Step::Every);
            return Ok(());
        }
        if self.eat("?") {
            return self.condition();
        }
        for quote in ['"', '\''] {
            if self.rest().starts_with(quote) {
                return self.parse_quoted(quote);
            }
        }
        let end = self.rest().find(']').ok_or("`]` is missing")?;
        let index = self.rest()[..end].trim().parse().map_err(|_| "a number, `*` or a quoted name is expected")?;
        self.steps.push(Step::Index(index));
        self.at += end + 1;
        Ok(())
    }

    /// `@.kind == "text"]`, after the question mark.
    fn condition(&mut self) -> Result<(), &'static str> {
        const FORM: &str = "a condition like `@.kind == \"text\"` is expected";
        let (key, rest) = self.rest().split_once("==").ok_or(FORM)?;
        let key = key.trim().strip_prefix("@.").filter(|key| !key.is_empty()).ok_or(FORM)?;
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or(FORM)?;
        let (wanted, rest) = rest[1..].split_once(quote).ok_or("the closing quote is missing")?;
        let rest = rest.trim_start().strip_prefix(']').ok_or("`]` is missing")?;
        let step = Step::Where(key.to_owned(), wanted.to_owned());
        self.at = self.text.len() - rest.len();
        self.steps.push(step);
        Ok(())
    }

    fn parse_quoted(&mut self, quote: char) -> Result<(), &'static str> {
        let inner = &self.rest()[1..];
        let end = inner.find(quote).ok_or("the closing quote is missing")?;
        let key = inner[..end].to_owned();
        self.at += end + 2;
        self.steps.push(Step::Key(key));
        if self.eat("]") { Ok(()) } else { Err("`]` is missing") }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn eat(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.0.iter().try_for_each(|step| match step {
            Step::Key(key) if is_plain(key) => write!(f, ".{key}"),
            Step::Key(key) if key.contains('"') => write!(f, "['{key}']"),
            Step::Key(key) => write!(f, "[\"{key}\"]"),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Every => f.write_str("[*]"),
            Step::Where(key, wanted) => {
                let quote = if wanted.contains('"') { '\'' } else { '"' };
                write!(f, "[?@.{key} == {quote}{wanted}{quote}]")
            }
        })
    }
}

/// True if a key is shown behind a point: a plain word, and a name that holds both quotes, which can be written in no other
/// way.
fn is_plain(key: &str) -> bool {
    let is_word = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    is_word || (key.contains('"') && key.contains('\''))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all(path: &str, document: &Value) -> Vec<Value> {
        Path::parse(path).unwrap().all(document).into_iter().cloned().collect()
    }

    #[test]
    fn every_form_finds_its_values() {
        let document = json!({"a": {"b": [1, 2]}, "items": [{"n": "x"}, {"m": 0}, {"n": "y"}], "a key": 3});
        assert_eq!(all("a.b[0]", &document), [json!(1)]);
        assert_eq!(all("$.a.b", &document), [json!([1, 2])]);
        assert_eq!(all("$", &document), std::slice::from_ref(&document));
        assert_eq!(all("$.items[*].n", &document), [json!("x"), json!("y")]);
        assert_eq!(all("items.*.n", &document), [json!("x"), json!("y")]);
        assert_eq!(all("[\"a key\"]", &document), [json!(3)]);
        assert_eq!(all("$['a key']", &document), [json!(3)]);
        assert_eq!(all("a.c.d", &document), Vec::<Value>::new());
    }

    /// RG-03: one list of several kinds of things is taken apart by a field.
    #[test]
    fn conditions_choose_members() {
        let document = json!({"hits": [{"space": "text", "id": 1}, {"space": "table", "id": 2}, {"id": 3}, {"space": "text", "id": 4}]});
        assert_eq!(all("$.hits[?@.space == \"text\"].id", &document), [json!(1), json!(4)]);
        assert_eq!(all("hits[?@.id=='2']", &document), [json!({"space": "table", "id": 2})]);
        assert_eq!(all("$.hits[?@.space == \"page\"].id", &document), Vec::<Value>::new());
        assert!(Path::parse("$.hits[?@.space == \"text\"].id").unwrap().is_plural());
        let mut changed = document.clone();
        *Path::parse("hits[?@.space == 'table'].id").unwrap().first_mut(&mut changed).unwrap() = json!(9);
        assert_eq!(changed["hits"][1]["id"], 9);
        for broken in ["a[?@.b]", "a[?b == 'c']", "a[?@.b == c]", "a[?@.b == 'c]", "a[?@.b == 'c'"] {
            assert!(Path::parse(broken).is_err(), "{broken}");
        }
    }

    /// An object is read alike, however many members it has.
    #[test]
    fn members_are_found_in_small_and_large_objects() {
        let path = Path::parse("a.b").unwrap();
        for others in [0, FEW, 2 * FEW] {
            let mut document = json!({"a": {"b": 1}});
            let members = document.as_object_mut().unwrap();
            members.extend((0..others).map(|at| (format!("x{at}"), json!(at))));
            assert_eq!(path.first_in(members), Some(&json!(1)));
            assert_eq!(member(members, "b"), None);
            assert_eq!(path.first(&document), Some(&json!(1)));
        }
    }

    #[test]
    fn first_skips_members_that_lack_the_rest() {
        let document = json!([{"m": 1}, {"n": 2}]);
        assert_eq!(Path::parse("$[*].n").unwrap().first(&document), Some(&json!(2)));
    }

    #[test]
    fn broken_paths_say_where() {
        for (text, at) in [("", 0), ("a..b", 2), ("a[", 2), ("a[x]", 2), ("$a", 1), ("a['b", 2), ("a]", 1)] {
            assert_eq!(Path::parse(text).unwrap_err().at, at, "{text}");
        }
    }

    /// D60: a missing name is told from a list that is empty, and the names in its place are known.
    #[test]
    fn a_missing_name_is_no_empty_list() {
        let reaches = |path: &str, document: Value| Path::parse(path).unwrap().reaches(&document);
        let claims = json!({"claims": [{"text": "a"}, {"text": "b", "id": 1}]});
        for path in ["$", "$.claims", "$.claims[*].text", "$.claims[*].id", "$.claims[?@.id == \"7\"].text"] {
            assert!(reaches(path, claims.clone()), "{path}");
        }
        for path in ["$.claim[*].text", "$.claims[*].txt", "$.claims[7]", "$.claims[*].text[*]", "$.x[*]"] {
            assert!(!reaches(path, claims.clone()), "{path}");
        }
        for empty in [json!({"claims": []}), json!({"claims": null}), json!({"claims": {}})] {
            assert!(reaches("$.claims[*].txt", empty.clone()) && !reaches("$.claims[0]", empty));
        }
        let alternatives = |path: &str| -> Vec<String> {
            let path = Path::parse(path).unwrap();
            let found = path.alternatives([&json!({"other": 0}), &claims]);
            found.map_or(Vec::new(), |(_, others)| others.iter().map(|(_, path)| path.to_string()).collect())
        };
        assert_eq!(alternatives("$.claims[*].txt"), ["$.claims[*].id", "$.claims[*].text"]);
        assert_eq!(alternatives("$.claim[*].text"), ["$.claims[*].text", "$.other[*].text"]);
        assert!(alternatives("$.claims[9]").is_empty());
    }

    #[test]
    fn display_reads_back() {
        for text in [
            "$",
            "$.a.b[0]",
            "$.a[*].b",
            "$[\"a key\"].c",
            "$['say \"x\"']",
            "$.a[?@.b == \"c\"].d",
            "$.a[?@.b == '\"']",
            "$[\"\"].b",
            "$.a\"b'c.d",
        ] {
            let path = Path::parse(text).unwrap();
            assert_eq!(path.to_string(), text);
            assert_eq!(Path::parse(&path.to_string()).unwrap(), path);
        }
    }

    #[test]
    fn columns_are_entered_without_a_document() {
        let document = json!({"a": {"b": [1, 2]}, "c": 3});
        let columns = document.as_object().unwrap();
        let first = |path: &str| Path::parse(path).unwrap().first_in(columns).cloned();
        assert_eq!(
            (first("a.b[1]"), first("$.c"), first("d"), first("$")),
            (Some(json!(2)), Some(json!(3)), None, None)
        );
        assert_eq!(Path::parse("a.b[*]").unwrap().all_in(columns), [&json!(1), &json!(2)]);
    }

    #[test]
    fn a_place_can_be_written() {
        let mut document = json!({"a": [{"b": 1}]});
        *Path::parse("a[0].b").unwrap().first_mut(&mut document).unwrap() = json!(2);
        assert_eq!(document, json!({"a": [{"b": 2}]}));
    }
}
