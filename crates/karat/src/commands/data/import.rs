//! `karat import`.

use std::path::Path;

use karat_app::{Invocation, counted};
use karat_types::Exit;

use crate::args::{ImportArgs, ImportKindArg, OutputArgs, ProgressArgs};
use crate::commands::{CommandContext, everyday::run, run_output};
use crate::failure::Failure;

/// Figures that are named, of those that differ and of those that cannot be compared.
const NAMED: usize = 10;

pub fn import(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    match args.kind {
        ImportKindArg::SpanSnapshot => span_snapshot(context, args),
        ImportKindArg::ManualBaseline => manual_baseline(context, args),
    }
}

/// The suite, then its run: all of its answers are recorded, so it costs nothing.
fn span_snapshot(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = folder(args);
    let run_id = match &args.run_id {
        Some(id) => Some(id.clone()),
        None => context.app.free_run_id(&name)?,
    };
    let imported = context.app.import_span_snapshot(&args.file, &folder)?;
    let suite = imported.suite.display().to_string();
    context.printer.say(&format!(
        "{suite}: {}, {} without a verdict; `karat run {suite}` computes their figures again",
        counted(imported.samples as u64, "sample"),
        imported.without_verdict
    ));
    let invocation = Invocation { suite, ..Invocation::default() };
    let loaded = context.app.load(&invocation)?;
    let end = context.app.run(
        loaded.plan,
        &invocation,
        run_output::execution(context, run_id, false, false, ProgressArgs::default())?,
    )?;
    let output = OutputArgs { output_dir: None, format: Vec::new(), layout: None };
    run::finish(context, &end, &output, false)?;
    compared(context, &args.file, &end.run)?;
    Ok(end.exit())
}

/// The folder that a suite is written into: named, or after what is imported.
fn folder(args: &ImportArgs) -> std::path::PathBuf {
    let name = args.file.file_stem().unwrap_or_default();
    args.output_dir.clone().unwrap_or_else(|| Path::new("imported").join(name))
}

/// The suite only: its judges may cost something.
fn manual_baseline(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    let imported = context.app.import_manual_baseline(&args.file, &folder(args))?;
    let suite = imported.suite.display();
    context.printer.say(&format!(
        "{} snapshots with {} claims: {}. `karat run {suite}` scores them beside the harness.",
        imported.snapshots,
        imported.claims,
        imported.variants.join(", ")
    ));
    context.printer.data(&suite.to_string())?;
    Ok(Exit::Pass)
}

/// Says how the figures stand to those of the snapshot's own summary.
fn compared(context: &CommandContext<'_>, file: &Path, run: &str) -> Result<(), Failure> {
    let found = context.app.recomputed(file, run)?;
    let all = found.same + found.differing.len();
    context.printer.say(&match all + found.unknown.len() {
        0 => "the snapshot has no summary that the figures could be compared with".to_owned(),
        _ => format!("{} of {all} figures of the snapshot's summary come out the same", found.same),
    });
    for difference in found.differing.iter().take(NAMED) {
        context.printer.say(&format!("note: {difference}"));
    }
    if let Some(more) = found.differing.len().checked_sub(NAMED).filter(|more| *more > 0) {
        context.printer.say(&format!("note: and {more} more; `karat report {run} -o -` has every figure"));
    }
    if !found.unknown.is_empty() {
        let named = found.unknown.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = found.unknown.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        context.printer.say(&format!("note: not compared, since nothing here is called so: {named}{more}"));
    }
    Ok(())
}
