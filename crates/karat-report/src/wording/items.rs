//! Sentences about a test set, the same in every format.

use karat_analysis::items::ItemAnalysis;

use crate::shared::figures::{percent, percent_with_interval};
use crate::shared::visible::excerpt;

/// Length of a name on one line, in characters.
const WIDTH: usize = 100;

/// Returns the system with the highest mean, and what is left above it.
pub(crate) fn best_line(analysis: &ItemAnalysis) -> Option<String> {
    let best = analysis.headroom.best.as_ref()?;
    let left = percent(1.0 - best.share.value());
    let share = percent_with_interval(&best.share);
    Some(format!("{} at {share} of the scale, so {left} are left", excerpt(&best.id, WIDTH)))
}

/// Returns the reliability with its interval, n and method, or the reason why there is none.
pub(crate) fn reliability_line(analysis: &ItemAnalysis) -> String {
    match (&analysis.headroom.reliability, &analysis.headroom.no_reliability) {
        (Some(found), _) => {
            let interval = found.interval().map(|(lo, hi)| format!(" [{lo:.2}, {hi:.2}]")).unwrap_or_default();
            format!("{:.2}{interval}, {} systems ({})", found.value(), found.n(), found.method())
        }
        (None, why) => format!("n/a: {}", why.as_deref().unwrap_or("unknown")),
    }
}

/// Returns the smallest difference that the set detects.
pub(crate) fn detectable_line(analysis: &ItemAnalysis) -> Option<String> {
    let power = analysis.headroom.power.as_ref()?;
    let with = format!("with {:.0} % power at {:.0} % confidence", 100.0 * power.power, 100.0 * power.level);
    Some(match power.detectable {
        Some(least) => format!("{} or more, on {} samples, {with}", digits(least), power.samples),
        None => format!("nothing, on {} samples", power.samples),
    })
}

/// A positive number with three significant digits.
fn digits(value: f64) -> String {
    let magnitude = if value > 0.0 { value.log10().floor() as i32 } else { 0 };
    match 2 - magnitude {
        digits if !(-12..=8).contains(&digits) => format!("{value:.2e}"),
        digits => format!("{value:.*}", digits.max(0) as usize),
    }
}
