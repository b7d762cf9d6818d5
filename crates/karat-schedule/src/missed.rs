//! Due times that passed while no server was up.

use std::borrow::Cow;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use crate::timetable::Timetable;

/// The most due times that are made up for.
pub const MAX_MADE_UP: usize = 31;

/// The due times that a server makes up for after it was down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// None.
    Skip,
    /// The latest.
    #[default]
    Once,
    /// All of them, the latest [`MAX_MADE_UP`] at most.
    All,
}

impl Missed {
    /// The due times to make up for, of those after `last` and up to `now`, in order.
    pub fn due(self, timetable: &Timetable, last: Timestamp, now: Timestamp) -> Vec<Timestamp> {
        let kept = match self {
            Self::Skip => 0,
            Self::Once => 1,
            Self::All => MAX_MADE_UP,
        };
        let mut due = std::collections::VecDeque::with_capacity(kept + 1);
        for time in timetable.after(last).take_while(|time| *time <= now) {
            due.push_back(time);
            if due.len() > kept {
                due.pop_front();
            }
        }
        due.into()
    }
}

/// The id of the run of a due time: the same for each server and after each restart, so that none is run twice.
pub fn run_id(suite: &str, schedule: &str, due: Timestamp) -> String {
    format!("{}-{}-{}", id_part(suite), id_part(schedule), due.strftime("%Y%m%dT%H%MZ"))
}

/// Characters of a name that an id keeps.
const KEPT: usize = 48;

/// A name as a part of a run's id, which names a folder and stands in addresses: a name of other characters than letters,
/// digits, `-`, `_` and `.` is replaced by what is left of it and a hash, so that different names stay different.
pub fn id_part(name: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && name.len() <= KEPT && !name.starts_with('.') && name.chars().all(is_plain) {
        return Cow::Borrowed(name);
    }
    // FNV-1a: the same on every machine and in every version.
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let kept: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(KEPT).collect();
    Cow::Owned(format!("{}-{:08x}", kept.trim_matches(['-', '.']), hash >> 32).trim_start_matches('-').to_owned())
}

/// The day that the data of a due time ends with: the day before, by the zone's calendar.
pub fn day_of_data(due: Timestamp, zone: &TimeZone) -> Option<Date> {
    Zoned::new(due, zone.clone()).date().yesterday().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// SV-13: down over three due times, 0, 1 or 3 are made up for.
    #[test]
    fn the_policy_says_how_many_are_made_up_for() {
        let nightly = Timetable::parse("0 3 * * *", "UTC").unwrap();
        let due = |policy: Missed| policy.due(&nightly, instant("2027-03-01T03:00Z"), instant("2027-03-04T12:00Z"));
        assert_eq!(due(Missed::Skip), []);
        assert_eq!(due(Missed::Once), [instant("2027-03-04T03:00Z")]);
        let all = ["2027-03-02T03:00Z", "2027-03-03T03:00Z", "2027-03-04T03:00Z"].map(instant);
        assert_eq!(due(Missed::All), all);
        let long = Missed::All.due(&nightly, instant("2027-01-01T00:00Z"), instant("2027-03-04T12:00Z"));
        assert_eq!((long.len(), long.last().copied()), (MAX_MADE_UP, Some(instant("2027-03-04T03:00Z"))));
    }

    /// SV-10: a name that leads elsewhere is no path in the id of a run, and different names have different ids.
    #[test]
    fn a_name_becomes_a_plain_part_of_an_id() {
        let long = "s".repeat(80);
        let names = ["../../x", "..", "a/b", "a b", "a-b", "日本", "\u{1b}[31m", "", ".hidden", &long];
        let parts: std::collections::BTreeSet<String> = names.iter().map(|name| id_part(name).into_owned()).collect();
        assert_eq!(parts.len(), names.len(), "{parts:?}");
        for part in &parts {
            assert!(part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{part}");
            assert!(part.len() <= 57 && part.starts_with(|c: char| c.is_ascii_alphanumeric()), "{part}");
        }
        assert_eq!(id_part("support-v1.2_b"), "support-v1.2_b");
        assert_eq!(id_part("../../x"), "x-0e455557");
    }

    /// SV-13: the run of a due time has one name.
    #[test]
    fn a_due_time_names_its_run_and_its_day() {
        let due = instant("2027-03-28T01:00Z");
        assert_eq!(run_id("support", "nightly", due), "support-nightly-20270328T0100Z");
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(day_of_data(due, &berlin), Some(Date::constant(2027, 3, 27)));
        // Two hours before midnight in UTC the next day has begun in Berlin.
        assert_eq!(day_of_data(instant("2027-07-01T22:30Z"), &berlin), Some(Date::constant(2027, 7, 1)));
    }
}
