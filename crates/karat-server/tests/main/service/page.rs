//! The page of the service.

use super::{RUN, place, run_due};
use crate::pages::{all, named, open, text};
use crate::place::Place;

/// SV-32: schedules, incidents and messages are rows with their actions, which are requests of a script.
#[test]
fn the_page_shows_the_service() {
    let place = place();
    run_due(&place);
    place.send(
        "POST",
        "/traces?dataset=faq",
        &["Content-Type: application/x-ndjson"],
        "{\"input\":\"a\",\"output\":\"b\"}\n",
    );
    let page = open(&place, "/service");
    assert_eq!(named(&page, "page-service").len(), 1);
    let row = |name: &str| {
        let rows = named(&page, name);
        assert_eq!(rows.len(), 1, "{name}");
        text(rows[0])
    };
    assert!(row("schedule-row").contains("minutely"));
    assert!(row("incident-row").contains("gate failed") && row("outbox-row").contains("pending"));
    assert!(row("traces-row").contains("faq"));
    let posts: Vec<&str> =
        all(&page, "k-post.needs-script button").iter().filter_map(|it| it.attr("data-to")).collect();
    assert!(posts.contains(&"/schedules/support/minutely/pause"), "{posts:?}");
    assert!(posts.iter().any(|to| to.ends_with("/ack")) && posts.iter().any(|to| to.ends_with("/retry")), "{posts:?}");
    assert_eq!(all(&page, "form").len(), 0);
    assert!(all(&page, &format!("a[href='/runs/{RUN}']")).len() >= 2);
    let start = open(&place, "/");
    assert_eq!(all(&start, "a[href='/service']").len(), 1);
}

/// SV-32: each empty part says what fills it; a reader has no actions.
#[test]
fn empty_parts_say_what_fills_them() {
    let page = open(&Place::view(), "/service");
    assert_eq!(named(&page, "empty-state").len(), 4);
    assert_eq!(all(&page, "k-post").len(), 0);
}
