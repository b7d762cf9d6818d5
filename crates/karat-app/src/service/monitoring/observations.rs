//! Observations of a run: for each event and subject, whether it is bad.

use std::collections::BTreeMap;

use karat_alert::{AlertEvent, Baseline, Facts, Observation};
use karat_analysis::drift::{Drift, DriftStatus};
use karat_analysis::{Decision, Verdict, Verdicts};
use karat_report::count_noun;
use karat_types::Exit;

use crate::analysis::canary::CanaryFinding;
use crate::error::AppError;
use crate::{DriftRequest, RunEnd};

/// A subject of alerts in one run.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    pub event: AlertEvent,
    pub observation: Observation,
    pub facts: Facts,
    /// The metric whose worst cells a message shows.
    pub metric: Option<String>,
}

impl Observed {
    pub fn new(event: AlertEvent, is_bad: bool, subject: &str, summary: String) -> Self {
        let observation = if is_bad { Observation::Bad } else { Observation::Good };
        let facts = Facts { subject: subject.to_owned(), summary, ..Facts::default() };
        Self { event, observation, facts, metric: None }
    }

    /// The name of the incident that it belongs to: event, system and subject.
    pub fn key(&self) -> String {
        let system = self.facts.system.as_deref().unwrap_or_default();
        serde_json::json!([self.event.as_str(), system, self.facts.subject]).to_string()
    }
}

/// The observations of a run's gates. Gates on single samples are one subject a system: samples change from run to run.
pub(crate) fn of_gates(verdicts: &Verdicts) -> Vec<Observed> {
    let mut subjects: BTreeMap<(String, String), Vec<&Decision>> = BTreeMap::new();
    for decision in &verdicts.decisions {
        let key = (decision.system.clone().unwrap_or_default(), subject(decision));
        subjects.entry(key).or_default().push(decision);
    }
    subjects.into_iter().flat_map(|((system, subject), decisions)| of_subject(&system, &subject, &decisions)).collect()
}

fn of_subject(system: &str, subject: &str, decisions: &[&Decision]) -> Vec<Observed> {
    let count = |verdict: Verdict| decisions.iter().filter(|it| it.verdict == verdict).count();
    let has_data = decisions.iter().any(|it| it.finding.is_some());
    let failed = count(Verdict::Fail);
    let observation = match (failed, count(Verdict::Undecided)) {
        (0, 0) if has_data => Observation::Good,
        (0, _) => Observation::Unknown,
        _ => Observation::Bad,
    };
    // Without data a gate is not undecided: nothing was measured.
    let undecided = match (count(Verdict::Undecided), has_data) {
        (_, false) => Observation::Unknown,
        (0, true) => Observation::Good,
        _ => Observation::Bad,
    };
    let of = |event, verdict, observation| {
        let shown = decisions.iter().find(|it| it.verdict == verdict).or(decisions.first())?;
        let others = decisions.iter().filter(|it| it.verdict == verdict).count().saturating_sub(1);
        let mut summary = shown.reason.clone();
        if others > 0 {
            summary += &format!(" (and {} more)", count_noun(others as u64, "sample"));
        }
        let facts = Facts {
            system: Some(system.to_owned()).filter(|system| !system.is_empty()),
            subject: subject.to_owned(),
            summary,
            observed: shown.observed,
            threshold: shown.threshold,
            interval: shown.finding.as_ref().and_then(|finding| finding.interval()),
            n: shown.finding.as_ref().map(|finding| finding.n()),
            baseline: shown.reference.map(|value| Baseline { run: None, value }),
            examples: Vec::new(),
        };
        let metric = shown.is_metric.then(|| shown.subject.clone());
        Some(Observed { event, observation, facts, metric })
    };
    let both = [
        of(AlertEvent::GateFailed, Verdict::Fail, observation),
        of(AlertEvent::Undecided, Verdict::Undecided, undecided),
    ];
    both.into_iter().flatten().collect()
}

/// A gate in one line, such as `faithful >= 0.9`.
fn subject(decision: &Decision) -> String {
    let group = decision.group.as_ref().map(|(column, value)| format!(", {column} = {value}")).unwrap_or_default();
    let threshold = decision.threshold.map(|threshold| format!(" {threshold}")).unwrap_or_default();
    match decision.bound {
        "min" => format!("{} >={threshold}{group}", decision.subject),
        "max" => format!("{} <={threshold}{group}", decision.subject),
        // The allowed change may be relative to a figure that differs from run to run.
        bound => format!("{} {bound}{group}", decision.subject),
    }
}

/// The observation of a system's drift. An incident of the series stays bad until the series is back in its band.
pub(crate) fn of_drift(analysis: &str, drift: &Drift) -> Observed {
    let is_open = drift.incident.as_ref().is_some_and(|incident| incident.is_open());
    let observation = match drift.status {
        DriftStatus::NoData => Observation::Unknown,
        DriftStatus::Alert => Observation::Bad,
        DriftStatus::Ok if is_open => Observation::Bad,
        DriftStatus::Ok => Observation::Good,
    };
    let newest = drift.alerts.first();
    let summary = match newest {
        Some(day) => format!(
            "{} on {}: median {} of the last {} days, {} of the {} days before",
            drift.metric, day.day, day.short_median, drift.short_window, day.long_median, drift.long_window
        ),
        None if is_open => format!("{} is not back in its band on {}", drift.metric, drift.as_of),
        None => format!("{} is steady on {}", drift.metric, drift.as_of),
    };
    let facts = Facts {
        system: drift.system.clone(),
        subject: format!("{analysis}: {}", drift.metric),
        summary,
        observed: newest.map(|day| day.short_median),
        threshold: Some(drift.z_thresh),
        n: Some(drift.n as u64),
        baseline: newest.map(|day| Baseline { run: None, value: day.long_median }),
        ..Facts::default()
    };
    Observed { event: AlertEvent::Drift, observation, facts, metric: Some(drift.metric.clone()) }
}

/// The observation of a scorer's judge.
pub(crate) fn of_canary(finding: &CanaryFinding) -> Observed {
    let summary = format!("{}: {}", finding.scorer, finding.summary);
    let is_moved = finding.moved == Some(true);
    let mut observed = Observed::new(AlertEvent::JudgeMoved, is_moved, &finding.scorer, summary);
    if finding.moved.is_none() {
        observed.observation = Observation::Unknown;
    }
    observed
}

/// The request for the drift of a suite's analysis on a day.
pub(crate) fn drift_request(analysis: &str, as_of: Option<&str>) -> DriftRequest {
    DriftRequest { as_of: as_of.map(str::to_owned), id: Some(analysis.to_owned()), ..DriftRequest::default() }
}

/// The end of a run as alerts see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunFate {
    /// The reason why it failed.
    pub failure: Option<String>,
    /// The reason why its budget stopped it.
    pub stopped: Option<String>,
}

impl RunFate {
    pub fn of_end(end: &RunEnd) -> Self {
        let stopped = (end.exit() == Exit::Budget)
            .then(|| end.stopped.clone().or_else(|| end.overspent.clone()).unwrap_or_default());
        Self { failure: end.refused.clone().filter(|_| stopped.is_none()), stopped }
    }

    pub fn of_error(error: &AppError) -> Self {
        let text = error.to_string();
        match error.exit() {
            Exit::Budget => Self { failure: None, stopped: Some(text) },
            _ => Self { failure: Some(text), stopped: None },
        }
    }

    pub fn observations(&self, trigger: &str) -> [Observed; 2] {
        let summary = |text: &Option<String>, fine: &str| text.clone().unwrap_or_else(|| fine.to_owned());
        let (failed, stopped) = (self.failure.is_some(), self.stopped.is_some());
        let mut run = Observed::new(
            AlertEvent::RunFailed,
            failed,
            trigger,
            summary(&self.failure, "the run ended without a failure"),
        );
        if stopped && !failed {
            run.observation = Observation::Unknown;
        }
        let mut budget =
            Observed::new(AlertEvent::BudgetStopped, stopped, trigger, summary(&self.stopped, "the budget sufficed"));
        if failed && !stopped {
            budget.observation = Observation::Unknown;
        }
        [run, budget]
    }
}
