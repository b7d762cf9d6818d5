//! The examples in the guides are valid: every YAML is checked as the part of a suite that it is.

use super::blocks::{self, Block, Page};
use crate::place::Place;

/// The parts of a suite that an example may leave out.
const SUITE: [(&str, &str); 6] = [
    ("name", "name: docs"),
    (
        "dataset",
        r#"dataset: { rows: [ { id: a, input: q, reference: r, category: c, lang: de, output: "{}", filters: {}, transcript: { fullText: t, segments: [] } } ], id: id, input: input, reference: reference, metadata: [category, lang] }"#,
    ),
    ("models", "models: [stub]"),
    ("judges", "judges: [stub]"),
    ("variants", "variants: { raw: [ { recorded: { column: output } } ] }"),
    (
        "scorers",
        "scorers: { quality: { rubric: rubric.yaml }, long: { metric: length, min: 1 }, latency: { metric: latency } }",
    ),
];
/// The parts of a rubric that an example may leave out.
const RUBRIC: [(&str, &str); 4] = [
    ("id", "id: docs"),
    ("ask", "ask: Judge it."),
    ("show", r#"show: { output: "{{ output }}", spans: { value: "{{ sample.filters }}", as: json } }"#),
    ("dimensions", "dimensions: { accuracy: { scale: [0, 10] }, novelty: { scale: [0, 10] } }"),
];
/// Errors that an example has only because the rest of its suite is missing.
const INCOMPLETE: [&str; 8] = [
    "there is no file",
    "there are no traces",
    "cannot be listed",
    "is not a dataset that can be read",
    "has no labels",
    "the rubric has no",
    "has no column",
    "has no parameter",
];

struct Example {
    place: String,
    text: String,
}

/// Every YAML of the pages that is not a file of its own.
fn examples() -> Vec<Example> {
    let pages = blocks::pages();
    let of_page = |page: &Page| {
        let blocks = page.blocks().into_iter().filter(|block| block.language == "yaml" && block.title.is_none());
        let place = |block: &Block| format!("{}:{}", page.path, block.line);
        blocks.map(move |block| Example { place: place(&block), text: block.text }).collect::<Vec<_>>()
    };
    pages.iter().flat_map(of_page).collect()
}

fn has(text: &str, key: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
}

/// The example with the parts that it leaves out.
fn completed(text: &str, rest: &[(&str, &str)]) -> String {
    let missing = rest.iter().filter(|(key, _)| !has(text, key)).map(|(_, line)| format!("{line}\n"));
    missing.collect::<String>() + text
}

/// The errors of an example.
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
        place.write("transcripts/v.json", "{\"fullText\": \"t\"}");
        suite = format!(
            "params: {{ chunks: {{ path: chunks }}, tables: {{ path: tables }}, transcripts: {{ path: transcripts }} }}\ndataset:\n  rows: [ {{ id: a, output: x, videoId: v, url: u }} ]\n  id: id\n{inner}"
        );
    } else {
        suite.clone_from(text);
    }
    place.write("karat.yaml", &completed(&suite, &SUITE));
    place.write("rubric.yaml", &completed(&rubric, &RUBRIC));
    let result = place.karat(&["validate", "karat.yaml"]);
    let errors = result.stderr.lines().filter(|line| line.contains("error"));
    let errors = errors.filter(|line| !INCOMPLETE.iter().any(|known| line.contains(known)));
    errors.map(str::to_owned).collect()
}

/// PE-36: every YAML in the documentation is valid.
#[test]
fn every_example_is_valid() {
    let examples = examples();
    assert!(examples.len() > 10);
    let wrong: Vec<String> = examples
        .iter()
        .filter_map(|example| {
            let problems = problems(example);
            (!problems.is_empty()).then(|| format!("{}:\n{}\n{}", example.place, example.text, problems.join("\n")))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
