//! The verdict of a case and its reason, with every number shown so that it compares as the value did.

use super::case::{BoundKind, GateCase};
use super::evidence::Evidence;
use crate::figures::planning::needed::Needed;
use crate::infer::finding::Finding;

/// The number of additional digits tried to distinguish a value from its threshold.
const MORE_DIGITS: usize = 9;

/// Larger numbers are written in scientific notation, because a double has 16 digits.
const HUGE: f64 = 1e15;

/// The verdict of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The bound is met.
    Pass,
    /// The bound is not met, and the case needs a human review (`on_fail: review`).
    Review,
    /// These results do not decide.
    Undecided,
    /// The bound is not met.
    Fail,
}

impl Verdict {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Review => "review",
            Self::Undecided => "undecided",
            Self::Fail => "fail",
        }
    }
}

/// Composes the verdict and reason of a case.
pub(super) struct VerdictText<'a> {
    pub(super) case: &'a GateCase<'a>,
    /// The metric, or the path of the finding.
    pub(super) name: &'a str,
    pub(super) evidence: &'a Evidence,
    /// Unit of the figure, if it has one.
    pub(super) unit: Option<&'static str>,
}

impl VerdictText<'_> {
    /// Compares a finding with its limit and returns verdict and reason.
    pub(super) fn decide(&self, finding: &Finding, limit: f64, by_interval: bool) -> (Verdict, String) {
        let keeps = |value: f64| nearly_equal(value, limit) || (value > limit) == self.case.bound.is_least();
        let value = finding.value();
        if !by_interval {
            let verdict = if keeps(value) { Verdict::Pass } else { Verdict::Fail };
            return (
                verdict,
                format!("{}{}", self.point(value, limit, verdict == Verdict::Pass), self.chance(finding, limit)),
            );
        }
        let n = finding.n();
        let Some(ends) = finding.ends() else {
            let value = self.distinct_texts(value, limit).0;
            let why = finding.open().map_or_else(String::new, |why| format!(": {why}"));
            return (Verdict::Undecided, format!("{value} has no interval (n = {n}), which this gate needs{why}"));
        };
        let level = finding.level().unwrap_or_default() * 100.0;
        let value = self.distinct_texts(value, limit).0;
        let [lo_text, hi_text] = ends.map(|end| end.map_or("open".to_owned(), |end| self.distinct_texts(end, limit).0));
        let [lo, hi] = [ends[0].unwrap_or(f64::NEG_INFINITY), ends[1].unwrap_or(f64::INFINITY)];
        let level = format!("{level:.4}");
        let level = level.trim_end_matches('0').trim_end_matches('.');
        let shown = format!("{value} ({level} % interval {lo_text} to {hi_text})");
        let rule = self.bound_text(limit);
        // An end of a change that its test does not tell from 0 stands at 0.
        let touches = |end: f64| self.case.bound.is_change() && limit.abs() <= 0.0 && nearly_equal(end, 0.0) && lo < hi;
        let (verdict, what) = match (keeps(lo), keeps(hi)) {
            _ if touches(lo) || touches(hi) => {
                (Verdict::Undecided, format!("{shown} contains the threshold of {rule}"))
            }
            (true, true) => (Verdict::Pass, format!("{shown} meets {rule}")),
            (false, false) => (Verdict::Fail, format!("{shown} does not meet {rule}")),
            _ => (Verdict::Undecided, format!("{shown} contains the threshold of {rule}")),
        };
        let equal = "all resamples are equal, so the interval says nothing about other samples";
        match finding.open().or_else(|| finding.is_degenerate().then_some(equal)) {
            Some(why) => (Verdict::Undecided, format!("{shown}; undecided because {why}")),
            None => (verdict, what),
        }
    }

    /// Says where an interval that contains the bound leaves a verdict by the figure to chance.
    fn chance(&self, finding: &Finding, limit: f64) -> String {
        let Some((lo, hi)) = finding.interval().filter(|(lo, hi)| *lo < limit && limit < *hi) else {
            return String::new();
        };
        let [lo, hi] = [lo, hi].map(|end| self.number_text(self.as_written(end), 0));
        let [lo, hi] = if self.case.bound == BoundKind::MaxDrop { [hi, lo] } else { [lo, hi] };
        format!(
            "; these {} samples do not decide it ({} interval {lo} to {hi})",
            finding.n(),
            percent(finding.level().unwrap_or_default())
        )
    }

    /// `about 239 samples (189 more) decide a figure 0.050 inside of the bound`.
    pub(super) fn needed_text(&self, needed: &Needed) -> String {
        let clusters = needed.clusters.map_or_else(String::new, |clusters| format!(" in {clusters} clusters"));
        format!(
            "about {} samples{clusters} ({} more) decide a figure {} inside of the bound with {} power",
            needed.samples,
            needed.more,
            self.number_text(needed.difference, 0),
            percent(needed.power)
        )
    }

    pub(super) fn bound_text(&self, limit: f64) -> String {
        format!("{} {}", self.case.bound.name(), self.number_text(self.as_written(limit), 0))
    }

    fn point(&self, value: f64, limit: f64, kept: bool) -> String {
        let name = self.name;
        let (shown, bound) = self.distinct_texts(value, limit);
        match (self.case.bound, kept) {
            (BoundKind::Min, true) => format!("{shown} ≥ {bound}"),
            (BoundKind::Min, false) => format!("{name} {shown} < gate {bound}"),
            (BoundKind::Max, true) => format!("{shown} ≤ {bound}"),
            (BoundKind::Max, false) => format!("{name} {shown} > gate {bound}"),
            (BoundKind::MaxDrop, _) => self.change("drop", value, limit, kept),
            (BoundKind::MaxRise, _) => self.change("rise", value, limit, kept),
        }
    }

    /// `rose by 1619 ms (193 %, from 839 ms to 2458 ms); at most 167.8 ms (20 %) is allowed`.
    fn change(&self, word: &str, value: f64, limit: f64, kept: bool) -> String {
        let at_most = if kept { "within" } else { "above" };
        let by = self.as_written(value);
        let (shown, bound) = self.distinct_texts(by, self.as_written(limit));
        let ends = self.evidence.reference.zip(self.evidence.observed).filter(|_| by != 0.0);
        let ends = ends.map(|(from, to)| {
            let share = if from == 0.0 { String::new() } else { format!("{}, ", percent(by / from.abs())) };
            format!(" ({share}from {} to {})", self.number_text(from, 0), self.number_text(to, 0))
        });
        let threshold = self.case.threshold;
        let share = if threshold.percent { format!(" ({})", percent(threshold.value)) } else { String::new() };
        format!("a {word} of {shown}{} is {at_most} the allowed {bound}{share}", ends.unwrap_or_default())
    }

    /// A change with the sign used in the gate: a drop of at most 0.5 is a change of at least −0.5.
    fn as_written(&self, change: f64) -> f64 {
        if self.case.bound == BoundKind::MaxDrop { -change } else { change }
    }

    /// A number and its limit, with enough digits to distinguish them.
    fn distinct_texts(&self, value: f64, limit: f64) -> (String, String) {
        let value = if nearly_equal(value, limit) { limit } else { value };
        let texts = |more: usize| (self.number_text(value, more), self.number_text(limit, more));
        let tells = |(value, limit): &(String, String)| value != limit;
        let same = value.total_cmp(&limit).is_eq();
        (0..MORE_DIGITS).map(texts).find(|pair| same || tells(pair)).unwrap_or_else(|| texts(MORE_DIGITS))
    }

    /// Formats a number with `more` additional digits: three decimals, more for small numbers, with its unit.
    pub(super) fn number_text(&self, value: f64, more: usize) -> String {
        let (sign, size) = (if value < 0.0 { "−" } else { "" }, value.abs());
        match self.unit {
            Some("USD") => format!("{sign}${}", significant(size, more)),
            Some(unit) => format!("{sign}{} {unit}", significant(size, more)),
            None if size > 0.0 && !(0.001..HUGE).contains(&size) => format!("{sign}{size:.*e}", 2 + more),
            None => format!("{sign}{size:.*}", 3 + more),
        }
    }
}

/// Returns true if the numbers differ by rounding only: 7.3 − 8.3 is a drop of exactly 1.
pub(super) fn nearly_equal(value: f64, limit: f64) -> bool {
    (value - limit).abs() <= 1e-9 * limit.abs().max(1.0)
}

/// Formats four significant digits plus `more`, and all digits of a whole number.
fn significant(value: f64, more: usize) -> String {
    if value.abs() >= HUGE {
        return format!("{value:.*e}", 3 + more);
    }
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    let digits = (3.0 + more as f64 - magnitude).clamp(0.0, 15.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

pub(super) fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 0))
}
