//! The one test of a paired change: its p and the interval of the same test, so that the two never disagree about 0.

use std::sync::OnceLock;

use super::flips::{SAMPLED_FROM, Sampled, Units};
use super::{Bounded, Clusters, RobustMean, commonest, robust_mean, tied_design_effect};
use crate::compare::{PairedOutcomes, paired_t};
use crate::describe::{magnitude, mean, standard_deviation};
use crate::interval::{Interval, Level, Method};
use crate::numeric::input::{InputError, same_length};
use crate::numeric::seed::Seed;
use crate::numeric::special::StudentT;

/// Below so many degrees of freedom of clusters an interval is shown and nothing is decided by it.
pub const DECIDABLE_DF: f64 = 4.0;

/// From so many samples on, the t test; below, sign flips.
const T_FROM: usize = 30;

/// Differences are rounded to this many parts of one: twelve decimals.
const DECIMALS: f64 = 1e12;

/// An end that gives way to p lies this share of the largest change beyond 0.
const JUST_BEYOND: f64 = 1e-9;

/// The smallest p that is told from 0, and the halvings that find a p by intervals.
const SMALLEST_P: f64 = 1e-15;
const BISECTIONS: u32 = 50;

/// The kind of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// 0 and 1, failed and passed.
    PassFail,
    /// Any other scores.
    Score,
}

/// The test of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeTest {
    /// Fewer than two units: no test is possible.
    None,
    /// All differences are 0: p is 1.
    NoSampleDiffers,
    /// McNemar's mid-p of pass/fail samples.
    McNemar,
    /// Sign flips of the sums of clusters.
    ClusterSignFlip,
    /// t with CR2 and Bell-McCaffrey degrees of freedom.
    ClusterT,
    /// Sign flips of samples.
    SignFlip,
    /// Few differences vary from a common one that is not 0: the p of [`Bounded`].
    Bounded,
    /// The paired t test.
    PairedT,
}

impl ChangeTest {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::NoSampleDiffers => "no sample differs",
            Self::McNemar => "McNemar mid-p",
            Self::ClusterSignFlip => "sign-flip of clusters",
            Self::ClusterT => "cluster t (CR2)",
            Self::SignFlip => "sign-flip",
            Self::Bounded => "bounded, few samples differ",
            Self::PairedT => "paired t",
        }
    }

    /// Returns true if it assumes that each difference is as likely as its opposite.
    pub fn assumes_symmetry(self) -> bool {
        matches!(self, Self::SignFlip | Self::ClusterSignFlip)
    }
}

/// A paired change of two systems on the same samples, with its test.
///
/// The estimand is the mean difference over samples like these. The first row that fits:
///
/// | differences d | test | interval |
/// |---|---|---|
/// | fewer than 2 units | none | none |
/// | pass/fail, no clusters | McNemar's mid-p | Tango |
/// | all 0 | p = 1 | [`Bounded`] |
/// | clusters; d tied, or worth fewer than 30 clusters | sign flips of their sums: exact below 30, else sampled | by flips |
/// | clusters, else | t with CR2 | the same |
/// | fewer than 30 samples | sign flips, exact | by flips |
/// | tied, the commonest is 0 | sign flips of the others | [`Bounded`] |
/// | tied, another commonest | [`Bounded`]; no range: none | [`Bounded`] |
/// | else | paired t | the same |
///
/// Where d is tied, its interval is [`Bounded`]'s in all rows but the pass/fail one. Ends lie within ± the largest change.
#[derive(Debug, Clone)]
pub struct Change {
    differences: Vec<f64>,
    clusters: Option<Clusters>,
    outcomes: Option<PairedOutcomes>,
    largest: Option<f64>,
    test: ChangeTest,
    tied: bool,
    robust: Option<RobustMean>,
    seed: Seed,
    finest: f64,
    sampled: OnceLock<Sampled>,
}

/// The change of no samples, which has no test.
impl Default for Change {
    fn default() -> Self {
        Self {
            differences: Vec::new(),
            clusters: None,
            outcomes: None,
            largest: None,
            test: ChangeTest::None,
            tied: false,
            robust: None,
            seed: Seed(0),
            finest: Level::P95.alpha(),
            sampled: OnceLock::new(),
        }
    }
}

impl Change {
    /// The change of paired scores; `largest` is the largest that is possible (1 for pass/fail, 4 on a scale of 1 to 5),
    /// `None` for a metric without a range. `clusters` without several values in one are the samples.
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn new(
        baseline: &[f64],
        candidate: &[f64],
        outcome: Outcome,
        largest: Option<f64>,
        clusters: Option<Clusters>,
    ) -> Result<Self, InputError> {
        same_length("baseline", baseline.len(), "candidate", candidate.len())?;
        let differences: Vec<f64> = candidate.iter().zip(baseline).map(|(c, b)| c - b).collect();
        let is_outcome = |value: &f64| *value <= 0.0 || *value >= 1.0;
        let binary = outcome == Outcome::PassFail && baseline.iter().chain(candidate).all(is_outcome);
        let passed = |value: &f64| *value >= 1.0;
        let pairs = baseline.iter().map(passed).zip(candidate.iter().map(passed));
        let outcomes = binary.then(|| PairedOutcomes::count(pairs));
        Self::of(differences, outcomes, largest, clusters)
    }

    /// The change whose differences are known, such as means over systems.
    ///
    /// # Errors
    /// When the lengths differ.
    pub fn of_differences(
        differences: Vec<f64>,
        largest: Option<f64>,
        clusters: Option<Clusters>,
    ) -> Result<Self, InputError> {
        Self::of(differences, None, largest, clusters)
    }

    fn of(
        differences: Vec<f64>,
        outcomes: Option<PairedOutcomes>,
        largest: Option<f64>,
        clusters: Option<Clusters>,
    ) -> Result<Self, InputError> {
        let differences: Vec<f64> = differences.into_iter().map(round).collect();
        let clusters = clusters.filter(Clusters::hold_several);
        let robust = match &clusters {
            Some(clusters) => Some(robust_mean(&differences, clusters, Level::P95)?),
            None => None,
        };
        let tied = commonest(&differences).is_some_and(|found| found.n > 1 && found.is_tied());
        let outcomes = outcomes.filter(|_| clusters.is_none());
        let largest = largest.filter(|r| *r > 0.0 && r.is_finite()).map(|r| r.max(magnitude(&differences)));
        let mut change = Self { differences, clusters, outcomes, largest, tied, robust, ..Self::default() };
        change.test = change.choose();
        Ok(change)
    }

    /// The same change whose sampled patterns come from `seed`, enough of them for decisions at `finest` and wider levels:
    /// the level of its family's first step.
    #[must_use]
    pub fn with_draws(self, seed: Seed, finest: Level) -> Self {
        Self { seed, finest: finest.alpha(), sampled: OnceLock::new(), ..self }
    }

    fn choose(&self) -> ChangeTest {
        if self.units() < 2 {
            return ChangeTest::None;
        }
        let differs = self.differences.iter().any(|d| d.abs() > 0.0);
        if self.outcomes.is_some() {
            return if differs { ChangeTest::McNemar } else { ChangeTest::NoSampleDiffers };
        }
        if !differs {
            return ChangeTest::NoSampleDiffers;
        }
        if let Some(robust) = &self.robust {
            let worth = robust.effective_clusters().unwrap_or_default();
            let flips = self.tied || robust.alike || worth < SAMPLED_FROM as f64;
            return if flips { ChangeTest::ClusterSignFlip } else { ChangeTest::ClusterT };
        }
        if self.differences.len() < T_FROM {
            return ChangeTest::SignFlip;
        }
        match commonest(&self.differences).filter(|_| self.tied) {
            Some(found) if found.value.abs() <= 0.0 => ChangeTest::SignFlip,
            Some(_) => ChangeTest::Bounded,
            None => ChangeTest::PairedT,
        }
    }

    /// The test.
    pub fn test(&self) -> ChangeTest {
        self.test
    }

    /// Differences candidate − baseline, at twelve decimals.
    pub fn differences(&self) -> &[f64] {
        &self.differences
    }

    /// Number of samples.
    pub fn n(&self) -> usize {
        self.differences.len()
    }

    /// Number of independent units: clusters where one holds several samples, else samples.
    pub fn units(&self) -> usize {
        self.clusters.as_ref().map_or(self.n(), Clusters::len)
    }

    /// The clusters, where one holds several samples.
    pub fn clusters(&self) -> Option<&Clusters> {
        self.clusters.as_ref()
    }

    /// Pass/fail results of both sides, where McNemar's test is chosen from.
    pub fn outcomes(&self) -> Option<&PairedOutcomes> {
        self.outcomes.as_ref()
    }

    /// The mean difference; `None` without samples.
    pub fn difference(&self) -> Option<f64> {
        mean(&self.differences)
    }

    /// The standard error of the mean difference: CR2 with clusters, else s/√n.
    pub fn standard_error(&self) -> Option<f64> {
        match &self.robust {
            Some(robust) => robust.standard_error,
            None => Some(standard_deviation(&self.differences)? / (self.n() as f64).sqrt()),
        }
    }

    /// Degrees of freedom: Bell-McCaffrey's with clusters, else n − 1.
    pub fn df(&self) -> Option<f64> {
        match &self.robust {
            Some(robust) => robust.df,
            None => (self.n() > 1).then(|| self.n() as f64 - 1.0),
        }
    }

    /// The number of clusters of equal size that they are worth; `None` without clusters.
    pub fn effective_clusters(&self) -> Option<f64> {
        self.robust.as_ref()?.effective_clusters()
    }

    /// Returns true if few differences vary; `None` for fewer than two samples.
    pub fn is_tied(&self) -> Option<bool> {
        (self.n() > 1).then_some(self.tied)
    }

    /// Returns true if the largest possible change is known.
    pub fn has_range(&self) -> bool {
        self.largest.is_some()
    }

    /// Number of differences that vary from the commonest.
    pub fn others(&self) -> usize {
        commonest(&self.differences).map_or(0, |found| found.others)
    }

    /// Returns true if all clusters have one mean difference though their samples differ, so that no interval is known.
    pub fn clusters_alike(&self) -> bool {
        !self.tied && self.robust.as_ref().is_some_and(|robust| robust.alike)
    }

    /// The two-sided p of no change; `None` where no test is possible.
    pub fn p(&self) -> Option<f64> {
        match self.test {
            ChangeTest::None => None,
            ChangeTest::NoSampleDiffers => Some(1.0),
            ChangeTest::McNemar => Some(self.outcomes?.mcnemar().p_mid),
            ChangeTest::ClusterSignFlip if self.is_sampled() => Some(self.patterns().p(0.0)),
            ChangeTest::ClusterSignFlip => self.units_to_flip().exact_p(0.0),
            ChangeTest::ClusterT => {
                let robust = self.robust.as_ref()?;
                let t = robust.mean? / robust.standard_error?;
                Some(StudentT::new(robust.df?)?.two_sided(t))
            }
            ChangeTest::SignFlip => self.units_to_flip().exact_p(0.0),
            ChangeTest::Bounded => self.bounds()?.p_of_zero(self.largest?),
            ChangeTest::PairedT => paired_t(&self.differences, Level::P95).p_two_sided,
        }
    }

    /// The two-sided p of a mean difference of `shift`: the α at which an end of the interval is there.
    pub fn p_of(&self, shift: f64) -> Option<f64> {
        let (none, difference) = (self.p()?, self.difference()?);
        if shift.abs() <= 0.0 || self.clusters_alike() {
            return Some(none).filter(|_| shift.abs() <= 0.0);
        }
        let own = self.unreconciled_p(shift)?;
        let is_between = shift.abs() <= difference.abs() && shift * difference >= 0.0;
        let is_beyond = shift * difference < 0.0;
        // Ends give way to the p of 0, so nothing beyond 0 is more likely than 0, and nothing before it less.
        Some(if is_between {
            own.max(none)
        } else if is_beyond {
            own.min(none)
        } else {
            own
        })
    }

    fn unreconciled_p(&self, shift: f64) -> Option<f64> {
        if self.outcomes.is_some() {
            return self.p_by_interval(shift);
        }
        if self.largest.is_some_and(|largest| shift.abs() > largest) {
            return Some(0.0);
        }
        if self.tied {
            let largest = self.largest?;
            return self.bounds()?.p_of(shift, -largest, largest);
        }
        match self.test {
            ChangeTest::ClusterSignFlip if self.is_sampled() => Some(self.patterns().p(shift)),
            ChangeTest::ClusterSignFlip | ChangeTest::SignFlip => self.units_to_flip().exact_p(shift),
            ChangeTest::ClusterT | ChangeTest::PairedT => {
                let t = (self.difference()? - shift) / self.standard_error()?;
                Some(StudentT::new(self.df()?)?.two_sided(t))
            }
            _ => None,
        }
    }

    /// The α at which an end of the interval is at `shift`, by bisection.
    fn p_by_interval(&self, shift: f64) -> Option<f64> {
        let holds = |ln: f64| Some(self.by_test(Level::from_alpha(ln.exp())?)?.contains(shift));
        let (mut inside, mut outside) = (SMALLEST_P.ln(), 0.0_f64);
        if !holds(inside)? {
            return Some(SMALLEST_P);
        }
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (inside + outside);
            let found = holds(middle).unwrap_or_default();
            *(if found { &mut inside } else { &mut outside }) = middle;
        }
        Some(inside.exp())
    }

    /// The interval of the mean difference. It leaves out 0 exactly where p is at most 1 − `level`; `None` where the data
    /// define none.
    pub fn interval(&self, level: Level) -> Option<Interval> {
        let found = self.by_test(level)?;
        if self.outcomes.is_some() {
            return Some(found);
        }
        let within = match self.largest {
            Some(largest) => found.clip(-largest, largest),
            None => found,
        };
        Some(self.agreeing(within, level))
    }

    fn by_test(&self, level: Level) -> Option<Interval> {
        if self.test == ChangeTest::None || self.clusters_alike() {
            return None;
        }
        if let Some(outcomes) = &self.outcomes {
            return outcomes.interval(level);
        }
        if self.tied {
            let largest = self.largest?;
            return self.bounds()?.interval(-largest, largest, level);
        }
        let flips = |(lo, hi)| Interval { lo, hi, level, method: Method::SignFlip };
        match self.test {
            ChangeTest::ClusterT => self.robust_at(level)?.interval,
            ChangeTest::PairedT => paired_t(&self.differences, level).interval,
            ChangeTest::ClusterSignFlip if self.is_sampled() => self.patterns().interval(level.alpha()).map(flips),
            ChangeTest::ClusterSignFlip | ChangeTest::SignFlip => {
                self.units_to_flip().exact_interval(level.alpha()).map(flips)
            }
            _ => None,
        }
    }

    /// An end on the wrong side of 0 gives way to p.
    fn agreeing(&self, found: Interval, level: Level) -> Interval {
        let Some((p, difference)) = self.p().zip(self.difference()) else { return found };
        let beyond = JUST_BEYOND * self.largest.unwrap_or_else(|| magnitude(&self.differences));
        let Interval { lo, hi, .. } = found;
        if p > level.alpha() {
            Interval { lo: lo.min(0.0), hi: hi.max(0.0), ..found }
        } else if difference > 0.0 && lo <= 0.0 {
            Interval { lo: beyond, hi: hi.max(beyond), ..found }
        } else if difference < 0.0 && hi >= 0.0 {
            Interval { hi: -beyond, lo: lo.min(-beyond), ..found }
        } else {
            found
        }
    }

    fn robust_at(&self, level: Level) -> Option<RobustMean> {
        robust_mean(&self.differences, self.clusters.as_ref()?, level).ok()
    }

    fn bounds(&self) -> Option<Bounded> {
        let effect = match &self.clusters {
            Some(clusters) => tied_design_effect(&self.differences, clusters).ok()?,
            None => 1.0,
        };
        Bounded::new(&self.differences, effect)
    }

    /// Returns true if sign patterns are sampled, so that p and interval depend on the seed.
    pub fn is_sampled(&self) -> bool {
        self.test == ChangeTest::ClusterSignFlip && self.units() >= SAMPLED_FROM
    }

    fn patterns(&self) -> &Sampled {
        self.sampled.get_or_init(|| self.units_to_flip().sample(self.finest, self.seed))
    }

    /// The units that are flipped: clusters, samples, or where these are many, those that differ.
    fn units_to_flip(&self) -> Units {
        match &self.clusters {
            Some(clusters) => Units {
                sums: clusters.sums(&self.differences),
                sizes: clusters.sizes().iter().map(|m| *m as f64).collect(),
            },
            None => {
                let all = self.differences.len() < T_FROM;
                let sums: Vec<f64> = self.differences.iter().copied().filter(|d| all || d.abs() > 0.0).collect();
                Units { sizes: vec![1.0; sums.len()], sums }
            }
        }
    }

    /// The fewest units with which this test can decide at a level; `None` where that depends on more than their number.
    pub fn fewest(&self, level: Level) -> Option<usize> {
        let units = self.test.assumes_symmetry().then(|| (2.0 / level.alpha()).log2() - 1e-9)?;
        Some(units.ceil().max(2.0) as usize)
    }
}

/// A difference at twelve decimals: decimal fractions miss theirs by the last digits of what they are taken from, and no
/// test should take that for variation.
fn round(difference: f64) -> f64 {
    let scaled = (difference * DECIMALS).round();
    if scaled.abs() < 1.0 / f64::EPSILON { scaled / DECIMALS + 0.0 } else { difference }
}
