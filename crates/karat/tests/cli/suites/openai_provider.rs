//! The main suite on a "real" provider: a server that speaks OpenAI's protocol.

use serde_json::json;
use testkit::{Behaviour, FakeProvider, ReceivedRequest, Script};

use crate::place::Place;

fn reply(received: &ReceivedRequest) -> Behaviour {
    let request = received.json();
    let prompt = request["messages"].to_string();
    if request["model"] == "gpt-4o" {
        let missing = json!([]);
        return Behaviour::ok(
            json!({
                "completeness": 6, "accuracy": 7, "topicCoverage": 6.5, "atomicity": 8,
                "reasoning": "Most statements are covered.",
                "missingClaims": missing, "hallucinations": [], "redundancies": [], "gapAreas": []
            })
            .to_string(),
        );
    }
    assert!(prompt.contains("claim"));
    // Every sample has an answer of its own, and its edits keep it.
    let about =
        if prompt.contains("Tendons") || prompt.contains("tendon") { "Tendons adapt." } else { "Oats keep you full." };
    Behaviour::ok(json!({"claims": [{"text": about}]}).to_string())
}

/// CL-26: the same suite on an OpenAI-compatible server by `OPENAI_BASE_URL`; shared steps are called once, keys are
/// sent and kept out of everything that is stored.
#[test]
fn claims_runs_against_openai_base_url() {
    let provider = FakeProvider::start(Script::by(reply)).unwrap();
    let place = Place::new();
    let key = "sk-planted-4f1c77";
    let arguments = [
        "run",
        "claims",
        "--models",
        "gpt-4o-mini",
        "--judges",
        "gpt-4o",
        "--sample",
        "kr-oats-01,kr-tendon-05",
        "--variants",
        "raw,editorial-pass-v1,editorial-pass-v2",
        "--run-id",
        "r",
        "-o",
        "out",
        "--format",
        "md,json,cells",
    ];
    let result = place
        .command(&arguments)
        .env("OPENAI_BASE_URL", provider.base_url())
        .env("OPENAI_API_KEY", key)
        .output()
        .map(crate::place::CommandOutput::of)
        .unwrap();
    assert_eq!(result.code, 0, "{}", result.all());
    // 2 samples × (one shared extraction + two edits) and one judge call for each different output.
    let judged = provider.received_requests().iter().filter(|it| it.json()["model"] == "gpt-4o").count();
    assert_eq!(provider.requests() - judged, 2 * 3);
    assert_eq!(provider.duplicates(), 0);
    assert!(provider.received_requests().iter().all(|it| it.header("authorization") == Some(&format!("Bearer {key}"))));
    let report = place.report("r");
    assert_eq!(report["totals"]["cells"], 6);
    assert_eq!(report["metrics"]["quality.overallScore"]["value"], 6.875);
    assert_no_trace(place.path(), key);
}

/// TG-51: settings that a model refuses cost one request each in a run, are not errors, and are reported.
#[test]
fn refused_settings_are_reported() {
    let answer = |received: &ReceivedRequest| match received.json().get("temperature") {
        Some(_) => Behaviour::raw(
            400,
            json!({"error": {"message": "no", "param": "temperature", "code": "unsupported_value"}}).to_string(),
        ),
        None => Behaviour::ok("answer"),
    };
    let provider = FakeProvider::start(Script::by(answer)).unwrap();
    let place = Place::new();
    let calm = r#""{{ sample.question }}" }, parameters: { temperature: 0, max_tokens: 50 } }"#;
    let suite = crate::place::suite(&provider.base_url())
        .replace(r#""{{ sample.question }}" } }"#, calm)
        .replace("max_concurrency: 16", "max_concurrency: 1");
    place.write("karat.yaml", &suite);
    place.write("data.jsonl", &crate::place::questions(20));
    let result = place.succeed(&["run", "--run-id", "r"]);
    assert_eq!(provider.requests(), 21, "{}", result.all());
    assert!(result.all().contains("mock: temperature was not applied (20 cells)"), "{}", result.all());
    let report = place.report("r");
    assert_eq!((&report["totals"]["errors"], &report["totals"]["cells"]), (&json!(0), &json!(20)));
    let again = place.succeed(&["run", "--run-id", "again"]);
    assert_eq!(provider.requests(), 21, "all results are reused: {}", again.all());
}

/// TG-53: reports state the day and the source of each price.
#[test]
fn reports_state_the_origin_of_prices() {
    let provider = FakeProvider::start(Script::always(Behaviour::ok("answer"))).unwrap();
    let place = Place::new();
    let origin = "output: 2.0, as_of: 2026-11-20, source: price list";
    place.write("karat.yaml", &crate::place::suite(&provider.base_url()).replace("output: 2.0", origin));
    place.write("data.jsonl", &crate::place::questions(1));
    place.succeed(&["run", "--run-id", "r"]);
    let price = &place.report("r")["run"]["config"]["models"][0]["price"];
    assert_eq!((&price["as_of"], &price["source"]), (&json!("2026-11-20"), &json!("price list")));
    for format in ["md", "html"] {
        let report = place.succeed(&["report", "r", "--format", format, "-o", "-"]).stdout;
        assert!(report.contains("Prices read: mock 2026-11-20, price list"), "{format}: {report}");
    }
}

fn assert_no_trace(folder: &std::path::Path, secret: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_trace(&path, secret);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{} holds the key", path.display());
        }
    }
}
