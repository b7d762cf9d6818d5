//! Numbers that users write, and amounts that they read.

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

/// Returns an amount in dollars, with more digits below one cent.
pub fn usd(usd: f64) -> String {
    if usd == 0.0 || usd >= 0.01 { format!("${usd:.2}") } else { format!("${usd:.6}") }
}
