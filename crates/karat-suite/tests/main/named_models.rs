//! Models without an entry, `PROVIDER:NAME`, and the keys of models.

use karat_suite::{Overrides, Plan};
use karat_types::{ModelSpec, Pricing, ScorerKind};

use crate::world::World;

/// A suite with these models, and more of it.
fn suite(models: &str, more: &str) -> World {
    let text = format!(
        "name: x\ndataset: {{ rows: [{{ id: a, input: q }}] }}\nmodels: {models}\nvariants:\n  plain: [ {{ prompt: {{ text: \"{{{{ input }}}}\" }} }} ]\n{more}"
    );
    World::new(&[("karat.yaml", &text)])
}

fn plan(models: &str) -> Plan {
    suite(models, "").plan(&Overrides::default())
}

fn only_model(models: &str) -> ModelSpec {
    let plan = plan(models);
    assert_eq!(plan.header.models.len(), 1);
    plan.header.models[0].clone()
}

/// The messages about a suite's models, a line each with its hint.
fn problems(models: &str) -> String {
    match suite(models, "").load(&Overrides::default()) {
        Ok(_) => panic!("{models} can be used"),
        Err(problems) => problems.to_string(),
    }
}

/// TG-50: a model is named by provider and name, split at the first colon, and needs no entry.
#[test]
fn a_model_is_named_by_its_provider() {
    for (reference, provider, name, price) in [
        ("openai:gpt-5-nano", "openai", "gpt-5-nano", Pricing::Unknown),
        ("ollama:llama3.2:1b", "ollama", "llama3.2:1b", Pricing::Unmetered),
        ("openrouter:qwen/qwen3-32b", "openrouter", "qwen/qwen3-32b", Pricing::Unknown),
    ] {
        let model = only_model(&format!("[\"{reference}\"]"));
        assert_eq!((model.id.as_str(), model.provider.as_str(), model.model.as_str()), (reference, provider, name));
        assert_eq!(model.price, price, "{reference}");
    }
    assert_eq!(only_model("[google:gemini-3-flash]").id, "gemini:gemini-3-flash");
    assert_eq!(only_model("[openai:gpt-5-nano]").family.as_deref(), Some("gpt"));
}

/// TG-50: a model of the registry keeps its entry, and so its price, in every spelling.
#[test]
fn a_known_model_keeps_its_entry() {
    for reference in ["openai:gpt-5", "openai/gpt-5", "gpt-5"] {
        let model = only_model(&format!("[\"{reference}\"]"));
        assert_eq!(model.id, "gpt-5");
        assert!(matches!(model.price, Pricing::Known(_)), "{reference}");
    }
}

/// TG-50: such a name works for judges, steps, single scorers, gates and on the command line.
#[test]
fn a_named_model_works_everywhere() {
    let more = "  fixed: [ { prompt: { text: \"{{ input }}\" }, model: ollama:phi4 } ]
judges: [openai:gpt-7]
scorers:
  good: { rubric: { ask: Good? } }
  better: { rubric: { ask: Better? }, judges: [anthropic:claude-9] }
gates:
  - { metric: good, min: 50%, where: \"model.id == 'openai:gpt-6'\" }
";
    let world = suite("[openai:gpt-6, openai:gpt-6-mini]", more);
    let plan = world.plan(&Overrides::default());
    let ids = |models: &[ModelSpec]| models.iter().map(|model| model.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&plan.header.models), ["openai:gpt-6", "openai:gpt-6-mini", "ollama:phi4"]);
    assert_eq!(ids(&plan.header.judges), ["openai:gpt-7", "anthropic:claude-9"]);
    let overrides = Overrides {
        models: vec!["ollama:llama3.2:1b".to_owned()],
        judges: vec!["openai:gpt-8".to_owned()],
        ..Overrides::default()
    };
    let header = world.plan(&overrides).header;
    assert_eq!(ids(&header.models), ["ollama:llama3.2:1b", "ollama:phi4"]);
    let ScorerKind::Rubric(rubric) = &header.scorers[0].kind else { panic!("no rubric") };
    assert_eq!(rubric.judges, ["openai:gpt-8"]);
}

/// TG-50: an entry whose id is provider and name needs neither `provider` nor `like`: a price is enough.
#[test]
fn an_entry_of_a_named_model_only_adds() {
    let model = only_model("[ { id: openai:gpt-6, price: { input: 1, output: 2 } } ]");
    assert_eq!((model.provider.as_str(), model.model.as_str()), ("openai", "gpt-6"));
    assert!(matches!(&model.price, Pricing::Known(price) if price.base.rates.output == 2_000_000_000));
    let same = only_model("[ { id: openai:gpt-6, provider: openai, max_output: 9 } ]");
    assert_eq!((same.model.as_str(), same.max_output), ("gpt-6", Some(9)));
    let like = only_model("[ { id: mine, like: openai:gpt-6, parameters: { temperature: 0 } } ]");
    assert_eq!((like.model.as_str(), like.parameters.temperature), ("gpt-6", Some(0.0)));
    let stand_in = only_model("[ { id: openai:gpt-6, provider: scripted, with: { reply: hi } } ]");
    assert_eq!((stand_in.provider.as_str(), &stand_in.price), ("scripted", &Pricing::Unmetered));
}

/// TG-50: models of Ollama and vLLM are free unless their entry says otherwise; another server needs its address.
#[test]
fn local_servers_are_free_and_others_have_an_address() {
    assert_eq!(only_model("[ { id: mine, provider: ollama, model: llama3.2 } ]").price, Pricing::Unmetered);
    let priced = only_model("[ { id: mine, provider: ollama, model: llama3.2, price: { input: 1, output: 1 } } ]");
    assert!(matches!(priced.price, Pricing::Known(_)));
    let there = only_model("[ { id: mine, provider: openai-compatible, base_url: \"https://models.example/v1\" } ]");
    assert_eq!(there.price, Pricing::Unknown);
    assert!(problems("[ { id: mine, provider: openai-compatible } ]").contains("needs `base_url`"));
    let said = problems("[openai-compatible:mine]");
    assert!(
        said.contains(
            "no model `openai-compatible:mine`; the provider `openai-compatible` needs an entry with `base_url`"
        ),
        "{said}"
    );
}

/// TG-50: an unknown name is answered with the provider to write before it, a wrong provider with the right one.
#[test]
fn unknown_names_are_answered_with_a_provider() {
    for (reference, message) in [
        ("gpt-5-nano", "no model `gpt-5-nano`; with its provider it needs no entry: `openai:gpt-5-nano`"),
        ("openai/gpt-5-nano", "no model `openai/gpt-5-nano`; with its provider it needs no entry: `openai:gpt-5-nano`"),
        ("claude-9-tiny", "no model `claude-9-tiny`; with its provider it needs no entry: `anthropic:claude-9-tiny`"),
        ("llama3.2:1b", "no model `llama3.2:1b`; with its provider it needs no entry: `ollama:llama3.2:1b`"),
        ("acme/one", "no model `acme/one`; with its provider it needs no entry: `openrouter:acme/one`"),
        ("zzz", "no model `zzz`; with its provider it needs no entry: `PROVIDER:zzz`"),
        ("startr", "no model `startr`; did you mean `starter`?"),
        ("opnai:gpt-5", "no provider `opnai`; did you mean `openai`?"),
        ("openai:", "no model `openai:`: its name is missing"),
        ("stub:x", "no model `stub:x`; the provider `stub` needs an entry"),
    ] {
        let said = problems(&format!("[\"{reference}\"]"));
        assert!(said.contains(&format!(": {message} (")), "{reference}: {said}");
    }
    assert!(problems("[gpt5]").contains("did you mean `gpt-5`?"));
    let said = problems("[ { id: careful, provider: stub }, carefull ]");
    assert!(said.contains("no model `carefull`; did you mean `careful`? ("), "{said}");
    assert!(problems("[\"acme:one\"]").contains("no provider `acme` (`karat models` lists"));
}

/// TG-50: a model that makes embeddings is refused where a prompt is answered, by its entry or by its name.
#[test]
fn embedding_models_are_no_chat_models() {
    for model in ["text-embedding-3-small", "openai:text-embedding-9", "ollama:nomic-embed-text"] {
        let said = problems(&format!("[\"{model}\"]"));
        assert!(
            said.contains(&format!("the model `{model}` makes embeddings, so it cannot answer a prompt")),
            "{said}"
        );
    }
    let judge = suite("[gpt-5]", "judges: [text-embedding-3-large]\n");
    assert!(judge.problems(&Overrides::default()).contains("makes embeddings"));
    assert_eq!(only_model("[ { id: embed-helper, like: gpt-5 } ]").model, "gpt-5");
}

/// TG-56: a command that prints the key is read, checked, and refused under `--safe`.
#[test]
fn a_command_can_print_the_key() {
    let model = |key: &str| format!("[ {{ id: m, provider: gemini, {key} }} ]");
    let command = "api_key_command: [gcloud, auth, print-access-token]";
    let read = only_model(&model(command));
    assert_eq!(read.api_key_command, ["gcloud", "auth", "print-access-token"]);
    let like = only_model(&format!("[ {{ id: m, like: gpt-5, {command} }} ]"));
    assert_eq!((like.api_key_env, like.api_key_command.len()), (None, 3));
    for (key, message) in [
        ("api_key_command: []", "names no program"),
        ("api_key_command: gcloud", "api_key_command"),
        ("api_key_env: K, api_key_command: [k]", "not both `api_key_env` and `api_key_command`"),
        ("api_key_command: [echo, sk-proj-abcdefghijklmnop1234]", "this looks like a key"),
    ] {
        assert!(problems(&model(key)).contains(message), "{key}: {}", problems(&model(key)));
    }
    let offline = problems("[ { id: m, provider: stub, api_key_command: [k] } ]");
    assert!(offline.contains("this provider needs no key"), "{offline}");
    let safe = Overrides { safe: true, ..Overrides::default() };
    let said = suite(&model(command), "").problems(&safe);
    assert!(said.contains("the `api_key_command` of the model `m` runs a program, which --safe refuses"), "{said}");
}
