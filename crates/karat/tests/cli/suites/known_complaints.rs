//! Known complaints of users of other evaluation tools, each as a rule.

use std::net::TcpListener;

use serde_json::{Value, json};
use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};

/// A judge's written replies to recorded outputs.
fn judged(place: &Place, replies: &[(&str, &str)]) {
    let rows: String =
        replies.iter().map(|(output, _)| format!("{}\n", json!({"id": output, "out": output}))).collect();
    let written = replies.iter().map(|(output, reply)| format!("{}\n", json!({"match": output, "reply": reply})));
    place.write("data.jsonl", &rows);
    place.write("replies.jsonl", &written.collect::<String>());
    place.write("models.yaml", "schema: karat.models/1\nas_of: 2026-11-01\nmodels:\n  - { id: judge, provider: scripted, with: { replies: replies.jsonl } }\n");
    place.write(
        "karat.yaml",
        "name: judged\ndataset: { source: data.jsonl, id: id }\nregistry: [models.yaml]\njudges: [judge]\n\
         variants: { given: [ { recorded: { column: out } } ] }\n\
         scorers: { quality: { rubric: { ask: Is it good?, show: { answer: \"{{ output }}\" }, dimensions: { good: { scale: [0, 10] } } } } }\n",
    );
}

/// PE-03, PE-04: a reply without a number is unscored with its reason; it is in no mean, and no mean is NaN.
#[test]
fn a_reply_without_a_number_is_unscored() {
    let place = Place::new();
    let reply =
        |score: &str| format!("{{\"scores\": {{\"good\": {score}}}, \"reasoning\": \"Because of its words.\"}}");
    let (nan, huge, word, good) = (reply("NaN"), reply("1e999"), reply("\"NaN\""), reply("8"));
    judged(
        &place,
        &[("nan-row", &nan), ("huge-row", &huge), ("word-row", &word), ("prose-row", "I cannot."), ("good-row", &good)],
    );
    place.succeed(&["run", "--run-id", "r"]);
    let text = place.succeed(&["report", "r", "--format", "json", "-o", "-"]).stdout;
    let report: Value = serde_json::from_str(&text).unwrap();
    let metric = &report["metrics"]["quality"];
    assert_eq!((&metric["value"], &metric["n"], &report["totals"]["unscored"]), (&json!(8.0), &json!(1), &json!(4)));
    for cell in &report["cells"].as_array().unwrap()[..4] {
        let score = &cell["scores"]["quality"];
        assert!(score["unscored"].as_str().is_some_and(|reason| !reason.is_empty()), "{cell}");
    }
    assert!(place.succeed(&["report", "r", "--format", "md", "-o", "-"]).stdout.contains("4"), "{text}");
}

/// PE-06: the judge is shown an output to its last line.
#[test]
fn a_judge_sees_the_whole_output() {
    let place = Place::new();
    let output: String = (0..400).map(|at| format!("line {at} of the answer\n")).collect();
    judged(&place, &[(&output, "{\"scores\": {\"good\": 5}, \"reasoning\": \"All of it.\"}")]);
    place.succeed(&["run", "--run-id", "r"]);
    let trace: Value = serde_json::from_str(&place.succeed(&["trace", "r", "0", "--json"]).stdout).unwrap();
    let request = trace["calls"][0]["request"].as_str().unwrap();
    assert!((0..400).all(|at| request.contains(&format!("line {at} of the answer"))));
}

/// PE-26: a stopped run resumes with the part of the dataset that it started with.
#[test]
fn a_resumed_run_keeps_its_part_of_the_dataset() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(9));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let stopped = place.karat(&["run", "--run-id", "r", "--limit", "4", "--max-calls", "2", "-j", "1"]);
    assert_eq!(stopped.code, 5, "{}", stopped.all());
    place.succeed(&["resume", "r", "--max-calls", "100"]);
    assert_eq!((provider.requests(), provider.duplicates()), (4, 0));
    assert_eq!(place.report("r")["totals"]["cells"], 4);
}

/// PE-31: calls, tokens and prices are said before anything is called.
#[test]
fn a_plan_has_a_price_and_makes_no_call() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(7));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
    assert!(plan.to_string().contains("usd"), "{plan}");
    assert!(place.succeed(&["plan"]).stdout.contains('$'));
    assert_eq!(provider.requests(), 0);
}

/// PE-35: a run in which nothing ran is never a success.
#[test]
fn a_run_without_cells_fails() {
    let place = Place::new();
    for arguments in [&["--sample", "no-such"][..], &["--set", "dataset.where=sample.id == 'none'"], &["--limit", "0"]]
    {
        let result = place.karat(&[&["run", "faq"], arguments].concat());
        assert_eq!(result.code, 1, "{arguments:?}: {}", result.all());
        assert!(!result.stderr.is_empty());
    }
}

/// PE-37: an offline run opens no connection, whatever proxy is set.
#[test]
fn an_offline_run_connects_to_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let place = Place::new();
    for arguments in
        [&["run", "faq", "--run-id", "r"][..], &["report", "r", "--format", "html", "-o", "out"], &["doctor"]]
    {
        let mut command = place.command(arguments);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            command.env(name, &address);
        }
        let status = command.output().unwrap().status;
        assert!(status.code().is_some_and(|code| code <= 1), "{arguments:?}");
        assert!(listener.accept().is_err(), "{arguments:?} connected");
    }
}

/// PE-38: what a dataset holds is data: neither a template nor markup in it is acted on.
#[test]
fn content_is_never_executed() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    let hostile = "{{ 7 * 7 }} {% for i in range(3) %}x{% endfor %} <script>alert(1)</script> [[fine]]";
    place.write("data.jsonl", &format!("{}\n", json!({"id": "<b>q</b>", "question": hostile, "target": "fine"})));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "r", "--format", "html,md", "-o", "out"]);
    assert_eq!(provider.received_requests()[0].json()["messages"][0]["content"], hostile);
    let page = std::fs::read_to_string(place.path().join("out/report.html")).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<b>q</b>") && page.contains("&lt;b&gt;q"), "{page}");
}

/// A provider of one judge and one model, which answer under these names.
fn dated(model: &'static str, judge: &'static str, grade: u32) -> FakeProvider {
    let reply = move |name: &str, text: String| {
        json!({
            "model": name, "choices": [{ "message": { "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 5 }
        })
    };
    let script = Script::by(move |received| {
        let asked = received.json();
        let body = match asked["model"].as_str() {
            Some("judge") => {
                reply(judge, json!({ "scores": { "good": grade }, "reasoning": "Its words." }).to_string())
            }
            _ => reply(model, asked["messages"][0]["content"].as_str().unwrap_or_default().to_owned()),
        };
        Behaviour::raw(200, body.to_string())
    });
    FakeProvider::start(script).unwrap()
}

/// A suite whose model and judge answer at an address.
fn aliases(place: &Place, base_url: &str) {
    let entry = |id: &str| {
        format!(
            "{{ id: {id}, provider: openai, model: {id}, base_url: \"{base_url}\", price: {{ input: 1.0, output: 2.0 }} }}"
        )
    };
    place.write("data.jsonl", &questions(8));
    place.write(
        "karat.yaml",
        &format!(
            "name: aliases\ndataset: {{ source: data.jsonl, id: id, input: question }}\nmodels: [ {} ]\njudges: [ {} ]\n\
             variants: {{ direct: [ {{ prompt: {{ text: \"{{{{ sample.question }}}}\" }} }} ] }}\n\
             scorers: {{ quality: {{ rubric: {{ ask: Is it good?, show: {{ answer: \"{{{{ output }}}}\" }}, \
             dimensions: {{ good: {{ scale: [0, 10] }} }} }} }} }}\n",
            entry("alias"),
            entry("judge")
        ),
    );
}

/// PE-16: which model answered stands in the report, of reused results too, and the same in a run that was interrupted; where
/// it is another than before, a comparison says so, and a judge that moved decides nothing.
#[test]
fn an_alias_cannot_move_silently() {
    let place = Place::new();
    let provider = dated("alias-2026-01", "judge", 8);
    aliases(&place, &provider.base_url());
    place.succeed(&["run", "--run-id", "r1"]);
    let again = place.succeed(&["run", "--run-id", "r1-again"]);
    assert_eq!(provider.requests(), 16, "{}", again.all());
    let stopped = place.karat(&["run", "--run-id", "r1-cut", "--no-cache", "--max-calls", "5", "-j", "1"]);
    assert_eq!(stopped.code, 5, "{}", stopped.all());
    place.succeed(&["resume", "r1-cut", "--max-calls", "100"]);
    assert_eq!(place.canonical("r1-cut"), place.canonical("r1"));
    let moved = dated("alias-2026-02", "judge-2026-02", 6);
    aliases(&place, &moved.base_url());
    place.succeed(&["run", "--run-id", "r2"]);
    for (run, model, judge) in [
        ("r1", "alias-2026-01", "judge"),
        ("r1-again", "alias-2026-01", "judge"),
        ("r2", "alias-2026-02", "judge-2026-02"),
    ] {
        let report = place.report(run);
        let result = |asked: &str, name: &str| json!([{ "asked": asked, "model": name, "n": 8 }]);
        assert_eq!(report["models"][0]["answered_as"], result("alias", model), "{run}");
        assert_eq!(report["judges"][0]["answered_as"], result("judge", judge), "{run}");
    }
    assert!(place.succeed(&["report", "r2", "--format", "md", "-o", "-"]).stdout.contains("judge as judge-2026-02"));
    let compared = place.succeed(&["compare", "r1", "r2"]).stdout;
    assert!(
        compared.contains("The judge `judge` of `quality` reported another model: judge → judge-2026-02"),
        "{compared}"
    );
    assert!(compared.contains("The model `alias` reported alias-2026-01 in the baseline"), "{compared}");
    // The samples that moved are listed; the verdict is not drawn from them.
    assert!(compared.contains("): undecided; ") && !compared.contains("): worse"), "{compared}");
    assert!(place.succeed(&["compare", "r1", "r2", "--allow-changed"]).stdout.contains("): worse"));
}
