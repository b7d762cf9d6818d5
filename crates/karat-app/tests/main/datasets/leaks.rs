//! `check --leaks`, `--against`, and the warnings of `validate` and `plan`.

use std::fs;
use std::path::Path;

use karat_app::{App, DatasetRequest, Invocation, LeakReport};
use serde_json::{Value, json};

use super::{check_keys, question, write_rows};
use crate::place::app;

const LEAKED: &str = "when does the last ferry to the northern islands leave the old harbour";

fn suite(folder: &Path, rows: impl IntoIterator<Item = Value>, prompt: &str) -> String {
    write_rows(&folder.join("data.jsonl"), rows);
    let prompt = prompt.replace('\n', "\n          ");
    let text = format!(
        "name: s\ndataset: {{ source: data.jsonl }}\nmodels: [ {{ id: echo, provider: scripted, with: {{ reply: ok }} }} ]\nvariants:\n  v:\n    - prompt:\n        text: |\n          {prompt}\nscorers: {{ hit: {{ metric: exact }} }}\n"
    );
    let path = folder.join("karat.yaml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn rows(count: usize) -> impl Iterator<Item = Value> {
    (0..count)
        .map(|at| json!({"id": format!("r{at}"), "input": question(at), "reference": format!("answer number {at}")}))
}

fn leaks(app: &App, suite: &str) -> LeakReport {
    let plan = app.runs().load(&Invocation::of(suite)).unwrap();
    karat_app::suite_leaks(suite, &plan).unwrap()
}

/// BC-05: an example of the prompt that is a test row is found with both passages, and so is an answer that it states.
#[test]
fn an_example_that_is_a_test_row_is_found() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let test = json!({"id": "ferry", "input": format!("Tell me: {LEAKED}?"), "reference": "at a quarter to nine"});
    let prompt = format!("Answer briefly.\nQ: {LEAKED}\nA: at a quarter to nine\nQ: {{{{ input }}}}");
    let path = suite(folder.path(), rows(30).chain([test]), &prompt);
    let report = leaks(&app, &path);
    check_keys(&serde_json::to_string(&report).unwrap());
    let found: Vec<(&str, &str)> = report.hits.iter().map(|hit| (&*hit.row, &*hit.other)).collect();
    assert_eq!(found, [("ferry", "prompt of `v.0`"), ("ferry", "prompt of `v.0`")], "{}", report.text());
    assert_eq!((report.rows, report.leaked_rows), (31, 1));
    let text = report.text();
    assert!(
        text.contains(LEAKED)
            && text.contains("answer stated")
            && text.contains("cannot know what a model was trained on"),
        "{text}"
    );
    let warnings = karat_app::dataset_warnings(&app.runs().load(&Invocation::of(&*path)).unwrap());
    assert!(warnings.len() == 1 && warnings[0].starts_with("data.jsonl: 1 row can be read"), "{warnings:?}");
}

/// BC-05: a suite whose prompts hold nothing of its rows has no leak and no warning; repeated rows are warned of.
#[test]
fn warnings_name_repeated_rows() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let path = suite(folder.path(), rows(30), "Answer briefly.\n{{ input }}");
    assert!(leaks(&app, &path).is_clean());
    let plan = app.runs().load(&Invocation::of(&*path)).unwrap();
    assert_eq!(karat_app::dataset_warnings(&plan), [""; 0]);
    let copy = json!({"id": "copy", "input": question(4), "reference": "answer number 4"});
    let near = json!({"id": "near", "input": format!("{}!", question(5)), "reference": "x"});
    let path = suite(folder.path(), rows(30).chain([copy, near]), "Answer briefly.\n{{ input }}");
    let plan = app.runs().load(&Invocation::of(&*path)).unwrap();
    let warnings = karat_app::dataset_warnings(&plan);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("copy = r4") && warnings[1].contains("near ≈ r5"), "{warnings:?}");
}

/// BC-05: test rows are looked up in the rows of another file; the same file is refused.
#[test]
fn a_test_is_compared_with_a_training_set() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let test = write_rows(&folder.path().join("test.jsonl"), rows(20));
    let train = (50..90).map(|at| json!({"id": format!("t{at}"), "text": format!("log of the day {} the end", question(if at == 70 { 3 } else { at }))}));
    let train = write_rows(&folder.path().join("train.jsonl"), train);
    let tests = app.datasets().rows(&test).unwrap();
    let report = app.datasets().leaks_against(&tests, &train).unwrap();
    let found: Vec<(&str, &str, u32)> = report.hits.iter().map(|hit| (&*hit.row, &*hit.other, hit.hit.words)).collect();
    assert_eq!(found, [("r3", "t70", 9)]);
    let json = serde_json::to_string(&report).unwrap();
    check_keys(&json);
    let hit = &serde_json::from_str::<Value>(&json).unwrap()["hits"][0];
    assert_eq!(
        (&hit["row"], &hit["other"], &hit["row_number"], &hit["other_number"]),
        (&json!("r3"), &json!("t70"), &json!(3), &json!(20))
    );
    assert!(app.datasets().leaks_against(&tests, &test).is_err());
    let empty = write_rows(&folder.path().join("empty.jsonl"), []);
    assert!(app.datasets().leaks_against(&tests, &empty).unwrap_err().to_string().contains("has no rows"));
    let missing = app.datasets().leaks_against(&tests, &DatasetRequest::of("nowhere.jsonl")).unwrap_err();
    assert!(missing.to_string().contains("there is no file nowhere.jsonl"), "{missing}");
}

/// F59: a sentence that a labelled example has from its own row is not a leak of another row that has the same sentence, while
/// one that it has from nowhere else is; so the preset `claims` is silent.
#[test]
fn labelled_examples_leak_only_what_is_not_of_their_own_row() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let preset = app.runs().load(&Invocation::of("claims")).unwrap();
    assert_eq!(karat_app::dataset_warnings(&preset), [""; 0]);
    let shared = "the committee of the harbour found no fault with the lamps of the ferry that night";
    let other = "a captain of nine boats wrote every passing light into his book of the long winter";
    let rows = [("one", format!("Log: {shared}.")), ("two", format!("Notes: {shared}! {other}?"))];
    write_rows(
        &folder.path().join("data.jsonl"),
        rows.map(|(id, input)| json!({"id": id, "input": input, "reference": id})),
    );
    let label = |text: &str| json!({"sample": "one", "output": text, "scores": {"q": 1}}).to_string();
    fs::write(folder.path().join("labels.jsonl"), format!("{}\n{}\n", label(shared), label(other))).unwrap();
    let judge = "{ id: judge, provider: scripted, with: { reply: '{}' } }";
    let text = format!(
        "name: s\ndataset: {{ source: data.jsonl }}\nmodels: [ {{ id: echo, provider: scripted, with: {{ reply: ok }} }} ]\njudges: [ {judge} ]\nvariants: {{ v: [ {{ prompt: {{ text: \"{{{{ input }}}}\" }} }} ] }}\nscorers: {{ good: {{ rubric: {{ ask: Good?, dimensions: {{ q: {{ definition: Good, scale: [1, 5] }} }}, examples: 2 }}, labels: labels.jsonl }} }}\n"
    );
    let path = folder.path().join("karat.yaml");
    fs::write(&path, text).unwrap();
    let report = leaks(&app, &path.display().to_string());
    let hits: Vec<(&str, &str)> = report.hits.iter().map(|hit| (&*hit.row, &*hit.other)).collect();
    assert_eq!(hits, [("two", "labelled example 2 of `good`")], "{}", report.text());
}
