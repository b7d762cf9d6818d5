//! Findings by their path under `analyses`.

use serde_json::Value;

use crate::finding::Finding;
use crate::findings::Findings;

/// The finding at a path such as `agreement.quality.helpful.alpha`; keys may hold dots themselves.
///
/// # Errors
/// No such analysis or path, or no number there; the text says which.
pub(super) fn finding(findings: &Findings, path: &str) -> Result<Finding, String> {
    let named = |it: &&crate::Analysed| rest(path, &it.id).is_some();
    let Some(analysis) = findings.analyses.iter().filter(named).max_by_key(|it| it.id.len()) else {
        let known: Vec<&str> = findings.analyses.iter().map(|it| it.id.as_str()).collect();
        return Err(format!("there is no finding `{path}`: the analyses of the run are {}", known.join(", ")));
    };
    let value = serde_json::to_value(&analysis.outcome).map_err(|error| format!("reading `{path}`: {error}"))?;
    let found = walk(&value, rest(path, &analysis.id).unwrap_or_default());
    found.and_then(number).ok_or_else(|| format!("there is no number at `{path}` under `analyses`"))
}

/// The human-anchored figure of a metric, of a system where one is meant.
pub(super) fn anchored(findings: &Findings, metric: &str, system: Option<&str>) -> Option<Finding> {
    let analysis = findings.analyses.iter().find(|it| it.analysis == "human_anchor")?;
    let value = serde_json::to_value(&analysis.outcome).ok()?;
    let rows = value.get("figures").and_then(Value::as_array)?;
    let is = |row: &&Value| {
        row.get("metric").and_then(Value::as_str) == Some(metric) && row.get("system").and_then(Value::as_str) == system
    };
    number(rows.iter().find(is)?.get("anchored")?)
}

/// What follows a key at the beginning of a path.
fn rest<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(key)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

/// The value at a path: at each step the longest key that fits; lists by position.
fn walk<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    if path.is_empty() {
        return Some(value);
    }
    match value {
        Value::Object(members) => {
            let mut fitting: Vec<(&String, &Value)> =
                members.iter().filter(|(key, _)| rest(path, key).is_some()).collect();
            fitting.sort_by_key(|(key, _)| std::cmp::Reverse(key.len()));
            fitting.into_iter().find_map(|(key, member)| walk(member, rest(path, key)?))
        }
        Value::Array(items) => {
            let (at, after) = path.split_once('.').unwrap_or((path, ""));
            walk(items.get(at.parse::<usize>().ok()?)?, after)
        }
        _ => None,
    }
}

/// A number, or an object with `value` and what belongs to it.
fn number(value: &Value) -> Option<Finding> {
    if let Some(plain) = value.as_f64() {
        return Finding::point(plain, 0, "finding");
    }
    Finding::read(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_may_hold_dots() {
        let value =
            json!({ "quality.helpful": { "alpha": 0.7 }, "quality": { "helpful": { "alpha": 0.1, "n": [1, 2] } } });
        assert_eq!(walk(&value, "quality.helpful.alpha"), Some(&json!(0.7)));
        assert_eq!(walk(&value, "quality.helpful.n.1"), Some(&json!(2)));
        assert_eq!(walk(&value, "quality.other"), None);
    }
}
