//! Intervals and the confidence level they hold.

use std::fmt;

use crate::numeric::special::{StudentT, normal_quantile};

/// A confidence level, strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Level(f64);

impl Level {
    /// 90 %.
    pub const P90: Self = Self(0.90);
    /// 95 %, the default everywhere.
    pub const P95: Self = Self(0.95);
    /// 99 %.
    pub const P99: Self = Self(0.99);

    /// `None` unless `level` is strictly between 0 and 1.
    pub fn new(level: f64) -> Option<Self> {
        (level > 0.0 && level < 1.0).then_some(Self(level))
    }

    /// The level whose error probability is `alpha`: 1 − α.
    pub fn from_alpha(alpha: f64) -> Option<Self> {
        Self::new(1.0 - alpha)
    }

    /// The level as a share, such as 0.95.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The error probability α = 1 − level.
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }

    /// The two-sided normal quantile z_{1−α/2}.
    pub fn z(self) -> f64 {
        -normal_quantile(0.5 * self.alpha())
    }

    /// The two-sided Student quantile t_{1−α/2, df}; `None` unless `df` is positive.
    pub fn t(self, df: f64) -> Option<f64> {
        Some(StudentT::new(df)?.upper_quantile(0.5 * self.alpha()))
    }
}

/// The method of an interval, as reports print it after the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Mean ± t·SE.
    StudentT,
    /// Mean ± z·SE.
    Normal,
    /// Cluster-robust CR1 standard error with t_{G−1}.
    ClusterT,
    /// Cluster-robust CR2 standard error with Bell-McCaffrey degrees of freedom.
    ClusterRobust,
    /// Few values vary: the ends of the scale count as one value not yet seen.
    Bounded,
    /// Wilson at the effective number of shares with t.
    ShareWilson,
    /// Wilson ends of two rates, combined (Newcombe).
    Newcombe,
    /// Difference of means with Welch's degrees of freedom.
    Welch,
    /// Stratified mean with t.
    Stratified,
    /// Wilson at the effective number of a stratified rate with t.
    StratifiedWilson,
    /// Weighted mean (Hájek) with t.
    Weighted,
    /// Wilson at the effective number of a weighted rate.
    WeightedWilson,
    /// Wilson score interval of a proportion.
    Wilson,
    /// Wilson at the effective number of clustered trials with t_{G−1}.
    ClusterWilson,
    /// Clopper-Pearson, guaranteed coverage.
    ClopperPearson,
    /// Agresti-Coull.
    AgrestiCoull,
    /// Jeffreys equal-tailed posterior interval.
    Jeffreys,
    /// Wald interval of a proportion.
    Wald,
    /// Score interval of a difference of paired rates (Tango).
    Score,
    /// Inversion of the exact sign-flip test.
    SignFlip,
    /// Percentile bootstrap.
    Percentile,
    /// Basic (reflected) bootstrap.
    Basic,
    /// Bias-corrected and accelerated bootstrap.
    Bca,
    /// Estimate ± t_{G−1} · standard error over resampled clusters.
    ClusterBootstrapT,
    /// Jackknife over whole clusters on Fisher's z with t_{G−1}.
    ClusterJackknife,
    /// Fisher's z transformation of a correlation.
    FisherZ,
    /// F distribution (intraclass correlation).
    FisherF,
    /// Delta method.
    Delta,
    /// Lang-Reiczigel interval of a corrected rate.
    LangReiczigel,
    /// Prediction-powered mean.
    PredictionPowered,
    /// Regression estimate of a judge cascade with t.
    Cascade,
    /// All values are equal: the interval is the point.
    Degenerate,
}

impl Method {
    /// The name printed in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StudentT => "t",
            Self::Normal => "normal",
            Self::ClusterT => "cluster t (CR1)",
            Self::ClusterRobust => "cluster t (CR2)",
            Self::Bounded => "bounded, few values vary",
            Self::ShareWilson => "share Wilson (t)",
            Self::Newcombe => "Newcombe",
            Self::Welch => "Welch t",
            Self::Stratified => "stratified t",
            Self::StratifiedWilson => "stratified Wilson (t)",
            Self::Weighted => "weighted t",
            Self::WeightedWilson => "weighted Wilson",
            Self::Wilson => "Wilson",
            Self::ClusterWilson => "cluster Wilson (t)",
            Self::ClopperPearson => "Clopper-Pearson",
            Self::AgrestiCoull => "Agresti-Coull",
            Self::Jeffreys => "Jeffreys",
            Self::Wald => "Wald",
            Self::Score => "score (Tango)",
            Self::SignFlip => "sign-flip, inverted",
            Self::Percentile => "percentile bootstrap",
            Self::Basic => "basic bootstrap",
            Self::Bca => "BCa bootstrap",
            Self::ClusterBootstrapT => "cluster bootstrap, t",
            Self::ClusterJackknife => "cluster jackknife (Fisher z, t)",
            Self::FisherZ => "Fisher z",
            Self::FisherF => "F",
            Self::Delta => "delta",
            Self::LangReiczigel => "Lang-Reiczigel",
            Self::PredictionPowered => "PPI++",
            Self::Cascade => "cascade (regression, t)",
            Self::Degenerate => "degenerate",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A confidence interval, `lo ≤ hi`, in the units of its statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound.
    pub lo: f64,
    /// Upper bound.
    pub hi: f64,
    /// Confidence level.
    pub level: Level,
    /// Its method.
    pub method: Method,
}

impl Interval {
    /// `centre ± half_width`.
    pub fn around(centre: f64, half_width: f64, level: Level, method: Method) -> Self {
        Self { lo: centre - half_width, hi: centre + half_width, level, method }
    }

    /// Half of the interval's width.
    pub fn half_width(&self) -> f64 {
        0.5 * (self.hi - self.lo)
    }

    /// Returns true if `value` lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.lo..=self.hi).contains(&value)
    }

    /// The interval cut to the range of its scale. For display only, after all arithmetic.
    pub fn clip(self, min: f64, max: f64) -> Self {
        Self { lo: self.lo.max(min).min(max), hi: self.hi.min(max).max(min), ..self }
    }
}
