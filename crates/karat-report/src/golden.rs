//! A golden set beside today's grades, for a terminal.

use std::fmt::Write as _;

use karat_analysis::golden::{GoldenCard, GoldenVerdict};

use crate::visible::brief;

/// Characters of an id or a reason on one line.
const WIDTH: usize = 200;

/// The verdict: every regression and every problem, then the sum. Nothing in it can act on a terminal.
pub fn terminal(run: &str, verdict: &GoldenVerdict) -> String {
    let mut text = String::new();
    for card in &verdict.cards {
        if let Some(line) = line(card) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line}");
        }
    }
    for warning in &verdict.warnings {
        let _ = writeln!(text, "warning: {}", brief(warning, 2 * WIDTH));
    }
    let (all, max_drop) = (verdict.cards.len(), verdict.max_drop);
    let within = all - verdict.regressions - verdict.problems;
    let fresh = verdict.cards.iter().filter(|card| card.fresh && card.composite.is_some()).count();
    let taken = verdict.cards.iter().filter(|card| !card.fresh).count();
    let _ = writeln!(
        text,
        "{within} of {all} samples within a drop of {max_drop:.2}; regressions: {}",
        verdict.regressions
    );
    let _ = writeln!(text, "judged afresh: {fresh}; taken over from earlier runs: {taken}; run {}", brief(run, WIDTH));
    text
}

fn line(card: &GoldenCard) -> Option<String> {
    let sample = brief(&card.sample, WIDTH);
    match (&card.problem, card.composite, card.delta) {
        (Some(problem), ..) => Some(format!("PROBLEM    {sample}: {}", brief(problem, WIDTH))),
        (None, Some(now), Some(delta)) if card.regression => {
            Some(format!("REGRESSION {sample}: {:.2} → {now:.2} ({delta:+.2})", card.baseline))
        }
        _ => None,
    }
}
