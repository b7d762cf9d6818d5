//! The rules of a soak, each of which can be broken.
//!
//! - `schedules`: each due time ran once, or it is stored why it did not.
//! - `runs`: all runs end, nothing is paid twice, and reports are those of undisturbed runs.
//! - `alerts`: each message of each incident arrives, under one id.
//! - `service`: traces, pages, memory, files, the size of the store, the log.

mod alerts;
mod runs;
mod schedules;
mod service;

use super::Soak;
use super::day::Day;
use super::summary::{SoakCheck, SoakSummary};

/// Applies all rules.
pub(crate) fn check(soak: &Soak, day: &Day) -> Result<SoakSummary, String> {
    let mut checks = vec![service::faults(day)];
    checks.extend(schedules::check(day)?);
    checks.extend(runs::check(soak, day)?);
    checks.extend(alerts::check(day)?);
    checks.extend(service::check(day)?);
    let title = format!(
        "{} hours of `karat serve` in {} steps, seed {}: {} starts, {} kills, {} outages of the provider, {} steps with a full disk, {} jumps of the clock",
        soak.hours, day.steps, soak.seed, day.starts, day.kills, day.outages, day.full_steps, day.jumps
    );
    Ok(SoakSummary { title, checks })
}

/// A check with its figures, broken by each problem.
fn kept_unless(name: &'static str, figures: String, problems: &[String]) -> SoakCheck {
    let is_kept = problems.is_empty();
    let named: Vec<&str> = problems.iter().take(5).map(String::as_str).collect();
    let found = if is_kept { figures } else { format!("{figures}; {} problems: {}", problems.len(), named.join("; ")) };
    SoakCheck { name, found, is_kept }
}
