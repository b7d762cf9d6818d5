use serde_json::{Value, json};

use crate::ImportKind;
use crate::recorded::testing::{Imported, import_files};

/// A suite with one test, which has these asserts and the variable `city`.
fn imported(test: Value) -> Imported {
    let mut whole = json!({"vars": {"city": "Paris"}});
    whole.as_object_mut().unwrap().extend(test.as_object().cloned().unwrap());
    let config = json!({"prompts": ["{{ city }}"], "providers": ["echo"], "tests": [whole]}).to_string();
    let files: [(&str, &[u8]); 4] = [
        ("config.json", config.as_bytes()),
        ("schema.json", b"{\"type\": \"object\"}"),
        ("schema.yaml", b"type: array"),
        ("text.txt", b"in {{ city }}"),
    ];
    import_files(ImportKind::Promptfoo, &files, "config.json").unwrap()
}

fn row(imported: &Imported) -> Value {
    imported.rows("data/samples.jsonl").remove(0)
}

/// The checks of a row with one assert.
fn checks(assert: Value) -> Value {
    row(&imported(json!({"assert": [assert]})))["assert"].take()
}

/// IO-03: every type that a metric decides, with its default threshold.
#[test]
fn types_become_metrics() {
    for (assert, check) in [
        (json!({"type": "equals", "value": 42}), json!({"metric": "exact", "value": "42"})),
        (
            json!({"type": "equals", "value": {"a": 1}}),
            json!({"metric": "json_schema", "with": {"schema": {"const": {"a": 1}}, "amid": false}}),
        ),
        (json!({"type": "contains", "value": "a"}), json!({"metric": "contains", "value": "a"})),
        (
            json!({"type": "icontains", "value": "a"}),
            json!({"metric": "contains", "with": {"ignore_case": true}, "value": "a"}),
        ),
        (
            json!({"type": "contains-any", "value": "a, \"b, c\""}),
            json!({"metric": "contains", "with": {"any": ["a", "b, c"]}}),
        ),
        (
            json!({"type": "contains-all", "value": ["a", 1]}),
            json!({"metric": "contains", "with": {"all": ["a", "1"]}}),
        ),
        (
            json!({"type": "icontains-any", "value": ["a"]}),
            json!({"metric": "contains", "with": {"ignore_case": true, "any": ["a"]}}),
        ),
        (
            json!({"type": "icontains-all", "value": ["a"]}),
            json!({"metric": "contains", "with": {"ignore_case": true, "all": ["a"]}}),
        ),
        (
            json!({"type": "starts-with", "value": "a"}),
            json!({"metric": "exact", "value": "a", "with": {"prefix": true}}),
        ),
        (json!({"type": "regex", "value": "a+"}), json!({"metric": "regex", "value": "a+"})),
        (json!({"type": "is-json"}), json!({"metric": "json_schema", "with": {"schema": {}, "amid": false}})),
        (
            json!({"type": "is-json", "value": "type: object"}),
            json!({"metric": "json_schema", "with": {"schema": {"type": "object"}, "amid": false}}),
        ),
        (
            json!({"type": "is-json", "value": "file://schema.json"}),
            json!({"metric": "json_schema", "with": {"schema": {"type": "object"}, "amid": false}}),
        ),
        (
            json!({"type": "contains-json", "value": "file://schema.yaml"}),
            json!({"metric": "json_schema", "with": {"schema": {"type": "array"}, "amid": true}}),
        ),
        (
            json!({"type": "not-is-json"}),
            json!({"metric": "json_schema", "with": {"schema": {}, "amid": false}, "not": true}),
        ),
        (
            json!({"type": "levenshtein", "value": "a"}),
            json!({"metric": "levenshtein", "value": "a", "with": {"unit": "edits"}, "max": 5}),
        ),
        (
            json!({"type": "word-count", "value": 3}),
            json!({"metric": "length", "with": {"unit": "words"}, "min": 3, "max": 3}),
        ),
        (
            json!({"type": "word-count", "value": {"max": 9}}),
            json!({"metric": "length", "with": {"unit": "words"}, "max": 9}),
        ),
        (json!({"type": "latency", "threshold": 500}), json!({"metric": "latency", "max": 500})),
        (json!({"type": "cost", "threshold": 0.002}), json!({"metric": "cost", "max": 0.002})),
        (
            json!({"type": "rouge-n", "value": "a"}),
            json!({"metric": "rouge", "value": "a", "with": {"type": "rouge1"}, "min": 0.75}),
        ),
        (
            json!({"type": "bleu", "value": "a"}),
            json!({"metric": "bleu", "value": "a", "with": {"lowercase": true}, "min": 50}),
        ),
        (
            json!({"type": "not-contains", "value": "in {{ city }}{{ undefined }}", "metric": "place"}),
            json!({"id": "place", "metric": "contains", "value": "in Paris", "not": true}),
        ),
        (json!({"type": "contains", "value": "file://text.txt"}), json!({"metric": "contains", "value": "in Paris"})),
        (
            json!({"type": "contains-all", "value": ["{{ city }}"]}),
            json!({"metric": "contains", "with": {"all": ["Paris"]}}),
        ),
        (json!({"type": "llm-rubric", "value": "Is {{ city }}"}), json!({"rubric": {"ask": "Is Paris"}})),
    ] {
        assert_eq!(checks(assert.clone()), json!([check]), "{assert}");
    }
}

/// IO-03: what every output passes needs no check.
#[test]
fn asserts_that_always_hold_are_left_out() {
    assert_eq!(checks(json!({"type": "contains", "value": ""})), json!([]));
    let weightless = imported(json!({"assert": [{"type": "contains", "value": "a", "weight": 0}]}));
    assert_eq!(row(&weightless)["assert"], json!([]));
    assert_eq!(weightless.notes(), ["`contains` has the weight 0, so it always passes, and is left out"]);
    assert!(weightless.report.dropped.is_empty());
}

/// IO-03: metrics with another formula are listed as approximate.
#[test]
fn other_formulas_are_listed() {
    let asserts = ["rouge-n", "bleu", "similar", "levenshtein"].map(|kind| json!({"type": kind, "value": "a"}));
    let imported = imported(json!({"assert": asserts}));
    let listed: Vec<_> = imported.report.approximate.iter().map(|it| (it.path.as_str(), it.metric.as_str())).collect();
    assert_eq!(
        listed,
        [("tests[0].assert[0]", "rouge"), ("tests[0].assert[1]", "bleu"), ("tests[0].assert[2]", "similarity")]
    );
    assert_eq!(imported.report.counts.approximate, 3);
}

/// IO-03: what a suite has no metric for is dropped by name, and the row says that it decided.
#[test]
fn other_types_are_dropped_by_name() {
    let types = [
        "similar:dot",
        "classifier",
        "moderation",
        "guardrails",
        "pi",
        "meteor",
        "gleu",
        "is-sql",
        "contains-xml",
        "is-html",
        "is-valid-function-call",
        "is-refusal",
        "finish-reason",
        "perplexity",
        "javascript",
        "python",
        "ruby",
        "webhook",
        "select-best",
        "max-score",
        "human",
        "trajectory:tool-used",
        "trace-span-count",
        "skill-used",
        "tool-call-f1",
        "context-recall",
        "answer-relevance",
        "conversation-relevance",
        "search-rubric",
        "agent-rubric",
        "promptfoo:redteam:pii",
        "contain-any",
        "no-such-type",
        "not-javascript",
    ];
    let asserts: Vec<Value> = types.iter().map(|kind| json!({"type": kind, "value": "a", "threshold": 1})).collect();
    let imported = imported(json!({"assert": asserts}));
    let row = row(&imported);
    assert_eq!(row["assert"], json!([]));
    assert_eq!(row["metadata"]["unchecked"], json!(types.to_vec()));
    let dropped: Vec<&str> = imported.report.dropped.iter().map(|it| it.construct.as_str()).collect();
    assert_eq!(dropped, types);
    let near = imported.report.dropped.iter().find(|it| it.construct == "contain-any").unwrap();
    assert_eq!(near.instead.as_deref(), Some("perhaps `contains-any` was meant"));
    assert!(imported.text("import.md").contains("- `javascript` at `tests[0].assert[14]`: is code"));
}

/// IO-03: asserts that lack what they need, or are code in disguise, are dropped with the reason.
#[test]
fn incomplete_asserts_are_dropped() {
    for (assert, why) in [
        (json!({"type": "latency"}), "has no threshold"),
        (json!({"type": "regex", "value": "(?<=a)b"}), "look-around"),
        (json!({"type": "is-json", "value": "just words"}), "is not JSON Schema"),
        (json!({"type": "word-count", "value": "few"}), "not a number of words"),
        (json!({"type": "contains-any", "value": []}), "has no values"),
        (json!({"type": "not-contains", "value": ""}), "every text contains nothing"),
        (json!({"type": "equals", "value": "file://grade.py:check"}), "the program `grade.py:check`"),
        (json!({"type": "equals", "value": "a", "transform": "output.trim()"}), "`transform` is code"),
        (json!({"type": "equals", "value": "{{ city.trim() }}"}), "cannot be filled in"),
        (json!({"type": "equals", "value": "{{ env.HOME }}"}), "HOME"),
        (json!({"value": "a"}), "it has no `type`"),
    ] {
        let imported = imported(json!({"assert": [assert]}));
        assert_eq!(row(&imported)["assert"], json!([]), "{assert}");
        let dropped = &imported.report.dropped[0];
        assert!(dropped.why.contains(why), "{assert}: {}", dropped.why);
        assert_eq!((dropped.path.as_str(), dropped.samples), ("tests[0].assert[0]", 1));
    }
    let unknown = imported(json!({"assert": [{"type": "equals", "value": "a", "config": {}, "rubricPrompt": "x"}]}));
    // No judge is asked, so nothing is lost of a judge's prompt.
    assert_eq!(unknown.dropped(), [("config", "tests[0].assert[0].config", 0)]);
    assert_eq!(row(&unknown)["assert"][0]["metric"], "exact");
}

/// IO-02: with a threshold the weighted mean decides, with default asserts within it; sets are means within means.
#[test]
fn a_threshold_makes_a_weighted_mean() {
    let contains = |value: &str| json!({"type": "contains", "value": value});
    let imported = imported(json!({"threshold": 0.6, "assert": [
        {"type": "contains", "value": "a", "weight": 2},
        {"type": "contains", "value": "b", "weight": 0},
        {"type": "assert-set", "metric": "pair", "weight": 3, "assert": [contains("c"), contains("d")]},
        {"type": "llm-rubric", "value": "is polite"},
    ]}));
    let expected = json!([{"metric": "checks", "min": 0.6, "with": {"of": [
        {"metric": "contains", "value": "a", "weight": 2},
        {"id": "pair", "metric": "checks", "weight": 3, "with": {"of": [
            {"metric": "contains", "value": "c"}, {"metric": "contains", "value": "d"}
        ]}},
    ]}}]);
    let row = row(&imported);
    assert_eq!(row["assert"], expected);
    assert_eq!(row["metadata"]["unchecked"], json!(["llm-rubric"]));
    assert!(imported.report.dropped[0].why.contains("judges cannot be part of"));
}

/// IO-03: a set without a threshold is its asserts; with one, a mean of its own.
#[test]
fn sets_without_a_threshold_are_their_asserts() {
    let set = |threshold: Value| {
        checks(json!({"type": "assert-set", "threshold": threshold, "metric": "s",
                      "assert": [{"type": "contains", "value": "a"}, {"type": "contains", "value": "b"}]}))
    };
    let pair = json!([{"metric": "contains", "value": "a"}, {"metric": "contains", "value": "b"}]);
    assert_eq!(set(Value::Null), pair);
    assert_eq!(set(json!(0.5)), json!([{"id": "s", "metric": "checks", "with": {"of": pair}, "min": 0.5}]));
}

/// IO-03: questions with a threshold, a judge of their own or a scale are scorers that read each row's text.
#[test]
fn questions_are_scorers() {
    let judge = "openai:chat:gpt-5-mini";
    let imported = imported(json!({"assert": [
        {"type": "llm-rubric", "value": "names {{ city }}", "threshold": 0.8, "provider": judge, "metric": "named"},
        {"type": "not-llm-rubric", "value": "is rude"},
        {"type": "factuality", "value": "It is {{ city }}", "provider": judge},
        {"type": "model-graded-closedqa", "value": "answers"},
        {"type": "g-eval", "value": ["Coherence", "Order of steps"], "threshold": 0.6},
        {"type": "similar", "value": "a", "provider": "openai:embedding:text-embedding-3-small"},
        {"type": "llm-rubric", "value": "is short", "provider": "file://judge.py"},
    ]}));
    let scorers = imported.suite()["scorers"].clone();
    let named = &scorers["named"];
    assert_eq!((&named["min"], &named["judges"]), (&json!(0.8), &json!(["openai:gpt-5-mini"])));
    assert_eq!(named["rubric"]["dimensions"], json!({"score": {"scale": [0, 1]}}));
    assert_eq!(scorers["not-llm-rubric"], Value::Null);
    assert_eq!(scorers["llm-rubric"]["not"], true);
    let letters = json!({"A": 1, "B": 1, "C": 1, "D": 0, "E": 1});
    assert_eq!(scorers["factuality"]["rubric"]["dimensions"]["factuality"]["choices"], letters);
    assert_eq!(scorers["model-graded-closedqa"]["rubric"]["dimensions"]["meets"]["choices"], json!({"Y": 1, "N": 0}));
    let g_eval = &scorers["g-eval"];
    assert_eq!((&g_eval["min"], &g_eval["rubric"]["overall"]), (&json!(6), &json!({"method": "mean"})));
    assert_eq!(
        g_eval["rubric"]["dimensions"]["order_of_steps"],
        json!({"definition": "Order of steps", "scale": [0, 10]})
    );
    let similar = json!({"metric": "similarity", "reference": "_similar", "min": 0.75,
                         "with": {"model": "openai:text-embedding-3-small"}});
    assert_eq!(scorers["similar"], similar);
    let row = row(&imported);
    assert_eq!(row["_named"], "names Paris");
    assert_eq!(row["_factuality"], "It is Paris");
    // A program judges there, and no other judge is asked in its place.
    assert_eq!(row["metadata"]["unchecked"], json!(["llm-rubric"]));
    let dropped = [("file://judge.py", "tests[0].assert[6].provider", 1), ("llm-rubric", "tests[0].assert[6]", 1)];
    assert_eq!(imported.dropped(), dropped);
    assert_eq!(imported.suite()["judges"], json!(["openai:gpt-5"]));
}

/// IO-03: two questions of one kind in a row are two scorers, which other rows share.
#[test]
fn questions_of_one_kind_share_scorers() {
    let ask = |value: &str| json!({"type": "llm-rubric", "value": value, "threshold": 0.5});
    let tests = json!([{"assert": [ask("a"), ask("b")]}, {"assert": [ask("c")]}]);
    let config = json!({"prompts": ["x"], "providers": ["echo"], "tests": tests}).to_string();
    let imported = import_files(ImportKind::Promptfoo, &[("c.json", config.as_bytes())], "c.json").unwrap();
    let suite = imported.suite();
    let scorers: Vec<&String> = suite["scorers"].as_object().unwrap().keys().collect();
    assert_eq!(scorers, ["llm-rubric", "llm-rubric#2"]);
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!((&rows[0]["_llm_rubric"], &rows[0]["_llm_rubric_2"]), (&json!("a"), &json!("b")));
    assert_eq!(rows[1]["_llm_rubric"], "c");
}

/// IO-02: asserts of all tests are scorers of the suite; two with one metric's name are their mean.
#[test]
fn default_asserts_are_scorers() {
    let config = json!({
        "prompts": ["x"], "providers": ["echo"],
        "defaultTest": {"assert": [
            {"type": "contains", "value": "a", "metric": "tone"},
            {"type": "not-contains", "value": "b", "metric": "tone"},
            {"type": "latency", "threshold": 100},
            {"type": "llm-rubric", "value": "is polite", "metric": "polite"},
            {"type": "contains", "value": "{{ city }}"},
            {"type": "javascript", "value": "true"},
        ]},
        "tests": [{"vars": {"city": "Rome"}}, {"vars": {"city": "Oslo"}}],
    });
    let config = config.to_string();
    let imported = import_files(ImportKind::Promptfoo, &[("c.json", config.as_bytes())], "c.json").unwrap();
    let suite = imported.suite();
    let tone = json!([{"metric": "contains", "value": "a"}, {"metric": "contains", "value": "b", "not": true}]);
    assert_eq!(suite["scorers"]["tone"], json!({"metric": "checks", "with": {"of": tone}, "min": 1}));
    assert_eq!(suite["scorers"]["latency"], json!({"metric": "latency", "max": 100}));
    let polite = json!({"rubric": {"ask": "is polite", "show": {"output": "{{ output }}"}}});
    assert_eq!(suite["scorers"]["polite"], polite);
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!(rows[1]["assert"], json!([{"metric": "contains", "value": "Oslo"}]));
    assert_eq!(rows[0]["metadata"]["unchecked"], json!(["javascript"]));
    assert_eq!(imported.dropped(), [("javascript", "defaultTest.assert[5]", 2)]);
}
