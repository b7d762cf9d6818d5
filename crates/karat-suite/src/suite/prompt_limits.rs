//! Prompts that a model cannot take, and what images mean for identity, redaction and estimates.

use std::collections::BTreeSet;

use karat_types::{
    Action, ModelSpec, PrivacySpec, PromptContent, PromptMedia, PromptPart, PromptTurn, StepSpec, VariantSpec,
};

use crate::diagnostics::Problems;
use crate::registry::Registry;
use crate::syntax::node::Place;

/// Reports tools and images that a model does not take, and warns of images by address and of redaction that cannot see
/// into images.
pub(crate) fn check(
    variants: &[VariantSpec],
    models: &[ModelSpec],
    registry: &Registry,
    privacy: &PrivacySpec,
    place: &Place,
    problems: &mut Problems,
) {
    let mut errors = BTreeSet::new();
    let mut addresses = BTreeSet::new();
    let mut has_images = false;
    for (step, turns) in prompts(variants) {
        let media: Vec<&PromptMedia> = written_media(turns).collect();
        let has_tools = step.offers_tools() && step.action.as_agent().is_none_or(|agent| !agent.tools.is_empty());
        has_images |= !media.is_empty();
        addresses.extend(media.iter().filter_map(|media| address(media)));
        for model in models_of(step, models, registry) {
            if model.is_program() && (has_tools || !media.is_empty()) {
                let what = if has_tools { "tools" } else { "images" };
                errors.insert(format!("step `{}`: `{}` runs a program, which takes no {what}", step.id, model.id));
            }
            if model.provider == "gemini" && media.iter().any(|media| address(media).is_some()) {
                let fetch = "make it a file by a column's `fetch`";
                errors.insert(format!("step `{}`: gemini takes no image by address; {fetch}", step.id));
            }
        }
    }
    for error in errors {
        problems.error(place, error);
    }
    for address in addresses {
        problems
            .warn(place, format!("`{address}` is known by its address only: what is there may change unnoticed"))
            .hint("make it a file: an image is then known by its bytes");
    }
    if has_images && !(privacy.redact.is_empty() && privacy.patterns.is_empty()) {
        problems.warn(place, "redact patterns cannot see into images").hint("leave out images with personal data");
    }
}

/// Notes on images of models whose entries do not say how they are counted.
pub(crate) fn image_notes(variants: &[VariantSpec], models: &[ModelSpec], registry: &Registry) -> Vec<String> {
    let with_images = prompts(variants).filter(|(_, turns)| written_media(turns).next().is_some());
    let models = with_images.flat_map(|(step, _)| models_of(step, models, registry));
    let unknown: BTreeSet<&str> =
        models.filter(|model| model.image_tokens.is_none()).map(|model| model.id.as_str()).collect();
    let note = |id| format!("{id}: an image is estimated at 16000 tokens; `image_tokens` in its entry says better");
    unknown.into_iter().map(note).collect()
}

fn prompts(variants: &[VariantSpec]) -> impl Iterator<Item = (&StepSpec, &[PromptTurn])> {
    variants.iter().flat_map(|variant| &variant.steps).filter_map(|step| match &step.action {
        Action::Prompt(prompt) => Some((step, prompt.messages.as_slice())),
        Action::Agent(agent) => Some((step, agent.messages.as_slice())),
        Action::Http(_) | Action::Command(_) | Action::Recorded(_) => None,
    })
}

/// The models that a step asks: its own, or those of the matrix.
fn models_of<'a>(
    step: &StepSpec,
    models: &'a [ModelSpec],
    registry: &'a Registry,
) -> impl Iterator<Item = &'a ModelSpec> {
    let own = step.model.as_deref().and_then(|id| registry.get(id));
    let matrix = if step.model.is_none() { models } else { &[] };
    own.into_iter().chain(matrix)
}

fn written_media(turns: &[PromptTurn]) -> impl Iterator<Item = &PromptMedia> {
    let parts = turns.iter().flat_map(|turn| match turn {
        PromptTurn::Written { content: PromptContent::Parts(parts), .. } => parts.as_slice(),
        PromptTurn::Written { content: PromptContent::Text(_), .. } | PromptTurn::Spliced { .. } => &[],
    });
    parts.filter_map(|part| match part {
        PromptPart::Text(_) => None,
        PromptPart::Image(media) | PromptPart::File(media) => Some(media),
    })
}

/// The address that stands in the suite.
fn address(media: &PromptMedia) -> Option<&str> {
    let is_address = media.source.starts_with("http://") || media.source.starts_with("https://");
    is_address.then_some(media.source.as_str())
}
