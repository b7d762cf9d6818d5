//! `karat dataset items`.

use std::path::Path;

use karat_app::{AtomicFile, DatasetItems, Existing, FlagKind, ItemsRequest, ItemsSuite, RemovalRequest, count_noun};
use karat_types::Exit;

use super::output;
use crate::args::{DatasetItemsArgs, ItemFlagArg, ItemsFormatArg};
use crate::commands::CommandContext;
use crate::failure::Failure;

pub fn items(context: &CommandContext<'_>, args: &DatasetItemsArgs) -> Result<Exit, Failure> {
    let asked = ItemsRequest {
        suite: ItemsSuite::Named(args.suite.clone()),
        runs: args.runs.clone(),
        metric: args.metric.clone(),
        seed: args.seed,
    };
    let found = context.app.analysis().items(&asked)?;
    match args.format {
        ItemsFormatArg::Text => context.printer.text(&found.text())?,
        ItemsFormatArg::Json => context.printer.data(&karat_app::escape_json(&found.json()?))?,
        ItemsFormatArg::Csv => context.printer.data(&found.csv())?,
    }
    if let Some(path) = &args.ids {
        write_ids(context, &found, path, &args.flags)?;
    }
    if let (Some(path), Some(version)) = (&args.output, &args.set) {
        let existing = if args.force { Existing::Replaced } else { Existing::Refused };
        let asked = RemovalRequest {
            suite: args.suite.clone(),
            flags: args.remove.iter().map(|flag| kind(*flag)).collect(),
            output: output(path, existing),
            version: version.clone(),
        };
        let removed = context.app.datasets().remove_items(found.analysis(), &asked)?;
        let rows = count_noun(removed.rows, "row");
        context.printer.say(&format!(
            "{}: {rows}, version {}. {}",
            removed.path.display(),
            removed.version,
            removed.line
        ));
    }
    Ok(Exit::Pass)
}

fn write_ids(
    context: &CommandContext<'_>,
    found: &DatasetItems,
    path: &Path,
    flags: &[ItemFlagArg],
) -> Result<(), Failure> {
    use std::io::Write as _;
    let flags: Vec<FlagKind> = flags.iter().map(|flag| kind(*flag)).collect();
    let (ids, unwritable) = found.ids(&flags);
    let write = || -> std::io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(ids.as_bytes())?;
        file.finish()
    };
    write().map_err(|error| {
        Failure::Message(format!("writing {}: {error}. Name another file with `--ids`", path.display()))
    })?;
    let n = count_noun(ids.lines().count() as u64, "id");
    context.printer.say(&format!("{}: {n}", path.display()));
    if unwritable > 0 {
        let n = count_noun(unwritable as u64, "id");
        context.printer.say(&format!("warning: {n} with line breaks or spaces at an end cannot be listed in a file"));
    }
    Ok(())
}

fn kind(flag: ItemFlagArg) -> FlagKind {
    match flag {
        ItemFlagArg::LabelSuspect => FlagKind::LabelSuspect,
        ItemFlagArg::NegativeDiscrimination => FlagKind::NegativeDiscrimination,
        ItemFlagArg::NeverSolved => FlagKind::NeverSolved,
        ItemFlagArg::Unscorable => FlagKind::Unscorable,
        ItemFlagArg::Noisy => FlagKind::Noisy,
        ItemFlagArg::Saturated => FlagKind::Saturated,
    }
}
