//! A metric bound to a place in the output and to what it is compared with.

use std::borrow::Cow;

use karat_text::ladder::{self, Expectation};
use karat_text::path::{Gap, Path};
use karat_text::template::{Context, Template};
use karat_types::{Better, NO_JSON, NOTHING_AT, Request, Score, ScorerSpec};
use serde_json::{Map, Value};

use super::metric::{Metric, MetricInput, Needs, ReferenceForm, is_bracketed, kept_as_text};
use super::output::{external, similarity};
use super::registry::Registered;
use super::{CellView, EmbeddingTexts, Origin, RowJoin, Scorer};

/// The reason of rows without a reference where a metric needs one.
const NO_REFERENCE: &str = "no reference";

/// A metric that can score cells.
pub(super) struct BoundMetric {
    registered: &'static Registered,
    metric: MetricSource,
    output: Path,
    reference: Reference,
}

/// A metric, or what is needed to make one for each row.
enum MetricSource {
    /// The options are the same for every row.
    Once(Box<dyn Metric>),
    /// Options hold templates.
    PerRow(Vec<(String, OptionValue)>),
}

/// An option, or a part of one.
enum OptionValue {
    Fixed(Value),
    Computed(Template),
}

/// The reference that the output is compared with.
enum Reference {
    /// A literal.
    Value(Value),
    /// A literal with `{{ }}`.
    Computed(Template),
    /// A place in the row.
    Column(Path),
    /// The row's reference.
    Role,
}

impl BoundMetric {
    pub fn new(registered: &'static Registered, spec: &ScorerSpec, with: &Map<String, Value>) -> Result<Self, String> {
        let path = |text: &str| Path::parse(text).map_err(|error| error.to_string());
        let reference = match (&spec.value, &spec.reference) {
            (Some(Value::String(text)), _) if text.contains("{{") => Reference::Computed(compile("value", text)?),
            (Some(value), _) => Reference::Value(value.clone()),
            (None, Some(column)) => Reference::Column(path(column)?),
            (None, None) => Reference::Role,
        };
        let literal = match &reference {
            Reference::Value(value) => Some(value),
            _ => None,
        };
        let metric = if with.values().any(is_computed) && !registered.traits.joins {
            let settings = with.iter().map(|(name, value)| Ok((name.clone(), setting(name, value)?)));
            MetricSource::PerRow(settings.collect::<Result<_, String>>()?)
        } else {
            MetricSource::Once((registered.make)(with.clone(), literal)?)
        };
        Ok(Self { registered, metric, output: path(&spec.output)?, reference })
    }

    /// Applies the metric to what it works on in a cell; the error is a score that needs no metric.
    fn apply<T>(&self, cell: &CellView<'_>, ask: impl Fn(&dyn Metric, &MetricInput<'_>) -> T) -> Result<T, Score> {
        let null = Value::Null;
        if self.registered.needs == Needs::Nothing {
            let given = MetricInput { output: &null, reference: &null, cell };
            return self.with_metric(cell, |metric| Ok(ask(metric, &given)));
        }
        let reference = self.reference(cell)?;
        self.with_metric(cell, |metric| {
            let reference = self.known_reference(metric, reference)?;
            let reference = reference.as_deref().unwrap_or(&null);
            let output = self.output(cell, metric.reads_elsewhere())?;
            let read = match metric.structure().has_output() {
                true => kept_as_text(&output)
                    .map_err(|problem| self.unreadable(cell, format!("the output is {problem}")))?,
                false => None,
            };
            Ok(ask(metric, &MetricInput { output: read.as_ref().unwrap_or(&output), reference, cell }))
        })
    }

    /// Returns the reference of a row unless the metric takes it for none; the error is the score of a metric that needs one.
    fn known_reference<'r>(
        &self,
        metric: &dyn Metric,
        reference: Option<Cow<'r, Value>>,
    ) -> Result<Option<Cow<'r, Value>>, Score> {
        let read = match &reference {
            Some(reference) if metric.structure().has_reference() => kept_as_text(reference),
            _ => Ok(None),
        };
        let read = read.map_err(|problem| Score::unscored(format!("the reference is {problem}")))?;
        let reference = read.map(Cow::Owned).or(reference);
        // What the suite itself says is meant, even if it is empty.
        let is_literal = matches!(self.reference, Reference::Value(_));
        let reference = reference.filter(|reference| is_literal || !metric.reference_form().is_none(reference));
        if self.registered.needs == Needs::Reference && reference.is_none() {
            return Err(Score::not_applicable(NO_REFERENCE));
        }
        Ok(reference)
    }

    /// The score of an output that cannot be read: the lowest for a model, which could have written it.
    fn unreadable(&self, cell: &CellView<'_>, reason: String) -> Score {
        match cell.origin {
            Origin::Model => Score::value_because(self.registered.lowest(), reason),
            Origin::Record | Origin::Service => Score::unscored(reason),
        }
    }

    /// The score in place of one against a reference that looks like a list of alternatives kept as text, and of which a
    /// member would score better: the row says one of two things.
    fn doubt(&self, metric: &dyn Metric, given: &MetricInput<'_>, scores: &[Score]) -> Option<Score> {
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !is_bracketed(text));
        if matches!(self.reference, Reference::Value(_))
            || metric.structure().has_reference()
            || metric.reference_form() == ReferenceForm::Whole
            || !is_text(given.output)
        {
            return None;
        }
        let members = kept_as_text(given.reference).ok().flatten().filter(|members| {
            members
                .as_array()
                .is_some_and(|all| !all.is_empty() && all.iter().all(|it| it.is_string() || it.is_number()))
        })?;
        let as_list = metric.scores(&MetricInput { output: given.output, reference: &members, cell: given.cell });
        let better = |one: &Score, other: &Score| match (self.registered.traits.better, one.number(), other.number()) {
            (Better::Lower, Some(one), Some(other)) => one < other,
            (_, Some(one), Some(other)) => one > other,
            _ => false,
        };
        as_list.iter().zip(scores).any(|(one, other)| better(one, other)).then(|| {
            Score::unscored(
                "the reference is a text that looks like a list; keep it as a JSON list if each member is right",
            )
        })
    }

    /// Returns whether an option of the metric comes from the output.
    fn has_options_of_output(&self) -> bool {
        match &self.metric {
            MetricSource::Once(_) => false,
            MetricSource::PerRow(settings) => settings
                .iter()
                .any(|(_, value)| matches!(value, OptionValue::Computed(template) if reads_output(template))),
        }
    }

    fn with_metric<T>(
        &self,
        cell: &CellView<'_>,
        apply: impl FnOnce(&dyn Metric) -> Result<T, Score>,
    ) -> Result<T, Score> {
        match &self.metric {
            MetricSource::Once(metric) => apply(&**metric),
            MetricSource::PerRow(settings) => {
                let context = context(cell);
                let with = settings.iter().map(|(name, setting)| match setting {
                    OptionValue::Fixed(value) => Ok((name.clone(), value.clone())),
                    OptionValue::Computed(template) => match template.value(&context) {
                        Ok(value) => Ok((name.clone(), value)),
                        Err(error) => Err(Score::unscored(format!("the option `{name}` cannot be computed: {error}"))),
                    },
                });
                let with = with.collect::<Result<Map<String, Value>, Score>>()?;
                apply(&*(self.registered.make)(with, None).map_err(Score::unscored)?)
            }
        }
    }

    /// Returns the reference that the output is compared with; null and absent are the same.
    fn reference<'a>(&'a self, cell: &CellView<'a>) -> Result<Option<Cow<'a, Value>>, Score> {
        let found = match &self.reference {
            Reference::Value(value) => Some(Cow::Borrowed(value)),
            Reference::Computed(template) => match template.value(&context(cell)) {
                Ok(value) => Some(Cow::Owned(value)),
                Err(error) => return Err(Score::unscored(format!("`value` cannot be computed: {error}"))),
            },
            Reference::Column(path) if path.is_plural() => {
                let all: Vec<Value> = path.all_in(&cell.sample.columns).into_iter().cloned().collect();
                (!all.is_empty()).then_some(Cow::Owned(Value::Array(all)))
            }
            Reference::Column(path) => path.first_in(&cell.sample.columns).map(Cow::Borrowed),
            Reference::Role => cell.sample.reference.as_ref().map(Cow::Borrowed),
        };
        Ok(found.filter(|value| !value.is_null()))
    }

    /// Returns the value at the output path. A path into a text reads the text as JSON. The error is the score of an output
    /// without that value; a metric that `reads_elsewhere` gets null for a part that was left out.
    fn output<'a>(&self, cell: &CellView<'a>, reads_elsewhere: bool) -> Result<Cow<'a, Value>, Score> {
        if self.output.is_root() {
            return Ok(Cow::Borrowed(cell.output));
        }
        let lowest = |reason: String| Score::value_because(self.registered.lowest(), reason);
        let document = match cell.output {
            Value::String(text) => match ladder::read(text, Expectation::Any) {
                Ok((value, _)) => Cow::Owned(value),
                Err(error) => return Err(lowest(format!("{NO_JSON}: {error}"))),
            },
            other => Cow::Borrowed(other),
        };
        let nothing = || format!("{NOTHING_AT}{}", self.output);
        match (self.output.gap(&document), cell.origin) {
            (Some(_), Origin::Service | Origin::Record) if reads_elsewhere => return Ok(Cow::Owned(Value::Null)),
            (Some(Gap::Null), Origin::Service) => {
                return Err(Score::unscored(format!("the answer leaves out {}", self.output)));
            }
            (Some(Gap::Missing), Origin::Service | Origin::Record) => return Err(Score::unscored(nothing())),
            _ => {}
        }
        if self.output.is_plural() {
            if !self.output.reaches(&document) {
                return Err(lowest(nothing()));
            }
            return Ok(Cow::Owned(Value::Array(self.output.all(&document).into_iter().cloned().collect())));
        }
        let value = match document {
            Cow::Borrowed(document) => self.output.first(document).map(Cow::Borrowed),
            Cow::Owned(document) => self.output.first(&document).cloned().map(Cow::Owned),
        };
        value.ok_or_else(|| lowest(nothing()))
    }
}

impl Scorer for BoundMetric {
    fn score(&self, cell: &CellView<'_>) -> Vec<Score> {
        let scores = |metric: &dyn Metric, given: &MetricInput<'_>| {
            let scores = metric.scores(given);
            self.doubt(metric, given, &scores).map_or(scores, |doubt| vec![doubt; self.registered.figures()])
        };
        let without_metric = |score: Score| match self.applies(cell) {
            // An output loses nothing by a part that its row does not ask for.
            Err(not_applicable) => not_applicable,
            Ok(()) => score,
        };
        self.apply(cell, scores).unwrap_or_else(|score| vec![without_metric(score); self.registered.figures()])
    }

    fn applies(&self, cell: &CellView<'_>) -> Result<(), Score> {
        if matches!(&self.reference, Reference::Computed(template) if reads_output(template)) {
            return Ok(());
        }
        let null = Value::Null;
        let cell = &CellView { output: &null, ..*cell };
        let reference = match self.reference(cell) {
            _ if self.registered.needs == Needs::Nothing => None,
            Ok(None) if self.registered.needs == Needs::Reference => return Err(Score::not_applicable(NO_REFERENCE)),
            Ok(reference) => reference,
            // A reference that cannot be computed leaves each output unscored.
            Err(_) => return Ok(()),
        };
        if self.has_options_of_output() {
            return Ok(());
        }
        let applies = |metric: &dyn Metric| {
            let reference = match self.known_reference(metric, reference) {
                // A reference that cannot be read leaves each output unscored, too.
                Err(Score::Unscored { .. }) => return Ok(()),
                reference => reference?,
            };
            metric.applies(&MetricInput { output: &null, reference: reference.as_deref().unwrap_or(&null), cell })
        };
        self.with_metric(cell, |metric| Ok(applies(metric))).unwrap_or(Ok(()))
    }

    fn ask(&self, cell: &CellView<'_>) -> Option<Result<Request, Score>> {
        self.registered.traits.outside.then(|| self.apply(cell, |metric, given| metric.ask(given))).map(|asked| {
            asked.and_then(|request| {
                request.ok_or_else(|| Score::unscored("the metric asks nothing; this is a bug in karat"))
            })
        })
    }

    fn read(&self, answer: &str) -> Score {
        external::read(answer)
    }

    fn embed(&self, cell: &CellView<'_>) -> Option<Result<EmbeddingTexts, Score>> {
        self.registered.traits.embeds.then(|| self.apply(cell, |metric, given| metric.embed(given))).map(|asked| {
            asked.and_then(|texts| {
                texts.unwrap_or_else(|| Err(Score::unscored("the metric asks nothing; this is a bug in karat")))
            })
        })
    }

    fn embed_ahead(&self, cell: &CellView<'_>) -> Option<EmbeddingTexts> {
        if !self.registered.traits.embeds {
            return None;
        }
        let reference = self.reference(cell).ok()?;
        let texts = self.with_metric(cell, |metric| {
            let reference = self.known_reference(metric, reference)?;
            let reference = reference.as_deref().unwrap_or(&Value::Null);
            Ok(metric.embed(&MetricInput { output: cell.output, reference, cell }))
        });
        texts.ok()??.ok()
    }

    fn compare(&self, output: &[f32], references: &[&[f32]]) -> Score {
        similarity::closest(output, references)
    }

    fn joins(&self) -> Vec<RowJoin> {
        match &self.metric {
            MetricSource::Once(metric) => metric.joins(),
            // A metric that joins keeps its templates for the join, so it is made once.
            MetricSource::PerRow(_) => Vec::new(),
        }
    }
}

fn reads_output(template: &Template) -> bool {
    template.reads().iter().any(|name| name.split('.').next() == Some("output"))
}

fn is_computed(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.contains("{{"))
}

fn setting(name: &str, value: &Value) -> Result<OptionValue, String> {
    match value {
        Value::String(text) if is_computed(value) => compile(name, text).map(OptionValue::Computed),
        other => Ok(OptionValue::Fixed(other.clone())),
    }
}

fn compile(name: &str, text: &str) -> Result<Template, String> {
    Template::compile(text).map_err(|error| format!("`{name}` is not a template: {error}"))
}

fn context(cell: &CellView<'_>) -> Context {
    let mut context = Context::new().with("sample", &cell.sample.columns).with_json("output", cell.output);
    for (name, value) in [("input", &cell.sample.input), ("reference", &cell.sample.reference)] {
        if let Some(value) = value {
            context = context.with_json(name, value);
        }
    }
    context
}
