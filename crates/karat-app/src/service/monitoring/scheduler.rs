//! Follows the schedules of suites. It holds no thread and sleeps never: its caller asks it every second what is due,
//! and runs that.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use karat_alert::{AlertEvent, AlertSpec};
use karat_schedule::{Missed, Overlap, ScheduleSpec};
use karat_store::{StoreError, StoredFiring};
use karat_types::{Moment, RunStatus};

use crate::service::monitoring::alerting::{AlertSource, stored_path};
use crate::service::monitoring::due_run::{DueRun, DueState};
use crate::service::monitoring::observations::Observed;
use crate::service::monitoring::schedules::{due_run_id, timestamp};
use crate::{App, AppError, Invocation};

/// Milliseconds between two readings of the suites.
const REREAD_MS: i64 = 60_000;

/// A due time that is older than this passed while nothing followed its schedule.
const LATE_MS: i64 = 90_000;

/// Due times that are searched for unfinished runs.
const RESUMED: usize = 31;

/// The schedules of some suites.
pub struct Scheduler {
    app: App,
    /// Paths that were given; without any, those found below the folder.
    given: Vec<String>,
    suites: BTreeMap<String, FollowedSuite>,
    read_at: Option<Moment>,
    /// Due times that wait for a run to end, by run.
    waiting: BTreeMap<String, DueRun>,
    /// True if suites that run programs are refused.
    safe: bool,
}

#[derive(Default)]
struct FollowedSuite {
    name: String,
    schedules: Vec<ScheduleSpec>,
    alerts: Vec<AlertSpec>,
    /// The reason why its file cannot be used now; the last good one is followed.
    broken: Option<String>,
}

/// The due times of a moment.
#[derive(Default)]
pub struct Due {
    /// Runs that were claimed for the caller.
    pub runs: Vec<DueRun>,
    /// Events to log: skips, and suites that cannot be read.
    pub notes: Vec<String>,
}

impl Scheduler {
    /// Follows suites; without any, `karat.yaml` of this folder and of the folders in it.
    pub fn new(app: App, given: Vec<String>) -> Self {
        Self { app, given, suites: BTreeMap::new(), read_at: None, waiting: BTreeMap::new(), safe: false }
    }

    /// Refuses suites that run programs, or not.
    #[must_use]
    pub fn without_commands(self, safe: bool) -> Self {
        Self { safe, ..self }
    }

    /// Suites whose files cannot be used now, each with its reason.
    pub fn broken_suites(&self) -> Vec<(String, String)> {
        self.suites.iter().filter_map(|(path, it)| Some((path.clone(), it.broken.clone()?))).collect()
    }

    /// Claims the due times up to now. Each is given out once, by one process.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn tick(&mut self) -> Result<Due, AppError> {
        let now = self.app.clock.now();
        let mut due = Due::default();
        let is_first = self.read_at.is_none();
        // A clock that was set back reads again, too.
        if self.read_at.is_none_or(|at| now.0.saturating_sub(at.0) >= REREAD_MS || now < at) {
            self.read_suites(&mut due.notes);
            self.read_at = Some(now);
        }
        for (path, suite) in &self.suites {
            for spec in &suite.schedules {
                let look = ScheduleLook { app: &self.app, path, suite, spec, now };
                if is_first {
                    due.runs.extend(look.claimed_runs()?);
                }
                look.take_due(&mut self.waiting, &mut due)?;
            }
        }
        for run in &mut due.runs {
            run.refuse_commands(self.safe);
        }
        Ok(due)
    }

    fn read_suites(&mut self, notes: &mut Vec<String>) {
        let paths = if self.given.is_empty() { found_suites() } else { self.given.clone() };
        self.suites.retain(|path, _| paths.contains(path));
        for path in paths {
            let known = self.suites.entry(path.clone()).or_default();
            let mut invocation = Invocation::of(&path);
            invocation.overrides.safe = self.safe;
            match self.app.load(&invocation) {
                Ok(loaded) => {
                    let plan = loaded.plan;
                    *known = FollowedSuite {
                        name: plan.header.suite.clone(),
                        schedules: plan.schedules,
                        alerts: plan.alerts,
                        broken: None,
                    };
                }
                Err(error) => {
                    let problem = error.to_string();
                    if known.broken.as_ref() != Some(&problem) {
                        notes.push(format!("{path} cannot be used, its last good version is followed: {problem}"));
                    }
                    known.broken = Some(problem);
                }
            }
        }
    }
}

/// `karat.yaml` of this folder and of the folders in it.
fn found_suites() -> Vec<String> {
    const FILE: &str = "karat.yaml";
    let mut found: Vec<String> = Path::new(FILE).is_file().then(|| FILE.to_owned()).into_iter().collect();
    let folders = std::fs::read_dir(".").into_iter().flatten().filter_map(Result::ok);
    let suites = folders.filter_map(|folder| {
        let name = folder.file_name().into_string().ok()?;
        let path = format!("{name}/{FILE}");
        (!name.starts_with('.') && Path::new(&path).is_file()).then_some(path)
    });
    found.extend(suites);
    found.sort();
    found
}

/// A look at one schedule.
struct ScheduleLook<'a> {
    app: &'a App,
    path: &'a str,
    suite: &'a FollowedSuite,
    spec: &'a ScheduleSpec,
    now: Moment,
}

impl ScheduleLook<'_> {
    /// Claims what is due, and stores what is skipped.
    fn take_due(&self, waiting: &mut BTreeMap<String, DueRun>, due: &mut Due) -> Result<(), AppError> {
        let Self { app, path, suite, spec, now } = *self;
        let store = app.open_store()?;
        let since = store.followed_since(&suite.name, &spec.id, now)?;
        let last = store.firings(&suite.name, Some(&spec.id), 1)?.pop();
        let from = last.as_ref().map_or(since, |last| last.due.max(since));
        if store.paused_since(&suite.name, &spec.id)?.is_some() {
            return self.skip_paused(from);
        }
        let mut times = due_between(spec, from, now);
        if let Some(waits) = waiting.remove(&self.slot()) {
            times.retain(|time| *time > waits.due);
            times.insert(0, waits.due);
        }
        if times.is_empty() {
            return Ok(());
        }
        if let Some(active) = self.active_run()? {
            return self.overlap(&times, &active, waiting, due);
        }
        for time in self.times_to_run(from, &times, due)? {
            let run = DueRun::new(path, &suite.name, spec, time);
            if app.claim_due_run(&run)? == DueState::New {
                due.runs.push(run);
            }
        }
        Ok(())
    }

    /// The runs that an earlier process claimed and did not end: they go on when a server starts.
    fn claimed_runs(&self) -> Result<Vec<DueRun>, AppError> {
        let Self { app, path, suite, spec, .. } = *self;
        let store = app.open_store()?;
        let mut unfinished = Vec::new();
        for firing in store.firings(&suite.name, Some(&spec.id), RESUMED)? {
            let is_active = match store.run(&firing.run) {
                Ok(header) => header.status == RunStatus::Running,
                Err(StoreError::NoSuchRun { .. }) => false,
                Err(error) => return Err(error.into()),
            };
            if firing.state == "fired" && !is_active {
                unfinished.push(DueRun::new(path, &suite.name, spec, firing.due));
            }
        }
        unfinished.reverse();
        Ok(unfinished)
    }

    fn slot(&self) -> String {
        format!("{}/{}", self.suite.name, self.spec.id)
    }

    /// The due times that run now: the present one, and those that passed, by the policy.
    fn times_to_run(&self, from: Moment, times: &[Moment], due: &mut Due) -> Result<Vec<Moment>, AppError> {
        let is_late = |time: &Moment| self.now.0.saturating_sub(time.0) > LATE_MS;
        let (late, present): (Vec<Moment>, Vec<Moment>) = times.iter().copied().partition(is_late);
        let mut chosen: Vec<Moment> = match self.spec.missed {
            Missed::Once if !present.is_empty() => Vec::new(),
            policy => {
                let end = late.last().copied().unwrap_or(from);
                let made_up = policy.due(&self.spec.timetable, timestamp(from), timestamp(end));
                made_up.into_iter().map(|time: Timestamp| Moment(time.as_millisecond())).collect()
            }
        };
        let skipped = late.len().saturating_sub(chosen.len());
        if let (Some(latest), true) = (late.iter().rev().find(|time| !chosen.contains(time)), skipped > 0) {
            let note = format!("{skipped} due times passed while nothing followed the schedule");
            self.skip(*latest, &note, due)?;
        }
        chosen.extend(present);
        Ok(chosen)
    }

    fn overlap(
        &self,
        times: &[Moment],
        active: &str,
        waiting: &mut BTreeMap<String, DueRun>,
        due: &mut Due,
    ) -> Result<(), AppError> {
        let mut skipped = times.to_vec();
        if let (Overlap::Queue, Some(last)) = (self.spec.overlap, skipped.last().copied()) {
            skipped.pop();
            waiting.insert(self.slot(), DueRun::new(self.path, &self.suite.name, self.spec, last));
        }
        skipped.into_iter().try_for_each(|time| self.skip(time, &format!("the run {active} was not over"), due))
    }

    /// Stores that a due time does not run, and tells those who want to hear of it.
    fn skip(&self, time: Moment, note: &str, due: &mut Due) -> Result<(), AppError> {
        let Some(run) = self.store_skip(time, note)? else { return Ok(()) };
        let summary = format!("{run} was skipped: {note}");
        due.notes.push(summary.clone());
        let seen = Observed::new(AlertEvent::ScheduleMissed, true, &self.spec.id, summary);
        let source = AlertSource { path: stored_path(self.path), suite: &self.suite.name, alerts: &self.suite.alerts };
        self.app.add_observations(&format!("skip:{run}"), &source, vec![seen], None).map(drop)
    }

    /// A pause is on purpose: its due times are not made up for, and nobody is told.
    fn skip_paused(&self, from: Moment) -> Result<(), AppError> {
        match due_between(self.spec, from, self.now).pop() {
            Some(time) => self.store_skip(time, "the schedule was paused").map(drop),
            None => Ok(()),
        }
    }

    /// Stores a due time that does not run. Returns the id that its run would have, if it is new.
    fn store_skip(&self, time: Moment, note: &str) -> Result<Option<String>, AppError> {
        let run = due_run_id(&self.suite.name, &self.spec.id, time);
        let firing = StoredFiring {
            run: run.clone(),
            suite: self.suite.name.clone(),
            schedule: self.spec.id.clone(),
            due: time,
            state: "skipped".to_owned(),
            note: note.to_owned(),
            at: self.app.clock.now(),
        };
        Ok(self.app.open_store()?.add_firing(&firing)?.then_some(run))
    }

    /// The run of this schedule that is not over.
    fn active_run(&self) -> Result<Option<String>, AppError> {
        let store = self.app.open_store()?;
        for firing in store.firings(&self.suite.name, Some(&self.spec.id), 4)? {
            if firing.state != "fired" {
                continue;
            }
            match store.run(&firing.run) {
                Ok(header) if header.status == RunStatus::Running => return Ok(Some(firing.run)),
                // It was claimed a moment ago, and has not begun.
                Err(StoreError::NoSuchRun { .. }) if self.now.0.saturating_sub(firing.at.0) < LATE_MS => {
                    return Ok(Some(firing.run));
                }
                Ok(_) | Err(StoreError::NoSuchRun { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

/// The due times after a moment, up to another.
fn due_between(spec: &ScheduleSpec, from: Moment, until: Moment) -> Vec<Moment> {
    let end = timestamp(until);
    let times = spec.timetable.after(timestamp(from)).take_while(|time| *time <= end);
    times.map(|time| Moment(time.as_millisecond())).collect()
}
