//! `karat run` and `karat resume`.

use std::path::PathBuf;

use karat_app::{App, AppError, Execution, Invocation, Rescoring, RunEnd, Tape};
use karat_types::{Exit, RunStatus};

use super::making::{execution, say_end, say_stopped};
use super::{Edge, calibrate, gate, invalidate, plan, report, selection};
use crate::args::{FormatArg, OutputArgs, ResumeArgs, RunArgs, ScoreArgs};
use crate::failure::Failure;

pub fn run(edge: &Edge<'_>, args: RunArgs) -> Result<Exit, Failure> {
    if let Some(run) = &args.invalidate_run {
        return invalidate::invalidate(edge, run, &[], args.dry_run);
    }
    if args.dry_run {
        return plan::plan(edge, &args.suite, &args.execution, &[], args.json);
    }
    let tape = match (args.record, args.replay) {
        (Some(file), _) => Tape::Record(file),
        (None, Some(file)) => Tape::Replay(file),
        (None, None) => Tape::None,
    };
    let mut invocation = selection::invocation(&args.suite, &args.execution)?;
    invocation.no_cache |= tape != Tape::None;
    invocation.gates = gate::flags(&args.gates, &args.bind)?;
    invocation.output_dir.clone_from(&args.output.output_dir);
    let loaded = edge.app.load(&invocation)?;
    edge.notices_of_run(&loaded.plan)?;
    report::check_output(&args.output, args.json)?;
    let execution = Execution { tape, ..execution(edge, args.run_id, args.resume, args.json)? };
    let end = edge.app.run(loaded.plan, &invocation, execution)?;
    finish(edge, &end, &args.output, args.json)
}

pub fn resume(edge: &Edge<'_>, args: ResumeArgs) -> Result<Exit, Failure> {
    later(edge, args, App::resume)
}

pub fn retry(edge: &Edge<'_>, args: ResumeArgs) -> Result<Exit, Failure> {
    later(edge, args, App::retry)
}

/// Goes on with a stored run in one of two ways, and writes its report where it was to be written when it began.
fn later(
    edge: &Edge<'_>,
    mut args: ResumeArgs,
    go_on: impl FnOnce(&App, &str, &Invocation, Execution) -> Result<RunEnd, AppError>,
) -> Result<Exit, Failure> {
    let settings = selection::execution(&args.execution)?;
    if args.output.output_dir.is_none() {
        args.output.output_dir = edge.app.output_dir(&args.run)?;
    }
    report::check_output(&args.output, args.json)?;
    let execution = continued(edge, args.record, args.json)?;
    let end = go_on(&edge.app, &args.run, &settings, execution)?;
    finish_later(edge, &end, &args.output, args.json)
}

pub fn score(edge: &Edge<'_>, args: ScoreArgs) -> Result<Exit, Failure> {
    let execution_settings = selection::execution(&args.execution)?;
    let rescoring = Rescoring { suite: args.suite, judges: args.judges, execution: execution_settings };
    report::check_output(&args.output, false)?;
    let end = edge.app.score(&args.run, &rescoring, execution(edge, args.run_id, false, false)?)?;
    finish(edge, &end, &args.output, false)
}

/// How a stored run is gone on with.
fn continued(edge: &Edge<'_>, record: Option<PathBuf>, json: bool) -> Result<Execution, Failure> {
    Ok(Execution { tape: record.map_or(Tape::None, Tape::Record), ..execution(edge, None, true, json)? })
}

/// Writes the rows or the report of a run; gives its exit code and files.
fn written(edge: &Edge<'_>, end: &RunEnd, output: &OutputArgs, json: bool) -> Result<(Exit, Vec<PathBuf>), Failure> {
    match report::rows(edge, &end.run, output)? {
        Some(exit) => Ok((exit, Vec::new())),
        None => report::write(edge, &end.run, output, false, json),
    }
}

/// Ends a run that was gone on with: a round of calibration as `karat calibrate` does, unless a report of it is asked for.
fn finish_later(edge: &Edge<'_>, end: &RunEnd, output: &OutputArgs, json: bool) -> Result<Exit, Failure> {
    if !edge.app.is_round(&end.run)? {
        return finish(edge, end, output, json);
    }
    let round_has = |form: &FormatArg| matches!(form, FormatArg::Md | FormatArg::Json | FormatArg::Both);
    if json || !output.forms().iter().all(round_has) {
        return Ok(finish(edge, end, output, json)?.worst(calibrate::verdict(edge, end)?));
    }
    calibrate::finish(edge, end, output.output_dir.as_deref(), &[])
}

pub(super) fn finish(edge: &Edge<'_>, end: &RunEnd, output: &OutputArgs, json: bool) -> Result<Exit, Failure> {
    say_end(edge, end);
    let (summary, files) = match end.status {
        RunStatus::Finished => written(edge, end, output, json)?,
        // Stopped before its first cell.
        _ if edge.app.is_empty(&end.run)? => (Exit::Pass, Vec::new()),
        // That it was stopped is what counts, whatever becomes of its report.
        _ => written(edge, end, output, json).unwrap_or_else(|failure| {
            edge.printer.failure(&failure);
            (Exit::Pass, Vec::new())
        }),
    };
    say_stopped(edge, end);
    let exit = end.exit().worst(summary);
    if json {
        let line = serde_json::json!({ "event": "end", "run": end.run, "exit": exit.code(), "files": files });
        edge.printer.data(&line.to_string())?;
    }
    Ok(exit)
}
