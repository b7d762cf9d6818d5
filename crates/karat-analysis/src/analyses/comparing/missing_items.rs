//! `missing_items`: items in the outputs of some variants that the outputs of others lack, by kind of item.
//!
//! The items of the `from` variants, such as lists made by people or other programs, are searched for in the outputs of
//! every other system on the same sample. An item that no system has is missing systematically; an item that only the
//! systems of some variants or models lack is attributed to these.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use karat_text::path::Path;
use karat_text::similar::{Folded, Statement};
use karat_types::{Action, AnalysisSpec, CellStatus, PlanHeader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, Outcome, ScoredCell, excerpt, options, options_error};
use crate::figures::groups::system_id;
use crate::score::instrument::metric_names::BY_WORDS;

/// Characters of an item that are kept.
const TEXT: usize = 200;

/// The kind of items that match no other.
const OTHER: &str = "other";

/// Options of `missing_items`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissingItemsOptions {
    /// Path of the items within an output.
    pub items: String,
    /// Field of an item that holds its text; if absent, items are texts.
    #[serde(default)]
    pub by: Option<String>,
    /// Field of an item that holds its kind.
    #[serde(default)]
    pub group: Option<String>,
    /// Kinds for items without a `group`: name → words or phrases. An item belongs to the first kind of which its text
    /// contains a word or phrase.
    #[serde(default)]
    pub groups: BTreeMap<String, Vec<String>>,
    /// Ids of the variants whose items are searched for.
    pub from: Vec<String>,
    /// Least similarity, 0 to 1, at which two texts count as one item. Texts that differ in a number, a unit, a name, a
    /// negation or a direction, or that have another word in the place of one, never do.
    #[serde(default = "similar")]
    pub similar: f64,
    /// Number of missing items listed.
    #[serde(default = "top")]
    pub top: usize,
}

fn similar() -> f64 {
    0.7
}

fn top() -> usize {
    40
}

/// The items searched for and missing.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MissingItems {
    /// The way in which items are matched.
    pub note: &'static str,
    /// The variants whose items were searched for.
    pub from: Vec<String>,
    /// Samples with items of at least one of them.
    pub samples: u64,
    /// By kind of item.
    pub groups: BTreeMap<String, MissingGroup>,
    /// Notable patterns, in words.
    pub patterns: Vec<String>,
    /// Items that only systems reading the whole input find, and no system reading it in chunks.
    pub cross_segment: Vec<MissingItem>,
    /// The first missing items, systematic ones first.
    pub missing: Vec<MissingItem>,
}

/// One kind of item.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MissingGroup {
    /// Number of distinct items by source variant.
    pub from: BTreeMap<String, u64>,
    /// Distinct items of all these variants.
    pub items: u64,
    /// Number of items that at least one other system has.
    pub found: u64,
    /// Number of items that no other system has.
    pub systematic: u64,
    /// Number of items that every system of some variant lacks and another variant has.
    pub by_variant: u64,
    /// Number of items that only some models lack.
    pub by_model: u64,
}

/// An item that at least one system lacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissingItem {
    /// The sample.
    pub sample: String,
    /// Its kind.
    pub group: String,
    /// Its text, cut.
    pub text: String,
    /// The variants that have it.
    pub from: Vec<String>,
    /// `systematic`, `by variant`, `by model`.
    pub reach: &'static str,
    /// The variants or models that lack it; empty if all do.
    pub lacking: Vec<String>,
}

/// The extent to which an item is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MissingExtent {
    Nowhere,
    Everywhere,
    Variants(Vec<String>),
    Models(Vec<String>),
}

/// A system whose outputs are searched.
struct Other {
    variant: String,
    model: String,
    in_pieces: bool,
    found: Vec<Statement>,
}

struct MissingItemsFold {
    plan: Arc<PlanHeader>,
    options: MissingItemsOptions,
    path: Path,
    /// The current sample with the items of its cells.
    sample: Option<String>,
    wanted: Vec<(String, String, String)>,
    others: Vec<Other>,
    found: MissingItems,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    let options: MissingItemsOptions = options(spec)?;
    if !(0.0..=1.0).contains(&options.similar) {
        return Err(options_error(spec, format!("similar is {}, but must be from 0 to 1", options.similar)));
    }
    if options.from.is_empty() {
        return Err(options_error(spec, "from is empty: list the variants whose items are expected"));
    }
    let path = Path::parse(&options.items).map_err(|error| options_error(spec, format!("items: {error}")))?;
    // A variant that `--variants` left out of this run is not an error.
    let found = MissingItems { from: options.from.clone(), note: BY_WORDS, ..MissingItems::default() };
    Ok(Some(Box::new(MissingItemsFold {
        plan: plan.clone(),
        options,
        path,
        sample: None,
        wanted: Vec::new(),
        others: Vec::new(),
        found,
    })))
}

impl MissingItemsFold {
    /// Text and kind of each item of an output.
    fn items(&self, output: &Value) -> Vec<(String, String)> {
        let found = self.path.first(output).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let text = |item: &Value| {
            let text = self.options.by.as_ref().map_or(Some(item), |by| item.get(by).or(Some(item)));
            text.and_then(Value::as_str).map(str::to_owned)
        };
        let items = found.iter().filter_map(|item| {
            let text = text(item)?;
            let own = self.options.group.as_ref().and_then(|group| item.get(group)?.as_str().map(str::to_owned));
            let group = own.unwrap_or_else(|| self.item_kind(&text));
            Some((text, group))
        });
        items.collect()
    }

    /// The first kind of which the text contains a word or phrase.
    fn item_kind(&self, text: &str) -> String {
        let words: Vec<String> = Folded::new(text).words().map(str::to_owned).collect();
        let holds = |phrase: &String| {
            let wanted: Vec<String> = Folded::new(phrase).words().map(str::to_owned).collect();
            !wanted.is_empty() && words.windows(wanted.len()).any(|window| window == wanted)
        };
        let fitting = self.options.groups.iter().find(|(_, phrases)| phrases.iter().any(holds));
        fitting.map_or(OTHER, |(name, _)| name).to_owned()
    }

    /// Returns true if the variant of a system reads its input in chunks.
    fn reads_in_pieces(&self, system: usize) -> bool {
        let variant = self.plan.systems.get(system).and_then(|it| self.plan.variants.get(it.variant));
        let steps = variant.map_or(&[][..], |variant| &variant.steps);
        steps.iter().any(|step| step.chunk.is_some() && matches!(step.action, Action::Prompt(_)))
    }

    /// Compares the items of the current sample and clears them.
    fn compare_sample(&mut self) {
        let (wanted, others) = (std::mem::take(&mut self.wanted), std::mem::take(&mut self.others));
        let Some(sample) = self.sample.take() else { return };
        if wanted.is_empty() || others.is_empty() {
            return;
        }
        self.found.samples += 1;
        let similar = Some(self.options.similar);
        let mut distinct: Vec<(Statement, String, String, BTreeSet<String>)> = Vec::new();
        for (variant, text, group) in wanted {
            let statement = Statement::new(&text);
            match distinct.iter_mut().find(|(known, ..)| known.is_one_with(&statement, similar)) {
                Some((.., from)) => {
                    from.insert(variant);
                }
                None => distinct.push((statement, text, group, BTreeSet::from([variant]))),
            }
        }
        for (statement, text, group, from) in distinct {
            let has: Vec<bool> = others
                .iter()
                .map(|other| other.found.iter().any(|item| item.is_one_with(&statement, similar)))
                .collect();
            let reach = missing_extent(&others, &has);
            let counted = self.found.groups.entry(group.clone()).or_default();
            counted.items += 1;
            counted.found += u64::from(has.contains(&true));
            from.iter().for_each(|variant| *counted.from.entry(variant.clone()).or_default() += 1);
            let (word, lacking) = match reach {
                MissingExtent::Nowhere => continue,
                MissingExtent::Everywhere => {
                    counted.systematic += 1;
                    ("systematic", Vec::new())
                }
                MissingExtent::Variants(names) => {
                    counted.by_variant += 1;
                    ("by variant", names)
                }
                MissingExtent::Models(names) => {
                    counted.by_model += 1;
                    ("by model", names)
                }
            };
            let item = MissingItem {
                sample: sample.clone(),
                group,
                text: excerpt(&text, TEXT),
                from: from.into_iter().collect(),
                reach: word,
                lacking,
            };
            let only_whole = others.iter().zip(&has).all(|(other, has)| !(other.in_pieces && *has));
            let reads_both = [true, false].iter().all(|kind| others.iter().any(|other| other.in_pieces == *kind));
            if only_whole && reads_both && has.contains(&true) {
                self.found.cross_segment.push(item.clone());
            }
            self.found.missing.push(item);
        }
    }
}

/// The variants or models all of whose systems lack an item.
fn missing_extent(others: &[Other], has: &[bool]) -> MissingExtent {
    if !has.contains(&false) {
        return MissingExtent::Nowhere;
    }
    if !has.contains(&true) {
        return MissingExtent::Everywhere;
    }
    let lacking = |name: fn(&Other) -> &String| -> Vec<String> {
        let names: BTreeSet<&String> = others.iter().map(name).collect();
        let lacks = |wanted: &String| others.iter().zip(has).all(|(other, has)| name(other) != wanted || !has);
        names.into_iter().filter(|name| lacks(name)).cloned().collect()
    };
    let variants = lacking(|other| &other.variant);
    if variants.is_empty() {
        MissingExtent::Models(lacking(|other| &other.model))
    } else {
        MissingExtent::Variants(variants)
    }
}

/// The pattern of a kind of item: at least half of its items are missing systematically, from whole variants, or from
/// some models.
fn pattern_text(name: &str, group: &MissingGroup) -> Option<String> {
    let said = |count: u64, what: &str| format!("{name}: {count} of {} items {what}", group.items);
    if group.systematic * 2 >= group.items && group.systematic > 0 {
        return Some(said(group.systematic, "are missing from every system (systematic)"));
    }
    if group.by_variant * 2 >= group.items && group.by_variant > 0 {
        return Some(said(group.by_variant, "are missing from whole variants, while other variants have them"));
    }
    (group.by_model * 2 >= group.items && group.by_model > 0)
        .then(|| said(group.by_model, "are missing from some models only (model-specific)"))
}

impl Analysis for MissingItemsFold {
    fn wants_output(&self) -> bool {
        true
    }

    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        if self.sample.as_ref() != Some(&cell.row.sample.id) {
            self.compare_sample();
            self.sample = Some(cell.row.sample.id.clone());
        }
        let Some(output) = cell.output.filter(|_| cell.row.cell.status == CellStatus::Ok) else { return };
        let variant = self.plan.system_variant(cell.row.system).to_owned();
        let items = self.items(output);
        if self.options.from.contains(&variant) {
            self.wanted.extend(items.into_iter().map(|(text, group)| (variant.clone(), text, group)));
            return;
        }
        let model = self
            .plan
            .system_model(cell.row.system)
            .map_or_else(|| system_id(&self.plan, cell.row.system), |model| model.id.clone());
        self.others.push(Other {
            in_pieces: self.reads_in_pieces(cell.row.system),
            found: items.iter().map(|(text, _)| Statement::new(text)).collect(),
            variant,
            model,
        });
    }

    fn finish(mut self: Box<Self>, _: &FinishContext<'_>) -> Outcome {
        self.compare_sample();
        let mut found = self.found;
        found.patterns = found.groups.iter().filter_map(|(name, group)| pattern_text(name, group)).collect();
        found.missing.sort_by_key(|item| match item.reach {
            "systematic" => 0,
            "by variant" => 1,
            _ => 2,
        });
        found.missing.truncate(self.options.top);
        found.cross_segment.truncate(self.options.top);
        Outcome::MissingItems(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(variant: &str, model: &str) -> Other {
        Other { variant: variant.to_owned(), model: model.to_owned(), in_pieces: false, found: Vec::new() }
    }

    /// CL-09: an item that all systems lack is systematic; one that a variant lacks is attributed to the variant, else
    /// to its models.
    #[test]
    fn systems_without_an_item_are_listed() {
        let others = [other("raw", "a"), other("raw", "b"), other("edited", "a"), other("edited", "b")];
        assert_eq!(missing_extent(&others, &[true; 4]), MissingExtent::Nowhere);
        assert_eq!(missing_extent(&others, &[false; 4]), MissingExtent::Everywhere);
        assert_eq!(
            missing_extent(&others, &[true, true, false, false]),
            MissingExtent::Variants(vec!["edited".to_owned()])
        );
        assert_eq!(missing_extent(&others, &[true, false, true, false]), MissingExtent::Models(vec!["b".to_owned()]));
        assert_eq!(missing_extent(&others, &[true, false, true, true]), MissingExtent::Models(Vec::new()));
    }

    #[test]
    fn a_pattern_needs_half_of_the_items() {
        let group = MissingGroup { items: 4, systematic: 2, ..MissingGroup::default() };
        assert!(pattern_text("hedged", &group).unwrap().contains("2 of 4"));
        assert_eq!(pattern_text("hedged", &MissingGroup { systematic: 1, ..group }), None);
    }
}
