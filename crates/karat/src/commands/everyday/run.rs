//! `karat run`, `resume`, `retry`, `score` and `merge`.

use std::path::PathBuf;

use karat_app::{App, AppError, CallRecording, Completeness, Execution, Invocation, MergeRequest, Rescoring, RunEnd};
use karat_types::{Exit, ReportFormat, RunStatus};

use super::{plan, report};
use crate::args::{ContinueArgs, MergeArgs, OutputArgs, ResumeArgs, RunArgs, ScoreArgs};
use crate::commands::ci::gate;
use crate::commands::housekeeping::invalidate;
use crate::commands::people::calibrate;
use crate::commands::run_output::{execution, print_bill, print_stop};
use crate::commands::server::alert::print_delivered;
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

pub fn run(context: &CommandContext<'_>, args: RunArgs) -> Result<Exit, Failure> {
    if let Some(run) = &args.invalidate_run {
        return invalidate::invalidate(context, run, &[], (args.dry_run, false));
    }
    if args.dry_run {
        return plan::plan(context, (&args.selection, &args.execution, args.shard), &[], args.json);
    }
    let tape = match (args.record, args.replay) {
        (Some(file), _) => CallRecording::Record(file),
        (None, Some(file)) => CallRecording::Replay(file),
        (None, None) => CallRecording::None,
    };
    let mut invocation = invocation::from_selection(&args.selection, &args.execution)?;
    invocation.overrides.shard = args.shard;
    invocation.overrides.no_cache |= tape != CallRecording::None;
    invocation.gates = gate::gate_flags(&args.gates, &args.enforce)?;
    invocation.output_dir.clone_from(&args.output.output_dir);
    let plan = context.app.runs().load(&invocation)?;
    context.print_run_notices(&plan)?;
    context.print_ceiling_note(&plan, &invocation);
    report::check_output(&args.output, args.json)?;
    let execution =
        Execution { tape, run_id: args.run_id, resume: args.resume, ..execution(context, args.json, args.progress) };
    let offer = if context.quiet { None } else { context.app.runs().starter_offer(&invocation, &plan) };
    let outcome = context.app.runs().run(plan, &invocation, execution);
    if args.alert {
        send_alerts(context, &invocation, outcome.as_ref())?;
    }
    let exit = finish(context, &outcome?, &args.output, args.json)?;
    offer.iter().for_each(|offer| context.printer.say(offer));
    Ok(exit)
}

/// Stores what the alerts of the suite have to say of a run, and sends it.
fn send_alerts(
    context: &CommandContext<'_>,
    invocation: &Invocation,
    outcome: Result<&RunEnd, &AppError>,
) -> Result<(), Failure> {
    let alerted = context.app.service().alert_of_outcome(invocation, outcome)?;
    context.print_warnings(&alerted.problems);
    alerted.messages.iter().for_each(|line| context.printer.say(line));
    print_delivered(context, &context.app.service().deliver_now()?);
    Ok(())
}

pub fn resume(context: &CommandContext<'_>, args: ResumeArgs) -> Result<Exit, Failure> {
    let ResumeArgs { run: args, to_end } = args;
    if to_end {
        return continue_run(context, args, |app, run, settings, execution| {
            app.runs().resume_to_end(run, settings, execution)
        });
    }
    let wants_report = args.json || args.output.output_dir.is_some() || !args.output.format.is_empty();
    if !wants_report && let Some(run) = context.app.runs().finished_run(&args.run)? {
        let nothing =
            || format!("run {run} is finished: there is nothing to resume; `karat report {run}` writes its report");
        context.printer.say(&context.app.runs().early_stop(&run)?.unwrap_or_else(nothing));
        return Ok(context.app.reports().summary(&run)?.1);
    }
    continue_run(context, args, |app, run, settings, execution| app.runs().resume(run, settings, execution))
}

pub fn cancel(context: &CommandContext<'_>, run: &str) -> Result<Exit, Failure> {
    let result = context.app.runs().cancel_batches(run)?;
    for problem in &result.problems {
        context.printer.say(problem);
    }
    let cancelled = match result.cancelled {
        1 => "1 batch".to_owned(),
        more => format!("{more} batches"),
    };
    let (run, is_done) = (&result.run, result.problems.is_empty());
    let next = format!("`karat resume {run}` reads what is done and makes the rest");
    context.printer.say(&match (result.cancelled, result.is_again) {
        (0, true) => format!("its batches were cancelled before; {next}"),
        (0, false) if is_done => format!("run {run} has no batches under way: there is nothing to cancel"),
        _ => format!("{cancelled} cancelled; {next}"),
    });
    Ok(if is_done { Exit::Pass } else { Exit::HarnessError })
}

pub fn retry(context: &CommandContext<'_>, args: ContinueArgs) -> Result<Exit, Failure> {
    continue_run(context, args, |app, run, settings, execution| app.runs().retry(run, settings, execution))
}

/// Continues a stored run, and writes its report to the place that was asked for when it started.
fn continue_run(
    context: &CommandContext<'_>,
    mut args: ContinueArgs,
    run: impl FnOnce(&App, &str, &Invocation, Execution) -> Result<RunEnd, AppError>,
) -> Result<Exit, Failure> {
    let settings = invocation::from_execution(&args.execution)?;
    if args.output.output_dir.is_none() {
        args.output.output_dir = context.app.runs().output_dir(&args.run)?;
    }
    report::check_output(&args.output, args.json)?;
    let tape = args.record.map_or(CallRecording::None, CallRecording::Record);
    let execution = Execution { tape, resume: true, ..execution(context, args.json, args.progress) };
    let end = run(&context.app, &args.run, &settings, execution)?;
    finish_continued(context, &end, &args.output, args.json)
}

pub fn score(context: &CommandContext<'_>, args: ScoreArgs) -> Result<Exit, Failure> {
    let settings = invocation::from_execution(&args.execution)?;
    let rescoring = Rescoring { suite: args.suite, judges: args.judges, execution: settings };
    report::check_output(&args.output, false)?;
    let execution = Execution { run_id: args.run_id, ..execution(context, false, args.progress) };
    let end = context.app.runs().score(&args.run, &rescoring, execution)?;
    finish(context, &end, &args.output, false)
}

pub fn merge(context: &CommandContext<'_>, args: MergeArgs) -> Result<Exit, Failure> {
    report::check_output(&args.output, false)?;
    let request = MergeRequest {
        paths: args.paths,
        run_id: args.run_id,
        needs: if args.partial { Completeness::Partial } else { Completeness::Whole },
        output_dir: args.output.output_dir.clone(),
    };
    let end = context.app.imports().merge(&request)?;
    finish(context, &end, &args.output, false)
}

/// Ends a continued run. A round of calibration ends as `karat calibrate` does, unless another report is asked for.
fn finish_continued(
    context: &CommandContext<'_>,
    end: &RunEnd,
    output: &OutputArgs,
    json: bool,
) -> Result<Exit, Failure> {
    if !context.app.runs().is_round(&end.run)? {
        return finish(context, end, output, json);
    }
    let has_form = |format: &ReportFormat| matches!(format, ReportFormat::Markdown | ReportFormat::Json);
    if json || !output.asked_formats().iter().all(has_form) {
        return Ok(finish(context, end, output, json)?.worst(calibrate::round_exit(context, end)?));
    }
    calibrate::finish(context, end, output.output_dir.as_deref(), &[])
}

/// Ends a run: prints its bill, writes its report, and returns the exit code.
pub fn finish(context: &CommandContext<'_>, end: &RunEnd, output: &OutputArgs, json: bool) -> Result<Exit, Failure> {
    print_bill(context, end);
    if let Some(detached) = &end.detached {
        context.printer.say(detached);
        return Ok(end.exit());
    }
    let (results, files) = match end.status {
        RunStatus::Finished if end.shard.is_some_and(|part| part.rows == 0) => {
            context.printer.say("this shard has no samples: there is nothing to report");
            (Exit::Pass, Vec::new())
        }
        RunStatus::Finished => write_results(context, end, output, json)?,
        // It was stopped before its first cell.
        _ if context.app.stored().is_empty(&end.run)? => (Exit::Pass, Vec::new()),
        // The exit code says that it was stopped, even if its report cannot be written.
        _ => write_results(context, end, output, json).unwrap_or_else(|failure| {
            context.printer.failure(&failure);
            (Exit::Pass, Vec::new())
        }),
    };
    print_stop(context, end);
    let exit = end.exit().worst(results);
    if json {
        let line = serde_json::json!({ "event": "end", "run": end.run, "exit": exit.code(), "files": files });
        context.printer.data(&line.to_string())?;
    }
    Ok(exit)
}

/// Writes the rows or the report of a run. Returns the exit code of the results, and the files.
fn write_results(
    context: &CommandContext<'_>,
    end: &RunEnd,
    output: &OutputArgs,
    json: bool,
) -> Result<(Exit, Vec<PathBuf>), Failure> {
    match report::print_rows(context, &end.run, output)? {
        Some(exit) => Ok((exit, Vec::new())),
        None => report::write_report(context, &end.run, output, false, json),
    }
}
