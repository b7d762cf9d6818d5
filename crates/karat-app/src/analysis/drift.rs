//! Drift over all stored runs of a suite, for each system separately. Makes no API calls.
//!
//! A raised alert and an incident closed by hand stay as they are: late rows do not take them back, but are listed
//! beside them. A range of days (`since`, `until`) raises no alert.

use std::borrow::Borrow;
use std::sync::Arc;

use karat_analysis::drift::{
    Drift, DriftDay, DriftOptions, DriftStatus, Incident, IncidentClosing, Method, QuietYears, REPLAYS, ReplayResult,
    SystemDrifts, WatchedMetric, Worse, date_of, day_number, drift, replay, replay_quiet_years, resolve_incident,
};
use karat_analysis::{Day, RowFilter, primary_metric};
use karat_store::{JournalEntry, Store};
use karat_suite::{removals_in, removals_of};
use karat_types::{Moment, PlanHeader};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::analysis::Analysis;
use crate::analysis::suite_rows::{check_date, collect_named};
use crate::error::{AnalyseError, Bug, Names};
use crate::project::load;
use crate::project::presets::SuiteFiles;
use crate::stored::run::newest_plan;
use crate::{AppError, Invocation};

/// Kinds of journal entries.
const RAISED: &str = "drift_alert";
const CLOSED: &str = "incident_closed";

/// The request for a drift analysis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DriftRequest {
    /// The day, YYYY-MM-DD; yesterday in the time zone of the dataset if absent.
    pub as_of: Option<String>,
    /// Id of one of the suite's `drift` analyses; the first if absent.
    pub id: Option<String>,
    /// The method, instead of the suite's.
    pub method: Option<Method>,
    /// The metric, instead of the suite's.
    pub metric: Option<String>,
    /// Days of the short window.
    pub short: Option<i32>,
    /// Days of the long window.
    pub long: Option<i32>,
    /// The threshold of z.
    pub z: Option<f64>,
    /// Number of consecutive bad days.
    pub streak: Option<u32>,
    /// The filter of rows.
    pub choice: RowFilter,
    /// True if the false alarms of quiet years like each series are simulated.
    pub quiet_years: bool,
}

impl DriftRequest {
    /// Returns whether only a range of days is analysed.
    fn is_stretch(&self) -> bool {
        self.choice.since.is_some() || self.choice.until.is_some()
    }
}

/// The drift of a system, with what the journal says of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriftResult {
    /// The finding.
    #[serde(flatten)]
    pub drift: Drift,
    /// Id of the suite's analysis.
    pub analysis: String,
    /// Time at which the alert of this day was first raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised_at: Option<String>,
    /// Days whose score appeared or changed after the alert was raised, or after the incident was closed by hand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<String>,
    /// Days of the alert that would change with them, and the day to which an incident would move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<String>,
    /// False alarms of the rule in quiet years, where there are at least 60 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<QuietYears>,
}

impl Borrow<Drift> for DriftResult {
    fn borrow(&self) -> &Drift {
        &self.drift
    }
}

/// The replay of a shift planted in a system's series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemReplayed {
    /// The system whose days are resampled.
    pub system: Option<String>,
    /// The result of the replay.
    #[serde(flatten)]
    pub replayed: ReplayResult,
}

/// An alert as it was raised.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RaisedAlert {
    rule: Value,
    as_of: String,
    alerts: Vec<DriftDay>,
    /// Date and score of every day known when the alert was raised.
    series: Vec<(String, f64)>,
    /// The incident that it belongs to.
    #[serde(default)]
    incident: Option<Incident>,
}

/// An incident that was closed by hand.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClosedIncident {
    rule: Value,
    #[serde(flatten)]
    closing: IncidentClosing,
    /// Date and score of every day known when the incident was closed; empty in entries of earlier versions.
    #[serde(default)]
    series: Vec<(String, f64)>,
}

/// The drift of a rule with what the journal says of it.
pub(super) struct KnownDrift {
    pub(super) drifted: DriftResult,
    pub(super) closings: Vec<IncidentClosing>,
    /// True if there is an alert that was not raised before.
    is_new_alert: bool,
}

/// Reads the drift of a rule. Later entries of the journal than `until` are left out.
pub(super) fn read_drift(store: &Store, rule: &Rule, until: Option<Moment>) -> Result<KnownDrift, AppError> {
    let closed = if rule.is_stretch { Vec::new() } else { closed_incidents(store, rule, until)? };
    let closings: Vec<IncidentClosing> = closed.iter().map(|it| it.closing.clone()).collect();
    let found = drift(&rule.days, &rule.as_of, &rule.options, rule.watched, &closings)
        .map_err(|what| refusal(&rule.id, &what))?;
    let warnings = found.warnings.iter().chain(&rule.warnings).cloned().collect();
    let found = Drift { system: rule.system.clone(), warnings, ..found };
    let mut drifted = DriftResult {
        drift: found,
        analysis: rule.id.clone(),
        raised_at: None,
        late: Vec::new(),
        moved: Vec::new(),
        replay: None,
    };
    if rule.is_stretch {
        return Ok(KnownDrift { drifted, closings, is_new_alert: false });
    }
    let raised = raised_alerts(store, rule, until)?;
    let found = drifted.drift.incident.clone();
    keep_known_incident(rule, &raised, &closings, &mut drifted)?;
    is_still_closed(&mut drifted, &rule.days, &closed, found.as_ref());
    let mut is_new_alert = false;
    match raised.into_iter().find(|(_, raised)| raised.as_of == rule.as_of) {
        Some((at, raised)) => stands(&mut drifted, &rule.days, at, &raised),
        None => is_new_alert = drifted.drift.status == DriftStatus::Alert,
    }
    Ok(KnownDrift { drifted, closings, is_new_alert })
}

/// The entries of a kind up to a moment.
fn entries(store: &Store, rule: &Rule, kind: &str, until: Option<Moment>) -> Result<Vec<JournalEntry>, AppError> {
    let mut entries = store.journal_entries(&rule.suite, kind)?;
    entries.retain(|entry| until.is_none_or(|until| entry.at <= until));
    Ok(entries)
}

fn journal_body(entry: &impl Serialize) -> Result<Value, AppError> {
    serde_json::to_value(entry).map_err(|source| Bug::Json { what: "the journal", source }.into())
}

/// A suite's drift rule and the series of one system.
#[derive(Clone)]
pub(super) struct Rule {
    pub(super) suite: String,
    pub(super) id: String,
    pub(super) as_of: String,
    /// The system; `None` if nothing was judged.
    pub(super) system: Option<String>,
    pub(super) options: DriftOptions,
    pub(super) watched: WatchedMetric,
    pub(super) days: Vec<Day>,
    pub(super) plan: Arc<PlanHeader>,
    /// Warnings about the rows.
    pub(super) warnings: Vec<String>,
    /// True if only a range of days is analysed.
    pub(super) is_stretch: bool,
    /// The name of this rule in the journal.
    pub(super) name: Value,
    /// Names of this rule in journals of earlier versions.
    pub(super) older_names: Vec<Value>,
}

impl Rule {
    /// Returns whether a journal entry belongs to this rule.
    fn is_called(&self, name: &Value) -> bool {
        let name = with_set_options(name);
        self.older_names.iter().chain([&self.name]).any(|own| with_set_options(own) == name)
    }

    /// The false alarms of the rule in years like its series, up to the day.
    pub(super) fn quiet_years(&self) -> Option<QuietYears> {
        let seen: Vec<Day> = self.days.iter().filter(|day| day.date <= self.as_of).cloned().collect();
        replay_quiet_years(&seen, &self.options, self.watched)
    }
}

impl Analysis<'_> {
    /// Tests whether the last days are worse than the weeks before, over all runs of the suite. Alerts are stored.
    ///
    /// # Errors
    /// An unknown suite or one without runs; invalid options.
    pub fn drift(&self, invocation: &Invocation, asked: &DriftRequest) -> Result<SystemDrifts<DriftResult>, AppError> {
        let store = self.app.existing_store()?;
        let rules = self.rules(&store, invocation, asked)?;
        let mut found = self.drift_of_all(&store, &rules)?;
        if asked.quiet_years {
            found.iter_mut().zip(&rules).for_each(|(it, rule)| it.replay = rule.quiet_years());
        }
        Ok(found)
    }

    fn drift_of_all(&self, store: &Store, rules: &[Rule]) -> Result<SystemDrifts<DriftResult>, AppError> {
        let systems: Vec<DriftResult> =
            rules.iter().map(|rule| self.drift_of(store, rule)).collect::<Result<_, AppError>>()?;
        SystemDrifts::of(systems).ok_or_else(|| Bug::NoSeries.into())
    }

    fn drift_of(&self, store: &Store, rule: &Rule) -> Result<DriftResult, AppError> {
        let mut known = read_drift(store, rule, None)?;
        if known.is_new_alert {
            self.raise(store, rule, &mut known.drifted)?;
        }
        Ok(known.drifted)
    }

    /// Closes the incident that is open on a day, with a reason. The level of that day is accepted: it raises no alert
    /// until the series changes again.
    ///
    /// # Errors
    /// No incident is open, or several systems have one; else as [`Analysis::drift`].
    pub fn close_incident(
        &self,
        invocation: &Invocation,
        asked: &DriftRequest,
        why: &str,
    ) -> Result<SystemDrifts<DriftResult>, AppError> {
        if why.trim().is_empty() {
            return Err(AnalyseError::NoReason {}.into());
        }
        if asked.is_stretch() {
            return Err(AnalyseError::Stretch {}.into());
        }
        let store = self.app.existing_store()?;
        let rules = self.rules(&store, invocation, asked)?;
        let found = self.drift_of_all(&store, &rules)?;
        let open = rules.iter().zip(found.iter()).filter_map(|(rule, found)| {
            let incident = found.drift.incident.as_ref().filter(|incident| incident.is_open())?;
            Some((rule, incident))
        });
        let open: Vec<(&Rule, &Incident)> = open.collect();
        let (rule, incident) = open_incident(&rules, &open)?;
        let closing = IncidentClosing::of(incident, &rule.days, &rule.as_of, why, &rule.options, rule.watched);
        let closing = closing.map_err(|what| refusal(&rule.id, &what))?;
        let closed = ClosedIncident { rule: rule.name.clone(), closing, series: series(&rule.days, &rule.as_of) };
        let body = journal_body(&closed)?;
        store.add_journal_entry(&rule.suite, CLOSED, &JournalEntry { at: self.app.clock.now(), body })?;
        self.drift_of_all(&store, &rules)
    }

    /// Replays a shift of this size on the suite's series: how soon each method would find it, and how often each would
    /// raise a false alarm.
    ///
    /// # Errors
    /// As [`Analysis::drift`]; a shift of 0 or in a direction that is not watched; fewer than two days with a score.
    pub fn replay_drift(
        &self,
        invocation: &Invocation,
        asked: &DriftRequest,
        shift: f64,
    ) -> Result<Vec<SystemReplayed>, AppError> {
        if !shift.is_finite() || shift == 0.0 {
            return Err(AnalyseError::BadShift { shift }.into());
        }
        let store = self.app.existing_store()?;
        let methods = asked.method.map_or_else(|| Method::ALL.to_vec(), |method| vec![method]);
        let mut replayed = Vec::new();
        let rules = self.rules(&store, invocation, asked)?;
        let systems = rules.len();
        for rule in rules {
            check_watched(&rule, shift)?;
            let seen: Vec<Day> = rule.days.into_iter().filter(|day| day.date <= rule.as_of).collect();
            let found = methods.iter().filter_map(|method| {
                let asked = DriftRequest { method: Some(*method), ..asked.clone() };
                let (_, options) = declared_analysis(&rule.plan, &asked).ok()?;
                let replayed = replay(&seen, &options.of_systems(systems), rule.watched, shift, REPLAYS, 1)?;
                Some(SystemReplayed { system: rule.system.clone(), replayed })
            });
            replayed.extend(found);
        }
        if replayed.is_empty() {
            return Err(AnalyseError::NoDays {}.into());
        }
        Ok(replayed)
    }

    fn day_of(&self, asked: &DriftRequest, plan: &PlanHeader) -> Result<String, AppError> {
        match &asked.as_of {
            Some(date) => check_date("--as-of", date).map(|()| date.clone()),
            None => Ok(self.app.project().today(plan).saturating_sub(jiff::Span::new().days(1)).to_string()),
        }
    }

    /// The suite's rule for each system with data; at least one.
    fn rules(&self, store: &Store, invocation: &Invocation, asked: &DriftRequest) -> Result<Vec<Rule>, AppError> {
        let suite = self.app.stored().suite_name(store, &invocation.suite)?;
        let plan = match load::find_suite(&invocation.suite, &SuiteFiles) {
            Ok(_) => self.app.project().load(&invocation.on_any_day())?.header,
            Err(_) => newest_plan(store, &suite)?,
        };
        let (id, options) = declared_analysis(&plan, asked)?;
        let as_of = self.day_of(asked, &plan)?;
        check_order(&asked.choice, &as_of)?;
        check_threshold(asked, options.method)?;
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
        let mut series = watched_systems(all.into_iter().collect(), &as_of, &options);
        if series.is_empty() {
            series.push((None, Vec::new()));
        }
        let systems = series.len();
        let note = options.systems_note(systems);
        let RowFilter { judge, prompt_version, .. } = &asked.choice;
        let name = json!({ "analysis": id, "options": options, "judge": judge, "prompt_version": prompt_version });
        let is_stretch = asked.is_stretch();
        // Entries of earlier versions have no sources, and no name for a single system.
        let older = |system: &Option<String>| -> Vec<Value> {
            let named = json!({ "system": system, "analysis": id, "options": options, "judge": judge, "prompt_version": prompt_version });
            let names = [Some(named), is_only.then(|| name.clone())];
            names.into_iter().flatten().filter(|_| sources.is_none()).collect()
        };
        let of_system = |(system, days): (Option<String>, Vec<Day>)| Rule {
            suite: suite.clone(),
            id: id.clone(),
            as_of: as_of.clone(),
            options: options.clone().of_systems(systems),
            watched,
            days,
            plan: plan.clone(),
            warnings: warnings.clone(),
            is_stretch,
            name: json!({ "system": system, "analysis": id, "options": options, "judge": judge, "prompt_version": prompt_version, "sources": sources }),
            older_names: older(&system),
            system,
        };
        let mut rules: Vec<Rule> = series.into_iter().map(of_system).collect();
        if let Some(first) = rules.first_mut() {
            first.warnings.extend(note);
            first.warnings.extend(removals_in(&plan).into_iter().map(str::to_owned));
        }
        Ok(rules)
    }

    fn raise(&self, store: &Store, rule: &Rule, drifted: &mut DriftResult) -> Result<(), AppError> {
        let raised = RaisedAlert {
            rule: rule.name.clone(),
            as_of: drifted.drift.as_of.clone(),
            alerts: drifted.drift.alerts.clone(),
            series: series(&rule.days, &drifted.drift.as_of),
            incident: drifted.drift.incident.clone(),
        };
        let at = self.app.clock.now();
        let body = journal_body(&raised)?;
        store.add_journal_entry(&rule.suite, RAISED, &JournalEntry { at, body })?;
        drifted.raised_at = Some(crate::rfc3339(at));
        Ok(())
    }
}

/// The series with a score in the windows of the day; all series if none has any.
pub(super) fn watched_systems(
    all: Vec<(String, Vec<Day>)>,
    as_of: &str,
    options: &DriftOptions,
) -> Vec<(Option<String>, Vec<Day>)> {
    let reach = options.long.saturating_add_unsigned(options.streak());
    let first = day_number(as_of).map(|last| date_of(last.saturating_sub(reach))).unwrap_or_default();
    let is_seen = |days: &[Day]| days.iter().any(|day| day.date > first && day.date.as_str() <= as_of);
    let is_none = !all.iter().any(|(_, days)| is_seen(days));
    let seen = all.into_iter().filter(|(_, days)| is_none || is_seen(days));
    seen.map(|(system, days)| (Some(system), days)).collect()
}

/// The only open incident.
fn open_incident<'a>(
    rules: &'a [Rule],
    open: &[(&'a Rule, &'a Incident)],
) -> Result<(&'a Rule, &'a Incident), AppError> {
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

/// The name of a rule without options that are not set: other versions have others.
fn with_set_options(name: &Value) -> Value {
    let mut name = name.clone();
    if let Some(Value::Object(options)) = name.get_mut("options") {
        options.retain(|_, value| !value.is_null());
    }
    name
}

/// Refuses a range without days.
fn check_order(choice: &RowFilter, as_of: &str) -> Result<(), AppError> {
    match choice.since.as_deref().filter(|since| *since > as_of) {
        None => Ok(()),
        Some(since) => Err(AnalyseError::LateSince { since: since.to_owned(), as_of: as_of.to_owned() }.into()),
    }
}

/// Refuses a shift in a direction that the rule does not watch: it could raise no alert.
fn check_watched(rule: &Rule, shift: f64) -> Result<(), AppError> {
    if let Some(problem) = rule.options.problem() {
        return Err(refusal(&rule.id, &problem));
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

/// Refuses a z threshold for a method without one.
fn check_threshold(asked: &DriftRequest, method: Method) -> Result<(), AppError> {
    let own = match method {
        Method::MedianMad => return Ok(()),
        Method::Cusum => "h",
        Method::EDetector => "limit",
    };
    if asked.z.is_none() {
        return Ok(());
    }
    Err(AnalyseError::NoThreshold { method: method.as_str().to_owned(), own }.into())
}

pub(super) fn refusal(id: &str, what: &str) -> AppError {
    AnalyseError::Refused { id: id.to_owned(), problem: what.to_owned() }.into()
}

/// Id and options of the suite's analysis, or the defaults for its primary metric, with the request applied. A method
/// selects the first analysis with it, else the windows of the first analysis.
pub(super) fn declared_analysis(plan: &PlanHeader, asked: &DriftRequest) -> Result<(String, DriftOptions), AppError> {
    // The flags of the medians mean them.
    let by_flags = asked.short.is_some() || asked.long.is_some() || asked.z.is_some();
    let (mut all, mut gone) = (Vec::new(), None);
    for spec in plan.analyses.iter().filter(|spec| spec.analysis == "drift") {
        if let Some(sentence) = removals_of(spec).first() {
            if asked.id.as_ref() == Some(&spec.id) {
                return Err(refusal(&spec.id, sentence));
            }
            gone = gone.or(spec.with.get("metric").and_then(Value::as_str));
            continue;
        }
        let options = serde_json::from_value(Value::Object(spec.with.clone()));
        let options: DriftOptions = options.map_err(|error| refusal(&spec.id, &error.to_string()))?;
        let watched = watched_metric(plan, &options.metric);
        all.push((spec.id.clone(), options.imply_method(&spec.with, by_flags, watched)));
    }
    let found = match &asked.id {
        Some(id) => Some(all.iter().find(|(known, _)| known == id).ok_or_else(|| unknown_analysis(plan, id, &all))?),
        None => {
            let by_method = all.iter().find(|(_, options)| asked.method == Some(options.method));
            by_method.or(all.first())
        }
    };
    let (id, options) = found.cloned().unwrap_or_else(|| {
        let primary = primary_metric(plan).and_then(|at| plan.metrics.get(at)).map(|metric| metric.name.as_str());
        let (id, options) = declared_default(plan, asked.metric.as_deref().or(gone).or(primary).unwrap_or_default());
        let watched = watched_metric(plan, &options.metric);
        (id, options.imply_method(&Map::new(), by_flags, watched))
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

/// Id and options where the suite has no analysis of a metric.
pub(super) fn declared_default(plan: &PlanHeader, metric: &str) -> (String, DriftOptions) {
    let options = DriftOptions::of(metric).imply_method(&Map::new(), false, watched_metric(plan, metric));
    ("drift".to_owned(), options)
}

pub(super) fn watched_metric(plan: &PlanHeader, metric: &str) -> WatchedMetric {
    let spec = plan.metric(metric).and_then(|at| plan.metrics.get(at));
    spec.map_or_else(WatchedMetric::default, |it| WatchedMetric { range: it.range, better: it.better })
}

fn unknown_analysis(plan: &PlanHeader, id: &str, all: &[(String, DriftOptions)]) -> AppError {
    let known = Names::of(all.iter().map(|(id, _)| id));
    AnalyseError::NoDrift { suite: plan.suite.clone(), id: id.to_owned(), known }.into()
}

/// Date and score of the days up to a date.
fn series(days: &[Day], as_of: &str) -> Vec<(String, f64)> {
    let seen = days.iter().filter(|day| day.date.as_str() <= as_of);
    seen.map(|day| (day.date.clone(), day.value())).collect()
}

/// The alerts of this rule, oldest first, with the time they were raised.
fn raised_alerts(store: &Store, rule: &Rule, until: Option<Moment>) -> Result<Vec<(String, RaisedAlert)>, AppError> {
    let entries = entries(store, rule, RAISED, until)?.into_iter();
    let raised = entries.filter_map(|entry| {
        let raised: RaisedAlert = serde_json::from_value(entry.body).ok()?;
        Some((crate::rfc3339(entry.at), raised))
    });
    Ok(raised.filter(|(_, raised)| rule.is_called(&raised.rule)).collect())
}

/// Keeps an incident that an alert opened or that was closed by hand: late rows can close it, but neither move nor
/// remove it.
fn keep_known_incident(
    rule: &Rule,
    raised: &[(String, RaisedAlert)],
    closings: &[IncidentClosing],
    drifted: &mut DriftResult,
) -> Result<(), AppError> {
    let known = raised
        .iter()
        .filter_map(|(_, raised)| raised.incident.clone())
        .chain(closings.iter().map(IncidentClosing::incident));
    let last = known.filter(|incident| incident.opened <= rule.as_of).max_by(|a, b| a.opened.cmp(&b.opened));
    let Some(opened) = last else { return Ok(()) };
    let kept = resolve_incident(&rule.days, &rule.as_of, &rule.options, rule.watched, closings, &opened)
        .map_err(|what| refusal(&rule.id, &what))?;
    let is_another = drifted.drift.incident.as_ref().is_some_and(|now| {
        let after_it = kept.closed.as_ref().is_some_and(|closed| now.opened > *closed);
        after_it || now.opened == kept.opened && now.band == kept.band
    });
    if !is_another {
        drifted.drift.incident = Some(kept);
    }
    Ok(())
}

/// Keeps an alert that was raised, and lists what came later.
fn stands(drifted: &mut DriftResult, days: &[Day], at: String, raised: &RaisedAlert) {
    drifted.late = late_rows(days, &raised.as_of, &raised.series);
    let figures = |alert: &DriftDay| (alert.short_median, alert.long_median, alert.z);
    let says_so = |day: &DriftDay, alert: &DriftDay| day.day == alert.day && figures(day) == figures(alert);
    let differs = |alert: &&DriftDay| !drifted.drift.alerts.iter().any(|now| says_so(now, alert));
    drifted.moved = raised.alerts.iter().filter(differs).map(|alert| alert.day.clone()).collect();
    drifted.drift.status = DriftStatus::Alert;
    drifted.drift.alerts.clone_from(&raised.alerts);
    drifted.drift.z = raised.alerts.iter().find(|alert| alert.day == raised.as_of).map(|alert| alert.z);
    drifted.raised_at = Some(at);
}

/// Days up to a date whose score differs from the known one.
fn late_rows(days: &[Day], as_of: &str, known: &[(String, f64)]) -> Vec<String> {
    series(days, as_of).into_iter().filter(|day| !known.contains(day)).map(|(date, _)| date).collect()
}

/// Keeps an incident that was closed by hand, and lists what came later. `found` is what the current series would say
/// by itself.
fn is_still_closed(drifted: &mut DriftResult, days: &[Day], closed: &[ClosedIncident], found: Option<&Incident>) {
    let Some(incident) = drifted.drift.incident.as_ref().filter(|incident| incident.closed_by_hand.is_some()) else {
        return;
    };
    let closed = closed.iter().rfind(|it| it.closing.opened == incident.opened && !it.series.is_empty());
    let Some(closed) = closed else { return };
    drifted.late = late_rows(days, &closed.closing.day, &closed.series);
    let is_moved = !drifted.late.is_empty() && found != Some(incident);
    drifted.moved = if is_moved { vec![incident.opened.clone()] } else { Vec::new() };
}

/// The incidents of this rule that were closed by hand, oldest first.
fn closed_incidents(store: &Store, rule: &Rule, until: Option<Moment>) -> Result<Vec<ClosedIncident>, AppError> {
    let entries = entries(store, rule, CLOSED, until)?.into_iter();
    let closed = entries.filter_map(|entry| serde_json::from_value::<ClosedIncident>(entry.body).ok());
    Ok(closed.filter(|closed| rule.is_called(&closed.rule)).collect())
}
