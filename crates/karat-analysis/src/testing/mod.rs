//! Synthetic runs in memory, for tests of this crate and of crates that read findings.
//!
//! [`Sketch`] sets single values; [`example`] is a complete matrix with every kind of cell; [`DatedSuite`] is a suite with
//! one document a day.
#![allow(clippy::expect_used, reason = "development only: a broken fixture has to stop the test")]

mod dated;
mod example;
mod sketch;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use karat_types::{
    CellRecord, CellRow, CellStatus, JudgmentRecord, Key, PlanHeader, RowError, RunHeader, RunRows, SampleRecord,
    Tournaments,
};
use serde_json::Value;

pub use dated::DatedSuite;
pub use example::{HOSTILE, example};
pub use sketch::Sketch;

/// A cell of a [`MemoryRun`].
#[derive(Debug, Clone)]
pub struct MemoryCell {
    /// Index of its sample.
    pub sample: usize,
    /// Index of its system.
    pub system: usize,
    /// Repetition, from 0.
    pub trial: u32,
    /// The cell.
    pub cell: CellRecord,
    /// Its judgments.
    pub judgments: Vec<JudgmentRecord>,
}

/// A run in memory, in plan order.
#[derive(Debug, Clone)]
pub struct MemoryRun {
    /// The run.
    pub header: RunHeader,
    /// Its samples.
    pub samples: Vec<SampleRecord>,
    /// Its cells, ascending.
    pub cells: Vec<MemoryCell>,
    /// Outputs by ordinal.
    pub outputs: BTreeMap<u64, Value>,
}

impl MemoryRun {
    /// The plan.
    pub fn plan(&self) -> Arc<PlanHeader> {
        self.header.plan.clone()
    }

    /// Calls `row` for each cell.
    pub fn each(&self, mut row: impl FnMut(CellRow<'_>)) {
        for it in &self.cells {
            row(CellRow {
                sample: &self.samples[it.sample],
                system: it.system,
                trial: it.trial,
                cell: &it.cell,
                judgments: &it.judgments,
                shares: &[],
                judging: None,
            });
        }
    }
}

impl MemoryRun {
    fn for_each_judged(
        &self,
        ordinals: &Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowError> {
        for it in self.cells.iter().filter(|it| ordinals.contains(&it.cell.ordinal)) {
            let sample = self.samples.get(it.sample).ok_or_else(|| RowError(format!("no sample {}", it.sample)))?;
            let MemoryCell { system, trial, cell, judgments, .. } = it;
            if row(CellRow { sample, system: *system, trial: *trial, cell, judgments, shares: &[], judging: None })
                .is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

impl RunRows for MemoryRun {
    fn header(&self) -> &RunHeader {
        &self.header
    }

    fn for_each_in(
        &self,
        ordinals: Range<u64>,
        row: &mut dyn FnMut(CellRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowError> {
        let plan = &self.header.plan;
        match Tournaments::of(plan) {
            None => self.for_each_judged(&ordinals, row),
            Some(tournaments) => {
                tournaments.with_shares(plan, &ordinals, &mut |wider, each| self.for_each_judged(&wider, each), row)
            }
        }
    }

    fn output(&self, ordinal: u64) -> Result<Option<Value>, RowError> {
        Ok(self.outputs.get(&ordinal).cloned())
    }
}

/// The confidence analysis of items, each with its confidence and whether it is an error.
pub fn confidence(items: &[(f64, bool)]) -> crate::Confidence {
    crate::analyses::confidence_of(items)
}

/// A cell with only an output.
pub fn cell(ordinal: u64) -> CellRecord {
    CellRecord {
        ordinal,
        key: Key::of("test/cell", &ordinal.to_le_bytes()),
        status: CellStatus::Ok,
        reused: false,
        made_at: None,
        output: None,
        output_hash: Key::of("test/output", &ordinal.to_le_bytes()),
        scores: Vec::new(),
        cost: Default::default(),
        latency_ms: 0.0,
        calls: Vec::new(),
        facts: Default::default(),
        notes: Vec::new(),
        error: None,
    }
}

/// An empty judgment.
pub fn judgment(ordinal: u64, scorer: u16, judge: u16) -> JudgmentRecord {
    JudgmentRecord {
        ordinal,
        key: Key::of("test/judgment", &[ordinal as u8, judge as u8]),
        scorer,
        judge,
        scores: Vec::new(),
        reasoning: String::new(),
        diagnostics: serde_json::Map::new(),
        caps: Vec::new(),
        rounds: Vec::new(),
        rung: None,
        shuffle_seed: 0,
        prompt_version: None,
        reused: false,
        made_at: None,
        error: None,
        cost: Default::default(),
        latency_ms: 0.0,
        calls: Vec::new(),
        notes: Vec::new(),
        answered: Vec::new(),
        cascade: None,
    }
}

/// Models × samples with one rubric scorer `quality` (its only dimension `overall`, 0 to 10), an empty judgment of each
/// judge per cell, and the given labels.
pub fn judged_run(models: usize, samples: usize, judges: &[&str], labels: Value) -> MemoryRun {
    let mut run = Sketch::new(models, 1, samples).fill(0.0).run();
    let mut plan = serde_json::to_value(&*run.header.plan).expect("a plan is JSON");
    plan["judges"] = judges.iter().map(|id| model(id, serde_json::json!("unmetered"))).collect();
    plan["scorers"][0]["kind"] = serde_json::json!({ "rubric": {
        "rubric": {
            "id": "quality", "ask": "Judge it.", "show": [{ "name": "output", "value": "{{ output }}" }],
            "dimensions": [{ "name": "overall", "scale": { "range": { "lo": 0, "hi": 10 } }, "weight": 1 }],
            "rationale": {}, "invalid": {}
        },
        "judges": judges, "consensus": {}, "parameters": {}, "labels": labels
    }});
    run.header.plan = Arc::new(serde_json::from_value(plan).expect("a plan"));
    for cell in &mut run.cells {
        cell.cell.scores.clear();
        cell.judgments = (0..judges.len()).map(|judge| judgment(cell.cell.ordinal, 0, judge as u16)).collect();
    }
    run
}

/// A finished run of a plan given as JSON.
fn header(plan: Value) -> RunHeader {
    let header = serde_json::json!({
        "id": "0198c2f4-0000-7000-8000-000000000001",
        "plan": plan,
        "started_at": 1_767_261_600_000_i64,
        "completed_at": 1_767_261_725_500_i64,
        "status": "finished",
        "version": "0.1.0",
        "git_commit": "4f0c2d1"
    });
    serde_json::from_value(header).expect("the fixture's header is one")
}

/// A model of the registry as JSON.
fn model(id: &str, price: Value) -> Value {
    serde_json::json!({ "id": id, "provider": "scripted", "model": id, "price": price })
}

/// Execution settings as JSON.
fn run_spec() -> Value {
    serde_json::json!({ "max_concurrency": 4, "timeout_ms": 120_000, "retries": 5, "budget_usd": 25.0, "seed": 1 })
}
