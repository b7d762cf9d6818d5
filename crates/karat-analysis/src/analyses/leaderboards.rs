//! `leaderboards`: what the rankings rest on, by metric. The places themselves are in [`Findings`](crate::Findings).

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};
use serde::Serialize;

use super::{Analysis, NoOptions, Outcome, ScoredCell, Setting, options};
use crate::AnalysisError;
use crate::finding::Finding;
use crate::leaderboard::{Gap, Leaderboard, Place};

/// What a leaderboard rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoardBasis {
    /// Samples × variants that all ranked models share.
    pub shared: u64,
    /// Samples with at least one of those.
    pub shared_samples: u64,
    /// Samples × variants on which any of them has a score.
    pub scored: u64,
    /// What is left out.
    pub gaps: Vec<Gap>,
    /// The best less the second best, paired.
    pub lead: Option<Finding>,
    /// The sample with the worst mean on the shared cells.
    pub hardest_sample: Option<Place>,
}

impl From<&Leaderboard> for BoardBasis {
    fn from(board: &Leaderboard) -> Self {
        Self {
            shared: board.shared,
            shared_samples: board.shared_samples,
            scored: board.scored,
            gaps: board.gaps.clone(),
            lead: board.lead.clone(),
            hardest_sample: board.hardest_sample.clone(),
        }
    }
}

/// By metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Leaderboards {
    /// What each rests on.
    pub boards: BTreeMap<String, BoardBasis>,
}

impl Leaderboards {
    /// The same without metrics that depend on time or price.
    pub fn steady(&self, plan: &PlanHeader) -> Self {
        let mut steady = self.clone();
        steady.boards.retain(|name, _| !plan.metrics.iter().any(|metric| metric.volatile && metric.name == *name));
        steady
    }
}

struct Fold;

pub(super) fn build(spec: &AnalysisSpec, _plan: &Arc<PlanHeader>) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec).map(|_| Some(Box::new(Fold) as Box<dyn Analysis>))
}

impl Analysis for Fold {
    fn cell(&mut self, _cell: &ScoredCell<'_>) {}

    fn finish(self: Box<Self>, setting: &Setting<'_>) -> Outcome {
        let metrics = setting.plan.metrics.iter().zip(setting.boards);
        let boards = metrics.map(|(metric, board)| (metric.name.clone(), board.into())).collect();
        Outcome::Leaderboards(Leaderboards { boards })
    }
}
