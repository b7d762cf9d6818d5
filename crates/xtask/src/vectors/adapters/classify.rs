//! Adapters of classification and calibration.

use karat_stats::{
    calibration::calibration,
    classification::{Scores, classification, ranking},
};
use serde_json::{Map, Value, json};

use crate::vectors::Adapter;
use crate::vectors::input::{array, integer, json, label_indices, labels, message, observed_values};

/// Adapters by the stem of the vector file.
pub const ADAPTERS: &[(&str, Adapter)] = &[("classification", classify), ("ece", reliability)];

fn classify(input: &Value) -> Result<Value, String> {
    if input.get("scores").is_some() {
        return rank(input);
    }
    let declared = labels(input, "labels")?;
    let truth = label_indices("truth", &labels(input, "truth")?, &declared)?;
    let predicted = label_indices("predicted", &labels(input, "predicted")?, &declared)?;
    let Some(result) = classification(&truth, &predicted, declared.len()).map_err(message)? else {
        return Ok(Value::Null);
    };
    let fields = |scores: Scores| {
        let mut fields = Map::new();
        fields.insert("precision".to_owned(), json(scores.precision));
        fields.insert("recall".to_owned(), json(scores.recall));
        fields.insert("f1".to_owned(), json(scores.f1));
        fields
    };
    let classes = result.per_class.iter().zip(array(input, "labels")?).map(|(class, label)| {
        let mut entry = fields(class.scores);
        entry.insert("label".to_owned(), label.clone());
        entry.insert("support".to_owned(), json!(class.support));
        Value::Object(entry)
    });
    Ok(json!({
        "per_class": classes.collect::<Vec<_>>(),
        "accuracy": json(result.accuracy),
        "mcc": json(result.matthews),
        "balanced_accuracy": json(result.balanced_accuracy),
        "micro": fields(result.micro),
        "macro": fields(result.macro_mean),
        "weighted": fields(result.weighted),
    }))
}

fn rank(input: &Value) -> Result<Value, String> {
    let ranking = ranking(&flags(input, "truth")?, &observed_values(input, "scores")?).map_err(message)?;
    Ok(json!({
        "roc_auc": json(ranking.roc_auc),
        "average_precision": json(ranking.average_precision),
    }))
}

/// The array of truth values `name`, written as 0 and 1 or as false and true.
fn flags(input: &Value, name: &str) -> Result<Vec<bool>, String> {
    let flag = |value: &Value| value.as_bool().or_else(|| Some(value.as_f64()? > 0.5));
    let flags: Option<Vec<bool>> = array(input, name)?.iter().map(flag).collect();
    flags.ok_or_else(|| format!("reading the input: field {name} should hold 0 and 1"))
}

fn reliability(input: &Value) -> Result<Value, String> {
    let result =
        calibration(&observed_values(input, "confidence")?, &flags(input, "correct")?, integer(input, "n_bins")?)
            .map_err(message)?;
    let bins = result.bins.iter().map(|bin| {
        json!({
            "lower": bin.lower,
            "upper": bin.upper,
            "count": bin.count,
            "mean_confidence": json(bin.mean_confidence),
            "accuracy": json(bin.accuracy),
        })
    });
    let summary = result.summary;
    Ok(json!({
        "ece": json(summary.map(|s| s.ece)),
        "mce": json(summary.map(|s| s.mce)),
        "ece_equal_mass": json(summary.map(|s| s.ece_equal_mass)),
        "brier": json(summary.map(|s| s.brier)),
        "log_loss": json(summary.map(|s| s.log_loss)),
        "mean_confidence": json(summary.map(|s| s.mean_confidence)),
        "accuracy": json(summary.map(|s| s.accuracy)),
        "bins": bins.collect::<Vec<_>>(),
    }))
}
