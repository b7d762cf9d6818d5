//! What a run is expected to cost, before its first call.
//!
//! A walk over a large dataset takes a while. Where some rows that stand for all leave no doubt that the run may begin, it
//! begins, and they tell what the whole plan comes to. Where an earlier run of the plan has told what all of it costs, and
//! that much is allowed, there is no walk.

use karat_engine::{Afresh, Estimate, Given, Lengths, Part, Survey};
use karat_store::Store;
use karat_suite::Plan;
use karat_types::{Moment, PlanHeader};

use crate::run::preflight_budget::allows_all;
use crate::run::stored_invocation::known_estimate;
use crate::run::target::Found;
use crate::{AppError, Invocation};

/// Fewer rows are walked over sooner than models are connected that may have nothing to do.
const FEW_ROWS: u64 = 4_096;

/// All rows may ask for so many times what is expected of them, before anybody would have to think.
const DOUBT: u64 = 4;

/// What is known of a run's cost when it begins.
pub(crate) struct Forecast {
    /// What is left to make, or about what all rows come to; `None` where it is nothing that anybody would have to think
    /// about, whatever is left.
    pub estimate: Option<Estimate>,
    /// What the plan comes to if nothing of it is there.
    pub afresh: Afresh,
}

impl Forecast {
    /// What an earlier run of the plan has told, where so much is allowed: then nobody walks over anything. A few rows are
    /// walked over all the same, which takes less time than connecting models that may have nothing to do.
    pub fn known(store: &Store, plan: &PlanHeader, invocation: &Invocation) -> Result<Option<Self>, AppError> {
        if plan.dataset.rows < FEW_ROWS {
            return Ok(None);
        }
        let known = known_estimate(store, plan)?.filter(|afresh| allows_all(&plan.run, afresh, invocation));
        Ok(known.map(|afresh| Self { estimate: None, afresh }))
    }

    /// Walks over as many rows as it takes to know whether the run may begin; `is_allowed` says so of an estimate.
    pub fn of(
        survey: &mut Survey<'_>,
        plan: &PlanHeader,
        is_allowed: impl Fn(&Estimate) -> bool,
    ) -> Result<Self, AppError> {
        let spread = survey.spread()?;
        let is_enough =
            |estimate: &Estimate| calls_all_models(estimate, plan) && is_allowed(&estimate.clone().times(DOUBT));
        let estimate = match spread.filter(is_enough) {
            Some(estimate) => estimate,
            None => survey.whole()?,
        };
        Ok(Self { afresh: estimate.afresh.clone(), estimate: Some(estimate) })
    }
}

/// Whether every model of the plan has something to do, so that no row can add one.
fn calls_all_models(estimate: &Estimate, plan: &PlanHeader) -> bool {
    let mut models = plan.models.iter().chain(&plan.judges);
    models.all(|spec| estimate.models.iter().any(|model| model.id == spec.id && model.calls.0 > 0))
}

/// The survey of what is left to make of a plan, by a run or before one, and of what all of it costs.
pub(crate) fn survey<'a>(
    store: &'a Store,
    plan: &'a Plan,
    oldest: Option<Moment>,
    found: Option<(&Found, Part)>,
) -> Result<Survey<'a>, AppError> {
    let outputs = found.and_then(|(found, _)| found.outputs.clone());
    let given = Given {
        part: found.map_or(Part::Whole, |(_, part)| part),
        oldest,
        afresh: if outputs.is_none() { known_estimate(store, &plan.header)? } else { None },
        outputs,
        lengths: known_lengths(store, &plan.header)?,
    };
    Ok(Survey::new(plan, store, plan.files(), found.map(|(found, _)| found.id.as_str()), given)?)
}

/// What calls took in the latest finished run of the suite.
fn known_lengths(store: &Store, plan: &PlanHeader) -> Result<Lengths, AppError> {
    match store.latest_finished(&plan.suite)? {
        Some(run) => Ok(Lengths::of(&store.rows(&run)?, plan)?),
        None => Ok(Lengths::default()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_store::StoreUrl;
    use karat_suite::{Overrides, Registry, Suite};
    use karat_types::Money;

    use super::*;
    use crate::suite::catalog;
    use crate::suite::preset::SuiteFiles;

    const SUITE: &str = "name: large
dataset: { source: rows.jsonl, id: id, input: question, reference: target }
models: [ { id: m, provider: stub, model: s, price: { input: 1.0, output: 2.0 } } ]
variants: { direct: [ { prompt: { text: '{{ sample.question }}' } } ] }
scorers: { hit: { metric: contains } }
";

    /// A plan over so many rows, and an empty store.
    fn plan(rows: usize, question: impl Fn(usize) -> String) -> (testkit::Scratch, Plan, Store) {
        let folder = testkit::scratch().unwrap();
        let row = |at| format!(r#"{{"id":"s{at}","question":"{}","target":"x"}}"#, question(at));
        let rows: Vec<String> = (0..rows).map(row).collect();
        std::fs::write(folder.path().join("rows.jsonl"), rows.join("\n")).unwrap();
        let path = folder.path().join("karat.yaml");
        std::fs::write(&path, SUITE).unwrap();
        let path = path.to_str().unwrap();
        let overrides = Overrides::default();
        let suite = Suite::load(Arc::new(SuiteFiles), path, &overrides, &catalog::compose(), &Registry::builtin());
        let plan = suite.unwrap().plan().unwrap();
        let store = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
        (folder, plan, store)
    }

    fn surveyed<'a>(store: &'a Store, plan: &'a Plan) -> Survey<'a> {
        survey(store, plan, Some(Moment(0)), None).unwrap()
    }

    /// CL-22: some rows of a large dataset stand for all, also where some that are much longer stand together.
    #[test]
    fn a_few_rows_stand_for_all() {
        let long = |at: usize| if (30_000..32_000).contains(&at) { 200 } else { at / 2_000 };
        let (_folder, plan, store) = plan(40_000, |at| format!("{at} {}", "ab ".repeat(long(at))));
        let whole = surveyed(&store, &plan).whole().unwrap();
        let forecast = Forecast::of(&mut surveyed(&store, &plan), &plan.header, |_| true).unwrap();
        let share = |found: Money, whole: Money| found.usd() / whole.usd();
        let cell = |afresh: &Afresh| afresh.per_cell[0].unwrap();
        let estimate = forecast.estimate.unwrap();
        let shares = [
            share(forecast.afresh.total.0, whole.afresh.total.0),
            share(forecast.afresh.total.1, whole.afresh.total.1),
            share(cell(&forecast.afresh), cell(&whole.afresh)),
            share(estimate.cost().1, whole.cost().1),
        ];
        assert!(shares.iter().all(|share| (0.95..1.05).contains(share)), "{shares:?}");
        assert_eq!((forecast.afresh.sampled, whole.afresh.sampled), (true, false));
    }

    /// BY-05: where those rows leave a doubt, all are walked over before the run begins; a few always are.
    #[test]
    fn doubts_are_settled_before_the_run() {
        for (rows, is_allowed) in [(40_000, false), (600, true)] {
            let (_folder, plan, store) = plan(rows, |at| format!("{} {}", at / 3, "ab ".repeat(at % 7)));
            let whole = surveyed(&store, &plan).whole().unwrap();
            let forecast = Forecast::of(&mut surveyed(&store, &plan), &plan.header, |_| is_allowed).unwrap();
            assert_eq!((&forecast.afresh, forecast.estimate), (&whole.afresh, Some(whole.clone())));
        }
    }

    /// How often rows of a large dataset ask for the same, a few of them do not tell.
    #[test]
    fn rows_that_ask_the_same_are_all_looked_at() {
        let (_folder, plan, store) = plan(40_000, |at| format!("question {:05}", at % 20_000));
        let whole = surveyed(&store, &plan).whole().unwrap();
        assert_eq!(whole.models[0].calls.0, 20_000);
        let forecast = Forecast::of(&mut surveyed(&store, &plan), &plan.header, |_| true).unwrap();
        assert_eq!(forecast.afresh, whole.afresh);
    }

    /// A budget that four times as much would not fit is looked at row by row.
    #[test]
    fn four_times_as_much_is_no_doubt() {
        let (_folder, plan, store) = plan(40_000, |at| format!("question {at}"));
        let whole = surveyed(&store, &plan).whole().unwrap();
        for (times, sampled) in [(3.9, false), (4.1, true)] {
            let budget = whole.cost().1.usd() * times;
            let is_allowed = |estimate: &Estimate| estimate.cost().1.usd() <= budget;
            let forecast = Forecast::of(&mut surveyed(&store, &plan), &plan.header, is_allowed).unwrap();
            assert_eq!(forecast.afresh.sampled, sampled, "{times}");
        }
    }
}
