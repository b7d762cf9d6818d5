//! Problems of items, with their evidence and what to do.

use karat_stats::calibration::items::Discrimination;
use karat_stats::numeric::special::FisherF;
use serde::Serialize;

use super::answers::LabelSuspicion;
use super::collect::{Collected, CollectedItem, PooledVariance, RunResults, count, newest};

/// Share of the scale from which a result is as good as perfect.
pub(super) const CEILING: f64 = 0.95;

/// Share of the scale up to which a result is as good as nothing.
pub(super) const FLOOR: f64 = 0.05;

/// Fewer results make no item saturated or unsolved: one system that solves an item says nothing of the item.
const RESULTS_FROM: u64 = 3;

/// Share of unscored cells above which an item is unscorable.
const UNSCORED: f64 = 0.2;

/// Standard deviation, as a share of the scale, from which trials or judges can make an item noisy.
const NOISE: f64 = 0.15;

/// p-value below which an item is noisier than the rest of the set.
const NOISIER_P: f64 = 0.01;

/// Degrees of freedom that the rest of the set needs to be compared with.
const SET_DF: f64 = 10.0;

/// A kind of flag. The order is that of a list: the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// Systems of several families agree with each other against the reference.
    LabelSuspect,
    /// Better systems do worse on it.
    NegativeDiscrimination,
    /// No system solves it.
    NeverSolved,
    /// Too many of its cells have no score.
    Unscorable,
    /// Trials or judges differ more than elsewhere.
    Noisy,
    /// All systems solve it.
    Saturated,
}

impl FlagKind {
    /// All kinds, the most urgent first.
    pub const ALL: [Self; 6] = [
        Self::LabelSuspect,
        Self::NegativeDiscrimination,
        Self::NeverSolved,
        Self::Unscorable,
        Self::Noisy,
        Self::Saturated,
    ];

    /// Its name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LabelSuspect => "label-suspect",
            Self::NegativeDiscrimination => "negative-discrimination",
            Self::NeverSolved => "never-solved",
            Self::Unscorable => "unscorable",
            Self::Noisy => "noisy",
            Self::Saturated => "saturated",
        }
    }

    /// The kind of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns true if the item's reference or question may be wrong, so that people should look at it.
    pub fn is_suspicion(self) -> bool {
        matches!(self, Self::LabelSuspect | Self::NegativeDiscrimination | Self::NeverSolved)
    }

    /// The remedy.
    pub fn advice(self) -> &'static str {
        match self {
            Self::LabelSuspect => "let people label it, and correct the reference if they agree with the systems",
            Self::NegativeDiscrimination => {
                "read the question and the reference: one of them may be wrong or ambiguous"
            }
            Self::NeverSolved => {
                "check that people can solve it from what a system sees, and that the reference is right"
            }
            Self::Unscorable => "see the reasons with `karat show RUN`, and mend the scorer, the judge or the item",
            Self::Noisy => "use more trials or judges, or make the question and the rubric clearer",
            Self::Saturated => "replace it by a harder item, or keep it to notice that something broke",
        }
    }
}

/// A flag of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemFlag {
    /// Its kind.
    pub flag: FlagKind,
    /// The evidence.
    pub evidence: String,
    /// The remedy.
    pub advice: &'static str,
}

impl ItemFlag {
    fn new(flag: FlagKind, evidence: String) -> Self {
        Self { flag, evidence, advice: flag.advice() }
    }
}

/// The noise of the whole set.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct SetNoise {
    trials: PooledVariance,
    judges: PooledVariance,
}

impl SetNoise {
    pub(super) fn of(collected: &Collected) -> Self {
        let mut set = Self::default();
        for item in &collected.items {
            set.trials.squares += item.trials.squares;
            set.trials.df += item.trials.df;
            set.judges.squares += item.judges.squares;
            set.judges.df += item.judges.df;
        }
        set
    }
}

/// The flags of an item, the most urgent first.
pub(super) fn flags(
    item: &CollectedItem,
    has_scale: bool,
    discrimination: Option<&Discrimination>,
    systems: usize,
    suspicion: Option<&LabelSuspicion>,
    set: &SetNoise,
) -> Vec<ItemFlag> {
    let suspect = suspicion.map(|it| ItemFlag::new(FlagKind::LabelSuspect, contradiction(it)));
    let negative = discrimination.filter(|it| it.is_negative()).map(|it| negative(it, systems));
    let (solved, unsolved) = if has_scale { extremes(&item.by_run) } else { (None, None) };
    let noisy = noisy(item, set, has_scale);
    [suspect, negative, unsolved, unscorable(item), noisy, solved].into_iter().flatten().collect()
}

fn contradiction(found: &LabelSuspicion) -> String {
    let agreeing = match found.agreeing {
        0 => "none".to_owned(),
        n => n.to_string(),
    };
    format!(
        "{} of {} of {} families answer {}, {agreeing} the reference {}: it is wrong with probability {:.2}",
        found.systems,
        count(found.of, "system"),
        found.families,
        quote(&found.answer),
        quote(&found.reference),
        found.probability.value()
    )
}

/// Content as a JSON text: line breaks and quotes are visible.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn negative(found: &Discrimination, systems: usize) -> ItemFlag {
    let evidence = format!(
        "better systems do worse: correlation with the rest {:.2} [{:.2}, {:.2}] over {systems} systems",
        found.value, found.interval.lo, found.interval.hi
    );
    ItemFlag::new(FlagKind::NegativeDiscrimination, evidence)
}

/// The flags of an item that all systems, or none, solve in the newest runs.
fn extremes(by_run: &[RunResults]) -> (Option<ItemFlag>, Option<ItemFlag>) {
    let last = newest(by_run);
    let results: u64 = last.iter().map(|run| run.n).sum();
    if results < RESULTS_FROM {
        return (None, None);
    }
    let runs = match last.len() {
        1 => "of the run".to_owned(),
        n => format!("of the last {n} runs"),
    };
    let solved = last.iter().all(|run| run.lowest >= CEILING).then(|| {
        let evidence = format!("all {results} results {runs} are at 95 % of the scale or better");
        ItemFlag::new(FlagKind::Saturated, evidence)
    });
    let unsolved = by_run.iter().all(|run| run.highest <= FLOOR).then(|| {
        let all: u64 = by_run.iter().map(|run| run.n).sum();
        let evidence =
            format!("none of {all} results of {} is above 5 % of the scale", count(by_run.len() as u64, "run"));
        ItemFlag::new(FlagKind::NeverSolved, evidence)
    });
    (solved, unsolved)
}

fn unscorable(item: &CollectedItem) -> Option<ItemFlag> {
    let share = item.unscored as f64 / item.cells.max(1) as f64;
    (share > UNSCORED).then(|| {
        let evidence =
            format!("{} of {} have no score ({:.0} %)", item.unscored, count(item.cells, "cell"), 100.0 * share);
        ItemFlag::new(FlagKind::Unscorable, evidence)
    })
}

/// The flag of an item whose trials or judges differ more than on other items of the set.
fn noisy(item: &CollectedItem, set: &SetNoise, has_scale: bool) -> Option<ItemFlag> {
    if !has_scale {
        return None;
    }
    let kinds = [("trials of one system", item.trials, set.trials), ("judges of one output", item.judges, set.judges)];
    let evidence = kinds.into_iter().filter_map(|(of, own, all)| {
        let (own_deviation, others) = noisier(own, all)?;
        Some(format!("{of} differ by {own_deviation:.2} of the scale, by {others:.2} on the other items"))
    });
    let evidence: Vec<String> = evidence.collect();
    (!evidence.is_empty()).then(|| ItemFlag::new(FlagKind::Noisy, evidence.join("; ")))
}

/// The standard deviations of an item and of the others, if the item's is larger by more than chance.
fn noisier(own: PooledVariance, all: PooledVariance) -> Option<(f64, f64)> {
    let others = PooledVariance { squares: (all.squares - own.squares).max(0.0), df: all.df - own.df };
    let (variance, other) = (own.variance()?, others.variance().filter(|_| others.df >= SET_DF)?);
    let is_larger = match other > 0.0 {
        true => FisherF::new(own.df, others.df)?.sf(variance / other) < NOISIER_P,
        false => own.df > 1.0,
    };
    (variance.sqrt() >= NOISE && is_larger).then(|| (variance.sqrt(), other.sqrt()))
}
