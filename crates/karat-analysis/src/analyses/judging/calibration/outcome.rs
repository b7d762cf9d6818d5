//! The outcome of a calibration: figures and verdict of each judge and dimension.

use std::collections::BTreeSet;

use karat_types::{Exit, Key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::infer::finding::Finding;

/// Number of sets below which nothing is decided, and α stands for ICC: equal grades of few sets have no spread.
pub const SETS_TO_DECIDE: u64 = 20;

/// Bias up to this share of the scale raises no caution: half a point of 0 to 10.
pub const TOLERATED_BIAS: f64 = 0.05;

/// The number of samples from which ICC and α of several sets a sample have an interval.
const SAMPLES_FROM: usize = 3;

/// The default threshold of `within_share`; a lower one needs a reason.
const SHARE_THRESHOLD: f64 = 0.7;

/// The default threshold of agreement beyond chance; below it agreement is poor (Cicchetti 1994).
const POOR: f64 = 0.4;

/// No more sets than this are advised.
const MOST_SETS: f64 = 100_000.0;

/// The figure that is compared with the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationForm {
    /// ICC(2,1) from 20 sets on scales, else Krippendorff's α. Its whole interval must be above the threshold.
    #[default]
    BeyondChance,
    /// 1 − mean |judge − people| / range of the scale. The value must be above the threshold, and agreement beyond chance
    /// must be more than none.
    WithinShare,
    /// ICC(2,1), by its interval.
    Icc,
    /// Krippendorff's α, by its interval.
    Alpha,
}

impl CalibrationForm {
    /// The threshold where none is given.
    pub(super) fn threshold(self) -> f64 {
        if self == Self::WithinShare { SHARE_THRESHOLD } else { POOR }
    }
}

/// The outcome of comparing a judge with people, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationVerdict {
    /// It agrees enough.
    Pass,
    /// These labels do not decide it.
    Undecided,
    /// It does not agree enough, or left too many sets unscored.
    Fail,
}

impl CalibrationVerdict {
    /// The verdict on all of several; of none it is undecided.
    pub(super) fn on_all(each: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        each.collect::<Option<Vec<Self>>>().map(|all| all.into_iter().max().unwrap_or(Self::Undecided))
    }

    /// True or false where it is decided.
    pub(super) fn pass_or_fail(verdict: Option<Self>) -> Option<bool> {
        verdict.filter(|it| *it != Self::Undecided).map(|it| it == Self::Pass)
    }
}

/// The reason why a verdict is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationGap {
    /// Fewer than [`SETS_TO_DECIDE`] sets.
    FewSets,
    /// People gave every set the same grade.
    PeopleNeverDiffer,
    /// Agreement beyond chance has no interval.
    NoInterval,
    /// The interval of agreement beyond chance reaches the threshold.
    ReachesThreshold,
    /// The interval of agreement beyond chance reaches 0.
    ReachesChance,
}

/// The calibration of the judges of one scorer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// The scorer.
    pub scorer: String,
    /// Declared version of its rubric.
    pub prompt_version: Option<String>,
    /// The figure that is compared with the threshold.
    pub agreement: CalibrationForm,
    /// Number of labelled outputs that are cells of this run.
    pub sets: u64,
    /// Number of their samples.
    pub samples: u64,
    /// Number of labelled outputs that are no cell of this run.
    pub unmatched: u64,
    /// Share of the labelled sets that a judge must have scored in every dimension.
    pub coverage: f64,
    /// True if every judge passes, false if one fails; `None` while the run is unfinished, or if that is undecided.
    pub passed: Option<bool>,
    /// The verdict on all judges; `None` while the run is unfinished.
    pub verdict: Option<CalibrationVerdict>,
    /// By judge, in the plan's order.
    pub judges: Vec<CalibratedJudge>,
}

impl Calibration {
    /// The exit code of the verdict.
    pub fn exit(&self) -> Exit {
        match self.verdict {
            Some(CalibrationVerdict::Pass) => Exit::Pass,
            Some(CalibrationVerdict::Undecided) => Exit::Undecided,
            Some(CalibrationVerdict::Fail) | None => Exit::GateFailed,
        }
    }
}

/// One judge compared with people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibratedJudge {
    /// Its id.
    pub judge: String,
    /// Number of labelled sets that it was asked to grade.
    pub graded: u64,
    /// True if it agrees enough in every dimension; `None` while the run is unfinished, or if that is undecided.
    pub passed: Option<bool>,
    /// The verdict on all dimensions; `None` while the run is unfinished.
    pub verdict: Option<CalibrationVerdict>,
    /// By dimension, in the rubric's order.
    pub dimensions: Vec<CalibratedDimension>,
}

/// One labelled set in one dimension.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetDelta {
    /// The sample.
    pub sample: String,
    /// Hash of the labelled output.
    pub output: Key,
    /// Mean grade of people.
    pub people: f64,
    /// Grade of the judge; `None` if it left the set unscored.
    pub judge: Option<f64>,
    /// judge − people.
    pub delta: Option<f64>,
}

/// One dimension of one judge. Differences are judge − people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibratedDimension {
    /// Its name.
    pub dimension: String,
    /// Number of sets that people scored in this dimension (in an unfinished run, of those the judge was asked to
    /// grade). Without any there is no verdict.
    pub labelled: u64,
    /// Number of them that the judge left unscored.
    pub unscored: u64,
    /// True if the judge scored the required share of them; otherwise it does not pass.
    pub covered: bool,
    /// 1 − mean |judge − people| / range.
    pub within_share: Option<Finding>,
    /// ICC(2,1) of judge and people.
    pub icc: Option<Finding>,
    /// Krippendorff's α of judge and people.
    pub alpha: Option<Finding>,
    /// ICC(2,1) from 20 sets on scales, else α.
    pub beyond_chance: Option<Finding>,
    /// Gwet's AC1 or AC2, where people never differ and the other two are not defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ac: Option<Finding>,
    /// Mean of judge − people.
    pub bias: Option<Finding>,
    /// Mean of |judge − people|.
    pub mean_abs_difference: Option<Finding>,
    /// The differences of all sets, in plan order.
    pub deltas: Vec<SetDelta>,
    /// The threshold that agreement had to exceed.
    pub threshold: f64,
    /// The reason for a threshold other than the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if it did; `None` while the run is unfinished, or if that is undecided.
    pub passed: Option<bool>,
    /// The verdict; `None` while the run is unfinished.
    pub verdict: Option<CalibrationVerdict>,
    /// The reason for `undecided`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<CalibrationGap>,
    /// Number of sets that would decide it if agreement stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<u64>,
    /// True if it passed although ICC (or α) is poor: the judge hardly distinguishes the sets, and agrees because
    /// people's scores hardly differ.
    pub poor: bool,
    /// True if it grades higher or lower than people: the whole interval of `bias` is beyond [`TOLERATED_BIAS`]. It may
    /// pass all the same.
    pub biased: bool,
}

impl CalibratedDimension {
    /// Returns true if the judge needs caution although it may pass.
    pub fn needs_caution(&self) -> bool {
        self.poor || self.biased
    }

    /// The figure that is compared with the threshold.
    pub fn decisive(&self, form: CalibrationForm) -> Option<&Finding> {
        match form {
            CalibrationForm::BeyondChance => self.beyond_chance.as_ref(),
            CalibrationForm::WithinShare => self.within_share.as_ref(),
            CalibrationForm::Icc => self.icc.as_ref(),
            CalibrationForm::Alpha => self.alpha.as_ref(),
        }
    }

    /// Sets the verdict, its reason and the sets that would decide it.
    pub(super) fn decide(&mut self, form: CalibrationForm, scored: &[(u32, f64, f64)]) {
        let is_share = form == CalibrationForm::WithinShare;
        let (verdict, open) = match self.judged_by(form, scored) {
            Ok(passes) => (if passes { CalibrationVerdict::Pass } else { CalibrationVerdict::Fail }, None),
            Err(open) => (CalibrationVerdict::Undecided, Some(open)),
        };
        let figure = if is_share { self.beyond_chance.as_ref() } else { self.decisive(form) };
        self.needed = match open {
            Some(CalibrationGap::FewSets) => Some(SETS_TO_DECIDE),
            Some(CalibrationGap::ReachesThreshold) => figure.and_then(|it| sets_to_decide(it, self.threshold)),
            Some(CalibrationGap::ReachesChance) => figure.and_then(|it| sets_to_decide(it, 0.0)),
            _ => None,
        };
        (self.verdict, self.passed, self.open) = (Some(verdict), CalibrationVerdict::pass_or_fail(Some(verdict)), open);
        self.poor = self.passed == Some(true) && self.beyond_chance.as_ref().is_some_and(|found| found.value() < POOR);
    }

    /// True if the judge agrees enough on the sets that it scored: each the cluster, the judge's grade and people's.
    fn judged_by(&self, form: CalibrationForm, scored: &[(u32, f64, f64)]) -> Result<bool, CalibrationGap> {
        if self.labelled > 0 && !self.covered {
            return Ok(false);
        }
        if (scored.len() as u64) < SETS_TO_DECIDE {
            return Err(CalibrationGap::FewSets);
        }
        let share = self.within_share.as_ref().filter(|_| form == CalibrationForm::WithinShare).map(Finding::value);
        if share.is_some_and(|share| share <= self.threshold) {
            return Ok(false);
        }
        if is_constant(scored.iter().map(|(.., people)| *people)) {
            return Err(CalibrationGap::PeopleNeverDiffer);
        }
        let figure = if share.is_some() { self.beyond_chance.as_ref() } else { self.decisive(form) };
        let (lo, hi) = figure.and_then(|it| interval(it, scored)).ok_or(CalibrationGap::NoInterval)?;
        match share {
            Some(_) if lo > 0.0 => Ok(true),
            Some(_) => Err(CalibrationGap::ReachesChance),
            None if lo > self.threshold => Ok(true),
            None if hi <= self.threshold => Ok(false),
            None => Err(CalibrationGap::ReachesThreshold),
        }
    }
}

/// The interval of agreement beyond chance, also where its formula has none: a judge that grades every set alike agrees by
/// chance only, and one that grades as people do agrees entirely.
fn interval(found: &Finding, scored: &[(u32, f64, f64)]) -> Option<(f64, f64)> {
    if is_constant(scored.iter().map(|(_, judge, _)| *judge)) {
        return Some((found.value().min(0.0), 0.0));
    }
    let clusters: BTreeSet<u32> = scored.iter().map(|(cluster, ..)| *cluster).collect();
    let entire = found.value() >= 1.0 - f64::EPSILON && clusters.len() >= SAMPLES_FROM;
    found.interval().or(entire.then_some((1.0, 1.0)))
}

/// Returns true if all values are equal.
pub(super) fn is_constant(mut values: impl Iterator<Item = f64>) -> bool {
    let first = values.next();
    values.all(|value| first.is_some_and(|first| (value - first).abs() <= 0.0))
}

/// The number of sets with which an interval that reaches `bar` would not, if the coefficient stays as it is: on Fisher's
/// scale its width falls with the root of their number.
fn sets_to_decide(found: &Finding, bar: f64) -> Option<u64> {
    let (lo, hi) = found.interval()?;
    let (z, end) = (found.value().atanh(), if found.value() > bar { lo.atanh() } else { hi.atanh() });
    let needed = (found.n() as f64 * ((z - end) / (z - bar.atanh())).powi(2)).ceil();
    (needed.is_finite() && needed <= MOST_SETS).then(|| (needed as u64).max(found.n() + 1))
}
