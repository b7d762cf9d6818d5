//! The interface of a metric.

use karat_text::ladder::{self, Expectation};
use karat_types::{Request, Score};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{CellView, EmbeddingTexts, RowJoin};

/// A metric with its options read.
pub(super) trait Metric: Send + Sync {
    /// The score; of a metric with several figures the one that stands for all.
    fn score(&self, given: &MetricInput<'_>) -> Score;

    /// The form of its reference, by which an empty one is none.
    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Whole
    }

    /// The parts that it reads as lists or objects, also where they are kept as texts.
    fn structure(&self) -> Structure {
        Structure::None
    }

    /// Returns whether the metric has another place to look at where the output leaves out the part at its path.
    fn reads_elsewhere(&self) -> bool {
        false
    }

    /// One score a figure, in the order of the registered dimensions.
    fn scores(&self, given: &MetricInput<'_>) -> Vec<Score> {
        vec![self.score(given)]
    }

    /// Asked before there is an output: the error is the score of every output where the row alone makes the metric not
    /// applicable. The output and the times of the cell are unknown then. What only an output can tell is not an error.
    fn applies(&self, _: &MetricInput<'_>) -> Result<(), Score> {
        Ok(())
    }

    /// The texts whose vectors are compared, where the metric compares vectors; the error is the score of a cell of which
    /// nothing has to be asked.
    fn embed(&self, _: &MetricInput<'_>) -> Option<Result<EmbeddingTexts, Score>> {
        None
    }

    /// The files whose rows the metric joins with cells.
    fn joins(&self) -> Vec<RowJoin> {
        Vec::new()
    }

    /// The request to a program or service, where the metric is not computed here.
    fn ask(&self, _: &MetricInput<'_>) -> Option<Request> {
        None
    }
}

/// For metrics whose reference alone can make them not applicable: what their score of any output says of it.
pub(super) fn applies_if_scored(score: Score) -> Result<(), Score> {
    match score {
        Score::NotApplicable { .. } => Err(score),
        Score::Value { .. } | Score::Unscored { .. } => Ok(()),
    }
}

/// The input of a metric.
pub(super) struct MetricInput<'a> {
    /// The value at the output path.
    pub output: &'a Value,
    /// The reference; null where there is none and none is needed.
    pub reference: &'a Value,
    pub cell: &'a CellView<'a>,
}

/// The parts of a metric's input that are lists or objects. A cell of a CSV file holds them as texts: `["d1", "d2"]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Structure {
    /// Texts are texts.
    None,
    Reference,
    Output,
    Both,
}

impl Structure {
    pub fn has_reference(self) -> bool {
        matches!(self, Self::Reference | Self::Both)
    }

    pub fn has_output(self) -> bool {
        matches!(self, Self::Output | Self::Both)
    }
}

/// The list or object that a text holds as JSON or as Python writes it; `None` for a value that is no such text.
///
/// # Errors
/// The text has the brackets of a list or object, and cannot be read as one.
pub(super) fn kept_as_text(value: &Value) -> Result<Option<Value>, String> {
    let Some(text) = value.as_str().map(str::trim) else { return Ok(None) };
    if !is_bracketed(text) {
        return Ok(None);
    }
    let read = karat_types::json::parse(text).ok().or_else(|| Some(ladder::read(text, Expectation::Any).ok()?.0));
    match read.filter(|value| value.is_array() || value.is_object()) {
        Some(value) => Ok(Some(value)),
        None => Err("a text that looks like a list and cannot be read as one; keep it as a JSON list".to_owned()),
    }
}

/// True if values are equal; a list or object may be kept as text in the reference, as cells of CSV files are.
pub(super) fn is_equal(output: &Value, reference: &Value) -> bool {
    let read = if output.is_array() || output.is_object() { kept_as_text(reference).ok().flatten() } else { None };
    crate::metrics::json::equal(output, read.as_ref().unwrap_or(reference))
}

/// True if a text has the brackets of a list or object around it.
pub(super) fn is_bracketed(text: &str) -> bool {
    let text = text.trim();
    [('[', ']'), ('{', '}')].iter().any(|(open, close)| text.starts_with(*open) && text.ends_with(*close))
}

/// The form of a reference. Null and blank text are none in every form but [`ReferenceForm::AlsoEmpty`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceForm {
    /// One value; an empty list is one, too.
    Whole,
    /// A value or a list of which a member must match: blank members are left out, and where nothing is left there is none.
    Alternatives,
    /// As `Alternatives`, but nothing is an answer: that there is no answer.
    AlsoEmpty,
}

impl ReferenceForm {
    /// Returns whether a value is not a reference.
    pub fn is_none(self, reference: &Value) -> bool {
        match (self, reference) {
            (_, Value::Null) => true,
            (Self::AlsoEmpty, _) => false,
            (Self::Alternatives, Value::Array(members)) => members.iter().all(is_blank),
            (_, value) => is_blank(value),
        }
    }
}

/// Returns whether a value is null or blank text.
pub(super) fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// The part of a cell that a metric needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// The output, and something to compare it with.
    Reference,
    /// The output, and something to compare it with unless one of these options is given.
    ReferenceOr(&'static [&'static str]),
    /// The output; a reference where there is one.
    Output,
    /// Neither.
    Nothing,
}

/// Makes a metric from its options and, where the suite gives one, the literal it compares with.
pub(super) type Make = fn(Map<String, Value>, Option<&Value>) -> Result<Box<dyn Metric>, String>;

/// The options of a metric: one struct, from which `with`'s schema comes.
pub(super) trait Options: DeserializeOwned + JsonSchema {
    /// The part of a cell that the metric needs.
    const NEEDS: Needs;

    /// The metric with these options.
    fn metric(self, literal: Option<&Value>) -> Result<Box<dyn Metric>, String>;

    /// Reads the options. A null stands for an option that is not given.
    fn make(with: Map<String, Value>, literal: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let given = with.into_iter().filter(|(_, value)| !value.is_null()).collect();
        let options: Self = serde_json::from_value(Value::Object(given))
            .map_err(|error| format!("its options cannot be read: {error}"))?;
        options.metric(literal)
    }
}
