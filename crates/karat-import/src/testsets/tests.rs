//! Test sets that the tools wrote, and odd ones.

use serde_json::{Value, json};

use crate::recorded::testing::{Imported, fixture, import_file, import_files};
use crate::{ImportError, ImportKind, Shape};

fn import_text(kind: ImportKind, name: &str, text: &str) -> Result<Imported, ImportError> {
    import_files(kind, &[(name, text.as_bytes())], name)
}

/// IO-09: a dataset of ragas with responses becomes a recorded suite.
#[test]
fn ragas_datasets_become_recorded_suites() {
    let imported = import_file(ImportKind::Ragas, &fixture("ragas/dataset.jsonl"));
    insta::assert_snapshot!("ragas_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("ragas_import", imported.text("import.json"));
    insta::assert_snapshot!("ragas_samples", imported.text("data/samples.jsonl"));
    assert_eq!(imported.rows("data/outputs/recorded.jsonl").len(), 3);
}

/// IO-09: ids of contexts are scored by recall and precision; conversations are messages, the rest is metadata.
#[test]
fn every_column_of_ragas_has_its_place() {
    let rows = [
        json!({"user_input": "q", "response": "r", "retrieved_context_ids": ["a"], "reference_context_ids": ["a", "b"],
               "rubrics": {"score1": "bad"}, "persona_name": "p", "reference": null}),
        json!({"user_input": [{"content": "hi", "type": "human"}, {"content": "ho", "type": "ai"}], "reference": "x"}),
        json!({"user_input": [{"content": "hi", "type": "human"}, {"content": "ho", "type": "ai"}, {"content": "so?", "type": "human"}]}),
    ];
    let imported = import_text(ImportKind::Ragas, "set.json", &json!(rows).to_string()).unwrap();
    let suite = imported.suite();
    assert_eq!(
        suite["scorers"]["context_recall"],
        json!({"metric": "recall", "output": "$.retrieved_context_ids", "reference": "reference_context_ids"})
    );
    let outputs = imported.rows("data/outputs/recorded.jsonl");
    assert_eq!(outputs[0]["output"], json!({"response": "r", "retrieved_context_ids": ["a"]}));
    assert_eq!(outputs[1]["output"], "ho");
    assert_eq!(outputs.len(), 2);
    assert_eq!(suite["variants"]["recorded"][0]["recorded"]["missing"], "skip");
    let samples = imported.rows("data/samples.jsonl");
    let user = |content: &str| json!({"role": "user", "content": content});
    assert_eq!(samples[1]["input"], json!([user("hi")]));
    assert_eq!(samples[2]["input"], json!([user("hi"), {"role": "assistant", "content": "ho"}, user("so?")]));
    assert_eq!([&samples[0]["persona_name"], &samples[1]["reference"]], ["p", "x"]);
    assert_eq!(imported.dropped(), [("rubrics", "[*].rubrics", 1)]);
}

/// IO-09: lists in a table of ragas are JSON or as Python prints them.
#[test]
fn tables_of_ragas_hold_lists() {
    let csv = "user_input,retrieved_contexts,response\nq,\"['a', \"\"it's\"\"]\",r\nq2,\"[\"\"b\"\"]\",\nq3,plain,\n";
    let imported = import_text(ImportKind::Ragas, "set.csv", csv).unwrap();
    let samples = imported.rows("data/samples.jsonl");
    let contexts: Vec<_> = samples.iter().map(|row| row["contexts"].clone()).collect();
    assert_eq!(contexts, [json!(["a", "it's"]), json!(["b"]), json!(["plain"])]);
}

/// IO-09: goldens of deepeval in JSON: names are ids, contexts lists, and tools are dropped by name.
#[test]
fn deepeval_goldens_become_recorded_suites() {
    let imported = import_file(ImportKind::Deepeval, &fixture("deepeval/goldens.json"));
    insta::assert_snapshot!("deepeval_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("deepeval_import", imported.text("import.json"));
    insta::assert_snapshot!("deepeval_samples", imported.text("data/samples.jsonl"));
    let outputs = imported.rows("data/outputs/recorded.jsonl");
    assert_eq!(outputs.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ["refund-1", "3"]);
}

/// IO-09: goldens of deepeval in CSV: a joined list stays one text, and is noted.
#[test]
fn deepeval_tables_are_not_split() {
    let imported = import_file(ImportKind::Deepeval, &fixture("deepeval/goldens.csv"));
    let samples = imported.rows("data/samples.jsonl");
    let joined = "Refunds are possible within 30 days of delivery.|Shipping takes 3 days.";
    assert_eq!(samples[0]["contexts"], json!([joined]));
    assert_eq!([&samples[0]["topic"], &samples[0]["priority"]], [&json!("refund"), &json!(2)]);
    assert!(imported.notes()[0].contains("not split"), "{:?}", imported.notes());
    assert_eq!(imported.report.counts.outputs, 2);
}

/// IO-09: names in camel case, conversations, costs, and a reference that is empty.
#[test]
fn every_column_of_deepeval_has_its_place() {
    let rows = json!([
        {"input": "q", "actualOutput": "a", "expectedOutput": "", "tokenCost": 0.5, "input_token_count": 3,
         "output_token_count": 2, "name": "n", "additionalMetadata": {"input": "shadow"}, "sourceFile": "f.md"},
        {"scenario": "angry customer", "turns": [{"role": "user", "content": "hi"}], "expected_outcome": "calm", "name": "n"},
        {"scenario": "only this", "customColumnKeyValues": {"team": "x"}},
    ]);
    let imported = import_text(ImportKind::Deepeval, "goldens.json", &rows.to_string()).unwrap();
    let samples = imported.rows("data/samples.jsonl");
    assert_eq!(
        samples,
        [
            json!({"id": "n", "input": "q", "reference": "", "metadata_input": "shadow", "source_file": "f.md"}),
            json!({"id": "n#2", "input": [{"role": "user", "content": "hi"}], "reference": "calm", "scenario": "angry customer"}),
            json!({"id": "3", "input": "only this", "scenario": "only this", "team": "x"}),
        ]
    );
    let outputs = imported.rows("data/outputs/recorded.jsonl");
    assert_eq!(
        outputs,
        [
            json!({"id": "n", "trial": 1, "output": "a", "cost_usd": 0.5, "input_tokens": 3, "output_tokens": 2, "scores": {}})
        ]
    );
}

/// IO-09: a set without outputs becomes a live suite that sends the input.
#[test]
fn sets_without_outputs_become_live_suites() {
    let imported =
        import_text(ImportKind::Ragas, "set.jsonl", "{\"user_input\": \"q\", \"reference\": \"r\"}\n").unwrap();
    assert_eq!(imported.report.shape, Shape::Live);
    let suite = imported.suite();
    assert_eq!(suite["variants"], json!({"answer": [{"prompt": {"text": "{{ input }}"}}]}));
    assert_eq!(suite.get("policy"), None);
    assert_eq!(suite.get("models"), None);
    assert!(imported.report.lacks_model);
    assert_eq!(imported.notes().len(), 3, "neither scores, outputs nor models: {:?}", imported.notes());
}

/// IO-01, IO-09: files that are no test sets are refused with the line and what is expected.
#[test]
fn bad_files_are_refused() {
    let cases = [
        ("empty.jsonl", "", ":1: holds no rows"),
        ("number.json", "[1]", ":1: a row must be an object with named columns"),
        ("other.jsonl", "{\"user_input\": 1}\n{\"a\": 1}", ":2: holds a row without any of the columns"),
        ("half.json", "[\n{\"user_input\": ", ":2: invalid JSON: it ends too early"),
        ("half.jsonl", "{\"user_input\": 1}\n{\"user", ":2: invalid JSON"),
        ("ragged.csv", "user_input,response\na,b,c\n", ":2: this row has 3 cells, the header has 2"),
    ];
    for (name, text, problem) in cases {
        let error = import_text(ImportKind::Ragas, name, text).err().unwrap_or_else(|| panic!("{name} is imported"));
        assert!(error.to_string().contains(problem), "{name}: {error}");
        assert!(error.hint().unwrap().contains("`user_input`"), "{name}");
    }
}

/// F97: scores of ragas stay, lists of numpy are lists, `nan` is none, and an object around the rows is read.
#[test]
fn results_of_ragas_keep_their_scores() {
    let csv =
        "user_input,retrieved_contexts,response,reference,faithfulness\nq1,\"['a'\n 'b']\",r,t,0.5\nq2,nan,r,t,\n";
    let imported = import_text(ImportKind::Ragas, "r.csv", csv).unwrap();
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!((&rows[0]["contexts"], &rows[1]["contexts"]), (&json!(["a", "b"]), &Value::Null));
    let outputs = imported.rows("data/outputs/recorded.jsonl");
    assert_eq!(
        (&outputs[0]["scores"]["faithfulness"], &outputs[1]["scores"]["faithfulness"]),
        (&json!(0.5), &Value::Null)
    );
    assert!(imported.suite()["scorers"]["given_faithfulness"].is_object());
    let object = "{\n \"samples\": [ {\"user_input\": \"q\", \"response\": \"r\"} ]\n}";
    assert_eq!(import_text(ImportKind::Ragas, "o.json", object).unwrap().rows("data/samples.jsonl").len(), 1);
    let columns = "{\"user_input\": {\"0\": \"q\", \"1\": \"p\"}, \"response\": {\"0\": \"r\", \"1\": \"s\"}}";
    for columns in [columns.to_owned(), columns.replace(", ", ",\n")] {
        let imported = import_text(ImportKind::Ragas, "c.json", &columns).unwrap();
        assert_eq!(imported.rows("data/samples.jsonl").len(), 2, "{columns}");
    }
    let lone = "{\"user_input\": \"q\", \"response\": \"r\"}";
    assert_eq!(import_text(ImportKind::Ragas, "l.json", lone).unwrap().rows("data/samples.jsonl").len(), 1);
}

/// F100: the last message of an assistant is the output, and those before it are the input.
#[test]
fn conversations_that_end_with_a_reply_have_outputs() {
    let turns = json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]);
    let imported = import_text(ImportKind::Deepeval, "d.json", &json!([{"turns": turns}]).to_string()).unwrap();
    assert_eq!(imported.rows("data/samples.jsonl")[0]["input"], json!([{"role": "user", "content": "Hi"}]));
    assert_eq!(imported.rows("data/outputs/recorded.jsonl")[0]["output"], "Hello");
}

/// F97: a test run that deepeval saved: its cases with the scores and reasons of their metrics.
#[test]
fn test_runs_of_deepeval_keep_their_scores() {
    let run = json!({
        "testCases": [
            {"name": "a", "input": "q", "actualOutput": "r", "success": true, "trace": {"x": 1}, "metricsData": [
                {"name": "Answer Relevancy", "score": 0.5, "success": true, "reason": "fits"},
                {"name": "Faithfulness", "score": null, "error": "timed out"}
            ]},
            {"name": "b", "input": "q2", "actualOutput": "r2", "metricsData": []}
        ],
        "conversationalTestCases": [],
        "metricsScores": [{"metric": "Answer Relevancy", "scores": [0.5]}],
        "testPassed": 1
    });
    let imported = import_text(ImportKind::Deepeval, "run.json", &run.to_string()).unwrap();
    let outputs = imported.rows("data/outputs/recorded.jsonl");
    assert_eq!((outputs.len(), &outputs[0]["output"]), (2, &json!("r")));
    let scores: Vec<&Value> = outputs[0]["scores"].as_object().unwrap().values().collect();
    assert_eq!(scores, [&json!(0.5), &Value::Null]);
    assert!(outputs[0]["reasons"].to_string().contains("fits"));
    let suite = imported.suite();
    let scorers: Vec<&String> = suite["scorers"].as_object().unwrap().keys().collect();
    assert_eq!(scorers, ["given_Answer-Relevancy", "given_Faithfulness"]);
    assert_eq!(imported.dropped(), [("trace", "[*].trace", 1)]);
}
