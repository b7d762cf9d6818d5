//! Requests that are refused, each with its place and the next step; and rows that no command may stumble over.

use std::fs;

use karat_app::{AppError, DatasetRequest, SampleMethod};
use serde_json::json;

use super::{dedup, ids, question, sample, split, write_rows};
use crate::place::app;

fn refused<T>(outcome: Result<T, AppError>, parts: &[&str]) {
    let error = outcome.err().unwrap();
    let told = format!("{error} {}", error.hint().unwrap_or_default());
    parts.iter().for_each(|part| assert!(told.contains(part), "{part}: {told}"));
}

/// BC-01, BC-03, BC-04: options that cannot be are refused before anything is written.
#[test]
fn options_that_cannot_be_are_refused() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let rows = write_rows(
        &folder.path().join("rows.jsonl"),
        (0..9).map(|at| json!({"id": at, "input": question(at), "topic": "t"})),
    );
    let out = folder.path().join("out.jsonl");
    let by =
        |by: &str, allocation: &str| SampleMethod::Stratified { by: by.to_owned(), allocation: allocation.to_owned() };
    refused(app.datasets().sample(&sample(&rows, 0, SampleMethod::Random, out.clone())), &["--n", "at least one row"]);
    refused(
        app.datasets().sample(&sample(&rows, 3, by("nothing", "equal"), out.clone())),
        &["`nothing`", "--by", "topic"],
    );
    refused(app.datasets().sample(&sample(&rows, 3, by("topic", "fair"), out.clone())), &["fair", "proportional"]);
    refused(app.datasets().sample(&sample(&rows, 3, by("topic", "neyman:score"), out.clone())), &["`score`"]);
    refused(app.datasets().sample(&sample(&rows, 3, SampleMethod::Random, folder.path().join("out.csv"))), &[".jsonl"]);
    refused(app.datasets().sample(&sample(&rows, 9999, SampleMethod::Diverse, out.clone())), &["5000", "random"]);
    let mut asked = dedup(&rows, Some(out.clone()));
    asked.at = 1.2;
    refused(app.datasets().dedup(&asked), &["--at", "0.3 to 1"]);
    let parts = |text| app.datasets().split(&split(&rows, text, folder.path().join("parts")));
    refused(parts("train=0.8,test=0.3"), &["add up to 1.1"]);
    refused(parts("train=0.8,../test=0.2"), &["../test"]);
    refused(parts("aside=0.8,test=0.2"), &["aside"]);
    let mut asked = split(&rows, "train=0.8,test=0.2", folder.path().join("parts"));
    asked.keep = Some(folder.path().join("rows.jsonl"));
    refused(app.datasets().split(&asked), &["NAME.dataset.json"]);
    asked.keep = Some(folder.path().join("nowhere.dataset.json"));
    refused(app.datasets().split(&asked), &["nowhere.dataset.json"]);
    asked.keep = None;
    asked.by = vec!["nobody".to_owned()];
    refused(app.datasets().split(&asked), &["`nobody`", "--by"]);
    let condition = DatasetRequest { condition: Some("sample.".to_owned()), ..rows.clone() };
    refused(app.datasets().sample(&sample(&condition, 3, SampleMethod::Random, out.clone())), &["`sample.`"]);
    let none = DatasetRequest { condition: Some("sample.topic == 'x'".to_owned()), ..rows.clone() };
    refused(app.datasets().sample(&sample(&none, 3, SampleMethod::Random, out.clone())), &["no rows that meet"]);
    let column = DatasetRequest { input: Some("body".to_owned()), ..rows };
    refused(app.datasets().dedup(&dedup(&column, None)), &["`body`", "--input", "topic"]);
    assert!(!out.exists() && !folder.path().join("parts").exists());
}

/// BC-01, BC-03, BC-04: files that are empty, broken or odd are told with their place, and odd rows come through.
#[test]
fn odd_files_are_handled() {
    let folder = testkit::scratch().unwrap();
    let app = app(folder.path());
    let file = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).unwrap();
        DatasetRequest::of(folder.path().join(name).display().to_string())
    };
    let out = |name: &str| folder.path().join(name);
    refused(
        app.datasets().sample(&sample(&file("empty.jsonl", b""), 3, SampleMethod::Random, out("o.jsonl"))),
        &["no rows"],
    );
    refused(
        app.datasets().dedup(&dedup(&file("broken.jsonl", b"{\"input\": \"a\"}\n{\"input\": "), None)),
        &["broken.jsonl:2"],
    );
    refused(app.datasets().dedup(&dedup(&file("bytes.jsonl", b"{\"input\": \"\xff\"}\n"), None)), &["bytes.jsonl:1"]);
    refused(
        app.datasets().dedup(&dedup(&file("blank.jsonl", b"{\"id\": 1, \"input\": \"\"}\n"), None)),
        &["no row of", "--input"],
    );
    refused(
        app.datasets().dedup(&dedup(&DatasetRequest::of("nowhere.jsonl"), None)),
        &["there is no file nowhere.jsonl"],
    );
    // Windows line ends, one row, and scripts without spaces.
    let one = file("one.csv", "id,question\r\n東,東京は\r\n".as_bytes());
    app.datasets().sample(&sample(&one, 5, SampleMethod::Random, out("one.jsonl"))).unwrap();
    assert_eq!(ids(&out("one.jsonl")), ["東"]);
    let parts = app.datasets().split(&split(&one, "train=0.8,test=0.2", out("one"))).unwrap();
    assert_eq!(parts.parts.iter().map(|part| part.rows).sum::<u64>(), 1);
    // Rows that are all equal stay together.
    let equal = file("equal.jsonl", "{\"input\": \"the same text\"}\n".repeat(50).as_bytes());
    let report = app.datasets().dedup(&dedup(&equal, Some(out("single.jsonl")))).unwrap();
    assert_eq!((report.kept, report.exact), (1, 49));
    let parts = app.datasets().split(&split(&equal, "train=0.8,test=0.2", out("equal"))).unwrap();
    assert!(parts.text().contains("the largest group has 50 rows"), "{}", parts.text());
    // A row of megabytes.
    let huge = format!(
        "{{\"id\":\"big\",\"input\":\"{}\"}}\n{{\"id\":\"small\",\"input\":\"a word\"}}\n",
        "lorem ipsum ".repeat(150_000)
    );
    let huge = file("huge.jsonl", huge.as_bytes());
    assert_eq!(app.datasets().dedup(&dedup(&huge, None)).unwrap().kept, 2);
}
