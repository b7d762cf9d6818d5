//! The list of runs.

use karat_app::Overrides;

use super::{all, href, named, open, text, texts};
use crate::place::Place;
use crate::suite::{borrowed, run, run_suite, samples};

fn ids(place: &Place, path: &str) -> Vec<String> {
    named(&open(place, path), "run-row").iter().map(|row| row.attr("data-cell").unwrap().to_owned()).collect()
}

/// DB-10, F74: without a run, the page names the two commands that make one; the second runs the folder, not the preset.
#[test]
fn empty_list_names_the_commands_that_make_a_run() {
    let page = open(&Place::view(), "/");
    assert_eq!(named(&page, "page-runs").len(), 1);
    let state = texts(&page, "empty-state").concat();
    assert!(state.contains("karat init faq") && state.contains("karat run ./faq"), "{state}");
}

/// DB-10: a row has verdict, suite, systems, headline with interval, cost, cells, errors and unscored; words, suite,
/// status and date filter, and heads sort.
#[test]
fn runs_are_listed_filtered_and_sorted() {
    let place = Place::view();
    let samples = samples(12);
    run(&place.app, "first", &borrowed(&samples));
    run_suite(&place.app, "other", "another", &borrowed(&samples[..6]), Overrides::default());
    let page = open(&place, "/");
    let row = text(named(&page, "run-row")[1]);
    for part in ["first", "fail", "listed", "echo/plain", "echo/json", "hit", "0.500", "simulated", "24"] {
        assert!(row.contains(part), "{part} is not in {row}");
    }
    assert!(all(&page, "[data-testid=run-row] .interval").len() >= 2);
    assert_eq!(ids(&place, "/"), ["other", "first"]);
    assert_eq!(ids(&place, "/?q=FIR"), ["first"]);
    assert_eq!(ids(&place, "/?suite=another"), ["other"]);
    assert_eq!(ids(&place, "/?status=fail&suite=listed"), ["first"]);
    assert_eq!(ids(&place, "/?status=running"), [""; 0]);
    assert_eq!(ids(&place, "/?since=2026-06-02"), [""; 0]);
    assert_eq!(ids(&place, "/?since=2026-06-01").len(), 2);
    assert_eq!(ids(&place, "/?sort=cells"), ["other", "first"]);
    assert_eq!(ids(&place, "/?sort=-cells"), ["first", "other"]);
    assert_eq!(all(&open(&place, "/?sort=-cells"), "th[aria-sort=descending]").len(), 1);
}

/// DB-10: a value that is not understood is a notice, and the default applies.
#[test]
fn bad_values_are_notices() {
    let place = Place::view();
    run(&place.app, "first", &borrowed(&samples(2)));
    for query in ["?status=lost", "?since=yesterday", "?sort=colour", "?statsu=fail", "?after=%00%ff"] {
        assert_eq!(ids(&place, &format!("/{query}")), ["first"], "{query}");
        assert!(
            query.starts_with("?after") || texts(&open(&place, &format!("/{query}")), "notice").len() == 1,
            "{query}"
        );
    }
}

/// DB-10: two ticked runs are compared, the older one first; any other number is a notice.
#[test]
fn two_ticked_runs_are_compared() {
    let place = Place::view();
    let to = |path: &str| place.page(path).header("location").to_owned();
    assert_eq!(to("/compare/runs?run=new%20b&run=old"), "/compare?a=old&b=new+b&of=run");
    assert_eq!(to("/compare/runs?run=one"), "/?tick=two");
    run(&place.app, "first", &borrowed(&samples(1)));
    assert!(texts(&open(&place, "/?tick=two"), "notice").concat().contains("two runs"));
}

/// DB-10: fifty runs are a page; the pages show each run once.
#[test]
fn pages_of_runs_show_each_once() {
    let place = Place::view();
    let one = samples(1);
    run(&place.app, "r00", &borrowed(&one));
    let store = karat_store::Store::open(&place.app.store).unwrap();
    let header = store.run("r00").unwrap();
    for at in 1..=60 {
        drop(store.begin(&karat_types::RunHeader { id: format!("r{at:02}"), ..header.clone() }).unwrap());
    }
    let first = ids(&place, "/");
    let next = href(&open(&place, "/"), "next").unwrap();
    let second = ids(&place, &next);
    assert_eq!((first.len(), second.len()), (50, 11));
    let mut every: Vec<String> = first.iter().chain(&second).cloned().collect();
    every.sort();
    every.dedup();
    assert_eq!(every.len(), 61);
    assert_eq!(ids(&place, &href(&open(&place, &next), "prev").unwrap()), first);
}

/// F66, F67: systems filter, notes say what a run was asked for, the list of one suite leads to its pages, and each column that
/// a narrow screen leaves out stands below the name of the run.
#[test]
fn runs_are_found_by_system_and_say_what_they_are() {
    let place = Place::view();
    run(&place.app, "whole", &borrowed(&samples(6)));
    let part = Overrides { variants: vec!["json".to_owned()], limit: Some(2), ..Overrides::default() };
    run_suite(&place.app, "part", "listed", &borrowed(&samples(6)), part);
    assert_eq!(ids(&place, "/?system=PLAIN"), ["whole"]);
    assert_eq!(ids(&place, "/?system=echo").len(), 2);
    assert_eq!(ids(&place, "/?system=nowhere"), [""; 0]);
    let page = open(&place, "/");
    let row = |at: usize| text(named(&page, "run-row")[at]);
    assert!(row(0).contains("first 2 rows") && !row(1).contains("first"), "{}", row(0));
    let below: Vec<String> = all(&page, "[data-testid=run-row] + tr.narrow-only dt").into_iter().map(text).collect();
    for label in ["Suite", "Started (UTC)", "Systems", "Cells", "Errors", "Unscored", "Cost", "Time"] {
        assert!(below.iter().any(|it| it == label), "{label} is not in {below:?}");
    }
    assert!(all(&page, "a[href='/suites/listed/items']").is_empty());
    let of_suite = open(&place, "/?suite=listed");
    assert_eq!(all(&of_suite, "a[href='/suites/listed/items']").len(), 1);
    assert!(all(&of_suite, "a[href^='/series/']").is_empty(), "its samples have no dates");
    assert!(!all(&open(&place, "/runs/whole"), "a[href='/suites/listed/items']").is_empty());
}
