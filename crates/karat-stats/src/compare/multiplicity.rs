//! Adjusting p-values for the number of questions asked.
//!
//! ```
//! use karat_stats::compare::multiplicity::{Correction, adjust};
//!
//! let p_values = [Some(0.01), None, Some(0.04), Some(0.03)];
//! assert_eq!(adjust(&p_values, Correction::Holm), [Some(0.03), None, Some(0.06), Some(0.06)]);
//! ```

/// The method of adjustment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Correction {
    /// m·p: family-wise error, any dependence, needlessly strict.
    Bonferroni,
    /// Holm 1979: family-wise error, any dependence. The default for the metrics of a gate.
    Holm,
    /// Hochberg 1988: family-wise error under independence or positive dependence.
    Hochberg,
    /// Benjamini & Hochberg 1995: false-discovery rate. The default for slices and dashboards.
    BenjaminiHochberg,
    /// Benjamini & Yekutieli 2001: false-discovery rate, any dependence.
    BenjaminiYekutieli,
}

/// The adjusted p-values, in the order given: monotone in the raw ones and at most 1.
///
/// Undefined p-values stay undefined and do not count towards m. Reject where adjusted ≤ α.
///
/// ```
/// use karat_stats::compare::multiplicity::{Correction, adjust};
///
/// let adjusted = adjust(&[Some(0.01), Some(0.04), None, Some(0.03)], Correction::Holm);
/// let shown: Vec<_> = adjusted.iter().map(|p| p.map(|p| format!("{p:.2}"))).collect();
/// assert_eq!(shown, [Some("0.03".to_owned()), Some("0.06".to_owned()), None, Some("0.06".to_owned())]);
/// ```
pub fn adjust(p_values: &[Option<f64>], correction: Correction) -> Vec<Option<f64>> {
    let mut defined: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(i, p)| Some((i, (*p)?.clamp(0.0, 1.0)))).collect();
    defined.sort_by(|a, b| a.1.total_cmp(&b.1));
    let m = defined.len() as f64;
    let harmonic: f64 = (1..=defined.len()).map(|j| 1.0 / j as f64).sum();
    let scaled = defined.iter().enumerate().map(|(i, (_, p))| {
        let rank = i as f64 + 1.0;
        p * match correction {
            Correction::Bonferroni => m,
            Correction::Holm | Correction::Hochberg => m - rank + 1.0,
            Correction::BenjaminiHochberg => m / rank,
            Correction::BenjaminiYekutieli => m * harmonic / rank,
        }
    });
    let mut scaled: Vec<f64> = scaled.collect();
    match correction {
        Correction::Bonferroni => {}
        Correction::Holm => running(scaled.iter_mut(), f64::max),
        _ => running(scaled.iter_mut().rev(), f64::min),
    }
    let mut adjusted = vec![None; p_values.len()];
    for ((index, _), p) in defined.iter().zip(scaled) {
        adjusted[*index] = Some(p.min(1.0));
    }
    adjusted
}

/// The error probability at which each hypothesis is decided, in the order given: an interval at 1 − that level
/// excludes the null exactly where [`adjust`] gives a value of at most `alpha`.
///
/// Holm: α/(m − i + 1) for the i-th smallest p-value up to the first that is not rejected, whose level all later ones
/// share. Benjamini-Hochberg: with k rejections, kα/m for those and (k + 1)α/m for the others (the intervals of
/// Benjamini & Yekutieli 2005). Undefined p-values get the level of a further, not rejected hypothesis.
pub fn local_levels(p_values: &[Option<f64>], correction: StepRule, alpha: f64) -> Vec<f64> {
    let mut ascending: Vec<f64> = p_values.iter().flatten().copied().collect();
    ascending.sort_by(f64::total_cmp);
    let m = ascending.len().max(1) as f64;
    let step = |rank: usize| match correction {
        StepRule::Alone => alpha,
        StepRule::Holm => alpha / (m - rank as f64),
        StepRule::BenjaminiHochberg => (rank as f64 + 1.0) * alpha / m,
    };
    let passes = |(rank, p): (usize, &f64)| *p <= step(rank);
    let rejected = match correction {
        StepRule::Alone | StepRule::Holm => ascending.iter().enumerate().take_while(|it| passes(*it)).count(),
        StepRule::BenjaminiHochberg => {
            ascending.iter().enumerate().rev().find(|it| passes(*it)).map_or(0, |(rank, _)| rank + 1)
        }
    };
    let open = step(rejected.min(ascending.len().saturating_sub(1)));
    let of_rejected = |p: f64| match correction {
        StepRule::BenjaminiHochberg => step(rejected - 1),
        _ => step(ascending.partition_point(|other| *other < p)),
    };
    let cut = rejected.checked_sub(1).and_then(|last| ascending.get(last)).copied();
    let level = |p: &Option<f64>| match (p, cut) {
        (Some(p), Some(cut)) if *p <= cut => of_rejected(*p),
        _ => open,
    };
    p_values.iter().map(level).collect()
}

/// A correction whose decisions have levels of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StepRule {
    /// Each hypothesis on its own.
    Alone,
    /// Holm 1979.
    #[default]
    Holm,
    /// Benjamini & Hochberg 1995.
    BenjaminiHochberg,
}

impl StepRule {
    /// The adjusted p-values, in the order given; see [`adjust`].
    pub fn adjust(self, p_values: &[Option<f64>]) -> Vec<Option<f64>> {
        match self {
            Self::Alone => p_values.to_vec(),
            Self::Holm => adjust(p_values, Correction::Holm),
            Self::BenjaminiHochberg => adjust(p_values, Correction::BenjaminiHochberg),
        }
    }
}

/// Replaces each value by the extreme of itself and all before it.
fn running<'a>(values: impl Iterator<Item = &'a mut f64>, extreme: fn(f64, f64) -> f64) {
    let mut last = None;
    for value in values {
        *value = last.map_or(*value, |last| extreme(last, *value));
        last = Some(*value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Correction; 5] = [
        Correction::Bonferroni,
        Correction::Holm,
        Correction::Hochberg,
        Correction::BenjaminiHochberg,
        Correction::BenjaminiYekutieli,
    ];

    #[test]
    fn undefined_values_do_not_count() {
        assert_eq!(adjust(&[None, Some(0.02), None], Correction::Holm), [None, Some(0.02), None]);
        assert_eq!(adjust(&[], Correction::Holm), []);
        assert_eq!(local_levels(&[None, Some(0.02)], StepRule::Holm, 0.05), [0.05, 0.05]);
        assert_eq!(local_levels(&[None], StepRule::BenjaminiHochberg, 0.05), [0.05]);
    }

    proptest! {
        /// BY-01: what is decided at its own level is what the adjusted p-value decides, for any of the corrections.
        #[test]
        fn local_levels_decide_as_adjusted_values_do(p in prop::collection::vec(0.0..0.2_f64, 1..20)) {
            let raw: Vec<Option<f64>> = p.iter().copied().map(Some).collect();
            for rule in [StepRule::Alone, StepRule::Holm, StepRule::BenjaminiHochberg] {
                let (adjusted, levels) = (rule.adjust(&raw), local_levels(&raw, rule, 0.05));
                for i in 0..p.len() {
                    prop_assume!((adjusted[i].unwrap() - 0.05).abs() > 1e-12);
                    prop_assert_eq!(adjusted[i].unwrap() <= 0.05, p[i] <= levels[i], "{:?} {:?}", rule, p);
                }
            }
        }

        /// BY-01: Holm and Benjamini-Hochberg adjust without reordering.
        #[test]
        fn adjusting_never_lowers_nor_reorders(p in prop::collection::vec(0.0..=1.0_f64, 1..30)) {
            let raw: Vec<Option<f64>> = p.iter().copied().map(Some).collect();
            for correction in ALL {
                let adjusted: Vec<f64> = adjust(&raw, correction).into_iter().flatten().collect();
                for i in 0..p.len() {
                    prop_assert!(adjusted[i] >= p[i] - 1e-15 && adjusted[i] <= 1.0);
                    for j in 0..p.len() {
                        prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                    }
                }
            }
        }

        #[test]
        fn holm_is_between_hochberg_and_bonferroni(p in prop::collection::vec(0.0..=1.0_f64, 1..30)) {
            let raw: Vec<Option<f64>> = p.iter().copied().map(Some).collect();
            let of = |c| adjust(&raw, c).into_iter().flatten().collect::<Vec<f64>>();
            let (low, mid, high) = (of(Correction::Hochberg), of(Correction::Holm), of(Correction::Bonferroni));
            for i in 0..p.len() {
                prop_assert!(low[i] <= mid[i] + 1e-15 && mid[i] <= high[i] + 1e-15);
            }
        }
    }
}
