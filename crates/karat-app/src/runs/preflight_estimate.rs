//! The estimate of a run's cost before its first call.
//!
//! A walk over a large dataset takes a while. If a sample of the rows leaves no doubt that the run is allowed, it
//! starts, and the sample gives the estimate of the whole plan. If an earlier run of the plan stored the cost of all of
//! it, and that is allowed, there is no walk.

use karat_engine::{Estimate, EstimateInput, Estimator, PlanPart, UsageHistory};
use karat_store::Store;
use karat_suite::Plan;
use karat_types::{Moment, PlanHeader, UncachedCost};

use crate::runs::preflight_budget::{EarlierCalls, allows_all, check_limits};
use crate::runs::target::RunTarget;
use crate::stored::invocation::known_estimate;
use crate::{AppError, Invocation};

/// Below this number of rows, a walk is faster than connecting models that may have nothing to do.
const MIN_ROWS: u64 = 4_096;

/// Factor by which all rows may exceed the sampled estimate without changing the decision.
const SAFETY_FACTOR: u64 = 4;

/// The estimate of a run at its start.
pub(crate) struct PreflightEstimate {
    /// The estimate of the rest, or of all rows; `None` if the run is allowed whatever is left.
    pub estimate: Option<Estimate>,
    /// The cost of the plan with nothing cached.
    pub uncached: UncachedCost,
}

impl PreflightEstimate {
    /// The estimate of an earlier run of the plan, if that much is allowed: then there is no walk. Small datasets are
    /// always walked, which is faster than connecting models that may have nothing to do.
    pub fn from_earlier_run(
        store: &Store,
        plan: &PlanHeader,
        invocation: &Invocation,
    ) -> Result<Option<Self>, AppError> {
        if plan.dataset.rows < MIN_ROWS {
            return Ok(None);
        }
        let known = known_estimate(store, plan)?.filter(|uncached| allows_all(&plan.run, uncached, invocation));
        Ok(known.map(|uncached| Self { estimate: None, uncached }))
    }

    /// Walks over as many rows as the decision needs; `is_allowed` decides on an estimate.
    pub fn of(
        survey: &mut Estimator<'_>,
        plan: &PlanHeader,
        is_allowed: impl Fn(&Estimate) -> bool,
    ) -> Result<Self, AppError> {
        let spread = survey.estimate_sampled()?;
        let is_enough = |estimate: &Estimate| {
            calls_all_models(estimate, plan) && is_allowed(&estimate.clone().times(SAFETY_FACTOR))
        };
        let estimate = match spread.filter(is_enough) {
            Some(estimate) => estimate,
            None => survey.estimate_all()?,
        };
        Ok(Self { uncached: estimate.uncached.clone(), estimate: Some(estimate) })
    }
}

/// Returns whether every model of the plan is called, so that no further row can add one.
fn calls_all_models(estimate: &Estimate, plan: &PlanHeader) -> bool {
    let mut models = plan.all_models();
    models.all(|spec| estimate.models.iter().any(|model| model.id == spec.id && model.calls.0 > 0))
}

/// An estimator for the rest of a plan and for the cost of all of it, for a run or before one. The cost of all is not
/// estimated if it is given.
pub(crate) fn new_estimator<'a>(
    store: &'a Store,
    plan: &'a Plan,
    oldest: Option<Moment>,
    found: Option<(&RunTarget, PlanPart)>,
    cost: Option<UncachedCost>,
) -> Result<Estimator<'a>, AppError> {
    let outputs = found.and_then(|(found, _)| found.outputs.clone());
    let given = EstimateInput {
        part: found.map_or(PlanPart::Whole, |(_, part)| part),
        oldest,
        uncached: match cost {
            None if outputs.is_none() => known_estimate(store, &plan.header)?,
            cost => cost,
        },
        outputs,
        usage_history: usage_history(store, &plan.header)?,
    };
    Ok(Estimator::new(plan, store, plan.files(), found.map(|(found, _)| found.id.as_str()), given)?)
}

/// The cost of a whole plan, of which a shard is started. A run of the whole would store the same.
pub(crate) fn whole_cost(
    store: &Store,
    whole: &Plan,
    invocation: &Invocation,
    oldest: Option<Moment>,
) -> Result<UncachedCost, AppError> {
    if let Some(known) = known_estimate(store, &whole.header)? {
        return Ok(known);
    }
    let is_allowed =
        |estimate: &Estimate| check_limits(&mut whole.clone(), estimate, invocation, EarlierCalls::default()).is_ok();
    let mut survey = new_estimator(store, whole, oldest, None, None)?;
    Ok(PreflightEstimate::of(&mut survey, &whole.header, is_allowed)?.uncached)
}

/// Number of finished runs of a suite that are read for the usage of calls: the newest ones.
const READ_RUNS: usize = 5;

/// The usage of calls in the latest finished runs of the suite: a run of other models or judges tells nothing of these.
fn usage_history(store: &Store, plan: &PlanHeader) -> Result<UsageHistory, AppError> {
    let mut known = UsageHistory::default();
    for run in store.finished_of_suite(&plan.suite, READ_RUNS)? {
        // A damaged run teaches nothing; its report says what is wrong.
        known = known.or(UsageHistory::of(&store.rows(&run)?, plan).unwrap_or_default());
        if known.covers(plan) {
            break;
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_store::StoreUrl;
    use karat_suite::{LoadContext, Overrides, Registry, Suite};
    use karat_types::Money;

    use super::*;
    use crate::project::catalog;
    use crate::project::presets::SuiteFiles;

    const SUITE: &str = "name: large
dataset: { source: rows.jsonl, id: id, input: question, reference: target }
models: [ { id: m, provider: stub, model: s, price: { input: 1.0, output: 2.0 } } ]
variants: { direct: [ { prompt: { text: '{{ sample.question }}' } } ] }
scorers: { hit: { metric: contains } }
";

    /// A plan over so many rows, of which 4,096 are many, and an empty store.
    fn plan(rows: usize, question: impl Fn(usize) -> String) -> (testkit::Scratch, Plan, Store) {
        let folder = testkit::scratch().unwrap();
        let row = |at| format!(r#"{{"id":"s{at}","question":"{}","target":"x"}}"#, question(at));
        let rows: Vec<String> = (0..rows).map(row).collect();
        std::fs::write(folder.path().join("rows.jsonl"), rows.join("\n")).unwrap();
        let path = folder.path().join("karat.yaml");
        std::fs::write(&path, SUITE).unwrap();
        let path = path.to_str().unwrap();
        let context = LoadContext { large_dataset: Some(4_096), ..LoadContext::default() };
        let overrides = Overrides { context, ..Overrides::default() };
        let suite = Suite::load(Arc::new(SuiteFiles), path, &overrides, &catalog::compose(), &Registry::builtin());
        let plan = suite.unwrap().plan().unwrap();
        let store = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
        (folder, plan, store)
    }

    fn test_estimator<'a>(store: &'a Store, plan: &'a Plan) -> Estimator<'a> {
        new_estimator(store, plan, Some(Moment(0)), None, None).unwrap()
    }

    /// CL-22: a sample of a large dataset stands for all rows, even if much longer rows stand together.
    #[test]
    fn sampled_rows_stand_for_all() {
        let long = |at: usize| if (6_000..6_400).contains(&at) { 200 } else { at / 400 };
        let (_folder, plan, store) = plan(8_000, |at| format!("{at} {}", "ab ".repeat(long(at))));
        let whole = test_estimator(&store, &plan).estimate_all().unwrap();
        let forecast = PreflightEstimate::of(&mut test_estimator(&store, &plan), &plan.header, |_| true).unwrap();
        let share = |found: Money, whole: Money| found.usd() / whole.usd();
        let cell = |uncached: &UncachedCost| uncached.per_cell[0].unwrap();
        let estimate = forecast.estimate.unwrap();
        let shares = [
            share(forecast.uncached.total.0, whole.uncached.total.0),
            share(forecast.uncached.total.1, whole.uncached.total.1),
            share(cell(&forecast.uncached), cell(&whole.uncached)),
            share(estimate.cost().1, whole.cost().1),
        ];
        assert!(shares.iter().all(|share| (0.95..1.05).contains(share)), "{shares:?}");
        assert_eq!((forecast.uncached.sampled, whole.uncached.sampled), (true, false));
    }

    /// BY-05: if the sample leaves a doubt, all rows are walked before the run starts; small datasets always are.
    #[test]
    fn doubtful_plans_are_walked_whole() {
        for (rows, is_allowed) in [(8_000, false), (600, true)] {
            let (_folder, plan, store) = plan(rows, |at| format!("{} {}", at / 3, "ab ".repeat(at % 7)));
            let whole = test_estimator(&store, &plan).estimate_all().unwrap();
            let forecast =
                PreflightEstimate::of(&mut test_estimator(&store, &plan), &plan.header, |_| is_allowed).unwrap();
            assert_eq!((&forecast.uncached, forecast.estimate), (&whole.uncached, Some(whole.clone())));
        }
    }

    /// A sample does not tell how often rows of a large dataset repeat requests.
    #[test]
    fn repeated_rows_are_walked_whole() {
        let (_folder, plan, store) = plan(8_000, |at| format!("question {:04}", at % 4_000));
        let whole = test_estimator(&store, &plan).estimate_all().unwrap();
        assert_eq!(whole.models[0].calls.0, 4_000);
        let forecast = PreflightEstimate::of(&mut test_estimator(&store, &plan), &plan.header, |_| true).unwrap();
        assert_eq!(forecast.uncached, whole.uncached);
    }

    /// A budget below four times the sampled estimate is checked row by row.
    #[test]
    fn a_sample_suffices_below_a_quarter_of_the_budget() {
        let (_folder, plan, store) = plan(8_000, |at| format!("question {at}"));
        let whole = test_estimator(&store, &plan).estimate_all().unwrap();
        for (times, sampled) in [(3.9, false), (4.1, true)] {
            let budget = whole.cost().1.usd() * times;
            let is_allowed = |estimate: &Estimate| estimate.cost().1.usd() <= budget;
            let forecast = PreflightEstimate::of(&mut test_estimator(&store, &plan), &plan.header, is_allowed).unwrap();
            assert_eq!(forecast.uncached.sampled, sampled, "{times}");
        }
    }
}
