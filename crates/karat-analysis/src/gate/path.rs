//! Looks up findings by their path under `analyses`.

use karat_text::similar::nearest;
use serde_json::Value;

use crate::AnalysisResult;
use crate::analyses::excerpt;
use crate::findings::Findings;
use crate::infer::finding::Finding;

/// The finding at a path such as `agreement.quality.helpful.alpha`; keys may contain dots.
///
/// # Errors
/// The path has no number; the text lists what it has.
pub(super) fn finding(findings: &Findings, path: &str) -> Result<Finding, String> {
    let nothing = |at: String| format!("there is no number at `{path}` under `analyses`{at}");
    let (analysis, value) = outcome(&findings.analyses, path).ok_or_else(|| nothing(String::new()))?;
    let (found, left) = walk(&value, rest_after(path, analysis).unwrap_or_default());
    if !left.is_empty() {
        let meant =
            suggested_path(&findings.analyses, path).map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        return Err(nothing(format!(": there is no `{left}` in {}{meant}", describe_value(found))));
    }
    finding_from_json(found).ok_or_else(|| nothing(format!("; it is {}", describe_value(found))))
}

/// The most likely intended path, if this one does not exist.
pub(super) fn suggested_path(analyses: &[AnalysisResult], path: &str) -> Option<String> {
    let (analysis, value) = outcome(analyses, path)?;
    let (found, left) = walk(&value, rest_after(path, analysis)?);
    let names: Vec<&str> = found.as_object()?.keys().map(String::as_str).collect();
    let first = left.split_once('.').map_or(left, |(first, _)| first);
    let near = nearest(first, names).filter(|_| !left.is_empty())?;
    let (before, after) = (path.strip_suffix(left)?, left.strip_prefix(first)?);
    Some(format!("{before}{near}{after}"))
}

/// Id and outcome of the analysis that a path begins with.
fn outcome<'a>(analyses: &'a [AnalysisResult], path: &str) -> Option<(&'a str, Value)> {
    let named = |it: &&AnalysisResult| rest_after(path, &it.id).is_some();
    let analysis = analyses.iter().filter(named).max_by_key(|it| it.id.len())?;
    Some((&analysis.id, serde_json::to_value(&analysis.outcome).ok()?))
}

/// Describes a value, so that the reader can correct the path.
fn describe_value(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "an empty result".to_owned(),
        Value::Object(members) => excerpt(&members.keys().cloned().collect::<Vec<_>>().join(", "), 200),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Null => "an undefined value".to_owned(),
        other => excerpt(&other.to_string(), 200),
    }
}

/// The human-anchored figure of a metric, for a system if given.
pub(super) fn anchored_finding(findings: &Findings, metric: &str, system: Option<&str>) -> Option<Finding> {
    findings.anchored_figure(metric, system?)?.anchored.clone()
}

/// The rest of a path after a leading key.
pub(super) fn rest_after<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(key)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

/// The value at a path, and the rest of the path that could not be followed. At each step the longest matching key is
/// used; lists are indexed by position.
fn walk<'v, 'p>(value: &'v Value, path: &'p str) -> (&'v Value, &'p str) {
    let next = |key: &str, member: &'v Value| Some(walk(member, rest_after(path, key)?));
    let ways: Vec<(&Value, &str)> = match value {
        _ if path.is_empty() => Vec::new(),
        Value::Object(members) => members.iter().filter_map(|(key, member)| next(key, member)).collect(),
        Value::Array(items) => {
            let first = path.split_once('.').map_or(path, |(first, _)| first);
            let item = first.parse::<usize>().ok().and_then(|at| items.get(at));
            item.and_then(|item| next(first, item)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    ways.into_iter().min_by_key(|(_, left)| left.len()).unwrap_or((value, path))
}

/// A number, or an object in the form of a finding.
fn finding_from_json(value: &Value) -> Option<Finding> {
    if let Some(plain) = value.as_f64() {
        return Finding::point(plain, 0, "finding");
    }
    Finding::from_json(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_may_hold_dots() {
        let value =
            json!({ "quality.helpful": { "alpha": 0.7 }, "quality": { "helpful": { "alpha": 0.1, "n": [1, 2] } } });
        assert_eq!(walk(&value, "quality.helpful.alpha"), (&json!(0.7), ""));
        assert_eq!(walk(&value, "quality.helpful.n.1"), (&json!(2), ""));
        assert_eq!(walk(&value, "quality.other").1, "other");
    }
}
