//! `karat calibrate`.

use karat_app::{Calibrating, Rounds, RunEnd};
use karat_types::{Exit, RunStatus};

use crate::args::{CalibrateArgs, TextFormatArg};
use crate::commands::run_output::{execution, say_end, say_stopped};
use crate::commands::{CommandContext, invocation, text_output};
use crate::failure::Failure;

/// A judge that does not agree enough is a failed check (exit 2).
pub fn calibrate(context: &CommandContext<'_>, args: &CalibrateArgs) -> Result<Exit, Failure> {
    let mut invocation = invocation::of_suite(&args.suite, &args.execution)?;
    let output_dir = args.output_dir.as_deref();
    text_output::check(output_dir, &args.format)?;
    if args.rounds {
        return write(context, output_dir, &args.format, &context.app.rounds(&invocation)?);
    }
    invocation.calibrating = Some(Calibrating {
        scorer: args.scorer.clone(),
        thresholds: args.threshold.iter().map(|text| threshold(text)).collect::<Result<_, _>>()?,
        reason: args.reason.clone(),
    });
    invocation.output_dir.clone_from(&args.output_dir);
    let plan = context.app.load(&invocation)?.plan;
    context.print_notices(&plan);
    let end =
        context.app.run(plan, &invocation, execution(context, args.run_id.clone(), false, false, args.progress)?)?;
    finish(context, &end, output_dir, &args.format)
}

/// Ends a round: says what it found, or how it is gone on with.
pub fn finish(
    context: &CommandContext<'_>,
    end: &RunEnd,
    output_dir: Option<&str>,
    format: &[TextFormatArg],
) -> Result<Exit, Failure> {
    say_end(context, end);
    say_stopped(context, end);
    if end.status == RunStatus::Finished {
        write(context, output_dir, format, &context.app.round(&end.run)?)?;
    }
    Ok(end.exit().worst(verdict(context, end)?))
}

/// The exit code of a round's verdict; one that was stopped has none.
pub fn verdict(context: &CommandContext<'_>, end: &RunEnd) -> Result<Exit, Failure> {
    let passes = end.status != RunStatus::Finished || context.app.round(&end.run)?.passed();
    Ok(if passes { Exit::Pass } else { Exit::GateFailed })
}

fn write(
    context: &CommandContext<'_>,
    output_dir: Option<&str>,
    format: &[TextFormatArg],
    rounds: &Rounds,
) -> Result<Exit, Failure> {
    text_output::write(context, "calibration", output_dir, format, &|form| match form {
        None => Ok(rounds.terminal()),
        Some(TextFormatArg::Md) => Ok(rounds.markdown()),
        Some(TextFormatArg::Json) => Ok(rounds.json()?),
    })?;
    Ok(Exit::Pass)
}

/// `0.6`, or `accuracy=0.6`.
fn threshold(text: &str) -> Result<(Option<String>, f64), Failure> {
    let (dimension, number) = match text.split_once('=') {
        Some((dimension, number)) => (Some(dimension.trim().to_owned()), number),
        None => (None, text),
    };
    match crate::commands::values::number(number) {
        Some(threshold) if (0.0..1.0).contains(&threshold) => Ok((dimension, threshold)),
        _ => Err(Failure::Message(format!(
            "`--threshold {text}` is no agreement from 0 up to 1. Write `--threshold 0.6` or `--threshold accuracy=0.6`"
        ))),
    }
}
