//! Gates: rules over the findings of a stored run. Applying them makes no API calls and reads only the run's rows and
//! the results that it is compared with, so a gate can be changed and applied again at no cost.
//!
//! A gate expands to *cases*: each of its metrics × each of its units × each of its bounds. A case has a finding and a
//! threshold. The finding is the figure itself for `min` and `max`, and the change from the reference for `max_drop`
//! and `max_rise`, paired by sample if both sides have the samples.
//!
//! | `decide` | pass | fail | undecided |
//! |---|---|---|---|
//! | `point` | the finding is within the bound | it is not | there is no finding or reference, or too many scores are missing |
//! | `interval` | the whole interval is within the bound | the whole interval is outside | the interval contains the threshold; or as above |
//!
//! Decisions by interval are corrected for their number. Reading order: `case`, `partner` (what it is compared with),
//! `evidence` (its numbers), `level` (the correction), `decision`, `verdict_text` (verdict and reason), `verdicts`;
//! `problem` checks gates before a run, `scope` applies `where` and `per`, `stored_verdicts` keeps what a stopped run decided, `path` looks up findings, `kpi` lists key
//! figures; `early/` decides gates while a run goes on, and forecasts how much of a planned run they would need.

mod case;
mod decision;
mod early;
mod evidence;
mod kpi;
mod level;
mod partner;
mod path;
mod problem;
mod scope;
mod stored_verdicts;
mod verdict_text;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use karat_types::{Gate, GateReference, GateRules, PlanHeader, Policy, RunRows, Subject};

use crate::reference::canary::{ALPHA, AlarmChance, Canary};
use crate::score::instrument::served_models::{by_asked, name_changes};
pub use crate::score::prefix::{Counted, Prefix};
use crate::{AnalysisError, AnalysisResult, Findings, GateProblem, Pinned};
pub use decision::Decision;
pub use early::forecast::{EarlyForecast, assume_early_stop, forecast_early_stop};
pub use early::{EarlyStop, StopSummary, open_gates, stop_problems};
use evidence::GateContext;
pub use kpi::{Kpi, KpiBound};
pub(crate) use level::gated_changes;
use scope::Scope;
pub(crate) use stored_verdicts::apply_ends;
pub use verdict_text::Verdict;
pub use verdicts::Verdicts;

/// The results that gates compare with.
#[derive(Debug, Clone, Default)]
pub struct References {
    /// The pinned baseline or golden set.
    pub baseline: Option<Pinned>,
    /// The previous run.
    pub previous: Option<Pinned>,
    /// Stored runs, by the name used in gates.
    pub runs: BTreeMap<String, Pinned>,
    /// Scorers whose judge no longer grades as it did, each with how that was found. Their figures decide nothing.
    pub moved_judges: BTreeMap<String, String>,
}

/// Applies gates to a run. Gates with `where` or a `per` column read the run's rows a second time.
///
/// # Errors
/// A gate with an unknown metric, variant or model, an invalid condition, a column that the run's rows do not have, or
/// unreadable rows.
pub fn decide(
    findings: &Findings,
    rows: &dyn RunRows,
    rules: &GateRules,
    references: &References,
) -> Result<Verdicts, AnalysisError> {
    let mut wrong = unknown_names(&findings.plan, rules)?;
    let unreadable = |source| AnalysisError::Rows { run: rows.header().id.clone(), source };
    // The samples of the findings: those before the stop of a stopped run.
    let prefix = Prefix::of(rows).map_err(unreadable)?;
    let rows = prefix.as_ref().map_or(rows, |prefix| prefix as &dyn RunRows);
    let scoped = Scope::read(findings, rows, &rules.gates)?.into_iter();
    let scopes: Vec<Scope> = scoped.filter_map(|scope| scope.map_err(|problem| wrong.push(problem)).ok()).collect();
    fail_if_any(wrong)?;
    let gates = rules.gates.iter().zip(&scopes);
    let cases: Vec<case::GateCase<'_>> =
        gates.flat_map(|(gate, scope)| case::gate_cases(findings, gate, scope)).collect();
    let context = GateContext { findings, references, policy: &rules.policy, missing: None };
    let levels = level::levels(&context, &cases);
    let decide = |(case, level)| {
        let decision = decision::decide(&context, case, level);
        // A gate that saw no cell of a whole run checked nothing, so it does not pass.
        let is_idle = || decision.is_metric && !rules.is_partial && context.cells(case).next().is_none();
        let undecided_fails = case.gate.undecided_fails.unwrap_or(decision.undecided_fails || is_idle());
        Decision { undecided_fails, ..decision }
    };
    let decisions: Vec<Decision> = cases.iter().zip(levels).map(decide).collect();
    let kpis = kpi::all(&context, &decisions);
    let mut notes = notes(findings, rules, references);
    notes.extend(rules.gates.iter().flat_map(|gate| alarm_notes(findings, gate, &decisions)));
    Ok(Verdicts { decisions, kpis, notes })
}

/// For a gate that compares each sample with the baseline: how many dropped, and the chance that an unchanged judge does
/// that, as a golden check prints it. One note for each metric and system; cases that decide nothing are left out.
fn alarm_notes(findings: &Findings, gate: &Gate, decisions: &[Decision]) -> Vec<String> {
    let is_baseline = matches!(gate.against, None | Some(GateReference::Baseline));
    if gate.per != "sample" || !is_baseline || gate.max_drop.is_none() {
        return Vec::new();
    }
    /// Metric and system.
    type Place<'a> = (&'a str, Option<&'a str>);
    /// The allowed drop, and the pinned and the present score of each sample.
    type Samples = (f64, Vec<(f64, f64)>);
    let mut of_system: BTreeMap<Place<'_>, Samples> = BTreeMap::new();
    let decided = decisions.iter().filter(|it| it.id == gate.id && it.verdict != Verdict::Undecided);
    for decision in decided.filter(|it| it.bound == "max_drop") {
        let (Some(pinned), Some(now), Some(allowed)) = (decision.reference, decision.observed, decision.threshold)
        else {
            continue;
        };
        let place = (decision.subject.as_str(), decision.system.as_deref());
        of_system.entry(place).or_insert((allowed, Vec::new())).1.push((pinned, now));
    }
    let several = of_system.len() > 1;
    let is_frozen = findings.systems.iter().all(|system| system.model.is_none());
    let note = |((metric, system), (allowed, pairs)): (Place<'_>, Samples)| {
        let changes: Vec<f64> = pairs.iter().map(|(pinned, now)| now - pinned).collect();
        let alarm = AlarmChance::of(&changes, allowed)?;
        let canary = Canary::of(&BTreeMap::from([(metric.to_owned(), pairs)]), ALPHA)?;
        let of = system.filter(|_| several).map(|system| format!(" of {system}")).unwrap_or_default();
        // Of generated outputs a shift may be the model's; equal grades may all be reused ones.
        let words = match changes.iter().any(|change| change.abs() > 0.0) {
            _ if !is_frozen => "none, because a model generates the outputs again",
            true => canary.instrument.words(),
            false => "no grade differs",
        };
        Some(format!("{}: {metric}{of}: {alarm}; canary: {words}", gate.id))
    };
    of_system.into_iter().filter_map(note).collect()
}

/// Checks that a run of this plan has everything that its gates name, before anything is paid for.
///
/// # Errors
/// Every gate with an unknown metric, analysis, part of an analysis, variant or model, or with a bound that nothing can
/// keep.
pub fn check(plan: &Arc<PlanHeader>, rules: &GateRules) -> Result<(), AnalysisError> {
    let mut wrong = unknown_names(plan, rules)?;
    if rules.gates.iter().any(|gate| matches!(gate.subject, Subject::Finding(_))) {
        wrong.extend(misspelt_paths(&crate::analyses::empty_outcomes(plan)?, rules));
    }
    fail_if_any(wrong)
}

/// The error of an analysis whose scorer has no judge, which says so; any other error as it is.
pub fn name_scorer_that_is_off(error: AnalysisError, plan: &PlanHeader, rules: &GateRules) -> AnalysisError {
    let AnalysisError::Options { id, analysis, message } = error else { return error };
    let spec = plan.analyses.iter().find(|spec| spec.id == id);
    let scorer = spec.and_then(|spec| spec.with.get("scorer")?.as_str());
    let off = scorer.filter(|scorer| rules.unjudged.iter().any(|off| off == scorer));
    AnalysisError::Options { id, analysis, message: off.map_or(message, problem::scorer_is_off) }
}

fn fail_if_any(problems: Vec<GateProblem>) -> Result<(), AnalysisError> {
    if problems.is_empty() { Ok(()) } else { Err(AnalysisError::Gates(problems)) }
}

fn unknown_names(plan: &Arc<PlanHeader>, rules: &GateRules) -> Result<Vec<GateProblem>, AnalysisError> {
    let analyses = crate::analyses::outcome_ids(plan)?;
    let of_gates = rules.gates.iter().flat_map(|gate| problem::gate_problems(plan, &analyses, rules, gate));
    Ok(of_gates.chain(problem::policy_problems(plan, &rules.policy)).collect())
}

/// Gates on paths under `analyses` that do not exist and resemble one that does.
pub fn misspelt_paths(analyses: &[AnalysisResult], rules: &GateRules) -> Vec<GateProblem> {
    let problem = |gate: &Gate| {
        let Subject::Finding(path) = &gate.subject else { return None };
        let meant = path::suggested_path(analyses, path)?;
        let what = format!("there is no `{path}` under `analyses` (did you mean `{meant}`?)");
        Some(GateProblem::of(gate, what))
    };
    rules.gates.iter().filter_map(problem).collect()
}

/// A system with more failed or unjudged cells than the policy allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingSystem {
    /// The system.
    pub system: String,
    /// Number of cells without an output.
    pub failed: u64,
    /// Number of cells with an output that no judge graded.
    pub unjudged: u64,
    /// Number of cells called; at least 1.
    pub of: u64,
}

impl FailingSystem {
    /// The share of its cells that failed or were not judged.
    pub fn share(&self) -> f64 {
        (self.failed + self.unjudged) as f64 / self.of as f64
    }
}

/// `2 of 4 cells failed`, followed by the number that no judge graded.
impl fmt::Display for FailingSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { failed, unjudged, of, .. } = self;
        match (failed, unjudged) {
            (_, 0) => write!(f, "{failed} of {of} cells failed"),
            (0, _) => write!(f, "{unjudged} of {of} cells were not judged"),
            _ => write!(f, "{failed} of {of} cells failed and {unjudged} were not judged"),
        }
    }
}

/// Systems with more failed or unjudged cells than the policy allows.
pub fn systems_over_error_limit(findings: &Findings, policy: &Policy) -> Vec<FailingSystem> {
    let failing = |group: &crate::Group| {
        let (failed, unjudged, of) = (group.tally.errors, group.tally.unjudged, group.tally.ok + group.tally.errors);
        let found = FailingSystem { system: group.id.clone(), failed, unjudged, of };
        (of > 0 && found.share() > policy.max_errors).then_some(found)
    };
    findings.systems.iter().filter_map(failing).collect()
}

/// Notes on every reference that gates compare with.
fn notes(findings: &Findings, rules: &GateRules, references: &References) -> Vec<String> {
    let changes = rules.gates.iter().filter(|gate| gate.max_drop.is_some() || gate.max_rise.is_some());
    let compared = changes.filter_map(|gate| match &gate.against {
        None | Some(GateReference::Baseline) => Some(("the baseline".to_owned(), references.baseline.as_ref()?)),
        Some(GateReference::Previous) => Some(("the previous run".to_owned(), references.previous.as_ref()?)),
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

/// Notes on one reference: unmatched systems and samples, another dataset, other judges.
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

/// Models under test whose reported names differ from the pinned ones.
fn renamed_models(findings: &Findings, name: &str, pinned: &Pinned) -> BTreeSet<String> {
    let of_system = |system: &crate::Group| {
        let then = pinned.answered_as(&system.id)?;
        Some(name_changes(then, &by_asked(&system.answered_as)))
    };
    let say = |(asked, then, now)| {
        format!(
            "the model `{asked}` reported {then} in {name} and {now} in this run: a change may come from the provider \
             (set its `model` to the dated name)"
        )
    };
    findings.systems.iter().filter_map(of_system).flatten().map(say).collect()
}

/// The name of a gate's metric or finding.
fn subject(gate: &Gate) -> &str {
    let (Subject::Metric(name) | Subject::Finding(name)) = &gate.subject;
    name
}

#[cfg(test)]
mod tests;
