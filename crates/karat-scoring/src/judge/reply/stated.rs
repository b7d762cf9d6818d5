//! The scale that a judge says its score is on.

use karat_types::Scale;
use serde_json::{Map, Value};

use super::places::normalize_name;

/// The largest distance of a stated bound from the scale's.
const TOLERANCE: f64 = 1e-9;

/// Keys, without case and punctuation, under which the highest score stands.
const HIGHEST: [&str; 13] = [
    "max",
    "maximum",
    "maxscore",
    "maxvalue",
    "maxpoints",
    "maxrating",
    "scoremax",
    "scalemax",
    "upperbound",
    "pointspossible",
    "denominator",
    "outof",
    "of",
];

/// The same, in the object of the score itself only: elsewhere they are sums and the like.
const HIGHEST_OF_ONE: [&str; 12] = [
    "total",
    "possible",
    "upper",
    "high",
    "highest",
    "top",
    "best",
    "full",
    "ceiling",
    "limit",
    "totalpoints",
    "maxpossible",
];

/// Keys under which the lowest score stands.
const LOWEST: [&str; 7] = ["min", "minimum", "minscore", "minvalue", "scoremin", "scalemin", "lowerbound"];

/// The kind of an object that may state a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScaleObject {
    /// It holds one score and what belongs to it.
    OneScore,
    /// It holds the scores of all dimensions.
    AllScores,
}

/// Keys under which both stand.
const BOTH: [&str; 5] = ["scale", "range", "scorerange", "unit", "units"];

/// Keys under which `true` says that the score is a share of 1, and of 100.
const SHARE: [(&str, f64); 5] =
    [("normalized", 1.0), ("normalised", 1.0), ("isnormalized", 1.0), ("percent", 100.0), ("percentage", 100.0)];

/// The scale that an object beside or around a score states, if it is another one: `` `max` is 5 ``. A score on
/// another scale is not a score on this one. Keys that the rubric asks for say nothing of it.
pub(super) fn other_scale(
    members: &Map<String, Value>,
    object: ScaleObject,
    scale: &Scale,
    is_asked: impl Fn(&str) -> bool,
) -> Option<String> {
    let Scale::Range { lo, hi, .. } = scale else { return None };
    let is_highest =
        |key: &str| HIGHEST.contains(&key) || object == ScaleObject::OneScore && HIGHEST_OF_ONE.contains(&key);
    let is = |stated: f64, bound: f64| (stated - bound).abs() <= TOLERANCE;
    let differs = |key: &str, value: &Value| {
        let key = normalize_name(key);
        let stated = match SHARE.iter().find(|(name, _)| *name == key) {
            Some((_, highest)) if *value == Value::Bool(true) => return !is(0.0, *lo) || !is(*highest, *hi),
            _ => numbers(value),
        };
        match stated.as_slice() {
            [highest] if is_highest(&key) || BOTH.contains(&key.as_str()) => !is(*highest, *hi),
            [lowest] if LOWEST.contains(&key.as_str()) => !is(*lowest, *lo),
            [lowest, highest] if BOTH.contains(&key.as_str()) => !is(*lowest, *lo) || !is(*highest, *hi),
            _ => false,
        }
    };
    let (key, value) = members.iter().find(|(key, value)| !is_asked(key) && differs(key, value))?;
    Some(format!("`{key}` is {value}"))
}

/// The scale that an object states for one of its scores, by the score's name: `facts_max`, `min_facts`.
pub(super) fn other_scale_of(
    name: &str,
    members: &Map<String, Value>,
    scale: &Scale,
    is_asked: impl Fn(&str) -> bool,
) -> Option<String> {
    let name = normalize_name(name);
    let bounds = members.iter().filter(|(key, _)| !is_asked(key)).filter_map(|(key, value)| {
        let key = normalize_name(key);
        let bound = key.strip_prefix(&name).or_else(|| key.strip_suffix(&name)).filter(|bound| !bound.is_empty())?;
        Some((bound.to_owned(), value.clone()))
    });
    other_scale(&bounds.collect(), ScaleObject::AllScores, scale, |_| false)
}

/// The numbers that a value states: itself, those in its words (`"0-1"`, `"out of 5"`, `"percent"`), or those of a list or
/// an object in their order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => number.as_f64().into_iter().collect(),
        Value::String(text) if text.to_lowercase().contains("percent") || text.trim() == "%" => vec![0.0, 100.0],
        Value::String(text) => numbers_in(text),
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Object(members) => {
            let entry = |keys: &[&str]| members.iter().find(|(key, _)| keys.contains(&normalize_name(key).as_str()));
            [entry(&LOWEST), entry(&HIGHEST)].into_iter().flatten().flat_map(|(_, value)| numbers(value)).collect()
        }
        _ => Vec::new(),
    }
}

/// The numbers in a text. A hyphen after a digit stands between two of them.
fn numbers_in(text: &str) -> Vec<f64> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut after_number = false;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = &rest[..start];
        let is_negative = before.ends_with(['-', '−']) && !(after_number && before.trim().chars().count() == 1);
        let tail = &rest[start..];
        let end = tail.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tail.len());
        let number: Option<f64> = tail[..end].trim_end_matches('.').parse().ok();
        found.extend(number.map(|number| if is_negative { -number } else { number }));
        after_number = true;
        rest = &tail[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_another_scale_is_reported() {
        let ten = Scale::Range { lo: 0.0, hi: 10.0, step: None };
        let said = |members: Value| {
            other_scale(members.as_object().unwrap(), ScaleObject::OneScore, &ten, |key| key == "range")
        };
        for same in [
            json!({"score": 4, "max": 10}),
            json!({"score": 4, "out_of": "10"}),
            json!({"score": 4, "scale": "0-10"}),
            json!({"score": 4, "scale": [0, 10]}),
            json!({"score": 4, "scale": {"min": 0, "max": 10}}),
            json!({"score": 4, "scale": "points"}),
            json!({"score": 4, "range": 7}),
            json!({"score": 4, "reason": "1 of 5"}),
            json!({"score": 4, "normalized": false, "unit": "points"}),
        ] {
            assert_eq!(said(same.clone()), None, "{same}");
        }
        for (other, words) in [
            (json!({"score": 4, "max": 5}), "`max` is 5"),
            (json!({"score": 4, "maxScore": 5}), "`maxScore` is 5"),
            (json!({"value": 0.7, "maximum": 1.0}), "`maximum` is 1.0"),
            (json!({"score": 70, "out_of": 100}), "`out_of` is 100"),
            (json!({"score": 4, "total": 5}), "`total` is 5"),
            (json!({"score": 4, "denominator": 5}), "`denominator` is 5"),
            (json!({"score": 4, "possible": 5}), "`possible` is 5"),
            (json!({"score": 4, "scaleMax": 5}), "`scaleMax` is 5"),
            (json!({"score": 4, "upper": 5}), "`upper` is 5"),
            (json!({"score": 4, "min": 1}), "`min` is 1"),
            (json!({"score": 0.4, "scale": "0-1"}), "`scale` is \"0-1\""),
            (json!({"score": 0.4, "scale": "-1 to 1"}), "`scale` is \"-1 to 1\""),
            (json!({"score": 0.7, "normalized": true}), "`normalized` is true"),
            (json!({"score": 70, "unit": "%"}), "`unit` is \"%\""),
            (json!({"score": 70, "scale": "percent"}), "`scale` is \"percent\""),
        ] {
            assert_eq!(said(other).as_deref(), Some(words));
        }
        let sums = json!({"depth": 4, "truth": 5, "total": 9, "best": 5});
        assert_eq!(other_scale(sums.as_object().unwrap(), ScaleObject::AllScores, &ten, |_| false), None);
        assert_eq!(
            (numbers_in("-1 to 1"), numbers_in("0 - 10"), numbers_in("1–5")),
            (vec![-1.0, 1.0], vec![0.0, 10.0], vec![1.0, 5.0])
        );
    }
}
