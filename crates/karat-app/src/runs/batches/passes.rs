//! Runs whose calls go by their providers' batch APIs.
//!
//! A run is a loop of passes. Each pass is an ordinary resume, which collects the calls that nothing answers yet. Between two
//! passes their batches are submitted, waited for and read. Every step is committed before the next, so a process that is
//! killed anywhere continues where it was; see `docs/design/0022-batches.md`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use karat_engine::BATCH_REFUSED as REFUSED;
use karat_engine::{Outcome, Stop};
use karat_providers::{BatchApi, BatchError, BatchLine, BatchResult, BatchStatus, Providers, has_batch_api};
use karat_report::count_noun;
use karat_store::{BatchAnswer, BatchItemState, BatchLineEnd, BatchState, Store, StoredBatch};
use karat_suite::Plan;
use karat_types::{
    Action, CachePolicy, Clock, Event, Key, Observer, PlanHeader, Pricing, RunStatus, Share, StepSpec, TierPrice,
};

use crate::error::RunError;
use crate::runs::Runs;
use crate::{AppError, CallRecording, Invocation};

/// OpenAI's code for a batch that has more tokens than the queue of its model takes.
const QUEUE_FULL: &str = "token_limit_exceeded";

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
    /// The most lines of a batch of a model whose queue was too short for a larger one.
    pub queue_lines: RefCell<BTreeMap<String, u32>>,
    /// The state of each batch that was told last.
    pub states: RefCell<BTreeMap<String, String>>,
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

impl Runs<'_> {
    /// Prices a plan as batches are billed. Returns a line with the models that go by batches, and what is run live.
    ///
    /// # Errors
    /// No call of the plan can go by a batch API, or calls must not be stored.
    pub fn price_batches(&self, plan: &mut Plan) -> Result<String, AppError> {
        price_batches(plan)?;
        let header = &plan.header;
        let by_batch = batch_models(header);
        let models: BTreeSet<&str> = header.all_models().map(|model| model.id.as_str()).collect();
        let live = models.into_iter().filter(|id| !by_batch.contains(*id)).map(str::to_owned);
        let is_agent = |step: &StepSpec| step.action.as_agent().is_some();
        let agents = header.variants.iter().any(|variant| variant.steps.iter().any(is_agent));
        let live: Vec<String> = live.chain(agents.then(|| "agents".to_owned())).collect();
        let live = if live.is_empty() { String::new() } else { format!("; live: {}", live.join(", ")) };
        let prices = header.all_models().filter(|model| by_batch.contains(&model.id)).filter_map(|model| {
            let Some(Pricing::Known(price)) = &model.live_price else { return None };
            Some(price.batch.clone().unwrap_or(TierPrice::Share(Share::HALF)))
        });
        let mut prices: Vec<TierPrice> = prices.collect();
        prices.dedup();
        let price = match &prices[..] {
            [] | [TierPrice::Share(Share::HALF)] => "at half the price".to_owned(),
            [TierPrice::Share(share)] => format!("at {} % of the price", share.factor() * 100.0),
            _ => "at their `price.batch`".to_owned(),
        };
        let names: Vec<&str> = by_batch.iter().map(String::as_str).collect();
        Ok(format!("by batches, {price}: {}{live}", names.join(", ")))
    }

    /// The run whose batches make calls of the same plan, if there is one. A plan without a cache is meant to pay again.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn run_with_batches(&self, plan: &Plan) -> Result<Option<String>, AppError> {
        other_run_with_batches(&self.app.store_to_read()?, plan, "")
    }

    /// Refuses a run that would pay for the calls of another run's batches, and one that cannot be left.
    ///
    /// # Errors
    /// As said, or the store cannot be read.
    pub(crate) fn check_batches(
        &self,
        store: &Store,
        plan: &Plan,
        invocation: &Invocation,
        (tape, run): (&CallRecording, &str),
        is_batched: bool,
    ) -> Result<(), AppError> {
        if invocation.detach && !is_batched {
            return Err(RunError::DetachedLive {}.into());
        }
        let has_own = || store.batches(run).map(|own| own.iter().any(|batch| batch.state != BatchState::Read));
        if matches!(tape, CallRecording::Replay(_)) || has_own()? {
            return Ok(());
        }
        match other_run_with_batches(store, plan, run)? {
            Some(run) => Err(RunError::BatchesUnderWay { run }.into()),
            None => Ok(()),
        }
    }

    /// The waits between two looks at a batch. The variable is for tests.
    pub(crate) fn batch_poll(&self) -> (Duration, Duration) {
        let wanted = (self.app.lookup)("KARAT_BATCH_POLL").and_then(|text| crate::duration_ms(&text));
        wanted.map(Duration::from_millis).map_or(POLL, |wait| (wait, wait))
    }
}

fn other_run_with_batches(store: &Store, plan: &Plan, except: &str) -> Result<Option<String>, AppError> {
    match plan.header.run.cache {
        CachePolicy::Off => Ok(None),
        _ => Ok(store.run_with_batches(plan.header.plan_hash, except)?),
    }
}

/// Prices the models of a plan whose calls go by batches as these are billed.
///
/// # Errors
/// No call of the plan can go by a batch API, or calls must not be stored.
pub(crate) fn price_batches(plan: &mut Plan) -> Result<(), AppError> {
    if !plan.header.privacy.is_open() {
        return Err(RunError::PrivateBatch {}.into());
    }
    let by_batch = batch_models(&plan.header);
    if by_batch.is_empty() {
        return Err(RunError::NoBatchApi {}.into());
    }
    let header = Arc::make_mut(&mut plan.header);
    for model in header.models.iter_mut().chain(&mut header.judges).filter(|model| by_batch.contains(&model.id)) {
        if let Pricing::Known(price) = &model.price {
            let batches = Pricing::Known(price.of_batches());
            model.live_price = Some(std::mem::replace(&mut model.price, batches));
        }
    }
    Ok(())
}

/// The models with a batch API that prompts or judges of a plan call. Agents are run live: each of their turns would be a
/// batch of its own.
fn batch_models(plan: &PlanHeader) -> BTreeSet<String> {
    let prompts = plan.systems.iter().enumerate().flat_map(|(at, system)| {
        let steps = plan.variants.get(system.variant).map(|variant| &variant.steps[..]).unwrap_or_default();
        let steps = steps.iter().filter(|step| matches!(step.action, Action::Prompt(_)));
        steps.filter_map(move |step| match &step.model {
            Some(id) => plan.models.iter().find(|model| model.id == *id),
            None => plan.system_model(at),
        })
    });
    let models = prompts.chain(&plan.judges).filter(|model| has_batch_api(&model.provider));
    models.map(|model| model.id.clone()).collect()
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
                    None if batch.state != BatchState::Prepared => {}
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
            let (mut lines, bytes) = self.api(&model)?.bounds();
            let mut at_once = usize::MAX;
            if let Some(most) = self.queue_lines.borrow().get(&model) {
                // One after the other: the next pass prepares the next.
                (lines, at_once) = (lines.min(*most as usize), 1);
            }
            for keys in split(&items, (lines, bytes)).into_iter().take(at_once) {
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
            (Some(id), BatchState::Created | BatchState::Cancelled) => self.read(&api, batch, id).await,
            _ => self.submit(&api, batch, is_fresh, known).await,
        };
        match step {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(String::new())),
            Err(Step::App(error)) => Err(*error),
            Err(Step::Batch(error)) if error.is_uncertain => Ok(Some(error.message)),
            Err(Step::Batch(error)) if error.is_missing => {
                Err(RunError::NoBatchServer { problem: error.message }.into())
            }
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
            None => self.release_if_refused(batch, api.upload(&batch.key, &lines).await)?,
        };
        if let Some(file) = &file {
            self.store.set_batch_file(&batch.key, file)?;
        }
        let id = self.release_if_refused(batch, api.create(&batch.key, file.as_deref(), &lines).await)?;
        self.store.set_batch_remote_id(&batch.key, &id)?;
        self.tell(format!(
            "model {}: batch {id} is submitted, {}",
            batch.model,
            count_noun(batch.lines.into(), "call")
        ));
        Ok(true)
    }

    /// Takes the calls out of a batch that the provider refused for certain: it is not under way.
    fn release_if_refused<T>(&self, batch: &StoredBatch, answer: Result<T, BatchError>) -> Result<T, Step> {
        if answer.as_ref().is_err_and(|error| !error.is_uncertain) {
            self.store.release_batch(&batch.key)?;
        }
        Ok(answer?)
    }

    /// Tells the state of a batch, if it is news.
    fn tell_state(&self, batch: &StoredBatch, id: &str, state: &str) {
        let before = self.states.borrow_mut().insert(batch.key.clone(), state.to_owned());
        if before.as_deref() != Some(state) {
            self.tell(format!(
                "model {}: batch {id} ({}): {state}",
                batch.model,
                count_noun(batch.lines.into(), "call")
            ));
        }
    }

    fn tell(&self, message: String) {
        self.observer.on_event(&Event::Notice(&message));
    }

    /// Reads the results of a batch if it has ended.
    async fn read(&self, api: &BatchApi<'_>, batch: &StoredBatch, id: &str) -> Result<bool, Step> {
        let ended = match api.status(id).await {
            Ok(remote) => match (self.tell_state(batch, id, &remote.state), remote.status).1 {
                BatchStatus::Running => return Ok(false),
                BatchStatus::Failed(reason) if reason.contains(QUEUE_FULL) && batch.lines > 1 => {
                    let half = batch.lines.div_ceil(2);
                    self.queue_lines.borrow_mut().insert(batch.model.clone(), half);
                    let message = format!(
                        "model {}: a batch of {} calls has more tokens than its queue takes; they go in parts of {half}",
                        batch.model, batch.lines
                    );
                    self.observer.on_event(&Event::Warning(&message));
                    self.store.release_batch(&batch.key)?;
                    return Ok(true);
                }
                BatchStatus::Failed(reason) => {
                    // The same file would be refused again.
                    let reason = format!("the provider refused batch {id}: {reason}");
                    let refused = BatchAnswer { status: Some(REFUSED), body: Vec::new(), error: Some(reason) };
                    let ends: Vec<_> =
                        (0..batch.lines).map(|line| (line, BatchLineEnd::Answered(refused.clone()))).collect();
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
