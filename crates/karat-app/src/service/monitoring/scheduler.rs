//! Follows the schedules of suites. It holds no thread and sleeps never: its caller asks it every second what is due,
//! and runs that.

use std::collections::BTreeMap;

use jiff::Timestamp;
use karat_alert::AlertEvent;
use karat_schedule::{Missed, Overlap, ScheduleSpec};
use karat_store::{StoreError, StoredFiring};
use karat_types::{Moment, RunStatus};

use crate::service::monitoring::alerting::{AlertSource, stored_path};
use crate::service::monitoring::due_run::{DueRun, DueState};
use crate::service::monitoring::followed_suites::{FollowedSuite, FollowedSuites};
use crate::service::monitoring::observations::Observed;
use crate::service::monitoring::schedules::{LATE_MS, due_run_id, timestamp};
use crate::{App, AppError};

/// Unfinished runs of a schedule that are taken up at one time.
const RESUMED: usize = 31;

/// Milliseconds between two searches for unfinished runs.
const RECOVERY_MS: i64 = 60_000;

/// The schedules of some suites.
pub struct Scheduler {
    app: App,
    suites: FollowedSuites,
    /// Time of the last search for unfinished runs.
    recovered_at: Option<Moment>,
    /// Due times that wait for a run to end, by run.
    waiting: BTreeMap<String, DueRun>,
}

/// The due times of a moment.
#[derive(Default)]
pub struct Due {
    /// Runs that were claimed for the caller.
    pub runs: Vec<DueRun>,
    /// Events to log: skips, and suites that cannot be read.
    pub notes: Vec<String>,
    /// The reason of each due time that was skipped: `missed`, `overlap` or `paused`.
    pub skipped: Vec<&'static str>,
}

impl Scheduler {
    /// Follows the schedules of suites.
    pub fn new(app: App, suites: FollowedSuites) -> Self {
        Self { app, suites, recovered_at: None, waiting: BTreeMap::new() }
    }

    /// Claims the due times up to now. Each is given out once, by one process. Runs that were claimed and did not end are
    /// given out again each minute, for as long as no process executes them: the caller leaves out those that it has.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn tick(&mut self) -> Result<Due, AppError> {
        let now = self.app.clock.now();
        let mut due = Due { notes: self.suites.refresh(), ..Due::default() };
        // A clock that was set back searches again, too.
        let is_fresh = self.recovered_at.is_some_and(|at| (0..RECOVERY_MS).contains(&now.0.saturating_sub(at.0)));
        for (path, suite) in &self.suites.suites() {
            for spec in &suite.schedules {
                let look = ScheduleLook { app: &self.app, path, suite, spec, now };
                if !is_fresh {
                    due.runs.extend(look.claimed_runs(self.recovered_at.is_none())?);
                }
                // A later search gives out due times that were claimed before a failure.
                look.take_due(&mut self.waiting, &mut due)?;
            }
        }
        if !is_fresh {
            self.recovered_at = Some(now);
        }
        for run in &mut due.runs {
            run.refuse_commands(self.suites.is_safe());
        }
        Ok(due)
    }
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
            return self.skip_paused(from, due);
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
            if app.service().claim_due_run(&run)? == DueState::New {
                due.runs.push(run);
            }
        }
        Ok(())
    }

    /// The runs that were claimed, did not end, and that no process executes: they go on when a server starts, and each
    /// minute, because a disk that was full may have room again. Another process may be about to start a run that it
    /// claimed a moment ago; at the start of a server that is its predecessor, which is gone.
    fn claimed_runs(&self, is_start: bool) -> Result<Vec<DueRun>, AppError> {
        let Self { app, path, suite, spec, .. } = *self;
        let store = app.open_store()?;
        let mut unfinished = Vec::new();
        for firing in store.open_firings(&suite.name, &spec.id, RESUMED)? {
            let is_active = match store.run(&firing.run) {
                Ok(header) => header.status == RunStatus::Running,
                Err(StoreError::NoSuchRun { .. }) => !is_start && self.is_new(&firing),
                Err(error) => return Err(error.into()),
            };
            if !is_active {
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
            self.skip(*latest, "missed", &note, due)?;
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
        skipped
            .into_iter()
            .try_for_each(|time| self.skip(time, "overlap", &format!("the run {active} was not over"), due))
    }

    /// Stores that a due time does not run, and tells those who want to hear of it.
    fn skip(&self, time: Moment, reason: &'static str, note: &str, due: &mut Due) -> Result<(), AppError> {
        let Some(run) = self.store_skip(time, note)? else { return Ok(()) };
        due.skipped.push(reason);
        let summary = format!("{run} was skipped: {note}");
        due.notes.push(summary.clone());
        let seen = Observed::new(AlertEvent::ScheduleMissed, true, &self.spec.id, summary);
        let source = AlertSource { path: stored_path(self.path), suite: &self.suite.name, alerts: &self.suite.alerts };
        self.app.service().add_observations(&format!("skip:{run}"), &source, vec![seen], None).map(drop)
    }

    /// A pause is on purpose: its due times are not made up for, and nobody is told.
    fn skip_paused(&self, from: Moment, due: &mut Due) -> Result<(), AppError> {
        let Some(time) = due_between(self.spec, from, self.now).pop() else { return Ok(()) };
        let stored = self.store_skip(time, "the schedule was paused")?;
        due.skipped.extend(stored.map(|_| "paused"));
        Ok(())
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

    /// Returns whether a due time was claimed a moment ago. One of the future was claimed before the clock was set back.
    fn is_new(&self, firing: &StoredFiring) -> bool {
        (0..LATE_MS).contains(&self.now.0.saturating_sub(firing.at.0))
    }

    /// The run of this schedule that is not over.
    fn active_run(&self) -> Result<Option<String>, AppError> {
        let store = self.app.open_store()?;
        for firing in store.open_firings(&self.suite.name, &self.spec.id, RESUMED)? {
            match store.run(&firing.run) {
                Ok(header) if header.status == RunStatus::Running => return Ok(Some(firing.run)),
                // It was claimed a moment ago, and has not begun.
                Err(StoreError::NoSuchRun { .. }) if self.is_new(&firing) => return Ok(Some(firing.run)),
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
