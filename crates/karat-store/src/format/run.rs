//! Runs: the header of a row of `runs`, and its status.

use karat_types::{RunHeader, RunStatus};

use crate::StoreError;
use crate::block::pack::Unpacker;
use crate::block::section::{Entries, Section, SectionWriter};
use crate::error::Damage;

/// Format version. 2 is a shard: an older Karat would take it for a run of the whole plan.
const VERSION: u8 = 2;

/// Returns the code of a run's status in its column.
pub(crate) fn run_status_code(status: RunStatus) -> i64 {
    match status {
        RunStatus::Running => 0,
        RunStatus::Finished => 1,
        RunStatus::Interrupted => 2,
        RunStatus::BudgetStopped => 3,
    }
}

pub(crate) fn run_status_of(code: i64) -> Result<RunStatus, Damage> {
    [RunStatus::Running, RunStatus::Finished, RunStatus::Interrupted, RunStatus::BudgetStopped]
        .into_iter()
        .find(|status| run_status_code(*status) == code)
        .ok_or_else(|| Damage(format!("{code} is not the status of a run")))
}

/// Packs the header of a run: everything that does not change.
pub(crate) fn pack_header(header: &RunHeader) -> Result<Vec<u8>, StoreError> {
    let not_packed = |error: std::io::Error| StoreError::OutOfRange(format!("the run's header: {error}"));
    let mut entries = Entries::default();
    entries.push(|packer| {
        packer.byte(if header.shard.is_some() { VERSION } else { 1 });
        packer.json(header);
    });
    SectionWriter::new().and_then(|mut writer| writer.write([&entries])).map_err(not_packed)
}

/// Unpacks the bytes of [`pack_header`].
pub(crate) fn unpack_header(packed: &[u8]) -> Result<RunHeader, Damage> {
    let section = Section::read(packed)?;
    let mut unpacker = Unpacker::of_version(section.entry(0)?, VERSION)?;
    let header = unpacker.json()?;
    unpacker.end()?;
    Ok(header)
}
