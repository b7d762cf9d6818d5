//! Privacy of the rows, filings and answers of the preset `rag`.

use serde_json::{Value, json};
use testkit::{Behaviour, FakeProvider, Script};

use super::{own_answer, own_queries, run_own, value};
use crate::place::Place;

/// RG-15, RG-02: messages about rows are redacted before they are printed, stored or reported.
#[test]
fn messages_about_rows_are_redacted() {
    let place = Place::new();
    let row = |id: &str, gold: Value| json!({"query_id": id, "question": "What was revenue, ann@mail.example?", "metadata": {"category": "numeric", "quarter": "2024-Q2"}, "gold": gold});
    let table = json!({"expected_value": 999.9, "unit": "million USD", "source_table_ids": ["ann@mail.example"]});
    place.write("own.jsonl", &format!("{}\n", row("a", table)));
    let run = place.karat(&["run", "rag", "-p", "dataset=own.jsonl", "--run-id", "r"]);
    assert!(run.stderr.contains("own.jsonl:1") && run.stderr.contains("[email]"), "{}", run.all());
    let report = place.report("r");
    let mismatch = &report["run"]["config"]["dataset"]["mismatches"]["first"][0]["what"];
    assert!(mismatch.as_str().unwrap().contains("[email]"), "{mismatch}");
    let page = place.succeed(&["report", "r", "--format", "md", "-o", "-"]).stdout;
    place.write("wrong.jsonl", &format!("{}\n", row("a", json!({"expected_value": "ann@mail.example"}))));
    let refused = place.karat(&["validate", "rag", "-p", "dataset=wrong.jsonl"]);
    assert!(refused.code == 1 && refused.stderr.contains("wrong.jsonl:1"), "{}", refused.all());
    for text in [run.all(), report.to_string(), page, refused.all()] {
        assert!(!text.contains("ann@mail"), "{text}");
    }
}

/// RG-15: of sensitive rows problems show the place, nothing of the content.
#[test]
fn problems_of_sensitive_rows_show_no_content() {
    let place = Place::new();
    let row = json!({
        "query_id": "a", "question": "What did Zanzibar earn?", "metadata": {"category": "numeric", "quarter": "2024-Q2"},
        "gold": {"expected_value": 998.7, "unit": "million USD", "source_table_ids": ["income-2024q2"]}
    });
    let wrong = json!({"query_id": "b", "question": ["What did Zanzibar earn?"]});
    for (rows, code) in [(format!("{row}\n"), 0), (format!("{row}\n{wrong}\n"), 1)] {
        place.write("own.jsonl", &rows);
        let result = place.karat(&["validate", "rag", "-p", "dataset=own.jsonl", "--set", "privacy.sensitive=true"]);
        assert_eq!(result.code, code, "{}", result.all());
        assert!(result.stderr.contains(&format!("own.jsonl:{}", code + 1)), "{}", result.all());
        assert!(!result.all().contains("Zanzibar") && !result.all().contains("998.7"), "{}", result.all());
    }
}

/// Every file of the state, as one text.
fn state(place: &Place) -> String {
    fn gather(folder: &std::path::Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                gather(&entry.path(), text);
            } else {
                text.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    let mut text = String::new();
    gather(&place.path().join(".karat"), &mut text);
    text
}

/// RG-15: nothing of sensitive filings is in store, logs or reports; other filings are stored without redacted texts.
/// Amounts are scored unchanged in both cases.
#[test]
fn sensitive_content_is_never_stored() {
    let secrets = ["ada.lind@example.com", "ACC-12345678", "4111 1111 1111 1111"];
    let answer = format!("It was $1.2 billion, says {} of {}, card {}.", secrets[0], secrets[1], secrets[2]);
    for (set, keeps) in [("privacy.sensitive=true", false), ("privacy.redact=[email, card]", true)] {
        let (place, service) = (Place::new(), FakeProvider::start(Script::always(own_answer(&answer))).unwrap());
        own_queries(&place);
        let result = run_own(&place, &service, &["--set", set, "--run-id", "r", "--format", "md,json,html,csv"]);
        let found = result.all() + &state(&place);
        for secret in secrets {
            assert!(!found.contains(secret), "{set}: {secret}");
        }
        let report = place.report("r");
        assert_eq!(value(&report["cells"][0], "NumericExact"), Some(1.0), "{set}");
        assert_eq!(report["cells"][0]["scores"]["QuoteMatch"]["na"], "no reference", "{set}");
        assert_eq!(found.contains("[email]"), keeps, "{set}");
        assert_eq!(found.contains("1.2 billion"), keeps, "{set}");
    }
}

/// RG-15: errors that quote the reply of a service are redacted like the reply.
#[test]
fn errors_are_redacted() {
    let secret = "ada.lind@example.com";
    let bodies =
        [format!(r#"{{"{secret}": 1}}"#), format!(r#"{{"answer": ["{secret}"]}}"#), format!("<p>{secret}</p>")];
    for body in bodies {
        let (place, service) =
            (Place::new(), FakeProvider::start(Script::always(Behaviour::raw(200, body.clone()))).unwrap());
        own_queries(&place);
        let result = run_own(&place, &service, &["--retries", "0", "--run-id", "r", "--format", "md,json,html,csv"]);
        let error = place.report("r")["cells"][0]["error"].to_string();
        assert!(error.contains("malformed") && !error.contains(secret), "{error}");
        assert!(!result.all().contains(secret), "{}", result.all());
    }
}
