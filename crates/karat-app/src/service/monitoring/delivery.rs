//! Sends the messages of the outbox: at least once, with the same id at every attempt. Each alert has one attempt under way at
//! a time, and many alerts have theirs at once, so that a slow receiver holds up its own messages only.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use karat_alert::{AlertEvent, AlertMessage, AlertSpec, Attempted, HookRequest, hook_request, next_attempt};
use karat_providers::{HookAnswer, HookClient};
use karat_store::StoredMessage;
use karat_text::env_template;
use karat_types::Moment;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::error::{Names, ServiceError};
use crate::project::threads::runtime;
use crate::service::Service;
use crate::service::monitoring::alerting::{AlertSource, new_id, stored_path};
use crate::service::monitoring::observations::Observed;
use crate::{AppError, Invocation};

/// Time after which a message that was taken, and of which nothing more was heard, is due again.
const TAKEN_MS: i64 = 60_000;

/// Time for which the foreground tries, that of its attempts included.
const FOREGROUND: Duration = Duration::from_secs(20);

/// Longest wait between two looks into the outbox.
const PAUSE: Duration = Duration::from_millis(200);

/// Attempts at a time.
const AT_ONCE: usize = 64;

/// The result of sending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Messages that were sent.
    pub sent: u64,
    /// Failed attempts, without addresses.
    pub failures: Vec<String>,
    /// Messages that wait for a later attempt.
    pub pending: u64,
    /// Messages that were given up now.
    pub dead: u64,
    /// Each attempt: the channel, or `unknown` if the suite cannot say it, and `sent`, `failed` or `dead`.
    pub attempts: Vec<(&'static str, &'static str)>,
}

impl Delivered {
    fn add(&mut self, more: Self) {
        self.sent += more.sent;
        self.dead += more.dead;
        self.failures.extend(more.failures);
        self.attempts.extend(more.attempts);
        self.pending = more.pending;
    }
}

/// The alerts of suites, by stored path, loaded when a message needs them.
type Alerts = BTreeMap<String, Result<Vec<AlertSpec>, String>>;

/// An attempt that has ended.
struct EndedAttempt {
    message: StoredMessage,
    channel: &'static str,
    attempted: Attempted,
    error: String,
}

/// A message on its way: where it goes, and what.
struct Posting {
    url: String,
    request: HookRequest,
}

/// The attempts that are under way.
pub struct Delivery<'a> {
    service: Service<'a>,
    /// The runtime and client, made for the first message.
    sender: Option<(Runtime, Arc<HookClient>)>,
    attempts: JoinSet<EndedAttempt>,
    /// The path and alert of each attempt.
    busy: Vec<(String, String)>,
    /// The time at which no attempt may be under way any more.
    end: Option<Instant>,
}

impl Delivery<'_> {
    /// Starts an attempt for each message that is due, and ends those whose receivers have answered. It waits for none.
    ///
    /// # Errors
    /// The store cannot be read or written, or the client not be made.
    pub fn step(&mut self) -> Result<Delivered, AppError> {
        self.look(Duration::ZERO)
    }

    /// Waits for the attempts that are under way, and starts no others.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn finish(&mut self) -> Result<Delivered, AppError> {
        let mut delivered = Delivered::default();
        while let Some(ended) = self.next_end(None) {
            self.end_attempt(ended, &mut delivered)?;
        }
        Ok(delivered)
    }

    /// The same as a step, which waits for the first end of an attempt.
    fn look(&mut self, mut patience: Duration) -> Result<Delivered, AppError> {
        let mut delivered = Delivered::default();
        if !self.service.app.store.exists() {
            return Ok(delivered);
        }
        self.start_attempts(&mut delivered)?;
        while let Some(ended) = self.next_end(Some(patience)) {
            patience = Duration::ZERO;
            self.end_attempt(ended, &mut delivered)?;
            // It leaves its place to the next message of its alert.
            self.start_attempts(&mut delivered)?;
        }
        delivered.pending = self.service.app.open_store()?.count_messages("pending")?;
        Ok(delivered)
    }

    fn is_idle(&self) -> bool {
        self.attempts.is_empty()
    }

    /// The next attempt that ends within a time, or ever.
    fn next_end(&mut self, patience: Option<Duration>) -> Option<EndedAttempt> {
        let ((runtime, _), attempts) = (self.sender.as_ref()?, &mut self.attempts);
        let ended = runtime.block_on(async {
            match patience {
                Some(patience) => timeout(patience, attempts.join_next()).await.ok().flatten(),
                None => attempts.join_next().await,
            }
        });
        ended?.ok()
    }

    fn start_attempts(&mut self, delivered: &mut Delivered) -> Result<(), AppError> {
        let Service { app } = self.service;
        let store = app.open_store()?;
        if self.is_idle() {
            self.busy.clear();
        }
        // A suite may have changed since the last look.
        let mut alerts = Alerts::new();
        while self.busy.len() < AT_ONCE {
            let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            let now = app.clock.now();
            let until = Moment(now.0.saturating_add(TAKEN_MS));
            let Some(message) = store.take_message(now, until, &self.busy)? else { break };
            let known = alerts.entry(message.path.clone()).or_insert_with(|| self.service.alerts_of(&message.path));
            let (channel, posting) = self.service.posting_of(&message, known);
            let posting = match posting {
                Ok(posting) => posting,
                Err((attempted, error)) => {
                    self.end_attempt(EndedAttempt { message, channel, attempted, error }, delivered)?;
                    continue;
                }
            };
            let (runtime, client) = match &mut self.sender {
                Some(sender) => sender,
                none => none.insert((runtime()?, Arc::new(app.hook_client()?))),
            };
            self.busy.push((message.path.clone(), message.alert.clone()));
            let client = client.clone();
            let attempt = async move {
                let answer = match left {
                    Some(left) => timeout(left, posting.send(&client)).await,
                    None => Ok(posting.send(&client).await),
                };
                let late = || Err(format!("no answer within the {} s for alerts", FOREGROUND.as_secs()));
                let (attempted, error) = end_of(answer.unwrap_or_else(|_| late()));
                EndedAttempt { message, channel, attempted, error }
            };
            self.attempts.spawn_on(attempt, runtime.handle());
        }
        Ok(())
    }

    /// Stores the end of an attempt.
    fn end_attempt(&mut self, ended: EndedAttempt, delivered: &mut Delivered) -> Result<(), AppError> {
        let EndedAttempt { message, channel, attempted, error } = ended;
        self.busy.retain(|(path, alert)| (path, alert) != (&message.path, &message.alert));
        let outcome = self.service.store_end(&message, attempted, &error, delivered)?;
        delivered.attempts.push((channel, outcome));
        Ok(())
    }
}

/// The end of an attempt by the receiver's answer, and why it failed.
fn end_of(answer: Result<HookAnswer, String>) -> (Attempted, String) {
    match answer {
        Ok(answer) if (200..300).contains(&answer.status) => (Attempted::Delivered, String::new()),
        Ok(answer) if answer.status == 410 => (Attempted::Gone, "the receiver answered 410: it is gone".to_owned()),
        Ok(answer) => {
            let error = format!("the receiver answered {}", answer.status);
            (Attempted::Failed { retry_after_s: answer.retry_after_s }, error)
        }
        Err(problem) => (Attempted::Failed { retry_after_s: None }, problem),
    }
}

impl Posting {
    /// Posts the message once. An error names no address.
    async fn send(self, client: &HookClient) -> Result<HookAnswer, String> {
        let HookRequest { headers, body } = self.request;
        client.post(&self.url, &headers, body).await.map_err(|error| error.to_string())
    }
}

impl<'a> Service<'a> {
    /// Sends messages, attempt by attempt.
    pub fn delivery(self) -> Delivery<'a> {
        Delivery { service: self, sender: None, attempts: JoinSet::new(), busy: Vec::new(), end: None }
    }

    /// Sends the messages that are due, each with one attempt.
    ///
    /// # Errors
    /// The store cannot be read or written, or the client not be made.
    pub fn deliver_due(&self) -> Result<Delivered, AppError> {
        let (mut delivery, mut all) = (self.delivery(), Delivered::default());
        loop {
            all.add(delivery.look(PAUSE)?);
            if delivery.is_idle() {
                return Ok(all);
            }
        }
    }

    /// Sends what is due, and tries again for 20 seconds what fails.
    ///
    /// # Errors
    /// Those of [`Service::deliver_due`].
    pub fn deliver_now(&self) -> Result<Delivered, AppError> {
        let end = Instant::now() + FOREGROUND;
        let mut delivery = Delivery { end: Some(end), ..self.delivery() };
        let mut all = Delivered::default();
        loop {
            all.add(delivery.look(PAUSE)?);
            if !delivery.is_idle() {
                continue;
            }
            let left = end.saturating_duration_since(Instant::now());
            if all.pending == 0 || left.is_zero() || !self.is_due_within(left)? {
                return Ok(all);
            }
            std::thread::sleep(PAUSE.min(left));
        }
    }

    fn is_due_within(&self, left: Duration) -> Result<bool, AppError> {
        let until = self.app.clock.now().0.saturating_add(i64::try_from(left.as_millis()).unwrap_or(i64::MAX));
        let pending = self.app.open_store()?.messages(Some("pending"), usize::MAX)?;
        Ok(pending.iter().any(|message| message.next_at.is_some_and(|at| at.0 <= until)))
    }

    /// The channel of a message, and what is to be posted, or how its attempt ended before that.
    fn posting_of(
        &self,
        message: &StoredMessage,
        alerts: &Result<Vec<AlertSpec>, String>,
    ) -> (&'static str, Result<Posting, (Attempted, String)>) {
        let failed = |error: String| Err((Attempted::Failed { retry_after_s: None }, error));
        let alert = match alerts {
            Err(problem) => return ("unknown", failed(format!("the suite cannot be loaded: {problem}"))),
            Ok(alerts) => match alerts.iter().find(|alert| alert.id == message.alert) {
                None => return ("unknown", failed(format!("the suite has no alert `{}` any more", message.alert))),
                Some(alert) => alert,
            },
        };
        let posting = match serde_json::from_str::<AlertMessage>(&message.body) {
            Ok(content) => self.posting(alert, &content, &message.id).or_else(failed),
            Err(_) => Err((Attempted::Gone, "the stored message cannot be read".to_owned())),
        };
        (alert.send.as_str(), posting)
    }

    /// A message for a receiver. An error names no address.
    fn posting(&self, alert: &AlertSpec, content: &AlertMessage, id: &str) -> Result<Posting, String> {
        let fill = |template| {
            env_template::fill(template, |name| (self.app.lookup)(name))
                .map_err(|name| format!("the environment variable {name} is not set"))
        };
        karat_providers::check_texts(
            &self.app.call_settings(),
            "it",
            &alert.url,
            &alert.secret.iter().collect::<Vec<_>>(),
        )
        .map_err(|error| error.to_string())?;
        let url = fill(&alert.url)?;
        let secret = alert.secret.as_ref().map(fill).transpose()?;
        let seconds = self.app.clock.now().0.div_euclid(1_000);
        let request = hook_request(alert.send, content, id, secret.as_deref(), seconds).map_err(|e| e.to_string())?;
        Ok(Posting { url, request })
    }

    fn store_end(
        &self,
        message: &StoredMessage,
        attempted: Attempted,
        error: &str,
        delivered: &mut Delivered,
    ) -> Result<&'static str, AppError> {
        let store = self.app.open_store()?;
        let now = self.app.clock.now();
        if attempted == Attempted::Delivered {
            store.end_attempt(&message.id, "sent", None, "")?;
            delivered.sent += 1;
            self.observe_delivery(message, None)?;
            return Ok("sent");
        }
        delivered.failures.push(format!("alert {} of {}: {error}", message.alert, message.suite));
        match next_attempt(message.attempts, attempted, now, jitter()) {
            Some(next) => {
                store.end_attempt(&message.id, "pending", Some(next), error)?;
                Ok("failed")
            }
            None => {
                store.end_attempt(&message.id, "dead", None, error)?;
                delivered.dead += 1;
                self.observe_delivery(message, Some(error))?;
                Ok("dead")
            }
        }
    }

    /// Tells the suite's other alerts that this one cannot be delivered, or can again.
    fn observe_delivery(&self, message: &StoredMessage, error: Option<&str>) -> Result<(), AppError> {
        let Ok(mut alerts) = self.alerts_of(&message.path) else { return Ok(()) };
        alerts.retain(|alert| alert.id != message.alert && alert.events.contains(&AlertEvent::DeliveryFailed));
        if alerts.is_empty() {
            return Ok(());
        }
        let summary = match error {
            Some(error) => format!("the alert {} could not be delivered: {error}", message.alert),
            None => format!("the alert {} is delivered again", message.alert),
        };
        let seen = Observed::new(AlertEvent::DeliveryFailed, error.is_some(), &message.alert, summary);
        let source = AlertSource { path: message.path.clone(), suite: &message.suite, alerts: &alerts };
        self.add_observations(&format!("delivery:{}", message.id), &source, vec![seen], None).map(drop)
    }

    fn alerts_of(&self, path: &str) -> Result<Vec<AlertSpec>, String> {
        let plan =
            self.app.runs().load(&Invocation::of_any_day(relative_path(path))).map_err(|error| error.to_string())?;
        Ok(plan.alerts)
    }

    /// Sends a test message by an alert of a suite, once. Nothing is stored.
    ///
    /// # Errors
    /// The suite cannot be loaded, or has no such alert. The text is the reason why it was not delivered.
    pub fn test_alert(&self, suite: &str, alert: &str) -> Result<Result<(), String>, AppError> {
        let plan = self.app.runs().load(&Invocation::of_any_day(suite))?;
        let Some(spec) = plan.alerts.iter().find(|spec| spec.id == alert) else {
            let known = Names::of(plan.alerts.iter().map(|spec| &spec.id));
            let suite = plan.header.suite.clone();
            return Err(ServiceError::NoAlert { suite, alert: alert.to_owned(), known }.into());
        };
        let content = AlertMessage::test(&plan.header.suite, alert, &new_id("inc"), self.app.clock.now());
        let (runtime, client) = (runtime()?, self.app.hook_client()?);
        let posting = self.posting(spec, &content, &new_id("msg"));
        let answer = posting.and_then(|posting| runtime.block_on(posting.send(&client)));
        Ok(answer.and_then(|answer| match answer.status {
            200..300 => Ok(()),
            status => Err(format!("the receiver answered {status}")),
        }))
    }
}

/// The path of a suite as it is seen from this folder: a server reads nothing by absolute paths.
fn relative_path(path: &str) -> String {
    let here = stored_path(".");
    let here = here.trim_end_matches('.').trim_end_matches('/');
    let below = Path::new(path).strip_prefix(here).ok().filter(|below| !below.as_os_str().is_empty());
    below.map_or_else(|| path.to_owned(), |below| below.display().to_string())
}

/// A number from 0 to 1.
fn jitter() -> f64 {
    let mut bytes = [0; 2];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX),
        Err(_) => 0.5,
    }
}
