//! Times at which a suite is due.
//!
//! - `cron` reads a cron expression and says which days, hours and minutes it names.
//! - `timetable` finds the instants of an expression in a time zone, also where clocks are changed.
//! - `spec` is a schedule as a suite declares it.
//! - `missed` picks the due times that a server makes up for after it was down, and names the run of a due time.
//!
//! Nothing here reads a clock: every function takes the instant that it starts from.

mod cron;
mod missed;
mod spec;
mod timetable;

pub use cron::{Cron, CronError};
pub use missed::{MAX_MADE_UP, Missed, day_of_data, id_part, run_id};
pub use spec::{Overlap, ScheduleSpec, Task};
pub use timetable::{Timetable, TimetableError};
