//! Parts of a config that stand elsewhere in it: `{ $ref: '#/assertionTemplates/NAME' }`.

use serde_json::{Map, Value};

/// The deepest chain of parts within parts.
const MAX_DEPTH: usize = 32;

/// The largest number of parts that are put in their place.
const MAX_PARTS: usize = 10_000;

/// The config with every such part in its place. One that is not there, or holds itself, stays a reference.
pub(super) fn resolve(config: Map<String, Value>) -> Map<String, Value> {
    let root = Value::Object(config);
    let mut left = MAX_PARTS;
    match resolve_value(&root, &root, 0, &mut left) {
        Value::Object(config) => config,
        _ => Map::new(),
    }
}

fn resolve_value(value: &Value, root: &Value, depth: usize, left: &mut usize) -> Value {
    match value {
        Value::Object(map) => {
            let target = map.get("$ref").and_then(Value::as_str).and_then(|name| root.pointer(name.strip_prefix('#')?));
            match target {
                Some(target) if depth < MAX_DEPTH && *left > 0 && target.pointer("/$ref") != map.get("$ref") => {
                    *left -= 1;
                    let part = resolve_value(target, root, depth + 1, left);
                    // Keys beside the reference win.
                    match part {
                        Value::Object(mut part) => {
                            let own = map.iter().filter(|(key, _)| *key != "$ref");
                            part.extend(own.map(|(key, own)| (key.clone(), resolve_value(own, root, depth, left))));
                            Value::Object(part)
                        }
                        part => part,
                    }
                }
                _ => Value::Object(
                    map.iter().map(|(key, value)| (key.clone(), resolve_value(value, root, depth, left))).collect(),
                ),
            }
        }
        Value::Array(items) => items.iter().map(|item| resolve_value(item, root, depth, left)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolve_json(config: Value) -> Value {
        let Value::Object(config) = config else { panic!("a map") };
        Value::Object(resolve(config))
    }

    /// IO-02: parts of a config stand where they are named; a part that holds itself ends.
    #[test]
    fn parts_stand_where_they_are_named() {
        let parts =
            json!({"short": {"type": "javascript", "value": "output.length < 9"}, "all": [{"$ref": "#/parts/short"}]});
        let config = json!({"parts": parts, "assert": [{"$ref": "#/parts/short", "weight": 2}, {"$ref": "#/parts/none"}],
                            "others": {"$ref": "#/parts/all"}});
        let resolved = resolve_json(config);
        assert_eq!(
            resolved["assert"],
            json!([{"type": "javascript", "value": "output.length < 9", "weight": 2}, {"$ref": "#/parts/none"}])
        );
        assert_eq!(resolved["others"], json!([{"type": "javascript", "value": "output.length < 9"}]));
        let endless = resolve_json(json!({"a": {"b": {"$ref": "#/a"}}}));
        assert!(endless["a"]["b"].is_object());
        let wide = json!({"a": [{"$ref": "#/a"}, {"$ref": "#/a"}]});
        assert!(resolve_json(wide)["a"].is_array());
    }
}
