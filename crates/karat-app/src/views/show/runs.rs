//! The list of stored runs.

use std::collections::{BTreeMap, BTreeSet};

use karat_report::{Scale, scale_named};
use karat_store::{RunSummary, Store};
use karat_suite::Overrides;
use karat_types::{PlanHeader, RunHeader, Shard};
use serde::Serialize;
use serde_json::Value;

use crate::stored::figures::{RunFigures, kept_figures};
use crate::stored::invocation::read_stored_invocation;
use crate::stored::run::count_done;
use crate::views::Views;
use crate::{AppError, rfc3339};

/// Number of cells that a list reads for verdicts and figures that the store does not keep yet. Older runs beyond it are
/// listed without them.
const MAX_SUMMARIZED: u64 = 100_000;

/// A stored run in one line.
#[derive(Debug, Clone, Serialize)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// Its status.
    pub status: String,
    /// The part of a run that it is, such as `1/4`; absent for a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Its batches that are under way at providers.
    pub batches: usize,
    /// Cells of its plan.
    pub planned: u64,
    /// Finished cells, including their judgments.
    pub cells: u64,
    /// Finished cells that are errors.
    pub errors: u64,
    /// Start of the run, RFC 3339.
    pub started_at: String,
    /// Verdict of its gates: `pass`, `fail`, `undecided` or `review`; `None` without gates.
    pub verdict: Option<String>,
    /// Its first headline metric.
    pub metric: Option<String>,
    /// The metric's value: the mean over systems.
    pub value: Option<f64>,
    /// The scale that the value is written by.
    #[serde(skip)]
    pub scale: Scale,
    /// Dollars that the run paid.
    pub cost_usd: Option<f64>,
    /// True if every model and judge was simulated, so that the cost was not billed.
    pub simulated: bool,
    /// The request beside the suite, and what changed since the suite's run before.
    pub notes: Vec<String>,
}

impl Views<'_> {
    /// The newest runs.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunLine>, AppError> {
        if !self.app.store.exists() {
            self.app.store.check_orphans()?;
            return Ok(Vec::new());
        }
        let store = self.app.store_to_read()?;
        let all = store.runs(usize::MAX)?;
        let mut left = MAX_SUMMARIZED;
        let line = |(at, run): (usize, RunSummary)| {
            let header = store.run(&run.id)?;
            let notes = run_notes(&store, all.get(at..).unwrap_or_default(), &header)?;
            // A run that cannot be analysed is still listed; `karat report RUN` says why.
            let figures = match kept_figures(&store.rows(&run.id)?)? {
                Some(kept) => kept,
                None => match left.checked_sub(run.totals.cells) {
                    Some(rest) if run.totals.cells > 0 => {
                        left = rest;
                        self.app.analysis().run_figures(&run.id).unwrap_or_default()
                    }
                    _ => RunFigures::default(),
                },
            };
            let headline = figures.headline.as_ref();
            Ok(RunLine {
                scale: headline.map_or_else(Scale::default, |it| scale_named(&header.plan, &it.metric)),
                verdict: figures.verdict,
                value: headline.and_then(|headline| headline.value),
                metric: headline.map(|headline| headline.metric.clone()),
                cost_usd: Some(run.totals.spending.spent.usd()),
                simulated: header.plan.is_simulated(),
                status: serialized_name(&run.status),
                shard: header.shard(),
                batches: store.batches(&run.id)?.iter().filter(|batch| batch.state.is_under_way()).count(),
                cells: count_done(&store, &run, &header.plan)?,
                errors: run.totals.errors,
                started_at: rfc3339(run.started_at),
                planned: run.planned,
                id: run.id,
                suite: run.suite,
                notes,
            })
        };
        all.iter().take(limit).cloned().enumerate().map(line).collect()
    }
}

/// The differences of a run from others of its suite: the request beside the suite, and the parts of the plan that differ from the
/// suite's run before. `runs` begins with the run itself, the newest first.
pub(crate) fn run_notes(store: &Store, runs: &[RunSummary], header: &RunHeader) -> Result<Vec<String>, AppError> {
    let mut notes = request_notes(header);
    let before = runs.iter().skip(1).find(|run| run.suite == header.plan.suite);
    if let Some(before) = before {
        let changed = changed_parts(&store.run(&before.id)?.plan, &header.plan);
        notes.push(match changed.as_slice() {
            [] => "unchanged".to_owned(),
            parts => format!("changed: {}", parts.join(", ")),
        });
    }
    Ok(notes)
}

/// The request of a run beside its suite: by whom, of which rows, with which values.
fn request_notes(header: &RunHeader) -> Vec<String> {
    let asked = read_stored_invocation(header).map(|stored| stored.invocation).unwrap_or_default();
    let Overrides { params, set, samples, limit, as_of, trials, no_cache, judge_again, .. } = asked.overrides;
    let mut notes = Vec::new();
    notes.extend(Some(asked.trigger).filter(|by| !by.is_empty()).map(|by| format!("by {by}")));
    notes.extend(header.plan.run.measures_judges.then(|| "golden check".to_owned()));
    notes.extend(header.shard().map(|shard| format!("shard {shard}")));
    notes.extend(limit.map(|rows| format!("first {rows} rows")));
    notes.extend((!samples.is_empty()).then(|| format!("chosen samples: {}", samples.join(", "))));
    notes.extend(as_of.map(|day| format!("as of {day}")));
    notes.extend(trials.map(|trials| format!("{trials} trials")));
    notes.extend(no_cache.then(|| "without cached results".to_owned()));
    notes.extend(judge_again.then(|| "judged again".to_owned()));
    notes.extend(params.into_iter().chain(set).map(|(name, value)| format!("{name}={value}")));
    notes
}

/// The parts of a plan that differ from an earlier one: `variant kind`, `+model big`, `−scorer tone`, `dataset`.
fn changed_parts(before: &PlanHeader, now: &PlanHeader) -> Vec<String> {
    fn value(of: &impl Serialize) -> Value {
        serde_json::to_value(of).unwrap_or_default()
    }
    fn named<'a, T: Serialize>(parts: &'a [T], id: fn(&'a T) -> &'a str) -> BTreeMap<&'a str, Value> {
        parts.iter().map(|part| (id(part), value(part))).collect()
    }
    let mut changed = Vec::new();
    changed.extend((before.dataset.hash != now.dataset.hash).then(|| "dataset".to_owned()));
    let mut compare = |kind: &str, before: BTreeMap<&str, Value>, now: BTreeMap<&str, Value>| {
        let names: BTreeSet<&str> = before.keys().chain(now.keys()).copied().collect();
        changed.extend(names.into_iter().filter_map(|name| match (before.get(name), now.get(name)) {
            (None, Some(_)) => Some(format!("+{kind} {name}")),
            (Some(_), None) => Some(format!("−{kind} {name}")),
            (before, now) => (before != now).then(|| format!("{kind} {name}")),
        }));
    };
    compare("variant", named(&before.variants, |it| &it.id), named(&now.variants, |it| &it.id));
    compare("model", named(&before.models, |it| &it.id), named(&now.models, |it| &it.id));
    compare("judge", named(&before.judges, |it| &it.id), named(&now.judges, |it| &it.id));
    compare("scorer", named(&before.scorers, |it| &it.id), named(&now.scorers, |it| &it.id));
    changed.extend((before.trials != now.trials).then(|| "trials".to_owned()));
    let is_other = changed.is_empty() && before.plan_hash != now.plan_hash;
    changed.extend(is_other.then(|| "settings".to_owned()));
    changed
}
/// The serialized name of a unit enum.
fn serialized_name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    }
}
