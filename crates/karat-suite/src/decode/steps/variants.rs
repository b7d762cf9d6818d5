//! Variants: steps in order, `use` inlined.

use std::collections::BTreeSet;

use karat_types::{Action, StepSpec, VariantSpec};

use crate::decode::Decoder;
use crate::decode::steps::Position;
use crate::diagnostics::nearest::suggestion;
use crate::overrides::Overrides;
use crate::registry::Registry;
use crate::syntax::node::{Entry, Node};

impl Decoder<'_> {
    /// Every variant of the suite except those that a sweep replaces.
    pub fn variants(
        &mut self,
        node: Option<&Node>,
        swept: &BTreeSet<String>,
        registry: &Registry,
        overrides: &Overrides,
    ) -> Vec<VariantSpec> {
        let entries = node.map(Node::entries).unwrap_or_default();
        if let Some(node) = node.filter(|node| entries.is_empty() && node.items().is_empty()) {
            self.problems
                .error(&node.place, "the suite has no variant")
                .hint("write at least one: NAME: [ { prompt: FILE } ]");
        }
        let mut all = Vec::new();
        for entry in entries.iter().filter(|entry| !swept.contains(&entry.key)) {
            let mut expanding = vec![entry.key.as_str()];
            let steps = self.steps(&entry.node, entries, &mut expanding, 0, registry);
            let mut variant = VariantSpec { id: entry.key.clone(), steps };
            self.one_of_a_kind(entry, &variant);
            variant.steps.iter_mut().for_each(|step| limit(step, overrides));
            all.push(variant);
        }
        all
    }

    fn steps<'n>(
        &mut self,
        list: &'n Node,
        variants: &'n [Entry],
        expanding: &mut Vec<&'n str>,
        before: usize,
        registry: &Registry,
    ) -> Vec<StepSpec> {
        let mut steps: Vec<StepSpec> = Vec::new();
        for node in list.items() {
            if let Some(used) = node.field("use") {
                steps.extend(self.used_steps(used, node, variants, expanding, before + steps.len(), registry));
                continue;
            }
            let index = before + steps.len();
            let is_after_text = steps.last().is_some_and(StepSpec::is_unparsed_text);
            let position = Position { index, has_output: index > 0, is_after_text, is_chunked: false };
            let Some(mut step) = self.step(node, position, registry) else {
                continue;
            };
            if let Some(model) = node.field("model") {
                step.model = self.step_model(model, registry);
            }
            steps.push(step);
        }
        if list.items().is_empty() {
            self.problems.error(&list.place, "a variant needs at least one step");
        }
        steps
    }

    fn used_steps<'n>(
        &mut self,
        used: &'n Node,
        step: &Node,
        variants: &'n [Entry],
        expanding: &mut Vec<&'n str>,
        before: usize,
        registry: &Registry,
    ) -> Vec<StepSpec> {
        let Some(name) = used.text() else { return Vec::new() };
        if let Some(other) = step.entries().iter().find(|entry| entry.key != "use") {
            self.problems
                .error(&other.place, format!("`{}` cannot be combined with `use`", other.key))
                .hint("`use` inserts the steps unchanged: write this key in a step of its own");
        }
        let Some(target) = variants.iter().find(|entry| entry.key == name) else {
            let known = variants.iter().map(|entry| entry.key.as_str());
            self.problems
                .error(&used.place, format!("there is no variant `{name}`"))
                .maybe_hint(suggestion(name, known));
            return Vec::new();
        };
        if expanding.contains(&name) {
            let circle = expanding.iter().copied().chain([name]).collect::<Vec<_>>().join(" → ");
            self.problems.error(&used.place, format!("`use` is circular: {circle}"));
            return Vec::new();
        }
        expanding.push(name);
        let steps = self.steps(&target.node, variants, expanding, before, registry);
        expanding.pop();
        steps
    }

    fn step_model(&mut self, node: &Node, registry: &Registry) -> Option<String> {
        let reference = node.text()?;
        self.chat_model(reference, &node.place, registry).map(|model| model.id)
    }

    fn one_of_a_kind(&mut self, entry: &Entry, variant: &VariantSpec) {
        for (index, step) in variant.steps.iter().enumerate() {
            let is_recorded = matches!(step.action, Action::Recorded(_));
            if index > 0 && is_recorded {
                self.problems
                    .error(
                        &entry.place,
                        format!("in `{}`, step {} is recorded, but only the first step can be", entry.key, step.id),
                    )
                    .hint("a recorded step ignores the output of the steps before it");
            }
            if variant.steps.iter().take(index).any(|earlier| earlier.id == step.id) {
                self.problems
                    .error(&entry.place, format!("in `{}`, two steps have the id `{}`", entry.key, step.id))
                    .hint("give one of them another id");
            }
        }
    }
}

/// The command line overrides the step's own settings.
fn limit(step: &mut StepSpec, overrides: &Overrides) {
    if !matches!(step.action, Action::Recorded(_)) {
        step.timeout_ms = overrides.timeout_ms.or(step.timeout_ms);
        step.retries = overrides.retries.or(step.retries);
    }
    if step.action.calls_model() && overrides.max_output_tokens.is_some() {
        step.parameters.max_tokens = overrides.max_output_tokens;
    }
    if let Some(chunk) = &mut step.chunk {
        chunk.max = overrides.max_chunks.or(chunk.max);
    }
}
