//! Calls by the batch APIs of their providers.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{BatchFaults, BatchStage, Behaviour, Echo, FakeBatches, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

/// A place with ten rows and a provider with batch endpoints.
struct Batched {
    provider: FakeProvider,
    batches: FakeBatches,
    place: Place,
}

impl Batched {
    fn new(faults: BatchFaults) -> Self {
        Self::with(faults, |suite| suite)
    }

    fn with(faults: BatchFaults, change: impl Fn(String) -> String) -> Self {
        let batches = FakeBatches::new(Script::echo(Echo::default()), faults);
        let provider = FakeProvider::start(batches.script()).unwrap();
        let place = Place::new();
        place.write("data.jsonl", &questions(10));
        place.write("karat.yaml", &change(suite(&provider.base_url())));
        Self { provider, batches, place }
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.place.command(arguments);
        command.env("KARAT_BATCH_POLL", "20ms");
        command
    }

    fn karat(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(self.command(arguments).output().unwrap())
    }

    fn succeed(&self, arguments: &[&str]) -> CommandOutput {
        let result = self.karat(arguments);
        assert_eq!(result.code, 0, "{}", result.all());
        result
    }

    /// The canonical report of a live run at the price of batches.
    fn live(&self, change: impl Fn(String) -> String) -> String {
        let place = Place::new();
        place.write("data.jsonl", &questions(10));
        let suite = change(suite(&self.provider.base_url()));
        // Tokens from a cache are not halved.
        let cache = match suite.contains("provider: anthropic") {
            true => "cached_input: 0.1, cache_write: 0.625, cache_write_1h: 1.0",
            false => "cached_input: 1.0, cache_write: 0.5, cache_write_1h: 0.5",
        };
        let half = suite.replace("input: 1.0, output: 2.0", &format!("input: 0.5, output: 1.0, {cache}"));
        place.write("karat.yaml", &half);
        place.succeed(&["run", "--run-id", "live"]);
        without_suite_hash(&place.canonical("live"))
    }

    /// The canonical report of the run `a`.
    fn canonical(&self) -> String {
        without_suite_hash(&self.place.canonical("a"))
    }
}

/// The live suite says the price of batches itself, so it has a hash of its own; nothing else may differ.
fn without_suite_hash(report: &str) -> String {
    let lines: Vec<&str> = report.lines().filter(|line| !line.contains("\"suite_hash\"")).collect();
    assert_eq!(lines.len() + 1, report.lines().count());
    lines.join("\n")
}

/// TG-60: ten rows go as one batch, at half the price; the canonical report is that of a live run.
#[test]
fn ten_rows_go_as_one_batch() {
    let batched = Batched::new(BatchFaults { shuffle: true, ..BatchFaults::default() });
    batched.succeed(&["run", "--batch", "--run-id", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
    assert!(batched.provider.received_requests().iter().all(|request| !request.path.contains("chat")));
    assert!(batched.canonical() == batched.live(|suite| suite));
}

/// TG-62, TG-61: a process that is killed at any point resumes to one batch, ten billed lines, and the live report.
#[test]
fn a_killed_batch_is_never_submitted_twice() {
    for stage in [
        BatchStage::BeforeUpload,
        BatchStage::AfterUpload,
        BatchStage::AfterCreate,
        BatchStage::Polling,
        BatchStage::Reading,
    ] {
        let batched = Batched::new(BatchFaults { hang_at: Some(stage), ..BatchFaults::default() });
        let mut child = batched.command(&["run", "--batch", "--run-id", "a", "-q"]);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !batched.batches.has_hung() {
            assert!(child.try_wait().unwrap().is_none(), "{stage:?}: it ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        batched.succeed(&["resume", "a"]);
        assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10), "{stage:?}");
        assert!(batched.canonical() == batched.live(|suite| suite), "{stage:?}");
    }
}

/// TG-62, TG-61: a creation that is done and answered with 500 is found again, not repeated.
#[test]
fn a_lost_creation_is_found() {
    let batched = Batched::new(BatchFaults { lose_create: true, ..BatchFaults::default() });
    batched.succeed(&["run", "--batch", "--run-id", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
}

/// TG-62: expired and failed lines go in a second batch of their own.
#[test]
fn expired_lines_go_in_a_second_batch() {
    let batched = Batched::new(BatchFaults { expire: 3, ..BatchFaults::default() });
    batched.succeed(&["run", "--batch", "--run-id", "a"]);
    assert_eq!((batched.batches.sizes(), batched.batches.billed_lines()), (vec![10, 3], 10));
    let batched = Batched::new(BatchFaults { fail_lines: 2, ..BatchFaults::default() });
    batched.succeed(&["run", "--batch", "--run-id", "a"]);
    assert_eq!((batched.batches.sizes(), batched.batches.billed_lines()), (vec![10, 2], 10));
}

/// TG-61: a batch that the provider refuses makes cells with the error `batch_failed`; it is not submitted again.
#[test]
fn a_refused_batch_ends_as_batch_failed() {
    let batched = Batched::new(BatchFaults { status: Some("failed".to_owned()), ..BatchFaults::default() });
    let result = batched.karat(&["run", "--batch", "--run-id", "a"]);
    assert_eq!((result.code, batched.batches.creates(), batched.batches.billed_lines()), (1, 1, 0), "{}", result.all());
    let report = batched.place.karat(&["report", "a", "--format", "json", "-o", "-"]).stdout;
    let reason = "the provider refused batch batch_0: no such model (invalid_model), line 1; `karat retry`";
    assert!(report.contains("batch_failed") && report.contains(reason), "{report}");
    // Nothing is under way, so another run is not refused for it.
    assert!(!batched.karat(&["run", "--batch"]).stderr.contains("under way"));
}

/// TG-60: Anthropic's batches, also after a kill between creation and its answer.
#[test]
fn anthropic_batches_are_proved_by_their_results() {
    let change = |suite: String| suite.replace("provider: openai", "provider: anthropic");
    let hang_at = Some(BatchStage::AfterCreate);
    let batched = Batched::with(BatchFaults { hang_at, ..BatchFaults::default() }, change);
    let mut child = batched.command(&["run", "--batch", "--run-id", "a", "-q"]);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !batched.batches.has_hung() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // A batch that nobody asks about does not end by itself in the fake.
    for _ in 0..2 {
        batched.batches.touch(0);
    }
    batched.succeed(&["resume", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
    assert!(batched.canonical() == batched.live(change));
}

/// TG-61: `--detach` leaves with 0 once the batches are created; `resume` reads them.
#[test]
fn a_detached_run_is_resumed() {
    let batched = Batched::new(BatchFaults::default());
    let result = batched.succeed(&["run", "--batch", "--detach", "--run-id", "a"]);
    assert!(result.stderr.contains("1 batch under way; `karat resume a`"), "{}", result.all());
    batched.succeed(&["resume", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
}

/// TG-61: `karat cancel` ends the batches at the provider; `resume` keeps what is done and makes the rest.
#[test]
fn cancelled_batches_can_be_resumed() {
    let batched = Batched::new(BatchFaults::default());
    batched.succeed(&["run", "--batch", "--detach", "--run-id", "a"]);
    let result = batched.succeed(&["cancel", "a"]);
    assert!(result.stderr.contains("1 batch cancelled; `karat resume a`"), "{}", result.all());
    assert_eq!((batched.batches.cancelled_batches(), batched.batches.creates()), (1, 1));
    let again = batched.succeed(&["cancel", "a"]);
    assert!(again.stderr.contains("its batches were cancelled before; `karat resume a`"), "{}", again.all());
    assert_eq!(batched.batches.cancelled_batches(), 1);
    batched.succeed(&["resume", "a"]);
    assert_eq!((batched.batches.sizes(), batched.batches.billed_lines()), (vec![10, 10], 10));
    let result = batched.succeed(&["cancel", "a"]);
    assert!(result.stderr.contains("run a has no batches under way: there is nothing to cancel"), "{}", result.all());
}

/// TG-61: while batches of a plan are under way no other run of it may start, live or by batches: it would pay twice. Once
/// they are read it reuses the results; once they are given up it makes the calls itself.
#[test]
fn another_run_of_the_plan_is_refused() {
    let batched = Batched::new(BatchFaults::default());
    batched.succeed(&["run", "--batch", "--detach", "--run-id", "a"]);
    let before = batched.provider.requests();
    for arguments in [&["run", "--batch", "--detach", "--run-id", "b"][..], &["run", "--run-id", "b"]] {
        let result = batched.karat(arguments);
        assert!(
            result.code == 1 && result.stderr.contains("run a has the same plan and batches under way"),
            "{}",
            result.all()
        );
        assert!(
            result.stderr.contains("`karat resume a` reads them; `karat cancel a` gives them up"),
            "{}",
            result.all()
        );
    }
    let plan = batched.succeed(&["plan"]);
    assert!(plan.stderr.contains("run a has batches of this plan under way: `karat resume a`"), "{}", plan.all());
    assert!(batched.succeed(&["ls"]).stdout.contains("in batches"));
    assert_eq!(batched.provider.requests(), before, "nothing was sent");
    batched.succeed(&["resume", "a"]);
    assert!(!batched.succeed(&["plan"]).stderr.contains("under way"));
    batched.succeed(&["run", "--run-id", "b"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));

    let batched = Batched::new(BatchFaults::default());
    batched.succeed(&["run", "--batch", "--detach", "--run-id", "a"]);
    batched.succeed(&["run", "--no-cache", "--run-id", "b"]);
    batched.succeed(&["cancel", "a"]);
    batched.succeed(&["run", "--run-id", "c"]);
}

/// TG-61: `--detach` without batches would make every call live and wait, so it is refused before any call.
#[test]
fn a_live_run_cannot_be_detached() {
    let batched = Batched::new(BatchFaults::default());
    let result = batched.karat(&["run", "--detach"]);
    assert!(result.code == 1 && result.stderr.contains("add `--batch`, or leave `--detach` out"), "{}", result.all());
    assert_eq!(batched.provider.requests(), 0);
}

/// TG-61: each submitted batch is told once, with its id, and then only what changes.
#[test]
fn batches_are_told_as_they_go_on() {
    let batched = Batched::new(BatchFaults::default());
    let result = batched.succeed(&["run", "--batch", "--run-id", "a"]);
    let lines: Vec<&str> = result.stderr.lines().filter(|line| line.starts_with("model ")).collect();
    let expected = [
        "model mock: batch batch_0 is submitted, 10 calls",
        "model mock: batch batch_0 (10 calls): in_progress",
        "model mock: batch batch_0 (10 calls): completed",
    ];
    assert_eq!(lines, expected, "{}", result.all());
}

/// TG-61: calls in batches count against the budget once, at the most that they can cost, also after a resume.
#[test]
fn a_budget_holds_for_batches() {
    let budget = |most: &str| {
        let most = format!("budget_usd: {most}");
        Batched::with(BatchFaults::default(), move |suite| suite.replace("budget_usd: 1000", &most))
    };
    // Ten calls are reserved at $0.0041 each.
    let batched = budget("0.042");
    batched.succeed(&["run", "--batch", "--detach", "--run-id", "a"]);
    batched.succeed(&["resume", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
    let report = batched.place.report("a");
    assert!(
        report["cost"]["actual_cost_usd"].as_f64().is_some_and(|cost| cost > 0.0 && cost < 0.001),
        "{}",
        report["cost"]
    );
    let batched = budget("0.02");
    let result = batched.karat(&["run", "--batch", "--run-id", "a"]);
    assert_eq!((result.code, batched.batches.creates()), (5, 0), "{}", result.all());
}

/// TG-60: a plan shows what goes by batches, at their price, and asks nobody.
#[test]
fn a_plan_has_the_price_of_batches() {
    let batched = Batched::new(BatchFaults::default());
    let cost = |arguments: &[&str]| {
        let result = batched.succeed(arguments);
        let plan: Value = serde_json::from_str(&result.stdout).unwrap();
        (plan["cost_usd"][1].as_f64().unwrap(), result.stderr)
    };
    let ((live, _), (batch, result)) = (cost(&["plan", "--json"]), cost(&["plan", "--json", "--batch"]));
    assert!(result.contains("by batches, at half the price: mock"), "{result}");
    assert!(live > 0.0 && (live - 2.0 * batch).abs() < 1e-6, "{live:?} {batch:?}");
    assert_eq!(batched.provider.requests(), 0);
}

/// TG-60: the judges' calls go in a second batch, after the outputs.
#[test]
fn judges_are_a_second_round() {
    let echo = Echo { judge: Some(json!({ "good": 4 })), ..Echo::default() };
    let batches = FakeBatches::new(Script::echo(echo), BatchFaults::default());
    let provider = FakeProvider::start(batches.script()).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(10));
    let rubric = format!(
        "judges: [ {{ id: judge, provider: openai, model: judge, base_url: \"{}\", price: {{ input: 3.0, output: 6.0 }} }} ]\n\
         scorers: {{ q: {{ rubric: {{ ask: Is it good?, reply: flat, dimensions: {{ good: {{ definition: good, scale: [1, 5] }} }} }} }} }}",
        provider.base_url()
    );
    let text = suite(&provider.base_url()).replace("scorers: { hit: { metric: contains } }", &rubric);
    place.write("karat.yaml", &text);
    let batched = Batched { provider, batches, place };
    let mut command = batched.command(&["run", "--batch", "--run-id", "a"]);
    let result = CommandOutput::of(command.env("OPENAI_API_KEY", "sk-0123456789abcdef").output().unwrap());
    assert_eq!((result.code, batched.batches.sizes()), (0, vec![10, 10]), "{}", result.all());
    assert_eq!(batched.place.report("a")["totals"]["judgments"], 10);
}

/// TG-60: `--batch` needs a model with a batch API.
#[test]
fn a_suite_without_a_batch_api_is_refused() {
    let change = |suite: String| suite.replace("provider: openai", "provider: openai-compatible");
    let batched = Batched::with(BatchFaults::default(), change);
    let result = batched.karat(&["run", "--batch"]);
    assert!(result.code == 1 && result.stderr.contains("--batch: no model here has a batch API"), "{}", result.all());
    assert_eq!(batched.provider.requests(), 0);
}

/// TG-60: a recording is refused before anything is sent.
#[test]
fn recordings_are_refused() {
    let batched = Batched::new(BatchFaults::default());
    let result = batched.karat(&["run", "--batch", "--record", "calls.krec"]);
    assert!(result.code == 1 && result.stderr.contains("record a run without `--batch`"), "{}", result.all());
    assert_eq!(batched.provider.requests(), 0);
}

/// TG-60: a batch says nothing about latency: the metric does not apply, also where a live run reuses the outputs.
#[test]
fn latency_does_not_apply() {
    let change = |suite: String| {
        suite.replace("hit: { metric: contains }", "hit: { metric: contains }, speed: { metric: latency }")
    };
    let batched = Batched::with(BatchFaults::default(), change);
    batched.succeed(&["run", "--batch", "--run-id", "a"]);
    batched.succeed(&["run", "--run-id", "b"]);
    for run in ["a", "b"] {
        let report = batched.place.report(run);
        let cell = &report["cells"][0];
        assert_eq!(cell["scores"]["speed"]["na"], "a batch does not say how long a call took", "{cell}");
        assert_eq!((&cell["latency_ms"], &cell["scores"]["hit"]["value"]), (&Value::Null, &json!(1.0)), "{cell}");
    }
    assert_eq!(batched.batches.billed_lines(), 10);
}

/// TG-60: a suite may ask for batches itself, and the registry says what they cost.
#[test]
fn a_suite_may_ask_for_batches() {
    let change = |suite: String| {
        suite.replace("max_concurrency: 16", "batch: true").replace("output: 2.0 }", "output: 2.0, batch: 0.25 }")
    };
    let batched = Batched::with(BatchFaults::default(), change);
    let result = batched.succeed(&["plan"]);
    assert!(result.stderr.contains("by batches, at 25 % of the price: mock"), "{}", result.all());
    assert!(result.stdout.contains("model, batch"), "{}", result.all());
    batched.succeed(&["run", "--run-id", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
    let quarter = batched.place.report("a")["cost"]["actual_cost_usd"].as_f64().unwrap();
    batched.succeed(&["run", "--run-id", "b", "--set", "run.batch=false", "--no-cache"]);
    let full = batched.place.report("b")["cost"]["actual_cost_usd"].as_f64().unwrap();
    assert!((full - 4.0 * quarter).abs() < 1e-9, "{full} {quarter}");
}

/// TG-61: a batch that has too many tokens for the queue goes in halves, one after the other.
#[test]
fn a_full_queue_takes_halves_in_turn() {
    let batched = Batched::new(BatchFaults { queue_lines: Some(3), ..BatchFaults::default() });
    let result = batched.succeed(&["run", "--batch", "--run-id", "a"]);
    assert_eq!(batched.batches.sizes(), [10, 5, 3, 3, 3, 1], "{}", result.all());
    assert_eq!(batched.batches.billed_lines(), 10);
    assert!(batched.canonical() == batched.live(|suite| suite));
}

/// TG-61: results that are gone make errors of their cells, and are never submitted anew.
#[test]
fn lost_results_are_errors() {
    let batched = Batched::new(BatchFaults { lose_results: true, ..BatchFaults::default() });
    let result = batched.karat(&["run", "--batch", "--run-id", "a"]);
    assert_eq!((result.code, batched.batches.creates()), (1, 1), "{}", result.all());
    batched.karat(&["resume", "a"]);
    assert_eq!(batched.batches.creates(), 1);
    let report = batched.place.karat(&["report", "a", "--format", "json", "-o", "-"]).stdout;
    assert!(report.contains("are gone at the provider"), "{report}");
    // They were billed, so they stay reserved, and the report says so.
    let warning = batched.place.karat(&["report", "a", "--format", "md", "-o", "-"]).all();
    assert!(warning.contains("may have been billed beyond"), "{warning}");
}

/// TG-62, TG-61: a creation that never ends is found by the next process.
#[test]
fn a_hanging_creation_is_found() {
    let batched = Batched::new(BatchFaults { hang_create: true, ..BatchFaults::default() });
    let mut child = batched.command(&["run", "--batch", "--run-id", "a", "-q"]);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while batched.batches.creates() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    batched.succeed(&["resume", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
}

/// TG-61: Ctrl-C ends with 130 and leaves the batches alone; `resume` reads them.
#[test]
fn batches_go_on_after_an_interruption() {
    let batched = Batched::new(BatchFaults::default());
    let mut command = batched.command(&["run", "--batch", "--run-id", "a"]);
    let command = command.env("KARAT_BATCH_POLL", "10m").stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    while batched.batches.creates() == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let result = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!((result.code, batched.batches.cancelled_batches()), (130, 0), "{}", result.all());
    batched.succeed(&["resume", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
}

/// TG-60: agents are run live, at the price of live calls, beside prompts that go by a batch.
#[test]
fn agents_are_run_live() {
    let change =
        |suite: String| suite.replace("variants: {", "variants: { loop: [ { agent: { user: \"{{ input }}\" } } ],");
    let batched = Batched::with(BatchFaults::default(), change);
    let result = batched.succeed(&["plan", "--batch"]);
    assert!(result.stderr.contains("by batches, at half the price: mock; live: agents"), "{}", result.all());
    batched.succeed(&["run", "--batch", "--run-id", "a"]);
    let live = batched.provider.received_requests().iter().filter(|it| it.path.ends_with("/chat/completions")).count();
    assert_eq!((batched.batches.sizes(), live), (vec![10], 10));
    let cost = &batched.place.report("a")["cost"]["cost_per_variant"];
    let (batch, agent) = (cost["direct"].as_f64().unwrap(), cost["loop"].as_f64().unwrap());
    assert!((agent - 2.0 * batch).abs() < 1e-9, "{cost}");
    let only = Batched::with(BatchFaults::default(), |suite: String| {
        suite.replace("prompt: { text: \"{{ sample.question }}\" }", "agent: { user: \"{{ input }}\" }")
    });
    let result = only.karat(&["run", "--batch"]);
    assert!(result.code == 1 && result.stderr.contains("agents are always run live"), "{}", result.all());
}

/// TG-60: a server with OpenAI's protocol and without its batch API is named, with what to do.
#[test]
fn a_server_without_a_batch_api_is_named() {
    let provider = FakeProvider::start(Script::by(|received| match received.path.contains("files") {
        true => Behaviour::status(404, "no such path"),
        false => Behaviour::ok("hi"),
    }))
    .unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let result = place.karat(&["run", "--batch", "--run-id", "a"]);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(
        result.stderr.contains("has no batch API at") && result.stderr.contains("without `--batch`"),
        "{}",
        result.all()
    );
    assert!(!result.stderr.contains("resume"), "{}", result.all());
    place.succeed(&["run", "--run-id", "b"]);
}

/// TG-04, TG-60: a batch sends images whole; what is kept of the call holds their digests.
#[test]
fn images_go_in_batches() {
    let image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAABkCAYAAAA=";
    let content = format!(
        "messages: [ {{ role: user, content: [ {{ text: \"{{{{ input }}}}\" }}, {{ image: \"{image}\", media: image/png }} ] }} ]"
    );
    let change = |suite: String| suite.replace("text: \"{{ sample.question }}\"", &content);
    let batched = Batched::with(BatchFaults::default(), change);
    batched.succeed(&["run", "--batch", "--run-id", "a"]);
    assert_eq!((batched.batches.creates(), batched.batches.billed_lines()), (1, 10));
    let uploads: String = batched
        .provider
        .received_requests()
        .iter()
        .map(|request| String::from_utf8_lossy(&request.body).into_owned())
        .collect();
    assert!(uploads.contains(image));
    let trace = batched.place.succeed(&["trace", "a", "0", "--raw"]).stdout;
    assert!(trace.contains("blake3:") && !trace.contains(image), "{trace}");
}
