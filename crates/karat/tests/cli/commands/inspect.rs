//! Looking at stored runs.

use serde_json::Value;
use testkit::{Echo, FakeProvider, Script};

use crate::place::{Place, questions, suite};

/// CL-04: raw prompts and responses of each cell; `show` as table, TSV and JSON.
#[test]
fn cells_and_traces_can_be_seen() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    place.write("karat.yaml", &suite(&provider.base_url()));
    place.succeed(&["run", "--run-id", "a"]);
    let lines: Value = serde_json::from_str(&place.succeed(&["show", "a", "--format", "json"]).stdout).unwrap();
    assert_eq!(lines.as_array().unwrap().len(), 3);
    assert_eq!(lines[1]["sample"], "q1");
    assert_eq!(place.succeed(&["show", "--format", "tsv"]).stdout.lines().count(), 4);
    let trace = place.succeed(&["trace", "a", "q1/mock/direct"]).stdout;
    assert!(trace.contains("Question 1: [[answer 1]]") && trace.contains("answer 1"), "{trace}");
    let traced: Value = serde_json::from_str(&place.succeed(&["trace", "latest", "1", "--json"]).stdout).unwrap();
    let sent =
        provider.bodies().iter().any(|body| traced["calls"][0]["request"].as_str().unwrap().as_bytes() == &body[..]);
    assert!(sent, "the trace holds the bytes that were sent");
    assert!(place.succeed(&["ls"]).stdout.contains('a'));
    assert_eq!(place.karat(&["trace", "a", "nope"]).code, 1);
    assert_eq!(place.succeed(&["trace", "q1/mock/direct"]).stdout, trace, "the latest run is meant without one");
    assert_eq!(place.karat(&["show", "nope"]).code, 1);
}

/// S3: a pipe that is closed after the first lines ends `show` quietly; `--format cells` writes a file a cell.
#[test]
fn a_closed_pipe_ends_a_list_quietly() {
    use std::io::{BufRead, BufReader, Read};
    let place = Place::new();
    place.write("data.jsonl", &questions(3_000));
    let scripted = "{ id: mock, provider: scripted, with: { reply: 'answer' } }";
    let text = suite("http://unused");
    let (before, after) = text.split_once("{ id: mock").unwrap();
    let (_, after) = after.split_once("} } ]").unwrap();
    place.write("karat.yaml", &format!("{before}{scripted} ]{after}"));
    place.succeed(&["run", "--run-id", "a", "-q", "--format", "cells", "-o", "out"]);
    let cells = std::fs::read_dir(place.path().join("out/cells")).unwrap().count();
    let last: Value = serde_json::from_str(&place.text("out/cells/002999.json")).unwrap();
    assert_eq!((cells, &last["sample"]), (3_000, &"q2999".into()));
    for arguments in
        [&["show", "a"][..], &["show", "a", "--format", "json"], &["show", "a", "--outputs", "all", "--cells", "3000"]]
    {
        let mut command = place.command(arguments);
        let mut child =
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let mut messages = String::new();
        child.stderr.take().unwrap().read_to_string(&mut messages).unwrap();
        assert_eq!((child.wait().unwrap().code(), messages.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(!first.is_empty());
    }
}

const IN_PARTS: &str = r#"name: parts
dataset: { source: data.jsonl, id: id, input: text }
models: []
judges:
  - id: j
    provider: scripted
    context_window: 3000
    max_output: 500
    with: { reply: '{% if "cannot be used" in user or "town" not in user %}{"full": 4, "tidy": 5, "reasoning": "All of it.", "odd": []}{% else %}?{% endif %}' }
variants: { rec: [ { recorded: { column: text } } ] }
scorers:
  quality:
    votes: 2
    rubric:
      id: q
      ask: Grade it.
      show: { text: { value: "{{ sample.text }}", chunk: { tokens: 400 } } }
      dimensions: { full: { scale: [0, 10] }, tidy: { scale: [0, 10], chunks: once } }
      rationale: { field: reasoning }
"#;

/// CL-04, CL-14: a trace says of each judge's call which vote, part and re-ask it is.
#[test]
fn a_trace_numbers_the_calls_of_a_judgment() {
    let place = Place::new();
    place.write("karat.yaml", IN_PARTS);
    let text: String = (0..90).map(|at| format!("The harbour of town{at} counted {at} ships. ")).collect();
    place.write("data.jsonl", &format!("{}\n", serde_json::json!({ "id": "a", "text": text })));
    place.succeed(&["run", "-q"]);
    let trace = place.succeed(&["trace", "latest", "0"]).stdout;
    for wanted in [
        "(judge of quality, j, vote 1 of 2, part 1 of 3, 1 attempt,",
        "vote 1 of 2, beside the parts, 1 attempt,",
        "vote 2 of 2, part 3 of 3, re-ask 1, 1 attempt,",
    ] {
        assert_eq!(trace.matches(wanted).count(), 1, "{wanted}: {trace}");
    }
    assert_eq!(trace.matches("── call ").count(), 14);
    let traced: Value = serde_json::from_str(&place.succeed(&["trace", "latest", "0", "--json"]).stdout).unwrap();
    let call = &traced["calls"][5];
    assert_eq!((&call["vote"], &call["part"], &call["parts"]), (&2.into(), &2.into(), &3.into()), "{traced}");
}

/// CL-03: the registry has at least eight models of three providers, with prices or `unknown`.
#[test]
fn the_registry_is_listed() {
    let place = Place::new();
    let models: Value = serde_json::from_str(&place.succeed(&["models", "--json"]).stdout).unwrap();
    let models = models.as_array().unwrap();
    let providers: std::collections::BTreeSet<&str> =
        models.iter().filter_map(|model| model["provider"].as_str()).collect();
    assert!(models.len() >= 8 && providers.len() >= 3, "{} models, {providers:?}", models.len());
    assert!(place.succeed(&["models"]).stdout.contains("gpt-5"));
}

/// The published schemas are JSON, and the suite's names the language's keys.
#[test]
fn schemas_are_printed() {
    let place = Place::new();
    let schema: Value = serde_json::from_str(&place.succeed(&["schema", "suite"]).stdout).unwrap();
    assert!(schema["properties"]["variants"].is_object());
    let schema: Value = serde_json::from_str(&place.succeed(&["schema", "report"]).stdout).unwrap();
    assert!(schema["properties"]["leaderboards"].is_object());
}

/// BY-05: without history an output is taken to have a tenth of its bound to all of it, and so is what its judge reads.
#[test]
fn a_judges_input_is_a_range() {
    let place = Place::new();
    place.write("data.jsonl", &questions(2));
    let judged = suite("http://127.0.0.1:9/v1").replace("{ metric: contains }", "{ rubric: { ask: Is it good? } }");
    place.write("karat.yaml", &format!("{judged}judges: [gpt-4.1]\n"));
    let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
    let of = |role: bool| plan["models"].as_array().unwrap().iter().find(|it| it["judge"] == role).unwrap().clone();
    let (model, judge) = (of(false), of(true));
    let (least, most) = (judge["input_tokens"][0].as_u64().unwrap(), judge["input_tokens"][1].as_u64().unwrap());
    let shorter = model["output_tokens"][1].as_u64().unwrap() - model["output_tokens"][0].as_u64().unwrap();
    assert!(most - least >= shorter, "{plan}");
    assert!(place.succeed(&["plan", "--trials", "3"]).stdout.contains(" × 3 trials = "));
    assert!(!place.succeed(&["plan"]).stdout.contains("trials"));
}

/// CL-18: models with the same score are said to be level; none is called best or worst.
#[test]
fn a_tie_is_reported() {
    let provider = FakeProvider::start(Script::echo(Echo::default())).unwrap();
    let place = Place::new();
    place.write("data.jsonl", &questions(3));
    let one = suite(&provider.base_url());
    let entry = one.lines().find(|line| line.starts_with("models:")).unwrap();
    let inner = entry.trim_start_matches("models: [").trim_end_matches(']').to_owned();
    let two = format!("models: [{inner}, {}]", inner.replacen("id: mock", "id: twin", 1));
    place.write("karat.yaml", &one.replace(entry, &two));
    let result = place.succeed(&["run", "--run-id", "a"]);
    assert!(result.stdout.contains("All 2 models have the same score."), "{}", result.all());
    assert!(!result.stdout.contains("worst"), "{}", result.all());
    assert!(
        place
            .succeed(&["report", "a", "--format", "md", "-o", "-"])
            .stdout
            .contains("All 2 models have the same score.")
    );
}
