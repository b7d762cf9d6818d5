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
    /// The tools that were offered: the JSON Schema of each one's arguments, by name. Without it those of the
    /// suite that the step offered; of an agent's output, the counts that it holds.
    #[schemars(extend("contentMediaType" = "application/schema+json"))]
    tools: BTreeMap<String, Value>,
    /// The tools of the suite, which it adds itself: used for outputs that hold no counts.
    #[schemars(skip)]
    suite_tools: BTreeMap<String, Value>,
}

/// The schemas of the tools that the options name, and of those of the suite.
struct ValidCallsMetric {
    named: BTreeMap<String, Schema>,
    of_suite: BTreeMap<String, Schema>,
}

impl Options for ValidCalls {
    const NEEDS: Needs = Needs::Output;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let schema = |(name, schema): (String, Value)| match Schema::new(schema.get("input").unwrap_or(&schema)) {
            Ok(schema) => Ok((name, schema)),
            Err(error) => Err(format!("the tool `{name}`: {error}")),
        };
        let schemas = |tools: BTreeMap<String, Value>| tools.into_iter().map(schema).collect::<Result<_, String>>();
        Ok(Box::new(ValidCallsMetric { named: schemas(self.tools)?, of_suite: schemas(self.suite_tools)? }))
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
        let has_counts = given.cell.output.get("unknown_calls").is_some();
        let schemas = match (self.named.is_empty(), self.of_suite.is_empty()) {
            (false, _) => &self.named,
            // An agent knows which of the tools it offered.
            (true, false) if !has_counts => &self.of_suite,
            (true, _) => return by_counts(given.cell.output, calls.len()),
        };
        let problems = calls.iter().filter_map(|call| problem(schemas, call).transpose());
        let problems: Vec<String> = match problems.collect::<Result<_, _>>() {
            Ok(problems) => problems,
            Err(why) => return Score::unscored(why),
        };
        let valid = (calls.len() - problems.len()) as f64 / calls.len() as f64;
        match problems.into_iter().next() {
            Some(problem) => Score::value_because(valid, problem),
            None => Score::value(valid),
        }
    }
}

/// The problem of a call.
///
/// # Errors
/// It cannot be decided.
fn problem(schemas: &BTreeMap<String, Schema>, call: &ToolCall) -> Result<Option<String>, String> {
    let name = &call.name;
    let Some(schema) = schemas.get(name) else { return Ok(Some(format!("no tool `{name}` was offered"))) };
    let Some(arguments) = &call.arguments else { return Ok(Some(format!("`{name}`: its arguments are no object"))) };
    let violations = schema.violations(&json!(arguments)).map_err(|why| format!("`{name}`: {why}"))?;
    Ok(violations.first().map(|violation| format!("`{name}`: {violation}")))
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
