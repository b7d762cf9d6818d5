//! `karat golden pin`, `check` and `list`.

use karat_app::{GoldenAsked, Invocation, PinAsked, Pinning, count_noun};
use karat_types::Exit;

use super::drift::choice;
use super::{Edge, making, selection, table};
use crate::args::{GoldenCheckArgs, GoldenCommand, GoldenListArgs, GoldenPinArgs};
use crate::failure::Failure;

pub fn golden(edge: &Edge<'_>, command: &GoldenCommand) -> Result<Exit, Failure> {
    match command {
        GoldenCommand::Pin(args) => pin(edge, args),
        GoldenCommand::Check(args) => check(edge, args),
        GoldenCommand::List(args) => list(edge, args),
    }
}

fn invocation(suite: &str, params: &[String]) -> Result<Invocation, Failure> {
    let params = selection::pairs("-p", params)?;
    Ok(Invocation { suite: suite.to_owned(), params, ..Invocation::default() })
}

fn pin(edge: &Edge<'_>, args: &GoldenPinArgs) -> Result<Exit, Failure> {
    let invocation = invocation(&args.suite, &args.param)?;
    let asked = PinAsked { choice: choice(&args.rows), dry_run: args.dry_run, clean: args.clean };
    let pinned = edge.app.golden_pin(&invocation, &asked)?;
    pinned.warnings.iter().for_each(|line| edge.printer.say(&format!("warning: {line}")));
    let lines = pinned.files.iter().filter_map(|(sample, pinning)| {
        let what = match pinning {
            Pinning::New { to } => format!("new      {to:.2}"),
            Pinning::Moved { from, to } => format!("moved    {from:.2} → {to:.2}"),
            Pinning::Removed => "removed".to_owned(),
            Pinning::Same => return None,
        };
        Some(format!("{} {what}", super::visible(sample)))
    });
    let lines: Vec<String> = lines.collect();
    let same = pinned.files.len() - lines.len();
    let done = if args.dry_run { "would change" } else { "changed" };
    let files = count_noun(lines.len() as u64, "file");
    let sum = format!("{}: {done} {files}, {same} unchanged", pinned.folder.display());
    edge.printer.data(&lines.into_iter().chain([sum]).collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Pass)
}

fn list(edge: &Edge<'_>, args: &GoldenListArgs) -> Result<Exit, Failure> {
    let (folder, golden) = edge.app.golden_list(&invocation(&args.suite, &args.param)?)?;
    if args.json {
        edge.json(&golden)?;
        return Ok(Exit::Pass);
    }
    if golden.is_empty() {
        edge.printer
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
        fields.iter().map(|field| super::visible(field)).collect()
    });
    edge.printer.data(&table(&["sample", "composite", "judge", "prompt version", "ran at"], rows))?;
    Ok(Exit::Pass)
}

fn check(edge: &Edge<'_>, args: &GoldenCheckArgs) -> Result<Exit, Failure> {
    if !(args.max_drop.is_finite() && args.max_drop >= 0.0) {
        return Err(Failure::Edge(format!("`--max-drop {}` is no drop. Give 0 or more", args.max_drop)));
    }
    let invocation = selection::invocation(&args.suite, &args.execution)?;
    let asked = GoldenAsked { judge: args.judge.clone(), max_drop: args.max_drop, cached: args.cached };
    let execution = making::execution(edge, args.run_id.clone(), false, false)?;
    let (check, _) = edge.app.golden_check(&invocation, &asked, execution)?;
    if args.json {
        edge.json(&check)?;
    } else {
        edge.printer.data(&check.terminal())?;
    }
    Ok(check.exit)
}
