//! Runs that are gone, empty, unfinished, broken or without content.

use karat_app::Overrides;
use karat_store::Store;
use karat_types::{Moment, RunHeader, RunStatus};

use super::{named, open, parsed, settled, text, texts};
use crate::place::Place;
use crate::suite::{borrowed, run, run_suite, samples};

/// DB-52: a run, sample or cell that is not there is a page with the reason and what to do.
#[test]
fn missing_things_are_pages() {
    let place = Place::view();
    for path in ["/runs/x/cells", "/runs/x/cell?n=0"] {
        let answer = settled(&place, path);
        assert_eq!(answer.status, 404, "{path}");
    }
    run(&place.app, "r", &borrowed(&samples(2)));
    for (path, part) in [
        ("/runs/gone/cells", "gone"),
        ("/runs/r/sample?id=none", "no cell of the sample none"),
        ("/runs/r/sample", "names no sample"),
        ("/runs/r/cell?n=99", "no cell 99"),
        ("/runs/r/cell?n=abc", "names no cell"),
        ("/runs/r/cell", "names no cell"),
        ("/runs/r/cell?n=18446744073709551615", "no cell"),
    ] {
        let answer = settled(&place, path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(texts(&parsed(&answer), "error-state").concat().contains(part), "{path}: {}", answer.text);
    }
}

/// DB-52: a run without any cell says so, and names the command that makes them.
#[test]
fn run_without_cells_says_so() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(1)));
    let store = Store::open(&place.app.store).unwrap();
    let header = store.run("r").unwrap();
    drop(store.begin(&RunHeader { id: "empty".to_owned(), status: RunStatus::Running, ..header }).unwrap());
    let page = open(&place, "/runs/empty/cells");
    assert!(texts(&page, "empty-state").concat().contains("karat resume empty"));
    assert!(texts(&page, "unfinished").concat().contains("0 of 2 cells"));
    assert_eq!(named(&open(&place, "/?q=empty"), "run-row").len(), 1);
}

/// DB-52: the page of a run that ended before its first cell says so, and names the command that makes them.
#[test]
fn page_of_a_run_without_cells_says_so() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(1)));
    let store = Store::open(&place.app.store).unwrap();
    let header = store.run("r").unwrap();
    let (id, status) = ("empty".to_owned(), RunStatus::Interrupted);
    drop(store.begin(&RunHeader { id, status, ..header }).unwrap());
    let said = texts(&open(&place.reopened(), "/runs/empty"), "unfinished").concat();
    assert!(said.contains("0 of 2 cells") && said.contains("karat resume empty"), "{said}");
}

/// DB-52: an unfinished run shows its cells, how many are missing, and the command that makes the rest.
#[test]
fn unfinished_run_shows_what_is_there() {
    let place = Place::view();
    let overrides = Overrides { max_calls: Some(3), max_concurrency: Some(1), ..Overrides::default() };
    run_suite(&place.app, "r", "listed", &borrowed(&samples(2)), overrides);
    let page = open(&place.reopened(), "/runs/r/cells");
    let rows = named(&page, "cell-row").len();
    assert!((1..4).contains(&rows), "{rows}");
    let said = texts(&page, "unfinished").concat();
    assert!(said.contains(&format!("{rows} of 4 cells")) && said.contains("karat resume r"), "{said}");
}

/// DB-52: a run whose cells all failed says so above its rows.
#[test]
fn run_of_errors_says_so() {
    let place = Place::view();
    let overrides = Overrides { variants: vec!["json".to_owned()], ..Overrides::default() };
    run_suite(&place.app, "r", "listed", &[("a", "no JSON", "x"), ("b", "none either", "x")], overrides);
    let page = open(&place, "/runs/r/cells");
    assert!(texts(&page, "all-errored").concat().contains("All 2 cells ended in an error"));
    assert_eq!(named(&page, "cell-row").len(), 2);
    assert!(text(named(&open(&place, "/"), "run-row")[0]).contains("error"));
}

/// DB-52: calls whose bytes were pruned are shown with the reason.
#[test]
fn pruned_calls_say_so() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(1)));
    Store::open(&place.app.store).unwrap().prune(Moment(i64::MAX), true, true).unwrap();
    let page = open(&place.reopened(), "/runs/r/cell?n=0");
    assert!(texts(&page, "trace-step")[0].contains("karat cache prune"), "{:?}", texts(&page, "trace-step"));
}

/// DB-52: a running run is shown as far as it is.
#[test]
fn running_run_is_shown() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(2)));
    let store = Store::open(&place.app.store).unwrap();
    let header = RunHeader { id: "live".to_owned(), status: RunStatus::Running, ..store.run("r").unwrap() };
    let ledger = store.begin(&header).unwrap();
    assert_eq!(store.run("live").unwrap().status, RunStatus::Running);
    let page = open(&place, "/runs/live/cells");
    assert!(texts(&page, "unfinished").concat().contains("under way"));
    drop(ledger);
}

/// DB-14, DB-52: a run that keeps no content names the setting on the pages of the sample and of the cell.
#[test]
fn content_that_was_not_kept_names_its_setting() {
    let place = Place::view();
    let set = vec![("privacy.keep_content".to_owned(), "false".to_owned())];
    run_suite(&place.app, "r", "listed", &borrowed(&samples(2)), Overrides { set, ..Overrides::default() });
    for (path, page) in [("/runs/r/sample?id=s000", "page-sample"), ("/runs/r/cell?n=0", "page-trace")] {
        let shown = texts(&open(&place, path), page).concat();
        assert!(shown.contains("the suite says privacy.keep_content: false"), "{path}: {shown}");
    }
}
