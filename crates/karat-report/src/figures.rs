//! Numbers for people: as many digits as the metric's scale deserves, always in the same form.

use karat_analysis::Finding;
use karat_analysis::agree::MetricRaters;
use karat_analysis::compare::ComparedMetric;
use karat_analysis::planning::MetricPower;
use karat_types::{Better, MetricSpec, Money};

use crate::report::Estimate;

/// Something whose numbers have a scale.
pub(crate) trait Scaled {
    /// Lowest and highest possible value, where it has them.
    fn range(&self) -> Option<(f64, f64)>;
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
}

/// How far two numbers of a scale are apart: from 0 to its width.
pub(crate) struct Apart<'a, M>(pub(crate) &'a M);

impl<M: Scaled> Scaled for Apart<'_, M> {
    fn range(&self) -> Option<(f64, f64)> {
        self.0.range().map(|(lo, hi)| (0.0, hi - lo))
    }
}

/// Numbers of no declared scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unscaled;

impl Scaled for Unscaled {
    fn range(&self) -> Option<(f64, f64)> {
        None
    }
}

/// What stands where there is no number.
pub(crate) const NONE: &str = "n/a";

/// Digits behind the point that are never exceeded.
pub(crate) const MOST_DIGITS: usize = 10;

/// From here on a number is written with its power of ten: digits behind the sixteenth are not its own.
const HUGE: f64 = 1e15;

/// Digits behind the point that the scale of a metric deserves.
pub(crate) fn digits(metric: &impl Scaled, value: f64) -> usize {
    match metric.range() {
        Some((lo, hi)) if hi - lo >= 5.0 => 2,
        Some(_) => 3,
        None if value.abs() >= 100.0 => 0,
        None if value.abs() >= 1.0 => 2,
        None if value.abs() >= 0.01 || value.abs() <= 0.0 => 3,
        // Three that count, such as those of 0.000571 dollars.
        None => (2.0 - value.abs().log10().floor()).clamp(4.0, 9.0) as usize,
    }
}

/// A number with so many digits behind the point.
pub(crate) fn to_digits(value: f64, digits: usize) -> String {
    if value.abs() >= HUGE {
        return format!("{value:.2e}").replace('-', "−");
    }
    // A value that rounds to zero has no sign.
    let text = format!("{value:.digits$}");
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
        text.trim_start_matches('-').to_owned()
    } else {
        text.replace('-', "−")
    }
}

/// Whether two numbers that differ still do with so many digits behind the point.
pub(crate) fn differ((one, other): (f64, f64), digits: usize) -> bool {
    (one - other).abs() <= 0.0 || to_digits(one, digits) != to_digits(other, digits)
}

/// A value in the metric's own unit.
pub(crate) fn value(metric: &impl Scaled, value: f64) -> String {
    to_digits(value, digits(metric, value))
}

/// The value, or [`NONE`].
pub(crate) fn maybe(metric: &impl Scaled, number: Option<f64>) -> String {
    number.map_or_else(|| NONE.to_owned(), |number| value(metric, number))
}

/// A difference in the metric's unit, with its sign.
pub(crate) fn change(metric: &impl Scaled, difference: f64) -> String {
    signed(&value(metric, difference))
}

/// The number with its sign, unless it is zero.
pub(crate) fn signed(text: &str) -> String {
    let unsigned = text.starts_with('−') || text.chars().all(|c| matches!(c, '0' | '.'));
    if unsigned { text.to_owned() } else { format!("+{text}") }
}

/// The interval alone, such as `7.61 to 8.63`, cut to the metric's range; [`NONE`] where there is none.
pub(crate) fn interval(metric: &impl Scaled, finding: &Finding) -> String {
    let cut = |bound: f64| metric.range().map_or(bound, |(lo, hi)| bound.max(lo).min(hi));
    match finding.interval() {
        Some((lo, hi)) => format!("{} to {}", value(metric, cut(lo)), value(metric, cut(hi))),
        None => NONE.to_owned(),
    }
}

/// A figure with its interval: `8.12 (7.61 to 8.63)`.
pub(crate) fn full_interval(metric: &impl Scaled, finding: &Finding) -> String {
    match finding.interval() {
        Some(_) => format!("{} ({})", value(metric, finding.value()), interval(metric, finding)),
        None => value(metric, finding.value()),
    }
}

/// A figure with all that belongs to it: `8.12 (95 % CI 7.61 to 8.63, n = 18, t)`.
pub(crate) fn full(metric: &impl Scaled, finding: &Finding) -> String {
    let seed = finding.seed().map_or_else(String::new, |seed| format!(", seed {seed}"));
    let collapsed = if finding.is_degenerate() { ", all values equal" } else { "" };
    let tail = format!("n = {}, {}{seed}{collapsed}", finding.n(), finding.method());
    let bounds = finding.level().map(|level| format!("{} CI {}", percent(level), interval(metric, finding)));
    match bounds {
        Some(bounds) => format!("{} ({bounds}, {tail})", value(metric, finding.value())),
        None => format!("{} (no interval, {tail})", value(metric, finding.value())),
    }
}

/// A difference with all that belongs to it; its interval is not cut, since differences have their own range.
pub(crate) fn full_change(metric: &impl Scaled, finding: &Finding) -> String {
    let bounds = finding.interval().zip(finding.level()).map_or_else(
        || "no interval".to_owned(),
        |((lo, hi), level)| format!("{} CI {} to {}", percent(level), change(metric, lo), change(metric, hi)),
    );
    let collapsed = if finding.is_degenerate() { ", all values equal" } else { "" };
    format!("{} ({bounds}, n = {}, {}{collapsed})", change(metric, finding.value()), finding.n(), finding.method())
}

/// A share with its interval: `81 % (72 % to 88 %)`.
pub(crate) fn share(finding: &Finding) -> String {
    match finding.interval() {
        Some((lo, hi)) => format!("{} ({} to {})", percent(finding.value()), percent(lo), percent(hi)),
        None => percent(finding.value()),
    }
}

/// A share as `95 %`; one below 1 is never shown as 100 %.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let tells = |digits: &usize| share >= 1.0 || differ((percent, 100.0), *digits);
    let digits = (1..MOST_DIGITS).find(tells).unwrap_or(MOST_DIGITS);
    let text = format!("{percent:.digits$}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `1 call`, `2 calls`: how many, where the word takes an s.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What stands where a price, and with it an amount of money, is not known.
const UNKNOWN: &str = "unknown";

/// Dollars: cents from a dollar on, up to six decimals below; `unknown` where a price is.
pub fn usd(amount: Option<f64>) -> String {
    match amount {
        None => UNKNOWN.to_owned(),
        Some(amount) if amount.abs() >= 1.0 => format!("${amount:.2}"),
        Some(amount) if amount.abs() >= 5e-7 => {
            let text = format!("${amount:.6}");
            let kept = text.trim_end_matches('0').len().max("$0.00".len());
            text.get(..kept).unwrap_or(&text).to_owned()
        }
        Some(amount) if amount.abs() > 0.0 => "<$0.000001".to_owned(),
        Some(_) => "$0".to_owned(),
    }
}

/// An amount of money as dollars.
pub(crate) fn money(amount: Option<Money>) -> String {
    usd(amount.map(Money::usd))
}

/// What a run was expected to cost, as a range, and what that does not hold: the cost of services that say it only with their
/// answers, and of models of unknown price.
pub(crate) fn estimate(estimate: Option<&Estimate>) -> String {
    let Some(expected) = estimate else { return UNKNOWN.to_owned() };
    let (least, most) = (expected.least, money(Some(expected.total)));
    let range =
        if Money::ZERO < least && least < expected.total { format!("{} to {most}", money(Some(least))) } else { most };
    let by = if expected.sampled { " by a sample of its rows" } else { "" };
    match expected.range() {
        Some(_) => format!("{range}{by}"),
        None if expected.total == Money::ZERO => "unknown beforehand".to_owned(),
        None => format!("{range}{by}, beside what was unknown beforehand"),
    }
}

/// A whole number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How far along its range a value is, 0 worst and 1 best; `None` without a range.
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
        }
    }

    #[test]
    fn digits_follow_the_scale() {
        let written = |range, number| value(&metric(range), number);
        assert_eq!(written(Some((0.0, 10.0)), 8.125), "8.12");
        assert_eq!(written(Some((0.0, 1.0)), 0.84), "0.840");
        assert_eq!(written(None, 1234.5), "1234");
        assert_eq!([written(None, 0.000_571_4), written(None, -1e-12)], ["0.000571", "0.000000000"]);
        assert_eq!(change(&metric(Some((0.0, 10.0))), 0.5), "+0.50");
        assert_eq!(change(&metric(Some((0.0, 10.0))), -0.5), "−0.50");
    }

    #[test]
    fn unknown_money_is_no_zero() {
        let written = [None, Some(0.0), Some(0.001_5), Some(0.75), Some(0.5), Some(12.0), Some(1e-9)].map(usd);
        assert_eq!(written, ["unknown", "$0", "$0.0015", "$0.75", "$0.50", "$12.00", "<$0.000001"]);
        assert_eq!(money(Some(Money(1_500_000))), "$0.0015");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([percent(0.95), percent(0.999)], ["95 %", "99.9 %"]);
    }
}
