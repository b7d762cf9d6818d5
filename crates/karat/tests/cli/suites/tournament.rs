//! Tournaments: every system against every other, judged in pairs, and the ranking.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::place::Place;

/// Prefers the longer text; of equal ones neither. `first` prefers what stands first.
const JUDGE: &str = r#"{%- set a = fenced("FIRST_OUTPUT", "") | length -%}
{%- set b = fenced("SECOND_OUTPUT", "") | length -%}
{"better": "{{ "first" if vars.likes == "first" or a > b else "second" if b > a else "tie" }}"}"#;

const MODELS: &str = r#"schema: karat.models/1
as_of: 2026-11-01
models:
  - { id: fair, provider: scripted, family: sim, price: { input: 1.0, output: 2.0 }, with: { reply: judge.j2, vars: { likes: long } } }
  - { id: biased, provider: scripted, family: sim, with: { reply: judge.j2, vars: { likes: first } } }
"#;

const SYSTEMS: [&str; 5] = ["poor", "fair", "good", "better", "best"];

/// Five systems whose outputs are the longer the better they are, with noise that turns some pairs around.
fn tournament(place: &Place, judge: &str, scorer: &str, samples: usize) {
    let mut rows = String::new();
    for at in 0..samples {
        let mut row = json!({ "id": format!("s{at}"), "question": format!("Question {at}?") });
        for (system, name) in SYSTEMS.iter().enumerate() {
            let noise = (at * 7 + system * (13 + at % 5)) % 11;
            row[name] = json!("word ".repeat(4 + 3 * system + noise));
        }
        writeln!(rows, "{row}").unwrap();
    }
    let variants: Vec<String> =
        SYSTEMS.iter().map(|name| format!("  {name}: [ {{ recorded: {{ column: {name} }} }} ]")).collect();
    place.write("data.jsonl", &rows);
    place.write("models.yaml", MODELS);
    place.write("judge.j2", JUDGE);
    place.write(
        "karat.yaml",
        &format!(
            "name: tournament\ndataset: {{ source: data.jsonl, id: id, input: question }}\nregistry: [models.yaml]\n\
             judges: [{judge}]\nvariants:\n{}\nscorers:\n  duel:\n    versus: all\n    rubric: {{ ask: Which answer is \
             better?, dimensions: {{ better: {{ definition: better, scale: [1, 5] }} }}, invalid: {{ reask: 0 }} }}\n{scorer}",
            variants.join("\n")
        ),
    );
}

/// Least and most calls of the judges, as planned.
fn planned_calls(place: &Place) -> (u64, u64) {
    let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
    (plan["calls"][0].as_u64().unwrap(), plan["calls"][1].as_u64().unwrap())
}

/// PW-01: the price of a drawn design is what the run pays: the plan's calls are the calls that are made, and its price the
/// sum of what they cost.
#[test]
fn planned_calls_of_drawn_pairs_are_made() {
    let place = Place::new();
    tournament(&place, "fair", "    pairs: { per_sample: 4 }\n", 15);
    let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
    // Four of ten pairs of each sample, in both orders.
    assert_eq!(plan["calls"], json!([120, 120]), "{plan}");
    place.succeed(&["run", "--run-id", "a", "-q", "-o", "out"]);
    let report = place.report("a");
    let judgments = report["cells"].as_array().unwrap().iter().flat_map(|cell| cell["judgments"].as_array().unwrap());
    let made: usize = judgments.map(|judgment| judgment["call_ids"].as_array().unwrap().len()).sum();
    assert_eq!((made, &report["analyses"]["ranking"][0]["games"]), (120, &json!(60)));
    assert_eq!(planned_calls(&place), (0, 0));
}

/// DC-08: of a judge that always prefers the first place no screen says a rank; each says why. What the cells
/// hold is what the table shows.
#[test]
fn a_judge_of_places_ranks_nothing() {
    let place = Place::new();
    tournament(&place, "biased", "", 12);
    let result = place.succeed(&["run", "--run-id", "a", "-o", "out", "--format", "json,html,md,csv"]).stdout;
    let warning = "120 of 120 verdicts (100 %) changed with the order of the outputs: the judge prefers a place, so no ranks are given";
    let files = ["report.md", "report.html"].map(|file| place.text(&format!("out/{file}")));
    for text in [&result, &files[0], &files[1]] {
        assert!(text.contains(warning) && !text.contains("P(better)"), "{text}");
    }
    assert!(files[0].contains("Too many verdicts changed with the order") && files[0].contains("Share of resamples"));
    assert!(
        result.contains("ranking duel: 120 games on 12 samples, 120 flips") && !result.contains("\nbest "),
        "{result}"
    );
    let report = place.report("a");
    let ranking = &report["analyses"]["ranking"][0];
    assert_eq!((&ranking["unreliable"], &ranking["systems"][0]["rank"]), (&json!(true), &Value::Null));
    let scores = report["cells"].as_array().unwrap().iter().map(|cell| &cell["scores"]["duel"]);
    assert!(scores.clone().all(|score| score["value"] == json!(0.5)), "{:?}", scores.collect::<Vec<_>>());
    let table = place.text("out/cells.csv");
    let halves = table.lines().skip(1).filter(|line| line.contains(",ok,0.5,")).count();
    assert_eq!(halves, 60, "{table}");
}

/// PW-01, PW-02: five scripted systems are ranked in the known order with intervals; every pair is judged in both orders,
/// the plan states these calls, and another run makes none.
#[test]
fn five_systems_are_ranked_in_their_order() {
    let place = Place::new();
    tournament(&place, "fair", "", 30);
    assert_eq!(planned_calls(&place), (600, 600));
    place.succeed(&["run", "--run-id", "a", "-q", "-o", "out"]);
    let report = place.report("a");
    let ranking = &report["analyses"]["ranking"][0];
    let order: Vec<&str> =
        ranking["systems"].as_array().unwrap().iter().map(|it| it["system"].as_str().unwrap()).collect();
    assert_eq!(order, ["best", "better", "good", "fair", "poor"], "{ranking}");
    assert_eq!((&ranking["metric"], &ranking["games"], &ranking["samples"]), (&json!("duel"), &json!(300), &json!(30)));
    for system in ranking["systems"].as_array().unwrap() {
        let (lo, hi) = (&system["strength"]["ci"][0], &system["strength"]["ci"][1]);
        assert!(
            lo.as_f64() < system["strength"]["value"].as_f64() && system["strength"]["value"].as_f64() < hi.as_f64()
        );
        assert!(system["ranks"][0].as_u64() <= system["ranks"][1].as_u64(), "{system}");
    }
    assert_eq!(ranking["systems"][0]["ranks"][0], 1);
    assert_eq!((ranking["order_dependent"].as_u64(), ranking["pairs"].as_array().unwrap().len()), (Some(0), 10));
    let text = place.succeed(&["report", "a", "--format", "md", "-o", "-"]).stdout;
    for part in ["## Ranking: duel", "### Wins: duel", "| best | poor |", "Bradley–Terry"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(planned_calls(&place), (0, 0));
    place.succeed(&["run", "--run-id", "b", "-q"]);
    assert_eq!(place.canonical("a"), place.canonical("b"));
}
