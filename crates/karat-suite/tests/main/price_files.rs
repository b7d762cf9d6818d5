//! Files of prices that a user adds to the known models.

use karat_suite::{PriceFile, PriceOrigin, Registry};
use karat_types::{Price, Pricing, Rates, TierPrice};

use crate::world::catalog;

fn read(text: &str) -> Result<PriceFile, String> {
    read_as(text, &PriceOrigin::default())
}

fn read_as(text: &str, origin: &PriceOrigin) -> Result<PriceFile, String> {
    PriceFile::read(("p/prices.yaml", text), origin, &catalog(), &Registry::builtin()).map_err(|it| it.to_string())
}

/// The models of a file over the built-in ones.
fn registry(file: &PriceFile) -> Registry {
    let text = PriceFile::document(&file.entries).to_string();
    Registry::builtin().with_entries(("added.json", &text), &catalog()).unwrap()
}

fn price(registry: &Registry, id: &str) -> Price {
    match &registry.get(id).unwrap().price {
        Pricing::Known(price) => price.clone(),
        other => panic!("{id}: {other:?}"),
    }
}

/// TG-53: a registry file with a day and a source; a known model keeps everything but its price.
#[test]
fn registry_files_add_prices() {
    let file = "as_of: 2026-11-20\nsource: list\nmodels:\n  - { id: \"openai:gpt-9\", price: { input: 1.5, output: 6 }, context_window: 1000 }\n  - { id: gpt-5, price: { input: 1, output: 8, as_of: 2026-11-21, source: mail } }\n";
    let added = registry(&read(file).unwrap());
    let new = price(&added, "openai:gpt-9");
    assert_eq!(
        (new.base.rates.input, new.as_of.as_deref(), new.source.as_deref()),
        (1_500_000_000, Some("2026-11-20"), Some("list"))
    );
    let changed = price(&added, "gpt-5");
    assert_eq!(
        (changed.base.rates.output, changed.as_of.as_deref(), changed.source.as_deref()),
        (8_000_000_000, Some("2026-11-21"), Some("mail"))
    );
    let builtin = Registry::builtin();
    let (before, after) = (builtin.get("gpt-5").unwrap(), added.get("gpt-5").unwrap());
    assert_eq!(
        (before.context_window, before.json_mode, before.tier),
        (after.context_window, after.json_mode, after.tier)
    );
    assert!(added.listed_model("openai:gpt-9").is_some() && added.listed_model("openai:gpt-10").is_none());
}

/// TG-53: LiteLLM's list: dollars a token, chats alone, of providers that are known here; the day comes from the caller.
#[test]
fn litellm_lists_are_read() {
    let list = r#"{
      "sample_spec": {"mode": "one of: chat, embedding", "litellm_provider": "one of many"},
      "gpt-5": {"input_cost_per_token": 1.1e-06, "output_cost_per_token": 9e-06, "cache_read_input_token_cost": 1.1e-07, "litellm_provider": "openai", "mode": "chat"},
      "gpt-9": {"input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07, "max_input_tokens": 128000, "max_output_tokens": 16384, "litellm_provider": "openai", "mode": "chat"},
      "openrouter/qwen/q": {"input_cost_per_token": 1e-07, "output_cost_per_token": 3e-07, "litellm_provider": "openrouter", "mode": "chat"},
      "text-embedding-3-small": {"input_cost_per_token": 2e-08, "output_cost_per_token": 0, "litellm_provider": "openai", "mode": "embedding"},
      "bedrock/x": {"input_cost_per_token": 2e-08, "output_cost_per_token": 0, "litellm_provider": "bedrock", "mode": "chat"}
    }"#;
    let origin = PriceOrigin { as_of: Some("2026-11-20".to_owned()), ..PriceOrigin::default() };
    let file = read_as(list, &origin).unwrap();
    assert_eq!((file.entries.len(), file.skipped), (3, 3));
    let added = registry(&file);
    let new = price(&added, "openai:gpt-9");
    assert_eq!(
        (new.base.rates.input, new.base.rates.output, new.source.as_deref()),
        (150_000_000, 600_000_000, Some("prices.yaml"))
    );
    assert_eq!(added.get("openai:gpt-9").unwrap().context_window, Some(128_000));
    assert_eq!(
        price(&added, "gpt-5").base.rates.cached_input,
        Some(110_000_000),
        "the built-in model, under its own id"
    );
    assert_eq!(price(&added, "openrouter:qwen/q").base.rates.output, 300_000_000);
    let told = read(list).unwrap_err();
    assert!(told.contains("no `as_of`") && told.contains("--as-of"), "{told}");
}

/// RE-24: prices by length, tier and kind of token; a rate that a tier does not state is that of the base, and one of a
/// cache that a length does not state is never that of short requests. Costs of other kinds are named, with the number of models.
#[test]
fn litellm_tiers_are_read() {
    let list = r#"{
      "gpt-9": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.5e-06, "output_cost_per_token": 1.5e-05,
        "cache_read_input_token_cost": 2.5e-07, "output_cost_per_reasoning_token": 2e-05, "input_cost_per_audio_token": 4e-05,
        "input_cost_per_token_above_272k_tokens": 5e-06, "output_cost_per_token_above_272k_tokens": 2.25e-05,
        "input_cost_per_token_batches": 1.25e-06, "output_cost_per_token_batches": 7.5e-06,
        "input_cost_per_token_flex": 1.3e-06, "output_cost_per_token_flex": 7.6e-06, "cache_read_input_token_cost_flex": 1.3e-07,
        "input_cost_per_token_priority": 5e-06, "output_cost_per_token_priority": 3e-05,
        "input_cost_per_token_above_272k_tokens_priority": 1e-05, "output_cost_per_token_priority_above_272k_tokens": 4.5e-05,
        "search_context_cost_per_query": {"search_context_size_low": 0.03}, "input_cost_per_image": 0.0, "output_cost_per_audio_token": 8e-05},
      "openrouter/q": {"litellm_provider": "openrouter", "mode": "chat", "output_cost_per_audio_token": 8e-05, "tiered_pricing": [
        {"range": [32e3, 128e3], "input_cost_per_token": 5e-07, "output_cost_per_token": 2.5e-06},
        {"range": [0, 32e3], "input_cost_per_token": 3e-07, "output_cost_per_token": 1.5e-06}]}
    }"#;
    let origin = PriceOrigin { as_of: Some("2026-11-20".to_owned()), ..PriceOrigin::default() };
    let file = read_as(list, &origin).unwrap();
    let unapplied: Vec<_> = file.unapplied.iter().map(|(field, models)| (field.as_str(), *models)).collect();
    assert_eq!(unapplied, [("output_cost_per_audio_token", 2), ("search_context_cost_per_query", 1)]);
    let added = registry(&file);
    let new = price(&added, "openai:gpt-9");
    let told = |rates: &Rates| (rates.input / 1000, rates.output / 1000, rates.cached_input.map(|rate| rate / 1000));
    let set = |tier: &TierPrice| match tier {
        TierPrice::Set(set) => (told(&set.rates), set.above.iter().map(|long| told(&long.rates.unwrap())).collect()),
        TierPrice::Share(share) => panic!("{share:?}"),
    };
    assert_eq!(told(&new.base.rates), (2_500_000, 15_000_000, Some(250_000)));
    assert_eq!((new.base.rates.reasoning, new.base.rates.audio_input), (Some(20_000_000_000), Some(40_000_000_000)));
    let [long] = new.base.above.as_slice() else { panic!("{new:?}") };
    assert_eq!((long.tokens, told(&long.rates.unwrap())), (272_000, (5_000_000, 22_500_000, None)));
    assert_eq!(set(new.batch.as_ref().unwrap()), ((1_250_000, 7_500_000, Some(250_000)), vec![]));
    assert_eq!(set(&new.service["flex"]), ((1_300_000, 7_600_000, Some(130_000)), vec![]));
    let priority = ((5_000_000, 30_000_000, Some(250_000)), vec![(10_000_000, 45_000_000, None)]);
    assert_eq!(set(&new.service["priority"]), priority);
    let ranges = price(&added, "openrouter:q");
    assert_eq!(told(&ranges.base.rates), (300_000, 1_500_000, None));
    let [long] = ranges.base.above.as_slice() else { panic!("{ranges:?}") };
    assert_eq!((long.tokens, told(&long.rates.unwrap())), (32_000, (500_000, 2_500_000, None)));
}

/// TG-53: what is wrong is told with its line, and nothing that acts comes in with prices.
#[test]
fn price_files_say_what_is_wrong() {
    let file = |entry: &str| format!("as_of: 2026-11-20\nmodels:\n  - {{ {entry} }}\n");
    let good = "id: \"openai:x\", price: { input: 1, output: 2 }";
    assert!(read(&file(good)).is_ok());
    for (text, told) in [
        (file(&good.replace("input: 1", "input: -1")), "prices.yaml:3:39: line 3: `input` is -1"),
        (file(good).replace("as_of: 2026-11-20\n", ""), "no `as_of`"),
        (file(good).replace("2026-11-20", "soon"), "`as_of` is \"soon\""),
        (file(&format!("{good}, base_url: \"http://x\"")), "a price file cannot set `base_url`"),
        (file(&format!("{good}, api_key_command: [sh]")), "a price file cannot set `api_key_command`"),
        (file("id: mine, price: { input: 1, output: 2 }"), "the model `mine` needs `provider` or `like`"),
        (file("id: \"openai:x\", price: { input: 1 }"), "needs `output`"),
        (file(&format!("{good}, colour: red")), "unknown key `colour`"),
        ("{}".to_owned(), "a price file needs `models`"),
        (r#"{"x": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": -1e-6, "output_cost_per_token": 0}}"#.to_owned(), "line 1: `input_cost_per_token` is -0.000001"),
        (r#"{"x": {"litellm_provider": "cohere", "mode": "rerank"}}"#.to_owned(), "no chat model of a known provider"),
        (r#"{"x": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": "free", "output_cost_per_token": 0}}"#.to_owned(), "`input_cost_per_token` is a text, not a number"),
        (r#"{"x": {"litellm_provider": "openai", "mode": "chat", "tiered_pricing": [{"input_cost_per_token": 1e-6, "output_cost_per_token": 0}]}}"#.to_owned(), "no `range` of input tokens"),
    ] {
        let said = read(&text).unwrap_err();
        assert!(said.contains(told), "{told}: {said}");
    }
}
