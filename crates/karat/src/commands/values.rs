//! Numbers that users write.

use karat_types::Threshold;

/// Returns a number, or a percentage as a share.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(share) => share.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    }
}

/// Returns a finite number in a metric's unit, or a percentage.
pub fn threshold(text: &str) -> Option<Threshold> {
    let value = number(text).filter(|value| value.is_finite())?;
    Some(Threshold { value, percent: text.trim_end().ends_with('%') })
}
