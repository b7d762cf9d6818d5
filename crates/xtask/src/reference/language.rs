//! The page of the suite language, from its JSON Schema: one table per object, one row per key.

use std::collections::{BTreeSet, VecDeque};

use serde_json::Value;

use super::options::{description, is_required};

const HEAD: &str = "# Suite language

Every key of a suite with its type, meaning and an example. Generated from the JSON Schema (`karat schema suite`) by
`cargo xtask generate`; do not edit. [Write a suite](../guides/suites.md) introduces the language. Keys marked \\* are
required.
";

const REFERENCE: &str = "#/$defs/";

/// The page.
pub(super) fn page() -> Result<String, String> {
    let schema = karat_app::suite_schema();
    let schema: Value = serde_json::from_str(&schema).map_err(|error| format!("reading the schema: {error}"))?;
    let mut page = HEAD.to_owned();
    page.push_str(&section("Suite", &schema, &schema));
    for name in reachable(&schema) {
        let object = &schema["$defs"][&name];
        page.push_str(&section(title(&name), object, &schema));
    }
    Ok(page)
}

/// Names of all definitions with keys that a suite leads to, breadth first, so that a section follows its first mention.
fn reachable(schema: &Value) -> Vec<String> {
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = VecDeque::from([schema]);
    while let Some(object) = open.pop_front() {
        let properties = object.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(|properties| properties.values()).filter_map(referenced_definition)
        {
            let target = &schema["$defs"][name];
            if seen.insert(name) && target.get("properties").is_some() {
                names.push(name.to_owned());
                open.push_back(target);
            }
        }
    }
    names
}

/// The definition that a property, its members or its values refer to.
fn referenced_definition(property: &Value) -> Option<&str> {
    let inner = [Some(property), property.get("items"), property.get("additionalProperties")];
    let inner = inner.into_iter().flatten();
    inner.into_iter().find_map(|part| {
        let own = part.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(REFERENCE));
        let forms = || part.get("anyOf")?.as_array()?.iter().find_map(referenced_definition);
        own.or_else(|| part.get("items").and_then(referenced_definition)).or_else(forms)
    })
}

/// A definition's name without the suffix that says what else may stand for it.
fn title(name: &str) -> &str {
    name.strip_suffix("_or_text").or_else(|| name.strip_suffix("_or_list")).unwrap_or(name)
}

fn section(title: &str, object: &Value, schema: &Value) -> String {
    let Some(properties) = object.get("properties").and_then(Value::as_object) else { return String::new() };
    let remark = object.get("description").and_then(Value::as_str);
    let remark = remark.map(|remark| format!("{remark}\n\n")).unwrap_or_default();
    let mut text = format!("\n## {title}\n\n{remark}| key | type | meaning | example |\n|---|---|---|---|\n");
    for (key, property) in properties {
        let star = if is_required(object, key) { " \\*" } else { "" };
        let example = example(property, schema).map(|example| format!("`{key}: {example}`")).unwrap_or_default();
        text.push_str(&format!(
            "| `{key}`{star} | {} | {} | {} |\n",
            escape_cell(&kind(property)),
            escape_cell(&description(property)),
            escape_cell(&example)
        ));
    }
    text
}

/// The type of a key, with links to the sections of objects.
fn kind(property: &Value) -> String {
    if let Some(name) = property.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(REFERENCE)) {
        let title = title(name);
        let link = format!("[{title}](#{title})");
        return match name.strip_prefix(title) {
            Some("_or_text") => format!("text or {link}"),
            Some("_or_list") => format!("list or {link}"),
            _ => link,
        };
    }
    if let Some(words) = property.get("enum").and_then(Value::as_array) {
        let words = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`"));
        return words.collect::<Vec<_>>().join(", ");
    }
    if let Some(forms) = property.get("anyOf").and_then(Value::as_array) {
        return forms.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let of = |part: &str| property.get(part).map(kind).filter(|kind| !kind.is_empty());
    let word = |name: &str| match name {
        "array" => of("items").map_or_else(|| "list".to_owned(), |items| format!("list of {items}")),
        "object" => of("additionalProperties").map_or_else(|| "map".to_owned(), |values| format!("map of {values}")),
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    };
    match property.get("type") {
        Some(Value::String(name)) => word(name),
        // Scalars of texts are taken as they are written, so the schema allows numbers and booleans there too.
        Some(Value::Array(names)) if names.len() == 3 && names.iter().any(|name| name == "boolean") => {
            "text".to_owned()
        }
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(word).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// An example of a key's value in YAML: that of the schema, otherwise one that follows from its type.
fn example(property: &Value, schema: &Value) -> Option<String> {
    let name = property.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(REFERENCE));
    let target = name.map(|name| &schema["$defs"][name]);
    let declared = [Some(property), target].into_iter().flatten().find_map(|schema| schema.get("examples")?.get(0));
    if let Some(example) = declared {
        return Some(flow(example));
    }
    if let Some(word) = property.get("enum").and_then(|words| words.get(0)) {
        return Some(flow(word));
    }
    match property.get("type").and_then(Value::as_str)? {
        "boolean" => Some("true".to_owned()),
        "integer" => Some(property.get("minimum").and_then(Value::as_u64).unwrap_or(1).max(1).to_string()),
        _ => None,
    }
}

/// A value as YAML in flow style.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{key}: {}", flow(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns true if YAML reads the text as the same text without quotes.
fn is_plain(text: &str) -> bool {
    let first = text.chars().next().is_some_and(|first| first.is_alphabetic() || first == '$' || first == '/');
    let numeric = text.strip_suffix(['s', 'm', 'h', 'd', '%']).is_some_and(|number| number.parse::<f64>().is_ok());
    let safe = |c: char| c.is_alphanumeric() || " _-./$()".contains(c);
    let word = !["yes", "no", "true", "false", "null", "on", "off"].contains(&text);
    word && (numeric || (first && text.chars().all(safe)))
}

fn escape_cell(cell: &str) -> String {
    cell.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sections_follow_their_first_mention() {
        let page = page().unwrap();
        for heading in ["## Suite", "## dataset", "## step", "## rubric", "## gate", "## run"] {
            assert!(page.contains(&format!("\n{heading}\n")), "{heading}");
        }
        assert!(page.contains("| `name` \\* | text |"));
    }

    #[test]
    fn examples_are_yaml() {
        for (value, expected) in [
            (json!("120s"), "120s"),
            (json!("yes"), "\"yes\""),
            (json!("{{ input }}"), "\"{{ input }}\""),
            (json!(["a b", 2]), "[a b, 2]"),
            (json!({"min": 0.5}), "{ min: 0.5 }"),
        ] {
            assert_eq!(flow(&value), expected);
        }
    }
}
