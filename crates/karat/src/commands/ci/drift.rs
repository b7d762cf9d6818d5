//! `karat drift`.

use std::collections::BTreeSet;

use karat_app::{DriftRequest, DriftResult, DriftStatus, Method, SystemDrifts};
use karat_types::Exit;

use crate::args::{DriftArgs, MethodArg};
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

pub fn drift(context: &CommandContext<'_>, args: &DriftArgs) -> Result<Exit, Failure> {
    let invocation = invocation::from_params(&args.suite, &args.param)?;
    let drifting = DriftRequest {
        as_of: args.as_of.clone(),
        id: args.id.clone(),
        method: args.method.map(method),
        metric: args.metric.clone(),
        short: args.short_window,
        long: args.long_window,
        z: args.z_thresh,
        streak: args.streak,
        choice: invocation::rows_in_range(&args.range),
        quiet_years: true,
    };
    if let Some(shift) = args.replay {
        let replayed = context.app.analysis().replay_drift(&invocation, &drifting, shift)?;
        context.print_json(&replayed)?;
        let warnings: BTreeSet<&String> = replayed.iter().filter_map(|it| it.replayed.warning.as_ref()).collect();
        context.print_warnings(warnings);
        return Ok(Exit::Pass);
    }
    let drifts = match &args.close {
        Some(reason) => context.app.analysis().close_incident(&invocation, &drifting, reason)?,
        None => context.app.analysis().drift(&invocation, &drifting)?,
    };
    context.print_json(&drifts)?;
    print_warnings(context, &drifts);
    let several = drifts.iter().count() > 1;
    for found in drifts.iter() {
        let system = found.drift.system.as_deref().filter(|_| several).map(|system| format!("{system}: "));
        let quiet = found.replay.iter().map(|quiet| format!("{}{quiet}", system.as_deref().unwrap_or_default()));
        quiet.for_each(|line| context.printer.say(&line));
    }
    Ok(if args.exit_nonzero_on_alert && drifts.is_alarming() { Exit::Drift } else { Exit::Pass })
}

/// Prints what a reader of the JSON should not overlook.
fn print_warnings(context: &CommandContext<'_>, drifts: &SystemDrifts<DriftResult>) {
    context.print_warnings(drifts.warnings());
    context.print_warnings(drifts.iter().filter_map(open_incident));
    context.print_warnings(drifts.iter().filter_map(late_judgments));
}

/// Returns a warning about an incident that is open without an alert.
fn open_incident(DriftResult { drift, .. }: &DriftResult) -> Option<String> {
    let verdict = match drift.status {
        DriftStatus::Ok => "no alert",
        DriftStatus::NoData => "no data",
        DriftStatus::Alert => return None,
    };
    let incident = drift.open_incident()?;
    let (low, high) = incident.band;
    Some(format!(
        "{verdict} on {}, but the incident of {} from {} is still open. It closes when the short median is back in {low:.2} \
         to {high:.2}, or when `--close REASON` accepts the new level",
        drift.as_of,
        drift.system.as_deref().unwrap_or("the suite"),
        incident.opened
    ))
}

/// Returns a warning about judgments that arrived after an alert.
fn late_judgments(drifted: &DriftResult) -> Option<String> {
    let moved = if drifted.moved.is_empty() { "nothing".to_owned() } else { drifted.moved.join(", ") };
    (!drifted.late.is_empty()).then(|| {
        format!(
            "judgments of {} arrived after the alert of {} was raised or its incident was closed, and do not change it. They \
             would have changed: {moved}",
            drifted.late.join(", "),
            drifted.drift.system.as_deref().unwrap_or("the suite")
        )
    })
}

fn method(arg: MethodArg) -> Method {
    match arg {
        MethodArg::MedianMad => Method::MedianMad,
        MethodArg::Cusum => Method::Cusum,
        MethodArg::EDetector => Method::EDetector,
    }
}
