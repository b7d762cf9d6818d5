//! Effect sizes of two groups. Show raw units first, and never call one small or large.

use crate::describe::{is_constant, mean, sorted, variance};

/// Effect sizes of the candidate against the baseline, unpaired; positive favours the candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectSizes {
    /// Difference of the means, in the units of the score; `None` when a group is empty.
    pub mean_difference: Option<f64>,
    /// Cohen's d, with the pooled standard deviation; `None` when neither group varies or the two
    /// have fewer than three values together.
    pub cohen_d: Option<f64>,
    /// Hedges' g = d·(1 − 3/(4(n₁ + n₂) − 9)).
    pub hedges_g: Option<f64>,
    /// Glass's Δ: divided by the baseline's standard deviation.
    pub glass_delta: Option<f64>,
    /// Cliff's δ = P(candidate > baseline) − P(candidate < baseline), the default for ordinal scores.
    pub cliffs_delta: Option<f64>,
    /// Vargha and Delaney's A = P(candidate > baseline) + ½P(equal) = (δ + 1)/2.
    pub vargha_delaney_a: Option<f64>,
}

/// Effect sizes of two unpaired groups. For paired data see [`super::PairedT::cohen_dz`].
pub fn effect_sizes(baseline: &[f64], candidate: &[f64]) -> EffectSizes {
    let mean_difference = mean(candidate).zip(mean(baseline)).map(|(c, b)| c - b);
    let cohen_d = standardized_difference(mean_difference, pooled_deviation(baseline, candidate));
    let n = (baseline.len() + candidate.len()) as f64;
    let glass = variance(baseline).filter(|_| !is_constant(baseline)).map(f64::sqrt);
    let cliffs_delta = cliffs_delta(baseline, candidate);
    EffectSizes {
        mean_difference,
        cohen_d,
        hedges_g: cohen_d.map(|d| d * (1.0 - 3.0 / (4.0 * n - 9.0))),
        glass_delta: standardized_difference(mean_difference, glass),
        cliffs_delta,
        vargha_delaney_a: cliffs_delta.map(|delta| 0.5 * (delta + 1.0)),
    }
}

/// Cohen's h = 2·asin√p₁ − 2·asin√p₂ of two rates; `None` outside \[0, 1\].
pub fn cohen_h(candidate: f64, baseline: f64) -> Option<f64> {
    let angle = |p: f64| (0.0..=1.0).contains(&p).then(|| 2.0 * p.sqrt().asin());
    Some(angle(candidate)? - angle(baseline)?)
}

fn standardized_difference(difference: Option<f64>, deviation: Option<f64>) -> Option<f64> {
    Some(difference? / deviation?).filter(|d| d.is_finite())
}

/// √(((n₁−1)s₁² + (n₂−1)s₂²)/(n₁+n₂−2)); `None` when both groups are constant.
fn pooled_deviation(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() || (is_constant(a) && is_constant(b)) {
        return None;
    }
    let squares = |values: &[f64]| variance(values).map_or(0.0, |v| v * (values.len() as f64 - 1.0));
    let df = (a.len() + b.len()) as f64 - 2.0;
    Some(((squares(a) + squares(b)) / df).sqrt())
}

/// O((n₁ + n₂) log n₁) through the sorted baseline.
fn cliffs_delta(baseline: &[f64], candidate: &[f64]) -> Option<f64> {
    if baseline.is_empty() || candidate.is_empty() {
        return None;
    }
    let ascending = sorted(baseline);
    let lead = |x: &f64| {
        let below = ascending.partition_point(|b| b < x);
        let up_to = ascending.partition_point(|b| b <= x);
        below as i64 - (ascending.len() - up_to) as i64
    };
    let total: i64 = candidate.iter().map(lead).sum();
    Some(total as f64 / (baseline.len() * candidate.len()) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constant_groups_have_no_standardized_effect() {
        let sizes = effect_sizes(&[0.56; 4], &[0.685; 3]);
        assert_eq!((sizes.cohen_d, sizes.glass_delta, sizes.cliffs_delta), (None, None, Some(1.0)));
        assert_eq!(effect_sizes(&[], &[1.0]).cliffs_delta, None);
    }

    #[test]
    fn rates_outside_the_unit_range_are_refused() {
        assert_eq!(cohen_h(1.2, 0.5), None);
        assert_eq!(cohen_h(0.5, 0.5), Some(0.0));
    }

    proptest! {
        #[test]
        fn swapping_the_groups_mirrors_the_effect(
            a in prop::collection::vec(0.0..1.0_f64, 2..20),
            b in prop::collection::vec(0.0..1.0_f64, 2..20),
        ) {
            let (x, y) = (effect_sizes(&a, &b), effect_sizes(&b, &a));
            prop_assert!((x.cohen_d.unwrap() + y.cohen_d.unwrap()).abs() < 1e-9);
            prop_assert!((x.cliffs_delta.unwrap() + y.cliffs_delta.unwrap()).abs() < 1e-12);
            prop_assert!(x.hedges_g.unwrap().abs() <= x.cohen_d.unwrap().abs());
        }

        #[test]
        fn standardized_effects_do_not_depend_on_the_unit(
            a in prop::collection::vec(0.0..1.0_f64, 2..20),
            b in prop::collection::vec(0.0..1.0_f64, 2..20),
            scale in 0.5..100.0_f64,
        ) {
            let scaled = |values: &[f64]| values.iter().map(|x| scale * x + 3.0).collect::<Vec<f64>>();
            let (x, y) = (effect_sizes(&a, &b), effect_sizes(&scaled(&a), &scaled(&b)));
            prop_assert!((x.cohen_d.unwrap() - y.cohen_d.unwrap()).abs() < 1e-6 * (1.0 + x.cohen_d.unwrap().abs()));
        }
    }
}
