//! One metric over the stored runs.

use karat_analysis::Spread;
use karat_report::{Scale, scale_named};
use karat_types::RunStatus;
use serde::Serialize;

use crate::error::{Names, StoredError};
use crate::stored::findings::findings;
use crate::views::Views;
use crate::{AppError, rfc3339};

/// The distribution of a metric over the samples of one run.
#[derive(Debug, Clone, Serialize)]
pub struct MetricLine {
    /// The run's id.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// Start of the run, RFC 3339.
    pub started_at: String,
    /// True if every planned cell was made.
    pub finished: bool,
    /// The distribution over sample × system.
    #[serde(flatten)]
    pub spread: Spread,
    /// The scale that its values are written by.
    #[serde(skip)]
    pub scale: Scale,
}

impl Views<'_> {
    /// The newest runs with a metric, newest first, and its distribution in each.
    ///
    /// # Errors
    /// No run has the metric: the message names those of the latest run.
    pub fn metric_history(&self, metric: &str, suite: Option<&str>, limit: usize) -> Result<Vec<MetricLine>, AppError> {
        let store = self.app.existing_store()?;
        let mut lines = Vec::new();
        let mut known: Option<Vec<String>> = None;
        for run in store.runs(usize::MAX)? {
            if lines.len() == limit || suite.is_some_and(|suite| suite != run.suite) {
                continue;
            }
            let header = store.run(&run.id)?;
            let Some(at) = header.plan.metric(metric) else {
                known.get_or_insert_with(|| header.plan.metrics.iter().map(|it| it.name.clone()).collect());
                continue;
            };
            let findings = findings(&store.rows(&run.id)?)?;
            if let Some(spread) = findings.run.metrics.get(at) {
                lines.push(MetricLine {
                    id: run.id,
                    suite: run.suite,
                    started_at: rfc3339(run.started_at),
                    finished: header.status == RunStatus::Finished,
                    spread: spread.clone(),
                    scale: scale_named(&findings.plan, metric),
                });
            }
        }
        if lines.is_empty() {
            let known = Names::of(known.into_iter().flatten());
            return Err(StoredError::NoMetric { metric: metric.to_owned(), known }.into());
        }
        Ok(lines)
    }
}
