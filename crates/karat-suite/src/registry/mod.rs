//! The model registry: the known models by id. It runs nothing.
//!
//! - here: [`Registry`] and its sets; `entry.rs`: one entry, with `like`, prices and the spellings of other tools
//! - `named.rs`: models without an entry, `PROVIDER:NAME`; `unknown.rs`: what is said of a name that means nothing
//! - `price_file.rs`: prices that a user adds; `litellm.rs`: LiteLLM's list of them
//! - `script.rs`: options of scripted models

mod entry;
mod litellm;
mod named;
mod price_file;
mod script;
mod unknown;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use karat_text::env_template;
use karat_types::ModelSpec;
use serde_json::Value;

use crate::catalog::{Catalog, NamedModels};
use crate::diagnostics::nearest::nearest;
use crate::syntax::environment::Environment;

pub(crate) use entry::{EntryContext, model, read_file};
pub(crate) use named::makes_embeddings;
pub use price_file::{PriceFile, PriceOrigin};

/// The registry file that ships with the product.
const BUILTIN: &str = include_str!("../../registry/models.yaml");

/// The shipped set for a first comparison, of at most four models.
const STARTER: &str = "starter";

/// Known models in order, and named sets of them. Ids are unique.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Registry {
    models: Vec<ModelSpec>,
    sets: BTreeMap<String, Vec<String>>,
    /// The providers, and which of their models need no entry.
    providers: BTreeMap<String, NamedModels>,
}

static SHIPPED: LazyLock<Registry> = LazyLock::new(|| entry::builtin_registry(BUILTIN).0);

impl Registry {
    /// The models that ship with the product.
    pub fn builtin() -> Self {
        SHIPPED.clone()
    }

    /// The same models, and those that the catalog's providers serve by name.
    #[must_use]
    pub fn with_providers(self, catalog: &Catalog) -> Self {
        let providers = catalog.providers.iter().map(|(name, entry)| (name.clone(), entry.named_models));
        Self { providers: providers.collect(), ..self }
    }

    /// The model with exactly this id.
    pub fn get(&self, id: &str) -> Option<&ModelSpec> {
        self.models.iter().find(|model| model.id == id)
    }

    /// The model that a reference means: an id, `provider/model` or `provider:model`, or the provider's own name. A model
    /// that is not listed is meant by `provider:model` alone.
    pub fn find(&self, reference: &str) -> Option<Cow<'_, ModelSpec>> {
        let by_spelling = || {
            let (provider, name) = reference.split_once([':', '/'])?;
            let provider = named::provider(provider);
            self.models.iter().find(|model| model.provider == provider && (model.id == name || model.model == name))
        };
        let by_name = || self.models.iter().find(|model| model.model == reference);
        let listed = self.get(reference).or_else(by_spelling).or_else(by_name);
        listed.map(Cow::Borrowed).or_else(|| self.find_named(reference).map(Cow::Owned))
    }

    /// The model of a provider, written `PROVIDER:NAME`, that needs no entry.
    fn find_named(&self, reference: &str) -> Option<ModelSpec> {
        let (provider, name) = named::split(reference)?;
        let named = named::model(provider, name, *self.providers.get(provider)?)?;
        let same = named::other_protocol(provider).and_then(|provider| {
            self.models.iter().find(|model| model.provider == provider && (model.id == name || model.model == name))
        });
        Some(match same {
            Some(known) => ModelSpec { id: named.id, provider: named.provider, ..known.clone() },
            None => named,
        })
    }

    /// The models of a provider that need no entry.
    fn named_models(&self, provider: &str) -> NamedModels {
        self.providers.get(provider).copied().unwrap_or_default()
    }

    /// The ids of the models of a set.
    pub fn set(&self, name: &str) -> Option<&[String]> {
        self.sets.get(name).map(Vec::as_slice)
    }

    /// The sets by name, each with the ids of its models.
    pub fn sets(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.sets.iter().map(|(name, ids)| (name.as_str(), ids.as_slice()))
    }

    /// The ids of the models for a first comparison, for hints.
    pub(crate) fn starter_ids(&self) -> String {
        self.set(STARTER).unwrap_or_default().join(",")
    }

    /// The id or the name of a set that an unknown reference was most likely meant to be.
    pub fn nearest(&self, reference: &str) -> Option<&str> {
        let sets = self.sets.keys().map(String::as_str);
        let ids = || self.models.iter().map(|model| model.id.as_str()).chain(sets.clone());
        let name = reference.split_once([':', '/']).map_or(reference, |(_, name)| name);
        nearest(reference, ids()).or_else(|| nearest(name, ids()))
    }

    /// The models in order.
    pub fn models(&self) -> std::slice::Iter<'_, ModelSpec> {
        self.models.iter()
    }

    /// The environment variables that contain keys or are used in headers.
    pub(crate) fn key_variables(&self) -> Vec<String> {
        let mut names: BTreeSet<String> = self.models.iter().filter_map(|model| model.api_key_env.clone()).collect();
        let headers = self.models.iter().filter_map(|model| model.with.get("headers")?.as_object());
        for text in headers.flat_map(|headers| headers.values()).filter_map(Value::as_str) {
            names.extend(env_template::parts(text).variables().map(str::to_owned));
        }
        names.into_iter().collect()
    }

    /// Adds a model; it replaces one with the same id.
    pub fn add(&mut self, model: ModelSpec) {
        match self.models.iter_mut().find(|known| known.id == model.id) {
            Some(known) => *known = model,
            None => self.models.push(model),
        }
    }

    /// Adds a set; it replaces one of the same name.
    pub(crate) fn add_set(&mut self, name: &str, ids: Vec<String>) {
        self.sets.insert(name.to_owned(), ids);
    }

    /// Fills `${NAME}` in the names of models: who answers is part of identity. A variable that is not set is left for
    /// the connection to complain about.
    pub(crate) fn name_models(&mut self, environment: &Environment) {
        for model in &mut self.models {
            if let Ok(name) = environment.expand(&model.model) {
                model.model = name;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_file_has_no_problem() {
        let (_, problems) = entry::builtin_registry(BUILTIN);
        assert!(problems.is_empty(), "{problems}");
    }
}
