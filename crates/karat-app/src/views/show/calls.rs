//! The calls of a cell, found by the keys in its row: raw bytes, and the position of each among the calls of a judgment.

use std::collections::HashMap;
use std::fmt;

use karat_engine::call_key;
use karat_providers::text_or_hex;
use karat_scoring::judge::{CallLabel, call_labels};
use karat_store::{Store, StoredCall, StoredRecord};
use karat_types::{CallRecord, CellRow, JudgmentRecord, Key, PlanHeader, RubricScorer, ScorerKind, Usage};
use serde::Serialize;

use crate::AppError;

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
    /// Tokens that the provider reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Dollars; `None` if the price is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The earlier run that made it, if it was reused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_run: Option<String>,
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
    /// The pair of a tournament, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<u32>,
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
        if let Some(pair) = self.pair {
            words.push(format!("pair {pair}"));
        }
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
            pair: (scorer.versus == Some(karat_types::Versus::All)).then_some(asked.opponent + 1),
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

/// A call of a cell.
#[derive(Debug, Clone)]
pub struct CellCall {
    /// Content key.
    pub id: String,
    /// The scorer whose judge made it; `None` for calls of steps.
    pub judge_of: Option<String>,
    /// Its position among the calls of a judgment, in words; empty if there is only one.
    pub place: String,
    /// The state of its bytes in the store.
    pub contents: Contents,
}

/// The state of a call in the store.
#[derive(Debug, Clone)]
pub enum Contents {
    /// The call with its bytes.
    Kept(Box<TracedCall>),
    /// Its bytes were pruned.
    Pruned,
    /// Nothing.
    Missing,
}

/// The calls of a cell by their keys: each with the scorer whose judge made it and its position among that judge's calls.
pub(crate) struct CellKeys(Vec<(Option<String>, Option<JudgeCall>, Key)>);

impl CellKeys {
    /// The calls of a row: steps first, then judges.
    pub(crate) fn of(plan: &PlanHeader, row: &CellRow<'_>) -> Self {
        let mut keys: Vec<_> = row.cell.calls.iter().map(|key| (None, None, *key)).collect();
        for judgment in row.judgments {
            let Some(scorer) = plan.scorers.get(usize::from(judgment.scorer)) else { continue };
            let places = match &scorer.kind {
                ScorerKind::Rubric(rubric) => judge_calls(rubric, judgment),
                ScorerKind::Metric { .. } => vec![None; judgment.calls.len()],
            };
            let placed = places.into_iter().zip(&judgment.calls);
            keys.extend(placed.map(|(place, key)| (Some(scorer.id.clone()), place, *key)));
        }
        Self(keys)
    }

    /// Reads the calls from the store.
    pub(crate) fn read(self, store: &Store, run: &str) -> Result<Vec<CellCall>, AppError> {
        let keys: Vec<Key> = self.0.iter().map(|(_, _, key)| *key).collect();
        let found = store.calls(Some(run), &keys)?;
        let calls = self.0.into_iter().zip(found).map(|((judge_of, place, key), found)| {
            let words = place.as_ref().map(ToString::to_string).unwrap_or_default();
            let contents = match found {
                StoredCall::Kept(stored) => {
                    Contents::Kept(Box::new(TracedCall::of(*stored, run, judge_of.clone(), place)))
                }
                StoredCall::Pruned => Contents::Pruned,
                StoredCall::Missing => Contents::Missing,
            };
            CellCall { id: key.to_string(), judge_of, place: words, contents }
        });
        Ok(calls.collect())
    }
}

impl TracedCall {
    fn of(stored: StoredRecord<CallRecord>, run: &str, judge_of: Option<String>, place: Option<JudgeCall>) -> Self {
        let call = stored.record;
        let ((request, request_hex), (response, response_hex)) =
            (text_or_hex(&call.request), text_or_hex(&call.response));
        Self {
            id: call.key.to_string(),
            judge_of,
            place,
            model: call.model,
            status: call.status,
            attempts: call.attempts,
            latency_ms: call.latency_ms,
            usage: call.usage,
            cost_usd: call.cost.map(karat_types::Money::usd),
            of_run: Some(stored.run).filter(|made_by| made_by != run),
            error: call.error.map(|error| format!("{}: {}", error.code.as_str(), error.message)),
            request,
            request_hex,
            response,
            response_hex,
        }
    }
}
