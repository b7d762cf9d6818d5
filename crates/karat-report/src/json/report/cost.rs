//! Tokens and money of the report.

use std::collections::BTreeMap;

use karat_analysis::{CostLine, Group, Spend};
use karat_types::{Money, UncachedCost};
use serde::Serialize;

use crate::shared::report::Report;

/// Usage and cost of some cells, in tokens and dollars; null if a price is unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Cost {
    extraction_tokens: u64,
    judge_tokens: u64,
    /// Tokens of the models that play users; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_tokens: Option<u64>,
    /// Tokens of the texts whose vectors scorers compared; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding_tokens: Option<u64>,
    extraction_cost_usd: Option<f64>,
    judge_cost_usd: Option<f64>,
    /// Cost of the models that play users; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_cost_usd: Option<Option<f64>>,
    /// Cost of the texts whose vectors scorers compared; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding_cost_usd: Option<Option<f64>>,
    estimated_cost_usd: Option<f64>,
    /// Amount that this run paid, without reused results; null if a price is unknown. Absent in the canonical form.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_cost_usd: Option<Option<f64>>,
}

impl Cost {
    pub(super) fn of(spend: &Spend, estimate: Option<Money>, canonical: bool) -> Self {
        Self {
            extraction_tokens: spend.extraction.usage.total(),
            judge_tokens: spend.judging.usage.total(),
            user_tokens: spend.has_users().then(|| spend.users.usage.total()),
            embedding_tokens: spend.has_vectors().then(|| spend.vectors.usage.total()),
            extraction_cost_usd: spend.extraction.cost().map(Money::usd),
            judge_cost_usd: spend.judging.cost().map(Money::usd),
            user_cost_usd: spend.has_users().then(|| spend.users.cost().map(Money::usd)),
            embedding_cost_usd: spend.has_vectors().then(|| spend.vectors.cost().map(Money::usd)),
            estimated_cost_usd: estimate.map(Money::usd),
            actual_cost_usd: (!canonical).then(|| Some(spend.amount_paid().usd())),
        }
    }
}

/// The field `cost` of the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RunCost<'a> {
    #[serde(flatten)]
    total: Cost,
    /// Part of the amount paid that providers stated themselves. Absent in the canonical form.
    #[serde(skip_serializing_if = "Option::is_none")]
    reported_usd: Option<f64>,
    /// Part of the amount paid whose tokens Karat counted, because the provider counted none. Absent in the canonical form.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_usd: Option<f64>,
    /// Estimated lowest and highest cost.
    estimated_cost_range_usd: Option<[f64; 2]>,
    /// `true` if the estimate is based on a sample of the rows.
    estimated_cost_sampled: bool,
    cost_per_cell: Option<f64>,
    cost_per_model: BTreeMap<&'a str, Option<f64>>,
    /// Null if there are too many samples for the report.
    cost_per_sample: Option<BTreeMap<&'a str, Option<f64>>>,
    cost_per_variant: BTreeMap<&'a str, Option<f64>>,
    cost_per_judge: BTreeMap<&'a str, Option<f64>>,
    /// By `variant.step`.
    cost_per_step: BTreeMap<String, Option<f64>>,
    /// Primary metric per dollar of the system's own calls, by model; null if that cost is 0 or unknown.
    score_per_usd: BTreeMap<&'a str, Option<f64>>,
}

impl<'a> RunCost<'a> {
    pub(super) fn of(report: Report<'a>) -> Self {
        let Report { findings, context, .. } = report;
        let groups = |groups: &'a [Group]| {
            groups.iter().map(|group| (group.id.as_str(), group.spend.cost().map(Money::usd))).collect()
        };
        let efficiency = |group: &'a Group| {
            let score = findings.primary.and_then(|at| group.metrics.get(at)?.value());
            (group.id.as_str(), score.and_then(|score| group.spend.efficiency(score)))
        };
        let estimate = context.estimate.as_ref();
        let paid = (context.unpriced_calls == 0).then(|| report.amount_paid().usd());
        let range = estimate.and_then(UncachedCost::range);
        let step = |line: &CostLine| (line.address(), line.cost.map(Money::usd));
        let samples =
            || (0..findings.samples()).map(|at| (findings.sample_id(at), findings.sample_cost(at).map(Money::usd)));
        Self {
            total: Cost {
                actual_cost_usd: (!context.canonical).then_some(paid),
                ..Cost::of(&findings.run.spend, range.map(|(_, most)| most), context.canonical)
            },
            reported_usd: (!context.canonical).then(|| context.reported.usd()),
            counted_usd: (!context.canonical).then(|| context.counted.usd()),
            estimated_cost_range_usd: range.map(|(least, most)| [least.usd(), most.usd()]),
            estimated_cost_sampled: estimate.is_some_and(|it| it.sampled),
            cost_per_cell: findings.run.spend.per_cell_usd(),
            cost_per_model: groups(&findings.models),
            cost_per_sample: super::is_inline(report).then(|| samples().collect()),
            cost_per_variant: groups(&findings.variants),
            cost_per_judge: (findings.breakdown.judges.iter())
                .map(|line| (line.id.as_str(), line.cost.map(Money::usd)))
                .collect(),
            cost_per_step: findings.breakdown.steps.iter().map(step).collect(),
            score_per_usd: findings.models.iter().map(efficiency).collect(),
        }
    }
}
