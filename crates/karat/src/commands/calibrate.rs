//! `karat calibrate`.

use karat_app::{Calibrating, Rounds};
use karat_types::{Exit, RunStatus};

use super::run::execution;
use super::{Edge, selection, texts};
use crate::args::{CalibrateArgs, TextFormArg};
use crate::failure::Failure;

/// A judge that does not agree enough is a failed check (exit 2).
pub fn calibrate(edge: &Edge<'_>, args: &CalibrateArgs) -> Result<Exit, Failure> {
    let invocation = selection::invocation(&args.suite, &args.execution)?;
    if args.rounds {
        let rounds = edge.app.rounds(&invocation)?;
        return write(edge, args, &rounds);
    }
    let asked = Calibrating {
        scorer: args.scorer.clone(),
        thresholds: args.threshold.iter().map(|text| threshold(text)).collect::<Result<_, _>>()?,
        reason: args.reason.clone(),
    };
    let plan = edge.app.calibration(&invocation, &asked)?;
    edge.notices(&plan.0);
    let end = edge.app.calibrate(plan, &invocation, execution(edge, args.run_id.clone(), false, false)?)?;
    if !edge.quiet {
        edge.printer.say(&format!("run {}: {} calls made, ${:.6} paid", end.run, end.calls, end.spent.usd()));
    }
    if end.status != RunStatus::Finished {
        edge.printer.say("the round was stopped before every set was graded; calibrate again");
        return Ok(end.exit());
    }
    let round = edge.app.round(&end.run)?;
    let written = write(edge, args, &round)?;
    Ok(end.exit().worst(written).worst(if round.passed() { Exit::Pass } else { Exit::GateFailed }))
}

fn write(edge: &Edge<'_>, args: &CalibrateArgs, rounds: &Rounds) -> Result<Exit, Failure> {
    texts::write(edge, "calibration", args.output_dir.as_deref(), &args.format, &|form| match form {
        None => Ok(rounds.terminal()),
        Some(TextFormArg::Md) => Ok(rounds.markdown()),
        Some(TextFormArg::Json) => Ok(rounds.json()?),
    })?;
    Ok(Exit::Pass)
}

/// `0.6`, or `accuracy=0.6`.
fn threshold(text: &str) -> Result<(Option<String>, f64), Failure> {
    let (dimension, number) = match text.split_once('=') {
        Some((dimension, number)) => (Some(dimension.trim().to_owned()), number),
        None => (None, text),
    };
    match super::number(number) {
        Some(threshold) if (0.0..1.0).contains(&threshold) => Ok((dimension, threshold)),
        _ => Err(Failure::Edge(format!(
            "`--threshold {text}` is no agreement from 0 up to 1. Write `--threshold 0.6` or `--threshold accuracy=0.6`"
        ))),
    }
}
