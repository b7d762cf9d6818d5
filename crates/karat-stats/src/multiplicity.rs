//! Adjusting p-values for the number of questions asked.

/// How to adjust.
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
    }

    proptest! {
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
