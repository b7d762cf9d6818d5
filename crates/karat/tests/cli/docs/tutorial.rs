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
