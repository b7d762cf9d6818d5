//! Parts that all commands that run cells share: progress, Ctrl-C, and the lines at the end.

use karat_app::{CallRecording, Execution, RunEnd, Stop, count_noun, usd};
use karat_types::RunStatus;

use super::CommandContext;
use crate::args::ProgressArgs;
use crate::events;
use crate::progress::{self, Detail};

/// Returns the execution of a new run: Ctrl-C stops it, and its events are shown.
pub fn execution(context: &CommandContext<'_>, json: bool, shown: ProgressArgs) -> Execution {
    let stop = Stop::new();
    crate::signals::watch(stop.clone(), *context.printer);
    let detail = match (context.quiet, shown.verbose) {
        (true, _) => Detail::Quiet,
        (false, false) => Detail::Summary,
        (false, true) => Detail::Cells,
    };
    let messages = progress::observer(*context.printer, detail);
    let observer = if json { events::observer(*context.printer, messages) } else { messages };
    Execution { run_id: None, resume: false, observer, stop, tape: CallRecording::None }
}

/// Prints the calls of a run and what they cost.
pub fn print_bill(context: &CommandContext<'_>, end: &RunEnd) {
    if let Some(notice) = &end.notice {
        context.printer.say(notice);
    }
    if !context.quiet {
        context.printer.say(&format!("run {}: {}", end.run, bill(end)));
    }
}

fn bill(end: &RunEnd) -> String {
    let paid = usd(Some(end.spent.usd()));
    if end.simulated && end.calls > 0 && end.unpriced == 0 {
        let price = if end.spent.0 > 0 { format!(" ({paid} at the scripted prices)") } else { String::new() };
        return format!("{}; nothing was billed{price}", count_noun(end.calls, "simulated call"));
    }
    let requests =
        if end.requests > end.calls { format!(", {}", count_noun(end.requests, "request")) } else { String::new() };
    let unpriced = match end.unpriced {
        0 => String::new(),
        calls => format!(", and {} of unknown cost", count_noun(calls, "call")),
    };
    format!("{} made{requests}, {paid} paid{unpriced}", count_noun(end.calls, "call"))
}

/// Prints why a run was stopped and how it continues, or by how much it exceeded its budget.
pub fn print_stop(context: &CommandContext<'_>, end: &RunEnd) {
    if end.status != RunStatus::Finished {
        let interrupted = || format!("interrupted: continue with `karat {} {}`", end.command, end.run);
        let reason = end.stopped.clone().or_else(|| end.refused.clone()).unwrap_or_else(interrupted);
        context.printer.say(&format!("{reason}. All paid results are kept"));
    }
    if let Some(overspent) = &end.overspent {
        context.printer.say(overspent);
    }
}
