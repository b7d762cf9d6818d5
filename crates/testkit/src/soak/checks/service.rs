//! Traces, pages, memory, files, the size of the store, the log.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{SoakCheck, kept_unless};
use crate::soak::day::Day;
use crate::soak::error_of;
use crate::soak::resources::Resources;
use crate::soak::suites::{HOOK_PATH, HOOK_SECRET, MODEL_KEY};

/// Steps after which a process has warmed up.
const WARM: usize = 12;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// The faults that hit something: without them the rest would show little.
pub(super) fn faults(day: &Day) -> SoakCheck {
    let calls = day.models.figures();
    let mut problems = Vec::new();
    let counts = [
        ("kills", day.kills),
        ("faults of the provider", calls.refused),
        ("faults of the receiver", day.receiver.count_refused()),
        ("jumps of the clock", day.jumps),
    ];
    problems.extend(counts.iter().filter(|(_, count)| *count == 0).map(|(name, _)| format!("there were no {name}")));
    problems.extend(day.crashes.iter().map(|crash| format!("the server ended by itself: {crash}")));
    if day.exit != Some(0) {
        problems.push(format!("the server ended with {:?} at SIGTERM", day.exit));
    }
    let disk = match day.world.disk() {
        Some(_) if day.full_steps == 0 => {
            problems.push("the disk was never full".to_owned());
            String::new()
        }
        Some(_) => format!("{} steps with a full disk", day.full_steps),
        None => "NO FULL DISK: no disk can be mounted, which needs root on Linux".to_owned(),
    };
    let figures = counts.map(|(name, count)| format!("{count} {name}")).join(", ");
    kept_unless("the faults hit", format!("{figures}, {disk}"), &problems)
}

pub(super) fn check(day: &Day) -> Result<Vec<SoakCheck>, String> {
    Ok(vec![traces(day)?, pages(day), process(day), store(day)?, secrets(day)?])
}

/// A row of which the server said that it has it is in the files, once.
fn traces(day: &Day) -> Result<SoakCheck, String> {
    let mut stored = Vec::new();
    for file in fs::read_dir(day.world.home().join("traces/app")).map_err(error_of("reading traces"))?.flatten() {
        if file.path().extension().is_some_and(|extension| extension == "jsonl") {
            let text = fs::read_to_string(file.path()).map_err(error_of("reading traces"))?;
            let id = |line: &str| serde_json::from_str::<Value>(line).ok()?["id"].as_str().map(str::to_owned);
            stored.extend(text.lines().filter_map(id));
        }
    }
    let ids: BTreeSet<&String> = stored.iter().collect();
    let mut problems: Vec<String> =
        day.application.taken.iter().filter(|id| !ids.contains(id)).map(|id| format!("{id} is lost")).collect();
    if ids.len() != stored.len() {
        problems.push(format!("{} rows have the id of another", stored.len() - ids.len()));
    }
    if stored.is_empty() {
        problems.push("no row arrived".to_owned());
    }
    let figures = format!(
        "{} acknowledged, {} stored, refused {:?}",
        day.application.taken.len(),
        stored.len(),
        day.application.refused
    );
    Ok(kept_unless("no acknowledged trace is lost", figures, &problems))
}

fn pages(day: &Day) -> SoakCheck {
    let pages = &day.pages;
    let mut problems = pages.bad.clone();
    if pages.read == 0 {
        problems.push("no page was read".to_owned());
    }
    let figures = format!("{} pages, the slowest in {} ms", pages.read, pages.slowest.as_millis());
    kept_unless("pages are shown", figures, &problems)
}

/// One process does not grow: its first look after the warm-up against its last one.
fn process(day: &Day) -> SoakCheck {
    let last = day.looks.last().copied().unwrap_or_default();
    // The looks of the last process.
    let start = day.looks.iter().rposition(|look| look.age < WARM).map_or(0, |at| at + 1);
    let start = start.min(day.looks.len().saturating_sub(1));
    let first = day.looks.get(start).copied().unwrap_or_default();
    let hours = |look: &Resources| look.at as f64 / 100.0;
    let mut problems = Vec::new();
    if last.memory_kib == 0 {
        problems.push("nothing was measured".to_owned());
    }
    if last.memory_kib > first.memory_kib * 5 / 4 + 24 * KIB {
        problems.push("memory grows".to_owned());
    }
    if last.open_files > first.open_files + 16 {
        problems.push("open files grow".to_owned());
    }
    if last.threads > first.threads + 8 {
        problems.push("threads grow".to_owned());
    }
    let figures = format!(
        "at {:.1} h {} MiB, {} files, {} threads; at {:.1} h {} MiB, {} files, {} threads",
        hours(&first),
        first.memory_kib / KIB,
        first.open_files,
        first.threads,
        hours(&last),
        last.memory_kib / KIB,
        last.open_files,
        last.threads
    );
    kept_unless("memory, files and threads are bounded", figures, &problems)
}

/// The store grows with due times, by the same at the end as at the beginning, and its log does not grow.
fn store(day: &Day) -> Result<SoakCheck, String> {
    let mut problems = Vec::new();
    let (first, last) = (day.looks.first().copied().unwrap_or_default(), day.looks.last().copied().unwrap_or_default());
    let middle = day.looks.get(day.looks.len() / 2).copied().unwrap_or_default();
    let rate = |from: &Resources, to: &Resources| {
        let due = u64::try_from(to.due.saturating_sub(from.due)).unwrap_or_default().max(1);
        to.store.saturating_sub(from.store) / due
    };
    let (early, late) = (rate(&first, &middle), rate(&middle, &last));
    // What a busy machine did not do in the first half of a short soak comes in the second.
    let is_small = last.store < 2 * MIB;
    if !is_small && late > early * 2 + 16 * KIB {
        problems.push("the store grows ever faster".to_owned());
    }
    let log = day.looks.iter().map(|look| look.log).max().unwrap_or_default();
    if log > 24 * MIB {
        problems.push("the write-ahead log grows".to_owned());
    }
    let checked = day.world.karat(&["store", "check"])?;
    if !checked.status.success() {
        problems.push(String::from_utf8_lossy(&checked.stdout).trim().to_owned());
    }
    let figures = format!(
        "{:.1} MiB after {} due times, {:.1} KiB each in the first half, {:.1} in the second; log at most {:.1} MiB",
        last.store as f64 / MIB as f64,
        last.due,
        early as f64 / KIB as f64,
        late as f64 / KIB as f64,
        log as f64 / MIB as f64
    );
    Ok(kept_unless("the store is whole and bounded", figures, &problems))
}

/// No key, address or token is in the log or below the state folder.
fn secrets(day: &Day) -> Result<SoakCheck, String> {
    let mut secrets = vec![MODEL_KEY, HOOK_PATH, HOOK_SECRET.trim_start_matches("whsec_")];
    // The id of a token is not a secret.
    secrets.extend(day.tokens.iter().filter_map(|token| token.get(15..)));
    let (mut problems, mut bytes) = (Vec::new(), 0);
    let log = fs::read(day.world.log()).map_err(error_of("reading the log"))?;
    search("the log", &log, &secrets, &mut problems);
    bytes += log.len();
    search_folder(&day.world.root(), &secrets, &mut problems, &mut bytes)?;
    if log.is_empty() {
        problems.push("the log is empty".to_owned());
    }
    let figures =
        format!("{} secrets are nowhere in {:.1} MiB of log and state", secrets.len(), bytes as f64 / MIB as f64);
    Ok(kept_unless("nothing secret is written", figures, &problems))
}

fn search_folder(folder: &Path, secrets: &[&str], problems: &mut Vec<String>, bytes: &mut usize) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(error_of("searching for secrets"))?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            search_folder(&path, secrets, problems, bytes)?;
        } else if let Ok(content) = fs::read(&path) {
            search(&path.display().to_string(), &content, secrets, problems);
            *bytes += content.len();
        }
    }
    Ok(())
}

fn search(name: &str, content: &[u8], secrets: &[&str], problems: &mut Vec<String>) {
    let holds = |secret: &str| memchr::memmem::find(content, secret.as_bytes()).is_some();
    let found = secrets.iter().filter(|secret| holds(secret)).count();
    if found > 0 {
        problems.push(format!("{name} holds {found} secrets"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found() {
        let mut problems = Vec::new();
        search("a", b"nothing", &[MODEL_KEY], &mut problems);
        assert_eq!(problems, [""; 0]);
        search("b", format!("x{MODEL_KEY}y").as_bytes(), &[MODEL_KEY], &mut problems);
        assert_eq!(problems, ["b holds 1 secrets"]);
    }
}
