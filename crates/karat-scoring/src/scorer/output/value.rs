//! Metrics of JSON values, lists and labels.

use std::borrow::Cow;

use karat_text::ladder::{Expectation, Ladder, LadderError};
use karat_text::path::Path;
use karat_text::schema::unwrap_envelope;
use karat_types::Score;
use serde::Deserialize;
use serde_json::Value;

use super::text::{Part, alternatives, test, text};
use crate::metrics::json;
use crate::metrics::set_f1::SetMatcher;
use crate::metrics::text::Exact;
use crate::scorer::metric::{Metric, MetricInput, Needs, Options, ReferenceForm, Structure, is_equal};

/// Violations that a reason names.
const NAMED_VIOLATIONS: usize = 3;

/// Options of `json_schema`.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonSchema {
    /// The schema, or its file; `true` takes any JSON, but no text that holds none.
    #[schemars(extend("format" = "file", "contentMediaType" = "application/schema+json"))]
    schema: Value,
    /// `true`: an object or list anywhere within the text may satisfy the schema. `false`: the whole text must be one JSON
    /// value. Without it, the text may hold the value in a fence or between words, where one is found.
    amid: Option<bool>,
}

/// A schema, and the part of an output that must satisfy it.
struct JsonWithin {
    schema: json::JsonSchema,
    /// True if the schema takes every value, so that only a text without JSON fails.
    takes_any: bool,
    within: Option<bool>,
}

impl Options for JsonSchema {
    const NEEDS: Needs = Needs::Output;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let schema = json::JsonSchema::new(&self.schema).map_err(|error| error.to_string())?;
        Ok(Box::new(JsonWithin {
            schema,
            takes_any: *unwrap_envelope(&self.schema) == Value::Bool(true),
            within: self.amid,
        }))
    }
}

impl JsonWithin {
    /// The values of a text of which one must satisfy the schema; the error is the reason for a text without any.
    fn candidates(&self, text: &str) -> Result<Vec<Value>, String> {
        let whole = || karat_types::json::parse(text.trim());
        match self.within {
            Some(false) => whole().map(|value| vec![value]).map_err(|error| format!("the text is not JSON: {error}")),
            Some(true) => match whole() {
                Ok(value) => Ok(vec![value]),
                Err(_) => Ok(json::values_within(text).collect()),
            },
            None => match Ladder::new(Expectation::Any)
                .choose(text, |value| matches!(self.schema.is_valid(value), Ok(true)))
            {
                Ok(meant) => Ok(vec![meant.found.value]),
                Err(LadderError::Several(_)) => Ok(json::values_within(text).collect()),
                Err(error) if self.takes_any => Err(format!("the text holds no JSON: {error}")),
                // A schema may be about the text itself.
                Err(_) => Ok(vec![Value::from(text)]),
            },
        }
    }
}

impl Metric for JsonWithin {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let candidates = match given.output {
            Value::String(text) => match self.candidates(text) {
                Ok(values) => Cow::Owned(values),
                Err(why) => return Score::value_because(0.0, why),
            },
            other => Cow::Borrowed(std::slice::from_ref(other)),
        };
        let Some(first) = candidates.first() else {
            return Score::value_because(0.0, "the text holds no JSON object or list");
        };
        let mut undecided = None;
        for value in candidates.iter() {
            match self.schema.is_valid(value) {
                Ok(true) => return test(true),
                Ok(false) => {}
                Err(why) => undecided = Some(why),
            }
        }
        let violations = match undecided.map_or_else(|| self.schema.violations(first), Err) {
            Ok(violations) => violations,
            Err(why) => return Score::unscored(why.to_string()),
        };
        let named: Vec<String> = violations.iter().take(NAMED_VIOLATIONS).map(ToString::to_string).collect();
        Score::value_because(0.0, named.join("; "))
    }
}

/// `json_field` has no options.
#[derive(Deserialize, schemars::JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JsonField {}

impl Options for JsonField {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for JsonField {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        if is_equal(given.output, given.reference) {
            return test(true);
        }
        let shown = |value: &Value| value.to_string().chars().take(80).collect::<String>();
        Score::value_because(0.0, format!("it is {}, not {}", shown(given.output), shown(given.reference)))
    }
}

/// `count` has no options.
#[derive(Deserialize, schemars::JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Count {}

impl Options for Count {
    const NEEDS: Needs = Needs::Output;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

impl Metric for Count {
    fn structure(&self) -> Structure {
        Structure::Output
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        Score::value(match given.output {
            Value::Array(items) => items.len() as f64,
            Value::Object(members) => members.len() as f64,
            Value::Null => 0.0,
            Value::Number(number) => match number.as_f64() {
                Some(number) => number,
                None => return Score::unscored("the number is beyond the range of floats"),
            },
            Value::String(text) if text.trim().is_empty() => 0.0,
            _ => 1.0,
        })
    }
}

/// Options of `set_f1`.
#[derive(Deserialize, schemars::JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SetF1 {
    /// Path of the text within a member; members that are texts are taken as they are.
    by: Option<String>,
    /// Which figure.
    part: Part,
    /// Similarity in (0, 1] from which two texts match; 1, the default: only texts that are equal but for case, white space
    /// and punctuation. Texts that differ in a number, a unit, a name, a negation or a direction, or that have another word
    /// in the place of one, never match. Below 1, figures are matched by words: a paraphrase counts as missing, and the
    /// metric ranks no system.
    similar: Option<f64>,
}

struct SetF1Metric {
    by: Path,
    part: Part,
    matcher: SetMatcher,
}

impl Options for SetF1 {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let by = self.by.as_deref().map_or(Ok(Path::root()), Path::parse).map_err(|error| error.to_string())?;
        let threshold = self.similar.unwrap_or(1.0);
        if !(threshold > 0.0 && threshold <= 1.0) {
            return Err(format!("`similar` is {threshold}, but must be above 0 and at most 1"));
        }
        Ok(Box::new(SetF1Metric { by, part: self.part, matcher: SetMatcher { threshold, ..SetMatcher::default() } }))
    }
}

impl SetF1Metric {
    fn members<'a>(&self, list: &'a Value) -> Option<Vec<Cow<'a, str>>> {
        let member = |item: &'a Value| if item.is_string() { Some(text(item)) } else { self.by.first(item).map(text) };
        list.as_array()?.iter().map(member).collect()
    }
}

impl Metric for SetF1Metric {
    fn structure(&self) -> Structure {
        Structure::Both
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let reference = self.members(given.reference).map(|members| {
            let told = members.into_iter().filter(|member| !member.trim().is_empty());
            told.collect::<Vec<_>>()
        });
        let Some(reference) = reference else {
            return Score::unscored(format!("the reference is not a list of members with {}", self.by));
        };
        let Some(output) = self.members(given.output) else {
            return Score::value_because(0.0, format!("the output is not a list of members with {}", self.by));
        };
        let score = self.matcher.compare(&output, &reference);
        let value = match self.part {
            Part::F1 => Some(score.f1),
            Part::Precision => score.precision,
            Part::Recall => score.recall,
        };
        value.map_or_else(|| Score::not_applicable("one of the lists is empty"), Score::value)
    }
}

/// Options of `label`.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Label {
    /// The labels there are; an output that is none of them cannot be read.
    labels: Vec<String>,
    /// Upper and lower case are the same.
    ignore_case: bool,
}

impl Default for Label {
    fn default() -> Self {
        Self { labels: Vec::new(), ignore_case: true }
    }
}

impl Options for Label {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        Ok(Box::new(self))
    }
}

/// An output that is not a label may be a whole essay: its beginning tells what it is.
fn cut(found: &str) -> String {
    match found.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", found.get(..end).unwrap_or_default()),
        None => found.to_owned(),
    }
}

impl Metric for Label {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let exact = Exact { ignore_case: self.ignore_case, trim: true, normalize: true, ..Exact::default() };
        let named = |text: &str| {
            let declared = self.labels.iter().find(|label| exact.matches(text, label));
            declared.cloned().unwrap_or_else(|| exact.fold(text).into_owned())
        };
        let found = named(&text(given.output));
        let expected: Vec<String> = alternatives(given.reference).iter().map(|label| named(label)).collect();
        match expected.first() {
            _ if expected.contains(&found) => Score::label_match(&found, &found),
            Some(expected) => Score::label_match(expected, &cut(&found)),
            None => Score::not_applicable("no reference"),
        }
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}
