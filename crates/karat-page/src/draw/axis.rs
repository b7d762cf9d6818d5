//! Axes: at most six round ticks, and positions on them.

use maud::{Markup, html};

use crate::draw::mark::percent;
use crate::number::{Scale, Unit, millis, share, short, usd, with_sign};

/// Largest number of ticks.
const MOST_TICKS: f64 = 6.0;

/// Ratio of the ends from which on a logarithmic axis is used where one is allowed.
const LOG_FROM: f64 = 50.0;

/// A linear or logarithmic axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    lo: f64,
    hi: f64,
    ticks: Vec<f64>,
    is_log: bool,
    /// True if the axis shows only a part of the declared range.
    pub(crate) is_cut: bool,
}

impl Axis {
    /// An axis over the declared range, or over round ends around the values.
    pub(crate) fn of(scale: &Scale, values: impl Iterator<Item = f64>) -> Self {
        let (lo, hi) = ends(values);
        match scale.range {
            Some((least, most))
                if most > least && lo.is_none_or(|lo| lo >= least) && hi.is_none_or(|hi| hi <= most) =>
            {
                Self::linear(least, most)
            }
            _ => Self::round(lo, hi),
        }
    }

    /// An axis that begins at zero, for bars and counts.
    pub(crate) fn from_zero(values: impl Iterator<Item = f64>) -> Self {
        let (lo, hi) = ends(values.chain([0.0]));
        Self::round(lo, hi)
    }

    /// An axis of differences with zero on it, as wide on both sides as the larger needs.
    pub(crate) fn around_zero(values: impl Iterator<Item = f64>) -> Self {
        let (lo, hi) = ends(values.chain([0.0]));
        let (lo, hi) = (lo.unwrap_or(0.0), hi.unwrap_or(0.0));
        let pad = (hi - lo) * 0.04;
        Self::round(Some(lo - pad), Some(hi + pad))
    }

    /// A logarithmic axis if all values are positive and their ends lie far apart, else one from zero.
    pub(crate) fn log_or_zero(values: impl Iterator<Item = f64> + Clone) -> Self {
        let (lo, hi) = ends(values.clone());
        let (Some(lo), Some(hi)) = (lo, hi) else { return Self::from_zero(values) };
        if lo <= 0.0 || hi / lo <= LOG_FROM {
            return Self::from_zero(values);
        }
        let (from, to) = (lo.log10().floor(), hi.log10().ceil());
        let step = ((to - from) / (MOST_TICKS - 1.0)).ceil().max(1.0);
        let ticks = (0..).map(|at| from + step * f64::from(at)).take_while(|exponent| *exponent <= to + 1e-9);
        let ticks: Vec<f64> = ticks.map(|exponent| 10f64.powf(exponent)).collect();
        Self { lo: from, hi: to, ticks, is_log: true, is_cut: false }
    }

    /// An axis that ends exactly here.
    pub(crate) fn linear(lo: f64, hi: f64) -> Self {
        let step = round_step((hi - lo) / (MOST_TICKS - 1.0));
        Self { lo, hi, ticks: ticks(lo, hi, step), is_log: false, is_cut: false }
    }

    fn round(lo: Option<f64>, hi: Option<f64>) -> Self {
        let (lo, hi) = (lo.unwrap_or(0.0), hi.unwrap_or(1.0));
        // Ends beyond this overflow when they are subtracted.
        let (lo, hi) = (lo.clamp(-1e300, 1e300), hi.clamp(-1e300, 1e300));
        if hi - lo <= lo.abs().max(hi.abs()) * 1e-9 {
            // All values are equal: one tick in the centre.
            let pad = if lo.abs() > 0.0 { lo.abs() * 0.5 } else { 0.5 };
            return Self { lo: lo - pad, hi: lo + pad, ticks: vec![lo], is_log: false, is_cut: false };
        }
        let step = round_step((hi - lo) / (MOST_TICKS - 2.0));
        let (lo, hi) = ((lo / step).floor() * step, (hi / step).ceil() * step);
        Self { lo, hi, ticks: ticks(lo, hi, step), is_log: false, is_cut: false }
    }

    /// Marks the axis as cut if it does not show the whole declared range.
    #[must_use]
    pub(crate) fn cut_from(mut self, scale: &Scale) -> Self {
        self.is_cut = scale.range.is_some_and(|(lo, hi)| lo < self.lo - 1e-12 || hi > self.hi + 1e-12);
        self
    }

    /// Returns the position of a value, from 0 to 1; values beyond an end stand at it.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let value = if self.is_log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let position = ((value - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0);
        if position.is_nan() { 0.5 } else { position }
    }

    pub(crate) fn ends(&self) -> (f64, f64) {
        if self.is_log { (10f64.powf(self.lo), 10f64.powf(self.hi)) } else { (self.lo, self.hi) }
    }

    pub(crate) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    pub(crate) fn is_log(&self) -> bool {
        self.is_log
    }

    /// Vertical grid lines over this height.
    pub(crate) fn grid(&self, height: f64) -> Markup {
        html! {
            @for tick in &self.ticks {
                @let x = percent(self.position(*tick));
                line.grid-line x1=(x) x2=(x) y1="0" y2=(height) {}
            }
        }
    }

    /// Numbers below a horizontal axis. Every second one is left out where the chart is narrow.
    pub(crate) fn labels(&self, scale: &Scale, is_difference: bool, y: f64) -> Markup {
        let last = self.ticks.len().saturating_sub(1);
        // Zero is what differences are read against.
        let zero = self.ticks.iter().position(|tick| is_difference && tick.abs() <= 0.0);
        let kept = zero.unwrap_or(last);
        html! {
            @for (at, tick) in self.ticks.iter().enumerate() {
                @let is_minor = self.ticks.len() > 4 && at.abs_diff(kept) % 2 == 1;
                text.soft.tick-minor[is_minor] x=(percent(self.position(*tick))) y=(y) text-anchor="middle" {
                    (tick_text(scale, *tick, is_difference))
                }
            }
        }
    }
}

/// Formats a tick: as short as its unit allows.
pub(crate) fn tick_text(scale: &Scale, tick: f64, is_difference: bool) -> String {
    let text = match scale.unit {
        Unit::Share => {
            let text = share(tick);
            text.replace(".0 %", " %")
        }
        Unit::Dollars => usd(Some(tick)),
        Unit::Millis => millis(tick).replace(".00 s", " s").replace(".0 ms", " ms"),
        Unit::Count => Scale::of(Unit::Count).text(tick),
        Unit::Score | Unit::Named(_) => short(tick),
    };
    if is_difference { with_sign(&text) } else { text }
}

fn ends(values: impl Iterator<Item = f64>) -> (Option<f64>, Option<f64>) {
    let values = values.filter(|value| value.is_finite());
    values.fold((None, None), |(lo, hi): (Option<f64>, Option<f64>), value| {
        (Some(lo.map_or(value, |lo| lo.min(value))), Some(hi.map_or(value, |hi| hi.max(value))))
    })
}

/// Rounds a step up to 1, 2, 2.5 or 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factors = [1.0, 2.0, 2.5, 5.0, 10.0];
    let factor = factors.into_iter().find(|factor| factor * power >= step * (1.0 - 1e-9)).unwrap_or(10.0);
    factor * power
}

fn ticks(lo: f64, hi: f64, step: f64) -> Vec<f64> {
    let first = (lo / step - 1e-9).ceil();
    // Multiples of the step, not sums: sums drift.
    let tick = |at: u32| {
        let tick = (first + f64::from(at)) * step;
        if tick.abs() < step * 1e-9 { 0.0 } else { tick }
    };
    (0..8).map(tick).take_while(|tick| *tick <= hi + step * 1e-9).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-35: an axis has at most six round ticks.
    #[test]
    fn ticks_are_few_and_round() {
        let written = |axis: &Axis| axis.ticks.iter().map(|tick| short(*tick)).collect::<Vec<_>>().join(" ");
        assert_eq!(written(&Axis::linear(0.0, 1.0)), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(written(&Axis::linear(1.0, 5.0)), "1 2 3 4 5");
        assert_eq!(written(&Axis::of(&Scale::default(), [0.12, 0.87].into_iter())), "0 0.2 0.4 0.6 0.8 1");
        assert_eq!(written(&Axis::log_or_zero([12.0, 90_000.0].into_iter())), "10 100 1000 10000 100000");
        for (lo, hi) in [(-0.013, 0.4), (3.0, 3.1), (-1e9, 1e12), (0.0, 7.0), (1e-9, 2e-9), (-1e308, 1e308)] {
            let axis = Axis::round(Some(lo), Some(hi));
            assert!((2..=6).contains(&axis.ticks.len()), "{lo} {hi} {:?}", axis.ticks);
        }
    }

    /// DB-36: equal values have a centred tick, not an axis without width.
    #[test]
    fn equal_values_stand_in_the_centre() {
        for value in [0.0, 0.7, -3.0] {
            let axis = Axis::of(&Scale::default(), [value, value].into_iter());
            assert!((axis.position(value) - 0.5).abs() < 1e-9 && axis.ticks.len() == 1);
        }
    }
}
