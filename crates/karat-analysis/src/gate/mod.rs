//! Gates: rules over the findings of a stored run. Nothing is called and nothing is read but the run's rows and what
//! it is compared with, so a gate can be changed and applied again at no cost.
//!
//! A gate becomes *cases*: each metric that it names × each unit that it is evaluated per × each of its bounds. A case
//! has a finding — the figure itself for `min` and `max`, the change from what the gate compares with for `max_drop`
//! and `max_rise`, paired by sample wherever both sides have the samples — and a threshold.
//!
//! | `decide` | pass | fail | undecided |
//! |---|---|---|---|
//! | `point` | the finding keeps the bound | it does not | there is no finding, nothing to compare with, or too much is unscored |
//! | `interval` | its whole interval keeps the bound | its whole interval does not | the interval holds the threshold; or as above |
//!
//! Decisions by intervals are corrected together: see `level.rs`.

mod case;
mod decision;
mod evidence;
mod kpi;
mod level;
mod path;
mod problem;
mod scope;
mod verdict_text;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use karat_types::{Gate, GateReference, GateRules, PlanHeader, Policy, RunRows, Subject};

use crate::run::served_models::{by_asked, name_changes};
use crate::{AnalysisError, AnalysisResult, Findings, GateProblem, Pinned};
pub use decision::Decision;
use evidence::GateContext;
pub use kpi::{Kpi, KpiBound};
use scope::Scope;
pub use verdict_text::Verdict;
pub use verdicts::Verdicts;

/// What gates compare with.
#[derive(Debug, Clone, Default)]
pub struct References {
    /// The pinned baseline or golden set.
    pub baseline: Option<Pinned>,
    /// The run before this one.
    pub previous: Option<Pinned>,
    /// Stored runs, by the name that gates use.
    pub runs: BTreeMap<String, Pinned>,
}

/// Applies gates to a run. Gates that a `where` or a `per` column concerns read the run's rows once more.
///
/// # Errors
/// A gate that names a metric, variant or model the run does not have, a condition that cannot be evaluated, a column
/// that the run's rows do not hold, rows that cannot be read.
pub fn decide(
    findings: &Findings,
    rows: &dyn RunRows,
    rules: &GateRules,
    references: &References,
) -> Result<Verdicts, AnalysisError> {
    let mut wrong = unknown_names(&findings.plan, rules)?;
    let scoped = Scope::read(findings, rows, &rules.gates)?.into_iter();
    let scopes: Vec<Scope> = scoped.filter_map(|scope| scope.map_err(|problem| wrong.push(problem)).ok()).collect();
    fail_if_any(wrong)?;
    let gates = rules.gates.iter().zip(&scopes);
    let cases: Vec<case::GateCase<'_>> =
        gates.flat_map(|(gate, scope)| case::gate_cases(findings, gate, scope)).collect();
    let court = GateContext { findings, references, policy: &rules.policy, missing: None };
    let levels = level::levels(&court, &cases);
    let decisions: Vec<Decision> =
        cases.iter().zip(levels).map(|(case, level)| decision::decide(&court, case, level)).collect();
    let kpis = kpi::all(&court, &decisions);
    Ok(Verdicts { decisions, kpis, notes: notes(findings, rules, references) })
}

/// Whether a run of this plan has all that its gates name, so that nothing is paid for a run that cannot be judged.
///
/// # Errors
/// Every gate that names a metric, analysis, part of an analysis, variant or model that it does not have, or that nothing
/// can keep.
pub fn check(plan: &Arc<PlanHeader>, rules: &GateRules) -> Result<(), AnalysisError> {
    let mut wrong = unknown_names(plan, rules)?;
    if rules.gates.iter().any(|gate| matches!(gate.subject, Subject::Finding(_))) {
        wrong.extend(misspelt_paths(&crate::run::pass::empty_outcomes(plan)?, rules));
    }
    fail_if_any(wrong)
}

fn fail_if_any(problems: Vec<GateProblem>) -> Result<(), AnalysisError> {
    if problems.is_empty() { Ok(()) } else { Err(AnalysisError::Gates(problems)) }
}

fn unknown_names(plan: &Arc<PlanHeader>, rules: &GateRules) -> Result<Vec<GateProblem>, AnalysisError> {
    let analyses = crate::analyses::outcome_ids(plan)?;
    Ok(rules.gates.iter().flat_map(|gate| problem::gate_problems(plan, &analyses, rules, gate)).collect())
}

/// Gates on paths under `analyses` that lead nowhere, as far as a typo can be told from what a run does not have.
pub fn misspelt_paths(analyses: &[AnalysisResult], rules: &GateRules) -> Vec<GateProblem> {
    let problem = |gate: &Gate| {
        let Subject::Finding(path) = &gate.subject else { return None };
        let meant = path::suggested_path(analyses, path)?;
        let what = format!("there is no `{path}` under `analyses` (did you mean `{meant}`?)");
        Some(GateProblem::of(gate, what))
    };
    rules.gates.iter().filter_map(problem).collect()
}

/// A system of which more cells failed, or were judged by nobody, than the policy allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingSystem {
    /// The system.
    pub system: String,
    /// How many have no output.
    pub failed: u64,
    /// How many have one that no judge judged.
    pub unjudged: u64,
    /// Of how many that were asked; at least 1.
    pub of: u64,
}

impl FailingSystem {
    /// The share of its cells that failed or were judged by nobody.
    pub fn share(&self) -> f64 {
        (self.failed + self.unjudged) as f64 / self.of as f64
    }
}

/// `2 of 4 cells failed`, and how many no judge judged.
impl fmt::Display for FailingSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, unjudged, of, .. } = self;
        match (failed, unjudged) {
            (_, 0) => write!(f, "{failed} of {of} cells failed"),
            (0, _) => write!(f, "{unjudged} of {of} cells were judged by no judge"),
            _ => write!(f, "{failed} of {of} cells failed and {unjudged} were judged by no judge"),
        }
    }
}

/// Systems of which more cells failed, or were judged by nobody, than the policy allows.
pub fn systems_over_error_limit(findings: &Findings, policy: &Policy) -> Vec<FailingSystem> {
    let failing = |group: &crate::Group| {
        let (failed, unjudged, of) = (group.tally.errors, group.tally.unjudged, group.tally.ok + group.tally.errors);
        let found = FailingSystem { system: group.id.clone(), failed, unjudged, of };
        (of > 0 && found.share() > policy.max_errors).then_some(found)
    };
    findings.systems.iter().filter_map(failing).collect()
}

/// What the reader of the verdicts must know of everything that gates compare with.
fn notes(findings: &Findings, rules: &GateRules, references: &References) -> Vec<String> {
    let changes = rules.gates.iter().filter(|gate| gate.max_drop.is_some() || gate.max_rise.is_some());
    let compared = changes.filter_map(|gate| match &gate.against {
        None | Some(GateReference::Baseline) => Some(("the baseline".to_owned(), references.baseline.as_ref()?)),
        Some(GateReference::Previous) => Some(("the run before".to_owned(), references.previous.as_ref()?)),
        Some(GateReference::Run(id)) => Some((format!("run {id}"), references.runs.get(id)?)),
        Some(GateReference::Variant(_) | GateReference::Model(_)) => None,
    });
    let each: BTreeMap<String, &Pinned> = compared.collect();
    let mut notes: Vec<String> =
        each.iter().flat_map(|(name, pinned)| reference_notes(findings, name, pinned)).collect();
    let mut said = HashSet::new();
    notes.retain(|note| said.insert(note.clone()));
    notes
}

/// Systems and samples without a partner, other data, other judges.
fn reference_notes(findings: &Findings, name: &str, pinned: &Pinned) -> Vec<String> {
    let mut notes = pinned.differences(name, findings.measured_run());
    let ours: Vec<&str> = findings.systems.iter().map(|system| system.id.as_str()).collect();
    let theirs: Vec<&str> = pinned.systems().collect();
    let gone: Vec<&str> = theirs.iter().filter(|id| !ours.contains(*id)).copied().collect();
    let new: Vec<&str> = ours.iter().filter(|id| !theirs.is_empty() && !theirs.contains(*id)).copied().collect();
    if !gone.is_empty() {
        notes.push(format!("systems of {name} that this run does not have: {}", gone.join(", ")));
    }
    if !new.is_empty() {
        notes.push(format!("systems that {name} does not have: {}", new.join(", ")));
    }
    notes.extend(renamed_models(findings, name, pinned));
    let known: HashSet<&str> = pinned.samples().collect();
    let here: HashSet<&str> = (0..findings.samples()).map(|at| findings.sample_id(at)).collect();
    let (new, lost) = (here.difference(&known).count(), known.difference(&here).count());
    if !known.is_empty() && new > 0 {
        notes.push(format!("samples that {name} does not have: {new} of {}", here.len()));
    }
    if lost > 0 {
        notes.push(format!("samples of {name} that this run does not have: {lost} of {}", known.len()));
    }
    notes
}

/// Models under test that answered under other names than in what is pinned.
fn renamed_models(findings: &Findings, name: &str, pinned: &Pinned) -> BTreeSet<String> {
    let of_system = |system: &crate::Group| {
        let then = pinned.answered_as(&system.id)?;
        Some(name_changes(then, &by_asked(&system.answered_as)))
    };
    let say = |(asked, then, now)| {
        format!(
            "the model `{asked}` answered as {then} in {name} and as {now} in this run: a change may be of the provider's \
             change of models alone (pin the dated name as its `model`)"
        )
    };
    findings.systems.iter().filter_map(of_system).flatten().map(say).collect()
}

/// The name of what a gate looks at.
fn subject(gate: &Gate) -> &str {
    let (Subject::Metric(name) | Subject::Finding(name)) = &gate.subject;
    name
}

#[cfg(test)]
mod tests;
