//! `karat why`: whether a cell is cached, and what changed since its last result.

use karat_app::{CellReuse, Change, ReuseStatus};
use karat_types::{Exit, Moment};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::args::{ExecutionArgs, WhyArgs};
use crate::commands::{CommandContext, invocation};
use crate::failure::Failure;

/// Maximum number of characters of a changed value that has one line.
const SHOWN: usize = 200;
/// Number of unchanged lines around a changed one.
const CONTEXT: usize = 1;

pub fn why(context: &CommandContext<'_>, args: &WhyArgs) -> Result<Exit, Failure> {
    let execution = ExecutionArgs { no_cache: args.no_cache, ..ExecutionArgs::default() };
    let invocation = invocation::from_selection(&args.selection, &execution)?;
    let plan = context.app.runs().load(&invocation)?;
    let cell = context.app.runs().why(&plan, &args.cell)?;
    if args.json {
        context.print_json(&cell)?;
    } else {
        context.printer.text(&text(&cell))?;
    }
    Ok(Exit::Pass)
}

fn text(cell: &CellReuse) -> String {
    let mut text = format!(
        "cell {}: {}\noutput: {}\n",
        cell.cell,
        karat_app::visible_name(&cell.path()),
        reuse_text(&cell.standing)
    );
    text.push_str(&changes(&cell.standing));
    for judgment in &cell.judgments {
        let (scorer, judge) = (karat_app::visible_name(&judgment.scorer), karat_app::visible_name(&judgment.judge));
        text.push_str(&format!("{scorer} by {judge}: {}\n", reuse_text(&judgment.standing)));
        text.push_str(&changes(&judgment.standing));
    }
    text
}

fn reuse_text(standing: &ReuseStatus) -> String {
    match standing {
        ReuseStatus::Reused { run, made_at } => format!("cached, from run {run} ({})", moment(*made_at)),
        ReuseStatus::Recorded => "recorded: the suite names where it is".to_owned(),
        ReuseStatus::New => "fresh: no earlier run of the suite has it".to_owned(),
        ReuseStatus::Stale { run, changes } => {
            let parts: Vec<&str> = changes.iter().map(|change| change.part.as_str()).collect();
            format!("stale: changed since run {run}: {}", parts.join(", "))
        }
        ReuseStatus::Failed { run, code } => format!("fresh: it failed in run {run} ({code})"),
        ReuseStatus::TooOld { run, made_at } => {
            format!("fresh: the result of run {run} ({}) is older than `run.cache` allows", moment(*made_at))
        }
        ReuseStatus::CacheOff { run, made_at } => {
            format!("fresh: the result of run {run} ({}) is not reused, because the cache is off", moment(*made_at))
        }
        ReuseStatus::Unversioned { run, who } => {
            format!(
                "fresh: the result of run {run} is not reused, because {who} has no `version`; only `resume` reuses it"
            )
        }
        ReuseStatus::Withdrawn { run } => format!("fresh: the result of run {run} was invalidated or pruned"),
        ReuseStatus::Skipped => "skipped by a condition".to_owned(),
        ReuseStatus::Fails { code, message } => {
            format!("fails before any call ({code}): {}", karat_app::visible_name(message))
        }
        ReuseStatus::Follows => "fresh: its output is generated first".to_owned(),
    }
}

fn changes(standing: &ReuseStatus) -> String {
    let ReuseStatus::Stale { changes, .. } = standing else { return String::new() };
    changes.iter().map(change).collect()
}

fn change(change: &Change) -> String {
    let step =
        change.step.as_ref().map_or_else(String::new, |step| format!(" of step {}", karat_app::visible_name(step)));
    let head = format!("  {}{step}", change.part);
    if change.then.is_null() && change.now.is_null() {
        return format!("{head}: content changed\n");
    }
    let (then, now) = (value_text(&change.then), value_text(&change.now));
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

/// Returns a value as text: strings as they are, and strings within it line by line.
fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) if is_short(value) => value.to_string(),
        other => serde_json::to_string_pretty(other).unwrap_or_default().replace("\\n", "\n"),
    }
}

/// Returns whether a value fits on a line and contains no line break.
fn is_short(value: &Value) -> bool {
    let text = value.to_string();
    text.len() <= SHOWN / 2 && !text.contains("\\n")
}

fn cut(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).collect();
    karat_app::visible_name(&if short.len() < text.len() { format!("{short}…") } else { short }).into_owned()
}

fn moment(moment: Moment) -> String {
    karat_app::rfc3339(moment)
}
