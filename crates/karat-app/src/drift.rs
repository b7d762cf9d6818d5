//! Drift over all stored runs of a suite, of each system by itself. Makes no call.
//!
//! An alert that was raised stays raised: what it said is kept in the suite's journal, and a row that comes late does not
//! take it back. Nor does it take back an incident that somebody closed. What late rows would change is said beside it. A
//! stretch of days (`since`, `until`) is a question of its own: it neither raises an alert nor is it answered with one.

use std::borrow::Borrow;
use std::sync::Arc;

use karat_analysis::drift::{
    Drift, DriftDay, DriftOptions, DriftStatus, Incident, IncidentClosing, Method, ReplayResult, SystemDrifts,
    WatchedMetric, Worse, date_of, day_number, drift, replay, resolve_incident,
};
use karat_analysis::{Day, RowFilter, primary_metric};
use karat_store::{JournalEntry, Store};
use karat_types::PlanHeader;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{AnalyseError, Bug, Names};
use crate::judged::{check_date, collect_named, newest_plan};
use crate::preset::SuiteFiles;
use crate::{App, AppError, Invocation, load};

/// Kinds of entries in the journal.
const RAISED: &str = "drift_alert";
const CLOSED: &str = "incident_closed";
/// Simulated series of a replay.
const SERIES: u32 = 200;

/// What is asked, beside the suite.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drifting {
    /// The day, YYYY-MM-DD; yesterday in the zone of the dataset without it.
    pub as_of: Option<String>,
    /// Id of one of the suite's `drift` analyses; the first without it.
    pub id: Option<String>,
    /// The method, where it is not the suite's.
    pub method: Option<Method>,
    /// The metric, where it is not the suite's.
    pub metric: Option<String>,
    /// Days of the short window.
    pub short: Option<i32>,
    /// Days of the long window.
    pub long: Option<i32>,
    /// The threshold of z.
    pub z: Option<f64>,
    /// Days that must all be bad.
    pub streak: Option<u32>,
    /// Which rows.
    pub choice: RowFilter,
}

impl Drifting {
    /// Whether only some of the days are looked at.
    fn is_stretch(&self) -> bool {
        self.choice.since.is_some() || self.choice.until.is_some()
    }
}

/// What was found, and what of it was said before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drifted {
    /// The finding.
    #[serde(flatten)]
    pub drift: Drift,
    /// Id of the suite's analysis.
    pub analysis: String,
    /// When the alert of this day was raised first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised_at: Option<String>,
    /// Days whose score came or changed after the alert was raised, or after the incident was closed by hand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<String>,
    /// Days of the alert that would say something else with them, and the day of an incident that they would move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
}

impl Borrow<Drift> for Drifted {
    fn borrow(&self) -> &Drift {
        &self.drift
    }
}

/// A shift planted in the series of a system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemReplayed {
    /// The system whose days were drawn from.
    pub system: Option<String>,
    /// What was found.
    #[serde(flatten)]
    pub replayed: ReplayResult,
}

/// An alert as it was raised.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Raised {
    rule: Value,
    as_of: String,
    alerts: Vec<DriftDay>,
    /// Date and score of every day that the alert saw.
    series: Vec<(String, f64)>,
    /// The incident that it belongs to.
    #[serde(default)]
    incident: Option<Incident>,
}

/// An incident that somebody closed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Closed {
    rule: Value,
    #[serde(flatten)]
    closing: IncidentClosing,
    /// Date and score of every day that the closing saw; empty in what earlier versions wrote.
    #[serde(default)]
    series: Vec<(String, f64)>,
}

fn journaled(entry: &impl Serialize) -> Result<Value, AppError> {
    serde_json::to_value(entry).map_err(|source| Bug::Json { what: "the journal", source }.into())
}

/// A suite's rule and what it is applied to: the series of one system.
#[derive(Clone)]
struct Rule {
    suite: String,
    id: String,
    as_of: String,
    /// None where nothing was judged.
    system: Option<String>,
    options: DriftOptions,
    watched: WatchedMetric,
    days: Vec<Day>,
    plan: Arc<PlanHeader>,
    /// What the reader must know of the rows.
    warnings: Vec<String>,
    /// Whether it is applied to a stretch of days only.
    is_stretch: bool,
    /// What tells this rule from others in the journal.
    name: Value,
    /// What told it in earlier versions.
    older_names: Vec<Value>,
}

impl Rule {
    /// Whether an entry in the journal is its own.
    fn is_called(&self, name: &Value) -> bool {
        self.name == *name || self.older_names.contains(name)
    }
}

impl App {
    /// Says whether the last days are worse than the weeks before them, over all runs of the suite. An alert is kept.
    ///
    /// # Errors
    /// A suite that is unknown or has no run; options that make no sense.
    pub fn drift(&self, invocation: &Invocation, asked: &Drifting) -> Result<SystemDrifts<Drifted>, AppError> {
        let store = self.existing_store()?;
        let rules = self.rules(&store, invocation, asked)?;
        self.drifted(&store, &rules)
    }

    fn drifted(&self, store: &Store, rules: &[Rule]) -> Result<SystemDrifts<Drifted>, AppError> {
        let systems: Vec<Drifted> =
            rules.iter().map(|rule| self.drift_of(store, rule)).collect::<Result<_, AppError>>()?;
        SystemDrifts::of(systems).ok_or_else(|| Bug::NoSeries.into())
    }

    fn drift_of(&self, store: &Store, rule: &Rule) -> Result<Drifted, AppError> {
        let closed = if rule.is_stretch { Vec::new() } else { closed(store, rule)? };
        let closings: Vec<IncidentClosing> = closed.iter().map(|it| it.closing.clone()).collect();
        let found = drift(&rule.days, &rule.as_of, &rule.options, rule.watched, &closings)
            .map_err(|what| refused(&rule.id, &what))?;
        let warnings = found.warnings.iter().chain(&rule.warnings).cloned().collect();
        let found = Drift { system: rule.system.clone(), warnings, ..found };
        let mut drifted =
            Drifted { drift: found, analysis: rule.id.clone(), raised_at: None, late: Vec::new(), moved: Vec::new() };
        if rule.is_stretch {
            return Ok(drifted);
        }
        let raised = raised(store, rule)?;
        let found = drifted.drift.incident.clone();
        keep(rule, &raised, &closings, &mut drifted)?;
        stays_closed(&mut drifted, &rule.days, &closed, found.as_ref());
        match raised.into_iter().find(|(_, raised)| raised.as_of == rule.as_of) {
            Some((at, raised)) => stands(&mut drifted, &rule.days, at, &raised),
            None if drifted.drift.status == DriftStatus::Alert => self.raise(store, rule, &mut drifted)?,
            None => {}
        }
        Ok(drifted)
    }

    /// Closes the incident that is open on a day, with a reason. The level of that day is accepted: it raises no alert until
    /// the series changes anew.
    ///
    /// # Errors
    /// No incident is open, or those of several systems are; else as [`App::drift`].
    pub fn close_incident(
        &self,
        invocation: &Invocation,
        asked: &Drifting,
        why: &str,
    ) -> Result<SystemDrifts<Drifted>, AppError> {
        if why.trim().is_empty() {
            return Err(AnalyseError::NoReason {}.into());
        }
        if asked.is_stretch() {
            return Err(AnalyseError::Stretch {}.into());
        }
        let store = self.existing_store()?;
        let rules = self.rules(&store, invocation, asked)?;
        let found = self.drifted(&store, &rules)?;
        let open = rules.iter().zip(found.iter()).filter_map(|(rule, found)| {
            let incident = found.drift.incident.as_ref().filter(|incident| incident.is_open())?;
            Some((rule, incident))
        });
        let open: Vec<(&Rule, &Incident)> = open.collect();
        let (rule, incident) = the_one(&rules, &open)?;
        let closing = IncidentClosing::of(incident, &rule.days, &rule.as_of, why, &rule.options, rule.watched);
        let closing = closing.map_err(|what| refused(&rule.id, &what))?;
        let closed = Closed { rule: rule.name.clone(), closing, series: series(&rule.days, &rule.as_of) };
        let body = journaled(&closed)?;
        store.add_journal_entry(&rule.suite, CLOSED, &JournalEntry { at: self.clock.now(), body })?;
        self.drifted(&store, &rules)
    }

    /// How soon every method would find a shift of this size in a series like this suite's, and how often each would cry
    /// wolf.
    ///
    /// # Errors
    /// As [`App::drift`]; a shift of 0, or the way that nobody watches; fewer than two days with a score.
    pub fn replay_drift(
        &self,
        invocation: &Invocation,
        asked: &Drifting,
        shift: f64,
    ) -> Result<Vec<SystemReplayed>, AppError> {
        if !shift.is_finite() || shift == 0.0 {
            return Err(AnalyseError::BadShift { shift }.into());
        }
        let store = self.existing_store()?;
        let methods = asked.method.map_or_else(|| Method::ALL.to_vec(), |method| vec![method]);
        let mut replayed = Vec::new();
        for rule in self.rules(&store, invocation, asked)? {
            watches(&rule, shift)?;
            let seen: Vec<Day> = rule.days.into_iter().filter(|day| day.date <= rule.as_of).collect();
            let found = methods.iter().filter_map(|method| {
                let asked = Drifting { method: Some(*method), ..asked.clone() };
                let (_, options) = declared(&rule.plan, &asked).ok()?;
                let replayed = replay(&seen, &options, rule.watched, shift, SERIES, 1)?;
                Some(SystemReplayed { system: rule.system.clone(), replayed })
            });
            replayed.extend(found);
        }
        if replayed.is_empty() {
            return Err(AnalyseError::NoDays {}.into());
        }
        Ok(replayed)
    }

    fn day_of(&self, asked: &Drifting, plan: &PlanHeader) -> Result<String, AppError> {
        match &asked.as_of {
            Some(date) => check_date("--as-of", date).map(|()| date.clone()),
            None => Ok(self.today(plan).saturating_sub(jiff::Span::new().days(1)).to_string()),
        }
    }

    /// The suite's rule for each system that it says something of, one at least.
    fn rules(&self, store: &Store, invocation: &Invocation, asked: &Drifting) -> Result<Vec<Rule>, AppError> {
        let suite = self.suite_name(store, &invocation.suite)?;
        let plan = match load::find(&invocation.suite, &SuiteFiles) {
            Ok(_) => self.load(invocation)?.plan.header,
            Err(_) => newest_plan(store, &suite)?,
        };
        let (id, options) = declared(&plan, asked)?;
        let as_of = self.day_of(asked, &plan)?;
        check_order(&asked.choice, &as_of)?;
        takes_z(asked, options.method)?;
        let Some(metric) = plan.metrics.iter().find(|metric| metric.name == options.metric) else {
            let known = Names::of(plan.metrics.iter().map(|metric| &metric.name));
            return Err(AnalyseError::NoSuiteMetric { suite, metric: options.metric, known }.into());
        };
        let watched = WatchedMetric { range: metric.range, better: metric.better };
        let sources = self.chosen_sources(store, invocation, &plan)?;
        let choice = RowFilter { sources: sources.clone(), ..asked.choice.clone() };
        let history = collect_named(store, &suite, &choice, Some(&options.metric))?;
        let (all, warnings) = (history.series(), history.warnings());
        let is_only = all.len() == 1;
        let mut series = watched_ones(all.into_iter().collect(), &as_of, &options);
        if series.is_empty() {
            series.push((None, Vec::new()));
        }
        let RowFilter { judge, prompt_version, .. } = &asked.choice;
        let name = json!({ "analysis": id, "options": options, "judge": judge, "prompt_version": prompt_version });
        let is_stretch = asked.is_stretch();
        // What earlier versions wrote says nothing of sources, and of one system no name.
        let older = |system: &Option<String>| -> Vec<Value> {
            let named = json!({ "system": system, "analysis": id, "options": options, "judge": judge, "prompt_version": prompt_version });
            let names = [Some(named), is_only.then(|| name.clone())];
            names.into_iter().flatten().filter(|_| sources.is_none()).collect()
        };
        let of_system = |(system, days): (Option<String>, Vec<Day>)| Rule {
            suite: suite.clone(),
            id: id.clone(),
            as_of: as_of.clone(),
            options: options.clone(),
            watched,
            days,
            plan: plan.clone(),
            warnings: warnings.clone(),
            is_stretch,
            name: json!({ "system": system, "analysis": id, "options": options, "judge": judge, "prompt_version": prompt_version, "sources": sources }),
            older_names: older(&system),
            system,
        };
        Ok(series.into_iter().map(of_system).collect())
    }

    fn raise(&self, store: &Store, rule: &Rule, drifted: &mut Drifted) -> Result<(), AppError> {
        let raised = Raised {
            rule: rule.name.clone(),
            as_of: drifted.drift.as_of.clone(),
            alerts: drifted.drift.alerts.clone(),
            series: series(&rule.days, &drifted.drift.as_of),
            incident: drifted.drift.incident.clone(),
        };
        let at = self.clock.now();
        let body = journaled(&raised)?;
        store.add_journal_entry(&rule.suite, RAISED, &JournalEntry { at, body })?;
        drifted.raised_at = Some(crate::rfc3339(at));
        Ok(())
    }
}

/// The series that say something of the day: those with a score in its windows; all of them where none has any.
fn watched_ones(all: Vec<(String, Vec<Day>)>, as_of: &str, options: &DriftOptions) -> Vec<(Option<String>, Vec<Day>)> {
    let reach = options.long.saturating_add_unsigned(options.streak());
    let first = day_number(as_of).map(|last| date_of(last.saturating_sub(reach))).unwrap_or_default();
    let is_seen = |days: &[Day]| days.iter().any(|day| day.date > first && day.date.as_str() <= as_of);
    let is_none = !all.iter().any(|(_, days)| is_seen(days));
    let seen = all.into_iter().filter(|(_, days)| is_none || is_seen(days));
    seen.map(|(system, days)| (Some(system), days)).collect()
}

/// The one incident that can be meant.
fn the_one<'a>(rules: &'a [Rule], open: &[(&'a Rule, &'a Incident)]) -> Result<(&'a Rule, &'a Incident), AppError> {
    match open {
        [one] => Ok(*one),
        [] => {
            let (id, as_of) = rules.first().map_or(("", ""), |rule| (&rule.id, &rule.as_of));
            Err(AnalyseError::NoIncident { id: id.to_owned(), as_of: as_of.to_owned() }.into())
        }
        several => {
            let systems = Names::of(several.iter().filter_map(|(rule, _)| rule.system.as_deref()));
            Err(AnalyseError::SeveralIncidents { count: systems.0.len(), systems }.into())
        }
    }
}

/// Refuses a stretch that holds no day.
fn check_order(choice: &RowFilter, as_of: &str) -> Result<(), AppError> {
    match choice.since.as_deref().filter(|since| *since > as_of) {
        None => Ok(()),
        Some(since) => Err(AnalyseError::LateSince { since: since.to_owned(), as_of: as_of.to_owned() }.into()),
    }
}

/// Refuses a shift the way that the rule does not watch: no alert could answer it.
fn watches(rule: &Rule, shift: f64) -> Result<(), AppError> {
    if let Some(problem) = rule.options.problem() {
        return Err(refused(&rule.id, &problem));
    }
    let (is_seen, watched) = match rule.options.worse_of(rule.watched.better) {
        Worse::Lower => (shift < 0.0, "lower"),
        Worse::Higher => (shift > 0.0, "higher"),
        Worse::Both => (true, ""),
    };
    if is_seen {
        return Ok(());
    }
    let (metric, id) = (rule.options.metric.clone(), rule.id.clone());
    Err(AnalyseError::Unwatched { shift, back: -shift, metric, id, watched }.into())
}

/// Refuses a threshold of z where the method has none.
fn takes_z(asked: &Drifting, method: Method) -> Result<(), AppError> {
    let own = match method {
        Method::MedianMad => return Ok(()),
        Method::Cusum | Method::PageHinkley => "h",
        Method::Ewma | Method::EDetector => "limit",
    };
    if asked.z.is_none() {
        return Ok(());
    }
    Err(AnalyseError::NoThreshold { method: method.as_str().to_owned(), own }.into())
}

fn refused(id: &str, what: &str) -> AppError {
    AnalyseError::Refused { id: id.to_owned(), problem: what.to_owned() }.into()
}

/// Id and options of the suite's analysis, or the defaults for its primary metric, with what is asked for instead. A
/// method takes the first analysis by that method, else the first one's windows.
fn declared(plan: &PlanHeader, asked: &Drifting) -> Result<(String, DriftOptions), AppError> {
    let mut all = Vec::new();
    for spec in plan.analyses.iter().filter(|spec| spec.analysis == "drift") {
        let options = serde_json::from_value(Value::Object(spec.with.clone()));
        let options: DriftOptions = options.map_err(|error| refused(&spec.id, &error.to_string()))?;
        all.push((spec.id.clone(), options));
    }
    let found = match &asked.id {
        Some(id) => Some(all.iter().find(|(known, _)| known == id).ok_or_else(|| unknown(plan, id, &all))?),
        None => {
            let by_method = all.iter().find(|(_, options)| asked.method == Some(options.method));
            by_method.or(all.first())
        }
    };
    let (id, options) = found.cloned().unwrap_or_else(|| {
        let metric = primary_metric(plan).and_then(|at| plan.metrics.get(at)).map(|metric| metric.name.clone());
        ("drift".to_owned(), DriftOptions::of(metric.unwrap_or_default()))
    });
    let method = asked.method.unwrap_or(options.method);
    let options = options.with_method(method);
    let options = DriftOptions {
        metric: asked.metric.clone().unwrap_or(options.metric),
        short: asked.short.unwrap_or(options.short),
        long: asked.long.unwrap_or(options.long),
        z: asked.z.unwrap_or(options.z),
        streak: asked.streak.or(options.streak),
        ..options
    };
    Ok((id, options))
}

fn unknown(plan: &PlanHeader, id: &str, all: &[(String, DriftOptions)]) -> AppError {
    let known = Names::of(all.iter().map(|(id, _)| id));
    AnalyseError::NoDrift { suite: plan.suite.clone(), id: id.to_owned(), known }.into()
}

/// Date and score of the days up to one.
fn series(days: &[Day], as_of: &str) -> Vec<(String, f64)> {
    let seen = days.iter().filter(|day| day.date.as_str() <= as_of);
    seen.map(|day| (day.date.clone(), day.value())).collect()
}

/// The alerts of this rule that were raised, oldest first, and when.
fn raised(store: &Store, rule: &Rule) -> Result<Vec<(String, Raised)>, AppError> {
    let entries = store.journal_entries(&rule.suite, RAISED)?.into_iter();
    let raised = entries.filter_map(|entry| {
        let raised: Raised = serde_json::from_value(entry.body).ok()?;
        Some((crate::rfc3339(entry.at), raised))
    });
    Ok(raised.filter(|(_, raised)| rule.is_called(&raised.rule)).collect())
}

/// An incident that was opened by an alert that was raised, or closed by hand, stays as it was opened: rows that come late
/// can close it, and neither move it nor take it back.
fn keep(
    rule: &Rule,
    raised: &[(String, Raised)],
    closings: &[IncidentClosing],
    drifted: &mut Drifted,
) -> Result<(), AppError> {
    let known = raised
        .iter()
        .filter_map(|(_, raised)| raised.incident.clone())
        .chain(closings.iter().map(IncidentClosing::incident));
    let last = known.filter(|incident| incident.opened <= rule.as_of).max_by(|a, b| a.opened.cmp(&b.opened));
    let Some(opened) = last else { return Ok(()) };
    let kept = resolve_incident(&rule.days, &rule.as_of, &rule.options, rule.watched, closings, &opened)
        .map_err(|what| refused(&rule.id, &what))?;
    let is_another = drifted.drift.incident.as_ref().is_some_and(|now| {
        let after_it = kept.closed.as_ref().is_some_and(|closed| now.opened > *closed);
        after_it || now.opened == kept.opened && now.band == kept.band
    });
    if !is_another {
        drifted.drift.incident = Some(kept);
    }
    Ok(())
}

/// An alert that was raised stands; what came since is said beside it.
fn stands(drifted: &mut Drifted, days: &[Day], at: String, raised: &Raised) {
    drifted.late = late(days, &raised.as_of, &raised.series);
    let figures = |alert: &DriftDay| (alert.short_median, alert.long_median, alert.z);
    let says_so = |day: &DriftDay, alert: &DriftDay| day.day == alert.day && figures(day) == figures(alert);
    let differs = |alert: &&DriftDay| !drifted.drift.alerts.iter().any(|now| says_so(now, alert));
    drifted.moved = raised.alerts.iter().filter(differs).map(|alert| alert.day.clone()).collect();
    drifted.drift.status = DriftStatus::Alert;
    drifted.drift.alerts.clone_from(&raised.alerts);
    drifted.drift.z = raised.alerts.iter().find(|alert| alert.day == raised.as_of).map(|alert| alert.z);
    drifted.raised_at = Some(at);
}

/// Days up to one whose score is not as it was known.
fn late(days: &[Day], as_of: &str, known: &[(String, f64)]) -> Vec<String> {
    series(days, as_of).into_iter().filter(|day| !known.contains(day)).map(|(date, _)| date).collect()
}

/// An incident that somebody closed stands; what came since is said beside it. `found` is what the series, as it is known
/// now, says of its own.
fn stays_closed(drifted: &mut Drifted, days: &[Day], closed: &[Closed], found: Option<&Incident>) {
    let Some(incident) = drifted.drift.incident.as_ref().filter(|incident| incident.closed_by_hand.is_some()) else {
        return;
    };
    let closed = closed.iter().rfind(|it| it.closing.opened == incident.opened && !it.series.is_empty());
    let Some(closed) = closed else { return };
    drifted.late = late(days, &closed.closing.day, &closed.series);
    let is_moved = !drifted.late.is_empty() && found != Some(incident);
    drifted.moved = if is_moved { vec![incident.opened.clone()] } else { Vec::new() };
}

/// The incidents of this rule that somebody closed, oldest first.
fn closed(store: &Store, rule: &Rule) -> Result<Vec<Closed>, AppError> {
    let entries = store.journal_entries(&rule.suite, CLOSED)?.into_iter();
    let closed = entries.filter_map(|entry| serde_json::from_value::<Closed>(entry.body).ok());
    Ok(closed.filter(|closed| rule.is_called(&closed.rule)).collect())
}
