//! Metrics of numbers in a text.

use karat_quantity::{Comparison, Context, DecimalMark, Pick, Target, Tolerance};
use karat_types::Score;
use serde::Deserialize;
use serde_json::Value;

use super::text::text;
use crate::scorer::metric::{Metric, MetricInput, Needs, Options};

/// Options of `numeric`.
#[derive(Deserialize, schemars::JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Numeric {
    /// Unit of the expected number: a currency, "percent", "bps", "million USD", "count", or a word after the number.
    unit: Option<String>,
    /// Currency of the expected number (ISO 4217).
    currency: Option<String>,
    /// Allowed share of the expected value: 0.01 is 1 %.
    rel: Option<f64>,
    /// Allowed distance in the expected value's unit.
    abs: Option<f64>,
    /// Which of several numbers is compared.
    pick: PickOption,
    /// The decimal mark that decides how lone groups such as "1.234" are read.
    decimal: DecimalOption,
    /// The kind of text. `finance` also reads the words around numbers, in English, German, French and Spanish: losses
    /// and falls ("down 4 %" is −4 %), amounts in parentheses, bounds ("at most 5"), denials ("was not 5") and units
    /// declared elsewhere ("in millions of USD").
    context: ContextOption,
}

#[derive(Deserialize, schemars::JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum PickOption {
    #[default]
    Any,
    First,
    Last,
}

#[derive(Deserialize, schemars::JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum ContextOption {
    #[default]
    General,
    Finance,
}

#[derive(Deserialize, schemars::JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum DecimalOption {
    #[default]
    Auto,
    Point,
    Comma,
}

struct NumericMetric {
    options: Numeric,
    tolerance: Tolerance,
    figure: fn(&Comparison) -> Score,
}

impl Numeric {
    fn metric(self, literal: Option<&Value>, figure: fn(&Comparison) -> Score) -> Result<Box<dyn Metric>, String> {
        let tolerance = Tolerance::new(self.rel, self.abs).map_err(|error| error.to_string())?;
        let metric = NumericMetric { options: self, tolerance, figure };
        if let Some(literal) = literal {
            metric.target(literal)?;
        }
        Ok(Box::new(metric))
    }
}

impl Options for Numeric {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, literal: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        self.metric(literal, |comparison| {
            Score::value_because(if comparison.passed() { 1.0 } else { 0.0 }, comparison.to_string())
        })
    }
}

/// Options of `numeric_contested`.
#[derive(Deserialize, schemars::JsonSchema, Default)]
#[serde(transparent)]
pub(crate) struct Contested(Numeric);

impl Options for Contested {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, literal: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        self.0.metric(literal, |comparison| match (comparison.passed(), comparison.contested) {
            (false, _) => Score::not_applicable("no number matches"),
            (true, false) => Score::value(0.0),
            (true, true) => Score::value_because(1.0, comparison.to_string()),
        })
    }
}

impl NumericMetric {
    fn target(&self, reference: &Value) -> Result<Target, String> {
        let selection = match self.options.pick {
            PickOption::Any => Pick::Any,
            PickOption::First => Pick::First,
            PickOption::Last => Pick::Last,
        };
        let mark = match self.options.decimal {
            DecimalOption::Auto => DecimalMark::Auto,
            DecimalOption::Point => DecimalMark::Point,
            DecimalOption::Comma => DecimalMark::Comma,
        };
        let context = match self.options.context {
            ContextOption::General => Context::General,
            ContextOption::Finance => Context::Finance,
        };
        Target::json(reference, context)
            .and_then(|target| target.unit(self.options.unit.as_deref().unwrap_or_default()))
            .and_then(|target| target.currency(self.options.currency.as_deref().unwrap_or_default()))
            .map(|target| target.pick(selection).decimal_mark(mark))
            .map_err(|error| error.to_string())
    }
}

/// Digits that a decimal holds.
const MOST_DIGITS: usize = 28;

/// An integer with its sign that is too long to calculate with; such ones are compared digit by digit.
fn long_integer(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_long = digits.len() > MOST_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_long.then_some(text)
}

impl Metric for NumericMetric {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let (output, reference) = (text(given.output), text(given.reference));
        if let Some(wanted) = long_integer(reference.trim()) {
            let is_part = |it: char| it.is_ascii_digit() || it == '-';
            let passed = output.split(|it| !is_part(it)).any(|number| number.trim_end_matches('-') == wanted);
            return Score::value_because(
                if passed { 1.0 } else { 0.0 },
                "integers of this length are compared digit by digit",
            );
        }
        match self.target(given.reference) {
            Err(error) => Score::unscored(error),
            Ok(target) => (self.figure)(&target.within(&output, self.tolerance)),
        }
    }
}
