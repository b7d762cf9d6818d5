//! The page of a run.

use super::{href, open, settled, texts};
use crate::place::Place;
use crate::suite::{borrowed, run, samples};

/// DB-04, DB-60: an ended run that is opened a second time reads none of its cells.
#[test]
fn second_view_reads_no_cell() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(20)));
    let first = settled(&place, "/runs/r");
    assert_eq!(first.status, 200, "{}", first.text);
    let store = rusqlite::Connection::open(place.app.store.path()).unwrap();
    // The state of the run stays as it is, so only a reader of cells can tell.
    store.execute_batch("delete from cells").unwrap();
    let second = settled(&place, "/runs/r");
    assert_eq!(second.status, 200, "{}", second.text);
    assert!(second.text == first.text);
    assert!(settled(&place.reopened(), "/runs/r").text != first.text, "a new process reads them");
}

/// DB-11, DB-15: the run before is the last one of the same suite that started earlier, also after later ones were added.
#[test]
fn run_before_stays_the_same() {
    let place = Place::view();
    for id in ["a", "b"] {
        run(&place.app, id, &borrowed(&samples(3)));
    }
    let link = |path: &str| href(&open(&place, path), "compare-link");
    assert_eq!(link("/runs/a"), None);
    let before = link("/runs/b");
    assert!(before.as_deref().is_some_and(|it| it.contains("a=a") && it.contains("b=b")), "{before:?}");
    run(&place.app, "c", &borrowed(&samples(3)));
    assert_eq!(link("/runs/b"), before);
}

/// F68: a failed run names its most frequent cause first, each failure once, and the advice that all of them give once.
#[test]
fn failures_stand_in_one_box_with_their_cause() {
    let place = Place::view();
    run(&place.app, "r", &[("a", "no JSON", "x"), ("b", "none either", "x")]);
    let page = open(&place, "/runs/r");
    let boxes = texts(&page, "error-state");
    assert_eq!(boxes.len(), 1, "{boxes:?}");
    assert!(boxes[0].starts_with("Most frequent cause: ") && boxes[0].contains("parse: "), "{}", boxes[0]);
    assert_eq!(boxes[0].matches("run the suite again").count(), 1, "{}", boxes[0]);
}
