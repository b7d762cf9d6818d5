use proptest::prelude::*;

use super::*;

/// Returns true if two numbers agree to `rel`, relative to the expected one.
fn close(actual: f64, expected: f64, rel: f64) -> bool {
    (actual - expected).abs() <= rel * expected.abs()
}

/// scipy.stats.t at many degrees of freedom, where the incomplete beta function loses digits.
#[test]
fn t_with_many_degrees_of_freedom() {
    for (df, below_minus_three, quantile) in [
        (1e7, 0.001_349_901_355_518_581_7, -3.719_017_864_382_25),
        (1e9, 0.001_349_898_064_868_956_5, -3.719_016_499_244_941_7),
        (1e12, 0.001_349_898_031_663_335_3, -3.719_016_485_469_47),
        (f64::INFINITY, 0.001_349_898_031_630_094_6, -3.719_016_485_455_680_4),
    ] {
        let student = StudentT::new(df).unwrap();
        assert!(close(student.cdf(-3.0), below_minus_three, 1e-9), "{df}: {}", student.cdf(-3.0));
        assert!(close(student.quantile(1e-4), quantile, 1e-9), "{df}: {}", student.quantile(1e-4));
    }
}

#[test]
fn far_tails_keep_their_digits() {
    // Reference values: mpmath at 40 digits.
    assert!(close(normal_sf(10.0), 7.619_853_024_160_526e-24, 1e-12));
    assert!(close(normal_quantile(1e-20), -9.262_340_089_798_408, 1e-12));
    let t = StudentT::new(5.0).unwrap();
    assert!(close(t.sf(50.0), 3.023_878_813_300_613e-8, 1e-9));
}

#[test]
fn known_distributions_are_met() {
    // t with 1 and 2 degrees of freedom, F(2, 2), χ²₂ and Beta(1, b) have closed forms.
    for x in [0.01, 0.4, 1.0, 3.7, 250.0] {
        let cauchy = 0.5 - f64::atan(x) / std::f64::consts::PI;
        assert!((StudentT::new(1.0).unwrap().sf(x) - cauchy).abs() < 1e-14);
        let two = 0.5 - 0.5 * x / (2.0 + x * x).sqrt();
        assert!((StudentT::new(2.0).unwrap().sf(x) - two).abs() < 1e-14);
        assert!(close(FisherF::new(2.0, 2.0).unwrap().sf(x), 1.0 / (1.0 + x), 1e-12));
        assert!(close(ChiSquared::new(2.0).unwrap().sf(x), (-0.5 * x).exp(), 1e-12));
    }
    assert!(close(Beta::new(1.0, 40.0).unwrap().sf(0.9), 1e-40, 1e-10));
}

#[test]
fn quantiles_reach_into_the_tails() {
    let beta = Beta::new(1.0, 1e6).unwrap();
    let expected = -(-1e-9_f64).ln_1p() / 1e6;
    assert!(close(beta.quantile(1e-9), expected, 1e-6));
    let t = StudentT::new(1.0).unwrap();
    assert!(close(t.upper_quantile(1e-12), 1.0 / (std::f64::consts::PI * 1e-12), 1e-9));
    assert!(t.upper_quantile(0.0) >= f64::INFINITY);
    assert!(t.quantile(0.0) <= f64::NEG_INFINITY);
}

#[test]
fn parameters_outside_the_domain_are_refused() {
    assert_eq!(StudentT::new(0.0), None);
    assert_eq!(StudentT::new(f64::NAN), None);
    assert_eq!(Beta::new(1.0, 0.0), None);
    assert_eq!(FisherF::new(1.0, f64::INFINITY), None);
    assert_eq!(ChiSquared::new(-1.0), None);
    assert_eq!(Binomial::new(3, 1.2), None);
    assert_eq!(NoncentralT::new(3.0, f64::INFINITY), None);
}

#[test]
fn a_normal_is_the_limit_of_t() {
    for df in [1e9, 1e13, f64::INFINITY] {
        assert!((StudentT::new(df).unwrap().upper_quantile(0.025) - 1.959_963_984_540_054).abs() < 1e-8);
    }
}

#[test]
fn roots_are_found_and_missing_signs_refused() {
    let root = find_root(|x| x * x - 2.0, 0.0, 2.0).unwrap();
    assert!((root - std::f64::consts::SQRT_2).abs() < 1e-15);
    assert_eq!(find_root(|x| x * x + 1.0, -1.0, 1.0), None);
    assert_eq!(find_root(|_| f64::NAN, -1.0, 1.0), None);
}

#[test]
fn the_noncentral_t_stays_whole_where_libraries_fail() {
    // Noncentrality 27.7: the lower tail is about 1e-193 and the power 1.
    let t = NoncentralT::new(799.0, 27.69).unwrap();
    assert!(t.cdf(-1.963) < 1e-30 && t.sf(1.963) > 1.0 - 1e-12);
}

proptest! {
    #[test]
    fn both_tails_add_up_and_mirror(t in -40.0..40.0_f64, df in 0.5..500.0_f64) {
        let student = StudentT::new(df).unwrap();
        prop_assert!((student.cdf(t) + student.sf(t) - 1.0).abs() < 1e-13);
        prop_assert!((student.cdf(t) - student.sf(-t)).abs() < 1e-15);
        prop_assert!((student.two_sided(t) - 2.0 * student.sf(t.abs())).abs() < 1e-15);
    }

    #[test]
    fn quantiles_invert_the_distribution(p in 1e-6..0.999_999_f64, a in 0.3..60.0_f64, b in 0.3..60.0_f64) {
        let beta = Beta::new(a, b).unwrap();
        prop_assert!((beta.cdf(beta.quantile(p)) - p).abs() < 1e-9);
        let student = StudentT::new(a).unwrap();
        prop_assert!((student.cdf(student.quantile(p)) - p).abs() < 1e-12);
        let chi = ChiSquared::new(a).unwrap();
        prop_assert!((chi.cdf(chi.quantile(p)) - p).abs() < 1e-12);
        let fisher = FisherF::new(a, b).unwrap();
        prop_assert!((fisher.cdf(fisher.quantile(p)) - p).abs() < 1e-9);
        prop_assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-14);
    }

    #[test]
    fn binomial_tails_are_sums_of_probabilities(k in 0..60_u64, failures in 0..60_u64, p in 0.0..=1.0_f64) {
        let n = k + failures;
        let binomial = Binomial::new(n, p).unwrap();
        let below: f64 = (0..=k).map(|i| binomial.pmf(i)).sum();
        prop_assert!((binomial.cdf(k) - below).abs() < 1e-12);
        prop_assert!((binomial.cdf(k) + binomial.sf(k) - 1.0).abs() < 1e-13);
        prop_assert!((0.0..=1.0).contains(&two_sided_p(k, n)));
    }

    #[test]
    fn without_noncentrality_it_is_students_t(t in -8.0..8.0_f64, df in 1.0..300.0_f64) {
        let central = StudentT::new(df).unwrap();
        prop_assert!((NoncentralT::new(df, 0.0).unwrap().cdf(t) - central.cdf(t)).abs() < 1e-12);
    }

    #[test]
    fn the_noncentral_t_falls_with_its_noncentrality(t in -8.0..8.0_f64, df in 1.0..300.0_f64, d in -6.0..6.0_f64) {
        let at = |d| NoncentralT::new(df, d).unwrap();
        prop_assert!(at(d + 0.1).cdf(t) <= at(d).cdf(t) + 1e-13);
        prop_assert!((at(d).cdf(t) + at(d).sf(t) - 1.0).abs() < 1e-12);
        prop_assert!((at(d).cdf(t) - at(-d).sf(-t)).abs() < 1e-12);
    }
}
