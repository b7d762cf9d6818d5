//! The result of `karat golden` for a terminal: a golden set compared with today's grades.

use std::fmt::Write as _;

use karat_analysis::canary::{Canary, InstrumentStatus, MetricShift};
use karat_analysis::golden::{GoldenCard, GoldenRule, GoldenVerdict};

use crate::shared::figures::percent;
use crate::shared::visible::{MESSAGE, excerpt};
use crate::wording::comparison::p_value;

/// Length of an id on one line, in characters.
const WIDTH: usize = 200;

/// Returns the verdict: every regression and every problem, then the totals, the decision of the rule that decides and
/// of the other. Without control sequences.
pub fn golden(run: &str, verdict: &GoldenVerdict, rule: GoldenRule) -> String {
    let mut text = String::new();
    for card in &verdict.cards {
        if let Some(line) = line(card) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line}");
        }
    }
    for warning in &verdict.warnings {
        let _ = writeln!(text, "warning: {}", excerpt(warning, 2 * WIDTH));
    }
    let (all, max_drop) = (verdict.cards.len(), verdict.max_drop);
    let within = all - verdict.regressions - verdict.problems;
    let fresh = verdict.cards.iter().filter(|card| card.fresh && card.composite.is_some()).count();
    let reused = verdict.cards.iter().filter(|card| !card.fresh).count();
    let _ = writeln!(
        text,
        "{within} of {all} samples within a drop of {max_drop:.2}; regressions: {}",
        verdict.regressions
    );
    if let Some(canary) = &verdict.canary {
        canary_lines(canary).into_iter().for_each(|line| {
            let _ = writeln!(text, "{line}");
        });
    }
    if let Some(alarm) = &verdict.alarm {
        let _ = writeln!(text, "{alarm}; canary: {}", verdict.canary_words());
    }
    let decision = |rule: GoldenRule| match verdict.decision(rule) {
        Some(true) => "passes",
        Some(false) => "fails",
        None => "undecided",
    };
    let (test, drop) = (decision(GoldenRule::Test), decision(GoldenRule::Drop));
    let _ = match rule {
        GoldenRule::Test => {
            writeln!(text, "decided by test: {test} (canary: {}); by drop: {drop}", verdict.canary_words())
        }
        GoldenRule::Drop => {
            writeln!(text, "decided by drop: {drop}; by test: {test} (canary: {})", verdict.canary_words())
        }
    };
    let _ =
        writeln!(text, "judged in this run: {fresh}; reused from earlier runs: {reused}; run {}", excerpt(run, WIDTH));
    text
}

/// Returns lines such as `judge canary: q.depth +0.02 vs pinned (99.75 % CI -0.05 to +0.09, 50 items): grading unchanged`:
/// every metric that moved, or else the one that moved most.
fn canary_lines(canary: &Canary) -> Vec<String> {
    let far = |shift: &&MetricShift| shift.change.value().abs();
    let moved: Vec<&MetricShift> = canary.shifts.iter().filter(|shift| shift.moved).collect();
    let most = canary.shifts.iter().max_by(|a, b| far(a).total_cmp(&far(b)));
    let listed_shifts = if moved.is_empty() { most.into_iter().collect() } else { moved };
    let verdict = |shift: &MetricShift| match canary.instrument {
        InstrumentStatus::Moved => {
            format!("grading shifted (p = {} after Holm)", p_value(shift.p_adjusted)).replace("= <", "<")
        }
        status => status.words().to_owned(),
    };
    let interval = |shift: &MetricShift| {
        let ends = shift.change.interval().zip(shift.change.level());
        ends.map_or(String::new(), |((lo, hi), level)| format!("{} CI {lo:+.2} to {hi:+.2}, ", percent(level)))
    };
    let line = |shift: &MetricShift| {
        format!(
            "judge canary: {} {:+.2} vs pinned ({}{} items): {}",
            excerpt(&shift.metric, WIDTH),
            shift.change.value(),
            interval(shift),
            shift.change.n(),
            verdict(shift)
        )
    };
    listed_shifts.into_iter().map(line).collect()
}

fn line(card: &GoldenCard) -> Option<String> {
    let sample = excerpt(&card.sample, WIDTH);
    match (&card.problem, card.composite, card.delta) {
        (Some(problem), ..) => Some(format!("PROBLEM    {sample}: {}", excerpt(problem, MESSAGE))),
        (None, Some(now), Some(delta)) if card.regression => {
            let cause = if card.changed.is_empty() { "" } else { "; its document differs from the pinned one" };
            Some(format!("REGRESSION {sample}: {:.2} → {now:.2} ({delta:+.2}){cause}", card.baseline))
        }
        _ => None,
    }
}
