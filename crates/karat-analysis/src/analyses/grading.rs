//! `grading`: where judges disagree, and where a consensus was asked for and one judge is left (CL-16).

use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};
use serde::Serialize;

use super::{Analysis, NoOptions, Outcome, ScoredCell, Setting, options};
use crate::AnalysisError;
use crate::groups::system_id;

/// Flagged cells kept, the widest first.
const KEPT: usize = 20;

/// A cell whose judges disagree by more than the scorer's `flag_variance`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flagged {
    /// The cell's place in the plan.
    pub ordinal: u64,
    /// The sample.
    pub sample: String,
    /// The system.
    pub system: String,
    /// The dimension with the widest variance.
    pub metric: String,
    /// Population variance (÷ n) of the grades there: a fact about these judges, not an estimate of anything.
    pub variance: f64,
    /// The judges that graded it: n of the variance.
    pub judges: u32,
}

/// How consensus went.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Grading {
    /// Cells that two or more judges graded.
    pub shared_cells: u64,
    /// Cells that one judge graded though more were asked.
    pub single_judge_cells: u64,
    /// Cells with a dimension above `flag_variance`.
    pub flagged_cells: u64,
    /// The widest of them.
    pub flagged: Vec<Flagged>,
}

struct Fold {
    plan: Arc<PlanHeader>,
    found: Grading,
}

pub(super) fn build(spec: &AnalysisSpec, plan: &Arc<PlanHeader>) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec)?;
    Ok(Some(Box::new(Fold { plan: plan.clone(), found: Grading::default() })))
}

impl Fold {
    fn keep_widest(&mut self) {
        let order = |a: &Flagged, b: &Flagged| b.variance.total_cmp(&a.variance).then(a.ordinal.cmp(&b.ordinal));
        self.found.flagged.sort_by(order);
        self.found.flagged.truncate(KEPT);
    }
}

impl Analysis for Fold {
    fn cell(&mut self, cell: &ScoredCell<'_>) {
        let agreed = || cell.scores.consensus.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?)));
        self.found.shared_cells += u64::from(agreed().any(|(_, it)| it.judges >= 2));
        self.found.single_judge_cells += u64::from(agreed().any(|(_, it)| it.is_single()));
        let widest = agreed().filter(|(_, it)| it.flagged).max_by(|(_, a), (_, b)| a.variance.total_cmp(&b.variance));
        let Some((metric, consensus)) = widest else { return };
        self.found.flagged_cells += 1;
        self.found.flagged.push(Flagged {
            ordinal: cell.row.cell.ordinal,
            sample: cell.row.sample.id.clone(),
            system: system_id(&self.plan, cell.row.system),
            metric: self.plan.metrics.get(metric).map_or_else(String::new, |it| it.name.clone()),
            variance: consensus.variance,
            judges: consensus.judges,
        });
        if self.found.flagged.len() >= 2 * KEPT {
            self.keep_widest();
        }
    }

    fn finish(mut self: Box<Self>, _: &Setting<'_>) -> Outcome {
        self.keep_widest();
        Outcome::Grading(self.found)
    }
}
