//! Calls that go by a provider's batch API: collected instead of made, and answered once a batch has brought the answer.
//!
//! A collected call leaves its cell unfinished, as a stopped run does; its reservation stays open on disk. The next pass
//! over the run asks for the same key and finds the answer, which then takes the path of a live one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use karat_providers::{Exchange, FailedAttempts, Payer, Providers};
use karat_store::{BatchItem, BatchItemState, CollectedCall, Reservation, Store, StoreError};
use karat_types::{CallError, CallErrorCode, ChatRequest, Key, ModelSpec, Money};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::budget::claim::Claim;

/// The reason why a call was neither collected nor answered.
pub(crate) enum Uncollected {
    /// The budget, or a recipient that refuses every call.
    Refused(String),
    /// The answer that a batch brought cannot be read.
    Unreadable(StoreError),
}

/// The status of lines whose batch the provider refused as a whole.
pub const REFUSED: u16 = 400;

/// Calls that are written to the store together.
const GROUP: usize = 256;

/// The calls of a run that go by batch APIs.
pub(crate) struct CallBatcher {
    store: Arc<Store>,
    run: String,
    /// Reserved for calls without a record, when this part of the run started.
    reserved: Reservation,
    /// Records of each call in the ledger, when this part of the run started.
    ended: FxHashMap<Key, u32>,
    state: Mutex<BatchState>,
    /// Calls that cells asked for and that no batch has answered yet.
    waiting: AtomicU64,
}

#[derive(Default)]
struct BatchState {
    /// The calls without a record, and their state.
    items: FxHashMap<Key, (BatchItemState, Money)>,
    /// Calls that are not in the store yet.
    collected: Vec<CollectedCall>,
    /// Answered calls whose records are on disk.
    settled: FxHashSet<Key>,
    failure: Option<StoreError>,
}

impl CallBatcher {
    /// The collected calls of a run.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn load(store: Arc<Store>, run: &str) -> Result<Self, StoreError> {
        let ended = store.ended_calls(run)?;
        let has_record = |item: &BatchItem| ended.get(&item.key).is_some_and(|records| *records > item.earlier);
        let mut state = BatchState::default();
        let mut reserved = Reservation::default();
        for item in store.batch_items(run)? {
            match item.state {
                BatchItemState::Settled => {}
                // The process was killed between the record and its mark here.
                BatchItemState::Answered if has_record(&item) => _ = state.settled.insert(item.key),
                open => {
                    reserved.calls += 1;
                    reserved.upper += item.upper;
                    state.items.insert(item.key, (open, item.upper));
                }
            }
        }
        Ok(Self { store, run: run.to_owned(), reserved, ended, state: Mutex::new(state), waiting: AtomicU64::new(0) })
    }

    /// The amount that earlier parts of the run have reserved for these calls.
    pub fn reserved_amount(&self) -> Reservation {
        self.reserved
    }

    /// Answers a call, or collects it. `None` if it waits for a batch.
    ///
    /// # Errors
    /// The budget refuses it, or the store cannot be read.
    pub async fn exchange(
        &self,
        key: Key,
        (providers, model, request): (&Providers, &ModelSpec, &ChatRequest),
        claim: &Claim<'_>,
    ) -> Result<Option<Exchange>, Uncollected> {
        let known = self.state().items.get(&key).copied();
        match known {
            Some((BatchItemState::Answered, upper)) => {
                let (body, answer) = match self.store.batch_answer(&self.run, key) {
                    Ok(Some(answered)) => answered,
                    Ok(None) => {
                        let message = format!("model {}: the answer of a batch is gone from the store", model.id);
                        let error = CallError { code: CallErrorCode::BatchExpired, message, status: None };
                        return Ok(Some(Exchange { attempts: 1, ..Exchange::without_attempt(error) }));
                    }
                    Err(error) => return Err(Uncollected::Unreadable(error)),
                };
                claim.unpark(upper);
                // Captures hold digests of images, as those of live calls do.
                let body = providers.stored_body(&model.id, request).unwrap_or_else(|| body.into());
                Ok(Some(match answer.error {
                    None => providers.batch_exchange(&model.id, body, answer.status, answer.body.into()),
                    Some(reason) => {
                        let (code, unknown) = match answer.status {
                            None => (CallErrorCode::BatchExpired, 0),
                            Some(REFUSED) => (CallErrorCode::BatchFailed, 0),
                            // Its results are gone, and it was billed.
                            Some(_) => (CallErrorCode::BatchExpired, 1),
                        };
                        let message = format!("model {}: {reason}; `karat retry` makes the call again", model.id);
                        let error = CallError { code, message, status: answer.status };
                        let unanswered = Exchange::without_attempt(error);
                        let failed_attempts = FailedAttempts { unknown, ..FailedAttempts::default() };
                        Exchange { request: body, attempts: 1, failed_attempts, ..unanswered }
                    }
                }))
            }
            Some(_) => {
                self.waiting.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            None => {
                let body = match providers.batch_request(&model.id, request) {
                    Ok(body) => body,
                    Err(unsent) => return Ok(Some(*unsent)),
                };
                claim.reserve().await.map_err(Uncollected::Refused)?;
                claim.pay().await.map_err(Uncollected::Refused)?;
                let upper = claim.park();
                self.collect(key, &model.id, &body, upper);
                self.waiting.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
        }
    }

    fn collect(&self, key: Key, model: &str, body: &Bytes, upper: Money) {
        let mut state = self.state();
        state.items.insert(key, (BatchItemState::Waiting, upper));
        let earlier = self.ended.get(&key).copied().unwrap_or_default() + u32::from(state.settled.contains(&key));
        state.collected.push(CollectedCall { key, model: model.to_owned(), body: body.to_vec(), upper, earlier });
        if state.collected.len() >= GROUP {
            self.write(&mut state);
        }
    }

    /// Marks an answered call whose record is on disk.
    pub fn settle(&self, key: Key) {
        let mut state = self.state();
        if state.items.remove(&key).is_some() {
            state.settled.insert(key);
        }
    }

    /// Writes what is left. Returns the number of calls that wait for a batch.
    ///
    /// # Errors
    /// The store could not be written.
    pub fn finish(&self) -> Result<u64, StoreError> {
        let mut state = self.state();
        self.write(&mut state);
        match state.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(self.waiting.load(Ordering::Relaxed)),
        }
    }

    fn write(&self, state: &mut BatchState) {
        let settled: Vec<Key> = std::mem::take(&mut state.settled).into_iter().collect();
        let collected = std::mem::take(&mut state.collected);
        // In this order: a settled call may have been collected anew.
        let settled = match settled.is_empty() {
            true => Ok(()),
            false => self.store.settle_batch_items(&self.run, &settled),
        };
        let written = settled.and_then(|()| match collected.is_empty() {
            true => Ok(()),
            false => self.store.collect_batch_items(&self.run, &collected),
        });
        if let Err(error) = written {
            state.failure.get_or_insert(error);
        }
    }

    fn state(&self) -> MutexGuard<'_, BatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
