//! Decoding of `models` and `judges`.

use karat_types::{ModelSpec, Tier};

use super::Decoder;
use crate::diagnostics::Problems;
use crate::diagnostics::nearest::suggestion;
use crate::grammar::Kind;
use crate::registry::{self, EntryContext, Registry};
use crate::syntax::node::{Node, Place, Tree};

impl Decoder<'_> {
    /// Adds the entries that a list of models holds to the registry.
    pub fn own_entries(&mut self, list: Option<&Node>, registry: &mut Registry) {
        for item in list.map(Node::items).unwrap_or_default().iter().filter(|item| is_entry(item)) {
            if let Some(model) = registry::model(item, &EntryContext::default(), registry, self) {
                registry.add(model);
            }
        }
    }

    /// The models that a list names: those of the command line, where there are any.
    pub fn select_models(
        &mut self,
        list: Option<&Node>,
        flag: &str,
        given: &[String],
        registry: &Registry,
    ) -> Vec<ModelSpec> {
        let references: Vec<(String, Place)> = match given {
            names if !names.is_empty() => names.iter().map(|name| self.on_command_line(flag, name)).collect(),
            _ => {
                let items = list.map(Node::items).unwrap_or_default().iter();
                let named = items.filter_map(|item| Some((item, item.main("id")?.text()?)));
                // An entry that could not be read has been reported already.
                let usable = named.filter(|(item, id)| !is_entry(item) || registry.get(id).is_some());
                usable.map(|(item, id)| (id.to_owned(), item.place.clone())).collect()
            }
        };
        let mut models: Vec<ModelSpec> = Vec::new();
        for (reference, place) in references {
            if let Some(ids) = registry.set(&reference).filter(|_| registry.find(&reference).is_none()) {
                self.add_set(ids, &place, registry, &mut models);
                continue;
            }
            let Some(model) = self.chat_model(&reference, &place, registry) else { continue };
            if models.iter().any(|earlier| earlier.id == model.id) {
                self.problems.error(&place, format!("the model `{}` is listed twice", model.id));
                continue;
            }
            models.push(model);
        }
        models
    }

    /// Adds the models of a set, except those that are there already.
    fn add_set(&mut self, ids: &[String], place: &Place, registry: &Registry, models: &mut Vec<ModelSpec>) {
        for id in ids {
            let model = self.known_model(id, place, registry);
            models.extend(model.filter(|model| !models.iter().any(|earlier| earlier.id == model.id)));
        }
    }

    /// Keeps the models of a tier; without models, those of the registry that can be counted on.
    pub fn filter_by_tier(
        &mut self,
        models: Vec<ModelSpec>,
        tier: Option<Tier>,
        registry: &Registry,
    ) -> Vec<ModelSpec> {
        let Some(tier) = tier else { return models };
        let fits = |model: &ModelSpec| model.tier == Some(tier);
        let found: Vec<ModelSpec> = if models.is_empty() {
            let stable = |model: &&ModelSpec| model.availability == karat_types::Availability::Stable;
            registry.models().filter(stable).filter(|model| fits(model)).cloned().collect()
        } else {
            models.into_iter().filter(fits).collect()
        };
        if found.is_empty() {
            let (_, place) = self.on_command_line("--tier", &format!("{tier:?}").to_lowercase());
            self.problems.error(&place, "the suite has no model of this tier");
        }
        found
    }

    /// The model that a reference means, if it can answer a prompt.
    pub fn chat_model(&mut self, reference: &str, place: &Place, registry: &Registry) -> Option<ModelSpec> {
        let model = self.known_model(reference, place, registry)?;
        if registry::makes_embeddings(&model) {
            self.problems
                .error(place, format!("the model `{}` makes embeddings, so it cannot answer a prompt", model.id))
                .hint("name a chat model; `karat models` lists those with a known price");
            return None;
        }
        Some(model)
    }

    /// The id of the model that makes vectors for a scorer.
    pub fn embedder(&mut self, node: &Node, registry: &Registry) -> Option<String> {
        let reference = node.text()?;
        let model = self.known_model(reference, &node.place, registry)?;
        if self.catalog.member(Kind::Provider, &model.provider).is_some_and(|provider| !provider.makes_embeddings) {
            let able = self
                .catalog
                .providers
                .iter()
                .filter(|(_, entry)| entry.makes_embeddings)
                .map(|(name, _)| name.as_str());
            self.problems
                .error(&node.place, format!("karat has no embeddings of the provider `{}`", model.provider))
                .hint(format!("name a model of {}", able.collect::<Vec<_>>().join(", ")));
            return None;
        }
        Some(model.id)
    }

    /// The model that a reference means, if its provider is there.
    pub fn known_model(&mut self, reference: &str, place: &Place, registry: &Registry) -> Option<ModelSpec> {
        let Some(model) = registry.find(reference) else {
            registry.report_unknown(reference, place, &mut self.problems);
            return None;
        };
        if self.catalog.member(Kind::Provider, &model.provider).is_none() {
            let message = format!("there is no provider `{}`, which the model `{}` names", model.provider, model.id);
            let known: Vec<&str> = self.catalog.names(Kind::Provider).collect();
            self.problems.error(place, message).hint(format!("providers: {}", known.join(", ")));
        }
        Some(model.into_owned())
    }

    /// A name that was given on the command line, with a place for what is wrong with it.
    pub fn on_command_line(&mut self, flag: &str, name: &str) -> (String, Place) {
        let file = self.problems.command_line(flag, name);
        (name.to_owned(), Place { file, span: 0..name.len() })
    }
}

/// Returns whether an item of a list of models is more than an id.
fn is_entry(item: &Node) -> bool {
    matches!(&item.value, Tree::Map(entries) if entries.iter().any(|entry| entry.key != "id"))
}

/// Reports a name that is not among the known ones.
pub(crate) fn report_unknown_id(what: &str, name: &str, known: &[&str], place: &Place, problems: &mut Problems) {
    problems
        .error(place, format!("the suite has no {what} `{name}`"))
        .maybe_hint(suggestion(name, known.iter().copied()));
}
