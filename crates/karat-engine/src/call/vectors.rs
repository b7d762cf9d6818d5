//! Vectors of texts: collected over cells, asked for in few requests, each text once a store.
//!
//! A cell that needs vectors which no run has made waits here. Its texts are sent with those of other cells: once there are
//! enough for a full request, or once every worker of the run waits, so that no further text can come. The cell that finds a
//! request due sends it. Vectors are on disk before the record of the call that made them, so a resumed run never pays for a
//! text twice.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use karat_scoring::scorer::EmbeddingTexts;
use karat_text::chunking::tokens::Tokenizer;
use karat_types::{
    AskId, CallError, CallErrorCode, CellError, ChatRequest, Key, KeyBuilder, ModelSpec, PlanHeader, Request, StepCost,
    Usage,
};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::{Notify, oneshot};

use crate::call::executor::CallExecutor;
use crate::control::refusals::may_be_of_one;
use crate::control::target::Target;
use crate::plan::identity::call_key;

/// Texts of one request.
pub(crate) const MAX_TEXTS: usize = 128;

/// Bytes of one request, unless a single text is longer: providers limit the tokens of all texts together.
const MAX_BYTES: usize = 256 << 10;

/// Further workers of each group while cells wait for vectors: they make the texts that fill a request.
pub(crate) const WAITING_WORKERS: usize = 256;

type Vector = Arc<[f32]>;
type VectorResult = Result<Vector, CallError>;

/// The texts that cells wait for.
pub(crate) struct VectorBatcher {
    models: Vec<Arc<ModelSpec>>,
    /// Limit of one attempt, where the model has none of its own, and attempts after the first.
    limits: (Duration, u32),
    /// True if vectors are kept in the store.
    keeps: bool,
    /// True if calls are recorded or replayed. Then each text is a request of its own, so that a replay finds it whatever
    /// it is sent with, and only vectors of this run are reused.
    is_recorded: bool,
    /// True if nothing is held back: other runs wait for the cells that wait here.
    is_eager: AtomicBool,
    state: Mutex<VectorState>,
    /// Tells waiting cells that a request may be due.
    changed: Notify,
}

#[derive(Default)]
struct VectorState {
    /// Workers that have not ended, and those that wait for vectors.
    workers: usize,
    waiting: usize,
    /// Texts that no request holds yet, by model and length of vectors.
    unsent: BTreeMap<VectorKind, Vec<(Key, Arc<str>)>>,
    /// The cells that wait for a text, sent or not.
    waiters: FxHashMap<Key, Vec<oneshot::Sender<VectorResult>>>,
    /// Vectors that the store does not keep.
    known: FxHashMap<Key, Vector>,
    /// Texts whose vectors this process has made.
    made: FxHashSet<Key>,
}

/// The index of a model, and the wanted length of its vectors.
type VectorKind = (usize, Option<u32>);

/// The texts of one request.
struct TextBatch {
    kind: VectorKind,
    texts: Vec<(Key, Arc<str>)>,
}

/// A worker of the run, from its start to its end.
pub(crate) struct WorkerGuard<'a>(&'a VectorBatcher);

impl Drop for WorkerGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.workers -= 1;
        if state.waiting > 0 && state.waiting >= state.workers {
            self.0.changed.notify_waiters();
        }
    }
}

/// A cell that waits for vectors.
struct WaitGuard<'a>(&'a VectorBatcher);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

impl VectorBatcher {
    /// The batcher of a plan; `None` if no scorer compares vectors.
    pub fn of(plan: &PlanHeader, keeps: bool, is_recorded: bool) -> Option<Self> {
        let models: Vec<Arc<ModelSpec>> = plan.embedders.iter().cloned().map(Arc::new).collect();
        (!models.is_empty()).then(|| Self {
            models,
            limits: (Duration::from_millis(plan.run.timeout_ms), plan.run.retries),
            keeps,
            is_recorded,
            is_eager: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Announces the workers of the run before the first one starts.
    pub fn expect_workers(&self, count: usize) {
        self.state().workers += count;
    }

    /// Ends with the worker.
    pub fn worker(&self) -> WorkerGuard<'_> {
        WorkerGuard(self)
    }

    /// Sends every text at once from now on.
    pub fn stop_collecting(&self) {
        self.is_eager.store(true, Ordering::Relaxed);
        self.changed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, VectorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The vector of a text that is known, else what will bring it. One that is damaged is asked for again.
    ///
    /// # Errors
    /// The store cannot be asked, and the run stops.
    fn look_up(
        &self,
        calls: &CallExecutor,
        (kind, key): (VectorKind, Key),
        text: &str,
        has_call: bool,
    ) -> Result<KnownOrWaiting, CellError> {
        let mut state = self.state();
        if let Some(vector) = state.known.get(&key) {
            return Ok(KnownOrWaiting::Known(vector.clone()));
        }
        let is_of_run = has_call || state.made.contains(&key);
        if self.keeps
            && (!self.is_recorded || is_of_run)
            && let Some(vector) = calls.check_found(calls.store().vector(key))?
        {
            return Ok(KnownOrWaiting::Known(vector.into()));
        }
        let (sender, receiver) = oneshot::channel();
        let waiters = state.waiters.entry(key).or_default();
        waiters.push(sender);
        if waiters.len() == 1 {
            state.unsent.entry(kind).or_default().push((key, text.into()));
        }
        Ok(KnownOrWaiting::Waiting(receiver))
    }

    /// Takes the texts of the next request, if one is due.
    fn take_due(&self) -> Option<TextBatch> {
        let mut state = self.state();
        let most = if self.is_recorded { 1 } else { MAX_TEXTS };
        let nobody_else = state.waiting >= state.workers || self.is_eager.load(Ordering::Relaxed);
        let is_due = |texts: &Vec<(Key, Arc<str>)>| {
            texts.len() >= most || bytes_of(texts) >= MAX_BYTES || (nobody_else && !texts.is_empty())
        };
        let (kind, texts) = state.unsent.iter_mut().find(|(_, texts)| is_due(texts))?;
        let (mut count, mut bytes) = (0, 0);
        while count < most.min(texts.len()) && (count == 0 || bytes + texts[count].1.len() <= MAX_BYTES) {
            bytes += texts[count].1.len();
            count += 1;
        }
        Some(TextBatch { kind: *kind, texts: texts.drain(..count).collect() })
    }

    /// Hands a vector, or the reason why there is none, to the cells that wait for it.
    fn deliver(&self, key: Key, result: &VectorResult) {
        let mut state = self.state();
        if let Ok(vector) = result {
            state.made.insert(key);
            if !self.keeps {
                state.known.insert(key, vector.clone());
            }
        }
        let waiters = state.waiters.remove(&key).unwrap_or_default();
        drop(state);
        waiters.into_iter().for_each(|waiter| _ = waiter.send(result.clone()));
    }
}

enum KnownOrWaiting {
    Known(Vector),
    Waiting(oneshot::Receiver<VectorResult>),
}

fn bytes_of(texts: &[(Key, Arc<str>)]) -> usize {
    texts.iter().map(|(_, text)| text.len()).sum()
}

/// The content identity of a text's vector.
pub(crate) fn vector_key(model: &ModelSpec, dimensions: Option<u32>, text: &str) -> Key {
    let key =
        KeyBuilder::new("karat/vector/1").json(&model.identity()).number(u64::from(dimensions.unwrap_or_default()));
    key.text("similarity").text(text).finish()
}

/// The owner of the call that asks for these texts, by its first.
fn owner_of(first: Key) -> Key {
    Key::of("karat/vectors/1", &first.0)
}

/// The vectors of an output and of what it is compared with.
pub(crate) struct CellVectors {
    pub output: Vector,
    pub references: Vec<Vector>,
    /// Tokens and list price of the texts, whoever has paid for their vectors. The tokens are counted here, so they do not
    /// depend on what was sent together.
    pub cost: StepCost,
}

impl CallExecutor {
    /// The vectors of the texts of one cell.
    ///
    /// # Errors
    /// The run was stopped, the budget is used up, or the model gives no usable vectors.
    pub async fn cell_vectors(
        &self,
        batcher: &VectorBatcher,
        texts: &EmbeddingTexts,
    ) -> Result<CellVectors, CellError> {
        let found = batcher.models.iter().enumerate().find(|(_, model)| model.id == texts.model);
        let (at, model) = found.ok_or_else(|| CallError {
            code: CallErrorCode::Unsupported,
            message: format!("model {}: it is not part of the plan; this is a bug in karat", texts.model),
            status: None,
        })?;
        let all = || std::iter::once(&texts.output).chain(&texts.references);
        let known = all().map(|text| {
            let key = vector_key(model, texts.dimensions, text);
            let has_call = batcher.is_recorded && self.paid.is_unreported(call_key(owner_of(key), &AskId::new("0")));
            batcher.look_up(self, ((at, texts.dimensions), key), text, has_call)
        });
        let mut vectors = self.wait_for(batcher, known.collect::<Result<_, _>>()?).await?.into_iter();
        let tokens: usize = all().map(|text| Tokenizer::plan().count(text)).sum();
        let usage = Usage { input_tokens: tokens as u64, ..Usage::default() };
        let cost = StepCost { usage, cost: model.price.cost(&usage) };
        let output = vectors.next().unwrap_or_else(|| Arc::new([]));
        Ok(CellVectors { output, references: vectors.collect(), cost })
    }

    /// Waits for vectors, and sends requests that are due in the meantime.
    async fn wait_for(&self, batcher: &VectorBatcher, known: Vec<KnownOrWaiting>) -> Result<Vec<Vector>, CallError> {
        let gone = || CallError {
            code: CallErrorCode::Cancelled,
            message: "the run was stopped before this text had its vector".to_owned(),
            status: None,
        };
        let is_complete = known.iter().all(|it| matches!(it, KnownOrWaiting::Known(_)));
        let results = known.into_iter().map(|it| async move {
            match it {
                KnownOrWaiting::Known(vector) => Ok(vector),
                KnownOrWaiting::Waiting(receiver) => receiver.await.unwrap_or_else(|_| Err(gone())),
            }
        });
        let mut results = pin!(join_all(results));
        if is_complete {
            return results.await.into_iter().collect();
        }
        batcher.state().waiting += 1;
        let _waiting = WaitGuard(batcher);
        loop {
            let mut changed = pin!(batcher.changed.notified());
            // Before the look at the batcher, so that no change is missed.
            changed.as_mut().enable();
            if let Some(batch) = batcher.take_due() {
                self.send_texts(batcher, batch).await;
                continue;
            }
            tokio::select! {
                biased;
                results = &mut results => return results.into_iter().collect(),
                () = changed => {}
                () = self.wait_for_stop() => return Err(gone()),
            }
        }
    }

    /// Asks for the vectors of some texts. After a failure that one of them may cause, each half is asked for by itself, so
    /// that one text costs no other its vector. Many failures in a row are the server's: then the rest is not asked for.
    async fn send_texts(&self, batcher: &VectorBatcher, batch: TextBatch) {
        let (at, dimensions) = batch.kind;
        let model = &batcher.models[at];
        let (timeout, retries) = batcher.limits;
        let target = Target {
            who: format!("vectors of {}", model.id).into(),
            model: Some(model.clone()),
            meter: None,
            timeout: model.timeout_ms.map_or(timeout, Duration::from_millis),
            retries,
            time: None,
            agent: None,
            is_live: true,
            is_demo: false,
        };
        let Some((first, _)) = batch.texts.first() else { return };
        let owner = owner_of(*first);
        // The path from all texts to a single one, twice.
        let patience = 2 * (batch.texts.len().ilog2() + 1);
        let parted = Target { retries: retries.min(1), ..target.clone() };
        let mut parts = vec![batch.texts];
        let (mut asked, mut failed_in_a_row) = (0_u32, 0_u32);
        while let Some(mut texts) = parts.pop() {
            let target = if asked == 0 { &target } else { &parted };
            let keys: Vec<Key> = texts.iter().map(|(key, _)| *key).collect();
            let request = ChatRequest::of_texts(texts.iter().map(|(_, text)| &**text), dimensions);
            let key = call_key(owner, &AskId::new(asked.to_string()));
            asked += 1;
            let made = self.vectors_of((owner, key), &Request::Chat(request), &keys, (target, batcher.keeps)).await;
            failed_in_a_row = if made.is_ok() { 0 } else { failed_in_a_row + 1 };
            match made {
                Ok(vectors) => {
                    let unusable = || CallError {
                        code: CallErrorCode::Malformed,
                        message: format!("{}: the answer holds a vector without direction for this text", target.who),
                        status: None,
                    };
                    let usable = |vector: Vec<f32>| (!vector.is_empty()).then(|| vector.into()).ok_or_else(unusable);
                    keys.iter().zip(vectors).for_each(|(key, vector)| batcher.deliver(*key, &usable(vector)));
                }
                Err(error) if may_be_of_one(error.code) && texts.len() > 1 && failed_in_a_row < patience => {
                    let second = texts.split_off(texts.len() / 2);
                    parts.extend([second, texts]);
                }
                Err(error) => {
                    keys.iter().for_each(|key| batcher.deliver(*key, &Err(error.clone())));
                    if failed_in_a_row >= patience {
                        let rest = parts.drain(..).flatten();
                        rest.for_each(|(key, _)| batcher.deliver(key, &Err(error.clone())));
                    }
                }
            }
        }
    }
}
