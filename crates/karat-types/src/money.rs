//! Money in whole nano-dollars (invariant 13, money is integer): no float ever adds up a bill.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// An amount in nano-dollars (10⁻⁹ USD).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub i128);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount given in dollars, rounded to the nearest nano-dollar. `None` when it is not finite.
    pub fn from_usd(usd: f64) -> Option<Self> {
        usd.is_finite().then(|| Self((usd * 1e9).round() as i128))
    }

    /// An amount given in dollars, rounded up to the next nano-dollar: a bill is never booked below what it says.
    /// `None` when it is negative, not finite, or more than a million dollars.
    pub fn from_billed_usd(usd: f64) -> Option<Self> {
        // Binary noise below a thousandth of a nano-dollar is not part of the amount.
        let nano = (usd * 1e12).round() / 1e3;
        (0.0..=1e6).contains(&usd).then(|| Self(nano.ceil() as i128))
    }

    /// The amount in dollars, for display and reports only.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Money {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RE-23: a reported cost is rounded up; one that no call can have is none.
    #[test]
    fn billed_amounts_are_rounded_up() {
        assert_eq!(Money::from_billed_usd(0.168_284_668), Some(Money(168_284_668)));
        assert_eq!(Money::from_billed_usd(0.000_000_000_2), Some(Money(1)));
        assert_eq!(Money::from_billed_usd(0.0), Some(Money::ZERO));
        for nonsense in [-1.0, f64::NAN, f64::INFINITY, 1_000_000.1] {
            assert_eq!(Money::from_billed_usd(nonsense), None, "{nonsense}");
        }
    }
}
