//! Entries: from a checked tree to a [`ModelSpec`], with `like`, the seed's spellings and prices.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_text::host::{host_of, is_this_machine};
use karat_types::{LongRates, ModelSpec, Price, Pricing, RateSet, Rates, Share, TierPrice};
use serde_json::{Map, Value, json};

use super::script;
use super::{Registry, named};
use crate::catalog::{Catalog, NamedModels};
use crate::check;
use crate::check::secrets;
use crate::decode::{Decoder, integer_at, word_at};
use crate::diagnostics::{Diagnostics, Problems};
use crate::files::DiskFiles;
use crate::grammar::{Kind, REGISTRY, SEED_SPELLINGS};
use crate::syntax::node::{Entry, Node, Tree};
use crate::syntax::{duration, yaml};

/// The context in which an entry is decoded.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntryContext {
    /// Date of every price that has none of its own.
    pub as_of: Option<String>,
    /// Source of every price that names none.
    pub source: Option<String>,
}

/// The registry that ships with the product, and what is wrong with it: nothing, as a test holds.
pub(super) fn builtin_registry(text: &str) -> (Registry, Diagnostics) {
    let catalog = Catalog::default();
    let mut decoder = Decoder::new(Arc::new(DiskFiles), &catalog);
    let mut registry = Registry::default();
    let file = decoder.problems.source("models.yaml", text);
    if let Some(node) = yaml::read_tree(text, file, &mut decoder.problems) {
        extend(&node, &mut registry, &mut decoder);
    }
    (registry, decoder.problems.into_diagnostics())
}

/// Reads a registry file and adds its entries.
pub(crate) fn read_file(file: &Node, registry: &mut Registry, decoder: &mut Decoder<'_>) {
    let Some((path, text)) = decoder.text(file) else { return };
    let place = decoder.register(&path, &text);
    if let Some(node) = yaml::read_tree(&text, place.file, &mut decoder.problems) {
        secrets::refuse(&node, &mut decoder.problems);
        extend(&node, registry, decoder);
    }
}

pub(super) fn extend(node: &Node, registry: &mut Registry, decoder: &mut Decoder<'_>) {
    let mut node = node.clone();
    modernise(&mut node, &mut decoder.problems);
    check::check_at(&node, &REGISTRY, &["registry file"], decoder.catalog, &mut decoder.problems);
    let context = EntryContext {
        as_of: node.text_of("as_of").map(str::to_owned),
        source: node.text_of("source").map(str::to_owned),
    };
    let mut seen: Vec<&str> = Vec::new();
    for entry in node.field("models").map(Node::items).unwrap_or_default() {
        if let Some(id) = entry.text_of("id") {
            if seen.contains(&id) {
                decoder.problems.error(&entry.place, format!("two entries have the id `{id}`"));
            }
            seen.push(id);
        }
        if let Some(model) = model(entry, &context, registry, decoder) {
            registry.add(model);
        }
    }
    for set in node.field("sets").map(Node::entries).unwrap_or_default() {
        add_set(set, registry, &mut decoder.problems);
    }
}

/// Adds a set of models, each by any spelling that names one.
fn add_set(set: &Entry, registry: &mut Registry, problems: &mut Problems) {
    if registry.get(&set.key).is_some() {
        problems.error(&set.place, format!("`{}` is the id of a model", set.key)).hint("give the set another name");
    }
    if set.node.items().is_empty() {
        problems.error(&set.place, format!("the set `{}` has no models", set.key)).hint("list their ids");
    }
    let mut ids: Vec<String> = Vec::new();
    for item in set.node.items() {
        let Some(reference) = item.text() else { continue };
        match registry.find(reference) {
            Some(model) => ids.push(model.id.clone()),
            None => registry.report_unknown(reference, &item.place, problems),
        }
    }
    registry.add_set(&set.key, ids);
}

/// Turns the seed's spellings into the language's own, with a notice.
fn modernise(node: &mut Node, problems: &mut Problems) {
    let Tree::Map(entries) = &mut node.value else { return };
    let models = entries.iter_mut().filter(|entry| entry.key == "models").map(|entry| &mut entry.node);
    for item in
        models.filter_map(|node| if let Tree::List(items) = &mut node.value { Some(items) } else { None }).flatten()
    {
        let Tree::Map(keys) = &mut item.value else { continue };
        keys.iter_mut().for_each(|entry| rename(entry, problems));
    }
}

fn rename(entry: &mut Entry, problems: &mut Problems) {
    let Some((old, new)) = SEED_SPELLINGS.iter().find(|(old, _)| *old == entry.key) else { return };
    problems.notice(&entry.place, format!("`{old}` is read as `{new}`"));
    let value = match *old {
        "costPer1kTokens" => per_million(&entry.node.json()),
        "supportsJsonMode" => json!(if entry.node.boolean() == Some(true) { "object" } else { "none" }),
        _ => {
            entry.key = (*new).to_owned();
            return;
        }
    };
    entry.key = (*new).to_owned();
    entry.node = Node::of_json(&value, &entry.node.place);
}

/// A price by the thousand as a price by the million; one number counts for input and output.
fn per_million(value: &Value) -> Value {
    let million = |value: &Value| value.as_f64().map_or(Value::Null, |price| json!(price * 1000.0));
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), million(value))).collect(),
        Value::Number(_) => json!({ "input": million(value), "output": million(value) }),
        other => other.clone(),
    }
}

/// One entry, already checked against the grammar.
pub(crate) fn model(
    node: &Node,
    context: &EntryContext,
    registry: &Registry,
    decoder: &mut Decoder<'_>,
) -> Option<ModelSpec> {
    let id = node.text_of("id")?.to_owned();
    let base = match node.field("like") {
        Some(like) => {
            let reference = like.text()?;
            match registry.find(reference) {
                Some(base) => Some(base.into_owned()),
                None => {
                    registry.report_unknown(reference, &like.place, &mut decoder.problems);
                    return None;
                }
            }
        }
        None => base_of_name(node, &id, registry).or_else(|| own_base(node, &id, registry)),
    };
    let provider = provider(node, &id, base.as_ref(), decoder)?;
    let is_same_provider = base.as_ref().is_some_and(|base| base.provider == provider);
    let mut model = base.unwrap_or_else(|| ModelSpec::new(id.as_str(), ""));
    model.id = id;
    model.provider = provider;
    if let Some(price) = node.field("price") {
        // A price that names its source was looked up.
        if price.get("source").is_none() {
            report_tiny_prices(price, &mut decoder.problems);
        }
    }
    // A script is one thing: a reply, or a list of them.
    let extends = is_same_provider && node.field("with").is_some() && model.provider != "scripted";
    let inherited = match extends {
        true => (std::mem::take(&mut model.with), std::mem::take(&mut model.files)),
        false => Default::default(),
    };
    overlay(&mut model, node, decoder);
    extend_options(&mut model, inherited);
    check_address(node, &mut decoder.problems);
    set_key_source(&mut model, node, registry, decoder);
    model.price = price(node, context, &model, registry);
    if registry.named_models(&model.provider) == NamedModels::NeedAddress && model.base_url.is_none() {
        decoder
            .problems
            .error(&node.place, format!("the provider `{}` needs `base_url`", model.provider))
            .hint("write the root of the server's API, such as `base_url: http://localhost:8080/v1`");
    }
    Some(model)
}

/// Adds the options of the entry that another one names by `like`: the own ones replace those of the same name.
fn extend_options(model: &mut ModelSpec, (with, files): (Map<String, Value>, BTreeMap<String, String>)) {
    let own = std::mem::replace(&mut model.with, with);
    model.with.extend(own);
    let own = std::mem::replace(&mut model.files, files);
    model.files.extend(own);
}

/// Reports an address without a scheme, and the name of a variable that is written as a reference to it.
fn check_address(node: &Node, problems: &mut Problems) {
    if let Some((at, url)) = node.field("base_url").and_then(|at| Some((at, at.text()?)))
        && !["http://", "https://", "${"].iter().any(|start| url.starts_with(start))
    {
        let host = url.split_once("://").map_or(url, |(_, host)| host).trim_start_matches('/');
        let scheme = if is_this_machine(host_of(&format!("http://{host}"))) { "http" } else { "https" };
        problems
            .error(
                &at.place,
                format!("`{url}` is not the address of a server: it must begin with `http://` or `https://`"),
            )
            .hint(format!("write `base_url: {scheme}://{host}`"));
    }
    if let Some((at, written)) = node.field("api_key_env").and_then(|at| Some((at, at.text()?)))
        && let Some(name) = written.strip_prefix('$').map(|name| name.trim_matches(['{', '}']))
    {
        problems
            .error(&at.place, format!("`api_key_env` is the name of a variable, without `$`: `{written}` is none"))
            .hint(format!("write `api_key_env: {name}`"));
    }
}

/// The registry's command line tool with the id of an entry that says neither what it is nor what it is like: then options are
/// enough of an entry.
fn own_base(node: &Node, id: &str, registry: &Registry) -> Option<ModelSpec> {
    let is_bare = id.starts_with("cmd:") && node.field("provider").is_none();
    registry.get(id).filter(|_| is_bare).cloned()
}

/// The base of an entry with the id `PROVIDER:NAME` that leaves the provider out or names the same one: then a
/// price is enough of an entry.
fn base_of_name(node: &Node, id: &str, registry: &Registry) -> Option<ModelSpec> {
    let (provider, name) = named::split(id)?;
    let is_same = node.text_of("provider").is_none_or(|given| given == provider);
    let known = || registry.find(id).map(std::borrow::Cow::into_owned);
    match registry.named_models(provider) {
        _ if !is_same => None,
        NamedModels::None => None,
        NamedModels::NeedAddress => Some(named::bare_model(provider, name)),
        NamedModels::Billed | NamedModels::Free => known(),
    }
}

/// Where the key of a model comes from. A variable replaces the command of the entry that `like` names, and the other
/// way round.
fn set_key_source(model: &mut ModelSpec, node: &Node, registry: &Registry, decoder: &mut Decoder<'_>) {
    let variable = node.text_of("api_key_env");
    if variable.is_some() {
        model.api_key_env = variable.map(str::to_owned);
        model.api_key_command.clear();
    }
    let Some(command) = node.field("api_key_command") else { return };
    let words = command.texts();
    let is_offline = registry.named_models(&model.provider) == NamedModels::None && named::is_offline(&model.provider);
    let mut refuse = |message: &str, hint: &str| {
        decoder.problems.error(&command.place, message).hint(hint);
    };
    if variable.is_some() {
        refuse("a model has one source of its key, not both `api_key_env` and `api_key_command`", "remove one of them");
    } else if words.first().is_none_or(|program| program.trim().is_empty()) {
        refuse("`api_key_command` names no program", "write it like `[gcloud, auth, print-access-token]`");
    } else if is_offline {
        refuse("`api_key_command` has no effect: this provider needs no key", "remove it");
    }
    model.api_key_env = None;
    model.api_key_command = words;
}

fn provider(node: &Node, id: &str, base: Option<&ModelSpec>, decoder: &mut Decoder<'_>) -> Option<String> {
    let given = node.field("provider");
    let name = given.and_then(Node::text).or_else(|| base.map(|base| base.provider.as_str()));
    let Some(name) = name else {
        let known: Vec<&str> = decoder.catalog.names(Kind::Provider).collect();
        decoder
            .problems
            .error(&node.place, format!("the model `{id}` needs `provider` or `like`"))
            .hint(format!("`like: {id}` copies the registry's entry; `provider` is one of {}", known.join(", ")));
        return None;
    };
    if let Some(at) = given
        // The shipped registry is read without a catalog.
        && !decoder.catalog.providers.is_empty()
        && decoder.catalog.member(Kind::Provider, name).is_none()
    {
        let hint = crate::diagnostics::nearest::suggestion(name, decoder.catalog.names(Kind::Provider));
        decoder.problems.error(&at.place, format!("there is no provider `{name}`")).maybe_hint(hint);
        return None;
    }
    let reserved = match id {
        "stub" => Some(["stub", "scripted"]),
        _ if id.starts_with("cmd:") => Some(["command", "command"]),
        _ => None,
    };
    if let Some(allowed) = reserved.filter(|allowed| !allowed.contains(&name)) {
        decoder
            .problems
            .error(&node.place, format!("the id `{id}` is reserved for the provider `{}`", allowed[0]))
            .hint("give the model another id");
        return None;
    }
    Some(name.to_owned())
}

fn overlay(model: &mut ModelSpec, node: &Node, decoder: &mut Decoder<'_>) {
    let text = |key: &str| node.text_of(key).map(str::to_owned);
    if let Some(name) = text("model") {
        model.model = name;
    }
    if let Some(with) = node.field("with") {
        (model.with, model.files) = script::options(&model.provider, with, decoder);
    }
    model.family = text("family").or(model.family.take());
    model.base_url = text("base_url").or(model.base_url.take());
    model.context_window = integer_at(node, "context_window").or(model.context_window);
    let image_tokens = node.field("image_tokens").and_then(|rule| serde_json::from_value(rule.json()).ok());
    model.image_tokens = image_tokens.or(model.image_tokens);
    model.max_output = integer_at(node, "max_output").or(model.max_output);
    model.json_mode = word_at(node, "json_mode").unwrap_or(model.json_mode);
    model.tier = word_at(node, "tier").or(model.tier);
    model.availability = word_at(node, "availability").unwrap_or(model.availability);
    if let Some(limits) = node.field("limits").and_then(|limits| serde_json::from_value(limits.json()).ok()) {
        model.limits = limits;
    }
    if let Some(parameters) = node.field("parameters") {
        model.parameters = decoder.parameters(Some(parameters)).or(&model.parameters);
    }
    model.sampling = word_at(node, "sampling").or(model.sampling);
    model.timeout_ms = node.text_of("timeout").and_then(duration::parse).or(model.timeout_ms);
    model.notes = text("notes").or(model.notes.take());
}

/// The price of an entry; without one, a model on this machine or of a free provider is unmetered and any other keeps
/// what `like` brought. A program may call a model that is billed: nobody knows its price.
fn price(node: &Node, context: &EntryContext, model: &ModelSpec, registry: &Registry) -> Pricing {
    match node.get("price") {
        Some(price) if price.text() == Some("unmetered") => Pricing::Unmetered,
        Some(price) if price.is_null() => Pricing::Unknown,
        Some(price) => {
            // The check of the grammar reports a missing `input` or `output`; a price never counts half as free.
            let Some(base) = rate_set(price) else { return Pricing::Unknown };
            let service = price.field("service").map(Node::entries).unwrap_or_default();
            let stated = |key: &str, otherwise: &Option<String>| {
                price.text_of(key).map(str::to_owned).or_else(|| otherwise.clone())
            };
            let known = Price {
                base,
                batch: price.field("batch").and_then(tier_price),
                service: service.iter().filter_map(|tier| Some((tier.key.clone(), tier_price(&tier.node)?))).collect(),
                as_of: stated("as_of", &context.as_of),
                source: stated("source", &context.source),
            };
            // Its factors are the same for all of its models.
            let is_anthropic = model.provider == "anthropic";
            Pricing::Known(if is_anthropic { known.map(Rates::of_anthropic) } else { known })
        }
        None if runs_here(model, node) => Pricing::Unmetered,
        None if model.price == Pricing::Unknown && registry.named_models(&model.provider) == NamedModels::Free => {
            Pricing::Unmetered
        }
        None => model.price.clone(),
    }
}

/// A set of rates; `None` without `input` and `output`.
fn rate_set(node: &Node) -> Option<RateSet> {
    let above = node.field("above").map(Node::items).unwrap_or_default();
    let long = |item: &Node| Some(LongRates { tokens: integer_at(item, "tokens")?, rates: Some(rates(item)?) });
    Some(RateSet { rates: rates(node)?, above: above.iter().filter_map(long).collect() })
}

fn rates(node: &Node) -> Option<Rates> {
    let nano = |key: &str| node.field(key).and_then(Node::number).map(nano_per_million);
    Some(Rates {
        input: nano("input")?,
        output: nano("output")?,
        cached_input: nano("cached_input"),
        cache_write: nano("cache_write"),
        cache_write_1h: nano("cache_write_1h"),
        reasoning: nano("reasoning"),
        audio_input: nano("audio_input"),
    })
}

/// A share of the price, or rates of its own.
fn tier_price(node: &Node) -> Option<TierPrice> {
    match node.number() {
        Some(factor) => Some(TierPrice::Share(Share::from_factor(factor))),
        None => rate_set(node).map(TierPrice::Set),
    }
}

/// Nano-dollars of a price. A price above 0 is never free: below a nano-dollar it counts as one.
fn nano_per_million(usd: f64) -> u64 {
    let nano = (usd * 1e9).round() as u64;
    if usd > 0.0 { nano.max(1) } else { nano }
}

/// Less than any provider asks for a million tokens, in dollars, and more than almost any asks for one.
const LEAST_PER_MILLION: f64 = 0.0005;

/// Refuses prices that are meant for one token: under them a budget holds nothing.
fn report_tiny_prices(price: &Node, problems: &mut Problems) {
    for entry in price.entries() {
        // Sets of rates within it.
        entry.node.items().iter().chain([&entry.node]).for_each(|set| report_tiny_prices(set, problems));
        if let Some(usd) = entry.node.number().filter(|usd| *usd > 0.0 && *usd < LEAST_PER_MILLION) {
            problems
                .error(
                    &entry.node.place,
                    format!("`{}` is ${usd} for a million tokens: is it the price of one?", entry.key),
                )
                .hint(format!("prices are in US dollars per million tokens: write {}", usd * 1e6));
        }
    }
}

/// Reports an amount of money below 0.
pub(super) fn check_amount(field: &Entry, problems: &mut Problems) {
    if let Some(amount) = field.node.number().filter(|amount| *amount < 0.0) {
        let line = problems.line(&field.place);
        problems
            .error(&field.node.place, format!("line {line}: `{}` is {amount}", field.key))
            .hint("a price is 0 or more");
    }
}

fn runs_here(model: &ModelSpec, node: &Node) -> bool {
    let is_local = model.base_url.as_deref().is_some_and(is_loopback) && node.get("base_url").is_some();
    let is_script = model.is_scripted() && model.price == Pricing::Unknown;
    is_local || is_script
}

/// Returns whether an address is on this machine.
fn is_loopback(url: &str) -> bool {
    match url.contains("://") {
        true => is_this_machine(host_of(url)),
        // The scheme may be missing.
        false => is_this_machine(host_of(&format!("http://{url}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses() {
        for url in [
            "http://127.0.0.1:8099/v1",
            "http://localhost/v1",
            "http://a.localhost.:1/v1",
            "http://[::1]:1/",
            "http://user@127.9.9.9/",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["https://127.0.0.1.evil.example/v1", "http://localhost.example", "https://example.com/127.0.0.1"] {
            assert!(!is_loopback(url), "{url}");
        }
    }

    /// S3: a price below a nano-dollar is rounded up, never to free.
    #[test]
    fn prices_are_exact() {
        assert_eq!(nano_per_million(0.1), 100_000_000);
        assert_eq!(nano_per_million(1.25), 1_250_000_000);
        assert_eq!((nano_per_million(0.0), nano_per_million(1e-10), nano_per_million(1e-300)), (0, 1, 1));
    }
}
