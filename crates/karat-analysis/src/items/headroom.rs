//! The set as a whole: how much of it still tells systems apart, and what difference it can show.

use karat_stats::calibration::items::{RELIABILITY_FROM, split_half};
use karat_stats::interval::Level;
use serde::Serialize;

use super::collect::Collected;
use super::figures::TestItem;
use super::flags::FlagKind;
use super::{ItemOptions, ItemSystem};
use crate::figures::planning::MetricPower;
use crate::infer::figure::share_of;
use crate::infer::finding::Finding;

/// Random halvings of the set.
const SPLITS: usize = 100;

/// The largest set whose reliability is computed on all of its items.
const RELIABILITY_ITEMS: usize = 5_000;

/// The best system, with its mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BestSystem {
    /// The system.
    pub id: String,
    /// Its mean as a share of the scale, over its items.
    pub share: Finding,
}

/// The differences that a set can still show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headroom {
    /// Number of items.
    pub items: u64,
    /// Share of items that all systems solve. `None` without a scale.
    pub saturated: Option<Finding>,
    /// Share of items that no system solves.
    pub never_solved: Option<Finding>,
    /// The system with the highest mean: what is left above it is the headroom.
    pub best: Option<BestSystem>,
    /// Agreement of random halves of the set about its systems, from 0 (chance) to 1.
    pub reliability: Option<Finding>,
    /// The reason why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_reliability: Option<String>,
    /// The smallest difference that its items detect, as `plan --mde` computes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<MetricPower>,
}

pub(super) fn headroom(collected: &Collected, items: &[TestItem], options: &ItemOptions) -> Headroom {
    let judged = items.iter().filter(|item| item.systems > 0).count();
    let share = |kind: FlagKind| {
        let n = items.iter().filter(|item| item.has(kind)).count();
        collected.scale?;
        share_of((0..judged).map(|at| f64::from(u8::from(at < n))), Level::P95)
    };
    let scored = (0..collected.items.len()).map(|at| collected.scores(at));
    let scores: Vec<Vec<Option<f64>>> =
        scored.filter(|item| item.iter().flatten().count() > 1).take(RELIABILITY_ITEMS).collect();
    let reliability = split_half(&scores, SPLITS, Level::P95, options.seed);
    let no_reliability = reliability.is_none().then(|| match collected.systems.len() {
        few if few < RELIABILITY_FROM => format!("{few} of at least {RELIABILITY_FROM} systems"),
        _ => "too few items have scores of several systems, or the systems do not differ".to_owned(),
    });
    let reliability = reliability.and_then(|found| {
        let method = format!("mean of {} random halves, Spearman-Brown", found.splits);
        let point = Finding::point(found.value, collected.systems.len(), method)?;
        Some(point.with_named_interval(found.interval).with_seed(options.seed))
    });
    Headroom {
        items: items.len() as u64,
        saturated: share(FlagKind::Saturated),
        never_solved: share(FlagKind::NeverSolved),
        best: collected.scale.and_then(|_| best(collected)),
        reliability,
        no_reliability,
        power: options.power.clone(),
    }
}

/// The system with the highest mean among those with at least half as many items as the one with most.
fn best(collected: &Collected) -> Option<BestSystem> {
    let shown = collected.shown_systems();
    let most = shown.iter().map(|system| system.items).max()?;
    let mean = |at: usize, system: &ItemSystem| {
        let results = collected.systems.get(at)?.results.iter().flatten().map(|result| result.score);
        let share = share_of(results, Level::P95)?;
        Some(BestSystem { id: system.id.clone(), share })
    };
    let with_enough = shown.iter().enumerate().filter(|(_, system)| 2 * system.items >= most);
    let means = with_enough.filter_map(|(at, system)| mean(at, system));
    means.reduce(|best, next| if next.share.value() > best.share.value() { next } else { best })
}
