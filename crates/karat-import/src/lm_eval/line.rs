//! Lines of samples.

use serde_json::{Value, json};

use super::score_name;
use crate::recorded::Output;

/// Members of a line that are read.
const READ: [&str; 8] = ["doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"];

/// A line: one document, as one filter sees it.
#[derive(Debug)]
pub(super) struct Line {
    pub doc_id: u64,
    pub doc: Value,
    filter: String,
    line: Value,
}

impl Line {
    /// # Errors
    /// A value that is not a line of samples.
    pub fn of(line: Value) -> Result<Self, String> {
        let doc_id = line.get("doc_id").and_then(Value::as_u64).ok_or("has no whole number `doc_id`")?;
        if !line.get("filtered_resps").is_some_and(Value::is_array) {
            return Err("has no list `filtered_resps`".to_owned());
        }
        let doc = line.get("doc").cloned().unwrap_or_default();
        let filter = line.get("filter").and_then(Value::as_str).unwrap_or("none").to_owned();
        Ok(Self { doc_id, doc, filter, line })
    }

    /// The rendered prompt: the first argument of the first request.
    pub fn input(&self) -> Option<Value> {
        self.line.pointer("/arguments/gen_args_0/arg_0").filter(|input| !input.is_null()).cloned()
    }

    pub fn reference(&self) -> Option<Value> {
        self.line.get("target").filter(|target| !target.is_null()).cloned()
    }

    fn filtered_replies(&self) -> &[Value] {
        self.line.get("filtered_resps").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// True if the replies are log-likelihoods, one a choice: `[["-0.3", "False"], …]`.
    pub fn is_choice(&self) -> bool {
        let is_pair =
            |reply: &Value| reply.as_array().is_some_and(|pair| pair.len() == 2 && likelihood(reply).is_some());
        !self.filtered_replies().is_empty() && self.filtered_replies().iter().all(is_pair)
    }

    /// The outputs of the document, one a trial, without scores.
    pub fn outputs(&self, sample: &str) -> Vec<Output> {
        let of = |index: usize, output: Value| Output {
            sample: sample.to_owned(),
            trial: index as u32 + 1,
            output,
            ..Output::default()
        };
        if self.is_choice() {
            let best = self
                .filtered_replies()
                .iter()
                .map(likelihood)
                .enumerate()
                .max_by(|(_, a), (_, b)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
            let best = best.map_or(0, |(index, _)| index);
            let text = self.line.pointer(&format!("/arguments/gen_args_{best}/arg_1")).cloned();
            let beside = text.map(|text| ("text", text)).into_iter().collect();
            return vec![Output { beside, ..of(0, json!(best.to_string())) }];
        }
        let repeats = self.line.pointer("/resps/0").and_then(Value::as_array).filter(|replies| replies.len() > 1);
        match repeats {
            Some(replies) => replies.iter().enumerate().map(|(index, reply)| of(index, text(reply))).collect(),
            None => vec![of(0, self.filtered_replies().first().map_or_else(|| json!(""), text))],
        }
    }

    /// Names of members that are neither read nor hashes of what is read.
    pub fn unread(&self) -> Vec<String> {
        let metrics = self.line.get("metrics").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_read = |key: &str| {
            READ.contains(&key) || key.ends_with("_hash") || metrics.iter().any(|metric| metric.as_str() == Some(key))
        };
        self.line.as_object().into_iter().flatten().map(|(key, _)| key.clone()).filter(|key| !is_read(key)).collect()
    }

    /// Scores by name, and names of metrics without a number.
    pub fn scores(&self, task: &str) -> (Vec<(String, Value)>, Vec<String>) {
        let metrics = self.line.get("metrics").and_then(Value::as_array);
        let (mut scores, mut lost) = (Vec::new(), Vec::new());
        for metric in metrics.into_iter().flatten().filter_map(Value::as_str) {
            match self.line.get(metric) {
                Some(score @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => {
                    scores.push((score_name(task, metric, &self.filter), score.clone()));
                }
                _ => lost.push(metric.to_owned()),
            }
        }
        (scores, lost)
    }
}

/// The log-likelihood of a pair; the harness writes it as text.
fn likelihood(pair: &Value) -> Option<f64> {
    let number = pair.get(0)?;
    number.as_f64().or_else(|| number.as_str()?.parse().ok())
}

/// A reply as the output: a text, or the JSON of another value.
fn text(reply: &Value) -> Value {
    match reply {
        Value::String(_) => reply.clone(),
        other => json!(other.to_string()),
    }
}
