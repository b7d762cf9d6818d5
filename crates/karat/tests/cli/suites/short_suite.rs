//! The short form of a suite, against a server.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};

/// BY-04: every planned call is made exactly once, and every answer is scored.
#[test]
fn every_call_is_made_once() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(200));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a"]);
    assert_eq!((provider.requests(), provider.duplicates()), (200, 0));
    let report = place.report("a");
    assert_eq!(report["totals"]["cells"], 200);
    assert_eq!(report["metrics"]["hit"]["value"], 1.0);
    assert!(report["metrics"]["hit"]["n"].as_u64().is_some());
    place.succeed(&["run", "--run-id", "b"]);
    assert_eq!(provider.requests(), 200);
    assert_eq!(place.canonical("a"), place.canonical("b"));
}

/// PE-32, CL-22: a run that its budget stops exits with 5; with a higher budget it continues where it stopped.
#[test]
fn budgets_and_call_limits_stop_the_run() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(40));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let result = place.karat(&["run", "--run-id", "a", "--max-calls", "10"]);
    assert_eq!(result.code, 5, "{}", result.all());
    assert_eq!(provider.requests(), 10);
    assert!(result.stderr.contains("karat resume a"), "{}", result.stderr);
    let result = place.karat(&["resume", "a", "--max-calls", "100"]);
    assert_eq!(result.code, 0, "{}", result.all());
    assert_eq!((provider.requests(), provider.duplicates()), (40, 0));
    let result = place.karat(&["run", "--no-cache", "--budget-usd", "0.000001"]);
    assert_eq!(result.code, 5, "{}", result.all());
    assert_eq!(provider.requests(), 40);
}

/// PE-28, PE-35: nothing ran, or everything errored, is never exit 0.
#[test]
fn an_unreachable_provider_exits_with_1() {
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    place.write("karat.yaml", &suite("http://127.0.0.1:9/v1"));
    let result = place.karat(&["run", "--run-id", "a", "--retries", "0"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let report = place.report("a");
    assert_eq!(report["totals"]["errors"], 3);
    assert_eq!(report["cells"][0]["error"]["code"], "connect");
    let result = place.karat(&["run", "--limit", "0"]);
    assert_eq!(result.code, 1, "{}", result.all());
}

/// PE-27, PE-29, CL-15: with a third of all attempts failing in mixed ways the run completes within its retries.
#[test]
fn mixed_faults_are_survived() {
    let provider = FakeProvider::start(Script::echo(Echo { fault_rate: 0.3, ..Echo::default() })).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(100));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a", "--retries", "10"]);
    assert_eq!(provider.duplicates(), 0);
    assert!((110..220).contains(&provider.requests()), "{}", provider.requests());
    assert_eq!(place.report("a")["metrics"]["hit"]["value"], 1.0);
}

/// PE-35, CL-15: a run fails if no reply of its judge could be read.
#[test]
fn a_judge_without_scores_exits_with_1() {
    let place = Place::new();
    let arguments = ["run", "claims", "--judges", "sim-faithful", "--sample", "kr-oats-01", "--variants", "raw"];
    let result = place.karat(
        &[&arguments[..], &["--set", "scorers.recall_of_ideal={metric: contains, value: x, output: $.nope}"]].concat(),
    );
    assert_eq!(result.code, 1, "{}", result.all());
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
    place.succeed(&["run", "--budget-usd", "0.05"]);
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
    place.succeed(&["run", "--run-id", "a"]);
    let report = place.report("a");
    let warnings = report["warnings"].as_array().unwrap();
    let breach = warnings.iter().filter_map(|it| it.as_str()).find(|it| it.contains("more than was reserved")).unwrap();
    assert!(breach.contains(": 2.") && breach.contains("mock counted more tokens"), "{breach}");
    let page = place.succeed(&["report", "a", "--format", "md", "-o", "-"]);
    assert!(page.stdout.contains("more than was reserved"), "{}", page.stdout);
}

/// BY-05: a usage of zero beside a reply counts as missing: its tokens are counted from the texts, and the report says so.
#[test]
fn missing_usage_is_estimated() {
    let nothing = serde_json::json!({ "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0 });
    let provider = FakeProvider::start(Behaviour::Usage("the answer".to_owned(), Some(nothing))).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a"]);
    let cost = &place.report("a")["cost"]["actual_cost_usd"];
    assert!(cost.as_f64().unwrap() > 0.0, "{cost}");
    let page = place.succeed(&["report", "a", "--format", "md", "-o", "-"]).stdout;
    assert!(
        page.contains("tokens not counted by the provider") && page.contains("counted no tokens of mock"),
        "{page}"
    );
}

/// BY-05: an answer that breaks off may have been billed, so what was reserved for it stays spent: money that would be
/// enough for the next attempt is not there any more.
#[test]
fn an_incomplete_reply_stays_reserved() {
    for (first, code, requests) in [(Behaviour::Cut("half".to_owned()), 5, 1), (Behaviour::server_error(), 0, 3)] {
        let answers = [first, Behaviour::ok("answer"), Behaviour::ok("answer")];
        let provider = FakeProvider::start(Script::sequence(answers)).unwrap();
        let place = Place::new();
        place.write("data.jsonl", &questions(2));
        place.write("karat.yaml", &suite(&provider.base_url()));
        // A call may cost 2,000 millionths of a dollar for its reply and a hundred for its request: one fits, not two.
        let limits = ["-j", "1", "--retries", "1", "--max-output-tokens", "1000", "--budget-usd", "0.004"];
        let result = place.karat(&[&["run", "--run-id", "a", "-q"], &limits[..]].concat());
        assert_eq!((result.code, provider.requests()), (code, requests), "{}", result.all());
    }
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
    let result = place.karat(&["run", "--run-id", "a", "--budget-usd", "0.0035"]);
    assert!([0, 5].contains(&result.code), "{}", result.all());
    assert!(provider.requests() > 8, "{}", result.all());
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

/// BY-05, CL-22: what a stopped run says leads on: the limit that it names suffices, also for what failed.
#[test]
fn a_stopped_run_names_the_limit_to_continue_with() {
    let provider = FakeProvider::start(Script::by(|received| match received.json().to_string() {
        request if request.contains("Question 3:") => Behaviour::status(400, "no"),
        _ => Behaviour::ok("answer"),
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(12));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let named = |result: &crate::place::CommandOutput| -> Vec<String> {
        assert_eq!(result.code, 5, "{}", result.all());
        let (_, command) =
            result.stderr.split_once("continue with `karat ").unwrap_or_else(|| panic!("{}", result.all()));
        command.split('`').next().unwrap_or_default().split(' ').map(str::to_owned).collect()
    };
    let goes_on = |command: &[String]| place.karat(&command.iter().map(String::as_str).collect::<Vec<_>>());
    let stopped = place.karat(&["run", "--run-id", "a", "--max-calls", "5"]);
    assert_eq!(named(&stopped), ["resume", "a", "--max-calls", "12"]);
    assert_eq!(named(&place.karat(&["resume", "a"])), ["resume", "a", "--max-calls", "12"]);
    assert_eq!(goes_on(&named(&stopped)).code, 1, "one cell failed");
    assert_eq!(provider.requests(), 12);
    let stopped = place.karat(&["retry", "a"]);
    assert_eq!(named(&stopped), ["retry", "a", "--max-calls", "13"]);
    assert_eq!((goes_on(&named(&stopped)).code, provider.requests()), (1, 13));
    // The next part falls back to the limits with which the run began.
    let result = place.karat(&["run", "--run-id", "c", "--no-cache", "--max-calls", "3", "--budget-usd", "0.5"]);
    assert_eq!(named(&result), ["resume", "c", "--max-calls", "12"]);
    let result = place.karat(&["resume", "c", "--max-calls", "5", "--budget-usd", "0.75"]);
    assert_eq!(named(&result), ["resume", "c", "--max-calls", "12", "--budget-usd", "0.75"]);
    assert_eq!((goes_on(&named(&result)).code, provider.requests()), (1, 25));
    let poor = place.karat(&["run", "--run-id", "b", "--no-cache", "--budget-usd", "0.004"]);
    let rich = poor.stderr.split("`karat ").nth(1).and_then(|rest| rest.split('`').next()).unwrap_or_default();
    assert!(rich.starts_with("resume b --budget-usd "), "{}", poor.all());
    assert_eq!(place.karat(&rich.split(' ').collect::<Vec<_>>()).code, 1, "{}", poor.all());
    assert_eq!(provider.requests(), 37);
}

/// BY-05, BY-06: cached results are reused whatever the limits are.
#[test]
fn a_limit_stops_no_cell_that_needs_no_call() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(60));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a"]);
    place.write("data.jsonl", &questions(60).replace("Question 1", "A question, 1"));
    let result = place.karat(&["run", "--run-id", "b", "--max-calls", "2"]);
    assert_eq!(result.code, 5, "{}", result.all());
    let totals = place.report("b")["totals"].clone();
    // Eleven questions are other ones now: 1 and 10 to 19.
    assert_eq!((&totals["cells"], &totals["cached"], provider.requests()), (&51.into(), &49.into(), 62));
}

/// BY-06, GE-01: the figures of a plan add up, and the run makes as many calls as it said.
#[test]
fn a_plan_adds_up_to_its_run() {
    let replies = AtomicUsize::new(0);
    // Every output is another one: judgments of equal outputs are made once, which no plan can know.
    let provider = FakeProvider::start(Script::by(move |received| {
        let n = replies.fetch_add(1, Ordering::Relaxed);
        let is_judge = received.json()["model"].as_str().is_some_and(|model| model.starts_with("judge"));
        if is_judge { Behaviour::ok(json!({ "score": 1 }).to_string()) } else { Behaviour::ok(format!("reply {n}")) }
    }))
    .unwrap();
    let place = Place::new();
    let (data, base_url) = (questions(9), provider.base_url());
    place.write("data.jsonl", &format!("{data}{}", data.lines().next().unwrap().replace("\"q0\"", "\"twin\"")));
    place.write(
        "karat.yaml",
        &format!(
            r#"name: sums
dataset: {{ source: data.jsonl, id: id, input: question, reference: target }}
models: [ {{ id: mock, provider: openai, model: mock-model, base_url: "{base_url}", price: {{ input: 1.0, output: 2.0 }} }} ]
judges:
  - {{ id: judge-a, provider: openai, model: judge-a, base_url: "{base_url}" }}
  - {{ id: judge-b, provider: openai, model: judge-b, base_url: "{base_url}" }}
variants:
  plain: [ {{ id: ask, prompt: {{ text: "{{{{ sample.question }}}}" }} }} ]
  twice: [ {{ use: plain }}, {{ id: again, prompt: {{ text: "Shorter: {{{{ output }}}}" }} }} ]
  parts: [ {{ id: ask, chunk: {{ of: "input", tokens: 8 }}, prompt: {{ text: "{{{{ chunk.text }}}}" }} }} ]
  small: [ {{ id: ask, requires: {{ fits: true }}, parameters: {{ max_tokens: 8 }}, prompt: {{ text: "{{{{ sample.question }}}} {{{{ sample.target }}}}" }} }} ]
trials: 1
scorers:
  good: {{ rubric: {{ schema: karat.rubric/1, id: good, version: "1", ask: Grade it, reply: flat, dimensions: {{ score: {{ definition: Is it good, scale: [0, 1] }} }}, show: {{ output: {{ value: "{{{{ output }}}}" }} }} }} }}
run: {{ max_concurrency: 8, trials: 2 }}
"#
        )
        .replace("trials: 1\n", ""),
    );
    let planned = || -> Value { serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap() };
    let sum = |of: &Value| of.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
    for _ in 0..2 {
        let plan = planned();
        let cells = &plan["cells"];
        let parts = ["fresh", "reused", "skipped", "failing"].map(|part| cells[part].as_u64().unwrap());
        assert_eq!(cells["planned"], parts.iter().sum::<u64>(), "{plan}");
        assert_eq!(sum(&plan["reasons"]["outputs"]), parts[0], "{plan}");
        assert_eq!(sum(&plan["reasons"]["judgments"]), plan["judgments"]["fresh"].as_u64().unwrap(), "{plan}");
        let (least, most) = (plan["calls"][0].as_u64().unwrap(), plan["calls"][1].as_u64().unwrap());
        let before = provider.requests() as u64;
        place.karat(&["run"]);
        let made = provider.requests() as u64 - before;
        assert!((least..=most).contains(&made), "{made} of {plan}");
        let columns: Vec<u64> =
            plan["models"].as_array().unwrap().iter().filter_map(|it| it["calls"][0].as_u64()).collect();
        assert_eq!(columns.iter().sum::<u64>(), least);
    }
    assert_eq!(planned()["calls"], json!([0, 0]));
}
