//! The byte forms of the store by name, for checks that damage them on purpose.

use karat_types::{CellStatus, Key};
use serde_json::Value;

use crate::block::call_log::{self, CallEvent};
use crate::block::pack::Packer;
use crate::block::section::{Entries, Section, SectionWriter};
use crate::error::Damage;
use crate::format::{
    StoredCell, pack_call, pack_cell, pack_header, pack_judgment, pack_sample, pack_step, status_code, unpack_call,
    unpack_cell, unpack_header, unpack_judgment, unpack_sample, unpack_step,
};

/// Place of the cell and the sample that are read.
const PLACE: u64 = 3;

/// A byte form of the store.
///
/// Stored bytes may be damaged, so every form is read with suspicion: bytes that are not of this form are an error, never a
/// panic, and never a reason to reserve more memory than they can fill.
///
/// ```
/// use karat_store::StoredForm;
///
/// let section = StoredForm::Section.seal(b"\x01\x02hi").unwrap();
/// assert_eq!(StoredForm::Section.rewrite(&section), Ok(section.clone()));
/// assert!(StoredForm::Section.rewrite(&section[1..]).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredForm {
    /// Entries that are compressed together.
    Section,
    /// The calls of a commit, as they count for money.
    CallLog,
    /// The header of a run.
    Header,
    /// A call with its request and reply.
    Call,
    /// The facts of a cell.
    Cell,
    /// The facts of a sample.
    Sample,
    /// A judgment.
    Judgment,
    /// A step of a cell.
    Step,
}

impl StoredForm {
    /// All forms.
    pub const ALL: [Self; 8] =
        [Self::Section, Self::CallLog, Self::Header, Self::Call, Self::Cell, Self::Sample, Self::Judgment, Self::Step];

    /// Reads bytes as this form to their end, and returns the record as today's version writes it. Sections and call logs are
    /// returned as they are.
    ///
    /// # Errors
    /// The damage, as the end of a sentence.
    pub fn rewrite(self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        self.rewritten(bytes).map_err(|Damage(problem)| problem)
    }

    fn rewritten(self, bytes: &[u8]) -> Result<Vec<u8>, Damage> {
        match self {
            Self::Section => {
                let section = Section::read(bytes)?;
                let mut at = 0;
                while section.entry(at).is_ok() {
                    at += 1;
                }
                Ok(bytes.to_vec())
            }
            Self::CallLog => {
                call_log::read(bytes)?.try_for_each(|event: Result<CallEvent, Damage>| event.map(drop))?;
                Ok(bytes.to_vec())
            }
            Self::Header => pack_header(&unpack_header(bytes)?).map_err(|error| Damage(error.to_string())),
            Self::Call => unpack_call(bytes).map(|call| Packer::pack(|packer| pack_call(packer, &call))),
            Self::Cell => {
                let row = StoredCell { ordinal: PLACE, status: status_code(CellStatus::Ok), facts: bytes };
                unpack_cell(row).map(|cell| Packer::pack(|packer| pack_cell(packer, &cell)))
            }
            Self::Sample => unpack_sample(PLACE, bytes).map(|it| Packer::pack(|packer| pack_sample(packer, &it))),
            Self::Judgment => unpack_judgment(bytes).map(|it| Packer::pack(|packer| pack_judgment(packer, &it))),
            Self::Step => {
                let mut distance = 0;
                let step = unpack_step(Key::default(), bytes, |entries| {
                    distance = entries;
                    Ok(Value::Null)
                })?;
                Ok(Packer::pack(|packer| pack_step(packer, &step, distance)))
            }
        }
    }

    /// Wraps content so that its damage is not found by a checksum: with the checksum of its form, or compressed. Content of a
    /// section is a count, the lengths and the entries.
    ///
    /// # Errors
    /// Content that cannot be compressed.
    pub fn seal(self, content: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Self::Section => SectionWriter::new()
                .and_then(|mut writer| writer.compress(content))
                .map_err(|error| format!("the content cannot be compressed: {error}")),
            Self::Header => {
                let mut entries = Entries::default();
                entries.push(|packer| packer.plain(content));
                SectionWriter::new()
                    .and_then(|mut writer| writer.write([&entries]))
                    .map_err(|error| format!("the content cannot be compressed: {error}"))
            }
            Self::CallLog => Ok(Packer::pack(|packer| {
                packer.plain(content);
                packer.seal(0, &[]);
            })),
            Self::Cell | Self::Sample | Self::Call | Self::Judgment | Self::Step => Ok(content.to_vec()),
        }
    }
}
