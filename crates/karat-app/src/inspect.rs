//! Looking at stored runs: their list, their cells, and the calls of one cell.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::ControlFlow;

use karat_analysis::{CellScores, resolve_checks};
use karat_engine::call_key;
use karat_providers::text_or_hex;
use karat_scoring::judge::{CallLabel, call_labels};
use karat_store::{RunSummary, Store};
use karat_types::{
    CellError, CellRow, CellStatus, JudgmentRecord, Key, PlanHeader, RubricScorer, RunRows, RunStatus, Score,
    ScorerKind,
};
use serde::Serialize;

use crate::error::StoredError;
use crate::{App, AppError, address};

/// A stored run in one line.
#[derive(Debug, Clone, Serialize)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// The suite.
    pub suite: String,
    /// How it stands.
    pub status: String,
    /// Cells of its plan.
    pub planned: u64,
    /// Cells that nothing is left to do of, judgments included.
    pub cells: u64,
    /// Those of them that are errors.
    pub errors: u64,
    /// When it began, RFC 3339.
    pub started_at: String,
}

/// A cell in one line.
#[derive(Debug, Clone, Serialize)]
pub struct CellLine {
    /// Its place in the plan.
    pub cell: u64,
    /// Id of its sample.
    pub sample: String,
    /// Registry id of its model.
    pub model: Option<String>,
    /// Its variant.
    pub variant: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// How it ended.
    pub status: CellStatus,
    /// Scores by metric; the mean of the judges where there are several.
    pub scores: BTreeMap<String, Score>,
    /// Why it has no output.
    pub error: Option<CellError>,
}

/// The calls of one cell.
#[derive(Debug, Clone, Serialize)]
pub struct Trace {
    /// Its place in the plan.
    pub cell: u64,
    /// Id of its sample.
    pub sample: String,
    /// Registry id of its model.
    pub model: Option<String>,
    /// Its variant.
    pub variant: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// What reports must not be silent about: of its steps, then of its judgments.
    pub notes: Vec<String>,
    /// Its calls, steps first, then judges.
    pub calls: Vec<TracedCall>,
    /// Its output, as text or JSON.
    pub output: Option<String>,
}

/// One call with its raw bytes.
#[derive(Debug, Clone, Serialize)]
pub struct TracedCall {
    /// Content key.
    pub id: String,
    /// The scorer whose judge made it; `None` for calls of steps.
    pub judge_of: Option<String>,
    /// Which of a judgment's calls it is; `None` for calls of steps.
    #[serde(flatten)]
    pub place: Option<JudgeCall>,
    /// Registry id of the model.
    pub model: String,
    /// HTTP status.
    pub status: Option<u16>,
    /// Attempts.
    pub attempts: u32,
    /// Milliseconds of the last attempt.
    pub latency_ms: f64,
    /// Why there was no reply.
    pub error: Option<String>,
    /// The body as sent, secrets removed; empty where it is no text.
    pub request: String,
    /// The body as sent in hexadecimal digits, where it is no text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request_hex: String,
    /// The body as received, secrets removed; empty where it is no text.
    pub response: String,
    /// The body as received in hexadecimal digits, where it is no text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub response_hex: String,
}

/// Which of a judgment's calls one is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgeCall {
    /// The vote, from 1.
    pub vote: u32,
    /// How many votes there are.
    pub votes: u32,
    /// Whether the other output of a pair was shown first.
    pub swapped: bool,
    /// The part, from 1; `None` for the call beside the parts.
    pub part: Option<usize>,
    /// How many parts there are.
    pub parts: usize,
    /// Which half of the part, where its reply did not fit: `a`, `b`, `aa`, …
    pub half: String,
    /// How often the judge was asked before.
    pub reask: u32,
}

impl fmt::Display for JudgeCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if self.votes > 1 {
            words.push(format!("vote {} of {}", self.vote, self.votes));
        }
        if self.swapped {
            words.push("outputs swapped".to_owned());
        }
        match self.part {
            Some(part) if self.parts > 1 || !self.half.is_empty() => {
                words.push(format!("part {part}{} of {}", self.half, self.parts));
            }
            Some(_) => {}
            None => words.push("beside the parts".to_owned()),
        }
        if self.reask > 0 {
            words.push(format!("re-ask {}", self.reask));
        }
        f.write_str(&words.join(", "))
    }
}

/// Which call of a judgment each of its calls is.
fn judge_calls(scorer: &RubricScorer, judgment: &JudgmentRecord) -> Vec<Option<JudgeCall>> {
    let known: HashMap<Key, CallLabel> = call_labels(scorer, judgment.calls.len())
        .map(|asked| (call_key(judgment.key, &asked.slot), asked))
        .filter(|(key, _)| judgment.calls.contains(key))
        .collect();
    let shown = known.values().map(|asked| asked.part + 1).max().unwrap_or(0);
    let once = scorer.rubric.judges_once() && shown > 1;
    let parts = shown - usize::from(once);
    let call = |key: &Key| {
        let asked = known.get(key)?;
        Some(JudgeCall {
            vote: asked.vote,
            votes: scorer.votes.max(1),
            swapped: asked.swapped,
            part: (asked.part < parts).then_some(asked.part + 1),
            parts,
            half: asked.half.clone(),
            reask: asked.reask,
        })
    };
    judgment.calls.iter().map(call).collect()
}

impl App {
    /// The newest runs.
    pub fn runs(&self, limit: usize) -> Result<Vec<RunLine>, AppError> {
        if !self.store.exists() {
            return Ok(Vec::new());
        }
        let store = self.store_to_read()?;
        let line = |run: RunSummary| {
            Ok(RunLine {
                status: word(&run.status),
                cells: done(&store, &run)?,
                errors: run.totals.errors,
                started_at: rfc3339(run.started_at),
                planned: run.planned,
                id: run.id,
                suite: run.suite,
            })
        };
        store.runs(limit)?.into_iter().map(line).collect()
    }

    /// The cells of a run, and the names of its metrics.
    pub fn cells(&self, run: &str) -> Result<(Vec<String>, Vec<CellLine>), AppError> {
        let store = self.existing_store()?;
        let rows = store.rows(&store.resolve(run)?)?;
        let plan = resolve_checks(&rows)?;
        let mut lines = Vec::new();
        let read = rows.for_each(&mut |row| {
            lines.push(CellLine {
                cell: row.cell.ordinal,
                sample: row.sample.id.clone(),
                model: plan.system_model(row.system).map(|model| model.id.clone()),
                variant: plan.system_variant(row.system).to_owned(),
                trial: row.trial,
                status: row.cell.status,
                scores: scores(&plan, &row),
                error: row.cell.error.clone(),
            });
            ControlFlow::Continue(())
        });
        read?;
        Ok((plan.metrics.iter().map(|metric| metric.name.clone()).collect(), lines))
    }

    /// The calls of one cell: by its number, or by `sample/model/variant[/trial]` (`sample/variant` without a model).
    pub fn trace(&self, run: &str, cell: &str) -> Result<Trace, AppError> {
        let store = self.existing_store()?;
        let run = store.resolve(run)?;
        let rows = store.rows(&run)?;
        let plan = rows.header().plan.clone();
        let mut found = None;
        let read = rows.for_each(&mut |row| {
            if !address::is_row(cell, &plan, &row) {
                return ControlFlow::Continue(());
            }
            let mut keys: Vec<(Option<String>, Option<JudgeCall>, Key)> =
                row.cell.calls.iter().map(|key| (None, None, *key)).collect();
            for judgment in row.judgments {
                let Some(scorer) = plan.scorers.get(usize::from(judgment.scorer)) else { continue };
                let places = match &scorer.kind {
                    ScorerKind::Rubric(rubric) => judge_calls(rubric, judgment),
                    ScorerKind::Metric { .. } => vec![None; judgment.calls.len()],
                };
                let placed = places.into_iter().zip(&judgment.calls);
                keys.extend(placed.map(|(place, key)| (Some(scorer.id.clone()), place, *key)));
            }
            let notes = row.cell.notes.iter().chain(row.judgments.iter().flat_map(|judgment| &judgment.notes));
            let trace = Trace {
                notes: notes.map(|note| note.text.clone()).collect(),
                cell: row.cell.ordinal,
                sample: row.sample.id.clone(),
                model: plan.system_model(row.system).map(|model| model.id.clone()),
                variant: plan.system_variant(row.system).to_owned(),
                trial: row.trial,
                calls: Vec::new(),
                output: None,
            };
            found = Some((trace, keys));
            ControlFlow::Break(())
        });
        read?;
        let (mut trace, keys) = found.ok_or_else(|| StoredError::NoCell { run: run.clone(), cell: cell.to_owned() })?;
        for (judge_of, place, key) in keys {
            if let Some(stored) = store.call(Some(&run), key)? {
                let call = stored.record;
                let ((request, request_hex), (response, response_hex)) =
                    (text_or_hex(&call.request), text_or_hex(&call.response));
                trace.calls.push(TracedCall {
                    id: key.to_string(),
                    judge_of,
                    place,
                    model: call.model,
                    status: call.status,
                    attempts: call.attempts,
                    latency_ms: call.latency_ms,
                    error: call.error.map(|error| format!("{}: {}", error.code.as_str(), error.message)),
                    request,
                    request_hex,
                    response,
                    response_hex,
                });
            }
        }
        let output = rows.output(trace.cell)?;
        trace.output = output.map(|output| match output {
            serde_json::Value::String(text) => text,
            other => serde_json::to_string_pretty(&other).unwrap_or_default(),
        });
        Ok(trace)
    }
}

/// Scores by metric name, as reports count them: judges made one, bounds applied.
fn scores(plan: &PlanHeader, row: &CellRow<'_>) -> BTreeMap<String, Score> {
    let scores = CellScores::of(plan, row).scores;
    let named = plan.metrics.iter().zip(scores).filter_map(|(metric, score)| Some((metric.name.clone(), score?)));
    named.collect()
}

/// A moment as RFC 3339 in UTC; empty where no calendar holds it.
pub fn rfc3339(moment: karat_types::Moment) -> String {
    jiff::Timestamp::from_millisecond(moment.0).map_or_else(|_| String::new(), |moment| moment.to_string())
}

/// A unit enum's name as it stands in files.
/// Cells of a run that nothing is left to do of.
fn done(store: &Store, run: &RunSummary) -> Result<u64, AppError> {
    if run.status == RunStatus::Finished {
        return Ok(run.totals.cells);
    }
    let plan = store.run(&run.id)?.plan;
    let index = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
    let mut judges = Vec::new();
    for (scorer, spec) in plan.scorers.iter().enumerate() {
        let ScorerKind::Rubric(rubric) = &spec.kind else { continue };
        let own = plan.judges.iter().enumerate().filter(|(_, judge)| rubric.judges.contains(&judge.id));
        judges.extend(own.map(|(judge, _)| (index(scorer), index(judge))));
    }
    Ok(store.finished_cells(&run.id)?.count_done(&judges))
}

fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
