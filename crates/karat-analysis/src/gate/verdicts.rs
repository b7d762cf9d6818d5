//! The decisions of all gates of a run, and their overall verdict.

use karat_types::{Exit, PlanHeader};

use super::decision::Decision;
use super::kpi::Kpi;
use super::verdict_text::Verdict;

/// The decisions of all gates of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdicts {
    /// Every case, in the gates' order.
    pub decisions: Vec<Decision>,
    /// Every figure of every system compared with the baseline, if there is one.
    pub kpis: Vec<Kpi>,
    /// Notes on the references.
    pub notes: Vec<String>,
}

impl Verdicts {
    /// Removes the checks of volatile metrics, which differ between two runs of one plan.
    #[must_use]
    pub fn steady(mut self, plan: &PlanHeader) -> Self {
        let volatile = |metric: &str| plan.metrics.iter().any(|it| it.volatile && it.name == metric);
        self.decisions.retain(|decision| !decision.is_metric || !volatile(&decision.subject));
        self.kpis.retain(|kpi| !volatile(&kpi.metric));
        self
    }

    /// The verdict on the run; `None` without gates. A review counts as a pass.
    pub fn verdict(&self) -> Option<Verdict> {
        let worst = self.decisions.iter().map(|decision| match decision.verdict {
            Verdict::Review => Verdict::Pass,
            verdict => verdict,
        });
        worst.max_by_key(|verdict| *verdict as u8)
    }

    /// Number of cases with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.decisions.iter().filter(|decision| decision.verdict == verdict).count()
    }

    /// The exit code if gates bind.
    pub fn exit(&self) -> Exit {
        let open = |decision: &Decision| decision.verdict == Verdict::Undecided && decision.undecided_fails;
        match self.verdict() {
            Some(Verdict::Fail) => Exit::GateFailed,
            _ if self.decisions.iter().any(open) => Exit::Undecided,
            _ => Exit::Pass,
        }
    }
}
