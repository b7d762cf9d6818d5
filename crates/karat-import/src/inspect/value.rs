//! Values of scores as numbers.

use serde_json::{Value, json};

/// A score's value in a suite.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScoreValue {
    /// A number, true or false; null is unscored.
    Scalar(Value),
    /// Scores by key.
    ByKey(Vec<(String, Value)>),
    /// A list or text that no number stands for, by a name of its kind.
    NoNumber(&'static str),
}

/// Reads a value as Inspect's `accuracy` does: `C` is 1, `P` one half, `I` and `N` are 0. A text without a number is unscored
/// here, and 0 there. Where there is nothing between right and wrong, true and false say so: the interval is that of a rate.
pub(super) fn read_value(value: &Value) -> ScoreValue {
    match value {
        Value::Object(members) => ScoreValue::ByKey(
            members.iter().map(|(key, value)| (key.clone(), scalar(value).unwrap_or_default())).collect(),
        ),
        Value::Array(_) => ScoreValue::NoNumber("list"),
        value => scalar(value).map_or(ScoreValue::NoNumber("text"), ScoreValue::Scalar),
    }
}

/// A value that is not a list or object; `None` of a text without a number, and of those.
fn scalar(value: &Value) -> Option<Value> {
    let text = match value {
        Value::String(text) => text,
        Value::Array(_) | Value::Object(_) => return None,
        other => return Some(other.clone()),
    };
    match (text.as_str(), text.to_lowercase().as_str()) {
        ("C", _) | (_, "yes" | "true") => Some(json!(true)),
        ("P", _) => Some(json!(0.5)),
        ("I" | "N", _) | (_, "no" | "false") => Some(json!(false)),
        (text, _) => text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| json!(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IO-07: letters, numbers, truth values and members of objects are scores; null is unscored, lists are dropped.
    #[test]
    fn values_become_numbers() {
        let cases = [
            (json!("C"), json!(true)),
            (json!("P"), json!(0.5)),
            (json!("I"), json!(false)),
            (json!("N"), json!(false)),
            (json!("Yes"), json!(true)),
            (json!("0.25"), json!(0.25)),
            (json!(3), json!(3)),
            (json!(true), json!(true)),
            (json!(null), json!(null)),
        ];
        for (value, score) in cases {
            assert_eq!(read_value(&value), ScoreValue::Scalar(score), "{value}");
        }
        let keys = ScoreValue::ByKey(vec![("a".into(), json!(true)), ("b".into(), json!(null))]);
        assert_eq!(read_value(&json!({"a": "C", "b": null})), keys);
        assert_eq!(read_value(&json!([1, 2])), ScoreValue::NoNumber("list"));
        assert_eq!(read_value(&json!("blue")), ScoreValue::NoNumber("text"));
        assert_eq!(read_value(&json!("c")), ScoreValue::NoNumber("text"));
    }
}
