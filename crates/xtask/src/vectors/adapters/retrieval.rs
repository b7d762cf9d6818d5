//! Adapters of the retrieval statistics and of the numeric comparison.

use karat_quantity::{is_close, within_tolerance};
use karat_scoring::metrics::retrieval::{Gain, Judged, Relevance, top};
use serde_json::{Map, Value, json as object};

use crate::vectors::Adapter;
use crate::vectors::input::{field, json, number};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[("ir_metrics", ir_metrics), ("numeric_match", numeric_match)];

fn ir_metrics(input: &Value) -> Result<Value, String> {
    let ranking = ranking(field(input, "ranking")?)?;
    let relevance = relevance(field(input, "relevance")?)?;
    let Some(judged) = Judged::new(&ranking, &relevance) else {
        return Ok(Value::Null);
    };
    let mut values = Map::new();
    let mut put = |name: String, value: f64| values.insert(name, json(value));
    put("mrr".to_owned(), judged.reciprocal_rank(None));
    put("map".to_owned(), judged.average_precision(None));
    put("r_precision".to_owned(), judged.r_precision());
    put("ndcg".to_owned(), judged.ndcg(None, Gain::Linear));
    put("ndcg_exp".to_owned(), judged.ndcg(None, Gain::Exponential));
    for k in 1..=100 {
        let cutoff = top(k);
        put(format!("precision@{k}"), judged.precision(cutoff));
        put(format!("recall@{k}"), judged.recall(cutoff));
        put(format!("hit_rate@{k}"), judged.hit_rate(cutoff));
        put(format!("f1@{k}"), judged.f1(cutoff));
        put(format!("mrr@{k}"), judged.reciprocal_rank(cutoff));
        put(format!("map@{k}"), judged.average_precision(cutoff));
        put(format!("ndcg@{k}"), judged.ndcg(cutoff, Gain::Linear));
        put(format!("ndcg_exp@{k}"), judged.ndcg(cutoff, Gain::Exponential));
    }
    Ok(Value::Object(values))
}

fn numeric_match(input: &Value) -> Result<Value, String> {
    let (expected, actual) = (number(input, "expected")?, number(input, "actual")?);
    let (rel, abs) = (number(input, "rel_tol")?, number(input, "abs_tol")?);
    Ok(object!({
        "python_isclose": is_close(expected, actual, rel, abs),
        "reference_based": within_tolerance(actual, expected, rel, abs),
    }))
}

fn ranking(value: &Value) -> Result<Vec<&str>, String> {
    let items = value.as_array().ok_or("reading the input: ranking is not an array")?;
    let documents: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    documents.ok_or_else(|| "reading the input: ranking holds something else than ids".to_owned())
}

fn relevance(value: &Value) -> Result<Relevance, String> {
    let grades = value.as_object().ok_or("reading the input: relevance is not an object")?;
    let grades: Option<Vec<(&str, f64)>> =
        grades.iter().map(|(document, grade)| Some((document.as_str(), grade.as_f64()?))).collect();
    let grades = grades.ok_or("reading the input: relevance holds something else than grades")?;
    Relevance::graded_gains(grades).map_err(|e| e.to_string())
}
