//! The gates that can be followed while a run goes on, and the reasons for those that cannot.

use karat_text::path::Path;
use karat_text::template::Expression;
use karat_types::{
    Gate, GateBasis, GateReference, GateRules, OpenGate, PlanHeader, SampleRecord, ScorerKind, Subject, Threshold,
};
use serde_json::Value;

use crate::gate::case::{BoundKind, is_reference};
use crate::gate::scope::UNITS;
use crate::score::checks::has_known_checks;
use crate::score::instrument::metric_names::matches_pattern;
use crate::score::observations::Aggregate;
use crate::score::prefix::span::{columns, compile_condition, holds};

/// A gate with the metrics that are followed.
pub(super) struct FollowedGate {
    /// Index of the gate in the rules.
    pub(super) gate: usize,
    /// Indices of its metrics.
    pub(super) metrics: Vec<usize>,
    /// Its bounds.
    pub(super) bounds: Vec<(BoundKind, Threshold)>,
    /// The systems of each of its units: one, or all of a gate `per: run`.
    pub(super) sets: Vec<Vec<usize>>,
    condition: Option<Expression>,
    column: Option<Path>,
}

impl FollowedGate {
    /// The followed part of a gate.
    ///
    /// # Errors
    /// A condition or path that cannot be read.
    pub(super) fn of(plan: &PlanHeader, rules: &GateRules, at: usize) -> Result<Option<Self>, String> {
        let Some(gate) = rules.gates.get(at) else { return Ok(None) };
        let metrics: Vec<usize> =
            metrics(plan, gate).filter(|metric| reason(plan, gate, Some(*metric)).is_none()).collect();
        if metrics.is_empty() || reason(plan, gate, None).is_some() {
            return Ok(None);
        }
        let condition = gate.condition.as_deref().map(|source| compile_condition(plan, source)).transpose();
        let column = (!UNITS.contains(&gate.per.as_str())).then(|| Path::parse(&gate.per)).transpose();
        Ok(Some(Self {
            gate: at,
            metrics,
            bounds: bounds(gate),
            sets: system_sets(plan, gate),
            condition: condition.map_err(|error| error.message)?,
            column: column.map_err(|error| format!("`per: {}` is not a valid path: {error}", gate.per))?,
        }))
    }

    /// Returns whether all cells of its systems belong to it.
    pub(super) fn is_whole(&self) -> bool {
        self.condition.is_none() && self.column.is_none()
    }

    /// The group of a sample; `None` for a gate that is not evaluated per column.
    ///
    /// # Errors
    /// The sample lacks the column.
    pub(super) fn group(&self, gate: &Gate, sample: &SampleRecord) -> Result<Option<Value>, String> {
        let Some(path) = &self.column else { return Ok(None) };
        path.first_in(&columns(sample)).cloned().map(Some).ok_or_else(|| {
            format!(
                "`per: {}`: sample `{}` has no such column; list it under the dataset's `metadata`",
                gate.per, sample.id
            )
        })
    }

    /// Returns whether the gate includes a cell.
    ///
    /// # Errors
    /// The condition cannot be evaluated on the sample.
    pub(super) fn holds(&self, plan: &PlanHeader, sample: &SampleRecord, system: usize) -> Result<bool, String> {
        self.condition.as_ref().map_or(Ok(true), |condition| holds(condition, plan, sample, system))
    }
}

/// The bounds of a gate.
fn bounds(gate: &Gate) -> Vec<(BoundKind, Threshold)> {
    let limits = [
        (BoundKind::Min, gate.min),
        (BoundKind::Max, gate.max),
        (BoundKind::MaxDrop, gate.max_drop),
        (BoundKind::MaxRise, gate.max_rise),
    ];
    limits.into_iter().filter_map(|(bound, threshold)| Some((bound, threshold?))).collect()
}

/// The metrics of a gate.
fn metrics<'a>(plan: &'a PlanHeader, gate: &'a Gate) -> impl Iterator<Item = usize> + 'a {
    let is_of = |name: &str| matches!(&gate.subject, Subject::Metric(pattern) if matches_pattern(pattern, name));
    plan.metrics.iter().enumerate().filter(move |(_, metric)| is_of(&metric.name)).map(|(at, _)| at)
}

/// The systems of each unit of a gate.
pub(super) fn system_sets(plan: &PlanHeader, gate: &Gate) -> Vec<Vec<usize>> {
    let systems = (0..plan.systems.len()).filter(|system| !is_reference(plan, gate, *system));
    match gate.per.as_str() {
        "run" => vec![systems.collect()],
        _ => systems.map(|system| vec![system]).collect(),
    }
}

/// The reason why a gate, or one of its metrics, is decided at the end only.
fn reason(plan: &PlanHeader, gate: &Gate, metric: Option<usize>) -> Option<String> {
    let Some(metric) = metric else {
        return match &gate.subject {
            Subject::Finding(_) => Some("a finding is known at the end only".to_owned()),
            _ if gate.per == "sample" => Some("it judges every sample".to_owned()),
            _ if gate.human_anchor => Some("people's labels correct it at the end".to_owned()),
            _ => None,
        };
    };
    let spec = plan.metrics.get(metric)?;
    let name = &spec.name;
    let is_tournament = plan
        .scorers
        .get(spec.scorer)
        .is_some_and(|scorer| matches!(&scorer.kind, ScorerKind::Rubric(rubric) if plan.pair_design(rubric).is_some()));
    let is_cascaded = plan.scorers.get(spec.scorer).is_some_and(|scorer| scorer.cascade.is_some());
    match spec.range {
        _ if is_cascaded => Some(format!("{name} has a cascade")),
        _ if is_tournament => Some(format!("{name} is a tournament of all systems")),
        // A percentile is within `max` exactly when enough samples are.
        _ if percentile(&spec.aggregate).is_some() => {
            let is_limit = gate.min.is_none() && gate.max_drop.is_none() && gate.max_rise.is_none();
            let is_alone = gate.per != "run" || plan.systems.len() == 1;
            (!is_limit || !is_alone)
                .then(|| format!("of {name}, a {}, only `max` of a system is followed", spec.aggregate))
        }
        _ if spec.aggregate != "mean" => {
            Some(format!("{name} is a {}, and only means and percentiles are followed", spec.aggregate))
        }
        None => Some(format!("{name} has no range that bounds the scores to come")),
        Some((lo, hi)) if hi <= lo => Some(format!("{name} has one possible value")),
        Some(_) if plan.pass() == Some(metric) && !has_known_checks(plan) => {
            Some(format!("only the scores tell which checks {name} counts"))
        }
        Some(_) => None,
    }
}

/// The share of samples below a percentile such as `p95`.
pub(super) fn percentile(aggregate: &str) -> Option<f64> {
    match Aggregate::parse(aggregate)? {
        Aggregate::Percentile(p) => Some(f64::from(p) / 100.0),
        _ => None,
    }
}

/// The gates that keep a run going to its end whatever the scores, each with the reason.
pub fn open_gates(plan: &PlanHeader, rules: &GateRules) -> Vec<OpenGate> {
    let reasons = |gate: &Gate| -> Vec<OpenGate> {
        let open = |why: String| OpenGate { gate: gate.id.clone(), why };
        match reason(plan, gate, None) {
            Some(why) => vec![open(why)],
            None => metrics(plan, gate).filter_map(|metric| reason(plan, gate, Some(metric))).map(open).collect(),
        }
    };
    rules.gates.iter().flat_map(reasons).collect()
}

/// Everything that prevents a plan from stopping early by these rules: `Err` with what makes the request wrong, else
/// warnings about what keeps the run going.
///
/// # Errors
/// A race in an unknown metric, in one without a range, or of one system.
pub fn stop_problems(plan: &PlanHeader, rules: &GateRules) -> Result<Vec<String>, String> {
    let Some(spec) = &plan.run.stop_early else { return Ok(Vec::new()) };
    if plan.run.batch {
        return Err("`run.stop_early` asks for calls as their answers are needed, and `run.batch` asks for all at once; leave one out".to_owned());
    }
    if let Some(race) = &spec.race {
        let known: Vec<&str> = plan.metrics.iter().map(|metric| metric.name.as_str()).collect();
        let Some(metric) = plan.metrics.iter().position(|metric| metric.name == *race) else {
            let near = crate::gate::problem::suggestion(race, &known);
            return Err(format!("`run.stop_early.race`: the run has no metric `{race}`{near}"));
        };
        let gate = Gate::for_metric(race);
        if let Some(why) = reason(plan, &gate, Some(metric))
            .or_else(|| plan.metrics.get(metric)?.range.is_none().then(|| format!("{race} has no range")))
        {
            return Err(format!("`run.stop_early.race`: {why}; name a metric with a range"));
        }
        if plan.systems.len() < 2 {
            return Err(
                "`run.stop_early.race` needs at least two systems; leave it out, or add a model or variant".to_owned()
            );
        }
    }
    let mut warnings: Vec<String> = open_gates(plan, rules)
        .into_iter()
        .map(|open| format!("`run.stop_early`: the gate `{}` keeps the run going to its end: {}", open.gate, open.why))
        .collect();
    if rules.gates.is_empty() && spec.race.is_none() {
        warnings.push(
            "`run.stop_early` does nothing: the suite has no gates and no `race`, so the run goes to its end"
                .to_owned(),
        );
    }
    let relative = |gate: &&Gate| {
        let in_run = matches!(gate.against, Some(GateReference::Variant(_) | GateReference::Model(_)));
        in_run && [gate.max_drop, gate.max_rise].into_iter().flatten().any(|bound| bound.percent)
    };
    warnings.extend(rules.gates.iter().filter(relative).map(|gate| {
        format!(
            "`run.stop_early`: the gate `{}` keeps the run going to its end: its percentage is of a figure that is known at the \
             end only; write the change in the metric's unit",
            gate.id
        )
    }));
    if rules.gates.iter().any(|gate| gate.decide == GateBasis::Interval) && plan.dataset.clustered {
        warnings.push(
            "`run.stop_early`: with fewer than 60 clusters the interval at the end errs in more than 5 % of runs"
                .to_owned(),
        );
    }
    Ok(warnings)
}
