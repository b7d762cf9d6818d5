//! The differences between the plans of two sides: models, prompts, scorers and the dataset, each as a difference word by word.

use std::collections::BTreeSet;

use karat_analysis::compare::{RunComparison, SideSummary};
use karat_analysis::system_id;
use karat_page::text::{diff, visible};
use karat_page::{Markup, html};
use karat_types::PlanHeader;
use serde::Serialize;

use crate::shared::readable;

/// Bytes of a part from which on its difference scrolls within its frame.
const LONG: usize = 1_500;

/// A part of a plan: its name, and its content in both plans.
struct Part {
    name: String,
    before: String,
    after: String,
}

pub(super) fn section(compared: &RunComparison, [before, after]: [&PlanHeader; 2]) -> Markup {
    let sides = [(before, &compared.baseline), (after, &compared.candidate)];
    let [used_before, used_after] = sides.map(|(plan, side)| Used::of(plan, side));
    let mut parts = vec![
        part("dataset", &before.dataset, &after.dataset),
        part("seed and limits", &before.run, &after.run),
        part("judges", &before.judges, &after.judges),
    ];
    parts.extend(pairs("model", &used_before.models, &used_after.models));
    parts.extend(pairs("variant", &used_before.variants, &used_after.variants));
    let named = |plan: &PlanHeader| plan.scorers.iter().map(|it| (it.id.clone(), text(it))).collect::<Vec<_>>();
    parts.extend(pairs("scorer", &named(before), &named(after)));
    let (same, differ): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.before == part.after);
    let same: Vec<String> = same.into_iter().map(|part| part.name).collect();
    html! {
        @if differ.is_empty() { p { "Nothing in the plans differs: the same models, prompts, scorers and dataset." } }
        @for part in &differ {
            div.panel {
                header { h3 { (visible::line(&part.name)) } }
                @let is_long = part.before.len().max(part.after.len()) > LONG;
                div.scrolled[is_long] tabindex=[is_long.then_some("0")] role=[is_long.then_some("region")]
                    aria-label=[is_long.then(|| visible::line(&part.name))] { (diff::render(&part.before, &part.after)) }
            }
        }
        @if !same.is_empty() { p.soft { "The same on both sides: " (visible::line(&same.join(", "))) "." } }
    }
}

/// The models and variants that the systems of a side use.
struct Used {
    models: Vec<(String, String)>,
    variants: Vec<(String, String)>,
}

impl Used {
    fn of(plan: &PlanHeader, side: &SideSummary) -> Self {
        let (mut models, mut variants) = (BTreeSet::new(), BTreeSet::new());
        for (at, system) in plan.systems.iter().enumerate() {
            if side.systems.contains(&system_id(plan, at)) {
                models.extend(system.model);
                variants.insert(system.variant);
            }
        }
        let models = models.into_iter().filter_map(|at| plan.models.get(at)).map(|it| (it.id.clone(), text(it)));
        let variants = variants.into_iter().filter_map(|at| plan.variants.get(at));
        Self { models: models.collect(), variants: variants.map(|it| (it.id.clone(), text(&it.steps))).collect() }
    }
}

/// Pairs what both sides have under one name; a single one of each side is a pair under any name.
fn pairs(kind: &str, before: &[(String, String)], after: &[(String, String)]) -> Vec<Part> {
    if let ([(name, old)], [(other, new)]) = (before, after) {
        let name = if name == other { format!("{kind} {name}") } else { format!("{kind} {name} → {other}") };
        return vec![Part { name, before: old.clone(), after: new.clone() }];
    }
    let mut names: Vec<&String> = before.iter().chain(after).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let find = |side: &[(String, String)], name: &String| {
        side.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone()).unwrap_or_default()
    };
    let part =
        |name: &String| Part { name: format!("{kind} {name}"), before: find(before, name), after: find(after, name) };
    names.into_iter().map(part).collect()
}

fn part(name: &str, before: &impl Serialize, after: &impl Serialize) -> Part {
    Part { name: name.to_owned(), before: text(before), after: text(after) }
}

/// Returns a part of a plan as text: prompts as they are, everything else as indented lines.
fn text(of: &impl Serialize) -> String {
    serde_json::to_value(of).map(|value| readable::text(&value)).unwrap_or_default()
}
