//! What an estimate walks on, and what of a cell is there already.

use std::sync::Arc;

use karat_suite::Plan;
use karat_types::Key;
use serde_json::Value;

use super::Afresh;
use super::sums::Planned;
use crate::EngineError;
use crate::lengths::Lengths;
use crate::made::Why;
use crate::resolver::Resolver;
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
    pub systems: Arc<Systems>,
    pub resolver: Resolver,
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
    pub fn start(&self, row: &Row, system: &ReadySystem, trial: u32) -> Result<Result<Known, Why>, EngineError> {
        let start = self.resolver.start(row, system, trial)?;
        Ok(start.map(|output| output.map_or(Known::Nothing, Known::Output)))
    }

    /// The keys of a cell's steps behind the one that it starts with; none where outputs are given.
    pub fn keys(&self, row: &Row, system: &ReadySystem, trial: u32, start: &Known) -> Vec<Key> {
        self.resolver.keys(row, system, trial, start.output())
    }

    /// How many steps of a cell need not be made, and what is known of the output of the last of them.
    pub fn made(&self, keys: &[Key], start: &Known) -> Result<(usize, Known), EngineError> {
        Ok(match self.resolver.latest_step(keys, !self.systems.judges.is_empty())? {
            None => (0, start.clone()),
            Some(latest) => {
                let known = latest.stored.map_or(Known::Nothing, |stored| Known::Output(stored.record.output));
                (latest.at + 1, known)
            }
        })
    }
}
