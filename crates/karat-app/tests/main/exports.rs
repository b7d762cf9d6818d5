//! Runs in the formats of other tools, read back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;

use karat_app::{App, ImportKind, Invocation, Outputs, SpanContent};
use karat_columnar::ColumnarRows;
use karat_types::ReportFormat;
use serde_json::{Value, json};

use crate::place::{app, execution};

/// Two models, trials, a judge, an error, a bound, and a metric that does not always apply.
const SUITE: &str = r#"
name: out.side
dataset: { source: data.jsonl, id: id, input: q, reference: gold, metadata: [topic] }
models:
  - { id: echo, provider: scripted, with: { reply: '{{ user }}' }, price: { input: 1, output: 2 } }
  - { id: terse, provider: scripted, with: { reply: '{{ user[:4] }}' } }
judges: [ { id: strict, provider: scripted, with: { reply: '{"verdict": "good", "reasoning": "fine, =1+1"}' } } ]
variants:
  plain: [ { prompt: { system: Be short., user: '{{ sample.q }}' } } ]
  parsed: [ { prompt: { text: '{{ sample.q }}' }, parse: { as: json, reask: 0 } } ]
scorers:
  hit: { metric: exact, min: 1 }
  overlap: { metric: token_f1 }
  tone: { rubric: { ask: Is it polite?, dimensions: { verdict: { choices: { good: 1, bad: 0 } } } } }
run: { trials: 2 }
policy: { max_errors: 100% }
"#;

const ROWS: usize = 30;

fn run(app: &App, folder: &Path) {
    let row = |at: usize| {
        let gold = if at.is_multiple_of(5) { Value::Null } else { json!(format!("w{at}")) };
        format!("{}\n", json!({ "id": format!("s/{at}"), "q": format!("w{at}"), "gold": gold, "topic": at % 3 }))
    };
    fs::write(folder.join("data.jsonl"), (0..ROWS).map(row).collect::<String>()).unwrap();
    fs::write(folder.join("karat.yaml"), SUITE).unwrap();
    run_suite(app, &folder.join("karat.yaml"), "out");
}

fn run_suite(app: &App, suite: &Path, id: &str) {
    let invocation = Invocation::of(suite.display().to_string());
    app.runs().run(app.runs().load(&invocation).unwrap(), &invocation, execution(id)).unwrap();
}

/// The figures of each system by metric, as `report.json` has them.
fn figures(app: &App, run: &str) -> BTreeMap<(String, String), f64> {
    let mut report = Vec::new();
    app.reports().export(run, ReportFormat::Json, Outputs::default(), true, &mut report).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let mut figures = BTreeMap::new();
    for system in report["systems"].as_array().unwrap() {
        for (metric, figure) in system["dimensions"].as_object().unwrap() {
            if let Some(value) = figure["value"].as_f64() {
                figures.insert((system["id"].as_str().unwrap().to_owned(), metric.clone()), value);
            }
        }
    }
    figures
}

fn table(path: &Path) -> Vec<Value> {
    let file = fs::File::open(path).unwrap();
    ColumnarRows::of_parquet(Box::new(file)).unwrap().map(|row| Value::Object(row.unwrap())).collect()
}

/// F63, IO-12: the tables; means of their scores are the report's figures, and so are the rows of `figures`; what is absent
/// is null.
#[test]
fn tables_have_the_figures_of_the_report() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    run(&app, folder.path());
    let exported = app.reports().export_parquet("out", &folder.path().join("tables")).unwrap();
    assert_eq!((exported.cells, exported.files.len()), (240, 5));
    let tables: Vec<Vec<Value>> = exported.files.iter().map(|path| table(path)).collect();
    let [cells, metrics, judgments, calls, rows] = &tables[..] else { panic!("five tables") };
    assert_eq!(cells.len(), 240);
    let figures = figures(&app, "out");
    assert!(figures.len() >= 8, "{figures:?}");
    let mut csv = Vec::new();
    app.reports().export_figures("out", &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.starts_with("run,model,variant,metric,value,lo,hi,level,method,n,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + rows.len());
    for ((system, metric), figure) in figures {
        let (model, variant) = system.split_once('/').unwrap();
        let row = rows
            .iter()
            .find(|row| row["model"] == model && row["variant"] == variant && row["metric"] == metric.as_str());
        let row = row.unwrap_or_else(|| panic!("{system} {metric} is not in {rows:?}"));
        assert!((row["value"].as_f64().unwrap() - figure).abs() < 1e-12, "{row}");
        assert!(row["lo"].as_f64() <= row["value"].as_f64() && row["n"].as_u64() > Some(0), "{row}");
        assert!(csv.contains(&format!(",{model},{variant},{metric},{},", row["value"].as_f64().unwrap())), "{csv}");
        let of_system =
            |row: &&Value| format!("{}/{}", row["model"].as_str().unwrap(), row["variant"].as_str().unwrap()) == system;
        let scores = cells.iter().filter(of_system).filter_map(|row| row[format!("score.{metric}")].as_f64());
        // Trials first, samples then: all samples have as many trials.
        let scores: Vec<f64> = scores.collect();
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        assert!((mean - figure).abs() < 1e-12, "{system} {metric}: {mean} and {figure}");
    }
    let failed: Vec<&Value> = cells.iter().filter(|row| row["status"] == "error").collect();
    assert!(!failed.is_empty());
    for row in &failed {
        assert!(row["output"].is_null() && row["score.hit"].is_null() && row["error_code"] == "parse", "{row}");
    }
    let first = &cells[0];
    assert_eq!(
        (&first["suite"], &first["meta"]["topic"], &first["trial"]),
        (&json!("out.side"), &json!("0"), &json!(0))
    );
    assert!(first["pass"].is_null() || first["pass"].is_boolean());
    assert!(cells.iter().any(|row| row["reference"].is_null()) && cells.iter().all(|row| row["input"].is_string()));
    let states: BTreeSet<&str> = metrics.iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, BTreeSet::from(["na", "scored"]));
    assert!(metrics.iter().all(|row| (row["state"] == "scored") == row["value"].is_number()));
    let hits = metrics.iter().filter(|row| row["metric"] == "hit" && row["state"] == "scored");
    assert!(hits.clone().all(|row| row["verdict"] == if row["value"] == 1.0 { "pass" } else { "fail" }));
    assert!(hits.count() > 0);
    assert!(judgments.iter().all(|row| row["judge"] == "strict"
        && row["choice"] == "good"
        && row["dimension"] == "verdict"
        && row["call_ids"][0].is_string()));
    let ids: BTreeSet<&str> = calls.iter().map(|row| row["call_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), calls.len());
    let roles: BTreeSet<&str> = calls.iter().map(|row| row["role"].as_str().unwrap()).collect();
    assert_eq!(roles, BTreeSet::from(["judge", "model"]));
    assert!(
        calls
            .iter()
            .filter(|row| row["model"] == "terse")
            .all(|row| row["cost_usd"].is_null() || row["cost_usd"] == 0.0)
    );
}

/// IO-14: variants whose names differ by a dot alone keep cases of their own.
#[test]
fn junit_keeps_like_names_apart() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = "name: s\ndataset: { rows: [ { id: a, output: x } ], id: id }\nvariants: { v.1: [ { recorded: { column: output } } ], v_1: [ { recorded: { column: output } } ] }\nscorers: { n: { metric: length } }\n";
    fs::write(folder.path().join("karat.yaml"), suite).unwrap();
    run_suite(&app, &folder.path().join("karat.yaml"), "j");
    let mut text = Vec::new();
    app.reports().export("j", ReportFormat::Junit, Outputs::default(), true, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("classname=\"s.v_1\"") && text.contains("classname=\"s.v_1_2\""), "{text}");
}

/// IO-01: a source whose suite cannot be used leaves nothing, and the problem names no folder that is gone.
#[test]
fn an_unusable_suite_leaves_nothing() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let provider = json!({"id": "openai:chat:m", "config": {"apiBaseUrl": "https://user:pass@a.example/v1"}});
    let config = json!({"prompts": ["Say it"], "providers": [provider], "tests": []});
    fs::write(folder.path().join("promptfooconfig.json"), config.to_string()).unwrap();
    let file = folder.path().join("promptfooconfig.json");
    let error =
        app.imports().suite(ImportKind::Promptfoo, &file, None, &folder.path().join("a/b")).unwrap_err().to_string();
    assert!(error.contains("nothing was written") && error.contains("karat.yaml:"), "{error}");
    assert!(!error.contains(".import-") && !folder.path().join("a").exists(), "{error}");
}

/// IO-11, IO-07, BY-12: Inspect's logs of a run, read back, are a suite with the same scores; each system is a log.
#[test]
fn logs_of_inspect_are_read_back_with_the_same_scores() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    run(&app, folder.path());
    let logs = folder.path().join("logs");
    let exported = app.reports().export_inspect("out", &logs).unwrap();
    assert_eq!((exported.cells, exported.files.len()), (240, 4));
    let back = app.imports().suite(ImportKind::Inspect, &logs, None, &folder.path().join("back")).unwrap();
    assert_eq!(
        (back.report.counts.outputs, back.report.counts.samples, back.report.counts.systems),
        (240, ROWS as u64, 4)
    );
    run_suite(&app, &back.suite, "back");
    let check = app.imports().check_figures(&back.report.figures, "back").unwrap();
    assert!(check.same >= 8 && check.differing.is_empty(), "{check:?}");
    let own: Vec<f64> = figures(&app, "out").into_values().collect();
    let again = figures(&app, "back");
    for value in own {
        assert!(again.values().any(|other| (other - value).abs() < 1e-9), "{value} is not in {again:?}");
    }
}

/// IO-11: what Inspect needs to show messages, scores and usage stands in a sample and in the header.
#[test]
fn a_log_has_messages_scores_and_usage() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    run(&app, folder.path());
    let exported = app.reports().export_inspect("out", &folder.path().join("logs")).unwrap();
    let mut archive = zip::ZipArchive::new(fs::File::open(&exported.files[0]).unwrap()).unwrap();
    let mut member = |name: &str| -> Value {
        let mut text = String::new();
        archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let sample = member("samples/s/1_epoch_2.json");
    assert_eq!(sample["messages"][0], json!({ "role": "system", "content": "Be short." }));
    assert_eq!((&sample["messages"][1]["role"], &sample["messages"][2]["content"]), (&json!("user"), &json!("w1")));
    assert_eq!(sample["scores"]["tone"]["explanation"], "fine, =1+1");
    assert_eq!(sample["scores"]["tone"]["metadata"]["judgments"][0]["judge"], "strict");
    assert_eq!((&sample["output"]["choices"][0]["stop_reason"], &sample["target"]), (&json!("stop"), &json!("w1")));
    let summaries = member("summaries.json");
    assert!(summaries.as_array().unwrap().iter().all(|summary| summary["completed"] == true));
    let header = member("header.json");
    assert_eq!((&header["status"], &header["eval"]["config"]["epochs"]), (&json!("success"), &json!(2)));
    assert_eq!(header["eval"]["dataset"]["sample_ids"].as_array().unwrap().len(), ROWS);
    assert_eq!(header["results"]["total_samples"], json!(2 * ROWS));
    assert!(header["stats"]["model_usage"]["echo"]["total_tokens"].as_u64().unwrap() > 0);
}

fn attribute<'v>(record: &'v Value, key: &str) -> Option<&'v Value> {
    let attributes = record["attributes"].as_array().unwrap();
    attributes.iter().find(|it| it["key"] == key)?["value"].as_object()?.values().next()
}

/// IO-13: an event a score and a span an output, in requests of at most 512 records; texts only on request; ids of traces
/// that are known stay.
#[test]
fn scores_are_events_of_opentelemetry() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    run(&app, folder.path());
    let mut lines = Vec::new();
    let scores = app.reports().export_otel("out", SpanContent::LeftOut, &mut lines).unwrap();
    let requests: Vec<Value> = lines.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let list = |pointer: &str| -> Vec<Value> {
        let lists = requests.iter().filter_map(|request| request.pointer(pointer)?.as_array());
        lists.inspect(|list| assert!(list.len() <= 512)).flatten().cloned().collect()
    };
    let (spans, logs) = (list("/resourceSpans/0/scopeSpans/0/spans"), list("/resourceLogs/0/scopeLogs/0/logRecords"));
    assert_eq!((spans.len(), logs.len() as u64), (240, scores));
    let ids: BTreeSet<(&str, &str)> =
        spans.iter().map(|it| (it["traceId"].as_str().unwrap(), it["spanId"].as_str().unwrap())).collect();
    assert_eq!(ids.len(), 240);
    assert!(ids.iter().all(|(trace, span)| trace.len() == 32 && span.len() == 16));
    for log in &logs {
        assert!(ids.contains(&(log["traceId"].as_str().unwrap(), log["spanId"].as_str().unwrap())));
        assert_eq!(log["eventName"], "gen_ai.evaluation.result");
        assert!(attribute(log, "gen_ai.evaluation.name").is_some());
    }
    let hits: Vec<&Value> =
        logs.iter().filter(|it| attribute(it, "gen_ai.evaluation.name") == Some(&json!("hit"))).collect();
    for hit in &hits {
        let passed = attribute(hit, "gen_ai.evaluation.score.value") == Some(&json!(1.0));
        let label = if passed { "pass" } else { "fail" };
        assert_eq!(attribute(hit, "gen_ai.evaluation.score.label"), Some(&json!(label)));
    }
    assert!(spans.iter().all(|span| attribute(span, "gen_ai.input.messages").is_none()));
    let mut again = Vec::new();
    app.reports().export_otel("out", SpanContent::Included, &mut again).unwrap();
    let again = String::from_utf8(again).unwrap();
    assert!(again.contains("gen_ai.input.messages") && again.contains(spans[0]["traceId"].as_str().unwrap()));
}

/// F61: each form has what the output is compared with beside the output, also where only a scorer names the column;
/// texts that are asked for nowhere stay out.
#[test]
fn every_form_has_what_was_expected() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let suite = "name: s\ndataset: { rows: [ { id: a, q: How much?, given: '1203.9', gold: '1203.4' } ], id: id, input: q }\nvariants: { v: [ { recorded: { column: given } } ] }\nscorers: { right: { metric: exact, reference: gold, min: 1 } }\n";
    fs::write(folder.path().join("karat.yaml"), suite).unwrap();
    run_suite(&app, &folder.path().join("karat.yaml"), "e");
    let text = |format: ReportFormat, outputs: Outputs| {
        let mut text = Vec::new();
        app.reports().export("e", format, outputs, true, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let junit = text(ReportFormat::Junit, Outputs::default());
    assert!(junit.contains("expected: gold: 1203.4\noutput: 1203.9"), "{junit}");
    let none = Outputs { shown: Some(karat_app::ShownOutputs::None), ..Outputs::default() };
    assert!(!text(ReportFormat::Junit, none).contains("output: 1203.9"));
    assert!(text(ReportFormat::Csv, Outputs::default()).contains("gold: 1203.4"));
    let tables = app.reports().export_parquet("e", &folder.path().join("tables")).unwrap();
    assert_eq!(table(&tables.files[0])[0]["reference"], "gold: 1203.4");
    let exported = app.reports().export_inspect("e", &folder.path().join("logs")).unwrap();
    let mut archive = zip::ZipArchive::new(fs::File::open(&exported.files[0]).unwrap()).unwrap();
    for member in ["samples/a_epoch_1.json", "summaries.json"] {
        let mut text = String::new();
        archive.by_name(member).unwrap().read_to_string(&mut text).unwrap();
        assert!(text.contains(r#""target":"gold: 1203.4""#), "{text}");
    }
    let otel = |content| {
        let mut lines = Vec::new();
        app.reports().export_otel("e", content, &mut lines).unwrap();
        String::from_utf8(lines).unwrap()
    };
    assert!(!otel(SpanContent::LeftOut).contains("1203"));
    // The span of the output, and the events of the metric and of `pass`.
    let expected = r#"{"key":"karat.expected","value":{"stringValue":"gold: 1203.4"}}"#;
    assert_eq!(otel(SpanContent::Included).matches(expected).count(), 3);
}

/// IO-10, IO-13: scores of imported traces are events of the spans that the application reported, which are not sent again.
#[test]
fn known_spans_get_the_events() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/interop/otel/gen_ai-traces.json");
    let imported = app
        .imports()
        .suite(ImportKind::Traces(karat_app::TraceRows::Calls), &file, None, &folder.path().join("t"))
        .unwrap();
    run_suite(&app, &imported.suite, "t");
    let mut lines = Vec::new();
    assert!(app.reports().export_otel("t", SpanContent::LeftOut, &mut lines).unwrap() > 0);
    let text = String::from_utf8(lines).unwrap();
    assert!(!text.contains("resourceSpans") && text.contains("5b8efff798038103d269b633813f0001"), "{text}");
}

/// A receiver that answers each request with the next status, the last one for all others; it returns their paths and
/// bodies.
fn receiver(statuses: Vec<u16>, requests: usize) -> (String, std::thread::JoinHandle<Vec<(String, String)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let handle = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for at in 0..requests {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let (mut path, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if path.is_empty() {
                    line.split(' ').nth(1).unwrap_or_default().clone_into(&mut path);
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            seen.push((path, String::from_utf8(body).unwrap()));
            let status = statuses.get(at).or(statuses.last()).copied().unwrap_or(200);
            let answer =
                format!("HTTP/1.1 {status} X\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
        }
        seen
    });
    (address, handle)
}

/// IO-13: requests reach a receiver's two addresses; one that is busy is asked again, a refusal is told.
#[test]
fn a_receiver_gets_every_request() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    run(&app, folder.path());
    let mut lines = Vec::new();
    app.reports().export_otel("out", SpanContent::LeftOut, &mut lines).unwrap();
    let count = lines.lines().count();
    let (address, handle) = receiver(vec![503, 429, 200], count + 2);
    app.reports().send_otel("out", SpanContent::LeftOut, &format!("{address}/")).unwrap();
    let seen = handle.join().unwrap();
    let logs = seen.iter().filter(|(path, _)| path == "/v1/logs").count();
    let traces = seen.iter().filter(|(path, _)| path == "/v1/traces").count();
    assert!(logs > 0 && traces > 0 && logs + traces == count + 2);
    assert_eq!(seen[0].1, seen[1].1);
    let (address, handle) = receiver(vec![401], 1);
    let error = app.reports().send_otel("out", SpanContent::LeftOut, &address).unwrap_err().to_string();
    handle.join().unwrap();
    assert!(error.contains("it answered 401"), "{error}");
}
