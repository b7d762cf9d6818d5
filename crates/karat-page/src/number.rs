//! Numbers as text, in one form on every page: digits by the metric's scale, interval ends as precise as their value,
//! differences with a sign, and never a zero for what is unknown.

use karat_types::Better;

/// Text where there is no value.
pub const NONE: &str = "n/a";

/// Text for an unknown amount.
const UNKNOWN: &str = "unknown";

/// Largest number of decimals.
pub const MOST_DIGITS: usize = 10;

/// Numbers from here on are written with a power of ten: their last digits are not exact.
const HUGE: f64 = 1e15;

/// The unit of a quantity, which decides how its numbers are written.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Unit {
    /// A score on a scale of its own.
    #[default]
    Score,
    /// A share of 1, written in percent.
    Share,
    /// Dollars.
    Dollars,
    /// Milliseconds, written in the unit that fits.
    Millis,
    /// A count of things.
    Count,
    /// Any other unit, by its name.
    Named(String),
}

/// A quantity: its unit, its possible range and the better direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scale {
    /// The unit.
    pub unit: Unit,
    /// Lowest and highest possible value, if they are declared.
    pub range: Option<(f64, f64)>,
    /// The better direction.
    pub better: Better,
}

/// A value with the interval and the number of observations behind it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Estimate {
    /// The value, or `None` where there is none.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// Observations.
    pub n: u64,
    /// The observations themselves, where they are too few for an interval.
    pub values: Vec<f64>,
    /// The reason why there is no value.
    pub reason: Option<String>,
}

impl Estimate {
    /// A value with its interval.
    pub fn new(value: f64, interval: (f64, f64), n: u64) -> Self {
        Self { value: finite(value), interval: finite_pair(interval), n, ..Self::default() }
    }

    /// A value without an interval.
    pub fn point(value: f64, n: u64) -> Self {
        Self { value: finite(value), n, ..Self::default() }
    }

    /// Returns the value, unless it is infinite or no number.
    pub fn finite_value(&self) -> Option<f64> {
        self.value.and_then(finite)
    }

    /// Returns the interval, unless an end is infinite or no number.
    pub fn finite_interval(&self) -> Option<(f64, f64)> {
        self.interval.and_then(finite_pair)
    }

    /// No value, for this reason.
    pub fn missing(reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..Self::default() }
    }
}

/// Returns the number, unless it is infinite or no number.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Returns the pair in order, unless an end is infinite or no number.
pub(crate) fn finite_pair((lo, hi): (f64, f64)) -> Option<(f64, f64)> {
    (lo.is_finite() && hi.is_finite()).then(|| (lo.min(hi), lo.max(hi)))
}

impl Scale {
    /// A score within a range.
    pub fn score(lo: f64, hi: f64) -> Self {
        Self { range: Some((lo, hi)), ..Self::default() }
    }

    /// A quantity of this unit without a declared range.
    pub fn of(unit: Unit) -> Self {
        Self { unit, ..Self::default() }
    }

    /// The same quantity where less is better.
    #[must_use]
    pub fn lower_is_better(self) -> Self {
        Self { better: Better::Lower, ..self }
    }

    /// Formats a value.
    pub fn text(&self, value: f64) -> String {
        self.to_precision(value, value)
    }

    /// Formats a value, or returns [`NONE`].
    pub fn text_or_none(&self, value: Option<f64>) -> String {
        value.map_or_else(|| NONE.to_owned(), |value| self.text(value))
    }

    /// Formats a difference with its sign.
    pub fn signed_text(&self, difference: f64) -> String {
        with_sign(&self.difference_scale().text(difference))
    }

    /// Formats an interval with the precision of its value: `[0.702, 0.760]`.
    pub fn interval(&self, value: f64, (lo, hi): (f64, f64)) -> String {
        format!("[{}, {}]", self.to_precision(lo, value), self.to_precision(hi, value))
    }

    /// Formats the interval of a difference: `[−0.020, +0.060]`.
    pub fn signed_interval(&self, value: f64, (lo, hi): (f64, f64)) -> String {
        let scale = self.difference_scale();
        let end = |end: f64| with_sign(&scale.to_precision(end, value));
        format!("[{}, {}]", end(lo), end(hi))
    }

    /// Formats a value with its interval in one text, as names of charts read.
    pub fn sentence(&self, estimate: &Estimate) -> String {
        match (estimate.finite_value(), estimate.finite_interval()) {
            (Some(value), Some(interval)) => format!("{} {}", self.text(value), self.interval(value, interval)),
            (Some(value), None) => self.text(value),
            (None, _) => NONE.to_owned(),
        }
    }

    /// Returns the name of the unit for a line of facts, or `None` where the numbers show it.
    pub fn unit_name(&self) -> Option<String> {
        match (&self.unit, self.range) {
            (Unit::Named(name), _) => Some(name.clone()),
            (Unit::Score, Some((lo, hi))) => Some(format!("score from {} to {}", short(lo), short(hi))),
            _ => None,
        }
    }

    /// The scale of differences of this quantity: the same digits, no ends.
    fn difference_scale(&self) -> Self {
        Self { range: self.range.map(|(lo, hi)| (0.0, hi - lo)), ..self.clone() }
    }

    /// Formats a value with the decimals that `like` would have.
    fn to_precision(&self, value: f64, like: f64) -> String {
        match &self.unit {
            Unit::Score | Unit::Named(_) => to_digits(value, digits(self.range, like)),
            Unit::Share => share(value),
            Unit::Dollars => usd(Some(value)),
            Unit::Millis => duration(value, like),
            Unit::Count => count_of(value),
        }
    }
}

/// Returns the number of decimals that a value deserves on a scale.
pub fn digits(range: Option<(f64, f64)>, value: f64) -> usize {
    match range {
        Some((lo, hi)) if hi - lo >= 5.0 => 2,
        Some(_) => 3,
        None if value.abs() >= 100.0 => 0,
        None if value.abs() >= 1.0 => 2,
        None if value.abs() >= 0.01 || value.abs() <= 0.0 => 3,
        // Three significant digits, as in 0.000571.
        None => (2.0 - value.abs().log10().floor()).clamp(4.0, 9.0) as usize,
    }
}

/// Formats a number with this many decimals and the minus sign U+2212.
pub fn to_digits(value: f64, digits: usize) -> String {
    if value.abs() >= HUGE {
        return format!("{value:.2e}").replace('-', "−");
    }
    let text = format!("{value:.digits$}");
    // A value that rounds to zero has no sign.
    if text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.')) {
        text.trim_start_matches('-').to_owned()
    } else {
        text.replace('-', "−")
    }
}

/// Adds the plus sign to a number, unless it is negative or zero.
pub fn with_sign(text: &str) -> String {
    let is_zero = !text.chars().any(|c| ('1'..='9').contains(&c));
    if text.starts_with('−') || is_zero { text.to_owned() } else { format!("+{text}") }
}

/// Formats a share as `73.1 %`. A share below 1 never becomes 100 %, one above 0 never 0 %.
pub fn share(share: f64) -> String {
    let percent = 100.0 * share;
    let tells = |digits: &usize| {
        let text = to_digits(percent, *digits);
        let rounds_away = (share.abs() > 0.0 && text == to_digits(0.0, *digits))
            || (share < 1.0 && text == to_digits(100.0, *digits));
        !rounds_away
    };
    let digits = (1..MOST_DIGITS).find(tells).unwrap_or(MOST_DIGITS);
    format!("{} %", to_digits(percent, digits))
}

/// Formats a share as `95 %`, with as few decimals as it needs: for levels, and within sentences. A share below 1 never
/// becomes 100 %.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let tells = |digits: &usize| share >= 1.0 || to_digits(percent, *digits) != to_digits(100.0, *digits);
    let digits = (1..MOST_DIGITS).find(tells).unwrap_or(MOST_DIGITS);
    let text = to_digits(percent, digits);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats a whole number with thousands separators.
pub fn count(number: u64) -> String {
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

/// Returns a count with its noun: `1 call`, `2 calls`. For nouns that form the plural with s.
pub fn count_noun(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

fn count_of(value: f64) -> String {
    let whole = value.round();
    if (value - whole).abs() > 1e-9 || whole.abs() >= HUGE {
        return to_digits(value, digits(None, value));
    }
    let sign = if whole < 0.0 { "−" } else { "" };
    format!("{sign}{}", count(whole.abs() as u64))
}

/// Formats dollars: with cents from one dollar on, with up to four decimals from one cent on, with up to six below. `None`
/// becomes `unknown`.
pub fn usd(amount: Option<f64>) -> String {
    let Some(amount) = amount.filter(|amount| amount.is_finite()) else { return UNKNOWN.to_owned() };
    let sign = if amount < 0.0 { "−" } else { "" };
    let amount = amount.abs();
    if amount >= 1.0 {
        let cents = format!("{amount:.2}");
        let (whole, cents) = cents.split_once('.').unwrap_or((&cents, "00"));
        let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
        format!("{sign}${whole}.{cents}")
    } else if amount >= 5e-7 {
        let decimals = if amount < 0.01 { 6 } else { 4 };
        let text = format!("${amount:.decimals$}");
        let kept = text.trim_end_matches('0').len().max("$0.00".len());
        format!("{sign}{}", text.get(..kept).unwrap_or(&text))
    } else if amount > 0.0 {
        "<$0.000001".to_owned()
    } else {
        "$0".to_owned()
    }
}

/// Formats milliseconds in the unit that fits `like`: `840 ms`, `1.24 s`, `3.2 min`, `1.5 h`.
fn duration(millis: f64, like: f64) -> String {
    let size = like.abs();
    let (value, digits, unit) = if size < 1_000.0 {
        (millis, usize::from(size < 10.0 && size > 0.0), "ms")
    } else if size < 60_000.0 {
        (millis / 1_000.0, 2, "s")
    } else if size < 3_600_000.0 {
        (millis / 60_000.0, 1, "min")
    } else {
        (millis / 3_600_000.0, 1, "h")
    };
    format!("{} {unit}", to_digits(value, digits))
}

/// Formats milliseconds: `840 ms`, `1.24 s`.
pub fn millis(millis: f64) -> String {
    duration(millis, millis)
}

/// Formats a number with as few decimals as it needs, up to six; for ticks and ends of ranges.
pub(crate) fn short(value: f64) -> String {
    let text = to_digits(value, 6);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DB-45: interval ends have as many digits as the value, differences carry U+2212.
    #[test]
    fn numbers_follow_the_scale() {
        let score = Scale::score(0.0, 1.0);
        assert_eq!(score.sentence(&Estimate::new(0.731, (0.7021, 0.76), 40)), "0.731 [0.702, 0.760]");
        assert_eq!(score.signed_text(-0.05), "−0.050");
        assert_eq!(score.signed_interval(0.02, (-0.02, 0.06)), "[−0.020, +0.060]");
        assert_eq!(Scale::score(1.0, 5.0).text(4.125), "4.125");
        assert_eq!(Scale::score(0.0, 10.0).text(8.126), "8.13");
        assert_eq!(
            Scale::of(Unit::Millis).sentence(&Estimate::new(1240.0, (900.0, 1500.0), 9)),
            "1.24 s [0.90 s, 1.50 s]"
        );
        assert_eq!([0.731, 0.9999, 1.0, 0.0, 0.0001].map(share), ["73.1 %", "99.99 %", "100.0 %", "0.0 %", "0.01 %"]);
        assert_eq!(Scale::of(Unit::Count).text(12480.0), "12,480");
        assert_eq!([0.5, 840.0, 1240.0, 192_000.0].map(millis), ["0.5 ms", "840 ms", "1.24 s", "3.2 min"]);
    }

    /// DB-45: unknown money is `unknown`, never 0.
    #[test]
    fn unknown_money_is_not_zero() {
        let amounts = [
            None,
            Some(0.0),
            Some(0.0042),
            Some(0.004_213),
            Some(0.354_267),
            Some(0.5),
            Some(1234.5),
            Some(1e-9),
            Some(f64::NAN),
            Some(-0.25),
        ];
        let expected = [
            "unknown",
            "$0",
            "$0.0042",
            "$0.004213",
            "$0.3543",
            "$0.50",
            "$1,234.50",
            "<$0.000001",
            "unknown",
            "−$0.25",
        ];
        assert_eq!(amounts.map(usd), expected);
    }
}
