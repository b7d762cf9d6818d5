//! One output of the source.

use serde_json::{Map, Value, json};

/// An output with its facts and scores.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Output {
    /// Id of the sample.
    pub sample: String,
    /// Counted from 1.
    pub trial: u32,
    /// The output; null where there is an error in its place.
    pub output: Value,
    /// Other facts of the source, which no key of the suite reads.
    pub beside: Vec<(&'static str, Value)>,
    pub error: Option<String>,
    pub latency_ms: Option<f64>,
    /// Tokens by model.
    pub usage: Vec<TokenUse>,
    pub cost_usd: Option<f64>,
    /// Scores by the source's name: a number, true, false, or null if it gave none.
    pub scores: Vec<(String, Value)>,
    /// Explanations of scores, by the same names.
    pub reasons: Vec<(String, String)>,
}

/// Tokens that an output took of one model.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TokenUse {
    /// Empty if the source does not say it.
    pub model: String,
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cached: Option<u64>,
}

impl Output {
    /// The output as a row; `scores` and `reasons` are under the names of the suite.
    pub(super) fn to_row(&self, scores: Map<String, Value>, reasons: Map<String, Value>) -> Value {
        let mut row = Map::new();
        row.insert("id".to_owned(), json!(self.sample));
        row.insert("trial".to_owned(), json!(self.trial));
        row.insert("output".to_owned(), self.output.clone());
        let tokens = match self.usage.as_slice() {
            [only] => only.to_members(),
            _ => Map::new(),
        };
        let several: Vec<_> = self.usage.iter().filter(|_| self.usage.len() > 1).map(TokenUse::to_members).collect();
        let facts =
            [("error", json!(self.error)), ("latency_ms", json!(self.latency_ms)), ("cost_usd", json!(self.cost_usd))];
        row.extend(self.beside.iter().map(|(key, fact)| ((*key).to_owned(), fact.clone())));
        row.extend(facts.into_iter().filter(|(_, fact)| !fact.is_null()).map(|(key, fact)| (key.to_owned(), fact)));
        row.extend(tokens);
        if !several.is_empty() {
            row.insert("usage".to_owned(), json!(several));
        }
        row.insert("scores".to_owned(), Value::Object(scores));
        if !reasons.is_empty() {
            row.insert("reasons".to_owned(), Value::Object(reasons));
        }
        Value::Object(row)
    }
}

impl TokenUse {
    fn to_members(&self) -> Map<String, Value> {
        let counts = [("input_tokens", self.input), ("output_tokens", self.output), ("cached_tokens", self.cached)];
        let counts = counts.into_iter().filter_map(|(key, count)| Some((key.to_owned(), json!(count?))));
        let model = Some(("model".to_owned(), json!(self.model))).filter(|_| !self.model.is_empty());
        model.into_iter().chain(counts).collect()
    }
}
