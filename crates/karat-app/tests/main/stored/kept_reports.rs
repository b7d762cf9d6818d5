//! Reports and pages of large runs, which the store keeps.

use std::fs;
use std::path::Path;

use karat_app::{App, Invocation, Outputs, ReportTo};
use karat_types::ReportFormat;
use serde_json::json;

use crate::place::{app, execution};

const SUITE: &str = "
name: large
dataset: { source: data.jsonl, id: id, input: q, reference: gold }
models:
  - { id: echo, provider: scripted, with: { reply: '{{ user }}' } }
  - { id: terse, provider: scripted, with: { reply: '{{ user[:4] }}' } }
variants: { plain: [ { prompt: { text: '{{ sample.q }}' } } ] }
scorers: { hit: { metric: contains } }
gates: [ { metric: hit, min: 0.99 } ]
";

fn large_run(app: &App, folder: &Path) {
    let rows = (0..5_000)
        .map(|at| format!("{}\n", json!({ "id": at, "q": format!("word{at}"), "gold": format!("word{at}") })));
    fs::write(folder.join("data.jsonl"), rows.collect::<String>()).unwrap();
    fs::write(folder.join("karat.yaml"), SUITE).unwrap();
    let invocation = Invocation::of(folder.join("karat.yaml").display().to_string());
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution("large")).unwrap();
}

fn kept(folder: &Path) -> Vec<String> {
    let file = rusqlite::Connection::open(folder.join("karat.db")).unwrap();
    let mut kinds = file.prepare("select kind from derived order by kind").unwrap();
    let kinds = kinds.query_map([], |row| row.get(0)).unwrap();
    kinds.map(Result::unwrap).filter(|kind: &String| kind.starts_with("run-")).collect()
}

/// DB-04, DB-40: report and page of a large run are kept, and are the same when they come from the store: page, summary,
/// verdict. Another choice of outputs is another report.
#[test]
fn the_report_of_a_large_run_is_kept() {
    let folder = testkit::scratch().unwrap();
    let folder = folder.path();
    let first = app(folder);
    large_run(&first, folder);
    let to = |name: &str, cells: usize| ReportTo {
        folder: Some(folder.join(name)),
        formats: vec![ReportFormat::Html],
        outputs: Outputs { cells, ..Outputs::default() },
        ..ReportTo::default()
    };
    let made = first.reports().report_into("large", &to("made", 40), false).unwrap();
    let page = first.reports().run_page("large").unwrap();
    assert_eq!(kept(folder), ["run-page", "run-report"]);

    let again = app(folder);
    let read = again.reports().report_into("large", &to("read", 40), false).unwrap();
    let text = |name: &str| fs::read_to_string(folder.join(name).join("report.html")).unwrap();
    assert!(text("made") == text("read"), "the page differs");
    assert_eq!(read.exit, made.exit);
    assert_eq!(made.exit.code(), 2);
    assert_eq!(read.summary, made.summary.replace("/made/", "/read/"));
    let mut streamed = Vec::new();
    assert_eq!(
        again.reports().export("large", ReportFormat::Html, Outputs::default(), false, &mut streamed).unwrap(),
        made.exit
    );
    assert!(streamed == text("made").as_bytes(), "the streamed page differs");
    let shown = again.reports().run_page("large").unwrap();
    assert!(shown.document.body.0 == page.document.body.0, "the served page differs");
    assert_eq!(
        (&shown.document.title, shown.document.sections.len()),
        (&page.document.title, page.document.sections.len())
    );

    again.reports().report_into("large", &to("fewer", 3), false).unwrap();
    assert!(text("fewer").len() < text("made").len());
    assert_eq!(kept(folder).len(), 2);
}
