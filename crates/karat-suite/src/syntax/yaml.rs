//! Reading YAML 1.2 into the spanned tree. The only module that knows the YAML library.
//!
//! A scalar without quotes is read by the core schema, whatever the library makes of it: `true`, `false` and `null` are the
//! only words, and `no`, `on`, `1_000` and `0b11` are texts. So is a number with a needless zero, `012`: it is a name more
//! often than a number, and would be lost in one. Numbers keep their digits.

use std::fmt;
use std::ops::Range;

use karat_types::json;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::granit_parser::ErrorKind;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{ExternalMessageSource, Location, Options, Spanned};

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
///
/// # Errors
/// A syntax error, or the second of two equal keys.
pub fn value(source: &str) -> Result<Value, String> {
    serde_saphyr::from_str_with_options::<Raw>(source, options(DuplicateKeyPolicy::Error))
        .map(|raw| raw.place(source, 0).json())
        .map_err(|error| error.without_snippet().to_string())
}

fn options(duplicates: DuplicateKeyPolicy) -> Options {
    serde_saphyr::options! {
        duplicate_keys: duplicates,
        merge_keys: MergeKeyPolicy::Merge,
        strict_booleans: true,
        // Comments are of no use here, and the parser refuses more than a few in a row.
        emit_comments: false,
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
        yaml_error::explain(kind(error).as_ref(), first_line(&error.without_snippet().to_string()), source, span.start);
    if let Some(bare) = bare_template(source, span.start) {
        problems
            .error(&Place { file, span: bare }, "invalid YAML: a value begins with `{{`, which YAML reads as a map")
            .hint("a value that contains `{{ }}` must be quoted: key: \"{{ … }}\"");
        return;
    }
    problems.error(&Place { file, span }, message).maybe_hint(hint);
}

/// The kind of a syntax error.
fn kind(error: &serde_saphyr::Error) -> Option<ErrorKind> {
    match error.without_snippet() {
        serde_saphyr::Error::UnknownAnchor { .. } => Some(ErrorKind::UnknownAnchor),
        serde_saphyr::Error::ExternalMessage { source, .. } => match &**source {
            ExternalMessageSource::Parser(error) => Some(error.kind().clone()),
            _ => None,
        },
        _ => None,
    }
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

/// A scalar by the core schema; beside its value it keeps its text.
fn scalar(value: Value, source: &str, span: &Range<usize>) -> Tree {
    let written = source.get(span.clone()).map(str::trim).filter(|text| !text.is_empty() && !text.contains('\n'));
    let is_plain = |written: &str| !written.starts_with(['"', '\'', '!', '|', '>']);
    match (value, written) {
        // What is not finite comes in the library's spelling.
        (Value::String(text), Some(written)) if is_plain(written) && [".inf", "-.inf", ".nan"].contains(&&*text) => {
            Tree::Scalar { value: core(written), written: written.to_owned() }
        }
        // Without quotes a text is written as it is read.
        (Value::String(text), Some(written)) if text == written && !is_marked(source, span) => {
            Tree::Scalar { value: core(written), written: text }
        }
        (Value::String(text), _) => Tree::Scalar { value: Value::String(text.clone()), written: text },
        (_, Some(written)) if is_plain(written) => Tree::Scalar { value: core(written), written: written.to_owned() },
        (value, _) => Tree::Scalar { written: value.to_string(), value },
    }
}

/// Returns true if what stands before a scalar makes it a text: a tag, as `!!str`, or the header of a block, as `|-`.
fn is_marked(source: &str, span: &Range<usize>) -> bool {
    let before = source.get(..span.start).unwrap_or_default();
    let (above, line) = before.rsplit_once('\n').unwrap_or(("", before));
    if line.trim().is_empty() {
        let header = above.trim_end().rsplit('\n').next().unwrap_or_default();
        let header = header.split(" #").next().unwrap_or_default();
        return words_backwards(header).next().is_some_and(|it| it.starts_with(['|', '>', '!']));
    }
    // An anchor may stand between.
    words_backwards(line).find(|it| !it.starts_with('&')).is_some_and(|it| it.starts_with('!'))
}

fn words_backwards(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '\t', '[', '{', ',']).rev().filter(|it| !it.is_empty())
}

/// The value of a scalar without quotes.
fn core(text: &str) -> Value {
    match text {
        "null" | "Null" | "NULL" | "~" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => core_number(text).map_or_else(|| Value::from(text), Value::Number),
    }
}

fn core_number(text: &str) -> Option<Number> {
    if let Some((digits, radix)) =
        text.strip_prefix("0o").map(|digits| (digits, 8)).or_else(|| Some((text.strip_prefix("0x")?, 16)))
    {
        let value = Some(digits).filter(|digits| digits.chars().all(|digit| digit.is_digit(radix)));
        return value.and_then(|digits| u128::from_str_radix(digits, radix).ok()).and_then(Number::from_u128);
    }
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let end = unsigned.find(['e', 'E']).unwrap_or(unsigned.len());
    let (mantissa, exponent) = unsigned.split_at(end);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_padded = whole.len() > 1 && whole.starts_with('0');
    if is_padded || !mantissa.contains(|it: char| it.is_ascii_digit()) {
        return None;
    }
    let (whole, point) = (if whole.is_empty() { "0" } else { whole }, if mantissa.contains('.') { "." } else { "" });
    let fraction = if fraction.is_empty() && !point.is_empty() { "0" } else { fraction };
    json::number(&format!("{sign}{whole}{point}{fraction}{exponent}"))
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

    /// F4: only the words and numbers of YAML 1.2's core schema are more than text, and numbers keep their digits.
    #[test]
    fn scalars_are_read_by_the_core_schema() {
        let read = |text: &str| value(&format!("a: {text}\nb: [{text}]\n")).unwrap();
        for text in [
            "NO",
            "no",
            "No",
            "yes",
            "YES",
            "y",
            "Y",
            "n",
            "on",
            "ON",
            "off",
            "Off",
            "tRUE",
            "nULL",
            "none",
            "None",
            "nil",
            "012",
            "00",
            "+012",
            "-07",
            "007.5",
            "1_000",
            "1,000",
            "0b11",
            "0o9",
            "0xg",
            "-0x1F",
            "12:30",
            "1:30:45",
            "2026-01-02",
            ".",
            "+",
            "e5",
            "1e",
            "1.2.3",
            ".inf",
            "-.INF",
            ".nan",
            "NaN",
            "inf",
            "1e999",
            "١٢",
            "=",
        ] {
            // A comma ends a member of a list.
            let list = if text.contains(',') { vec!["1", "0"] } else { vec![text] };
            let list: Vec<Value> =
                list.into_iter().map(|it| if text.contains(',') { it.len().into() } else { it.into() }).collect();
            assert_eq!(read(text)["a"], text, "{text}");
            assert!(text.contains(',') || read(text)["b"] == Value::Array(list), "{text}");
        }
        for (text, json) in [
            ("true", "true"),
            ("True", "true"),
            ("FALSE", "false"),
            ("null", "null"),
            ("NULL", "null"),
            ("~", "null"),
            ("0", "0"),
            ("12", "12"),
            ("+12", "12"),
            ("-12", "-12"),
            ("0o17", "15"),
            ("0x1F", "31"),
            ("1.10", "1.1"),
            ("1.", "1.0"),
            (".5", "0.5"),
            ("-.5", "-0.5"),
            ("+.5e1", "5.0"),
            ("1e3", "1000.0"),
            ("0.0", "0.0"),
            ("1267650600228229401496703205376", "1267650600228229401496703205376"),
            ("-9223372036854775809", "-9223372036854775809"),
            ("3.14159265358979323846", "3.14159265358979323846"),
        ] {
            assert_eq!(
                (read(text)["a"].to_string(), read(text)["b"][0].to_string()),
                (json.to_owned(), json.to_owned())
            );
        }
        let quoted = value("- '12'\n- \"true\"\n- !!str 12\n- |\n  12\n- |-\n  12\n- >-\n  no\n- &x 012\n- *x\n- &y 12\n- *y\n- !!int \"7\"\n-\n- [!!str 1, 2]\n- !!str &z 3\n- &w !!str 4\n- >+1 # c\n\n  5\n").unwrap();
        assert_eq!(
            quoted,
            serde_json::json!([
                "12",
                "true",
                "12",
                "12\n",
                "12",
                "no",
                "012",
                "012",
                12,
                12,
                7,
                null,
                ["1", 2],
                "3",
                "4",
                "\n 5\n"
            ])
        );
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
