//! Knows which units are complete, shows them to the rule in order, and keeps the stop.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karat_store::{Store, StoredRun};
use karat_types::{Key, PlanHeader, SampleRecord, StopRule};
use tokio::sync::Notify;

use crate::EngineError;
use crate::control::halt::Halt;
use crate::control::stop::Stop;
use crate::early::order::UnitOrder;

/// The purposes of a row's cells, by system.
type RowPurposes = Arc<Vec<Vec<u32>>>;

/// Follows a run that may stop early.
pub(crate) struct Follower {
    pub order: UnitOrder,
    plan: Arc<PlanHeader>,
    store: Arc<Store>,
    run: String,
    /// The rows of the run as they are written.
    rows: StoredRun,
    state: Mutex<State>,
    changed: Notify,
    halt: Halt,
    stop: Stop,
}

struct State {
    rule: Box<dyn StopRule>,
    /// Units that were handed out and are not complete, in order.
    open: VecDeque<OpenUnit>,
    /// The unit and the purposes of each of their rows.
    purposes: HashMap<u64, (usize, RowPurposes)>,
    /// Complete units in order: the prefix.
    complete: usize,
    end: Option<End>,
    failure: Option<EngineError>,
}

struct OpenUnit {
    key: Key,
    rows: Vec<u64>,
    /// Cells that are not on disk.
    pending: usize,
}

/// The reason why no further unit is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Everything is decided, or all units are complete.
    Decided,
    /// A cell was left, so the units after it are never complete in this part of the run.
    Left,
}

/// A unit that is handed out: the purposes of its rows, and its cells that are not on disk.
pub(crate) struct HandedUnit {
    pub at: usize,
    pub key: Key,
    pub rows: Vec<(u64, Vec<Vec<u32>>)>,
    pub pending: usize,
}

impl Follower {
    /// A follower before the first unit. `rule` has seen all rows.
    ///
    /// # Errors
    /// The run is not in the store.
    pub fn new(
        (store, run): (Arc<Store>, String),
        plan: Arc<PlanHeader>,
        (order, rule): (UnitOrder, Box<dyn StopRule>),
        (halt, stop): (Halt, Stop),
    ) -> Result<Self, EngineError> {
        let rows = store.rows(&run)?;
        let state =
            State { rule, open: VecDeque::new(), purposes: HashMap::new(), complete: 0, end: None, failure: None };
        Ok(Self { order, plan, store, run, rows, state: Mutex::new(state), changed: Notify::new(), halt, stop })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a unit may be handed out: fewer than `max_concurrency` units are beyond the complete ones. Returns
    /// `false` if no unit is handed out any more.
    pub async fn wait_for_room(&self, unit: usize) -> bool {
        let window = self.plan.run.max_concurrency.max(1) as usize;
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state();
                if state.end.is_some() || state.failure.is_some() {
                    return false;
                }
                if unit < state.complete + window {
                    return true;
                }
            }
            tokio::select! {
                () = changed => {}
                () = self.stop.wait() => return false,
            }
        }
    }

    /// The purposes of a sample's cells that are open, by system: an empty list for a cell that is not needed.
    ///
    /// # Errors
    /// A gate that cannot be applied to the row.
    pub fn open_purposes(&self, sample: &SampleRecord) -> Result<Vec<Vec<u32>>, EngineError> {
        let state = self.state();
        let mut purposes = state.rule.purposes(sample).map_err(EngineError::Plan)?;
        for of_system in &mut purposes {
            of_system.retain(|purpose| state.rule.is_open(*purpose));
        }
        Ok(purposes)
    }

    /// Adds a unit whose cells are handed to workers.
    pub fn add_unit(&self, unit: HandedUnit) {
        let mut state = self.state();
        let rows = unit.rows.iter().map(|(row, _)| *row).collect();
        let purposes = unit.rows.into_iter().map(|(row, purposes)| (row, (unit.at, Arc::new(purposes))));
        state.purposes.extend(purposes);
        state.open.push_back(OpenUnit { key: unit.key, rows, pending: unit.pending });
        self.advance(&mut state);
    }

    /// Returns whether a cell that was handed out is still needed.
    pub fn is_needed(&self, ordinal: u64) -> bool {
        let (row, system, _) = self.plan.place(ordinal);
        let state = self.state();
        let purposes = state.purposes.get(&row).and_then(|(_, purposes)| purposes.get(system));
        purposes.is_some_and(|purposes| purposes.iter().any(|purpose| state.rule.is_open(*purpose)))
    }

    /// Notes that a cell is final: it is on disk, or not needed any more.
    pub fn end_cell(&self, ordinal: u64) {
        let (row, ..) = self.plan.place(ordinal);
        let mut state = self.state();
        let Some((unit, _)) = state.purposes.get(&row) else { return };
        let at = unit.checked_sub(state.complete);
        if let Some(unit) = at.and_then(|at| state.open.get_mut(at)) {
            unit.pending = unit.pending.saturating_sub(1);
        }
        self.advance(&mut state);
    }

    /// Notes that a cell was left for a later part of the run.
    pub fn leave_cell(&self) {
        let mut state = self.state();
        state.end.get_or_insert(End::Left);
        self.changed.notify_waiters();
    }

    /// Shows complete units to the rule, in order.
    fn advance(&self, state: &mut State) {
        while state.end != Some(End::Decided) && state.failure.is_none() {
            let Some(unit) = state.open.pop_front_if(|unit| unit.pending == 0) else { break };
            let per_row = self.plan.cells_per_row();
            let ordinals: Vec<Range<u64>> = unit.rows.iter().map(|row| row * per_row..(row + 1) * per_row).collect();
            let added = state.rule.add_unit(unit.key, &self.rows, &ordinals);
            for row in &unit.rows {
                state.purposes.remove(row);
            }
            state.complete += 1;
            if let Err(error) = added {
                self.fail(state, EngineError::Gates(error.to_string()));
            } else if state.rule.is_decided() || state.complete == self.order.len() {
                self.keep_stop(state);
            }
        }
        self.changed.notify_waiters();
    }

    /// Stores the stop; an earlier part of the run must have come to the same one.
    fn keep_stop(&self, state: &mut State) {
        self.halt.set();
        state.end = Some(End::Decided);
        let record = state.rule.record();
        match self.store.keep_stop(&self.run, &record) {
            Ok(None) => {}
            Ok(Some(other)) => {
                let error = EngineError::OtherStop {
                    run: self.run.clone(),
                    stored: other.stored.course(),
                    now: record.course(),
                };
                self.fail(state, error);
            }
            Err(error) => self.fail(state, EngineError::Store(error)),
        }
    }

    fn fail(&self, state: &mut State, error: EngineError) {
        state.failure.get_or_insert(error);
        self.halt.set();
        self.stop.set();
    }

    /// Returns whether the run came to its stop or its end.
    pub fn is_decided(&self) -> bool {
        self.state().end == Some(End::Decided)
    }

    /// The failure of the rule, if there is one.
    pub fn take_failure(&self) -> Option<EngineError> {
        self.state().failure.take()
    }
}
