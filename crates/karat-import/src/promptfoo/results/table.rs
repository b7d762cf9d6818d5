//! Results in version 2 of the format: a table with a row a test and an output a prompt and provider.
//!
//! The list `results` beside the table does not say which test and prompt its members are of, so the table is read, and each
//! of its outputs is made a result as version 3 has them.

use serde_json::{Map, Value, json};

/// Stands between the reason of a failure and the output in the text of a cell.
const BREAK: &str = "\n---\n";

/// The prompts of a table, under the names that version 3 has.
pub(super) fn prompts(head: &Value) -> Vec<Value> {
    let prompts = head.get("prompts").and_then(Value::as_array).into_iter().flatten();
    let named = prompts.map(|prompt| {
        let mut prompt = prompt.clone();
        let display = prompt.get("display").cloned();
        if let (Some(map), Some(display)) = (prompt.as_object_mut(), display) {
            map.entry("label").or_insert(display);
        }
        prompt
    });
    named.collect()
}

/// The names of the variables of a table.
pub(super) fn variables(head: &Value) -> Vec<String> {
    let names = head.get("vars").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The results of a row.
pub(super) fn results(row: &Value, test: usize, prompts: &[Value], variables: &[String]) -> Vec<Value> {
    let outputs = row.get("outputs").and_then(Value::as_array).into_iter().flatten();
    let case = case(row, variables);
    let present = outputs.enumerate().filter(|(_, output)| output.is_object());
    present.map(|(at, output)| result(output, test, at, prompts.get(at), &case)).collect()
}

/// The test of a row; one that is not written down has the values of its variables.
fn case(row: &Value, variables: &[String]) -> Value {
    let mut case = row.get("test").and_then(Value::as_object).cloned().unwrap_or_default();
    if !case.get("vars").is_some_and(Value::is_object) {
        let values = row.get("vars").and_then(Value::as_array).into_iter().flatten();
        let vars: Map<String, Value> = variables.iter().cloned().zip(values.cloned()).collect();
        case.insert("vars".to_owned(), Value::Object(vars));
    }
    Value::Object(case)
}

fn result(output: &Value, test: usize, at: usize, prompt: Option<&Value>, case: &Value) -> Value {
    let part = |key: &str| output.get(key).cloned().unwrap_or_default();
    let of_prompt = |key: &str| prompt.and_then(|prompt| prompt.get(key)).cloned().unwrap_or_default();
    let is_pass = part("pass") == json!(true);
    // A call that failed was not graded.
    let is_error = match output.get("failureReason").and_then(Value::as_u64) {
        Some(reason) => reason == super::ERROR,
        None => !is_pass && part("gradingResult").is_null(),
    };
    let text = part("text");
    let response = output.get("response").filter(|response| response.get("output").is_some()).cloned();
    let response = response.unwrap_or_else(|| json!({"output": answer(output, is_pass)}));
    json!({
        "testIdx": test,
        "promptIdx": at,
        "provider": output.get("provider").cloned().unwrap_or_else(|| of_prompt("provider")),
        "prompt": {"raw": of_prompt("raw"), "label": of_prompt("label"), "id": of_prompt("id")},
        "response": if is_error { Value::Null } else { response },
        "error": if is_error { text } else { Value::Null },
        "failureReason": if is_error { super::ERROR } else { u64::from(!is_pass) },
        "success": is_pass,
        "score": part("score"),
        "namedScores": part("namedScores"),
        "gradingResult": part("gradingResult"),
        "tokenUsage": part("tokenUsage"),
        "latencyMs": part("latencyMs"),
        "cost": part("cost"),
        "testCase": case,
    })
}

/// The output in a cell's text, in front of which the reason of a failure may stand.
fn answer(output: &Value, is_pass: bool) -> Value {
    let Some(text) = output.get("text").and_then(Value::as_str) else { return Value::Null };
    let reason = output.pointer("/gradingResult/reason").and_then(Value::as_str).unwrap_or_default();
    let behind = text.strip_prefix(reason).and_then(|rest| rest.strip_prefix(BREAK));
    json!(behind.filter(|_| !is_pass).unwrap_or(text))
}
