//! `leaderboards`: the shared cells behind each ranking, by metric. The rankings themselves are in
//! [`Findings`](crate::Findings).

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};
use serde::Serialize;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, NoOptions, Outcome, ScoredCell, options};
use crate::figures::leaderboard::Leaderboard;

/// The basis of the rankings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Leaderboards {
    /// The basis of each ranking, by metric.
    pub boards: BTreeMap<String, Leaderboard>,
}

impl Leaderboards {
    /// Removes metrics that depend on time or price.
    pub fn steady(&self, plan: &PlanHeader) -> Self {
        let mut steady = self.clone();
        steady.boards.retain(|name, _| !plan.metrics.iter().any(|metric| metric.volatile && metric.name == *name));
        steady
    }
}

struct LeaderboardsFold;

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    _plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec).map(|_| Some(Box::new(LeaderboardsFold) as Box<dyn Analysis>))
}

impl Analysis for LeaderboardsFold {
    fn add_cell(&mut self, _cell: &ScoredCell<'_>) {}

    fn finish(self: Box<Self>, context: &FinishContext<'_>) -> Outcome {
        let metrics = context.plan.metrics.iter().zip(context.leaderboards).filter(|(metric, _)| !metric.by_words);
        let boards = metrics.map(|(metric, board)| (metric.name.clone(), board.clone())).collect();
        Outcome::Leaderboards(Leaderboards { boards })
    }
}
