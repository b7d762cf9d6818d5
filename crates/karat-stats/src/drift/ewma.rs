//! The exponentially weighted moving average chart.

use crate::numeric::input::{InputError, finite, in_domain};

/// The chart's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ewma {
    /// In-control mean.
    pub target: f64,
    /// In-control standard deviation, > 0.
    pub sigma: f64,
    /// Weight λ of the newest value, in (0, 1]; usually 0.2.
    pub weight: f64,
    /// Limit L in standard deviations of the average; usually 2.7.
    pub limit: f64,
}

/// One point of the chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EwmaPoint {
    /// The average z.
    pub average: f64,
    /// Lower control limit.
    pub lower: f64,
    /// Upper control limit.
    pub upper: f64,
}

impl EwmaPoint {
    fn is_outside(&self) -> bool {
        self.average < self.lower || self.average > self.upper
    }
}

/// The chart of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct EwmaChart {
    /// One point per value.
    pub points: Vec<EwmaPoint>,
    /// Indices (from 0) of the points outside their limits; the average is not reset.
    pub alarms: Vec<usize>,
}

/// EWMA chart z_t = λx_t + (1−λ)z_{t−1}, z_0 = target, with limits target ± Lσ√(λ/(2−λ)·(1−(1−λ)^{2t}))
/// (Lucas & Saccucci 1990). For slow drift.
///
/// # Errors
/// Values that are not finite, σ or L that are not positive, λ outside (0, 1].
pub fn ewma(values: &[f64], chart: &Ewma) -> Result<EwmaChart, InputError> {
    finite("values", values)?;
    finite("target", &[chart.target])?;
    let positive = |name, value: f64| in_domain(name, value, "more than 0", value > 0.0 && value.is_finite());
    positive("sigma", chart.sigma)?;
    positive("limit", chart.limit)?;
    let weight = chart.weight;
    in_domain("weight", weight, "more than 0 and at most 1", weight > 0.0 && weight <= 1.0)?;
    let mut average = chart.target;
    let mut forgotten = 1.0;
    let points: Vec<EwmaPoint> = values
        .iter()
        .map(|value| {
            average = weight * value + (1.0 - weight) * average;
            forgotten *= (1.0 - weight).powi(2);
            let width = chart.limit * chart.sigma * (weight / (2.0 - weight) * (1.0 - forgotten)).sqrt();
            EwmaPoint { average, lower: chart.target - width, upper: chart.target + width }
        })
        .collect();
    let alarms = points.iter().enumerate().filter(|(_, point)| point.is_outside());
    Ok(EwmaChart { alarms: alarms.map(|(index, _)| index).collect(), points })
}
