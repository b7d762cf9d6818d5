//! `karat drift`.

use std::collections::BTreeSet;

use karat_app::{DriftStatus, Drifted, Drifting, Invocation, Method, RowFilter, SystemDrifts};
use karat_types::Exit;

use super::{Edge, selection};
use crate::args::{DriftArgs, JudgedArgs, MethodArg, RowArgs};
use crate::failure::Failure;

pub fn drift(edge: &Edge<'_>, args: &DriftArgs) -> Result<Exit, Failure> {
    let params = selection::pairs("-p", &args.param)?;
    let invocation = Invocation { suite: args.suite.clone(), params, ..Invocation::default() };
    let asked = Drifting {
        as_of: args.as_of.clone(),
        id: args.id.clone(),
        method: args.method.map(method),
        metric: args.metric.clone(),
        short: args.short_window,
        long: args.long_window,
        z: args.z_thresh,
        streak: args.streak,
        choice: choice(&args.rows),
    };
    if let Some(shift) = args.replay {
        let replayed = edge.app.replay_drift(&invocation, &asked, shift)?;
        edge.json(&replayed)?;
        let warnings: BTreeSet<&String> = replayed.iter().filter_map(|it| it.replayed.warning.as_ref()).collect();
        warnings.into_iter().for_each(|line| edge.printer.say(&format!("warning: {line}")));
        return Ok(Exit::Pass);
    }
    let found = match &args.close {
        Some(why) => edge.app.close_incident(&invocation, &asked, why)?,
        None => edge.app.drift(&invocation, &asked)?,
    };
    edge.json(&found)?;
    said(edge, &found);
    Ok(if args.exit_nonzero_on_alert && found.is_alarming() { Exit::Drift } else { Exit::Pass })
}

/// What people should not overlook in the JSON.
fn said(edge: &Edge<'_>, found: &SystemDrifts<Drifted>) {
    for line in found.warnings().into_iter().chain(found.iter().filter_map(open)).chain(found.iter().filter_map(moved))
    {
        edge.printer.say(&format!("warning: {line}"));
    }
}

/// An incident that outlives the alerts.
fn open(Drifted { drift, .. }: &Drifted) -> Option<String> {
    let verdict = match drift.status {
        DriftStatus::Ok => "no alert",
        DriftStatus::NoData => "no data",
        DriftStatus::Alert => return None,
    };
    let incident = drift.open_incident()?;
    let (low, high) = incident.band;
    Some(format!(
        "{verdict} on {}, and the incident of {} of {} is open: until the short median is back in {low:.2} to {high:.2}, or \
         `--close WHY` accepts the level",
        drift.as_of,
        drift.system.as_deref().unwrap_or("the suite"),
        incident.opened
    ))
}

fn moved(found: &Drifted) -> Option<String> {
    let moved = if found.moved.is_empty() { "nothing".to_owned() } else { found.moved.join(", ") };
    (!found.late.is_empty()).then(|| {
        format!(
            "judgments of {} came after the alert of {} was raised or its incident closed; it stands. They would move: {moved}",
            found.late.join(", "),
            found.drift.system.as_deref().unwrap_or("the suite")
        )
    })
}

/// The rows that are meant.
pub fn choice(rows: &RowArgs) -> RowFilter {
    let RowArgs { since, until, judged } = rows.clone();
    RowFilter { since, until, ..judged_by(&judged) }
}

/// The rows of a judge and version.
pub fn judged_by(judged: &JudgedArgs) -> RowFilter {
    let JudgedArgs { judge, prompt_version, system } = judged.clone();
    RowFilter { judge, prompt_version, system, ..RowFilter::default() }
}

fn method(arg: MethodArg) -> Method {
    match arg {
        MethodArg::MedianMad => Method::MedianMad,
        MethodArg::Cusum => Method::Cusum,
        MethodArg::Ewma => Method::Ewma,
        MethodArg::PageHinkley => Method::PageHinkley,
        MethodArg::EDetector => Method::EDetector,
    }
}
