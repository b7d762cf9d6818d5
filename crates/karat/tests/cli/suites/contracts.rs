//! A suite that has nothing to do with claims uses chunked judging, consensus, calibration, ablation and missing items
//! from its YAML alone.

use serde_json::{Value, json};

use crate::place::Place;

const SUITE: &str = r#"
schema: karat.suite/1
name: contracts
dataset: { source: rows.jsonl, id: id }
registry: [judges.yaml]
judges: [exact, harsh]
variants:
  full:  [ { recorded: { column: full } } ]
  brief: [ { recorded: { column: brief } } ]
  lawyer: [ { recorded: { column: lawyer, missing: skip } } ]
scorers:
  review:
    labels: labels.jsonl
    consensus: { flag_variance: 0.5 }
    rubric:
      id: duties
      version: r1
      ask: Judge how well a list of duties covers and respects a contract.
      show:
        contract: { value: "{{ sample.contract }}", chunk: { tokens: 120, overlap: 30 } }
        duties:   { value: "{{ output.duties }}", as: json, route: contract }
      dimensions:
        cover: { scale: [0, 4] }
        faith: { scale: [0, 4], chunks: members }
        style: { scale: [0, 4], chunks: once }
      overall: { id: total, method: mean }
      rationale: { field: why }
      diagnostics:
        forgotten: { each: { duty: text }, chunks: any }
        invented:  { each: { duty: text }, chunks: all }
      examples: 1
analyses:
  - { analysis: delta, with: { over: variant, base: full, diagnostics: [forgotten] } }
  - agreement
  - { analysis: calibration, with: { scorer: review, threshold: 0.8 } }
  - { analysis: missing_items, with: { items: $.duties, groups: { money: [pay, price], time: [days, months] }, from: [lawyer] } }
"#;

const JUDGES: &str = r"
schema: karat.models/1
as_of: 2026-11-01
models:
  - { id: exact, provider: scripted, context_window: 32000, with: { reply: judge.j2, vars: { less: 0 } } }
  - { id: harsh, provider: scripted, context_window: 32000, with: { reply: judge.j2, vars: { less: 2 } } }
";

const JUDGE: &str = r#"
{%- set found = namespace(duties=[]) -%}
{%- for sentence in fenced("CONTRACT_TEXT", "") | sentences if "shall" in sentence -%}
  {%- set found.duties = found.duties + [sentence] -%}
{%- endfor -%}
{%- set listed = fenced("CANDIDATE_DUTIES", "[]") | fromjson -%}
{%- set forgotten = found.duties | unsupported(listed, 0.9) -%}
{%- set invented = listed | unsupported(found.duties, 0.9) -%}
{%- macro grade(bad, all) -%}{{ [4 * (1 - (bad | length) / ([all | length, 1] | max)) - vars.less, 0] | max }}{%- endmacro -%}
{%- macro list(items) -%}[{% for item in items %}{{ {"duty": item} }}{% if not loop.last %}, {% endif %}{% endfor %}]{%- endmacro -%}
{"cover": {{ grade(forgotten, found.duties) }}, "faith": {{ grade(invented, listed) }}, "style": {{ grade([], listed) }},
 "why": "counted", "forgotten": {{ list(forgotten) }}, "invented": {{ list(invented) }}}
"#;

/// Duties of one contract; long enough for three pieces.
fn duties(of: usize) -> Vec<String> {
    let verbs = ["deliver", "inspect", "insure", "repair", "label", "store", "count", "return", "pay", "report"];
    let things = ["barrels", "ledgers", "engines", "lanterns", "carpets", "violins"];
    (0..18)
        .map(|at| {
            let (verb, thing) = (verbs[(at + of) % 10], things[(at * 5 + of) % 6]);
            format!("Party {of} shall {verb} all {thing} of lot {at} within {} days.", at * 3 + 5)
        })
        .collect()
}

fn place() -> Place {
    let place = Place::new();
    place.write("karat.yaml", SUITE);
    place.write("judges.yaml", JUDGES);
    place.write("judge.j2", JUDGE);
    let (mut rows, mut labels) = (String::new(), String::new());
    for of in 0..4 {
        let (all, id) = (duties(of), format!("c{of}"));
        let contract = all.join(" The parties note that the weather was fair on the day of signing. ");
        let row = json!({
            "id": id, "contract": contract, "full": {"duties": all}, "brief": {"duties": all[..12]},
            "lawyer": if of == 0 { json!({"duties": [all[0].clone(), "Party 0 shall pay a price for silence."]}) } else { Value::Null },
        });
        rows.push_str(&format!("{row}\n"));
        for (kept, cover) in [(18, 4.0), (9, 2.0)] {
            let label = json!({
                "sample": id, "output": {"duties": all[..kept]}, "annotator": "ann", "note": "counted",
                "scores": {"cover": cover, "faith": 4, "style": 4},
            });
            labels.push_str(&format!("{label}\n"));
        }
    }
    place.write("rows.jsonl", &rows);
    place.write("labels.jsonl", &labels);
    place
}

/// CL-14, CL-16, CL-10, CL-09: chunked judging, consensus with flags, ablation and missing items are parts of any suite.
#[test]
fn every_part_works_without_claims() {
    let place = place();
    place.succeed(&["run", "-q", "--run-id", "r", "-o", "out"]);
    let report = place.report("r");
    let cell = |variant: &str| {
        let cells = report["cells"].as_array().unwrap();
        cells.iter().find(|cell| cell["variant"] == variant && cell["sample"] == "c1").unwrap().clone()
    };
    let full = cell("full");
    let exact = &full["judgments"][0];
    assert_eq!(exact["judge"], "exact");
    let account = &exact["diagnostics"]["chunks"];
    assert!(account["parts"].as_array().unwrap().len() >= 3, "{account}");
    assert_eq!((&account["judged"], &account["members"]), (&account["length"], &json!(18)));
    for dimension in ["cover", "faith", "style"] {
        assert_eq!(exact["scores"][dimension]["value"], 4.0, "{exact}");
    }
    assert_eq!(full["consensus"]["cover"]["flagged"], true, "{}", full["consensus"]);
    let brief = cell("brief");
    assert_eq!(brief["judgments"][0]["diagnostics"]["forgotten"].as_array().unwrap().len(), 6);
    assert_eq!(brief["judgments"][0]["diagnostics"]["invented"], json!([]));
    let missing = &report["analyses"]["missing_items"];
    assert_eq!(missing["groups"]["money"]["systematic"], 1, "{missing}");
    assert_eq!(missing["missing"][0]["reach"], "systematic");
    let markdown = std::fs::read_to_string(place.path().join("out/report.md")).unwrap();
    for section in [
        "## Variant delta",
        "## Judges",
        "## Position of the evidence",
        "## Missing items",
        "### Missing somewhere",
        "### Cost by part",
    ] {
        assert!(markdown.contains(section), "no {section}");
    }
}

/// CL-22, BY-14: the estimate covers pieces: a plan's upper figure holds for texts that are judged in pieces. Cost is
/// split by judge and by step.
#[test]
fn pieces_are_estimated() {
    let place = place();
    let plan: Value = serde_json::from_str(&place.succeed(&["plan", "--json"]).stdout).unwrap();
    place.succeed(&["run", "-q", "--run-id", "r", "-o", "out"]);
    let report = place.report("r");
    let judgments = report["cells"].as_array().unwrap().iter().flat_map(|cell| cell["judgments"].as_array().unwrap());
    let made: usize = judgments.map(|judgment| judgment["call_ids"].as_array().unwrap().len()).sum();
    let calls = |at: usize| plan["calls"][at].as_u64().unwrap() as usize;
    assert!(made > 3 * plan["judgments"]["fresh"].as_u64().unwrap() as usize, "{made} calls");
    assert!(calls(0) <= made && made <= calls(1), "{made} calls of {}", plan["calls"]);
    let cost = &report["cost"];
    assert!(cost["cost_per_judge"]["exact"].is_number() && cost["cost_per_step"]["full.0"].is_number(), "{cost}");
}

/// CL-13: calibration names the dimensions of this rubric.
#[test]
fn calibration_works_without_claims() {
    let place = place();
    for (judge, bias) in [("exact", "bias 0.00"), ("harsh", "bias −1.")] {
        let result = place.karat(&["calibrate", "-q", "--judges", judge]);
        assert_eq!(result.code, 4, "8 sets decide nothing: {}", result.all());
        let verdict = format!("{judge}: undecided in cover, faith, style: 8 sets, and nothing is decided below 20");
        assert!(result.stdout.contains(&verdict) && result.stdout.contains(bias), "{}", result.stdout);
    }
}
