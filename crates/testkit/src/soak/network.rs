//! The provider of models and the receiver of alerts: both can fail, and both keep a log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::suites::HOOK_PATH;
use crate::{Behaviour, Echo, FakeProvider, ReceivedRequest, RequestLog, Script};

/// Time before each answer of a model, so that kills find calls in flight.
const LATENCY: Duration = Duration::from_millis(60);

/// The way in which a peer answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Works,
    /// 500.
    Fails,
    /// 429.
    Limits,
    /// No answer.
    Hangs,
    /// Half of an answer.
    Cuts,
    /// The connection is closed.
    Drops,
}

impl Mood {
    /// The behaviour in place of an answer; `None` for one that works.
    fn fault(self) -> Option<Behaviour> {
        match self {
            Self::Works => None,
            Self::Fails => Some(Behaviour::server_error()),
            Self::Limits => Some(Behaviour::rate_limited("1")),
            Self::Hangs => Some(Behaviour::Hang),
            Self::Cuts => Some(Behaviour::Cut("half of an answer".to_owned())),
            Self::Drops => Some(Behaviour::Drop),
        }
    }
}

/// A mood that another thread sets.
#[derive(Clone, Default)]
pub(crate) struct MoodSwitch(Arc<AtomicU8>);

const MOODS: [Mood; 6] = [Mood::Works, Mood::Fails, Mood::Limits, Mood::Hangs, Mood::Cuts, Mood::Drops];

impl MoodSwitch {
    pub fn set(&self, mood: Mood) {
        let at = MOODS.iter().position(|known| *known == mood).unwrap_or_default();
        self.0.store(u8::try_from(at).unwrap_or_default(), Ordering::SeqCst);
    }

    fn get(&self) -> Mood {
        MOODS.get(usize::from(self.0.load(Ordering::SeqCst))).copied().unwrap_or(Mood::Works)
    }
}

/// The provider of models.
pub(crate) struct Models {
    provider: FakeProvider,
    pub mood: MoodSwitch,
    log: Arc<ModelLog>,
}

#[derive(Default)]
struct ModelLog {
    /// The number of kills before now.
    kills: AtomicUsize,
    /// Set once the calls are those of undisturbed runs.
    is_over: AtomicBool,
    refused: AtomicUsize,
    /// For each request that got a complete reply, the number of kills before each of them.
    answered: Mutex<BTreeMap<[u8; 32], Vec<usize>>>,
}

/// The calls of a soak.
pub(crate) struct CallFigures {
    /// Complete replies.
    pub answered: usize,
    /// Requests that were answered with a fault.
    pub refused: usize,
    /// Complete replies to a request that had one, and was not repeated because of a kill.
    pub unexplained: usize,
    /// The same, behind a kill.
    pub behind_kills: usize,
    /// The most of them behind one kill.
    pub most_behind_a_kill: usize,
}

impl Models {
    pub fn start() -> std::io::Result<Self> {
        let (mood, log) = (MoodSwitch::default(), Arc::<ModelLog>::default());
        let echo = Script::echo(Echo { judge: Some(json!({ "good": 4 })), latency: LATENCY, ..Echo::default() });
        let (own_mood, own_log) = (mood.clone(), Arc::clone(&log));
        let script = Script::by(move |request| own_log.decide(request, own_mood.get(), &echo));
        let provider = FakeProvider::start_on(0, script, RequestLog::Counts)?;
        Ok(Self { provider, mood, log })
    }

    pub fn base_url(&self) -> String {
        self.provider.base_url()
    }

    /// Notes that the server was killed: what was in flight may be asked for again.
    pub fn note_kill(&self) {
        self.log.kills.fetch_add(1, Ordering::SeqCst);
    }

    /// Later calls are not part of the figures.
    pub fn end_log(&self) {
        self.log.is_over.store(true, Ordering::SeqCst);
    }

    pub fn figures(&self) -> CallFigures {
        let answered = lock(&self.log.answered);
        let (mut unexplained, mut behind) = (0, BTreeMap::<usize, usize>::new());
        for replies in answered.values() {
            for pair in replies.windows(2) {
                match pair[1] > pair[0] {
                    true => *behind.entry(pair[1]).or_default() += 1,
                    false => unexplained += 1,
                }
            }
        }
        CallFigures {
            answered: answered.values().map(Vec::len).sum(),
            refused: self.log.refused.load(Ordering::SeqCst),
            unexplained,
            behind_kills: behind.values().sum(),
            most_behind_a_kill: behind.values().copied().max().unwrap_or_default(),
        }
    }
}

impl ModelLog {
    fn decide(&self, request: &ReceivedRequest, mood: Mood, echo: &Script) -> Behaviour {
        let is_over = self.is_over.load(Ordering::SeqCst);
        if let Some(fault) = mood.fault() {
            self.refused.fetch_add(usize::from(!is_over), Ordering::SeqCst);
            return fault;
        }
        let answer = echo.decide(request);
        if answer.is_complete_reply() && !is_over {
            let kills = self.kills.load(Ordering::SeqCst);
            lock(&self.answered).entry(*blake3::hash(&request.body).as_bytes()).or_default().push(kills);
        }
        answer
    }
}

/// The receiver of alerts.
pub(crate) struct Receiver {
    provider: FakeProvider,
    pub mood: MoodSwitch,
    log: Arc<Mutex<ReceiverLog>>,
}

#[derive(Default)]
struct ReceiverLog {
    refused: usize,
    /// Messages that were accepted or refused, by `webhook-id`.
    messages: BTreeMap<String, Received>,
}

/// A message as its receiver knows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    /// Attempts that were answered with 200.
    pub accepted: usize,
    /// Attempts in all.
    pub attempts: usize,
    /// `alert.opened`, `alert.reminder` or `alert.resolved`.
    pub kind: String,
    /// Its incident.
    pub incident: String,
    /// Hashes of its contents: one, if each attempt sends the same.
    pub contents: BTreeSet<[u8; 32]>,
    /// True if an attempt had no signature.
    pub is_unsigned: bool,
}

impl Receiver {
    pub fn start() -> std::io::Result<Self> {
        let (mood, log) = (MoodSwitch::default(), Arc::<Mutex<ReceiverLog>>::default());
        let (own_mood, own_log) = (mood.clone(), Arc::clone(&log));
        let script = Script::by(move |request| lock(&own_log).take(request, own_mood.get()));
        let provider = FakeProvider::start_on(0, script, RequestLog::Counts)?;
        Ok(Self { provider, mood, log })
    }

    /// Its address, with a part that is a secret.
    pub fn url(&self) -> String {
        format!("{}/{HOOK_PATH}", self.provider.url())
    }

    pub fn messages(&self) -> BTreeMap<String, Received> {
        lock(&self.log).messages.clone()
    }

    /// Attempts that were answered with a fault.
    pub fn count_refused(&self) -> usize {
        lock(&self.log).refused
    }
}

impl ReceiverLog {
    fn take(&mut self, request: &ReceivedRequest, mood: Mood) -> Behaviour {
        let fault = mood.fault();
        let id = request.header("webhook-id").unwrap_or_default().to_owned();
        let body = request.json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let message = self.messages.entry(id).or_default();
        message.attempts += 1;
        message.accepted += usize::from(fault.is_none());
        (message.kind, message.incident) = (text(&body["type"]), text(&body["data"]["incident"]));
        message.contents.insert(*blake3::hash(&request.body).as_bytes());
        message.is_unsigned |= !request.header("webhook-signature").is_some_and(|it| it.starts_with("v1,"));
        self.refused += usize::from(fault.is_some());
        fault.unwrap_or_else(|| Behaviour::raw(200, "{}"))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
