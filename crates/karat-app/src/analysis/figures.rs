//! Verdict and headline of a run, computed where the store does not keep them.

use karat_analysis::headline_metrics;
use karat_store::StoredRun;

use crate::AppError;
use crate::analysis::Analysis;
use crate::stored::figures::{Headline, RunFigures, figures_key, keep_figures, kept_figures};
use crate::stored::findings::findings;

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
