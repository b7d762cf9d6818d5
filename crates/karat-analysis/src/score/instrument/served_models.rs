//! The model names that providers report in their answers: an alias may point to another model than before.

use std::collections::{BTreeMap, BTreeSet};

use karat_types::{CellRow, PlanHeader, ServedName};
use serde::Serialize;

/// The number of names counted separately for one model; further names are counted together.
const KEPT: usize = 32;

/// The name under which further names are counted.
const FURTHER: &str = "(further names)";

/// The number of names listed in a sentence.
const LISTED: usize = 5;

/// A model name that a provider reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ServedModel {
    /// The requested name: `model` of the registry entry.
    pub asked: String,
    /// The reported name.
    pub model: String,
    /// Number of cells, or of judgments for a judge.
    pub n: u64,
}

impl ServedModel {
    /// Returns true if the reported name differs from the requested one.
    pub fn is_other(&self) -> bool {
        self.asked != self.model
    }
}

/// A judge and the model names that its provider reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServedJudge {
    /// Its id.
    pub id: String,
    /// The requested name.
    pub model: String,
    /// One entry per reported name; empty if the provider reports none, or the run was stored by a version that did not
    /// keep it.
    pub answered_as: Vec<ServedModel>,
}

/// Counts by requested name, then by reported name.
#[derive(Debug, Clone, Default)]
struct NameCounts(BTreeMap<String, BTreeMap<String, u64>>);

impl NameCounts {
    fn add(&mut self, one: &ServedName) {
        if let Some(count) = self.0.get_mut(&one.asked).and_then(|names| names.get_mut(one.name())) {
            *count += 1;
            return;
        }
        let names = self.0.entry(one.asked.clone()).or_default();
        let name = if names.len() < KEPT { one.name() } else { FURTHER };
        *names.entry(name.to_owned()).or_default() += 1;
    }

    fn list(&self) -> Vec<ServedModel> {
        let of = |(asked, names): (&String, &BTreeMap<String, u64>)| {
            let one = |(model, n): (&String, &u64)| ServedModel { asked: asked.clone(), model: model.clone(), n: *n };
            names.iter().map(one).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }
}

/// Collects reported names row by row.
#[derive(Debug)]
pub(crate) struct ServedModels {
    systems: Vec<NameCounts>,
    judges: Vec<NameCounts>,
}

impl ServedModels {
    pub(crate) fn of(plan: &PlanHeader) -> Self {
        let names = |n| vec![NameCounts::default(); n];
        Self { systems: names(plan.systems.len()), judges: names(plan.judges.len()) }
    }

    pub(crate) fn add(&mut self, row: &CellRow<'_>) {
        if let Some(names) = self.systems.get_mut(row.system) {
            row.cell.facts.answered.iter().for_each(|one| names.add(one));
        }
        for judgment in row.judgments {
            if let Some(names) = self.judges.get_mut(usize::from(judgment.judge)) {
                judgment.answered.iter().for_each(|one| names.add(one));
            }
        }
    }

    /// The reported names of several systems.
    pub(crate) fn of_systems(&self, systems: &[usize]) -> Vec<ServedModel> {
        let mut all = NameCounts::default();
        for (asked, names) in systems.iter().filter_map(|at| self.systems.get(*at)).flat_map(|names| &names.0) {
            let sums = all.0.entry(asked.clone()).or_default();
            names.iter().for_each(|(name, n)| *sums.entry(name.clone()).or_default() += n);
        }
        all.list()
    }

    pub(crate) fn judges(&self, plan: &PlanHeader) -> Vec<ServedJudge> {
        let of = |(judge, names): (&karat_types::ModelSpec, &NameCounts)| ServedJudge {
            id: judge.id.clone(),
            model: judge.model.clone(),
            answered_as: names.list(),
        };
        plan.judges.iter().zip(&self.judges).map(of).collect()
    }
}

/// Reported names by requested name.
pub(crate) type NamesByAsked = BTreeMap<String, BTreeSet<String>>;

/// Groups a list by requested name.
pub(crate) fn by_asked<'a>(list: impl IntoIterator<Item = &'a ServedModel>) -> NamesByAsked {
    let mut names = NamesByAsked::new();
    list.into_iter().for_each(|it| {
        names.entry(it.asked.clone()).or_default().insert(it.model.clone());
    });
    names
}

/// Adds the names stored with a cell or judgment.
pub(crate) fn add_answers(answered: &[ServedName], names: &mut NamesByAsked) {
    answered.iter().for_each(|it| {
        names.entry(it.asked.clone()).or_default().insert(it.name().to_owned());
    });
}

/// Adds all names of `others`.
pub(crate) fn merge_names(others: &NamesByAsked, names: &mut NamesByAsked) {
    for (asked, others) in others {
        names.entry(asked.clone()).or_default().extend(others.iter().cloned());
    }
}

/// The first names, joined by commas, and the number of the others.
pub(crate) fn name_list<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<T> = names.into_iter().collect();
    let first: Vec<&str> = names.iter().take(LISTED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(LISTED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The requested names for which the reported names changed, as (requested, before, now). Names that only one side
/// requested are left out.
pub(crate) fn name_changes(then: &NamesByAsked, now: &NamesByAsked) -> Vec<(String, String, String)> {
    let differ = |(asked, names): (&String, &BTreeSet<String>)| {
        let before = then.get(asked).filter(|before| *before != names)?;
        Some((asked.clone(), name_list(before), name_list(names)))
    };
    now.iter().filter_map(differ).collect()
}

/// One warning for each model of a run with several reported names. `role` is `model` or `judge`.
pub(crate) fn several_names_warnings(role: &str, list: &[ServedModel]) -> Vec<String> {
    let say = |(asked, names): (String, BTreeSet<String>)| {
        let count = |it: &&ServedModel| it.asked == asked;
        let each = list.iter().filter(count).map(|it| format!("{} ({})", it.model, it.n));
        (names.len() > 1).then(|| {
            format!(
                "The {role} `{asked}` reported {} model names: {}. Either it changed during the run, or reused results come \
                 from different models. Set its `model` to the dated name.",
                names.len(),
                name_list(each)
            )
        })
    };
    by_asked(list).into_iter().filter_map(say).collect()
}

/// The name of merged judges, independent of their order: `a + b`.
pub(crate) fn joined_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: BTreeSet<&str> = names.collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(" + "))
}
