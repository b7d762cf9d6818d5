//! Cells that fail, and the metrics that their rows do not have.

use std::fs;
use std::path::Path;

use karat_app::{App, Invocation, Outputs};
use karat_types::{Exit, ReportFormat};
use serde_json::{Value, json};

use crate::place::{app, execution};

/// The model answers by what the question names; two questions fail.
const SUITE: &str = r#"
name: speakers
dataset: { source: data.jsonl, id: id, input: q }
models:
  - id: teller
    provider: scripted
    with: { replies: replies.json }
judges: [ { id: kind, provider: scripted, with: { reply: '{"pass": "pass"}' } } ]
variants: { v: [ { prompt: { text: '{{ sample.q }}' }, parse: { as: json } } ] }
scorers:
  attribution: { metric: attribution, output: $.speaker, reference: gold.speakers, with: { text: '{{ output.text }}' } }
  value: { metric: numeric, output: $.text, reference: gold.value }
  phrases: { metric: contains, output: $.text, reference: gold.phrases }
  ranked: { metric: recall, output: $.found, reference: gold.documents }
  best: { metric: combine, with: { of: [attribution, phrases], how: max } }
  kind: { rubric: { ask: Is it kind?, show: { note: { value: '{{ sample.gold.note | default("") }}', required: true }, said: '{{ output.text }}' } } }
gates:
  - { metric: attribution, min: 85% }
policy: { max_errors: 20% }
"#;

/// 12 rows with speakers, of which the model names 10 right, and 2 rows with a number, which fail.
fn write(folder: &Path) -> String {
    let mut rows: Vec<Value> = (0..12)
        .map(|at| json!({ "id": format!("s{at}"), "q": format!("who {at:02}"), "gold": { "speakers": ["Ada Brandt"], "note": "n" } }))
        .collect();
    rows.extend(
        (0..2).map(|at| json!({ "id": format!("n{at}"), "q": format!("much {at:02}"), "gold": { "value": 5, "phrases": [], "documents": [] } })),
    );
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    fs::write(folder.join("data.jsonl"), lines.join("\n")).unwrap();
    let mut replies: Vec<Value> = (0..12)
        .map(|at| {
            let name = if at < 10 { "Ada Brandt" } else { "Carl Dorn" };
            json!({ "match": format!("who {at:02}"), "reply": { "speaker": name, "text": "x" } })
        })
        .collect();
    replies.push(json!({ "match": "much", "error": "the service answered 500" }));
    fs::write(folder.join("replies.json"), json!(replies).to_string()).unwrap();
    fs::write(folder.join("karat.yaml"), SUITE).unwrap();
    folder.join("karat.yaml").display().to_string()
}

fn report(app: &App, run: &str) -> Value {
    let mut report = Vec::new();
    app.reports().export(run, ReportFormat::Json, Outputs::default(), true, &mut report).unwrap();
    serde_json::from_slice(&report).unwrap()
}

/// F1: a cell that failed counts against the metrics that its row has, and against no other: a gate on a part of the rows
/// decides as if the others had not been asked.
#[test]
fn a_failed_cell_loses_no_metric_that_its_row_does_not_have() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let invocation = Invocation::of(write(folder.path()));
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution("one")).unwrap();
    let (text, exit) = app.reports().summary("one").unwrap();
    assert_eq!(exit, Exit::GateFailed, "{text}");
    let found = report(&app, "one");
    let figure = |name: &str| &found["systems"][0]["dimensions"][name];
    let counts = |name: &str| {
        let count = |key: &str| figure(name)[key].as_u64().unwrap();
        (count("n"), count("n_errors"), count("n_na"))
    };
    assert_eq!(counts("attribution"), (12, 0, 2));
    assert!(figure("attribution").get("bounds").is_none(), "{}", figure("attribution"));
    assert_eq!(counts("value"), (0, 2, 12));
    // Without a reference, whatever was asked.
    assert_eq!((counts("phrases"), counts("ranked")), ((0, 0, 14), (0, 0, 14)));
    // Made of scores that do not apply to the row, or judged by a value that the row does not have.
    assert_eq!((counts("best"), counts("kind")), ((12, 0, 2), (12, 0, 2)));
    let gate = &found["gates"][0];
    assert_eq!((gate["verdict"].as_str(), gate["n"].as_u64()), (Some("fail"), Some(12)), "{gate}");
    let failed: Vec<&Value> =
        found["cells"].as_array().unwrap().iter().filter(|cell| cell["status"] == "error").collect();
    assert_eq!((failed.len(), &failed[0]["scores"]["attribution"]["na"]), (2, &json!("no reference")));
    assert!(failed[0]["scores"].get("value").is_none());
    // A report of the run is a baseline in which the failed cells lose nothing either.
    app.runs().score("one", &karat_app::Rescoring::default(), execution("two")).unwrap();
    assert_eq!(report(&app, "two")["systems"][0]["dimensions"]["attribution"]["n_errors"], json!(0));
}
