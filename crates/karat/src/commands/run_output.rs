//! What every command that makes cells shares: who watches and stops it, and what is said when it ends.

use karat_app::{Execution, RunEnd, Stop, Tape, counted};
use karat_types::RunStatus;

use crate::args::ProgressArgs;
use crate::commands::{CommandContext, everyday::plan};
use crate::events;
use crate::failure::Failure;
use crate::progress::{self, Detail};

pub fn execution(
    context: &CommandContext<'_>,
    run_id: Option<String>,
    resume: bool,
    json: bool,
    shown: ProgressArgs,
) -> Result<Execution, Failure> {
    let stop = Stop::new();
    crate::signals::watch(stop.clone(), *context.printer);
    let detail = match (context.quiet, shown.verbose) {
        (true, _) => Detail::Quiet,
        (false, false) => Detail::Summary,
        (false, true) => Detail::Cells,
    };
    let people = progress::observer(*context.printer, detail);
    let observer = if json { events::observer(*context.printer, people) } else { people };
    Ok(Execution { run_id, resume, observer, stop, tape: Tape::None })
}

/// What became of a run: calls and money, and what the user should know.
pub fn say_end(context: &CommandContext<'_>, end: &RunEnd) {
    if let Some(notice) = &end.notice {
        context.printer.say(notice);
    }
    if !context.quiet {
        context.printer.say(&format!("run {}: {}", end.run, bill(end)));
    }
}

/// Returns the calls of a run and what they cost.
fn bill(end: &RunEnd) -> String {
    let usd = usd(end.spent.usd());
    if end.simulated && end.calls > 0 {
        let price = if end.spent.0 > 0 { format!(" ({usd} at the scripted prices)") } else { String::new() };
        return format!("{}; nothing was billed{price}", counted(end.calls, "simulated call"));
    }
    let requests =
        if end.requests > end.calls { format!(", {}", counted(end.requests, "request")) } else { String::new() };
    format!("{} made{requests}, {usd} paid", counted(end.calls, "call"))
}

/// Why a run was stopped, and how it is gone on with, or by how much it went beyond its budget.
pub fn say_stopped(context: &CommandContext<'_>, end: &RunEnd) {
    if end.status != RunStatus::Finished {
        let interrupted = || format!("interrupted: go on with `karat {} {}`", end.command, end.run);
        let why = end.stopped.clone().unwrap_or_else(interrupted);
        context.printer.say(&format!("{why}. Everything that was paid is kept"));
    }
    if let Some(overspent) = &end.overspent {
        context.printer.say(overspent);
    }
}
