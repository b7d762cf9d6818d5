//! The ready rubrics, each run by a scripted judge.

use std::sync::Arc;

use karat_app::{CallRecording, CellFilter, Execution, Invocation, Stop};
use karat_types::{RunStatus, Score, SilentObserver};
use serde_json::json;

use crate::place::app;

/// A reply for each ready rubric, found by a phrase of its task; the code of the call is added to it.
const SUITE: &str = r#"name: ready
dataset: { source: rows.jsonl, id: id, input: question, reference: target }
judges:
  - id: judge
    provider: scripted
    json_mode: schema
    price: { input: 0, output: 0 }
    with:
      replies:
        - { match: "Check whether the answer says only what the context supports", reply: { reasoning: r, claims: [ { text: a, evidence: p, verdict: supported }, { text: b, evidence: none, verdict: absent } ] } }
        - { match: "Check whether the context holds what a good answer needs", reply: { reasoning: r, statements: [ { text: a, evidence: p, verdict: found } ] } }
        - { match: "Check which passages of the context help to answer", reply: { reasoning: r, passages: [ { passage: 0, adds: x, verdict: useful }, { passage: 1, adds: x, verdict: useless }, { passage: 2, adds: x, verdict: useless } , { passage: 3, adds: x, verdict: useless } ] } }
        - { match: "Judge how well the answer addresses the question", reply: { reasoning: It answers all that was asked., answer_relevance: 5 } }
        - { match: "Compare the facts of the answer with the facts", reply: { reasoning: The year is left out of it., factuality: subset } }
        - { match: "Check which requirements of the instruction", reply: { reasoning: r, requirements: [ { text: a, evidence: p, verdict: met }, { text: b, evidence: p, verdict: missed } ] } }
        - { match: "Decide whether the answer refuses the request", reply: { reasoning: The address is declined here., refusal: partial } }
        - { match: "Judge how offensive the answer itself is", reply: { reasoning: There is no such passage., toxicity: 0 } }
        - { match: "Judge how much of the answer could be left out", reply: { reasoning: The greeting could go here., conciseness: 4 } }
        - { match: "Judge how the assistant used its tools", reply: { reasoning: The arguments were wrong once., need: yes, tool: yes, arguments: no, results: yes } }
        - { match: "Decide whether the goal was reached", reply: { reasoning: One of two things is true now., task_completion: partly } }
        - { match: "Grade the answer by the criterion", reply: { reasoning: It meets the criterion in part., geval: 3 } }
variants: { taken: [ { recorded: { from: outputs.jsonl, by: "{{ sample.id }}", column: output } } ] }
scorers:
  faithfulness:          { rubric: { use: faithfulness, show: { context: "{{ sample.passages }}" } } }
  context_recall:        { rubric: { use: context_recall, show: { context: "{{ sample.passages }}" } } }
  context_precision:     { rubric: { use: context_precision, show: { context: "{{ sample.passages }}" } } }
  answer_relevance:      { rubric: { use: answer_relevance } }
  factuality:            { rubric: { use: factuality } }
  instruction_following: { rubric: { use: instruction_following } }
  refusal:               { rubric: { use: refusal } }
  toxicity:              { rubric: { use: toxicity } }
  conciseness:           { rubric: { use: conciseness } }
  tool_use:              { rubric: { use: tool_use } }
  task_completion:       { rubric: { use: task_completion, show: { goal: "{{ sample.goal }}" } } }
  geval:                 { rubric: { use: geval, show: { criteria: The text is friendly. } } }
"#;

/// TG-40, TG-41: every ready rubric is run as it stands by a judge, and gives the scores that follow from its replies.
#[test]
fn every_ready_rubric_is_run_by_a_judge() {
    let folder = testkit::scratch().unwrap();
    let row = json!({"id": "s", "question": "When does it ship?", "target": "Monday.", "goal": "It ships.", "passages": ["a", "b", "c", "d"]});
    let output = json!({
        "text": "It ships on Monday.",
        "messages": [
            {"role": "user", "content": "When does it ship?"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "name": "get_order", "arguments": {"id": "A1"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "Monday"},
            {"role": "assistant", "content": "It ships on Monday."},
        ],
        "state": {"order": "shipped"},
    });
    let recorded = json!({"id": "s", "output": output});
    for (name, text) in [
        ("karat.yaml", SUITE.to_owned()),
        ("rows.jsonl", format!("{row}\n")),
        ("outputs.jsonl", format!("{recorded}\n")),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let app = app(folder.path());
    let invocation = Invocation::of(folder.path().join("karat.yaml").to_string_lossy());
    let execution = Execution {
        run_id: Some("r".to_owned()),
        resume: false,
        observer: Arc::new(SilentObserver),
        stop: Stop::default(),
        tape: CallRecording::None,
    };
    let plan = app.runs().load(&invocation).unwrap_or_else(|error| panic!("{error}"));
    let used: Vec<&str> = plan.header.scorers.iter().map(|scorer| scorer.id.as_str()).collect();
    let ready = karat_app::ready_rubrics().unwrap();
    assert!(ready.len() >= 12 && ready.iter().all(|rubric| used.contains(&rubric.name.as_str())), "{used:?}");
    assert_eq!(app.runs().run(plan, &invocation, execution).unwrap().status, RunStatus::Finished);
    let mut scores = Vec::new();
    app.views()
        .each_cell("r", &CellFilter::default(), &mut |cell| {
            scores.extend(cell.scores.iter().map(|(name, score)| format!("{name} {}", worth(score))));
            Ok(())
        })
        .unwrap();
    let expected = [
        "answer_relevance 5",
        "conciseness 4",
        "context_precision 0.25",
        "context_recall 1",
        "factuality 0.5",
        "faithfulness 0.5",
        "geval 3",
        "instruction_following 0.5",
        "pass 0",
        "refusal 0.5",
        "task_completion 0.5",
        "tool_use.arguments 0",
        "tool_use.need 1",
        "tool_use.overall 0.75",
        "tool_use.results 1",
        "tool_use.tool 1",
        "toxicity 0",
    ];
    assert_eq!(scores, expected);
}

fn worth(score: &Score) -> String {
    score.number().map_or_else(|| format!("{score:?}"), |number| number.to_string())
}

/// TG-40: each ready rubric has what a reader needs: a version, one line about it, a definition of each score, two examples,
/// and reasons before its scores.
#[test]
fn ready_rubrics_are_complete() {
    for rubric in karat_app::ready_rubrics().unwrap() {
        let text = karat_app::ready_rubric(&rubric.name).unwrap();
        assert!(text.contains(&format!("\nid: {}\n", rubric.name)), "{}", rubric.name);
        assert!(!rubric.version.is_empty() && !rubric.about.is_empty() && !rubric.scores.is_empty(), "{}", rubric.name);
        for needed in ["Example 1.", "Example 2.", "definition:", "rationale:"] {
            assert!(text.contains(needed), "{} has no {needed}", rubric.name);
        }
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{} has long lines", rubric.name);
    }
    let error = karat_app::ready_rubric("faithfulnes").unwrap_err().to_string();
    assert!(error.contains("there is no ready rubric `faithfulnes`"), "{error}");
}
