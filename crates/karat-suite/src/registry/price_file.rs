//! Price files: what a user adds to the known models. A registry file with a date and a source, or LiteLLM's list of prices.
//!
//! A price file holds facts about models and nothing that acts: no program, no address, no key. So a list from elsewhere can
//! be added without reading it line by line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use karat_types::ModelSpec;
use serde_json::{Map, Value, json};

use super::{Registry, entry, litellm};
use crate::catalog::Catalog;
use crate::check::secrets;
use crate::decode::Decoder;
use crate::diagnostics::{Diagnostics, Problems};
use crate::files::DiskFiles;
use crate::syntax::node::{Entry, Node, Place};
use crate::syntax::yaml;

/// Keys of an entry that say who answers, and how it is reached.
const ACTING: [&str; 6] = ["with", "base_url", "api_key_env", "api_key_command", "parameters", "timeout"];

/// A file with prices.
#[derive(Debug, Clone, Default)]
pub struct PriceFile {
    /// Its entries as registries have them, each with the date and the source of its price.
    pub entries: Vec<Map<String, Value>>,
    /// Entries that were left out: not for chats, or of another provider.
    pub skipped: usize,
    /// Fields of the entries that state a cost of a kind which no price here has, with the number of models that have them.
    pub unapplied: BTreeMap<String, u64>,
}

/// The origin of prices, where the file does not name it.
#[derive(Debug, Clone, Default)]
pub struct PriceOrigin {
    /// The day on which they were read, as YYYY-MM-DD.
    pub as_of: Option<String>,
    /// Where they were read.
    pub source: Option<String>,
    /// The day that holds where neither the file nor `as_of` says one: that on which an address was read.
    pub read_on: Option<String>,
}

impl PriceFile {
    /// Reads a file. `known` are the models that it may change.
    ///
    /// # Errors
    /// All problems of the file, each with its place.
    pub fn read(
        (path, text): (&str, &str),
        given: &PriceOrigin,
        catalog: &Catalog,
        known: &Registry,
    ) -> Result<Self, Diagnostics> {
        let known = known.clone().with_providers(catalog);
        let mut decoder = Decoder::new(Arc::new(DiskFiles), catalog);
        let place = decoder.register(path, text);
        let Some(node) = yaml::read_tree(text, place.file, &mut decoder.problems) else {
            return Err(decoder.problems.into_diagnostics());
        };
        secrets::refuse(&node, &mut decoder.problems);
        let is_registry = node.field("models").is_some() || !litellm::is_list(&node);
        let mut read = match is_registry {
            true => registry_entries(&node, &known, &mut decoder.problems),
            false => {
                let list = litellm::read(&node, &known, &mut decoder.problems);
                Self { entries: list.entries, skipped: list.skipped, unapplied: list.unapplied }
            }
        };
        let origin = PriceOrigin {
            as_of: (given.as_of.clone())
                .or_else(|| node.text_of("as_of").filter(|_| is_registry).map(str::to_owned))
                .or_else(|| given.read_on.clone()),
            read_on: None,
            source: given.source.clone().or_else(|| node.text_of("source").filter(|_| is_registry).map(str::to_owned)),
        };
        let place = node.field("as_of").or(node.field("models")).unwrap_or(&node).place.clone();
        state_origin(&mut read.entries, &origin, (path, &place), &mut decoder.problems);
        // Anything else that is wrong is found as in any registry file; one mistake is told once.
        if decoder.problems.errors() == 0 && is_registry {
            entry::extend(&node_of(&read.entries, &node), &mut known.clone(), &mut decoder);
        }
        let problems = decoder.problems.into_diagnostics();
        if problems.has_errors() { Err(problems) } else { Ok(read) }
    }

    /// The file in which these entries are kept.
    pub fn document(entries: &[Map<String, Value>]) -> Value {
        json!({ "schema": "karat.models/1", "models": entries })
    }
}

impl Registry {
    /// The same models with the entries of a kept file over them.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn with_entries(self, (path, text): (&str, &str), catalog: &Catalog) -> Result<Self, Diagnostics> {
        let mut registry = self.with_providers(catalog);
        let mut decoder = Decoder::new(Arc::new(DiskFiles), catalog);
        let place = decoder.register(path, text);
        // Only Karat writes it, as JSON, which is read many times faster than YAML.
        match serde_json::from_str::<Value>(text) {
            Ok(value) => entry::extend(&Node::of_json(&value, &place), &mut registry, &mut decoder),
            Err(error) => {
                decoder.problems.error(&place, format!("it is not valid JSON: {error}"));
            }
        }
        let problems = decoder.problems.into_diagnostics();
        if problems.has_errors() { Err(problems) } else { Ok(registry) }
    }

    /// The listed model that a reference means; models that only their names say are not listed.
    pub fn listed_model(&self, reference: &str) -> Option<&ModelSpec> {
        match self.find(reference)? {
            Cow::Borrowed(model) => Some(model),
            Cow::Owned(_) => None,
        }
    }
}

/// The tree of a registry file with these entries, at the places of the file.
fn node_of(entries: &[Map<String, Value>], file: &Node) -> Node {
    let items = file.field("models").map(Node::items).unwrap_or_default();
    let models = entries.iter().zip(items).map(|(entry, item)| Node::of_json(&json!(entry), &item.place));
    let place = file.place.clone();
    let models = Node { value: crate::syntax::node::Tree::List(models.collect()), place: place.clone() };
    let entry = Entry { key: "models".to_owned(), place: place.clone(), node: models };
    Node { value: crate::syntax::node::Tree::Map(vec![entry]), place }
}

/// The entries of a registry file. One for a known model is a change of it.
fn registry_entries(node: &Node, known: &Registry, problems: &mut Problems) -> PriceFile {
    let Some(models) = node.field("models") else {
        problems
            .error(&node.place, "a price file needs `models`")
            .hint("write a registry file, or give LiteLLM's `model_prices_and_context_window.json`");
        return PriceFile::default();
    };
    let mut entries = Vec::new();
    for item in models.items() {
        for entry in item.entries().iter().filter(|entry| ACTING.contains(&entry.key.as_str())) {
            problems
                .error(&entry.place, format!("a price file cannot set `{}`", entry.key))
                .hint("it holds prices and limits; put this into a registry file of the suite");
        }
        if let Some(price) = item.field("price") {
            check_amounts(price, problems);
        }
        let mut entry = item.json_map();
        let listed = item.text_of("id").and_then(|id| known.get(id));
        if listed.is_some() && !entry.contains_key("like") && !entry.contains_key("provider") {
            entry.insert("like".to_owned(), json!(item.text_of("id")));
        }
        entries.push(entry);
    }
    PriceFile { entries, ..PriceFile::default() }
}

/// Reports amounts of money below 0, in every set of rates.
fn check_amounts(price: &Node, problems: &mut Problems) {
    price.items().iter().for_each(|set| check_amounts(set, problems));
    for field in price.entries() {
        entry::check_amount(field, problems);
        check_amounts(&field.node, problems);
    }
}

/// Writes the day and the source into every price that has none.
fn state_origin(
    entries: &mut [Map<String, Value>],
    origin: &PriceOrigin,
    (path, place): (&str, &Place),
    problems: &mut Problems,
) {
    let file = if path.contains("://") { path } else { path.rsplit('/').next().unwrap_or(path) };
    let source = origin.source.as_deref().unwrap_or(file);
    let mut is_missing = false;
    for price in entries.iter_mut().filter_map(|entry| entry.get_mut("price")?.as_object_mut()) {
        if !price.contains_key("source") {
            price.insert("source".to_owned(), json!(source));
        }
        if let (None, Some(as_of)) = (price.get("as_of"), &origin.as_of) {
            price.insert("as_of".to_owned(), json!(as_of));
        }
        match price.get("as_of").map(|day| (day.as_str().and_then(|day| day.parse::<Date>().ok()), day)) {
            None => is_missing = true,
            Some((None, day)) => {
                problems.error(place, format!("`as_of` is {day}, but must be a day such as 2026-11-26"));
            }
            Some((Some(_), _)) => {}
        }
    }
    if is_missing {
        problems
            .error(place, "no `as_of`")
            .hint("say on which day the prices were read: `as_of: 2026-11-26` in the file, or `--as-of 2026-11-26`");
    }
}
