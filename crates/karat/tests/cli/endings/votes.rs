//! A judgment of several calls is finished when all of them were asked, however its run ends in between: votes, both orders
//! of a pair, cascades, several judges, replies that were asked for again.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider, ReceivedRequest, Script};

use super::full_disk::SmallDisk;
use crate::place::Place;

/// Calls at once.
const AT_ONCE: usize = 4;

/// The ways in which a run ends in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Int,
    Term,
    Kill,
    MaxCalls,
    Budget,
    FullDisk,
}

impl Ending {
    /// True if answers to calls under way may be lost.
    fn loses_calls(self) -> bool {
        self == Self::Kill
    }
}

/// A model and judges whose replies follow from the request alone, so that each vote has its own. One reply in eight cannot
/// be read, so that the judge is asked again.
fn replies(received: &ReceivedRequest) -> Behaviour {
    let request = received.json();
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let text: String = messages.iter().filter_map(|message| message["content"].as_str()).collect();
    let hash = blake3::hash(&received.body);
    let draw = hash.as_bytes()[0];
    let Some(code) = text.rsplit("code of their fences is ").next().filter(|rest| rest.len() < text.len()) else {
        return Behaviour::slow(3, format!("answer {}", hash.to_hex().split_at(6).0));
    };
    let code: String = code.chars().take_while(char::is_ascii_hexdigit).collect();
    let is_pair = text.contains("FIRST_");
    let grade = match (is_pair, draw % 4) {
        (true, 0) => "tie",
        (true, 1) => "second",
        (true, _) => "first",
        (false, 0) => "fail",
        (false, _) => "pass",
    };
    let dimension = if is_pair { "better" } else { "pass" };
    let reply = json!({ "code": code, "reasoning": "because", dimension: grade });
    let is_unreadable = hash.as_bytes()[1].is_multiple_of(8);
    Behaviour::slow(3, if is_unreadable { "I would rather not.".to_owned() } else { reply.to_string() })
}

fn judged(place: &Place, provider: &FakeProvider, samples: usize) {
    let rows = (0..samples).map(|at| json!({ "id": format!("s{at}"), "q": format!("question {at}") }).to_string());
    place.write("rows.jsonl", &rows.collect::<Vec<_>>().join("\n"));
    let base = provider.base_url();
    let model = |id: &str| {
        format!(
            "{{ id: {id}, provider: openai-compatible, model: {id}, base_url: \"{base}\", api_key_env: MOCK_KEY, \
             price: {{ input: 1, output: 2 }}, max_output: 100, context_window: 100000 }}"
        )
    };
    place.write(
        "karat.yaml",
        &format!(
            "name: votes
dataset: {{ source: rows.jsonl, id: id, input: q }}
models: [ {} ]
judges: [ {}, {} ]
variants:
  plain: [ {{ prompt: {{ text: '{{{{ input }}}}' }} }} ]
  kind: [ {{ id: draft, prompt: {{ text: 'Draft: {{{{ input }}}}' }} }}, {{ prompt: {{ text: 'Kindly: {{{{ output }}}}' }} }} ]
scorers:
  ok: {{ votes: 3, rubric: {{ ask: Is it fine?, show: {{ r: '{{{{ output }}}}' }}, invalid: {{ reask: 1 }} }} }}
  better: {{ versus: 'variant:plain', votes: 2, rubric: {{ ask: Which is better?, invalid: {{ reask: 2 }} }} }}
  deep: {{ votes: 2, cascade: {{ first: k, share: 50%, unsure: false }}, rubric: {{ ask: Is it deep?, show: {{ r: '{{{{ output }}}}' }} }} }}
gates: [ {{ metric: ok, min: 0.5 }} ]
run: {{ max_concurrency: {AT_ONCE} }}
",
            model("m"),
            model("j"),
            model("k")
        ),
    );
}

fn start(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.command(arguments);
    command.env("MOCK_KEY", "x").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn finish(place: &Place, arguments: &[&str]) -> i32 {
    start(place, arguments).wait().unwrap().code().unwrap_or(-1)
}

/// The part of the report that must not change: figures, counts of what could not be scored, and the verdict.
/// With what was paid, unless calls were lost or the run used what another has paid for.
fn figures(place: &Place, run: &str, with_paid: bool) -> Value {
    let report = place.karat(&["report", run, "--format", "json", "-o", "-"]);
    let mut report: Value = serde_json::from_str(&report.stdout).unwrap_or_else(|_| panic!("{}", report.all()));
    for system in report["systems"].as_array_mut().unwrap().iter_mut().filter(|_| !with_paid) {
        system["cost"]["actual_cost_usd"].take();
    }
    json!([report["systems"], report["gates"], report["verdict"]])
}

/// An undisturbed run, its figures, and the calls that it takes.
fn undisturbed(samples: usize) -> (Place, i32, usize) {
    let provider = FakeProvider::start(Script::by(replies)).unwrap();
    let place = Place::new();
    judged(&place, &provider, samples);
    let code = finish(&place, &["run", "--run-id", "v", "-q"]);
    assert!([0, 2].contains(&code), "exit {code}");
    (place, code, provider.requests())
}

/// Waits until so many more requests have come, or the process has ended. Returns whether it has.
fn wait_for_requests(provider: &FakeProvider, child: &mut Child, more: usize) -> bool {
    let wanted = provider.requests() + more;
    for _ in 0..20_000 {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        if provider.requests() >= wanted {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the run stands still");
}

/// Ends a run again and again, then compares it with one that went through. With `anew`, the last part is a new run on the
/// same store in place of `resume`.
fn end_and_continue(ending: Ending, rounds: usize, samples: usize, anew: bool) {
    let (whole, code, calls) = undisturbed(samples);
    let provider = FakeProvider::start(Script::by(replies)).unwrap();
    let place = Place::new();
    let disk = (ending == Ending::FullDisk).then(|| SmallDisk::mount(&place, 8));
    if matches!(disk, Some(None)) {
        return;
    }
    let disk = disk.flatten();
    judged(&place, &provider, samples);
    let mut ends = 0;
    for round in 0..rounds {
        let (most, budget) = ((round + 1) * 9, format!("{:.6}", 0.03 + 0.003 * round as f64));
        let most = most.to_string();
        let limits: &[&str] = match ending {
            Ending::MaxCalls => &["--max-calls", &most],
            Ending::Budget => &["--budget-usd", &budget, "--yes"],
            _ => &[],
        };
        let arguments = [&["run", "--run-id", "v", "--resume", "-q"], limits].concat();
        let mut child = start(&place, &arguments);
        let is_over = match ending {
            Ending::MaxCalls | Ending::Budget => ![0, 2].contains(&child.wait().unwrap().code().unwrap_or(-1)),
            _ => !wait_for_requests(&provider, &mut child, 3 + round * 5 % 11),
        };
        ends += usize::from(is_over);
        match ending {
            Ending::Int | Ending::Term => {
                let signal = if ending == Ending::Int { "-INT" } else { "-TERM" };
                Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
            }
            Ending::Kill => child.kill().unwrap_or_default(),
            Ending::FullDisk => disk.as_ref().unwrap().fill(),
            Ending::MaxCalls | Ending::Budget => {}
        }
        child.wait().unwrap();
        if ending == Ending::FullDisk {
            std::fs::remove_file(place.path().join(".karat/filler")).unwrap();
        }
    }
    assert!(ends > 0, "{ending:?}: no run was ended in between");
    let last: &[&str] =
        if anew { &["run", "--run-id", "w", "-q"] } else { &["resume", "v", "-q", "--max-calls", "100000"] };
    let last = if ending == Ending::Budget && !anew { &["resume", "v", "-q", "--budget-usd", "100"] } else { last };
    let continued = finish(&place, last);
    let lost = if ending.loses_calls() { AT_ONCE * ends } else { 0 };
    let made = provider.requests();
    assert!(made <= calls + lost, "{ending:?}, {ends} ends: {made} calls, and {calls} without them");
    assert_eq!(continued, code, "{ending:?}: another verdict");
    let run = if anew { "w" } else { "v" };
    let with_paid = !anew && !ending.loses_calls();
    assert_eq!(figures(&place, run, with_paid), figures(&whole, "v", with_paid), "{ending:?}: other figures");
    assert_eq!(finish(&place, &["run", "--run-id", "again", "-q"]), code);
    assert_eq!(provider.requests(), made, "a later run pays for nothing");
}

/// X1: a run that is stopped between the calls of its judgments, and continued, has the verdict of an undisturbed one, for
/// the same calls.
#[test]
fn judgments_are_finished_when_all_was_asked() {
    for ending in [Ending::MaxCalls, Ending::Term, Ending::Kill] {
        end_and_continue(ending, 4, 3, false);
    }
}

/// X7: what a killed run has paid for is found by any run on the store, not only by `resume`.
#[test]
fn paid_calls_are_found_by_any_run() {
    end_and_continue(Ending::Kill, 1, 4, true);
}

/// X7: of two processes on one store one is killed; the other pays for what was under way, and for nothing else again.
#[test]
fn a_run_takes_over_the_calls_of_a_killed_one() {
    one_of_two_is_killed(40);
}

fn one_of_two_is_killed(after: usize) {
    let (whole, code, calls) = undisturbed(6);
    let provider = FakeProvider::start(Script::by(replies)).unwrap();
    let place = Place::new();
    judged(&place, &provider, 6);
    let mut killed = start(&place, &["run", "--run-id", "killed", "-q"]);
    let mut other = start(&place, &["run", "--run-id", "other", "-q"]);
    wait_for_requests(&provider, &mut killed, after);
    killed.kill().unwrap_or_default();
    killed.wait().unwrap();
    assert_eq!(other.wait().unwrap().code(), Some(code));
    let made = provider.requests();
    assert!(made <= calls + AT_ONCE, "{made} calls, and {calls} of one process");
    assert_eq!(figures(&place, "other", false), figures(&whole, "v", false));
}

/// X1: a vote whose call failed is an error that `retry` repeats; the others stay paid, and only the failed one is asked for.
#[test]
fn a_failed_vote_is_asked_for_again() {
    let fails = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_broken = fails.clone();
    let provider = FakeProvider::start(Script::by(move |received| {
        let is_second_judge = received.json()["model"] == "k";
        let is_drawn = blake3::hash(&received.body).as_bytes()[2].is_multiple_of(5);
        match is_second_judge && is_drawn && is_broken.load(std::sync::atomic::Ordering::Relaxed) {
            true => Behaviour::server_error(),
            false => replies(received),
        }
    }))
    .unwrap();
    let (whole, _, calls) = undisturbed(4);
    let place = Place::new();
    judged(&place, &provider, 4);
    finish(&place, &["run", "--run-id", "v", "-q", "--set", "run.retries=0"]);
    let broken = place.karat(&["report", "v", "--format", "json", "-o", "-"]).stdout;
    assert!(broken.contains("votes failed: ") && !broken.contains("votes could not be asked"), "{broken}");
    fails.store(false, std::sync::atomic::Ordering::Relaxed);
    let failed = provider.requests();
    assert!(failed <= calls, "a failed vote was asked once");
    finish(&place, &["resume", "v", "-q"]);
    assert_eq!(provider.requests(), failed, "resume repeats no failure");
    finish(&place, &["retry", "v", "-q"]);
    let (made, broken) = (provider.requests(), provider.requests() - failed);
    assert!(broken > 0 && made - broken <= calls, "{made} calls, {calls} undisturbed");
    let same = |place: &Place| {
        let figures = figures(place, "v", true);
        figures[0].as_array().unwrap().iter().map(|system| system["dimensions"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(same(&place), same(&whole));
}

/// Longer forms of the tests above.
mod long {
    use super::*;

    /// X1: the same for every ending, more than twenty times each.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn judgments_survive_every_ending_often() {
        for ending in [Ending::Budget, Ending::FullDisk, Ending::Int, Ending::Term, Ending::Kill, Ending::MaxCalls] {
            end_and_continue(ending, 24, 12, false);
        }
    }

    /// X7: also after many kills, and by a run that goes on while the other is killed.
    #[test]
    #[ignore = "minutes: scripts/test --long"]
    fn paid_calls_are_found_by_any_run_often() {
        for rounds in [1, 3, 7, 12] {
            end_and_continue(Ending::Kill, rounds, 10, true);
        }
        for after in 0..12 {
            one_of_two_is_killed(5 + after * 9);
        }
    }
}
