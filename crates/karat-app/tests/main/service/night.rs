//! Two weeks of nights in fast motion.

use karat_app::{DriftRequest, Invocation};
use karat_types::Exit;

use super::world::{SECRET, World};

const DAY_MS: i64 = 86_400_000;

/// SV-12, SV-15, RG-13, RG-14: a regression on day 8 opens one incident of the gate and one of drift; its fix on day 11
/// closes both; a receiver gets each message once, signed.
#[test]
fn a_regression_opens_two_incidents_and_its_fix_closes_them() {
    let world = World::accepting();
    let is_bad = |night: i64| (8..11).contains(&night);
    // The data of night 1 are those of day 0.
    world.write_days(-20..20, |day| match () {
        () if is_bad(day + 1) => 2,
        () if day % 2 == 0 => 9,
        () => 10,
    });
    let mut told = Vec::new();
    for night in 1..=14 {
        // A process of its own each night.
        let app = world.app();
        let ended = world.night(&app);
        let exit = if is_bad(night) { Exit::GateFailed } else { Exit::Pass };
        assert_eq!(ended.exit, exit, "night {night}: {:?}", ended.alerted);
        assert_eq!(ended.alerted.problems, Vec::<String>::new(), "night {night}");
        told.push((night, world.receiver.requests()));
        let open = app.service().incidents(Some("open")).unwrap();
        let expected = if (8..12).contains(&night) { 2 } else { 0 };
        assert_eq!(open.len(), expected, "night {night}: {open:?}");
        world.advance(DAY_MS);
    }
    let mut received = world.received();
    received[..2].sort();
    received[2..].sort();
    let message = |kind: &str, event: &str| (format!("alert.{kind}"), event.to_owned());
    let expected = [
        message("opened", "drift"),
        message("opened", "gate_failed"),
        message("resolved", "drift"),
        message("resolved", "gate_failed"),
    ];
    assert_eq!(received, expected, "{told:?}");
    let ids: std::collections::BTreeSet<String> = world
        .receiver
        .received_requests()
        .iter()
        .map(|request| {
            assert!(request.header("webhook-signature").unwrap().starts_with("v1,"));
            request.header("webhook-id").unwrap().to_owned()
        })
        .collect();
    assert_eq!(ids.len(), 4, "no message twice");
    let closed = world.app().service().incidents(Some("closed")).unwrap();
    assert_eq!(closed.iter().map(|it| it.occurrences).collect::<Vec<_>>(), [3, 3]);
    assert!(!world.is_stored("hook-path-9f8e7d") && !world.is_stored(SECRET), "addresses and secrets are nowhere");
}

/// F76: drift reads what is stored under its own `as_of`, whether or not the dataset has rows of yesterday.
#[test]
fn drift_is_watched_when_yesterday_has_no_rows() {
    let world = World::accepting();
    world.write_days(-20..8, |day| if day == 7 { 1 } else { 9 });
    for _ in 1..=8 {
        world.night(&world.app());
        world.advance(DAY_MS);
    }
    world.advance(30 * DAY_MS);
    let app = world.app();
    let invocation = Invocation::of(world.suite());
    assert!(app.runs().load(&invocation).is_err(), "there are no rows of yesterday");
    let asked = DriftRequest { as_of: Some("2027-03-07".to_owned()), ..DriftRequest::default() };
    let found = serde_json::to_value(app.analysis().drift(&invocation, &asked).unwrap()).unwrap();
    assert_eq!(found["status"], "alert", "{found}");
}
