//! All runs end, nothing is paid twice, and reports are those of undisturbed runs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{SoakCheck, kept_unless};
use crate::soak::Soak;
use crate::soak::day::{Day, parse_time};
use crate::soak::faults::STEP_MINUTES;
use crate::soak::suites::{self, CONCURRENCY, MINUTE};
use crate::soak::world::World;

/// Runs that a server executes at one time.
const MAX_RUNS: usize = 2;

/// A run that can be repeated without disturbance.
struct Repeatable {
    id: String,
    suite: &'static str,
    /// Its samples; all if empty.
    samples: Vec<String>,
    as_of: String,
    /// Minutes from the nearest fault.
    from_fault: i64,
}

pub(super) fn check(soak: &Soak, day: &Day) -> Result<Vec<SoakCheck>, String> {
    let ended = runs_end(day)?;
    let paid = payments(day)?;
    let same = reports(soak, day)?;
    Ok(vec![ended, paid, same])
}

fn list_runs(world: &World) -> Result<BTreeMap<String, Value>, String> {
    let runs = world.json(&["ls", "--json", "-n", "1000000"])?;
    Ok(runs.into_iter().map(|run| (run["id"].as_str().unwrap_or_default().to_owned(), run)).collect())
}

/// Each run that was due or asked for is finished, or `karat resume` finishes it.
fn runs_end(day: &Day) -> Result<SoakCheck, String> {
    let known = list_runs(&day.world)?;
    let mut wanted: Vec<String> =
        day.starter.runs.iter().filter(|run| run.is_accepted).map(|run| run.id.clone()).collect();
    for suite in ["support", "idle", "live", "night"] {
        let done = day.history(suite)?.into_iter().filter(|it| it["state"] == "done");
        wanted.extend(done.filter_map(|it| it["run"].as_str().map(str::to_owned)));
    }
    let (mut finished, mut resumed, mut told, mut problems) = (0, 0, 0, Vec::new());
    for id in &wanted {
        let Some(run) = known.get(id) else {
            if day.told_failed.contains(id) {
                told += 1;
                continue;
            }
            problems.push(format!("{id} is not stored"));
            continue;
        };
        if run["status"] == "finished" {
            finished += 1;
            continue;
        }
        match day.world.make_run(&["resume", id]) {
            Ok(()) => resumed += 1,
            Err(error) => problems.push(format!("{id} is {}: {error}", run["status"])),
        }
    }
    let refused = day.starter.runs.iter().filter(|run| !run.is_accepted).count();
    if refused > 0 {
        problems.push(format!("{refused} runs that were asked for were never accepted: {:?}", day.starter.refused));
    }
    let figures = format!(
        "{finished} runs finished by themselves, {resumed} by `karat resume`, {told} could not start and say so"
    );
    Ok(kept_unless("each run is finished or can be", figures, &problems))
}

/// No request has two complete replies, but those that were in flight when the server was killed.
fn payments(day: &Day) -> Result<SoakCheck, String> {
    let calls = day.models.figures();
    day.models.end_log();
    let mut problems = Vec::new();
    if calls.answered == 0 {
        problems.push("no call was made".to_owned());
    }
    if calls.unexplained > 0 {
        problems.push(format!("{} calls were paid twice", calls.unexplained));
    }
    if calls.most_behind_a_kill > MAX_RUNS * CONCURRENCY {
        problems.push(format!("{} calls were repeated after one kill", calls.most_behind_a_kill));
    }
    let (mut known, stored) = (0, list_runs(&day.world)?);
    if calls.behind_kills > 0 {
        let near = |run: &&Repeatable| run.from_fault <= 12 * STEP_MINUTES && stored.contains_key(&run.id);
        for run in repeatable(day)?.iter().filter(near) {
            let report = day.world.succeed(&["report", &run.id, "--format", "json", "-o", "-"])?;
            known += calls_under_way(&report);
        }
        if known < calls.behind_kills {
            problems.push(format!("the ledger knows of {known} calls that were cut off"));
        }
    }
    let figures = format!(
        "{} paid calls, {} of them repeated because of {} kills (the ledger counts up to {known}), {} faults retried",
        calls.answered, calls.behind_kills, day.kills, calls.refused
    );
    Ok(kept_unless("nothing is paid twice", figures, &problems))
}

/// The number of calls that a report says were under way when its run was cut off.
fn calls_under_way(report: &str) -> usize {
    let numbers = report.split("Up to ").skip(1).filter_map(|rest| {
        let (number, after) = rest.split_once(' ')?;
        let is_about_calls = after.starts_with("call was under way") || after.starts_with("calls were under way");
        number.parse::<usize>().ok().filter(|_| is_about_calls)
    });
    numbers.sum()
}

/// Runs with calls of models, those nearest to a fault first.
fn repeatable(day: &Day) -> Result<Vec<Repeatable>, String> {
    let from_fault = |time: i64| {
        let distances = day.disturbed.iter().map(|fault| (time - fault).abs() / MINUTE);
        distances.min().unwrap_or(i64::MAX)
    };
    let mut runs = Vec::new();
    for entry in day.history("support")?.iter().filter(|it| it["state"] == "done") {
        let (Some(id), Some(due)) = (entry["run"].as_str(), entry["due"].as_str().and_then(parse_time)) else {
            continue;
        };
        let day_before = jiff::Timestamp::from_millisecond(due - 24 * 60 * MINUTE).unwrap_or_default();
        let as_of = day_before.to_string().chars().take(10).collect();
        let from_fault = from_fault(due);
        runs.push(Repeatable { id: id.to_owned(), suite: "support", samples: Vec::new(), as_of, from_fault });
    }
    for run in day.starter.runs.iter().filter(|run| run.is_accepted) {
        let time = day.begin + i64::try_from(run.step).unwrap_or_default() * STEP_MINUTES * MINUTE;
        let (samples, as_of) = (run.samples.clone(), String::new());
        let from_fault = from_fault(time);
        runs.push(Repeatable { id: run.id.clone(), suite: "adhoc", samples, as_of, from_fault });
    }
    runs.sort_by_key(|run| run.from_fault);
    Ok(runs)
}

/// Canonical reports are byte for byte those of runs in a folder of their own, where nothing went wrong. Cells that failed
/// in an outage are made again first.
fn reports(soak: &Soak, day: &Day) -> Result<SoakCheck, String> {
    let known = list_runs(&day.world)?;
    let mut runs = repeatable(day)?;
    runs.retain(|run| known.contains_key(&run.id));
    // Most of those near a fault, and some from all over the day.
    let near = (soak.compared * 2 / 3).min(runs.len());
    let others = runs.split_off(near);
    let every = (others.len() / (soak.compared - soak.compared * 2 / 3).max(1)).max(1);
    runs.extend(others.into_iter().step_by(every));
    let quiet = World::new(&soak.program, day.receiver.url(), &suites::files(&day.models.base_url()))?;
    quiet.set_time(day.end)?;
    let (mut problems, mut retried, mut made) = (Vec::new(), 0, BTreeSet::new());
    for run in &runs {
        let mut own = canonical(&day.world, &run.id)?;
        // A clock that is set back says nothing about which data a run has read. Its samples do.
        let version = day.versions.iter().map(|(_, version)| *version);
        let version = version.rev().find(|version| own.contains(&format!("\"v{version}-0\""))).unwrap_or_default();
        if known.get(&run.id).is_some_and(|it| it["errors"].as_u64().unwrap_or_default() > 0) {
            if run.suite == "support" {
                // A run continues with the data that it has read only.
                day.world.write("support/data.jsonl", &suites::support_data(version))?;
            }
            retried += 1;
            day.world.make_run(&["retry", &run.id])?;
            own = canonical(&day.world, &run.id)?;
        }
        let reference = match run.suite {
            "support" => format!("reference-{version}-{}", run.as_of),
            _ => format!("reference-{}", run.id),
        };
        if made.insert(reference.clone()) {
            make_reference(&quiet, run, version, &reference)?;
        }
        if own != canonical(&quiet, &reference)? {
            problems.push(format!("{} differs from an undisturbed run", run.id));
        }
    }
    let figures = format!(
        "{} canonical reports are those of {} undisturbed runs, {retried} after `karat retry`",
        runs.len(),
        made.len()
    );
    if runs.is_empty() {
        problems.push("no run was compared".to_owned());
    }
    Ok(kept_unless("reports are those of undisturbed runs", figures, &problems))
}

fn make_reference(quiet: &World, run: &Repeatable, version: usize, id: &str) -> Result<(), String> {
    let suite = format!("./{}", run.suite);
    let mut arguments = vec!["run", &suite, "--run-id", id, "--yes"];
    if run.suite == "support" {
        quiet.write("support/data.jsonl", &suites::support_data(version))?;
        arguments.extend(["--as-of", &run.as_of]);
    }
    run.samples.iter().for_each(|sample| arguments.extend(["--sample", sample]));
    quiet.make_run(&arguments)
}

fn canonical(world: &World, run: &str) -> Result<String, String> {
    world.succeed(&["report", run, "--canonical", "--format", "json", "-o", "-"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_were_cut_off_are_counted() {
        let report = r#"{"notes":["Up to 3 calls were under way when the run was cut off: …","Up to 1 call was under way when"]}"#;
        assert_eq!(calls_under_way(report), 4);
        assert_eq!(calls_under_way(r#"{"note":"Up to 7 rows"}"#), 0);
    }
}
