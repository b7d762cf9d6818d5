use super::*;

/// BY-01, BY-16, DC-14: an undecided comparison without a margin plans for 5 % of the scale at 80 % power, whatever difference
/// was observed, and prices the additional samples under both sides.
#[test]
fn a_twentieth_of_the_scale_is_planned_by_the_textbook_formula() {
    let found = models(&sketch(40, 0.05, 2.5).cost(Money(1_000_000)).run(), &CompareOptions::default());
    let metric = only(&found);
    assert_eq!(metric.verdict, ComparisonVerdict::Undecided);
    let needed = metric.needed.as_ref().unwrap();
    let (difference, sd) = (0.5, metric.difference.se().unwrap() * 40.0_f64.sqrt());
    // (z_{.975} + z_{.8})² s_d² / d² = 7.8489 s_d² / d², and for t a few more.
    let normal = 7.848_879_734_7 * sd * sd / (difference * difference);
    assert!((normal..normal + 3.0).contains(&(needed.samples as f64)), "{normal}: {needed:?}");
    assert_eq!((needed.more, needed.difference), (needed.samples - 40, difference));
    assert!((needed.cost_usd.unwrap() - 0.002 * needed.more as f64).abs() < 1e-9, "{needed:?}");
}
