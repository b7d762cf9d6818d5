//! What gates say of a run: the words that every format uses, and the forms of `karat gate`.

use std::fmt::Write as _;

use karat_analysis::{Decision, Verdict, Verdicts};
use serde::Serialize;

use crate::RenderError;
use crate::figures::count;
use crate::visible::brief;

/// Characters of an id or a message on one line.
const WIDTH: usize = 100;

/// Decisions in one document. Those that did not pass come first, so what is left out is the least of interest.
pub(crate) const MOST: usize = 10_000;

/// Decisions that a person is shown.
pub(crate) const SHOWN: usize = 50;

/// `fail: 2 of 12 checks failed, 1 undecided, 9 passed`; `None` without gates.
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

/// The decisions, the worst first, else in the gates' order.
pub(crate) fn worst_first(verdicts: &Verdicts) -> Vec<&Decision> {
    let mut decisions: Vec<&Decision> = verdicts.decisions.iter().collect();
    decisions.sort_by_key(|decision| std::cmp::Reverse(decision.verdict as u8));
    decisions
}

/// Checks of one gate that passed, from which on a person is shown the tightest of them alone.
const FOLDED: usize = 4;

/// What a person is shown: a check, and how many of its gate it stands for.
pub(crate) struct Shown<'a> {
    pub(crate) decision: &'a Decision,
    pub(crate) of: usize,
}

impl Shown<'_> {
    /// What it is about.
    pub(crate) fn concerns(&self) -> String {
        if self.of == 1 {
            return concerns(self.decision);
        }
        let id = brief(&self.decision.id, WIDTH / 2);
        format!("{id}: {} checks, the tightest{}", count(self.of as u64), cells(self.decision))
    }
}

/// The checks that did not pass, each alone and the worst first; then those that passed, where a gate has many of them
/// the one that came nearest to its bound.
pub(crate) fn shown(verdicts: &Verdicts) -> Vec<Shown<'_>> {
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
            return gate.into_iter().map(|decision| Shown { decision, of: 1 }).collect::<Vec<_>>();
        }
        let tightest = gate.into_iter().min_by(|a, b| room(a).total_cmp(&room(b)));
        tightest.map(|decision| Shown { decision, of }).into_iter().collect()
    });
    open.into_iter().map(|decision| Shown { decision, of: 1 }).chain(folded).collect()
}

/// What a decision is about: the gate, and which cells.
pub(crate) fn concerns(decision: &Decision) -> String {
    format!("{}{}", brief(&decision.id, WIDTH / 2), cells(decision))
}

fn cells(decision: &Decision) -> String {
    let mut text = String::new();
    if decision.subject != decision.id {
        let _ = write!(text, " ({})", brief(&decision.subject, WIDTH / 2));
    }
    let group = decision.group.as_ref().map(|(column, value)| {
        format!("{column} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    });
    let cells: Vec<String> = [decision.system.clone(), decision.sample.clone(), group].into_iter().flatten().collect();
    if !cells.is_empty() {
        let _ = write!(text, " {}", brief(&cells.join(", "), WIDTH));
    }
    text
}

/// The lines of a terminal: the verdict, what did not pass, and what must be known.
pub(crate) fn lines(verdicts: &Verdicts, most: usize, notes: usize) -> Vec<String> {
    let Some(headline) = headline(verdicts) else { return Vec::new() };
    let mut lines = vec![format!("verdict {headline}")];
    let open: Vec<&Decision> = worst_first(verdicts).into_iter().filter(|it| it.verdict != Verdict::Pass).collect();
    lines.extend(open.iter().take(most).map(|decision| {
        format!("  {:<9}  {}: {}", decision.verdict.as_str(), concerns(decision), brief(&decision.reason, 2 * WIDTH))
    }));
    if open.len() > most {
        lines.push(format!("  … and {} more in the report", count((open.len() - most) as u64)));
    }
    lines.extend(verdicts.notes.iter().take(notes).map(|note| format!("note: {}", brief(note, 2 * WIDTH))));
    lines
}

/// The verdicts on a run for a terminal, and why it failed whatever they say. Nothing in it can act on one.
pub fn terminal(run: &str, verdicts: &Verdicts, failures: &[String]) -> String {
    let mut text = format!("run {}\n", brief(run, WIDTH));
    let mut lines = lines(verdicts, SHOWN, SHOWN);
    if lines.is_empty() {
        lines.push("no gate was evaluated".to_owned());
    }
    let passed = shown(verdicts).into_iter().filter(|it| it.decision.verdict == Verdict::Pass).take(SHOWN);
    lines.extend(passed.map(|it| format!("  pass       {}: {}", it.concerns(), brief(&it.decision.reason, 2 * WIDTH))));
    lines.extend(failures.iter().map(|failure| format!("failed: {}", brief(failure, 2 * WIDTH))));
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The verdicts on a run as JSON (`karat.gate/1`): `{schema, run, verdict, gates[], gates_left_out?, notes[],
/// failures[]?}`; `failures` say why the run failed whatever its gates say.
///
/// # Errors
/// Never for verdicts that [`decide`](karat_analysis::gate::decide) made.
pub fn json(run: &str, verdicts: &Verdicts, failures: &[String]) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        run: &'a str,
        verdict: Option<Verdict>,
        gates: Vec<&'a Decision>,
        #[serde(skip_serializing_if = "Option::is_none")]
        gates_left_out: Option<usize>,
        notes: &'a [String],
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        failures: &'a [String],
    }
    let (gates, gates_left_out) = inline(verdicts);
    let verdict = verdicts.verdict();
    let notes = &verdicts.notes;
    let document = Document { schema: "karat.gate/1", run, verdict, gates, gates_left_out, notes, failures };
    let mut text = serde_json::to_string_pretty(&document).map_err(std::io::Error::from)?;
    text.push('\n');
    Ok(text)
}

/// The decisions of a document, and how many more there are.
pub(crate) fn inline(verdicts: &Verdicts) -> (Vec<&Decision>, Option<usize>) {
    if verdicts.decisions.len() <= MOST {
        return (verdicts.decisions.iter().collect(), None);
    }
    let gates = worst_first(verdicts).into_iter().take(MOST).collect();
    (gates, Some(verdicts.decisions.len() - MOST))
}
