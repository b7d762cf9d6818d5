//! Shards and their merging: the merged run is that of one process, and what does not fit is refused.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use karat_app::{
    App, AppError, Completeness, Execution, GateRequest, Invocation, MergeRequest, Outputs, Overrides, RunEnd, Stop,
};
use karat_types::{Event, Exit, Observer, ReportFormat, RunStatus, Shard};
use testkit::Scratch;

use crate::place::{app, execution};

/// Clusters, two models, a step that all samples share, a chain, a judge, a comparison of variants, trials, gates.
const SUITE: &str = "name: sharded
dataset: { source: rows.jsonl, id: id, input: q, reference: a, cluster: group }
models:
  - { id: m, provider: scripted, price: { input: 1, output: 2 }, with: { reply: 'Re: {{ prompt }}' } }
  - { id: n, provider: scripted, price: { input: 2, output: 1 }, with: { reply: 'No: {{ prompt }}' } }
judges: [ { id: j, provider: stub, model: s, json_mode: schema } ]
variants:
  direct: [ { prompt: { text: 'Say {{ sample.q }}' } } ]
  chain:
    - { id: rules, prompt: { text: 'What are the rules?' } }
    - { id: final, prompt: { text: 'Answer {{ sample.q }} by {{ output }}' } }
  column: [ { recorded: { column: a } } ]
scorers:
  hit: { metric: contains }
  long: { metric: length }
  good: { rubric: { ask: 'Is it good?', dimensions: { fine: { scale: [1, 5] } } } }
gates: [ { metric: hit, min: 0.1 } ]
run: { trials: 2, max_concurrency: 4, budget_usd: 50, seed: 7 }
";

fn rows(count: u64) -> String {
    let row = |row: u64| match row % 6 {
        5 => format!("{{\"id\":\"s{row}\",\"q\":\"q{row}\",\"a\":\"q{row}\"}}\n"),
        _ => format!("{{\"id\":\"s{row}\",\"q\":\"q{row}\",\"a\":\"q{}\",\"group\":\"g{}\"}}\n", row % 9, row / 4),
    };
    (0..count).map(row).collect()
}

struct World(Scratch);

impl World {
    fn new(count: u64) -> Self {
        let folder = testkit::scratch().unwrap();
        folder.write("rows.jsonl", rows(count)).unwrap();
        folder.write("karat.yaml", SUITE).unwrap();
        Self(folder)
    }

    fn app(&self, store: &str) -> App {
        app(&self.0.path().join(store))
    }

    fn path(&self, store: &str) -> String {
        self.0.path().join(store).to_str().unwrap().to_owned()
    }

    fn suite(&self) -> Invocation {
        Invocation::of(self.0.path().join("karat.yaml").to_str().unwrap())
    }

    fn sharded(&self, shard: Option<Shard>) -> Invocation {
        let suite = self.suite();
        Invocation { overrides: Overrides { shard, ..suite.overrides.clone() }, ..suite }
    }

    /// Runs a shard, or all, in a store of its own.
    fn run(&self, store: &str, shard: Option<Shard>, execution: Execution) -> RunEnd {
        let (app, invocation) = (self.app(store), self.sharded(shard));
        app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution).unwrap()
    }

    fn shards(&self, count: u32) -> Vec<String> {
        let run = |number| {
            let store = format!("{count}-{number}");
            let end = self.run(&store, Shard::new(number, count), execution("r"));
            assert_eq!((end.status, end.exit()), (RunStatus::Finished, Exit::Pass));
            self.path(&store)
        };
        (1..=count).map(run).collect()
    }

    fn merge(&self, store: &str, paths: &[String], needs: Completeness) -> Result<RunEnd, AppError> {
        let request = MergeRequest { paths: paths.to_vec(), needs, ..MergeRequest::default() };
        self.app(store).imports().merge(&request)
    }

    fn refusal(&self, paths: &[String], needs: Completeness) -> String {
        let error = self.merge("refused", paths, needs).unwrap_err();
        format!("{error}: {}", error.hint().unwrap_or_default())
    }
}

fn report(app: &App, format: ReportFormat, canonical: bool) -> String {
    let mut report = Vec::new();
    app.reports().export("r", format, Outputs::default(), canonical, &mut report).unwrap();
    String::from_utf8(report).unwrap()
}

fn canonical(app: &App) -> String {
    report(app, ReportFormat::Json, true)
}

/// Stops a run after some cells.
struct StopAfter {
    cells: AtomicU64,
    most: u64,
    stop: Stop,
}

impl Observer for StopAfter {
    fn on_event(&self, event: &Event<'_>) {
        if matches!(event, Event::CellFinished(_)) && self.cells.fetch_add(1, Ordering::Relaxed) + 1 >= self.most {
            self.stop.set();
        }
    }
}

fn stopped_after(most: u64) -> Execution {
    let stop = Stop::new();
    let observer = StopAfter { cells: AtomicU64::new(0), most, stop: stop.clone() };
    Execution { observer: Arc::new(observer), stop, ..execution("r") }
}

fn shard(number: u32, count: u32) -> Option<Shard> {
    Shard::new(number, count)
}

/// SC-01, SC-02: the merged shards have the canonical report of one process, with clusters, trials, several systems, judges
/// and shared steps; every command about runs takes the merged one. Each cell is made once, a shared step once a shard.
#[test]
fn a_merged_run_has_the_report_of_one_process() {
    let world = World::new(37);
    let whole = world.run("whole", None, execution("r"));
    let expected = canonical(&world.app("whole"));
    for count in [1, 2, 5, 40] {
        let paths = world.shards(count);
        let target = format!("merged-{count}");
        let end = world.merge(&target, &paths, Completeness::Whole).unwrap();
        let app = world.app(&target);
        assert_eq!((end.status, end.exit(), end.run.as_str()), (RunStatus::Finished, Exit::Pass, "r"));
        assert!(
            end.calls >= whole.calls && end.calls <= whole.calls + 4 * u64::from(count - 1),
            "{count}: {}",
            end.calls
        );
        assert_eq!(canonical(&app), expected, "{count}");
        assert_eq!(app.analysis().gate("r", &GateRequest::default()).unwrap().exit, Exit::Pass);
        let again = world.merge(&target, &paths, Completeness::Whole).unwrap();
        assert_eq!((again.calls, again.spent), (end.calls, end.spent), "merging is idempotent");
        assert!(again.notice.unwrap().contains("nothing is new"));
        assert_eq!(canonical(&app), expected);
        let none = Invocation::default();
        let resumed = app.runs().resume("r", &none, Execution { run_id: None, ..execution("r") }).unwrap();
        assert_eq!((resumed.status, resumed.calls), (RunStatus::Finished, 0));
        assert!(app.stored().check().unwrap().is_sound());
        assert_eq!(app.views().runs(9).unwrap()[0].shard, None);
    }
}

/// SC-01: a shard says what it is, decides no gate, and is not taken for a whole run.
#[test]
fn a_shard_is_one_part() {
    let world = World::new(12);
    let suite = SUITE.replace("min: 0.1", "min: 1");
    world.0.write("karat.yaml", &suite).unwrap();
    world.run("one", shard(1, 2), execution("r"));
    let app = world.app("one");
    let (summary, exit) = app.reports().summary("r").unwrap();
    assert_eq!(exit, Exit::Pass, "{summary}");
    for format in [ReportFormat::Markdown, ReportFormat::Html] {
        let text = report(&app, format, false);
        assert!(text.contains("shard 1/2") && text.contains("one part of a run"), "{text}");
    }
    let document: serde_json::Value = serde_json::from_str(&report(&app, ReportFormat::Json, true)).unwrap();
    assert_eq!((&document["run"]["shard"], &document["verdict"]), (&"1/2".into(), &serde_json::Value::Null));
    assert!(document["verdict_note"].as_str().unwrap().contains("shard 1/2"));
    let line = &app.views().runs(1).unwrap()[0];
    assert_eq!((line.shard, line.cells), (shard(1, 2), line.planned));
    assert!(line.planned < 12 * 10);
    let said = |error: AppError| format!("{error}: {}", error.hint().unwrap_or_default());
    for refused in [
        said(app.analysis().gate("r", &GateRequest::default()).unwrap_err()),
        said(app.analysis().pin("r", Some("baseline.json")).unwrap_err()),
        said(app.runs().score("r", &karat_app::Rescoring::default(), execution("again")).err().unwrap()),
    ] {
        assert!(refused.contains("shard 1/2") && refused.contains("`karat merge`"), "{refused}");
    }
    let other = |shard| {
        let invocation = world.sharded(shard);
        let execution = Execution { resume: true, ..execution("r") };
        said(app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution).err().unwrap())
    };
    for (shard, named) in [(shard(2, 2), "shard 2/2"), (shard(1, 3), "shard 1/3"), (None, "the whole plan")] {
        let refused = other(shard);
        assert!(refused.contains("it is of shard 1/2") && refused.contains(named), "{refused}");
    }
}

/// SC-02: a shard that was stopped is refused by number; `--partial` makes an interrupted run that `resume` completes, or a
/// later merge with the resumed shard. Both have the report of one process, and no finished cell is made again.
#[test]
fn an_unfinished_shard_is_completed_in_either_store() {
    let world = World::new(24);
    let whole = world.run("whole", None, execution("r"));
    let expected = canonical(&world.app("whole"));
    let first = world.run("a", shard(1, 2), execution("r"));
    let stopped = world.run("b", shard(2, 2), stopped_after(20));
    assert_eq!(stopped.exit(), Exit::Interrupted);
    let paths = [world.path("a"), world.path("b")];
    let refused = world.refusal(&paths, Completeness::Whole);
    assert!(refused.contains("shard 2 of 2 is not finished") && refused.contains("--partial"), "{refused}");
    let partial = world.merge("here", &paths, Completeness::Partial).unwrap();
    assert_eq!((partial.status, partial.exit()), (RunStatus::Interrupted, Exit::Interrupted));
    assert!(partial.stopped.unwrap().contains("`karat resume r`"));
    assert_eq!(partial.calls, first.calls + stopped.calls);
    world.merge("there", &paths, Completeness::Partial).unwrap();
    let resume = |store: &str| {
        let execution = Execution { run_id: None, resume: true, ..execution("r") };
        world.app(store).runs().resume("r", &Invocation::default(), execution).unwrap()
    };
    let rest = resume("here");
    assert_eq!(rest.status, RunStatus::Finished);
    let shared = (rest.calls + partial.calls).checked_sub(whole.calls).unwrap();
    assert!(shared <= 4, "only the shared step may be made by both: {shared}");
    assert_eq!(canonical(&world.app("here")), expected);
    let end = resume("b");
    assert_eq!(end.status, RunStatus::Finished);
    assert_eq!(end.shard.map(|part| part.shard), shard(2, 2), "a shard is resumed as what it is");
    let merged = world.merge("there", &paths, Completeness::Whole).unwrap();
    assert_eq!((merged.status, merged.calls), (RunStatus::Finished, first.calls + stopped.calls + end.calls));
    assert_eq!(canonical(&world.app("there")), expected);
    let late = world.merge("here", &paths, Completeness::Whole).unwrap_err().to_string();
    assert!(late.contains("shard 2/2") && late.contains("differs in cell"), "{late}");
    assert_eq!(canonical(&world.app("here")), expected);
}

/// SC-02: parts of other runs are refused, and the message says in what they differ; so are missing shards, whole runs, and
/// paths without a store. Nothing is written.
#[test]
fn what_does_not_fit_is_refused() {
    let world = World::new(12);
    let paths = world.shards(3);
    let whole = Completeness::Whole;
    let says = |paths: &[String], parts: &[&str]| {
        let refused = world.refusal(paths, whole);
        assert!(parts.iter().all(|part| refused.contains(part)), "{parts:?}: {refused}");
    };
    says(&paths[..1], &["shards 2, 3 of 3 are missing", "--partial"]);
    says(&paths[1..], &["shard 1 of 3 is missing"]);
    world.run("other-count", shard(2, 4), execution("r"));
    says(&[paths[0].clone(), world.path("other-count")], &["the number of shards", "1/3", "2/4"]);
    world.run("complete", None, execution("r"));
    says(&[paths[0].clone(), world.path("complete")], &["is a whole run"]);
    world.run("renamed", shard(2, 3), execution("s"));
    says(&[paths[0].clone(), world.path("renamed")], &["there is no run r", "its shards: s", "--run-id"]);
    says(&[world.path("nowhere")], &["there is no store at"]);
    std::fs::create_dir(world.0.path().join("bare")).unwrap();
    says(&[world.path("bare")], &["there is not one store in the folder"]);
    // Killed as they started: before their tables, and before their run.
    std::fs::create_dir(world.0.path().join("unwritten")).unwrap();
    std::fs::write(world.0.path().join("unwritten/karat.db"), "").unwrap();
    drop(karat_store::Store::open(&world.app("unbegun").store).unwrap());
    for killed in ["unwritten", "unbegun"] {
        says(&[paths[0].clone(), world.path(killed), paths[1].clone()], &["shard 3 of 3 is missing"]);
        says(&[world.path(killed)], &["none of the stores has a run"]);
    }
    says(&["sqlite:".to_owned()], &["it has no path"]);
    let two = world.app("renamed");
    let invocation = world.sharded(shard(1, 3));
    two.runs().run(two.runs().load(&invocation).unwrap(), &invocation, execution("t")).unwrap();
    says(&[world.path("renamed")], &["which run is merged?", "s, t"]);
    for (name, change, differs) in [
        ("seeded", SUITE.replace("seed: 7", "seed: 8"), "the seed"),
        ("gated", SUITE.replace("min: 0.1", "min: 0.2"), "the gates"),
        ("asked", SUITE.replace("Say ", "Tell "), "the variants"),
        ("named", SUITE.replace("name: sharded", "name: other"), "the suite's name"),
    ] {
        world.0.write("karat.yaml", &change).unwrap();
        world.run(name, shard(2, 3), execution("r"));
        says(&[paths[0].clone(), world.path(name), paths[2].clone()], &[differs, "2/3"]);
    }
    world.0.write("karat.yaml", SUITE).unwrap();
    world.0.write("rows.jsonl", rows(13)).unwrap();
    world.run("longer", shard(2, 3), execution("r"));
    says(&[paths[0].clone(), world.path("longer")], &["the dataset"]);
    assert!(world.app("refused").views().runs(9).unwrap().is_empty(), "nothing was written");
    let target =
        world.app("complete").imports().merge(&MergeRequest { paths: paths.clone(), ..MergeRequest::default() });
    let taken = target.unwrap_err().to_string();
    assert!(taken.contains("it is not made of shards"), "{taken}");
    let same = [paths.clone(), paths[1..2].to_vec()].concat();
    world.merge("twice", &same, whole).unwrap();
    assert_eq!(canonical(&world.app("twice")).len(), {
        world.0.write("rows.jsonl", rows(12)).unwrap();
        canonical(&world.app("complete")).len()
    });
}

/// SC-02: a shard that was run twice from the beginning is refused with the cell, because both were paid.
#[test]
fn a_shard_that_was_run_twice_is_refused() {
    let world = World::new(12);
    let paths = world.shards(1);
    let text = std::fs::read_to_string(world.0.path().join("karat.yaml")).unwrap();
    world
        .0
        .write("karat.yaml", text.replace("price: { input: 1, output: 2 }", "price: { input: 3, output: 2 }"))
        .unwrap();
    world.run("again", shard(1, 1), execution("r"));
    let refused = world.refusal(&[paths[0].clone(), world.path("again")], Completeness::Whole);
    assert!(refused.contains("shard 1/1") && refused.contains("differs in cell 0 (s0/m/direct)"), "{refused}");
    assert!(world.app("refused").views().runs(9).unwrap().is_empty());
}

/// SC-01: the estimate of a shard is of its own rows, its budget a share of the suite's; the whole's is stored.
#[test]
fn a_shard_is_planned_by_itself() {
    let world = World::new(30);
    let app = world.app("one");
    let plan = |shard| app.runs().load(&world.sharded(shard)).unwrap();
    let estimate = |shard| app.runs().estimate(&plan(shard)).unwrap();
    let whole = estimate(None);
    let parts: Vec<_> = (1..=3).map(|number| estimate(shard(number, 3))).collect();
    assert_eq!(parts.iter().map(|part| part.cells).sum::<u64>(), whole.cells);
    assert_eq!(parts.iter().map(|part| part.fresh).sum::<u64>(), whole.fresh);
    let calls: u64 = parts.iter().map(|part| part.calls().0).sum();
    assert!(calls > whole.calls().0, "a shared step is made once a shard: {calls}");
    let tight = SUITE.replace("budget_usd: 50", "max_calls: 150");
    world.0.write("karat.yaml", &tight).unwrap();
    let invocation = world.sharded(shard(1, 3));
    let refused = app.runs().run(plan(shard(1, 3)), &invocation, execution("r")).err().unwrap();
    assert_eq!(refused.exit(), Exit::Budget, "{refused}");
    assert!(refused.to_string().contains("50"), "{refused}");
}

/// SC-01: a run that stops early looks at its samples in one order, which no shard sees.
#[test]
fn a_shard_does_not_stop_early() {
    let world = World::new(6);
    world.0.write("karat.yaml", SUITE.replace("seed: 7", "seed: 7, stop_early: true")).unwrap();
    let app = world.app("one");
    let invocation = world.sharded(shard(1, 2));
    let refused = app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution("r")).err().unwrap();
    let said = format!("{refused}: {}", refused.hint().unwrap_or_default());
    assert!(said.contains("run.stop_early") && said.contains("shard"), "{said}");
}

/// SC-01: a shard without samples is finished at once.
#[test]
fn an_empty_shard_is_finished() {
    let world = World::new(2);
    let paths = world.shards(20);
    let empty = paths.iter().filter(|path| {
        let app = app(Path::new(path));
        app.views().runs(1).unwrap()[0].planned == 0
    });
    assert!(empty.count() >= 18);
    assert_eq!(world.merge("merged", &paths, Completeness::Whole).unwrap().status, RunStatus::Finished);
}
