//! Flags and variables: their meaning, alone and together.

use std::fs::File;
use std::process::Stdio;

use serde_json::Value;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{CommandOutput, Place, questions, suite};

fn place() -> (Place, FakeProvider) {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    place.write("karat.yaml", &suite(&provider.base_url()));
    (place, provider)
}

/// Runs a command with variables.
fn with(place: &Place, variables: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    CommandOutput::of(place.command(arguments).envs(variables.iter().copied()).output().unwrap())
}

/// contract: `-o -` alone is one form; several forms on stdout are refused before anything is made.
#[test]
fn several_formats_on_stdout_are_refused_before_the_run() {
    let (place, _provider) = place();
    let page = place.succeed(&["run", "--run-id", "a", "-o", "-"]).stdout;
    assert!(page.starts_with("# Evaluation report: bench"), "{page}");
    assert_eq!(page, place.succeed(&["report", "a", "-o", "-"]).stdout);
    for more in [&["--format", "both"][..], &["--format", "md,csv"], &["--json"]] {
        let refused = place.karat(&[&["run", "--no-cache", "--run-id", "b", "-o", "-"], more].concat());
        assert_eq!(refused.code, 1, "{}", refused.all());
        assert_eq!(place.karat(&["show", "b"]).code, 1, "the run was made: {}", refused.all());
    }
    assert_eq!(place.karat(&["score", "a", "--run-id", "c", "-o", "-", "--format", "both"]).code, 1);
    assert_eq!(place.karat(&["show", "c"]).code, 1);
}

/// A reader may close the pipe at any time; any other write error is reported.
#[test]
fn a_write_error_on_stdout_is_reported_but_a_closed_pipe_is_not() {
    let (place, _provider) = place();
    place.succeed(&["run", "-q", "--run-id", "a"]);
    for arguments in [&["report", "a", "--format", "json", "-o", "-"][..], &["export", "csv", "a", "-o", "-"], &["ls"]]
    {
        let to = |stdout: Stdio| {
            let output = place.command(arguments).stdout(stdout).stderr(Stdio::piped()).output().unwrap();
            CommandOutput::of(output)
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let closed = to(writer.into());
        assert_eq!((closed.code, closed.stderr.as_str()), (0, ""));
        let full = to(File::create("/dev/full").unwrap().into());
        assert_eq!(full.code, 1);
        assert!(full.stderr.starts_with("error: writing to stdout: "), "{}", full.stderr);
    }
}

/// contract: `plan` = `run --dry-run`, also as JSON.
#[test]
fn a_dry_run_is_the_plan() {
    let (place, _provider) = place();
    let plan = place.succeed(&["plan", "--json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&plan).unwrap()["cells"]["planned"], 3);
    assert_eq!(place.succeed(&["run", "--dry-run", "--json"]).stdout, plan);
}

/// contract: the settings that CI needs have a variable; that of a switch is yes or no, and a wrong value names it.
#[test]
fn a_variable_sets_a_flag() {
    let (place, provider) = place();
    for (variable, value) in [("KARAT_NO_CACHE", "maybe"), ("KARAT_LIMIT", "many")] {
        let refused = with(&place, &[(variable, value)], &["run", "--run-id", "a"]);
        assert!(refused.code == 1 && refused.stderr.contains(variable), "{}", refused.all());
        assert_eq!(place.karat(&["show", "a"]).code, 1, "{}", refused.all());
    }
    with(&place, &[("KARAT_NO_CACHE", "0"), ("KARAT_RUN_ID", "a")], &["run"]);
    place.succeed(&["show", "a"]);
    assert_eq!(with(&place, &[("KARAT_NO_CACHE", "yes"), ("KARAT_LIMIT", "2")], &["run"]).code, 0);
    assert_eq!(provider.requests(), 5);
}

/// contract: `.env` then `.env.local` are read, the process environment wins, and the command line wins over all.
#[test]
fn the_command_line_wins_over_variables() {
    let (place, _provider) = place();
    place.write(".env", "KARAT_LIMIT=1\nKARAT_FORMAT=json\n");
    let samples =
        |result: &CommandOutput| serde_json::from_str::<Value>(&result.stdout).unwrap()["totals"]["samples"].as_u64();
    assert_eq!(samples(&with(&place, &[], &["run", "-o", "-"])), Some(1));
    place.write(".env.local", "KARAT_LIMIT=2\n");
    assert_eq!(samples(&with(&place, &[], &["run", "-o", "-"])), Some(2));
    assert_eq!(samples(&with(&place, &[("KARAT_LIMIT", "3")], &["run", "-o", "-"])), Some(3));
    assert_eq!(samples(&with(&place, &[("KARAT_LIMIT", "3")], &["run", "--limit", "1", "-o", "-"])), Some(1));
    assert!(with(&place, &[], &["run", "-o", "-", "--format", "md"]).stdout.starts_with("# "));
}

/// STYLE: a negative number is out of range, not another flag.
#[test]
fn a_negative_number_is_refused_with_its_range() {
    let (place, _provider) = place();
    for (flag, range) in
        [("--budget-usd", "0 or more"), ("--max-concurrency", "from 1 to 65535"), ("--trials", "from 1 to 10000")]
    {
        let result = place.karat(&["run", flag, "-1"]);
        assert!(result.code == 1 && result.stderr.contains(range), "{}", result.all());
    }
}

/// contract: a run is resumed over its own rows; a different selection of rows is reported as that, not as changed
/// data.
#[test]
fn a_refused_resume_names_other_rows() {
    let (place, _provider) = place();
    place.succeed(&["run", "--run-id", "a"]);
    let result = place.karat(&["run", "--resume", "--run-id", "a", "--limit", "2"]);
    let what = "which rows are selected (it was started with 3, now there are 2) changed";
    assert!(result.code == 1 && result.stderr.contains(what), "{}", result.all());
    place.write("data.jsonl", &questions(4));
    assert!(place.karat(&["run", "--resume", "--run-id", "a"]).stderr.contains("the dataset changed"));
}

/// contract: a refused resume names only what differs, and no setting that may change between the parts of a run.
#[test]
fn a_refused_resume_names_what_differs() {
    let (place, provider) = place();
    let own = suite(&provider.base_url());
    place.succeed(&["run", "--run-id", "a"]);
    let refused = |more: &[&str], changed: &str| {
        let result = place.karat(&[&["run", "--resume", "--run-id", "a"], more].concat());
        let what = format!("cannot be resumed: {changed} changed since");
        assert!(result.code == 1 && result.stderr.contains(&what), "{more:?}: {}", result.all());
    };
    refused(&["--trials", "2"], "the trials");
    refused(&["--set", "run.seed=7"], "the seed");
    refused(&["--set", "scorers.hit.value=x"], "the scorers");
    refused(&["--set", "privacy.redact=[email]"], "`privacy`");
    refused(&["--sample", "q1,q2"], "which rows are selected (it was started with 3, now there are 2)");
    place.write("data.jsonl", &questions(4));
    let harmless = ["--retries=2", "--timeout=9s", "--judge-timeout=9s", "-j3", "--budget-usd=9", "--max-calls=9"];
    for flag in harmless.into_iter().chain(["--set=scorers.hit.about=x", "--set=scorers.hit.margin=0.1"]) {
        refused(&[flag], "the dataset");
    }
    place.write("karat.yaml", &own.replace("input: 1.0", "input: 9.0"));
    refused(&[], "the dataset");
    place.write("data.jsonl", &questions(3));
    place.succeed(&["run", "--resume", "--run-id", "a"]);
    let two = "variants: { other: [ { prompt: { text: \"{{ sample.question }}!\" } } ], direct";
    place.write("karat.yaml", &own.replace("variants: { direct", two));
    refused(&["--retries=2"], "the variants");
    place.write("karat.yaml", &own.replace("mock-model", "other-model"));
    refused(&["--retries=2"], "the models");
}
