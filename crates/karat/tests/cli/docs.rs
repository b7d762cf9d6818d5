//! The examples in the guides are true: every fenced YAML is checked as what it is a part of.

use std::path::{Path, PathBuf};

use crate::place::Place;

/// What an example leaves out of its suite, by key.
const SUITE: [(&str, &str); 5] = [
    ("name", "name: docs"),
    (
        "dataset",
        r#"dataset: { rows: [ { id: a, input: q, reference: r, category: c, lang: de, output: "{}", filters: {}, transcript: { fullText: t, segments: [] } } ], id: id, input: input, reference: reference, metadata: [category, lang] }"#,
    ),
    ("judges", "judges: [stub]"),
    ("variants", "variants: { raw: [ { recorded: { column: output } } ] }"),
    (
        "scorers",
        "scorers: { quality: { rubric: rubric.yaml }, long: { metric: length, min: 1 }, latency: { metric: latency } }",
    ),
];
/// What an example leaves out of its rubric.
const RUBRIC: [(&str, &str); 4] = [
    ("id", "id: docs"),
    ("ask", "ask: Judge it."),
    ("show", r#"show: { output: "{{ output }}", spans: { value: "{{ sample.filters }}", as: json } }"#),
    ("dimensions", "dimensions: { accuracy: { scale: [0, 10] }, novelty: { scale: [0, 10] } }"),
];
/// What is wrong with an example only because the rest of its suite is elsewhere.
const ELSEWHERE: [&str; 6] = [
    "there is no file",
    "cannot be listed",
    "has no labels",
    "which the rubric does not have",
    "has no column",
    "has no parameter",
];

struct Example {
    place: String,
    text: String,
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Every fenced YAML of README and docs.
fn examples() -> Vec<Example> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    pages(&root.join("docs"), &mut files);
    files.sort();
    let of_page = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        let blocks = text.split("\n```yaml\n").skip(1).map(|rest| rest.split("\n```").next().unwrap().to_owned());
        let place = file.display().to_string();
        blocks.map(move |text| Example { place: format!("{place}:\n{text}"), text: text + "\n" }).collect::<Vec<_>>()
    };
    files.iter().flat_map(of_page).collect()
}

fn has(text: &str, key: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
}

/// An example with what it leaves out.
fn completed(text: &str, rest: &[(&str, &str)]) -> String {
    let missing = rest.iter().filter(|(key, _)| !has(text, key)).map(|(_, line)| format!("{line}\n"));
    missing.collect::<String>() + text
}

/// What is wrong with an example as a part of a suite.
fn problems(example: &Example) -> Vec<String> {
    let place = Place::new();
    let text = &example.text;
    let (mut suite, mut rubric) = (String::new(), String::new());
    if has(text, "schema") {
        place.write("models.yaml", text);
        suite = "registry: [models.yaml]\n".to_owned();
    } else if has(text, "diagnostics") || has(text, "show") {
        rubric.clone_from(text);
    } else if has(text, "columns") {
        let inner: String = text.lines().map(|line| format!("  {line}\n")).collect();
        suite = format!(
            "params: {{ chunks: {{ path: chunks }}, tables: {{ path: tables }} }}\ndataset:\n  rows: [ {{ id: a, output: x }} ]\n  id: id\n{inner}"
        );
    } else {
        suite.clone_from(text);
    }
    place.write("karat.yaml", &completed(&suite, &SUITE));
    place.write("rubric.yaml", &completed(&rubric, &RUBRIC));
    let said = place.karat(&["validate", "karat.yaml"]);
    let errors = said.stderr.lines().filter(|line| line.contains("error"));
    let errors = errors.filter(|line| !ELSEWHERE.iter().any(|known| line.contains(known)));
    errors.map(str::to_owned).collect()
}

/// PE-36: every YAML in the guides is the language as it is.
#[test]
fn every_example_is_checked() {
    let examples = examples();
    assert!(examples.len() > 10);
    let wrong: Vec<String> = examples
        .iter()
        .filter_map(|example| {
            let problems = problems(example);
            (!problems.is_empty()).then(|| format!("{}\n{}", example.place, problems.join("\n")))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
