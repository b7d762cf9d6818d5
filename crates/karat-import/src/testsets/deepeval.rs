//! Test sets of deepeval, and the test runs that it saves, with the scores of their metrics.

use serde_json::{Map, Value, json};

use super::table::{self, Form};
use super::{RowIds, TestCase, drop_column, messages, take_reply, write_suite};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::recorded::{Output, Sample, TokenUse};
use crate::source::Source;

/// Columns of which a row has one. Old files write them in camel case.
const KNOWN: [&str; 8] = [
    "input",
    "actual_output",
    "expected_output",
    "turns",
    "scenario",
    "actualOutput",
    "expectedOutput",
    "expected_outcome",
];

/// Columns with lists, and their names in a suite.
const LISTS: [(&str, &str); 2] = [("retrieval_context", "contexts"), ("context", "reference_contexts")];

/// Between members of a list that deepeval writes as one text.
const SEPARATOR: char = '|';

/// Columns about tools, expectations and traces, which no metric here reads.
const DROPPED: [&str; 4] = ["tools_called", "expected_tools", "expectations", "trace"];

/// Lists of cases in a test run.
const TEST_RUN: [&str; 2] = ["testCases", "conversationalTestCases"];

/// The column of a test run with the scores of a case.
const METRICS: &str = "metrics_data";

pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    "deepeval".clone_into(&mut draft.report.tool.name);
    let table = match table::read_lists(source, &TEST_RUN)? {
        Some(table) => table,
        None => table::read(source, &KNOWN)?,
    };
    let mut ids = RowIds::default();
    let mut cases = Vec::new();
    for (index, row) in table.rows.into_iter().enumerate() {
        let mut row: Map<String, Value> = row
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (snake_case(&key), value))
            .collect();
        for column in DROPPED {
            if row.shift_remove(column).is_some() {
                drop_column(column, "no metric of a suite reads it", draft);
            }
        }
        let name = row.shift_remove("name");
        let id = ids.take(name.as_ref().and_then(Value::as_str).filter(|name| !name.is_empty()), index + 1);
        cases.push(read_row(row, id, table.form, draft));
    }
    write_suite(cases, source, draft)
}

fn read_row(mut row: Map<String, Value>, id: String, form: Form, draft: &mut Draft<'_>) -> TestCase {
    let mut columns = Map::new();
    for (name, column) in LISTS {
        if let Some(list) = row.shift_remove(name) {
            columns.insert(column.to_owned(), read_list(list, name, draft));
        }
    }
    let turns = row.shift_remove("turns").map(|turns| parse_cell(turns, form));
    let turns = turns.as_ref().and_then(Value::as_array).filter(|turns| !turns.is_empty());
    let mut input = match turns {
        Some(turns) => Some(messages(turns, "role")),
        None => row.shift_remove("input").or_else(|| row.get("scenario").cloned()),
    };
    let reference = row.shift_remove("expected_output").or_else(|| row.shift_remove("expected_outcome"));
    let output = row.shift_remove("actual_output").or_else(|| input.as_mut().and_then(take_reply));
    let mut number =
        |name: &str| row.shift_remove(name).and_then(|value| value.as_f64().or_else(|| value.as_str()?.parse().ok()));
    let (cost_usd, input_tokens, output_tokens) =
        (number("token_cost"), number("input_token_count"), number("output_token_count"));
    let usage = TokenUse {
        input: input_tokens.map(|count| count as u64),
        output: output_tokens.map(|count| count as u64),
        ..TokenUse::default()
    };
    let has_usage = usage != TokenUse::default();
    let metrics = if output.is_some() { row.shift_remove(METRICS) } else { None };
    let metrics = metrics.as_ref().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // A metric that failed has no score.
    let score = |value: &Value| if value.is_number() { value.clone() } else { Value::Null };
    let scores = by_metric(metrics, "score").map(|(name, value)| (name, score(value))).collect();
    let reasons =
        by_metric(metrics, "reason").filter_map(|(name, why)| Some((name, why.as_str()?.to_owned()))).collect();
    let output = output.map(|output| Output {
        sample: id.clone(),
        trial: 1,
        output,
        usage: Some(usage).filter(|_| has_usage).into_iter().collect(),
        cost_usd,
        scores,
        reasons,
        ..Output::default()
    });
    let mut metadata = Map::new();
    for (key, value) in row {
        let is_map = matches!(key.as_str(), "additional_metadata" | "custom_column_key_values");
        match parse_cell(value, if is_map { form } else { Form::Json }) {
            Value::Object(members) if is_map => metadata.extend(members),
            value => {
                metadata.insert(key, value);
            }
        }
    }
    TestCase { sample: Sample { id, input, reference, columns, metadata }, output }
}

/// The values of a member of each metric, by the metric's name.
fn by_metric<'a>(metrics: &'a [Value], member: &'a str) -> impl Iterator<Item = (String, &'a Value)> {
    let name = |metric: &Value| metric.get("name").and_then(Value::as_str).map(str::to_owned);
    metrics.iter().filter_map(move |metric| Some((name(metric)?, metric.get(member).unwrap_or(&Value::Null))))
}

/// A list. A text of several members cannot be told from one with the separator in it: it stays whole, and is noted.
fn read_list(value: Value, name: &str, draft: &mut Draft<'_>) -> Value {
    let Value::String(text) = &value else { return value };
    if text.contains(SEPARATOR) {
        let text = format!("is one text with `{SEPARATOR}` in it, and not split: export JSON to have a list");
        draft.report.note(format!("[*].{name}"), text);
    }
    json!([value])
}

/// The value of a cell with JSON; any other value as it is.
fn parse_cell(value: Value, form: Form) -> Value {
    let text = value.as_str().filter(|_| form != Form::Json);
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(value)
}

/// `actualOutput` as `actual_output`.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for char in name.chars() {
        if char.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(char.to_ascii_lowercase());
    }
    out
}
