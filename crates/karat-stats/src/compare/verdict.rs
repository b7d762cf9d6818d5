//! The verdict of a comparison, and what it would take to reach one.

use super::paired_t;
use crate::{interval::Level, power};

/// What a comparison can say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The interval of the difference lies above 0.
    Better,
    /// The interval of the difference lies below 0.
    Worse,
    /// The interval at 1 − 2α lies within ± the margin (TOST).
    Equivalent,
    /// None of these yet.
    Undecided {
        /// Items that would detect a difference of the margin with 80 % power; `None` when the
        /// differences leave it undefined.
        items_needed: Option<f64>,
    },
}

/// Power to which [`Verdict::Undecided`] plans.
const PLANNED_POWER: f64 = 0.8;

/// Judges paired differences at `level`, with `margin` > 0 the smallest difference that matters.
///
/// A degenerate sample never decides between better and worse, since its interval is a point made
/// from no information.
pub fn verdict(differences: &[f64], margin: f64, level: Level) -> Verdict {
    let test = paired_t(differences, level);
    if let Some(interval) = test.interval.filter(|_| !test.degenerate) {
        if interval.lo > 0.0 {
            return Verdict::Better;
        }
        if interval.hi < 0.0 {
            return Verdict::Worse;
        }
        let narrow = Level::from_alpha(2.0 * level.alpha()).and_then(|level| paired_t(differences, level).interval);
        if narrow.is_some_and(|i| i.lo > -margin && i.hi < margin) {
            return Verdict::Equivalent;
        }
    }
    let deviation = test.standard_deviation.filter(|_| !test.degenerate);
    let items_needed = deviation.and_then(|sd| power::items_for(sd, margin, level, PLANNED_POWER));
    Verdict::Undecided { items_needed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(centre: f64, n: usize) -> Vec<f64> {
        (0..n).map(|i| centre + if i % 2 == 0 { 0.1 } else { -0.1 }).collect()
    }

    /// BY-01: better, worse and equivalent are told apart.
    #[test]
    fn clear_differences_are_decided() {
        assert_eq!(verdict(&spread(0.2, 40), 0.02, Level::P95), Verdict::Better);
        assert_eq!(verdict(&spread(-0.2, 40), 0.02, Level::P95), Verdict::Worse);
        assert_eq!(verdict(&spread(0.0, 40), 0.1, Level::P95), Verdict::Equivalent);
    }

    /// BY-01: an undecided comparison says how many items it would take.
    #[test]
    fn an_open_comparison_says_how_many_items_it_needs() {
        let Verdict::Undecided { items_needed: Some(n) } = verdict(&spread(0.0, 10), 0.02, Level::P95) else {
            panic!("expected an undecided verdict with a plan");
        };
        assert!((190.0..230.0).contains(&n), "{n}");
    }

    #[test]
    fn a_degenerate_sample_decides_nothing() {
        let undecided = Verdict::Undecided { items_needed: None };
        assert_eq!(verdict(&[0.3; 5], 0.02, Level::P95), undecided);
        assert_eq!(verdict(&[], 0.02, Level::P95), undecided);
    }
}
