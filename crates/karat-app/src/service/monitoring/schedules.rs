//! Due times of schedules, their history, and pauses.

use jiff::Timestamp;
use karat_schedule::{ScheduleSpec, Timetable, run_id};
use karat_types::Moment;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::ServiceError;
use crate::service::Service;
use crate::{AppError, Invocation, rfc3339};

/// A due time that is older than this passed while nothing followed its schedule.
pub(crate) const LATE_MS: i64 = 90_000;

/// A schedule of a suite, with its times.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Schedule")]
pub struct ScheduleLine {
    /// Name of the suite.
    pub suite: String,
    /// Path of the suite, as it is loaded.
    pub path: String,
    /// Id of the schedule.
    pub schedule: String,
    /// Its cron expression.
    pub cron: String,
    /// Its time zone.
    pub zone: String,
    /// The next due time, RFC 3339; absent while it is paused.
    #[schemars(extend("format" = "date-time"))]
    pub next: Option<String>,
    /// The last due time that is stored, and how it ended.
    pub last: Option<FiringLine>,
    /// Time since which it is paused.
    #[schemars(extend("format" = "date-time"))]
    pub paused_since: Option<String>,
    /// The due time that passed 90 seconds ago or more and was neither run nor skipped.
    #[schemars(extend("format" = "date-time"))]
    pub late_since: Option<String>,
    /// The number of due times that were skipped.
    pub skipped: u64,
    /// The last due time whose run ended, with its alerts stored.
    #[schemars(extend("format" = "date-time"))]
    pub last_done: Option<String>,
}

/// A due time in the past.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Firing")]
pub struct FiringLine {
    /// Id of the schedule.
    pub schedule: String,
    /// The due time, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub due: String,
    /// Id of its run.
    pub run: String,
    /// `fired`, `done`, `failed` or `skipped`.
    #[schemars(extend("enum" = ["fired", "done", "failed", "skipped"]))]
    pub state: String,
    /// Reason of a skip or failure.
    pub note: String,
}

/// A due time, in UTC and on the clocks of its zone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DueTime {
    /// RFC 3339, UTC.
    pub due: String,
    /// With the offset of its zone.
    pub local: String,
}

/// The next due times of a cron expression after a time.
///
/// # Errors
/// The expression or the zone is wrong, or the time is not a RFC 3339 time.
pub fn due_times(cron: &str, zone: &str, from: Moment, count: usize) -> Result<Vec<DueTime>, AppError> {
    let timetable =
        Timetable::parse(cron, zone).map_err(|error| ServiceError::Timetable { problem: error.to_string() })?;
    Ok(times(&timetable, timestamp(from), count))
}

fn times(timetable: &Timetable, from: Timestamp, count: usize) -> Vec<DueTime> {
    let line = |due: Timestamp| DueTime {
        due: due.to_string(),
        local: due.to_zoned(timetable.zone().clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
    };
    timetable.after(from).take(count).map(line).collect()
}

/// Reads a time such as `2027-03-28T01:00Z`.
///
/// # Errors
/// It is none.
pub fn parse_time(flag: &str, text: &str) -> Result<Moment, AppError> {
    let parsed: Result<Timestamp, _> = text.parse();
    parsed
        .map(|time| Moment(time.as_millisecond()))
        .map_err(|_| ServiceError::BadTime { flag: flag.to_owned(), text: text.to_owned() }.into())
}

pub(crate) fn timestamp(moment: Moment) -> Timestamp {
    Timestamp::from_millisecond(moment.0).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl Service<'_> {
    /// The schedules of a suite.
    ///
    /// # Errors
    /// The suite cannot be loaded, or the store not be read.
    pub fn schedules(&self, suite: &str) -> Result<Vec<ScheduleLine>, AppError> {
        let plan = self.app.runs().load(&Invocation::of_any_day(suite))?;
        plan.schedules.iter().map(|spec| self.schedule_line(suite, &plan.header.suite, spec)).collect()
    }

    pub(crate) fn schedule_line(&self, path: &str, suite: &str, spec: &ScheduleSpec) -> Result<ScheduleLine, AppError> {
        let store = self.app.store_to_read()?;
        let now = self.app.clock.now();
        let paused = store.paused_since(suite, &spec.id)?;
        let last = store.firings(suite, Some(&spec.id), 1)?.pop();
        let next = spec.timetable.next_after(timestamp(now)).filter(|_| paused.is_none());
        let followed = store.known_since(suite, &spec.id)?;
        let from = last.as_ref().map(|last| last.due).max(followed).unwrap_or(now);
        let waiting = spec.timetable.next_after(timestamp(from)).filter(|_| paused.is_none());
        let latest = timestamp(Moment(now.0.saturating_sub(LATE_MS)));
        Ok(ScheduleLine {
            suite: suite.to_owned(),
            path: path.to_owned(),
            late_since: waiting.filter(|due| *due <= latest).map(|due| due.to_string()),
            skipped: store.count_firings(suite, &spec.id, "skipped")?,
            last_done: store.last_done(suite, &spec.id)?.map(|done| rfc3339(done.due)),
            schedule: spec.id.clone(),
            cron: spec.timetable.cron().to_string(),
            zone: spec.zone.clone(),
            next: next.map(|next| next.to_string()),
            last: last.map(firing_line),
            paused_since: paused.map(rfc3339),
        })
    }

    /// The next due times of a suite's schedule.
    ///
    /// # Errors
    /// The suite cannot be loaded, or has no such schedule.
    pub fn next_of_schedule(
        &self,
        suite: &str,
        schedule: &str,
        from: Option<Moment>,
        count: usize,
    ) -> Result<Vec<DueTime>, AppError> {
        let plan = self.app.runs().load(&Invocation::of_any_day(suite))?;
        let spec = find_schedule(&plan.header.suite, &plan.schedules, schedule)?;
        Ok(times(&spec.timetable, timestamp(from.unwrap_or_else(|| self.app.clock.now())), count))
    }

    /// The last due times of a suite, latest first; with a schedule, only its own.
    ///
    /// # Errors
    /// The suite cannot be loaded, has no such schedule, or the store cannot be read.
    pub fn schedule_history(
        &self,
        suite: &str,
        schedule: Option<&str>,
        limit: usize,
    ) -> Result<Vec<FiringLine>, AppError> {
        let plan = self.app.runs().load(&Invocation::of_any_day(suite))?;
        if let Some(schedule) = schedule {
            find_schedule(&plan.header.suite, &plan.schedules, schedule)?;
        }
        let firings = self.app.store_to_read()?.firings(&plan.header.suite, schedule, limit)?;
        Ok(firings.into_iter().map(firing_line).collect())
    }

    /// Pauses a schedule from now on, or resumes it.
    ///
    /// # Errors
    /// The suite cannot be loaded, has no such schedule, or the store cannot be written.
    pub fn pause_schedule(&self, suite: &str, schedule: &str, paused: bool) -> Result<(), AppError> {
        let plan = self.app.runs().load(&Invocation::of_any_day(suite))?;
        let spec = find_schedule(&plan.header.suite, &plan.schedules, schedule)?;
        self.set_paused(&plan.header.suite, spec, paused)
    }

    pub(crate) fn set_paused(&self, suite: &str, spec: &ScheduleSpec, paused: bool) -> Result<(), AppError> {
        Ok(self.app.open_store()?.set_paused(suite, &spec.id, paused.then(|| self.app.clock.now()))?)
    }
}

/// A schedule by its id.
pub(crate) fn find_schedule<'a>(
    suite: &str,
    schedules: &'a [ScheduleSpec],
    id: &str,
) -> Result<&'a ScheduleSpec, AppError> {
    schedules.iter().find(|spec| spec.id == id).ok_or_else(|| {
        let known = crate::error::Names::of(schedules.iter().map(|spec| &spec.id));
        ServiceError::NoSchedule { suite: suite.to_owned(), schedule: id.to_owned(), known }.into()
    })
}

/// The id of the run of a due time.
pub(crate) fn due_run_id(suite: &str, schedule: &str, due: Moment) -> String {
    run_id(suite, schedule, timestamp(due))
}

fn firing_line(firing: karat_store::StoredFiring) -> FiringLine {
    let karat_store::StoredFiring { run, schedule, due, state, note, .. } = firing;
    FiringLine { schedule, due: rfc3339(due), run, state, note }
}
