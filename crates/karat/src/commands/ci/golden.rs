//! `karat golden pin`, `check` and `list`.

use karat_app::{Execution, GoldenPin, GoldenRequest, GoldenRule, PinRequest, Pinning, count_noun};
use karat_types::Exit;

use crate::args::{GoldenCheckArgs, GoldenCommand, GoldenListArgs, GoldenPinArgs, GoldenRuleArg};
use crate::commands::table::table;
use crate::commands::{CommandContext, invocation, run_output};
use crate::failure::Failure;

pub fn golden(context: &CommandContext<'_>, command: &GoldenCommand) -> Result<Exit, Failure> {
    match command {
        GoldenCommand::Pin(args) => pin(context, args),
        GoldenCommand::Check(args) => check(context, args),
        GoldenCommand::List(args) => list(context, args),
    }
}

fn pin(context: &CommandContext<'_>, args: &GoldenPinArgs) -> Result<Exit, Failure> {
    let invocation = invocation::from_params(&args.suite, &args.param)?;
    let choice = invocation::rows_in_range(&args.range);
    let pinned = context
        .app
        .analysis()
        .golden_pin(&invocation, &PinRequest { choice, dry_run: args.dry_run, clean: args.clean })?;
    print_pin(context, &pinned, args.dry_run)?;
    Ok(Exit::Pass)
}

/// Prints what pinning changes, or would change.
pub(in crate::commands) fn print_pin(
    context: &CommandContext<'_>,
    pinned: &GoldenPin,
    dry_run: bool,
) -> Result<(), Failure> {
    context.print_warnings(&pinned.warnings);
    let lines = pinned.files.iter().filter_map(|(sample, pinning)| {
        let change = match pinning {
            Pinning::New { to } => format!("new      {to:.2}"),
            Pinning::Moved { from, to } => format!("changed  {from:.2} → {to:.2}"),
            Pinning::Removed => "removed".to_owned(),
            Pinning::Same => return None,
        };
        Some(format!("{} {change}", karat_app::visible_name(sample)))
    });
    let lines: Vec<String> = lines.collect();
    let same = pinned.files.len() - lines.len();
    let done = if dry_run { "would change" } else { "changed" };
    let files = count_noun(lines.len() as u64, "file");
    let sum = format!("{}: {done} {files}, {same} unchanged", pinned.folder.display());
    context.printer.text(&lines.into_iter().chain([sum]).collect::<Vec<_>>().join("\n"))
}

fn list(context: &CommandContext<'_>, args: &GoldenListArgs) -> Result<Exit, Failure> {
    let (folder, golden) = context.app.analysis().golden_list(&invocation::from_params(&args.suite, &args.param)?)?;
    if args.json {
        context.print_json(&golden)?;
        return Ok(Exit::Pass);
    }
    if golden.is_empty() {
        let folder = folder.display();
        let message = format!("no judgments are pinned in {folder}; `karat golden pin` pins those in the store");
        context.printer.say(&message);
        return Ok(Exit::Pass);
    }
    let rows = golden.iter().map(|pinned| {
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        let fields = [
            pinned.sample.clone(),
            format!("{:.2}", pinned.baseline_composite),
            pinned.scored_by().unwrap_or_default().to_owned(),
            or_empty(&pinned.baseline_prompt_version),
            pinned.baseline_ran_at.clone(),
        ];
        fields.to_vec()
    });
    let head = ["sample", "composite", "judge", "prompt version", "ran at"];
    context.printer.text(&table(context, &head, rows))?;
    Ok(Exit::Pass)
}

fn check(context: &CommandContext<'_>, args: &GoldenCheckArgs) -> Result<Exit, Failure> {
    if let Some(wrong) = args.max_drop.filter(|drop| !(drop.is_finite() && *drop >= 0.0)) {
        return Err(Failure::Message(format!("`--max-drop {wrong}` must be a number of 0 or more")));
    }
    let invocation = invocation::from_selection(&args.selection, &args.execution)?;
    let decide = args.decide.map(|rule| match rule {
        GoldenRuleArg::Test => GoldenRule::Test,
        GoldenRuleArg::Drop => GoldenRule::Drop,
    });
    let asked = GoldenRequest { judge: args.judge.clone(), max_drop: args.max_drop, decide, cached: args.cached };
    let execution = Execution { run_id: args.run_id.clone(), ..run_output::execution(context, false, args.progress) };
    let (check, _) = context.app.analysis().golden_check(&invocation, &asked, execution)?;
    if args.json {
        context.print_json(&check)?;
    } else {
        context.printer.summary(&check.terminal())?;
    }
    Ok(check.exit)
}
