//! Money in whole nano-dollars (invariant 13): no float ever adds up a bill.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use crate::Usage;

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

/// A price list entry: nano-dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Nano-dollars per million input tokens.
    pub input: u64,
    /// Nano-dollars per million output tokens (reasoning tokens count as output).
    pub output: u64,
    /// Nano-dollars per million input tokens served from the provider's cache; without it they cost `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// Nano-dollars per million input tokens that the provider stores in its cache; without it they cost `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// Nano-dollars per million input tokens that it stores for an hour; without it they cost `cache_write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// Thousandths of the price that calls by a batch API cost; without it half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u16>,
    /// The date (YYYY-MM-DD) on which the price was read at its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Where the price was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The known price of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pricing {
    /// A sourced price.
    Known(Price),
    /// Costs nothing by declaration, or because it runs on this machine.
    Unmetered,
    /// Unknown; never treated as free.
    #[default]
    Unknown,
}

impl Pricing {
    /// The cost of a call with this usage, rounded up to the next nano-dollar; `None` when the price is unknown.
    pub fn cost(&self, usage: &Usage) -> Option<Money> {
        match self {
            Self::Unmetered => Some(Money::ZERO),
            Self::Unknown => None,
            Self::Known(price) => Some(price.cost(usage)),
        }
    }

    /// Returns true if a budget can be kept with this price.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown)
    }
}

impl Price {
    /// Thousandths of the price that batches cost where nothing is said.
    pub const BATCH: u16 = 500;

    /// The price of calls that go by a batch API; parts of a nano-dollar are rounded up.
    #[must_use]
    pub fn of_batches(&self) -> Self {
        let share = u128::from(self.batch.unwrap_or(Self::BATCH));
        let part = |price: u64| u64::try_from((u128::from(price) * share).div_ceil(1000)).unwrap_or(u64::MAX);
        Self {
            input: part(self.input),
            output: part(self.output),
            cached_input: self.cached_input.map(part),
            cache_write: self.cache_write.map(part),
            cache_write_1h: self.cache_write_1h.map(part),
            ..self.clone()
        }
    }

    /// The cost of a call with this usage, rounded up to the next nano-dollar.
    pub fn cost(&self, usage: &Usage) -> Money {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let for_an_hour = usage.cache_write_1h_tokens.min(written);
        let fresh = usage.input_tokens - cached - written;
        let write = self.cache_write.unwrap_or(self.input);
        let total = i128::from(fresh) * i128::from(self.input)
            + i128::from(cached) * i128::from(self.cached_input.unwrap_or(self.input))
            + i128::from(written - for_an_hour) * i128::from(write)
            + i128::from(for_an_hour) * i128::from(self.cache_write_1h.unwrap_or(write))
            + i128::from(usage.output_tokens) * i128::from(self.output);
        Money((total + 999_999).div_euclid(1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        Price {
            input: 1_250_000_000,
            output: 10_000_000_000,
            cached_input: Some(125_000_000),
            cache_write: None,
            cache_write_1h: None,
            batch: None,
            as_of: None,
            source: None,
        }
    }

    /// TG-60: batches cost half, or what the registry says.
    #[test]
    fn batches_have_a_share_of_the_price() {
        let half = price().of_batches();
        assert_eq!((half.input, half.output, half.cached_input), (625_000_000, 5_000_000_000, Some(62_500_000)));
        let third = Price { batch: Some(333), input: 1, ..price() }.of_batches();
        assert_eq!((third.input, third.output), (1, 3_330_000_000));
    }

    #[test]
    fn cost_counts_cached_tokens_at_their_own_price_and_rounds_up() {
        let usage = Usage { input_tokens: 1000, cached_input_tokens: 400, output_tokens: 1, ..Usage::default() };
        assert_eq!(price().cost(&usage), Money(600 * 1250 + 400 * 125 + 10_000));
        let one = Price { input: 1, output: 0, cached_input: None, ..price() };
        assert_eq!(one.cost(&Usage { input_tokens: 1, ..Usage::default() }), Money(1));
    }

    /// TG-80: tokens that a cache stores have their own price, those that it stores for an hour another one.
    #[test]
    fn cache_writes_have_their_own_price() {
        let price = Price {
            input: 3_000_000_000,
            output: 15_000_000_000,
            cached_input: Some(300_000_000),
            cache_write: Some(3_750_000_000),
            cache_write_1h: Some(6_000_000_000),
            as_of: None,
            source: None,
            batch: None,
        };
        let usage = Usage {
            input_tokens: 1_300,
            cached_input_tokens: 1_000,
            cache_write_tokens: 200,
            output_tokens: 10,
            ..Usage::default()
        };
        assert_eq!(price.cost(&usage), Money(1_500_000));
        let for_an_hour = Usage { cache_write_1h_tokens: 200, ..usage };
        assert_eq!(price.cost(&for_an_hour), Money(1_500_000 + 200 * 2_250));
        let plain = Price { cache_write: None, cache_write_1h: None, ..price };
        assert_eq!(plain.cost(&for_an_hour), Money(1_500_000 - 200 * 750));
    }

    #[test]
    fn unknown_is_not_free() {
        assert_eq!(Pricing::Unknown.cost(&Usage::default()), None);
        assert_eq!(Pricing::Unmetered.cost(&Usage::default()), Some(Money::ZERO));
    }
}
