//! `karat run` and `karat resume`.

use std::path::PathBuf;

use karat_app::{App, AppError, Execution, Invocation, Rescoring, RunEnd, Tape};
use karat_types::{Exit, RunStatus};

use crate::args::{FormatArg, OutputArgs, ProgressArgs, ResumeArgs, RunArgs, ScoreArgs};
use crate::commands::run_output::{execution, say_end, say_stopped};
use crate::commands::{
    CommandContext, ci::gate, everyday::plan, everyday::report, housekeeping::invalidate, invocation, people::calibrate,
};
use crate::failure::Failure;

pub fn run(context: &CommandContext<'_>, args: RunArgs) -> Result<Exit, Failure> {
    if let Some(run) = &args.invalidate_run {
        return invalidate::invalidate(context, run, &[], args.dry_run);
    }
    if args.dry_run {
        return plan::plan(context, &args.selection, &args.execution, &[], args.json);
    }
    let tape = match (args.record, args.replay) {
        (Some(file), _) => Tape::Record(file),
        (None, Some(file)) => Tape::Replay(file),
        (None, None) => Tape::None,
    };
    let mut invocation = invocation::invocation(&args.selection, &args.execution)?;
    invocation.no_cache |= tape != Tape::None;
    invocation.gates = gate::flags(&args.gates, &args.enforce)?;
    invocation.output_dir.clone_from(&args.output.output_dir);
    let loaded = context.app.load(&invocation)?;
    context.print_run_notices(&loaded.plan)?;
    report::check_output(&args.output, args.json)?;
    let execution = Execution { tape, ..execution(context, args.run_id, args.resume, args.json, args.progress)? };
    let end = context.app.run(loaded.plan, &invocation, execution)?;
    finish(context, &end, &args.output, args.json)
}

pub fn resume(context: &CommandContext<'_>, args: ResumeArgs) -> Result<Exit, Failure> {
    later(context, args, App::resume)
}

pub fn retry(context: &CommandContext<'_>, args: ResumeArgs) -> Result<Exit, Failure> {
    later(context, args, App::retry)
}

/// Goes on with a stored run in one of two ways, and writes its report where it was to be written when it began.
fn later(
    context: &CommandContext<'_>,
    mut args: ResumeArgs,
    go_on: impl FnOnce(&App, &str, &Invocation, Execution) -> Result<RunEnd, AppError>,
) -> Result<Exit, Failure> {
    let settings = invocation::execution(&args.execution)?;
    if args.output.output_dir.is_none() {
        args.output.output_dir = context.app.output_dir(&args.run)?;
    }
    report::check_output(&args.output, args.json)?;
    let execution = continued(context, args.record, args.json, args.progress)?;
    let end = go_on(&context.app, &args.run, &settings, execution)?;
    finish_later(context, &end, &args.output, args.json)
}

pub fn score(context: &CommandContext<'_>, args: ScoreArgs) -> Result<Exit, Failure> {
    let execution_settings = invocation::execution(&args.execution)?;
    let rescoring = Rescoring { suite: args.suite, judges: args.judges, execution: execution_settings };
    report::check_output(&args.output, false)?;
    let end =
        context.app.score(&args.run, &rescoring, execution(context, args.run_id, false, false, args.progress)?)?;
    finish(context, &end, &args.output, false)
}

/// How a stored run is gone on with.
fn continued(
    context: &CommandContext<'_>,
    record: Option<PathBuf>,
    json: bool,
    progress: ProgressArgs,
) -> Result<Execution, Failure> {
    Ok(Execution { tape: record.map_or(Tape::None, Tape::Record), ..execution(context, None, true, json, progress)? })
}

/// Writes the rows or the report of a run; gives its exit code and files.
fn written(
    context: &CommandContext<'_>,
    end: &RunEnd,
    output: &OutputArgs,
    json: bool,
) -> Result<(Exit, Vec<PathBuf>), Failure> {
    match report::rows(context, &end.run, output)? {
        Some(exit) => Ok((exit, Vec::new())),
        None => report::write(context, &end.run, output, false, json),
    }
}

/// Ends a run that was gone on with: a round of calibration as `karat calibrate` does, unless a report of it is asked for.
fn finish_later(context: &CommandContext<'_>, end: &RunEnd, output: &OutputArgs, json: bool) -> Result<Exit, Failure> {
    if !context.app.is_round(&end.run)? {
        return finish(context, end, output, json);
    }
    let round_has = |form: &FormatArg| matches!(form, FormatArg::Md | FormatArg::Json | FormatArg::Both);
    if json || !output.formats().iter().all(round_has) {
        return Ok(finish(context, end, output, json)?.worst(calibrate::verdict(context, end)?));
    }
    calibrate::finish(context, end, output.output_dir.as_deref(), &[])
}

pub fn finish(context: &CommandContext<'_>, end: &RunEnd, output: &OutputArgs, json: bool) -> Result<Exit, Failure> {
    say_end(context, end);
    let (summary, files) = match end.status {
        RunStatus::Finished => written(context, end, output, json)?,
        // Stopped before its first cell.
        _ if context.app.is_empty(&end.run)? => (Exit::Pass, Vec::new()),
        // That it was stopped is what counts, whatever becomes of its report.
        _ => written(context, end, output, json).unwrap_or_else(|failure| {
            context.printer.failure(&failure);
            (Exit::Pass, Vec::new())
        }),
    };
    say_stopped(context, end);
    let exit = end.exit().worst(summary);
    if json {
        let line = serde_json::json!({ "event": "end", "run": end.run, "exit": exit.code(), "files": files });
        context.printer.data(&line.to_string())?;
    }
    Ok(exit)
}
