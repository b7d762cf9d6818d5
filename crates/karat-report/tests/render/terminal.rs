use karat_analysis::testing::Sketch;
use karat_report::terminal::{self, LINES};

use crate::Example;

#[test]
fn the_summary_of_the_example() {
    insta::assert_snapshot!(terminal::render(Example::new().report()));
}

#[test]
fn the_summary_of_a_large_run_is_short() {
    let mut sketch = Sketch::new(20, 2, 3).fill(5.0);
    for sample in 0..3 {
        sketch = sketch.error(sample, 0, "timeout").unscored(sample, 1).value(sample, 2, 9.0);
    }
    let mut example = Example::of(sketch.clusters(&["a", "b", "b"]).run());
    example.context.files = (0..30).map(|at| format!("report-{at}.md")).collect();
    let text = terminal::render(example.report());
    let lines = text.lines().count();
    assert!(lines <= LINES, "{lines}\n{text}");
    assert!(text.contains("25 more systems"), "{text}");
}

/// STYLE: of many reasons for a failure the first are told, with how many more there are and what lists them.
#[test]
fn reasons_beyond_the_first_are_counted() {
    let mut example = Example::new();
    example.context.failures = (1..=5).map(|at| format!("reason {at}")).collect();
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
