//! The calls of one cell, with their raw bytes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::ControlFlow;

use karat_analysis::resolve_checks;
use karat_engine::call_key;
use karat_providers::text_or_hex;
use karat_scoring::judge::{CallLabel, call_labels};
use karat_types::{JudgmentRecord, Key, RubricScorer, RunRows, SampleText, Score, ScorerKind};
use serde::Serialize;

use crate::error::StoredError;
use crate::inspect::address;
use crate::inspect::cells::{self, JudgeWords};
use crate::{App, AppError};

/// The calls of one cell.
#[derive(Debug, Clone, Serialize)]
pub struct Trace {
    /// Its ordinal in the plan.
    pub cell: u64,
    /// Id of its sample.
    pub sample: String,
    /// Registry id of its model.
    pub model: Option<String>,
    /// Its variant.
    pub variant: String,
    /// Repetition, from 0.
    pub trial: u32,
    /// Notes of its steps, then of its judgments.
    pub notes: Vec<String>,
    /// Its calls, steps first, then judges.
    pub calls: Vec<TracedCall>,
    /// Its output, as text or JSON.
    pub output: Option<String>,
    /// The reason for a missing output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Input, reference and columns of its sample.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<SampleText>,
    /// Scores by metric; judges joined.
    pub scores: BTreeMap<String, Score>,
    /// The words of each judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeWords>,
}

/// One call with its raw bytes.
#[derive(Debug, Clone, Serialize)]
pub struct TracedCall {
    /// Content key.
    pub id: String,
    /// The scorer whose judge made it; `None` for calls of steps.
    pub judge_of: Option<String>,
    /// Its position among the calls of a judgment; `None` for calls of steps.
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
    /// The reason for a missing reply.
    pub error: Option<String>,
    /// The sent body without secrets; empty if it is not text.
    pub request: String,
    /// The sent body in hexadecimal, if it is not text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request_hex: String,
    /// The received body without secrets; empty if it is not text.
    pub response: String,
    /// The received body in hexadecimal, if it is not text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub response_hex: String,
}

/// The position of a call among those of a judgment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgeCall {
    /// The vote, from 1.
    pub vote: u32,
    /// The number of votes.
    pub votes: u32,
    /// True if the other output of a pair was shown first.
    pub swapped: bool,
    /// The part, from 1; `None` for the call on the whole.
    pub part: Option<usize>,
    /// The number of parts.
    pub parts: usize,
    /// The half of the part, if its reply did not fit: `a`, `b`, `aa`, …
    pub half: String,
    /// The number of earlier requests for the same.
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

/// The position of each call of a judgment.
fn judge_calls(scorer: &RubricScorer, judgment: &JudgmentRecord) -> Vec<Option<JudgeCall>> {
    let known: HashMap<Key, CallLabel> = call_labels(scorer, judgment.calls.len())
        .map(|asked| (call_key(judgment.key, &asked.id), asked))
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
    /// Returns whether a word names a stored run.
    pub fn has_run(&self, word: &str) -> bool {
        self.existing_store().is_ok_and(|store| store.resolve(word).is_ok())
    }

    /// The error of a trace without a cell: it shows the address of one that is there, a failed one if any.
    pub fn without_cell(&self, run: &str) -> AppError {
        match self.example_cell(run) {
            Ok(Some(cell)) => {
                let run = if run == "latest" { String::new() } else { format!("{run} ") };
                StoredError::CellNotNamed { run, cell }.into()
            }
            Ok(None) => {
                StoredError::CellNotNamed { run: String::new(), cell: "sample/model/variant".to_owned() }.into()
            }
            Err(error) => error,
        }
    }

    fn example_cell(&self, run: &str) -> Result<Option<String>, AppError> {
        let store = self.existing_store()?;
        let run = store.resolve(run)?;
        let rows = store.rows(&run)?;
        let plan = rows.header().plan.clone();
        let mut example = None;
        rows.for_each(&mut |row| {
            let failed = row.cell.error.is_some();
            if failed || example.is_none() {
                let path = address::path(&plan, &row.sample.id, row.system);
                example = Some(if row.trial > 0 { format!("{path}/{}", row.trial) } else { path });
            }
            if failed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(example)
    }

    /// The calls of one cell: by its number, or by `sample/model/variant[/trial]` (`sample/variant` without a model).
    pub fn trace(&self, run: &str, cell: &str) -> Result<Trace, AppError> {
        let store = self.existing_store()?;
        let run = store.resolve(run)?;
        let rows = store.rows(&run)?;
        let plan = rows.header().plan.clone();
        // The scores may be needed to know that a metric is a check.
        let scored_plan = resolve_checks(&rows)?;
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
                error: row.cell.error.as_ref().map(|error| format!("{}: {}", error.code, error.message)),
                texts: row.sample.texts.clone(),
                scores: cells::scores(&scored_plan, &row),
                judges: row.judgments.iter().map(|judgment| JudgeWords::of(&scored_plan, judgment)).collect(),
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
