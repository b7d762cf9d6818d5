//! Numbers of tokens, read without trusting them.

use karat_types::Usage;
use karat_types::json::Parsed;
use serde::de::{Deserialize, Deserializer};
use serde_json::Value;

/// Replaces every token count that is impossible for one call, so that sums cannot overflow.
const IMPOSSIBLE: u64 = Usage::MAX_TOKENS + 1;

/// A number of tokens. Anything but a whole number from 0 on reads as absent, never as an error; a number that is [too
/// large](Usage::is_possible) stays too large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count(pub Option<u64>);

impl Count {
    /// The number, or 0 if absent: for parts that a provider may leave out.
    pub fn or_zero(self) -> Self {
        Self(Some(self.number()))
    }

    /// The number, or the other one if absent.
    pub fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }

    /// The larger of two numbers of the same thing.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The number, 0 if absent.
    pub fn number(self) -> u64 {
        self.0.unwrap_or_default()
    }
}

impl std::ops::Add for Count {
    type Output = Self;

    /// Absent if either is absent.
    fn add(self, other: Self) -> Self {
        Self(self.0.zip(other.0).map(|(one, two)| one + two))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Number(number) = Parsed::deserialize(deserializer)?.value else { return Ok(Self(None)) };
        let whole = |float: &f64| float.fract() == 0.0 && *float >= 0.0;
        let count = number.as_u64().or_else(|| number.as_f64().filter(whole).map(|float| float as u64));
        Ok(Self(count.map(|count| count.min(IMPOSSIBLE))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sane_whole_numbers_are_counts() {
        let counts: Vec<Count> = serde_json::from_str(r#"[7, 7.0, -1, 7.5, "7", null, true, [1], {"a": 1}]"#).unwrap();
        assert_eq!(counts[..2], [Count(Some(7)); 2]);
        assert!(counts[2..].iter().all(|count| *count == Count(None)), "{counts:?}");
    }
}
