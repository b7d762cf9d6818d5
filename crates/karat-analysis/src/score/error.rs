//! The errors of analysing a run.

use karat_types::{Gate, RowError};

/// A gate, or a part of their policy, that cannot be applied to a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}{what}",
    .place.as_ref().map_or_else(String::new, |place| format!("{place}: ")),
    .gate.as_ref().map_or_else(String::new, |gate| format!("the gate `{gate}` cannot be applied: "))
)]
pub struct GateProblem {
    /// File and line of the gate's declaration.
    pub place: Option<String>,
    /// The gate's id; `None` for the policy.
    pub gate: Option<String>,
    /// The problem and its remedy.
    pub what: String,
}

impl GateProblem {
    /// A problem of `gate`, with the place of its declaration.
    pub(crate) fn of(gate: &Gate, what: String) -> Self {
        Self { place: gate.place.clone(), gate: Some(gate.id.clone()), what }
    }
}

/// A run that cannot be analysed. Undefined statistics are not errors: they are absent findings.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// Every gate that cannot be applied to the run.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Gates(Vec<GateProblem>),
    /// The run holds no cell.
    #[error(
        "nothing to analyse: run {run} of suite {suite} has none of its {planned} cells; \
         resume the run, or check the filters that it was started with"
    )]
    Empty {
        /// The run's id.
        run: String,
        /// The suite's name.
        suite: String,
        /// Cells that the plan has.
        planned: u64,
    },
    /// The stored rows could not be read.
    #[error("the cells of run {run} could not be read: {source}")]
    Rows {
        /// The run's id.
        run: String,
        /// The store's error.
        source: RowError,
    },
    /// The rows contradict the plan.
    #[error(
        "cell {ordinal} of run {run} names {what}, which its plan does not have; \
         the run was stored with another plan, or the store is damaged"
    )]
    OutOfPlan {
        /// The run's id.
        run: String,
        /// The cell.
        ordinal: u64,
        /// The item that the plan lacks.
        what: String,
    },
    /// A scorer's rule for trials is unknown.
    #[error(
        "scorer {scorer}: trials cannot be reduced by {reduce:?}; use mean, median, min, max, majority, pass@k or pass^k"
    )]
    UnknownReduce {
        /// The scorer.
        scorer: String,
        /// The rule as written.
        reduce: String,
    },
    /// A metric's rule for samples is unknown.
    #[error(
        "metric {metric}: samples cannot be aggregated by {aggregate:?}; use mean, median, min, max, sum or p1 to p99"
    )]
    UnknownAggregate {
        /// The metric.
        metric: String,
        /// The rule as written.
        aggregate: String,
    },
    /// Items need runs.
    #[error("the items cannot be analysed: no run is stored; run the suite first")]
    NoRuns {},
    /// No run has the metric of items.
    #[error("the items cannot be analysed: no run has {wanted}; choose another one with `--metric`: {known}")]
    NoItemMetric {
        /// The metric.
        wanted: String,
        /// The metrics of the runs.
        known: String,
    },
    /// The options of an analysis are none of this version. Runs that other versions stored may have such an analysis.
    #[error("analysis {id} ({analysis}): {message}")]
    UnreadableOptions {
        /// Its key under `analyses`.
        id: String,
        /// Its registered name.
        analysis: String,
        /// The problem.
        message: String,
    },
    /// The options of an analysis do not fit the run.
    #[error("analysis {id} ({analysis}): {message}")]
    Options {
        /// Its key under `analyses`.
        id: String,
        /// Its registered name.
        analysis: String,
        /// The problem and its remedy.
        message: String,
    },
}
