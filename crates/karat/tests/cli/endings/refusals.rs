//! Models, judges and services that refuse every call from the start: told after a few cells, and no cell is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};

use serde_json::json;
use testkit::{Behaviour, Echo, FakeProvider, RequestLog, Script};

use crate::place::{CommandOutput, Place, questions, suite};

const CELLS: usize = 20;

/// The advice that must work when it is followed.
const ADVICE: &str = "run the suite again: finished cells are reused";

fn place(text: &str) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", text);
    place
}

fn assert_refused(result: &CommandOutput, name: &str, cells: usize) {
    assert_eq!(result.code, 1, "{}", result.all());
    let (refused, left) =
        (format!("{name} refused its first "), format!("any more: {cells} cells are left unfinished."));
    assert!(result.stderr.contains(&refused) && result.stderr.contains(&left), "{}", result.all());
    // The lines of cells keep the end of their errors.
    let end = result.stderr.lines().filter(|line| !line.starts_with('[') && line.contains(ADVICE));
    assert_eq!(end.count(), 1, "{}", result.all());
}

/// D14: a port on which nothing listens is told after four cells. The suite run again once a server is there makes every
/// cell; so do `resume` and `retry` together.
#[test]
fn a_refused_port_stops_the_model() {
    let port = FakeProvider::start(Behaviour::ok("x")).unwrap().port();
    let place = place(&suite(&format!("http://127.0.0.1:{port}/v1")));
    let result = place.karat(&["run", "--run-id", "a", "-j", "1"]);
    assert_refused(&result, "mock", 16);
    assert!(
        result.stderr.contains("cannot be reached") && result.stderr.contains(&port.to_string()),
        "{}",
        result.all()
    );
    let totals = &place.report("a")["totals"];
    assert_eq!((&totals["cells"], &totals["errors"]), (&json!(4), &json!(4)));

    let server = FakeProvider::start_on(port, Script::echo(Echo::default()), RequestLog::Counts).unwrap();
    place.succeed(&["run", "--run-id", "b"]);
    assert_eq!((server.requests(), &place.report("b")["totals"]["errors"]), (CELLS, &json!(0)));
    place.karat(&["resume", "a"]);
    assert_eq!(place.report("a")["totals"]["cells"], json!(CELLS));
    place.succeed(&["retry", "a"]);
    assert_eq!(place.report("a")["totals"]["errors"], json!(0));
    assert_eq!(place.canonical("a"), place.canonical("b"));
}

/// D13, D31: a wrong key or an unknown model stops that model alone, in `run`, `retry` and `resume`; cells of others are
/// made.
#[test]
fn a_refused_key_or_name_stops_only_that_model() {
    static STATUS: AtomicU16 = AtomicU16::new(400);
    static IS_FIRST: AtomicBool = AtomicBool::new(true);
    let good = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    // It replies to its first call.
    let bad = FakeProvider::start(Script::by(|_| match STATUS.load(Ordering::Relaxed) {
        _ if IS_FIRST.swap(false, Ordering::Relaxed) => Behaviour::ok("answer"),
        200 => Behaviour::ok("answer"),
        status => Behaviour::status(status, "no"),
    }))
    .unwrap();
    let model = |id: &str, url: &str| format!("{{ id: {id}, provider: openai, model: {id}, base_url: \"{url}\" }}");
    let place = place(&format!(
        "name: two\ndataset: {{ source: data.jsonl, id: id, input: question, reference: target }}\n\
         models: [ {}, {} ]\nvariants: {{ direct: [ {{ prompt: {{ text: \"{{{{ sample.question }}}}\" }} }} ] }}\n\
         scorers: {{ hit: {{ metric: contains }} }}\nrun: {{ max_concurrency: 1 }}\n",
        model("good", &good.base_url()),
        model("bad", &bad.base_url()),
    ));
    // 400 may be the fault of a row, so all cells are tried once a reply has come.
    place.karat(&["run", "--run-id", "a"]);
    assert_eq!((good.requests(), bad.requests()), (CELLS, CELLS));
    for (status, arguments) in [(401, ["retry", "a"]), (404, ["retry", "a"]), (403, ["run", "-q"])] {
        STATUS.store(status, Ordering::Relaxed);
        let before = bad.requests();
        let result = place.karat(&arguments);
        assert_refused(&result, "bad", 15);
        assert!(result.stderr.contains(&format!("answered {status}")), "{}", result.all());
        assert_eq!((bad.requests() - before, good.requests()), (4, CELLS), "{arguments:?}: {}", result.all());
    }
    let before = bad.requests();
    assert_refused(&place.karat(&["resume"]), "bad", 11);
    assert_eq!(bad.requests() - before, 4);
    STATUS.store(200, Ordering::Relaxed);
    let before = bad.requests();
    place.succeed(&["run", "-q"]);
    assert_eq!((bad.requests() - before, good.requests()), (CELLS - 1, CELLS));
}

/// D13: a judge whose name is wrong leaves the judgments unmade and keeps the outputs. Once its name is right in the
/// suite, `karat retry` refuses with the command that works, and that command pays for no output again.
#[test]
fn a_refused_judge_leaves_its_judgments() {
    let outputs = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let judge = FakeProvider::start(Script::by(|received| match received.json()["model"] == "right" {
        true => Behaviour::ok(r#"{"good": 4}"#),
        false => Behaviour::status(404, "The model `wrong` does not exist"),
    }))
    .unwrap();
    let text = suite(&outputs.base_url()).replace(
        "scorers: { hit: { metric: contains } }",
        &format!(
            "judges: [ {{ id: grader, provider: openai, model: wrong, base_url: \"{}\", price: {{ input: 3.0, output: 6.0 }} }} ]\n\
             scorers: {{ q: {{ rubric: {{ ask: Is it good?, dimensions: {{ good: {{ definition: good, scale: [1, 5] }} }} }} }} }}",
            judge.base_url()
        ),
    );
    let place = place(&text);
    let result = place.karat(&["run", "--run-id", "a", "-j", "1", "--models", "mock"]);
    assert_refused(&result, "grader", 16);
    assert!(result.stderr.contains("has a model `wrong`"), "{}", result.all());
    assert_eq!((outputs.requests(), judge.requests()), (CELLS, 4));

    place.write("karat.yaml", &text.replace("model: wrong", "model: right"));
    let result = place.karat(&["retry", "a"]);
    assert_eq!(result.code, 1, "{}", result.all());
    let command = "`karat run karat.yaml --models mock` starts a new run";
    assert!(result.stderr.contains(command), "{}", result.all());
    place.succeed(&["run", "karat.yaml", "--models", "mock"]);
    assert_eq!((outputs.requests(), judge.requests()), (CELLS, 4 + CELLS));
}

/// D13: a service that a step asks is stopped before the steps that it rests on are paid for; one whose addresses come
/// from the rows is not.
#[test]
fn a_refused_service_stops_before_the_steps_before_it() {
    let outputs = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let service = FakeProvider::start(Behaviour::status(404, "no such path")).unwrap();
    let step = |path: &str| {
        format!(
            "prompt: {{ text: \"{{{{ sample.question }}}}\" }} }}, {{ id: look, http: {{ url: \"{}{path}\", body: {{ q: \"{{{{ output }}}}\" }} }} }} ]",
            service.url()
        )
    };
    let text =
        |path: &str| suite(&outputs.base_url()).replace("prompt: { text: \"{{ sample.question }}\" } } ]", &step(path));
    let result = place(&text("/look")).karat(&["run", "-j", "1"]);
    assert_refused(&result, "step look", 16);
    // The output of a fifth cell may be under way when the service is stopped.
    assert!((4..=5).contains(&outputs.requests()), "{} outputs", outputs.requests());
    assert_eq!(service.requests(), 4);
    let result = place(&text("/{{ sample.id }}")).karat(&["run", "-j", "1"]);
    assert!(result.code == 1 && !result.stderr.contains(ADVICE), "{}", result.all());
    assert_eq!(service.requests(), 4 + CELLS);
}

/// D14: a service that scores is not asked again for each cell either, and `retry` scores what it left.
#[test]
fn a_refused_scorer_is_not_asked_for_every_cell() {
    static STATUS: AtomicU16 = AtomicU16::new(401);
    let outputs = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let scorer = FakeProvider::start(Script::by(|_| match STATUS.load(Ordering::Relaxed) {
        200 => Behaviour::raw(200, json!({"score": 0.5}).to_string()),
        status => Behaviour::status(status, "no"),
    }))
    .unwrap();
    let far = format!("far: {{ metric: http, with: {{ url: \"{}\" }} }}", scorer.url());
    let place = place(&suite(&outputs.base_url()).replace("hit: { metric: contains }", &far));
    let result = place.karat(&["run", "--run-id", "a", "-j", "1"]);
    assert!(result.code == 1 && result.stdout.contains("every score of it failed"), "{}", result.all());
    // A second cell may be scored while the fourth one is.
    assert!((4..=6).contains(&scorer.requests()), "{} requests", scorer.requests());
    STATUS.store(200, Ordering::Relaxed);
    place.succeed(&["retry", "a"]);
    assert_eq!((outputs.requests(), &place.report("a")["metrics"]["far"]["n"]), (CELLS, &json!(CELLS)));
}

/// D31: a key that is revoked in the middle of a run stops its model after four refusals in a row. The suite run again makes
/// what is left and pays for nothing twice; so do `resume` and `retry` together.
#[test]
fn a_key_revoked_in_the_middle_stops_its_model() {
    const ANSWERED: usize = 8;
    let is_revoked = Arc::new(AtomicBool::new(true));
    let script = {
        let (asked, is_revoked) = (AtomicUsize::new(0), is_revoked.clone());
        Script::by(move |_| match asked.fetch_add(1, Ordering::Relaxed) >= ANSWERED {
            true if is_revoked.load(Ordering::Relaxed) => Behaviour::status(401, "the key was revoked"),
            _ => Behaviour::ok("answer"),
        })
    };
    let provider = FakeProvider::start(script).unwrap();
    let place = place(&suite(&provider.base_url()));
    let result = place.karat(&["run", "--run-id", "a", "-j", "1"]);
    assert_eq!((result.code, provider.requests()), (1, ANSWERED + 4), "{}", result.all());
    let told = "mock refused its last 4 calls and is not called any more: 8 cells are left unfinished.";
    assert!(result.stderr.contains(told) && result.stderr.contains("the key was revoked"), "{}", result.all());
    let totals = &place.report("a")["totals"];
    assert_eq!((&totals["cells"], &totals["errors"]), (&json!(ANSWERED + 4), &json!(4)));
    is_revoked.store(false, Ordering::Relaxed);
    place.succeed(&["run", "--run-id", "b"]);
    assert_eq!(provider.requests(), CELLS + 4);
    place.karat(&["resume", "a"]);
    place.succeed(&["retry", "a"]);
    assert_eq!((provider.requests(), &place.report("a")["totals"]["errors"]), (CELLS + 4, &json!(0)));
}

/// D13: calls that were under way when a model was stopped are counted, so that the sums of the message agree.
#[test]
fn calls_under_way_are_counted() {
    let provider = FakeProvider::start(Behaviour::status(401, "no")).unwrap();
    let result = place(&suite(&provider.base_url())).karat(&["run", "-j", "16"]);
    let calls = provider.requests();
    // The fourth refusal stops the model. Each of the three before it may have made room for one more call.
    assert!((4..=16 + 3).contains(&calls), "{calls}");
    assert!(result.stderr.contains(&format!("{calls} calls made")), "{}", result.all());
    let told =
        format!("mock refused its first {calls} calls and is not called any more: 16 cells are left unfinished.");
    assert!(result.code == 1 && result.stderr.contains(&told), "{}", result.all());

    // Calls to a refused port may wait for their next attempt when the model is stopped.
    let port = FakeProvider::start(Behaviour::ok("x")).unwrap().port();
    let result = place(&suite(&format!("http://127.0.0.1:{port}/v1"))).karat(&["run", "-j", "16"]);
    let number = |before: &str, after: &str| {
        let rest = result.stderr.split(after).next().unwrap();
        rest.rsplit(before).next().and_then(|number| number.parse::<usize>().ok())
    };
    let (made, refused) = (number(": ", " calls made"), number("its first ", " calls and is not called"));
    assert!(made.is_some() && made == refused, "{made:?}, {refused:?}: {}", result.all());
}

/// D13, F31: a start that passes (429, 503, a broken connection) stops nothing once a reply has come, whatever comes after it.
#[test]
fn a_start_that_passes_stops_nothing() {
    for first in [Behaviour::rate_limited("0"), Behaviour::status(503, "loading"), Behaviour::Drop] {
        let asked = Arc::new(AtomicUsize::new(0));
        let script = {
            let (asked, first) = (asked.clone(), first.clone());
            Script::by(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
                0..=2 => first.clone(),
                3 => Behaviour::ok("answer"),
                _ => Behaviour::status(404, "no"),
            })
        };
        let provider = FakeProvider::start(script).unwrap();
        let result = place(&suite(&provider.base_url())).karat(&["run", "-j", "1", "--retries", "0"]);
        assert!(result.code == 1 && !result.stderr.contains("not called any more"), "{first:?}: {}", result.all());
        assert_eq!(provider.requests(), CELLS, "{first:?}");
    }
}

/// F31, F53: a server that never gives a reply is stopped after four calls, retries included, with a budget and without; the message
/// says what the server sent and advises no limit. Once the server is right, `resume` and `retry` make every cell.
#[test]
fn a_model_that_never_replies_is_stopped() {
    static IS_RIGHT: AtomicBool = AtomicBool::new(false);
    let page = Behaviour::raw(200, "<html><title>Sign in</title></html>").with_header("content-type", "text/html");
    let stream = Behaviour::raw(200, "data: {\"id\":\"1\"}\n\n").with_header("content-type", "text/event-stream");
    let cases = [
        (page, "<html><title>Sign in"),
        (stream, "data: {"),
        (Behaviour::Drop, "clos"),
        (Behaviour::status(400, "unknown field `n`"), "unknown field `n`"),
    ];
    for (behaviour, sent) in cases {
        for budget in [["--budget-usd", "5"].as_slice(), &["--budget-usd", "0.0012", "--yes"], &[]] {
            IS_RIGHT.store(false, Ordering::Relaxed);
            let script = {
                let behaviour = behaviour.clone();
                Script::by(move |_| match IS_RIGHT.load(Ordering::Relaxed) {
                    true => Behaviour::ok("answer"),
                    false => behaviour.clone(),
                })
            };
            let provider = FakeProvider::start(script).unwrap();
            let place = place(&suite(&provider.base_url()).replace("price:", "max_output: 100, price:"));
            let result = place.karat(&[&["run", "--run-id", "a", "-j", "1"], budget].concat());
            assert!([1, 5].contains(&result.code), "{budget:?}: {}", result.all());
            // The small budget holds three.
            assert!((3..=4).contains(&provider.requests()), "{budget:?}: {}", result.all());
            assert!(result.stderr.contains(sent) && result.stderr.contains("failed"), "{budget:?}: {}", result.all());
            assert!(!result.stderr.contains("continue with `karat resume a --budget-usd"), "{}", result.all());
            // F53: the failed call is a cell of the unfinished run.
            let failed = [
                &["show", "a", "--status", "error"][..],
                &["trace", "a", "0"],
                &["report", "a", "--format", "md", "-o", "-"],
            ];
            // Three failures do not stop a model: the small budget did, and `resume` makes the cells.
            let is_stopped = provider.requests() == 4;
            assert!(result.stdout.contains(sent) || !is_stopped, "{}", result.all());
            for arguments in failed.into_iter().filter(|_| is_stopped) {
                let shown = place.succeed(arguments).stdout;
                // A report escapes what the server sent.
                let word = if arguments[0] == "trace" { sent } else { "error" };
                assert!(shown.contains(word), "{arguments:?}: {shown}");
            }
            IS_RIGHT.store(true, Ordering::Relaxed);
            place.karat(&["resume", "a", "--budget-usd", "5"]);
            assert_eq!(place.report("a")["totals"]["cells"], json!(CELLS));
            place.succeed(&["retry", "a"]);
            assert_eq!(place.report("a")["totals"]["errors"], json!(0));
        }
    }
}
