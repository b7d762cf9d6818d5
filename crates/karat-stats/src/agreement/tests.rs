use proptest::prelude::*;

use super::*;
use crate::interval::{Level, Method};
use crate::numeric::input::InputError;

const SCALE: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

fn contingency(pairs: &[(usize, usize)]) -> Contingency {
    let (a, b): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
    Contingency::from_indices(&a, &b, 5).unwrap()
}

fn alpha(units: &[Vec<f64>], measurement: Measurement) -> Option<f64> {
    let ratings = Ratings::from_units(units.iter().cloned()).unwrap();
    krippendorff_alpha(&ratings, measurement).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

fn same(a: Option<f64>, b: Option<f64>) -> bool {
    a.is_some() == b.is_some() && a.zip(b).is_none_or(|(a, b)| close(a, b))
}

const ALL: [Measurement; 4] = [Measurement::Nominal, Measurement::Ordinal, Measurement::Interval, Measurement::Ratio];

const WEIGHTINGS: [Weighting; 4] = [Weighting::Identity, Weighting::Linear, Weighting::Quadratic, Weighting::Ordinal];

#[test]
fn alpha_of_the_textbook_panel() {
    // Krippendorff 2011, example C: 4 raters, 12 units, gaps.
    let units: Vec<Vec<f64>> =
        ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
            .iter()
            .map(|unit| unit.chars().filter_map(|c| c.to_digit(10)).map(f64::from).collect())
            .collect();
    for (measurement, published) in ALL.into_iter().zip([0.743, 0.815, 0.849, 0.797]) {
        let alpha = alpha(&units, measurement).unwrap();
        assert!((alpha - published).abs() < 6e-4, "{measurement:?}: {alpha}");
    }
}

#[test]
fn no_variation_is_undefined_and_not_perfect() {
    let constant = contingency(&[(2, 2); 9]);
    assert_eq!(constant.percent_agreement(), Some(1.0));
    assert_eq!(cohen_kappa(&constant, Weighting::Quadratic), None);
    let units = vec![vec![0.1, 0.1, 0.1]; 7];
    for measurement in ALL {
        assert_eq!(alpha(&units, measurement), None);
    }
    let table = CountTable::from_ratings(vec![vec![2, 2]; 9], 5).unwrap();
    assert_eq!(fleiss_kappa(&table).unwrap().fleiss, None);
    let ac1 = gwet_ac(&table, Weighting::Identity).unwrap();
    assert!(close(ac1.coefficient, 1.0), "{ac1:?}");
}

#[test]
fn kappa_interval_is_clipped_to_its_range() {
    let table = contingency(&[(0, 0), (1, 1), (2, 2), (3, 4)]);
    let kappa = cohen_kappa(&table, Weighting::Quadratic).unwrap();
    let interval = kappa.interval(Level::P99).unwrap();
    assert!(interval.lo >= -1.0 && interval.hi <= 1.0 && interval.contains(kappa.kappa));
}

#[test]
fn a_lenient_judge_is_consistent_but_not_in_agreement() {
    let rows: Vec<[f64; 2]> = SCALE.iter().map(|score| [*score, score + 0.1]).collect();
    let icc = icc(&rows, Level::P95).unwrap().unwrap();
    assert_eq!(icc.coefficients.single_consistency, Some(1.0));
    assert!(icc.coefficients.single_absolute.unwrap() < 1.0);
    // The residuals are rounding noise, not evidence.
    assert_eq!((icc.f, icc.single_absolute_interval), (None, None));
}

#[test]
fn a_constant_bias_has_a_degenerate_interval() {
    let judge: Vec<f64> = SCALE.iter().map(|score| score + 1.0).collect();
    let error = judge_error(&judge, &SCALE, Level::P95).unwrap().unwrap();
    let interval = error.bias_interval.unwrap();
    assert!(close(interval.lo, 1.0) && close(interval.hi, 1.0));
    assert_eq!(interval.method, Method::Degenerate);
    assert!(close(error.within_one, 1.0) && close(error.exact_agreement, 0.0));
}

#[test]
fn wrong_inputs_are_named() {
    assert!(matches!(
        score_indices("judge", &[1.0, 9.0], &SCALE),
        Err(InputError::UnknownLabel { name: "judge", index: 1 })
    ));
    assert!(matches!(Contingency::from_indices(&[0, 1], &[0], 2), Err(InputError::Unpaired { left: 2, right: 1, .. })));
    assert!(matches!(
        pearson(&[1.0, f64::NAN], &[1.0, 2.0], Level::P95),
        Err(InputError::NotFinite { name: "x", index: 1 })
    ));
    let ragged = CountTable::from_ratings([vec![0, 0, 1], vec![0, 1]], 2).unwrap();
    assert!(matches!(fleiss_kappa(&ragged), Err(InputError::Ragged { row: 1, .. })));
    let negative = Ratings::from_units([[-1.0, 1.0]]).unwrap();
    assert!(krippendorff_alpha(&negative, Measurement::Ratio).is_err());
}

/// τ-b from its definition, in quadratic time.
fn tau_by_pairs(x: &[f64], y: &[f64]) -> f64 {
    let (mut excess, mut untied_x, mut untied_y) = (0.0, 0.0_f64, 0.0_f64);
    let sign = |d: f64| if d.abs() > 0.0 { d.signum() } else { 0.0 };
    for i in 0..x.len() {
        for j in 0..i {
            let (dx, dy) = (sign(x[i] - x[j]), sign(y[i] - y[j]));
            excess += dx * dy;
            untied_x += dx.abs();
            untied_y += dy.abs();
        }
    }
    excess / (untied_x * untied_y).sqrt()
}

fn likert_pairs() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..5_usize, 0..5_usize), 0..40)
}

fn panel() -> impl Strategy<Value = Vec<Vec<f64>>> {
    let rating = (0..6_u8).prop_map(|step| f64::from(step) * 0.5);
    prop::collection::vec(prop::collection::vec(rating, 0..5), 0..25)
}

fn score_pairs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let score = prop_oneof![(0..6_u8).prop_map(f64::from), -1e3..1e3_f64];
    prop::collection::vec((score.clone(), score), 0..30).prop_map(|pairs| pairs.into_iter().unzip())
}

proptest! {
    #[test]
    fn kappa_does_not_care_who_is_rater_a(pairs in likert_pairs()) {
        let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        for weighting in WEIGHTINGS {
            let kappa = cohen_kappa(&contingency(&pairs), weighting);
            let other = cohen_kappa(&contingency(&swapped), weighting);
            prop_assert!(same(kappa.map(|k| k.kappa), other.map(|k| k.kappa)));
            let errors = (kappa.and_then(|k| k.standard_error), other.and_then(|k| k.standard_error));
            prop_assert!(same(errors.0.map(|se| se * se), errors.1.map(|se| se * se)));
            prop_assert!(kappa.is_none_or(|k| k.kappa.is_finite() && k.kappa <= 1.0));
        }
    }

    #[test]
    fn unweighted_agreement_does_not_care_about_the_order_of_labels(
        pairs in likert_pairs(),
        order in Just(vec![0, 1, 2, 3, 4]).prop_shuffle(),
    ) {
        let relabelled: Vec<_> = pairs.iter().map(|&(a, b)| (order[a], order[b])).collect();
        let kappa = |pairs: &[_]| cohen_kappa(&contingency(pairs), Weighting::Identity).map(|k| k.kappa);
        prop_assert!(same(kappa(&pairs), kappa(&relabelled)));
        let ac1 = |pairs: &[(usize, usize)]| {
            let table = CountTable::from_ratings(pairs.iter().map(|&(a, b)| [a, b]), 5).unwrap();
            gwet_ac(&table, Weighting::Identity)
        };
        let (one, other) = (ac1(&pairs), ac1(&relabelled));
        prop_assert!(same(one.map(|g| g.coefficient), other.map(|g| g.coefficient)));
        let variance = |ac: Option<GwetAc>| ac.and_then(|g| g.standard_error).map(|se| se * se);
        prop_assert!(same(variance(one), variance(other)));
    }

    #[test]
    fn fleiss_of_identical_raters_is_one(items in prop::collection::vec(0..4_usize, 1..20)) {
        let table = CountTable::from_ratings(items.iter().map(|&label| [label; 3]), 4).unwrap();
        let kappa = fleiss_kappa(&table).unwrap();
        let varies = items.iter().any(|label| *label != items[0]);
        prop_assert_eq!(kappa.fleiss.is_some(), varies);
        prop_assert!(kappa.fleiss.is_none_or(|k| close(k, 1.0)));
        prop_assert!(same(kappa.mean_agreement, Some(1.0)));
    }

    #[test]
    fn alpha_does_not_care_about_the_order_of_units_or_raters(units in panel()) {
        let mut turned: Vec<Vec<f64>> = units.iter().rev().cloned().collect();
        turned.iter_mut().for_each(|unit| unit.reverse());
        for measurement in ALL {
            let value = alpha(&units, measurement);
            prop_assert!(same(value, alpha(&turned, measurement)));
            prop_assert!(value.is_none_or(|a| a.is_finite() && a <= 1.0));
        }
    }

    #[test]
    fn alpha_keeps_to_its_level_of_measurement(units in panel()) {
        let mapped = |f: fn(f64) -> f64| -> Vec<Vec<f64>> {
            units.iter().map(|unit| unit.iter().map(|x| f(*x)).collect()).collect()
        };
        let linear = mapped(|x| 3.0 * x + 7.0);
        prop_assert!(same(alpha(&units, Measurement::Interval), alpha(&linear, Measurement::Interval)));
        let monotone = mapped(|x| x.exp());
        prop_assert!(same(alpha(&units, Measurement::Ordinal), alpha(&monotone, Measurement::Ordinal)));
        let recoded = mapped(|x| (x - 1.2).abs());
        prop_assert!(same(alpha(&units, Measurement::Nominal), alpha(&recoded, Measurement::Nominal)));
        let scaled = mapped(|x| 4.0 * x);
        prop_assert!(same(alpha(&units, Measurement::Ratio), alpha(&scaled, Measurement::Ratio)));
    }

    #[test]
    fn units_that_cannot_be_paired_change_nothing(units in panel(), lonely in 0.0..9.0_f64) {
        let mut more = units.clone();
        more.extend([vec![lonely], vec![]]);
        for measurement in ALL {
            prop_assert!(same(alpha(&units, measurement), alpha(&more, measurement)));
        }
    }

    #[test]
    fn scores_are_found_like_labels(scores in prop::collection::vec(0..7_u8, 0..30)) {
        let scores: Vec<f64> = scores.into_iter().map(f64::from).collect();
        prop_assert_eq!(
            score_indices("judge", &scores, &SCALE),
            scores
                .iter()
                .enumerate()
                .map(|(index, score)| {
                    let step = SCALE.iter().position(|step| (*step - *score).abs() <= 0.0);
                    step.ok_or(InputError::UnknownLabel { name: "judge", index })
                })
                .collect::<Result<Vec<_>, _>>()
        );
    }

    #[test]
    fn correlations_are_symmetric_and_bounded((x, y) in score_pairs()) {
        let p95 = Level::P95;
        let (r, back) = (pearson(&x, &y, p95).unwrap(), pearson(&y, &x, p95).unwrap());
        prop_assert!(same(r.map(|r| r.correlation.value), back.map(|r| r.correlation.value)));
        let (rho, tau) = (spearman(&x, &y).unwrap(), kendall_tau_b(&x, &y).unwrap());
        for value in [
            r.map(|r| r.correlation.value),
            rho.map(|rho| rho.value),
            tau.map(|tau| tau.tau_b),
        ] {
            prop_assert!(value.is_none_or(|v| (-1.0..=1.0).contains(&v)));
        }
        for p in [
            r.and_then(|r| r.correlation.p_value),
            rho.and_then(|rho| rho.p_value),
            tau.and_then(|tau| tau.p_asymptotic),
            tau.and_then(|tau| tau.p_exact),
        ] {
            prop_assert!(p.is_none_or(|p| (0.0..=1.0).contains(&p)));
        }
        prop_assert!(same(tau.map(|tau| tau.tau_b), tau.map(|_| tau_by_pairs(&x, &y))));
        let raised: Vec<f64> = x.iter().map(|x| (x / 500.0).exp()).collect();
        let same_ranks = spearman(&raised, &y).unwrap();
        prop_assert!(same(rho.map(|rho| rho.value), same_ranks.map(|rho| rho.value)));
    }

    #[test]
    fn judge_errors_hang_together((judge, human) in score_pairs()) {
        let forth = judge_error(&judge, &human, Level::P95).unwrap();
        let back = judge_error(&human, &judge, Level::P95).unwrap();
        prop_assert_eq!(forth.is_none(), judge.is_empty());
        let Some((forth, back)) = forth.zip(back) else { return Ok(()) };
        prop_assert!(close(forth.bias, -back.bias));
        prop_assert!(same(forth.concordance, back.concordance));
        prop_assert!(forth.mean_absolute_error <= forth.root_mean_square_error * (1.0 + 1e-12));
        if let Some(sd) = forth.sd_of_differences {
            let n = forth.n as f64;
            let mean_square = forth.bias.powi(2) + sd * sd * (n - 1.0) / n;
            prop_assert!(close(forth.root_mean_square_error.powi(2), mean_square));
        }
    }

    #[test]
    fn consistency_ignores_what_a_rater_adds(
        rows in prop::collection::vec([0.0..9.0_f64, 0.0..9.0, 0.0..9.0], 0..12),
        offset in -5.0..5.0_f64,
    ) {
        let moved: Vec<[f64; 3]> = rows.iter().map(|[a, b, c]| [*a, b + offset, *c]).collect();
        let (one, other) = (icc(&rows, Level::P95).unwrap(), icc(&moved, Level::P95).unwrap());
        prop_assert_eq!(one.is_some(), rows.len() > 1);
        prop_assert!(same(
            one.and_then(|icc| icc.coefficients.single_consistency),
            other.and_then(|icc| icc.coefficients.single_consistency)
        ));
        if let Some(interval) = one.and_then(|icc| icc.single_absolute_interval) {
            prop_assert!(interval.lo <= interval.hi);
        }
    }
}
