//! The page of a cell: its calls with their bytes, its output, scores and judgments, read by its ordinal alone.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use karat_analysis::{resolve_checks, system_id};
use karat_store::StoredBlob;
use karat_types::{CellStatus, Moment, RunRows, SampleText, Score, Usage};
use serde_json::Value;

use crate::AppError;
use crate::error::StoredError;
use crate::stored::messages::request_blobs;
use crate::stored::names;
use crate::views::Views;
use crate::views::index::cost;
use crate::views::query::CellQuery;
use crate::views::run_view::RunView;
use crate::views::show::calls::{CellCall, CellKeys, Contents};
use crate::views::show::cells::scores;
use crate::views::texts::JudgmentView;

/// A cell with all that the store holds of it.
#[derive(Debug, Clone)]
pub struct CellView {
    /// The run.
    pub run: String,
    /// The suite.
    pub suite: String,
    /// Ordinal in the plan.
    pub ordinal: u64,
    /// Id of its sample.
    pub sample: String,
    /// Model and variant.
    pub system: String,
    /// The name that commands take: `sample/model/variant/trial`.
    pub path: String,
    /// Repetition, from 0, and the number of repetitions.
    pub trial: (u32, u32),
    /// Its status.
    pub status: CellStatus,
    /// The reason for a missing output.
    pub error: Option<String>,
    /// Notes of its steps.
    pub notes: Vec<String>,
    /// Input, reference and columns of its sample.
    pub texts: Vec<SampleText>,
    /// Its output, if it has one.
    pub output: Option<Value>,
    /// Scores by metric, judges joined.
    pub scores: Vec<(String, Score)>,
    /// Its judgments, by scorer, then judge.
    pub judgments: Vec<JudgmentView>,
    /// Its calls, steps first, then judges.
    pub calls: Vec<CellCall>,
    /// Tokens of its steps.
    pub usage: Usage,
    /// Dollars, judges included; `None` if a price is unknown.
    pub cost_usd: Option<f64>,
    /// Milliseconds that the calls of its steps took.
    pub latency_ms: f64,
    /// Start of the run that made the output, if it was reused: `Some(None)` if that is not known.
    pub reused_from: Option<Option<Moment>>,
    /// True if the suite keeps prompts, replies and outputs.
    pub keeps_content: bool,
    /// True if every model of the run was simulated, so that the cost was not billed.
    pub is_simulated: bool,
}

impl Views<'_> {
    /// The images and files of the requests of a cell that are stored, with their media types, by digest.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn sent_blobs(&self, cell: &CellView) -> Result<BTreeMap<String, String>, AppError> {
        let store = self.app.existing_store()?;
        let mut types = BTreeMap::new();
        for call in &cell.calls {
            let Contents::Kept(call) = &call.contents else { continue };
            for digest in request_blobs(&call.request) {
                if let Some(media_type) = store.blob_type(&digest)? {
                    types.insert(digest, media_type);
                }
            }
        }
        Ok(types)
    }

    /// An image or file that was sent to a model, by the digest in stored requests.
    ///
    /// # Errors
    /// It is not stored, or the store cannot be read.
    pub fn sent_blob(&self, digest: &str) -> Result<StoredBlob, AppError> {
        let blob = self.app.existing_store()?.blob(digest)?;
        blob.ok_or_else(|| StoredError::NoBlob { digest: digest.to_owned() }.into())
    }

    /// A cell of a run by its ordinal.
    ///
    /// # Errors
    /// No such run or cell, or its rows cannot be read.
    pub fn cell(&self, run: &str, ordinal: u64) -> Result<CellView, AppError> {
        let store = self.app.existing_store()?;
        let rows = store.rows(&store.resolve(run)?)?;
        let header = rows.header();
        let plan = resolve_checks(&rows)?;
        let mut found = None;
        rows.for_each_in(ordinal..ordinal.saturating_add(1), &mut |row| {
            let cell = row.cell;
            let path = names::path(&plan, &row.sample.id, row.system);
            let view = CellView {
                run: header.id.clone(),
                suite: plan.suite.clone(),
                ordinal,
                sample: row.sample.id.clone(),
                system: system_id(&plan, row.system),
                path: if row.trial > 0 { format!("{path}/{}", row.trial) } else { path },
                trial: (row.trial, plan.systems.get(row.system).map_or(1, |system| system.trials)),
                status: cell.status,
                error: cell.error.as_ref().map(|error| format!("{}: {}", error.code, error.message)),
                notes: cell.notes.iter().map(|note| note.text.clone()).collect(),
                texts: row.sample.texts.clone(),
                output: None,
                scores: scores(&plan, &row).into_iter().collect(),
                judgments: row.judgments.iter().map(|judgment| JudgmentView::of(&plan, judgment)).collect(),
                calls: Vec::new(),
                usage: cell.cost.usage,
                cost_usd: cost(&row).map(karat_types::Money::usd),
                latency_ms: cell.latency_ms,
                reused_from: cell.reused.then_some(cell.made_at),
                keeps_content: plan.privacy.keep_content,
                is_simulated: plan.is_simulated(),
            };
            found = Some((view, CellKeys::of(&plan, &row)));
            ControlFlow::Break(())
        })?;
        let missing = || StoredError::NoCell { run: header.id.clone(), cell: ordinal.to_string() };
        let (mut view, keys) = found.ok_or_else(missing)?;
        view.output = rows.output(ordinal)?;
        view.calls = keys.read(&store, &header.id)?;
        Ok(view)
    }

    /// The ordinals of the cells before and after a cell in the list that a query selects: of the first trials of the
    /// rows around the cell's.
    pub fn cells_around(&self, view: &RunView, query: &CellQuery, ordinal: u64) -> (Option<u64>, Option<u64>) {
        let Some(group) = view.index.group_of(ordinal) else { return (None, None) };
        let groups = query.select(view).groups;
        let after = query.position_after(view, &groups, group);
        let is_listed = after > 0 && groups.get(after - 1).is_some_and(|other| *other as usize == group);
        let before = after.checked_sub(1 + usize::from(is_listed));
        let ordinal =
            |at: usize| groups.get(at).map(|group| view.index.place(view.index.group(*group as usize).start).ordinal);
        (before.and_then(ordinal), ordinal(after))
    }
}
