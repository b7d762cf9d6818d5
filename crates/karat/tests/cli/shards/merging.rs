//! Shards that run at the same time, one of them killed, and their merging.

use std::process::Child;
use std::time::Duration;

use testkit::{Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

const CELLS: usize = 120;

/// A place with questions to a provider that answers late.
fn place(provider: &FakeProvider) -> Place {
    let place = Place::new();
    place.write("data.jsonl", &questions(CELLS));
    let gates = "gates: [ { metric: hit, min: 0.9 } ]\n";
    place.write("s.yaml", &(suite(&provider.base_url()).replace("max_concurrency: 16, ", "") + gates));
    place
}

fn provider(milliseconds: u64) -> FakeProvider {
    let echo = Echo { latency: Duration::from_millis(milliseconds), ..Echo::default() };
    FakeProvider::start(Script::echo(echo)).unwrap()
}

fn start(place: &Place, number: usize) -> Child {
    let shard = format!("{number}/4");
    let store = format!("sqlite:s{number}/karat.db");
    let arguments =
        ["run", "s.yaml", "-q", "--shard", &shard, "--run-id", "r", "--store", &store, "-j", "4", "--resume"];
    let output = std::process::Stdio::null;
    place.command(&arguments).stdout(output()).stderr(output()).spawn().unwrap()
}

fn merge(place: &Place, flags: &[&str]) -> CommandOutput {
    place.karat(&[&["merge", "s1", "s2", "s3", "s4", "--run-id", "r", "-o", "out"], flags].concat())
}

fn whole(provider: &FakeProvider) -> (Place, String) {
    let place = place(provider);
    place.succeed(&["run", "s.yaml", "--run-id", "r"]);
    let report = place.canonical("r");
    (place, report)
}

/// SC-01, SC-02: four shards at once, merged, have the canonical report of one process, and made each call once. Merging again
/// changes nothing; the exit code is that of the gates, which no shard has decided.
#[test]
fn four_shards_are_one_run() {
    let provider = provider(2);
    let (_one, expected) = whole(&provider);
    assert_eq!(provider.requests(), CELLS);
    let place = place(&provider);
    let shards: Vec<Child> = (1..=4).map(|number| start(&place, number)).collect();
    for mut shard in shards {
        assert_eq!(shard.wait().unwrap().code(), Some(0));
    }
    assert_eq!(provider.requests(), 2 * CELLS, "calls = cells");
    let listed = place.succeed(&["ls", "--store", "sqlite:s2/karat.db"]).stdout;
    assert!(listed.contains("finished, shard 2/4"), "{listed}");
    let shown = place.succeed(&["show", "r", "--store", "sqlite:s2/karat.db"]);
    assert!(shown.stderr.contains("This run is shard 2/4, one part of a run"), "{}", shown.all());
    let gated = place.karat(&["gate", "r", "--store", "sqlite:s2/karat.db"]);
    assert!(gated.code == 1 && gated.stderr.contains("run r is shard 2/4"), "{}", gated.all());
    let merged = merge(&place, &[]);
    assert_eq!(merged.code, 0, "{}", merged.all());
    assert!(merged.stderr.contains("shards 1, 2, 3, 4 of 4 merged: 120 cells"), "{}", merged.all());
    assert!(merged.stderr.contains("run r: 120 calls made"), "{}", merged.all());
    assert!(place.text("out/report.md").contains("120 of 120 planned cells"));
    assert_eq!(place.canonical("r"), expected);
    let again = merge(&place, &[]);
    assert!(again.code == 0 && again.stderr.contains("merged before: nothing is new"), "{}", again.all());
    assert_eq!(place.canonical("r"), expected);
    assert_eq!(place.succeed(&["gate", "r"]).code, 0);
    place.succeed(&["resume", "r"]);
    place.succeed(&["retry", "r"]);
    assert_eq!(provider.requests(), 2 * CELLS, "nothing was left to make");
}

/// SC-02: a shard that was killed is refused by number, also with the copies of the others; resumed, it completes the run. So
/// does `resume` of a partial merge. Neither pays for a call that a store knows twice.
#[test]
fn a_killed_shard_is_resumed_and_merged() {
    let provider = provider(15);
    let (_one, expected) = whole(&provider);
    let before = provider.requests();
    let place = place(&provider);
    let mut shards: Vec<Child> = (1..=4).map(|number| start(&place, number)).collect();
    while provider.requests() < before + 20 {
        std::thread::sleep(Duration::from_millis(1));
    }
    shards[2].kill().unwrap();
    for shard in &mut shards {
        shard.wait().unwrap();
    }
    let refused = merge(&place, &[]);
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.stderr.contains("shard 3 of 4 is "), "{}", refused.all());
    assert!(place.succeed(&["ls"]).stdout.lines().count() <= 2, "nothing is merged");
    let missing = place.karat(&["merge", "s1", "s2", "s4", "--run-id", "r"]);
    assert!(missing.code == 1 && missing.stderr.contains("shard 3 of 4 is missing"), "{}", missing.all());
    let elsewhere = ["--store", "sqlite:partial/karat.db"];
    let partial = merge(&place, &[&["--partial"], &elsewhere[..]].concat());
    assert_eq!(partial.code, 130, "{}", partial.all());
    assert!(partial.stderr.contains("`karat resume r` makes the rest here"), "{}", partial.all());
    let known = provider.requests();
    let mut third = start(&place, 3);
    assert_eq!(third.wait().unwrap().code(), Some(0));
    let made = provider.requests() - known;
    assert_eq!(merge(&place, &[]).code, 0);
    assert_eq!(place.canonical("r"), expected);
    assert!(provider.requests() <= before + CELLS + 4, "{} calls", provider.requests() - before);
    let known = provider.requests();
    place.succeed(&[&["resume", "r"], &elsewhere[..]].concat());
    assert_eq!(provider.requests() - known, made, "what the partial merge had is not made again");
    let report = [&["report", "r", "--canonical", "--format", "json", "-o", "-"], &elsewhere[..]].concat();
    assert_eq!(place.succeed(&report).stdout, expected);
}

/// SC-01, SC-02: what no shard can be is refused, with the form; what no shard decides is refused with the reason.
#[test]
fn wrong_shards_are_refused() {
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    place.write("karat.yaml", &suite("http://127.0.0.1:9"));
    for wrong in ["0/4", "5/4", "a/b", "4", "1/0", ""] {
        let result = place.karat(&["run", "--shard", wrong]);
        assert!(result.code == 1 && result.stderr.contains("M/N"), "{wrong}: {}", result.all());
    }
    let alert = place.karat(&["run", "--shard", "1/2", "--alert"]);
    assert!(alert.code == 1 && alert.stderr.contains("--alert"), "{}", alert.all());
    let planned = place.succeed(&["plan", "--shard", "1/2"]).stdout;
    assert!(planned.contains("\nshard 1/2: ") && planned.contains("are paid once a shard"), "{planned}");
    let all = place.succeed(&["plan", "--shard", "1/1", "--json"]).stdout;
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    assert_eq!((&all["shard"], &all["samples"], &all["cells"]["planned"]), (&"1/1".into(), &3.into(), &3.into()));
    let no_store = place.karat(&["merge", "nowhere.db"]);
    assert!(no_store.code == 1 && no_store.stderr.contains("there is no store at nowhere.db"), "{}", no_store.all());
    place.write("text.db", "this is not a store, and long enough to be looked at as one");
    let foreign = place.karat(&["merge", "text.db"]);
    assert!(foreign.code == 1 && foreign.stderr.contains("text.db"), "{}", foreign.all());
}

/// SC-02: sources are only read, also from folders and files without the right to write.
#[test]
fn sources_are_only_read() {
    use std::os::unix::fs::PermissionsExt;
    let provider = provider(0);
    let place = place(&provider);
    for number in 1..=4 {
        assert_eq!(start(&place, number).wait().unwrap().code(), Some(0));
    }
    let mode = |path: &str, mode| {
        let path = place.path().join(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let bytes = || (1..=4).map(|number| std::fs::read(place.path().join(format!("s{number}/karat.db"))).unwrap());
    let before: Vec<Vec<u8>> = bytes().collect();
    for number in 1..=4 {
        mode(&format!("s{number}/karat.db"), 0o444);
        mode(&format!("s{number}"), 0o555);
    }
    let merged = merge(&place, &[]);
    assert_eq!(merged.code, 0, "{}", merged.all());
    assert!(bytes().eq(before), "a source was changed");
    (1..=4).for_each(|number| mode(&format!("s{number}"), 0o755));
}

/// SC-02: the exit code of a merge is that of the gates.
#[test]
fn a_merge_ends_as_the_gates_do() {
    let provider = provider(0);
    let place = place(&provider);
    let suite = place.text("s.yaml").replace("{ metric: hit, min: 0.9 }", "{ metric: hit, max: 0.1 }");
    place.write("s.yaml", &suite);
    for number in 1..=4 {
        assert_eq!(start(&place, number).wait().unwrap().code(), Some(0), "a shard decides no gate");
    }
    let merged = merge(&place, &[]);
    assert_eq!(merged.code, 2, "{}", merged.all());
}
