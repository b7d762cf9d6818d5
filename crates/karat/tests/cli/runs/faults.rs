//! Faults outside the provider: the disk, the machine, a scorer.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

/// Runs it in a shell with a limit of what it may have.
#[cfg(unix)]
fn limited(place: &Place, limit: &str, arguments: &[&str]) -> CommandOutput {
    let karat = place.command(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]).arg(karat.get_program()).args(arguments);
    CommandOutput::of(shell.current_dir(place.path()).output().unwrap())
}

/// BY-04: when the disk is full the run stops, keeps its records and says how to continue; resumed, it ends with the
/// report of an uninterrupted run, and repeats at most the calls that were in flight.
#[cfg(unix)]
#[test]
fn a_full_disk_stops_the_run_and_loses_nothing() {
    const CELLS: usize = 3000;
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let limited = |arguments: &[&str]| limited(&place, "-f 1000", arguments);
    let result = limited(&["run", "--run-id", "full", "-q"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(result.stderr.contains("make room, then `karat resume full`"), "{}", result.all());
    assert!(result.stderr.contains("no file larger than 500 KiB (`ulimit -f`)"), "{}", result.all());
    let before = provider.requests();
    assert!(before < CELLS, "the file never grew to its limit: {before} calls");
    place.succeed(&["resume", "full", "-q"]);
    assert!(provider.requests() <= CELLS + 16, "{} calls", provider.requests());
    let whole = Place::new();
    whole.write("data.jsonl", &questions(CELLS));
    whole.write("karat.yaml", &suite(&provider.base_url()));
    whole.succeed(&["run", "--run-id", "whole", "-q"]);
    assert!(place.canonical("full") == whole.canonical("whole"), "the reports differ");
    for arguments in [&["report", "full", "-o", "out"][..], &["export", "jsonl", "full", "-o", "out/cells.jsonl"]] {
        let result = limited(arguments);
        assert!(
            result.code == 1 && result.stderr.contains("make room or name another"),
            "{arguments:?}: {}",
            result.all()
        );
    }
    let left: Vec<_> = std::fs::read_dir(place.path().join("out")).unwrap().flatten().map(|it| it.path()).collect();
    assert!(
        left.iter().all(|path| path.extension().is_some_and(|form| form == "md" || form == "html")),
        "parts of files: {left:?}"
    );
}

/// CL-04: a `retry` that a full disk or Ctrl-C interrupts names `karat retry` to continue, because `resume` does not
/// re-run failed cells.
#[cfg(unix)]
#[test]
fn an_interrupted_retry_continues_as_a_retry() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    static SLOW: AtomicBool = AtomicBool::new(false);
    const CELLS: usize = 3000;
    let provider =
        FakeProvider::start(Script::by(|_| match (BROKEN.load(Ordering::Relaxed), SLOW.load(Ordering::Relaxed)) {
            (true, _) => Behaviour::status(400, "not now"),
            (false, true) => Behaviour::slow(100, "answer"),
            (false, false) => Behaviour::ok("answer"),
        }))
        .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.karat(&["run", "--run-id", "a", "-q"]);
    BROKEN.store(false, Ordering::Relaxed);
    let result = limited(&place, "-f 300", &["retry", "a", "-q"]);
    assert!(result.code == 1 && result.stderr.contains("make room, then `karat retry a`"), "{}", result.all());
    assert!(!result.stderr.contains("resume"), "{}", result.all());

    let before = provider.requests();
    assert!(before < 2 * CELLS, "the file never grew to its limit: {before} calls");
    SLOW.store(true, Ordering::Relaxed);
    let child =
        place.command(&["retry", "a", "-j", "4"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    while provider.requests() < before + 8 {
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let result = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!(result.code, 130, "{}", result.all());
    assert!(
        result.stderr.contains("continue with `karat retry a`") && !result.stderr.contains("resume"),
        "{}",
        result.stderr
    );
    SLOW.store(false, Ordering::Relaxed);
    place.succeed(&["retry", "a", "-q"]);
    assert_eq!(place.report("a")["totals"]["errors"], 0);
}

/// `retry` scores again what a scorer that failed has left unscored: no output is made again, nothing is paid again.
#[test]
fn retry_repeats_failed_scores() {
    static BROKEN: AtomicBool = AtomicBool::new(true);
    let scorer = FakeProvider::start(Script::by(|received| {
        match BROKEN.load(Ordering::Relaxed) && received.json().to_string().contains("Question 2") {
            true => Behaviour::status(400, "not now"),
            false => Behaviour::raw(200, json!({"score": 0.5}).to_string()),
        }
    }))
    .unwrap();
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(4));
    let outside =
        format!("hit: {{ metric: contains }}, far: {{ metric: http, with: {{ url: \"{}\" }} }}", scorer.url());
    place.write("karat.yaml", &suite(&provider.base_url()).replace("hit: { metric: contains }", &outside));
    place.karat(&["run", "--run-id", "a"]);
    let report = place.report("a");
    assert_eq!((&report["metrics"]["far"]["n"], provider.requests()), (&json!(3), 4), "{}", report["metrics"]);
    let paid = report["cost"]["actual_cost_usd"].clone();
    BROKEN.store(false, Ordering::Relaxed);
    place.succeed(&["retry", "a"]);
    let report = place.report("a");
    assert_eq!((&report["metrics"]["far"]["n"], provider.requests()), (&json!(4), 4));
    assert_eq!((&report["totals"]["cells"], &report["totals"]["cached"]), (&json!(4), &json!(0)));
    assert_eq!(report["cost"]["actual_cost_usd"], paid);
    assert_eq!(scorer.requests(), 5, "three were scored already");
    assert!(place.succeed(&["retry", "a"]).stderr.contains("no cell of this run failed"));
}

/// CL-15: a service that scores is asked again as often as the run says.
#[test]
fn scorers_are_retried_as_often_as_configured() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    for (retries, requests) in [("0", 1), ("1", 2), ("3", 4)] {
        let scorer = FakeProvider::start(Behaviour::server_error().with_header("retry-after", "0")).unwrap();
        let place = Place::new();
        place.write("data.jsonl", &questions(1));
        let far = format!("far: {{ metric: http, with: {{ url: \"{}\" }} }}", scorer.url());
        place.write("karat.yaml", &suite(&provider.base_url()).replace("hit: { metric: contains }", &far));
        place.karat(&["run", "--retries", retries]);
        assert_eq!(scorer.requests(), requests, "{retries}");
    }
}

/// CL-15, BY-05: calls for which there are no file descriptors wait for them, cost nothing and count as no calls.
#[cfg(unix)]
#[test]
fn calls_wait_for_file_descriptors() {
    const CELLS: usize = 300;
    let latency = Duration::from_millis(50);
    let provider = FakeProvider::start(Script::echo(Echo { latency, ..Echo::default() })).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let arguments = ["run", "--run-id", "few", "-j", "200", "--max-calls", "300", "--no-cache"];
    let result = limited(&place, "-n 64", &arguments);
    assert_eq!((result.code, provider.requests()), (0, CELLS), "{}", result.all());
    assert!(result.stderr.contains("300 calls made,"), "{}", result.all());
}

/// CL-15, BY-05: models that are programs wait for file descriptors, too.
#[cfg(unix)]
#[test]
fn programs_wait_for_file_descriptors() {
    const CELLS: usize = 60;
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    place.write(
        "karat.yaml",
        r#"name: t
dataset: { source: data.jsonl, id: id, input: question, reference: target }
models: [ { id: mine, provider: command, model: m, with: { command: [sh, -c, "sleep 0.2; echo hi"] } } ]
variants: { direct: [ { prompt: { text: "{{ sample.question }}" } } ] }
scorers: { hit: { metric: contains } }
"#,
    );
    let result = limited(&place, "-n 64", &["run", "--run-id", "few", "-j", "60", "--max-calls", "60"]);
    assert!(result.code == 0 && result.stderr.contains("60 calls made,"), "{}", result.all());
    let answered = place.report("few")["metrics"]["hit"]["n"].clone();
    assert_eq!(answered, json!(60), "{}", result.all());
}

/// CL-15: `doctor` says how many calls in flight the limit on open files carries.
#[cfg(unix)]
#[test]
fn doctor_knows_the_limit_on_open_files() {
    let place = Place::new();
    for (limit, says) in [("-n 1056", "may have 1056: enough for 200 calls in flight"), ("-n 64", "raise `ulimit -Hn`")]
    {
        let result = limited(&place, limit, &["doctor"]);
        assert!(result.code == 0 && result.stdout.contains(says), "{}", result.all());
    }
}

/// CL-15: where the system lets a run have more file descriptors it takes them, and not for the programs that it runs.
#[cfg(target_os = "linux")]
#[test]
fn file_descriptors_are_not_raised_for_programs() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    place.write(
        "limit.sh",
        r#"sleep 0.2; while read -r line; do id=${line#*:}; id=${id%%,*}; echo "{\"id\":$id,\"output\":$(ulimit -S -n)}"; done"#,
    );
    let limit = "limit: { metric: command, with: { run: [sh, limit.sh] } }";
    place.write("karat.yaml", &suite(&provider.base_url()).replace("hit: { metric: contains }", limit));
    let result = limited(&place, "-S -n 100", &["run", "--run-id", "a", "-j", "200"]);
    assert_eq!(place.report("a")["metrics"]["limit"]["value"], json!(100.0), "{}", result.all());
}

/// PE-27: a cell's time passes while its calls are made, not while they wait for a slot, a judge's reply or a pause
/// that another cell was told to make. A cell that runs out of time between two attempts is reported, and costs
/// nothing.
#[test]
fn a_cells_time_passes_while_its_calls_are_made() {
    let script = Script::by(|received| match received.json()["model"] == "judge" {
        true => Behaviour::slow(1_500, r#"{"good": 4}"#),
        false if received.json().to_string().contains("answer 0") => Behaviour::rate_limited("2"),
        false => Behaviour::ok("answer"),
    });
    let provider = FakeProvider::start(script).unwrap();
    let place = Place::new();
    // One slot: each cell waits for the judge of another, and for the 2 s that the first one is told to wait.
    place.write("data.jsonl", &questions(4));
    let text = suite(&provider.base_url()).replace("scorers: { hit: { metric: contains } }", &format!(
        "judges: [ {{ id: judge, provider: openai, model: judge, base_url: \"{}\", price: {{ input: 3.0, output: 6.0 }} }} ]\n\
         scorers: {{ q: {{ rubric: {{ ask: Is it good?, dimensions: {{ good: {{ definition: good, scale: [1, 5] }} }} }} }} }}",
        provider.base_url()
    ));
    let run = "run: { max_concurrency: 1, cell_timeout: 800ms, retries: 1 }";
    place.write("karat.yaml", &format!("{}{run}\n", text.split("run:").next().unwrap()));
    let result = place.karat(&["run", "--run-id", "r"]);
    assert_eq!((result.code, provider.requests()), (1, 7), "{}", result.all());
    assert!(
        result.all().contains("the cell's time was used up while this call waited for its next attempt"),
        "{}",
        result.all()
    );
    assert!(!result.all().contains("Nobody knows what calls cost"), "{}", result.all());
    assert_eq!(place.report("r")["totals"]["errors"], 1);
}

/// PE-27: once a cell's time is used up none of its calls is sent any more, and a step that two cells share takes of the time of
/// both.
#[test]
fn a_cell_without_time_sends_nothing() {
    let provider = FakeProvider::start(Script::always(Behaviour::slow(700, "answer"))).unwrap();
    let place = Place::new();
    let prompt = |text: &str, more: &str| format!("{{ prompt: {{ text: \"{text}\" }}{more} }}");
    let run = |rows: &str, variants: &str, limit: &str, id: &str| {
        place.write("data.jsonl", rows);
        let text = suite(&provider.base_url()).replace("contains", "length");
        let text = text.split("variants:").next().unwrap().to_owned();
        let run = format!("run: {{ max_concurrency: {limit}, retries: 0 }}");
        place.write(
            "karat.yaml",
            &format!("{text}variants: {{ {variants} }}\nscorers: {{ n: {{ metric: length }} }}\n{run}\n"),
        );
        let before = provider.requests();
        let result = place.karat(&["run", "--run-id", id]);
        (provider.requests() - before, result)
    };
    let parts: Vec<String> = (0..20).map(|at| format!("part {at}")).collect();
    let rows = json!({ "id": "a", "question": "q", "target": "t", "parts": parts }).to_string() + "\n";
    let chunks = prompt("{{ chunk.text }}", ", chunk: { of: \"sample.parts\", items: 1 }, merge: { how: concat }");
    let (requests, result) = run(&rows, &format!("v: [ {chunks} ]"), "1, cell_timeout: 1s", "chunks");
    assert_eq!((result.code, requests), (1, 2), "{}", result.all());
    assert!(result.stderr.contains("run chunks: 2 calls made"), "{}", result.all());

    let chain = |last: &str| format!("[ {}, {} ]", prompt("first {{ sample.question }}", ""), prompt(last, ""));
    let variants = format!("v: {}, w: {}", chain("second {{ sample.question }}"), chain("third {{ sample.question }}"));
    let (requests, result) = run(&questions(2), &variants, "8, cell_timeout: 1100ms", "shared");
    assert_eq!((result.code, requests), (1, 6), "{}", result.all());
    assert_eq!(place.report("shared")["totals"]["errors"], 4, "{}", result.all());
}
