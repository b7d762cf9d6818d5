//! Quality gates of stored runs. Everything here reads the store and files; no connection is opened.

use std::path::Path;
use std::sync::Arc;

use karat_analysis::gate::{decide, misspelt_paths, systems_over_error_limit};
use karat_analysis::{Findings, Outcome, Pinned, Spread, UnmatchedOutput, Verdicts};
use karat_report::Failure;
use karat_store::StoredRun;
use karat_suite::{Files, load_policy};
use karat_types::{CallErrorCode, Exit, GateRules, RunHeader, RunRows, RunStatus};

use crate::analysis::Analysis;
use crate::error::{AnalyseError, Bug};
use crate::project::atomic_file::write_explained;
use crate::project::gate_rules::read_pinned;
use crate::project::presets::SuiteFiles;
use crate::stored::findings::findings;
use crate::stored::invocation::read_stored_invocation;
use crate::stored::references::require_finished;
use crate::{AppError, GateFlags};

/// The request of `karat gate`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GateRequest {
    /// A file with the gates and the policy, instead of the run's own.
    pub policy: Option<String>,
    /// Gate flags of the command line.
    pub flags: GateFlags,
}

/// The verdicts of gates on a run.
#[derive(Debug, Clone)]
pub struct GateReport {
    run: String,
    verdicts: Verdicts,
    /// Failures of the run apart from its gates, one line each.
    pub failures: Vec<String>,
    /// The exit code: gates always bind here.
    pub exit: Exit,
}

impl GateReport {
    /// For a terminal.
    pub fn terminal(&self) -> String {
        karat_report::terminal::gates(&self.run, &self.verdicts, &self.failures)
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        karat_report::markdown::gates(&self.run, &self.verdicts, &self.failures)
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, AppError> {
        karat_report::json::gates(&self.run, &self.verdicts, &self.failures).map_err(AppError::from)
    }
}

/// The results of a run as the text of a baseline.
///
/// # Errors
/// The run is not finished, or has no score.
fn baseline_text(stored: &StoredRun) -> Result<String, AppError> {
    let header = stored.header();
    require_finished(header, "a baseline is a whole run")?;
    let findings = findings(stored)?;
    if findings.run.metrics.iter().all(|spread| spread.n() == 0) {
        return Err(AnalyseError::NoScores { run: header.id.clone() }.into());
    }
    serde_json::to_string(&Pinned::of(header, &findings).with_contents(stored)?)
        .map_err(|source| Bug::Json { what: "the baseline", source }.into())
}

impl Analysis<'_> {
    /// Applies gates to a stored run.
    pub fn gate(&self, run: &str, gating: &GateRequest) -> Result<GateReport, AppError> {
        let stored = self.app.stored().run(run)?;
        let header = stored.header();
        require_finished(header, "gates judge whole runs")?;
        let rules = self.rules_of(header, gating)?;
        if rules.gates.is_empty() {
            return Err(AnalyseError::NoGates { run: header.id.clone() }.into());
        }
        let findings = findings(&stored)?;
        let verdicts = self.decide_gates(&stored, &findings, &rules)?;
        let failures = failures(header, &findings, &rules);
        let exit = harness_exit(&failures).worst(verdicts.exit());
        let failures = failures.iter().map(ToString::to_string).collect();
        Ok(GateReport { run: header.id.clone(), verdicts, failures, exit })
    }

    /// Writes the results of a run as a baseline: into `output`, or where its suite expects one. Returns the path and
    /// the id of the run that was pinned there before.
    pub fn pin(&self, run: &str, output: Option<&str>) -> Result<(String, Option<String>), AppError> {
        let stored = self.app.stored().run(run)?;
        let header = stored.header();
        let declared = read_stored_invocation(header)?.rules.baseline.filter(|path| !path.starts_with("preset:"));
        let path = output.map(str::to_owned).or(declared).ok_or(AnalyseError::NoBaselinePath {})?;
        let replaced = SuiteFiles.read(&path).ok().and_then(|bytes| read_pinned(&path, &bytes, &header.plan).ok());
        write_explained(Path::new(&path), baseline_text(&stored)?.as_bytes())?;
        Ok((path, replaced.map(|pinned| pinned.run.id)))
    }

    /// The results of a run as the text of a baseline.
    pub fn baseline_json(&self, run: &str) -> Result<String, AppError> {
        baseline_text(&self.app.stored().run(run)?)
    }

    fn rules_of(&self, header: &RunHeader, gating: &GateRequest) -> Result<GateRules, AppError> {
        let own = read_stored_invocation(header)?.rules;
        let rules = match &gating.policy {
            None => own,
            Some(path) => {
                let policy = load_policy(Arc::new(SuiteFiles), path)?;
                GateRules { gates: policy.gates, policy: policy.policy, ..own }
            }
        };
        gating.flags.apply_to(rules, &header.plan)
    }

    /// Decides the gates of a run and compares it with its baseline; empty if it has neither.
    pub(crate) fn decide_gates(
        &self,
        stored: &StoredRun,
        findings: &Findings,
        rules: &GateRules,
    ) -> Result<Verdicts, AppError> {
        if rules.gates.is_empty() && rules.baseline.is_none() {
            return Ok(Verdicts::default());
        }
        let mut notes = Vec::new();
        let mut references = self.app.stored().references(stored, rules, &mut notes)?;
        let (moved_judges, canary_notes) = self.moved_judges(stored.header())?;
        references.moved_judges = moved_judges;
        notes.extend(canary_notes);
        let mut verdicts = decide(findings, stored, rules, &references)?;
        verdicts.notes.splice(0..0, notes);
        Ok(verdicts)
    }
}

/// The reason why a run with gates has no verdict.
pub(crate) fn no_verdict_note(header: &RunHeader, rules: &GateRules) -> Option<String> {
    let open = !rules.gates.is_empty() && !header.is_whole();
    open.then(|| match header.shard() {
        None => "the run is not finished, and gates judge whole runs".to_owned(),
        Some(shard) => format!("the run is shard {shard}, and gates judge whole runs: `karat merge` decides them"),
    })
}

/// The failure of a run whose cells all failed.
const NO_OUTPUT: &str = "no cell has an output";

/// Failures of a run apart from its gates: more errors than the policy allows, no output at all, a metric without a
/// single score, a path that matches nothing.
pub(crate) fn failures(header: &RunHeader, findings: &Findings, rules: &GateRules) -> Vec<Failure> {
    if header.shard.is_some() {
        // Shares are those of the whole: a part may miss them by chance.
        let is_empty = header.status == RunStatus::Finished && findings.run.tally.ok == 0;
        return is_empty.then(|| NO_OUTPUT.to_owned().into()).into_iter().collect();
    }
    let allowed = percent(rules.policy.max_errors);
    let too_many = systems_over_error_limit(findings, &rules.policy).into_iter().map(|it| {
        let cause = findings
            .errors()
            .and_then(|errors| errors.of_system(&it.system).or_else(|| errors.of_judges().filter(|_| it.unjudged > 0)));
        let may_pass =
            cause.is_none_or(|(code, _)| CallErrorCode::from_code(code).is_some_and(CallErrorCode::may_pass));
        let retry = if may_pass { format!(" (after an outage: `karat retry {}`)", header.id) } else { String::new() };
        Failure {
            what: format!(
                "{}: {it} ({}), more than the {allowed} of `policy.max_errors`",
                it.system,
                percent(it.share())
            ),
            advice: Some(format!("fix the cause and run the suite again, which reuses finished cells{retry}")),
            cause: cause.map(|(_, message)| message.to_owned()),
        }
    });
    let mut failures: Vec<Failure> = too_many.collect();
    if header.status == RunStatus::Finished {
        if findings.run.tally.ok == 0 && failures.is_empty() {
            failures.push(NO_OUTPUT.to_owned().into());
        }
        let spreads = findings.plan.metrics.iter().zip(&findings.run.metrics);
        // A few broken rows are no failure of a metric that applies to nothing else.
        let is_tolerable = |spread: &Spread| {
            let all = spread.n_na() + spread.n_unscored();
            spread.n_na() > 0 && spread.n_unscored() as f64 <= rules.policy.max_unscored * all as f64
        };
        let silent = spreads.filter(|(_, spread)| spread.n() == 0 && spread.n_unscored() > 0 && !is_tolerable(spread));
        let unmatched = findings.unmatched_outputs.iter();
        failures.extend(unmatched.map(|unmatched| Failure::from(unmatched_failure(findings, unmatched))));
        let is_unmatched = |scorer: usize| findings.unmatched_outputs.iter().any(|it| it.scorer == scorer);
        failures.extend(silent.filter(|(metric, _)| !is_unmatched(metric.scorer)).map(|(metric, _)| {
            let scorer = findings.plan.scorers.get(metric.scorer).map_or("", |scorer| &scorer.id);
            let why = findings.errors().and_then(|errors| errors.of_scorer(scorer));
            let what = format!("{}: every score of it failed", metric.name);
            Failure { what, cause: why.map(str::to_owned), ..Failure::default() }
        }));
        if measures_nothing(findings) && failures.is_empty() {
            failures.push("no cell has a score: none of the metrics applies to any".to_owned().into());
        }
        let judges = findings.grading().into_iter().flat_map(|grading| &grading.failing_judges);
        let silent = judges.filter(|judge| judge.is_silent());
        failures.extend(silent.map(|it| Failure {
            what: format!("the judge {} gave no score at all", it.judge),
            cause: Some(it.error.clone()),
            ..Failure::default()
        }));
        failures.extend(misspelt_paths(&findings.analyses, rules).iter().map(|it| Failure::from(it.to_string())));
        failures.extend(findings.analyses.iter().filter_map(|analysis| match &analysis.outcome {
            Outcome::Diagnostics(found) if found.lacks_items() => {
                let what =
                    format!("{}: its path of items, `{}`, leads to a list in no output", analysis.id, found.items);
                Some(what.into())
            }
            _ => None,
        }));
    }
    failures
}

/// The failure of a scorer whose path matches no output: the fields that there are, and the likely one.
fn unmatched_failure(findings: &Findings, unmatched: &UnmatchedOutput) -> String {
    let UnmatchedOutput { scorer, path, outputs, fields } = unmatched;
    let id = findings.plan.scorers.get(*scorer).map_or("", |scorer| &scorer.id);
    let outputs = karat_report::count_noun(*outputs, "output");
    let wrong = format!("{id}: `output: {path}` matches nothing in any of {outputs}, so it has no score");
    let field = path.trim_start_matches(['$', '.']).split(['.', '[']).next().unwrap_or_default();
    let near = karat_suite::nearest(field, fields.iter().map(String::as_str));
    match near.filter(|near| *near != field) {
        Some(near) => {
            let meant = path.replacen(field, near, 1);
            format!("{wrong}: did you mean `{meant}`? Correct it and run the suite again, which reuses the outputs")
        }
        None if fields.is_empty() => {
            format!(
                "{wrong}: no output is an object; add `parse: {{ as: json }}` to the last step, or correct the path"
            )
        }
        None => format!("{wrong}; the outputs have: {}", fields.join(", ")),
    }
}

/// Returns whether there are metrics and outputs to score, but not a single score.
fn measures_nothing(findings: &Findings) -> bool {
    let spreads = &findings.run.metrics;
    findings.run.tally.ok > 0 && !spreads.is_empty() && spreads.iter().all(|spread| spread.n() == 0)
}

fn percent(share: f64) -> String {
    format!("{:.3}", share * 100.0).trim_end_matches('0').trim_end_matches('.').to_owned() + " %"
}

/// The exit code of a run's failures, without its gates.
pub(crate) fn harness_exit(failures: &[Failure]) -> Exit {
    if failures.is_empty() { Exit::Pass } else { Exit::HarnessError }
}

/// The exit code of a run's failures and gates.
pub(crate) fn exit(failures: &[Failure], rules: &GateRules, verdicts: &Verdicts, flags: &GateFlags) -> Exit {
    let binds = flags.binds.unwrap_or(!rules.policy.on_request);
    let gates = if binds { verdicts.exit() } else { Exit::Pass };
    harness_exit(failures).worst(gates)
}
