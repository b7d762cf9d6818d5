//! The cells of a run.

use std::collections::BTreeSet;

use karat_app::CellFilter;
use karat_types::CellStatus;

use super::{all, href, named, open, settled, text, texts};
use crate::place::Place;
use crate::suite::{borrowed, run, samples};

fn rows(place: &Place, path: &str) -> Vec<String> {
    let page = open(place, path);
    let rows = named(&page, "cell-row").into_iter();
    rows.map(|row| row.attr("data-cell").unwrap().to_owned()).collect()
}

/// All rows of a list, page after page.
fn every_row(place: &Place, path: &str) -> Vec<String> {
    let (mut every, mut at) = (Vec::new(), Some(path.to_owned()));
    while let Some(path) = at {
        every.extend(rows(place, &path));
        at = href(&open(place, &path), "next");
    }
    every
}

/// DB-12: the pages of a list show each row once, forwards and backwards, in plan order and sorted.
#[test]
fn pages_show_each_row_once() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(70)));
    for path in ["/runs/r/cells", "/runs/r/cells?sort=-f1", "/runs/r/cells?sort=sample&model=echo"] {
        let every = every_row(&place, path);
        let distinct: BTreeSet<&String> = every.iter().collect();
        assert_eq!((every.len(), distinct.len()), (140, 140), "{path}");
        let second = href(&open(&place, path), "next").unwrap();
        assert_eq!(rows(&place, &href(&open(&place, &second), "prev").unwrap()), rows(&place, path));
    }
}

/// DB-04, DB-12: counts of statuses and flags equal those of `karat show`.
#[test]
fn counts_equal_those_of_show() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(30)));
    let shown = |status: Option<CellStatus>| {
        let mut lines = 0;
        let filter = CellFilter { status, ..CellFilter::default() };
        place
            .app
            .views()
            .each_cell("r", &filter, &mut |_| {
                lines += 1;
                Ok(())
            })
            .unwrap();
        lines
    };
    for (status, name) in [(CellStatus::Ok, "ok"), (CellStatus::Error, "error"), (CellStatus::Skipped, "skipped")] {
        let path = format!("/runs/r/cells?status={name}");
        assert_eq!(every_row(&place, &path).len(), shown(Some(status)), "{name}");
    }
    let page = open(&place, "/runs/r/cells");
    let count =
        |chip: &str| texts(&page, &format!("filter-{chip}")).concat().split_whitespace().last().unwrap().to_owned();
    assert_eq!((count("all"), count("error")), (shown(None).to_string(), shown(Some(CellStatus::Error)).to_string()));
    assert!(shown(Some(CellStatus::Error)) > 0);
}

/// DB-12: metric bounds, words, variants and columns act, and stand in the address of each link.
#[test]
fn filters_act_and_stand_in_links() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(12)));
    assert_eq!(every_row(&place, "/runs/r/cells?variant=plain").len(), 12);
    assert_eq!(every_row(&place, "/runs/r/cells?metric=hit&gt=0.5&variant=plain").len(), 6);
    assert_eq!(every_row(&place, "/runs/r/cells?metric=hit&lt=0.5&variant=plain").len(), 6);
    assert_eq!(every_row(&place, "/runs/r/cells?q=S011").len(), 2);
    assert!(!every_row(&place, "/runs/r/cells?q=parse").is_empty(), "errors are searched");
    assert_eq!(
        every_row(&place, "/runs/r/cells?flag=error").len(),
        every_row(&place, "/runs/r/cells?status=error").len()
    );
    let page = open(&place, "/runs/r/cells?metric=hit&gt=0.5&cols=f1&sort=-f1");
    let link = all(&page, "[data-testid=cell-row] th a")[0].attr("href").unwrap().to_owned();
    assert_eq!(link, "/runs/r/sample?metric=hit&gt=0.5&sort=-f1&id=s000");
    let heads: Vec<String> = all(&page, "thead th").into_iter().map(text).collect();
    assert_eq!(heads, ["Open", "Sample", "System", "Status", "f1", "Flags", "Output"]);
    assert_eq!(texts(&open(&place, "/runs/r/cells?q=nowhere"), "empty-state").len(), 1);
}

/// DB-12: a value that is not understood is a notice, and the default applies.
#[test]
fn bad_values_are_notices() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(4)));
    for query in [
        "metric=none",
        "lt=1",
        "metric=hit&lt=abc",
        "status=gone",
        "flag=none",
        "model=none",
        "sort=none",
        "after=x",
        "cols=none",
        "flags=error",
    ] {
        let page = open(&place, &format!("/runs/r/cells?{query}"));
        assert_eq!(named(&page, "cell-row").len(), 8, "{query}");
        assert_eq!(texts(&page, "notice").len(), 1, "{query}");
    }
}

/// DB-12: an opened row shows input, outputs, scores and the judge's words, and leads to the sample and the calls.
#[test]
fn rows_open_in_place() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(2)));
    let page = open(&place, "/runs/r/cells");
    let more: Vec<String> = all(&page, "tr.more").into_iter().map(text).collect();
    assert_eq!(more.len(), 4);
    assert!(
        more[0].contains("{\"word\": \"w0\"}") && more[0].contains("It says") && more[0].contains("f1"),
        "{}",
        more[0]
    );
    assert!(!all(&page, "tr.more a[href='/runs/r/cell?n=0']").is_empty());
}

/// DB-04: an index that is deleted, or of an older version, is built again, and no page changes.
#[test]
fn deleted_index_changes_no_page() {
    let place = Place::view();
    run(&place.app, "before", &borrowed(&samples(20)));
    run(&place.app, "r", &borrowed(&samples(30)));
    let paths = [
        "/",
        "/runs/r/cells",
        "/runs/r/cells?flag=moved",
        "/runs/r/cells?sort=-f1&q=s01",
        "/runs/r/sample?id=s003&sort=-f1",
    ];
    let pages = |place: &Place| {
        paths.map(|path| {
            let answer = settled(place, path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            answer.text
        })
    };
    let first = pages(&place);
    let store = rusqlite::Connection::open(place.app.store.path()).unwrap();
    let kept = |wanted: &str| -> i64 { store.query_row(wanted, [], |row| row.get(0)).unwrap() };
    assert_eq!(kept("select count(*) from derived where kind = 'view-index'"), 2);
    for change in
        ["delete from derived", "update derived set key = x'00'", "update derived set body = x'0102'", "select 1"]
    {
        store.execute_batch(change).unwrap();
        let again = place.reopened();
        assert!(pages(&again) == first, "{change}");
    }
    assert_eq!(kept("select count(*) from derived where length(key) = 16"), kept("select count(*) from derived"));
}

/// F69: a chip counts the cells that need a look, as the report counts them; the row of an error has room for its cause.
#[test]
fn flagged_cells_are_one_click_away() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(12)));
    let page = open(&place, "/runs/r/cells");
    let count = |chip: &str| -> usize {
        texts(&page, &format!("filter-{chip}")).concat().split_whitespace().last().unwrap().parse().unwrap()
    };
    let (flagged, errors) = (count("flagged"), count("error"));
    let report = place.get("/eval/runs/r/report?format=html").text;
    assert!(report.contains(&format!("those that are flagged ({flagged})")), "{flagged} flagged");
    assert!(flagged > errors && flagged < count("all"));
    let link = href(&page, "filter-flagged").unwrap();
    assert_eq!(every_row(&place, &link).len(), flagged);
    let snippets: Vec<String> =
        all(&page, "tr:not(.narrow-only) > td .snippet.is-error").into_iter().map(text).collect();
    assert_eq!(snippets.len(), errors);
    assert!(snippets.iter().all(|it| it.starts_with("parse: ")), "{snippets:?}");
}
