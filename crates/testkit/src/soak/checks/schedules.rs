//! Each due time ran once, or it is stored why it did not.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{SoakCheck, kept_unless};
use crate::soak::day::{Day, parse_time};
use crate::soak::suites::SCHEDULES;

/// The due times of a schedule, accounted for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    ran: usize,
    failed: usize,
    skipped: usize,
    paused: usize,
    problems: Vec<String>,
}

pub(super) fn check(day: &Day) -> Result<Vec<SoakCheck>, String> {
    let (mut sum, mut due) = (Account::default(), 0);
    for schedule in &SCHEDULES {
        let owed = day.due_times(schedule.is_due, day.end);
        let mut stored = day.history(schedule.suite)?;
        stored.retain(|it| it["schedule"] == schedule.schedule);
        // At the end all schedules are paused, and the clock goes on until every message is sent.
        let is_counted = |it: &Value| it["due"].as_str().and_then(parse_time).is_none_or(|due| due <= day.end);
        stored.retain(|it| is_counted(it) || it["note"] != "the schedule was paused");
        // The suite of traces can run only while there are traces; all others always can.
        let account = account_for(&owed, &stored, schedule.suite == "live");
        due += owed.len();
        sum.ran += account.ran;
        sum.failed += account.failed;
        sum.skipped += account.skipped;
        sum.paused += account.paused;
        let named = |problem: String| format!("{}/{}: {problem}", schedule.suite, schedule.schedule);
        sum.problems.extend(account.problems.into_iter().map(named));
    }
    let figures = format!(
        "{due} due: {} ran, {} skipped and stored with the reason, {} failed and stored with the reason, {} taken up after the faults",
        sum.ran,
        sum.skipped + sum.paused,
        sum.failed,
        day.recovered
    );
    if sum.ran == 0 {
        sum.problems.push("nothing ran".to_owned());
    }
    Ok(vec![kept_unless("each due time ran once or is accounted for", figures, &sum.problems)])
}

/// Compares the due times that are owed with those that are stored.
fn account_for(owed: &[i64], stored: &[Value], may_fail: bool) -> Account {
    let mut account = Account::default();
    let mut entries: Vec<(i64, &Value)> =
        stored.iter().filter_map(|it| Some((parse_time(it["due"].as_str()?)?, it))).collect();
    entries.sort_by_key(|(due, _)| *due);
    let own: BTreeSet<i64> = entries.iter().map(|(due, _)| *due).collect();
    let mut left: BTreeSet<i64> = owed.iter().copied().collect();
    for (due, entry) in entries {
        let text = entry["due"].as_str().unwrap_or_default();
        if !left.remove(&due) {
            account.problems.push(format!("{text} is stored and was not due, or twice"));
            continue;
        }
        let note = entry["note"].as_str().unwrap_or_default();
        match entry["state"].as_str().unwrap_or_default() {
            "done" => account.ran += 1,
            "failed" if may_fail && !note.is_empty() => account.failed += 1,
            "skipped" if note.contains("paused") => {
                account.paused += 1;
                left.retain(|other| *other > due || own.contains(other));
            }
            "skipped" if !note.is_empty() => {
                // One entry speaks of all due times that passed at once.
                let passed = note.split_once(" due times passed").and_then(|(number, _)| number.parse().ok());
                let others: Vec<i64> = left
                    .range(..due)
                    .rev()
                    .filter(|it| !own.contains(it))
                    .take(passed.unwrap_or(1) - 1)
                    .copied()
                    .collect();
                account.skipped += 1 + others.len();
                others.iter().for_each(|it| {
                    left.remove(it);
                });
            }
            state => account.problems.push(format!("{text} is {state}: {note}")),
        }
    }
    let lost = left.into_iter().map(|due| {
        let time = jiff::Timestamp::from_millisecond(due).unwrap_or_default();
        format!("{time} is lost")
    });
    account.problems.extend(lost);
    account
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(minute: i64, state: &str, note: &str) -> Value {
        let due = jiff::Timestamp::from_millisecond(minute * 60_000).unwrap().to_string();
        json!({ "due": due, "state": state, "note": note })
    }

    #[test]
    fn a_due_time_that_is_nowhere_is_lost() {
        let owed: Vec<i64> = (1..=6).map(|minute| minute * 60_000).collect();
        let skips = "3 due times passed while nothing followed the schedule";
        let mut stored = vec![entry(6, "done", ""), entry(4, "skipped", skips), entry(1, "done", "")];
        let account = account_for(&owed, &stored, false);
        assert_eq!((account.ran, account.skipped), (2, 3));
        assert_eq!(account.problems, ["1970-01-01T00:05:00Z is lost"]);
        stored.push(entry(5, "skipped", "the run r was not over"));
        assert_eq!(account_for(&owed, &stored, false).problems, [""; 0]);
        stored.push(entry(5, "done", ""));
        stored.push(entry(7, "done", ""));
        assert_eq!(account_for(&owed, &stored, false).problems.len(), 2, "twice, and not due");
    }

    #[test]
    fn a_due_time_that_did_not_end_is_a_problem() {
        let stored = |state| [entry(1, state, "no rows")];
        assert_eq!(account_for(&[60_000], &stored("fired"), true).problems.len(), 1);
        assert_eq!(account_for(&[60_000], &stored("failed"), false).problems.len(), 1);
        assert_eq!(account_for(&[60_000], &stored("failed"), true).failed, 1);
    }
}
