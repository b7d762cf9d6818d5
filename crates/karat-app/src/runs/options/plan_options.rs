//! The ways to run a plan, each with its calls, price, time and precision.
//!
//! | option | calls and price |
//! |---|---|
//! | `full` | every cell, every cell graded by the judges |
//! | `early_at_threshold` | stopped early, with the means at the gates' thresholds: where least is saved |
//! | `early_at_last_effect` | stopped early, with the means of the suite's last run; without one a tenth of the range above the thresholds |
//! | `cascade` | the judges asked about part of the cells, as the suite's cascades say |
//! | `batch` | by batch APIs |

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use karat_analysis::gate::{EarlyForecast, assume_early_stop, forecast_early_stop};
use karat_analysis::{Findings, Outcome, primary_metric};
use karat_engine::{Estimate, ModelEstimate};
use karat_stats::sequential::StopForecast;
use karat_suite::Plan;
use karat_types::{CascadeSpec, ModelSpec, PlanHeader, RunRows, ScorerKind};
use serde::Serialize;
use serde_json::{Value, json};

use crate::runs::Runs;
use crate::runs::batches::passes::price_batches;
use crate::runs::preflight_budget::DEFAULT_CEILING_USD;
use crate::runs::why::ReuseReasons;
use crate::stored::findings::findings;
use crate::{AppError, rfc3339};

/// One way to run a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanOption {
    /// Its name.
    pub option: &'static str,
    /// Least and most calls; of an early stop, of the median run and of that which nine of ten do not exceed.
    pub calls: Option<(u64, u64)>,
    /// The same in US dollars.
    pub usd: Option<(f64, f64)>,
    /// Hours that it takes at most; `None` if nothing is known of the time of a call.
    pub hours: Option<f64>,
    /// Half of the width of the primary metric's interval; `None` if its spread is not known.
    pub half_width: Option<f64>,
    /// Share of the samples before an early stop: the median, and what nine of ten runs do not exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<(f64, f64)>,
    /// The reason why it is not there, or what its figures rest on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The ways to run a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanOptions {
    /// The metric of `half_width`.
    pub metric: Option<String>,
    /// The run that the figures rest on; `None` if the suite has none.
    pub run: Option<String>,
    /// The options.
    pub options: Vec<PlanOption>,
}

/// Number of cells of the last run from which the time of calls is learned.
const TIMED_CELLS: u64 = 2_000;

/// The correlation of both judges of a cascade that is assumed without a run.
const ASSUMED_CORRELATION: f64 = 0.6;

/// The quantile of a 95 % interval.
const Z95: f64 = 1.959_964;

/// The most hours that a batch takes.
const BATCH_HOURS: f64 = 24.0;

const MS_PER_HOUR: f64 = 3_600_000.0;

impl Runs<'_> {
    /// The ways to run a plan, by the suite's last run where there is one. Makes no API calls.
    ///
    /// # Errors
    /// The plan cannot be estimated, or the store not be read.
    pub fn options(&self, plan: &Plan) -> Result<PlanOptions, AppError> {
        let header = &plan.header;
        let run =
            if self.app.store.exists() { self.app.store_to_read()?.latest_finished(&header.suite)? } else { None };
        // A damaged run teaches nothing; its report says what is wrong.
        let stored = run.as_deref().and_then(|run| self.app.stored().run(run).ok());
        let last = stored.as_ref().and_then(|stored| Some(LastRun { findings: findings(stored).ok()?, rows: stored }));
        let times = last.as_ref().map(|last| call_times(last.rows)).unwrap_or_default();
        let metric = primary_metric(header);
        let full = self.estimate(&without_cascades(plan))?;
        let width = Widths::of(header, metric, last.as_ref().map(|last| &last.findings));
        let option = |option, estimate: &Estimate, half_width| PlanOption {
            option,
            calls: Some(estimate.calls()),
            usd: Some((estimate.cost().0.usd(), estimate.cost().1.usd())),
            hours: hours(header, estimate, &times),
            half_width,
            share: None,
            note: None,
        };
        let whole = option("full", &full, width.full);
        let mut options = early_options(plan, last.as_ref(), &whole);
        options.push(match has_cascade(header) {
            true => option("cascade", &self.estimate(plan)?, width.cascade),
            false => absent("cascade", "no scorer has `cascade`"),
        });
        let mut batched = plan.clone();
        options.push(match price_batches(&mut batched) {
            Ok(()) => PlanOption {
                hours: Some(BATCH_HOURS),
                note: Some("up to 24 hours for each round of calls".to_owned()),
                ..option(
                    "batch",
                    &self.estimate(&batched)?,
                    if has_cascade(header) { width.cascade } else { width.full },
                )
            },
            Err(why) => absent("batch", why.to_string()),
        });
        options.insert(0, whole);
        Ok(PlanOptions { metric: metric.and_then(|at| Some(header.metrics.get(at)?.name.clone())), run, options })
    }
}

/// The suite's last run.
struct LastRun<'a> {
    findings: Findings,
    rows: &'a dyn RunRows,
}

fn absent(option: &'static str, why: impl Into<String>) -> PlanOption {
    PlanOption { option, calls: None, usd: None, hours: None, half_width: None, share: None, note: Some(why.into()) }
}

fn has_cascade(plan: &PlanHeader) -> bool {
    plan.scorers.iter().any(|scorer| scorer.cascade.is_some())
}

/// The plan with every cell graded by its judges, and no judge before them.
fn without_cascades(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    if !has_cascade(&plan.header) {
        return plan;
    }
    for scorer in &mut Arc::make_mut(&mut plan.header).scorers {
        scorer.cascade = None;
        if let (true, ScorerKind::Rubric(rubric)) = (scorer.is_first_judge, &mut scorer.kind) {
            rubric.judges.clear();
        }
    }
    plan
}

/// The rows of an early stop.
fn early_options(plan: &Plan, last: Option<&LastRun<'_>>, whole: &PlanOption) -> Vec<PlanOption> {
    const NAMES: [&str; 2] = ["early_at_threshold", "early_at_last_effect"];
    let header = &plan.header;
    if plan.rules.gates.is_empty() {
        return NAMES.map(|name| absent(name, "the suite has no gates")).into();
    }
    let of_last = last.and_then(|last| forecast_early_stop(&last.findings, last.rows, &plan.rules, header).ok());
    let basis = match &of_last {
        Some(_) => "by the last run",
        None => {
            "no run of this suite is stored: a tenth of the range above the thresholds is assumed; all cells are the worst case"
        }
    };
    let EarlyForecast { as_seen, at_threshold, open, uncovered, .. } =
        of_last.unwrap_or_else(|| assume_early_stop(header, &plan.rules));
    if !open.is_empty() {
        let why = format!("the run goes to its end: {}", open.join("; "));
        return NAMES.map(|name| absent(name, why.clone())).into();
    }
    if !uncovered.is_empty() {
        let gates = uncovered.join("; ");
        let why = format!("the run may stop early, but the forecast does not cover all of its gates: {gates}");
        return NAMES.map(|name| absent(name, why.clone())).into();
    }
    let row = |name, forecast: Option<StopForecast>| match forecast {
        Some(forecast) => of_share(name, whole, forecast, basis),
        None => absent(name, "no gate has samples"),
    };
    vec![row(NAMES[0], at_threshold), row(NAMES[1], as_seen)]
}

/// A share of the whole plan.
fn of_share(option: &'static str, whole: &PlanOption, forecast: StopForecast, basis: &str) -> PlanOption {
    let calls = |share: f64, calls: u64| (share * calls as f64).ceil() as u64;
    PlanOption {
        option,
        calls: whole.calls.map(|(least, most)| (calls(forecast.median, least), calls(forecast.p90, most))),
        usd: whole.usd.map(|(least, most)| (forecast.median * least, forecast.p90 * most)),
        hours: whole.hours.map(|hours| hours * forecast.median),
        half_width: whole.half_width.map(|width| width / forecast.median.sqrt()),
        share: Some((forecast.median, forecast.p90)),
        note: Some(format!("median and 90 % of 200 simulated runs, {basis}")),
    }
}

/// Half widths of the primary metric.
#[derive(Debug, Clone, Copy, Default)]
struct Widths {
    full: Option<f64>,
    cascade: Option<f64>,
}

impl Widths {
    fn of(plan: &PlanHeader, metric: Option<usize>, last: Option<&Findings>) -> Self {
        let Some(spec) = metric.and_then(|at| plan.metrics.get(at)) else { return Self::default() };
        let times = width_ratio(plan, spec.scorer, last);
        let n = plan.dataset.rows as f64;
        let of_last = last.and_then(|last| {
            let at = last.plan.metric(&spec.name)?;
            let figures = last.systems.iter().filter_map(|system| system.metrics.get(at)?.figure());
            let widths = figures.filter_map(|figure| {
                let (lo, hi) = figure.interval()?;
                Some(0.5 * (hi - lo) * (figure.n() as f64 / n).sqrt())
            });
            let widest = widths.reduce(f64::max)?;
            // The last run had a cascade if the plan has one and its findings estimate it.
            Some(if last_ratio(last, &spec.name).is_some() { widest / times } else { widest })
        });
        let worst = spec.range.map(|(lo, hi)| Z95 * 0.5 * (hi - lo) / n.sqrt());
        let full = of_last.or(worst).filter(|width| width.is_finite());
        Self { full, cascade: full.map(|width| width * times) }
    }
}

/// The factor by which a cascade widens an interval; 1 without a cascade.
fn width_ratio(plan: &PlanHeader, scorer: usize, last: Option<&Findings>) -> f64 {
    let Some(cascade) = plan.scorers.get(scorer).and_then(|scorer| scorer.cascade.as_ref()) else { return 1.0 };
    let names = plan.metrics.iter().filter(|metric| metric.scorer == scorer).map(|metric| metric.name.as_str());
    let measured = last.and_then(|last| names.filter_map(|name| last_ratio(last, name)).reduce(f64::max));
    measured.unwrap_or_else(|| {
        let rho = ASSUMED_CORRELATION * ASSUMED_CORRELATION;
        (rho + (1.0 - rho) / probability(plan, cascade)).sqrt()
    })
}

fn probability(plan: &PlanHeader, cascade: &CascadeSpec) -> f64 {
    let each = plan.systems.iter().enumerate();
    let each = each.map(|(at, system)| cascade.probability(at, plan.dataset.rows * u64::from(system.trials)));
    each.fold(1.0, f64::min)
}

/// The widest ratio of a metric in a run's cascades.
fn last_ratio(last: &Findings, metric: &str) -> Option<f64> {
    let cascades = last.analyses.iter().filter_map(|analysed| match &analysed.outcome {
        Outcome::Cascades(found) => Some(&found.scorers),
        _ => None,
    });
    let systems = cascades.flatten().flat_map(|cascade| &cascade.systems);
    let metrics = systems.flat_map(|system| &system.metrics).filter(|it| it.metric == metric);
    metrics.filter_map(|it| it.width_ratio).reduce(f64::max)
}

/// Mean milliseconds of a call, by model.
fn call_times(rows: &dyn RunRows) -> BTreeMap<String, f64> {
    let plan = rows.header().plan.clone();
    let mut sums = BTreeMap::<String, (f64, u64)>::new();
    let mut add = |model: Option<&ModelSpec>, latency_ms: f64, calls: usize| {
        if let (Some(model), true) = (model, calls > 0 && latency_ms > 0.0) {
            let sum = sums.entry(model.id.clone()).or_default();
            *sum = (sum.0 + latency_ms, sum.1 + calls as u64);
        }
    };
    let mut read = 0;
    let outcome = rows.for_each(&mut |row| {
        add(plan.system_model(row.system), row.cell.latency_ms, row.cell.calls.len());
        for judgment in row.judgments {
            add(plan.judges.get(usize::from(judgment.judge)), judgment.latency_ms, judgment.calls.len());
        }
        read += 1;
        if read < TIMED_CELLS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if outcome.is_err() {
        return BTreeMap::new();
    }
    sums.into_iter().map(|(model, (ms, calls))| (model, ms / calls as f64)).collect()
}

/// Hours of an estimate: calls × time of a call over the calls in flight, or what the limits of a model take if that is
/// longer. `None` if neither is known.
fn hours(plan: &PlanHeader, estimate: &Estimate, times: &BTreeMap<String, f64>) -> Option<f64> {
    let flight = f64::from(plan.run.max_concurrency.max(1));
    let spec = |id: &str| plan.all_models().find(|model| model.id == id);
    let work = |model: &ModelEstimate| Some(model.calls.1 as f64 * times.get(&model.id)?);
    let together: f64 = estimate.models.iter().filter_map(work).sum::<f64>() / flight / MS_PER_HOUR;
    let alone = estimate.models.iter().filter_map(|model| {
        let limits = spec(&model.id)?.limits;
        let calls = model.calls.1 as f64;
        let tokens = (model.input_tokens.1 + model.output_tokens.1) as f64;
        let by_requests = limits.rpm.map(|rpm| calls / f64::from(rpm.max(1)) / 60.0);
        let by_tokens = limits.tpm.map(|tpm| tokens / tpm.max(1) as f64 / 60.0);
        let in_flight = limits.concurrency.zip(work(model)).map(|(most, ms)| ms / f64::from(most.max(1)) / MS_PER_HOUR);
        [by_requests, by_tokens, in_flight].into_iter().flatten().reduce(f64::max)
    });
    let longest = alone.fold(together, f64::max);
    (longest > 0.0).then_some(longest)
}

/// The document of an estimate. Its keys are a public interface: keys may be added, none changes its meaning.
pub fn estimate_document(planned: &Plan, estimate: &Estimate, reasons: &ReuseReasons, options: &PlanOptions) -> Value {
    let plan = &planned.header;
    let (least, most) = estimate.calls();
    let (low, high) = estimate.cost();
    let mut document = json!({
        "suite": plan.suite,
        "plan_hash": plan.plan_hash,
        "samples": planned.row_count(),
        "systems": plan.systems.len(),
        "judges": plan.judges.len(),
        "cells": {
            "planned": planned.cells(),
            "fresh": estimate.fresh,
            "reused": estimate.reused,
            "skipped": estimate.skipped,
            "left_out": estimate.left_out,
            "failing": estimate.failing,
        },
        "judgments": { "fresh": estimate.judgments_fresh, "reused": estimate.judgments_reused },
        "reasons": {
            "cells": reasons.cells,
            "outputs": reasons.outputs,
            "judgments": reasons.judgments,
            "oldest_reused": reasons.oldest_reused.map(rfc3339),
        },
        "calls": [least, most],
        "cost_usd": [low.usd(), high.usd()],
        "is_guess": estimate.is_guess(),
        "budget_usd": plan.run.budget_usd.filter(|_| plan.run.budget_declared),
        "ceiling_usd": DEFAULT_CEILING_USD,
        "unpriced": estimate.unpriced_models().collect::<Vec<_>>(),
        "models": estimate.models.iter().map(model_document).collect::<Vec<_>>(),
        "options": options.options,
        "options_basis": { "metric": options.metric, "run": options.run },
    });
    if let (Some(part), Some(keys)) = (planned.shard(), document.as_object_mut()) {
        keys.insert("shard".to_owned(), json!(part.shard));
    }
    document
}

fn model_document(model: &ModelEstimate) -> Value {
    json!({
        "id": model.id,
        "judge": model.judge,
        "calls": [model.calls.0, model.calls.1],
        "input_tokens": [model.input_tokens.0, model.input_tokens.1],
        "output_tokens": [model.output_tokens.0, model.output_tokens.1],
        "cost_usd": model.cost.filter(|_| !model.metered).map(|(low, high)| [low.usd(), high.usd()]),
        "metered": model.metered,
        "is_guess": model.is_guess,
    })
}
