//! The page of a dated suite.

use http::StatusCode;

use crate::place::Place;

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// The number of rows that are shown.
fn rows(page: &str) -> usize {
    let all = page.split("<tr ").filter(|row| row.contains("data-testid=\"series-row\""));
    all.filter(|row| !row.split('>').next().unwrap_or_default().contains(" hidden")).count()
}

/// The count on a chip.
fn chip(page: &str, filter: &str) -> usize {
    let from = page.find(&format!("data-testid=\"filter-{filter}\"")).unwrap();
    let rest = page[from..].split_once("class=\"count\">").unwrap().1;
    rest.split('<').next().unwrap().parse().unwrap()
}

/// DB-16, DB-30: the page of a dated suite with its parts, links and state in the address.
#[test]
fn state_is_in_the_address() {
    let place = Place::view();
    place.run("briefing", "a");
    let page = place.page("/series/briefing");
    assert_eq!(page.status, StatusCode::OK);
    let parts = [
        "data-testid=\"page-series\"",
        "data-stat=\"composite-median\"",
        "data-stat=\"drift\"",
        "data-testid=\"trend\"",
        "data-testid=\"radar\"",
        "data-testid=\"histogram\"",
        "data-testid=\"stack\"",
        "data-testid=\"series-table\"",
        "data-testid=\"judge-filter\"",
        "data-testid=\"detail-panel\"",
        "data-testid=\"search\"",
    ];
    for part in parts {
        assert_eq!(count(&page.text, part), 1, "{part}");
    }
    assert_eq!((rows(&page.text), chip(&page.text, "all")), (44, 44));
    assert!(page.text.contains("href=\"/series/briefing?filter=below-gate\""));
    for filter in ["below-gate", "fails-gate", "high", "capped"] {
        let filtered = place.page(&format!("/series/briefing?filter={filter}")).text;
        assert_eq!(rows(&filtered), chip(&filtered, filter), "{filter}");
        assert!(filtered.contains("href=\"/series/briefing\""), "the filter `all` is the default");
    }
    let found = place.page("/series/briefing?q=2026-03-2").text;
    assert_eq!((rows(&found), chip(&found, "all")), (9, 44));
    let focused = place.page("/series/briefing?focus=2026-03-18").text;
    assert!(focused.contains("<h3>2026-03-18</h3>") && focused.contains("href=\"/runs/a/cell?n=17\""));
    let short = place.page("/series/briefing?since=2026-03-10&until=2026-03-12").text;
    assert_eq!(rows(&short), 3);
    let sorted = place.page("/series/briefing?sort=-composite").text;
    let composites: Vec<f64> = sorted
        .split("data-testid=\"series-row\"")
        .skip(1)
        .filter_map(|row| row.split_once("data-value=\"")?.1.split('"').next()?.parse().ok())
        .collect();
    assert!(composites.len() == 44 && composites.windows(2).all(|pair| pair[0] >= pair[1]));
}

/// F72: the pinned grades are named without the folders of the server above the project.
#[test]
fn paths_begin_at_the_project() {
    let place = Place::view();
    let app = karat_app::App { home: place.folder.path().join(".karat"), ..place.fresh_app() };
    crate::place::run(&app, "briefing", "a", karat_app::Stop::new());
    let page = place.page("/series/briefing").text;
    let folder = place.folder.path().display().to_string();
    assert!(page.contains("data-stat=\"regressions\"") && !page.contains(&folder), "{folder} is on the page");
}

/// DB-16: a bad value shows a notice and the default, never an error; an unknown suite is not found.
#[test]
fn bad_values_show_a_notice() {
    let place = Place::view();
    place.run("briefing", "a");
    let bad = "judge=x&system=y&as_of=soon&since=2026-02-30&filter=none&sort=nothing&focus=1999-01-01&fliter=high&until=%3Cscript%3E";
    let page = place.page(&format!("/series/briefing?{bad}"));
    assert_eq!((page.status, count(&page.text, "role=\"status\"")), (StatusCode::OK, 9));
    assert!(page.text.contains("did you mean <code>filter</code>?") && !page.text.contains("<script>`"));
    assert_eq!(rows(&page.text), 44);
    for unknown in ["nowhere", "..%2F..%2Fetc%2Fpasswd", "karat.yaml"] {
        assert_eq!(place.page(&format!("/series/{unknown}")).status, StatusCode::NOT_FOUND, "{unknown}");
    }
}
