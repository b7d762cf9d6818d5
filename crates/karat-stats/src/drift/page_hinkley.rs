//! The Page-Hinkley test.

use crate::numeric::input::{InputError, finite, in_domain};

/// The changes of the mean that raise an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageHinkleyMode {
    /// Only drops.
    Down,
    /// Only rises.
    Up,
    /// Either.
    Both,
}

/// The test's parameters, in score units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageHinkley {
    /// Deviation δ that is tolerated at every step.
    pub delta: f64,
    /// Alarm above this cumulated deviation.
    pub threshold: f64,
    /// No alarm before this many values since the start or the last alarm.
    pub min_instances: usize,
    /// Forgetting factor of the sums, in (0, 1]; 1 forgets nothing.
    pub forgetting: f64,
    /// The changes that raise an alarm.
    pub mode: PageHinkleyMode,
}

/// The two statistics after one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageHinkleyPoint {
    /// Distance of the rising sum from its minimum.
    pub up: f64,
    /// Distance of the falling sum from its maximum.
    pub down: f64,
}

/// The test's run over a series.
#[derive(Debug, Clone, PartialEq)]
pub struct PageHinkleyChart {
    /// One point per value, before any restart.
    pub points: Vec<PageHinkleyPoint>,
    /// Indices (from 0) of the alarms.
    pub alarms: Vec<usize>,
}

/// Page-Hinkley test with a running mean that includes the current value, as in the `river` package:
/// S⁺ = αS⁺ + (x − x̄) − δ, S⁻ = αS⁻ + (x − x̄) + δ, alarm when S⁺ − min S⁺ or max S⁻ − S⁻ is above
/// the threshold; everything restarts with the value after an alarm. No guarantee on false alarms.
///
/// # Errors
/// Values or parameters that are not finite, a forgetting factor outside (0, 1].
pub fn page_hinkley(values: &[f64], test: &PageHinkley) -> Result<PageHinkleyChart, InputError> {
    finite("values", values)?;
    finite("delta", &[test.delta])?;
    finite("threshold", &[test.threshold])?;
    let forgetting = test.forgetting;
    let allowed = forgetting > 0.0 && forgetting <= 1.0;
    in_domain("forgetting factor", forgetting, "more than 0 and at most 1", allowed)?;
    let mut state = State::default();
    let mut points = Vec::with_capacity(values.len());
    let mut alarms = Vec::new();
    for (index, &value) in values.iter().enumerate() {
        let point = state.add(value, test);
        points.push(point);
        if state.seen >= test.min_instances && test.is_alarm(point) {
            alarms.push(index);
            state = State::default();
        }
    }
    Ok(PageHinkleyChart { points, alarms })
}

impl PageHinkley {
    fn is_alarm(&self, point: PageHinkleyPoint) -> bool {
        let (up, down) = (point.up > self.threshold, point.down > self.threshold);
        match self.mode {
            PageHinkleyMode::Up => up,
            PageHinkleyMode::Down => down,
            PageHinkleyMode::Both => up || down,
        }
    }
}

struct State {
    seen: usize,
    mean: f64,
    rising: f64,
    falling: f64,
    lowest: f64,
    highest: f64,
}

impl Default for State {
    fn default() -> Self {
        Self { seen: 0, mean: 0.0, rising: 0.0, falling: 0.0, lowest: f64::INFINITY, highest: f64::NEG_INFINITY }
    }
}

impl State {
    fn add(&mut self, value: f64, test: &PageHinkley) -> PageHinkleyPoint {
        self.seen += 1;
        self.mean += (value - self.mean) / self.seen as f64;
        let deviation = value - self.mean;
        self.rising = test.forgetting * self.rising + deviation - test.delta;
        self.falling = test.forgetting * self.falling + deviation + test.delta;
        self.lowest = self.lowest.min(self.rising);
        self.highest = self.highest.max(self.falling);
        PageHinkleyPoint { up: self.rising - self.lowest, down: self.highest - self.falling }
    }
}
