//! `karat import`.

use std::path::Path;

use karat_app::{ImportKind, TraceRows, count_noun};
use karat_types::Exit;

use crate::args::{ImportArgs, ImportKindArg, TraceRowsArg};
use crate::commands::CommandContext;
use crate::commands::data::recorded::{run_id, run_recorded, suite_folder};
use crate::commands::data::suite_import;
use crate::failure::Failure;

/// Maximum number of differing or unknown figures that are listed.
const LISTED: usize = 10;

pub fn import(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    let kind = match args.kind {
        ImportKindArg::Promptfoo => ImportKind::Promptfoo,
        ImportKindArg::OpenaiEvals => ImportKind::OpenaiEvals,
        ImportKindArg::Inspect => ImportKind::Inspect,
        ImportKindArg::LmEval => ImportKind::LmEval,
        ImportKindArg::Ragas => ImportKind::Ragas,
        ImportKindArg::Deepeval => ImportKind::Deepeval,
        ImportKindArg::Traces => ImportKind::Traces(match args.per {
            TraceRowsArg::Call => TraceRows::Calls,
            TraceRowsArg::Trace => TraceRows::Traces,
        }),
        ImportKindArg::SpanSnapshot => return span_snapshot(context, args),
        ImportKindArg::ManualBaseline => return manual_baseline(context, args),
    };
    suite_import::import(context, kind, args)
}

/// Creates the suite and runs it: all of its answers are recorded, so the run costs nothing.
fn span_snapshot(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = suite_folder(args);
    let run_id = run_id(context, args, &name)?;
    let imported = context.app.imports().span_snapshot(&args.file, &folder)?;
    let suite = imported.suite.display().to_string();
    context.printer.say(&format!(
        "{suite}: {}, {} without a verdict; `karat run {suite}` computes their figures again",
        count_noun(imported.samples as u64, "sample"),
        imported.without_verdict
    ));
    let end = run_recorded(context, &suite, run_id)?;
    print_differences(context, &args.file, &end.run)?;
    Ok(end.exit())
}

/// Creates the suite without running it: its judges may cost something.
fn manual_baseline(context: &CommandContext<'_>, args: &ImportArgs) -> Result<Exit, Failure> {
    let imported = context.app.imports().manual_baseline(&args.file, &suite_folder(args))?;
    let suite = imported.suite.display();
    context.printer.say(&format!(
        "{} snapshots with {} claims: {}. `karat run {suite}` scores them beside the harness",
        imported.snapshots,
        imported.claims,
        imported.variants.join(", ")
    ));
    context.printer.data(&suite.to_string())?;
    Ok(Exit::Pass)
}

/// Prints the differences between the run's figures and the snapshot's own summary.
fn print_differences(context: &CommandContext<'_>, file: &Path, run: &str) -> Result<(), Failure> {
    let check = context.app.imports().check_snapshot(file, run)?;
    let all = check.same + check.differing.len();
    context.printer.say(&match all + check.unknown.len() {
        0 => "the snapshot has no summary to compare the figures with".to_owned(),
        _ => format!("{} of {all} figures of the snapshot's summary are the same", check.same),
    });
    for difference in check.differing.iter().take(LISTED) {
        context.printer.say(&format!("note: {difference}"));
    }
    if let Some(more) = check.differing.len().checked_sub(LISTED).filter(|more| *more > 0) {
        context.printer.say(&format!("note: and {more} more; `karat report {run} -o -` prints all figures"));
    }
    if !check.unknown.is_empty() {
        let listed = check.unknown.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        let more = check.unknown.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        context.printer.say(&format!("note: not compared, because no figure here has this name: {listed}{more}"));
    }
    Ok(())
}
