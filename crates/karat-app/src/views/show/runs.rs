//! The list of stored runs.

use karat_store::RunSummary;
use karat_types::Shard;
use serde::Serialize;

use crate::stored::figures::{RunFigures, kept_figures};
use crate::stored::run::count_done;
use crate::views::Views;
use crate::{AppError, rfc3339};

/// Number of cells that a list reads for verdicts and figures that the store does not keep yet. Older runs beyond it are
/// listed without them.
const MAX_SUMMARIZED: u64 = 100_000;

/// A stored run in one line.
#[derive(Debug, Clone, Serialize)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// Its status.
    pub status: String,
    /// The part of a run that it is, such as `1/4`; absent for a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Its batches that are under way at providers.
    pub batches: usize,
    /// Cells of its plan.
    pub planned: u64,
    /// Finished cells, including their judgments.
    pub cells: u64,
    /// Finished cells that are errors.
    pub errors: u64,
    /// Start of the run, RFC 3339.
    pub started_at: String,
    /// Verdict of its gates: `pass`, `fail`, `undecided` or `review`; `None` without gates.
    pub verdict: Option<String>,
    /// Its first headline metric.
    pub metric: Option<String>,
    /// The metric's value: the mean over systems.
    pub value: Option<f64>,
    /// Dollars that the run paid.
    pub cost_usd: Option<f64>,
    /// True if every model and judge was simulated, so that the cost was not billed.
    pub simulated: bool,
}

impl Views<'_> {
    /// The newest runs.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunLine>, AppError> {
        if !self.app.store.exists() {
            self.app.store.check_orphans()?;
            return Ok(Vec::new());
        }
        let store = self.app.store_to_read()?;
        let mut left = MAX_SUMMARIZED;
        let line = |run: RunSummary| {
            let header = store.run(&run.id)?;
            // A run that cannot be analysed is still listed; `karat report RUN` says why.
            let figures = match kept_figures(&store.rows(&run.id)?)? {
                Some(kept) => kept,
                None => match left.checked_sub(run.totals.cells) {
                    Some(rest) if run.totals.cells > 0 => {
                        left = rest;
                        self.app.analysis().run_figures(&run.id).unwrap_or_default()
                    }
                    _ => RunFigures::default(),
                },
            };
            Ok(RunLine {
                verdict: figures.verdict,
                value: figures.headline.as_ref().and_then(|headline| headline.value),
                metric: figures.headline.map(|headline| headline.metric),
                cost_usd: Some(run.totals.spending.spent.usd()),
                simulated: header.plan.is_simulated(),
                status: serialized_name(&run.status),
                shard: header.shard(),
                batches: store.batches(&run.id)?.iter().filter(|batch| batch.state.is_under_way()).count(),
                cells: count_done(&store, &run, &header.plan)?,
                errors: run.totals.errors,
                started_at: rfc3339(run.started_at),
                planned: run.planned,
                id: run.id,
                suite: run.suite,
            })
        };
        store.runs(limit)?.into_iter().map(line).collect()
    }
}

/// The serialized name of a unit enum.
fn serialized_name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
