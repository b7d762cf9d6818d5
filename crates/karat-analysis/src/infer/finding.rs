//! The only form in which a statistic leaves this crate (invariant 6, statistics are findings).

use std::borrow::Cow;

use karat_stats::interval::Interval;
use karat_stats::numeric::seed::Seed;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A statistic with its n, interval, method and seed.
///
/// It can only be constructed in this crate, so every number in a report is a count or comes from a finding. All
/// numbers in it are finite, and zero is never negative.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    value: f64,
    n: u64,
    se: Option<f64>,
    interval: Option<(f64, f64)>,
    /// The interval of the figure of outputs like these, where `interval` is that of these outputs alone.
    population: Option<(f64, f64)>,
    /// The ends of an interval of which one lies beyond the data.
    half_open: Option<[Option<f64>; 2]>,
    level: f64,
    method: Cow<'static, str>,
    seed: Option<u64>,
    degenerate: bool,
    df: Option<f64>,
    effective_clusters: Option<f64>,
    few_vary: bool,
    open: Option<Cow<'static, str>>,
    design: Option<Box<FigureDesign>>,
}

/// The draw behind a figure.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct FigureDesign {
    /// Its kind.
    pub kind: &'static str,
    /// The column of the strata.
    pub by: String,
    /// Rows that were drawn from.
    pub rows: u64,
    /// Rows that were drawn and have a score.
    pub drawn: u64,
    /// Share of the rows whose strata have a score, if not all have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covers: Option<f64>,
}

impl Finding {
    /// A value without an interval. `None` when it is not finite.
    pub(crate) fn point(value: f64, n: usize, method: impl Into<Cow<'static, str>>) -> Option<Self> {
        Some(Self {
            value: finite(value)?,
            n: n as u64,
            se: None,
            interval: None,
            population: None,
            half_open: None,
            level: 0.0,
            method: method.into(),
            seed: None,
            degenerate: false,
            df: None,
            effective_clusters: None,
            few_vary: false,
            open: None,
            design: None,
        })
    }

    /// Sets the interval, if one is defined, and replaces the method by the interval's.
    #[must_use]
    pub(crate) fn with_interval(mut self, interval: Option<Interval>, se: Option<f64>) -> Self {
        self.se = se.and_then(finite);
        if let Some((found, lo, hi)) = interval.and_then(|it| Some((it, finite(it.lo)?, finite(it.hi)?))) {
            self.interval = Some((lo, hi));
            self.level = found.level.get();
            self.method = Cow::Borrowed(found.method.as_str());
        }
        self
    }

    /// Sets the interval, if one is defined, and appends its method to the statistic's name.
    #[must_use]
    pub(crate) fn with_named_interval(mut self, interval: Option<Interval>) -> Self {
        if let Some((found, lo, hi)) = interval.and_then(|it| Some((it, finite(it.lo)?, finite(it.hi)?))) {
            self.interval = Some((lo, hi));
            self.level = found.level.get();
            self.method = Cow::Owned(format!("{}, {}", self.method, found.method.as_str()));
        }
        self
    }

    /// Adds the interval of the figure of outputs like these, beside that of these outputs.
    #[must_use]
    pub(crate) fn with_population(mut self, interval: Option<Interval>) -> Self {
        self.population = interval.and_then(|it| finite(it.lo).zip(finite(it.hi)));
        self
    }

    /// The same figure as an estimate for outputs like these: its interval is `population`.
    #[must_use]
    pub(crate) fn for_population(mut self) -> Self {
        self.interval = self.population;
        self
    }

    /// Sets an interval whose ends may lie beyond the data.
    #[must_use]
    pub(crate) fn with_open_ends(mut self, ends: [Option<f64>; 2], level: f64) -> Self {
        match ends {
            [Some(lo), Some(hi)] => self.interval = finite(lo).zip(finite(hi)),
            [None, None] => return self,
            _ => self.half_open = Some(ends),
        }
        self.level = level;
        self
    }

    /// Sets the ends of a confidence sequence, which holds at any time of looking.
    #[must_use]
    pub(crate) fn with_ends(mut self, (lo, hi): (f64, f64), level: f64) -> Self {
        (self.interval, self.level, self.se) = (finite(lo).zip(finite(hi)), level, None);
        self
    }

    /// Takes the interval and the standard error away, and appends the reason to the method.
    #[must_use]
    pub(crate) fn without_interval(mut self, why: &str) -> Self {
        if self.ends().is_some() || self.se.is_some() {
            self.method = Cow::Owned(format!("{}: {why}", self.method));
        }
        (self.interval, self.half_open, self.se, self.level, self.degenerate) = (None, None, None, 0.0, false);
        self.population = None;
        (self.df, self.effective_clusters, self.few_vary) = (None, None, false);
        self
    }

    /// Clips the interval to the possible range of the figure.
    #[must_use]
    pub(crate) fn clip_interval(mut self, lo: f64, hi: f64) -> Self {
        self.interval = self.interval.map(|(from, to)| (from.clamp(lo, hi), to.clamp(lo, hi)));
        self
    }

    /// Clips the interval of a difference to ±`widest`, the largest possible difference, if that is known.
    #[must_use]
    pub(crate) fn clip_difference(self, widest: Option<f64>) -> Self {
        match widest.filter(|widest| self.value.abs() <= *widest) {
            Some(widest) => self.clip_interval(-widest, widest),
            None => self,
        }
    }

    /// The difference in the other direction.
    #[must_use]
    pub fn negate(mut self) -> Self {
        self.value = 0.0 - self.value;
        self.interval = self.interval.map(|(lo, hi)| (0.0 - hi, 0.0 - lo));
        self
    }

    /// Sets the standard error, if it is finite.
    #[must_use]
    pub(crate) fn with_se(mut self, se: f64) -> Self {
        self.se = finite(se);
        self
    }

    /// Sets the seed.
    #[must_use]
    pub(crate) fn with_seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed.0);
        self
    }

    /// Sets the degrees of freedom of the interval.
    #[must_use]
    pub(crate) fn with_df(mut self, df: f64) -> Self {
        self.df = finite(df);
        self
    }

    /// Sets the degrees of freedom of clusters, which are worth one cluster of equal size more.
    #[must_use]
    pub(crate) fn with_clusters(mut self, df: f64) -> Self {
        self.df = finite(df);
        self.effective_clusters = finite(df + 1.0);
        self
    }

    /// Marks values of which so few vary that the interval comes from the ends of their scale.
    #[must_use]
    pub(crate) fn mark_few_vary(mut self) -> Self {
        self.few_vary = true;
        self
    }

    /// Sets the reason why nothing is decided by the interval.
    #[must_use]
    pub(crate) fn leave_open(mut self, why: impl Into<Cow<'static, str>>) -> Self {
        self.open = Some(why.into());
        self
    }

    /// Marks the finding as degenerate: all resamples were equal, so the interval is meaningless.
    #[must_use]
    pub(crate) fn mark_degenerate(mut self, degenerate: bool) -> Self {
        self.degenerate = degenerate;
        self
    }

    /// Replaces the name of the method.
    #[must_use]
    pub(crate) fn with_method(mut self, method: impl Into<Cow<'static, str>>) -> Self {
        self.method = method.into();
        self
    }

    /// Adds the draw of the samples.
    #[must_use]
    pub(crate) fn with_design(mut self, design: FigureDesign) -> Self {
        self.design = Some(Box::new(design));
        self
    }

    /// The draw of the samples, where the figure is weighted by it.
    pub fn design(&self) -> Option<&FigureDesign> {
        self.design.as_deref()
    }

    /// Reads the JSON form. `None` if it is not a finding.
    pub(crate) fn from_json(written: &serde_json::Value) -> Option<Self> {
        let number = |key: &str| written.get(key)?.as_f64();
        let bound = |key: &str, at: usize| written.get(key)?.get(at)?.as_f64();
        let method = written.get("method").and_then(serde_json::Value::as_str).unwrap_or("finding");
        let n = written.get("n").and_then(serde_json::Value::as_u64).unwrap_or_default();
        let point = Self::point(number("value")?, n as usize, method.to_owned())?;
        Some(Self {
            se: number("se"),
            interval: bound("ci", 0).zip(bound("ci", 1)),
            population: bound("population", 0).zip(bound("population", 1)),
            level: number("level").unwrap_or_default(),
            seed: written.get("seed").and_then(serde_json::Value::as_u64),
            df: number("df"),
            effective_clusters: number("effective_clusters"),
            few_vary: written.get("few_vary").and_then(serde_json::Value::as_bool).unwrap_or_default(),
            open: written.get("open").and_then(serde_json::Value::as_str).map(|why| Cow::Owned(why.to_owned())),
            ..point
        })
    }

    /// The figure, in the metric's own unit.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Number of observations.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Its standard error, where defined.
    pub fn se(&self) -> Option<f64> {
        self.se
    }

    /// Lower and upper bound, where defined.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval
    }

    /// The interval for outputs like these, where [`interval`](Self::interval) is that of these outputs alone.
    pub fn population(&self) -> Option<(f64, f64)> {
        self.population
    }

    /// Lower and upper end, of which one may be open: `None` lies beyond the data.
    pub fn ends(&self) -> Option<[Option<f64>; 2]> {
        self.half_open.or_else(|| self.interval.map(|(lo, hi)| [Some(lo), Some(hi)]))
    }

    /// Confidence level of the interval as a share, if there is an interval.
    pub fn level(&self) -> Option<f64> {
        self.ends().map(|_| self.level)
    }

    /// Name of the method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Seed of a random method.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Degrees of freedom of its interval, where that has some.
    pub fn df(&self) -> Option<f64> {
        self.df
    }

    /// The number of clusters of equal size that its clusters are worth, where they count.
    pub fn effective_clusters(&self) -> Option<f64> {
        self.effective_clusters
    }

    /// Returns true if so few values vary that the interval comes from the ends of their scale.
    pub fn few_vary(&self) -> bool {
        self.few_vary
    }

    /// The reason why nothing is decided by the interval, if there is one.
    pub fn open(&self) -> Option<&str> {
        self.open.as_deref()
    }

    /// Returns true if all resamples were equal, so that the interval has no width and no meaning.
    pub fn is_degenerate(&self) -> bool {
        self.degenerate
    }

    /// Writes what limits the interval: `df?`, `effective_clusters?`, `few_vary?`, `design?`, `open?`,
    /// `degenerate?`.
    pub(crate) fn serialize_limits<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if let Some(df) = self.df {
            map.serialize_entry("df", &df)?;
        }
        if let Some(worth) = self.effective_clusters {
            map.serialize_entry("effective_clusters", &worth)?;
        }
        if self.few_vary {
            map.serialize_entry("few_vary", &true)?;
        }
        if let Some(design) = &self.design {
            map.serialize_entry("design", design)?;
        }
        if let Some(why) = &self.open {
            map.serialize_entry("open", why)?;
        }
        if self.degenerate {
            map.serialize_entry("degenerate", &true)?;
        }
        Ok(())
    }

    /// The sign of a difference by its interval: `Some(true)` above zero, `Some(false)` below, `None` if the interval
    /// contains zero, is missing or degenerate, or decides nothing.
    pub fn sign(&self) -> Option<bool> {
        let (lo, hi) = self.interval.filter(|_| !self.degenerate && self.open.is_none())?;
        if lo > 0.0 { Some(true) } else { (hi < 0.0).then_some(false) }
    }
}

/// `{value, n, se, ci: [lo, hi] (an open end is null), population?: [lo, hi], level, method, df?, effective_clusters?, few_vary?,
/// design?, open?, degenerate?, seed?}`; undefined values are null.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("value", &self.value)?;
        map.serialize_entry("n", &self.n)?;
        map.serialize_entry("se", &self.se)?;
        map.serialize_entry("ci", &self.ends())?;
        if let Some(population) = self.population {
            map.serialize_entry("population", &population)?;
        }
        map.serialize_entry("level", &self.level())?;
        map.serialize_entry("method", &self.method)?;
        self.serialize_limits(&mut map)?;
        if let Some(seed) = self.seed {
            map.serialize_entry("seed", &seed)?;
        }
        map.end()
    }
}

/// The number with −0 replaced by 0; `None` if it is not finite.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use karat_stats::interval::{Level, Method};

    #[test]
    fn an_undefined_number_makes_no_finding() {
        assert_eq!(Finding::point(f64::NAN, 3, "mean"), None);
        let finding = Finding::point(-0.0, 1, "mean").unwrap();
        assert!(finding.value().is_sign_positive());
    }

    #[test]
    fn json_carries_value_n_interval_and_method() {
        let interval = Interval { lo: 0.5, hi: 0.9, level: Level::P95, method: Method::Wilson };
        let finding = Finding::point(0.75, 8, "mean").unwrap().with_interval(Some(interval), Some(0.1));
        assert_eq!(
            serde_json::to_string(&finding).unwrap(),
            r#"{"value":0.75,"n":8,"se":0.1,"ci":[0.5,0.9],"level":0.95,"method":"Wilson"}"#
        );
    }

    #[test]
    fn sign_needs_an_interval_that_excludes_zero() {
        let around = |lo, hi| {
            let interval = Interval { lo, hi, level: Level::P95, method: Method::StudentT };
            Finding::point(lo, 3, "mean").unwrap().with_interval(Some(interval), None)
        };
        assert_eq!(around(0.1, 0.2).sign(), Some(true));
        assert_eq!(around(-0.2, -0.1).sign(), Some(false));
        assert_eq!(around(-0.1, 0.1).sign(), None);
        assert_eq!(Finding::point(1.0, 1, "mean").unwrap().sign(), None);
    }
}
