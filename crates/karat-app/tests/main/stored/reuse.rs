//! `plan`, `why` and `run` look at the same results.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use karat_app::{App, CallRecording, Execution, Invocation, Overrides, ReuseStatus, Stop};
use karat_store::Store;
use karat_types::{Event, Observer, OutputOrigin, RunRows, RunStatus};

use crate::place::app;

/// A suite whose variants share a step, with a judge. The model quotes its prompt, so each prompt has an output of its own;
/// `PROMPT` and `RUBRIC` are filled in.
const SUITE: &str = "name: shared
dataset: { source: rows.jsonl, id: id, input: q, reference: a }
models: [ { id: m, provider: scripted, price: { input: 0, output: 0 }, with: { reply: 'Re: {{ prompt }}' } } ]
judges: [ { id: j, provider: stub, model: s, json_mode: schema } ]
variants:
  direct: [ { prompt: { text: 'PROMPT {{ sample.q }}' } } ]
  again: [ { prompt: { text: 'PROMPT {{ sample.q }}' } } ]
  chain:
    - { id: draft, prompt: { text: 'PROMPT {{ sample.q }}' } }
    - { id: final, prompt: { text: 'Improve: {{ output }}' } }
  column: [ { recorded: { column: a } } ]
scorers: { hit: { metric: contains }, good: { rubric: { ask: 'RUBRIC' } } }
";

const ROWS: &str = r#"{"id":"s0","q":"zero","a":"nought"}
{"id":"s1","q":"one","a":"uno"}
{"id":"s2","q":"two","a":"dos"}
"#;

/// Which cells took their output from an earlier run.
#[derive(Default)]
struct Labels(Mutex<BTreeMap<u64, OutputOrigin>>);

impl Observer for Labels {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::CellFinished(cell) = event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(cell.ordinal, cell.reuse);
        }
    }
}

/// Runs a suite with this prompt and rubric, and gives the calls made and the label of each cell.
fn run(app: &App, id: &str, invocation: &Invocation) -> (u64, BTreeMap<u64, OutputOrigin>) {
    let labels = Arc::new(Labels::default());
    let execution = Execution {
        run_id: Some(id.to_owned()),
        resume: false,
        observer: labels.clone(),
        stop: Stop::default(),
        tape: CallRecording::None,
    };
    let end = app.runs().run(app.runs().load(invocation).unwrap(), invocation, execution).unwrap();
    assert_eq!(end.status, RunStatus::Finished);
    let labels = labels.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    (end.calls, labels)
}

fn is_there(standing: &ReuseStatus) -> bool {
    matches!(standing, ReuseStatus::Reused { .. } | ReuseStatus::Recorded)
}

/// BY-06: whatever is stored, the counts of `plan`, the answers of `why`, and what a run makes and calls are the same.
#[test]
fn plan_why_and_run_agree() {
    // Every single circumstance, and every pair of them.
    for case in (0..64_u32).filter(|case| case.count_ones() <= 2) {
        let is = |bit: u32| case & (1 << bit) != 0;
        let folder = testkit::scratch().unwrap();
        let app = app(folder.path());
        std::fs::write(folder.path().join("rows.jsonl"), ROWS).unwrap();
        let suite = folder.path().join("karat.yaml");
        let with = |overrides| Invocation { overrides, ..Invocation::of(suite.display().to_string()) };
        let write = |prompt: &str, rubric: &str| {
            std::fs::write(&suite, SUITE.replace("PROMPT", prompt).replace("RUBRIC", rubric)).unwrap();
        };

        write("Answer", "Is it good?");
        if is(0) {
            run(&app, "limited", &with(Overrides { limit: Some(2), ..Overrides::default() }));
        }
        if is(1) {
            run(&app, "chain", &with(Overrides { variants: vec!["chain".to_owned()], ..Overrides::default() }));
        }
        if is(0) && is(2) {
            app.stored().invalidate("limited", &["s1/m/direct".to_owned()], false, false).unwrap();
        }
        write(if is(3) { "Reply" } else { "Answer" }, if is(4) { "Is it true?" } else { "Is it good?" });
        let invocation = with(Overrides { no_cache: is(5), ..Overrides::default() });

        let plan = app.runs().load(&invocation).unwrap();
        let estimate = app.runs().estimate(&plan).unwrap();
        let cells: Vec<_> =
            (0..plan.header.cells()).map(|cell| app.runs().why(&plan, &cell.to_string()).unwrap()).collect();
        let judgments = cells.iter().flat_map(|cell| &cell.judgments);
        let (there, open): (Vec<_>, Vec<_>) = cells.iter().partition(|cell| is_there(&cell.standing));
        let (judged, unjudged): (Vec<_>, Vec<_>) = judgments.partition(|judgment| is_there(&judgment.standing));
        let said = [there.len(), open.len(), judged.len(), unjudged.len()].map(|count| count as u64);
        let counted = [estimate.reused, estimate.fresh, estimate.judgments_reused, estimate.judgments_fresh];
        assert_eq!((counted, estimate.skipped, estimate.failing), (said, 0, 0), "case {case}");

        let (calls, labels) = run(&app, "last", &invocation);
        // The most that it may take counts re-asks, and nothing is asked again here.
        assert_eq!(calls, estimate.calls().0, "case {case}");
        let store = Store::open(&app.store).unwrap();
        let mut seen = 0;
        store
            .rows("last")
            .unwrap()
            .for_each(&mut |row| {
                let cell = &cells[usize::try_from(row.cell.ordinal).unwrap()];
                let is_reused = matches!(cell.standing, ReuseStatus::Reused { .. });
                assert_eq!(labels[&cell.cell] == OutputOrigin::Reused, is_reused, "case {case}: {}", cell.path());
                assert_eq!(row.judgments.len(), cell.judgments.len());
                let is_judged = row.judgments.iter().all(|judgment| judgment.reused);
                let was_judged = cell.judgments.iter().all(|judgment| is_there(&judgment.standing));
                assert_eq!(is_judged, was_judged, "case {case}: judgment of {}", cell.path());
                seen += 1;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(seen, plan.header.cells());
    }
}
