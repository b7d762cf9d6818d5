//! The figures of an item.

use karat_stats::calibration::items::{DISCRIMINATION_FROM, Discrimination, NoDiscrimination, discrimination};
use karat_stats::describe::mean;
use karat_stats::interval::Level;
use karat_stats::numeric::seed::Seed;
use serde::Serialize;

use super::answers::LabelSuspicion;
use super::collect::{Collected, PooledVariance};
use super::flags::{self, FlagKind, ItemFlag, SetNoise};
use super::{ItemOptions, LabelSuspicion as Suspicion};
use crate::infer::figure::share_of;
use crate::infer::finding::Finding;

/// The level of an item's discrimination: of 200 items with intervals of 95 %, five would lie below 0 by chance.
const LEVEL: Level = Level::P99;

/// An item of a test set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestItem {
    /// Its id.
    pub id: String,
    /// Systems with a score of it.
    pub systems: u64,
    /// Runs with a score of it.
    pub runs: u64,
    /// The share of the scale that systems miss, from 0 (all solve it) to 1 (none does). `None` without a scale.
    pub difficulty: Option<Finding>,
    /// Correlation with the rest of the set over systems, at a level of 99 %.
    pub discrimination: Option<Finding>,
    /// The reason why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_discrimination: Option<String>,
    /// Standard deviation between trials of one system, as a share of the scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial_noise: Option<Finding>,
    /// Standard deviation between judges of one output, as a share of the scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_disagreement: Option<Finding>,
    /// Cells with an output and a scorer that applies.
    pub cells: u64,
    /// Those of them whose scorer failed.
    pub unscored: u64,
    /// The suspicion that its reference is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspicion: Option<LabelSuspicion>,
    /// Its problems.
    pub flags: Vec<ItemFlag>,
}

impl TestItem {
    /// Returns true if the item has a flag.
    pub fn has(&self, kind: FlagKind) -> bool {
        self.flags.iter().any(|flag| flag.flag == kind)
    }

    /// Returns true if people should look at the item: its reference or its question may be wrong.
    pub fn is_suspect(&self) -> bool {
        self.flags.iter().any(|flag| flag.flag.is_suspicion())
    }

    /// The place of the item in a list: suspects first, by their evidence, then other flags.
    pub(super) fn rank(&self) -> f64 {
        let probability = self.suspicion.as_ref().map_or(0.0, |suspicion| suspicion.probability.value());
        let slope = self.discrimination.as_ref().map_or(0.0, Finding::value);
        match self.flags.iter().map(|flag| flag.flag).min() {
            Some(FlagKind::LabelSuspect) => -probability,
            Some(FlagKind::NegativeDiscrimination) => 2.0 + slope,
            Some(FlagKind::NeverSolved) => 4.0,
            Some(FlagKind::Unscorable) => 5.0,
            Some(FlagKind::Noisy) => 6.0,
            Some(FlagKind::Saturated) => 7.0,
            None => 8.0,
        }
    }
}

/// The scores of each system, in relation to the mean of each item: systems with other items compare.
pub(super) struct RestScores {
    /// By system: sum over its items, and their number.
    sums: Vec<(f64, u64)>,
    /// By item: the mean over systems.
    means: Vec<f64>,
}

impl RestScores {
    pub(super) fn of(collected: &Collected) -> Self {
        let mut sums = vec![(0.0, 0); collected.systems.len()];
        let mut means = Vec::with_capacity(collected.items.len());
        for item in 0..collected.items.len() {
            let scores = collected.scores(item);
            let known: Vec<f64> = scores.iter().flatten().copied().collect();
            let centre = mean(&known).unwrap_or_default();
            for ((sum, n), score) in sums.iter_mut().zip(&scores) {
                if let Some(score) = score {
                    (*sum, *n) = (*sum + score - centre, *n + 1);
                }
            }
            means.push(centre);
        }
        Self { sums, means }
    }

    /// The mean of a system over the other items.
    fn without(&self, item: usize, system: usize, score: f64) -> Option<f64> {
        let (sum, n) = self.sums.get(system)?;
        (*n > 1).then(|| (sum - (score - self.means.get(item).copied().unwrap_or_default())) / (n - 1) as f64)
    }
}

pub(super) fn item(
    collected: &Collected,
    at: usize,
    rest: &RestScores,
    set: &SetNoise,
    suspicion: Option<Suspicion>,
    options: &ItemOptions,
) -> TestItem {
    let (mut found, mut of_rest) = (Vec::new(), Vec::new());
    for (system, score) in collected.scores(at).into_iter().enumerate() {
        if let Some(score) = score {
            found.push(score);
            of_rest.push(rest.without(at, system, score));
        }
    }
    let discriminates = discriminate(&found, &of_rest, at, options);
    let Some(item) = collected.items.get(at) else { return TestItem::unknown() };
    let (discrimination, no_discrimination) = match &discriminates {
        Ok(found_item) => (discrimination_finding(found_item, found.len(), options), None),
        Err(why) => (None, Some(reason(*why, found.len()))),
    };
    let has_scale = collected.scale.is_some();
    let flags = flags::flags(item, has_scale, discriminates.ok().as_ref(), found.len(), suspicion.as_ref(), set);
    TestItem {
        id: item.id.clone(),
        systems: found.len() as u64,
        runs: item.by_run.len() as u64,
        difficulty: has_scale.then(|| difficulty(&found)).flatten(),
        discrimination,
        no_discrimination,
        trial_noise: has_scale.then(|| deviation(item.trials, "pooled s over trials")).flatten(),
        judge_disagreement: deviation(item.judges, "pooled s over judges"),
        cells: item.cells,
        unscored: item.unscored,
        suspicion,
        flags,
    }
}

impl TestItem {
    fn unknown() -> Self {
        Self {
            id: String::new(),
            systems: 0,
            runs: 0,
            difficulty: None,
            discrimination: None,
            no_discrimination: None,
            trial_noise: None,
            judge_disagreement: None,
            cells: 0,
            unscored: 0,
            suspicion: None,
            flags: Vec::new(),
        }
    }
}

/// The share of the scale that systems miss.
fn difficulty(scores: &[f64]) -> Option<Finding> {
    share_of(scores.iter().map(|score| 1.0 - score), Level::P95)
}

fn deviation(pooled: PooledVariance, method: &'static str) -> Option<Finding> {
    Finding::point(pooled.variance()?.sqrt(), pooled.df as usize, method)
}

fn discriminate(
    scores: &[f64],
    rest: &[Option<f64>],
    at: usize,
    options: &ItemOptions,
) -> Result<Discrimination, NoDiscrimination> {
    let (scores, rest): (Vec<f64>, Vec<f64>) =
        scores.iter().zip(rest).filter_map(|(score, rest)| Some((*score, (*rest)?))).unzip();
    let mut how = options.resampling();
    how.seed = Seed(options.seed.0).derive(at as u64);
    discrimination(&scores, &rest, LEVEL, &how).unwrap_or(Err(NoDiscrimination::SameRest))
}

fn discrimination_finding(found: &Discrimination, systems: usize, options: &ItemOptions) -> Option<Finding> {
    let point = Finding::point(found.value, systems, "item-rest correlation")?;
    Some(point.with_named_interval(Some(found.interval)).with_seed(options.seed))
}

fn reason(why: NoDiscrimination, systems: usize) -> String {
    match why {
        NoDiscrimination::FewSystems => format!("{systems} of at least {DISCRIMINATION_FROM} systems"),
        NoDiscrimination::SameScores => "systems have the same score of it, or all but one".to_owned(),
        NoDiscrimination::SameRest => "systems have the same score of the rest".to_owned(),
    }
}
