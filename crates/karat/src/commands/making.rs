//! What every command that makes cells shares: who watches and stops it, and what is said when it ends.

use karat_app::{Execution, RunEnd, Stop, Tape, counted};
use karat_types::RunStatus;

use super::{Edge, plan};
use crate::failure::Failure;
use crate::{events, progress};

pub(super) fn execution(
    edge: &Edge<'_>,
    run_id: Option<String>,
    resume: bool,
    json: bool,
) -> Result<Execution, Failure> {
    let stop = Stop::new();
    crate::signals::watch(stop.clone(), *edge.printer);
    let people = progress::observer(*edge.printer, edge.quiet);
    let observer = if json { events::observer(*edge.printer, people) } else { people };
    Ok(Execution { run_id, resume, observer, stop, tape: Tape::None })
}

/// What became of a run: calls and money, and what the user should know.
pub(super) fn say_end(edge: &Edge<'_>, end: &RunEnd) {
    if let Some(notice) = &end.notice {
        edge.printer.say(notice);
    }
    if !edge.quiet {
        let calls = counted(end.calls, "call");
        let requests =
            if end.requests > end.calls { format!(", {}", counted(end.requests, "request")) } else { String::new() };
        let unpriced = match end.unpriced {
            0 => String::new(),
            calls => format!(", and {} of unknown cost", counted(calls, "call")),
        };
        let paid = plan::usd(end.spent.usd());
        edge.printer.say(&format!("run {}: {calls} made{requests}, {paid} paid{unpriced}", end.run));
    }
}

/// Why a run was stopped, and how it is gone on with, or by how much it went beyond its budget.
pub(super) fn say_stopped(edge: &Edge<'_>, end: &RunEnd) {
    if end.status != RunStatus::Finished {
        let interrupted = || format!("interrupted: go on with `karat {} {}`", end.command, end.run);
        let why = end.stopped.clone().unwrap_or_else(interrupted);
        edge.printer.say(&format!("{why}. Everything that was paid is kept"));
    }
    if let Some(overspent) = &end.overspent {
        edge.printer.say(overspent);
    }
}
