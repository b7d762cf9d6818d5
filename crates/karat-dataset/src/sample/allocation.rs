//! The number of rows that each stratum gives.

/// The rule by which a draw is shared among strata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocation {
    /// In proportion to the rows of each stratum: figures need no weights.
    #[default]
    Proportional,
    /// The same number from each stratum.
    Equal,
    /// In proportion to rows times standard deviation of a metric: the narrowest interval of the weighted mean
    /// (J. Neyman, 1934). Each stratum gives at least one row.
    Neyman,
}

/// The rows that each stratum is asked for; they add up to `n`. `weights` is what they are proportional to; `least` is asked
/// of each stratum as far as `n` allows. Fractions go to the largest remainders, ties to the earlier stratum.
pub(super) fn shares(weights: &[f64], n: u64, least: u64) -> Vec<u64> {
    let count = weights.len() as u64;
    if count == 0 {
        return Vec::new();
    }
    let least = least.min(n / count);
    let total: f64 = weights.iter().sum();
    let exact = |weight: f64| if total > 0.0 { weight / total * n as f64 } else { n as f64 / count as f64 };
    let mut asked: Vec<u64> = weights.iter().map(|weight| (exact(*weight) as u64).max(least)).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let rest = |at: &usize, asked: &[u64]| exact(weights[*at]) - asked[*at] as f64;
    // Raising small strata to the least may have asked for too many: the largest excess gives back.
    while asked.iter().sum::<u64>() > n {
        let most = order.iter().filter(|at| asked[**at] > least).min_by(|one, other| {
            rest(one, &asked).total_cmp(&rest(other, &asked)).then(one.cmp(other))
        });
        match most {
            Some(at) => asked[*at] -= 1,
            None => break,
        }
    }
    let missing = n - asked.iter().sum::<u64>().min(n);
    order.sort_by(|one, other| rest(other, &asked).total_cmp(&rest(one, &asked)).then(one.cmp(other)));
    order.iter().cycle().take(missing as usize).for_each(|at| asked[*at] += 1);
    asked
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shares_are_proportional() {
        assert_eq!(shares(&[1.0, 1.0, 1.0], 2, 0), [1, 1, 0]);
        assert_eq!(shares(&[98.0, 1.0, 1.0], 10, 0), [10, 0, 0]);
        assert_eq!(shares(&[98.0, 1.0, 1.0], 10, 1), [8, 1, 1]);
        assert_eq!(shares(&[0.0, 0.0], 5, 0), [3, 2]);
        assert_eq!(shares(&[], 5, 0), [0; 0]);
        assert_eq!(shares(&[1.0, 3.0], 1, 1), [0, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

        /// BC-01: what strata are asked for adds up to the size of the draw.
        #[test]
        fn shares_add_up(weights in prop::collection::vec(0.0f64..1e6, 1..30), n in 0u64..500, least in 0u64..3) {
            let asked = shares(&weights, n, least);
            prop_assert_eq!(asked.iter().sum::<u64>(), n);
            let least = least.min(n / weights.len() as u64);
            prop_assert!(asked.iter().all(|asked| *asked >= least));
        }
    }
}
