//! Findings as text: value, interval, n and method in the words of reports. How a number is written is decided by
//! [`karat_page::number`], the same for every format.

use karat_analysis::Finding;
use karat_analysis::agree::MetricRaters;
use karat_analysis::compare::ComparedMetric;
use karat_analysis::planning::MetricPower;
use karat_page::number::{self, Scale, Unit};
pub(crate) use karat_page::number::{MOST_DIGITS, NONE, count, count_noun, percent, to_digits, usd, with_sign};
use karat_types::{Better, MetricSpec, Money, UncachedCost};

/// A metric whose values have a scale.
pub(crate) trait Scaled {
    /// Returns the lowest and highest possible value, if they are known.
    fn range(&self) -> Option<(f64, f64)>;

    /// Returns the unit that its values are written in.
    fn unit(&self) -> Unit {
        Unit::Score
    }
}

impl Scaled for Scale {
    fn range(&self) -> Option<(f64, f64)> {
        self.range
    }

    fn unit(&self) -> Unit {
        self.unit.clone()
    }
}

impl Scaled for MetricSpec {
    fn range(&self) -> Option<(f64, f64)> {
        self.range
    }
}

impl<T: Scaled> Scaled for &T {
    fn range(&self) -> Option<(f64, f64)> {
        (**self).range()
    }

    fn unit(&self) -> Unit {
        (**self).unit()
    }
}

impl Scaled for MetricRaters {
    fn range(&self) -> Option<(f64, f64)> {
        self.range
    }
}

impl Scaled for MetricPower {
    fn range(&self) -> Option<(f64, f64)> {
        self.range
    }
}

impl Scaled for ComparedMetric {
    fn range(&self) -> Option<(f64, f64)> {
        self.range
    }

    fn unit(&self) -> Unit {
        unit_named(self.unit)
    }
}

/// Returns the unit of a metric by the name that its plan has for it; a score without a name.
pub fn unit_named(name: Option<&str>) -> Unit {
    match name {
        Some("ms") => Unit::Millis,
        Some("USD") => Unit::Dollars,
        _ => Unit::Score,
    }
}

/// The scale of differences between two values: from 0 to the width of the range.
pub(crate) struct DifferenceScale<'a, M>(pub(crate) &'a M);

impl<M: Scaled> Scaled for DifferenceScale<'_, M> {
    fn range(&self) -> Option<(f64, f64)> {
        self.0.range().map(|(lo, hi)| (0.0, hi - lo))
    }

    fn unit(&self) -> Unit {
        self.0.unit()
    }
}

/// A quantity without a declared scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unscaled;

impl Scaled for Unscaled {
    fn range(&self) -> Option<(f64, f64)> {
        None
    }
}

/// Returns the number of decimals that the scale of a metric deserves.
pub(crate) fn digits(metric: &impl Scaled, value: f64) -> usize {
    number::digits(metric.range(), value)
}

/// Returns `true` if two different numbers still differ with this many decimals.
pub(crate) fn look_different((one, other): (f64, f64), digits: usize) -> bool {
    (one - other).abs() <= 0.0 || to_digits(one, digits) != to_digits(other, digits)
}

/// Formats a value in the metric's unit.
pub(crate) fn value(metric: &impl Scaled, value: f64) -> String {
    match metric.unit() {
        Unit::Score => to_digits(value, digits(metric, value)),
        unit => Scale { unit, range: metric.range(), ..Scale::default() }.text(value),
    }
}

/// Formats the value, or returns [`NONE`].
pub(crate) fn value_or_none(metric: &impl Scaled, number: Option<f64>) -> String {
    number.map_or_else(|| NONE.to_owned(), |number| value(metric, number))
}

/// Formats a difference in the metric's unit, with its sign.
pub(crate) fn signed_value(metric: &impl Scaled, difference: f64) -> String {
    with_sign(&value(metric, difference))
}

/// Formats an interval as `7.61 to 8.63`, cut to the metric's range. Returns [`NONE`] without an interval.
pub(crate) fn interval(metric: &impl Scaled, finding: &Finding) -> String {
    let cut = |bound: f64| metric.range().map_or(bound, |(lo, hi)| bound.max(lo).min(hi));
    match finding.ends() {
        Some([Some(lo), Some(hi)]) => format!("{} to {}", value(metric, cut(lo)), value(metric, cut(hi))),
        Some([Some(lo), None]) => format!("from {}", value(metric, cut(lo))),
        Some([None, Some(hi)]) => format!("up to {}", value(metric, cut(hi))),
        Some([None, None]) | None => NONE.to_owned(),
    }
}

/// Formats a figure with its interval: `8.12 (7.61 to 8.63)`.
pub(crate) fn value_with_interval(metric: &impl Scaled, finding: &Finding) -> String {
    match finding.ends() {
        Some(_) => format!("{} ({})", value(metric, finding.value()), interval(metric, finding)),
        None => value(metric, finding.value()),
    }
}

/// The reason why nothing is decided by a finding's interval, after its method.
fn open_note(finding: &Finding) -> String {
    match finding.open() {
        Some(why) => format!("; {why}"),
        None if finding.is_degenerate() => ", all resamples equal".to_owned(),
        None => String::new(),
    }
}

/// Formats a figure with interval, sample size and method: `8.12 (95 % CI 7.61 to 8.63, n = 18, t)`.
pub(crate) fn value_with_method(metric: &impl Scaled, finding: &Finding) -> String {
    value_with_method_of(metric, finding, &count(finding.n()))
}

/// Formats a figure with interval, the given sample size and method.
pub(crate) fn value_with_method_of(metric: &impl Scaled, finding: &Finding, n: &str) -> String {
    let seed = finding.seed().map_or_else(String::new, |seed| format!(", seed {seed}"));
    let collapsed = open_note(finding);
    let tail = format!("n = {n}, {}{seed}{collapsed}", finding.method());
    let bounds = finding.level().map(|level| format!("{} CI {}", percent(level), interval(metric, finding)));
    match bounds {
        Some(bounds) => format!("{} ({bounds}, {tail})", value(metric, finding.value())),
        None => format!("{} (no interval, {tail})", value(metric, finding.value())),
    }
}

/// Formats a difference with interval, sample size and method. The interval is not cut, since differences have their
/// own range.
pub(crate) fn difference_with_method(metric: &impl Scaled, finding: &Finding) -> String {
    let bounds = finding.interval().zip(finding.level()).map_or_else(
        || "no interval".to_owned(),
        |((lo, hi), level)| {
            format!("{} CI {} to {}", percent(level), signed_value(metric, lo), signed_value(metric, hi))
        },
    );
    let collapsed = open_note(finding);
    format!(
        "{} ({bounds}, n = {}, {}{collapsed})",
        signed_value(metric, finding.value()),
        finding.n(),
        finding.method()
    )
}

/// Formats a share with its interval: `81 % (72 % to 88 %)`.
pub(crate) fn percent_with_interval(finding: &Finding) -> String {
    match finding.interval() {
        Some((lo, hi)) => format!("{} ({} to {})", percent(finding.value()), percent(lo), percent(hi)),
        None => percent(finding.value()),
    }
}

/// Formats an amount of money as dollars.
pub(crate) fn money(amount: Option<Money>) -> String {
    usd(amount.map(Money::usd))
}

/// Formats the estimated cost of a run as a range, and says what the range leaves out: services that report their
/// cost with each answer, and models of unknown price.
pub(crate) fn estimate(estimate: Option<&UncachedCost>) -> String {
    let Some(expected) = estimate else { return money(None) };
    let (low, high) = expected.total;
    let most = money(Some(high));
    let range = if Money::ZERO < low && low < high { format!("{} to {most}", money(Some(low))) } else { most };
    let by = if expected.sampled { " (from a sample of rows)" } else { "" };
    match expected.range() {
        Some(_) => format!("{range}{by}"),
        None if high == Money::ZERO => "unknown before the run".to_owned(),
        None => format!("{range}{by}, plus costs unknown before the run"),
    }
}

/// Returns the position of a value on its range, from 0 (worst) to 1 (best), or `None` without a range.
pub(crate) fn goodness(metric: &MetricSpec, value: f64) -> Option<f64> {
    let (lo, hi) = metric.range.filter(|(lo, hi)| hi > lo)?;
    let share = ((value - lo) / (hi - lo)).clamp(0.0, 1.0);
    Some(if metric.better == Better::Higher { share } else { 1.0 - share })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(range: Option<(f64, f64)>) -> MetricSpec {
        MetricSpec {
            name: "m".to_owned(),
            scorer: 0,
            range,
            binary: false,
            verdicts: false,
            better: Better::Higher,
            volatile: false,
            aggregate: "mean".to_owned(),
            bound: karat_types::Bound::default(),
            by_words: false,
        }
    }

    #[test]
    fn decimals_follow_the_scale() {
        let written = |range, number| value(&metric(range), number);
        assert_eq!(written(Some((0.0, 10.0)), 8.125), "8.12");
        assert_eq!(written(Some((0.0, 1.0)), 0.84), "0.840");
        assert_eq!(written(None, 1234.5), "1234");
        assert_eq!([written(None, 0.000_571_4), written(None, -1e-12)], ["0.000571", "0.000000000"]);
        assert_eq!(signed_value(&metric(Some((0.0, 10.0))), 0.5), "+0.50");
        assert_eq!(signed_value(&metric(Some((0.0, 10.0))), -0.5), "−0.50");
    }

    #[test]
    fn unknown_money_is_not_zero() {
        let written = [None, Some(0.0), Some(0.001_5), Some(0.75), Some(0.5), Some(12.0), Some(1e-9)].map(usd);
        assert_eq!(written, ["unknown", "$0", "$0.0015", "$0.75", "$0.50", "$12.00", "<$0.000001"]);
        assert_eq!(money(Some(Money(1_500_000))), "$0.0015");
    }
}
