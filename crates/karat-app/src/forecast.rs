//! What a run is expected to cost, before its first call.
//!
//! A walk over a large dataset takes a while. Where its first rows leave no doubt that the run may begin, it begins, and the
//! others are estimated beside its calls, by one in sixteen of those that it reads: what the whole plan comes to is told by the
//! report alone. Where an earlier run of the plan has told what all of it costs, and that much is allowed, there is no walk.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use karat_engine::{Afresh, Blocks, EngineError, Estimate, Given, Lengths, Part, Rest, Sieve, Stop, Survey};
use karat_store::Store;
use karat_suite::Plan;
use karat_types::{Moment, PlanHeader};

use crate::allowance::allows_all;
use crate::begun::known_estimate;
use crate::found::Found;
use crate::{AppError, Invocation};

/// So many rows are walked over first.
const FIRST_ROWS: u64 = 4_096;

/// A dataset with so many times as many rows is large.
const LARGE: u64 = 8;

/// The other rows may ask for so many times what the first do, before anybody would have to think.
const DOUBT: u64 = 4;

/// One row in so many is estimated beside the calls: that takes a tenth of the CPU that a call takes.
const EVERY: u64 = 16;

/// What is known of a run's cost when it begins.
pub(crate) struct Forecast<'a> {
    /// What is left to make, or a bound of it; `None` where it is nothing that anybody would have to think about, whatever is
    /// left.
    pub estimate: Option<Estimate>,
    whole: Whole<'a>,
}

/// What the plan comes to if nothing of it is there.
enum Whole<'a> {
    Known(Afresh),
    Told(Box<Others<'a>>),
}

/// Rows that nobody has walked over: they are estimated beside the run.
struct Others<'a> {
    rest: Rest<'a>,
    /// Until the run has it.
    sieve: Option<Sieve>,
    blocks: Blocks,
}

impl<'a> Forecast<'a> {
    /// What an earlier run of the plan has told, where so much is allowed: then nobody walks over anything. A few rows are
    /// walked over all the same, which takes less time than connecting models that may have nothing to do.
    pub fn known(store: &Store, plan: &PlanHeader, invocation: &Invocation) -> Result<Option<Self>, AppError> {
        if plan.dataset.rows < FIRST_ROWS {
            return Ok(None);
        }
        let known = known_estimate(store, plan)?.filter(|afresh| allows_all(&plan.run, afresh, invocation));
        Ok(known.map(|afresh| Self { estimate: None, whole: Whole::Known(afresh) }))
    }

    /// Walks over as many rows as it takes to know whether the run may begin; `is_allowed` says so of an estimate. A run that
    /// `is_begun`, and does not know yet what it was expected to cost, finds that out as it would have in one part.
    pub fn of(
        survey: &'a mut Survey<'_>,
        plan: &PlanHeader,
        is_begun: bool,
        is_allowed: impl Fn(&Estimate) -> bool,
    ) -> Result<Self, AppError> {
        Self::after(FIRST_ROWS, EVERY, survey, plan, is_begun, is_allowed)
    }

    fn after(
        first_rows: u64,
        every: u64,
        survey: &'a mut Survey<'_>,
        plan: &PlanHeader,
        is_begun: bool,
        is_allowed: impl Fn(&Estimate) -> bool,
    ) -> Result<Self, AppError> {
        if plan.dataset.rows < LARGE * first_rows {
            return Ok(Self::walked(survey.whole()?));
        }
        let times = DOUBT * plan.dataset.rows.div_ceil(first_rows);
        let is_enough = |estimate: &Estimate| calls_all_models(estimate, plan) && is_allowed(estimate);
        if is_begun {
            let first = survey.first(first_rows)?.0.times(times);
            let estimate = if is_enough(&first) { first } else { survey.whole()? };
            let rest = survey.first(first_rows)?.1;
            return Ok(Self { estimate: Some(estimate), whole: Whole::Told(Box::new(Others::of(rest, every))) });
        }
        let (first, rest) = survey.first(first_rows)?;
        let estimate = first.times(times);
        if is_enough(&estimate) {
            return Ok(Self { estimate: Some(estimate), whole: Whole::Told(Box::new(Others::of(rest, every))) });
        }
        Ok(Self::walked(rest.whole()?))
    }

    fn walked(estimate: Estimate) -> Self {
        Self { whole: Whole::Known(estimate.afresh.clone()), estimate: Some(estimate) }
    }

    /// What the plan comes to if nothing of it is there, where that is known already.
    pub fn afresh(&self) -> Option<&Afresh> {
        if let Whole::Known(afresh) = &self.whole { Some(afresh) } else { None }
    }

    /// What the run passes its rows through, where some of them are left to estimate.
    pub fn sieve(&mut self) -> Option<Sieve> {
        if let Whole::Told(others) = &mut self.whole { others.sieve.take() } else { None }
    }

    /// Runs, and estimates those of its rows that have passed the sieve. Says also what the plan comes to if nothing of it is
    /// there; `None` when the run was stopped or failed before that was known.
    pub fn beside<T>(
        self,
        stop: &Stop,
        run: impl FnOnce() -> Result<T, AppError>,
    ) -> (Result<T, AppError>, Result<Option<Afresh>, AppError>) {
        let others = match self.whole {
            Whole::Known(afresh) => return (run(), Ok(Some(afresh))),
            Whole::Told(others) => others,
        };
        let Others { rest, sieve, blocks } = *others;
        drop(sieve);
        let has_failed = AtomicBool::new(false);
        let stopped = || stop.is_set() || has_failed.load(Ordering::Relaxed);
        thread::scope(|scope| {
            let walk = scope.spawn(|| rest.afresh(blocks, &stopped));
            let outcome = run();
            has_failed.store(outcome.is_err(), Ordering::Relaxed);
            let died = |_| Err(EngineError::Bug("the thread that estimates died".to_owned()));
            (outcome, walk.join().unwrap_or_else(died).map_err(AppError::from))
        })
    }
}

impl<'a> Others<'a> {
    fn of(rest: Rest<'a>, every: u64) -> Self {
        let (sieve, blocks) = rest.sieve(every);
        Self { rest, sieve: Some(sieve), blocks }
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
    use karat_types::{Money, RunHeader, RunStatus, Sample};

    use super::*;
    use crate::begun::{Begun, begun, remember};
    use crate::catalog;
    use crate::preset::SuiteFiles;

    const SUITE: &str = "name: large
dataset: { source: rows.jsonl, id: id, input: question, reference: target }
models: [ { id: m, provider: stub, model: s, price: { input: 1.0, output: 2.0 } } ]
variants: { direct: [ { prompt: { text: '{{ sample.question }}' } } ] }
scorers: { hit: { metric: contains } }
";

    /// 600 rows that become longer and longer; three in a row ask the same.
    fn large() -> (testkit::Scratch, Plan, Store) {
        with_questions(|at| format!("{} {}", at / 3, "ab ".repeat(at / 3)))
    }

    fn with_questions(question: impl Fn(usize) -> String) -> (testkit::Scratch, Plan, Store) {
        let folder = testkit::scratch().unwrap();
        let row = |at| format!(r#"{{"id":"s{at}","question":"{}","target":"x"}}"#, question(at));
        let rows: Vec<String> = (0..600).map(row).collect();
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

    /// Reads the rows as a run does, and says how many.
    fn read(plan: &Plan, sieve: Option<Sieve>) -> usize {
        let samples: Vec<Sample> = plan.rows().map(Result::unwrap).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (block, sieve) in samples.chunks(64).zip(sieve.iter().cycle()) {
            runtime.block_on(sieve.see(block));
        }
        samples.len()
    }

    /// BY-05, CL-22: a run that begins after the first rows ends with the estimate of all of them.
    #[test]
    fn the_other_rows_are_walked_over_beside_the_run() {
        let (_folder, plan, store) = large();
        let whole = survey(&store, &plan, Some(Moment(0)), None).unwrap().whole().unwrap();
        assert_eq!((whole.fresh, whole.models[0].calls), (600, (200, 200)));
        let mut survey = survey(&store, &plan, Some(Moment(0)), None).unwrap();
        let mut forecast = Forecast::after(64, 1, &mut survey, &plan.header, false, |_| true).unwrap();
        assert_eq!(forecast.afresh(), None);
        assert!(forecast.estimate.as_ref().unwrap().calls().0 >= whole.calls().1);
        let sieve = forecast.sieve();
        let (outcome, afresh) = forecast.beside(&Stop::new(), || Ok(read(&plan, sieve)));
        assert_eq!((outcome.unwrap(), afresh.unwrap()), (600, Some(whole.afresh)));
    }

    /// CL-22: a few rows stand for those beside them, also where some that are much longer stand together.
    #[test]
    fn a_few_rows_stand_for_all() {
        let long = |at: usize| if (300..340).contains(&at) { 2_000 } else { at / 3 };
        let (_folder, plan, store) = with_questions(|at| format!("{at} {}", "ab ".repeat(long(at))));
        let whole = survey(&store, &plan, Some(Moment(0)), None).unwrap().whole().unwrap().afresh;
        let mut survey = survey(&store, &plan, Some(Moment(0)), None).unwrap();
        let mut forecast = Forecast::after(64, 4, &mut survey, &plan.header, false, |_| true).unwrap();
        let sieve = forecast.sieve();
        let found = forecast.beside(&Stop::new(), || Ok(read(&plan, sieve))).1.unwrap().unwrap();
        let share = |found: Money, whole: Money| found.usd() / whole.usd();
        let cell = |afresh: &Afresh| afresh.per_cell[0].unwrap();
        let shares = [
            share(found.total.0, whole.total.0),
            share(found.total.1, whole.total.1),
            share(cell(&found), cell(&whole)),
        ];
        assert!(shares.iter().all(|share| (0.95..1.05).contains(share)), "{shares:?}");
        assert_ne!(found, whole);
        assert_eq!((found.sampled, whole.sampled), (true, false));
    }

    /// BY-05: where the first rows leave a doubt, all are walked over before the run begins.
    #[test]
    fn doubts_are_settled_before_the_run() {
        let (_folder, plan, store) = large();
        let whole = survey(&store, &plan, Some(Moment(0)), None).unwrap().whole().unwrap();
        let mut settled = survey(&store, &plan, Some(Moment(0)), None).unwrap();
        let forecast = Forecast::after(64, 1, &mut settled, &plan.header, false, |_| false).unwrap();
        assert_eq!((forecast.afresh(), &forecast.estimate), (Some(&whole.afresh), &Some(whole.clone())));
        // A survey can be made again.
        assert_eq!(Forecast::of(&mut settled, &plan.header, false, |_| true).unwrap().estimate, Some(whole));
    }

    /// Nobody waits for the walk when the run is over before its time.
    #[test]
    fn a_run_that_ends_early_has_no_estimate() {
        let (_folder, plan, store) = large();
        let mut survey = survey(&store, &plan, Some(Moment(0)), None).unwrap();
        let forecast = Forecast::after(64, 1, &mut survey, &plan.header, false, |_| true).unwrap();
        let stop = Stop::new();
        stop.set();
        assert_eq!(forecast.beside(&stop, || Ok(())).1.unwrap(), None);
    }

    /// What a run was expected to cost is remembered once it is known, and then stays.
    #[test]
    fn an_estimate_is_remembered_once() {
        let (_folder, plan, store) = large();
        let invocation = serde_json::to_value(Begun::expecting(None)).unwrap();
        let header = RunHeader {
            id: "a".to_owned(),
            plan: plan.header.clone(),
            started_at: Moment(0),
            completed_at: None,
            status: RunStatus::Running,
            version: String::new(),
            git_commit: None,
            invocation,
        };
        drop(store.begin(&header).unwrap());
        let told = || begun(&store.run("a").unwrap()).unwrap();
        assert!(!told().is_estimated());
        let whole = survey(&store, &plan, Some(Moment(0)), None).unwrap().whole().unwrap();
        let run = Found { id: "a".to_owned(), ..Found::default() };
        remember(&store, &run, &Afresh { sampled: true, ..whole.afresh.clone() }).unwrap();
        remember(&store, &run, &Afresh { per_cell: vec![None], ..Afresh::default() }).unwrap();
        assert_eq!((told().estimate, told().estimate_per_cell), (whole.afresh.total.1, whole.afresh.per_cell));
        assert!(told().estimate_sampled);
    }
}
