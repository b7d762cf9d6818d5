//! Schedules, incidents, messages and traces over HTTP.

mod alerts;
mod annotations;
mod page;
mod schedules;
mod traces;

use karat_server::Purpose;

use crate::place::Place;

/// A suite of recorded outputs that is due each minute, half of whose answers are wrong.
const SUITE: &str = r#"schema: karat.suite/1
name: support
dataset: { source: data.jsonl, id: id, input: question, reference: target }
variants: { published: [ { recorded: { column: answer } } ] }
scorers: { hit: { metric: contains } }
gates: [ { metric: hit, min: 90%, decide: point } ]
schedules:
  minutely: { cron: "* * * * *", zone: UTC, report: [json] }
alerts:
  oncall:
    send: webhook
    with: { url: "${HOOK}" }
    events: [gate_failed]
"#;

/// The run of the last due time, by the clock of the tests.
pub(super) const RUN: &str = "support-minutely-20260601T1200Z";

/// A server on a root with the suite.
pub(super) fn place() -> Place {
    let place = Place::new(Purpose::Serve { allow_commands: false });
    write_suite(&place);
    place
}

pub(super) fn write_suite(place: &Place) {
    let row = |at: usize| {
        let answer = if at.is_multiple_of(2) { "Paris" } else { "Rome" };
        format!(
            "{{\"id\":\"q{at}\",\"question\":\"capital of France?\",\"target\":\"Paris\",\"answer\":\"{answer}\"}}\n"
        )
    };
    place.write("support/data.jsonl", &(0..20).map(row).collect::<String>());
    place.write("support/karat.yaml", SUITE);
}

/// Runs the last due time to its end.
pub(super) fn run_due(place: &Place) {
    let accepted = place.post("/schedules/support/minutely/run", "{}");
    assert_eq!(accepted.status, 202, "{}", accepted.text);
    place.wait_for(RUN, "completed");
    for _ in 0..400 {
        if !place.get("/outbox").json()["items"].as_array().unwrap().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    panic!("the run has not alerted");
}
