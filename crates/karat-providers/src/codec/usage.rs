//! Token counts as providers report them, read without trusting them.

use std::collections::BTreeMap;

use karat_types::Usage;
use karat_types::json::Parsed;
use serde::de::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::codec::protocol::without_bom;

/// Replaces every token count that is impossible for one call, so that sums cannot overflow.
const IMPOSSIBLE: u64 = Usage::MAX_TOKENS + 1;

/// A number of tokens. Anything but a whole number from 0 on reads as absent, never as an error; a number that is [too
/// large](Usage::is_possible) stays too large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count(Option<u64>);

impl Count {
    /// The number, or 0 if absent: for parts that a provider may leave out.
    pub fn or_zero(self) -> Self {
        Self(Some(self.0.unwrap_or(0)))
    }

    /// The number, or the other one if absent.
    pub fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }
}

/// A member of a JSON object as raw text, whatever else the object holds.
pub(crate) fn raw_member<'a>(body: &'a [u8], name: &str) -> Option<&'a RawValue> {
    serde_json::from_slice::<BTreeMap<String, &RawValue>>(without_bom(body)).ok()?.remove(name)
}

/// The named counts of a usage. A list names nothing: `[1, 2]` is no usage.
pub(crate) fn named_counts<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Option<T> {
    raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// Usage from its parts, or `None` without both main numbers. A part larger than its whole is dropped, which can only
/// make the call more expensive.
pub(crate) fn usage(input: Count, cached: Count, output: Count, reasoning: Count) -> Option<Usage> {
    let (input_tokens, output_tokens) = (input.0?, output.0?);
    let within = |part: Count, whole: u64| part.0.filter(|part| *part <= whole).unwrap_or(0);
    Some(Usage {
        input_tokens,
        cached_input_tokens: within(cached, input_tokens),
        output_tokens,
        reasoning_tokens: within(reasoning, output_tokens),
        ..Usage::default()
    })
}

/// The same usage with the tokens that a cache stored, and those of them that it stored for an hour. A part larger than its
/// whole is dropped.
pub(crate) fn with_cache_writes(usage: Usage, written: Count, for_an_hour: Count) -> Usage {
    let most = usage.input_tokens - usage.cached_input_tokens;
    let cache_write_tokens = written.0.filter(|written| *written <= most).unwrap_or(0);
    let cache_write_1h_tokens = for_an_hour.0.filter(|part| *part <= cache_write_tokens).unwrap_or(0);
    Usage { cache_write_tokens, cache_write_1h_tokens, ..usage }
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

    /// BY-05: a number that no call can have is known as one, whatever it is added to.
    #[test]
    fn impossible_numbers_stay_impossible() {
        let counts: Vec<Count> =
            serde_json::from_str("[1e18, 1000000000000000000, 18446744073709551615, 1e300, 100000001]").unwrap();
        for count in counts {
            let usage = usage(count + count, Count::default(), Count(Some(7)), Count::default()).unwrap();
            assert!(!usage.is_possible(), "{usage:?}");
        }
        assert!(
            usage(Count(Some(Usage::MAX_TOKENS)), Count::default(), Count(Some(7)), Count::default())
                .unwrap()
                .is_possible()
        );
    }

    #[test]
    fn a_part_larger_than_its_whole_is_dropped() {
        let count = |number| Count(Some(number));
        let usage = usage(count(10), count(11), count(5), count(5)).unwrap();
        assert_eq!((usage.cached_input_tokens, usage.reasoning_tokens), (0, 5));
    }
}
