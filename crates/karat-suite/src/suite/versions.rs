//! Declared versions: a suite that names some should name all.

use std::collections::BTreeSet;

use karat_types::{ScorerKind, ScorerSpec, VariantSpec};

use crate::decode::Decoder;
use crate::syntax::node::Node;

/// Warns of prompt steps without a version in a suite that declares versions of other things. A suite without any is
/// identified by content alone.
pub(crate) fn missing(suite: &Node, variants: &[VariantSpec], scorers: &[ScorerSpec], decoder: &mut Decoder<'_>) {
    let steps = || variants.iter().flat_map(|variant| variant.steps.iter().map(move |step| (variant, step)));
    let of_rubrics = scorers.iter().any(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => rubric.rubric.version.is_some(),
        ScorerKind::Metric { .. } => false,
    });
    let of_dataset = suite.field("dataset").is_some_and(|dataset| dataset.field("version").is_some());
    if !(of_rubrics || of_dataset || steps().any(|(_, step)| step.version.is_some())) {
        return;
    }
    let without = steps().filter(|(_, step)| step.version.is_none() && step.action.calls_model());
    let names: BTreeSet<String> = without.map(|(variant, step)| format!("`{}.{}`", variant.id, step.id)).collect();
    if let (false, Some(place)) = (names.is_empty(), suite.field("variants")) {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        decoder
            .problems
            .warn(&place.place, format!("without a `version`, these steps count as `unknown-v0`: {names}"))
            .hint("declare the version of each prompt, `version: v1`, and raise it when the prompt changes");
    }
}
