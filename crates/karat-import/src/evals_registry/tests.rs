//! Files of the registry of `evals`.

use serde_json::{Value, json};

use crate::recorded::testing::{Imported, import_files};
use crate::{ImportError, ImportKind};

const ROWS: &str = concat!(
    "{\"input\": [{\"role\": \"system\", \"content\": \"Be short.\"}, {\"role\": \"user\", \"content\": \"1+1?\"}], \"ideal\": \"2\"}\n",
    "{\"input\": \"2+2?\", \"ideal\": [\"4\", \"four\"]}\n",
);

fn try_registry(yaml: &str, files: &[(&str, &str)]) -> Result<Imported, ImportError> {
    let all: Vec<(String, &[u8])> = std::iter::once(("registry/evals/e.yaml".to_owned(), yaml.as_bytes()))
        .chain(files.iter().map(|(path, text)| (format!("registry/{path}"), text.as_bytes())))
        .collect();
    let all: Vec<(&str, &[u8])> = all.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
    import_files(ImportKind::OpenaiEvals, &all, "registry/evals/e.yaml")
}

fn registry(yaml: &str, files: &[(&str, &str)]) -> Imported {
    try_registry(yaml, files).unwrap_or_else(|error| panic!("{error}"))
}

/// F81: each basic class is the metric with its rule; no model is invented.
#[test]
fn basic_classes_are_metrics() {
    for (class, args, scorer) in [
        ("match:Match", "", json!({"metric": "exact", "with": {"prefix": true}})),
        ("includes:Includes", "", json!({"metric": "contains", "with": {"need": "any"}})),
        (
            "includes:Includes",
            "ignore_case: true",
            json!({"metric": "contains", "with": {"need": "any", "ignore_case": true}}),
        ),
        (
            "fuzzy_match:FuzzyMatch",
            "",
            json!({"metric": "contains", "with": {"need": "any", "either": true, "squad": true}}),
        ),
    ] {
        let yaml = format!(
            "sums:\n  id: sums.dev.v0\n  metrics: [accuracy]\nsums.dev.v0:\n  class: evals.elsuite.basic.{class}\n  args:\n    samples_jsonl: sums/s.jsonl\n    {args}\n"
        );
        let imported = registry(&yaml, &[("data/sums/s.jsonl", ROWS)]);
        let suite = imported.suite();
        let scorers: Vec<&Value> = suite["scorers"].as_object().unwrap().values().collect();
        assert_eq!(scorers, [&scorer], "{class}");
        assert_eq!((&suite["name"], &suite["models"]), (&json!("sums"), &Value::Null));
        assert_eq!(suite["variants"]["answer"], json!([{"prompt": {"messages": "{{ input }}"}}]));
        let rows = imported.rows("data/samples.jsonl");
        assert_eq!(rows[0]["ideal"], "2");
        assert_eq!(rows[1], json!({"id": "2", "input": [{"role": "user", "content": "2+2?"}], "ideal": ["4", "four"]}));
        assert_eq!(imported.dropped(), []);
        assert!(imported.report.lacks_model && !imported.text("import.md").contains("Everything was carried over"));
    }
}

/// F81: evals of one file are one suite: rows of each have its scorers, and a class that is code drops itself.
#[test]
fn evals_of_a_file_are_one_suite() {
    let yaml = "a: { id: a.v0 }\na.v0: { class: 'evals.elsuite.basic.match:Match', args: { samples_jsonl: a.jsonl } }\n\
                b: { id: b.v0 }\nb.v0: { class: 'evals.elsuite.basic.includes:Includes', args: { samples_jsonl: b.jsonl } }\n\
                c: { id: c.v0 }\nc.v0: { class: 'evals.elsuite.bluff.eval:BluffEval', args: { n_samples: 3 } }\n\
                d.v0: { class: 'evals.elsuite.basic.match:Match', args: { samples_jsonl: none.jsonl } }\n";
    let broken = "{\"input\": \"x\", \"ideal\": \"y\"}\nnot json\n{\"ideal\": \"z\"}\n";
    let imported = registry(yaml, &[("data/a.jsonl", ROWS), ("data/b.jsonl", broken)]);
    let scorers = json!({
        "match": {"metric": "exact", "with": {"prefix": true}, "reference": "ideal_match"},
        "includes": {"metric": "contains", "with": {"need": "any"}, "reference": "ideal_includes"},
    });
    assert_eq!(imported.suite()["scorers"], scorers);
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!((rows.len(), &rows[2]["id"]), (3, &json!("b/1")));
    assert_eq!((&rows[2]["ideal_includes"], &rows[2]["ideal_match"]), (&json!("y"), &Value::Null));
    assert_eq!(rows[2]["metadata"], json!({"eval": "b"}));
    let dropped = imported.dropped();
    let places: Vec<&str> = dropped.iter().map(|(_, place, _)| *place).collect();
    assert_eq!(places, ["b.jsonl:2", "b.jsonl:3", "c.v0.BluffEval", "d.v0.samples_jsonl"]);
}

/// F81: examples stand before the last message, and names of examples become roles.
#[test]
fn examples_stand_in_each_prompt() {
    let yaml = "a.v0:\n  class: evals.elsuite.basic.match:Match\n  args: { samples_jsonl: a.jsonl, num_few_shot: 1, few_shot_jsonl: few.jsonl }\n";
    let few = "{\"sample\": [{\"role\": \"system\", \"name\": \"example_user\", \"content\": \"q\"}, {\"role\": \"system\", \"name\": \"example_assistant\", \"content\": \"r\"}]}\n{\"sample\": []}\n";
    let rows = ROWS.lines().next().unwrap();
    let imported = registry(yaml, &[("data/a.jsonl", rows), ("data/few.jsonl", few)]);
    let row = &imported.rows("data/samples.jsonl")[0];
    let roles: Vec<&str> = row["input"].as_array().unwrap().iter().filter_map(|it| it["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
}

/// F81: a model-graded specification is a rubric with its wording and the scores of its choices.
#[test]
fn specifications_are_rubrics() {
    let yaml = "q.v0:\n  class: evals.elsuite.modelgraded.classify:ModelBasedClassify\n  args:\n    samples_jsonl: q.jsonl\n    modelgraded_spec: qa\n    modelgraded_spec_args: { criteria: 'be kind' }\n";
    let spec = "qa:\n  prompt: |-\n    Is {completion} right for {input} by {ideal} ({criteria})? {{x}}\n  choice_strings: ['Y', 'N']\n  choice_scores: { Y: 1.0, N: 0.0 }\n  input_outputs: { input: completion }\n";
    let imported = registry(yaml, &[("data/q.jsonl", ROWS), ("modelgraded/mine.yaml", spec)]);
    assert_eq!(imported.suite()["scorers"], json!({"qa": {"rubric": "rubrics/qa.yaml"}}));
    let rubric: Value = serde_saphyr::from_str(&imported.text("rubrics/qa.yaml")).unwrap();
    assert_eq!(rubric["dimensions"], json!({"choice": {"choices": {"Y": 1.0, "N": 0.0}}}));
    assert_eq!(rubric["show"]["ideal"], json!({"value": "{{ sample.ideal | default('') }}", "required": true}));
    let user = imported.text("rubrics/qa-user.md");
    assert!(user.contains("(be kind)? {x}") && user.contains("(see section"), "{user}");
    // Choices without scores are numbered, and that is said.
    let counted = "qa:\n  prompt: '{completion}?'\n  choice_strings: ABC\n  input_outputs: { input: completion }\n";
    let imported = registry(yaml, &[("data/q.jsonl", ROWS), ("modelgraded/mine.yaml", counted)]);
    assert!(imported.report.approximate[0].difference.contains("only counted there"));
}

/// F81: a file without anything to run says why, and what to do.
#[test]
fn files_of_code_are_refused_with_the_reason() {
    for (yaml, why) in [
        (
            "a.v0: { class: 'evals.elsuite.bluff.eval:BluffEval' }",
            "`BluffEval` at a.v0.BluffEval is a class of its own",
        ),
        ("a.v0: { class: 'x:Match', args: { samples_jsonl: gone.jsonl } }", "names `gone.jsonl`"),
        ("a.v0: { class: 'x:Match', args: { samples_jsonl: 'az://x/y.jsonl' } }", "opens no connection"),
        ("a: { id: a.v0 }", "no entry has a `class`"),
        ("- a", "no map of evals"),
        ("prompts: [x]\nproviders: [y]", "holds no eval"),
    ] {
        let error = try_registry(yaml, &[]).err().unwrap_or_else(|| panic!("{yaml}"));
        assert!(error.to_string().contains(why), "{yaml}: {error}");
        assert!(error.hint().is_some(), "{yaml}");
    }
}

/// F81: rows of which all messages are the system's are asked, which is said.
#[test]
fn messages_of_the_system_alone_are_asked() {
    let yaml = "a.v0: { class: 'evals.elsuite.basic.match:Match', args: { samples_jsonl: a.jsonl } }";
    let rows = "{\"input\": [{\"role\": \"system\", \"content\": \"Be short.\"}, {\"role\": \"system\", \"content\": \"1+1?\"}], \"ideal\": \"2\"}\n\
                {\"input\": [{\"role\": \"system\", \"content\": \"2+2?\"}], \"ideal\": \"4\"}\n";
    let imported = registry(yaml, &[("data/a.jsonl", rows)]);
    let rows = imported.rows("data/samples.jsonl");
    let roles = |row: &Value| row["input"].as_array().unwrap().iter().map(|it| it["role"].clone()).collect::<Vec<_>>();
    assert_eq!((roles(&rows[0]), roles(&rows[1])), (vec![json!("system"), json!("user")], vec![json!("user")]));
    let approximate = &imported.report.approximate;
    assert_eq!((approximate.len(), approximate[0].path.as_str()), (1, "a.jsonl"));
}
