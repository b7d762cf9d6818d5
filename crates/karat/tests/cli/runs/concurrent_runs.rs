//! Several processes that run on one store at the same time.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use testkit::{Behaviour, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

/// Steps that variants share, a judge, judges that compare each with the other, trials.
const SUITE: &str = r#"name: t
dataset: { source: data.jsonl, id: id, input: question, reference: target }
models: [ { id: m, provider: openai, base_url: "URL", api_key_env: MOCK_KEY, price: { input: 1.0, output: 2.0 } } ]
judges: [ { id: j, provider: openai, model: judge, base_url: "URL", api_key_env: MOCK_KEY, price: { input: 1.0, output: 2.0 } } ]
variants:
  direct: [ { prompt: { text: "Say {{ sample.question }}" } } ]
  two: [ { use: direct }, { id: edit, prompt: { text: "Edit {{ output }} of {{ sample.question }}" } } ]
scorers:
  q: { rubric: { ask: Is it good?, dimensions: { good: { scale: [1, 5] } }, show: { output: "{{ output }}" } } }
  duel: { versus: "variant:direct", orders: one, rubric: { ask: Which is better?, dimensions: { won: { scale: [1, 5] } } } }
  return: { versus: "variant:two", orders: one, rubric: { ask: Which is finer?, dimensions: { won: { scale: [1, 5] } } } }
run: { max_concurrency: 8, budget_usd: 1000, trials: 2 }
"#;

/// Answers everything, some of it late.
fn provider(milliseconds: u64) -> FakeProvider {
    let script = Script::by(move |received| {
        let body = received.json();
        let text = match body["model"].as_str() {
            Some("judge") => r#"{"good": 4, "won": "first", "reasoning": "It is fine."}"#.to_owned(),
            _ => format!("answer to {}", body["messages"]),
        };
        Behaviour::slow(milliseconds * (1 + received.number as u64 % 3), text)
    });
    FakeProvider::start(script).unwrap()
}

fn start(place: &Place, run: &str, flags: &[&str]) -> Child {
    let mut command = place.command(&[&["run", "-q", "--run-id", run], flags].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(child: Child) -> CommandOutput {
    CommandOutput::of(child.wait_with_output().unwrap())
}

fn place(suite: &str, provider: &FakeProvider, rows: usize) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(rows));
    place.write("karat.yaml", &suite.replace("URL", &provider.base_url()));
    place
}

/// Waits until so many requests have come.
fn came(provider: &FakeProvider, requests: usize) {
    for _ in 0..20_000 {
        if provider.requests() >= requests {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("{} of {requests} requests came", provider.requests());
}

/// BY-04, BY-06: what runs at once on one store need is made once, whether they begin together or while calls are under way:
/// steps, shared ones and others, judgments, comparisons, each trial by itself. None harms the others.
#[test]
fn concurrent_runs_share_calls() {
    let alone = provider(0);
    let reference = place(SUITE, &alone, 12);
    reference.succeed(&["run", "--run-id", "a"]);
    let provider = provider(20);
    let place = place(SUITE, &provider, 12);
    let mut runs = vec![start(&place, "a", &[]), start(&place, "b", &[])];
    came(&provider, 20);
    runs.push(start(&place, "c", &[]));
    let result: Vec<CommandOutput> = runs.into_iter().map(ended).collect();
    assert!(
        result.iter().all(|result| result.code == 0),
        "{:?}",
        result.iter().map(CommandOutput::all).collect::<Vec<_>>()
    );
    assert!(result[2].stderr.contains("another run is under way on this store"), "{}", result[2].all());
    assert_eq!(provider.requests(), alone.requests());
    let canonical = ["a", "b", "c"].map(|run| place.canonical(run));
    assert!(canonical[0] == canonical[1] && canonical[1] == canonical[2]);
    // The run that made a call pays for it.
    let paid = |place: &Place, run: &str| place.report(run)["cost"]["actual_cost_usd"].as_f64().unwrap();
    let all: f64 = ["a", "b", "c"].map(|run| paid(&place, run)).iter().sum();
    assert!((all - paid(&reference, "a")).abs() < 1e-9 && all > 0.0, "{all}");
}

/// BY-04: what a killed process was making, the other makes; no more is made twice than there were cells under way.
#[test]
fn a_run_takes_over_the_calls_of_a_killed_one() {
    let provider = provider(20);
    let place = place(&suite("URL"), &provider, 150);
    let mut killed = start(&place, "a", &[]);
    let other = start(&place, "b", &[]);
    came(&provider, 60);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let result = ended(other);
    assert_eq!(result.code, 0, "{}", result.all());
    assert!((150..=150 + 2 * 16).contains(&provider.requests()), "{}", provider.requests());
    place.succeed(&["resume", "a"]);
    assert!((150..=150 + 2 * 16).contains(&provider.requests()), "{}", provider.requests());
    assert_eq!(place.canonical("a"), place.canonical("b"));
}

/// BY-04: a run that is stopped while it waits for another process ends at once, and makes no call.
#[test]
fn a_run_stopped_while_waiting_makes_no_call() {
    let provider = provider(1000);
    let place = place(&suite("URL"), &provider, 4);
    let first = start(&place, "a", &[]);
    came(&provider, 4);
    let mut second = start(&place, "b", &["--json"]);
    let mut events = BufReader::new(second.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(events.any(|line| line.contains("another run is under way")));
    Command::new("kill").args(["-INT", &second.id().to_string()]).status().unwrap();
    let result = ended(second);
    assert!(result.code == 130 && result.stderr.contains("karat resume b"), "{}", result.all());
    assert!(
        !result.stderr.contains("error"),
        "there is nothing to report, and nothing wrong with that: {}",
        result.all()
    );
    assert_eq!((ended(first).code, provider.requests()), (0, 4));
}

/// BY-04: a run that cannot see others says so.
#[test]
fn a_run_that_cannot_see_others_warns() {
    let provider = provider(0);
    let place = place(&suite("URL"), &provider, 4);
    std::fs::create_dir_all(place.path().join(".karat/karat.db-lease.lock")).unwrap();
    let result = place.succeed(&["run", "-q"]);
    assert!(result.stderr.contains("cannot detect other runs") && provider.requests() == 4, "{}", result.all());
}

/// BY-04: what one process cannot get an answer to, the other tries for itself.
#[test]
fn a_failed_call_is_tried_by_the_other_run() {
    let provider = FakeProvider::start(Script::by(|received| match received.number {
        0 => Behaviour::ok("answer"),
        1..8 => Behaviour::Slow(Duration::from_millis(300), Box::new(Behaviour::server_error())),
        _ => Behaviour::ok("answer"),
    }))
    .unwrap();
    let place = place(&suite("URL"), &provider, 8);
    let first = start(&place, "a", &["--retries", "0"]);
    came(&provider, 8);
    let second = start(&place, "b", &["--retries", "0"]);
    assert_eq!((ended(first).code, ended(second).code), (1, 0));
    assert_eq!(provider.requests(), 15);
}

/// BY-06: a run that reuses nothing waits for no other run.
#[test]
fn a_run_without_a_cache_waits_for_no_other() {
    let provider = provider(20);
    let place = place(&suite("URL"), &provider, 40);
    let runs = [start(&place, "a", &["--no-cache"]), start(&place, "b", &["--no-cache"])];
    let result = runs.map(ended);
    assert!(result.iter().all(|result| result.code == 0 && result.stderr.is_empty()), "{}", result[0].all());
    assert_eq!(provider.requests(), 80);
}
