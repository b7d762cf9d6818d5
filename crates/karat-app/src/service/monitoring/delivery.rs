//! Sends the messages of the outbox: at least once, with the same id at every attempt.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use karat_alert::{AlertEvent, AlertMessage, AlertSpec, Attempted, hook_request, next_attempt};
use karat_providers::{HookClient, HookError};
use karat_store::StoredMessage;
use karat_text::env_template;
use karat_types::Moment;

use crate::error::{Names, ServiceError};
use crate::project::threads::runtime;
use crate::service::Service;
use crate::service::monitoring::alerting::{AlertSource, new_id, stored_path};
use crate::service::monitoring::observations::Observed;
use crate::{AppError, Invocation};

/// Time after which a message that was taken, and of which nothing more was heard, is due again.
const TAKEN_MS: i64 = 60_000;

/// Milliseconds for which the foreground tries.
const FOREGROUND_MS: i64 = 20_000;

/// Longest wait between two looks into the outbox.
const PAUSE_MS: i64 = 200;

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

/// The alerts of suites, by stored path, loaded when a message needs them.
type Alerts = BTreeMap<String, Result<Vec<AlertSpec>, String>>;

impl Service<'_> {
    /// Sends the messages that are due, each with one attempt.
    ///
    /// # Errors
    /// The store cannot be read or written, or the client not be made.
    pub fn deliver_due(&self) -> Result<Delivered, AppError> {
        let mut delivered = Delivered::default();
        if !self.app.store.exists() {
            return Ok(delivered);
        }
        let store = self.app.open_store()?;
        let mut sender: Option<(tokio::runtime::Runtime, HookClient)> = None;
        let mut alerts = Alerts::new();
        loop {
            let now = self.app.clock.now();
            let Some(message) = store.take_message(now, Moment(now.0.saturating_add(TAKEN_MS)))? else { break };
            if sender.is_none() {
                sender = Some((runtime()?, self.app.hook_client()?));
            }
            let Some((runtime, client)) = &sender else { break };
            let (attempted, error) = runtime.block_on(self.attempt(client, &message, &mut alerts));
            let known = alerts.get(&message.path).and_then(|known| known.as_ref().ok());
            let channel = known.and_then(|alerts| alerts.iter().find(|alert| alert.id == message.alert));
            let channel = channel.map_or("unknown", |alert| alert.send.as_str());
            let outcome = self.end_attempt(&message, attempted, &error, &mut delivered)?;
            delivered.attempts.push((channel, outcome));
        }
        delivered.pending = store.count_messages("pending")?;
        Ok(delivered)
    }

    /// Sends what is due, and tries again for 20 seconds what fails.
    ///
    /// # Errors
    /// Those of [`Service::deliver_due`].
    pub fn deliver_now(&self) -> Result<Delivered, AppError> {
        let began = self.app.clock.now();
        let (mut paused, mut all) = (0, Delivered::default());
        loop {
            let round = self.deliver_due()?;
            all.sent += round.sent;
            all.dead += round.dead;
            all.failures.extend(round.failures);
            all.attempts.extend(round.attempts);
            all.pending = round.pending;
            // Attempts take time, too.
            let left = FOREGROUND_MS - paused.max(self.app.clock.now().0 - began.0);
            if round.pending == 0 || left <= 0 || !self.is_due_within(left)? {
                return Ok(all);
            }
            std::thread::sleep(Duration::from_millis(PAUSE_MS.unsigned_abs()));
            paused += PAUSE_MS;
        }
    }

    fn is_due_within(&self, left: i64) -> Result<bool, AppError> {
        let until = self.app.clock.now().0.saturating_add(left);
        let pending = self.app.open_store()?.messages(Some("pending"), usize::MAX)?;
        Ok(pending.iter().any(|message| message.next_at.is_some_and(|at| at.0 <= until)))
    }

    async fn attempt(&self, client: &HookClient, message: &StoredMessage, alerts: &mut Alerts) -> (Attempted, String) {
        let failed = |error: String| (Attempted::Failed { retry_after_s: None }, error);
        let known = alerts.entry(message.path.clone()).or_insert_with(|| self.alerts_of(&message.path));
        let alert = match known {
            Err(problem) => return failed(format!("the suite cannot be loaded: {problem}")),
            Ok(alerts) => match alerts.iter().find(|alert| alert.id == message.alert) {
                None => return failed(format!("the suite has no alert `{}` any more", message.alert)),
                Some(alert) => alert,
            },
        };
        let content: AlertMessage = match serde_json::from_str(&message.body) {
            Ok(content) => content,
            Err(_) => return (Attempted::Gone, "the stored message cannot be read".to_owned()),
        };
        match self.post(client, alert, &content, &message.id).await {
            Ok(answer) if (200..300).contains(&answer.status) => (Attempted::Delivered, String::new()),
            Ok(answer) if answer.status == 410 => (Attempted::Gone, "the receiver answered 410: it is gone".to_owned()),
            Ok(answer) => {
                let error = format!("the receiver answered {}", answer.status);
                (Attempted::Failed { retry_after_s: answer.retry_after_s }, error)
            }
            Err(problem) => failed(problem),
        }
    }

    /// Posts a message once. An error names no address.
    pub(crate) async fn post(
        &self,
        client: &HookClient,
        alert: &AlertSpec,
        content: &AlertMessage,
        id: &str,
    ) -> Result<karat_providers::HookAnswer, String> {
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
        client.post(&url, &request.headers, request.body).await.map_err(|error: HookError| error.to_string())
    }

    fn end_attempt(
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
        let loaded =
            self.app.runs().load(&Invocation::of_any_day(relative_path(path))).map_err(|error| error.to_string())?;
        Ok(loaded.plan.alerts)
    }

    /// Sends a test message by an alert of a suite, once. Nothing is stored.
    ///
    /// # Errors
    /// The suite cannot be loaded, or has no such alert. The text is the reason why it was not delivered.
    pub fn test_alert(&self, suite: &str, alert: &str) -> Result<Result<(), String>, AppError> {
        let plan = self.app.runs().load(&Invocation::of_any_day(suite))?.plan;
        let Some(spec) = plan.alerts.iter().find(|spec| spec.id == alert) else {
            let known = Names::of(plan.alerts.iter().map(|spec| &spec.id));
            let suite = plan.header.suite.clone();
            return Err(ServiceError::NoAlert { suite, alert: alert.to_owned(), known }.into());
        };
        let content = AlertMessage::test(&plan.header.suite, alert, &new_id("inc"), self.app.clock.now());
        let (runtime, client, id) = (runtime()?, self.app.hook_client()?, new_id("msg"));
        let answer = runtime.block_on(self.post(&client, spec, &content, &id));
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
