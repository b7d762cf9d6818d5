//! The state that an estimate reads, and the parts of a cell that exist.

use std::sync::Arc;

use karat_suite::Plan;
use karat_types::{Key, UncachedCost};
use serde_json::Value;

use super::sums::CountedKeys;
use crate::EngineError;
use crate::estimate::usage_history::UsageHistory;
use crate::plan::ready::ReadySystem;
use crate::plan::systems::Systems;
use crate::reuse::resolver::Resolver;
use crate::rows::row::Row;
use crate::steps::Reason;

/// The known part of an output that a judge or later step will read.
#[derive(Clone)]
pub(super) enum KnownOutput {
    Output(Arc<Value>),
    /// There is no output yet; the next step is the first.
    Nothing,
    /// Only its minimum and maximum length in tokens.
    Length(u64, u64),
}

impl KnownOutput {
    pub fn output(&self) -> Option<&Value> {
        if let Self::Output(output) = self { Some(output) } else { None }
    }
}

/// The state that all threads of an estimate share.
pub(super) struct EstimateContext<'a> {
    pub plan: &'a Plan,
    pub systems: Arc<Systems>,
    pub resolver: Resolver,
    pub usage_history: UsageHistory,
    /// The cost of the plan as an earlier run estimated it.
    pub uncached: Option<UncachedCost>,
    pub counted: CountedKeys,
    pub counted_uncached: CountedKeys,
}

/// A cell of the plan, with its keys.
pub(super) struct PlannedCell<'a> {
    pub row: &'a Row,
    pub at: usize,
    pub trial: u32,
    pub system: &'a ReadySystem,
    pub keys: &'a [Key],
}

impl EstimateContext<'_> {
    /// The output that the first step starts from, if there is one.
    pub fn start(
        &self,
        row: &Row,
        system: &ReadySystem,
        trial: u32,
    ) -> Result<Result<KnownOutput, Reason>, EngineError> {
        let start = self.resolver.start(row, system, trial)?;
        Ok(start.map(|output| output.map_or(KnownOutput::Nothing, KnownOutput::Output)))
    }

    /// The keys of a cell's steps after its start; none where outputs are given.
    pub fn keys(&self, row: &Row, system: &ReadySystem, trial: u32, start: &KnownOutput) -> Vec<Key> {
        self.resolver.keys(row, system, trial, start.output())
    }

    /// The number of steps that need not be made, and what is known of the output of the last of them.
    pub fn existing_steps(&self, keys: &[Key], start: &KnownOutput) -> Result<(usize, KnownOutput), EngineError> {
        let needs_output = !self.systems.judges.is_empty() || !self.plan.header.embedders.is_empty();
        Ok(match self.resolver.latest_step(keys, needs_output)? {
            None => (0, start.clone()),
            Some(latest) => {
                let known =
                    latest.stored.map_or(KnownOutput::Nothing, |stored| KnownOutput::Output(stored.record.output));
                (latest.at + 1, known)
            }
        })
    }
}
