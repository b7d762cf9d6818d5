//! Typed lists of findings, and scores per member of a list.

use std::collections::BTreeMap;

use karat_text::kind::kind;
use karat_types::{BreakdownSpec, DiagnosticSpec, FieldType, Rubric};
use serde_json::{Map, Value, json};

use super::grade::ScoreReader;
use super::{Remarks, allows_absence, escape, places};

/// Stands in for a text that a degraded reply leaves out.
const UNKNOWN: &str = "unknown";

/// Stands in for a position that is not in the list.
const NO_INDEX: i64 = -1;

/// Every list of findings, by name.
pub(super) fn read(
    rubric: &Rubric,
    object: &Map<String, Value>,
    prefix: &str,
    origins: &BTreeMap<String, Vec<usize>>,
    remarks: &mut Remarks,
) -> Map<String, Value> {
    let lists = rubric.diagnostics.iter().map(|spec| {
        let pointer = format!("{prefix}/{}", escape(&spec.name));
        let items = match places::member(object, &spec.name).map(|(_, value)| value) {
            Some(Value::Array(items)) => items.as_slice(),
            None | Some(Value::Null) => {
                if allows_absence(rubric) {
                    remarks.lenience(format!("`{}` was missing and counts as empty", spec.name));
                } else {
                    remarks.problem(&pointer, format!("the list `{}` is missing; it may be empty", spec.name));
                }
                &[]
            }
            Some(other) => {
                remarks.problem(&pointer, format!("`{}` is {}, but must be a list", spec.name, kind(other)));
                &[]
            }
        };
        let kept = spec.max.map_or(items.len(), |max| items.len().min(max as usize));
        if kept < items.len() {
            remarks.lenience(format!("`{}` had {} items and was cut to {kept}", spec.name, items.len()));
        }
        let mut finding = FindingReader { spec, origins, remarks };
        let read = items.iter().take(kept).enumerate().map(|(at, item)| finding.item(item, &format!("{pointer}/{at}")));
        let read: Vec<Value> = read.collect();
        (spec.name.clone(), Value::Array(finding.keep_different(read)))
    });
    lists.collect()
}

/// Reads the items of one list.
struct FindingReader<'a, 'b> {
    spec: &'a DiagnosticSpec,
    origins: &'a BTreeMap<String, Vec<usize>>,
    remarks: &'b mut Remarks,
}

impl FindingReader<'_, '_> {
    fn item(&mut self, item: &Value, pointer: &str) -> Value {
        let spec = self.spec;
        match (spec.fields.as_slice(), item) {
            ([], Value::Object(members)) => {
                self.remarks.lenience(format!("an item of `{}` was an object", spec.name));
                let only = members.values().find(|value| value.is_string()).unwrap_or(item);
                self.text(Some(only), pointer)
            }
            ([], item) => self.text(Some(item), pointer),
            (fields, Value::Object(members)) => {
                let read = fields.iter().map(|(name, kind)| {
                    let value = places::member(members, name).map(|(_, value)| value).filter(|value| !value.is_null());
                    (name.clone(), self.field(kind, value, &format!("{pointer}/{}", escape(name))))
                });
                Value::Object(read.collect())
            }
            (fields, Value::String(text)) => self.read_text(fields, text, pointer),
            (_, other) => {
                self.remarks.problem(pointer, format!("is {}, but must be an object", kind(other)));
                self.read_text(&spec.fields, UNKNOWN, pointer)
            }
        }
    }

    /// A text where an object is expected: clear when the object has one text, else the other fields are missing.
    fn read_text(&mut self, fields: &[(String, FieldType)], text: &str, pointer: &str) -> Value {
        let first = fields.iter().position(|(_, kind)| kind.is_text());
        if fields.len() == 1 && first.is_some() {
            self.remarks.lenience(format!("an item of `{}` was a bare text", self.spec.name));
        } else {
            self.remarks.problem(pointer, "is a bare text, but must be an object");
        }
        let text = json!(text);
        let mut filler = FindingReader { spec: self.spec, origins: self.origins, remarks: &mut Remarks::default() };
        let read = fields.iter().enumerate().map(|(at, (name, kind))| {
            (name.clone(), filler.field(kind, (Some(at) == first).then_some(&text), pointer))
        });
        Value::Object(read.collect())
    }

    fn field(&mut self, kind: &FieldType, value: Option<&Value>, pointer: &str) -> Value {
        match kind {
            FieldType::Text => self.text(value, pointer),
            FieldType::TextOr(default) => self.text_or(default, value, pointer),
            FieldType::Number => self.number(value, pointer),
            FieldType::Integer => match value.and_then(integer) {
                Some(number) => json!(number),
                None => self.wrong_type(value, pointer, "a whole number", json!(0)),
            },
            FieldType::Boolean => match value {
                Some(Value::Bool(truth)) => json!(truth),
                other => self.wrong_type(other, pointer, "true or false", json!(false)),
            },
            FieldType::OneOf { words, default } => self.one_of(words, default.as_deref(), value, pointer),
            FieldType::IndexOf(list) => self.index(list, value, pointer),
        }
    }

    fn wrong_type(&mut self, value: Option<&Value>, pointer: &str, wanted: &str, filler: Value) -> Value {
        let actual = value.map_or("missing", kind);
        self.remarks.problem(pointer, format!("is {actual}, but must be {wanted}"));
        filler
    }

    fn text(&mut self, value: Option<&Value>, pointer: &str) -> Value {
        match value {
            Some(Value::String(text)) if !text.trim().is_empty() => json!(text.trim()),
            Some(Value::String(_)) => {
                self.remarks.problem(pointer, "is an empty text");
                json!(UNKNOWN)
            }
            Some(Value::Number(number)) => {
                self.remarks.lenience(format!("a text of `{}` was a number", self.spec.name));
                json!(number.to_string())
            }
            other => self.wrong_type(other, pointer, "a text", json!(UNKNOWN)),
        }
    }

    /// A text for which another stands in where there is none.
    fn text_or(&mut self, default: &str, value: Option<&Value>, pointer: &str) -> Value {
        let is_blank = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
        if value.is_none_or(is_blank) {
            self.remarks.lenience(format!("a text of `{}` was missing and became {default:?}", self.spec.name));
            return json!(default);
        }
        self.text(value, pointer)
    }

    /// The items whose two fields differ, where the rubric says that they must.
    fn keep_different(&mut self, items: Vec<Value>) -> Vec<Value> {
        let Some((one, other)) = &self.spec.differ else { return items };
        let differs = |item: &Value| match (item.get(one), item.get(other)) {
            (Some(a), Some(b)) => a != b || a.as_str() == Some(UNKNOWN),
            _ => true,
        };
        let (kept, dropped): (Vec<Value>, Vec<Value>) = items.into_iter().partition(differs);
        for _ in dropped {
            self.remarks.lenience(format!(
                "an item of `{}` was dropped because `{one}` and `{other}` are equal",
                self.spec.name
            ));
        }
        kept
    }

    fn number(&mut self, value: Option<&Value>, pointer: &str) -> Value {
        match value {
            Some(Value::Number(number)) => Value::Number(number.clone()),
            Some(Value::String(text)) if text.trim().parse::<f64>().is_ok_and(f64::is_finite) => {
                self.remarks.lenience(format!("a number of `{}` was a text", self.spec.name));
                json!(text.trim().parse::<f64>().unwrap_or_default())
            }
            other => self.wrong_type(other, pointer, "a number", json!(0)),
        }
    }

    fn one_of(&mut self, words: &[String], default: Option<&str>, value: Option<&Value>, pointer: &str) -> Value {
        let said = value.and_then(Value::as_str).map(str::trim).unwrap_or_default();
        if let Some(word) = words.iter().find(|word| *word == said) {
            return json!(word);
        }
        let plain = |word: &str| word.to_lowercase().replace([' ', '-'], "_");
        if let Some(word) = words.iter().find(|word| plain(word) == plain(said)) {
            self.remarks.lenience(format!("a word of `{}` was written as {said:?}", self.spec.name));
            return json!(word);
        }
        match default {
            Some(default) => {
                self.remarks.lenience(format!("an unknown word in `{}` became {default:?}", self.spec.name));
                json!(default)
            }
            None => {
                let wanted = words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
                let filler = words.first().map_or(json!(UNKNOWN), |word| json!(word));
                self.remarks.problem(pointer, format!("is {said:?}, but must be one of {wanted}"));
                filler
            }
        }
    }

    /// A position in a shown list, as a position in the list before it was shuffled or cut.
    fn index(&mut self, list: &str, value: Option<&Value>, pointer: &str) -> Value {
        let Some(index) = value.and_then(integer) else {
            return self.wrong_type(value, pointer, &format!("a position in `{list}`"), json!(NO_INDEX));
        };
        let origin = usize::try_from(index).ok().and_then(|at| self.origins.get(list)?.get(at));
        match origin {
            Some(origin) => json!(origin),
            None => {
                if index != NO_INDEX {
                    self.remarks.lenience(format!("a position in `{list}` was out of bounds and became {NO_INDEX}"));
                }
                json!(NO_INDEX)
            }
        }
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            let whole =
                |number: f64| (number.fract().abs() < f64::EPSILON && number.abs() < 1e15).then_some(number as i64);
            number.as_i64().or_else(|| number.as_f64().and_then(whole))
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Scores per member: `{member: {dimension: number}}`. A member or score that is left out or null takes the default; where
/// there is none it does not apply and is null.
pub(super) fn breakdown(
    rubric: &Rubric,
    spec: &BreakdownSpec,
    object: &Map<String, Value>,
    prefix: &str,
    remarks: &mut Remarks,
) -> Value {
    let table = places::member(object, &spec.name).and_then(|(_, value)| value.as_object());
    if table.is_none() && !allows_absence(rubric) {
        remarks.problem(format!("{prefix}/{}", escape(&spec.name)), format!("`{}` is missing", spec.name));
    }
    let members = spec.over.iter().map(|member| {
        let row = table.and_then(|table| places::member(table, member)).and_then(|(_, value)| value.as_object());
        let scores = spec.scores.iter().map(|dimension| {
            let value = row.and_then(|row| places::member(row, &dimension.name)).map(|(_, value)| value);
            let grading = ScoreReader { name: &dimension.name, scale: &dimension.scale, invalid: &rubric.invalid };
            let pointer = format!("{prefix}/{}/{}/{}", escape(&spec.name), escape(member), escape(&dimension.name));
            let number = match value.filter(|value| !value.is_null()) {
                Some(value) => grading.read(value, &pointer, remarks),
                None => {
                    if let Some(default) = spec.default {
                        remarks.lenience(format!("`{}` left out a score, which counts as {default}", spec.name));
                    }
                    spec.default
                }
            };
            (dimension.name.clone(), number.map_or(Value::Null, Value::from))
        });
        (member.clone(), Value::Object(scores.collect()))
    });
    Value::Object(members.collect())
}
