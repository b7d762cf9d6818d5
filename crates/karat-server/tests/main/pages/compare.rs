//! The page that compares runs, models or variants.

use super::{all, href, named, open, parsed, settled, text, texts};
use crate::place::Place;
use crate::suite::{borrowed, run, samples};

/// DB-15: two runs have a verdict and a plot of differences; without sides the page asks for them.
#[test]
fn runs_are_compared() {
    let place = Place::view();
    for id in ["a", "b"] {
        run(&place.app, id, &borrowed(&samples(6)));
    }
    let empty = open(&place, "/compare");
    assert_eq!((named(&empty, "page-compare").len(), named(&empty, "empty-state").len()), (1, 1));
    let options: Vec<String> = all(&empty, "select[name=a] option").into_iter().map(text).collect();
    assert_eq!(options, ["choose", "listed · b", "listed · a"]);
    let page = open(&place, "/compare?a=a&b=b&of=run");
    assert_eq!((named(&page, "page-compare").len(), named(&page, "empty-state").len()), (1, 0));
    assert!(!named(&page, "forest").is_empty() && !named(&page, "verdict").is_empty());
    let again = open(&place, "/compare?a=a&b=b&of=run");
    assert_eq!(again.html(), page.html(), "a kept page is the page that was made");
    assert_ne!(open(&place, "/compare?a=b&b=a&of=run").html(), page.html());
    assert_eq!(all(&page, "select[name=a] option[selected]").into_iter().map(text).collect::<Vec<_>>(), ["listed · a"]);
}

/// DB-15: the variants of one run are compared; a bad value is a notice, and a run that is gone is a page.
#[test]
fn variants_are_compared_and_bad_values_are_noticed() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(6)));
    let page = open(&place, "/compare?a=plain&b=json&of=variant&run=r&correction=best");
    assert!(texts(&page, "notice").concat().contains("correction"), "{:?}", texts(&page, "notice"));
    assert!(!named(&page, "forest").is_empty());
    let gone = settled(&place, "/compare?a=r&b=gone");
    assert_eq!(gone.status, 404);
    assert!(texts(&parsed(&gone), "error-state").concat().contains("gone"));
    assert!(!settled(&place, "/compare?a=plain&b=none&of=variant&run=r").status.is_server_error());
}

/// F71, F60: one click leads from a run to its variants; what differs stands before the differences in scores, a side that is
/// chosen cannot become none, and the other variants can be chosen.
#[test]
fn variants_of_a_run_are_one_click_away() {
    let place = Place::view();
    run(&place.app, "r", &borrowed(&samples(6)));
    let link = href(&open(&place, "/runs/r"), "compare-variant").unwrap();
    assert_eq!(link, "/compare?a=plain&b=json&of=variant&run=r");
    let page = open(&place, &link);
    let sections: Vec<&str> = all(&page, "main section").iter().filter_map(|it| it.attr("id")).collect();
    assert_eq!(sections[..3], ["verdict", "differs", "differences"]);
    let options: Vec<String> = all(&page, "select[name=a] option").into_iter().map(text).collect();
    assert_eq!(options, ["plain", "json"]);
    assert!(href(&open(&place, "/runs/r"), "compare-model").is_none(), "one model is compared with nothing");
    assert_eq!(settled(&place, "/compare?of=variant&run=gone").status, 404);
}
