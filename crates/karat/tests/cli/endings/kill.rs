//! `kill -9` at any point, then resume.

use std::time::Duration;

use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};
use crate::runs::budgets::metered;

const CELLS: usize = 600;
const CONCURRENCY: usize = 16;
const KILLS: u64 = 20;

/// SC-07, BY-04: killed as often, with a store on a server; the report is that of a run in a file.
#[test]
fn a_killed_run_on_a_server_resumes_to_the_same_report() {
    if let Some(place) = Place::on_server() {
        kill_and_resume(&place, 6, CELLS);
    }
}

/// PE-08, PE-18, PE-20, BY-04: at most (cells + concurrency × kills) calls, and the same canonical report as without a
/// kill.
#[test]
fn a_killed_run_resumes_to_the_same_report() {
    kill_and_resume(&Place::new(), KILLS, CELLS);
}

/// Kills a run again and again, then compares it with one that was not killed.
fn kill_and_resume(place: &Place, rounds: u64, cells: usize) {
    let provider =
        FakeProvider::start(Script::echo(Echo { latency: Duration::from_millis(15), ..Echo::default() })).unwrap();
    place.write("data.jsonl", &questions(cells));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let mut kills = 0;
    for round in 0..rounds {
        // Spread over start-up, dispatch and commits.
        let delay = 40 + round * 37 % 110;
        let arguments = ["run", "--run-id", "killed", "--resume", "-q"];
        let mut child = place.command(&arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
        // Every other kill comes in the midst of calls, however slow the machine is.
        let seen = provider.requests();
        for _ in 0..if round % 2 == 0 { 0 } else { 10_000 } {
            if provider.requests() > seen || child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(if round % 2 == 0 { delay } else { delay % 30 }));
        if child.try_wait().unwrap().is_none() {
            kills += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let listed = place.succeed(&["ls"]).stdout;
    assert!(listed.contains("interrupted") || listed.contains("finished"), "{listed}");
    place.succeed(&["run", "--run-id", "killed", "--resume"]);
    let bound = cells + CONCURRENCY * kills;
    assert!(kills > 0 && provider.requests() <= bound, "{} calls, {kills} kills", provider.requests());
    let whole = Place::new();
    whole.write("data.jsonl", &questions(cells));
    whole.write("karat.yaml", &suite(&provider.base_url()));
    whole.succeed(&["run", "--run-id", "whole"]);
    assert_eq!(place.canonical("killed"), whole.canonical("whole"));
    // BY-05: what killed parts paid for answers that are used is in the paid cost, each once.
    let paid = |place: &Place, run| place.report(run)["cost"]["actual_cost_usd"].as_f64().unwrap();
    assert!((paid(place, "killed") - paid(&whole, "whole")).abs() < 1e-9 && paid(&whole, "whole") > 0.0);
}

/// BY-05: calls that were in flight when a run was killed count as made, and no others do.
#[test]
fn calls_in_flight_at_a_kill_count() {
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0..4 => Behaviour::Hang,
        _ => Behaviour::ok("answer"),
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(30));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let limits = ["run", "--run-id", "a", "--resume", "-q", "-j", "4", "--max-calls", "10"];
    let mut child = place.command(&limits).stdout(std::process::Stdio::null()).spawn().unwrap();
    while provider.requests() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let result = place.karat(&limits);
    assert_eq!((result.code, provider.requests()), (5, 10), "{}", result.all());
    assert!(result.stderr.contains("4 more count for calls that were cut off"), "{}", result.stderr);
}

/// BY-05, CL-22: a run that was killed and resumed says once in each format that the calls in flight may have been
/// billed; its canonical report is that of an uninterrupted run.
#[test]
fn a_resumed_run_says_what_may_have_been_billed() {
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0..4 => Behaviour::Hang,
        _ => Behaviour::ok("answer"),
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(8));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let run = ["run", "--run-id", "a", "--resume", "-j", "4"];
    let mut child = place.command(&run).stdout(std::process::Stdio::null()).spawn().unwrap();
    while provider.requests() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let told = "Up to 4 calls were under way when the run was cut off: up to $";
    let result = place.succeed(&run);
    assert_eq!(result.all().matches(told).count(), 1, "{}", result.all());
    for form in ["md", "json"] {
        let report = place.succeed(&["report", "a", "--format", form, "-o", "-"]).stdout.replace("\\$", "$");
        assert_eq!(report.matches(told).count(), 1, "{report}");
    }
    assert!(!place.canonical("a").contains("under way"), "{}", place.canonical("a"));
}

/// BY-05: the reservation for a service that reports its own cost is not an upper bound, and the report says so.
#[test]
fn a_service_may_have_billed_more_than_was_reserved() {
    for (hangs, told) in [(0, ": it may have been billed"), (1, ": $0.01 or more may have been billed")] {
        let service = FakeProvider::start(Script::by(move |received| match received.number {
            at if at == hangs => Behaviour::Hang,
            _ => Behaviour::raw(200, r#"{"answer":"x","usd":0.01}"#),
        }))
        .unwrap();
        let place = metered(&service);
        let run = ["run", "--run-id", "a", "--resume", "-j", "1", "--budget-usd", "1"];
        let mut child = place.command(&run).stdout(std::process::Stdio::null()).spawn().unwrap();
        while service.requests() <= hangs && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let result = place.succeed(&run);
        let told = format!("Up to 1 call was under way when the run was cut off{told}");
        assert_eq!(result.all().matches(&told).count(), 1, "{}", result.all());
    }
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// SC-07: the same with two hundred kills.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn two_hundred_kills_on_a_server_lose_nothing() {
        if let Some(place) = Place::on_server() {
            kill_and_resume(&place, 200, 10 * CELLS);
        }
    }
}
