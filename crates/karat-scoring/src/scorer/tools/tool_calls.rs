//! The metric `tool_calls`: the calls of an output are the expected ones.

use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::arguments::{ArgumentMatcher, ArgumentRule};
use super::call::ToolCall;
use crate::metrics::matching::{common_subsequence, largest_matching};
use crate::scorer::metric::{Metric, MetricInput, Needs, Options, Structure};

/// Most pairs of calls that are compared.
const MOST_PAIRS: usize = 1 << 22;

/// Options of `tool_calls`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolCalls {
    /// The rule that pairs calls with expected ones: `any` makes as many pairs as can be made, `ordered` keeps the order,
    /// `exact` wants the same calls in the same order and no others.
    r#match: CallOrder,
    /// The rule by which arguments match: `subset` wants the expected ones, `equal` no others, `schema` reads the expected values as
    /// JSON Schemas, `ignore` compares names alone.
    arguments: ArgumentRule,
    /// Names of arguments that do not count.
    ignore: Vec<String>,
    /// Largest relative difference of numbers.
    rel: f64,
    /// Largest difference of numbers.
    abs: f64,
    /// Upper and lower case are the same in arguments that are texts.
    ignore_case: bool,
    /// Which figure: `all` is 1 where every expected call was made, else 0.
    part: MatchedPart,
    /// Only calls of these tools count. Without it, all.
    tools: Vec<String>,
}

/// The rule by which calls are paired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallOrder {
    /// The largest matching, in any order.
    #[default]
    Any,
    /// The longest common subsequence.
    Ordered,
    /// The same sequence.
    Exact,
}

/// The figure that is made of the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MatchedPart {
    /// 1 where every expected call has a partner, else 0.
    #[default]
    All,
    /// Expected calls with a partner ÷ expected calls.
    Recall,
    /// Calls with a partner ÷ calls.
    Precision,
    /// The harmonic mean of both.
    F1,
}

struct ToolCallsMetric {
    order: CallOrder,
    matcher: ArgumentMatcher,
    part: MatchedPart,
    tools: Vec<String>,
}

impl Options for ToolCalls {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        for (name, bound) in [("rel", self.rel), ("abs", self.abs)] {
            if !(bound >= 0.0 && bound.is_finite()) {
                return Err(format!("`{name}` is {bound}, but must be 0 or more"));
            }
        }
        let matcher = ArgumentMatcher {
            rule: self.arguments,
            ignored: self.ignore,
            relative: self.rel,
            absolute: self.abs,
            ignores_case: self.ignore_case,
        };
        Ok(Box::new(ToolCallsMetric { order: self.r#match, matcher, part: self.part, tools: self.tools }))
    }
}

impl Metric for ToolCallsMetric {
    fn structure(&self) -> Structure {
        Structure::Reference
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let expected = match ToolCall::list(given.reference) {
            Ok(expected) if expected.is_empty() && is_prose(given.reference) => {
                return Score::unscored("the reference is a text, not a list of calls");
            }
            Ok(expected) => self.counted_calls(expected),
            Err(problem) => return Score::unscored(format!("the reference is {problem}")),
        };
        let made = match ToolCall::list(given.output) {
            Ok(made) => self.counted_calls(made),
            Err(problem) => return Score::unscored(format!("the output is {problem}")),
        };
        if let Some(problem) = expected.iter().find_map(|call| self.matcher.problem(call, &made)) {
            return Score::unscored(problem);
        }
        if expected.len().saturating_mul(made.len()) > MOST_PAIRS {
            return Score::unscored(format!("{} calls are too many to compare with {}", made.len(), expected.len()));
        }
        let partners = self.partners(&expected, &made);
        let value = self.figure(&expected, &made, &partners);
        match self.difference(&expected, &made, &partners) {
            Some(difference) if value < 1.0 => Score::value_because(value, difference),
            _ => Score::value(value),
        }
    }
}

/// True for a text that is not a JSON list.
fn is_prose(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim_start().starts_with(['[', '{']))
}

impl ToolCallsMetric {
    fn counted_calls(&self, calls: Vec<ToolCall>) -> Vec<ToolCall> {
        let counts = |call: &ToolCall| self.tools.is_empty() || self.tools.contains(&call.name);
        calls.into_iter().filter(counts).collect()
    }

    /// The call that is the partner of each expected one.
    fn partners(&self, expected: &[ToolCall], made: &[ToolCall]) -> Vec<Option<usize>> {
        let fits = |at: usize, other: usize| self.matcher.matches(&expected[at], &made[other]);
        match self.order {
            CallOrder::Any => largest_matching(expected.len(), made.len(), fits),
            CallOrder::Ordered => common_subsequence(expected.len(), made.len(), fits),
            CallOrder::Exact => {
                let is_same = expected.len() == made.len() && (0..made.len()).all(|at| fits(at, at));
                (0..expected.len()).map(|at| is_same.then_some(at)).collect()
            }
        }
    }

    fn figure(&self, expected: &[ToolCall], made: &[ToolCall], partners: &[Option<usize>]) -> f64 {
        if expected.is_empty() {
            return if made.is_empty() { 1.0 } else { 0.0 };
        }
        let pairs = partners.iter().flatten().count() as f64;
        match self.part {
            MatchedPart::All => f64::from(u8::from(partners.iter().all(Option::is_some))),
            MatchedPart::Recall => pairs / expected.len() as f64,
            MatchedPart::Precision if made.is_empty() => 0.0,
            MatchedPart::Precision => pairs / made.len() as f64,
            MatchedPart::F1 => 2.0 * pairs / (expected.len() + made.len()) as f64,
        }
    }

    /// The first difference: an expected call without a partner, else a call that is not expected.
    fn difference(&self, expected: &[ToolCall], made: &[ToolCall], partners: &[Option<usize>]) -> Option<String> {
        if self.order == CallOrder::Exact {
            return self.first_unlike(expected, made);
        }
        if let Some((wanted, _)) = expected.iter().zip(partners).find(|(_, partner)| partner.is_none()) {
            return Some(self.explain_missing(wanted, made));
        }
        let other = made.iter().enumerate().find(|(at, _)| !partners.contains(&Some(*at)));
        other.map(|(_, call)| format!("{call} is not expected"))
    }

    fn explain_missing(&self, wanted: &ToolCall, made: &[ToolCall]) -> String {
        if made.is_empty() {
            return format!("no call was made; expected {wanted}");
        }
        let alike: Vec<&ToolCall> = made.iter().filter(|call| call.name == wanted.name).collect();
        if alike.iter().any(|call| self.matcher.matches(wanted, call)) {
            return match self.order {
                CallOrder::Any => format!("{wanted} was made less often than expected"),
                _ => format!("{wanted} was made out of order"),
            };
        }
        match alike.first().and_then(|call| self.matcher.difference(wanted, call)) {
            Some(difference) => format!("`{}`: {difference}", wanted.name),
            None => format!("`{}` was not called", wanted.name),
        }
    }

    fn first_unlike(&self, expected: &[ToolCall], made: &[ToolCall]) -> Option<String> {
        for (at, (wanted, call)) in expected.iter().zip(made).enumerate() {
            if wanted.name != call.name {
                return Some(format!("call {} is {call}, expected {wanted}", at + 1));
            }
            if let Some(difference) = self.matcher.difference(wanted, call) {
                return Some(format!("call {}, `{}`: {difference}", at + 1, wanted.name));
            }
        }
        match (expected.get(made.len()), made.get(expected.len())) {
            (Some(wanted), _) => Some(format!("{wanted} is missing at the end")),
            (_, Some(call)) => Some(format!("{call} is not expected")),
            _ => None,
        }
    }
}
