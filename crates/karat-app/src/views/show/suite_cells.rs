//! The cells of all runs of a suite: of each sample and system the latest output, with the suite's headline metrics.

use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use karat_analysis::{CellScores, RowFilter, headline_metrics, system_id};
use karat_report::{Scale, scale_of};
use karat_types::{CellRow, CellStatus, GameShare, JudgmentRow, Key, KeyBuilder, PlanHeader, RunRows, Score};
use serde::{Serialize, Serializer};

use crate::AppError;
use crate::analysis::suite_rows::check_date;
use crate::error::StoredError;
use crate::stored::run::newest_plan;
use crate::views::Views;

/// The latest cell of a sample and system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuiteCell {
    /// Id of the sample.
    pub sample: String,
    /// Its date, YYYY-MM-DD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Model and variant.
    pub system: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// Scores by metric, in the order of the headline; `None` where there is none.
    #[serde(serialize_with = "as_map")]
    pub scores: Vec<(String, Option<Score>)>,
    /// `pass` or `fail` of the cell's checks; `unscored` if a scorer failed, else `ok`.
    pub verdict: &'static str,
    /// Cost of its calls in dollars, judges included; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// The run that has it.
    pub run: String,
}

fn as_map<S: Serializer>(scores: &[(String, Option<Score>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(scores.iter().map(|(name, score)| (name, score)))
}

impl Views<'_> {
    /// The headline metrics of a suite's newest run, each with the scale that its values are written by, if its rows are
    /// cells; `None` if the suite declares rows of judgments (`run.stdout: row`).
    ///
    /// # Errors
    /// An unknown suite, or one without runs.
    pub fn suite_headline(&self, suite: &str) -> Result<Option<Vec<(String, Scale)>>, AppError> {
        let store = self.app.existing_store()?;
        let plan = newest_plan(&store, &self.app.stored().suite_name(&store, suite)?)?;
        let named = |at: usize| plan.metrics.get(at).map(|metric| (metric.name.clone(), scale_of(&plan, metric)));
        Ok((!plan.run.prints_rows).then(|| headline_metrics(&plan).into_iter().filter_map(named).collect()))
    }

    /// Calls `each` with the latest cell of every sample and system that has an output, the newest run first. Golden
    /// checks measure the judge; their cells are left out. Memory holds 16 bytes a cell.
    ///
    /// # Errors
    /// An unknown suite or one without runs, an invalid date, or `each` fails.
    pub fn each_suite_cell(
        &self,
        suite: &str,
        choice: &RowFilter,
        metrics: &[(String, Scale)],
        each: &mut dyn FnMut(&SuiteCell) -> io::Result<()>,
    ) -> Result<(), AppError> {
        for (flag, date) in [("--since", &choice.since), ("--until", &choice.until)] {
            date.as_deref().map_or(Ok(()), |date| check_date(flag, date))?;
        }
        if let (Some(since), Some(until)) = (&choice.since, &choice.until)
            && since > until
        {
            return Err(StoredError::EmptyRange { since: since.clone(), until: until.clone() }.into());
        }
        let store = self.app.existing_store()?;
        let mut seen: HashSet<Key> = HashSet::new();
        for run in store.runs_of_suite(&self.app.stored().suite_name(&store, suite)?, usize::MAX)? {
            let rows = store.rows(&run)?;
            let plan = rows.header().plan.clone();
            if plan.run.measures_judges {
                continue;
            }
            let mut failed = None;
            rows.for_each(&mut |row| {
                let cell = suite_cell(&plan, &run, &row, choice, metrics);
                let cell = cell.filter(|_| seen.insert(place(&plan, &row)));
                match cell.map_or(Ok(()), |cell| each(&cell).map_err(AppError::printing)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })?;
            failed.map_or(Ok(()), Err)?;
        }
        Ok(())
    }
}

/// The key under which a later cell replaces an earlier one.
fn place(plan: &PlanHeader, row: &CellRow<'_>) -> Key {
    let key = KeyBuilder::new("karat/suite-cell/1").text(&row.sample.id).text(row.sample.date.as_deref().unwrap_or(""));
    key.text(&system_id(plan, row.system)).number(row.trial.into()).finish()
}

fn suite_cell(
    plan: &Arc<PlanHeader>,
    run: &str,
    row: &CellRow<'_>,
    choice: &RowFilter,
    metrics: &[(String, Scale)],
) -> Option<SuiteCell> {
    let date = row.sample.date.as_deref();
    let system = system_id(plan, row.system);
    let in_range = choice.since.as_deref().is_none_or(|bound| date >= Some(bound))
        && choice.until.as_deref().is_none_or(|bound| date.is_some_and(|date| date <= bound));
    let is_system = choice.system.as_deref().is_none_or(|wanted| {
        let model = plan.system_model(row.system).map_or("", |model| model.id.as_str());
        [system.as_str(), model, plan.system_variant(row.system)].contains(&wanted)
    });
    if row.cell.status != CellStatus::Ok || !in_range || !is_system {
        return None;
    }
    let is_judged = |judgment: &&JudgmentRow| {
        let judge = plan.judges.get(usize::from(judgment.judge));
        let is_judge = choice
            .judge
            .as_ref()
            .is_none_or(|wanted| judge.is_some_and(|judge| judge.id == *wanted || judge.model == *wanted));
        is_judge && (choice.prompt_version.is_none() || choice.prompt_version == judgment.prompt_version)
    };
    let judgments: Vec<JudgmentRow> = row.judgments.iter().filter(is_judged).cloned().collect();
    if judgments.is_empty() && (choice.judge.is_some() || choice.prompt_version.is_some()) {
        return None;
    }
    let is_wanted = |share: &&GameShare| judgments.iter().any(|judgment| judgment.judge == share.judge);
    let is_filtered = choice.judge.is_some() || choice.prompt_version.is_some();
    let shares: Vec<GameShare> = row.shares.iter().filter(|share| !is_filtered || is_wanted(share)).copied().collect();
    let scores = CellScores::of(plan, &CellRow { judgments: &judgments, shares: &shares, ..*row });
    let score = |name: &String| plan.metric(name).and_then(|at| scores.scores.get(at).cloned().flatten());
    let is_unscored = scores.scores.iter().flatten().any(|score| matches!(score, Score::Unscored { .. }));
    let checks =
        plan.metrics.iter().enumerate().filter(|(_, metric)| metric.binary && metric.scorer < plan.scorers.len());
    let checks: Vec<f64> = checks.filter_map(|(at, _)| scores.number(at)).collect();
    let judging = row.judgments.iter().map(|judgment| judgment.cost.cost);
    let cost = std::iter::once(row.cell.cost.cost).chain(judging).sum::<Option<karat_types::Money>>();
    Some(SuiteCell {
        sample: row.sample.id.clone(),
        date: row.sample.date.clone(),
        system,
        trial: row.trial,
        scores: metrics.iter().map(|(name, _)| (name.clone(), score(name))).collect(),
        verdict: match checks.as_slice() {
            _ if is_unscored => "unscored",
            [] => "ok",
            checks if checks.iter().all(|value| *value >= 1.0) => "pass",
            _ => "fail",
        },
        cost_usd: cost.map(karat_types::Money::usd),
        run: run.to_owned(),
    })
}
