//! The run of a due time: named after it, and stored once.

use jiff::{SignedDuration, Timestamp};
use karat_schedule::{ScheduleSpec, Task, Timetable, day_of_data};
use karat_store::{StoreError, StoredFiring};
use karat_types::{Exit, Moment, ReportFormat, RunStatus};

use crate::analysis::canary::CanaryFinding;
use crate::error::ServiceError;
use crate::service::Service;
use crate::service::monitoring::alerting::{AlertedRun, RunFate};
use crate::service::monitoring::schedules::{due_run_id, find_schedule, timestamp};
use crate::{AppError, ErrorKind, Execution, Invocation, Outputs, ReportTo, RunEnd};

/// Days in which the last due time is searched, in turn.
const SEARCHED_DAYS: [i64; 4] = [1, 32, 370, 9 * 366];

/// A due time of a schedule, with everything that its run needs.
#[derive(Debug, Clone)]
pub struct DueRun {
    /// The id of its run.
    pub run: String,
    /// Name of the suite.
    pub suite: String,
    /// Id of the schedule.
    pub schedule: String,
    /// The due time.
    pub due: Moment,
    invocation: Invocation,
    formats: Vec<ReportFormat>,
    task: Task,
}

/// The state of a due time before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DueState {
    /// It is new, and stored now: nothing else may run it.
    New,
    /// Its run was started and did not end: it can be resumed.
    Unfinished,
    /// Its run ended.
    Ended,
    /// It was skipped, for this reason.
    Skipped(String),
}

/// The end of a due run.
#[derive(Debug)]
pub struct DueRunEnd {
    /// The end of its run, if it could start.
    pub end: Option<RunEnd>,
    /// The summary of its report.
    pub summary: Option<String>,
    /// The failure that ended it.
    pub failure: Option<AppError>,
    /// Incidents and messages.
    pub alerted: AlertedRun,
    /// The exit code.
    pub exit: Exit,
}

impl DueRun {
    /// The run of a due time of a schedule.
    pub(crate) fn new(path: &str, suite: &str, spec: &ScheduleSpec, due: Moment) -> Self {
        let mut invocation = Invocation::of(path);
        invocation.trigger = format!("schedule:{}", spec.id);
        // A schedule was written on purpose, and has a budget of its own.
        invocation.yes = true;
        let overrides = &mut invocation.overrides;
        overrides.as_of = day_of_data(timestamp(due), spec.timetable.zone()).map(|day| day.to_string());
        overrides.params.clone_from(&spec.params);
        overrides.budget_usd = spec.budget_usd;
        overrides.set.extend(spec.days.map(|days| ("dataset.days".to_owned(), days.to_string())));
        Self {
            run: due_run_id(suite, &spec.id, due),
            suite: suite.to_owned(),
            schedule: spec.id.clone(),
            due,
            invocation,
            formats: formats(&spec.report),
            task: spec.task,
        }
    }
}

impl DueRun {
    /// The run of a due time of a schedule; without one, of the last up to now.
    pub(crate) fn at(
        path: &str,
        suite: &str,
        spec: &ScheduleSpec,
        due: Option<Moment>,
        now: Moment,
    ) -> Result<Self, AppError> {
        let due = match due {
            None => last_due(&spec.timetable, timestamp(now)),
            Some(due) => {
                let before = timestamp(Moment(due.0.saturating_sub(1)));
                let next = spec.timetable.next_after(before);
                if next != Some(timestamp(due)) {
                    let next = next.map_or_else(|| "never".to_owned(), |next| next.to_string());
                    let (schedule, due) = (spec.id.clone(), timestamp(due).to_string());
                    return Err(ServiceError::NotDue { schedule, due, next }.into());
                }
                next
            }
        };
        let due = due.ok_or_else(|| ServiceError::NeverDue { schedule: spec.id.clone() })?;
        Ok(Self::new(path, suite, spec, Moment(due.as_millisecond())))
    }

    /// Refuses steps that run programs, or not.
    pub(crate) fn refuse_commands(&mut self, safe: bool) {
        self.invocation.overrides.safe = safe;
    }
}

fn formats(names: &[String]) -> Vec<ReportFormat> {
    let named: Vec<ReportFormat> = names.iter().filter_map(|name| name.parse().ok()).collect();
    if named.is_empty() { ReportFormat::DEFAULT.to_vec() } else { named }
}

/// The last due time up to a moment.
fn last_due(timetable: &Timetable, now: Timestamp) -> Option<Timestamp> {
    let since = |days: &i64| now.checked_sub(SignedDuration::from_hours(24 * days)).ok();
    SEARCHED_DAYS.iter().filter_map(since).find_map(|since| timetable.last_between(since, now))
}

fn lines(canaries: &[CanaryFinding]) -> String {
    canaries.iter().map(CanaryFinding::line).collect::<Vec<_>>().join("\n")
}

/// A judge that moved makes gates undecided.
fn exit_of_canaries(canaries: &[CanaryFinding]) -> Exit {
    let has_moved = canaries.iter().any(|canary| canary.moved == Some(true));
    if has_moved { Exit::Undecided } else { Exit::Pass }
}

impl Service<'_> {
    /// The run of a due time; without `due`, of the last one up to now. `due` must be one of the schedule's times.
    ///
    /// # Errors
    /// The suite cannot be loaded, has no such schedule, or it is not due then.
    pub fn due_run(&self, suite: &str, schedule: &str, due: Option<Moment>) -> Result<DueRun, AppError> {
        let plan = self.app.runs().load(&Invocation::of_any_day(suite))?;
        let spec = find_schedule(&plan.header.suite, &plan.schedules, schedule)?;
        DueRun::at(suite, &plan.header.suite, spec, due, self.app.clock.now())
    }

    /// Stores a due time, so that no other process runs it. What is stored already is not changed.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn claim_due_run(&self, due: &DueRun) -> Result<DueState, AppError> {
        let store = self.app.open_store()?;
        let firing = StoredFiring {
            run: due.run.clone(),
            suite: due.suite.clone(),
            schedule: due.schedule.clone(),
            due: due.due,
            state: "fired".to_owned(),
            note: String::new(),
            at: self.app.clock.now(),
        };
        if store.add_firing(&firing)? {
            return Ok(DueState::New);
        }
        let known = store.firing(&due.run)?;
        if let Some(skipped) = known.filter(|known| known.state == "skipped") {
            return Ok(DueState::Skipped(skipped.note));
        }
        match store.run(&due.run) {
            Ok(header) if header.status == RunStatus::Finished => Ok(DueState::Ended),
            Ok(_) | Err(StoreError::NoSuchRun { .. }) => Ok(DueState::Unfinished),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores that a due run was cancelled, so that no server takes it up again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn cancel_due_run(&self, run: &str) -> Result<(), AppError> {
        Ok(self.app.open_store()?.set_firing(run, "failed", "it was cancelled")?)
    }

    /// Runs a due time that was claimed, or resumes it; writes its report; stores incidents and messages. A run that is
    /// finished is not made again, and its alerts are stored once.
    ///
    /// # Errors
    /// The store cannot be written. A run that fails is not an error here: it is in the result, and causes alerts.
    pub fn run_due(&self, due: &DueRun, execution: Execution) -> Result<DueRunEnd, AppError> {
        let execution = Execution { run_id: Some(due.run.clone()), resume: true, ..execution };
        let outcome = match due.task {
            Task::Run => self
                .note_death(&due.run)
                .and_then(|()| self.app.runs().load(&due.invocation))
                .and_then(|plan| self.app.runs().run(plan, &due.invocation, execution))
                .map(|end| (Vec::new(), end)),
            Task::Canary => self.app.analysis().run_canary(&due.invocation, execution),
        };
        let (canaries, end, failure) = match outcome {
            Ok((canaries, end)) => (canaries, Some(end), None),
            Err(error) => (Vec::new(), None, Some(error)),
        };
        // Another process makes it, and alerts; or the disk is full, and it goes on once there is room.
        let goes_on = |error: &&AppError| matches!(error.kind(), ErrorKind::RunInUse | ErrorKind::StoreUnavailable);
        if let Some(error) = failure.as_ref().filter(goes_on) {
            let exit = error.exit();
            return Ok(DueRunEnd { end, summary: None, failure, alerted: AlertedRun::default(), exit });
        }
        let mut summary = None;
        let mut exit = failure.as_ref().map_or(Exit::Pass, AppError::exit);
        if let Some(end) = &end {
            exit = end.exit();
            if end.status == RunStatus::Finished {
                let to =
                    ReportTo { folder: None, layout: None, formats: due.formats.clone(), outputs: Outputs::default() };
                let written = self.app.reports().report_into(&due.run, &to, false)?;
                let (said, verdict) = match due.task {
                    Task::Run => (written.summary, written.exit),
                    // The suite's gates are about its systems.
                    Task::Canary => (lines(&canaries), exit_of_canaries(&canaries)),
                };
                exit = exit.worst(verdict);
                summary = Some(said);
            }
        }
        let fate = match (&end, &failure) {
            (Some(end), _) => RunFate::of_end(end),
            (None, Some(error)) => RunFate::of_error(error),
            (None, None) => RunFate::default(),
        };
        let store = self.app.open_store()?;
        if let (None, Some(error)) = (&end, &failure) {
            store.set_firing(&due.run, "failed", &error.to_string())?;
        }
        // An interrupted run goes on later, and alerts then. One whose models refuse every call would be refused again.
        let goes_on =
            |end: &RunEnd| matches!(end.status, RunStatus::Interrupted | RunStatus::Running) && end.refused.is_none();
        let alerted = match &end {
            Some(end) if goes_on(end) => AlertedRun::default(),
            _ if due.task == Task::Canary => self.alert_of_canary(&due.run, &due.invocation, &canaries, &fate)?,
            _ => self.alert_of_run(&due.run, &due.invocation, &fate)?,
        };
        Ok(DueRunEnd { end, summary, failure, alerted, exit })
    }
}
