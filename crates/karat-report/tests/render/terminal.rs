use karat_analysis::testing::Sketch;
use karat_report::terminal::{self, LINES};
use karat_report::{json, markdown, page};
use karat_types::UncachedCost;
use serde_json::{Value, json};

use crate::Example;

#[test]
fn the_summary_of_the_example() {
    let files = ["report.html", "report.json"].map(|name| format!(".karat/runs/0198c2f4/{name}"));
    let text = terminal::render(Example::new().report());
    insta::assert_snapshot!(text + &terminal::files(&files));
}

#[test]
fn the_summary_of_a_large_run_is_short() {
    let mut sketch = Sketch::new(9, 2, 3).fill(5.0);
    for sample in 0..3 {
        sketch = sketch.error(sample, 0, "timeout").unscored(sample, 1).value(sample, 2, 9.0);
    }
    let example = Example::of(sketch.clusters(&["a", "b", "b"]).run());
    let files: Vec<String> = (0..30).map(|at| format!("report-{at}.md")).collect();
    let text = terminal::render(example.report()) + &terminal::files(&files);
    let lines = text.lines().count();
    assert!(lines <= LINES, "{lines}\n{text}");
    assert!(text.contains("6 more systems"), "{text}");
}

/// CL-22, invariant 13, money is integer: an estimate names its basis and what it leaves out; an unknown cost is not 0.
#[test]
fn an_estimate_names_its_basis() {
    let mut example = Example::new();
    let of = |example: &mut Example, change: &dyn Fn(&mut UncachedCost)| {
        change(example.context.estimate.as_mut().unwrap());
        let cost = serde_json::from_str::<Value>(&json::render(example.report()).unwrap()).unwrap()["cost"].take();
        (terminal::render(example.report()), markdown::render(example.report()).unwrap(), cost)
    };
    let (text, page, cost) = of(&mut example, &|estimate| estimate.sampled = true);
    assert!(text.contains("cost: estimate $0.075 to $0.75 (from a sample of rows);"), "{text}");
    assert!(page.contains("Estimate: ") && page.contains(" (from a sample of rows)"), "{page}");
    assert_eq!((&cost["estimated_cost_usd"], &cost["estimated_cost_sampled"]), (&json!(0.75), &json!(true)));
    let (text, _, cost) = of(&mut example, &|estimate| (estimate.per_cell[3], estimate.sampled) = (None, false));
    assert!(text.contains("estimate $0.075 to $0.75, plus costs unknown before the run;"), "{text}");
    assert_eq!((&cost["estimated_cost_usd"], &cost["estimated_cost_sampled"]), (&json!(null), &json!(false)));
    assert_eq!(cost["estimated_cost_range_usd"], json!(null));
    let (text, page, _) = of(&mut example, &|estimate| estimate.total = Default::default());
    assert!(text.contains("cost: estimate unknown before the run;"), "{text}");
    assert!(page.contains("Estimate: unknown before the run"), "{page}");
}

/// Of many reasons for a failed run the first are shown, with the number of others and the command that lists them.
#[test]
fn reasons_beyond_the_first_are_counted() {
    let mut example = Example::new();
    example.context.failures = (1..=5).map(|at| format!("reason {at}").into()).collect();
    let text = terminal::render(example.report());
    let told: Vec<&str> = text.lines().filter(|line| line.starts_with("failed: ")).collect();
    let more = format!("failed: and 2 more reasons; `karat gate {}` lists them all", example.run.header.id);
    assert_eq!(told, ["failed: reason 1", "failed: reason 2", "failed: reason 3", more.as_str()]);
    example.context.failures.truncate(3);
    assert!(!terminal::render(example.report()).contains("more reasons"));
}

#[test]
fn nothing_acts_on_a_terminal() {
    let mut run = karat_analysis::testing::example();
    run.samples.iter_mut().for_each(|sample| sample.id.push_str(karat_analysis::testing::HOSTILE));
    let text = terminal::render(Example::of(run).report());
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(!text.contains('\u{202e}'));
}

/// F60: terminal, report.md, page and JSON say in the same words which prompt to choose, or what is missing to decide it.
#[test]
fn every_format_has_the_same_answer() {
    let sketch = |second: usize| {
        let mut sketch = Sketch::new(1, 2, 40).metric("binary", json!(true)).metric("range", json!([0, 1]));
        for sample in 0..40 {
            let pass = |at: usize| f64::from(u8::from(sample < at));
            sketch = sketch.value(sample, 0, pass(20)).value(sample, 1, pass(second));
        }
        Example::of(sketch.run())
    };
    for (second, beginning) in [(38, "Prefer "), (22, "Undecided: ")] {
        let example = sketch(second);
        let document: Value = serde_json::from_str(&json::render(example.report()).unwrap()).unwrap();
        let answer = document["summary"]["answers"][0]["answer"].as_str().unwrap();
        assert!(answer.starts_with(beginning), "{answer}");
        assert_eq!(answer.contains(" more samples would show a difference of "), second == 22, "{answer}");
        let shown = terminal::render(example.report());
        assert!(shown.lines().take(10).any(|line| line.starts_with(&format!("Which variant? {answer}"))), "{shown}");
        let report = markdown::render(example.report()).unwrap();
        assert!(report.lines().take(10).any(|line| line.starts_with("- **Which variant?** ")), "{report}");
        let page = page::file(example.report()).unwrap();
        assert!(page.contains("<strong>Which variant?</strong>"), "{page}");
        assert!(report.contains("## Variant × sample"), "{report}");
    }
}

/// F64: a score is written alike in the terminal, in report.md and on the page; times and money have their unit; a sample that
/// is as hard as all others is not named.
#[test]
fn figures_have_one_spelling() {
    let mut run = Sketch::new(1, 2, 40).metric("binary", json!(true)).metric("range", json!([0, 1])).fill(1.0).run();
    let level = Example::of(run.clone());
    assert!(!terminal::render(level.report()).contains("Hardest sample"), "{}", terminal::render(level.report()));
    run.cells[0].cell.scores = vec![(0, karat_types::Score::value(0.0))];
    let one = Example::of(run);
    let shown =
        [terminal::render(one.report()), markdown::render(one.report()).unwrap(), page::file(one.report()).unwrap()];
    for text in &shown {
        assert!(text.contains("0.975") && !text.contains("97.5 %"), "{text}");
    }
    assert!(shown[0].contains("Hardest sample"), "{}", shown[0]);
}

/// F64: a suite that measures only time has an answer, with its unit, and no score beside it; the canonical form has none.
#[test]
fn a_suite_of_time_alone_has_an_answer() {
    let mut sketch = Sketch::new(1, 2, 40).metric("better", json!("lower")).metric("volatile", json!(true));
    for sample in 0..40 {
        sketch = sketch.value(sample, 0, 900.0 + sample as f64).value(sample, 1, 400.0 + sample as f64);
    }
    let mut run = sketch.run();
    let plan = std::sync::Arc::make_mut(&mut run.header.plan);
    plan.scorers[0].kind =
        karat_types::ScorerKind::Metric { metric: "latency".to_owned(), with: serde_json::Map::new() };
    let mut example = Example::of(run);
    let shown = terminal::render(example.report());
    assert!(shown.contains("Which variant? Prefer ") && shown.contains(" ms"), "{shown}");
    example.context.canonical = true;
    let canonical = terminal::render(example.report());
    assert!(!canonical.contains("Which variant?"), "{canonical}");
}
