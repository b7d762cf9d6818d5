//! A judge cascade through all layers, with scripted judges.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use karat_app::{App, Invocation, Outputs};
use karat_store::Store;
use karat_types::{AskedJudge, CascadeDraw, ReportFormat, RunRows, RunStatus, Score};
use serde_json::{Value, json};

use crate::place::{app, execution};

/// The cheap judge grades by the first digit of the answer, which it overrates by 1; the expensive one is off by at most 1
/// in both directions, by the second digit.
const SUITE: &str = r#"
name: cascade
dataset: { source: data.jsonl, id: id, input: q }
models: [ { id: echo, provider: scripted, with: { reply: '{{ user }}' } } ]
judges:
  - id: dear
    provider: scripted
    price: { input: 0.1, output: 0.2 }
    with: { reply: '{"score": {{ ((user | split("grade "))[1][:1] | int) - 1 + ((user | split("grade "))[1][1:2] | int) }}, "reasoning": "dear"}' }
  - id: cheap
    provider: scripted
    price: { input: 0.01, output: 0.02 }
    with: { reply: '{"score": {{ (user | split("grade "))[1][:1] | int }}, "reasoning": "cheap"}' }
variants: { plain: [ { prompt: { text: '{{ sample.q }}' } } ] }
scorers:
  quality:
    rubric: { ask: How good is it?, dimensions: { score: { scale: [0, 10] } } }
    cascade: { first: cheap, share: 25%, unsure: first > 7 }
"#;

const ROWS: usize = 400;

/// First and second digit of a row.
fn digits(at: usize) -> (usize, usize) {
    (1 + at * 7 % 8, at * 11 % 3)
}

fn write(folder: &Path) -> String {
    write_rows(folder, ROWS)
}

fn write_rows(folder: &Path, rows: usize) -> String {
    let row = |at: usize| {
        let (first, second) = digits(at);
        format!("{}\n", json!({ "id": format!("s{at}"), "q": format!("grade {first}{second} for {at}") }))
    };
    fs::write(folder.join("data.jsonl"), (0..rows).map(row).collect::<String>()).unwrap();
    fs::write(folder.join("karat.yaml"), SUITE).unwrap();
    folder.join("karat.yaml").display().to_string()
}

fn run(app: &App, suite: &str, id: &str) {
    let invocation = Invocation::of(suite.to_owned());
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution(id)).unwrap();
}

/// Draw, first and expensive score of each sample by the scorer of this index and the one after it.
fn cells(app: &App, run: &str, scorer: u16) -> BTreeMap<String, (CascadeDraw, f64, Option<f64>)> {
    let store = Store::open(&app.store).unwrap();
    let rows = store.rows(run).unwrap();
    let mut cells = BTreeMap::new();
    let read = rows.for_each(&mut |row| {
        let of = |scorer: u16| row.judgments.iter().find(|it| it.scorer == scorer).unwrap();
        let number = |scorer: u16| of(scorer).scores[0].1.number();
        let (dear, first) = (of(scorer), number(scorer + 1).unwrap());
        let draw = dear.cascade.unwrap();
        assert_eq!(dear.is_asked(), !dear.calls.is_empty(), "only those that are asked are called");
        assert_eq!(draw.asked == AskedJudge::No, matches!(dear.scores[0].1, Score::NotApplicable { .. }));
        cells.insert(row.sample.id.clone(), (draw, first, number(scorer)));
        ControlFlow::Continue(())
    });
    read.unwrap();
    cells
}

fn report(app: &App, run: &str) -> Value {
    let mut report = Vec::new();
    app.reports().export(run, ReportFormat::Json, Outputs::default(), true, &mut report).unwrap();
    serde_json::from_slice(&report).unwrap()
}

fn asked(cells: &BTreeMap<String, (CascadeDraw, f64, Option<f64>)>, part: AskedJudge) -> Vec<&str> {
    cells.iter().filter(|(_, (draw, ..))| draw.asked == part).map(|(id, _)| id.as_str()).collect()
}

/// SL-20, SL-21: the expensive judge is asked where the first is unsure and for a random sample; the figure is the mean of
/// what it would say of every cell; a rerun asks the same cells and calls nobody.
#[test]
fn a_cascade_asks_part_and_estimates_all() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = write(folder.path());
    run(&app, &suite, "one");
    let one = cells(&app, "one", 0);
    assert_eq!(one.len(), ROWS);
    for (id, (draw, first, dear)) in &one {
        assert_eq!(draw.asked == AskedJudge::Unsure, *first > 7.0, "{id}");
        assert_eq!(draw.asked == AskedJudge::No, dear.is_none(), "{id}");
    }
    let (unsure, drawn) = (asked(&one, AskedJudge::Unsure).len(), asked(&one, AskedJudge::Drawn).len());
    assert!((40..=60).contains(&unsure) && (60..=120).contains(&drawn), "{unsure} {drawn}");
    let truth = (0..ROWS).map(|at| digits(at).0 as f64 - 1.0 + digits(at).1 as f64).sum::<f64>() / ROWS as f64;
    let found = report(&app, "one");
    let figure = &found["systems"][0]["dimensions"]["quality"];
    let (lo, hi) = (figure["ci"][0].as_f64().unwrap(), figure["ci"][1].as_f64().unwrap());
    assert!(lo <= truth && truth <= hi && hi - lo < 0.8, "{truth} {figure}");
    assert!((figure["value"].as_f64().unwrap() - truth).abs() < 0.25, "{truth} {figure}");
    assert_eq!((&figure["n"], &figure["method"]), (&json!(ROWS), &json!("cascade (regression, t)")));
    for cell in found["cells"].as_array().unwrap() {
        let (draw, ..) = &one[cell["sample"].as_str().unwrap()];
        let shown = cell["estimated"]["quality"].as_f64();
        assert_eq!(shown.is_some(), draw.asked == AskedJudge::No, "{cell}");
        assert_eq!(cell["scores"]["quality"]["value"].is_number(), draw.asked != AskedJudge::No);
    }
    run(&app, &suite, "two");
    assert_eq!(cells(&app, "two", 0), one, "a rerun asks the same cells");
    let again = report(&app, "two");
    assert_eq!(again["systems"][0]["dimensions"]["quality"], *figure);
}

/// A cascade over some rows, and what a run that nothing interrupts has of it.
struct Uninterrupted {
    rows: usize,
    calls: u64,
    cells: BTreeMap<String, (CascadeDraw, f64, Option<f64>)>,
    figures: [Value; 3],
}

impl Uninterrupted {
    fn of(rows: usize) -> Self {
        let folder = testkit::scratch().unwrap();
        let app = app(folder.path());
        run(&app, &write_rows(folder.path(), rows), "run");
        let (cells, figures) = (cells(&app, "run", 0), figures(&app, "run"));
        let asked = cells.values().filter(|(draw, ..)| draw.asked != AskedJudge::No).count();
        assert_eq!(figures[1..], [json!(rows), json!(asked)]);
        Self { rows, calls: (2 * rows + asked) as u64, cells, figures }
    }

    /// A run of the same that its limit of calls stops.
    fn stop(&self, calls: u64) -> testkit::Scratch {
        let folder = testkit::scratch().unwrap();
        let mut invocation = Invocation::of(write_rows(folder.path(), self.rows));
        invocation.overrides.max_calls = Some(calls);
        let app = app(folder.path());
        let end = app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution("run")).unwrap();
        assert_eq!(end.status, RunStatus::BudgetStopped, "{calls} of {} calls", self.calls);
        folder
    }

    fn assert_same(&self, folder: &Path, stopped: u64) {
        let app = app(folder);
        assert_eq!(cells(&app, "run", 0), self.cells, "stopped after {stopped} calls");
        assert_eq!(figures(&app, "run"), self.figures, "stopped after {stopped} calls");
    }
}

/// The systems' figures, and the calls of the first judge and of the expensive one.
fn figures(app: &App, run: &str) -> [Value; 3] {
    let found = report(app, run);
    let scorer = &found["analyses"]["cascade"]["scorers"][0];
    let calls = |part: &str| scorer[part]["calls"].clone();
    [found["systems"][0]["dimensions"].clone(), calls("first_spend"), calls("judge_spend")]
}

/// Continues a stopped run up to a number of calls, as a process of its own does.
fn resume(folder: &Path, calls: u64) -> RunStatus {
    let mut later = Invocation::default();
    later.overrides.max_calls = Some(calls);
    app(folder).runs().resume("run", &later, execution("run")).unwrap().status
}

/// SL-20: a run that was stopped and resumed has the judgments, draws and figures of one that was not.
#[test]
fn a_stopped_cascade_loses_no_judgment() {
    let whole = Uninterrupted::of(80);
    assert!(whole.cells.values().any(|(draw, ..)| draw.asked == AskedJudge::No));
    for stopped in (20..whole.calls).step_by(37) {
        let folder = whole.stop(stopped);
        assert_eq!(resume(folder.path(), whole.calls), RunStatus::Finished, "stopped after {stopped} calls");
        whole.assert_same(folder.path(), stopped);
    }
}

/// SL-20: so has a run that was stopped after each of its calls.
#[test]
fn a_cascade_can_be_stopped_after_any_call() {
    let whole = Uninterrupted::of(10);
    let folder = whole.stop(1);
    for calls in 2..whole.calls {
        assert_eq!(resume(folder.path(), calls), RunStatus::BudgetStopped, "stopped after {calls} calls");
    }
    assert_eq!(resume(folder.path(), whole.calls), RunStatus::Finished);
    whole.assert_same(folder.path(), whole.calls);
    for stopped in 2..whole.calls {
        let folder = whole.stop(stopped);
        assert_eq!(resume(folder.path(), whole.calls), RunStatus::Finished, "stopped after {stopped} calls");
        whole.assert_same(folder.path(), stopped);
    }
}

/// SL-23: calls, money and width stand in the report, as numbers and in one line.
#[test]
fn a_report_says_what_a_cascade_saves() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = write(folder.path());
    run(&app, &suite, "one");
    let found = &report(&app, "one")["analyses"]["cascade"]["scorers"][0];
    let one = cells(&app, "one", 0);
    let dear = one.values().filter(|(draw, ..)| draw.asked != AskedJudge::No).count();
    assert_eq!((&found["first"], &found["judges"]), (&json!("cheap"), &json!(["dear"])));
    assert_eq!((&found["first_spend"]["calls"], &found["judge_spend"]["calls"]), (&json!(ROWS), &json!(dear)));
    let usd = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap();
    let spent = usd("/first_spend/usd") + usd("/judge_spend/usd");
    assert!((usd("/all_usd") - usd("/judge_spend/usd") * ROWS as f64 / dear as f64).abs() < 1e-9);
    assert!((usd("/saved_usd") - (usd("/all_usd") - spent)).abs() < 1e-9 && usd("/saved_usd") > 0.0);
    let metric = &found["systems"][0]["metrics"][0];
    let ratio = metric["width_ratio"].as_f64().unwrap();
    assert!((1.0..2.0).contains(&ratio), "{metric}");
    let mut page = Vec::new();
    app.reports().export("one", ReportFormat::Markdown, Outputs::default(), true, &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let line = page.lines().find(|line| line.contains("cheap, ")).unwrap_or_else(|| panic!("{page}"));
    assert!(line.contains(&format!("{ROWS} cheap, {dear} dear; \\$")) && line.contains("× as wide"), "{line}");
}

/// SL-22: a gate on a cascade decides by its interval, also with `decide: point`, and refuses few answers.
#[test]
fn gates_on_a_cascade_decide_by_its_interval() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = write(folder.path());
    let gated = |min: f64, share: &str| {
        let gates = format!("gates: [ {{ metric: quality, min: {min} }} ]\n");
        let text = SUITE.replace("share: 25%", &format!("share: {share}"));
        fs::write(folder.path().join("karat.yaml"), format!("{text}{gates}")).unwrap();
    };
    let truth = (0..ROWS).map(|at| digits(at).0 as f64 - 1.0 + digits(at).1 as f64).sum::<f64>() / ROWS as f64;
    let verdict = |id: &str| {
        let found = report(&app, id);
        let gate = found["gates"].as_array().or(found["gates"]["decisions"].as_array()).unwrap()[0].clone();
        (gate["verdict"].as_str().unwrap().to_owned(), gate["decide"].clone(), gate["reason"].clone())
    };
    for (id, min, expected) in [("low", truth - 1.0, "pass"), ("high", truth + 1.0, "fail"), ("at", truth, "undecided")]
    {
        gated(min, "25%");
        run(&app, &suite, id);
        let (found, decide, reason) = verdict(id);
        assert_eq!((found.as_str(), &decide), (expected, &json!("interval")), "{reason}");
    }
    // Fewer rows than the floor needs: every sure cell is drawn with a high probability, but few are there.
    let rows: Vec<String> =
        fs::read_to_string(folder.path().join("data.jsonl")).unwrap().lines().take(45).map(str::to_owned).collect();
    fs::write(folder.path().join("data.jsonl"), rows.join("\n")).unwrap();
    gated(0.5, "25%");
    run(&app, &suite, "few");
    let (found, _, reason) = verdict("few");
    assert_eq!(found, "pass", "{reason}: of 45 cells all are asked, so nothing is estimated");
}

/// SL-30: the options of a plan, each with calls, price and precision: before any run by assumption, then by the last one;
/// what does not apply says why.
#[test]
fn a_plan_prices_its_options() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = write(folder.path());
    let hit = "  graded: { metric: contains, value: grade }";
    let text = format!("{SUITE}{hit}\ngates: [ {{ metric: graded, min: 0.8 }} ]\n");
    fs::write(folder.path().join("karat.yaml"), text).unwrap();
    let options = || {
        let plan = app.runs().load(&Invocation::of(suite.clone())).unwrap();
        let found = app.runs().options(&plan).unwrap();
        let by_name: BTreeMap<&str, _> = found.options.iter().map(|it| (it.option, it.clone())).collect();
        (found.run, by_name)
    };
    let calls = |it: &karat_app::PlanOption| it.calls.unwrap();
    let (run_before, before) = options();
    assert_eq!(run_before, None);
    let names = ["batch", "cascade", "early_at_last_effect", "early_at_threshold", "full"];
    assert_eq!(before.keys().copied().collect::<Vec<_>>(), names);
    assert_eq!(calls(&before["full"]).0, 2 * ROWS as u64, "an output and one judge a cell");
    // Without a run only the first score can tell which cells are unsure.
    let (least, most) = calls(&before["cascade"]);
    assert!(least >= 2 * ROWS as u64 + 60 && most >= 3 * ROWS as u64, "{least} {most}");
    let early = &before["early_at_last_effect"];
    assert!(calls(early).0 < calls(&before["full"]).1 && early.note.as_ref().unwrap().contains("no run of this suite"));
    assert!(before["batch"].calls.is_none() && before["batch"].note.is_some(), "scripted models have no batch API");
    assert!(before["cascade"].half_width > before["full"].half_width);

    run(&app, &suite, "one");
    let asked = cells(&app, "one", 0).values().filter(|(draw, ..)| draw.asked != AskedJudge::No).count() as u64;
    let text = fs::read_to_string(folder.path().join("karat.yaml")).unwrap();
    fs::write(
        folder.path().join("karat.yaml"),
        text.replace("cascade: {", "parameters: { temperature: 0.5 }\n    cascade: {"),
    )
    .unwrap();
    let (run_after, after) = options();
    assert_eq!(run_after.as_deref(), Some("one"));
    // Outputs are cached; the judges have other parameters now.
    let (least, most) = calls(&after["cascade"]);
    assert!(least.abs_diff(ROWS as u64 + asked) <= 40 && most >= least, "{least} {most} {asked}");
    assert!(calls(&after["early_at_last_effect"]).0 < calls(&after["early_at_threshold"]).0, "{after:?}");
    assert!(after["full"].half_width.is_some_and(|width| width > 0.0));
}

/// SL-03, SL-30: a gate on a change may be decided early, so a plan says that it has no forecast, not that the run goes to
/// its end; a gate on a cascade does keep the run going.
#[test]
fn a_plan_says_why_it_forecasts_no_early_stop() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = write_rows(folder.path(), 40);
    let note = |gate: &str| {
        let other = SUITE.replace("variants: {", "variants: { other: [ { prompt: { text: '{{ sample.q }}' } } ],");
        let text = format!("{other}  graded: {{ metric: contains, value: grade }}\ngates: [ {{ {gate} }} ]\n");
        fs::write(folder.path().join("karat.yaml"), text).unwrap();
        let found = app.runs().options(&app.runs().load(&Invocation::of(suite.clone())).unwrap()).unwrap();
        let early = found.options.into_iter().find(|it| it.option == "early_at_threshold").unwrap();
        early.note.unwrap()
    };
    let change = note("metric: graded, max_drop: 0.1, against: 'variant:plain'");
    assert!(change.contains("the forecast does not cover") && change.contains("a gate on a change"), "{change}");
    let cascade = note("metric: quality, min: 5");
    assert!(cascade.starts_with("the run goes to its end: ") && cascade.contains("quality has a cascade"), "{cascade}");
}

/// SL-30: the median that a plan forecasts is within 15 % of that of 50 runs that stop early, which differ by their seed.
#[test]
fn forecasts_of_early_stops_come_true() {
    const SAMPLES: usize = 150;
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let row = |at: usize| {
        format!("{}\n", json!({ "id": format!("s{at}"), "q": if at.is_multiple_of(5) { "no" } else { "yes" } }))
    };
    fs::write(folder.path().join("data.jsonl"), (0..SAMPLES).map(row).collect::<String>()).unwrap();
    let suite = folder.path().join("karat.yaml").display().to_string();
    let write = |seed: u64, stop: bool| {
        let text = format!(
            "name: early\ndataset: {{ source: data.jsonl, id: id, input: q }}\n\
             models: [ {{ id: echo, provider: scripted, with: {{ reply: '{{{{ user }}}}' }} }} ]\n\
             variants: {{ plain: [ {{ prompt: {{ text: '{{{{ sample.q }}}}' }} }} ] }}\n\
             scorers: {{ hit: {{ metric: contains, value: 'yes' }} }}\ngates: [ {{ metric: hit, min: 0.65 }} ]\n\
             run: {{ seed: {seed}, stop_early: {stop} }}\n"
        );
        fs::write(&suite, text).unwrap();
    };
    write(1, false);
    run(&app, &suite, "last");
    let plan = app.runs().load(&Invocation::of(suite.clone())).unwrap();
    let options = app.runs().options(&plan).unwrap().options;
    let early = options.iter().find(|it| it.option == "early_at_last_effect").unwrap();
    let (expected, _) = early.share.unwrap();
    let used = (0..50).map(|seed| {
        write(100 + seed, true);
        run(&app, &suite, &format!("run{seed}"));
        let stopped = report(&app, &format!("run{seed}"));
        stopped["stop_early"]["stopped_after"].as_u64().unwrap_or(SAMPLES as u64) as f64 / SAMPLES as f64
    });
    let mut used: Vec<f64> = used.collect();
    used.sort_by(f64::total_cmp);
    let seen = 0.5 * (used[24] + used[25]);
    assert!(seen < 0.9 && (expected / seen - 1.0).abs() <= 0.15, "forecast {expected}, runs {seen}");
}
