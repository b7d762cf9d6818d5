//! Limits of spending hold whatever providers and services do.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

/// A provider, and a place with so many questions for it, whose replies have 100 tokens at the most: a call costs $0.0002 and
/// a request's bytes.
pub fn place(script: impl Into<Script>, rows: usize, run: &str) -> (FakeProvider, Place) {
    let (provider, place) = (FakeProvider::start(script).unwrap(), Place::new());
    place.write("data.jsonl", &questions(rows));
    let text = suite(&provider.base_url()).replace("price:", "max_output: 100, price:");
    let (before, _) = text.split_once("run:").unwrap_or((&text, ""));
    place.write("karat.yaml", &format!("{before}run: {run}\n"));
    (provider, place)
}

/// Returns the most that all received requests can have cost: a token per byte, and the longest reply.
fn bound(provider: &FakeProvider) -> f64 {
    let requests = provider.received_requests();
    requests.iter().map(|it| it.body.len() as f64 * 1e-6 + 100.0 * 2e-6).sum()
}

fn counted(result: &CommandOutput) -> &str {
    result.stderr.split("fit the budget of").nth(1).unwrap_or_default()
}

/// BY-05: an attempt that was sent and whose cost is unknown counts as spent, and each attempt is reserved separately.
#[test]
fn attempts_of_unknown_cost_count_as_spent() {
    for behaviour in [Behaviour::Hang, Behaviour::Drop, Behaviour::Cut("x".to_owned()), Behaviour::prose()] {
        let (provider, place) = place(behaviour.clone(), 60, "{ max_concurrency: 8, retries: 2, timeout: 1s }");
        // A part of the run that gets no reply ends after a few calls, and the next one tries again.
        let mut result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.004"]);
        for _ in 0..4 {
            assert!([1, 5].contains(&result.code), "{behaviour:?}: {}", result.all());
            let (asked, bound) = (provider.requests(), bound(&provider));
            assert!(asked > 0 && bound <= 0.004, "{behaviour:?}: {asked} requests, ${bound}: {}", result.all());
            result = place.karat(&["resume", "r"]);
        }
        let asked = provider.requests();
        assert_eq!((result.code, provider.requests()), (5, asked), "{behaviour:?}: {}", result.all());
    }
}

/// F37, CL-22: a budget caps and does not approve: a run whose lower estimate is above it, or above the ceiling of $25 beside
/// it, starts with `--yes` only, and a plan shows both. An upper estimate above them stops nothing.
#[test]
fn a_budget_does_not_approve_of_what_it_caps() {
    let (provider, place) = place(Script::echo(Echo::default()), 60, "{ budget_usd: 1000 }");
    let small = ["run", "--budget-usd", "0.001"];
    let result = place.karat(&small);
    assert!(result.code == 5 && result.stderr.contains("its budget of $0.001"), "{}", result.all());
    assert!(result.stderr.contains("--yes") && provider.requests() == 0, "{}", result.all());
    let plan = place.succeed(&["plan", "--budget-usd", "0.001"]).stdout;
    assert!(plan.contains("the budget of $0.001 caps what is paid; the lower estimate is above $0.001"), "{plan}");
    let result = place.karat(&[&small[..], &["--yes"]].concat());
    assert!(result.code == 5 && provider.requests() > 0, "{}", result.all());
    // The suite's budget is far above what it costs, and so is the ceiling.
    let plan: serde_json::Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
    assert_eq!((&plan["budget_usd"], &plan["ceiling_usd"]), (&json!(1000.0), &json!(25.0)), "{plan}");
    let text = place.text("karat.yaml");
    place.write("karat.yaml", &text.replace("input: 1.0", "input: 100000.0"));
    let asked = provider.requests();
    let result = place.karat(&["run", "--no-cache"]);
    assert!(result.code == 5 && result.stderr.contains("default ceiling of $25.00"), "{}", result.all());
    assert_eq!(provider.requests(), asked);
    let plan = place.succeed(&["plan", "--no-cache"]).stdout;
    assert!(plan.contains("the budget of $1,000.00 caps what is paid; the lower estimate is above $25.00"), "{plan}");
    // Of an upper estimate that is far above the ceiling, the part that fits is made.
    place.write("karat.yaml", &text.replace("output: 2.0", "output: 20000.0").replace("run: { budget_usd: 1000 }", ""));
    let result = place.karat(&["run", "--no-cache", "--limit", "20"]);
    assert!(provider.requests() > asked, "{}", result.all());
}

/// BY-05: a run that its budget stopped names the limit that suffices by experience, and the upper bound of what is
/// left.
#[test]
fn a_stopped_run_says_what_is_left_at_the_most() {
    let (provider, place) = place(Script::echo(Echo::default()), 60, "{ max_concurrency: 1 }");
    let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.001", "--yes"]);
    assert_eq!(result.code, 5, "{}", result.all());
    let left = 60 - provider.requests();
    assert!(counted(&result).contains(&format!("({left} calls at that: $")), "{}", result.all());
}

/// BY-05: an answer without a reply that says what it was billed for is within the budget, too.
#[test]
fn billed_attempts_stay_within_the_budget() {
    let reply = r#"{"choices":[],"usage":{"prompt_tokens":90,"completion_tokens":100}}"#;
    let (provider, place) = place(Behaviour::raw(200, reply), 60, "{ max_concurrency: 16, retries: 1 }");
    let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.006"]);
    let billed = provider.requests() as f64 * 290e-6;
    assert!([1, 5].contains(&result.code) && billed <= 0.006, "{billed}: {}", result.all());
}

/// BY-05, CL-22: `--max-calls` bounds requests, those that are made again and those of later parts included.
#[test]
fn calls_count_with_their_retries() {
    let script = Script::by(|received| match received.attempt {
        0 => Behaviour::rate_limited("0"),
        _ => Behaviour::ok("answer"),
    });
    let (provider, place) = place(script, 20, "{ max_concurrency: 4, retries: 3 }");
    let result = place.karat(&["run", "--run-id", "r", "--max-calls", "11"]);
    assert_eq!((result.code, provider.requests()), (5, 11), "{}", result.all());
    assert!(result.stderr.contains(" made, 11 requests, "), "{}", result.all());
    let result = place.karat(&["resume", "r", "--max-calls", "20"]);
    assert_eq!((result.code, provider.requests()), (5, 20), "{}", result.all());
    let result = place.karat(&["resume", "r", "--max-calls", "200"]);
    assert_eq!(result.code, 0, "{}", result.all());
    assert_eq!(place.report("r")["totals"]["errors"], 0);
}

/// BY-05: what is reserved is a token a byte of the body that is sent, and no more.
#[test]
fn a_reservation_is_the_request_and_the_longest_reply() {
    let (provider, place) = place(Script::echo(Echo::default()), 1, "{ retries: 0 }");
    place.succeed(&["run"]);
    let bound = bound(&provider);
    let budget = |share: f64| format!("{:.9}", bound + share);
    let too_small = place.karat(&["run", "--no-cache", "--budget-usd", &budget(-1e-9)]);
    assert_eq!(too_small.code, 5, "{}", too_small.all());
    place.succeed(&["run", "--no-cache", "--budget-usd", &budget(0.0)]);
}

pub fn metered(service: &FakeProvider) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(30));
    let url = service.base_url().replace("/v1", "/ask");
    place.write(
        "karat.yaml",
        &format!(
            r#"name: metered
dataset: {{ source: data.jsonl, id: id, input: question, reference: target }}
variants:
  ask: [ {{ id: ask, version: v1, http: {{ url: "{url}", body: {{ q: "{{{{ input }}}}" }} }}, retries: 0, take: {{ answer: $.answer }}, meter: {{ cost_usd: $.usd }} }} ]
scorers: {{ hit: {{ metric: contains, output: $.answer }} }}
run: {{ max_concurrency: 16 }}
"#
        ),
    );
    place
}

/// BY-05: the cost of a service is known after its first reply, so further calls wait for it; each later call reserves
/// the highest cost so far, in all parts of the run. The limit that a stopped run names suffices.
#[test]
fn services_stay_within_the_budget() {
    let service = FakeProvider::start(Script::always(Behaviour::raw(200, r#"{"answer":"x","usd":0.01}"#))).unwrap();
    let place = metered(&service);
    let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.05"]);
    assert_eq!((result.code, service.requests()), (5, 5), "{}", result.all());
    let result = place.karat(&["resume", "r", "--budget-usd", "0.05"]);
    assert_eq!((result.code, service.requests()), (5, 5), "{}", result.all());
    let result = place.karat(&["resume", "r", "--budget-usd", limit_named(&result)]);
    assert_eq!((result.code, service.requests()), (0, 30), "{}", result.all());
}

/// BY-05: first answers that say no cost, or 0, do not speak for those that follow: beyond the budget goes no more than was under
/// way when the first cost came, one request more than such answers. A service that costs nothing answers all.
#[test]
fn a_first_answer_without_a_cost_does_not_open_the_budget() {
    for (silent, free) in
        [(r#"{"answer":"x"}"#, 1), (r#"{"answer":"x","usd":0}"#, 3), (r#"{"answer":"x","usd":0}"#, 30)]
    {
        let asked = AtomicUsize::new(0);
        let service = FakeProvider::start(Script::by(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            before if before < free => Behaviour::raw(200, silent),
            _ => Behaviour::raw(200, r#"{"answer":"x","usd":0.05}"#),
        }))
        .unwrap();
        let place = metered(&service);
        let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.20"]);
        if free == 30 {
            assert_eq!((result.code, service.requests()), (0, 30), "{}", result.all());
            continue;
        }
        let paid = service.requests() - free;
        assert!(result.code == 5 && (4..=4 + free).contains(&paid), "{paid}: {}", result.all());
    }
}

/// Returns the limit that a stopped run names to continue with.
fn limit_named(result: &CommandOutput) -> &str {
    result.stderr.split("--budget-usd ").nth(1).and_then(|rest| rest.split('`').next()).unwrap_or_default()
}

/// BY-05: the limit that a stopped run names suffices, also where every second call failed for nothing before and none does
/// after.
#[test]
fn free_failures_do_not_lower_the_named_limit() {
    let asked = AtomicUsize::new(0);
    let service = FakeProvider::start(Script::by(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        before @ ..10 if before % 2 == 0 => Behaviour::status(503, "down"),
        _ => Behaviour::raw(200, r#"{"answer":"x","usd":0.01}"#),
    }))
    .unwrap();
    let place = metered(&service);
    let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.05"]);
    assert_eq!(result.code, 5, "{}", result.all());
    let result = place.karat(&["resume", "r", "--budget-usd", limit_named(&result)]);
    assert_eq!((result.code, service.requests()), (1, 30), "{}", result.all());
}

/// BY-05: a reply without a cost counts as the highest cost before it, in all parts of the run, and is reported.
#[test]
fn a_service_that_stops_saying_its_cost_stays_within_the_budget() {
    for silent in [r#"{"answer":"x"}"#, r#"{"answer":"x","usd":null}"#] {
        let first = OnceLock::new();
        let service = FakeProvider::start(Script::by(move |received| {
            let asked = received.json()["q"].clone();
            match *first.get_or_init(|| asked.clone()) == asked {
                true => Behaviour::raw(200, r#"{"answer":"x","usd":0.01}"#),
                false => Behaviour::raw(200, silent),
            }
        }))
        .unwrap();
        let place = metered(&service);
        for part in [["run", "--run-id"].as_slice(), &["resume"]] {
            let result = place.karat(&[part, &["r", "--budget-usd", "0.05"]].concat());
            assert_eq!((result.code, service.requests()), (5, 5), "{}", result.all());
            assert!(counted(&result).contains("$0.04 more count for calls of unknown cost"), "{}", result.all());
        }
        let asked = service.received_requests().last().unwrap().json()["q"].as_str().unwrap().to_owned();
        let cell = asked.trim_start_matches("Question ").split(':').next().unwrap();
        let trace = place.succeed(&["trace", "r", cell]).stdout;
        assert!(trace.contains("note: the answer does not say all of what it cost"), "{trace}");
        place.succeed(&["resume", "r", "--budget-usd", "1"]);
        place.succeed(&["run", "--run-id", "whole", "--no-cache", "--budget-usd", "1"]);
        assert_eq!(place.canonical("whole"), place.canonical("r"));
    }
}

/// FT-B2: a cost that is decimal text is read as a number; an unreadable one stops a run with a budget, and is unknown
/// in a run without one.
#[test]
fn a_cost_that_nobody_can_read_stops_a_budgeted_run() {
    let answering = |usd: &str| {
        let answer = format!(r#"{{"answer":"x","usd":{usd}}}"#);
        let service = FakeProvider::start(Script::always(Behaviour::raw(200, answer))).unwrap();
        let place = metered(&service);
        (service, place)
    };
    let (service, place) = answering(r#""0.01""#);
    let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.05"]);
    assert_eq!((result.code, service.requests()), (5, 5), "{}", result.all());
    assert!(result.stderr.contains("$0.05 paid"), "{}", result.all());
    for usd in ["-0.01", r#""NaN""#, r#""free""#, "1e12", "[0.01]"] {
        let (service, place) = answering(usd);
        let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.05"]);
        assert_eq!((result.code, service.requests()), (5, 1), "{usd}: {}", result.all());
        let message = "at `$.usd`, which is not a number from 0 to 1000000, so the run's budget cannot be kept. Correct the \
                       service and continue with `karat resume r`";
        assert!(result.stderr.contains(message), "{usd}: {}", result.all());
        let result = place.karat(&["run", "--run-id", "free", "--no-cache"]);
        assert_eq!((result.code, service.requests()), (0, 31), "{usd}: {}", result.all());
        assert!(result.stderr.contains("$0 paid, and 30 calls of unknown cost"), "{usd}: {}", result.all());
        assert!(place.report("free")["cost"]["cost_per_cell"].is_null(), "{usd}");
    }
}

/// BY-05: a reply that names two models, one without a price, counts at least as the other one's cost, also for later
/// parts of the run, and is reported.
#[test]
fn an_answer_with_a_missing_price_is_not_free() {
    let answer = r#"{"answer":"x","uses":[{"model":"gpt-4o","in":4000},{"model":"mystery","in":4000}]}"#;
    let service = FakeProvider::start(Behaviour::raw(200, answer)).unwrap();
    let place = metered(&service);
    let meter = "tokens: [ { each: $.uses, model: $.model, input: $.in } ]";
    place.write("karat.yaml", &place.text("karat.yaml").replace("cost_usd: $.usd", meter));
    for (part, budget, requests) in
        [(["run", "--run-id"].as_slice(), "0.05", 5), (&["resume"], "0.059", 5), (&["resume"], "0.06", 6)]
    {
        let result = place.karat(&[part, &["r", "--budget-usd", budget]].concat());
        assert_eq!((result.code, service.requests()), (5, requests), "{}", result.all());
        let counts = format!("$0.0{requests} more count for calls of unknown cost");
        assert!(counted(&result).contains(&counts), "{}", result.all());
    }
    let asked = service.received_requests()[0].json()["q"].as_str().unwrap().to_owned();
    let cell = asked.trim_start_matches("Question ").split(':').next().unwrap();
    let trace = place.succeed(&["trace", "r", cell]).stdout;
    assert!(trace.contains("note: the answer does not say all of what it cost"), "{trace}");
}

/// BY-05: what an answer says that it cost counts also where the step cannot use it, whether `parse` or `take` refuses it.
#[test]
fn an_answer_that_cannot_be_used_costs_what_it_says() {
    let readings = [
        ("take: { answer: $.answer }", "$.usd", r#"{"nope":1,"usd":0.01}"#),
        ("parse: { schema: s.json }", "$.usd", r#"{"nope":1,"usd":0.01}"#),
        ("parse: { into: all, schema: s.json }", "$.all.usd", r#"{"nope":1,"usd":0.01}"#),
        ("parse: { as: yaml, schema: s.json }", "$.usd", "nope: 1\nusd: 0.01\n"),
    ];
    for (reading, path, answer) in readings {
        let service = FakeProvider::start(Behaviour::raw(200, answer)).unwrap();
        let place = metered(&service);
        place.write("s.json", r#"{"type":"object","required":["answer"]}"#);
        let scored = format!("output: {}", path.replace("usd", "answer"));
        let text = place.text("karat.yaml").replace("output: $.answer", &scored).replace("$.usd", path);
        let text = text.replace("take: { answer: $.answer }", reading);
        place.write("karat.yaml", &text);
        let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.05"]);
        assert_eq!((result.code, service.requests()), (5, 5), "{reading}: {}", result.all());
        let cost = place.report("r")["cost"]["actual_cost_usd"].as_f64();
        assert_eq!(cost, Some(0.05), "{reading}: {}", result.all());
    }
}

/// BY-05: a call that failed at no cost reserves no money while it waits and delays no other; a service that only fails
/// is given up on as soon with a budget as without.
#[test]
fn free_failures_do_not_delay_other_calls() {
    let service = FakeProvider::start(Script::always(Behaviour::status(503, "down"))).unwrap();
    let place = metered(&service);
    let text = place.text("karat.yaml").replace("retries: 0", "retries: 2");
    place.write("karat.yaml", &text);
    let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.05"]);
    assert_eq!((result.code, service.requests()), (1, 90), "{}", result.all());
    let received = service.received_requests();
    let begun = received.iter().take_while(|received| received.attempt < 2).filter(|received| received.attempt == 0);
    assert!(begun.count() > 1, "one call after the other");
}

/// BY-05: a step that fails at times stays within the budget once an answer has said what it costs, and retries get their turn.
#[test]
fn retries_of_services_stay_within_the_budget() {
    let service = FakeProvider::start(Script::by(|received| match received.attempt {
        0 => Behaviour::status(503, "down"),
        _ => Behaviour::raw(200, r#"{"answer":"x","usd":0.01}"#),
    }))
    .unwrap();
    let place = metered(&service);
    let text = place.text("karat.yaml").replace("retries: 0", "retries: 3");
    place.write("karat.yaml", &text);
    let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "0.05"]);
    let answered = service.received_requests().iter().filter(|received| received.attempt > 0).count();
    assert_eq!((result.code, answered), (5, 5), "{}", result.all());
    let result = place.karat(&["resume", "r", "--budget-usd", "1"]);
    assert_eq!(result.code, 0, "{}", result.all());
    let report = place.report("r");
    assert_eq!((&report["totals"]["errors"], &report["cost"]["actual_cost_usd"]), (&json!(0), &json!(0.3)));
}

/// BY-05: where an answer takes more than anybody could know, the run says so and is not passed.
#[test]
fn an_exceeded_budget_exits_with_5() {
    let service = FakeProvider::start(Script::always(Behaviour::raw(200, r#"{"answer":"x","usd":0.50}"#))).unwrap();
    let place = metered(&service);
    let result = place.karat(&["run", "--run-id", "r", "--limit", "1", "--budget-usd", "0.10"]);
    assert_eq!((result.code, service.requests()), (5, 1), "{}", result.all());
    assert!(result.stderr.contains("beyond its budget of $0.10"), "{}", result.all());
}

/// BY-05: if a provider reports more tokens than a call can have, report, warnings and trace say so, and the call costs
/// what was reserved for it.
#[test]
fn impossible_usage_is_a_breach_at_the_reserved_cost() {
    for counted in ["1000000000000000000", "1e18", "18446744073709551615", "100000001"] {
        let reply = format!(
            r#"{{"choices":[{{"message":{{"content":"answer 0"}}}}],"usage":{{"prompt_tokens":{counted},"completion_tokens":{counted}}}}}"#
        );
        let (provider, place) = place(Behaviour::raw(200, reply), 2, "{ max_concurrency: 1 }");
        place.succeed(&["run", "--run-id", "r", "--budget-usd", "1", "--no-gate"]);
        let report = place.report("r");
        let cost = report["cost"]["actual_cost_usd"].as_f64().unwrap();
        assert!((cost - bound(&provider)).abs() < 1e-9, "{counted}: {cost}, {}", bound(&provider));
        let markdown = place.succeed(&["report", "r", "--format", "md", "-o", "-"]).stdout;
        assert!(markdown.contains("Calls that used more than was reserved for them: 2"), "{counted}: {markdown}");
        assert!(!markdown.contains("tokens not counted by the provider"), "{counted}: {markdown}");
        let trace = place.succeed(&["trace", "r", "0"]).stdout;
        assert!(trace.contains("note: the provider counted more than 100000000 tokens"), "{counted}: {trace}");
    }
}

/// BY-05: the same holds for a response without a reply.
#[test]
fn impossible_usage_without_a_reply_is_a_breach_too() {
    let reply = r#"{"choices":[],"usage":{"prompt_tokens":1e18,"completion_tokens":5}}"#;
    let (_provider, place) = place(Behaviour::raw(200, reply), 2, "{ retries: 0 }");
    let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "1"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let markdown = place.succeed(&["report", "r", "--format", "md", "-o", "-"]).stdout;
    assert!(markdown.contains("Calls that used more than was reserved for them: 2"), "{markdown}");
}

/// BY-04, BY-05: notes on a call are repeated by the part of the run that reads the call from the ledger.
#[test]
fn notes_of_paid_calls_outlive_an_interruption() {
    let huge = json!({ "prompt_tokens": 1_000_000_000_000_u64, "completion_tokens": 5 });
    let some = json!({ "prompt_tokens": 5, "completion_tokens": 50_000 });
    let script = Script::by(move |received| {
        let usage = match received.body.len() % 3 {
            0 => Some(huge.clone()),
            1 => Some(some.clone()),
            _ => None,
        };
        Behaviour::Usage("a word".to_owned(), usage)
    });
    let (provider, place) = place(script, 1, "{ max_concurrency: 1 }");
    let chunked = "chunk: { of: sample.parts, items: 1 }, prompt: { text: \"{{ chunk.text }}\" }";
    let text = place.text("karat.yaml").replace("prompt: { text: \"{{ sample.question }}\" }", chunked);
    place.write("karat.yaml", &text);
    place.write(
        "data.jsonl",
        r#"{"id":"a","question":"q","target":"t","parts":["1","22","333","4444","55555","666666"]}"#,
    );
    place.succeed(&["run", "--run-id", "whole", "--no-cache", "--budget-usd", "9"]);
    let result = place.karat(&["run", "--run-id", "cut", "--no-cache", "--max-calls", "4", "--budget-usd", "9"]);
    assert_eq!(result.code, 5, "{}", result.all());
    place.succeed(&["resume", "cut", "--max-calls", "100"]);
    assert_eq!(provider.requests(), 12);
    assert_eq!(place.canonical("whole"), place.canonical("cut"));
    assert!(place.canonical("cut").contains("breach"));
}

/// BY-04, BY-05: the same holds for notes on an attempt without a reply that a successful one followed.
#[test]
fn notes_of_paid_attempts_outlive_an_interruption() {
    let script = Script::by(|received| {
        let is_first_ask = received.json()["messages"].as_array().is_some_and(|messages| messages.len() == 1);
        match (is_first_ask, received.attempt % 2) {
            (true, 0) => Behaviour::raw(200, r#"{"choices":[],"usage":{"prompt_tokens":1e18,"completion_tokens":5}}"#),
            (true, _) => Behaviour::ok("no JSON"),
            (false, _) => Behaviour::ok("[1]"),
        }
    });
    let (provider, place) = place(script, 1, "{ retries: 1 }");
    let text = place.text("karat.yaml").replace("question }}\" }", "question }}\" }, parse: { as: json, reask: 1 }");
    place.write("karat.yaml", &text);
    place.succeed(&["run", "--run-id", "whole", "--no-cache", "--budget-usd", "9"]);
    let result = place.karat(&["run", "--run-id", "cut", "--no-cache", "--max-calls", "2", "--budget-usd", "9"]);
    assert_eq!((result.code, provider.requests()), (5, 5), "{}", result.all());
    place.succeed(&["resume", "cut", "--max-calls", "100"]);
    assert_eq!(provider.requests(), 6);
    assert_eq!(place.canonical("whole"), place.canonical("cut"));
    assert!(place.canonical("cut").contains("the provider counted more than 100000000 tokens"));
}

/// BY-04, BY-05: the same holds if the run was stopped between the two attempts.
#[test]
fn notes_of_paid_attempts_outlive_a_stop_between_two() {
    let script = Script::by(|received| match received.attempt % 2 {
        0 => Behaviour::raw(200, r#"{"choices":[],"usage":{"prompt_tokens":1e18,"completion_tokens":5}}"#),
        _ => Behaviour::ok("answer"),
    });
    let (provider, place) = place(script, 1, "{ retries: 1 }");
    place.succeed(&["run", "--run-id", "whole", "--no-cache", "--budget-usd", "9"]);
    let result = place.karat(&["run", "--run-id", "cut", "--no-cache", "--max-calls", "1", "--budget-usd", "9"]);
    assert_eq!((result.code, provider.requests()), (5, 3), "{}", result.all());
    place.succeed(&["resume", "cut", "--max-calls", "100"]);
    assert_eq!(provider.requests(), 4);
    assert_eq!(place.canonical("whole"), place.canonical("cut"));
    assert!(place.canonical("cut").contains("the provider counted more than 100000000 tokens"));
}

/// F32: the tokens of a reply without token counts are counted from the texts, so that they cost what they would, and the report
/// says so.
#[test]
fn replies_without_usage_are_counted() {
    let reply = r#"{"choices":[{"message":{"content":"short"},"finish_reason":"stop"}]}"#;
    let (provider, place) = place(Behaviour::raw(200, reply), 60, "{ max_concurrency: 1 }");
    let result = place.succeed(&["run", "--run-id", "r", "--no-gate", "--budget-usd", "0.01"]);
    assert_eq!(provider.requests(), 60);
    assert!(!result.stderr.contains("unknown cost"), "{}", result.all());
    let cost = &place.report("r")["cost"];
    let counted = cost["counted_usd"].as_f64().unwrap();
    assert!(counted > 0.0 && counted < bound(&provider) / 3.0, "{cost}");
    assert_eq!(cost["reported_usd"], json!(0.0));
}

/// F29, RE-22: tokens beside `completion_tokens` count: of 20 calls of $2, five fit $10, although each was reserved for less.
#[test]
fn tokens_beside_the_completion_count() {
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 1_000_050 });
    for concurrency in [1, 4] {
        let run = format!("{{ max_concurrency: {concurrency} }}");
        let (provider, place) = place(Behaviour::Usage("a word".to_owned(), Some(usage.clone())), 20, &run);
        let result = place.karat(&["run", "--run-id", "r", "--budget-usd", "10"]);
        assert!(result.code == 5 && provider.requests() == 5, "{}: {}", provider.requests(), result.all());
        let paid = place.report("r")["cost"]["actual_cost_usd"].clone();
        assert_eq!(paid.as_f64(), Some(2.0 * provider.requests() as f64), "{paid}");
    }
}

/// X16: steps whose cost no answer reports are named before anything is made, where a budget is to bind it; those that report it,
/// and runs without a budget, are not.
#[test]
fn costs_that_a_budget_cannot_see_are_named() {
    let place = Place::new();
    let suite = |meter: &str| {
        format!(
            "name: s\ndataset: {{ rows: [ {{ id: a, q: x }} ], id: id, input: q }}\n\
             variants: {{ v: [ {{ id: answer, version: v1, command: {{ run: [cat], stdin: \"{{{{ input }}}}\" }}{meter} }} ] }}\n\
             scorers: {{ l: {{ metric: length }} }}\n"
        )
    };
    place.write("karat.yaml", &suite(""));
    let note = "the budget does not count what step";
    for command in [["plan", "--budget-usd", "1"], ["run", "--budget-usd", "1"]] {
        let result = place.karat(&command);
        assert!(result.stderr.contains(note) && result.stderr.contains("`meter:`"), "{}", result.all());
    }
    assert!(!place.karat(&["plan"]).stderr.contains(note));
    place.write("karat.yaml", &suite(", meter: { tokens: [ { model: gpt-4o, input: $.in, output: $.out } ] }"));
    assert!(!place.karat(&["plan", "--budget-usd", "1"]).stderr.contains(note));
}
