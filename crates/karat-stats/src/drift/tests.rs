use proptest::prelude::*;

use super::*;
use crate::numeric::input::InputError;

fn daily(scores: &[f64]) -> Vec<DayScore> {
    let days = scores.iter().zip(1..);
    days.map(|(&score, day)| DayScore { day, score }).collect()
}

fn check(scores: &[f64]) -> DriftReport {
    let last = i32::try_from(scores.len()).unwrap();
    median_mad(&daily(scores), last, &DriftRule::default()).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

/// BR-13: a lasting drop alerts on the fifth low day, newest day first, with two decimals.
#[test]
fn a_lasting_drop_alerts_after_five_days() {
    let series = |low: usize| [vec![4.0; 25], vec![3.0; low]].concat();
    assert_eq!(check(&series(4)).status, DriftStatus::Ok);
    let report = check(&series(5));
    assert_eq!(report.status, DriftStatus::Alert);
    let alerts = report.alerts();
    assert_eq!(alerts.iter().map(|alert| alert.day).collect::<Vec<_>>(), [30, 29]);
    assert!(alerts.iter().all(|alert| close(alert.z, -20.0)));
}

/// BR-13: the rule clears itself once the drop fills the long window, so alerts must be latched.
#[test]
fn an_old_drop_clears_itself() {
    assert_eq!(check(&[vec![4.0; 25], vec![3.0; 25]].concat()).status, DriftStatus::Ok);
}

/// BR-13: z = −1.5 is not below −1.5.
#[test]
fn the_threshold_itself_is_not_bad() {
    let mut scores = [3.75, 4.0, 4.25].repeat(7);
    scores.extend([3.625; 4]);
    let day = check(&scores).days[0];
    assert!(close(day.figures.unwrap().z, -1.5) && !day.bad, "{day:?}");
}

/// BR-13: so is a z that is −1.5 but for the last bit: 3.8 lies 0.3 below 4.1, and the spread is 0.2.
#[test]
fn the_threshold_is_itself_in_binary_too() {
    let day = |low: f64| check(&[[3.9, 4.1, 4.3].repeat(7), vec![low; 4]].concat()).days[0];
    let exact = day(3.8);
    let z = exact.figures.unwrap().z;
    assert!(z < -1.5 && close(z, -1.5) && !exact.bad, "{exact:?}");
    assert!(day(3.799_999).bad);
}

/// BR-13: too few points skip a day; skipped days are listed, and only an empty window is not data.
#[test]
fn skipped_days_are_told_apart_from_no_data() {
    let few = check(&[4.0; 6]);
    assert_eq!(few.status, DriftStatus::Ok);
    assert!(few.days.iter().all(|day| day.figures.is_none()) && few.days.len() == 2);
    let old = median_mad(&daily(&[4.0; 9]), 60, &DriftRule::default()).unwrap();
    assert_eq!((old.status, old.days.len()), (DriftStatus::NoData, 0));
}

/// BR-13: each check day sees its own 30 days; a tool that loads one window cuts the older one short.
#[test]
fn earlier_days_have_their_own_long_window() {
    let mut scores: Vec<f64> = (0..45).map(|i| 4.0 - 0.02 * f64::from(i % 11)).collect();
    scores.extend([3.0; 5]);
    let full = check(&scores);
    let rule = DriftRule { history: History::LastWindow, ..DriftRule::default() };
    let cut = median_mad(&daily(&scores), 50, &rule).unwrap();
    assert_eq!((full.days[1].n_long, cut.days[1].n_long), (30, 29));
    assert_eq!(full.days[0], cut.days[0]);
}

#[test]
fn alerts_round_half_to_even_of_the_binary_value() {
    let scores = [vec![4.0; 20], vec![3.125; 7]].concat();
    assert!(close(check(&scores).alerts()[0].short_median, 3.12));
}

const CHART: Cusum = Cusum { target: 0.8, sigma: 0.1, slack: 0.5, limit: 5.0, reset_on_alarm: true };

#[test]
fn cusum_finds_a_one_sigma_step_and_ignores_gaps() {
    let mut values = vec![Some(0.8); 10];
    values.extend([Some(0.7), None].repeat(12));
    let chart = Cusum { limit: 5.25, ..CHART };
    let chart = cusum(&values, &chart).unwrap();
    // z − k = ½ per value: the eleventh low value is the first above 5.25.
    assert_eq!(chart.alarms, [Alarm { index: 30, side: Side::Down }]);
    assert_eq!(chart.down[11], None);
}

#[test]
fn the_e_detector_counts_time_at_the_boundary() {
    // At x = m0 every e-value is 1: Shiryaev-Roberts is the time, CUSUM stays at 1.
    let run = e_detector(&[0.8; 30], 0.8, &[0.5, 3.0], 0.1).unwrap();
    assert!(close(run.shiryaev_roberts[29], 30.0) && close(run.cusum[29], 1.0));
    assert_eq!((run.shiryaev_roberts_alarm, run.cusum_alarm), (Some(9), None));
}

#[test]
fn wrong_parameters_are_refused() {
    assert!(cusum(&[], &Cusum { sigma: 0.0, ..CHART }).is_err());
    assert!(matches!(cusum(&[Some(1.0), Some(f64::NAN)], &CHART), Err(InputError::NotFinite { index: 1, .. })));
    assert!(e_detector(&[0.5], 0.8, &[5.1], 0.01).is_err());
    assert!(e_detector(&[0.5], 0.8, &[], 0.01).is_err());
    assert!(e_detector(&[1.5], 0.8, &[1.0], 0.01).is_err());
    let rule = DriftRule { min_scale: 0.0, ..DriftRule::default() };
    assert!(median_mad(&daily(&[1.0]), 1, &rule).is_err());
}

proptest! {
    #[test]
    fn cusum_is_symmetric(values in prop::collection::vec(0.3..1.3_f64, 0..60)) {
        let mirrored: Vec<_> = values.iter().map(|x| Some(1.6 - x)).collect();
        let values: Vec<_> = values.into_iter().map(Some).collect();
        let (one, other) = (cusum(&values, &CHART).unwrap(), cusum(&mirrored, &CHART).unwrap());
        for (down, up) in one.down.iter().flatten().zip(other.up.iter().flatten()) {
            prop_assert!((down - up).abs() < 1e-9);
        }
    }

    #[test]
    fn drift_does_not_care_about_later_days(
        scores in prop::collection::vec(0.0..5.0_f64, 8..60),
        later in prop::collection::vec(0.0..5.0_f64, 0..10),
    ) {
        let as_of = i32::try_from(scores.len()).unwrap();
        let all = daily(&[scores.clone(), later].concat());
        prop_assert_eq!(median_mad(&all, as_of, &DriftRule::default()).unwrap(), check(&scores));
    }

    #[test]
    fn e_detectors_never_go_below_zero(
        values in prop::collection::vec(0.0..=1.0_f64, 0..60),
        bound in 0.1..0.9_f64,
    ) {
        let largest = 1.0 / (1.0 - bound);
        let run = e_detector(&values, bound, &[0.1 * largest, largest], 0.001).unwrap();
        let all = run.shiryaev_roberts.iter().chain(&run.cusum);
        prop_assert!(all.into_iter().all(|m| *m >= 0.0 && m.is_finite()));
        prop_assert!(run.shiryaev_roberts.iter().zip(&run.cusum).all(|(sr, cusum)| sr >= cusum));
    }
}
