//! Several claims that are followed together: Holm over all of them, in each direction.

use super::claim::{Bound, CertainVerdict, Claim, ClaimEnds, ClaimSpec};
use crate::compare::multiplicity::StepRule;
use crate::numeric::input::{InputError, open_probability};

/// Units before a bound may decide.
pub const MIN_UNITS: u64 = 30;
/// The same where units are clusters.
pub const MIN_CLUSTERS: u64 = 20;

/// The verdict of a claim that need not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimVerdict {
    /// The claim holds.
    Pass,
    /// It does not hold.
    Fail,
    /// No score of the other units can give it a verdict: too many are missing.
    Undecided,
}

/// The evidence that decided a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecidedBy {
    /// No outcome of the other units can change the verdict.
    Certain,
    /// The anytime p-value.
    Bound,
}

/// A frozen verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimDecision {
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// Its evidence.
    pub by: DecidedBy,
    /// Units of the claim that it took.
    pub units: u64,
    /// `p_pass` then.
    pub p_pass: f64,
    /// `p_fail` then.
    pub p_fail: f64,
    /// The level that the p-value was compared with.
    pub level: f64,
}

/// The scores that a claim misses so far. The caller counts them, as only it knows the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MissingScores {
    /// Within the limits: both verdicts are possible.
    #[default]
    Few,
    /// The prefix's share of unscored samples is over the limit: no pass for now.
    Many,
    /// Already more than the limit allows for the whole plan: the end is undecided, whatever else comes.
    TooMany,
}

/// m claims, each decided at most once.
///
/// After each unit, per direction: pass where p⁺ ≤ α/(m − passed), until none is left, then fail where
/// p⁻ ≤ α/(m − failed) (Holm 1979). A decision is frozen, so it stays valid while the others go on: P(any wrong pass)
/// ≤ α and P(any wrong fail) ≤ α over all claims and looks. Benjamini-Hochberg has no guarantee under repeated looks
/// with frozen decisions and is treated as Holm.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    claims: Vec<Claim>,
    decisions: Vec<Option<ClaimDecision>>,
    alpha: f64,
    correction: StepRule,
    min_units: u64,
}

impl Claims {
    /// Claims before the first unit. No bound decides a claim before `min_units` of its units ([`MIN_UNITS`],
    /// [`MIN_CLUSTERS`]).
    ///
    /// # Errors
    /// Those of [`Claim::new`]; α outside (0, 1).
    pub fn new(specs: &[ClaimSpec], alpha: f64, correction: StepRule, min_units: u64) -> Result<Self, InputError> {
        open_probability("alpha", alpha)?;
        let claims = specs.iter().map(|spec| Claim::new(*spec)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { decisions: vec![None; claims.len()], claims, alpha, correction, min_units })
    }

    /// Adds the next unit of one claim; see [`Claim::add`]. Then [`look`](Self::look).
    ///
    /// # Errors
    /// Those of [`Claim::add`]; a claim that does not exist.
    pub fn add(&mut self, claim: usize, sum: f64, n: u64) -> Result<(), InputError> {
        let len = self.claims.len();
        let claim = self.claims.get_mut(claim).ok_or(InputError::OutOfBounds { name: "claim", index: claim, len })?;
        claim.add(sum, n)
    }

    /// Decides what the units so far decide; `missing` has an entry a claim, and claims beyond its end miss few.
    pub fn look(&mut self, missing: &[MissingScores]) {
        let missing = |at: usize| missing.get(at).copied().unwrap_or_default();
        for at in 0..self.claims.len() {
            if missing(at) == MissingScores::TooMany && self.decisions[at].is_none() {
                self.freeze(at, ClaimVerdict::Undecided, DecidedBy::Certain);
            }
        }
        let may_pass = |at: usize| missing(at) == MissingScores::Few;
        while let Some(at) = self.least(ClaimVerdict::Pass, may_pass) {
            self.freeze_by_evidence(at, ClaimVerdict::Pass);
        }
        while let Some(at) = self.least(ClaimVerdict::Fail, |_| true) {
            self.freeze_by_evidence(at, ClaimVerdict::Fail);
        }
    }

    /// The claims, in the order given.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The decisions so far, in the same order.
    pub fn decisions(&self) -> &[Option<ClaimDecision>] {
        &self.decisions
    }

    /// Returns true once each claim is decided; false without claims, which decide nothing.
    pub fn is_decided(&self) -> bool {
        !self.claims.is_empty() && self.decisions.iter().all(Option::is_some)
    }

    /// α of all claims together.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The ends of one claim at its own levels: the level at which it was decided, and that at which it could be next
    /// in the other direction. They never contradict the verdict. `None` for a claim that does not exist.
    pub fn ends(&self, claim: usize) -> Option<ClaimEnds> {
        let (found, decision) = (self.claims.get(claim)?, self.decisions.get(claim)?);
        let level = |verdict| match decision {
            Some(decision) if decision.verdict == verdict => decision.level,
            _ => self.level(verdict),
        };
        let ends = found.ends(level(ClaimVerdict::Pass), level(ClaimVerdict::Fail));
        if ends.lower <= ends.upper {
            return Some(ends);
        }
        // The evidence excludes every mean. What the verdict rests on is kept.
        let verdict = decision.map(|decision| decision.verdict);
        let keep = match (verdict, found.spec().bound) {
            (Some(ClaimVerdict::Pass), Bound::AtLeast) | (Some(ClaimVerdict::Fail), Bound::AtMost) => ends.lower,
            (Some(ClaimVerdict::Fail), Bound::AtLeast) | (Some(ClaimVerdict::Pass), Bound::AtMost) => ends.upper,
            _ => 0.5 * (ends.lower + ends.upper),
        };
        Some(ClaimEnds { lower: keep, upper: keep })
    }

    /// The level at which the next claim would be decided in the direction of `verdict`.
    fn level(&self, verdict: ClaimVerdict) -> f64 {
        let decided = self.decisions.iter().flatten().filter(|decision| decision.verdict == verdict).count();
        let open = self.claims.len().saturating_sub(decided).max(1);
        match self.correction {
            StepRule::Alone => self.alpha,
            StepRule::Holm | StepRule::BenjaminiHochberg => self.alpha / open as f64,
        }
    }

    /// The open claim with the least p-value towards `verdict`, if that is small enough; the first of equals.
    fn least(&self, verdict: ClaimVerdict, may: impl Fn(usize) -> bool) -> Option<usize> {
        let level = self.level(verdict);
        let open = (0..self.claims.len()).filter(|at| self.decisions[*at].is_none() && may(*at));
        let ready = open.filter(|at| self.claims[*at].units() >= self.min_units || self.is_certain(*at, verdict));
        let small = ready.map(|at| (at, self.p(at, verdict))).filter(|(_, p)| *p <= level);
        small.min_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(at, _)| at)
    }

    fn p(&self, at: usize, verdict: ClaimVerdict) -> f64 {
        match verdict {
            ClaimVerdict::Pass => self.claims[at].p_pass(),
            ClaimVerdict::Fail => self.claims[at].p_fail(),
            ClaimVerdict::Undecided => 1.0,
        }
    }

    fn is_certain(&self, at: usize, verdict: ClaimVerdict) -> bool {
        let certain = self.claims[at].certain().map(|certain| match certain {
            CertainVerdict::Pass => ClaimVerdict::Pass,
            CertainVerdict::Fail => ClaimVerdict::Fail,
        });
        certain == Some(verdict)
    }

    fn freeze_by_evidence(&mut self, at: usize, verdict: ClaimVerdict) {
        let by = if self.is_certain(at, verdict) { DecidedBy::Certain } else { DecidedBy::Bound };
        self.freeze(at, verdict, by);
    }

    fn freeze(&mut self, at: usize, verdict: ClaimVerdict, by: DecidedBy) {
        let claim = &self.claims[at];
        let (units, p_pass, p_fail) = (claim.units(), claim.p_pass(), claim.p_fail());
        self.decisions[at] = Some(ClaimDecision { verdict, by, units, p_pass, p_fail, level: self.level(verdict) });
    }
}
