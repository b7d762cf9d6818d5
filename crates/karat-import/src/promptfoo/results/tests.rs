use serde_json::{Value, json};

use crate::recorded::testing::{Imported, fixture, import_file, import_files};
use crate::report::Shape;
use crate::{ImportError, ImportKind};

fn sample(name: &str) -> Imported {
    import_file(ImportKind::Promptfoo, &fixture(&format!("promptfoo/{name}/results.json")))
}

fn try_file(name: &str, text: &str) -> Result<Imported, ImportError> {
    import_files(ImportKind::Promptfoo, &[(name, text.as_bytes())], name)
}

/// Results with these prompts and results.
fn imported(prompts: Value, results: Value) -> Imported {
    let whole = json!({"results": {"version": 3, "prompts": prompts, "results": results}});
    try_file("results.json", &whole.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

/// IO-04: results become a recorded suite with the scores that promptfoo gave.
#[test]
fn results_become_a_recorded_suite() {
    let imported = sample("echo-asserts");
    insta::assert_snapshot!("echo_asserts_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("echo_asserts_import", imported.text("import.json"));
    insta::assert_snapshot!("echo_asserts_outputs", imported.text("data/outputs/shout.echo.jsonl"));
    assert_eq!(imported.report.shape, Shape::Recorded);
    assert_eq!(imported.report.tool.version.as_deref(), Some("0.123.1"));
    let dropped =
        [("not-regex", "results[*].testCase.assert[*]", 1), ("is-refusal", "results[*].testCase.assert[*]", 1)];
    assert_eq!(imported.dropped(), dropped);
}

/// IO-04: the mean of `given_success` is the share of tests that passed.
#[test]
fn given_success_is_the_share_of_passed_tests() {
    for (name, passed) in [("echo-asserts", vec![(13, 14), (2, 13)]), ("echo-csv", vec![(7, 9)])] {
        let imported = sample(name);
        let figures: Vec<_> = imported.report.figures.iter().filter(|it| it.metric == "given_success").collect();
        assert_eq!(figures.len(), passed.len());
        for (figure, (passed, tests)) in figures.into_iter().zip(passed) {
            let rows = imported.rows(&format!("data/outputs/{}.jsonl", figure.variant));
            let given = rows.iter().filter(|row| row["scores"]["success"] == json!(true)).count();
            assert_eq!((given, rows.len()), (passed, tests), "{name} {}", figure.variant);
            assert!((figure.value - passed as f64 / tests as f64).abs() < 1e-12);
        }
    }
}

/// IO-04: results and their config make the same rows, so a live run can be compared with them.
#[test]
fn results_and_config_make_the_same_checks() {
    for name in ["echo-asserts", "echo-csv"] {
        let live = import_file(ImportKind::Promptfoo, &fixture(&format!("promptfoo/{name}")));
        let (live, recorded) = (live.rows("data/samples.jsonl"), sample(name).rows("data/samples.jsonl"));
        assert_eq!(live.len(), recorded.len());
        for (live, recorded) in live.iter().zip(&recorded) {
            assert_eq!((&live["id"], &live["assert"]), (&recorded["id"], &recorded["assert"]));
            assert_eq!(live["metadata"]["unchecked"], recorded["metadata"]["unchecked"]);
        }
    }
}

/// IO-04: errors of calls are errors of cells, and a failed assert is none; facts are metered.
#[test]
fn only_errors_of_calls_are_errors() {
    let result = |test: u64, more: Value| {
        let mut result = json!({
            "testIdx": test, "promptIdx": 0, "success": false, "score": 0, "failureReason": 1, "latencyMs": 5,
            "cost": 0.25, "error": "Expected output to contain \"a\"", "namedScores": {"tone": 0.5},
            "provider": {"id": "openai:gpt-5", "label": ""}, "prompt": {"raw": "x", "label": "x"},
            "response": {"output": "b", "tokenUsage": {"prompt": 3, "completion": 4, "cached": 1}},
            "gradingResult": {"reason": "no a", "componentResults": []},
            "testCase": {"vars": {"q": test}},
        });
        result.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        result
    };
    let prompts = json!([{"raw": "x", "label": "x", "provider": "openai:gpt-5", "metrics": {
        "testPassCount": 1, "testFailCount": 1, "testErrorCount": 2, "namedScores": {"tone": 1}, "namedScoresCount": {"tone": 2}}}]);
    let results = json!([
        result(3, json!({"failureReason": 2, "error": "timed out", "response": null})),
        result(0, json!({})),
        result(1, json!({"success": true, "failureReason": 0, "response": {"output": {"a": [1]}}})),
        result(2, json!({"failureReason": 2, "response": {"error": "429", "output": "partial"}})),
        result(0, json!({"response": {"output": "again"}})),
    ]);
    let imported = imported(prompts, results);
    let rows = imported.rows("data/outputs/prompt-1.openai-gpt-5.jsonl");
    let column = |name: &str| json!(rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>());
    assert_eq!(column("id"), json!(["4", "1", "2", "3"]));
    assert_eq!(column("error"), json!(["timed out", null, null, "429"]));
    assert_eq!(column("output"), json!([null, "b", {"a": [1]}, null]));
    let facts = json!({"latency_ms": 5.0, "cost_usd": 0.25, "model": "openai:gpt-5", "input_tokens": 3, "output_tokens": 4, "cached_tokens": 1});
    for (key, fact) in facts.as_object().unwrap() {
        assert_eq!(rows[1][key], *fact, "{key}");
    }
    assert_eq!(rows[1]["reasons"], json!({"success": "no a"}));
    let recorded = &imported.suite()["variants"]["prompt-1.openai-gpt-5"][0]["recorded"];
    assert_eq!(recorded["error"], "error");
    assert_eq!(imported.suite()["policy"], json!({"max_errors": "100%"}));
    let figures: Vec<(&str, f64)> = imported.report.figures.iter().map(|it| (it.metric.as_str(), it.value)).collect();
    assert_eq!(figures, [("given_success", 0.5), ("given_tone", 0.5)]);
    assert_eq!(imported.notes(), ["another result of the same test and system stands before it, which counts"]);
    let ids: Vec<_> = imported.rows("data/samples.jsonl").iter().map(|row| row["id"].clone()).collect();
    assert_eq!(json!(ids), json!(["1", "2", "3", "4"]));
}

/// IO-04: verdicts of judges and of dropped asserts are given scores; no judge is asked again.
#[test]
fn verdicts_of_judges_are_given() {
    let component = |kind: &str, score: f64| json!({"pass": score > 0.0, "score": score, "reason": "because", "assertion": {"type": kind, "value": "x"}});
    let asserts = json!([{"type": "llm-rubric", "value": "x"}, {"type": "python", "value": "x"}, {"type": "contains", "value": "b"}]);
    let components = json!([
        component("llm-rubric", 0.75),
        component("python", 1.0),
        component("python", 0.0),
        component("contains", 1.0)
    ]);
    let imported = imported(
        json!([{"raw": "x", "label": "mine: p.txt: x", "provider": "echo"}]),
        json!([{
            "testIdx": 0, "promptIdx": 0, "success": true, "score": 1, "failureReason": 0, "response": {"output": "b"},
            "gradingResult": {"componentResults": components}, "testCase": {"vars": {}, "assert": asserts},
        }]),
    );
    let row = &imported.rows("data/outputs/mine.echo.jsonl")[0];
    assert_eq!(row["scores"], json!({"success": true, "score": 1, "llm-rubric": 0.75, "python": 0.5}));
    let suite = imported.suite();
    assert_eq!((&suite["judges"], &suite["scorers"]["given_python"]["metric"]), (&Value::Null, &json!("given")));
    let sample = &imported.rows("data/samples.jsonl")[0];
    assert_eq!(sample["assert"], json!([{"metric": "contains", "value": "b"}]));
    assert_eq!(sample["metadata"]["unchecked"], json!(["llm-rubric", "python"]));
    assert_eq!(imported.notes(), ["its verdicts are kept as scores that were given; no judge is asked again"]);
}

/// IO-04: a result a line.
#[test]
fn lines_of_results_are_taken() {
    let line = |test: u64, prompt: u64| {
        json!({"testIdx": test, "promptIdx": prompt, "success": true, "response": {"output": "b"}, "failureReason": 0,
               "prompt": {"raw": "x", "label": "x"}, "provider": {"id": "echo", "label": format!("e{prompt}")}, "testCase": {}})
    };
    let lines = format!("{}\n\n{}\n", line(0, 1), line(0, 0));
    let imported = try_file("out.jsonl", &lines).unwrap_or_else(|error| panic!("{error}"));
    let suite = imported.suite();
    let variants: Vec<&String> = suite["variants"].as_object().unwrap().keys().collect();
    assert_eq!(variants, ["prompt-1.e1", "prompt-1.e0"]);
    assert_eq!(imported.report.counts.outputs, 2);
}

/// A result of a provider, at a number, of a test.
fn result_of(number: u64, test: u64, provider: Value, passed: bool) -> Value {
    json!({"testIdx": test, "promptIdx": number, "promptId": "p", "prompt": {"raw": format!("Say {test}"), "label": "Say {{n}}"},
           "provider": provider, "success": passed, "score": u8::from(passed), "failureReason": u8::from(!passed),
           "response": {"output": if passed { "yes" } else { "no" }}, "testCase": {"vars": {"n": test}}})
}

fn listed(provider: &str, passed: u64, failed: u64) -> Value {
    json!({"raw": "Say {{n}}", "label": "Say {{n}}", "id": "p", "provider": provider,
           "metrics": {"testPassCount": passed, "testFailCount": failed, "testErrorCount": 0}})
}

/// A variant, the results of it that passed, and all of them.
type Passed = (String, usize, usize);

/// Passed of all by variant, and the figures by variant.
fn figures(imported: &Imported) -> (Vec<Passed>, Vec<(String, f64)>) {
    let variants: Vec<String> = imported.suite()["variants"].as_object().unwrap().keys().cloned().collect();
    let passed = variants.iter().map(|variant| {
        let rows = imported.rows(&format!("data/outputs/{variant}.jsonl"));
        let passed = rows.iter().filter(|row| row["scores"]["success"] == json!(true)).count();
        (variant.clone(), passed, rows.len())
    });
    let figures = imported.report.figures.iter().filter(|it| it.metric == "given_success");
    (passed.collect(), figures.map(|it| (it.variant.clone(), it.value)).collect())
}

/// F94: a result belongs to the provider and prompt that it names, also where its number is that of another, of none, or
/// the same for all providers; contradictions are noted, and figures are compared with the right system.
#[test]
fn results_belong_to_the_system_that_they_name() {
    let of = |name: &str| json!({"id": format!("openai:{name}"), "label": name});
    let list = json!([listed("good", 2, 0), listed("middle", 1, 1), listed("bad", 0, 2)]);
    let passed = [("good", [true, true]), ("middle", [true, false]), ("bad", [false, false])];
    for numbers in [[0, 1, 2], [0, 2, 3], [0, 0, 0], [2, 0, 1], [7, 8, 9]] {
        let results = passed.iter().zip(numbers).flat_map(|((name, passed), number)| {
            (0_u64..2).zip(passed).map(move |(test, passed)| result_of(number, test, of(name), *passed))
        });
        let imported = imported(list.clone(), results.collect());
        let (systems, compared) = figures(&imported);
        let name = |name: &str| format!("prompt-1.{name}");
        assert_eq!(systems, [(name("good"), 2, 2), (name("middle"), 1, 2), (name("bad"), 0, 2)], "{numbers:?}");
        assert_eq!(compared, [(name("good"), 1.0), (name("middle"), 0.5), (name("bad"), 0.0)], "{numbers:?}");
        let contradictions = numbers.iter().enumerate().filter(|(at, number)| *at as u64 != **number).count();
        assert_eq!(imported.notes().len(), contradictions, "{:?}", imported.notes());
    }
}

/// F94: what the list lacks has no figures of promptfoo, what the results lack is not a system, and other counts are noted.
#[test]
fn lists_that_do_not_fit_are_noted() {
    let plain = |name: &str| json!(name);
    let imported = imported(
        json!([listed("a", 1, 0), listed("gone", 3, 0)]),
        json!([
            result_of(0, 0, plain("a"), true),
            result_of(0, 1, plain("a"), false),
            result_of(1, 0, plain("new"), true),
            result_of(5, 0, plain("other"), true)
        ]),
    );
    let (systems, compared) = figures(&imported);
    let name = |name: &str| format!("prompt-1.{name}");
    assert_eq!(systems, [(name("a"), 1, 2), (name("new"), 1, 1), (name("other"), 1, 1)]);
    assert_eq!(compared, [(name("a"), 0.5), (name("new"), 3.0)]);
    let notes = imported.notes().join("; ");
    for part in [
        "the number is that of `gone` in `results.prompts`",
        "promptfoo counted 1 results of `prompt-1.a`; the file holds 2",
        "promptfoo counted 3 results of `prompt-1.new`; the file holds 1",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

/// IO-04, IO-01: other versions and broken files are refused with their place and a hint.
#[test]
fn other_results_are_refused() {
    let deep = format!(
        "{{\"results\": {{\"version\": 3, \"prompts\": [], \"results\": [{}{}]}}}}",
        "[".repeat(200),
        "]".repeat(200)
    );
    for (name, text, problem) in [
        ("r.json", r#"{"results": {"version": 2, "results": [], "table": {}}}"#, "in version 2 of the format"),
        ("r.json", r#"{"results": {"table": {"head": {}}}}"#, "in version 1 of the format"),
        ("r.json", r#"{"results": "x"}"#, "does not look like results"),
        ("r.json", r#"{"results": {"version": 3, "prompts": [], "results": []}}"#, "holds no results"),
        ("r.json", r#"{"results": {"version": 3, "prompts": [], "results": [{}]}}"#, "without `testIdx`"),
        ("r.json", r#"{"results": {"version": 3, "results": [{"#, "r.json:1: is not valid JSON"),
        ("r.json", &deep, "recursion limit"),
        ("r.jsonl", "{\"testIdx\": 0, \"promptIdx\": 0}\n{", "r.jsonl:2: is not valid JSON"),
        ("r.jsonl", "", "holds no results"),
        ("r.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "pointer of Git LFS"),
    ] {
        let error = try_file(name, text).err().unwrap_or_else(|| panic!("{text} is taken"));
        assert!(error.to_string().contains(problem), "{text}: {error}");
    }
    let error = try_file("r.json", r#"{"results": {"version": 2, "results": []}}"#).err().unwrap();
    assert!(error.hint().unwrap().contains("promptfoo export eval"), "{error}");
}

/// F91: results of version 2 are read from their table: verdicts, outputs behind the reason of a failure, errors of calls.
#[test]
fn tables_of_version_2_are_read() {
    let asserts = json!([{"type": "contains", "value": "Paris"}]);
    let cell = |pass: bool, text: &str, more: Value| {
        let mut cell = json!({
            "pass": pass, "score": u8::from(pass), "text": text, "prompt": "rendered", "latencyMs": 7, "cost": 0.5,
            "namedScores": {}, "tokenUsage": {"prompt": 3, "completion": 4},
            "gradingResult": {"pass": pass, "score": u8::from(pass), "reason": "no Paris", "componentResults": []},
        });
        cell.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        cell
    };
    let metrics = |passed: u64| json!({"testPassCount": passed, "testFailCount": 1, "testErrorCount": 0});
    let prompts = json!([
        {"raw": "of {{q}}", "display": "short", "provider": "openai:gpt-4o", "metrics": metrics(1)},
        {"raw": "of {{q}}", "label": "short", "provider": "openai:gpt-5", "metrics": metrics(0)},
    ]);
    let body = json!([
        {"vars": ["France"], "test": {"vars": {"q": "France"}, "assert": asserts}, "outputs": [
            cell(true, "Paris", json!({})), cell(false, "no Paris\n---\nLyon", json!({}))]},
        {"vars": ["Peru"], "outputs": [
            cell(false, "no Paris\n---\nLima", json!({})),
            cell(false, "429 Too Many Requests", json!({"gradingResult": null}))]},
    ]);
    let whole = json!({"results": {"version": 2, "results": [{}], "stats": {},
        "table": {"head": {"prompts": prompts, "vars": ["q"]}, "body": body}}, "config": {}});
    let imported = try_file("results.json", &whole.to_string()).unwrap_or_else(|error| panic!("{error}"));
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!((&rows[0]["q"], &rows[1]["q"]), (&json!("France"), &json!("Peru")));
    assert_eq!(rows[0]["assert"], json!([{"metric": "contains", "value": "Paris"}]));
    let outputs = |variant: &str| {
        let rows = imported.rows(&format!("data/outputs/{variant}.jsonl"));
        json!(rows.iter().map(|row| json!([row["output"], row["error"], row["scores"]["success"]])).collect::<Vec<_>>())
    };
    assert_eq!(outputs("short.openai-gpt-4o"), json!([["Paris", null, true], ["Lima", null, false]]));
    let failed = json!([null, "429 Too Many Requests", null]);
    assert_eq!(outputs("short.openai-gpt-5"), json!([["Lyon", null, false], failed]));
    let figures: Vec<f64> = imported.report.figures.iter().map(|it| it.value).collect();
    assert_eq!(figures, [0.5, 0.0]);
    for other in [json!({"version": 1, "results": []}), json!({"version": 2, "results": []})] {
        let refused = try_file("results.json", &json!({"results": other}).to_string()).err().unwrap().to_string();
        assert!(refused.contains("version 3, or 2 with its table"), "{refused}");
    }
}
