//! Options of a JSON Schema as a Markdown list.

use serde_json::Value;

/// One line for each option of an object schema; empty without options.
pub(super) fn list(options: &Value) -> String {
    let Some(properties) = options.get("properties").and_then(Value::as_object) else { return String::new() };
    let lines = properties.iter().map(|(name, option)| line(name, option, options));
    lines.collect()
}

fn line(name: &str, option: &Value, root: &Value) -> String {
    let mut facts = vec![kind(option, root)];
    if is_required(root, name) {
        facts.push("required".to_owned());
    }
    let default = option.get("default").filter(|default| !default.is_null() && default.as_str() != Some(""));
    facts.extend(default.map(|default| format!("default `{default}`")));
    facts.retain(|fact| !fact.is_empty());
    let about = description(option);
    let about = if about.is_empty() { String::new() } else { format!(": {about}") };
    format!("- `{name}` ({}){about}\n", facts.join(", "))
}

/// The description of a schema on one line; empty without one.
pub(super) fn description(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ")
}

/// Returns true if the object schema requires the property.
pub(super) fn is_required(object: &Value, name: &str) -> bool {
    let required = object.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// The type of an option in words, such as `list of text`; empty when the schema allows anything.
pub(super) fn kind(option: &Value, root: &Value) -> String {
    if let Some(reference) = option.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(String::new, |target| kind(target, root));
    }
    if let Some(words) = option.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words.join(" or ");
    }
    if let Some(parts) = ["oneOf", "anyOf"].iter().find_map(|key| option.get(*key)).and_then(Value::as_array) {
        return join_kinds(parts.iter().map(|part| kind(part, root)).collect());
    }
    if let Some(word) = option.get("const").and_then(Value::as_str) {
        return word.to_owned();
    }
    match option.get("type") {
        Some(Value::String(name)) => word(name, option, root),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            join_kinds(names.map(|name| word(name, option, root)).collect())
        }
        _ => String::new(),
    }
}

fn join_kinds(mut kinds: Vec<String>) -> String {
    kinds.retain(|kind| !kind.is_empty() && kind != "null");
    kinds.dedup();
    kinds.join(" or ")
}

fn word(name: &str, option: &Value, root: &Value) -> String {
    match name {
        "string" if option.get("format").is_some_and(|format| format == "file") => "file".to_owned(),
        "string" => "text".to_owned(),
        "array" => match option.get("items").map(|items| kind(items, root)).filter(|kind| !kind.is_empty()) {
            Some(items) => format!("list of {items}"),
            None => "list".to_owned(),
        },
        "object" => "map".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_are_words() {
        let root = json!({"$defs": {"how": {"enum": ["a", "b"]}}});
        for (schema, expected) in [
            (json!({"type": "string"}), "text"),
            (json!({"type": ["integer", "null"]}), "integer"),
            (json!({"type": "array", "items": {"$ref": "#/$defs/how"}}), "list of a or b"),
            (json!({"oneOf": [{"const": "x"}, {"type": "null"}]}), "x"),
            (json!({}), ""),
        ] {
            assert_eq!(kind(&schema, &root), expected, "{schema}");
        }
    }
}
