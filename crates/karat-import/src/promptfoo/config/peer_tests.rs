//! Differences from promptfoo that were found by running it on the same configs.

use serde_json::{Value, json};

use super::tests::{config, tests, try_config};
use crate::ImportKind;
use crate::recorded::testing::import_files;

/// IO-01: keys in addresses and in texts of the suite are not copied; a service with a key in its body is left out.
#[test]
fn keys_are_not_copied() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let service = |config: Value| json!({"id": "http", "label": "svc", "config": config});
    let prompts = json!([{"raw": format!("Say {key}"), "label": "p"}]);
    let address = service(json!({"url": "https://a.example/x?api_key=hunter2&n=1", "method": "GET"}));
    let imported = config(json!({"prompts": prompts, "providers": [address], "tests": [{"vars": {"q": "a"}}]}), &[]);
    let suite = imported.suite();
    assert_eq!(suite["variants"]["p.svc"][0]["http"]["url"], "https://a.example/x?api_key=${API_KEY}&n=1");
    let body =
        service(json!({"url": "https://a.example", "body": {"auth": {"token": "hunter2"}, "q": "{{ prompt }}"}}));
    let left_out =
        config(json!({"prompts": prompts, "providers": [body, "echo"], "tests": [{"vars": {"q": "a"}}]}), &[]);
    let form = service(json!({"url": "https://a.example", "body": "q={{ prompt }}&token=hunter2"}));
    let form = config(json!({"prompts": prompts, "providers": [form, "echo"], "tests": [{"vars": {"q": "a"}}]}), &[]);
    for left_out in [&left_out, &form] {
        assert!(left_out.report.dropped.iter().any(|dropped| dropped.why.contains("`body` holds a key")));
    }
    for text in [imported.text("karat.yaml"), left_out.text("karat.yaml"), form.text("karat.yaml")] {
        assert!(!text.contains(key) && !text.contains("hunter2"), "{text}");
    }
}

/// IO-02, IO-03: transforms and references that are dropped leave their rows unchecked; a set of weight 0 still decides;
/// a line break at the end of a variable is left out, as are blanks around the value of a cell.
#[test]
fn rows_mean_what_they_mean_there() {
    let imported = tests(
        json!([
            {"vars": {"q": "a\n"}, "options": {"transform": "output.trim()"}, "assert": [{"type": "contains", "value": "a"}]},
            {"vars": {"q": "b"}, "assert": [{"$ref": "#/assertionTemplates/x"}]},
            {"vars": {"q": "c"}, "assert": [
                {"type": "assert-set", "weight": 0, "assert": [{"type": "contains", "value": "c"}]},
                {"type": "contains", "value": "d", "weight": 0}]},
        ]),
        &[],
    );
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!((&rows[0]["q"], &rows[0]["metadata"]["unchecked"]), (&json!("a"), &json!(["transform"])));
    assert_eq!(rows[1]["metadata"]["unchecked"], json!(["$ref"]));
    assert_eq!(rows[2]["assert"], json!([{"metric": "contains", "value": "c"}]));
    let table = [("t.csv", "q,__expected\nz,contains: z \n")];
    let imported = tests(json!("file://t.csv"), &table);
    assert_eq!(imported.rows("data/samples.jsonl")[0]["assert"][0]["value"], "z");
}

/// The suite and the registry of a config with one judged test; `more` goes into the config.
fn import_judge(more: Value) -> (crate::recorded::testing::Imported, String) {
    let mut whole = json!({
        "prompts": ["{{ q }}"], "providers": ["openai:gpt-4o-mini"],
        "tests": [{"vars": {"q": "a"}, "assert": [{"type": "llm-rubric", "value": "is polite"}]}],
    });
    whole.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    let imported = config(whole, &[]);
    let registry = imported.find_text("models.yaml").unwrap_or_default();
    let all = format!("{}{registry}", imported.text("karat.yaml"));
    (imported, all)
}

/// F43: the address, key and temperature of a model go with it wherever a provider can stand.
#[test]
fn addresses_and_keys_go_with_every_model() {
    let provider = |id: &str| json!({"id": id, "config": {"apiBaseUrl": "https://llm.intern.example/v1", "apiKeyEnvar": "INTERN_KEY", "temperature": 0.25}});
    let rubric = |provider: Value| json!([{"type": "llm-rubric", "value": "is polite", "provider": provider}]);
    let similar = |provider: Value| json!([{"type": "similar", "value": "hello", "provider": provider}]);
    let test = |asserts: Value| json!([{"vars": {"q": "a"}, "assert": asserts}]);
    let chat = || provider("openai:chat:gpt-4.1");
    let vectors = || provider("openai:embedding:text-embedding-3-small");
    for more in [
        json!({"providers": [chat()]}),
        json!({"providers": [{"openai:chat:gpt-4.1": {"config": chat()["config"]}}]}),
        json!({"targets": [chat()], "providers": null}),
        json!({"defaultTest": {"options": {"provider": chat()}}}),
        json!({"defaultTest": {"options": {"provider": {"text": chat()}}}}),
        json!({"tests": test(rubric(chat()))}),
        json!({"tests": test(rubric(json!({"text": chat()})))}),
        json!({"tests": test(json!([{"type": "assert-set", "assert": rubric(chat())}]))}),
        json!({"defaultTest": {"assert": rubric(chat())}}),
        json!({"tests": [{"vars": {"q": "a"}, "options": {"provider": chat()}, "assert": [{"type": "g-eval", "value": "x"}]}]}),
        json!({"scenarios": [{"config": [{"vars": {"q": "a"}, "options": {"provider": chat()}}],
                              "tests": [{"assert": [{"type": "factuality", "value": "x"}]}]}]}),
        json!({"tests": test(similar(vectors()))}),
        json!({"tests": test(similar(json!({"embedding": vectors()})))}),
        json!({"tests": test(json!([{"type": "similar", "value": "x"}])), "defaultTest": {"options": {"provider": {"embedding": vectors()}}}}),
        json!({"tests": [{"vars": {"q": "a"}, "options": {"provider": {"embedding": vectors()}}, "assert": [{"type": "similar", "value": "x"}]}]}),
    ] {
        let (_, all) = import_judge(more.clone());
        for part in ["https://llm.intern.example/v1", "INTERN_KEY", "0.25"] {
            assert!(all.contains(part), "{part}: {more}\n{all}");
        }
    }
}

/// F43: the environment of a config and of a provider names addresses as `config` does, also of promptfoo's own judges.
#[test]
fn addresses_of_the_environment_are_carried_over() {
    let similar = json!([{"vars": {"q": "a"}, "assert": [{"type": "similar", "value": "hello"}]}]);
    for (more, expected) in [
        (json!({"env": {"OPENAI_BASE_URL": "http://gpu-box:4000/v1"}}), "http://gpu-box:4000/v1"),
        (json!({"env": {"OPENAI_API_HOST": "gw.example"}}), "https://gw.example/v1"),
        (json!({"env": {"OPENAI_BASE_URL": "http://gpu-box:4000/v1"}, "tests": similar}), "http://gpu-box:4000/v1"),
        (
            json!({"providers": [{"id": "openai:gpt-5", "env": {"OPENAI_BASE_URL": "https://gw.example/v1"}}]}),
            "https://gw.example/v1",
        ),
        (
            json!({"providers": [{"id": "anthropic:messages:x", "config": {"apiBaseUrl": "https://gw.example"}}]}),
            "https://gw.example",
        ),
        (
            json!({"providers": [{"id": "google:gemini-2.5-pro", "config": {"apiHost": "gw.example"}}]}),
            "https://gw.example/v1beta",
        ),
        (
            json!({"providers": [{"id": "azure:chat:d", "config": {"apiHost": "me.openai.azure.com"}}]}),
            "https://me.openai.azure.com",
        ),
        (
            json!({"providers": [{"id": "ollama:chat:x"}], "env": {"OLLAMA_BASE_URL": "http://box:11434"}}),
            "http://box:11434/v1",
        ),
    ] {
        let (_, all) = import_judge(more.clone());
        assert!(
            all.contains(&format!("base_url: {expected}")) || all.contains(&format!("base_url: '{expected}'")),
            "{more}\n{all}"
        );
    }
}

/// F43: a key that is written down becomes the provider's own variable at the provider's own address alone.
#[test]
fn written_keys_of_other_addresses_have_variables_of_their_own() {
    let key = |config: Value| {
        let (imported, _) = import_judge(
            json!({"providers": [{"id": "openai:gpt-5", "config": config}], "tests": [{"vars": {"q": "a"}}]}),
        );
        imported.suite()["models"][0].clone()
    };
    for (config, expected) in [
        (json!({"apiKey": "sk-literal"}), json!("OPENAI_API_KEY")),
        (json!({"apiKey": "sk-literal", "apiBaseUrl": "http://localhost:4000/v1"}), json!("LOCALHOST_API_KEY")),
        (json!({"apiKey": "none", "apiBaseUrl": "http://127.0.0.1:4000/v1"}), json!("MODEL_API_KEY")),
        (json!({"apiKey": "x", "apiBaseUrl": "https://llm.intern.example/v1"}), json!("LLM_INTERN_EXAMPLE_API_KEY")),
        (json!({"apiKey": "{{ env.TEAM_KEY }}", "apiHost": "llm.intern.example"}), json!("TEAM_KEY")),
        (json!({"apiKey": "x", "apiBaseUrl": "{{ env.GATEWAY }}/v1"}), json!("MODEL_API_KEY")),
        (json!({"apiBaseUrl": "https://a.example/v1", "apiKeyRequired": false}), Value::Null),
    ] {
        let entry = key(config.clone());
        assert_eq!(entry["api_key_env"], expected, "{config}: {entry}");
        let is_keyless = config.get("apiKeyRequired").is_some();
        assert_eq!(entry["provider"] == "openai-compatible", is_keyless, "{entry}");
    }
    let (imported, _) = import_judge(
        json!({"env": {"OPENAI_API_KEY": "literal", "OPENAI_BASE_URL": "http://box:1/v1"}, "tests": [{"vars": {"q": "a"}}]}),
    );
    assert_eq!(imported.suite()["models"][0]["api_key_env"], "BOX_API_KEY");
}

/// F43: what cannot be carried over is left out by its name, and nothing else is asked in its place.
#[test]
fn what_cannot_be_carried_over_is_asked_nowhere_else() {
    let rubric = |provider: Value| json!([{"vars": {"q": "a"}, "assert": [{"type": "llm-rubric", "value": "x", "provider": provider}]}]);
    let usual = |provider: Value| json!({"defaultTest": {"options": {"provider": provider}}});
    for (more, construct) in [
        (json!({"tests": rubric(json!("bedrock:anthropic.claude"))}), "llm-rubric"),
        (json!({"tests": rubric(json!("file://judge.py"))}), "llm-rubric"),
        (json!({"tests": rubric(json!({"id": "openai:gpt-5", "config": {"apiBaseUrl": "{{ url }}"}}))}), "llm-rubric"),
        (json!({"tests": rubric(json!({"id": "openai:gpt-5", "config": {"proxyUrl": "http://p"}}))}), "llm-rubric"),
        (usual(json!("bedrock:anthropic.claude")), "llm-rubric"),
        (
            usual(json!({"id": "vertex:gemini-2.5-pro", "config": {"region": "europe-west4", "projectId": "p"}})),
            "llm-rubric",
        ),
        (
            json!({"tests": [{"vars": {"q": "a"}, "options": {"provider": "http://judge.example"}, "assert": [{"type": "llm-rubric", "value": "x"}]}]}),
            "llm-rubric",
        ),
        (
            json!({"tests": [{"vars": {"q": "a"}, "assert": [{"type": "similar", "value": "x", "provider": "azure:embedding:mine"}]}]}),
            "similar",
        ),
    ] {
        let (imported, all) = import_judge(more.clone());
        assert!(imported.report.dropped.iter().any(|it| it.construct == construct), "{more}: {:?}", imported.dropped());
        assert!(
            !all.contains("rubric") && !all.contains("similarity") && imported.suite()["judges"].is_null(),
            "{more}\n{all}"
        );
        assert_eq!(imported.rows("data/samples.jsonl")[0]["metadata"]["unchecked"], json!([construct]), "{more}");
    }
    for provider in [json!({"id": "openai:gpt-5", "config": {"endpoint": "https://x"}}), json!("openai:embedding:x")] {
        let (imported, _) = import_judge(json!({"providers": [provider], "tests": [{"vars": {"q": "a"}}]}));
        assert!(!imported.report.dropped.is_empty() && imported.suite()["models"].is_null(), "{provider}");
    }
    // A test for a provider that is not carried over is asked of no other one.
    let (imported, _) =
        import_judge(json!({"tests": [{"vars": {"q": "a"}}, {"vars": {"q": "secret"}, "provider": "bedrock:x"},
        {"vars": {"q": "secret"}, "provider": {"id": "openai:gpt-4o-mini", "config": {"apiBaseUrl": "http://x"}}}]}));
    assert_eq!(imported.rows("data/samples.jsonl").len(), 1);
}

/// F82: a config without a model that can be asked names none; tests for its providers stay.
#[test]
fn no_model_is_invented() {
    for providers in [json!(["bedrock:us.anthropic.claude"]), json!([]), json!("replicate:x")] {
        let imported = config(
            json!({"prompts": ["Say {{ x }}"], "providers": providers,
                   "tests": [{"vars": {"x": "a"}, "providers": ["bedrock:us.anthropic.claude"]}]}),
            &[],
        );
        assert!(imported.suite()["models"].is_null() && imported.report.lacks_model, "{providers}");
        assert_eq!(imported.rows("data/samples.jsonl").len(), 1);
        assert!(!imported.text("import.md").contains("Everything was carried over"));
    }
}

/// F82: programs are steps that call them where they lie, and raw HTTP is a request.
#[test]
fn programs_and_requests_are_steps() {
    let providers = json!([
        {"id": "file://bot.py:answer", "label": "bot", "config": {"k": 1}},
        {"id": "exec: node bot.js --fast", "label": "cli"},
        {"id": "http", "label": "raw", "config": {"request": "POST /chat HTTP/1.1\nHost: a.example\nContent-Type: application/json\n\n{\"q\": \"{{prompt}}\"}", "useHttps": true, "transformResponse": "(json) => json.text"}},
        "file://gone.py",
        "file://bot.ts",
        {"id": "exec: cat bot.js | head", "label": "pipe"},
        "exec: ./gone.sh --fast",
    ]);
    let imported = config(
        json!({"prompts": [{"raw": "Ask {{ q }}", "label": "p"}], "providers": providers, "tests": [{"vars": {"q": "a"}}]}),
        &[("bot.py", ""), ("bot.js", ""), ("bot.ts", "")],
    );
    let variants = imported.suite()["variants"].clone();
    let run = |variant: &str| variants[variant][0]["command"]["run"].as_array().cloned().unwrap();
    assert_eq!(
        (&run("p.bot")[..2], &run("p.bot")[3]),
        (&[json!("python3"), json!("programs/provider.py")][..], &json!("answer"))
    );
    assert!(run("p.bot")[2].as_str().unwrap().ends_with("/bot.py"));
    assert!(imported.text("programs/provider.py").contains("importlib"));
    assert_eq!(run("p.cli")[0], "node");
    assert!(run("p.cli")[1].as_str().unwrap().ends_with("/bot.js"));
    assert_eq!(run("p.pipe")[2], "cd \"$0\" || exit\ncat bot.js | head \"$@\"");
    assert!(run("p.pipe")[3].as_str().unwrap().starts_with('/'));
    assert_eq!(variants["p.raw"][0]["http"]["url"], "https://a.example/chat");
    assert_eq!(variants["p.raw"][0]["http"]["body"], json!({"q": "Ask {{ sample.q }}"}));
    assert_eq!(variants["p.raw"][0]["take"], json!({"text": "$.text"}));
    let lost: Vec<&str> = imported.report.dropped.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(lost, ["providers[3]", "providers[4]", "providers[6]"]);
}

/// F85: no row is invented: unreadable tests, red teaming alone and prompts without values are refused with the reason.
#[test]
fn no_row_is_invented() {
    for (more, why) in [
        (json!({"tests": "huggingface://datasets/cais/mmlu"}), "has no test that can be read"),
        (json!({"tests": "file://tests.py"}), "has no test that can be read"),
        (json!({"redteam": {"plugins": ["x"]}}), "red teaming"),
        (json!({}), "read the variable `q`"),
    ] {
        let mut whole = json!({"prompts": ["{{ q }}"], "providers": ["echo"]});
        whole.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let error = try_config(&whole, &[]).err().unwrap_or_else(|| panic!("{more}"));
        assert!(error.to_string().contains(why) && error.hint().is_some(), "{more}: {error}");
    }
    // The lone test that promptfoo makes itself.
    let lone = config(
        json!({"prompts": ["Hi"], "providers": ["echo"], "defaultTest": {"assert": [{"type": "contains", "value": "H"}]}}),
        &[],
    );
    assert_eq!(lone.rows("data/samples.jsonl").len(), 1);
}

/// F87, F101: tests and asserts stay where no prompt does; a test for a prompt that is dropped is left out.
#[test]
fn tests_stay_without_prompts() {
    let test = json!([{"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "a"}]}]);
    for prompts in [
        json!(["file://p.py"]),
        json!(["{% for t in _conversation %}{{ t.output }}{% endfor %}{{ q }}"]),
        json!(["file://gone.txt"]),
    ] {
        let imported = config(json!({"prompts": prompts, "providers": ["echo"], "tests": test}), &[]);
        assert_eq!(
            imported.suite()["variants"]["placeholder"][0]["prompt"],
            json!({"text": "q: {{ sample.q }}"}),
            "{prompts}"
        );
        assert_eq!(imported.rows("data/samples.jsonl")[0]["assert"][0]["metric"], "contains");
        assert!(imported.report.dropped.iter().any(|it| it.path == "prompts[0]"));
    }
    let imported = config(
        json!({"prompts": [{"id": "one", "raw": "{{ q }}", "label": "L"}, {"id": "file://p.py", "label": "code"}], "providers": ["echo"],
               "tests": [{"vars": {"q": "a"}, "prompts": ["one"]}, {"vars": {"q": "b"}, "prompts": ["code"]}]}),
        &[],
    );
    assert_eq!(imported.rows("data/samples.jsonl").len(), 1);
    assert_eq!(imported.report.dropped.iter().filter(|it| it.construct == "prompts").count(), 1);
}

/// F90: a variable or header that cannot be carried over drops itself, and its rows are marked.
#[test]
fn parts_drop_themselves_and_mark_rows() {
    let folder: [(&str, &[u8]); 2] = [
        ("cat.png", b"\x89PNG\xff\xfe"),
        ("promptfooconfig.yaml", b"prompts: ['{{image}} {{q}}']\nproviders: [echo]\ntests: [{vars: {image: file://cat.png, q: x}, assert: [{type: contains, value: x}]}, {vars: {image: none, q: y}}]\n"),
    ];
    let imported = import_files(ImportKind::Promptfoo, &folder, "promptfooconfig.yaml").unwrap();
    let rows = imported.rows("data/samples.jsonl");
    assert_eq!(rows[0]["metadata"]["unchecked"], json!(["vars.image"]));
    assert_eq!((&rows[0]["image"], &rows[1]["metadata"]), (&json!(""), &Value::Null));
    let service = json!({"id": "https", "config": {"url": "http://a.example", "headers": {"x-sig": "{{signature}}", "x-q": "{{ q }}"},
        "body": {"q": "{{prompt}}"}, "signatureAuth": {"type": "jks"}}});
    let imported =
        config(json!({"prompts": ["{{ q }}"], "providers": [service], "tests": [{"vars": {"q": "a"}}]}), &[]);
    assert_eq!(
        imported.suite()["variants"]["prompt-1.service"][0]["http"]["headers"],
        json!({"x-q": "{{ sample.q }}"})
    );
    assert_eq!(imported.rows("data/samples.jsonl")[0]["metadata"]["unchecked"], json!(["x-sig", "signatureAuth"]));
}

/// F92: questions that a `rubricPrompt` asks are dropped with it, wherever it stands.
#[test]
fn rubric_prompts_take_their_questions_with_them() {
    let rubric = json!([{"type": "llm-rubric", "value": "polite"}, {"type": "contains", "value": "a"}]);
    let of_assert = json!([{"type": "llm-rubric", "value": "polite", "rubricPrompt": "Rate {{output}}"}, {"type": "contains", "value": "a"}]);
    let options = json!({"rubricPrompt": "Rate {{output}}"});
    for more in [
        json!({"defaultTest": {"options": options}, "tests": [{"vars": {"q": "a"}, "assert": rubric}]}),
        json!({"tests": [{"vars": {"q": "a"}, "options": options, "assert": rubric}]}),
        json!({"tests": [{"vars": {"q": "a"}, "assert": of_assert}]}),
        json!({"defaultTest": {"options": options, "assert": rubric}, "tests": [{"vars": {"q": "a"}}]}),
    ] {
        let (imported, all) = import_judge(more.clone());
        assert!(!all.contains("polite") && imported.suite()["judges"].is_null(), "{more}\n{all}");
        assert_eq!(imported.rows("data/samples.jsonl")[0]["metadata"]["unchecked"], json!(["llm-rubric"]), "{more}");
        assert!(imported.report.dropped.iter().any(|it| it.construct == "llm-rubric"), "{more}");
    }
}

/// F93: loops over maps and members of absent values render as they do there.
#[test]
fn prompts_are_filled_in_at_import() {
    let prompt = "{% for k, v in m %}{{ k }}={{ v }};{% endfor %}{{ user.name }}";
    let tests = json!([{"vars": {"m": {"a": 1}, "user": {"name": "Ann"}}}, {"vars": {"m": {"b": 2}}}]);
    let imported = config(json!({"prompts": [prompt], "providers": ["echo"], "tests": tests}), &[]);
    let text = imported.suite()["variants"]["prompt-1"][0]["prompt"]["text"].as_str().unwrap().to_owned();
    assert!(
        text.contains("| items if sample.m is mapping") && text.contains("(sample.user.name | default(''))"),
        "{text}"
    );
    assert_eq!(imported.dropped(), []);
}

/// F101: the last newline of a prompt stays, and a provider's interface is not a model's name.
#[test]
fn newlines_and_names_of_models_are_kept() {
    let imported = config(
        json!({"prompts": ["Hi {{ q }}\n"], "providers": [{"id": "openai:chat", "config": {"model": "gpt-5-mini"}}], "tests": [{"vars": {"q": "a"}}]}),
        &[],
    );
    // A template loses the newline at its very end.
    assert_eq!(imported.suite()["variants"]["prompt-1"][0]["prompt"]["text"], "Hi {{ sample.q }}\n\n");
    assert_eq!(imported.suite()["models"], json!(["openai:gpt-5-mini"]));
}
