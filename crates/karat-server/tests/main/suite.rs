//! Runs for tests of pages: two systems that echo their input, one of which must read it as JSON, and a judge that quotes.

use std::fs;
use std::sync::Arc;

use karat_app::{App, CallRecording, Execution, Invocation, Overrides, RunEnd, Stop};
use karat_types::SilentObserver;
use serde_json::json;

const SUITE: &str = "
name: NAME
dataset: { source: data.jsonl, id: id, input: q, reference: gold }
models: [ { id: echo, provider: scripted, with: { reply: '{{ user }}' } } ]
registry: [models.yaml]
judges: [reader]
variants:
  plain: [ { prompt: { text: '{{ sample.q }}' } } ]
  json: [ { prompt: { text: '{{ sample.q }}' }, parse: { as: json } } ]
scorers:
  hit: { metric: contains }
  f1: { metric: token_f1 }
  quality: { rubric: { ask: Is it good?, show: { answer: '{{ output }}' }, dimensions: { good: { scale: [0, 10] } } } }
gates: [ { id: hits, metric: hit, min: 0.9 } ]
";

const MODELS: &str = "
schema: karat.models/1
as_of: 2026-06-01
models:
  - { id: reader, provider: scripted, context_window: 2000000, with: { reply: judge.j2 } }
";

const JUDGE: &str = r#"{"code": {{ code | json }}, "scores": {"good": 7}, "reasoning": {{ ("It says " ~ fenced("ANSWER", "nothing")) | json }}}"#;

/// A sample: its id, its input, and its reference.
pub(crate) type Sample<'a> = (&'a str, &'a str, &'a str);

/// Writes a suite with these samples and runs it.
pub(crate) fn run(app: &App, id: &str, samples: &[Sample<'_>]) -> RunEnd {
    run_suite(app, id, "listed", samples, Overrides::default())
}

/// Writes a suite of this name with these samples and runs it with overrides.
pub(crate) fn run_suite(app: &App, id: &str, name: &str, samples: &[Sample<'_>], overrides: Overrides) -> RunEnd {
    let folder = app.home.join("suite");
    fs::create_dir_all(&folder).unwrap();
    let rows = samples.iter().map(|(id, q, gold)| format!("{}\n", json!({ "id": id, "q": q, "gold": gold })));
    let suite = SUITE.replace("NAME", &serde_json::to_string(name).unwrap());
    for (file, text) in [
        ("data.jsonl", rows.collect::<String>().as_str()),
        ("karat.yaml", &suite),
        ("models.yaml", MODELS),
        ("judge.j2", JUDGE),
    ] {
        fs::write(folder.join(file), text).unwrap();
    }
    let path = folder.join("karat.yaml").display().to_string();
    let invocation = Invocation { overrides, ..Invocation::of(&path) };
    let execution = Execution {
        run_id: Some(id.to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::default(),
        tape: CallRecording::None,
    };
    let plan = app.runs().load(&invocation).unwrap_or_else(|error| panic!("{error}"));
    app.runs().run(plan, &invocation, execution).unwrap_or_else(|error| panic!("{error}"))
}

/// Samples `s000`, `s001`, … with inputs of which every third is JSON, and every second has its reference.
pub(crate) fn samples(count: usize) -> Vec<(String, String, String)> {
    let input =
        |at: usize| if at.is_multiple_of(3) { format!("{{\"word\": \"w{at}\"}}") } else { format!("word w{at}") };
    let gold = |at: usize| if at.is_multiple_of(2) { format!("w{at}") } else { "nothing like it".to_owned() };
    (0..count).map(|at| (format!("s{at:03}"), input(at), gold(at))).collect()
}

/// Borrows samples.
pub(crate) fn borrowed(samples: &[(String, String, String)]) -> Vec<Sample<'_>> {
    samples.iter().map(|(id, q, gold)| (id.as_str(), q.as_str(), gold.as_str())).collect()
}
