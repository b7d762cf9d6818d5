//! The two-sided tabular CUSUM chart.

use crate::numeric::input::{InputError, finite, in_domain, is_usable};

/// The chart's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cusum {
    /// In-control mean μ0, from at least 30 baseline points.
    pub target: f64,
    /// In-control standard deviation σ > 0.
    pub sigma: f64,
    /// Slack k in σ: half the step to find; usually ½.
    pub slack: f64,
    /// Decision limit h in σ; 6–7 for daily series, the textbook's 5 alarms falsely in a third of years.
    pub limit: f64,
    /// True if both sums restart at 0 after an alarm.
    pub reset_on_alarm: bool,
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Below the target.
    Down,
    /// Above the target.
    Up,
}

/// A point at which the chart crossed its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    /// Index of the point, from 0.
    pub index: usize,
    /// The side of the larger sum.
    pub side: Side,
}

/// The chart of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct CusumChart {
    /// C⁻ at each point, before any reset; `None` where the point is missing.
    pub down: Vec<Option<f64>>,
    /// C⁺ at each point.
    pub up: Vec<Option<f64>>,
    /// All alarms, in order.
    pub alarms: Vec<Alarm>,
}

/// Two-sided CUSUM (Page 1954): C⁻ = max(0, C⁻ − z − k), C⁺ = max(0, C⁺ + z − k), z = (x − μ0)/σ,
/// alarm when a sum is above h. Missing points leave the sums as they are.
///
/// # Errors
/// Values or parameters that are not finite, σ that is not positive.
pub fn cusum(values: &[Option<f64>], chart: &Cusum) -> Result<CusumChart, InputError> {
    finite("target, slack and limit", &[chart.target, chart.slack, chart.limit])?;
    let sigma = chart.sigma;
    in_domain("sigma", sigma, "more than 0", sigma > 0.0 && is_usable(sigma))?;
    let (mut down, mut up) = (0.0_f64, 0.0_f64);
    let mut result =
        CusumChart { down: Vec::with_capacity(values.len()), up: Vec::with_capacity(values.len()), alarms: Vec::new() };
    for (index, value) in values.iter().enumerate() {
        let Some(value) = *value else {
            result.down.push(None);
            result.up.push(None);
            continue;
        };
        if !is_usable(value) {
            return Err(InputError::NotFinite { name: "values", index });
        }
        let z = (value - chart.target) / sigma;
        down = (down - z - chart.slack).max(0.0);
        up = (up + z - chart.slack).max(0.0);
        result.down.push(Some(down));
        result.up.push(Some(up));
        if down.max(up) > chart.limit {
            let side = if down >= up { Side::Down } else { Side::Up };
            result.alarms.push(Alarm { index, side });
            if chart.reset_on_alarm {
                (down, up) = (0.0, 0.0);
            }
        }
    }
    Ok(result)
}
