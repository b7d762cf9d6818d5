//! `grading`: disagreement of judges, cells with too few judges, and failing judges.

use std::sync::Arc;

use karat_types::{AnalysisSpec, JudgmentRow, ModelSpec, PlanHeader};
use serde::Serialize;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, NoOptions, Outcome, ScoredCell, excerpt, options};
use crate::figures::groups::system_id;

/// Number of flagged cells kept, largest variance first.
const KEPT: usize = 20;

/// A cell whose judges disagree by more than the scorer's `flag_variance`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlaggedCell {
    /// The cell's place in the plan.
    pub ordinal: u64,
    /// The sample.
    pub sample: String,
    /// The system.
    pub system: String,
    /// The dimension with the largest variance.
    pub metric: String,
    /// Population variance (÷ n) of its grades: a property of these judges, not an estimate.
    pub variance: f64,
    /// The judges that graded it: n of the variance.
    pub judges: u32,
}

/// A judge with failed judgments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailingJudge {
    /// Its id.
    pub judge: String,
    /// Number of failed judgments.
    pub failed: u64,
    /// Number of requested judgments.
    pub of: u64,
    /// Message of the first failure.
    pub error: String,
}

impl FailingJudge {
    /// Returns true if all its judgments failed.
    pub fn is_silent(&self) -> bool {
        self.failed == self.of
    }
}

/// The consensus of judges.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Grading {
    /// Number of cells graded by two or more judges.
    pub shared_cells: u64,
    /// Number of cells graded by one of several judges.
    pub single_judge_cells: u64,
    /// Number of cells graded by fewer judges than the scorer's `min_judges`, including those of one judge.
    pub few_judge_cells: u64,
    /// Number of cells with a dimension above `flag_variance`.
    pub flagged_cells: u64,
    /// Those with the largest variance.
    pub flagged: Vec<FlaggedCell>,
    /// Judges with failed judgments, in the plan's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing_judges: Vec<FailingJudge>,
}

struct GradingFold {
    plan: Arc<PlanHeader>,
    found: Grading,
    /// By judge, in the plan's order.
    asked: Vec<JudgeCalls>,
}

/// Numbers of requested and failed judgments of a judge.
#[derive(Clone, Default)]
struct JudgeCalls {
    of: u64,
    failed: u64,
    error: Option<String>,
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    plan: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec)?;
    Ok(Some(Box::new(GradingFold {
        plan: plan.clone(),
        found: Grading::default(),
        asked: vec![JudgeCalls::default(); plan.judges.len()],
    })))
}

impl GradingFold {
    fn count(&mut self, judgment: &JudgmentRow) {
        let Some(asked) = self.asked.get_mut(usize::from(judgment.judge)) else { return };
        match &judgment.error {
            Some(error) if error.is_stop() => return,
            Some(error) => {
                asked.failed += 1;
                asked.error.get_or_insert_with(|| excerpt(&error.message, 400));
            }
            None => {}
        }
        asked.of += 1;
    }

    fn failing_judges(&self) -> Vec<FailingJudge> {
        let failing = |(asked, judge): (&JudgeCalls, &ModelSpec)| {
            let error = asked.error.clone()?;
            Some(FailingJudge { judge: judge.id.clone(), failed: asked.failed, of: asked.of, error })
        };
        self.asked.iter().zip(&self.plan.judges).filter_map(failing).collect()
    }

    fn keep_widest(&mut self) {
        let order =
            |a: &FlaggedCell, b: &FlaggedCell| b.variance.total_cmp(&a.variance).then(a.ordinal.cmp(&b.ordinal));
        self.found.flagged.sort_by(order);
        self.found.flagged.truncate(KEPT);
    }
}

impl Analysis for GradingFold {
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        cell.row.judgments.iter().filter(|it| it.is_asked()).for_each(|judgment| self.count(judgment));
        let agreed = || cell.scores.consensus.iter().enumerate().filter_map(|(at, it)| Some((at, it.as_ref()?)));
        self.found.shared_cells += u64::from(agreed().any(|(_, it)| it.judges >= 2));
        self.found.single_judge_cells += u64::from(agreed().any(|(_, it)| it.too_few && it.judges < 2));
        self.found.few_judge_cells += u64::from(agreed().any(|(_, it)| it.too_few));
        let widest = agreed().filter(|(_, it)| it.flagged).max_by(|(_, a), (_, b)| a.variance.total_cmp(&b.variance));
        let Some((metric, consensus)) = widest else { return };
        self.found.flagged_cells += 1;
        self.found.flagged.push(FlaggedCell {
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

    fn finish(mut self: Box<Self>, _: &FinishContext<'_>) -> Outcome {
        self.keep_widest();
        self.found.failing_judges = self.failing_judges();
        Outcome::Grading(self.found)
    }
}
