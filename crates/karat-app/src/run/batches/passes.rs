//! Runs whose calls go by their providers' batch APIs.
//!
//! A run is a loop of passes. Each pass is an ordinary resume, which collects the calls that nothing answers yet. Between two
//! passes their batches are submitted, waited for and read. Every step is committed before the next, so a process that is
//! killed anywhere continues where it was; see `docs/design/0022-batches.md`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use karat_engine::{Outcome, Stop};
use karat_providers::{BatchApi, BatchError, BatchLine, BatchResult, BatchStatus, Providers, has_batch_api};
use karat_store::{BatchAnswer, BatchItemState, BatchLineEnd, BatchState, Store, StoredBatch};
use karat_suite::Plan;
use karat_types::{Clock, Event, Key, Observer, Pricing, RunStatus, ScorerKind};

use crate::error::{Names, RunError};
use crate::{App, AppError};

/// Bytes of a line beside its request.
const LINE_OVERHEAD: usize = 160;

/// The first and the longest wait between two looks at a batch.
const POLL: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(600));

/// The batches of one run.
pub(crate) struct BatchRun<'a> {
    pub store: &'a Store,
    pub run: &'a str,
    pub providers: &'a Providers,
    pub clock: &'a dyn Clock,
    pub observer: &'a Arc<dyn Observer>,
    pub stop: &'a Stop,
    /// True if the process does not wait for batches.
    pub detach: bool,
    /// The first and the longest wait between two looks.
    pub poll: (Duration, Duration),
}

/// The end of the wait for batches.
enum Wait {
    /// All results are in the store.
    Over,
    /// The user stopped the run.
    Stopped,
    /// The number of batches that go on without this process.
    Detached(usize),
}

impl App {
    /// Prices a plan as `--batch` bills it. Returns a line with the models that go by batches, and those that do not.
    ///
    /// # Errors
    /// No model has a batch API, calls must not be stored, or a scorer reads the latency of calls.
    pub fn price_batches(&self, plan: &mut Plan) -> Result<String, AppError> {
        price_batches(plan)?;
        let models: BTreeMap<&str, bool> = plan
            .header
            .models
            .iter()
            .chain(&plan.header.judges)
            .map(|model| (model.id.as_str(), has_batch_api(&model.provider)))
            .collect();
        let named = |by_batch: bool| {
            let names = models.iter().filter(|(_, is_batched)| **is_batched == by_batch).map(|(id, _)| *id);
            names.collect::<Vec<_>>().join(", ")
        };
        let live = Some(named(false))
            .filter(|live| !live.is_empty())
            .map_or_else(String::new, |live| format!("; live: {live}"));
        Ok(format!("by batches, at half the price: {}{live}", named(true)))
    }

    /// The waits between two looks at a batch. The variable is for tests.
    pub(crate) fn batch_poll(&self) -> (Duration, Duration) {
        let wanted = (self.lookup)("KARAT_BATCH_POLL").and_then(|text| crate::duration_ms(&text));
        wanted.map(Duration::from_millis).map_or(POLL, |wait| (wait, wait))
    }
}

/// Prices the models of a plan that have a batch API as batches are billed.
///
/// # Errors
/// No model has one, calls must not be stored, or a scorer reads the latency of calls.
pub(crate) fn price_batches(plan: &mut Plan) -> Result<(), AppError> {
    if !plan.header.privacy.is_open() {
        return Err(RunError::PrivateBatch {}.into());
    }
    let is_latency = |kind: &ScorerKind| matches!(kind, ScorerKind::Metric { metric, .. } if metric == "latency");
    let scorers: Vec<String> =
        plan.header.scorers.iter().filter(|it| is_latency(&it.kind)).map(|it| format!("`{}`", it.id)).collect();
    if !scorers.is_empty() {
        return Err(RunError::BatchLatency { scorers: Names::of(scorers) }.into());
    }
    let header = Arc::make_mut(&mut plan.header);
    let mut found = false;
    for model in header.models.iter_mut().chain(&mut header.judges).filter(|model| has_batch_api(&model.provider)) {
        found = true;
        if let Pricing::Known(price) = &mut model.price {
            for part in [
                Some(&mut price.input),
                Some(&mut price.output),
                price.cached_input.as_mut(),
                price.cache_write.as_mut(),
                price.cache_write_1h.as_mut(),
            ]
            .into_iter()
            .flatten()
            {
                *part = part.div_ceil(2);
            }
        }
    }
    if found { Ok(()) } else { Err(RunError::NoBatchApi {}.into()) }
}

impl BatchRun<'_> {
    /// Runs passes until one collects nothing. Returns the outcome of all, and the message of a process that does not wait.
    ///
    /// # Errors
    /// A pass fails, the store cannot be written, or a provider refuses a batch.
    pub fn run_passes(
        &self,
        runtime: &tokio::runtime::Runtime,
        mut pass: impl FnMut() -> Result<Outcome, AppError>,
    ) -> Result<(Outcome, Option<String>), AppError> {
        let mut outcome = pass()?;
        loop {
            if outcome.batched == 0 || outcome.status != RunStatus::Interrupted || self.stop.is_set() {
                return Ok((outcome, None));
            }
            match runtime.block_on(self.wait_for_batches())? {
                Wait::Over => {}
                Wait::Stopped => return Ok((outcome, None)),
                Wait::Detached(batches) => {
                    let batches = match batches {
                        1 => "1 batch".to_owned(),
                        more => format!("{more} batches"),
                    };
                    let message = format!("{batches} under way; `karat resume {}`", self.run);
                    return Ok((outcome, Some(message)));
                }
            }
            let next = pass()?;
            outcome = Outcome {
                calls: outcome.calls + next.calls,
                requests: outcome.requests + next.requests,
                spent: outcome.spent + next.spent,
                unpriced: outcome.unpriced + next.unpriced,
                ..next
            };
        }
    }

    async fn wait_for_batches(&self) -> Result<Wait, AppError> {
        // No request has named these keys yet, so they need not be looked for.
        let mut fresh = self.prepare()?;
        let mut warned = HashSet::new();
        let mut wait = self.poll.0;
        loop {
            let mut left = 0;
            let batches = self.store.batches(self.run)?;
            let known: Vec<String> = batches.iter().filter_map(|batch| batch.remote_id.clone()).collect();
            for batch in batches.iter().filter(|batch| batch.state != BatchState::Read) {
                if self.stop.is_set() {
                    return Ok(Wait::Stopped);
                }
                let is_fresh = fresh.remove(&batch.key);
                match self.advance(batch, is_fresh, &known).await? {
                    None if batch.state == BatchState::Created => {}
                    None => left += 1,
                    Some(reason) => {
                        left += 1;
                        if !reason.is_empty() && warned.insert(reason.clone()) {
                            self.observer.on_event(&Event::Warning(&reason));
                        }
                    }
                }
            }
            let are_created = || {
                Ok::<_, AppError>(self.store.batches(self.run)?.iter().all(|batch| batch.state != BatchState::Prepared))
            };
            match left {
                0 => return Ok(Wait::Over),
                _ if self.detach && are_created()? => return Ok(Wait::Detached(left)),
                _ => {}
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.stop.wait() => return Ok(Wait::Stopped),
            }
            wait = (wait * 2).min(self.poll.1);
        }
    }

    /// Commits batches for all waiting calls, by model and within the bounds of its API. Returns their keys.
    fn prepare(&self) -> Result<HashSet<String>, AppError> {
        let mut waiting: BTreeMap<String, Vec<(Key, usize)>> = BTreeMap::new();
        for item in self.store.batch_items(self.run)? {
            if item.state == BatchItemState::Waiting {
                waiting.entry(item.model).or_default().push((item.key, item.bytes + LINE_OVERHEAD));
            }
        }
        let mut prepared = HashSet::new();
        for (model, items) in waiting {
            let bounds = self.api(&model)?.bounds();
            for keys in split(&items, bounds) {
                let mut random = [0; 16];
                getrandom::fill(&mut random).map_err(|source| RunError::Batch { problem: source.to_string() })?;
                let batch = StoredBatch {
                    key: Key(random).to_string(),
                    model: model.clone(),
                    lines: u32::try_from(keys.len()).unwrap_or(u32::MAX),
                    state: BatchState::Prepared,
                    file: None,
                    remote_id: None,
                    created_at: self.clock.now(),
                };
                self.store.prepare_batch(self.run, &batch, &keys)?;
                prepared.insert(batch.key);
            }
        }
        Ok(prepared)
    }

    /// Takes a batch one step further. `None` if a step was made; else the reason to wait, empty if it is just running.
    async fn advance(&self, batch: &StoredBatch, is_fresh: bool, known: &[String]) -> Result<Option<String>, AppError> {
        let api = self.api(&batch.model)?;
        let step = match (&batch.remote_id, batch.state) {
            (Some(id), BatchState::Created) => self.read(&api, batch, id).await,
            _ => self.submit(&api, batch, is_fresh, known).await,
        };
        match step {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(String::new())),
            Err(Step::App(error)) => Err(*error),
            Err(Step::Batch(error)) if error.is_uncertain => Ok(Some(error.message)),
            Err(Step::Batch(error)) => Err(RunError::Batch { problem: error.message }.into()),
        }
    }

    async fn submit(
        &self,
        api: &BatchApi<'_>,
        batch: &StoredBatch,
        is_fresh: bool,
        known: &[String],
    ) -> Result<bool, Step> {
        if !is_fresh && let Some(id) = api.find(&batch.key, batch.lines, batch.created_at, known).await? {
            self.store.set_batch_remote_id(&batch.key, &id)?;
            return Ok(true);
        }
        let requests = self.store.batch_requests(&batch.key)?;
        let lines: Vec<_> =
            requests.into_iter().map(|(number, body)| BatchLine { number, body: body.into() }).collect();
        let file = match &batch.file {
            Some(file) => Some(file.clone()),
            None => api.upload(&batch.key, &lines).await?,
        };
        if let Some(file) = &file {
            self.store.set_batch_file(&batch.key, file)?;
        }
        let id = api.create(&batch.key, file.as_deref(), &lines).await?;
        self.store.set_batch_remote_id(&batch.key, &id)?;
        Ok(true)
    }

    /// Reads the results of a batch if it has ended.
    async fn read(&self, api: &BatchApi<'_>, batch: &StoredBatch, id: &str) -> Result<bool, Step> {
        let ended = match api.status(id).await {
            Ok(remote) => match remote.status {
                BatchStatus::Running => return Ok(false),
                BatchStatus::Failed(reason) => {
                    let reason = format!("the provider refused its batch ({reason})");
                    let ends: Vec<_> =
                        (0..batch.lines).map(|line| (line, BatchLineEnd::Again(reason.clone()))).collect();
                    self.store.absorb_batch(&batch.key, &ends)?;
                    return Ok(true);
                }
                BatchStatus::Ended(files) => api.results(&batch.key, id, &files).await,
            },
            Err(error) => Err(error),
        };
        let ends = match ended {
            Ok(results) => results.into_iter().map(|(line, result)| (line, line_end(result))).collect(),
            // They were billed, so they are not submitted anew.
            Err(error) if matches!(error.status, Some(404 | 410)) => {
                let gone = BatchAnswer {
                    status: error.status,
                    body: Vec::new(),
                    error: Some(format!("the results of batch {id} are gone at the provider")),
                };
                (0..batch.lines).map(|line| (line, BatchLineEnd::Answered(gone.clone()))).collect::<Vec<_>>()
            }
            Err(error) => return Err(error.into()),
        };
        self.store.absorb_batch(&batch.key, &ends)?;
        Ok(true)
    }

    fn api(&self, model: &str) -> Result<BatchApi<'_>, AppError> {
        let problem = |problem: String| RunError::Batch { problem };
        let api = self.providers.batch_api(model).map_err(|error| problem(error.message))?;
        Ok(api.ok_or_else(|| problem(format!("model {model} has no batch API")))?)
    }
}

/// The reason why a step was not made.
enum Step {
    Batch(BatchError),
    App(Box<AppError>),
}

impl From<BatchError> for Step {
    fn from(error: BatchError) -> Self {
        Self::Batch(error)
    }
}

impl From<karat_store::StoreError> for Step {
    fn from(error: karat_store::StoreError) -> Self {
        Self::App(Box::new(error.into()))
    }
}

fn line_end(result: BatchResult) -> BatchLineEnd {
    match result {
        BatchResult::Answered(status, body) => {
            BatchLineEnd::Answered(BatchAnswer { status: Some(status), body: body.to_vec(), error: None })
        }
        BatchResult::Again(reason) => BatchLineEnd::Again(reason),
    }
}

/// Splits calls into batches of at most so many lines and bytes.
fn split(items: &[(Key, usize)], (lines, bytes): (usize, usize)) -> Vec<Vec<Key>> {
    let mut batches: Vec<Vec<Key>> = Vec::new();
    let mut size = 0;
    for (key, length) in items {
        match batches.last_mut().filter(|batch| batch.len() < lines && size + length <= bytes) {
            Some(batch) => batch.push(*key),
            None => {
                batches.push(vec![*key]);
                size = 0;
            }
        }
        size += length;
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TG-60: a batch holds neither more lines nor more bytes than its API takes; every call is in one batch.
    #[test]
    fn batches_stay_within_the_bounds() {
        let items: Vec<_> = (0..7).map(|at| (Key([at; 16]), 10)).collect();
        let sizes = |bounds| split(&items, bounds).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes((100, 1000)), [7]);
        assert_eq!(sizes((3, 1000)), [3, 3, 1]);
        assert_eq!(sizes((100, 25)), [2, 2, 2, 1]);
        assert_eq!(sizes((100, 5)), [1; 7], "a call that is too large goes alone");
        assert_eq!(split(&items, (3, 1000)).concat(), items.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    }
}
