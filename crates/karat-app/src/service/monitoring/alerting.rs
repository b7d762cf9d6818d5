//! From a run to incidents and messages, in one commit.

use std::collections::BTreeMap;

use karat_alert::{AlertMessage, AlertSpec, Incident, Notice};
use karat_store::{QueuedRun, RunOutcome, StoreError, StoredIncident, StoredMessage};
use karat_types::{Moment, RunRows, RunStatus};
use serde::{Deserialize, Serialize};

use crate::analysis::canary::CanaryFinding;
use crate::analysis::gates::failures;
use crate::service::Service;
use crate::service::monitoring::observations::{Observed, drift_request, of_canary, of_drift, of_gates};
use crate::service::order::QueueOrder;
use crate::stored::findings::findings;
use crate::stored::invocation::read_stored_invocation;
use crate::{AppError, ErrorKind, Invocation, RunEnd};

pub(crate) use crate::service::monitoring::observations::RunFate;

/// The part of an incident that the store keeps as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct IncidentBody {
    #[serde(flatten)]
    pub incident: Incident,
    pub event: String,
    pub system: Option<String>,
    pub subject: String,
    pub summary: String,
    /// The last run that was bad, or that closed it.
    pub run: String,
}

/// The alerts of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertedRun {
    /// Messages that were put into the outbox: what happened, by alert.
    pub messages: Vec<String>,
    /// Reasons why a part could not be observed.
    pub problems: Vec<String>,
}

/// The suite that alerts belong to.
pub(crate) struct AlertSource<'a> {
    /// Its path, as the outbox keeps it.
    pub path: String,
    /// Its name.
    pub suite: &'a str,
    pub alerts: &'a [AlertSpec],
}

impl Service<'_> {
    /// Stores incidents and messages of a run that has ended: once, however often it is called.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub(crate) fn alert_of_run(
        &self,
        run: &str,
        invocation: &Invocation,
        fate: &RunFate,
    ) -> Result<AlertedRun, AppError> {
        self.alert_under(run, Some(run), invocation, fate)
    }

    /// Stores incidents and messages of a run of the queue that has ended: once for each request. A run that goes on later
    /// alerts then.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn alert_of_queued(
        &self,
        queued: &QueuedRun,
        outcome: Result<&RunEnd, &AppError>,
    ) -> Result<AlertedRun, AppError> {
        let Some(fate) = fate_of(outcome) else { return Ok(AlertedRun::default()) };
        let order = QueueOrder::read(&queued.order)?;
        let invocation = match self.app.open_store()?.run(&order.run) {
            // A request to resume or retry names no suite.
            Ok(header) => read_stored_invocation(&header)?.invocation,
            Err(StoreError::NoSuchRun { .. }) => order.invocation,
            Err(error) => return Err(error.into()),
        };
        let invocation = Invocation { trigger: "api".to_owned(), ..invocation };
        self.alert_under(&format!("{}#{}", order.run, queued.seq), Some(&order.run), &invocation, &fate)
    }

    /// Stores incidents and messages of a run of the command line that has ended, or could not start.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn alert_of_outcome(
        &self,
        invocation: &Invocation,
        outcome: Result<&RunEnd, &AppError>,
    ) -> Result<AlertedRun, AppError> {
        let Some(fate) = fate_of(outcome) else { return Ok(AlertedRun::default()) };
        match outcome {
            Ok(end) => self.alert_of_run(&end.run, invocation, &fate),
            Err(_) => self.alert_under(&new_id("failure"), None, invocation, &fate),
        }
    }

    fn alert_under(
        &self,
        key: &str,
        run: Option<&str>,
        invocation: &Invocation,
        fate: &RunFate,
    ) -> Result<AlertedRun, AppError> {
        // Most suites have no alerts: gates and drift are not decided for nothing, and the dataset is not read.
        let suite = &invocation.suite;
        let file = if suite.ends_with(".yaml") { suite.clone() } else { format!("{suite}/karat.yaml") };
        if self.has_service_keys(&file) == Some(false) || self.app.open_store()?.has_outcome(key)? {
            return Ok(AlertedRun::default());
        }
        let mut problems = Vec::new();
        let observed = self.observe_run(run, invocation, fate, &mut problems)?;
        let alerted = self.alert_of(key, run, invocation, observed)?;
        Ok(AlertedRun { problems: [problems, alerted.problems].concat(), ..alerted })
    }

    /// Stores incidents and messages of a canary that has ended, once.
    ///
    /// # Errors
    /// As [`Service::alert_of_run`].
    pub(crate) fn alert_of_canary(
        &self,
        run: &str,
        invocation: &Invocation,
        canaries: &[CanaryFinding],
        fate: &RunFate,
    ) -> Result<AlertedRun, AppError> {
        if self.app.open_store()?.has_outcome(run)? {
            return Ok(AlertedRun::default());
        }
        let own = fate.observations(&invocation.trigger);
        self.alert_of(run, Some(run), invocation, canaries.iter().map(of_canary).chain(own).collect())
    }

    fn alert_of(
        &self,
        key: &str,
        run: Option<&str>,
        invocation: &Invocation,
        observed: Vec<Observed>,
    ) -> Result<AlertedRun, AppError> {
        let Ok(plan) = self.app.runs().load(&Invocation::of_any_day(&invocation.suite)) else {
            return Ok(AlertedRun { problems: vec!["the suite cannot be loaded".to_owned()], ..AlertedRun::default() });
        };
        let source =
            AlertSource { path: stored_path(&invocation.suite), suite: &plan.header.suite, alerts: &plan.alerts };
        let messages = self.add_observations(key, &source, observed, run)?;
        Ok(AlertedRun { messages, problems: Vec::new() })
    }

    fn observe_run(
        &self,
        run: Option<&str>,
        invocation: &Invocation,
        fate: &RunFate,
        problems: &mut Vec<String>,
    ) -> Result<Vec<Observed>, AppError> {
        let store = self.app.open_store()?;
        let mut fate = fate.clone();
        let mut observed = Vec::new();
        let finished = match run.map(|run| store.run(run)) {
            Some(Ok(header)) => run.filter(|_| header.status == RunStatus::Finished),
            None | Some(Err(StoreError::NoSuchRun { .. })) => None,
            Some(Err(error)) => return Err(error.into()),
        };
        if let Some(run) = finished {
            let stored = store.rows(run)?;
            let header = stored.header();
            let found = findings(&stored)?;
            let rules = read_stored_invocation(header)?.rules;
            let failed = failures(header, &found, &rules);
            if fate.failure.is_none() && !failed.is_empty() {
                fate.failure = Some(failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
            }
            match self.app.analysis().decide_gates(&stored, &found, &rules) {
                Ok(verdicts) => observed.extend(of_gates(&verdicts)),
                Err(error) => problems.push(format!("gates: {error}")),
            }
            let drifts = header.plan.analyses.iter().filter(|spec| spec.analysis == "drift");
            for analysis in drifts {
                let asked = drift_request(&analysis.id, invocation.overrides.as_of.as_deref());
                match self
                    .app
                    .analysis()
                    .drift(&Invocation { suite: invocation.suite.clone(), ..Invocation::default() }, &asked)
                {
                    Ok(systems) => observed.extend(systems.iter().map(|it| of_drift(&analysis.id, &it.drift))),
                    Err(error) => problems.push(format!("{}: {error}", analysis.id)),
                }
            }
        }
        let subject = if invocation.trigger.is_empty() { "cli" } else { &invocation.trigger };
        observed.extend(fate.observations(subject));
        Ok(observed)
    }

    /// Applies observations to the incidents of a suite's alerts, under a key that counts once. Returns lines about the
    /// messages.
    pub(crate) fn add_observations(
        &self,
        key: &str,
        source: &AlertSource<'_>,
        mut observed: Vec<Observed>,
        run: Option<&str>,
    ) -> Result<Vec<String>, AppError> {
        let store = self.app.open_store()?;
        let now = self.app.clock.now();
        let mut live: BTreeMap<(String, String), StoredIncident> = BTreeMap::new();
        for incident in store.live_incidents(source.suite)? {
            live.insert((incident.alert.clone(), incident.key.clone()), incident);
        }
        let link = run.and_then(|run| self.app.opened.run_link(run));
        let mut outcome = RunOutcome::default();
        let mut lines = Vec::new();
        for alert in source.alerts {
            for seen in observed.iter_mut().filter(|seen| alert.events.contains(&seen.event)) {
                let known = live.get(&(alert.id.clone(), seen.key()));
                let mut body = known.and_then(|known| serde_json::from_str(&known.body).ok()).unwrap_or_default();
                let notice = observe(&mut body, seen, alert, run, now);
                if known.is_none() && body.incident.is_idle() {
                    continue;
                }
                let id = known.map_or_else(|| new_id("inc"), |known| known.id.clone());
                if body.incident.is_idle() {
                    outcome.dropped.push(id);
                    continue;
                }
                if let Some(notice) = notice {
                    self.add_examples(seen, alert, notice, run);
                    let about = (source.suite, seen.event);
                    let message = AlertMessage::new(
                        notice,
                        (&id, &body.incident),
                        about,
                        &seen.facts,
                        (run, link.as_deref()),
                        now,
                    );
                    lines.push(line(alert, notice, seen));
                    outcome.messages.push(message_of(source, alert, &id, &message, now));
                }
                outcome.incidents.push(incident_row(source, alert, seen, id, &body, now));
            }
        }
        match store.add_outcome(key, &outcome, now)? {
            true => Ok(lines),
            false => Ok(Vec::new()),
        }
    }
}

/// The fate of a run; `None` if it goes on later, or another process makes it and alerts.
fn fate_of(outcome: Result<&RunEnd, &AppError>) -> Option<RunFate> {
    match outcome {
        Ok(end) if matches!(end.status, RunStatus::Running | RunStatus::Interrupted) && end.refused.is_none() => None,
        Ok(end) => Some(RunFate::of_end(end)),
        Err(error) if matches!(error.kind(), ErrorKind::RunInUse | ErrorKind::RunExists) => None,
        Err(error) => Some(RunFate::of_error(error)),
    }
}

fn observe(
    body: &mut IncidentBody,
    seen: &Observed,
    alert: &AlertSpec,
    run: Option<&str>,
    now: Moment,
) -> Option<Notice> {
    let notice = body.incident.observe(seen.observation, now, &alert.rule);
    if seen.observation != karat_alert::Observation::Unknown {
        body.event = seen.event.as_str().to_owned();
        body.system.clone_from(&seen.facts.system);
        body.subject.clone_from(&seen.facts.subject);
        body.summary.clone_from(&seen.facts.summary);
        body.run = run.unwrap_or_default().to_owned();
    }
    notice
}

fn incident_row(
    source: &AlertSource<'_>,
    alert: &AlertSpec,
    seen: &Observed,
    id: String,
    body: &IncidentBody,
    now: Moment,
) -> StoredIncident {
    let incident = &body.incident;
    let state = match () {
        () if incident.closed_at.is_some() => "closed",
        () if incident.opened_at.is_none() => "watching",
        () if incident.acked_at.is_some() => "acknowledged",
        () => "open",
    };
    StoredIncident {
        id,
        suite: source.suite.to_owned(),
        alert: alert.id.clone(),
        key: seen.key(),
        state: state.to_owned(),
        body: serde_json::to_string(body).unwrap_or_default(),
        at: now,
    }
}

pub(crate) fn message_of(
    source: &AlertSource<'_>,
    alert: &AlertSpec,
    incident: &str,
    message: &AlertMessage,
    now: Moment,
) -> StoredMessage {
    StoredMessage {
        id: new_id("msg"),
        path: source.path.clone(),
        suite: source.suite.to_owned(),
        alert: alert.id.clone(),
        incident: incident.to_owned(),
        body: message.to_json(),
        next_at: Some(now),
        at: now,
        ..StoredMessage::default()
    }
}

fn line(alert: &AlertSpec, notice: Notice, seen: &Observed) -> String {
    let what = match notice {
        Notice::Opened => "opened",
        Notice::Reminder => "still open",
        Notice::Resolved => "resolved",
    };
    format!("alert {}: {} {what}: {}", alert.id, seen.event.as_str(), seen.facts.summary)
}

/// A new id that sorts by time.
pub(crate) fn new_id(kind: &str) -> String {
    format!("{kind}_{}", uuid::Uuid::now_v7().simple())
}

/// The path of a suite as the outbox keeps it: another process may send from another folder.
pub(crate) fn stored_path(suite: &str) -> String {
    let path = std::path::Path::new(suite);
    match path.exists() {
        true => std::path::absolute(path).map_or_else(|_| suite.to_owned(), |path| path.display().to_string()),
        false => suite.to_owned(),
    }
}
