//! `karat calibrate`.

use karat_app::{CalibrationRequest, Execution, Rounds, RunEnd};
use karat_types::{Exit, RunStatus};

use crate::args::{CalibrateArgs, TextFormatArg};
use crate::commands::run_output::{execution, print_bill, print_stop};
use crate::commands::values::number;
use crate::commands::{CommandContext, invocation, text_output};
use crate::failure::Failure;

/// Runs a round of calibration. A judge that does not agree enough is a failed check: exit code 2, and 4 where the labels
/// do not decide it.
pub fn calibrate(context: &CommandContext<'_>, args: &CalibrateArgs) -> Result<Exit, Failure> {
    let mut invocation = invocation::from_suite(&args.suite, &args.execution)?;
    let output_dir = args.output_dir.as_deref();
    text_output::check(output_dir, &args.format)?;
    if args.rounds {
        return write(context, output_dir, &args.format, &context.app.runs().rounds(&invocation)?);
    }
    invocation.calibrating = Some(CalibrationRequest {
        scorer: args.scorer.clone(),
        thresholds: args.threshold.iter().map(|text| parse_threshold(text)).collect::<Result<_, _>>()?,
        reason: args.reason.clone(),
        task: args.task.clone(),
    });
    invocation.output_dir.clone_from(&args.output_dir);
    let plan = context.app.runs().load(&invocation)?;
    context.print_notices(&plan);
    let execution = Execution { run_id: args.run_id.clone(), ..execution(context, false, args.progress) };
    let end = context.app.runs().run(plan, &invocation, execution)?;
    finish(context, &end, output_dir, &args.format)
}

/// Ends a round: prints its result, or how it continues.
pub fn finish(
    context: &CommandContext<'_>,
    end: &RunEnd,
    output_dir: Option<&str>,
    formats: &[TextFormatArg],
) -> Result<Exit, Failure> {
    print_bill(context, end);
    print_stop(context, end);
    if end.status == RunStatus::Finished {
        write(context, output_dir, formats, &context.app.runs().round(&end.run)?)?;
    }
    Ok(end.exit().worst(round_exit(context, end)?))
}

/// Returns the exit code of a round's verdict; a stopped round has none.
pub fn round_exit(context: &CommandContext<'_>, end: &RunEnd) -> Result<Exit, Failure> {
    if end.status == RunStatus::Finished { Ok(context.app.runs().round(&end.run)?.exit()) } else { Ok(Exit::Pass) }
}

fn write(
    context: &CommandContext<'_>,
    output_dir: Option<&str>,
    formats: &[TextFormatArg],
    rounds: &Rounds,
) -> Result<Exit, Failure> {
    text_output::write(context, "calibration", output_dir, formats, &|format| match format {
        None => Ok(rounds.terminal()),
        Some(TextFormatArg::Md) => Ok(rounds.markdown()),
        Some(TextFormatArg::Json) => Ok(rounds.json()?),
        Some(TextFormatArg::Html) => Ok(karat_app::html_page("Calibration", &rounds.markdown())),
    })?;
    Ok(Exit::Pass)
}

/// Parses `0.6` or `accuracy=0.6`.
fn parse_threshold(text: &str) -> Result<(Option<String>, f64), Failure> {
    let (dimension, value) = match text.split_once('=') {
        Some((dimension, value)) => (Some(dimension.trim().to_owned()), value),
        None => (None, text),
    };
    match number(value) {
        Some(threshold) if (0.0..1.0).contains(&threshold) => Ok((dimension, threshold)),
        _ => Err(Failure::Message(format!(
            "`--threshold {text}` must be an agreement from 0 to below 1. Write `--threshold 0.6` or `--threshold \
             accuracy=0.6`"
        ))),
    }
}
