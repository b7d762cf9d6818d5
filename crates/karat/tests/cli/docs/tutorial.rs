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
