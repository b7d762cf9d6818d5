//! The Wilcoxon signed-rank test and the Hodges-Lehmann estimate.
//!
//! It tests symmetry about 0, not the mean. With ties or zeros the classical tables are not exact;
//! the exact p-values here are those of the conditional distribution given the ranks observed.

use crate::numeric::special::normal_sf;

/// The treatment of differences of 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WilcoxonZeros {
    /// Drop zeros before ranking (Wilcoxon 1945).
    Drop,
    /// Rank zeros, then drop their ranks (Pratt 1959). Recommended for Likert scores.
    Pratt,
}

/// The signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRank {
    /// Sum of the ranks of the positive differences.
    pub w_plus: f64,
    /// Sum of the ranks of the negative differences.
    pub w_minus: f64,
    /// Exact p-value, min(1, 2·smaller tail); `None` above 60 non-zero differences.
    pub p_exact_two_sided: Option<f64>,
    /// P(W⁺ ≤ w): against the candidate being lower.
    pub p_exact_less: Option<f64>,
    /// P(W⁺ ≥ w): against the candidate being higher.
    pub p_exact_greater: Option<f64>,
    /// (W⁺ − E W⁺)/SE with ties and zeros accounted for; `None` when every difference is 0.
    pub z: Option<f64>,
    /// Two-sided normal approximation.
    pub p_normal: Option<f64>,
    /// The same with a continuity correction of ½.
    pub p_normal_corrected: Option<f64>,
    /// (W⁺ − W⁻)/(W⁺ + W⁻), an effect size in \[−1, 1\].
    pub rank_biserial: Option<f64>,
}

/// The largest number of non-zero differences for which the exact distribution is computed; the
/// work grows with its cube, and above it the normal approximation is good to three digits.
pub const EXACT_UP_TO: usize = 60;

/// Tests whether the differences are symmetric about 0; `None` for no differences or one that is
/// not finite.
pub fn wilcoxon(differences: &[f64], zeros: WilcoxonZeros) -> Option<SignedRank> {
    if differences.is_empty() || !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    let ranks = SignedRanks::of(differences, zeros);
    let [w_plus, w_minus] = [&ranks.positive, &ranks.negative].map(|side| side.iter().sum::<u64>() as f64 / 2.0);
    let all: Vec<u64> = ranks.positive.iter().chain(&ranks.negative).copied().collect();
    let tails = (all.len() <= EXACT_UP_TO).then(|| exact_tails(&all, ranks.positive.iter().sum()));
    // Under the null each rank r is added with probability ½: mean Σr/2, variance Σr²/4.
    let centre = all.iter().sum::<u64>() as f64 / 4.0;
    let se = (all.iter().map(|r| (*r as f64).powi(2)).sum::<f64>() / 16.0).sqrt();
    let gap = (se > 0.0).then_some(w_plus - centre);
    let two_sided = |gap: f64| (2.0 * normal_sf(gap.abs() / se)).min(1.0);
    Some(SignedRank {
        w_plus,
        w_minus,
        p_exact_two_sided: tails.map(|(less, greater)| (2.0 * less.min(greater)).min(1.0)),
        p_exact_less: tails.map(|(less, _)| less),
        p_exact_greater: tails.map(|(_, greater)| greater),
        z: gap.map(|gap| gap / se),
        p_normal: gap.map(two_sided),
        p_normal_corrected: gap.map(|gap| two_sided((gap.abs() - 0.5).max(0.0))),
        rank_biserial: gap.map(|_| (w_plus - w_minus) / (w_plus + w_minus)),
    })
}

/// Doubled average ranks of |d|, which are integers even with ties.
struct SignedRanks {
    positive: Vec<u64>,
    negative: Vec<u64>,
}

impl SignedRanks {
    fn of(differences: &[f64], zeros: WilcoxonZeros) -> Self {
        let mut ordered: Vec<f64> = differences.to_vec();
        if zeros == WilcoxonZeros::Drop {
            ordered.retain(|d| d.abs() > 0.0);
        }
        ordered.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let mut ranks = Self { positive: Vec::new(), negative: Vec::new() };
        let mut before = 0;
        for tied in ordered.chunk_by(|a, b| a.abs() >= b.abs()) {
            // Ranks before+1 ..= before+len average to before + (len + 1)/2.
            let doubled = (2 * before + tied.len() + 1) as u64;
            before += tied.len();
            for d in tied {
                if *d > 0.0 {
                    ranks.positive.push(doubled);
                } else if *d < 0.0 {
                    ranks.negative.push(doubled);
                }
            }
        }
        ranks
    }
}

/// P(W ≤ w) and P(W ≥ w) where each rank is in the sum W with probability ½.
fn exact_tails(ranks: &[u64], w: u64) -> (f64, f64) {
    let total = ranks.iter().sum::<u64>() as usize;
    let mut probability = vec![0.0; total + 1];
    probability[0] = 1.0;
    let mut reached = 0;
    for rank in ranks.iter().map(|r| *r as usize) {
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = 0.5 * (probability[sum] + with);
        }
    }
    let w = w as usize;
    let less: f64 = probability[..=w].iter().sum();
    let greater: f64 = probability[w..].iter().sum();
    (less.min(1.0), greater.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_zeros_are_p_1_and_have_no_z() {
        for zeros in [WilcoxonZeros::Drop, WilcoxonZeros::Pratt] {
            let test = wilcoxon(&[0.0; 5], zeros).unwrap();
            assert_eq!((test.p_exact_two_sided, test.z, test.rank_biserial), (Some(1.0), None, None));
        }
        assert_eq!(wilcoxon(&[], WilcoxonZeros::Pratt), None);
    }

    #[test]
    fn pratt_ranks_zeros_before_it_drops_them() {
        let d = [0.0, 1.0, -2.0, 3.0];
        assert_eq!(wilcoxon(&d, WilcoxonZeros::Drop).map(|w| w.w_plus), Some(4.0));
        assert_eq!(wilcoxon(&d, WilcoxonZeros::Pratt).map(|w| w.w_plus), Some(6.0));
    }

    proptest! {
        #[test]
        fn the_exact_test_enumerates_all_signs(d in prop::collection::vec((-4..5_i8).prop_map(f64::from), 1..10)) {
            for zeros in [WilcoxonZeros::Drop, WilcoxonZeros::Pratt] {
                let test = wilcoxon(&d, zeros).unwrap();
                let mut at_least = 0_u32;
                for signs in 0..1_u32 << d.len() {
                    let flipped: Vec<f64> = d.iter().enumerate()
                        .map(|(i, x)| if signs >> i & 1 == 1 { -x } else { *x }).collect();
                    at_least += u32::from(wilcoxon(&flipped, zeros).unwrap().w_plus >= test.w_plus);
                }
                let expected = f64::from(at_least) / f64::from(1_u32 << d.len());
                prop_assert!((test.p_exact_greater.unwrap() - expected).abs() < 1e-12);
            }
        }

        #[test]
        fn swapping_the_systems_mirrors_the_test(d in prop::collection::vec(-1.0..1.0_f64, 1..40)) {
            let mirrored: Vec<f64> = d.iter().map(|x| -x).collect();
            let (a, b) = (wilcoxon(&d, WilcoxonZeros::Pratt).unwrap(), wilcoxon(&mirrored, WilcoxonZeros::Pratt).unwrap());
            prop_assert!((a.p_exact_less.unwrap() - b.p_exact_greater.unwrap()).abs() < 1e-12);
        }
    }
}
