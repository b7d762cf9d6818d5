//! The published JSON Schema of a suite, made of the same tables that the checker reads. Options of a registered kind
//! follow from the kind through `if`/`then`; "exactly one of" and the form of durations are left to the checker, so
//! that an editor's messages stay readable.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::catalog::{Catalog, Entry};
use crate::grammar::{Kind, Object, REGISTRY, RUBRIC, SUITE, Shape};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const DEFINITIONS: &str = "#/$defs/";
/// Pattern of a text with a template.
const TEMPLATE: &str = r"\{\{";

/// The JSON Schema of a suite file, with the options of everything that is registered.
pub fn suite_schema(catalog: &Catalog) -> Value {
    document(&SUITE, "A Karat suite", catalog)
}

/// The JSON Schema of a rubric file.
pub fn rubric_schema() -> Value {
    document(&RUBRIC, "A Karat rubric", &Catalog::default())
}

/// The JSON Schema of a registry file.
pub fn registry_schema(catalog: &Catalog) -> Value {
    document(&REGISTRY, "A Karat model registry", catalog)
}

fn document(root: &'static Object, title: &str, catalog: &Catalog) -> Value {
    let mut writer = Writer { catalog, definitions: BTreeMap::new(), written: BTreeSet::new() };
    let mut body = writer.object(root, false);
    if !std::ptr::eq(root, &RUBRIC) {
        // Keys of the author, for anchors.
        body["patternProperties"] = json!({ "^x-": {} });
    }
    let mut document = Map::new();
    document.insert("$schema".to_owned(), DIALECT.into());
    document.insert("title".to_owned(), title.into());
    if let Value::Object(body) = body {
        document.extend(body);
    }
    let definitions: Map<String, Value> = writer.definitions.into_iter().collect();
    document.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(document)
}

struct Writer<'a> {
    catalog: &'a Catalog,
    definitions: BTreeMap<String, Value>,
    written: BTreeSet<String>,
}

impl Writer<'_> {
    fn shape(&mut self, shape: Shape) -> Value {
        match shape {
            Shape::Any => json!({}),
            Shape::Text => json!({ "type": ["string", "number", "boolean"] }),
            Shape::Template | Shape::Expression | Shape::Path | Shape::File => json!({ "type": "string" }),
            Shape::Words(words) => json!({ "enum": words }),
            Shape::TemplateOr(other) => json!({ "anyOf": [{ "type": "string" }, self.shape(*other)] }),
            Shape::WordOr([], other) => self.shape(*other),
            Shape::WordOr(_, Shape::Object(object)) => {
                self.reference(object, format!("{} or text", object.name), false, true)
            }
            Shape::WordOr(_, other) => or("string", self.shape(*other)),
            Shape::Boolean => json!({ "type": "boolean" }),
            Shape::BooleanOr(other) => json!({ "anyOf": [{ "type": "boolean" }, self.shape(*other)] }),
            Shape::Integer(least) => json!({ "type": "integer", "minimum": least }),
            Shape::IntegerIn(lo, hi) => json!({ "type": "integer", "minimum": lo, "maximum": hi }),
            Shape::Number(lo, hi) => number(lo, hi),
            Shape::NumberOr(lo, hi, other) => json!({ "anyOf": [number(lo, hi), self.shape(*other)] }),
            Shape::Placeholders(names) => {
                let examples = names.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>();
                json!({ "type": "string", "examples": [examples.join(" ")] })
            }
            Shape::Share => json!({ "type": ["number", "string"] }),
            Shape::Fraction(lo, hi) => json!({ "type": ["number", "string"], "minimum": lo, "maximum": hi }),
            Shape::Duration => json!({ "type": "string", "examples": ["500ms", "120s", "20m", "24h", "90d"] }),
            Shape::Span => json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 }),
            Shape::List(inner) => json!({ "type": "array", "items": self.shape(*inner) }),
            Shape::Map(inner) => json!({ "type": "object", "additionalProperties": self.shape(*inner) }),
            Shape::Object(object) => self.reference(object, object.name.to_owned(), false, false),
            Shape::Open(object) => self.reference(object, object.name.to_owned(), true, false),
            Shape::Short(object, main) => {
                let is_list = object.key(main).is_some_and(|key| matches!(key.shape, Shape::List(_)));
                let form = if is_list { "list" } else { "text" };
                self.reference(object, format!("{} or {form}", object.name), false, true)
            }
            Shape::With(_) => json!({ "type": "object" }),
        }
    }

    /// A reference to an object's definition, which is written once.
    fn reference(&mut self, object: &'static Object, name: String, open: bool, is_short: bool) -> Value {
        let name = name.replace(' ', "_");
        if self.written.insert(name.clone()) {
            let mut definition = self.object(object, open);
            if is_short {
                definition = if name.ends_with("_list") { or("array", definition) } else { or("string", definition) };
            }
            self.definitions.insert(name.clone(), definition);
        }
        json!({ "$ref": format!("{DEFINITIONS}{name}") })
    }

    fn object(&mut self, object: &'static Object, open: bool) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut cases = Vec::new();
        for key in object.keys {
            let mut schema = self.shape(key.shape);
            if let Some(schema) = schema.as_object_mut() {
                schema.insert("description".to_owned(), key.about.into());
                schema.insert("examples".to_owned(), json!([key.example_json()]));
            }
            properties.insert(key.name.to_owned(), schema);
            if key.required && !object.is_overlay {
                required.push(key.name);
            }
            if let Shape::With(kind) = key.shape {
                cases = self.cases(kind);
            }
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema.insert("additionalProperties".to_owned(), open.into());
        if !cases.is_empty() {
            schema.insert("allOf".to_owned(), cases.into());
        }
        Value::Object(schema)
    }

    /// For each member of a kind: where it is named, `with` has its options.
    fn cases(&mut self, kind: Kind) -> Vec<Value> {
        let Some((selector, members)) = kind.selector().zip(self.catalog.members(kind)) else { return Vec::new() };
        let mut cases = Vec::new();
        for (name, entry) in members.iter().filter(|(_, entry)| entry.options.is_object()) {
            cases.push(json!({
                "if": { "properties": { selector: { "const": name } }, "required": [selector] },
                "then": { "properties": { "with": self.options(&format!("{selector}.{name}"), entry) } },
            }));
        }
        cases
    }

    /// The options of a member. Their definitions are placed beside the document's own, under the member's name:
    /// `$ref` begins at the root, and two members may give one name to different things.
    fn options(&mut self, member: &str, entry: &Entry) -> Value {
        let mut options = entry.options.clone();
        adopt(&mut options, member);
        let inner = options.as_object_mut().and_then(|options| {
            options.remove("$schema");
            options.remove("$defs")
        });
        if let Some(Value::Object(inner)) = inner {
            self.definitions.extend(inner.into_iter().map(|(name, schema)| (format!("{member}.{name}"), schema)));
        }
        options
    }
}

/// Makes every reference to a definition one to `MEMBER.NAME`, and lets every option be a template.
fn adopt(schema: &mut Value, member: &str) {
    match schema {
        Value::Object(keys) => {
            if let Some(Value::String(address)) = keys.get_mut("$ref")
                && let Some(name) = address.strip_prefix(DEFINITIONS)
            {
                *address = format!("{DEFINITIONS}{member}.{name}");
            }
            keys.values_mut().for_each(|value| adopt(value, member));
            let options = keys.get_mut("properties").and_then(Value::as_object_mut);
            options.into_iter().flat_map(Map::values_mut).for_each(or_template);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| adopt(item, member)),
        _ => {}
    }
}

/// Allows an option to be a text with `{{ }}`, whose value is only known per row.
fn or_template(option: &mut Value) {
    let Some(keys) = option.as_object_mut() else { return };
    if ["$ref", "anyOf", "oneOf", "enum", "const"].iter().any(|form| keys.contains_key(*form)) {
        let about = keys.remove("description");
        *option = json!({ "anyOf": [option.take(), { "type": "string", "pattern": TEMPLATE }] });
        option.as_object_mut().zip(about).map(|(keys, about)| keys.insert("description".to_owned(), about));
        return;
    }
    let types = match keys.get("type") {
        Some(Value::Array(types)) => types.clone(),
        Some(only) => vec![only.clone()],
        None => return,
    };
    if types.iter().all(|it| it != "string") {
        keys.insert("type".to_owned(), types.into_iter().chain(["string".into()]).collect());
        keys.insert("pattern".to_owned(), TEMPLATE.into());
    }
}

/// The schema of an object whose short form is a bare text or list.
fn or(short: &str, mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("type".to_owned(), json!([short, "object"]));
    }
    schema
}

fn number(lo: f64, hi: f64) -> Value {
    let mut schema = Map::from_iter([("type".to_owned(), Value::from("number"))]);
    let bounds = [("minimum", lo), ("maximum", hi)];
    let finite = bounds.into_iter().filter(|(_, bound)| bound.is_finite());
    schema.extend(finite.map(|(name, bound)| (name.to_owned(), json!(bound))));
    Value::Object(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        let options = json!({
            "type": "object",
            "properties": { "k": { "type": "integer" }, "by": { "$ref": "#/$defs/By" } },
            "additionalProperties": false,
            "$defs": { "By": { "enum": ["rank", "score"] } },
        });
        let mut catalog = Catalog::default();
        catalog.metrics.insert("recall".to_owned(), Entry { options, ..Entry::default() });
        catalog
    }

    fn errors(suite: &Value) -> Vec<String> {
        let validator = jsonschema::validator_for(&suite_schema(&catalog())).unwrap();
        validator.iter_errors(suite).map(|error| error.instance_path().to_string()).collect()
    }

    fn suite(scorer: Value) -> Value {
        json!({
            "name": "x",
            "dataset": { "rows": [{ "input": "a" }] },
            "models": ["gpt-5", { "id": "m", "provider": "openai" }],
            "variants": { "v": [{ "prompt": "p.md" }, { "prompt": { "text": "t" } }] },
            "scorers": { "s": scorer },
        })
    }

    #[test]
    fn the_schema_knows_short_forms_and_the_options_of_a_kind() {
        assert_eq!(errors(&suite(json!({ "metric": "recall", "with": { "k": 3 } }))), Vec::<String>::new());
        assert_eq!(errors(&suite(json!({ "metric": "recall", "with": { "k": "3" } }))), ["/scorers/s/with/k"]);
        for given in [json!({ "k": "{{ sample.k }}" }), json!({ "by": "{{ sample.by }}" }), json!({ "by": "rank" })] {
            assert_eq!(errors(&suite(json!({ "metric": "recall", "with": given }))), Vec::<String>::new());
        }
        assert_eq!(errors(&suite(json!({ "metric": "recall", "with": { "by": "luck" } }))), ["/scorers/s/with/by"]);
        assert_eq!(errors(&suite(json!({ "metric": "recall", "withs": {} }))), ["/scorers/s"]);
        assert_eq!(errors(&json!({ "name": "x" })).len(), 2);
    }

    #[test]
    fn every_schema_is_valid_and_explains_its_keys() {
        for schema in [suite_schema(&catalog()), rubric_schema(), registry_schema(&catalog())] {
            assert!(jsonschema::validator_for(&schema).is_ok());
            let properties = schema["properties"].as_object().unwrap();
            assert!(properties.values().all(|property| property["description"].is_string()));
        }
    }

    /// Every key has an example, and the example is a value that its own schema takes.
    #[test]
    fn every_example_fits_its_schema() {
        for schema in [suite_schema(&catalog()), rubric_schema(), registry_schema(&catalog())] {
            let definitions = schema["$defs"].clone();
            let objects = std::iter::once(&schema).chain(schema["$defs"].as_object().unwrap().values());
            for property in objects.filter_map(|object| object["properties"].as_object()).flat_map(Map::values) {
                let Some(example) = property["examples"].get(0) else {
                    // Options of a metric, which another crate describes.
                    continue;
                };
                let mut own = property.clone();
                own["$defs"] = definitions.clone();
                let validator = jsonschema::validator_for(&own).unwrap();
                let wrong: Vec<String> = validator.iter_errors(example).map(|error| error.to_string()).collect();
                assert!(wrong.is_empty(), "{example}: {wrong:?}");
            }
        }
    }
}
