//! Reading stored runs over HTTP.

use std::collections::BTreeSet;

use http::StatusCode;

use crate::place::Place;

/// SV-02: a run has the fields of the contract, under its id, a unique beginning of it, or `latest`.
#[test]
fn a_run_is_one_object() {
    let place = Place::view();
    place.run("faq", "first-run");
    let run = place.get("/eval/runs/first").json();
    assert_eq!(run, place.get("/eval/runs/latest").json());
    assert_eq!((&run["run_id"], &run["suite"]), (&"first-run".into(), &"faq".into()));
    assert_eq!((&run["status"], &run["trigger"], &run["exit_code"]), (&"completed".into(), &"cli".into(), &0.into()));
    let cells = &run["cells"];
    assert!(cells["planned"].as_u64().unwrap() > 0);
    assert_eq!((&cells["done"], &cells["errors"], &cells["unscored"]), (&cells["planned"], &0.into(), &0.into()));
    for field in
        ["verdict", "as_of", "created_at", "started_at", "completed_at", "plan_hash", "spend_usd", "budget_usd"]
    {
        assert!(run.get(field).is_some(), "{field}");
    }
    assert_eq!(run["links"]["events"], "/eval/runs/first-run/events");
    let missing = place.get("/eval/runs/nope");
    assert_eq!(
        (missing.status, &missing.json()["type"]),
        (StatusCode::NOT_FOUND, &"urn:karat:problem:not-found".into())
    );
}

/// SV-01: unknown query names are errors with the nearest name.
#[test]
fn unknown_query_names_are_errors() {
    let place = Place::view();
    for path in ["/eval/runs?limt=1", "/eval/runs?limit=0", "/eval/runs?limit=201", "/eval/runs?cursor=%21"] {
        let answer = place.get(path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (StatusCode::BAD_REQUEST, "application/problem+json")
        );
    }
    assert_eq!(place.get("/eval/runs?limt=1").json()["hint"], "did you mean `limit`?");
    assert_eq!(place.get("/eval/runs?status=runing").json()["hint"], "did you mean `running`?");
    assert_eq!(place.get("/eval/runs/x/report?format=jsn").json()["hint"], "did you mean `json`?");
}

/// SV-03: pages neither repeat nor miss a run while others start; `Link` names the next one, and the last has none.
#[test]
fn pages_stay_while_runs_are_added() {
    let place = Place::view();
    (0..5).for_each(|at| drop(place.run("faq", &format!("run-{at}"))));
    let mut seen = Vec::new();
    let mut path = "/eval/runs?suite=faq&limit=2".to_owned();
    loop {
        let page = place.get(&path);
        let body = page.json();
        seen.extend(body["items"].as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap().to_owned()));
        if seen.len() == 2 {
            place.run("faq", "late");
        }
        let Some(next) = body["next"].as_str() else {
            assert_eq!(page.header("link"), "");
            break;
        };
        path = format!("/eval/runs?suite=faq&limit=2&cursor={next}");
        assert_eq!(page.header("link"), format!("<{path}>; rel=\"next\""));
    }
    assert_eq!(seen, ["run-4", "run-3", "run-2", "run-1", "run-0"]);
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
    assert_eq!(place.get("/eval/runs?status=failed").json()["items"].as_array().unwrap().len(), 0);
    assert_eq!(place.get("/eval/runs?suite=other").json()["next"], serde_json::Value::Null);
    assert_eq!(place.get("/eval/runs?since=2026-06-02").json()["items"].as_array().unwrap().len(), 0);
    assert_eq!(place.get("/eval/runs?since=2026-06-01").json()["items"].as_array().unwrap().len(), 6);
}

/// SV-02, SV-03: a report is what `karat report` writes, and is not sent again while it is the same.
#[test]
fn a_report_is_sent_once() {
    let place = Place::view();
    place.run("faq", "a");
    let report = place.get("/eval/runs/a/report?format=json&canonical=1");
    let mut expected = Vec::new();
    let outputs = karat_app::Outputs::default();
    place.app.reports().export("a", karat_types::ReportFormat::Json, outputs, true, &mut expected).unwrap();
    assert_eq!(report.text.as_bytes(), expected);
    let known = format!("If-None-Match: {}", report.header("etag"));
    let again = place.send("GET", "/eval/runs/a/report?format=json&canonical=1", &[&known], "");
    assert_eq!((again.status, again.text.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(place.send("GET", "/eval/runs/a/report", &[&known], "").status, StatusCode::OK);

    let page = place.get("/eval/runs/a/report?format=html");
    assert!(page.header("content-security-policy").contains("script-src 'sha256-"), "its own style and script may act");
    assert!(page.header("content-security-policy").ends_with("; frame-ancestors 'none'"));
    for (format, kind) in [("md", "text/markdown"), ("junit", "application/xml"), ("cells", "application/x-ndjson")] {
        let answer = place.get(&format!("/eval/runs/a/report?format={format}"));
        assert!(answer.status == StatusCode::OK && answer.header("content-type").starts_with(kind), "{format}");
    }
}

/// F108: many rows are sent while they are made, and are those of a small answer; that has an entity tag. A run that is not there
/// is a problem, not half an answer.
#[test]
fn many_rows_are_sent_while_they_are_made() {
    let place = Place::view();
    let long = "x".repeat(700);
    let rows: String = (0..4_000).map(|n| format!("{{\"id\":\"q{n}\",\"text\":\"{n} {long}\"}}\n")).collect();
    place.write("many/data.jsonl", &rows);
    place.write(
        "many/karat.yaml",
        "name: many\ndataset: { source: data.jsonl, id: id, input: text }\n\
         variants: { v: [ { recorded: { column: text } } ] }\nscorers: { long: { metric: length } }\n",
    );
    place.run(place.folder.path().join("many").to_str().unwrap(), "many");
    place.run("faq", "few");
    for format in ["cells", "csv", "json"] {
        let many = place.get(&format!("/eval/runs/many/report?format={format}"));
        assert_eq!((many.status, many.header("etag")), (StatusCode::OK, ""));
        assert!(many.text.len() > 1 << 20, "{}", many.text.len());
        assert!(many.text.contains("q3999") && many.text.ends_with('\n'));
        let few = place.get(&format!("/eval/runs/few/report?format={format}"));
        assert!(few.status == StatusCode::OK && !few.header("etag").is_empty());
        assert_eq!(many.header("content-type"), few.header("content-type"));
        assert_eq!(place.get(&format!("/eval/runs/nope/report?format={format}")).status, StatusCode::NOT_FOUND);
    }
}
