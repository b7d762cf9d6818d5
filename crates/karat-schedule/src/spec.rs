//! A schedule as a suite declares it.

use crate::missed::Missed;
use crate::timetable::Timetable;

/// The rule for a due time at which the run before is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// The due time is skipped.
    #[default]
    Skip,
    /// It waits until the run is over; one waits at a time.
    Queue,
}

/// The task of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Task {
    /// The suite runs.
    #[default]
    Run,
    /// Judges grade their frozen judgments again.
    Canary,
}

/// A schedule of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleSpec {
    /// Its id.
    pub id: String,
    /// Its due times.
    pub timetable: Timetable,
    /// The name of its time zone.
    pub zone: String,
    /// Days of data that each run looks at; the dataset's own number if absent.
    pub days: Option<u32>,
    /// Its task.
    pub task: Task,
    /// The policy for due times that passed while nothing ran.
    pub missed: Missed,
    /// The policy for due times at which a run is not over.
    pub overlap: Overlap,
    /// Largest amount in US dollars that one run may spend.
    pub budget_usd: Option<f64>,
    /// Parameters of its runs, as texts.
    pub params: Vec<(String, String)>,
    /// Formats of its reports; the default ones if empty.
    pub report: Vec<String>,
}
