//! `karat import` of other evaluation tools' files.

use karat_app::{FigureCheck, ImportKind, ImportReport, Shape, count_noun};
use karat_types::Exit;

use crate::args::ImportArgs;
use crate::commands::CommandContext;
use crate::commands::data::recorded::{run_id, run_recorded, suite_folder};
use crate::failure::Failure;

/// Maximum number of differing figures that are listed.
const LISTED: usize = 10;

/// Creates the suite; runs it if all of its outputs are recorded, so that the run costs nothing.
pub fn import(context: &CommandContext<'_>, kind: ImportKind, args: &ImportArgs) -> Result<Exit, Failure> {
    let folder = suite_folder(args);
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let run_id = run_id(context, args, &name)?;
    let imported = context.app.imports().suite(kind, &args.file, args.root.as_deref(), &folder)?;
    let suite = imported.suite.display().to_string();
    let report = &imported.report;
    print_counts(context, report, &suite);
    let exit = match report.shape {
        Shape::Live => {
            context.printer.say(&if report.lacks_model {
                format!("no model is named: pick one, as in `karat plan {suite} --models openai:gpt-5-mini`")
            } else {
                format!("nothing was run: `karat plan {suite}` shows what a run would do and cost")
            });
            context.printer.data(&suite)?;
            Exit::Pass
        }
        Shape::Recorded => {
            let end = run_recorded(context, &suite, run_id)?;
            print_figures(context, &context.app.imports().check_figures(&report.figures, &end.run)?);
            end.exit()
        }
    };
    Ok(if args.strict && !report.dropped.is_empty() { Exit::HarnessError } else { exit })
}

/// Prints what was made, and a line for each construct that was not carried over.
fn print_counts(context: &CommandContext<'_>, report: &ImportReport, suite: &str) {
    let counts = &report.counts;
    context.printer.say(&format!(
        "{suite}: {}, {}, {}, {}",
        count_noun(counts.samples, "sample"),
        count_noun(counts.systems, "system"),
        count_noun(counts.outputs, "recorded output"),
        count_noun(counts.checks, "check"),
    ));
    for (construct, places, why) in report.dropped_by_construct() {
        context.printer.say(&format!("not carried over: {construct} ({}): {why}", count_noun(places as u64, "place")));
    }
    if counts.approximate > 0 {
        let places = count_noun(counts.approximate, "place");
        context.printer.say(&format!("approximate: {places}, whose scores may differ from the source's"));
    }
    if counts.dropped + counts.approximate > 0 {
        let folder = suite.strip_suffix("karat.yaml").unwrap_or_default();
        context.printer.say(&format!("{folder}import.md lists every place"));
    }
}

/// Prints how many of the source's figures the run has, and the others.
fn print_figures(context: &CommandContext<'_>, check: &FigureCheck) {
    let all = check.same + check.differing.len();
    context.printer.say(&match all {
        0 => "the source has no figures to compare the run with".to_owned(),
        _ => format!("{} of {all} figures come out the same", check.same),
    });
    for differing in check.differing.iter().take(LISTED) {
        let source = &differing.source;
        let here = differing.here.map_or_else(|| "not scored".to_owned(), |here| here.to_string());
        let (variant, metric) = (&source.variant, &source.metric);
        context
            .printer
            .say(&format!("note: {}: {} there, {here} here ({metric} of {variant})", source.path, source.value));
    }
    if let Some(more) = check.differing.len().checked_sub(LISTED).filter(|more| *more > 0) {
        context.printer.say(&format!("note: and {more} more"));
    }
}
