//! Progress on stderr where it is not a terminal.

use testkit::{Behaviour, Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};

fn lines<'a>(stderr: &'a str, start: &str) -> Vec<&'a str> {
    stderr.lines().filter(|line| line.starts_with(start)).collect()
}

/// CL-04: a short run prints no line for a cell, unless `--verbose` asks for it: then in the order of the plan.
#[test]
fn only_verbose_prints_a_line_for_each_cell() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(30));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let short = place.succeed(&["run", "--no-cache"]).stderr;
    assert!(lines(&short, "[").is_empty() && short.lines().count() < 10, "{short}");
    assert!(short.contains("30 cells") && short.contains(": 30 calls made, $"), "{short}");
    let verbose = place.succeed(&["run", "--no-cache", "--verbose"]).stderr;
    let cells = lines(&verbose, "[");
    assert_eq!(cells.len(), 30, "{verbose}");
    assert!(cells[0].starts_with("[1/30] q0 mock/direct ok ") && cells[29].starts_with("[30/30] "), "{verbose}");
    assert!(lines(&place.succeed(&["run", "-q", "--verbose", "--no-cache"]).stderr, "[").is_empty());
}

/// The first failures are printed as they happen, with their cause; more are only counted.
#[test]
fn the_first_failures_are_printed() {
    // A model that never replies is not called any more after four failures.
    let script = Script::by(|received| match received.json().to_string().contains("Question 0") {
        true => Behaviour::ok("answer 0"),
        false => Behaviour::status(400, "too long"),
    });
    let provider = FakeProvider::start(script).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(10));
    place.write("karat.yaml", &suite(&provider.base_url()));
    let failed = place.karat(&["run"]);
    let cells = lines(&failed.stderr, "[");
    assert_eq!((failed.code, cells.len()), (1, 5), "{}", failed.all());
    assert!(cells.iter().all(|line| line.contains("/10] q") && line.contains(" error ")), "{}", failed.all());
    assert!(failed.stderr.contains("`karat show --status error`"), "{}", failed.all());
    assert_eq!(place.succeed(&["show", "--status", "error"]).stdout.lines().count(), 10);
}

/// CL-04: a suite may format the line of a cell, as the preset claims does; the bill of scripted models says that
/// nothing was billed.
#[test]
fn a_suite_formats_the_line_of_a_cell() {
    let place = Place::new();
    let small = ["run", "claims", "--models", "sim-faithful", "--variants", "raw", "--no-gate", "--limit", "2"];
    let stderr = place.succeed(&small).stderr;
    let cells = lines(&stderr, "[cell ");
    assert_eq!(cells.len(), 2, "{stderr}");
    assert!(cells[0].starts_with("[cell 1/2] videoId=kr-") && cells[0].contains(" modelId=sim-faithful variant=raw "));
    assert!(cells[0].contains(" status=ok durationMs="), "{stderr}");
    assert!(stderr.contains(" simulated calls; nothing was billed ($0."), "{stderr}");
    let again = place.succeed(&small).stderr;
    assert!(again.contains(" status=cached ") && again.contains("0 calls made, $0 paid"), "{again}");
    let wrong = place.karat(&["validate", "claims", "--set", "run.cell_line='{smaple}'"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("did you mean `sample`?"), "{}", wrong.all());
}
