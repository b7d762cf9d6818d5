//! Results that lm-eval wrote, and odd ones.

use serde_json::{Value, json};

use crate::recorded::testing::{Imported, fixture, import_file, import_files};
use crate::{ImportError, ImportKind, Shape};

/// Imports a results file with these results, and the samples of a task `t` beside it.
fn import_task(results: &Value, lines: &[Value]) -> Result<Imported, ImportError> {
    let samples = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let files: [(&str, &[u8]); 2] =
        [("results_1.json", &results.to_string().into_bytes()), ("samples_t_1.jsonl", samples.as_bytes())];
    import_files(ImportKind::LmEval, &files, "results_1.json")
}

fn line(doc_id: u64, filter: &str, reply: &str, score: Value) -> Value {
    json!({"doc_id": doc_id, "doc": {"q": doc_id}, "target": "x", "arguments": {"gen_args_0": {"arg_0": "Q?"}},
           "resps": [[reply]], "filtered_resps": [reply], "filter": filter, "metrics": ["m"], "m": score})
}

/// IO-08: generated replies and choices, two filters, and the figures of the results.
#[test]
fn results_become_recorded_suites() {
    let imported = import_file(ImportKind::LmEval, &fixture("lm-eval"));
    insta::assert_snapshot!("folder_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("folder_import", imported.text("import.json"));
    insta::assert_snapshot!("folder_samples", imported.text("data/samples.jsonl"));
    let outputs = imported.rows("data/outputs/3ykv54sv.jsonl");
    assert_eq!(outputs.len(), 6);
    assert_eq!(
        outputs[1],
        json!({"id": "capitals_gen/1", "trial": 1, "output": "lol",
               "scores": {"capitals_gen.exact_match.strict": 1.0, "capitals_gen.exact_match.letters": 1.0}})
    );
    assert_eq!([&outputs[5]["output"], &outputs[5]["text"]], ["3", " Saturn"], "the largest log-likelihood");
    assert_eq!(imported.report.shape, Shape::Recorded);
    let file = import_file(ImportKind::LmEval, &fixture("lm-eval/results_2026-11-24T18-08-15.544979.json"));
    assert_eq!(file.text("data/samples.jsonl"), imported.text("data/samples.jsonl"));
}

/// IO-08: several replies are trials with the scores of their document; values without a number are listed.
#[test]
fn repeats_are_trials() {
    let mut repeated = line(0, "none", "a", json!(0.5));
    repeated["resps"] = json!([["a", "b"]]);
    let mut lost = line(1, "none", "c", json!([1, 2]));
    lost["resps"] = json!([["c", "d"]]);
    lost["brand_new"] = json!(1);
    let results = json!({"results": {"t": {"m,none": 0.5, "m_stderr,none": 0.1}}, "config": {"model": "hf"}});
    let imported = import_task(&results, &[repeated, lost]).unwrap();
    let outputs = imported.rows("data/outputs/hf.jsonl");
    let rows: Vec<_> = outputs.iter().map(|row| (&row["trial"], &row["output"], &row["scores"])).collect();
    let scores = json!({"t.m.none": 0.5});
    assert_eq!(rows[..2], [(&json!(1), &json!("a"), &scores), (&json!(2), &json!("b"), &scores)]);
    assert_eq!(imported.suite()["run"]["trials"], 2);
    assert_eq!(imported.dropped(), [("m", "samples_t[*].m", 1), ("brand_new", "samples_t[*].brand_new", 1)]);
    let figures: Vec<_> = imported.report.figures.iter().map(|it| (it.metric.as_str(), it.value)).collect();
    assert_eq!(figures, [("given_t.m.none", 0.5)]);
    assert!(imported.notes()[0].contains("are trials"), "{:?}", imported.notes());
}

/// IO-08: a figure that is not a mean is not compared, and a task without samples is noted.
#[test]
fn other_figures_are_noted() {
    let results = json!({
        "results": {"t": {"m,none": 3.0}, "unlogged": {"m,none": 1.0}}, "model_name": "org/model",
        "configs": {"t": {"metric_list": [{"metric": "m", "aggregation": "perplexity"}]}},
    });
    let imported = import_task(&results, &[line(0, "none", "a", json!(f64::NAN))]).unwrap();
    assert!(imported.report.figures.is_empty());
    let notes = imported.notes();
    assert!(notes.iter().any(|note| note.contains("not a mean")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("--log_samples")), "{notes:?}");
    assert_eq!(imported.rows("data/outputs/org-model.jsonl")[0]["scores"], json!({"t.m.none": null}));
}

/// IO-01, IO-08: files that are not results are refused with the place and what is expected.
#[test]
fn bad_files_are_refused() {
    let results = json!({"results": {"t": {}}});
    let cases = [
        (json!([]), vec![], "is not a results file of lm-eval"),
        (json!({"a": 1}), vec![], "is not a results file of lm-eval"),
        (
            results.clone(),
            vec![line(0, "none", "a", json!(1)), json!({"doc_id": 1})],
            "jsonl:2: has no list `filtered_resps`",
        ),
        (results, vec![json!({"doc": {}})], "jsonl:1: has no whole number `doc_id`"),
    ];
    for (results, lines, problem) in cases {
        let error = import_task(&results, &lines).err().unwrap();
        assert!(error.to_string().contains(problem), "{error}");
        assert!(error.hint().is_some());
    }
    let folder = import_files(ImportKind::LmEval, &[("a.txt", b"x")], "").err().unwrap();
    assert!(folder.to_string().contains("holds no `results_DATE.json`"), "{folder}");
}

/// F84: results without samples say what to run.
#[test]
fn results_without_samples_are_refused() {
    let results = r#"{"results": {"t": {"acc,none": 0.5}}, "configs": {"t": {}}, "model_name": "m"}"#;
    let error =
        import_files(ImportKind::LmEval, &[("results_d.json", results.as_bytes())], "results_d.json").err().unwrap();
    assert!(
        error.to_string().contains("no file of samples") && error.hint().unwrap().contains("--log_samples"),
        "{error}"
    );
}
