//! The contract of rules that stop a run early.

use std::ops::Range;

use crate::{Key, RowError, RunRows, SampleRecord, StopRecord};

/// A rule that decides, unit by unit in the seeded order, which cells of a run are still needed.
///
/// [`StopRule::add_row`] gets every row of the plan once, then [`StopRule::start`] ends them; units follow. What a cell
/// is needed for are *purposes*, by number; a purpose that has ended never opens again.
pub trait StopRule: Send {
    /// Adds a row of the plan, in any order.
    ///
    /// # Errors
    /// A gate that cannot be applied to the row.
    fn add_row(&mut self, sample: &SampleRecord) -> Result<(), String>;

    /// Ends the rows.
    ///
    /// # Errors
    /// A gate that cannot be followed.
    fn start(&mut self) -> Result<(), String>;

    /// The purposes of a sample's cells, by system.
    ///
    /// # Errors
    /// A gate that cannot be applied to the row.
    fn purposes(&self, sample: &SampleRecord) -> Result<Vec<Vec<u32>>, String>;

    /// Returns true while the units so far leave a purpose open.
    fn is_open(&self, purpose: u32) -> bool;

    /// Adds the next unit: all its cells that have an open purpose are final. `ordinals` has one range a sample.
    ///
    /// # Errors
    /// Rows that cannot be read.
    fn add_unit(&mut self, unit: Key, rows: &dyn RunRows, ordinals: &[Range<u64>]) -> Result<(), RowError>;

    /// Returns true once no purpose is open.
    fn is_decided(&self) -> bool;

    /// The state after the units so far.
    fn record(&self) -> StopRecord;
}
