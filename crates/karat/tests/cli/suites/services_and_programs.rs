//! Steps and scorers that call services and programs.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider, ReceivedRequest, Script};

use crate::place::Place;

const ROWS: &str = r#"{"id":"a","q":"first","gold":"first!","filters":{"year":2026}}
{"id":"b","q":"second","gold":"second!","filters":{"year":2025}}
"#;

fn suite(version: &str, more: &str) -> String {
    format!(
        r#"name: service
params: {{ endpoint: "http://127.0.0.1:1" }}
dataset: {{ source: data.jsonl, id: id, input: q, reference: gold }}
variants:
  live:
    - id: query
      http:
        url: "{{{{ params.endpoint }}}}/query"
        headers: {{ Authorization: "Bearer ${{SERVICE_TOKEN:-}}" }}
        body: {{ question: "{{{{ input }}}}", filters: "{{{{ sample.filters }}}}", top_k: 10 }}
      {version}
      retries: 0
      timeout: 20s
      take: {{ answer: $.answer }}
      meter:
        latency_ms: {{ llm: $.timings.llm }}
        tokens: [ {{ model: gpt-4o, input: $.usage.in, output: $.usage.out }} ]
        version: $.commit
scorers:
  right: {{ metric: exact, output: $.answer }}
  llm_ms: {{ metric: latency, with: {{ stage: llm }} }}
  dollars: {{ metric: cost }}
{more}"#
    )
}

fn answer(received: &ReceivedRequest) -> Behaviour {
    let request = received.json();
    let question = request["question"].as_str().unwrap_or_default();
    let body = json!({
        "answer": format!("{question}!"),
        "timings": {"llm": 12.5},
        "usage": {"in": 1000, "out": 100},
        "commit": "c0ffee",
        "seen": request,
    });
    Behaviour::raw(200, body.to_string())
}

fn service() -> FakeProvider {
    FakeProvider::start(Script::by(answer)).unwrap()
}

fn run(place: &Place, service: &FakeProvider, arguments: &[&str]) -> crate::place::CommandOutput {
    let endpoint = format!("endpoint={}", service.url());
    let all: Vec<&str> = ["run", "karat.yaml", "-p", &endpoint].iter().chain(arguments).copied().collect();
    let output = place.command(&all).env("SERVICE_TOKEN", "token-9f8e7d6c").output().unwrap();
    crate::place::CommandOutput::of(output)
}

/// RG-03, RG-09: a service is asked with the row's own filters, its answer is mapped, its stage times, tokens and
/// version are facts of the cell; the secret header is sent and kept nowhere.
#[test]
fn a_service_is_asked_mapped_and_metered() {
    let (place, service) = (Place::new(), service());
    place.write("data.jsonl", ROWS);
    place.write("karat.yaml", &suite("version: v1", ""));
    let result = run(&place, &service, &["--run-id", "r"]);
    assert_eq!(result.code, 0, "{}", result.all());
    let received = service.received_requests();
    assert_eq!(received.len(), 2);
    assert!(received.iter().all(|it| it.path == "/query"));
    assert!(received.iter().all(|it| it.header("authorization") == Some("Bearer token-9f8e7d6c")));
    let first = received.iter().find(|it| it.json()["question"] == "first").unwrap().json();
    assert_eq!(first, json!({"question": "first", "filters": {"year": 2026}, "top_k": 10}));
    let report = place.report("r");
    assert_eq!(report["metrics"]["right"]["value"], 1.0);
    assert_eq!(report["metrics"]["llm_ms"]["value"], 12.5);
    // 1000 tokens at $2.50 and 100 at $10 a million.
    assert!((report["metrics"]["dollars"]["value"].as_f64().unwrap() - 0.0035).abs() < 1e-12, "{report}");
    assert!(!place.succeed(&["trace", "r", "0"]).stdout.contains("token-9f8e7d6c"));
    assert!(place.succeed(&["trace", "r", "0"]).stdout.contains("${SERVICE_TOKEN}"));
}

/// CL-07: with a version the answers are reused by another run, without one only by `resume`.
#[test]
fn answers_are_reused_under_a_version_only() {
    let (place, service) = (Place::new(), service());
    place.write("data.jsonl", ROWS);
    place.write("karat.yaml", &suite("version: v1", ""));
    assert_eq!(run(&place, &service, &[]).code, 0);
    assert_eq!(run(&place, &service, &[]).code, 0);
    assert_eq!(service.requests(), 2);
    place.write("karat.yaml", &suite("version: v2", ""));
    assert_eq!(run(&place, &service, &[]).code, 0);
    assert_eq!(service.requests(), 4);
    place.write("karat.yaml", &suite("", ""));
    let result = run(&place, &service, &[]);
    assert!(result.stderr.contains("unknown-v0"), "{}", result.all());
    assert_eq!(run(&place, &service, &[]).code, 0);
    assert_eq!(service.requests(), 8);
}

/// RG-09: what goes wrong at a service is an error with a code, apart from wrong answers.
#[test]
fn service_errors_are_not_wrong_answers() {
    let html = Behaviour::raw(200, "<html>maintenance</html>").with_header("content-type", "text/html");
    let cases = [
        (html, "malformed"),
        (Behaviour::raw(200, r#"{"answer": "#), "malformed"),
        (Behaviour::raw(200, "[1"), "malformed"),
        (Behaviour::raw(200, r#"{"reply": "first!"}"#), "malformed"),
        (Behaviour::raw(200, "[]"), "malformed"),
        (Behaviour::server_error(), "server_error"),
        (Behaviour::status(404, "no such path"), "bad_request"),
        (Behaviour::Huge(10 * 1024 * 1024), "too_large"),
        (Behaviour::Hang, "timeout"),
        (Behaviour::Drop, "cut"),
        (Behaviour::redirect("http://127.0.0.1:1/"), "redirect"),
    ];
    for (behaviour, code) in cases {
        let service = FakeProvider::start(Script::always(behaviour)).unwrap();
        let place = Place::new();
        place.write("data.jsonl", ROWS);
        place.write("karat.yaml", &suite("version: v1", ""));
        let timeout = if code == "timeout" { "500ms" } else { "20s" };
        let result = run(&place, &service, &["--run-id", "r", "--limit", "1", "--timeout", timeout]);
        assert_eq!(result.code, 1, "{code}: {}", result.all());
        let report = place.report("r");
        assert_eq!(report["totals"]["errors"], 1, "{code}");
        assert_eq!(report["cells"][0]["error"]["code"], code, "{report}");
    }
    let place = Place::new();
    place.write("data.jsonl", ROWS);
    place.write("karat.yaml", &suite("version: v1", ""));
    assert_eq!(place.karat(&["run", "--run-id", "r"]).code, 1);
    let error = &place.report("r")["cells"][0]["error"];
    assert_eq!(error["code"], "connect");
    assert!(error["message"].as_str().unwrap().contains("step query at http://127.0.0.1:1/query"), "{error}");
}

/// A missing variable is found before anything is asked.
#[test]
fn a_missing_secret_stops_the_run_before_it_begins() {
    let (place, service) = (Place::new(), service());
    place.write("data.jsonl", ROWS);
    place.write("karat.yaml", &suite("version: v1", "").replace("SERVICE_TOKEN:-", "NOT_SET_ANYWHERE"));
    let result = run(&place, &service, &[]);
    assert_eq!((result.code, service.requests()), (1, 0), "{}", result.all());
    assert!(result.stderr.contains("step query: it needs NOT_SET_ANYWHERE"), "{}", result.all());
}

fn commands(step: &str) -> String {
    format!(
        "name: program\ndataset: {{ source: data.jsonl, id: id, input: q, reference: gold }}\nvariants:\n  live:\n    - id: ask\n      version: v1\n{step}\nscorers: {{ right: {{ metric: contains }} }}\n"
    )
}

/// A program is run without a shell, in the suite's folder, with a clean environment.
#[cfg(unix)]
#[test]
fn a_program_is_run_once_a_cell() {
    let place = Place::new();
    place.write("suite/data.jsonl", ROWS);
    place.write("suite/answer.sh", "cat; printf '!'; printf '%s' \"$LEAK$GIVEN$1\"");
    let step = "      command: { run: [sh, ./answer.sh, \"; echo {{ sample.id }}\"], stdin: \"{{ input }}\", env: { GIVEN: yes } }";
    place.write("suite/karat.yaml", &commands(step));
    let output = place.command(&["run", "suite", "--run-id", "r"]).env("LEAK", "leaked").output().unwrap();
    let result = crate::place::CommandOutput::of(output);
    assert_eq!(result.code, 0, "{}", result.all());
    let report = place.report("r");
    assert_eq!(report["metrics"]["right"]["value"], 1.0);
    assert_eq!(report["cells"][0]["output"], "first!yes; echo a");
}

/// A program that fails says why; one that hangs is stopped with everything it has started.
#[cfg(unix)]
#[test]
fn a_program_that_fails_is_an_error_of_its_cell() {
    let place = Place::new();
    place.write("data.jsonl", ROWS);
    let cases = [
        (
            "command: [sh, -c, \"echo broken pipe organ >&2; exit 3\"]",
            "process",
            "exit status 3 and said \"broken pipe organ\"",
        ),
        ("command: [no-such-program-anywhere]", "process-2", "is not installed, or not on PATH"),
        ("timeout: 300ms\n      command: [sh, -c, \"sleep 30 & sleep 30\"]", "timeout", "was stopped"),
    ];
    for (step, code, message) in cases {
        place.write("karat.yaml", &commands(&format!("      {step}")));
        let begun = Instant::now();
        let (run, code) = (code, code.trim_end_matches("-2"));
        let result = place.karat(&["run", "--run-id", run, "--limit", "1", "--no-cache"]);
        assert_eq!(result.code, 1, "{}", result.all());
        assert!(result.stderr.contains(&format!(" ms: {code}: ")), "{}", result.all());
        let report = place.report(run);
        assert!(report["cells"][0]["error"]["message"].as_str().unwrap().contains(message), "{report}");
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}

/// One process answers line by line for all cells; a line with an error is an error of its cell only.
#[cfg(unix)]
#[test]
fn one_program_answers_all_cells_line_by_line() {
    let place = Place::new();
    let rows: String =
        (0..200).map(|at| format!("{{\"id\":\"s{at}\",\"q\":\"n{at}\",\"gold\":\"n{at}\"}}\n")).collect();
    place.write("data.jsonl", &rows);
    place.write(
        "echo.sh",
        r#"echo start >> starts; while read -r line; do
  id=${line#*:}; id=${id%%,*}; input=${line#*\"input\":}; input=${input%\}}
  case $input in *n13\"*) echo "{\"id\":$id,\"error\":\"unlucky\"}" ;; *) echo "{\"id\":$id,\"output\":$input}" ;; esac
done
"#,
    );
    place.write("karat.yaml", &commands("      command: { run: [sh, echo.sh], protocol: jsonl }\n      retries: 0"));
    let result = place.karat(&["run", "--run-id", "r"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let report = place.report("r");
    assert_eq!((&report["totals"]["errors"], &report["metrics"]["right"]["value"]), (&json!(1), &json!(1.0)));
    let failed: Vec<&Value> =
        report["cells"].as_array().unwrap().iter().filter(|cell| cell["status"] == "error").collect();
    assert_eq!(failed[0]["sample"], "s13");
    assert!(failed[0]["error"]["message"].as_str().unwrap().contains("unlucky"));
    assert_eq!(std::fs::read_to_string(place.path().join("starts")).unwrap(), "start\n");
}

/// BY-15: scorers in any language, by a program that answers line by line and by a service.
#[cfg(unix)]
#[test]
fn scorers_can_be_programs_and_services() {
    let scorer = FakeProvider::start(Script::by(|received| {
        let question = received.json();
        let right = question["output"]["answer"] == question["reference"];
        Behaviour::raw(200, json!({"score": u8::from(right), "reason": "looked"}).to_string())
    }))
    .unwrap();
    let (place, service) = (Place::new(), service());
    place.write("data.jsonl", ROWS);
    place.write(
        "length.sh",
        r#"while read -r line; do id=${line#*:}; id=${id%%,*}; echo "{\"id\":$id,\"output\":0.25}"; done"#,
    );
    let more = format!(
        "  by_program: {{ metric: command, with: {{ run: [sh, length.sh] }} }}\n  by_service: {{ metric: http, with: {{ url: \"{}/score\" }} }}\n",
        scorer.url()
    );
    place.write("karat.yaml", &suite("version: v1", &more));
    let result = run(&place, &service, &["--run-id", "r"]);
    assert_eq!(result.code, 0, "{}", result.all());
    let report = place.report("r");
    assert_eq!(report["metrics"]["by_program"]["value"], 0.25);
    assert_eq!((&report["metrics"]["by_service"]["value"], scorer.requests()), (&json!(1.0), 2));
}

/// BY-15: a scorer's line that is not JSON costs the score of its own cell only.
#[cfg(unix)]
#[test]
fn a_broken_line_costs_one_score() {
    let place = Place::new();
    let rows: String = (0..20).map(|at| format!("{{\"id\":\"s{at}\",\"answer\":\"a\"}}\n")).collect();
    place.write("data.jsonl", &rows);
    place.write(
        "score.sh",
        r#"while read -r line; do id=${line#*:}; id=${id%%,*}; value=0.25; case "$line" in *'"s7"'*) value=NaN;; esac; echo "{\"id\":$id,\"output\":$value}"; done"#,
    );
    place.write(
        "karat.yaml",
        "name: lines\ndataset: { source: data.jsonl, id: id }\nvariants: { v: [ { recorded: { column: answer } } ] }\n\
         scorers: { s: { metric: command, with: { run: [sh, score.sh] } } }\n",
    );
    place.karat(&["run", "--run-id", "r"]);
    let report = place.report("r");
    assert_eq!((&report["metrics"]["s"]["value"], &report["metrics"]["s"]["n"]), (&json!(0.25), &json!(19)));
    let lost = report["cells"].as_array().unwrap().iter().find(|cell| cell["sample"] == "s7").unwrap();
    assert!(lost["scores"]["s"]["unscored"].as_str().is_some_and(|why| why.contains("NaN")), "{lost}");
}

/// Not a test of its own: the service that the next test's suite starts. It serves only where a port is given.
#[test]
fn as_service() {
    let Some(port) = std::env::var("PORT").ok().filter(|_| std::env::var("KARAT_TEST_SERVICE").is_ok()) else { return };
    let script = Script::by(|received| match received.path.as_str() {
        "/healthz" => Behaviour::raw(200, "{}"),
        _ => answer(received),
    });
    let _server = FakeProvider::start_on(port.parse().unwrap(), script, testkit::RequestLog::Counts).unwrap();
    std::thread::sleep(Duration::from_secs(120));
}

/// A suite's service is started for the run that uses it, found at its address, and stopped after it.
#[test]
fn a_service_is_started_for_the_run_and_stopped_after_it() {
    let place = Place::new();
    place.write("data.jsonl", ROWS);
    let program = std::env::current_exe().unwrap();
    let services = format!(
        "services:\n  demo: {{ command: [{}, \"suites::services_and_programs::as_service\", --exact], ready: /healthz, env: {{ KARAT_TEST_SERVICE: \"1\" }} }}\n",
        program.display()
    );
    let text = suite("version: v1", &services).replace("\"http://127.0.0.1:1\"", "\"{{ services.demo.url }}\"");
    place.write("karat.yaml", &text);
    let result = place.succeed(&["run", "--run-id", "r"]);
    assert_eq!(place.report("r")["metrics"]["right"]["value"], 1.0, "{}", result.all());
    let trace = place.succeed(&["trace", "r", "0", "--json"]).stdout;
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let request: Value = serde_json::from_str(trace["calls"][0]["request"].as_str().unwrap()).unwrap();
    let address = request["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches("/query");
    assert!(std::net::TcpStream::connect(address).is_err(), "the service is still there at {address}");
    // A second run finds everything and starts nothing that would have to be waited for.
    assert!(place.succeed(&["plan"]).stdout.contains("2 cached"), "{}", place.succeed(&["plan"]).stdout);
}

/// CL-25: replies of services, programs and scorers are recorded too. A replay starts and calls none of them and ends
/// with the same scores; the recording contains no secret.
#[cfg(unix)]
#[test]
fn services_and_programs_are_replayed() {
    let (place, elsewhere) = (Place::new(), Place::new());
    let program = std::env::current_exe().unwrap();
    let services = |command: &str| {
        format!(
            "  by_program: {{ metric: command, with: {{ run: [sh, length.sh] }} }}\n\
             services:\n  demo: {{ command: [{command}], ready: /healthz, env: {{ KARAT_TEST_SERVICE: \"1\" }} }}\n"
        )
    };
    let at_service = |text: String| text.replace("\"http://127.0.0.1:1\"", "\"{{ services.demo.url }}\"");
    place.write(
        "length.sh",
        r#"while read -r line; do id=${line#*:}; id=${id%%,*}; echo "{\"id\":$id,\"output\":0.25}"; done"#,
    );
    for (place, command) in [
        (&place, format!("{}, \"suites::services_and_programs::as_service\", --exact", program.display())),
        (&elsewhere, "\"false\"".to_owned()),
    ] {
        place.write("data.jsonl", ROWS);
        place.write("karat.yaml", &at_service(suite("", &services(&command))));
    }
    let mut live = place.command(&["run", "--run-id", "live", "--record", "calls.jsonl"]);
    let result = crate::place::CommandOutput::of(live.env("SERVICE_TOKEN", "token-9f8e7d6c").output().unwrap());
    assert_eq!(result.code, 0, "{}", result.all());
    let recording = std::fs::read_to_string(place.path().join("calls.jsonl")).unwrap();
    assert!(!recording.contains("token-9f8e7d6c") && recording.contains("\"service\":\"demo\""), "{recording}");
    elsewhere.write("calls.jsonl", &recording);
    elsewhere.succeed(&["run", "--run-id", "again", "--replay", "calls.jsonl"]);
    let metrics = |place: &Place, run: &str| place.report(run)["metrics"].clone();
    assert_eq!(metrics(&elsewhere, "again"), metrics(&place, "live"));
    assert_eq!(metrics(&elsewhere, "again")["by_program"]["value"], 0.25);
}

/// A service that ends at once is named with what it said.
#[cfg(unix)]
#[test]
fn a_service_that_does_not_start_is_named() {
    let place = Place::new();
    place.write("data.jsonl", ROWS);
    let services = "services: { demo: { command: [sh, -c, \"echo no licence >&2; exit 7\"], ready: /healthz } }\n";
    place.write(
        "karat.yaml",
        &suite("version: v1", services).replace("\"http://127.0.0.1:1\"", "\"{{ services.demo.url }}\""),
    );
    let result = place.karat(&["run"]);
    assert_eq!(result.code, 1);
    assert!(result.stderr.contains("service `demo`") && result.stderr.contains("no licence"), "{}", result.all());
}

/// BY-05: what a service says that it cost counts against the budget once it is known, and the plan says so.
#[test]
fn costs_of_services_count_against_the_budget() {
    let service = FakeProvider::start(Script::by(|_| Behaviour::raw(200, r#"{"answer": "x", "usd": 0.01}"#))).unwrap();
    let place = Place::new();
    let rows: String =
        (0..30).map(|n| format!("{{\"id\":\"{n}\",\"q\":\"{n}\",\"gold\":\"x\",\"filters\":{{}}}}\n")).collect();
    place.write("data.jsonl", &rows);
    let text = suite("version: v1", "run: { max_concurrency: 4 }\n");
    place.write(
        "karat.yaml",
        &text.replace("tokens: [ { model: gpt-4o, input: $.usage.in, output: $.usage.out } ]", "cost_usd: $.usd"),
    );
    let plan = place.karat(&["plan"]);
    assert!(plan.stdout.contains("known afterwards"), "{}", plan.all());
    let result = run(&place, &service, &["--run-id", "r", "--budget-usd", "0.10"]);
    let asked = service.requests();
    assert_eq!((result.code, asked), (5, 10), "{}", result.all());
    let paid = place.report("r")["cost"]["actual_cost_usd"].as_f64();
    assert!(paid.is_some_and(|paid| (paid - 0.01 * asked as f64).abs() < 1e-9), "{paid:?}");
    let result = place.karat(&["resume", "r"]);
    assert_eq!((result.code, service.requests()), (5, asked), "{}", result.all());
    let result = place.karat(&["resume", "r", "--budget-usd", "0.3"]);
    assert_eq!((result.code, service.requests()), (0, 30), "{}", result.all());
}

/// RG-09: a program that prints something else than text fails its cell, and its bytes can be looked at.
#[test]
fn bytes_of_a_program_that_are_no_text_are_kept() {
    let place = Place::new();
    place.write("data.jsonl", ROWS);
    place.write(
        "karat.yaml",
        "name: bytes\ndataset: { source: data.jsonl, id: id, input: q, reference: gold }\nvariants:\n  odd: [ { id: odd, version: v1, command: { run: [printf, '\\377\\376 x'] } } ]\nscorers: { hit: { metric: contains } }\n",
    );
    let result = place.karat(&["run", "--run-id", "r"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let error = place.report("r")["cells"][0]["error"]["message"].to_string();
    assert!(error.contains("not UTF-8 text (from byte 0 on)"), "{error}");
    let trace: Value = serde_json::from_str(&place.succeed(&["trace", "r", "0", "--json"]).stdout).unwrap();
    assert_eq!((&trace["calls"][0]["response_hex"], &trace["calls"][0]["response"]), (&json!("fffe2078"), &json!("")));
}

/// CL-07: why a program without a version is asked again by every run.
#[test]
fn why_names_a_step_without_a_version() {
    let place = Place::new();
    place.write("data.jsonl", ROWS);
    place.write(
        "karat.yaml",
        "name: cat\ndataset: { source: data.jsonl, id: id, input: q, reference: gold }\nvariants:\n  cat: [ { id: echo, command: { run: [cat], stdin: '{{ input }}' } } ]\nscorers: { hit: { metric: contains } }\n",
    );
    place.karat(&["run", "--run-id", "r"]);
    let result = place.succeed(&["why", "a/cat"]);
    assert!(result.stdout.contains("step echo has no `version`"), "{}", result.all());
}
