//! Names and headlines of gates, the same in every format.

use std::fmt::Write as _;

use karat_analysis::{Decision, Verdict, Verdicts};

use crate::shared::figures::{count, to_digits};
use crate::shared::visible::excerpt;

/// Length of an id or a message on one line, in characters.
const WIDTH: usize = 100;

/// Largest number of decisions in one document. Decisions that did not pass come first, so the least interesting ones
/// are left out.
pub(crate) const MOST: usize = 10_000;

/// Decimals of a limit, without trailing zeros.
const SIGNIFICANT: usize = 4;

/// Number of decisions that people are shown.
pub(crate) const SHOWN: usize = 50;

/// Returns for example `fail: 12 checks: 2 failed, 1 undecided, 9 passed`, or `None` without gates.
pub(crate) fn headline(verdicts: &Verdicts) -> Option<String> {
    let verdict = verdicts.verdict()?;
    let all = verdicts.decisions.len() as u64;
    let part = |verdict: Verdict, word: &str| {
        let n = verdicts.count(verdict) as u64;
        (n > 0).then(|| format!("{} {word}", count(n)))
    };
    let parts = [
        part(Verdict::Fail, "failed"),
        part(Verdict::Undecided, "undecided"),
        part(Verdict::Review, "to be reviewed"),
        part(Verdict::Pass, "passed"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let checks = if all == 1 { "check" } else { "checks" };
    Some(format!("{}: {} {checks}: {}", verdict.as_str(), count(all), parts.join(", ")))
}

/// Number of checks that a verdict names.
const NAMED: usize = 5;

/// The verdict on a run in words.
pub(crate) struct VerdictWords {
    pub(crate) verdict: Verdict,
    /// For example `2 of 12 checks`, or `all 12 checks passed`.
    pub(crate) counts: String,
    /// Conditions of the first checks with this verdict; none for a pass.
    pub(crate) named: Vec<String>,
    /// Number of checks with this verdict that are not named.
    pub(crate) more: usize,
}

/// Returns the verdict in words, or `None` without gates.
pub(crate) fn verdict_words(verdicts: &Verdicts) -> Option<VerdictWords> {
    let verdict = verdicts.verdict()?;
    let all = verdicts.decisions.len() as u64;
    if verdict == Verdict::Pass {
        let counts = if all == 1 { "the check passed".to_owned() } else { format!("all {} checks passed", count(all)) };
        return Some(VerdictWords { verdict, counts, named: Vec::new(), more: 0 });
    }
    let open: Vec<&Decision> = worst_first(verdicts).into_iter().filter(|it| it.verdict == verdict).collect();
    let checks = if all == 1 { "check" } else { "checks" };
    Some(VerdictWords {
        verdict,
        counts: format!("{} of {} {checks}", count(open.len() as u64), count(all)),
        named: open.iter().take(NAMED).map(|it| condition(it)).collect(),
        more: open.len().saturating_sub(NAMED),
    })
}

/// Returns the decisions, the worst first, otherwise in the gates' order.
pub(crate) fn worst_first(verdicts: &Verdicts) -> Vec<&Decision> {
    let mut decisions: Vec<&Decision> = verdicts.decisions.iter().collect();
    decisions.sort_by_key(|decision| std::cmp::Reverse(decision.verdict as u8));
    decisions
}

/// Number of passed checks of one gate from which on only the closest to its bound is shown.
const FOLDED: usize = 4;

/// A check that people are shown, and the number of checks of its gate that it represents.
pub(crate) struct VisibleCheck<'a> {
    pub(crate) decision: &'a Decision,
    pub(crate) of: usize,
}

impl VisibleCheck<'_> {
    /// Returns the name of the check.
    pub(crate) fn check_name(&self) -> String {
        if self.of == 1 {
            return check_name(self.decision);
        }
        let id = excerpt(&self.decision.id, WIDTH / 2);
        format!("{id}: {} checks, the closest to its bound{}", count(self.of as u64), cells(self.decision))
    }
}

/// Returns the checks that did not pass, each alone and the worst first, then those that passed. Of a gate with many
/// passed checks, only the closest to its bound is shown.
pub(crate) fn visible_checks(verdicts: &Verdicts) -> Vec<VisibleCheck<'_>> {
    let (passed, open): (Vec<&Decision>, Vec<&Decision>) =
        worst_first(verdicts).into_iter().partition(|decision| decision.verdict == Verdict::Pass);
    let mut gates: Vec<Vec<&Decision>> = Vec::new();
    for decision in passed {
        match gates.iter_mut().find(|gate| gate.first().is_some_and(|it| it.id == decision.id)) {
            Some(gate) => gate.push(decision),
            None => gates.push(vec![decision]),
        }
    }
    let room = |decision: &Decision| decision.headroom().unwrap_or(f64::INFINITY);
    let folded = gates.into_iter().flat_map(|gate| {
        let of = gate.len();
        if of < FOLDED {
            return gate.into_iter().map(|decision| VisibleCheck { decision, of: 1 }).collect::<Vec<_>>();
        }
        let tightest = gate.into_iter().min_by(|a, b| room(a).total_cmp(&room(b)));
        tightest.map(|decision| VisibleCheck { decision, of }).into_iter().collect()
    });
    open.into_iter().map(|decision| VisibleCheck { decision, of: 1 }).chain(folded).collect()
}

/// Returns the name of a check: the gate, and the cells it concerns.
pub(crate) fn check_name(decision: &Decision) -> String {
    let anchored = if decision.is_anchored { ", human-anchored" } else { "" };
    format!("{}{}{anchored}", excerpt(&decision.id, WIDTH / 2), cells(decision))
}

/// Returns the sign of a bound.
pub(crate) fn sign(bound: &str) -> &'static str {
    match bound {
        "min" => "≥",
        "max" => "≤",
        "max_drop" => "drop ≤",
        _ => "rise ≤",
    }
}

/// Returns the bound of a check without its metric, for example `drop ≤ 0.50`.
pub(crate) fn condition_bound(decision: &Decision, value: impl Fn(f64) -> String) -> String {
    format!("{} {}", sign(decision.bound), decision.threshold.map_or_else(|| "unknown".to_owned(), value))
}

/// Returns the condition of a check, for example `category ≥ 0.8 (gpt-5/v2)`.
pub(crate) fn condition(decision: &Decision) -> String {
    let sign = sign(decision.bound);
    let limit = decision.threshold.map_or_else(|| "unknown".to_owned(), |limit| to_digits(limit, SIGNIFICANT));
    let limit = if limit.contains('.') { limit.trim_end_matches('0').trim_end_matches('.') } else { &limit };
    let cells = cells_of(decision);
    let cells = if cells.is_empty() { cells } else { format!(" ({cells})") };
    format!("{} {sign} {limit}{cells}", excerpt(&decision.subject, WIDTH / 2))
}

fn cells_of(decision: &Decision) -> String {
    let group = decision.group.as_ref().map(|(column, value)| {
        format!("{column} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    let cells: Vec<String> = [decision.system.clone(), decision.sample.clone(), group].into_iter().flatten().collect();
    excerpt(&cells.join(", "), WIDTH)
}

fn cells(decision: &Decision) -> String {
    let mut text = String::new();
    if decision.subject != decision.id {
        let _ = write!(text, " ({})", excerpt(&decision.subject, WIDTH / 2));
    }
    let cells = cells_of(decision);
    if !cells.is_empty() {
        let _ = write!(text, " {cells}");
    }
    text
}

/// Returns the decisions of a document, and the number of those left out.
pub(crate) fn decisions_in_document(verdicts: &Verdicts) -> (Vec<&Decision>, Option<usize>) {
    if verdicts.decisions.len() <= MOST {
        return (verdicts.decisions.iter().collect(), None);
    }
    let gates = worst_first(verdicts).into_iter().take(MOST).collect();
    (gates, Some(verdicts.decisions.len() - MOST))
}
