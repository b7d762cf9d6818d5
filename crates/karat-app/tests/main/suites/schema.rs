//! The published JSON Schema of a suite, with everything that is registered, as an editor uses it.

use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn published() -> Value {
    serde_json::from_str(&karat_app::suite_schema()).unwrap()
}

fn references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(keys) => {
            found.extend(keys.get("$ref").and_then(Value::as_str));
            keys.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Every suite that is shipped, and those of the fixtures.
fn suites() -> Vec<PathBuf> {
    let within = |folder: &str| std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let presets = within("presets").map(|folder| folder.join("karat.yaml"));
    let mut suites: Vec<PathBuf> = presets
        .chain(within("fixtures/suites"))
        .filter(|path| path.extension().is_some_and(|it| it == "yaml"))
        .collect();
    suites.sort();
    suites
}

/// Tools resolve each reference from the root of the document.
#[test]
fn every_reference_leads_somewhere() {
    let schema = published();
    let mut found = Vec::new();
    references(&schema, &mut found);
    assert!(found.contains(&"#/$defs/metric.recall.Ranked"), "{found:?}");
    let lost: Vec<&str> = found
        .into_iter()
        .filter(|address| address.strip_prefix('#').and_then(|pointer| schema.pointer(pointer)).is_none())
        .collect();
    assert_eq!(lost, Vec::<&str>::new());
}

#[test]
fn suites_satisfy_the_published_schema() {
    let validator = jsonschema::validator_for(&published()).unwrap();
    let suites = suites();
    assert!(suites.len() >= 12, "{suites:?}");
    let mut wrong = Vec::new();
    for path in suites {
        let suite: Value = serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        wrong.extend(
            validator
                .iter_errors(&suite)
                .map(|error| format!("{}: {}: {error}", path.display(), error.instance_path())),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let refused = serde_json::json!({
        "name": "x", "dataset": { "rows": [] }, "variants": {},
        "scorers": { "s": { "metric": "recall", "with": { "k": "three" } } },
    });
    assert!(!validator.is_valid(&refused));
}
