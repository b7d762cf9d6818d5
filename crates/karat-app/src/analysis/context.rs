//! The parts beside the findings of a run in its reports: verdicts, cost, warnings; and the exit code of both. Lists show a
//! run by its verdict and headline, which are computed here where the store does not keep them.

use karat_analysis::gate::StopSummary;
use karat_analysis::{Findings, Verdicts, headline_metrics};
use karat_report::{Context, Outputs, RenderError};
use karat_store::StoredRun;
use karat_types::{Exit, RunRows, ShardRows};

use crate::AppError;
use crate::analysis::Analysis;
use crate::analysis::gates::{exit, failures, no_verdict_note};
use crate::stored::figures::{Headline, RunFigures, figures_key, keep_figures, kept_figures};
use crate::stored::findings::findings;
use crate::stored::invocation::{read_stored_invocation, stored_estimate};
use crate::stored::unbilled_risk::possible_unbilled_cost;

/// The note on gates that have failed and do not decide the exit code.
const NOT_ENFORCED: &str =
    "the gates do not decide the exit code, because the suite says `enforce: on_request`; `--gate` enforces them";

impl Analysis<'_> {
    /// The context of the findings, and the exit code of both.
    pub(crate) fn context(
        &self,
        stored: &StoredRun,
        findings: &Findings,
        canonical: bool,
    ) -> Result<(Context, Exit), AppError> {
        let header = stored.header();
        let begun = read_stored_invocation(header)?;
        let (rules, flags) = (begun.rules, begun.invocation.gates);
        let verdict_note = no_verdict_note(header, &rules);
        let mut verdicts =
            if verdict_note.is_none() { self.decide_gates(stored, findings, &rules)? } else { Verdicts::default() };
        if verdicts.exit() != Exit::Pass && rules.policy.on_request && flags.binds.is_none() {
            verdicts.notes.insert(0, NOT_ENFORCED.to_owned());
        }
        let stop = StopSummary::of(stored, &verdicts).map_err(RenderError::from)?;
        let stop = if canonical { stop.map(StopSummary::canonical) } else { stop };
        let failures = failures(header, findings, &rules);
        let exit = exit(&failures, &rules, &verdicts, &flags);
        let verdicts = if canonical { verdicts.steady(&findings.plan) } else { verdicts };
        let estimate = stored_estimate(header);
        let spending = if canonical { None } else { Some(stored.totals()?.spending) };
        let paid = spending.map(|spending| spending.spent);
        let (reported, counted) =
            spending.map_or_else(Default::default, |spending| (spending.reported, spending.counted));
        let unpriced_calls = spending.map_or(0, |spending| spending.unpriced);
        let warnings = spending.and_then(|spending| possible_unbilled_cost(header.status, &header.plan, spending));
        let warnings = header.shard.map(shard_note).into_iter().chain(warnings).collect();
        Ok((
            Context {
                estimate,
                paid,
                reported,
                counted,
                unpriced_calls,
                canonical,
                verdicts,
                stop,
                verdict_note,
                failures,
                warnings,
                outputs: Outputs::default(),
                series: None,
            },
            exit,
        ))
    }

    /// The note on a run that is one part of another; `None` for a whole run.
    pub fn shard_note(&self, run: &str) -> Result<Option<String>, AppError> {
        Ok(self.app.stored().run(run)?.header().shard.map(shard_note))
    }
}

/// The note on a run that is a part of another.
fn shard_note(ShardRows { shard, rows }: ShardRows) -> String {
    format!(
        "This run is shard {shard}, one part of a run: its {} only. The estimated cost is that of all shards. Gates are not decided; \
         `karat merge` makes the whole run of all shards.",
        karat_report::count_noun(rows, "sample")
    )
}

impl Analysis<'_> {
    /// Verdict and headline of a run: those that the store keeps, or computed from all of its rows and then kept.
    ///
    /// # Errors
    /// The run cannot be read or analysed.
    pub fn run_figures(&self, run: &str) -> Result<RunFigures, AppError> {
        let stored = self.app.stored().run(run)?;
        match kept_figures(&stored)? {
            Some(figures) => Ok(figures),
            None => self.compute_figures(&stored),
        }
    }

    fn compute_figures(&self, stored: &StoredRun) -> Result<RunFigures, AppError> {
        let key = figures_key(stored)?;
        let findings = findings(stored)?;
        let (context, _) = self.context(stored, &findings, false)?;
        let plan = &findings.plan;
        let headline = headline_metrics(plan).first().copied().and_then(|at| {
            let metric = plan.metrics.get(at)?;
            let spread = findings.run.metrics.get(at);
            Some(Headline {
                metric: metric.name.clone(),
                value: spread.and_then(karat_analysis::Spread::value),
                interval: spread.and_then(|spread| spread.figure()?.interval()),
                n: spread.map_or(0, karat_analysis::Spread::n),
                unit: plan.unit_of(metric).map(str::to_owned),
                range: metric.range,
                binary: metric.binary,
                better: metric.better,
            })
        });
        let figures = RunFigures {
            verdict: context.verdicts.verdict().map(|verdict| verdict.as_str().to_owned()),
            headline,
            unscored: findings.run.tally.unscored,
        };
        keep_figures(stored, key, &figures);
        Ok(figures)
    }
}
