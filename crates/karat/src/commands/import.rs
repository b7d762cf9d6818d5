//! `karat import`.

use std::path::Path;

use karat_app::{Invocation, count_noun};
use karat_types::Exit;

use super::{Edge, making, run};
use crate::args::{ImportArg, ImportArgs, OutputArgs};
use crate::failure::Failure;

/// Figures that are named, of those that differ and of those that cannot be compared.
const NAMED: usize = 10;

pub fn import(edge: &Edge<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    match args.kind {
        ImportArg::SpanSnapshot => span_snapshot(edge, args),
        ImportArg::ManualBaseline => manual_baseline(edge, args),
    }
}

/// The suite, then its run: all of its answers are recorded, so it costs nothing.
fn span_snapshot(edge: &Edge<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = folder(args);
    let run_id = match &args.run_id {
        Some(id) => Some(id.clone()),
        None => edge.app.free_run_id(&name)?,
    };
    let imported = edge.app.import_span_snapshot(&args.file, &folder)?;
    let suite = imported.suite.display().to_string();
    edge.printer.say(&format!(
        "{suite}: {}, {} without a verdict; `karat run {suite}` computes their figures again",
        count_noun(imported.samples as u64, "sample"),
        imported.without_verdict
    ));
    let invocation = Invocation { suite, ..Invocation::default() };
    let loaded = edge.app.load(&invocation)?;
    let end = edge.app.run(loaded.plan, &invocation, making::execution(edge, run_id, false, false)?)?;
    let output = OutputArgs { output_dir: None, format: Vec::new(), layout: None };
    run::finish(edge, &end, &output, false)?;
    compared(edge, &args.file, &end.run)?;
    Ok(end.exit())
}

/// The folder that a suite is written into: named, or after what is imported.
fn folder(args: &ImportArgs) -> std::path::PathBuf {
    let name = args.file.file_stem().unwrap_or_default();
    args.output_dir.clone().unwrap_or_else(|| Path::new("imported").join(name))
}

/// The suite only: its judges may cost something.
fn manual_baseline(edge: &Edge<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    let imported = edge.app.import_manual_baseline(&args.file, &folder(args))?;
    let suite = imported.suite.display();
    edge.printer.say(&format!(
        "{} snapshots with {} claims: {}. `karat run {suite}` scores them beside the harness.",
        imported.snapshots,
        imported.claims,
        imported.variants.join(", ")
    ));
    edge.printer.data(&suite.to_string())?;
    Ok(Exit::Pass)
}

/// Says how the figures stand to those of the snapshot's own summary.
fn compared(edge: &Edge<'_>, file: &Path, run: &str) -> Result<(), Failure> {
    let found = edge.app.recomputed(file, run)?;
    let all = found.same + found.differing.len();
    edge.printer.say(&match all + found.unknown.len() {
        0 => "the snapshot has no summary that the figures could be compared with".to_owned(),
        _ => format!("{} of {all} figures of the snapshot's summary come out the same", found.same),
    });
    for difference in found.differing.iter().take(NAMED) {
        edge.printer.say(&format!("note: {difference}"));
    }
    if let Some(more) = found.differing.len().checked_sub(NAMED).filter(|more| *more > 0) {
        edge.printer.say(&format!("note: and {more} more; `karat report {run} -o -` has every figure"));
    }
    if !found.unknown.is_empty() {
        let named = found.unknown.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = found.unknown.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        edge.printer.say(&format!("note: not compared, since nothing here is called so: {named}{more}"));
    }
    Ok(())
}
