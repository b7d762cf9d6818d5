use proptest::prelude::*;

use super::*;

#[test]
fn edges_belong_to_the_bin_below() {
    let confidence = [0.0, 0.25, 0.5, 0.75, 1.0, 0.5];
    let result = calibration(&confidence, &[false; 6], 4).unwrap();
    let counts: Vec<usize> = result.bins.iter().map(|bin| bin.count).collect();
    assert_eq!(counts, [2, 2, 1, 1]);
}

#[test]
fn no_items_have_no_calibration() {
    let empty = calibration(&[], &[], 10).unwrap();
    assert_eq!((empty.summary, empty.bins.len()), (None, 0));
    assert!(calibration(&[0.5], &[], 10).is_err());
    assert!(calibration(&[1.5], &[true], 10).is_err());
    assert!(calibration(&[0.5], &[true], 0).is_err());
}

#[test]
fn certainty_that_is_wrong_costs_much_but_not_infinity() {
    let summary = calibration(&[1.0], &[false], 10).unwrap().summary.unwrap();
    assert!((summary.ece - 1.0).abs() < 1e-12 && (summary.brier - 1.0).abs() < 1e-12);
    assert!(summary.log_loss > 34.0 && summary.log_loss.is_finite());
}

proptest! {
    #[test]
    fn bins_hold_every_item_once(
        items in prop::collection::vec((0.0..=1.0_f64, any::<bool>()), 1..60),
        n_bins in 1..20_usize,
    ) {
        let (confidence, correct): (Vec<_>, Vec<_>) = items.into_iter().unzip();
        let result = calibration(&confidence, &correct, n_bins).unwrap();
        let counted: usize = result.bins.iter().map(|bin| bin.count).sum();
        prop_assert_eq!(counted, confidence.len());
        let summary = result.summary.unwrap();
        prop_assert!(summary.ece <= summary.mce + 1e-12 && summary.mce <= 1.0);
        prop_assert!((0.0..=1.0).contains(&summary.brier) && summary.log_loss >= 0.0);
        // One bin compares the two means.
        let one = calibration(&confidence, &correct, 1).unwrap().summary.unwrap();
        prop_assert!((one.ece - (one.accuracy - one.mean_confidence).abs()).abs() < 1e-12);
        prop_assert!((one.ece - one.ece_equal_mass).abs() < 1e-12);
    }
}
