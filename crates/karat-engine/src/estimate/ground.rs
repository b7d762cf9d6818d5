//! What an estimate walks on, and what of a cell is there already.

use std::sync::Arc;

use karat_store::Stock;
use karat_suite::Plan;
use karat_types::Key;
use serde_json::Value;

use super::Afresh;
use super::asks::{Idle, recorded_output};
use super::sums::Planned;
use crate::EngineError;
use crate::files::Library;
use crate::history::{self, Earlier};
use crate::identity::recorded_key;
use crate::lengths::Lengths;
use crate::remaining::Remaining;
use crate::row::Row;
use crate::systems::{ReadySystem, Systems};

/// What is known of an output that a judge or later step will read.
#[derive(Clone)]
pub(super) enum Known {
    Output(Arc<Value>),
    /// There is none yet, and the next step is the first.
    Nothing,
    /// Nothing but its least and greatest length in tokens.
    Length(u64, u64),
}

impl Known {
    pub fn output(&self) -> Option<&Value> {
        if let Self::Output(output) = self { Some(output) } else { None }
    }
}

/// What all threads walk on.
pub(super) struct Ground<'a> {
    pub plan: &'a Plan,
    /// What is taken over instead of being made.
    pub stock: Stock,
    /// Where outputs are found, instead of being made.
    pub outputs: Option<Earlier>,
    /// What earlier parts of the run have left; all where there are none.
    pub remaining: Option<Remaining>,
    pub systems: Systems,
    pub library: Library,
    pub lengths: Lengths,
    /// What an earlier run has found of the plan's cost.
    pub afresh: Option<Afresh>,
    pub planned: Planned,
    pub planned_afresh: Planned,
}

/// A cell as the walk sees it.
pub(super) struct Place<'a> {
    pub row: &'a Row,
    pub at: usize,
    pub trial: u32,
    pub system: &'a ReadySystem,
    pub keys: &'a [Key],
}

impl Ground<'_> {
    /// What the first step that is made begins with: a found output, or nothing.
    pub fn start(&self, row: &Row, system: &ReadySystem, trial: u32) -> Result<Result<Known, Idle>, EngineError> {
        if let Some(earlier) = &self.outputs {
            let model = system.model.as_ref().map(|model| model.id.as_str());
            let (row, sample) = (row.sample.row, &*row.sample.id);
            let place = history::Place { row, sample, model, variant: &system.variant, trial };
            return Ok(earlier.stored(place)?.and_then(|cell| cell.output).map(Known::Output).ok_or(Idle::Skipped));
        }
        let Some(step) = &system.recorded else { return Ok(Ok(Known::Nothing)) };
        let found = recorded_output(&self.systems, &self.library, row, system, step);
        Ok(found.map(|output| Known::Output(Arc::new(output))))
    }

    /// The keys of a cell's steps behind the one that it starts with; none where outputs are given.
    pub fn keys(&self, row: &Row, system: &ReadySystem, trial: u32, start: &Known) -> Vec<Key> {
        if self.outputs.is_some() {
            return Vec::new();
        }
        let systems = &self.systems;
        let before = if let Known::Output(output) = start { recorded_key(output) } else { systems.root };
        system.keys(systems, &row.digests, before, trial)
    }

    /// How many steps of a cell need not be made, and what is known of the output of the last of them.
    pub fn made(&self, keys: &[Key], start: &Known) -> Result<(usize, Known), EngineError> {
        for (at, key) in keys.iter().enumerate().rev() {
            let is_read = at + 1 < keys.len() || !self.systems.judges.is_empty();
            if !is_read && self.stock.has_step(*key)? {
                return Ok((at + 1, Known::Nothing));
            }
            let stored = if is_read { self.stock.step(*key)? } else { None };
            if let Some(stored) = stored {
                return Ok((at + 1, Known::Output(stored.record.output)));
            }
        }
        Ok((0, start.clone()))
    }

    /// The output of a system, where it is there.
    pub fn known_output(&self, row: &Row, at: usize, trial: u32) -> Result<Option<Arc<Value>>, EngineError> {
        let systems = &self.systems;
        let Some(system) = systems.systems.get(at) else { return Ok(None) };
        let trial = self.plan.header.trial_beside(at, trial);
        let Ok(start) = self.start(row, system, trial)? else { return Ok(None) };
        let keys = self.keys(row, system, trial, &start);
        Ok(match self.made(&keys, &start)? {
            (made, Known::Output(output)) if made == keys.len() => Some(output),
            _ => None,
        })
    }
}
