//! Evals and results.

use serde_json::{Value, json};

use crate::recorded::testing::{Imported, fixture, import_file, import_files};
use crate::{ImportError, ImportKind, Shape};

fn import_fixture(name: &str) -> Imported {
    import_file(ImportKind::OpenaiEvals, &fixture(&format!("openai-hosted/{name}")))
}

fn import_text(name: &str, text: &str) -> Result<Imported, ImportError> {
    import_files(ImportKind::OpenaiEvals, &[(name, text.as_bytes())], name)
}

fn import_value(value: &Value) -> Imported {
    import_text("eval.json", &value.to_string()).unwrap_or_else(|error| panic!("{error}"))
}

/// An eval with these criteria and rows.
fn eval(criteria: Value, rows: Value) -> Value {
    json!({"eval": {"object": "eval", "id": "eval_1", "name": "e", "testing_criteria": criteria}, "rows": rows})
}

fn run(id: &str, template: Value, model: &str, settings: Value) -> Value {
    json!({"object": "eval.run", "id": id, "data_source": {
        "type": "completions", "model": model, "sampling_params": settings,
        "input_messages": {"type": "template", "template": template},
    }})
}

/// IO-05: an eval with a run and its outputs: recorded outputs, given scores, and the checks that need no model.
#[test]
fn evals_with_outputs_become_recorded_suites() {
    let imported = import_fixture("eval_support.json");
    insta::assert_snapshot!("support_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("support_import", imported.text("import.json"));
    insta::assert_snapshot!("support_samples", imported.text("data/samples.jsonl"));
    let outputs = imported.rows("data/outputs/gpt-4.1-baseline.jsonl");
    assert_eq!(
        outputs[1],
        json!({
            "id": "1", "trial": 1, "output": "Yes, at a FLAT FEE", "model": "gpt-4.1", "input_tokens": 20,
            "output_tokens": 5, "cached_tokens": 0,
            "scores": {
                "mentions": true, "no-apology": true, "close": 0.7, "close_passed": true, "rouge": 0.75,
                "rouge_passed": true, "helpfulness": 5, "helpfulness_passed": true, "tone": true, "short": 1.0,
                "short_passed": true, "meaning": 0.88, "meaning_passed": true, "pass": true,
            },
        })
    );
    assert_eq!(imported.report.shape, Shape::Recorded);
}

/// IO-05: the passes of each `string_check` are those that the run counts, with the check's own rule on the outputs.
#[test]
fn string_checks_pass_as_often_as_the_run_counts() {
    let imported = import_fixture("eval_support.json");
    let samples = imported.rows("data/samples.jsonl");
    let outputs = imported.rows("data/outputs/gpt-4.1-baseline.jsonl");
    let suite = imported.suite();
    let contains = |sample: &Value, output: &str| {
        let wanted = sample[suite["scorers"]["mentions"]["reference"].as_str().unwrap()].as_str().unwrap();
        output.to_lowercase().contains(&wanted.to_lowercase())
    };
    let differs = |output: &str| output != suite["scorers"]["no-apology"]["value"].as_str().unwrap();
    let pairs = || samples.iter().zip(&outputs).map(|(sample, row)| (sample, row["output"].as_str().unwrap()));
    let passes = [
        ("mentions", pairs().filter(|(sample, output)| contains(sample, output)).count()),
        ("no-apology", pairs().filter(|(_, output)| differs(output)).count()),
    ];
    for (name, passed) in passes {
        let figures: Vec<f64> =
            imported.report.figures.iter().filter(|it| it.metric == name).map(|it| it.value).collect();
        assert_eq!(figures, [passed as f64 / 3.0], "{name}");
    }
}

/// F100, IO-05: an eval without runs becomes a live suite with its graders as scorers and judges; one without rows is refused.
#[test]
fn evals_without_outputs_become_live_suites() {
    let eval = std::fs::read(fixture("openai-hosted/eval-object.json")).unwrap();
    let rows = br#"{"item": {"question": "q", "must_mention": "m", "ideal": "i", "topic": "t"}}"#;
    let folder: [(&str, &[u8]); 2] = [("eval-object.json", &eval), ("files/rows.jsonl", rows)];
    let imported = import_files(ImportKind::OpenaiEvals, &folder, "eval-object.json").unwrap();
    let error = import_files(ImportKind::OpenaiEvals, &folder[..1], "eval-object.json").err().unwrap();
    assert!(error.to_string().contains("rows are missing") && error.hint().is_some(), "{error}");
    insta::assert_snapshot!("object_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("object_import", imported.text("import.json"));
    insta::assert_snapshot!("object_rubric", imported.text("rubrics/helpfulness.yaml"));
    insta::assert_snapshot!("object_rubric_user", imported.text("rubrics/helpfulness-user.md"));
    insta::assert_snapshot!("object_rubric_label", imported.text("rubrics/tone.yaml"));
    assert_eq!(imported.report.shape, Shape::Live);
    assert_eq!(
        imported.rows("data/samples.jsonl"),
        [json!({
            "id": "0", "question": "q", "must_mention": "m", "ideal": "i", "topic": "t",
            "metadata": {"unchecked": ["python", "text_similarity cosine"]},
        })]
    );
}

/// IO-05: results of the dashboard: grades and passes are given, a run is a variant.
#[test]
fn dashboard_results_become_recorded_suites() {
    let imported = import_fixture("output-items-dashboard.jsonl");
    insta::assert_snapshot!("dashboard_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("dashboard_import", imported.text("import.json"));
    let outputs = imported.rows("data/outputs/evalrun_a.jsonl");
    assert_eq!([&outputs[2]["output"], &outputs[2]["scores"]["pass"]], [&json!("Sorry"), &json!(false)]);
    assert_eq!(outputs[2]["scores"]["helpfulness"], 1);
    assert_eq!(outputs[2]["scores"]["tone_passed"], true);
    assert_eq!([&outputs[0]["input_tokens"], &outputs[0]["cached_tokens"]], [20, 0]);
}

/// IO-05: results of several runs: other items at an index are other samples, repeated ones trials; errors are errors, and
/// without passes an output passes.
#[test]
fn dashboard_results_of_several_runs_are_kept_apart() {
    let line = |run: &str, index: u64, item: &str, output: Value| {
        json!({"run_id": run, "data_source_idx": index, "item": {"id": item}, "grades": {"g": 0.5},
               "sample": {"outputs": [{"role": "assistant", "content": output}], "error": null}})
    };
    let mut failed = line("b", 1, "y", json!(null));
    failed["sample"]["error"] = json!({"code": "rate_limit", "message": "too many"});
    failed["sample"]["outputs"] = json!([]);
    let lines =
        [line("a", 0, "x", json!("1")), line("a", 0, "x", json!("2")), line("b", 0, "other", json!("3")), failed];
    let text = lines.map(|line| line.to_string()).join("\n\n");
    let imported = import_text("results.jsonl", &text).unwrap();
    let samples: Vec<_> = imported.rows("data/samples.jsonl");
    assert_eq!(
        samples,
        [
            json!({"id": "0", "item_id": "x"}),
            json!({"id": "0#2", "item_id": "other"}),
            json!({"id": "1", "item_id": "y"})
        ]
    );
    let a = imported.rows("data/outputs/a.jsonl");
    assert_eq!(a.iter().map(|row| row["trial"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(a[0]["scores"], json!({"g": 0.5, "pass": true}));
    let b = imported.rows("data/outputs/b.jsonl");
    assert_eq!([&b[1]["output"], &b[1]["error"]], [&json!(null), &json!("rate_limit: too many")]);
    assert_eq!(imported.suite()["run"]["trials"], 2);
    assert_eq!(imported.suite()["variants"]["a"][0]["recorded"]["missing"], "skip");
}

/// IO-05: every operation and similarity, and the place that is scored, becomes a scorer or is dropped by name.
#[test]
fn every_grader_has_its_scorer() {
    let check = |operation: &str, input: &str, reference: &str| json!({"type": "string_check", "name": "c", "input": input, "reference": reference, "operation": operation});
    let similarity = |metric: &str| {
        json!({"type": "text_similarity", "name": "c", "input": "{{sample.output_text}}", "reference": "{{item.q}}",
               "evaluation_metric": metric, "pass_threshold": 0.4})
    };
    const TEXT: &str = "{{ sample.output_text }}";
    let cases = [
        (check("eq", TEXT, "{{item.q}}"), json!({"metric": "exact", "reference": "q"})),
        (check("ne", TEXT, "no"), json!({"metric": "exact", "value": "no", "not": true})),
        (check("like", TEXT, "A {{item.q}}"), json!({"metric": "contains", "value": "A {{ sample.q }}"})),
        (
            check("ilike", TEXT, "{{item.q.r}}"),
            json!({"metric": "contains", "with": {"ignore_case": true}, "reference": "q.r"}),
        ),
        (
            check("eq", "{{sample.output_json.a[0].b}}", "{{item.only}}"),
            json!({"metric": "exact", "output": "$.a[0].b", "reference": "item_only"}),
        ),
        (similarity("fuzzy_match"), json!({"metric": "levenshtein", "reference": "q", "min": 0.4})),
        (similarity("bleu"), json!({"metric": "bleu", "reference": "q", "min": 40.0})),
        (similarity("rouge_1"), json!({"metric": "rouge", "with": {"type": "rouge1"}, "reference": "q", "min": 0.4})),
        (similarity("rouge_2"), json!({"metric": "rouge", "with": {"type": "rouge2"}, "reference": "q", "min": 0.4})),
        (similarity("rouge_l"), json!({"metric": "rouge", "with": {"type": "rougeL"}, "reference": "q", "min": 0.4})),
    ];
    for (criterion, scorer) in cases {
        let imported = import_value(&eval(json!([criterion]), json!([{"q": "x", "only": "y"}])));
        assert_eq!(imported.suite()["scorers"]["c"], scorer, "{criterion}");
        let is_approximate = criterion["type"] == "text_similarity";
        assert_eq!(imported.report.approximate.len(), usize::from(is_approximate), "{criterion}");
        assert!(imported.report.dropped.is_empty(), "{:?}", imported.report.dropped);
    }
    let dropped = [
        (check("eq", "{{item.q}}", TEXT), "string_check"),
        (check("eq", "A {{sample.output_text}}", "x"), "string_check"),
        (check("eq", TEXT, "{{sample.model}}"), "string_check"),
        (check("matches", TEXT, "x"), "string_check matches"),
        (similarity("cosine"), "text_similarity cosine"),
        (similarity("gleu"), "text_similarity gleu"),
        (similarity("meteor"), "text_similarity meteor"),
        (similarity("rouge_4"), "text_similarity rouge_4"),
        (json!({"type": "python", "name": "c", "source": "x"}), "python"),
        (json!({"type": "endpoint", "name": "c"}), "endpoint"),
        (json!({"type": "multi", "name": "c"}), "multi"),
        (json!({"type": "brand_new", "name": "c"}), "brand_new"),
        (
            json!({"type": "label_model", "name": "c", "input": [{"role": "user", "content": [{"type": "input_image"}]}]}),
            "label_model",
        ),
    ];
    for (criterion, construct) in dropped {
        let imported = import_value(&eval(json!([criterion]), json!([{"q": "x"}])));
        assert_eq!(imported.dropped(), [(construct, "eval.testing_criteria[0]", 1)]);
        assert_eq!(imported.suite().get("scorers"), None);
        assert_eq!(imported.rows("data/samples.jsonl")[0]["metadata"], json!({"unchecked": [construct]}));
    }
}

/// IO-05: prompts become variants, models and settings theirs; one that only some models ran says so.
#[test]
fn prompts_of_runs_become_variants() {
    let chat = json!([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": {"type": "input_text", "text": "{{item.q}}"}}]);
    let plain = json!([{"role": "user", "content": "Say {{ item.id }}"}]);
    let settings =
        json!({"temperature": 0, "max_completions_tokens": 9, "reasoning_effort": "low", "tools": [{}], "seed": null});
    let mut value = eval(json!([]), json!([{"q": "x", "id": 7}]));
    let by_reference = json!({"object": "eval.run", "id": "r", "data_source": {"model": "gpt-5", "input_messages": {
        "type": "item_reference", "item_reference": "item.messages"}}});
    value["runs"] = json!([
        run("1", chat.clone(), "gpt-5", json!({})),
        run("2", chat, "gpt-5-mini", json!({})),
        run("3", plain, "gpt-5", settings),
        by_reference
    ]);
    let imported = import_value(&value);
    let suite = imported.suite();
    assert_eq!(suite["models"], json!(["openai:gpt-5", "openai:gpt-5-mini"]));
    assert_eq!(suite["variants"]["prompt"], json!([{"prompt": {"system": "Be brief.", "user": "{{ sample.q }}"}}]));
    assert_eq!(
        suite["variants"]["prompt#2"],
        json!([{
            "prompt": {"text": "Say {{ sample.id }}"}, "parameters": {"temperature": 0, "max_tokens": 9, "effort": "low"},
            "requires": {"models": ["openai:gpt-5"]},
        }])
    );
    assert_eq!(suite["variants"]["prompt#3"][0]["prompt"], json!({"messages": "{{ sample.messages }}"}));
    assert_eq!(imported.dropped(), [("tools", "runs[2].run.data_source.sampling_params.tools", 1)]);
    assert!(imported.report.notes.is_empty(), "{:?}", imported.report.notes);
}

/// IO-05: objects of the API in files of a folder, with rows beside them; the schema of an item is that of a row.
#[test]
fn folders_of_objects_are_put_together() {
    let eval = json!({"object": "eval", "id": "eval_1", "name": "e", "testing_criteria": [], "brand_new": 1,
        "data_source_config": {"type": "custom", "schema_": {"type": "object", "properties": {"item": {
            "type": "object", "properties": {"id": {"type": "integer"}, "q": {"type": "string"}}, "required": ["id"],
            "additionalProperties": false}}}}});
    let page = json!({"object": "list", "data": [run("1", json!([{"role": "user", "content": "{{item.q}}"}]), "gpt-5", json!({}))]});
    let rows = "{\"item\": {\"id\": \"a\", \"q\": \"x\"}}\n\n{\"item\": {\"id\": \"b\", \"q\": \"y\"}}\n";
    let (eval, page) = (eval.to_string(), page.to_string());
    let files: [(&str, &[u8]); 4] = [
        ("eval.json", eval.as_bytes()),
        ("runs.json", page.as_bytes()),
        ("files/file_1.jsonl", rows.as_bytes()),
        ("README.md", b"mine"),
    ];
    let imported = import_files(ImportKind::OpenaiEvals, &files, "").unwrap();
    assert_eq!(imported.rows("data/samples.jsonl"), [json!({"id": "a", "q": "x"}), json!({"id": "b", "q": "y"})]);
    let schema: Value = serde_json::from_str(&imported.text("schemas/item.json")).unwrap();
    assert_eq!(schema, json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["id"]}));
    assert_eq!(imported.suite()["dataset"]["row_schema"], "schemas/item.json");
    assert_eq!(imported.dropped(), [("brand_new", "eval.brand_new", 0)]);
}

/// IO-05: runs and items of another eval, or without outputs, are said.
#[test]
fn runs_without_outputs_are_noted_beside_others() {
    let item = json!({"object": "eval.run.output_item", "run_id": "r1", "status": "error", "datasource_item": {"q": "x"},
        "sample": {"output": [], "error": {"code": "server_error", "message": "down"}}, "results": []});
    let bare = json!({"object": "eval.run.output_item", "run_id": "r1", "status": "pass", "sample": {"output": [{"content": "y"}]}});
    let other = json!({"object": "eval.run", "id": "r2", "name": "second"});
    let text = [item, bare, other].map(|object| object.to_string()).join("\n");
    let imported = import_text("items.jsonl", &text).unwrap();
    assert_eq!(imported.notes(), ["`second` has no outputs, and is left out"]);
    let outputs = imported.rows("data/outputs/r1.jsonl");
    assert_eq!([&outputs[0]["error"], &outputs[0]["scores"]["pass"]], [&json!("server_error: down"), &json!(null)]);
    assert_eq!(imported.dropped(), [("output_item", "runs[0].output_items[*]", 1)]);
}

/// IO-01, IO-05: files that are not evals are refused with the place and advice.
#[test]
fn bad_files_are_refused() {
    let two = json!([{"object": "eval", "id": "a"}, {"object": "eval", "id": "b"}]).to_string();
    let deep = format!("{{\"eval\": {}1{}}}", "[".repeat(200), "]".repeat(200));
    let result = |line: Value| line.to_string();
    let no_index = result(json!({"run_id": "r", "data_source_idx": -1, "item": {}, "grades": {}}));
    let no_grades = format!(
        "{}\n{}",
        result(json!({"run_id": "r", "data_source_idx": 0, "item": {}, "grades": {}})),
        result(json!({"run_id": "r", "data_source_idx": 0, "item": {}, "grades": [1]}))
    );
    let cases: [(&str, &str, &str, &str); 9] = [
        ("two.json", &two, ":1: holds a second eval, `b`, beside `a`", ""),
        ("deep.json", &deep, ":1: is not valid JSON: recursion limit exceeded", "export the eval again"),
        ("half.json", "{\n\"eval\": {", ":2: is not valid JSON", "export the eval again"),
        ("none.json", "{\"a\": 1}", ":1: holds no eval", "by the API"),
        ("number.json", "1", ":1: holds no eval", "by the API"),
        ("promptfooconfig.yaml", "prompts: [a]\nproviders: [echo]\n", "holds no eval", "karat import promptfoo"),
        ("index.jsonl", &no_index, ":1: has no whole number `data_source_idx`", "a line of results is"),
        ("grades.jsonl", &no_grades, ":2: has no object `grades`", "a line of results is"),
        ("lfs.jsonl", "version https://git-lfs.github.com/spec/v1\n", ":1: is a pointer of Git LFS", "git lfs pull"),
    ];
    for (name, text, problem, hint) in cases {
        let error = import_text(name, text).err().unwrap_or_else(|| panic!("{name} is imported"));
        assert!(error.to_string().contains(problem), "{name}: {error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{name}: {:?}", error.hint());
    }
    let empty = import_files(ImportKind::OpenaiEvals, &[("notes.txt", b"x")], "").err().unwrap();
    assert!(empty.to_string().contains("holds no eval"), "{empty}");
}

/// F100: an eval whose schema names no property, or an optional one first, sends a column that its rows have.
#[test]
fn prompts_send_a_column_that_rows_have() {
    for (properties, columns, sent) in [
        (json!({}), json!({"question": "Why?"}), "{{ sample.question }}"),
        (json!({"hint": {"type": "string"}, "q": {}}), json!({"q": "Why?"}), "{{ sample.q }}"),
        (json!({"id": {}, "q": {}}), json!({"id": "a", "q": "Why?"}), "{{ sample.q }}"),
        (json!({"id": {}}), json!({"id": "a"}), "{{ sample.id }}"),
    ] {
        let schema = json!({"type": "object", "properties": {"item": {"type": "object", "properties": properties}}});
        let eval = json!({"object": "eval", "id": "e", "name": "e",
            "data_source_config": {"type": "custom", "schema": schema}, "testing_criteria": []});
        let export = json!({"eval": eval, "rows": [columns]}).to_string();
        let imported = import_files(ImportKind::OpenaiEvals, &[("e.json", export.as_bytes())], "e.json").unwrap();
        assert_eq!(imported.suite()["variants"]["prompt"][0]["prompt"]["text"], sent, "{columns}");
    }
}
