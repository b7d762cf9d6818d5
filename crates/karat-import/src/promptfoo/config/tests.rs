use serde_json::{Value, json};

use crate::recorded::testing::{Imported, fixture, import_file, import_files, try_import};
use crate::{ImportError, ImportKind};

fn sample(name: &str) -> Imported {
    import_file(ImportKind::Promptfoo, &fixture(&format!("promptfoo/{name}")))
}

/// The import of a config with these files beside it.
pub(super) fn try_config(config: &Value, files: &[(&str, &str)]) -> Result<Imported, ImportError> {
    let config = config.to_string();
    let mut all: Vec<(&str, &[u8])> = vec![("config.json", config.as_bytes())];
    all.extend(files.iter().map(|(path, text)| (*path, text.as_bytes())));
    import_files(ImportKind::Promptfoo, &all, "config.json")
}

pub(super) fn config(config: Value, files: &[(&str, &str)]) -> Imported {
    try_config(&config, files).unwrap_or_else(|error| panic!("{error}"))
}

/// The import of one prompt, one provider and these tests.
pub(super) fn tests(tests: Value, files: &[(&str, &str)]) -> Imported {
    config(json!({"prompts": ["{{ q }}"], "providers": ["echo"], "tests": tests}), files)
}

/// IO-02, IO-01: a config of asserts becomes a suite as a person would write it.
#[test]
fn echo_asserts_become_a_suite() {
    let imported = sample("echo-asserts");
    insta::assert_snapshot!("echo_asserts_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("echo_asserts_samples", imported.text("data/samples.jsonl"));
    insta::assert_snapshot!("echo_asserts_import", imported.text("import.json"));
    let dropped = [("not-regex", "tests[1].assert[8]", 1), ("is-refusal", "tests[10].assert[0]", 1)];
    assert_eq!(imported.dropped(), dropped);
}

/// IO-02: a rubric of all tests, whose prompt has several variables and so no single input to show.
#[test]
fn a_default_rubric_needs_no_input() {
    let imported = config(
        json!({
            "prompts": ["Answer: {{q}} in {{lang}}"],
            "providers": ["openai:gpt-4o-mini"],
            "defaultTest": {"assert": [{"type": "llm-rubric", "value": "is polite"}]},
            "tests": [{"vars": {"q": "How?", "lang": "German"}}],
        }),
        &[],
    );
    let suite = imported.text("karat.yaml");
    assert!(suite.contains("is polite") && suite.contains("{{ output }}"), "{suite}");
}

/// IO-02: tests of a table.
#[test]
fn echo_csv_becomes_a_suite() {
    let imported = sample("echo-csv");
    insta::assert_snapshot!("echo_csv_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("echo_csv_samples", imported.text("data/samples.jsonl"));
    assert_eq!(imported.dropped(), []);
}

/// IO-02, IO-03: judges, code, services and the environment; every file with code and every unmapped type is listed.
#[test]
fn judges_and_code_become_a_suite() {
    let imported = sample("judges-and-code");
    insta::assert_snapshot!("judges_and_code_suite", imported.text("karat.yaml"));
    insta::assert_snapshot!("judges_and_code_samples", imported.text("data/samples.jsonl"));
    insta::assert_snapshot!("judges_and_code_import_md", imported.text("import.md"));
    let constructs: Vec<&str> = imported.report.dropped.iter().map(|it| it.construct.as_str()).collect();
    let expected = [
        "file://hooks.js:beforeAll",
        "exec:./answer.sh",
        "file://provider.py",
        "transform",
        "transform",
        "javascript",
        "context-faithfulness",
        "trajectory:tool-used",
        "select-best",
        "max-score",
        "moderation",
        "webhook",
    ];
    assert_eq!(constructs, expected);
}

/// IO-02: promptfoo's own examples.
#[test]
fn examples_become_suites() {
    for name in ["example-getting-started", "example-self-grading"] {
        let imported = sample(name);
        insta::assert_snapshot!(format!("{name}_suite"), imported.text("karat.yaml"));
    }
}

/// IO-02, F96, F98: prompts as texts, in files of every kind, and as chats; programs, and prompts that a service keeps, are
/// dropped.
#[test]
fn prompts_become_variants() {
    let long = "A line of a prompt that is longer than a line of a suite should be.\n".repeat(4);
    let prompts = json!([
        "Say {{ q }}",
        {"raw": "[{\"role\": \"developer\", \"content\": \"Be brief.\"}, {\"role\": \"user\", \"content\": \"{{ q }}\"}]", "label": "chat"},
        "file://two.txt",
        {"id": "file://long.md", "label": "A long one"},
        "file://turns.yaml",
        "file://table.csv",
        "file://each.jsonl",
        "file://folder",
        "file://prompt.py:create",
        "file://prompt.py:Prompt.create",
        "langfuse://support:production",
        "exec:./make.sh",
        "{{ q.trim() }}",
        {"raw": "x", "label": "chat", "config": {}},
    ]);
    let turns = "- role: user\n  content: hi\n- role: assistant\n  content: '{{ q }}'\n- role: user\n  content: \
                 [{type: text, text: 'and?'}, {type: image_url, image_url: {url: '{{ photo }}'}}]\n";
    let imported = config(
        json!({"prompts": prompts, "providers": ["echo"], "tests": [{"vars": {"q": "a"}}]}),
        &[
            ("two.txt", "one {{ q }}\n---\ntwo\n"),
            ("long.md", &long),
            ("turns.yaml", turns),
            ("table.csv", "prompt,label\n\"a {{ q }}, b\",from table\nunlabelled,\n"),
            ("folder/a.txt", "from a folder"),
            ("each.jsonl", "[{\"role\": \"user\", \"content\": \"line\"}]\n"),
        ],
    );
    let variants = imported.suite()["variants"].clone();
    for (id, prompt) in [
        ("prompt-1", json!({"text": "Say {{ sample.q }}"})),
        ("chat", json!({"system": "Be brief.", "user": "{{ sample.q }}"})),
        ("prompt-3", json!({"text": "one {{ sample.q }}"})),
        ("prompt-4", json!({"text": "two"})),
        ("A-long-one", json!("prompts/A-long-one.md")),
        (
            "prompt-6",
            json!({"messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "{{ sample.q }}"},
                {"role": "user", "content": [{"text": "and?"}, {"image": "{{ sample.photo }}"}]},
            ]}),
        ),
        ("from-table", json!({"text": "a {{ sample.q }}, b"})),
        ("prompt-8", json!({"text": "unlabelled"})),
        ("prompt-9", json!({"text": "line"})),
        ("prompt-10", json!({"text": "from a folder"})),
        ("chat#2", json!({"text": "x"})),
    ] {
        assert_eq!(variants[id][0]["prompt"], prompt, "{id}");
    }
    assert_eq!(imported.text("prompts/A-long-one.md"), long);
    let dropped = [
        ("file://prompt.py:create", "prompts[8]", 0),
        ("file://prompt.py:Prompt.create", "prompts[9]", 0),
        ("langfuse://support:production", "prompts[10]", 0),
        ("exec:./make.sh", "prompts[11]", 0),
        ("config", "prompts[13].config", 0),
        ("prompt", "prompts[12]", 0),
    ];
    assert_eq!(imported.dropped(), dropped);
    // The variable of the image is one that no row has.
    assert_eq!(imported.rows("data/samples.jsonl")[0]["photo"], "");
    let reply = imported.suite()["models"][0]["with"]["reply"].as_str().unwrap().to_owned();
    assert!(reply.contains("messages | tojson(indent=2)"), "{reply}");
}

/// IO-02: providers become models with their parameters and prices, secrets stay out.
#[test]
fn providers_become_models() {
    let providers = json!([
        "openai:gpt-4.1",
        {"id": "openai:chat:gpt-4.1", "config": {"temperature": 0, "stop": "END", "reasoning_effort": "low"}},
        {"id": "google:gemini-2.5-pro", "label": "gem", "config": {"maxOutputTokens": 9, "inputCost": 0.0000012, "outputCost": 0.00001}},
        {"azure:chat:prod": {"config": {"apiHost": "x.openai.azure.com", "apiKey": "sk-literal", "apiVersion": "1"}}},
        {"id": "openai:chat:own", "config": {"apiBaseUrl": "{{ env.BASE }}/v1", "apiKeyEnvar": "OWN", "headers": {"X-Api-Key": "abc", "X-Team": "{{ env.TEAM }}"}}},
        "file://more.yaml",
        "python:model.py",
        "bedrock:x",
        {"id": "openai:x", "config": {"tools": []}, "transform": "output.trim()"},
    ]);
    let imported = config(
        json!({"prompts": ["{{ q }}"], "targets": providers, "env": {"TEAM": "evals"}, "tests": [{"vars": {"q": "a"}}]}),
        &[("more.yaml", "- id: ollama:chat:llama3\n  label: llama\n")],
    );
    let models = imported.suite()["models"].clone();
    let expected = json!([
        "openai:gpt-4.1",
        {"id": "openai-gpt-4.1", "like": "openai:gpt-4.1",
         "parameters": {"temperature": 0, "stop": ["END"], "effort": "low"}},
        {"id": "gem", "like": "gemini:gemini-2.5-pro", "price": {"input": 1.2, "output": 10},
         "parameters": {"max_tokens": 9}},
        {"id": "azure:prod", "base_url": "https://x.openai.azure.com", "api_key_env": "X_OPENAI_AZURE_COM_API_KEY"},
        {"id": "openai:own", "base_url": "${BASE}/v1", "api_key_env": "OWN",
         "with": {"headers": {"X-Api-Key": "${X_API_KEY}", "X-Team": "${TEAM:-evals}"}}},
        {"id": "llama", "like": "ollama:llama3"},
        "openai:x",
    ]);
    assert_eq!(models, expected);
    let dropped: Vec<&str> = imported.report.dropped.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(
        dropped,
        ["targets[3].config.apiVersion", "targets[6]", "targets[7]", "targets[8].transform", "targets[8].config.tools"]
    );
    assert!(!imported.text("karat.yaml").contains("sk-literal"));
    assert_eq!(imported.notes().len(), 2, "{:?}", imported.notes());
}

/// IO-02, IO-03: tools that all models get are tools of the suite, and asserts about calls are metrics.
#[test]
fn tools_are_offered_by_prompts() {
    let tools = json!([{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]);
    let asserts = json!([
        {"type": "is-valid-openai-tools-call"},
        {"type": "tool-call-f1", "value": ["search", "open"], "threshold": 0.5},
        {"type": "contains", "value": "x"},
    ]);
    let provider = |config: Value| json!({"id": "openai:gpt-5", "config": config});
    let suite = |providers: Value| {
        config(
            json!({"prompts": ["{{ q }}"], "providers": providers, "tests": [{"vars": {"q": "a"}, "assert": asserts}]}),
            &[("tools.json", &tools.to_string())],
        )
    };
    let imported = suite(json!([provider(json!({"tools": "file://tools.json"}))]));
    assert_eq!(imported.suite()["tools"], json!({"search": {"input": {"type": "object"}}}));
    let prompt = json!({"text": "{{ sample.q }}", "tools": ["search"]});
    assert_eq!(imported.suite()["variants"]["prompt-1"][0]["prompt"], prompt);
    let f1 = json!({"arguments": "ignore", "part": "f1"});
    let checks = json!([
        {"metric": "valid_calls", "min": 1},
        {"metric": "tool_calls", "value": [{"name": "search"}, {"name": "open"}], "with": f1, "min": 0.5},
        {"metric": "contains", "value": "x", "output": "text"},
    ]);
    assert_eq!(imported.rows("data/samples.jsonl")[0]["assert"], checks);
    assert_eq!((imported.report.counts.dropped, imported.report.counts.approximate), (0, 2));
    // A suite offers the same tools to all of its models.
    let mixed = suite(json!([provider(json!({"tools": tools})), "openai:gpt-5-mini"]));
    assert_eq!(
        mixed.dropped(),
        [
            ("tools", "providers[0].config.tools", 0),
            ("is-valid-openai-tools-call", "tests[0].assert[0]", 1),
            ("tool-call-f1", "tests[0].assert[1]", 1),
        ]
    );
}

/// IO-02: services are steps, and all outputs then have their text at one place.
#[test]
fn services_become_steps() {
    let providers = json!([
        {"id": "https://a.example/answer", "label": "svc", "config": {
            "method": "post", "headers": {"Authorization": "Bearer {{ env.TOKEN }}"},
            "body": "{\"q\": {{ prompt | dump }}, \"k\": 5}", "transformResponse": "json.hits[0].text"}},
        {"id": "http", "config": {"url": "https://b.example", "method": "GET", "transformResponse": "(json) => json.x"}},
        {"id": "http", "config": {"url": "https://c.example", "body": "q={{ prompt }}"}},
    ]);
    let asserts = json!([{"type": "contains", "value": "a"}, {"type": "latency", "threshold": 9}]);
    let imported = config(
        json!({"prompts": [{"raw": "Ask {{ q }}", "label": "p"}], "providers": providers,
               "tests": [{"vars": {"q": "a"}, "assert": asserts}]}),
        &[],
    );
    let expected = json!({
        "p.svc": [{
            "http": {"url": "https://a.example/answer", "headers": {"Authorization": "Bearer ${TOKEN}"},
                     "body": {"q": "Ask {{ sample.q }}", "k": 5}},
            "take": {"text": "$.hits[0].text"},
        }],
        "p.service": [{"http": {"url": "https://b.example", "method": "GET"}, "take": {"text": "$.x"}}],
        "p.service-2": [{"http": {"url": "https://c.example", "body": "q=Ask {{ sample.q }}"}, "take": {"text": "$"}}],
    });
    assert_eq!(imported.suite()["variants"], expected);
    assert_eq!(imported.suite()["models"], Value::Null);
    let checks = json!([{"metric": "contains", "value": "a", "output": "text"}, {"metric": "latency", "max": 9}]);
    assert_eq!(imported.rows("data/samples.jsonl")[0]["assert"], checks);
    assert_eq!(imported.dropped(), []);
}

/// IO-02: lists of texts are a matrix, files are read, variables that name variables are filled in.
#[test]
fn variables_become_columns() {
    let imported = tests(
        json!([
            {"vars": {"a": ["x", "y"], "b": ["1", "2"], "q": "{{ a }}-{{ b }}"}, "metadata": {"id": "case 7"}},
            {"vars": {"q": ["u", "v"]}, "options": {"disableVarExpansion": true}},
            {"vars": {"q": [1, 2], "id": "own"}},
            {"vars": {"q": "file://docs/*.txt", "data": "file://data.json", "made": "file://make.py"}},
        ]),
        &[("docs/b.txt", "second\n"), ("docs/a.txt", "first"), ("data.json", "{\"k\": 1}")],
    );
    let rows = imported.rows("data/samples.jsonl");
    let column = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(json!(column("id")), json!(["case-7", "case-7#2", "case-7#3", "case-7#4", "5", "6", "7", "8"]));
    assert_eq!(json!(column("q")), json!(["x-1", "x-2", "y-1", "y-2", ["u", "v"], [1, 2], "first", "second"]));
    assert_eq!((&rows[5]["id_"], &rows[6]["data"], &rows[6]["made"]), (&json!("own"), &json!({"k": 1}), &json!("")));
    assert_eq!(imported.dropped(), [("file://make.py", "tests[3].vars.made", 1)]);
}

/// IO-02: `defaultTest` merges under each test, scenarios multiply their settings with their tests.
#[test]
fn defaults_and_scenarios_make_rows() {
    let imported = config(
        json!({
            "prompts": ["{{ q }}{{ tone }}"], "providers": ["echo"],
            "defaultTest": {"vars": {"tone": "!"}, "metadata": {"team": "a"}, "threshold": 0.5,
                            "assert": [{"type": "contains", "value": "a"}]},
            "tests": [{"vars": {"q": "1"}, "threshold": 1, "assert": []}],
            "scenarios": [{"description": "two", "config": [{"vars": {"q": "2", "tone": "?"}}, {"vars": {"q": "3"}}],
                           "tests": [{"vars": {"tone": "."}}, {"assert": [{"type": "contains", "value": "b"}]}]}],
        }),
        &[],
    );
    let rows = imported.rows("data/samples.jsonl");
    let texts: Vec<String> =
        rows.iter().map(|row| format!("{}{}", row["q"].as_str().unwrap(), row["tone"].as_str().unwrap())).collect();
    assert_eq!(texts, ["1!", "2.", "2?", "3.", "3!"]);
    assert_eq!(rows[0]["assert"][0]["min"], 1);
    assert_eq!(rows[2]["assert"][0]["min"], 0.5);
    assert_eq!(rows[2]["assert"][0]["with"]["of"].as_array().unwrap().len(), 2);
    assert_eq!(rows[2]["metadata"], json!({"description": "two", "team": "a"}));
}

/// F101, IO-02: limits of tests and providers to each other; a test for a prompt that is not there is left out.
#[test]
fn tests_are_limited_to_prompts_and_providers() {
    let imported = config(
        json!({
            "prompts": [{"raw": "a {{ q }}", "label": "one"}, {"raw": "b {{ q }}", "label": "two"}],
            "providers": ["openai:gpt-5", {"id": "openai:gpt-5-mini", "label": "small", "prompts": ["two"]}],
            "tests": [{"vars": {"q": "1"}, "prompts": ["one"]}, {"vars": {"q": "2"}, "providers": ["small"]}, {"vars": {"q": "3"}, "prompts": ["gone"]}],
        }),
        &[],
    );
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!(rows[0]["only"], json!({"variants": ["one"]}));
    assert_eq!(rows[1]["only"], json!({"models": ["small"]}));
    assert_eq!(rows.len(), 2);
    let variants = &imported.suite()["variants"];
    assert_eq!(variants["one"][0]["requires"], json!({"models": ["openai:gpt-5"]}));
    assert_eq!(variants["two"][0]["requires"], Value::Null);
    assert_eq!(imported.report.counts.systems, 3);
    assert_eq!(imported.dropped(), [("prompts", "tests[2].prompts", 1)]);
}

/// IO-02: outputs in tests are recorded, texts around prompts are columns, `JSON.parse` is `parse`.
#[test]
fn options_of_tests_are_carried_over() {
    let imported = config(
        json!({
            "prompts": ["{{ q }}"], "providers": ["echo"],
            "defaultTest": {"options": {"transform": "JSON.parse(output).a.b", "prefix": "Hi {{ q }}, "}},
            "tests": [{"vars": {"q": "1"}, "providerOutput": "done", "assert": [{"type": "contains", "value": "x"}]},
                      {"vars": {"q": "2"}, "options": {"suffix": "!", "rubricPrompt": "x", "transformVars": "vars"}}],
            "evaluateOptions": {"maxConcurrency": 3, "repeat": 2, "timeoutMs": 1500, "showProgressBar": true},
            "outputPath": "x.html", "tags": {}, "derivedMetrics": [], "nunjucksFilters": {}, "surprise": 1,
        }),
        &[],
    );
    let suite = imported.suite();
    assert_eq!(suite["variants"]["recorded"], json!([{"recorded": {"column": "_output"}}]));
    let step =
        json!({"prompt": {"text": "{{ sample._prefix }}{{ sample.q }}{{ sample._suffix }}"}, "parse": {"as": "json"}});
    assert_eq!(suite["variants"]["prompt-1"], json!([step]));
    assert_eq!(suite["run"], json!({"trials": 2, "max_concurrency": 3, "timeout": "1500ms"}));
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!((&rows[0]["_output"], &rows[0]["only"]), (&json!("done"), &json!({"variants": ["recorded"]})));
    assert_eq!(rows[0]["assert"][0]["output"], "a.b");
    assert_eq!((&rows[1]["_prefix"], &rows[1]["_suffix"]), (&json!("Hi 2, "), &json!("!")));
    assert_eq!(rows[1]["only"], json!({"variants": ["prompt-1"]}));
    let dropped = [
        ("derivedMetrics", "derivedMetrics", 0),
        ("nunjucksFilters", "nunjucksFilters", 0),
        ("surprise", "surprise", 0),
        ("rubricPrompt", "tests[1].options.rubricPrompt", 1),
        ("transformVars", "tests[1].options.transformVars", 1),
    ];
    assert_eq!(imported.dropped(), dropped);
}

/// IO-02: every special column of a table, and tests in files of other kinds.
#[test]
fn tests_come_from_files() {
    let csv = " q ,__expected,__expected1,__expected2,__prefix,__suffix,__providerOutput,__threshold,__metadata:k,__metadata:l[],\
               __config:__expected2:threshold,__new\n\
               \"two\nlines\",llm-rubric: polite,is-json,rouge-n:x,<,>,out,0.5,v,\"a\\,b,c\",,z\n\
               b,file://grade.js,similar(0.9):y,,,,,abc,,,0.2,\n";
    let imported = tests(
        json!(["file://t.csv", "t.jsonl", "file://t/*.yaml", {"path": "file://t.py"}, "https://example.com/t.csv", "t.xlsx"]),
        &[
            ("t.csv", csv),
            (
                "t.jsonl",
                "{\"vars\": {\"q\": \"l1\"}}\n\n{\"vars\": {\"q\": \"l2\"}, \"assert\": [{\"type\": \"human\"}]}\n",
            ),
            ("t/a.yaml", "- vars: {q: y}\n"),
            ("t.xlsx", ""),
        ],
    );
    let rows = imported.rows("data/samples.jsonl");
    let questions: Vec<&str> = rows.iter().filter_map(|row| row["q"].as_str()).collect();
    assert_eq!(questions, ["two\nlines", "b", "l1", "l2", "y"]);
    let of = json!([
        {"metric": "json_schema", "with": {"schema": {}, "amid": false}},
        {"metric": "rouge", "value": "x", "with": {"type": "rouge1"}, "min": 0.75},
    ]);
    assert_eq!(rows[0]["assert"], json!([{"metric": "checks", "with": {"of": of}, "min": 0.5}]));
    assert_eq!(rows[0]["metadata"], json!({"k": "v", "l": ["a,b", "c"], "unchecked": ["llm-rubric"]}));
    assert_eq!(
        (&rows[0]["_prefix"], &rows[0]["_suffix"], &rows[0]["_output"]),
        (&json!("<"), &json!(">"), &json!("out"))
    );
    assert_eq!(rows[1]["_similar"], "y");
    assert_eq!(imported.suite()["scorers"]["similar"]["min"], 0.9);
    let paths: Vec<(&str, Option<usize>)> =
        imported.report.dropped.iter().map(|it| (it.path.as_str(), it.line)).collect();
    assert_eq!(
        paths,
        [
            ("t.csv:1.__new", None),
            ("tests[3]", None),
            ("tests[4]", None),
            ("tests[5]", None),
            ("t.csv:1.__expected", None),
            ("t.csv:2.__expected", Some(4)),
            ("t.jsonl:3.assert[0]", None),
        ]
    );
    assert_eq!(
        imported.notes(),
        ["an empty cell, an error in promptfoo, sets no threshold", "`abc` is not a number, so there is no threshold",]
    );
}

/// IO-01: what is not a config is refused with its place and a hint.
#[test]
fn other_files_are_refused() {
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0\n";
    let deep = format!("{{\"prompts\": {}{}}}", "[".repeat(200), "]".repeat(200));
    for (name, text, problem, hint) in [
        ("promptfooconfig.ts", "", "is a program", Some("promptfoo eval -o results.json")),
        ("config.yaml", lfs, "pointer of Git LFS", Some("git lfs pull")),
        ("config.yaml", "prompts: [a\n", "config.yaml:", None),
        ("config.json", "{\"prompts\": [", "config.json:1: is not valid JSON", None),
        ("config.json", &deep, "recursion limit", None),
        ("config.yaml", "- a\n", "holds no map", None),
        ("config.yaml", "model: x\n", "has none of the keys", Some("promptfooconfig.yaml")),
        ("config.yaml", "prompts: ['file://../../../../../etc/passwd']", "outside of ", Some("--root DIR")),
        ("config.yaml", "prompts: ['file:///etc/passwd']", "outside of ", None),
        ("config.yaml", "prompts: [a]\ntests: none.csv", "cannot be read", None),
        ("config.yaml", "prompts: [a]\ntests: 'file://*.csv'", "but there is none", Some("check the pattern")),
        ("config.yaml", "prompts: [a]\ntests: 7", "neither a list of tests nor the name of a file", None),
        ("config.yaml", "prompts: ['file://a.py']\nproviders: [echo]", "no prompt that can be carried over", None),
        ("config.yaml", "results: {version: 3}\nprompts: []", "results as YAML", Some("promptfoo export")),
    ] {
        let refused = import_files(ImportKind::Promptfoo, &[(name, text.as_bytes())], name).err();
        let error = refused.unwrap_or_else(|| panic!("{name} with {text:?} is taken"));
        assert!(error.to_string().contains(problem), "{text:?}: {error}");
        let given = error.hint().unwrap_or_default();
        assert!(hint.is_none_or(|hint| given.contains(hint)), "{text:?}: {given}");
    }
    let empty = tempfile::tempdir().unwrap();
    let error = try_import(ImportKind::Promptfoo, empty.path()).err().unwrap();
    assert!(error.to_string().contains("holds no `promptfooconfig.yaml`"), "{error}");
}

/// IO-01: lists that multiply into more rows than a suite can hold are refused before they are made.
#[test]
fn too_many_rows_are_refused() {
    let list: Vec<String> = (0..101).map(|number| number.to_string()).collect();
    let vars = json!({"a": list, "b": list, "c": list});
    let refused = try_config(&json!({"prompts": ["a"], "tests": [{"vars": vars}]}), &[]).err().unwrap();
    assert!(refused.to_string().contains("more than 1000000 rows"), "{refused}");
}

/// IO-01: whatever a config holds, an import ends with a suite or an error.
#[test]
fn no_config_is_a_panic() {
    let odd = [
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!({}),
        json!([null, 7, [[]], {"a": null}]),
        json!({"id": 7}),
    ];
    let keys = ["prompts", "providers", "tests", "defaultTest", "scenarios", "env", "evaluateOptions", "description"];
    for key in keys {
        for value in &odd {
            let mut whole = json!({"prompts": ["{{ a }}"], "providers": ["echo"]});
            whole[key] = value.clone();
            let _ = try_config(&whole, &[]);
        }
    }
    for key in ["vars", "assert", "threshold", "options", "metadata", "providerOutput", "prompts", "providers"] {
        for value in &odd {
            let mut test = json!({});
            test[key] = value.clone();
            let imported = try_config(&json!({"prompts": ["a"], "providers": ["echo"], "tests": [test]}), &[]);
            // A list of no known names leaves the only test out.
            let is_limit = ["prompts", "providers"].contains(&key) && value.is_array();
            match imported {
                Ok(_) => assert!(!is_limit, "{key}: {value}"),
                Err(error) => {
                    assert!(is_limit && error.to_string().contains("no test that is carried over"), "{value}: {error}");
                }
            }
        }
    }
}

/// F82, F83: an address in the environment, times of services, parts that stand elsewhere, and keys without an effect.
#[test]
fn services_and_parts_that_stand_elsewhere_are_carried_over() {
    let service = json!({"id": "http", "config": {
        "url": "{{env.BASE}}/chat", "body": {"m": "{{prompt}}"}, "transformResponse": "json.text", "timeout": 65000
    }});
    let imported = config(
        json!({
            "version": 1, "x-parts": {"a": 1}, "prompts": ["{{ q }}"], "providers": [service],
            "assertionTemplates": {"short": {"type": "javascript", "value": "output.kind === 'x'"}},
            "tests": [{"vars": {"q": "a"}, "assert": [
                {"$ref": "#/assertionTemplates/short"},
                {"type": "not-javascript", "value": "!output.includes('x')"}
            ]}],
        }),
        &[],
    );
    assert_eq!(imported.dropped(), []);
    let step = &imported.suite()["variants"]["prompt-1.service"][0];
    assert_eq!((&step["http"]["url"], &step["timeout"]), (&json!("${BASE}/chat"), &json!("65s")));
    let asserts = imported.rows("data/samples.jsonl")[0]["assert"].clone();
    assert_eq!((&asserts[0]["metric"], &asserts[0]["output"]), (&json!("json_schema"), &json!("text")));
    assert_eq!((&asserts[1]["metric"], &asserts[1]["not"]), (&json!("contains"), &json!(false)));
    let error = try_config(&json!({"redteam": {"purpose": "x"}}), &[]).err().unwrap();
    assert!(error.to_string().contains("red teaming alone"), "{error}");
}

/// F83: promptfoo reads the replies of a model with a JSON Schema, so code sees their members.
#[test]
fn code_sees_members_of_structured_replies() {
    let structured = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}});
    let of = |format: &Value| {
        let providers = json!([{"id": "openai:gpt-5-mini", "config": format}]);
        let tests = json!([{"vars": {"q": "a"}, "assert": [{"type": "javascript", "value": "output.a === 'x'"}]}]);
        config(json!({"prompts": ["{{ q }}"], "providers": providers, "tests": tests}), &[])
    };
    assert_eq!(of(&structured).rows("data/samples.jsonl")[0]["assert"][0]["metric"], "json_schema");
    let plain = of(&json!({}));
    assert_eq!(plain.dropped(), [("javascript", "tests[0].assert[0]", 1)]);
}
