//! A limit on wrong tokens by address: ten a minute.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use karat_types::Moment;

/// Wrong tokens of one address in one minute.
const LIMIT: u32 = 10;

/// Addresses that are remembered. Beyond it all others count as one, so that nobody can fill the memory.
const ADDRESSES: usize = 10_000;

const MINUTE_MS: i64 = 60_000;

/// The wrong tokens of the present minute.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<Minute>);

#[derive(Default)]
struct Minute {
    number: i64,
    wrong: HashMap<Option<IpAddr>, u32>,
}

impl Attempts {
    /// Returns whether an address may try another token.
    pub fn may_try(&self, from: Option<IpAddr>, now: Moment) -> bool {
        self.count(from, now, 0) < LIMIT
    }

    /// Counts a wrong token of an address.
    pub fn add(&self, from: Option<IpAddr>, now: Moment) {
        self.count(from, now, 1);
    }

    fn count(&self, from: Option<IpAddr>, now: Moment, more: u32) -> u32 {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = now.0.div_euclid(MINUTE_MS);
        if minute.number != number {
            *minute = Minute { number, wrong: HashMap::new() };
        }
        let is_full = minute.wrong.len() >= ADDRESSES && !minute.wrong.contains_key(&from);
        let count = minute.wrong.entry(if is_full { None } else { from }).or_default();
        *count = count.saturating_add(more);
        *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-08: ten wrong tokens a minute for each address.
    #[test]
    fn wrong_tokens_are_counted_by_address_and_minute() {
        let attempts = Attempts::default();
        let (one, other) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        (0..10).for_each(|_| attempts.add(one, Moment(5)));
        assert!(!attempts.may_try(one, Moment(59_999)));
        assert!(attempts.may_try(other, Moment(5)) && attempts.may_try(one, Moment(60_000)));
    }
}
