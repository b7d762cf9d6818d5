//! The pages that are run from top to bottom.

use super::blocks::Page;
use super::session;
use crate::place::Place;

/// PE-36: every file, command and output of the tutorial is true.
#[test]
fn the_tutorial_works() {
    let place = Place::new();
    session::run(&Page::read("docs/start/tutorial.md"), &place);
    assert!(place.text("report/report.html").contains("tickets"));
}

/// PE-36, BR-13: the guide's commands find the decline in the shipped cards.
#[test]
fn the_guide_to_daily_documents_works() {
    session::run(&Page::read("docs/guides/daily-documents.md"), &Place::new());
}

/// PE-36, IO-02: the guide's config is imported, planned and run.
#[test]
fn the_guide_to_promptfoo_works() {
    let place = Place::new();
    session::run(&Page::read("docs/guides/coming-from-promptfoo.md"), &place);
    assert!(place.text("capitals/import.md").contains("- `javascript` at `tests.csv:3.__expected`"));
}

/// PE-36, field test C1: the guide's commands print what it shows, on the tutorial's suite.
#[test]
fn the_guide_to_reports_works() {
    let place = Place::new();
    // The guide reads a run with both variants; the tutorial's last part removes the first.
    let mut tutorial = Page::read("docs/start/tutorial.md");
    tutorial.text.truncate(tutorial.text.find("\n## 9.").unwrap());
    session::write_files(&tutorial, &place);
    assert_eq!(place.karat(&["run", "-q"]).code, 2);
    session::run(&Page::read("docs/guides/reports.md"), &place);
}

/// SC-02, PE-36: the guide's shards are merged.
#[test]
fn the_guide_to_several_machines_works() {
    let place = Place::new();
    session::run(&Page::read("docs/guides/scale-out.md"), &place);
    assert!(place.text("out/report.md").contains("4 of 4 planned cells"));
}

/// IO-07, PE-36: the guide's commands work on a log that Inspect wrote, and its figures come out the same.
#[test]
fn the_guide_from_inspect_works() {
    let place = Place::new();
    copy_fixture("inspect/capitals-zstd.eval", &place, "capitals.eval");
    session::run(&Page::read("docs/guides/coming-from-inspect.md"), &place);
}

/// IO-05, PE-36: the guide's commands work on an export, on results of the dashboard and on an eval alone.
#[test]
fn the_guide_from_openai_evals_works() {
    let place = Place::new();
    copy_fixture("openai-hosted/eval_support.json", &place, "eval_support.json");
    copy_fixture("openai-hosted/output-items-dashboard.jsonl", &place, "results.jsonl");
    copy_fixture("openai-hosted/eval-object.json", &place, "eval-object.json");
    session::run(&Page::read("docs/guides/coming-from-openai-evals.md"), &place);
}

fn copy_fixture(fixture: &str, place: &Place, name: &str) {
    let from = super::blocks::root().join("fixtures/interop").join(fixture);
    std::fs::copy(from, place.path().join(name)).unwrap();
}
