//! Models and services that refuse every call from the start: a wrong address, key or name (D13, D14).
//!
//! Such an error does not pass by itself, so a few steps or judgments show it as well as all of them. If the first
//! [`ENOUGH`] of a recipient are refused alike, it is not called any more in this part of the run. Cells that need it are
//! left unmade, as at a stop. An answer of any other kind, also a failed one, ends the watch: the recipient is there.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use karat_providers::Exchange;
use karat_types::Key;

use crate::call::target::Target;

/// Refused steps or judgments after which a recipient is not called any more. A single one may be refused for its content.
const ENOUGH: usize = 4;

/// A model or service that is not called any more, because it refuses every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusingTarget {
    /// Its name: the id of a model, or the step or scorer.
    pub name: String,
    /// The error of its calls, with the place and the advice.
    pub error: String,
    /// Cells that were not tried, or not judged.
    pub left: u64,
}

/// The recipients of a run's calls, by name.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<String, TargetState>>);

enum TargetState {
    /// All calls so far were refused by this address.
    Refusing {
        address: String,
        owners: Vec<Key>,
    },
    Refused {
        error: String,
        left: u64,
    },
    Answering,
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
        let new_state = || TargetState::Refusing { address: String::new(), owners: Vec::new() };
        if !states.contains_key(name) {
            states.insert(name.to_owned(), new_state());
        }
        let Some(state) = states.get_mut(name) else { return false };
        match (&mut *state, &exchange.refused_by, &exchange.outcome) {
            (TargetState::Refused { .. }, Some(_), _) => return true,
            (TargetState::Refusing { address, owners }, Some(refusing), Err(error))
                if owners.is_empty() || address == refusing =>
            {
                refusing.clone_into(address);
                if !owners.contains(&owner) {
                    owners.push(owner);
                }
                if owners.len() >= ENOUGH {
                    *state = TargetState::Refused { error: error.message.clone(), left: 0 };
                }
            }
            (TargetState::Refusing { .. }, ..) => *state = TargetState::Answering,
            (TargetState::Refused { .. } | TargetState::Answering, ..) => {}
        }
        false
    }

    /// The reason why a recipient is not called any more.
    pub fn refusal(&self, target: &Target) -> Option<String> {
        match self.states().get(target_name(target)) {
            Some(TargetState::Refused { error, .. }) => {
                Some(format!("not called, because earlier calls were refused: {error}"))
            }
            _ => None,
        }
    }

    /// Counts a cell that was left, for the first of its recipients that is not called any more.
    pub fn count_left<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut states = self.states();
        for name in names {
            if let Some(TargetState::Refused { left, .. }) = states.get_mut(name) {
                *left += 1;
                return;
            }
        }
    }

    /// The recipients that are not called any more, and for which cells were left.
    pub fn refusing_targets(&self) -> Vec<RefusingTarget> {
        let states = self.states();
        let refusing = states.iter().filter_map(|(name, state)| match state {
            TargetState::Refused { error, left } if *left > 0 => {
                Some(RefusingTarget { name: name.clone(), error: error.clone(), left: *left })
            }
            _ => None,
        });
        refusing.collect()
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<String, TargetState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    use karat_types::{CallError, CallErrorCode};

    use super::*;

    fn target(who: &str) -> Target {
        let who = Arc::from(who);
        Target { who, model: None, meter: None, timeout: Duration::ZERO, retries: 0, time: None }
    }

    fn exchange(refused_by: Option<&str>) -> Exchange {
        let error = CallError { code: CallErrorCode::Auth, message: "401".to_owned(), status: None };
        Exchange { attempts: 1, refused_by: refused_by.map(str::to_owned), ..Exchange::without_attempt(error) }
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
        assert!(refusals.refusing_targets().is_empty());
        refusals.count_left(["other", "query", "query"].into_iter());
        let left = RefusingTarget { name: "query".to_owned(), error: "401".to_owned(), left: 1 };
        assert_eq!(refusals.refusing_targets(), [left]);
    }
}
