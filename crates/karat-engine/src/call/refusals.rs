//! Models and services that refuse every call: a wrong address, key or name (D13, D14), or a key that was revoked.
//!
//! Such an error does not pass by itself, so a few steps or judgments show it as well as all of them. If the first
//! [`ENOUGH`] of a recipient are refused alike, it is not called any more in this part of the run. Cells that need it are
//! left unmade, as at a stop. An answer of any other kind, also a failed one, shows that the recipient is there: from then
//! on only a refused key counts, since one that was accepted may be revoked or run out of credit.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use karat_providers::Exchange;
use karat_types::{CallError, CallErrorCode, Key};

use crate::call::target::Target;

/// Steps or judgments refused in a row after which a recipient is not called any more. A single one may be refused for its
/// content.
const ENOUGH: usize = 4;

/// A model or service that is not called any more, because it refuses every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusingTarget {
    /// Its name: the id of a model, or the step or scorer.
    pub name: String,
    /// The error of its calls, with the place and the advice.
    pub error: String,
    /// True if it gave another answer before it refused.
    pub has_answered: bool,
    /// Calls refused in a row, with those that were under way when it was stopped.
    pub calls: u64,
    /// Cells that were not made, or not judged.
    pub left: u64,
}

/// The recipients of a run's calls, by name.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<String, TargetState>>);

#[derive(Default)]
struct TargetState {
    has_answered: bool,
    /// The address that refused the latest calls in a row; empty if the latest was not refused.
    address: String,
    /// The steps and judgments of these calls.
    owners: Vec<Key>,
    calls: u64,
    /// The error of a recipient that is not called any more.
    stopped: Option<String>,
    left: u64,
}

impl Refusals {
    /// Notes the end of a call of `owner`, a step or judgment. Returns `true` if the call was refused by a recipient that
    /// is not called any more, so that its cell did not fail by itself.
    pub fn note(&self, target: &Target, owner: Key, exchange: &Exchange) -> bool {
        if exchange.attempts == 0 || exchange.is_replayed {
            return false;
        }
        let mut states = self.states();
        let name = target_name(target);
        if !states.contains_key(name) {
            states.insert(name.to_owned(), TargetState::default());
        }
        states.get_mut(name).is_some_and(|state| state.note(owner, exchange))
    }

    /// The reason why a recipient is not called any more.
    pub fn refusal(&self, target: &Target) -> Option<String> {
        let states = self.states();
        let error = states.get(target_name(target))?.stopped.as_ref()?;
        Some(format!("not called, because earlier calls were refused: {error}"))
    }

    /// Counts a cell that was left, for the first of its recipients that is not called any more.
    pub fn count_left<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut states = self.states();
        for name in names {
            if let Some(state) = states.get_mut(name).filter(|state| state.stopped.is_some()) {
                state.left += 1;
                return;
            }
        }
    }

    /// The recipients that are not called any more, and for which cells were left.
    pub fn refusing_targets(&self) -> Vec<RefusingTarget> {
        let states = self.states();
        let refusing = states.iter().filter_map(|(name, state)| {
            let error = state.stopped.clone().filter(|_| state.left > 0)?;
            let TargetState { has_answered, calls, left, .. } = *state;
            Some(RefusingTarget { name: name.clone(), error, has_answered, calls, left })
        });
        refusing.collect()
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<String, TargetState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TargetState {
    fn note(&mut self, owner: Key, exchange: &Exchange) -> bool {
        let refusal = match (&exchange.refused_by, &exchange.outcome) {
            (Some(address), Err(error)) if !self.has_answered || error.code == CallErrorCode::Auth => {
                Some((address, error))
            }
            _ => None,
        };
        if self.stopped.is_some() {
            // A call that was refused and waited for its next attempt when the recipient was stopped gets none.
            let is_ended = |error: &CallError| matches!(error.code, CallErrorCode::Cancelled | CallErrorCode::Budget);
            let is_ended = exchange.outcome.as_ref().is_err_and(is_ended);
            self.calls += u64::from(refusal.is_some() || is_ended);
            return refusal.is_some();
        }
        let Some((address, error)) = refusal else {
            *self = Self { has_answered: true, ..Self::default() };
            return false;
        };
        if !self.owners.is_empty() && self.address != *address {
            // Each row may have an address of its own.
            *self = Self { has_answered: true, ..Self::default() };
            return false;
        }
        address.clone_into(&mut self.address);
        self.calls += 1;
        if !self.owners.contains(&owner) {
            self.owners.push(owner);
        }
        if self.owners.len() >= ENOUGH {
            self.stopped = Some(error.message.clone());
        }
        false
    }
}

/// The name of a recipient: calls of one model count together, whichever step or judge makes them.
fn target_name(target: &Target) -> &str {
    target.model.as_ref().map_or(&*target.who, |model| &model.id)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    fn target(who: &str) -> Target {
        let who = Arc::from(who);
        Target {
            who,
            model: None,
            meter: None,
            timeout: Duration::ZERO,
            retries: 0,
            time: None,
            agent: None,
            is_live: false,
        }
    }

    fn exchange_of(code: CallErrorCode, refused_by: Option<&str>) -> Exchange {
        let error = CallError { code, message: "401".to_owned(), status: None };
        Exchange { attempts: 1, refused_by: refused_by.map(str::to_owned), ..Exchange::without_attempt(error) }
    }

    fn exchange(refused_by: Option<&str>) -> Exchange {
        exchange_of(CallErrorCode::Connect, refused_by)
    }

    fn key(owner: usize) -> Key {
        Key::of("owner", owner.to_string().as_bytes())
    }

    /// Notes the ends of calls of one owner each; returns whether the recipient is refused then.
    fn is_refused(ends: &[Option<&str>]) -> bool {
        let (refusals, query) = (Refusals::default(), target("query"));
        for (owner, refused_by) in ends.iter().enumerate() {
            assert!(!refusals.note(&query, key(owner), &exchange(*refused_by)));
        }
        refusals.refusal(&query).is_some()
    }

    /// D13: four refusals of one address and nothing else stop a recipient; any other end before them never does.
    #[test]
    fn only_unbroken_refusals_stop_a_recipient() {
        let refused = Some("http://a");
        assert!(is_refused(&[refused; 4]));
        for others in
            [&[refused; 3][..], &[None, refused, refused, refused, refused], &[refused, refused, None, refused]]
        {
            assert!(!is_refused(others), "{others:?}");
        }
        let hosts = ["http://a", "http://b", "http://c", "http://d", "http://e"].map(Some);
        assert!(!is_refused(&hosts), "each row has a host of its own");
    }

    /// D13: calls of one step or judgment count once, and others are counted from the moment it is stopped.
    #[test]
    fn a_stopped_recipient_counts_what_it_left() {
        let (refusals, query) = (Refusals::default(), target("query"));
        for owner in [0, 0, 0, 1, 2] {
            refusals.note(&query, key(owner), &exchange(Some("a")));
        }
        assert_eq!(refusals.refusal(&query), None);
        refusals.note(&query, key(3), &exchange(Some("a")));
        assert!(refusals.note(&query, key(4), &exchange(Some("a"))), "a call that was under way");
        assert!(!refusals.note(&query, key(5), &exchange_of(CallErrorCode::Budget, None)), "one between attempts");
        assert!(refusals.refusing_targets().is_empty());
        refusals.count_left(["other", "query", "query"].into_iter());
        let (name, error) = ("query".to_owned(), "401".to_owned());
        let left = RefusingTarget { name, error, has_answered: false, calls: 8, left: 1 };
        assert_eq!(refusals.refusing_targets(), [left]);
    }

    /// D31: after an answer, four refused keys in a row stop a recipient; an answer between them starts the count again.
    #[test]
    fn a_revoked_key_stops_a_recipient_that_has_answered() {
        let (refusals, query) = (Refusals::default(), target("query"));
        let denied = exchange_of(CallErrorCode::Auth, Some("a"));
        let ends = [exchange(None), denied.clone(), denied.clone(), denied.clone(), exchange(None)];
        for (owner, end) in ends.iter().chain([&denied; 4]).enumerate() {
            assert_eq!(refusals.refusal(&query), None, "{owner}");
            assert!(!refusals.note(&query, key(owner), end));
        }
        assert!(refusals.refusal(&query).is_some());
        assert!(refusals.note(&query, key(20), &denied), "a call that was under way");
        assert!(!refusals.note(&query, key(21), &exchange(None)), "an answer that was under way");
        refusals.count_left(["query"].into_iter());
        let [left] = &refusals.refusing_targets()[..] else { panic!("one was stopped") };
        assert!(left.has_answered && left.calls == 5 && left.left == 1, "{left:?}");
    }
}
