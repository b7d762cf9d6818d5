//! The metric `valid_calls`: the calls of an output fit the tools that were offered.

use std::collections::BTreeMap;

use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::ToolCall;
use crate::metrics::json::JsonSchema as Schema;
use crate::scorer::metric::{Metric, MetricInput, Needs, Options};

/// Options of `valid_calls`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ValidCalls {
    /// The tools that were offered: the JSON Schema of each one's arguments, by name. Without it the counts that an
    /// agent's output holds are used.
    tools: BTreeMap<String, Value>,
}

struct ValidCallsMetric(BTreeMap<String, Schema>);

impl Options for ValidCalls {
    const NEEDS: Needs = Needs::Output;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let schema = |(name, schema): (String, Value)| match Schema::new(schema.get("input").unwrap_or(&schema)) {
            Ok(schema) => Ok((name, schema)),
            Err(error) => Err(format!("the tool `{name}`: {error}")),
        };
        Ok(Box::new(ValidCallsMetric(self.tools.into_iter().map(schema).collect::<Result<_, _>>()?)))
    }
}

impl Metric for ValidCallsMetric {
    fn score(&self, given: &MetricInput<'_>) -> Score {
        let calls = match ToolCall::list(given.output) {
            Ok(calls) => calls,
            Err(problem) => return Score::value_because(0.0, format!("the output is {problem}")),
        };
        if calls.is_empty() {
            return Score::not_applicable("the output has no calls");
        }
        if self.0.is_empty() {
            return by_counts(given.cell.output, calls.len());
        }
        let problems: Vec<String> = calls.iter().filter_map(|call| self.problem(call)).collect();
        let valid = (calls.len() - problems.len()) as f64 / calls.len() as f64;
        match problems.into_iter().next() {
            Some(problem) => Score::value_because(valid, problem),
            None => Score::value(valid),
        }
    }
}

impl ValidCallsMetric {
    fn problem(&self, call: &ToolCall) -> Option<String> {
        let Some(schema) = self.0.get(&call.name) else { return Some(format!("no tool `{}` was offered", call.name)) };
        let Some(arguments) = &call.arguments else {
            return Some(format!("`{}`: its arguments are no object", call.name));
        };
        let violation = schema.violations(&json!(arguments)).into_iter().next()?;
        Some(format!("`{}`: {violation}", call.name))
    }
}

/// The share by the counts of an agent, which knows the tools that it offered.
fn by_counts(output: &Value, calls: usize) -> Score {
    let count = |name: &str| output.get(name).and_then(Value::as_u64);
    let (Some(unknown), Some(invalid)) = (count("unknown_calls"), count("invalid_calls")) else {
        return Score::unscored(
            "the tools that were offered are unknown: name them with `with: { tools: { NAME: SCHEMA } }`",
        );
    };
    let wrong = (unknown + invalid).min(calls as u64);
    let value = (calls as u64 - wrong) as f64 / calls as f64;
    if wrong == 0 {
        return Score::value(value);
    }
    Score::value_because(value, format!("{unknown} calls of unknown tools, {invalid} with arguments that do not fit"))
}
