//! Schedules, listed and acted on.

use http::StatusCode;
use karat_app::Role;

use super::{RUN, place, run_due, write_suite};
use crate::place::Place;

/// SV-02: schedules of the root are listed with their next time; a due time is run once, and its run is found by the answer.
#[test]
fn a_due_time_is_run_over_http() {
    let place = place();
    let listed = place.get("/schedules").json();
    let line = &listed["items"][0];
    assert_eq!(
        (&line["suite"], &line["schedule"], &line["cron"]),
        (&"support".into(), &"minutely".into(), &"* * * * *".into())
    );
    assert_eq!((&line["next"], &line["last"]), (&"2026-06-01T12:01:00Z".into(), &().into()));
    let accepted = place.post("/schedules/support/minutely/run", "");
    assert_eq!((accepted.status, accepted.header("location")), (StatusCode::ACCEPTED, &*format!("/eval/runs/{RUN}")));
    assert_eq!(accepted.json()["run"], RUN);
    let run = place.wait_for(RUN, "completed");
    assert_eq!((&run["trigger"], &run["verdict"]), (&"schedule:minutely".into(), &"fail".into()));
    let again = place.post("/schedules/support/minutely/run", "{}");
    let kinds = ["urn:karat:problem:run-finished", "urn:karat:problem:run-in-use"];
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert!(kinds.iter().any(|kind| again.json()["type"] == *kind), "{}", again.text);
    assert_eq!(place.get("/schedules").json()["items"][0]["last"]["run"], RUN);
}

/// SV-02: a schedule is paused and followed again; wrong names, times and fields are problems.
#[test]
fn a_schedule_is_paused_and_resumed() {
    let place = place();
    let paused = place.post("/schedules/support/minutely/pause", "{}");
    assert_eq!((paused.status, &paused.json()["next"]), (StatusCode::OK, &().into()));
    assert_eq!(paused.json()["paused_since"], "2026-06-01T12:00:00Z");
    let resumed = place.post("/schedules/support/minutely/resume", "");
    assert_eq!((resumed.status, &resumed.json()["paused_since"]), (StatusCode::OK, &().into()));
    for (path, body, status) in [
        ("/schedules/suport/minutely/pause", "", 404),
        ("/schedules/support/hourly/pause", "", 404),
        ("/schedules/support/minutely/run", r#"{"due": "tomorrow"}"#, 400),
        ("/schedules/support/minutely/run", r#"{"due": "2026-06-01T12:00:30Z"}"#, 400),
        ("/schedules/support/minutely/run", r#"{"dew": "2026-06-01T12:00:00Z"}"#, 400),
        ("/schedules/support/minutely/run?x=1", "", 400),
        ("/schedules/support/minutely/pause", r#"{"x": 1}"#, 400),
    ] {
        let refused = place.post(path, body);
        assert_eq!(
            (refused.status.as_u16(), refused.header("content-type")),
            (status, "application/problem+json"),
            "{path} {body}"
        );
    }
}

/// SV-02: reading needs the role `read`, changes need `run`; `karat view` changes nothing.
#[test]
fn changes_need_the_role_run() {
    let place = place();
    let [read, run] = [Role::Read, Role::Run].map(|role| {
        format!("Authorization: Bearer {}", place.app.service().create_token("test", role, None).unwrap().text)
    });
    let pause = |token: &str| {
        place.send("POST", "/schedules/support/minutely/pause", &["Content-Type: application/json", token], "{}").status
    };
    assert_eq!((pause(&read), pause(&run)), (StatusCode::FORBIDDEN, StatusCode::OK));
    for path in ["/schedules", "/incidents", "/outbox", "/service"] {
        assert_eq!(place.send("GET", path, &[&read], "").status, StatusCode::OK, "{path}");
        assert_eq!(place.get(path).status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let view = Place::view();
    write_suite(&view);
    assert_eq!(view.post("/schedules/support/minutely/pause", "").status, StatusCode::FORBIDDEN);
    assert_eq!(view.get("/schedules").json()["items"][0]["suite"], "support");
}

/// SV-24, SV-25: a message that was given up or a broken suite makes the server degraded; figures name no ids.
#[test]
fn health_and_figures_know_the_service() {
    let place = place();
    assert_eq!(place.get("/healthz").json()["status"], "ok");
    run_due(&place);
    let figures = place.get("/metrics").text;
    for line in [
        r#"karat_incidents_open{suite="support",event="gate_failed"} 1"#,
        "karat_outbox_pending 1",
        "karat_outbox_dead 0",
        r#"karat_schedule_next_timestamp_seconds{suite="support",schedule="minutely"} 1780315260"#,
        r#"karat_schedule_last_success_timestamp_seconds{suite="support",schedule="minutely"} 1780315200"#,
    ] {
        assert!(figures.lines().any(|own| own == line), "{line}\n{figures}");
    }
    place.write("other/karat.yaml", "name: other\nschedules: { nightly: { cron: 99 } }\n");
    let restarted =
        place.again(karat_server::Purpose::Serve { allow_commands: false }, karat_server::QueueLimits::default());
    let health = restarted.get("/healthz");
    assert_eq!((health.status, &health.json()["status"]), (StatusCode::OK, &"degraded".into()));
    assert_eq!(health.json()["checks"]["suites_broken"], serde_json::json!(["other/karat.yaml"]));
}
