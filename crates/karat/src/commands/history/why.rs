//! `karat why`: how a cell stands, and what of it changed since it was last made.

use karat_app::{CellOutlook, Change, Standing};
use karat_types::{Exit, Moment};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::args::{ExecutionArgs, WhyArgs};
use crate::commands::{CommandContext, invocation, table::visible};
use crate::failure::Failure;

/// Characters of a changed value that are shown where it has one line.
const SHOWN: usize = 200;
/// Unchanged lines around a changed one.
const CONTEXT: usize = 1;

pub fn why(context: &CommandContext<'_>, args: &WhyArgs) -> Result<Exit, Failure> {
    let execution = ExecutionArgs { no_cache: args.no_cache, ..ExecutionArgs::default() };
    let invocation = invocation::invocation(&args.selection, &execution)?;
    let loaded = context.app.load(&invocation)?;
    let cell = context.app.why(&loaded.plan, &args.cell)?;
    if args.json {
        context.print_json(&cell)?;
    } else {
        context.printer.data(&text(&cell))?;
    }
    Ok(Exit::Pass)
}

fn text(cell: &CellOutlook) -> String {
    let mut text = format!("cell {}: {}\noutput: {}\n", cell.cell, visible(&cell.path()), standing(&cell.standing));
    text.push_str(&changes(&cell.standing));
    for judgment in &cell.judgments {
        let (scorer, judge) = (visible(&judgment.scorer), visible(&judgment.judge));
        text.push_str(&format!("{scorer} by {judge}: {}\n", standing(&judgment.standing)));
        text.push_str(&changes(&judgment.standing));
    }
    text
}

fn standing(standing: &Standing) -> String {
    match standing {
        Standing::Reused { run, made_at } => format!("reused, made by run {run} ({})", moment(*made_at)),
        Standing::Recorded => "found where the suite says, never made".to_owned(),
        Standing::New => "fresh: none of the suite's last runs has it".to_owned(),
        Standing::Stale { run, changes } => {
            let parts: Vec<&str> = changes.iter().map(|change| change.part.as_str()).collect();
            format!("stale: since run {run} this changed: {}", parts.join(", "))
        }
        Standing::Failed { run, code } => format!("fresh: run {run} tried and failed ({code})"),
        Standing::TooOld { run, made_at } => {
            format!("fresh: that of run {run} ({}) is older than `cache` allows", moment(*made_at))
        }
        Standing::CacheOff { run, made_at } => {
            format!("fresh: that of run {run} ({}) is not taken over, because the cache is off", moment(*made_at))
        }
        Standing::Unversioned { run, who } => {
            format!("fresh: that of run {run} is not taken over, because {who} has no `version`; only `resume` does")
        }
        Standing::Withdrawn { run } => format!("fresh: that of run {run} was invalidated or pruned"),
        Standing::Skipped => "left out by a condition".to_owned(),
        Standing::Fails { code, message } => format!("fails before any call ({code}): {}", visible(message)),
        Standing::Follows => "fresh: its output is made first".to_owned(),
    }
}

fn changes(standing: &Standing) -> String {
    let Standing::Stale { changes, .. } = standing else { return String::new() };
    changes.iter().map(change).collect()
}

fn change(change: &Change) -> String {
    let step = change.step.as_ref().map_or_else(String::new, |step| format!(" of step {}", visible(step)));
    let head = format!("  {}{step}", change.part);
    if change.then.is_null() && change.now.is_null() {
        return format!("{head}: another content\n");
    }
    let (then, now) = (shown(&change.then), shown(&change.now));
    if then.lines().count() <= 1 && now.lines().count() <= 1 {
        return format!("{head}: {} → {}\n", cut(&then), cut(&now));
    }
    let mut text = format!("{head}:\n");
    let diff = TextDiff::from_lines(&then, &now);
    for group in diff.grouped_ops(CONTEXT) {
        for line in group.iter().flat_map(|op| diff.iter_changes(op).collect::<Vec<_>>()) {
            let sign = match line.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            text.push_str(&format!("    {sign} {}\n", cut(line.value().trim_end_matches('\n'))));
        }
    }
    text
}

/// A value for people: texts as they are, and the texts within it line by line.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) if is_short(value) => value.to_string(),
        other => serde_json::to_string_pretty(other).unwrap_or_default().replace("\\n", "\n"),
    }
}

/// Whether a value fits on a line and has no line break within.
fn is_short(value: &Value) -> bool {
    let text = value.to_string();
    text.len() <= SHOWN / 2 && !text.contains("\\n")
}

fn cut(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).collect();
    visible(&if short.len() < text.len() { format!("{short}…") } else { short })
}

fn moment(moment: Moment) -> String {
    karat_app::rfc3339(moment)
}
