//! The short form of a suite, against a server.

use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};

/// BY-04: every planned call is made exactly once, and every answer is scored.
#[test]
fn every_call_is_made_once() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(200));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.fine(&["run", "--run-id", "a"]);
    assert_eq!((provider.requests(), provider.duplicates()), (200, 0));
    let report = place.report("a");
    assert_eq!(report["totals"]["cells"], 200);
    assert_eq!(report["metrics"]["hit"]["value"], 1.0);
    assert!(report["metrics"]["hit"]["n"].as_u64().is_some());
    place.fine(&["run", "--run-id", "b"]);
    assert_eq!(provider.requests(), 200);
    assert_eq!(place.canonical("a"), place.canonical("b"));
}

/// PE-32, CL-22: the budget holds, and stopping because of it is exit 5; raising it goes on where it stopped.
#[test]
fn budgets_and_call_limits_stop_the_run() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(40));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let said = place.karat(&["run", "--run-id", "a", "--max-calls", "10"]);
    assert_eq!(said.code, 5, "{}", said.all());
    assert_eq!(provider.requests(), 10);
    assert!(said.stderr.contains("karat resume a"), "{}", said.stderr);
    let said = place.karat(&["resume", "a", "--max-calls", "100"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!((provider.requests(), provider.duplicates()), (40, 0));
    let said = place.karat(&["run", "--no-cache", "--budget-usd", "0.000001"]);
    assert_eq!(said.code, 5, "{}", said.all());
    assert_eq!(provider.requests(), 40);
}

/// PE-28, PE-35: nothing ran, or everything errored, is never exit 0.
#[test]
fn a_provider_that_is_down_is_exit_1() {
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    place.write("karat.yaml", &suite("http://127.0.0.1:9/v1"));
    let said = place.karat(&["run", "--run-id", "a", "--retries", "0"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let report = place.report("a");
    assert_eq!(report["totals"]["errors"], 3);
    assert_eq!(report["cells"][0]["error"]["code"], "connect");
    let said = place.karat(&["run", "--limit", "0"]);
    assert_eq!(said.code, 1, "{}", said.all());
}

/// PE-27, PE-29, CL-15: with a third of all attempts failing in mixed ways the run completes within its retries.
#[test]
fn mixed_faults_are_survived() {
    let provider = FakeProvider::start(Script::echo(Echo { fault_rate: 0.3, ..Echo::default() })).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(100));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.fine(&["run", "--run-id", "a", "--retries", "10"]);
    assert_eq!(provider.duplicates(), 0);
    assert!((110..220).contains(&provider.requests()), "{}", provider.requests());
    assert_eq!(place.report("a")["metrics"]["hit"]["value"], 1.0);
}

/// PE-35, CL-15: a run whose judge could never be read is no result.
#[test]
fn a_judge_without_one_score_is_exit_1() {
    let place = Place::new();
    let arguments = ["run", "claims", "--judges", "sim-faithful", "--sample", "kr-oats-01", "--variants", "raw"];
    let said = place.karat(
        &[&arguments[..], &["--set", "scorers.recall_of_ideal={metric: contains, value: x, output: $.nope}"]].concat(),
    );
    assert_eq!(said.code, 1, "{}", said.all());
    let alone = place.karat(&["show", "--format", "json"]);
    assert!(alone.stdout.contains("unscored"), "{}", alone.all());
}

/// BY-05: a budget that the run can keep is not refused because of what it might cost.
#[test]
fn an_affordable_budget_is_not_refused() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(20));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.fine(&["run", "--budget-usd", "0.05"]);
    assert_eq!(provider.requests(), 20);
}

/// BY-05: a provider that counts more than was reserved for a call is named in the report, with the sample.
#[test]
fn usage_above_what_was_reserved_is_warned_about() {
    let reply = r#"{"choices":[{"message":{"content":"answer"},"finish_reason":"stop"}],"usage":{"prompt_tokens":900000,"completion_tokens":9}}"#;
    let provider = FakeProvider::start(Script::always(Behaviour::raw(200, reply))).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.fine(&["run", "--run-id", "a"]);
    let report = place.report("a");
    let warnings = report["warnings"].as_array().unwrap();
    let breach = warnings.iter().filter_map(|it| it.as_str()).find(|it| it.contains("than was reserved")).unwrap();
    assert!(breach.contains(": 2.") && breach.contains("mock counted more tokens"), "{breach}");
    let page = place.fine(&["report", "a", "--format", "md", "-o", "-"]);
    assert!(page.stdout.contains("more usage than was reserved"), "{}", page.stdout);
}

/// BY-05, PE-29: calls that wait for money hold nothing that another attempt of a call under way needs.
#[test]
fn attempts_go_on_when_the_budget_is_used_up() {
    let provider = FakeProvider::start(Script::by(|received| match received.attempt {
        0 => Behaviour::server_error(),
        _ => Behaviour::ok("answer"),
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(60));
    let short = suite(&provider.base_url()).replace("price:", "parameters: { max_tokens: 100 }, price:");
    place.write("karat.yaml", &short);
    // Four calls fit at once, sixteen may be in flight.
    let said = place.karat(&["run", "--run-id", "a", "--budget-usd", "0.0035"]);
    assert!([0, 5].contains(&said.code), "{}", said.all());
    assert!(provider.requests() > 8, "{}", said.all());
}

/// BY-05: what an answer without a reply was billed for is spent.
#[test]
fn billed_answers_without_a_reply_cost() {
    let reply = r#"{"choices":[],"usage":{"prompt_tokens":300,"completion_tokens":100}}"#;
    let provider = FakeProvider::start(Script::always(Behaviour::raw(200, reply))).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.karat(&["run", "--run-id", "a", "--retries", "1"]);
    assert_eq!(provider.requests(), 4);
    // Four answers of 300 tokens at $1 and 100 at $2 a million.
    let paid = place.report("a")["cost"]["actual_cost_usd"].as_f64();
    assert!(paid.is_some_and(|paid| (paid - 0.002).abs() < 1e-9), "{paid:?}");
}
