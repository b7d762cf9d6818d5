//! The items of a test set, by all stored systems: is an item solved by all, by none, does it tell good systems from bad
//! ones, is its reference right? And the set: what can it still show?
//!
//! - `collect.rs` reads runs, the newest first, and keeps one number for each item and system; start reading there
//! - `answers.rs` finds what systems answer in place of a reference
//! - `figures.rs` computes the figures of an item, `flags.rs` what is to be done about it; `chance.rs` takes flags back
//! - `headroom.rs` computes those of the set
//!
//! The unit is the system: a model with a variant, told apart by content. Its newest result of an item counts; results of
//! an item whose input or reference was another one are left out.

mod answers;
mod chance;
mod collect;
mod figures;
mod flags;
mod headroom;
#[cfg(test)]
mod tests;

use karat_stats::bootstrap::Resampling;
use karat_stats::numeric::seed::Seed;
use karat_types::RunRows;
use serde::Serialize;

pub use answers::LabelSuspicion;
pub use figures::TestItem;
pub use flags::{FlagKind, ItemFlag};
pub use headroom::Headroom;

use crate::AnalysisError;
use crate::figures::planning::MetricPower;

/// Options of an analysis of items.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemOptions {
    /// The metric; the primary one of the newest run if absent.
    pub metric: Option<String>,
    /// Seed of random methods.
    pub seed: Seed,
    /// Resamples of each item's interval.
    pub resamples: usize,
    /// The power of the set, where it is known: see [`power`](crate::figures::planning::power).
    pub power: Option<MetricPower>,
}

impl Default for ItemOptions {
    fn default() -> Self {
        Self { metric: None, seed: Seed(1), resamples: 1_000, power: None }
    }
}

impl ItemOptions {
    fn resampling(&self) -> Resampling {
        Resampling { resamples: self.resamples, ..Resampling::new(self.seed) }
    }
}

/// A system of the analysed runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemSystem {
    /// `model/variant`; where several have the name, with the run that it is from.
    pub id: String,
    /// The model's family; the model or variant itself where none is declared.
    pub family: String,
    /// True if the family is declared.
    pub has_family: bool,
    /// Number of its items with a score.
    pub items: u64,
}

/// The items of a test set, and the set as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ItemAnalysis {
    /// The suite.
    pub suite: String,
    /// The metric.
    pub metric: String,
    /// Lowest and highest value of the metric, if it has them. Without them an item has no difficulty.
    pub scale: Option<(f64, f64)>,
    /// The runs, the newest first.
    pub runs: Vec<String>,
    /// The systems.
    pub systems: Vec<ItemSystem>,
    /// The results that the figures do not cover, in words.
    pub notes: Vec<String>,
    /// The set as a whole.
    pub headroom: Headroom,
    /// The items, those with flags that question them first.
    pub items: Vec<TestItem>,
}

impl ItemAnalysis {
    /// The items that people should look at, the most suspicious first.
    pub fn suspects(&self) -> impl Iterator<Item = &TestItem> {
        self.items.iter().filter(|item| item.is_suspect())
    }

    /// Number of items with a flag.
    pub fn count(&self, flag: FlagKind) -> usize {
        self.items.iter().filter(|item| item.has(flag)).count()
    }
}

/// Analyses the items of runs of one suite, given the newest first.
///
/// # Errors
/// No run, or none with the metric; rows that cannot be read.
pub fn analyse_items(runs: &[&dyn RunRows], options: &ItemOptions) -> Result<ItemAnalysis, AnalysisError> {
    let collected = collect::collect(runs, options.metric.as_deref())?;
    let mut notes = collected.notes();
    let suspicions = answers::suspicions(runs, &collected, &mut notes)?;
    let set = flags::SetNoise::of(&collected);
    let rest = figures::RestScores::of(&collected);
    let mut items: Vec<TestItem> = (0..collected.items.len())
        .map(|at| {
            let suspicion = suspicions.get(at).cloned().flatten();
            figures::item(&collected, at, &rest, &set, suspicion, options)
        })
        .collect();
    let headroom = headroom::headroom(&collected, &items, options);
    chance::remove_chance(&collected, &mut items, &mut notes);
    // A stable sort: items of one rank stay in the order of the set.
    items.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
    Ok(ItemAnalysis {
        suite: collected.suite.clone(),
        metric: collected.metric.clone(),
        scale: collected.scale,
        runs: collected.runs.clone(),
        systems: collected.shown_systems(),
        notes,
        headroom,
        items,
    })
}
