//! The question-answering service of the preset `rag`, offline.

mod baselines;
mod privacy;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider, Script};

use crate::place::{CommandOutput, Place};

fn figure<'a>(report: &'a Value, metric: &str) -> &'a Value {
    &report["metrics"][metric]["value"]
}

fn value(cell: &Value, metric: &str) -> Option<f64> {
    cell["scores"][metric]["value"].as_f64()
}

fn lines(path: &str) -> Vec<Value> {
    let path = format!("{}/../../presets/rag/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The fault that is planted for each question that has one, by query.
fn planted() -> BTreeMap<String, String> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let queries: BTreeMap<String, String> =
        lines("data/queries.jsonl").iter().map(|query| (text(query, "question"), text(query, "query_id"))).collect();
    let faults = lines("service/faults.jsonl");
    faults.iter().map(|fault| (queries[&text(fault, "question")].clone(), text(fault, "fault"))).collect()
}

/// The metrics that pass or fail for an answer, without latency.
const CHECKS: [&str; 10] = [
    "NumericExact",
    "NumericWithinTolerance",
    "CitationCoverage",
    "CitationCorrectness",
    "AttributionAccuracy",
    "QuoteMatch",
    "QuotePage",
    "SlideTitle",
    "SlideContent",
    "HybridHitRate@10",
];

/// RG-05, RG-06, RG-07, RG-09, RG-11: the gate fails and names what failed; every planted fault is found by the metric that is there for it, and by no other; what has
/// no fault passes everything.
#[test]
fn every_planted_fault_is_found_by_its_metric_alone() {
    let place = Place::new();
    let result = place.karat(&["run", "rag", "--run-id", "faulty", "-q"]);
    assert_eq!(result.code, 2, "{}", result.all());
    let report = place.report("faulty");
    let verdict =
        |gate: &Value| (gate["metric"].as_str().unwrap().to_owned(), gate["verdict"].as_str().unwrap().to_owned());
    let verdicts: BTreeMap<String, String> = report["gates"].as_array().unwrap().iter().map(verdict).collect();
    let expected = [
        ("AttributionAccuracy", "fail"),
        ("CitationCorrectness", "fail"),
        ("Cost_per_query_usd", "pass"),
        ("HybridHitRate@10", "pass"),
        ("Latency_p95_ms", "review"),
        ("NumericWithinTolerance", "fail"),
    ];
    assert_eq!(verdicts, expected.map(|(metric, verdict)| (metric.to_owned(), verdict.to_owned())).into());
    for failed in ["NumericWithinTolerance 0.812 < gate 0.900", "AttributionAccuracy 0.750 < gate 0.850"] {
        assert!(result.stdout.contains(failed), "{}", result.all());
    }
    let planted = planted();
    // F116: the quote's page and the slide's title are scored; a wrong speaker of a quote is found.
    for (metric, n) in [("QuotePage", 20), ("QuoteSpeaker", 12), ("SlideTitle", 8)] {
        assert_eq!(report["metrics"][metric]["n"], n, "{metric}");
    }
    assert_eq!(report["metrics"]["QuoteSpeaker"]["value"], 0.75);
    assert!(planted.len() >= 20 && report["totals"]["cells"] == 60, "{}", report["totals"]);
    for cell in report["cells"].as_array().unwrap() {
        let sample = cell["sample"].as_str().unwrap();
        let failed: Vec<&str> = CHECKS.into_iter().filter(|metric| value(cell, metric) == Some(0.0)).collect();
        let expected: &[&str] = match planted.get(sample).map(String::as_str) {
            Some("wrong_currency" | "off_by_scale") => &["NumericExact", "NumericWithinTolerance"],
            Some("wrong_quarter") => &["CitationCorrectness"],
            Some("wrong_speaker") => &["AttributionAccuracy"],
            _ => &[],
        };
        assert_eq!(failed, expected, "{sample}: {cell}");
        let is_slow = value(cell, "Latency_verification_p95_ms").unwrap() > 1000.0;
        assert_eq!(is_slow, planted.get(sample).is_some_and(|fault| fault == "slow_stage"), "{sample}");
    }
    assert_eq!(report["run"]["service_commit"], "9c1f0d2");
    assert_eq!(report["run"]["config"]["services"]["models"]["llm"], json!({"demo-answer": 60}));
    let categories = report["analyses"]["failures"]["categories"].as_array().unwrap();
    assert_eq!((&categories[0]["metric"], &categories[0]["cells"]), (&json!("CitationCorrectness"), &json!(7)));
    let example = &categories[0]["examples"][0];
    assert!(example["shown"]["$.citations"].as_str().unwrap().contains("quarter"), "{example}");
}

/// RG-04, RG-10, RG-11: each figure is shown with the pinned one, the change and its interval, the threshold and the
/// state; the review gives the change in the metric's unit and as a share.
#[test]
fn key_figures_stand_beside_the_pinned_ones() {
    let place = Place::new();
    place.succeed(&["run", "rag", "-p", "build=repaired", "--run-id", "repaired", "-q"]);
    place.succeed(&["baseline", "pin", "repaired", "-o", "pinned.json"]);
    let result = place.karat(&["run", "rag", "--baseline", "pinned.json", "--run-id", "faulty", "-q"]);
    let report = place.report("faulty");
    let kpis = report["analyses"]["kpis"].as_array().unwrap();
    assert_eq!(kpis.len(), report["metrics"].as_object().unwrap().values().filter(|it| it["n"] != 0).count());
    let kpi = |metric: &str| kpis.iter().find(|it| it["metric"] == metric).unwrap();
    let numeric = kpi("NumericWithinTolerance");
    assert_eq!((&numeric["figure"]["value"], &numeric["baseline"]), (&json!(0.8125), &json!(1.0)));
    assert_eq!((&numeric["change"]["value"], &numeric["change"]["n"]), (&json!(-0.1875), &json!(32)));
    let (lo, hi) = (numeric["change"]["ci"][0].as_f64().unwrap(), numeric["change"]["ci"][1].as_f64().unwrap());
    // Six of 32 fell, none rose: Tango's score interval.
    assert!((lo + 0.353_092).abs() < 1e-4 && (hi + 0.060_225).abs() < 1e-4, "{lo} {hi}");
    assert_eq!(numeric["bounds"], json!([{"bound": "min", "threshold": 0.9, "verdict": "fail"}]));
    let latency = kpi("Latency_p95_ms");
    assert!(latency["change"]["ci"][1].as_f64().unwrap() > 1000.0, "{latency}");
    let page = std::fs::read_to_string(place.path().join(".karat/reports/faulty.md")).unwrap();
    let shown =
        "| `NumericWithinTolerance` | **0.812** | 32 | 1.000 | −0.188 (CI −0.353 to −0.060) | ≥ 0.900 | **fail** |";
    assert!(page.contains(shown), "{page}");
    // RG-04: what the seed calls recall is told apart from what the field calls so.
    let told = "- `Recall@10_text`: a relevant text among the first 10 of its space: what the field calls hit rate.";
    assert!(page.contains(told), "{page}");
    let rise = "a rise of 1619 ms (193 %, from 839 ms to 2458 ms) is above the allowed 167.8 ms (20 %)";
    for expected in [rise, "CitationCorrectness", "7 of 60, q-003: ", "pinned.json"] {
        assert!(result.stdout.contains(expected), "{expected}: {}", result.all());
    }
    let listed = page.split("### The worst cells").nth(1).unwrap().split("## Inputs and outputs").next().unwrap();
    assert_eq!(listed.matches("| q-001 |").count(), 1, "{listed}");
}

/// RG-10, RG-11: the repaired service passes the gate with exit 0, and everything under the seed's names; figures of ten queries agree with those made by
/// hand from the files.
#[test]
fn figures_agree_with_those_made_by_hand() {
    let place = Place::new();
    place.succeed(&["run", "rag", "-p", "build=repaired", "--run-id", "repaired", "-q"]);
    let report = place.report("repaired");
    assert_eq!(report["run"]["service_commit"], "b7e44a1");
    for metric in CHECKS {
        assert_eq!(figure(&report, metric), &json!(1.0), "{metric}");
    }
    // Of 32 figures three are comparisons that name both ends: $24.8 beside $485.6 and $510.4, …
    assert_eq!(figure(&report, "NumericContested"), &json!(3.0 / 32.0));
    let by_hand = by_hand();
    let cells: BTreeMap<&str, &Value> =
        report["cells"].as_array().unwrap().iter().map(|cell| (cell["sample"].as_str().unwrap(), cell)).collect();
    for (sample, figures) in by_hand {
        for (metric, expected) in figures {
            let found = value(cells[sample], metric);
            let near = found.zip(expected).is_none_or(|(found, expected)| (found - expected).abs() < 1e-9);
            assert!(near && found.is_some() == expected.is_some(), "{sample} {metric}: {found:?}, not {expected:?}");
        }
    }
}

/// Scores by metric; `None` where a metric does not apply.
type Figures = Vec<(&'static str, Option<f64>)>;

/// Of ten queries: relevant chunks and the places at which they stand in the union of the three spaces' candidates (rank
/// by rank: text, table, page), read off by hand; tokens by model; simulated times of the stages added up.
fn by_hand() -> Vec<(&'static str, Figures)> {
    struct Query {
        id: &'static str,
        /// 1 ÷ the first place, and log2(place + 1) of every place.
        first: f64,
        places: &'static [f64],
        /// Relevant chunks, all of them found.
        relevant: usize,
        /// Tokens that were embedded, read and written: $0.10, $2 and $8 a million.
        tokens: [f64; 3],
        total_ms: f64,
        has_number: bool,
    }
    let query = |id, first, places, tokens, total_ms, has_number| Query {
        id,
        first,
        places,
        relevant: places.len(),
        tokens,
        total_ms,
        has_number,
    };
    let queries = [
        query("q-001", 1.0 / 5.0, &[5.0, 7.0, 9.0], [8.0, 222.0, 9.0], 692.0, true),
        query("q-006", 1.0, &[1.0, 2.0, 3.0], [9.0, 202.0, 10.0], 734.0, true),
        query("q-012", 1.0, &[1.0, 2.0, 3.0], [10.0, 203.0, 10.0], 744.0, true),
        query("q-021", 1.0, &[1.0, 3.0, 8.0, 11.0, 13.0, 15.0], [16.0, 285.0, 14.0], 743.0, true),
        query("q-022", 1.0, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [17.0, 230.0, 22.0], 777.0, true),
        query("q-029", 1.0, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [17.0, 243.0, 16.0], 752.0, true),
        query("q-033", 1.0 / 3.0, &[3.0, 7.0], [17.0, 215.0, 24.0], 821.0, false),
        query("q-041", 1.0, &[1.0, 3.0], [18.0, 223.0, 22.0], 801.0, false),
        query("q-047", 1.0, &[1.0, 3.0], [21.0, 199.0, 21.0], 787.0, false),
        query("q-054", 1.0, &[1.0, 3.0], [16.0, 208.0, 16.0], 756.0, false),
    ];
    let figures = queries.into_iter().map(|it| {
        let gain = |place: &f64| 1.0 / (place + 1.0).log2();
        let ideal: f64 = (1..=it.relevant).map(|place| gain(&(place as f64))).sum();
        let [embedded, read, written] = it.tokens;
        let number = it.has_number.then_some(1.0);
        let figures = vec![
            ("MRR", Some(it.first)),
            ("nDCG@10", Some(it.places.iter().map(gain).sum::<f64>() / ideal)),
            // Questions without a number have no relevant table.
            ("Precision@10", Some(it.relevant as f64 / if it.has_number { 30.0 } else { 20.0 })),
            ("RecallAll@10", Some(1.0)),
            ("HybridHitRate@10", Some(1.0)),
            ("Recall@10_text", Some(1.0)),
            ("Recall@10_table", number),
            ("NumericExact", number),
            ("NumericWithinTolerance", number),
            ("CitationCorrectness", Some(1.0)),
            ("CitationRecall", Some(1.0)),
            ("AttributionAccuracy", matches!(it.id, "q-033" | "q-041").then_some(1.0)),
            ("Latency_p95_ms", Some(it.total_ms)),
            ("Cost_per_query_usd", Some((embedded * 0.10 + read * 2.0 + written * 8.0) / 1e6)),
        ];
        (it.id, figures)
    });
    figures.collect()
}

/// Queries of one's own, with gold, against a service of one's own.
fn own_queries(place: &Place) {
    let rows = [
        json!({"query_id": "a", "question": "Revenue?", "filters": {"quarter": "2025-Q2"},
               "metadata": {"category": "numeric", "quarter": "2025-Q2", "doc_types": ["release"]},
               "gold": {"expected_value": 1.2, "unit": "billion USD", "currency": "USD",
                        "citations": [{"doc_type": "release", "quarter": "2025-Q2", "page": 2}]}}),
        json!({"query_id": "b", "question": "Margin?", "metadata": {"category": "numeric", "quarter": "2025-Q2"},
               "gold": {"expected_value": 12.5, "unit": "percent"}}),
    ];
    place.write("own.jsonl", &rows.map(|row| row.to_string() + "\n").concat());
}

fn run_own(place: &Place, service: &FakeProvider, more: &[&str]) -> CommandOutput {
    let endpoint = format!("endpoint={}", service.url());
    let own = ["run", "rag", "-p", &endpoint, "-p", "dataset=own.jsonl", "-p", "chunks=", "-p", "tables="];
    place.karat(&own.iter().chain(more).copied().collect::<Vec<_>>())
}

fn own_answer(text: &str) -> Behaviour {
    let body = json!({
        "answer": text, "citations": [{"doc_type": "release", "quarter": "2025-Q2", "page": 2}],
        "timings_ms": {"retrieval": 4, "llm": 9}, "usage": [{"kind": "llm", "model": "demo-answer", "input_tokens": 10}],
        "commit": "own-1"
    });
    Behaviour::raw(200, body.to_string())
}

/// RG-03: the question and the row's own filters are sent, nothing of its metadata or gold; parts that the answer lacks are
/// not applicable or fail, and none is an error.
#[test]
fn a_service_of_ones_own_is_asked_with_its_filters() {
    let (place, service) =
        (Place::new(), FakeProvider::start(Script::always(own_answer("It was $1.2 billion."))).unwrap());
    own_queries(&place);
    let result = run_own(&place, &service, &["--run-id", "own", "-o", "out"]);
    let mut sent: Vec<Value> = service.received_requests().iter().map(testkit::ReceivedRequest::json).collect();
    sent.sort_by_key(|body| body["question"].to_string());
    assert_eq!(
        sent,
        [
            json!({"question": "Margin?", "filters": {}, "top_k": 10}),
            json!({"question": "Revenue?", "filters": {"quarter": "2025-Q2"}, "top_k": 10})
        ]
    );
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("out/results/own.json")).unwrap()).unwrap();
    assert!(place.path().join("out/reports/own.md").is_file(), "{}", result.all());
    assert_eq!(report["run"]["service_commit"], "own-1");
    let cells = &report["cells"];
    assert_eq!((value(&cells[0], "NumericExact"), value(&cells[1], "NumericExact")), (Some(1.0), Some(0.0)));
    assert_eq!(value(&cells[0], "CitationCorrectness"), Some(1.0));
    assert!(cells[0]["scores"]["HybridHitRate@10"]["na"].is_string(), "{}", cells[0]);
    assert_eq!((figure(&report, "Latency_llm_p95_ms"), value(&cells[0], "Latency_rerank_p95_ms")), (&json!(9.0), None));
    assert_eq!(report["totals"]["unscored"], 0, "{}", result.all());
}

/// RG-09, RG-11: a service that is down, slow, answers HTML, wrong JSON or 10 MB makes errors with a code, counted apart
/// from wrong answers; more than the policy allows are exit code 1.
#[test]
fn service_errors_are_counted_separately() {
    let html = Behaviour::raw(200, "<html>maintenance</html>").with_header("content-type", "text/html");
    let cases = [
        (html, "malformed"),
        (Behaviour::raw(200, r#"["not", "an", "answer""#), "malformed"),
        (Behaviour::Huge(10 * 1024 * 1024), "too_large"),
        (Behaviour::Hang, "timeout"),
        (Behaviour::server_error(), "server_error"),
    ];
    for (behaviour, code) in cases {
        let (place, service) = (Place::new(), FakeProvider::start(Script::always(behaviour)).unwrap());
        own_queries(&place);
        let timeout = if code == "timeout" { "300ms" } else { "20s" };
        let set = ["--set", &format!("variants.service.query.timeout={timeout}"), "--retries", "0", "--run-id", "r"];
        let result = run_own(&place, &service, &set);
        assert_eq!(result.code, 1, "{code}: {}", result.all());
        let report = place.report("r");
        assert_eq!(report["totals"]["errors"], 2, "{code}");
        assert_eq!(report["cells"][0]["error"]["code"], code);
        assert_eq!(report["metrics"]["NumericExact"]["value"], Value::Null, "{code}: no wrong answer");
    }
}

/// RG-03, RG-09: an answer of another shape is an error that names the path and what is there, no wrong answer.
#[test]
fn answers_of_another_shape_are_errors() {
    let cases = [
        (r#"{"reply": "It was $1.2 billion.", "took": 3}"#, "`$.answer` is missing; there are `reply` and `took`"),
        (r#"[{"answer": "$1.2 billion"}]"#, "`$` is a list of 1, not an object"),
        (r#"{"answer": 1.2}"#, "`$.answer` is the number 1.2, not null or a text"),
        (r#"{"answer": "x", "citations": "p. 2"}"#, "`$.citations` is the text \"p. 2\", not null or a list"),
        (r#"{"answer": "x", "candidates": {"text": {}}}"#, "`$.candidates.text` is an object, not null or a list"),
        ("\"$1.2 billion\"", "`$` is the text \"$1.2 billion\", not an object"),
        ("{}", "`$.answer` is missing; there is an empty object"),
        ("", "it is empty"),
        (r#"{"answer": NaN}"#, "it is not JSON (expected value at line 1 column 12)"),
        (r#"{"answer": "half an ans"#, "it is not JSON (EOF while parsing a string"),
    ];
    for (body, expected) in cases {
        let service = FakeProvider::start(Script::always(Behaviour::raw(200, body.to_owned()))).unwrap();
        let place = Place::new();
        own_queries(&place);
        let result = run_own(&place, &service, &["--retries", "0", "--run-id", "r", "-q"]);
        assert_eq!(result.code, 1, "{body}: {}", result.all());
        let report = place.report("r");
        let error = &report["cells"][0]["error"];
        assert_eq!((&report["totals"]["errors"], &error["code"]), (&json!(2), &json!("malformed")), "{body}");
        assert!(error["message"].as_str().unwrap().contains(expected), "{body}: {error}");
        assert_eq!(report["metrics"]["NumericExact"]["n"], 0, "{body}: no wrong answer");
    }
}

/// RG-15: without its variable a header is left out on this machine, and refused before any call elsewhere.
#[test]
fn an_unset_token_is_never_sent_empty() {
    let (place, service) =
        (Place::new(), FakeProvider::start(Script::always(own_answer("It was $1.2 billion."))).unwrap());
    own_queries(&place);
    run_own(&place, &service, &["-q"]);
    assert!(
        service.requests() > 0 && service.received_requests().iter().all(|it| it.header("authorization").is_none())
    );
    let elsewhere = ["run", "rag", "-p", "endpoint=https://qa.example.com", "-q"];
    let result = place.karat(&elsewhere);
    assert_eq!(result.code, 1, "{}", result.all());
    assert!(
        result.stderr.contains("step query: its header `Authorization` needs RAG_TOKEN, which is not set"),
        "{}",
        result.all()
    );
    let output = place.command(&elsewhere[..4]).arg("--dry-run").env("RAG_TOKEN", "t-1").output().unwrap();
    assert_eq!(CommandOutput::of(output).code, 0);
}

/// RG-09: `--timeout` and `--retries` go before the step's own for a service that hangs.
#[test]
fn a_service_that_hangs_meets_the_timeout() {
    let (place, service) = (Place::new(), FakeProvider::start(Script::always(Behaviour::Hang)).unwrap());
    own_queries(&place);
    let slow =
        ["--set", "variants.service.query.timeout=300s", "--timeout", "1s", "--retries", "1", "--run-id", "r", "-q"];
    let result = run_own(&place, &service, &slow);
    assert_eq!((result.code, service.requests()), (1, 4), "{}", result.all());
    let error = &place.report("r")["cells"][0]["error"];
    let message = error["message"].as_str().unwrap();
    assert!(error["code"] == "timeout" && message.contains("within 1s"), "{error}");
}

/// RG-02: contradictions between references and filings are reported with file and line, also in the report.
#[test]
fn mismatches_of_gold_and_filings_are_reported() {
    let place = Place::new();
    let row = json!({
        "query_id": "a", "question": "What was revenue in Q2 2024?", "metadata": {"category": "numeric", "quarter": "2024-Q2"},
        "gold": {"expected_value": 999.9, "unit": "million USD", "source_table_ids": ["income-2024q2"],
                 "citations": [{"doc_type": "release", "quarter": "2024-Q2", "page": 77}]}
    });
    place.write("own.jsonl", &(row.to_string() + "\n"));
    let result = place.succeed(&["validate", "rag", "-p", "dataset=own.jsonl"]);
    assert!(result.stderr.contains("own.jsonl:1"), "{}", result.all());
    assert!(result.stderr.contains("no chunk is at the citation release 2024-q2 page 77"), "{}", result.all());
    assert!(result.stderr.contains("the expected value 999.9 million USD is not in income-2024q2"), "{}", result.all());
    place.karat(&["run", "rag", "-p", "dataset=own.jsonl", "--run-id", "r", "-q"]);
    assert_eq!(place.report("r")["run"]["config"]["dataset"]["mismatches"]["count"], 2);
}

/// RG-02: filings that are not where the suite looks for them are an error with place and hint, before any call; none at
/// all are an empty parameter.
#[test]
fn filings_that_are_not_there_are_errors() {
    let (place, service) =
        (Place::new(), FakeProvider::start(Script::always(own_answer("It was $1.2 billion."))).unwrap());
    own_queries(&place);
    place.write("empty/notes.txt", "x");
    let endpoint = format!("endpoint={}", service.url());
    for (folder, expected) in [
        ("nowhere", "the folder nowhere cannot be listed"),
        ("own.jsonl", "the folder own.jsonl cannot be listed"),
        ("empty", "it holds no chunks: no DOC/chunk_manifest.jsonl"),
        (".", "it holds no chunks"),
    ] {
        let chunks = format!("chunks={folder}");
        let result =
            place.karat(&["run", "rag", "-p", &endpoint, "-p", "dataset=own.jsonl", "-p", &chunks, "-p", "tables="]);
        assert_eq!(result.code, 1, "{folder}: {}", result.all());
        assert!(result.stderr.contains(expected), "{folder}: {}", result.all());
    }
    assert_eq!(service.requests(), 0);
    assert_ne!(run_own(&place, &service, &["-q"]).code, 1);
    assert_eq!(service.requests(), 2);
}

/// RG-01: the report of a user's own dataset names its path and content, and no version of the shipped dataset.
#[test]
fn provenance_is_that_of_the_data() {
    let (place, service) =
        (Place::new(), FakeProvider::start(Script::always(own_answer("It was $1.2 billion."))).unwrap());
    own_queries(&place);
    run_own(&place, &service, &["--run-id", "own", "-q"]);
    let dataset = |run: &str| place.report(run)["run"]["config"]["dataset"].clone();
    let own = dataset("own");
    assert_eq!((&own["sources"][0]["path"], &own["version"]), (&json!("own.jsonl"), &Value::Null), "{own}");
    assert_eq!(own["changelog"], Value::Null, "{own}");
    place.write("CHANGES.md", "## 7\nNew.\n");
    let set = ["--set", "dataset.version=7", "--set", "dataset.changelog=CHANGES.md", "--run-id", "told", "-q"];
    run_own(&place, &service, &set);
    let told = dataset("told");
    assert_eq!((&told["version"], &told["changelog"]["path"]), (&json!("7"), &json!("CHANGES.md")), "{told}");
    place.karat(&["run", "rag", "--run-id", "shipped", "-q"]);
    let shipped = dataset("shipped");
    assert_eq!((&shipped["version"], &shipped["rows"]), (&json!("2026-11.1"), &json!(60)), "{shipped}");
    assert_eq!(shipped["sources"][0]["path"], "preset:rag/data/queries.jsonl");
}

/// RG-09: the terminal shows failures by kind, with their share, the policy's limit, an example and the next step.
#[test]
fn the_terminal_says_what_failed() {
    let wrong = Behaviour::raw(200, r#"{"reply": 1}"#);
    let script = Script::sequence([wrong, Behaviour::server_error()]);
    let (place, service) = (Place::new(), FakeProvider::start(script).unwrap());
    own_queries(&place);
    let result = run_own(&place, &service, &["--retries", "0", "-j", "1", "--run-id", "r", "-q"]);
    assert_eq!(result.code, 1, "{}", result.all());
    for expected in [
        "failed: service: 2 of 2 cells failed (100 %), more than the 2 % of `policy.max_errors`; fix the cause and run",
        "$/cell is the total cost divided by all cells, including failed ones",
        "error: 1 cell, malformed: service: step `query`: the answer cannot be read: `$.answer` is missing; there is `reply`",
        "error: 1 cell, server_error: service: step query at http://",
    ] {
        assert!(result.stdout.contains(expected), "{expected}: {}", result.all());
    }
    let page = std::fs::read_to_string(place.path().join(".karat/reports/r.md")).unwrap();
    assert!(page.contains("**Failed:** service: 2 of 2 cells failed"), "{page}");
}

/// RG-05: one gold that contradicts itself fails no metric that applies to no other row; where it is much of the data, it does.
#[test]
fn one_broken_reference_does_not_fail_the_run() {
    for (others, fails) in [(24, false), (1, true)] {
        let (place, service) = (Place::new(), FakeProvider::start(Script::always(own_answer("It was 5."))).unwrap());
        let broken = json!({"expected_value": 5, "unit": "million USD", "currency": "EUR"});
        let row = |at: usize, gold: Value| {
            json!({"query_id": format!("r{at}"), "question": format!("{at}?"), "gold": gold}).to_string()
        };
        let rows: Vec<String> = (0..others).map(|at| row(at, json!({}))).chain([row(99, broken)]).collect();
        place.write("own.jsonl", &rows.join("\n"));
        let result = run_own(&place, &service, &["--run-id", "r", "-q"]);
        assert_eq!(result.all().contains("every score of it failed"), fails, "{}", result.all());
        assert_eq!(result.code == 1, fails, "{}", result.all());
    }
}

/// RG-08: the judge is off until it is named; then it holds answers against their sources.
#[test]
fn a_judge_holds_answers_against_their_sources() {
    let place = Place::new();
    place.karat(&[
        "run",
        "rag",
        "--judges",
        "sim-faithfulness",
        "--sample",
        "q-001,q-003,q-033",
        "--run-id",
        "r",
        "-q",
    ]);
    let report = place.report("r");
    let verdicts: Vec<Option<f64>> =
        report["cells"].as_array().unwrap().iter().map(|cell| value(cell, "Faithfulness")).collect();
    assert_eq!(verdicts, [Some(0.0), Some(1.0), Some(1.0)], "euros are in no source; {report}");
}

/// The demo service ends with its standard input, and so with a run that is killed.
#[test]
fn the_demo_ends_with_its_input() {
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string();
    let place = Place::new();
    let mut command = place.command(&["demo", "rag", "--until-eof", "--port", &port]);
    let mut child = command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// The demo service says what it lacks.
#[test]
fn only_presets_with_a_service_have_a_demo() {
    let result = Place::new().karat(&["demo", "faq", "--port", "1"]);
    assert!(result.code == 1 && result.stderr.contains("`faq` has no demo service"), "{}", result.all());
    assert!(result.stderr.contains("rag"), "{}", result.all());
}
