//! Judges of pairs, votes, rows' own requirements, and judges corrected by people.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::place::Place;

/// Judges that look for planted words in what they are shown.
const MODELS: &str = r#"schema: karat.models/1
as_of: 2026-11-01
models:
  - { id: kind, provider: scripted, family: sim, with: { reply: judge.j2, vars: { likes: long } } }
  - { id: stern, provider: scripted, family: other, with: { reply: judge.j2, vars: { likes: none } } }
"#;

/// `settled` is a good answer, `maybe` half of one; a judge that likes length gives long answers the benefit.
const JUDGE: &str = r#"{%- set first = fenced("FIRST_OUTPUT", "no pair") -%}
{%- if first != "no pair" -%}
{"better": "{{ "first" if "settled" in first else "second" if "settled" in fenced("SECOND_OUTPUT") else "tie" }}", "reasoning": "The settled one is better."}
{%- elif fenced("REQUIREMENTS", "") -%}
{"judged": "{{ "pass" if "German" in fenced("REQUIREMENTS") and "Hallo" in fenced("OUTPUT") else "fail" }}", "reasoning": "It is in that language."}
{%- else -%}
{%- set answer = fenced("ANSWER", "") or fenced("OUTPUT", "") -%}
{%- set long = answer | length > 60 and vars.likes == "long" -%}
{%- set grade = "yes" if "settled" in answer or long else "partly" if "maybe" in answer else "no" -%}
{"helpful": "{{ grade }}", "pass": "{{ "pass" if grade == "yes" else "fail" }}", "reasoning": "What was planted is there."}
{%- endif -%}"#;

const ANSWERS: &str = r#"schema: karat.suite/1
name: answers
dataset:
  source: "traces/*.jsonl"
  format: jsonl
  id: trace_id
  input: request.question
  date: started_at
  zone: Europe/Berlin
  cluster: conversation_id
  metadata: [intent, release]
  where: sample.intent != "smalltalk"
  days: 1
registry: [models.yaml]
judges: [kind, stern]
variants:
  live:
    - recorded: { column: response.text }
      meter: { latency_ms: { total: $.latency_ms } }
scorers:
  quality:
    rubric:
      ask: Judge one answer.
      show: { question: "{{ input }}", answer: "{{ output }}" }
      dimensions: { helpful: { choices: { "yes": 1, partly: 0.5, "no": 0 } } }
      examples: 3
    consensus: { method: mean, weights: { stern: 2 } }
    labels: labels.jsonl
  Latency_p95_ms: { metric: latency, aggregate: p95 }
analyses:
  - { analysis: human_anchor, with: { scorer: quality, width: 0.1 } }
  - { analysis: judge_bias, with: { scorer: quality, check: [length, family] } }
  - { analysis: slices, with: { by: [intent, release] } }
  - { analysis: failures, with: { below: { quality: 0.5 }, top: 3, examples: 2, show: [$] } }
  - agreement
"#;

/// A day of 60 traces in 30 conversations, and one of the day before; every second trace of the day has a label.
fn answers(place: &Place) {
    let (mut traces, mut labels) = (String::new(), String::new());
    for at in 0..70 {
        let word = ["settled", "maybe", "unclear"][at % 3];
        let text = format!("It is {word}.{}", " And some more words about it.".repeat(at % 4));
        let day = if at < 60 { "2026-11-19T09:00:00+01:00" } else { "2026-11-18T23:00:00+01:00" };
        let row = json!({
            "trace_id": format!("t{at}"), "request": { "question": format!("Question {at}?") }, "started_at": day,
            "response": { "text": text }, "conversation_id": format!("c{}", at / 2), "latency_ms": 100 + at,
            "intent": if at % 10 == 9 { "smalltalk" } else { "billing" }, "release": format!("r{}", at % 2),
        });
        writeln!(traces, "{row}").unwrap();
        if at % 2 == 0 {
            let result = ["yes", "partly", "no"][at % 3];
            writeln!(labels, "{}", json!({ "sample": format!("t{at}"), "scores": { "helpful": result } })).unwrap();
        }
    }
    place.write("traces/2026-11.jsonl", &traces);
    place.write("labels.jsonl", &labels);
    place.write("models.yaml", MODELS);
    place.write("judge.j2", JUDGE);
    place.write("karat.yaml", ANSWERS);
}

/// BY-03, GE-04, HU-40: a day of traces, two judges of unlike weight, anchored by people and searched for bias.
#[test]
fn judges_of_traces_are_anchored_by_people() {
    let place = Place::new();
    answers(&place);
    place.succeed(&["run", "--as-of", "2026-11-19", "--run-id", "a", "-q"]);
    let report = place.report("a");
    assert_eq!(report["totals"]["samples"], json!(54));
    let figure = &report["analyses"]["human_anchor"]["figures"][0];
    assert_eq!(
        (&figure["metric"], &figure["system"], &figure["labelled"]),
        (&json!("quality"), &json!("live"), &json!(30))
    );
    let number = |finding: &str, field: &str| figure[finding][field].as_f64().unwrap();
    assert!(number("judge", "value") > number("anchored", "value"), "{figure}");
    let (lo, hi) = (figure["anchored"]["ci"][0].as_f64().unwrap(), figure["anchored"]["ci"][1].as_f64().unwrap());
    assert!(lo < 0.5 && 0.5 < hi && figure["anchored"]["method"] == "PPI++, cluster t (CR2)", "{figure}");
    // HU-40: the anchored figure stands beside the judge's own in every report.
    let anchored = &report["systems"][0]["anchored"]["quality"];
    assert_eq!((&anchored["labelled"], &anchored["anchored"]), (&json!(30), &figure["anchored"]), "{report}");
    let text = place.succeed(&["report", "a", "--format", "md", "-o", "-"]).stdout;
    assert!(text.contains("· anchored") && text.contains(", 30 labels, PPI++"), "{text}");
    let page = place.succeed(&["report", "a", "--format", "html", "-o", "-"]).stdout;
    assert!(page.contains("human-anchored by 30 labels"));
    let leanings = report["analyses"]["judge_bias"]["leanings"].as_array().unwrap().clone();
    let slope = |judge: &str| {
        let found = leanings.iter().find(|it| it["judge"] == judge).unwrap();
        (found["against_people"]["ci"][0].as_f64().unwrap(), found["slope"]["n"].as_u64())
    };
    assert!(slope("kind").0 > 0.0 && slope("stern").0 <= 0.0, "{leanings:?}");
    let kinds = &report["analyses"]["failures"]["categories"][0];
    assert_eq!((kinds["metric"].clone(), kinds["examples"].as_array().unwrap().len()), (json!("quality"), 2));
    assert!(kinds["examples"][0]["shown"]["$"].as_str().unwrap().contains("unclear"));
    let page = place.succeed(&["report", "a", "--format", "md", "-o", "-"]).stdout;
    for section in ["## Human-anchored scores", "## Judge bias", " by intent"] {
        assert!(page.contains(section), "{section}");
    }
    let wrong = ANSWERS.replace("weights: { stern: 2 }", "weights: { sterm: 2 }");
    place.write("wrong.yaml", &wrong);
    let result = place.karat(&["validate", "wrong.yaml"]);
    assert!(result.code == 1 && result.stderr.contains("did you mean `stern`"), "{}", result.all());
}

const PAIRS: &str = r#"name: pairs
dataset:
  id: id
  input: question
  rows:
    - { id: a, question: One?, old: It is unclear., new: It is settled., assert: [ { rubric: { ask: The reply is in German. } }, { metric: contains, value: settled } ] }
    - { id: b, question: Two?, old: It is settled., new: Perhaps., assert: [] }
    - { id: c, question: Three?, old: "", new: Hallo., assert: [ { id: language, rubric: { ask: The reply is in German. } } ] }
registry: [models.yaml]
judges: [stern]
variants:
  old: [ { recorded: { column: old } } ]
  new: [ { recorded: { column: new } } ]
scorers:
  duel: { rubric: { ask: The reply solves the problem. }, versus: "variant:old" }
  voted: { rubric: { ask: The reply solves the problem. }, votes: 3 }
analyses: [ { analysis: judge_bias, with: { scorer: duel, check: [position] } } ]
"#;

fn pairs(place: &Place) {
    place.write("models.yaml", MODELS);
    place.write("judge.j2", JUDGE);
    place.write("karat.yaml", PAIRS);
}

/// GE-04, BY-07: pairs in both orders, votes, and rows' own requirements for a judge; reused as they are.
#[test]
fn pairs_votes_and_requirements_are_judged() {
    let place = Place::new();
    pairs(&place);
    place.succeed(&["run", "--run-id", "a", "-q"]);
    let cells: Value = serde_json::from_str(&place.succeed(&["show", "a", "--format", "json"]).stdout).unwrap();
    let of = |sample: &str, variant: &str, metric: &str| {
        let cells = cells.as_array().unwrap();
        let cell = cells.iter().find(|it| it["sample"] == sample && it["variant"] == variant).unwrap();
        cell["scores"][metric].clone()
    };
    assert_eq!(
        (of("a", "new", "duel")["value"].as_f64(), of("b", "new", "duel")["value"].as_f64()),
        (Some(1.0), Some(0.0))
    );
    assert_eq!(of("c", "new", "duel")["value"].as_f64(), Some(0.5));
    assert_eq!(of("a", "new", "voted")["value"].as_f64(), Some(1.0));
    assert_eq!(
        (of("a", "new", "assert.judged")["value"].as_f64(), of("c", "new", "assert.judged")["value"].as_f64()),
        (Some(0.0), Some(1.0))
    );
    assert!(of("b", "new", "assert.judged")["na"].is_string() && of("a", "new", "assert")["value"] == 1.0);
    let report = place.report("a");
    let position = &report["analyses"]["judge_bias"]["positions"][0];
    assert_eq!(
        (position["consistency"]["value"].as_f64(), &position["flips"]),
        (Some(1.0), &json!([0, 0])),
        "{position}"
    );
    let plan = place.succeed(&["plan"]).stdout;
    assert!(plan.contains("0 fresh") || plan.contains("fresh: 0") || !plan.contains("calls 1"), "{plan}");
    place.succeed(&["run", "--run-id", "b", "-q"]);
    assert_eq!(place.canonical("a"), place.canonical("b"));
    assert_eq!(place.report("b")["cost"]["actual_cost_usd"].as_f64(), Some(0.0));
}

/// Wrong pairs and requirements are refused with their place and the next step.
#[test]
fn wrong_pairs_and_requirements_are_refused() {
    let place = Place::new();
    pairs(&place);
    for (right, wrong, part) in [
        (r#"versus: "variant:old""#, r#"versus: "variant:odl""#, "did you mean `old`"),
        (r#"versus: "variant:old""#, "versus: old", "`variant:ID`, `model:ID` or `all`"),
        (r#"versus: "variant:old""#, "orders: one", "needs `versus`"),
        ("{ ask: The reply is in German. } } ] }", "{ ask: x, version: 2 } } ] }", "one requirement in words"),
        ("id: language, rubric", "id: language, not: true, rubric", "in the text of the requirement"),
        ("votes: 3", "votes: 0", "at least 1"),
    ] {
        let broken = PAIRS.replace(right, wrong);
        assert_ne!(broken, PAIRS);
        place.write("wrong.yaml", &broken);
        let result = place.karat(&["validate", "wrong.yaml"]);
        assert!(result.code == 1 && result.stderr.contains(part), "{part}\n{}", result.all());
    }
}
