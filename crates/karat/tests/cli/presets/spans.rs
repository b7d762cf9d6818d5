//! Diagnostics of span labelling, and of another taxonomy by YAML alone.

use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider};

use crate::place::Place;

fn judgment<'a>(report: &'a Value, sample: &str) -> &'a Value {
    let cells = report["cells"].as_array().unwrap();
    &cells.iter().find(|cell| cell["sample"] == sample).unwrap()["judgments"][0]
}

/// SP-01, SP-02, SP-04, SP-05, SP-06, SP-07: recorded verdicts become figures under the seed's names; replies that are not as they
/// must be never count as complete, and never as a made-up score.
#[test]
fn recorded_verdicts_become_figures() {
    let place = Place::new();
    let said = place.succeed(&["run", "spans", "--run-id", "s", "--format", "md,json,html", "-o", "out"]);
    let lines: Vec<&str> =
        said.stdout.lines().skip_while(|line| !line.starts_with("spans: 24 outputs")).take(7).collect();
    insta::assert_snapshot!("spans_terminal", lines.join("\n"));
    let html = std::fs::read_to_string(place.path().join("out/report.html")).unwrap();
    assert!(html.contains("Reliability of confidence") && html.contains("Worst performers"));
    let markdown = std::fs::read_to_string(place.path().join("out/report.md")).unwrap();
    assert!(markdown.contains("spans-reliability.svg"));
    let from = markdown.find("## Items of outputs").unwrap();
    insta::assert_snapshot!("spans_diagnostics", &markdown[from..markdown.find("## Cost").unwrap()]);
    assert!(std::fs::read_to_string(place.path().join("out/spans-reliability.svg")).unwrap().contains("<circle"));
    let report = place.report("s");
    let spans = &report["analyses"]["spans"];
    assert!(spans["evaluated"].as_u64().unwrap() >= 20);
    assert_eq!((&spans["degraded"], &spans["errorCount"]), (&json!(2), &json!(1)));
    assert_eq!(spans["score"]["n"], 22);
    assert_eq!(spans["latencyMs"]["p50"], 1118.0);
    let categories = spans["avgCategoryScores"].as_object().unwrap();
    assert_eq!(categories.len(), 9);
    assert!(categories["audio"]["n"].as_u64().unwrap() < categories["shot"]["n"].as_u64().unwrap());
    assert_eq!(spans["falsePositiveReasons"].as_object().unwrap().len(), 6);
    let top = &spans["topTaxonomyErrors"][0];
    assert_eq!((&top["assignedRole"], &top["expectedRole"]), (&json!("shot.type"), &json!("camera.movement")));
    assert_eq!(spans["errorsBySection"]["technicalSpecs"]["missed"], 0);
    assert!(spans["errorsBySection"]["technicalSpecs"]["falsePositives"].as_u64().unwrap() > 0);
    let first = &spans["evaluations"][0];
    assert_eq!(first["promptLength"], 433);
    assert_eq!(first["sections"]["main"], json!({"start": 0, "end": 319}));
    assert_eq!(first["sections"]["technicalSpecs"], json!({"start": 386, "end": 433}));
    assert_eq!(first["spansBySection"], json!({"main": 9, "technicalSpecs": 4, "alternatives": 1}));
    assert_eq!(spans["evaluations"][1]["sections"]["alternatives"], Value::Null);
    let confidence = &spans["confidence"];
    let total = |bucket: &str| confidence["buckets"][bucket]["total"].as_u64().unwrap();
    let errors: u64 = spans["evaluations"].as_array().unwrap().iter().map(|it| it["spanCount"].as_u64().unwrap()).sum();
    let unjudged = spans["evaluations"][8]["spanCount"].as_u64().unwrap();
    assert_eq!(
        total("high") + total("medium") + total("low") + confidence["missing"].as_u64().unwrap(),
        errors - unjudged
    );
    assert_eq!(confidence["recommendedThreshold"], 0.6);

    assert_eq!(judgment(&report, "scene-05")["rung"], "fenced");
    let cut = judgment(&report, "scene-09");
    assert!(cut["scores"]["totalScore"]["unscored"].is_string(), "{cut}");
    let basic = judgment(&report, "scene-12");
    let missed = &basic["diagnostics"]["missedElements"][0];
    assert_eq!(
        missed,
        &json!({"text": "a red enamel kettle", "expectedRole": "unknown", "category": "unknown", "severity": "minor"})
    );
    let guessed = &basic["diagnostics"]["falsePositives"][0];
    assert_eq!((&guessed["spanIndex"], &guessed["reason"]), (&json!(-1), &json!("other")));
    assert!(basic["diagnostics"]["degraded"].as_str().unwrap().contains("missedElements"));
    assert_eq!(basic["diagnostics"]["categoryScores"]["shot"]["coverage"], Value::Null);
    let out_of_bounds = judgment(&report, "scene-15")["diagnostics"]["falsePositives"].as_array().unwrap();
    assert_eq!(out_of_bounds.last().unwrap()["spanIndex"], -1);
    let equal = judgment(&report, "scene-18")["diagnostics"]["taxonomyErrors"].as_array().unwrap();
    assert!(equal.iter().all(|error| error["assignedRole"] != error["expectedRole"]));
    let beyond = judgment(&report, "scene-20");
    assert!(
        beyond["scores"]["taxonomy"]["unscored"].is_string() && beyond["scores"]["totalScore"]["unscored"].is_string()
    );
    assert!(beyond["scores"]["coverage"]["value"].is_number());
    assert!(judgment(&report, "scene-22")["scores"]["totalScore"]["value"].as_f64().unwrap() <= 25.0);
}

const ENTITIES: &str = r#"
name: entities
dataset: { source: notes.jsonl, id: id, input: note }
registry: [models.yaml]
judges: [ward]
variants: { found: [ { recorded: { column: $ }, take: { text: $.note, entities: $.entities } } ] }
scorers:
  quality:
    rubric:
      ask: Judge the medical entities of a note.
      show:
        note: "{{ output.text }}"
        entities: { value: "{{ output.entities }}", as: lines, line: "[{{ index }}] {{ item.text }} ({{ item.code }})" }
      dimensions: { recall: { scale: [0, 10] }, coding: { scale: [0, 10] } }
      overall: { id: total, method: mean }
      breakdowns: { kinds: { over: [drug, disease], scores: { recall: { scale: [0, 10] } } } }
      diagnostics:
        spurious: { each: { at: { index_of: entities }, what: text, why: { one_of: [negated, family_history, other], default: other } } }
        miscoded: { differ: [given, right], each: { at: { index_of: entities }, what: text, given: text, right: text } }
      reply: nested
      invalid: { reask: 0, then: degrade }
analyses:
  - analysis: diagnostics
    id: entities
    with:
      scorer: quality
      text: $.text
      items: $.entities
      offsets: chars
      sections: { history: ['^family history'] , plan: ['^plan'] }
      default_section: findings
      breakdown: kinds
      reasons: spurious.why
      confusions: { of: miscoded, from: given, to: right }
      by_section: { spurious: spurious }
      confidence: { value: score.p, errors: [spurious, miscoded] }
"#;

/// SP-10: another labelling project brings its own categories, sections, reasons and fields.
#[test]
fn another_taxonomy_needs_yaml_only() {
    let place = Place::new();
    place.write("suite.yaml", &ENTITIES.replace("'^", "'(?m)^"));
    let note = "Fièvre 🤒, no cough.\nFamily history: diabetes.\nPlan: aspirin.";
    let at = |piece: &str| note.chars().collect::<String>().split(piece).next().unwrap().chars().count();
    let entity =
        |text: &str, code: &str, p: f64| json!({"text": text, "code": code, "start": at(text), "score": {"p": p}});
    let row = json!({"id": "n1", "note": note, "entities": [
        entity("cough", "R05", 0.9), entity("diabetes", "E11", 0.4), entity("aspirin", "B01", 0.95),
    ]});
    place.write("notes.jsonl", &format!("{row}\n"));
    let reply = json!({
        "scores": {"recall": 8, "coding": 6}, "reasoning": "r", "kinds": {"drug": {"recall": 9}, "disease": {"recall": null}},
        "spurious": [{"at": 0, "what": "cough", "why": "negated"}, {"at": 1, "what": "diabetes", "why": "family_history"}],
        "miscoded": [{"at": 2, "what": "aspirin", "given": "B01", "right": "B01.AC06"}, {"at": 2, "what": "aspirin", "given": "x", "right": "x"}],
    });
    place.write("replies.jsonl", &format!("{}\n", json!({"match": "Fièvre", "reply": reply})));
    place.write("models.yaml", "schema: karat.models/1\nas_of: 2026-11-01\nmodels:\n  - { id: ward, provider: scripted, with: { replies: replies.jsonl } }\n");
    place.succeed(&["run", "suite.yaml", "--run-id", "m"]);
    let report = place.report("m");
    let found = &report["analyses"]["entities"];
    assert_eq!(found["avgScore"], 7.0);
    assert_eq!(
        found["avgCategoryScores"],
        json!({"disease": {"recall": null, "n": 0}, "drug": {"recall": 9.0, "n": 1}})
    );
    assert_eq!(found["falsePositiveReasons"], json!({"negated": 1, "family_history": 1, "other": 0}));
    assert_eq!(
        found["topTaxonomyErrors"],
        json!([{"given": "B01", "right": "B01.AC06", "count": 1, "examples": ["aspirin"]}])
    );
    assert_eq!(
        found["errorsBySection"],
        json!({"findings": {"spurious": 1}, "history": {"spurious": 1}, "plan": {"spurious": 0}})
    );
    assert_eq!(found["spansBySection"], json!({"findings": 1, "history": 1, "plan": 1}));
    let buckets = &found["confidence"]["buckets"];
    assert_eq!((&buckets["high"]["errors"], &buckets["high"]["anyError"]), (&json!(1), &json!(2)));
    assert_eq!(buckets["medium"]["errorRate"], Value::Null);
}

/// SP-03: a list too long for one call is judged in pieces, each numbered from 0; in the verdict positions count in the
/// whole list, what only one piece missed is not missed, and every call is on record.
#[test]
fn a_long_list_is_judged_in_several_calls() {
    let place = Place::new();
    let suite = ENTITIES
        .replace("as: lines, line:", "as: lines, chunk: { items: 4 }, line:")
        .replace("recall: { scale: [0, 10] }, coding", "recall: { scale: [0, 10], chunks: max }, coding")
        .replace("spurious: { each", "absent: { chunks: all, each: text }\n        spurious: { each");
    place.write("suite.yaml", &suite);
    let entities: Vec<Value> = (0..10)
        .map(|at| json!({"text": format!("drug-{at}"), "code": "A", "start": at, "score": {"p": 0.9}}))
        .collect();
    place.write("notes.jsonl", &format!("{}\n", json!({"id": "n", "note": "0123456789", "entities": entities})));
    let reply = |from: u32, recall: u32, absent: Value| {
        let reply = json!({
            "scores": {"recall": recall, "coding": 5}, "reasoning": "r", "absent": absent,
            "kinds": {"drug": {"recall": 5}, "disease": {"recall": null}},
            "spurious": [{"at": 0, "what": format!("drug-{from}"), "why": "other"}], "miscoded": [],
        });
        format!("{}\n", json!({"match": format!("[0] drug-{from} "), "reply": reply}))
    };
    let replies = [reply(0, 4, json!(["a", "b"])), reply(4, 9, json!(["b"])), reply(8, 2, json!(["b", "c"]))];
    place.write("replies.jsonl", &replies.concat());
    place.write("models.yaml", "schema: karat.models/1\nas_of: 2026-11-01\nmodels:\n  - { id: ward, provider: scripted, with: { replies: replies.jsonl } }\n");
    place.succeed(&["run", "suite.yaml", "--run-id", "long"]);
    let report = place.report("long");
    let judged = judgment(&report, "n");
    assert_eq!(judged["call_ids"].as_array().unwrap().len(), 3);
    let at: Vec<&Value> = judged["diagnostics"]["spurious"].as_array().unwrap().iter().map(|it| &it["at"]).collect();
    assert_eq!(at, [0, 4, 8]);
    assert_eq!((&judged["diagnostics"]["absent"], &judged["scores"]["recall"]["value"]), (&json!(["b"]), &json!(9.0)));
    assert_eq!(report["analyses"]["entities"]["confidence"]["buckets"]["high"]["errors"], 3);
}

/// SP-06, SP-09: a snapshot is imported and re-summarised: 0 is not assessed, equal roles are kept and flagged, what an
/// old one lacks is empty, and a result without a verdict is an error, not a score.
#[test]
fn a_snapshot_is_imported() {
    let place = Place::new();
    let scores = json!({"coverage": 4, "precision": 3, "granularity": 5, "taxonomy": 2, "technicalSpecs": 1});
    let span = |text: &str, confidence: f64| json!({"text": text, "role": "shot.type", "confidence": confidence, "start": 0, "end": 4});
    let snapshot = json!({
        "timestamp": "2026-01-02T03:04:05Z", "promptCount": 3, "judgeModel": "gpt-4o",
        "summary": {"avgScore": 15.0, "errorCount": 1, "avgSpanCount": 1.0, "falsePositiveReasons": {"non_visual": 2}, "style": 7},
        "results": [
            {"promptId": "new", "input": "i", "output": "Wide shot of a dog.", "spans": [span("Wide", 0.9), span("dog", 0.3)], "judgeResult": {
                "scores": scores, "totalScore": 15, "notes": "n", "missedElements": [], "granularityErrors": [],
                "falsePositives": [{"spanIndex": 1, "text": "dog", "assignedRole": "shot.type", "reason": "non_visual"}],
                "taxonomyErrors": [{"spanIndex": 0, "text": "Wide", "assignedRole": "a", "expectedRole": "a"}],
                "categoryScores": {"shot": {"coverage": 4, "precision": 0}, "audio": {"coverage": 0, "precision": 0}},
            }},
            {"promptId": "old", "input": "i", "output": "Wide shot of a dog. It barks.", "spans": [], "judgeResult": {"scores": scores, "totalScore": 15}},
            {"promptId": "failed", "input": "i", "output": "A cat.", "spans": [], "error": "timeout"},
        ],
    });
    place.write("snapshot.json", &snapshot.to_string());
    let said = place.succeed(&["import", "span-snapshot", "snapshot.json", "-o", "again"]);
    assert!(said.stderr.contains("3 samples, 1 without a verdict"), "{}", said.all());
    assert!(said.stderr.contains("4 of 5 figures of the snapshot's summary are the same"), "{}", said.all());
    assert!(said.stderr.contains("falsePositiveReasons.non_visual is 2 in the snapshot and 1 here"), "{}", said.all());
    assert!(said.stderr.contains("not compared, because no figure here has this name: style"), "{}", said.all());
    assert!(said.stdout.contains("spans: 3 outputs"), "{}", said.all());
    let suite = std::fs::read_to_string(place.path().join("again/karat.yaml")).unwrap();
    assert!(suite.contains("judged by gpt-4o at 2026-01-02T03:04:05Z"), "{suite}");
    assert!(place.report("snapshot").to_string().contains("it failed when it was recorded: timeout"), "{}", said.all());
    let found = place.report("snapshot")["analyses"]["spans"].clone();
    place.succeed(&["run", "again", "--run-id", "i"]);
    assert_eq!(found["falsePositiveReasons"], place.report("i")["analyses"]["spans"]["falsePositiveReasons"]);
    assert_eq!((&found["evaluated"], &found["errorCount"], &found["avgScore"]), (&json!(3), &json!(1), &json!(15.0)));
    assert_eq!((&found["score"]["n"], &found["degraded"]), (&json!(2), &json!(0)));
    assert_eq!(found["avgCategoryScores"]["shot"], json!({"coverage": 4.0, "precision": null, "n": 1}));
    assert_eq!(found["avgCategoryScores"]["audio"]["n"], 0);
    assert_eq!(
        (&found["topTaxonomyErrors"][0]["equal"], &found["falsePositiveReasons"]["non_visual"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(found["confidence"]["buckets"]["low"]["errors"], 1);
    let again = place.karat(&["import", "span-snapshot", "snapshot.json", "-o", "again"]);
    assert_eq!(again.code, 1, "{}", again.all());
    place.write("other.json", "{}");
    let other = place.karat(&["import", "span-snapshot", "other.json"]);
    assert!(other.code == 1 && other.stderr.contains("no list `results`"), "{}", other.all());
}

/// SP-06, SP-09: verdicts stand as they were given, whatever the texts: one text with two verdicts, half steps, a finding
/// that comes twice, a list longer than one call judges, spans without offsets. None of it costs anything.
#[test]
fn odd_snapshots_keep_their_figures() {
    let place = Place::new();
    let scores = |coverage: f64| json!({"coverage": coverage, "precision": 3, "granularity": 5, "taxonomy": 2, "technicalSpecs": 1});
    let span =
        |start: usize| json!({"text": "dog", "role": "subject", "confidence": 0.9, "start": start, "end": start + 3});
    let false_one = |at: i64| json!({"spanIndex": at, "text": "dog", "assignedRole": "subject", "reason": "other"});
    let many: Vec<Value> = (0..200).map(span).collect();
    let result = |id: Value, output: &str, spans: Value, coverage: f64, found: &[i64]| {
        let found: Vec<Value> = found.iter().map(|at| false_one(*at)).collect();
        json!({"promptId": id, "output": output, "spans": spans, "judgeResult": {"scores": scores(coverage), "falsePositives": found, "notes": null}})
    };
    let snapshot = json!({
        "promptCount": 5,
        "confidenceAnalysis": {"buckets": {"high": {"total": 203, "errors": 3}}, "recommendedThreshold": null},
        "summary": {
            "avgScore": 15.1, "avgSpanCount": 41.0, "scoreDistribution": {"acceptable (13–17)": 5},
            "falsePositiveReasons": {"other": 6}, "errorsBySection": {"alternatives": {"falsePositives": 1}},
        },
        "results": [
            result(json!("a"), "A dog.", json!([span(2)]), 3.5, &[0, -1, -1]),
            result(json!("a"), "A dog.", json!([span(2)]), 4.5, &[]),
            result(json!("a dog."), "**VARIATIONS** a dog.", json!(["dog", {"text": "A", "confidence": 1.5}]), 4.5, &[0]),
            result(json!(7), "long", json!(many), 5.0, &[150]),
            result(json!("a#2"), "A dog. A dog.", json!([span(2)]), 3.0, &[0]),
        ],
    });
    place.write("odd.json", &snapshot.to_string());
    let said = place.succeed(&["import", "span-snapshot", "odd.json"]);
    assert!(said.stderr.contains("9 of 9 figures"), "{}", said.all());
    assert!(said.stderr.contains("5 simulated calls; nothing was billed"), "{}", said.all());
    assert!(!said.stderr.contains("note:"), "{}", said.all());
    let report = place.report("odd");
    let found = &report["analyses"]["spans"];
    assert_eq!((&found["confidence"]["missing"], &found["confidence"]["outOfRange"]), (&json!(1), &json!(1)));
    assert!(said.stdout.contains("1 without a confidence · 1 outside 0 to 1"), "{}", said.all());
    assert_eq!(found["spansBySection"]["alternatives"], 2);
    let scored: Vec<&Value> =
        report["cells"].as_array().unwrap().iter().map(|it| &it["scores"]["quality.totalScore"]["value"]).collect();
    assert_eq!(scored, [14.5, 15.5, 15.5, 16.0, 14.0]);
}

/// SP-07: a report without verdicts gives no advice.
#[test]
fn advice_needs_a_verdict() {
    let place = Place::new();
    let span = json!({"text": "dog", "confidence": 0.2, "start": 0});
    place.write("none.json", &json!({"results": [{"promptId": "a", "output": "dog", "spans": [span]}]}).to_string());
    let said = place.succeed(&["import", "span-snapshot", "none.json"]);
    assert!(said.stdout.contains("no recommendation:") && !said.stdout.contains("no threshold"), "{}", said.all());
    assert!(said.stderr.contains("the snapshot has no summary"), "{}", said.all());
}

/// SP-09: a file that is not a snapshot is refused with its place; a prompt that occurs twice is two samples.
#[test]
fn bad_snapshots_are_refused() {
    let place = Place::new();
    let result = |output: &str| json!({"promptId": "a", "output": output, "spans": "none", "judgeResult": "bad"});
    place.write("empty.json", "{\"results\": []}");
    place.write("broken.json", "{\"results\": [");
    place.write("silent.json", &json!({"results": [{"promptId": "a"}]}).to_string());
    place.write("twice.json", &json!({"results": [result("x"), result("y")]}).to_string());
    let refused = [
        ("empty.json", "`results` is empty"),
        ("broken.json", "is not JSON"),
        ("silent.json", "results[0] has no text `output`"),
        ("absent.json", "reading absent.json"),
        ("/dev/null", "/dev/null"),
    ];
    for (file, part) in refused {
        let said = place.karat(&["import", "span-snapshot", file]);
        assert!(said.code == 1 && said.stderr.contains(part), "{file}: {}", said.all());
    }
    let said = place.succeed(&["import", "span-snapshot", "twice.json"]);
    assert!(said.stderr.contains("2 samples, 2 without a verdict"), "{}", said.all());
    assert_eq!(place.report("twice")["cells"][1]["sample"], "a#2");
}

/// SP-03, SP-04, SP-05: rows are `{id, text}` or the seed's; where a live labeller returns spans only, the text is the
/// row's, for the judge and for sections. A span that is none is an error of the dataset with its place.
#[test]
fn a_live_labeller_gets_the_rows_text() {
    let place = Place::new();
    let text = "🎬 A dog. **VARIATIONS** A cat.";
    let at = text[..text.find("cat").unwrap()].encode_utf16().count();
    let rows = [
        json!({"id": 1, "text": text, "spans": [{"text": "cat", "role": "subject", "start": at}]}),
        json!({"promptId": "p", "id": 7, "input": "i", "output": text, "at": at}),
    ];
    place.write("rows.jsonl", &rows.map(|row| format!("{row}\n")).concat());
    let judged = ["-p", "prompts=rows.jsonl", "--judges", "stub"];
    place.succeed(&[&["run", "spans", "--run-id", "recorded"], &judged[..]].concat());
    let live = r#"variants={live: [{command: {run: [cat], stdin: '[{"text": "cat", "start": 27}]'}, version: v1, parse: {as: json, into: spans}}]}"#;
    assert_eq!(at, 27);
    place.succeed(&[&["run", "spans", "--run-id", "live", "--set", live, "--variants", "live"], &judged[..]].concat());
    for (run, spans) in [("recorded", 1), ("live", 2)] {
        let report = place.report(run);
        let found = &report["analyses"]["spans"];
        assert_eq!((&found["score"]["n"], &found["errorCount"]), (&json!(2), &json!(0)), "{run}");
        assert_eq!(found["spansBySection"], json!({"main": 0, "technicalSpecs": 0, "alternatives": spans}), "{run}");
        let samples: Vec<&Value> = report["cells"].as_array().unwrap().iter().map(|cell| &cell["sample"]).collect();
        assert_eq!(samples, ["1", "p"]);
    }
    place.write("wrong.jsonl", &format!("{}\n", json!({"id": "a", "text": "A dog.", "spans": [{"text": 5}]})));
    let said = place.karat(&["validate", "spans", "-p", "prompts=wrong.jsonl"]);
    assert!(said.code == 1 && said.stderr.contains("`spans.0.text`"), "{}", said.all());
    assert!(said.stderr.contains("wrong.jsonl:1"), "{}", said.all());
}

/// F114: `-p endpoint` asks a labeller for the spans of each text, and reads none of the stored ones; without it nothing is asked.
#[test]
fn an_endpoint_labels_the_texts() {
    let place = Place::new();
    let labeller = FakeProvider::start(Behaviour::raw(200, r#"{"spans": [{"text": "cat", "start": 2}]}"#)).unwrap();
    let stored = json!({"id": "a", "text": "A cat.", "spans": [{"text": "x"}, {"text": "y"}]});
    place.write("rows.jsonl", &format!("{stored}\n{}\n", json!({"promptId": "b", "output": "My cat.", "input": "i"})));
    let asked = |run: &str, endpoint: &[&str]| {
        let common = ["run", "spans", "-q", "-p", "prompts=rows.jsonl", "--judges", "stub", "--run-id", run];
        place.succeed(&[&common[..], endpoint].concat());
        place.report(run)
    };
    let live = asked("live", &["-p", &format!("endpoint={}", labeller.url())]);
    let only = |report: &Value, id: &str| report["cells"].as_array().unwrap().iter().all(|cell| cell["variant"] == id);
    assert!(labeller.requests() == 2 && only(&live, "live"), "{live}");
    let requests = labeller.received_requests();
    assert!(requests.iter().all(|request| request.path == "/label-spans"));
    let mut texts: Vec<String> = requests.iter().map(|it| it.json()["text"].to_string()).collect();
    texts.sort();
    assert_eq!(texts, ["\"A cat.\"", "\"My cat.\""]);
    assert_eq!(live["analyses"]["spans"]["spansBySection"]["main"], 2);
    let stored = asked("stored", &[]);
    assert!(labeller.requests() == 2 && only(&stored, "labelled"), "{stored}");
}

/// Options that only the analysis can check are refused before the run.
#[test]
fn options_are_judged_before_the_run() {
    let place = Place::new();
    let said = place.karat(&["run", "spans", "--run-id", "s", "--set", "analyses.spans.with.notable=-1"]);
    assert!(said.code == 1 && said.stderr.contains("`notable` is -1"), "{}", said.all());
    assert!(place.karat(&["show", "s"]).code == 1, "nothing was run");
}

/// SP-08: two evaluations are compared by category, confusion, section and prompt; an old one by what it has.
#[test]
fn evaluations_are_compared() {
    let place = Place::new();
    let scores = |taxonomy: u32, precision: u32| json!({"coverage": 5, "precision": precision, "granularity": 5, "taxonomy": taxonomy, "technicalSpecs": 5});
    let confusion =
        |to: &str| json!([{"spanIndex": 0, "text": "Wide", "assignedRole": "shot.type", "expectedRole": to}]);
    let result = |id: &str, judged: Value| {
        json!({
            "promptId": id, "output": format!("{id}: Wide shot."), "judgeResult": judged,
            "spans": [{"text": "Wide", "role": "shot.type", "confidence": 0.9, "start": 4, "end": 8}],
        })
    };
    let side = |name: &str, results: Vec<Value>| {
        place.write(&format!("{name}.json"), &json!({"results": results}).to_string());
        place.succeed(&["import", "span-snapshot", &format!("{name}.json")]);
    };
    let shot = |coverage: u32| json!({"shot": {"coverage": coverage, "precision": 4}});
    let false_one = json!([{"spanIndex": 0, "text": "Wide", "assignedRole": "shot.type", "reason": "other"}]);
    side(
        "before",
        vec![
            result(
                "p1",
                json!({"scores": scores(5, 5), "taxonomyErrors": confusion("camera.a"), "falsePositives": [], "missedElements": [], "categoryScores": shot(3)}),
            ),
            result("p2", json!({"scores": scores(1, 5), "categoryScores": shot(3)})),
            json!({"promptId": "p3", "output": "p3: Wide shot.", "spans": [], "error": "timeout"}),
            result("p4", json!({"scores": scores(5, 5)})),
        ],
    );
    side(
        "after",
        vec![
            result(
                "p1",
                json!({"scores": scores(1, 5), "taxonomyErrors": confusion("camera.b"), "falsePositives": false_one, "categoryScores": shot(5)}),
            ),
            result("p2", json!({"scores": scores(5, 5), "categoryScores": shot(4)})),
            result("p3", json!({"scores": scores(5, 5)})),
            json!({"promptId": "p5", "output": "**VARIATIONS** a dog", "spans": [], "judgeResult": {"scores": scores(5, 5), "missedElements": [
                {"text": "a dog", "expectedRole": "subject", "category": "subject", "severity": "minor"},
            ]}}),
            json!({"promptId": "p4", "output": "p4: Wide shot.", "spans": [], "error": "timeout"}),
        ],
    );
    let said = place.succeed(&["compare", "before", "after", "--format", "json", "-o", "-"]);
    let compared: Value = serde_json::from_str(&said.stdout).unwrap();
    let found = &compared["diagnostics"][0];
    let coverage = &found["categories"]["shot"]["coverage"];
    assert_eq!((&coverage["before"], &coverage["after"], &coverage["change"]), (&json!(3.0), &json!(4.5), &json!(1.5)));
    // Two prompts, both better: the exact sign-flip test has p = 2/4.
    assert_eq!(
        (&coverage["p"], &coverage["paired"]["value"], &coverage["paired"]["n"]),
        (&json!(0.5), &json!(1.5), &json!(2))
    );
    assert!(coverage["p_adjusted"].as_f64() >= Some(0.5));
    assert_eq!(found["categories"]["audio"]["coverage"]["paired"], Value::Null);
    assert_eq!(found["newConfusions"], json!([{"assignedRole": "shot.type", "expectedRole": "camera.b"}]));
    assert_eq!(found["resolvedConfusions"], json!([{"assignedRole": "shot.type", "expectedRole": "camera.a"}]));
    assert_eq!((&found["regressions"][0]["sample"], &found["regressions"][0]["change"]), (&json!("p1"), &json!(-4.0)));
    assert_eq!(found["improvements"][0]["sample"], "p2");
    assert_eq!((&found["newErrors"], &found["fixedErrors"]), (&json!(["p4"]), &json!(["p3"])));
    assert_eq!(found["sectionErrorRates"]["main"]["falsePositives"]["before"], 0.0);
    assert!(found["sectionErrorRates"]["main"]["falsePositives"]["change"].as_f64().unwrap() > 0.0);
    let missed = &found["sectionErrorRates"]["alternatives"]["missed"];
    // No prompt has it on both sides: each side's own, and no change.
    assert_eq!((&missed["before"], &missed["after"], &missed["change"]), (&json!(0.0), &json!(1.0), &Value::Null));
    let markdown = place.succeed(&["compare", "before", "after", "--format", "md", "-o", "-"]).stdout;
    assert!(markdown.contains("New confusions: shot.type → camera.b"), "{markdown}");
    assert!(markdown.contains("| `shot` coverage | 3.00 | 4.50 | +1.50 | 2 | 1.000 |"), "{markdown}");
    assert!(markdown.contains("| `alternatives` missed | 0.000 | 1.00 | n/a | 0 | n/a |"), "{markdown}");
    assert!(!markdown.contains("`audio` coverage"), "what neither side has is not a row: {markdown}");
    let terminal = place.succeed(&["compare", "before", "after"]).stdout;
    assert!(terminal.contains("spans, worse by 3 or more: p1 −4.00"), "{terminal}");
}

/// Results of a snapshot: each text has two spans; a verdict may have lists, or be none.
fn snapshot(place: &Place, name: &str, verdicts: &[Option<Value>]) -> String {
    let span = |text: &str, start: usize| json!({"text": text, "role": "a.b", "confidence": 0.9, "start": start, "end": start + 4});
    let scores = json!({"coverage": 4, "precision": 4, "granularity": 4, "taxonomy": 4, "technicalSpecs": 4});
    let result = |(at, lists): (usize, &Option<Value>)| {
        let mut judged = json!({ "scores": scores });
        for (list, found) in lists.iter().filter_map(Value::as_object).flatten() {
            judged[list] = found.clone();
        }
        let judged = if lists.is_some() { judged } else { Value::Null };
        json!({"promptId": format!("p{at}"), "output": "alph beta", "spans": [span("alph", 0), span("beta", 5)], "judgeResult": judged})
    };
    let results: Vec<Value> = verdicts.iter().enumerate().map(result).collect();
    place.write(&format!("{name}.json"), &json!({ "results": results }).to_string());
    place.succeed(&["import", "span-snapshot", &format!("{name}.json")]).stdout
}

fn false_one(index: i64) -> Value {
    json!([{"spanIndex": index, "text": "alph", "assignedRole": "a.b", "reason": "other"}])
}

fn compared(place: &Place, baseline: &str, candidate: &str) -> Value {
    let said = place.succeed(&["compare", baseline, candidate, "--format", "json", "-o", "-"]);
    serde_json::from_str::<Value>(&said.stdout).unwrap()["diagnostics"][0].clone()
}

/// SP-06, SP-08: a text with a lost verdict does not count as a text without findings: it is in no rate and no pair.
#[test]
fn lost_verdicts_are_not_compared() {
    let place = Place::new();
    let wrong = Some(json!({"falsePositives": false_one(0)}));
    snapshot(&place, "full", &vec![wrong.clone(); 14]);
    snapshot(&place, "lost", &[vec![wrong; 2], vec![None; 12]].concat());
    let rate = compared(&place, "full", "lost")["sectionErrorRates"]["main"]["falsePositives"].clone();
    assert_eq!((&rate["before"], &rate["after"], &rate["change"]), (&json!(1.0), &json!(1.0), &json!(0.0)));
    assert_eq!((&rate["paired"]["n"], &rate["paired"]["value"]), (&json!(2), &json!(0.0)));
    assert_eq!(place.report("lost")["analyses"]["spans"]["spansBySection"]["main"], 4);
}

/// DC-08: of the same findings without the false positives nothing is worse: misses are counted per prompt, and the share
/// found is of found and missing.
#[test]
fn a_labeller_without_its_false_positives_is_not_worse() {
    let place = Place::new();
    let missed = json!([{"text": "gamma", "expectedRole": "a.b", "category": "subject", "severity": "minor"}]);
    let verdicts = |wrong: Value| vec![Some(json!({"missedElements": missed, "falsePositives": wrong})); 12];
    snapshot(&place, "v1", &verdicts(false_one(0)));
    snapshot(&place, "v2", &verdicts(json!([])));
    let found = compared(&place, "v1", "v2");
    let main = &found["sectionErrorRates"]["main"];
    assert_eq!((&main["missed"]["change"], &main["missed"]["paired"]["value"]), (&json!(0.0), &json!(0.0)), "{found}");
    assert_eq!((&main["falsePositives"]["change"], &main["falsePositives"]["before"]), (&json!(-1.0), &json!(1.0)));
    let rate = &found["foundRates"]["main"];
    assert_eq!((&rate["before"], &rate["paired"]["n"]), (&json!(0.5), &json!(12)), "{found}");
    assert!(rate["change"].as_f64() > Some(0.0), "an item more is right: {found}");
}

/// SP-07, SP-08: lists that an old snapshot lacks were not assessed: the report shows neither them nor confidence.
#[test]
fn lists_that_are_lacking_are_not_zero() {
    let place = Place::new();
    let confusion = json!([{"spanIndex": 1, "text": "beta", "assignedRole": "a.b", "expectedRole": "c.d"}]);
    let old = snapshot(&place, "old", &vec![Some(json!({"missedElements": []})); 8]);
    assert!(old.contains("no recommendation:") && !old.contains("falsePositives"), "{old}");
    snapshot(&place, "new", &vec![Some(json!({"falsePositives": false_one(0), "taxonomyErrors": confusion})); 8]);
    let found = compared(&place, "old", "new");
    let rate = &found["sectionErrorRates"]["main"]["falsePositives"];
    assert_eq!((&rate["before"], &rate["after"], &rate["change"]), (&Value::Null, &json!(1.0), &Value::Null));
    assert_eq!((&rate["paired"], &found["newConfusions"]), (&Value::Null, &Value::Null));
    let report = place.report("old");
    assert_eq!(report["analyses"]["spans"]["errorsBySection"]["main"], json!({"missed": 0}));
}

/// SP-07: errors that name no item are said, and no threshold is called needless.
#[test]
fn errors_without_an_item_are_reported() {
    let place = Place::new();
    let said = snapshot(&place, "loose", &[Some(json!({"falsePositives": false_one(-1)}))]);
    assert!(said.contains("1 errors that match no item") && !said.contains("no threshold is needed"), "{said}");
    assert_eq!(place.report("loose")["analyses"]["spans"]["confidence"]["unlocated"], 1);
}

/// SP-05, rule 8 of the suite language: a path of items that leads nowhere is an error, in the run and in the report.
#[test]
fn a_path_without_items_is_reported() {
    let place = Place::new();
    let said = place.karat(&["run", "spans", "--run-id", "s", "--set", "analyses.spans.with.items=$.entz"]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.all().contains("found no list at `$.entz` in any of 24 outputs"), "{}", said.all());
    assert!(said.all().contains("spans: its path of items, `$.entz`, leads to a list in no output"), "{}", said.all());
}

/// F114: a run is written as a snapshot in which each span and each error has its section, and which is read again.
#[test]
fn a_run_is_written_as_a_snapshot() {
    let place = Place::new();
    place.succeed(&["run", "spans", "--run-id", "s", "-q"]);
    place.succeed(&["export", "span-snapshot", "s", "-o", "snapshot.json"]);
    let snapshot: Value = serde_json::from_str(&place.text("snapshot.json")).unwrap();
    let results = snapshot["results"].as_array().unwrap();
    assert_eq!((&snapshot["promptCount"], results.len()), (&json!(24), 24));
    assert_eq!(snapshot["summary"]["avgScore"], place.report("s")["analyses"]["spans"]["avgScore"]);
    assert_eq!(snapshot["judgeModel"], "sim-span-judge");
    let names = ["main", "technicalSpecs", "alternatives"];
    let has_section = |it: &Value| it["section"].as_str().is_some_and(|section| names.contains(&section));
    let mut errors = 0;
    for result in results {
        let spans = result["spans"].as_array().unwrap();
        assert!(spans.iter().all(has_section), "{result}");
        for name in names {
            let count = spans.iter().filter(|span| span["section"] == name).count();
            assert_eq!(result["metadata"]["spansBySection"][name], count, "{result}");
        }
        for list in ["missedElements", "falsePositives", "taxonomyErrors", "granularityErrors"] {
            let found = result["judgeResult"][list].as_array().map(Vec::as_slice).unwrap_or_default();
            assert!(found.iter().all(has_section), "{list}: {result}");
            errors += found.len();
        }
    }
    assert!(errors > 20, "{errors}");
    let again = place.succeed(&["import", "span-snapshot", "snapshot.json", "-o", "again"]);
    assert!(again.all().contains("figures of the snapshot's summary are the same"), "{}", again.all());
    let other = place.karat(&["run", "faq", "--run-id", "f", "-q"]);
    let refused = place.karat(&["export", "span-snapshot", "f", "-o", "x.json"]);
    assert!(refused.code == 1 && refused.stderr.contains("diagnostics"), "{} {}", other.all(), refused.all());
}
