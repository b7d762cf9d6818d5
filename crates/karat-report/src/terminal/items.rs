//! Items of a test set for a terminal: the set, then each item with a flag, its evidence and what to do.

use std::fmt::Write as _;

use karat_analysis::Finding;
use karat_analysis::items::{FlagKind, ItemAnalysis, TestItem};

use crate::shared::figures::{count_noun, percent_with_interval};
use crate::shared::visible::excerpt;
use crate::wording::items::{best_line, detectable_line, reliability_line};

/// Length of an id or a message on one line, in characters.
const WIDTH: usize = 100;

/// Length of evidence, which quotes content.
const EVIDENCE: usize = 500;

/// Items of one kind of flag that are listed.
const LISTED: usize = 20;

/// Returns the items for a terminal, without control sequences.
pub fn items(analysis: &ItemAnalysis) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    };
    let counts = [
        count_noun(analysis.items.len() as u64, "item"),
        count_noun(analysis.systems.len() as u64, "system"),
        count_noun(analysis.runs.len() as u64, "run"),
    ];
    line(format!("{}: {} by {}", excerpt(&analysis.suite, WIDTH), counts.join(", "), excerpt(&analysis.metric, WIDTH)));
    line(String::new());
    let share = |found: &Option<Finding>| found.as_ref().map_or("n/a".to_owned(), percent_with_interval);
    line(format!("saturated     {}", share(&analysis.headroom.saturated)));
    line(format!("never solved  {}", share(&analysis.headroom.never_solved)));
    best_line(analysis).into_iter().for_each(|it| line(format!("best system   {it}")));
    line(format!("reliability   {}", reliability_line(analysis)));
    detectable_line(analysis).into_iter().for_each(|it| line(format!("detectable    {it}")));
    for kind in FlagKind::ALL {
        let flagged: Vec<&TestItem> = analysis.items.iter().filter(|item| item.has(kind)).collect();
        if flagged.is_empty() {
            continue;
        }
        line(String::new());
        line(format!("{}: {}; {}", kind.name(), flagged.len(), kind.advice()));
        for item in flagged.iter().take(LISTED) {
            let evidence = item.flags.iter().find(|flag| flag.flag == kind).map_or("", |flag| &flag.evidence);
            line(format!("  {}  {}", excerpt(&item.id, WIDTH), excerpt(evidence, EVIDENCE)));
        }
        if flagged.len() > LISTED {
            line(format!("  and {} more; `--format csv` lists all", flagged.len() - LISTED));
        }
    }
    let plain = analysis.items.iter().filter(|item| item.flags.is_empty()).count();
    line(String::new());
    line(format!("without a flag: {plain}"));
    analysis.notes.iter().for_each(|note| line(format!("note: {}", excerpt(note, EVIDENCE))));
    text
}
