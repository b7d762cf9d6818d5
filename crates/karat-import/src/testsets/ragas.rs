//! Test sets of ragas.

use serde_json::{Map, Value, json};

use super::python_list::parse_list;
use super::table::{self, Form};
use super::{RowIds, TestCase, drop_column, messages, take_reply, write_suite};
use crate::draft::Draft;
use crate::error::ImportError;
use crate::recorded::{Output, Sample};
use crate::source::Source;

/// Columns of a row.
const KNOWN: [&str; 4] = ["user_input", "response", "reference", "retrieved_contexts"];

/// Columns with lists, and their names in a suite.
const LISTS: [(&str, &str); 4] = [
    ("retrieved_contexts", "contexts"),
    ("reference_contexts", "reference_contexts"),
    ("retrieved_context_ids", "retrieved_context_ids"),
    ("reference_context_ids", "reference_context_ids"),
];

/// Columns with texts, which are not scores even where all of them are numbers.
const TEXTS: [&str; 4] = ["user_input", "response", "reference", "rubrics"];

const RETRIEVED_IDS: &str = "retrieved_context_ids";
const REFERENCE_IDS: &str = "reference_context_ids";

pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    "ragas".clone_into(&mut draft.report.tool.name);
    let table = table::read(source, &KNOWN)?;
    let has = |column: &str| table.rows.iter().any(|row| row.get(column).is_some_and(|value| !value.is_null()));
    let has_ids = has(RETRIEVED_IDS) && has(REFERENCE_IDS);
    if has_ids {
        for metric in ["recall", "precision"] {
            let scorer = json!({"metric": metric, "output": format!("$.{RETRIEVED_IDS}"), "reference": REFERENCE_IDS});
            draft.suite.scorers.insert(format!("context_{metric}"), scorer);
        }
    }
    let names = score_names(&table.rows);
    let mut ids = RowIds::default();
    let mut cases = Vec::new();
    for (index, mut row) in table.rows.into_iter().enumerate() {
        let mut columns = Map::new();
        for (name, column) in LISTS {
            if let Some(list) = row.shift_remove(name).filter(|value| !is_absent(value)) {
                columns.insert(column.to_owned(), read_list(list, name, draft));
            }
        }
        let mut text = |name: &str| row.shift_remove(name).filter(|value| !value.is_null());
        let (mut input, mut response, reference) = (text("user_input"), text("response"), text("reference"));
        let is_csv = table.form == Form::Csv;
        input = input.map(|input| read_input(input, is_csv.then_some(Form::Csv)));
        if response.is_none() {
            response = input.as_mut().and_then(take_reply);
        }
        if text("rubrics").is_some() {
            drop_column("rubrics", "a rubric of a row is not that of a scorer", draft);
        }
        let id = ids.take(None, index + 1);
        let mut scores = Vec::new();
        if response.is_some() {
            for name in &names {
                let score = row.shift_remove(name).as_ref().and_then(score_of);
                scores.push((name.clone(), score.map_or(Value::Null, |score| json!(score))));
            }
        }
        let output = response.map(|response| Output {
            sample: id.clone(),
            trial: 1,
            scores,
            output: match columns.get(RETRIEVED_IDS).filter(|_| has_ids) {
                Some(retrieved) => json!({"response": response, RETRIEVED_IDS: retrieved}),
                None => response,
            },
            ..Output::default()
        });
        let sample = Sample {
            id,
            input,
            reference,
            columns,
            metadata: row.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        };
        cases.push(TestCase { sample, output });
    }
    write_suite(cases, source, draft)
}

/// Columns whose values are all numbers: the scores that ragas gave. Columns of ids and numbers of rows are none.
fn score_names(rows: &[Map<String, Value>]) -> Vec<String> {
    let columns = rows.first().map(|row| row.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let is_number = |name: &str| {
        let values = || rows.iter().filter_map(|row| row.get(name)).filter(|value| !is_absent(value));
        values().next().is_some() && values().all(|value| score_of(value).is_some())
    };
    let is_place = |name: &str| {
        name.is_empty() || name.starts_with("Unnamed") || matches!(name, "id" | "index") || name.ends_with("_id")
    };
    let is_text = |name: &str| TEXTS.contains(&name) || LISTS.iter().any(|(list, _)| *list == name);
    columns.into_iter().filter(|name| !is_text(name) && !is_place(name) && is_number(name)).collect()
}

/// A number, or the text of one in a table.
fn score_of(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|number| number.is_finite())
}

/// True of nothing, and of the texts that pandas writes for it.
fn is_absent(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| matches!(text.trim(), "" | "nan" | "NaN" | "None"))
}

/// A list, or the text of one in a table.
fn read_list(value: Value, name: &str, draft: &mut Draft<'_>) -> Value {
    let Value::String(text) = &value else { return value };
    match parse_list(text) {
        Some(list) => Value::Array(list),
        None => {
            if text.trim_start().starts_with('[') {
                let why = "looks like a list that cannot be read: the cell is one text of it";
                drop_column(name, why, draft);
            }
            json!([value])
        }
    }
}

/// The input: a text, or the messages of a conversation. A table has them as JSON.
fn read_input(input: Value, form: Option<Form>) -> Value {
    let parsed = form.and_then(|_| serde_json::from_str(input.as_str()?).ok()).filter(Value::is_array);
    match parsed.as_ref().unwrap_or(&input) {
        Value::Array(list) => messages(list, "type"),
        _ => input,
    }
}
