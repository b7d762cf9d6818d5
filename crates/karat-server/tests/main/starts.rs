//! Planning, starting and stopping runs over HTTP.

use std::time::Duration;

use http::StatusCode;
use karat_app::Stop;
use karat_server::Purpose;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, questions, run, suite};

fn slow(milliseconds: u64) -> FakeProvider {
    let latency = Duration::from_millis(milliseconds);
    FakeProvider::start(Script::echo(Echo { latency, ..Echo::default() })).unwrap()
}

fn bench(place: &Place, provider: &FakeProvider, cells: usize) {
    place.write("bench/data.jsonl", &questions(cells));
    place.write("bench/karat.yaml", &suite(&provider.base_url(), "data.jsonl"));
}

/// More trials, and more calls at once, than the API allows.
const MANY_TRIALS: &str = r#"{"suite": "faq", "trials": 10001}"#;
const MANY_CALLS: &str = r#"{"suite": "faq", "max_concurrency": 65536}"#;

/// SV-02: a run that is asked for starts with the flags of the body, and is found where the answer says.
#[test]
fn a_run_starts_and_ends() {
    let place = Place::serve();
    let accepted = place.post("/eval/run", r#"{"suite": "faq", "run_id": "mine", "limit": 2}"#);
    assert_eq!((accepted.status, accepted.header("location")), (StatusCode::ACCEPTED, "/eval/runs/mine"));
    assert_eq!(accepted.json()["run_id"], "mine");
    let run = place.wait_for("mine", "completed");
    assert_eq!((&run["trigger"], &run["exit_code"], &run["problem"]), (&"api".into(), &0.into(), &().into()));
    assert_eq!(run["cells"]["planned"], 4, "two samples, two variants");

    let taken = place.post("/eval/run", r#"{"suite": "faq", "run_id": "mine"}"#);
    assert_eq!((taken.status, &taken.json()["type"]), (StatusCode::CONFLICT, &"urn:karat:problem:run-exists".into()));
    let over = place.post("/eval/runs/mine/resume", "");
    assert_eq!((over.status, &over.json()["type"]), (StatusCode::CONFLICT, &"urn:karat:problem:run-finished".into()));
    assert_eq!(place.post("/eval/runs/mine/cancel", "").status, StatusCode::OK, "it has ended");
}

/// SV-02: planning makes no API calls and stores nothing.
#[test]
fn a_plan_stores_nothing() {
    let place = Place::serve();
    let plan = place.post("/eval/plan", r#"{"suite": "faq", "variants": ["may"]}"#);
    assert_eq!(plan.status, StatusCode::OK, "{}", plan.text);
    assert_eq!((&plan.json()["suite"], &plan.json()["systems"]), (&"faq".into(), &1.into()));
    assert_eq!(place.get("/eval/runs").json()["items"].as_array().unwrap().len(), 0);
}

/// SV-01: what is wrong with a body or a suite is said with its place and the nearest name.
#[test]
fn wrong_bodies_and_suites_are_problems() {
    let place = Place::serve();
    let problem = |body: &str| {
        let answer = place.post("/eval/run", body);
        let json = answer.json();
        (answer.status.as_u16(), json["type"].as_str().unwrap().rsplit(':').next().unwrap().to_owned(), json)
    };
    let (status, kind, json) = problem(r#"{"sute": "faq"}"#);
    assert_eq!((status, kind.as_str(), &json["hint"]), (400, "bad-request", &"did you mean `suite`?".into()));
    for body in ["{", "[]", "{}", r#"{"suite": 1}"#, r#"{"suite": "faq", "trials": 0}"#, MANY_TRIALS, MANY_CALLS] {
        assert_eq!(problem(body).0, 400, "{body}");
    }
    assert_eq!(problem(r#"{"suite": "nope"}"#).1, "suite-invalid");
    assert_eq!(problem(r#"{"suite": "faq", "run_id": "a/b"}"#).1, "bad-request");
    place.write("broken/karat.yaml", "name: broken\ndataset: { source: data.jsonl, idd: id }\n");
    let (status, kind, json) = problem(r#"{"suite": "broken"}"#);
    assert_eq!((status, kind.as_str()), (422, "suite-invalid"));
    let place_of = &json["diagnostics"][0];
    assert!(place_of["file"].as_str().unwrap().ends_with("broken/karat.yaml") && place_of["line"].is_u64(), "{json}");
}

/// SV-10: who may start runs cannot read the environment of the server: a parameter is data, never a template.
#[test]
fn parameters_are_no_templates() {
    let place = Place::serve();
    let suite = suite("http://127.0.0.1:9/v1", "data.jsonl").replace("models:", "params: { who: bob }\nmodels:");
    place.write("bench/data.jsonl", &questions(1));
    place.write("bench/karat.yaml", &suite.replace("sample.question }}", "sample.question }} {{ params.who }}"));
    for path in ["/eval/plan", "/eval/run"] {
        let ask = |who: &str| {
            place.post(path, &serde_json::json!({ "suite": "bench", "params": { "who": who } }).to_string())
        };
        for who in ["${HOME}", "{{ sample.target }}", "{% if true %}x{% endif %}"] {
            let refused = ask(who);
            assert_eq!(refused.status.as_u16(), 422, "{path} {who}: {}", refused.text);
            assert!(refused.text.contains("over HTTP a parameter is plain data"), "{}", refused.text);
        }
        assert!(ask("ann").status.is_success());
    }
}

/// SV-10: suites, parameters and links stay below the root, and programs need to be allowed.
#[test]
fn a_server_keeps_to_its_root() {
    let place = Place::serve();
    let kind = |body: &str| {
        let answer = place.post("/eval/plan", body);
        (
            answer.status.as_u16(),
            answer.json()["type"].as_str().unwrap_or("none").rsplit(':').next().unwrap().to_owned(),
        )
    };
    place.write("etc/karat.yaml", &suite("http://127.0.0.1:9/v1", "../../../../../../../../etc/passwd"));
    place.write("link/karat.yaml", &suite("http://127.0.0.1:9/v1", "passwd"));
    std::os::unix::fs::symlink("/etc/passwd", place.folder.path().join("link/passwd")).unwrap();
    for body in [
        r#"{"suite": "../../etc/passwd"}"#,
        r#"{"suite": "/etc/passwd"}"#,
        r#"{"suite": "etc"}"#,
        r#"{"suite": "link"}"#,
        r#"{"suite": "claims", "params": {"corpus": "/etc"}}"#,
        r#"{"suite": "faq", "baseline": "/etc/passwd"}"#,
    ] {
        assert_eq!(kind(body), (403, "outside-root".to_owned()), "{body}");
    }
    let runs_programs = suite("http://127.0.0.1:9/v1", "data.jsonl")
        .replace("{ prompt: { text: \"{{ sample.question }}\" } }", "{ command: { run: [\"cat\"] } }");
    place.write("programs/data.jsonl", &questions(1));
    place.write("programs/karat.yaml", &runs_programs);
    assert_eq!(kind(r#"{"suite": "programs"}"#), (422, "commands-off".to_owned()));
    let allowing = Place::new(Purpose::Serve { allow_commands: true });
    allowing.write("programs/data.jsonl", &questions(1));
    allowing.write("programs/karat.yaml", &runs_programs);
    assert_eq!(allowing.post("/eval/plan", r#"{"suite": "programs"}"#).status, StatusCode::OK);
}

/// SV-02: cancelling stops a run of this server, which can be resumed; a run of another process is left alone.
#[test]
fn a_run_is_cancelled_and_resumed() {
    let place = Place::serve();
    let provider = slow(30);
    bench(&place, &provider, 60);
    assert_eq!(place.post("/eval/run", r#"{"suite": "bench", "run_id": "r"}"#).status, StatusCode::ACCEPTED);
    place.wait_for("r", "running");
    let busy = place.post("/eval/runs/r/resume", "");
    assert_eq!((busy.status, &busy.json()["type"]), (StatusCode::CONFLICT, &"urn:karat:problem:run-in-use".into()));
    assert_eq!(place.post("/eval/runs/r/cancel", "").status, StatusCode::ACCEPTED);
    let run = place.wait_for("r", "cancelled");
    assert!(run["cells"]["done"].as_u64().unwrap() < 60, "{run}");
    assert_eq!(place.post("/eval/runs/r/resume", "{}").status, StatusCode::ACCEPTED);
    assert_eq!(place.wait_for("r", "completed")["cells"]["done"], 60);
    assert_eq!((provider.requests(), provider.duplicates()), (60, 0));
}

/// SV-02: a run of another process cannot be cancelled from here.
#[test]
fn a_run_of_another_process_is_left_alone() {
    let place = Place::serve();
    let provider = slow(30);
    bench(&place, &provider, 200);
    let (app, stop) = (place.fresh_app(), Stop::new());
    let suite = place.folder.path().join("bench/karat.yaml").display().to_string();
    let own = stop.clone();
    let running = std::thread::spawn(move || run(&app, &suite, "other", own));
    place.wait_for("other", "running");
    let refused = place.post("/eval/runs/other/cancel", "");
    assert_eq!(
        (refused.status, &refused.json()["type"]),
        (StatusCode::CONFLICT, &"urn:karat:problem:run-in-use".into())
    );
    stop.set();
    running.join().unwrap();
    assert_eq!(place.wait_for("other", "interrupted")["exit_code"], 130);
}

/// DB-05: `karat view` starts and resumes nothing.
#[test]
fn view_starts_nothing() {
    let place = Place::view();
    place.run("faq", "a");
    for (path, body) in
        [("/eval/run", r#"{"suite": "faq"}"#), ("/eval/plan", r#"{"suite": "faq"}"#), ("/eval/runs/a/retry", "")]
    {
        let answer = place.post(path, body);
        assert_eq!(
            (answer.status, &answer.json()["type"]),
            (StatusCode::FORBIDDEN, &"urn:karat:problem:forbidden".into())
        );
    }
}
