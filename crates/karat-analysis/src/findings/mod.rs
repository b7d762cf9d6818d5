//! The findings of a run.
//!
//! - `baseline_variants`: variants without a model, beside the systems with one
//! - `stored_deviations`: the spread of paired differences, for planning
//! - `unmatched_outputs`: scorers whose path leads to nothing in any output

pub(crate) mod baseline_variants;
pub(crate) mod stored_deviations;
pub(crate) mod unmatched_outputs;

use std::collections::BTreeSet;
use std::sync::Arc;

use karat_types::{CellRow, JudgmentRow, Money, PlanHeader, StoredStop};
use serde::Serialize;

use crate::analyses::{
    Agreement, AnalysisResult, AnchoredFigure, Calibration, Delta, Errors, Failures, Grading, Notes, Outcome, Services,
};
use crate::figures::aggregate::spread;
use crate::figures::breakdown::Breakdown;
use crate::figures::contrast::{Contrast, DeltaAxis, GatedChange};
use crate::figures::groups::{self, Group};
use crate::figures::leaderboard::{Leaderboard, best_first};
use crate::figures::looks::Looks;
use crate::figures::spread::Spread;
use crate::findings::baseline_variants::{BaselineVariant, mean_on_sample};
use crate::findings::unmatched_outputs::UnmatchedOutput;
use crate::infer::finding::{Finding, finite};
use crate::infer::measure::Measure;
use crate::score::consensus::CellScores;
use crate::score::instrument::served_models::ServedJudge;
use crate::score::instrument::{Instruments, MeasuredRun};
use crate::score::table::ScoreTable;

/// The short answer, in the run's primary metric, on the cells that all models share.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// The metric that decides.
    pub metric: Option<String>,
    /// Best model; the best variant if no system has a model.
    pub best_model: Option<String>,
    /// Worst model; `None` when there is only one.
    pub worst_model: Option<String>,
    /// The sample with the worst mean.
    pub hardest_sample: Option<String>,
    /// Samples × variants that all ranked models share.
    pub shared: u64,
    /// Samples × variants on which any model has a score.
    pub scored: u64,
    /// The choice along each axis with something to choose from: variants, then models.
    pub answers: Vec<Answer>,
}

/// The answer to "which is better?" along one axis of a run, from its contrasts. Plain texts that may contain ids from the
/// suite, so a renderer must escape them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The compared axis.
    pub axis: DeltaAxis,
    /// `Which variant?` or `Which model?`
    pub question: &'static str,
    /// True if a test decides which to choose.
    pub decided: bool,
    /// The choice, or what is missing to decide it.
    pub answer: String,
    /// The reason for caution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

/// One sample's figures.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleFindings<'a> {
    /// Its id.
    pub id: &'a str,
    /// By metric index, over the systems that ran on it; without intervals, because systems are no random sample.
    pub metrics: Vec<Spread>,
    /// Cost of its cells; `None` if a price is unknown.
    pub cost: Option<Money>,
}

/// Cost of each sample: sixteen bytes a sample.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampleCosts {
    pub(crate) known: Vec<Money>,
    pub(crate) unknown: BTreeSet<usize>,
}

impl SampleCosts {
    pub(crate) fn add(&mut self, sample: usize, cost: Option<Money>) {
        if self.known.len() <= sample {
            self.known.resize(sample + 1, Money::ZERO);
        }
        match (cost, self.known.get_mut(sample)) {
            (Some(cost), Some(sum)) => *sum += cost,
            _ => {
                self.unknown.insert(sample);
            }
        }
    }

    fn of(&self, sample: usize) -> Option<Money> {
        (!self.unknown.contains(&sample)).then(|| self.known.get(sample).copied()).flatten()
    }
}

/// The findings of a run, built only by [`analyse`](crate::analyse).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Findings {
    /// The run's plan.
    pub plan: Arc<PlanHeader>,
    /// Cells that the plan has.
    pub planned: u64,
    /// The whole run: equal-weight means over systems.
    pub run: Group,
    /// Model × variant, in plan order.
    pub systems: Vec<Group>,
    /// Models, in plan order.
    pub models: Vec<Group>,
    /// Variants, in plan order.
    pub variants: Vec<Group>,
    /// The plan's judges, in its order, with the model names that providers reported.
    pub judges: Vec<ServedJudge>,
    /// By metric index.
    pub leaderboards: Vec<Leaderboard>,
    /// Index of the metric that decides: the primary one of the plan, or one that a gate is on.
    pub primary: Option<usize>,
    /// The short answer.
    pub summary: Summary,
    /// Cost by judge and by step.
    pub breakdown: Breakdown,
    /// Variants without a model, compared with the systems that call one.
    pub baselines: Vec<BaselineVariant>,
    /// The requested analyses, then those that always run.
    pub analyses: Vec<AnalysisResult>,
    /// Scorers of a finished run whose path matches no output.
    pub unmatched_outputs: Vec<UnmatchedOutput>,
    /// Warnings about the figures.
    pub warnings: Vec<String>,
    /// The changes along the axes of the run, each tested once.
    pub contrasts: Vec<Contrast>,
    /// The earlier looks at its contrasts.
    pub looks: Looks,
    /// Recommendations, most important first.
    pub recommendations: Vec<Recommendation>,
    /// The early stop of the run: its figures are those of the cells before it, unless the run was continued to its end.
    pub stop: Option<Arc<StoredStop>>,
    /// The changes that gates decide by interval.
    pub(crate) gated: Vec<GatedChange>,
    pub(crate) instruments: Instruments,
    pub(crate) table: ScoreTable,
    pub(crate) measures: Vec<Measure>,
    pub(crate) costs: SampleCosts,
}

/// A recommendation. Both texts are plain and may contain ids from the suite, so a renderer must escape them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recommendation {
    /// The advice with its reason.
    pub advice: String,
    /// The reason for caution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

impl Recommendation {
    pub(crate) fn new(advice: String, caveat: Option<String>) -> Self {
        Self { advice, caveat }
    }
}

impl Findings {
    /// The human-anchored figure of a metric of a system, if its scorer has labels.
    pub fn anchored_figure(&self, metric: &str, system: &str) -> Option<&AnchoredFigure> {
        let anchors = self.analyses.iter().filter_map(|analysed| match &analysed.outcome {
            Outcome::HumanAnchor(anchor) => Some(anchor),
            _ => None,
        });
        anchors.flat_map(|anchor| &anchor.figures).find(|it| it.metric == metric && it.system == system)
    }

    /// The score that a cell shows in a metric whose cascade did not ask the judges about it: what its first score lets
    /// expect of them. `None` for other cells, and if nothing can be estimated.
    pub fn expected_score(&self, row: &CellRow<'_>, metric: usize) -> Option<f64> {
        let scorer = self.plan.metrics.get(metric)?.scorer;
        let is_left_out = |it: &&JudgmentRow| usize::from(it.scorer) == scorer && !it.is_asked();
        row.judgments.iter().find(is_left_out)?;
        let first = CellScores::of(&self.plan, row).number(self.plan.first_metric(metric)?)?;
        let line = self.table.cascade(metric)?.fit(row.system)?.line?;
        finite(line.at(first))
    }

    /// The plan and instruments of the run.
    pub(crate) fn measured_run(&self) -> MeasuredRun<'_> {
        MeasuredRun { plan: &self.plan, instruments: &self.instruments }
    }

    /// The part of the plan that the figures are of, such as `61 of 200 samples`, if the run stopped early.
    pub fn stopped_after(&self) -> Option<String> {
        let stop = self.stop.as_deref().filter(|stop| !stop.to_end && stop.record.is_stopped())?;
        Some(stop.record.course())
    }

    /// Samples with at least one cell.
    pub fn samples(&self) -> usize {
        self.table.samples()
    }

    /// The figures of a sample, by its position among the samples with a cell. Computed on demand, so that a run of a
    /// million samples does not keep them in memory.
    pub fn sample(&self, sample: usize) -> SampleFindings<'_> {
        let metrics = self.measures.iter().enumerate();
        let metrics = metrics
            .map(|(metric, measure)| spread(&self.table, metric, *measure, &self.run.systems, sample..sample + 1));
        SampleFindings { id: self.table.sample_id(sample), metrics: metrics.collect(), cost: self.costs.of(sample) }
    }

    /// The mean of a group's systems on one sample, if any has a value.
    pub fn on_sample(&self, metric: usize, sample: usize, group: &Group) -> Option<Finding> {
        mean_on_sample(&self.table, metric, sample, &group.systems)
    }

    /// Positions of up to `limit` samples: all in plan order if there are no more, else those with the worst mean over
    /// all systems, worst first, ties by id.
    pub fn hardest_samples(&self, metric: usize, limit: usize) -> Vec<usize> {
        if self.samples() <= limit {
            return (0..self.samples()).collect();
        }
        let better = self.plan.metrics.get(metric).map(|it| it.better).unwrap_or_default();
        let mean = |sample| Some((sample, self.on_sample(metric, sample, &self.run)?.value()));
        let mut ranked: Vec<(usize, f64)> = (0..self.samples()).filter_map(mean).collect();
        let id = |sample: usize| self.table.sample_id(sample);
        let worst_first = |a: &(usize, f64), b: &(usize, f64)| {
            best_first(better, b.1, a.1).then_with(|| id(a.0).cmp(id(b.0))).then(a.0.cmp(&b.0))
        };
        // Sort only the few that are kept.
        if limit < ranked.len() {
            ranked.select_nth_unstable_by(limit, worst_first);
            ranked.truncate(limit);
        }
        ranked.sort_unstable_by(worst_first);
        ranked.into_iter().map(|(sample, _)| sample).collect()
    }

    /// Cost of a sample's cells, by position; `None` if a price is unknown.
    pub fn sample_cost(&self, sample: usize) -> Option<Money> {
        self.costs.of(sample)
    }

    /// Id of a sample, by position.
    pub fn sample_id(&self, sample: usize) -> &str {
        self.table.sample_id(sample)
    }

    /// Confidence level of all intervals, as a share.
    pub fn level(&self) -> Option<f64> {
        self.measures.first().map(|measure| measure.level.get())
    }

    /// The axis whose entries leaderboards rank: models, or the variants where fewer than two models are compared.
    pub fn ranked_axis(&self) -> DeltaAxis {
        if groups::ranks_variants(&self.plan) { DeltaAxis::Variant } else { DeltaAxis::Model }
    }

    /// The groups that leaderboards rank.
    pub fn ranked_groups(&self) -> &[Group] {
        if self.ranked_axis() == DeltaAxis::Model { &self.models } else { &self.variants }
    }

    /// The leaderboard of the primary metric.
    pub fn primary_board(&self) -> Option<&Leaderboard> {
        self.leaderboards.get(self.primary?)
    }

    /// Every `delta` that ran.
    pub fn deltas(&self) -> impl Iterator<Item = &Delta> {
        self.analyses.iter().filter_map(|it| match &it.outcome {
            Outcome::Delta(delta) => Some(delta),
            _ => None,
        })
    }

    /// The first `agreement` that ran.
    pub fn agreement(&self) -> Option<&Agreement> {
        self.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Agreement(found) => Some(found),
            _ => None,
        })
    }

    /// The first `calibration` that ran.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Calibration(found) => Some(found),
            _ => None,
        })
    }

    /// The first `failures` that ran.
    pub fn failures(&self) -> Option<&Failures> {
        self.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Failures(found) => Some(found),
            _ => None,
        })
    }

    /// The failed cells, judgments and scores.
    pub fn errors(&self) -> Option<&Errors> {
        self.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Errors(found) => Some(found),
            _ => None,
        })
    }

    /// Versions and models that services reported.
    pub fn services(&self) -> Option<&Services> {
        self.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Services(found) => Some(found),
            _ => None,
        })
    }

    /// Notes that every report must show.
    pub fn notes(&self) -> Option<&Notes> {
        self.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Notes(found) => Some(found),
            _ => None,
        })
    }

    /// Agreement and failures of judges.
    pub fn grading(&self) -> Option<&Grading> {
        self.analyses.iter().find_map(|it| match &it.outcome {
            Outcome::Grading(found) => Some(found),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Sketch;
    use crate::{Options, analyse};

    /// CL-18: the hardest samples are those with the worst mean, ties by id.
    #[test]
    fn the_hardest_of_many_samples() {
        let values = [5.0, 1.0, 9.0, 1.0, 3.0, 8.0];
        let sketch = Sketch::new(1, 1, values.len());
        let run = values.iter().enumerate().fold(sketch, |sketch, (at, value)| sketch.value(at, 0, *value)).run();
        let findings = analyse(&run, &Options::default()).unwrap();
        assert_eq!(findings.hardest_samples(0, 3), [1, 3, 4]);
        assert_eq!(findings.hardest_samples(0, 5), [1, 3, 4, 0, 5]);
        assert_eq!(findings.hardest_samples(0, 6), [0, 1, 2, 3, 4, 5]);
    }
}
