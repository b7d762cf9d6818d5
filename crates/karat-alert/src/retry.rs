//! Times of attempts to deliver a message.

use karat_types::Moment;

/// Seconds before each attempt, counted from the one before (Standard Webhooks 1.0, "Deliverability and reliability").
const DELAYS_S: [i64; 10] = [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// Attempts until a delivery is given up.
pub const MAX_ATTEMPTS: u32 = DELAYS_S.len() as u32;

/// The longest time that a receiver may ask to wait for, in seconds.
const MAX_RETRY_AFTER_S: u64 = 86_400;

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempted {
    /// The receiver took it.
    Delivered,
    /// The receiver wants no more messages (410).
    Gone,
    /// It failed; the receiver may have said after how many seconds it wants the next attempt.
    Failed {
        /// `Retry-After`, in seconds.
        retry_after_s: Option<u64>,
    },
}

/// The time of the next attempt after this number of attempts, or `None` if there is none. `jitter` is from 0 to 1: the
/// delay is 0.8 to 1.2 times that of the table, and never shorter than the receiver asked for.
pub fn next_attempt(attempts: u32, attempted: Attempted, now: Moment, jitter: f64) -> Option<Moment> {
    let Attempted::Failed { retry_after_s } = attempted else { return None };
    let delay_s = *DELAYS_S.get(usize::try_from(attempts).ok()?)?;
    let delay = delay_s as f64 * 1_000.0 * (0.8 + 0.4 * jitter.clamp(0.0, 1.0));
    let asked = retry_after_s.map_or(0, |seconds| seconds.min(MAX_RETRY_AFTER_S)).saturating_mul(1_000);
    let wait = (delay.round() as i64).max(i64::try_from(asked).unwrap_or(i64::MAX));
    Some(Moment(now.0.saturating_add(wait)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Attempted = Attempted::Failed { retry_after_s: None };

    /// SV-18: ten attempts, each delay within 20 % of the table.
    #[test]
    fn attempts_follow_the_table() {
        let delays = |jitter| -> Vec<i64> {
            (1..20).map_while(|made| next_attempt(made, FAILED, Moment(0), jitter)).map(|at| at.0 / 1_000).collect()
        };
        assert_eq!(delays(0.5), [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!(delays(0.0), [4, 240, 1_440, 5_760, 14_400, 28_800, 40_320, 57_600, 69_120]);
        assert_eq!(delays(1.0), [6, 360, 2_160, 8_640, 21_600, 43_200, 60_480, 86_400, 103_680]);
    }

    /// SV-18: `Retry-After` is obeyed, up to a day; 410 ends a delivery.
    #[test]
    fn the_receiver_is_obeyed() {
        let asked = |seconds| next_attempt(1, Attempted::Failed { retry_after_s: Some(seconds) }, Moment(0), 0.5);
        assert_eq!(asked(60), Some(Moment(60_000)));
        assert_eq!(asked(1), Some(Moment(5_000)));
        assert_eq!(asked(u64::MAX), Some(Moment(86_400_000)));
        assert_eq!(next_attempt(1, Attempted::Gone, Moment(0), 0.5), None);
        assert_eq!(next_attempt(1, Attempted::Delivered, Moment(0), 0.5), None);
    }
}
