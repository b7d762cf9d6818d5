//! Reading YAML 1.2 into the spanned tree. The only module that knows the YAML library.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Options, Spanned};

use crate::diagnostics::Problems;
use crate::syntax::node::{Entry, FileId, Node, Place, Tree, finite};
use crate::syntax::yaml_error::{self, YamlError};

/// Reads one document. Syntax errors and duplicate keys become problems; a document with duplicate keys is still
/// returned, so that everything else in it is checked too.
pub(crate) fn read_tree(source: &str, file: FileId, problems: &mut Problems) -> Option<Node> {
    let strict = serde_saphyr::from_str_with_options::<Raw>(source, options(DuplicateKeyPolicy::Error));
    let outcome = match strict {
        Err(error) if is_duplicate(&error) => {
            let before = problems.errors();
            let lenient = serde_saphyr::from_str_with_options::<Raw>(source, options(DuplicateKeyPolicy::LastWins));
            if let Ok(raw) = &lenient {
                duplicates(&raw.clone().place(source, file), problems);
            }
            if problems.errors() == before {
                syntax(&error, source, file, problems);
            }
            lenient
        }
        other => other,
    };
    match outcome {
        Ok(raw) => Some(raw.place(source, file)),
        Err(error) => {
            syntax(&error, source, file, problems);
            None
        }
    }
}

/// Reads one document into a plain value.
pub(crate) fn value(source: &str) -> Result<Value, String> {
    serde_saphyr::from_str_with_options::<Value>(source, options(DuplicateKeyPolicy::Error))
        .map_err(|error| error.without_snippet().to_string())
}

fn options(duplicates: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        duplicate_keys: duplicates,
        merge_keys: MergeKeyPolicy::Merge,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

fn is_duplicate(error: &serde_saphyr::Error) -> bool {
    matches!(error.without_snippet(), serde_saphyr::Error::DuplicateMappingKey { .. })
}

fn syntax(error: &serde_saphyr::Error, source: &str, file: FileId, problems: &mut Problems) {
    let span = error.location().map_or(0..0, |location| range(&location, source));
    if let serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } = error.without_snippet() {
        problems.error(&Place { file, span }, format!("duplicate key `{key}`"));
        return;
    }
    let YamlError { message, hint, span } =
        yaml_error::explain(first_line(&error.without_snippet().to_string()), source, span.start);
    if let Some(bare) = bare_template(source, span.start) {
        problems
            .error(&Place { file, span: bare }, "invalid YAML: a value begins with `{{`, which YAML reads as a map")
            .hint("a value that contains `{{ }}` must be quoted: key: \"{{ … }}\"");
        return;
    }
    problems.error(&Place { file, span }, message).maybe_hint(hint);
}

/// The `{{` outside of quotes in the line of an offset.
fn bare_template(source: &str, at: usize) -> Option<Range<usize>> {
    let line = line_around(source, at);
    let open = line.find("{{").filter(|open| !line[..*open].contains(['"', '\'', '#']))?;
    let start = source[..at.min(source.len())].rfind('\n').map_or(0, |newline| newline + 1);
    Some(start + open..start + open + 2)
}

/// The first line of a message, without the place that the diagnostic shows anyway.
fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or(text);
    line.split(" at line ").next().unwrap_or(line).trim_end_matches('.')
}

fn line_around(source: &str, at: usize) -> &str {
    let at = at.min(source.len());
    let start = source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    source.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default()
}

fn duplicates(node: &Node, problems: &mut Problems) {
    for (index, entry) in node.entries().iter().enumerate() {
        let first = node.entries().iter().take(index).find(|earlier| earlier.key == entry.key);
        if let Some(first) = first {
            let line = problems.line(&first.place);
            problems
                .error(&entry.place, format!("duplicate key `{}`", entry.key))
                .hint(format!("the first one is in line {line}: keep one of the two"));
        }
        duplicates(&entry.node, problems);
    }
    for item in node.items() {
        duplicates(item, problems);
    }
}

/// A value as the library yields it: locations are still in the library's words.
#[derive(Clone)]
struct Raw {
    value: RawValue,
    at: Location,
}

#[derive(Clone)]
enum RawValue {
    Scalar(Value),
    List(Vec<Raw>),
    Map(Vec<(Spanned<String>, Raw)>),
}

impl Raw {
    fn place(self, source: &str, file: FileId) -> Node {
        let span = range(&self.at, source);
        let value = match self.value {
            RawValue::Scalar(value) => scalar(value, source, &span),
            RawValue::List(items) => Tree::List(items.into_iter().map(|item| item.place(source, file)).collect()),
            RawValue::Map(entries) => Tree::Map(
                entries
                    .into_iter()
                    .map(|(key, value)| Entry {
                        place: Place { file, span: range(&key.defined, source) },
                        key: key.value,
                        node: value.place(source, file),
                    })
                    .collect(),
            ),
        };
        Node { value, place: Place { file, span } }
    }
}

/// A number keeps its text beside its value; digits behind a needless zero (`007`, a postal code) are no number but a
/// name, which would be lost in one.
fn scalar(value: Value, source: &str, span: &Range<usize>) -> Tree {
    let written = spelling(&value, source, span);
    let is_padded = written.len() > 1 && written.starts_with('0') && written.bytes().all(|it| it.is_ascii_digit());
    let value = if is_padded { Value::String(written.clone()) } else { value };
    Tree::Scalar { value, written }
}

fn spelling(value: &Value, source: &str, span: &Range<usize>) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => match source.get(span.clone()).map(str::trim) {
            Some(text) if !text.is_empty() && !text.contains('\n') => text.to_owned(),
            _ => other.to_string(),
        },
    }
}

/// The bytes of a location. Those of a syntax error are counted in characters only.
fn range(at: &Location, source: &str) -> Range<usize> {
    let limit = source.len() as u64;
    let Some(start) = at.span().byte_offset() else {
        let index = usize::try_from(at.span().offset()).unwrap_or(usize::MAX);
        let start = source.char_indices().nth(index).map_or(source.len(), |(start, _)| start);
        return start..start;
    };
    let start = start.min(limit) as usize;
    let length = at.span().byte_len().unwrap_or(0).min(limit - start as u64) as usize;
    start..start + length
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<RawValue>::deserialize(deserializer)?;
        Ok(Self { value: spanned.value, at: spanned.defined })
    }
}

impl<'de> Deserialize<'de> for RawValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = RawValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<RawValue, E> {
        Ok(RawValue::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<RawValue, E> {
        Ok(RawValue::Scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<RawValue, E> {
        Ok(RawValue::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<RawValue, E> {
        Ok(RawValue::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<RawValue, E> {
        Ok(RawValue::Scalar(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<RawValue, E> {
        finite(value)
            .map(|number| RawValue::Scalar(Value::Number(number)))
            .ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<RawValue, E> {
        Ok(RawValue::Scalar(Value::String(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<RawValue, E> {
        Ok(RawValue::Scalar(Value::String(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<RawValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(RawValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<RawValue, A::Error> {
        let mut map = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            if key.value.is_empty() {
                return Err(A::Error::custom("a key is empty"));
            }
            map.push((key, entries.next_value()?));
        }
        Ok(RawValue::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(source: &str) -> (Option<Node>, Problems) {
        let mut problems = Problems::default();
        let file = problems.source("test.yaml", source);
        (read_tree(source, file, &mut problems), problems)
    }

    #[test]
    fn scalars_keep_their_text_as_written() {
        let (node, _) = tree("version: 1.10\nid: 007\nvalue: no\nyes_: true\nquoted: \"1.0\"\nnothing: ~\n");
        let node = node.unwrap();
        let texts: Vec<_> = node.entries().iter().map(|entry| entry.node.text()).collect();
        assert_eq!(texts, [Some("1.10"), Some("007"), Some("no"), Some("true"), Some("1.0"), None]);
        assert_eq!(node.get("id").unwrap().json(), "007");
        assert_eq!(node.get("version").unwrap().json(), 1.1);
        assert_eq!(node.get("value").unwrap().boolean(), None);
        assert_eq!(node.get("yes_").unwrap().boolean(), Some(true));
    }

    /// A few lines of aliases, or of brackets, become no tree that fills the memory.
    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let inner = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        let deep = format!("a: {}{}\n", "[".repeat(20_000), "]".repeat(20_000));
        for (source, problem) in [(bomb, "budget breached"), (deep, "recursion limit exceeded")] {
            let (node, problems) = tree(&source);
            assert!(node.is_none());
            let shown = problems.into_diagnostics().to_string();
            assert!(shown.contains(problem), "{shown}");
        }
    }

    #[test]
    fn keys_and_values_know_where_they_stand() {
        let source = "ü: { key: [1, \"two\"] } # comment\n";
        let (node, _) = tree(source);
        let inner = node.unwrap().entries()[0].node.clone();
        let entry = &inner.entries()[0];
        assert_eq!(&source[entry.place.span.clone()], "key");
        assert_eq!(&source[entry.node.items()[1].place.span.clone()], "\"two\"");
    }

    #[test]
    fn every_duplicate_key_is_reported() {
        let (node, problems) = tree("a: 1\na: 2\nb: { c: 1, c: 2 }\nanchors: { 5: x, 5: y }\n");
        assert!(node.is_some());
        assert!(problems.errors() >= 2);
    }

    #[test]
    fn an_unquoted_template_gets_a_hint() {
        let (_, problems) = tree("text: {{ input }}\n");
        let all = problems.into_diagnostics();
        assert!(all.plain().contains("must be quoted"), "{}", all.plain());
    }
}
