//! The exact sign test.

use crate::numeric::special::{Binomial, two_sided_p};

/// The binomial test on the signs of the differences; zeros are dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignTest {
    /// Differences above 0.
    pub positive: usize,
    /// Differences below 0.
    pub negative: usize,
    /// Differences of 0.
    pub zero: usize,
    /// Exact p-value; 1 when every difference is 0.
    pub p_two_sided: f64,
    /// Against the candidate winning more often.
    pub p_greater: f64,
    /// Against the candidate winning less often.
    pub p_less: f64,
}

/// Tests whether the candidate wins as often as it loses; `None` for no differences or one that is
/// not finite.
pub fn sign_test(differences: &[f64]) -> Option<SignTest> {
    if differences.is_empty() || !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    let positive = differences.iter().filter(|d| **d > 0.0).count();
    let negative = differences.iter().filter(|d| **d < 0.0).count();
    let (wins, decided) = (positive as u64, (positive + negative) as u64);
    let coin = Binomial::new(decided, 0.5)?;
    Some(SignTest {
        positive,
        negative,
        zero: differences.len() - positive - negative,
        p_two_sided: two_sided_p(wins, decided),
        p_greater: coin.at_least(wins),
        p_less: coin.cdf(wins),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zeros_are_p_1() {
        let test = sign_test(&[0.0; 4]).unwrap();
        assert_eq!((test.p_two_sided, test.p_greater, test.p_less, test.zero), (1.0, 1.0, 1.0, 4));
        assert_eq!(sign_test(&[]), None);
    }

    #[test]
    fn five_of_five_wins() {
        let test = sign_test(&[0.1, 0.2, 0.3, 0.1, 0.5]).unwrap();
        assert!((test.p_greater - 1.0 / 32.0).abs() < 1e-14);
        assert!((test.p_two_sided - 2.0 / 32.0).abs() < 1e-14);
    }
}
