//! Reading what a provider says it used, without believing everything.

use std::collections::BTreeMap;
use std::fmt;

use karat_types::Usage;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// More tokens than any call can have; a larger number is a mistake of the provider.
const MOST: u64 = 100_000_000;

/// A number of tokens. Whatever is not a whole number from 0 to [`MOST`] reads as none, never as an error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count(Option<u64>);

impl Count {
    /// The number, 0 where there is none: for parts that a provider may leave out.
    pub fn known(self) -> Self {
        Self(Some(self.0.unwrap_or(0)))
    }

    /// The number, or the other one where there is none.
    pub fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0))
    }
}

/// A member of a JSON object, as it stands there; whatever else is in it.
pub(crate) fn member<'a>(body: &'a [u8], name: &str) -> Option<&'a RawValue> {
    serde_json::from_slice::<BTreeMap<String, &RawValue>>(body).ok()?.remove(name)
}

/// Usage from its parts. `None` without both of the main numbers; a part that is larger than its whole is dropped,
/// which can only make the call dearer.
pub(crate) fn usage(input: Count, cached: Count, output: Count, reasoning: Count) -> Option<Usage> {
    let (input_tokens, output_tokens) = (input.0?, output.0?);
    let within = |part: Count, whole: u64| part.0.filter(|part| *part <= whole).unwrap_or(0);
    Some(Usage {
        input_tokens,
        cached_input_tokens: within(cached, input_tokens),
        output_tokens,
        reasoning_tokens: within(reasoning, output_tokens),
    })
}

impl std::ops::Add for Count {
    type Output = Self;

    /// None when either is none.
    fn add(self, other: Self) -> Self {
        Self(self.0.zip(other.0).map(|(one, two)| one + two))
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of tokens")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
        Ok(Count((number <= MOST).then_some(number)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Count, E> {
        let whole = number.trunc();
        let is_sane = number - whole == 0.0 && (0.0..=MOST as f64).contains(&number);
        Ok(Count(is_sane.then_some(whole as u64)))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Count, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Count, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sane_whole_numbers_are_counts() {
        let counts: Vec<Count> =
            serde_json::from_str(r#"[7, 7.0, -1, 7.5, 1e18, 99999999999, "7", null, true, [1], {"a": 1}]"#).unwrap();
        assert_eq!(counts[..2], [Count(Some(7)); 2]);
        assert!(counts[2..].iter().all(|count| *count == Count(None)), "{counts:?}");
    }

    #[test]
    fn a_part_larger_than_its_whole_is_dropped() {
        let count = |number| Count(Some(number));
        let usage = usage(count(10), count(11), count(5), count(5)).unwrap();
        assert_eq!((usage.cached_input_tokens, usage.reasoning_tokens), (0, 5));
    }
}
