//! Scorers whose path into the output leads to nothing in any output. That is a misspelt path, or one into texts that
//! nothing parses, not a bad result, so their metrics have no figure. A path that a part of the outputs lacks is the fault of
//! those outputs: they score lowest, or are unscored where a service or record leaves parts out.

use std::collections::BTreeSet;

use karat_types::{CellRow, CellStatus, NO_JSON, NOTHING_AT, PlanHeader, RowError, RunRows, Score, UNICODE_WORDS};
use serde_json::Value;

/// Most outputs whose fields are listed.
const SAMPLED: usize = 20;

/// A scorer whose path matches no output of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedOutput {
    /// Index of the scorer in the plan.
    pub scorer: usize,
    /// Its path into the output.
    pub path: String,
    /// Number of outputs that it was tried on.
    pub outputs: u64,
    /// Fields that the first of these outputs have at their root, sorted.
    pub fields: Vec<String>,
}

/// Counts the outputs in which the path of each scorer leads to something.
pub(crate) struct OutputPaths(Vec<PathCount>);

#[derive(Clone, Default)]
struct PathCount {
    matched: u64,
    missed: u64,
    /// Outputs whose words were cut as Unicode defines them.
    recut: u64,
    /// The first cells without a match.
    first: Vec<u64>,
}

impl OutputPaths {
    pub(crate) fn of(plan: &PlanHeader) -> Self {
        Self(vec![PathCount::default(); plan.scorers.len()])
    }

    pub(crate) fn add(&mut self, plan: &PlanHeader, row: &CellRow<'_>) {
        if row.cell.status != CellStatus::Ok {
            return;
        }
        let mut counted = None;
        for (metric, score) in &row.cell.scores {
            let Some(scorer) = plan.metrics.get(usize::from(*metric)).map(|metric| metric.scorer) else { continue };
            let reason = match score {
                Score::Value { reason, .. } => reason.as_deref(),
                Score::Unscored { unscored } if unscored.starts_with(NOTHING_AT) => Some(unscored.as_str()),
                Score::NotApplicable { .. } | Score::Unscored { .. } => continue,
            };
            let Some(count) = self.0.get_mut(scorer) else { continue };
            if counted.replace(scorer) == Some(scorer) {
                continue;
            }
            count.recut += u64::from(reason.is_some_and(|reason| reason.starts_with(UNICODE_WORDS)));
            if reason.is_some_and(|reason| [NOTHING_AT, NO_JSON].iter().any(|it| reason.starts_with(it))) {
                count.missed += 1;
                if count.first.len() < SAMPLED {
                    count.first.push(row.cell.ordinal);
                }
            } else {
                count.matched += 1;
            }
        }
    }

    /// The warning about scorers that cut words as Unicode defines them.
    pub(crate) fn recut_warning(&self, plan: &PlanHeader) -> Option<String> {
        let recut = self.0.iter().zip(&plan.scorers).filter(|(count, _)| count.recut > 0);
        let named: Vec<String> = recut.map(|(count, scorer)| format!("`{}` ({})", scorer.id, count.recut)).collect();
        (!named.is_empty()).then(|| {
            format!(
                "Outputs in other scripts, whose words are cut as Unicode defines them, so that no other tool gives these figures: {}.",
                named.join(", ")
            )
        })
    }

    /// The scorers whose path matched nothing.
    ///
    /// # Errors
    /// An output cannot be read.
    pub(crate) fn unmatched_scorers(
        &self,
        plan: &PlanHeader,
        rows: &dyn RunRows,
    ) -> Result<Vec<UnmatchedOutput>, RowError> {
        let counts = self.0.iter().enumerate().filter(|(_, count)| count.matched == 0 && count.missed > 0);
        counts
            .map(|(scorer, count)| {
                let path = plan.scorers.get(scorer).map(|scorer| scorer.output.clone()).unwrap_or_default();
                Ok(UnmatchedOutput { scorer, path, outputs: count.missed, fields: fields(&count.first, rows)? })
            })
            .collect()
    }
}

/// The fields at the root of some outputs; of a text, those of the JSON that it is.
fn fields(cells: &[u64], rows: &dyn RunRows) -> Result<Vec<String>, RowError> {
    let mut names = BTreeSet::new();
    for ordinal in cells {
        let output = match rows.output(*ordinal)? {
            Some(Value::String(text)) => serde_json::from_str(&text).ok(),
            output => output,
        };
        names.extend(output.as_ref().and_then(Value::as_object).into_iter().flat_map(|map| map.keys().cloned()));
    }
    Ok(names.into_iter().collect())
}
