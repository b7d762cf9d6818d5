//! Numbers within sentences: three significant digits, in the unit of their metric.

use karat_types::PlanHeader;

use crate::infer::finding::Finding;

/// The share of the largest figure of an interval below which an end is 0, up to errors of rounding.
const FLOAT_NOISE: f64 = 1e-9;

/// Milliseconds from here on are written as seconds.
const SECOND: f64 = 1_000.0;

/// The unit that the numbers of a metric are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A score.
    Score,
    /// Milliseconds.
    Millis,
    /// Dollars.
    Dollars,
}

impl Unit {
    /// Returns the unit of the metric of this name.
    pub(crate) fn of_metric(plan: &PlanHeader, name: &str) -> Self {
        let metric = plan.metric(name).and_then(|at| plan.metrics.get(at));
        match metric.and_then(|metric| plan.unit_of(metric)) {
            Some("ms") => Self::Millis,
            Some("USD") => Self::Dollars,
            _ => Self::Score,
        }
    }

    /// Formats a value with three significant digits: `0.5`, `715 ms`, `1.24 s`, `$0.0021`.
    pub(crate) fn value(self, value: f64) -> String {
        let (scale, before, after) = self.parts(value);
        let size = value.abs() / scale;
        // Dollars have cents.
        let number = match self {
            Self::Dollars if size >= 0.1 => format!("{size:.2}"),
            _ => three_digits(size),
        };
        let sign = if value < 0.0 && !is_zero(&number) { "−" } else { "" };
        format!("{sign}{before}{number}{after}")
    }

    /// Formats a difference with its sign.
    pub(crate) fn difference(self, value: f64) -> String {
        let text = self.value(value);
        if value > 0.0 && !is_zero(&text) { format!("+{text}") } else { text }
    }

    /// Formats a difference and its interval with the same number of decimals, and the number of samples.
    pub(crate) fn difference_with_interval(self, finding: &Finding) -> String {
        let (Some((lo, hi)), Some(level)) = (finding.interval(), finding.level()) else {
            return format!("{} (no interval, n = {})", self.difference(finding.value()), finding.n());
        };
        let most = [finding.value(), lo, hi].into_iter().fold(0.0, |most: f64, it| most.max(it.abs()));
        let (scale, before, after) = self.parts(most);
        let (decimals, noise) = (decimals(most / scale), most * FLOAT_NOISE);
        let number = |value: f64| {
            let text = format!("{:.decimals$}", value.abs() / scale);
            // An end that is only just on one side of 0 is not 0, unless only the last digits of a float are.
            match (is_zero(&text), value) {
                (true, value) if value > noise => "just above 0".to_owned(),
                (true, value) if value < -noise => "just below 0".to_owned(),
                (true, _) => text,
                (false, _) => format!("{}{before}{text}{after}", if value < 0.0 { '−' } else { '+' }),
            }
        };
        format!(
            "{} ({} % CI {} to {}, n = {})",
            number(finding.value()),
            three_digits(100.0 * level),
            number(lo),
            number(hi),
            finding.n()
        )
    }

    /// The divisor of a number of about this size, and what stands before and after it.
    fn parts(self, size: f64) -> (f64, &'static str, &'static str) {
        match self {
            Self::Score => (1.0, "", ""),
            Self::Millis if size.abs() < SECOND => (1.0, "", " ms"),
            Self::Millis => (SECOND, "", " s"),
            Self::Dollars => (1.0, "$", ""),
        }
    }
}

/// Returns true for a number without any digit but 0.
fn is_zero(number: &str) -> bool {
    !number.chars().any(|c| ('1'..='9').contains(&c))
}

/// Formats three significant digits, without trailing zeros.
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = decimals(value);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Number of decimals for three significant digits.
fn decimals(value: f64) -> usize {
    let magnitude = if value.abs() > 0.0 { value.abs().log10().floor() as i32 } else { 0 };
    (2 - magnitude).clamp(0, 6) as usize
}

#[cfg(test)]
mod tests {
    use karat_stats::interval::{Interval, Level, Method};

    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts: Vec<String> = [0.0, 1.0, 12.345, 0.012_345, 1234.5, 95.0].map(three_digits).to_vec();
        assert_eq!(texts, ["0", "1", "12.3", "0.0123", "1234", "95"]);
        assert_eq!([0.5, -0.5, 0.0].map(|it| Unit::Score.difference(it)), ["+0.5", "−0.5", "0"]);
        assert_eq!([1e-12, -1e-12].map(|it| Unit::Score.difference(it)), ["0", "0"]);
    }

    /// F64: a time and an amount of money have their unit in every sentence.
    #[test]
    fn a_difference_has_its_unit() {
        assert_eq!([-715.0, 1240.0].map(|it| Unit::Millis.difference(it)), ["−715 ms", "+1.24 s"]);
        assert_eq!([-0.0021, 3.5].map(|it| Unit::Dollars.difference(it)), ["−$0.0021", "+$3.50"]);
        let interval = Interval { lo: -1_900.0, hi: 20.0, level: Level::P95, method: Method::StudentT };
        let finding = Finding::point(-720.0, 40, "mean").unwrap().with_interval(Some(interval), None);
        let text = Unit::Millis.difference_with_interval(&finding);
        assert_eq!(text, "−0.72 s (95 % CI −1.90 s to +0.02 s, n = 40)");
    }
}
