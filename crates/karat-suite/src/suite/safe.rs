//! `--safe`: an untrusted suite runs no program on this machine.

use std::collections::BTreeSet;

use karat_types::{ModelSpec, ScorerKind, ScorerSpec, StepSpec, VariantSpec};

use crate::diagnostics::Problems;
use crate::registry::Registry;
use crate::syntax::node::{Node, Place};

const HINT: &str = "read the suite, then run it without --safe";

/// Reports every key that runs a program.
pub(crate) fn refuse_keys(suite: &Node, problems: &mut Problems) {
    let mut refuse = |place: &Place, what: &str| {
        problems.error(place, format!("{what} runs a program, which --safe refuses")).hint(HINT);
    };
    for entry in members(suite, "services") {
        refuse(&entry.place, "a service");
    }
    for variant in members(suite, "variants") {
        for step in variant.node.items() {
            step.entries().iter().filter(|it| it.key == "command").for_each(|it| refuse(&it.place, "a `command` step"));
        }
    }
    for tool in members(suite, "tools") {
        tool.node
            .entries()
            .iter()
            .filter(|it| it.key == "command")
            .for_each(|it| refuse(&it.place, "a tool's `command`"));
    }
    for scorer in members(suite, "scorers") {
        let metric = scorer.node.field("metric").filter(|metric| metric.text() == Some("command"));
        if let Some(metric) = metric {
            refuse(&metric.place, "the metric `command`");
        }
    }
    let columns = suite.get("dataset").map(|dataset| members(dataset, "columns")).unwrap_or_default();
    for fetch in columns.iter().filter_map(|column| column.node.field("fetch")) {
        refuse(&fetch.place, "`fetch`");
    }
}

/// Reports every model, of those that are called, behind which there is a program.
pub(crate) fn refuse_models(
    models: &[ModelSpec],
    variants: &[VariantSpec],
    scorers: &[ScorerSpec],
    registry: &Registry,
    place: &Place,
    problems: &mut Problems,
) {
    let of_steps = variants.iter().flat_map(|variant| &variant.steps).flat_map(StepSpec::named_models);
    let of_scorers = scorers.iter().flat_map(|scorer| match &scorer.kind {
        ScorerKind::Rubric(rubric) => rubric.judges.as_slice(),
        ScorerKind::Metric { .. } => &[],
    });
    let named = of_steps.chain(of_scorers.map(String::as_str)).filter_map(|id| registry.get(id));
    let runs = |model: &ModelSpec| match model.api_key_command.is_empty() {
        true => model.is_program().then(|| format!("the model `{}`", model.id)),
        false => Some(format!("the `api_key_command` of the model `{}`", model.id)),
    };
    let refused: BTreeSet<String> = models.iter().chain(named).filter_map(runs).collect();
    for what in refused {
        problems.error(place, format!("{what} runs a program, which --safe refuses")).hint(HINT);
    }
}

fn members<'a>(node: &'a Node, key: &str) -> &'a [crate::syntax::node::Entry] {
    node.get(key).map(Node::entries).unwrap_or_default()
}
