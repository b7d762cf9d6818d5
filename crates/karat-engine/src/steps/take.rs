//! `take`: selects named parts of a value.

use std::collections::BTreeMap;

use karat_text::path::Path;
use karat_types::{StepSpec, TakeSpec};
use serde_json::Value;

/// The parts that a step takes, null for missing ones; the whole value if it takes none.
pub(super) fn take(spec: &StepSpec, output: Value) -> Value {
    if spec.take.is_empty() {
        return output;
    }
    Value::Object(spec.take.iter().map(|(name, part)| (name.clone(), take_part(part, &output))).collect())
}

fn take_part(part: &TakeSpec, value: &Value) -> Value {
    match part {
        TakeSpec::Path(path) => value_at(path, value),
        TakeSpec::Renamed { each: None, r#as } => match rename_parts(r#as, value) {
            Value::Object(parts) if parts.values().all(Value::is_null) => Value::Null,
            parts => parts,
        },
        TakeSpec::Renamed { each: Some(each), r#as } => match value_at(each, value) {
            Value::Array(members) => members.iter().map(|member| rename_parts(r#as, member)).collect(),
            _ => Value::Null,
        },
    }
}

fn rename_parts(parts: &BTreeMap<String, String>, value: &Value) -> Value {
    Value::Object(parts.iter().map(|(name, path)| (name.clone(), value_at(path, value))).collect())
}

/// The value at a path: null if there is none, a list if the path may lead to several. An empty list stands only where the
/// value has one.
fn value_at(path: &str, value: &Value) -> Value {
    match Path::parse(path) {
        Ok(path) if path.is_plural() && path.gap(value).is_some() => Value::Null,
        Ok(path) if path.is_plural() => path.all(value).into_iter().cloned().collect(),
        Ok(path) => path.first(value).cloned().unwrap_or(Value::Null),
        Err(_) => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// F2, RG-03: parts of any JSON answer are available under the names that scorers read; one that the answer leaves out is
    /// null, never an empty list.
    #[test]
    fn parts_are_renamed() {
        let answer = json!({"result": {"text": "x", "refs": [{"kind": "release", "loc": {"pg": 3}}, {"kind": "slides"}]},
                            "hits": {"passages": [{"uid": "c1"}, {"uid": "c2"}], "none": null, "empty": []}});
        for (part, expected) in [
            (json!("$.result.text"), json!("x")),
            (json!("$.result.lost"), json!(null)),
            (json!("$.hits.passages[*].uid"), json!(["c1", "c2"])),
            (json!("$.lost[*]"), json!(null)),
            (json!("$.hits.none[*]"), json!(null)),
            (json!("$.hits.empty[*].uid"), json!([])),
            (json!({"as": {"text": "$.lost[*].uid", "page": "$.pages"}}), json!(null)),
            (json!({"each": "$.lost[*]", "as": {"a": "$.b"}}), json!(null)),
            (json!({"each": "$.hits.empty", "as": {"a": "$.b"}}), json!([])),
            (
                json!({"each": "$.result.refs", "as": {"doc_type": "$.kind", "page": "$.loc.pg"}}),
                json!([{"doc_type": "release", "page": 3}, {"doc_type": "slides", "page": null}]),
            ),
            (
                json!({"as": {"text": "$.hits.passages[*].uid", "page": "$.hits.pages"}}),
                json!({"text": ["c1", "c2"], "page": null}),
            ),
            (json!({"each": "$.result.text", "as": {"a": "$.b"}}), json!(null)),
        ] {
            let spec: TakeSpec = serde_json::from_value(part.clone()).unwrap();
            assert_eq!(take_part(&spec, &answer), expected, "{part}");
            assert_eq!(serde_json::to_value(&spec).unwrap(), part);
        }
    }
}
