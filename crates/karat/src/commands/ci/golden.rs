//! `karat golden pin`, `check` and `list`.

use karat_app::{GoldenAsked, Invocation, PinAsked, Pinning, counted};
use karat_types::Exit;

use crate::args::{GoldenCheckArgs, GoldenCommand, GoldenListArgs, GoldenPinArgs};
use crate::commands::ci::drift::choice;
use crate::commands::{CommandContext, invocation, run_output, table::table};
use crate::failure::Failure;

pub fn golden(context: &CommandContext<'_>, command: &GoldenCommand) -> Result<Exit, Failure> {
    match command {
        GoldenCommand::Pin(args) => pin(context, args),
        GoldenCommand::Check(args) => check(context, args),
        GoldenCommand::List(args) => list(context, args),
    }
}

fn invocation(suite: &str, params: &[String]) -> Result<Invocation, Failure> {
    let params = invocation::pairs("-p", params)?;
    Ok(Invocation { suite: suite.to_owned(), params, ..Invocation::default() })
}

fn pin(context: &CommandContext<'_>, args: &GoldenPinArgs) -> Result<Exit, Failure> {
    let invocation = invocation(&args.suite, &args.param)?;
    let asked = PinAsked { choice: choice(&args.range), dry_run: args.dry_run, clean: args.clean };
    let pinned = context.app.golden_pin(&invocation, &asked)?;
    pinned.warnings.iter().for_each(|line| context.printer.say(&format!("warning: {line}")));
    let lines = pinned.files.iter().filter_map(|(sample, pinning)| {
        let what = match pinning {
            Pinning::New { to } => format!("new      {to:.2}"),
            Pinning::Moved { from, to } => format!("moved    {from:.2} → {to:.2}"),
            Pinning::Removed => "removed".to_owned(),
            Pinning::Same => return None,
        };
        Some(format!("{} {what}", crate::commands::table::visible(sample)))
    });
    let lines: Vec<String> = lines.collect();
    let same = pinned.files.len() - lines.len();
    let done = if args.dry_run { "would change" } else { "changed" };
    let files = counted(lines.len() as u64, "file");
    let sum = format!("{}: {done} {files}, {same} unchanged", pinned.folder.display());
    context.printer.data(&lines.into_iter().chain([sum]).collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Pass)
}

fn list(context: &CommandContext<'_>, args: &GoldenListArgs) -> Result<Exit, Failure> {
    let (folder, golden) = context.app.golden_list(&invocation(&args.suite, &args.param)?)?;
    if args.json {
        context.print_json(&golden)?;
        return Ok(Exit::Pass);
    }
    if golden.is_empty() {
        context
            .printer
            .say(&format!("nothing is pinned in {}; `karat golden pin` pins what the store holds", folder.display()));
        return Ok(Exit::Pass);
    }
    let rows = golden.iter().map(|pinned| {
        let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
        let fields = [
            pinned.sample.clone(),
            format!("{:.2}", pinned.baseline_composite),
            or_none(&pinned.baseline_judge),
            or_none(&pinned.baseline_prompt_version),
            pinned.baseline_ran_at.clone(),
        ];
        fields.iter().map(|field| crate::commands::table::visible(field)).collect()
    });
    context.printer.data(&table(context, &["sample", "composite", "judge", "prompt version", "ran at"], rows))?;
    Ok(Exit::Pass)
}

fn check(context: &CommandContext<'_>, args: &GoldenCheckArgs) -> Result<Exit, Failure> {
    if !(args.max_drop.is_finite() && args.max_drop >= 0.0) {
        return Err(Failure::Message(format!("`--max-drop {}` is no drop. Give 0 or more", args.max_drop)));
    }
    let invocation = invocation::invocation(&args.selection, &args.execution)?;
    let asked = GoldenAsked { judge: args.judge.clone(), max_drop: args.max_drop, cached: args.cached };
    let execution = run_output::execution(context, args.run_id.clone(), false, false, args.progress)?;
    let (check, _) = context.app.golden_check(&invocation, &asked, execution)?;
    if args.json {
        context.print_json(&check)?;
    } else {
        context.printer.summary(&check.terminal())?;
    }
    Ok(check.exit)
}
