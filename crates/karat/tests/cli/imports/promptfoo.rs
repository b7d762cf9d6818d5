//! Configs and results of promptfoo.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::place::Place;

fn fixture(path: &str) -> String {
    format!("{}/../../fixtures/interop/promptfoo/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Imports a file into `folder`, and returns what is said about it.
fn import(place: &Place, path: &str, folder: &str) -> String {
    place.succeed(&["import", "promptfoo", &fixture(path), "-o", folder, "--run-id", folder]).all()
}

/// The metric `assert` of each cell of a run by sample and variant: `None` where no check applies.
fn verdicts(place: &Place, run: &str) -> HashMap<(String, String), Option<f64>> {
    let shown = place.succeed(&["show", run, "--format", "json"]).stdout;
    let cells: Vec<Value> = serde_json::from_str(&shown).unwrap();
    let name = |cell: &Value, key: &str| cell[key].as_str().unwrap_or_default().to_owned();
    let is_run = |cell: &&Value| cell["status"] == "ok";
    let verdict =
        |cell: &Value| ((name(cell, "sample"), name(cell, "variant")), cell["scores"]["assert"]["value"].as_f64());
    cells.iter().filter(is_run).map(verdict).collect()
}

/// Results of promptfoo for tests of which every assert was carried over: sample, number of the prompt, and success.
fn comparable_results(place: &Place, path: &str, folder: &str) -> Vec<(String, usize, bool)> {
    let results: Value = serde_json::from_str(&std::fs::read_to_string(fixture(path)).unwrap()).unwrap();
    let rows = place.text(&format!("{folder}/data/samples.jsonl"));
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let results = results["results"]["results"].as_array().unwrap().iter();
    let number = |result: &Value, key: &str| usize::try_from(result[key].as_u64().unwrap()).unwrap();
    results
        .filter(|result| rows[number(result, "testIdx")]["metadata"]["unchecked"].is_null())
        .map(|result| {
            let sample = (number(result, "testIdx") + 1).to_string();
            (sample, number(result, "promptIdx"), result["success"] == json!(true))
        })
        .collect()
}

/// IO-02, IO-03, IO-04: every result whose asserts were all carried over passes here as it did in promptfoo, both where
/// the config is run and where its recorded outputs are scored.
#[test]
fn runs_agree_with_the_results_of_promptfoo() {
    for (name, live, recorded, compared) in [
        ("echo-asserts", vec!["plain", "shout"], vec!["plain.echo", "shout.echo"], 24),
        ("echo-csv", vec!["prompt-1"], vec!["prompt-1.echo-a"], 9),
    ] {
        let place = Place::new();
        import(&place, name, "live");
        place.succeed(&["run", "live/karat.yaml", "--run-id", "live-run"]);
        import(&place, &format!("{name}/results.json"), "recorded");
        let runs = [verdicts(&place, "live-run"), verdicts(&place, "recorded")];
        let results = comparable_results(&place, &format!("{name}/results.json"), "live");
        assert_eq!(results.len(), compared, "{name}");
        for (sample, prompt, success) in results {
            for (run, variants) in runs.iter().zip([&live, &recorded]) {
                let variant = variants[prompt];
                let verdict = run
                    .get(&(sample.clone(), variant.to_owned()))
                    .unwrap_or_else(|| panic!("{name} {sample} {variant}"));
                // A test without asserts passes.
                assert_eq!(verdict.unwrap_or(1.0) > 0.5, success, "{name}: sample {sample}, variant {variant}");
            }
        }
    }
}

/// IO-04: the run of imported results has promptfoo's own figures.
#[test]
fn figures_of_results_come_out_the_same() {
    for (name, figures) in [("echo-asserts", 12), ("echo-csv", 4)] {
        let place = Place::new();
        let said = import(&place, &format!("{name}/results.json"), "recorded");
        assert!(said.contains(&format!("{figures} of {figures} figures come out the same")), "{said}");
    }
}

/// IO-01: configs that need keys and services are valid suites; nothing is run; `--strict` fails where something was dropped.
#[test]
fn imported_configs_are_valid() {
    for name in ["judges-and-code", "example-getting-started", "example-self-grading"] {
        let place = Place::new();
        let said = import(&place, name, "suite");
        assert!(said.contains("nothing was run: `karat plan suite/karat.yaml`"), "{said}");
        place.succeed(&["validate", "suite/karat.yaml"]);
    }
    let place = Place::new();
    let strict = place.karat(&["import", "promptfoo", &fixture("judges-and-code"), "--strict"]);
    assert_eq!(strict.code, 1, "{}", strict.all());
    assert!(strict.all().contains("not carried over: webhook (1 place)"), "{}", strict.all());
}

/// F82: a config without a model that can be asked is valid, and no run begins until one is named.
#[test]
fn a_suite_without_a_model_is_valid_and_not_run() {
    let place = Place::new();
    place.write(
        "c.yaml",
        "prompts: ['Say {{x}}']\nproviders: ['bedrock:x']\ntests: [{vars: {x: hi}, assert: [{type: contains, value: stub}]}]\n",
    );
    let said = place.succeed(&["import", "promptfoo", "c.yaml", "-o", "suite"]).all();
    assert!(said.contains("no model is named"), "{said}");
    place.succeed(&["validate", "suite"]);
    let refused = place.karat(&["run", "suite"]);
    assert!(refused.code == 1 && refused.all().contains("no model is named"), "{}", refused.all());
    place.succeed(&["run", "suite", "--models", "stub"]);
}
