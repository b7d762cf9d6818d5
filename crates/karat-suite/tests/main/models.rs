//! The registry, models and systems.

use karat_suite::{Overrides, Registry};
use karat_types::{Availability, JsonMode, Money, Pricing, ScorerKind, Tier};

use crate::world::World;

const SUITE: &str = r#"name: x
dataset: { rows: [{ id: a, input: q }] }
registry: [models/own.yaml]
models: [gpt-5-mini, local, mock]
variants:
  plain: [ { prompt: { text: "{{ input }}" } } ]
  strict: [ { id: ask, prompt: { text: "{{ input }}" }, requires: { json_mode: schema, context_window: 100000 } } ]
  fixed: [ { prompt: { text: "{{ input }}" }, model: openai:gpt-4o } ]
  taken: [ { recorded: { column: input } } ]
run: { trials: 3 }
"#;

const OWN: &str = r#"schema: karat.models/1
as_of: 2026-01-31
models:
  - { id: local, provider: openai, baseUrl: "http://localhost:1/v1", modelName: llama, contextWindow: 8000, supportsJsonMode: true }
  - { id: gateway, provider: openai, base_url: "https://gateway.example/v1", costPer1kTokens: 0.002 }
  - { id: mock, provider: scripted, with: { reply: ../scripts/echo.j2, vars: { loud: true } } }
  - { id: priced, like: mock, with: { replies: ../scripts/replies.jsonl }, price: { input: 1, output: 0 } }
  - { id: gpt-4o, like: gpt-4o, parameters: { temperature: 0 } }
"#;

fn world() -> World {
    World::new(&[
        ("karat.yaml", SUITE),
        ("models/own.yaml", OWN),
        ("scripts/echo.j2", "{{ request.user }}"),
        ("scripts/replies.jsonl", "{\"match\": \"a\", \"reply\": \"b\"}\n"),
    ])
}

/// CL-03: eight models over three providers, the seed's candidates and judges, dated prices or none.
#[test]
fn the_shipped_registry() {
    let registry = Registry::builtin();
    let candidates = [
        "gpt-5",
        "gpt-5-mini",
        "claude-opus-4",
        "claude-sonnet-4",
        "gemini-2.5-pro",
        "gemini-2.5-flash",
        "llama-4-maverick",
        "llama-4-scout",
        "deepseek-r1",
        "qwen3-235b",
    ];
    let judges = ["gpt-4o", "gpt-4.1", "gpt-4o-mini", "claude-haiku-4-5-20251001"];
    for id in candidates.into_iter().chain(judges) {
        let model = registry.get(id).unwrap_or_else(|| panic!("{id}"));
        assert!(model.context_window.is_some() && model.max_output.is_some() && model.tier.is_some(), "{id}");
    }
    let starter = registry.set("starter").unwrap();
    assert!(starter.len() <= 4 && starter.iter().all(|id| registry.get(id).is_some()), "{starter:?}");
    let availability = |set: &str| {
        let ids = registry.set(set).unwrap();
        ids.iter().map(|id| registry.get(id).unwrap().availability).collect::<Vec<_>>()
    };
    assert!(availability("starter").iter().all(|it| *it == Availability::Stable));
    assert!(availability("experimental").iter().all(|it| *it == Availability::Experimental));
    assert!(availability("free-tier").iter().all(|it| *it == Availability::FreeTier));
    assert_eq!(registry.get("gpt-4o").unwrap().max_output, Some(4096));
    let embedding = registry.get("text-embedding-3-large").unwrap();
    assert_eq!(embedding.price.cost(&usage(1_000_000, 0)), Some(Money(130_000_000)));
    for model in registry.models() {
        match &model.price {
            Pricing::Known(price) => assert!(price.as_of.is_some(), "{}", model.id),
            Pricing::Unmetered => assert_eq!(model.provider, "stub", "{}", model.id),
            Pricing::Unknown => assert_eq!(model.provider, "command", "{}", model.id),
        }
    }
    let providers: std::collections::BTreeSet<_> = registry.models().map(|model| &model.provider).collect();
    assert!(providers.len() >= 3);
}

/// F40: the cheapest of the starter set is the cheapest of its makers that ships; each model of the seed has a price, those
/// behind a gateway its list price beside what it bills; what a program costs is unknown, never 0.
#[test]
fn prices_of_shipped_models() {
    let registry = Registry::builtin();
    let input = |id: &str| registry.get(id).unwrap().price.cost(&usage(1_000_000, 0)).unwrap();
    let starter = registry.set("starter").unwrap();
    let cheapest = starter.iter().min_by_key(|id| input(id)).unwrap();
    assert_eq!((cheapest.as_str(), input(cheapest)), ("gpt-4o-mini", Money(150_000_000)));
    for id in registry.set("experimental").unwrap() {
        assert!(input(id) > Money::ZERO, "{id}");
        assert!(registry.get(id).unwrap().with.contains_key("cost"), "{id}");
    }
    for id in ["cmd:claude", "cmd:codex", "cmd:gemini"] {
        assert_eq!(registry.get(id).unwrap().price, Pricing::Unknown, "{id}");
    }
}

/// F36: scripts beside a real model have no price, so they are neither paid nor budgeted; where all are scripts, their prices
/// are practice.
#[test]
fn scripts_beside_a_real_model_have_no_price() {
    let script = |id: &str| {
        format!("{{ id: {id}, provider: scripted, with: {{ reply: hi }}, price: {{ input: 10, output: 20 }} }}")
    };
    let real = "{ id: real, provider: openai, model: m, price: { input: 1, output: 2 } }";
    let plan = |models: &str, service: &str| {
        let text = format!(
            "name: t\ndataset: {{ source: rows.jsonl, id: id, input: id }}\nmodels: [ {models} ]\njudges: [ {} ]\n{service}\
             scorers: {{ q: {{ rubric: {{ ask: Good?, dimensions: {{ good: {{ scale: [1, 5] }} }} }} }} }}\n",
            script("judge")
        );
        let text = match service {
            "" => format!("{text}variants: {{ v: [ {{ prompt: {{ text: hi }} }} ] }}\n"),
            _ => text,
        };
        World::new(&[("karat.yaml", &text), ("rows.jsonl", "{\"id\":\"a\"}\n")]).plan(&Overrides::default()).header
    };
    let priced = |header: &karat_types::PlanHeader| {
        let models = header.models.iter().chain(&header.judges);
        models.filter(|model| matches!(model.price, Pricing::Known(_))).map(|it| it.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(priced(&plan(real, "")), ["real"]);
    assert_eq!(priced(&plan(&format!("{real}, {}", script("toy")), "")), ["real"]);
    assert_eq!(priced(&plan(&script("toy"), "")), ["toy", "judge"]);
    let asking = |url: &str| format!("variants: {{ v: [ {{ http: {{ url: \"{url}\" }} }} ] }}\n");
    let demo = "services: { demo: { command: [karat, demo, rag, --port, \"{{ port }}\"] } }\n";
    let of_demo = plan("", &format!("{demo}{}", asking("{{ services.demo.url }}/query")));
    assert!(of_demo.is_simulated() && priced(&of_demo) == ["judge"]);
    let of_other = plan("", &format!("{demo}{}", asking("https://example.com/query")));
    assert!(!of_other.is_simulated() && priced(&of_other).is_empty());
}

fn usage(input_tokens: u64, output_tokens: u64) -> karat_types::Usage {
    karat_types::Usage { input_tokens, output_tokens, ..Default::default() }
}

#[test]
fn references_in_every_spelling() {
    let registry = Registry::builtin();
    for reference in ["gpt-5", "openai/gpt-5", "openai:gpt-5"] {
        assert_eq!(registry.find(reference).unwrap().id, "gpt-5");
    }
    assert_eq!(registry.find("anthropic:claude-sonnet-4-20250514").unwrap().id, "claude-sonnet-4");
    assert_eq!(registry.find("meta-llama/llama-4-scout").unwrap().id, "llama-4-scout");
    assert_eq!(registry.find("cmd:claude").unwrap().provider, "command");
    assert_eq!(registry.find("anthropic:gpt-5"), None, "only a catalog's providers serve models by name");
    assert_eq!(registry.nearest("openai:gpt5"), Some("gpt-5"));
    assert_eq!(registry.nearest("zzz"), None);
}

/// CL-03: user files extend and override; the seed's spellings are accepted with a notice.
#[test]
fn own_files_extend_and_override() {
    let suite = world().load(&Overrides::default()).unwrap();
    let registry = suite.registry();
    let local = registry.get("local").unwrap();
    assert_eq!((local.model.as_str(), local.context_window, local.json_mode), ("llama", Some(8000), JsonMode::Object));
    assert_eq!(local.price, Pricing::Unmetered);
    let Pricing::Known(gateway) = &registry.get("gateway").unwrap().price else { panic!("no price") };
    assert_eq!(
        (gateway.base.rates.input, gateway.base.rates.output, gateway.as_of.as_deref()),
        (2_000_000_000, 2_000_000_000, Some("2026-01-31"))
    );
    let mock = registry.get("mock").unwrap();
    assert_eq!(mock.with["reply"], "{{ request.user }}");
    assert!(mock.files.contains_key("../scripts/echo.j2"));
    assert_eq!(mock.price, Pricing::Unmetered);
    let priced = registry.get("priced").unwrap();
    assert_eq!(priced.with["replies"][0]["reply"], "b");
    assert!(matches!(&priced.price, Pricing::Known(price) if price.base.rates.input == 1_000_000_000));
    let own = registry.get("gpt-4o").unwrap();
    assert_eq!((own.parameters.temperature, own.max_output), (Some(0.0), Some(4096)));
    insta::assert_snapshot!(suite.warnings().to_string());
}

/// CL-05: systems are models × variants; what a model cannot do is not planned, and said so.
#[test]
fn systems_notes_and_trials() {
    let plan = world().plan(&Overrides::default());
    let header = &plan.header;
    let systems: Vec<_> = (0..header.systems.len())
        .map(|index| {
            let model = header.system_model(index).map_or("-", |model| model.id.as_str());
            format!("{model} {} {}", header.system_variant(index), header.systems[index].trials)
        })
        .collect();
    assert_eq!(
        systems,
        ["gpt-5-mini plain 3", "local plain 3", "mock plain 3", "gpt-5-mini strict 3", "- fixed 3", "- taken 1"]
    );
    assert_eq!(header.models.last().unwrap().id, "gpt-4o");
    insta::assert_snapshot!(plan.notes.join("\n"));
}

/// CL-21: models, tier and variants of the command line replace the selection.
#[test]
fn selections_replace_the_suites() {
    let ids = |overrides: Overrides| {
        let plan = world().plan(&overrides);
        plan.header.models.iter().map(|model| model.id.clone()).collect::<Vec<_>>()
    };
    let plain = vec!["plain".to_owned()];
    let models = vec!["openai/gpt-5".to_owned(), "priced".to_owned()];
    assert_eq!(ids(Overrides { models, variants: plain.clone(), ..Overrides::default() }), ["gpt-5", "priced"]);
    assert_eq!(ids(Overrides { tier: Some(Tier::Midtier), variants: plain, ..Overrides::default() }), ["gpt-5-mini"]);
}

/// GE-01: a sweep makes a variant of each value; the swept variant itself no longer runs.
#[test]
fn a_sweep_makes_variants() {
    let more = "sweep: { variants.strict.ask.requires.context_window: [1000, 300000], variants.strict.ask.parameters.temperature: [0, 0.5] }\n";
    let plan = world().with("karat.yaml", &format!("{SUITE}{more}")).plan(&Overrides::default());
    let ids: Vec<_> = plan.header.variants.iter().map(|variant| variant.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "plain",
            "strict{context_window=1000,temperature=0}",
            "strict{context_window=1000,temperature=0.5}",
            "strict{context_window=300000,temperature=0}",
            "strict{context_window=300000,temperature=0.5}",
            "fixed",
            "taken"
        ]
    );
    assert_eq!(plan.header.variants[2].steps[0].parameters.temperature, Some(0.5));
    let swept = Overrides {
        sweep: vec![("variants.strict.ask.parameters.max_tokens".to_owned(), "5, 6".to_owned())],
        variants: vec!["strict".to_owned()],
        ..Overrides::default()
    };
    let plan = world().plan(&swept);
    let ids: Vec<_> = plan.header.variants.iter().map(|variant| variant.id.as_str()).collect();
    assert_eq!(ids, ["strict{max_tokens=5}", "strict{max_tokens=6}"]);
}

/// GE-01: two variants of one content, and values that nobody gave, are no sweep.
#[test]
fn a_sweep_has_different_values() {
    let said = |sweep: &[(&str, &str)]| {
        let sweep = sweep.iter().map(|(key, values)| (format!("variants.strict.ask.{key}"), (*values).to_owned()));
        let overrides = Overrides { sweep: sweep.collect(), ..Overrides::default() };
        world().load(&overrides).err().map(|problems| problems.plain()).unwrap_or_default()
    };
    assert!(said(&[("parameters.temperature", "0,0.5,0.0")]).contains("has the value `0.0` twice"));
    for empty in ["", "0,", " ,1"] {
        assert!(said(&[("parameters.temperature", empty)]).contains("has an empty value"), "{empty}");
    }
    let twice = [("parameters.temperature", "0,1"), ("parameters.temperature", "0.5")];
    assert!(said(&twice).contains("is swept twice"));
    assert_eq!(said(&[("parameters.temperature", "0,1"), ("parameters.top_p", "1,0.5")]), "");
}

/// CL-06, CL-15: limits of the command line reach every step and every judge.
#[test]
fn overrides_reach_steps_and_judges() {
    let more =
        "judges: [gpt-4o]\nscorers: { good: { rubric: { ask: \"Is it good?\" }, parameters: { max_tokens: 9 } } }\n";
    let overrides = Overrides {
        set: vec![("variants.plain.0.chunk".to_owned(), "{ of: input, tokens: 10 }".to_owned())],
        max_output_tokens: Some(77),
        max_chunks: Some(4),
        judge_max_tokens: Some(4000),
        judge_timeout_ms: Some(5000),
        ..Overrides::default()
    };
    let plan = world().with("karat.yaml", &format!("{SUITE}{more}")).plan(&overrides);
    let step = &plan.header.variants[0].steps[0];
    assert_eq!((step.parameters.max_tokens, step.chunk.as_ref().unwrap().max), (Some(77), Some(4)));
    let ScorerKind::Rubric(rubric) = &plan.header.scorers[0].kind else { panic!("no rubric") };
    assert_eq!((rubric.parameters.max_tokens, rubric.timeout_ms), (Some(4000), Some(5000)));
    assert_eq!(plan.header.judges[0].id, "gpt-4o");
}

/// BR-05, F118: options of an entry are added to those of the entry that it is like, or of the tool whose id it has; own ones
/// replace those of the same name. Those of a script replace it.
#[test]
fn options_extend_those_of_another_entry() {
    let judge = |entry: &str| {
        let suite = format!(
            "name: n\ndataset: {{ rows: [ {{ id: a, o: x }} ], id: id, input: o }}\njudges: [ {entry} ]\n\
             variants: {{ v: [ {{ recorded: {{ column: o }} }} ] }}\n\
             scorers: {{ q: {{ rubric: {{ ask: How friendly is it? }} }} }}\n"
        );
        World::new(&[("karat.yaml", &suite)]).plan(&Overrides::default()).header.judges[0].clone()
    };
    let tool = judge("\"cmd:claude\"");
    assert!(tool.with.contains_key("command") && !tool.with.contains_key("args"));
    for entry in ["id: \"cmd:claude\"", "id: mine, like: \"cmd:claude\""] {
        let own = judge(&format!("{{ {entry}, with: {{ args: [--x] }} }}"));
        assert_eq!(
            (&own.with["command"], own.with["args"][0].as_str()),
            (&tool.with["command"], Some("--x")),
            "{entry}"
        );
        assert_eq!(own.with.len(), tool.with.len() + 1);
        let replaced = judge(&format!("{{ {entry}, with: {{ command: [other] }} }}"));
        assert_eq!(replaced.with["command"], serde_json::json!(["other"]));
    }
    let own = world().plan(&Overrides { models: vec!["priced".to_owned()], ..Overrides::default() }).header;
    assert!(own.models[0].with.contains_key("replies") && !own.models[0].with.contains_key("reply"));
}
