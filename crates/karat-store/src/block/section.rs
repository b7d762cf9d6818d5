//! A section of a block: many entries, compressed together.
//!
//! ```text
//! version (1 byte) · size when unpacked · zstd frame of: count · length of each entry · the entries
//! ```
//! A section without entries is empty. The frame carries a checksum.

use std::cell::RefCell;
use std::io;

use zstd::bulk::Decompressor;

use crate::block::pack::{Packer, Unpacker};
use crate::error::Damage;

const VERSION: u8 = 1;

/// Compression level. Level 1 takes a third of the time of level 3 and 3 % more space on traces.
const LEVEL: i32 = 1;

/// Largest accepted size. No block is written near this size, so a larger one is damage and gets no memory.
const MAX_UNPACKED: usize = 1 << 30;

/// Entries on their way into a section.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    lengths: Vec<u64>,
    packer: Packer,
}

impl Entries {
    /// Adds an entry and returns its index.
    pub fn push(&mut self, write: impl FnOnce(&mut Packer)) -> u64 {
        let start = self.size();
        write(&mut self.packer);
        self.lengths.push((self.size() - start) as u64);
        self.len() - 1
    }

    pub fn len(&self) -> u64 {
        self.lengths.len() as u64
    }

    pub fn clear(&mut self) {
        self.lengths.clear();
        self.packer.clear();
    }

    /// Returns the size of all entries in bytes.
    pub fn size(&self) -> usize {
        self.packer.as_bytes().len()
    }
}

/// Compresses sections. All sections share one zstd context and its buffers.
pub(crate) struct SectionWriter {
    compressor: zstd::bulk::Compressor<'static>,
    unpacked: Packer,
    frame: Vec<u8>,
}

impl SectionWriter {
    pub fn new() -> io::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        compressor.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true))?;
        Ok(Self { compressor, unpacked: Packer::default(), frame: Vec::new() })
    }

    /// Returns the section that holds the entries of all parts, in order.
    pub fn write<'e>(&mut self, parts: impl IntoIterator<Item = &'e Entries> + Clone) -> io::Result<Vec<u8>> {
        let count = parts.clone().into_iter().map(Entries::len).sum();
        if count == 0 {
            return Ok(Vec::new());
        }
        self.unpacked.clear();
        self.unpacked.number(count);
        for length in parts.clone().into_iter().flat_map(|part| &part.lengths) {
            self.unpacked.number(*length);
        }
        for part in parts {
            self.unpacked.plain(part.packer.as_bytes());
        }
        let unpacked = std::mem::take(&mut self.unpacked);
        let section = self.compress(unpacked.as_bytes());
        self.unpacked = unpacked;
        section
    }

    /// Returns the section whose bytes, when unpacked, are these.
    pub fn compress(&mut self, unpacked: &[u8]) -> io::Result<Vec<u8>> {
        self.frame.clear();
        self.frame.reserve(zstd::zstd_safe::compress_bound(unpacked.len()));
        self.compressor.compress_to_buffer(unpacked, &mut self.frame)?;
        Ok(Packer::pack(|packer| {
            packer.byte(VERSION);
            packer.number(unpacked.len() as u64);
            packer.plain(&self.frame);
        }))
    }
}

/// A decompressed section.
#[derive(Debug, Default)]
pub(crate) struct Section {
    bytes: Vec<u8>,
    /// End of each entry, preceded by the start of the first one.
    ends: Vec<usize>,
}

impl Section {
    pub fn read(section: &[u8]) -> Result<Self, Damage> {
        if section.is_empty() {
            return Ok(Self::default());
        }
        let mut unpacker = Unpacker::of_version(section, VERSION)?;
        let size = unpacker.number::<usize>()?;
        let frame = unpacker.rest();
        if size > MAX_UNPACKED.min(most_unpacked(frame)) {
            return Err(Damage(format!("it claims {size} bytes")));
        }
        let bytes = decompress(frame, size).map_err(|error| Damage(format!("it cannot be decompressed: {error}")))?;
        let mut unpacker = Unpacker::plain(&bytes);
        let lengths = unpacker.list(Unpacker::number::<usize>)?;
        let mut end = bytes.len() - unpacker.rest().len();
        let mut ends = Vec::with_capacity(lengths.len() + 1);
        ends.push(end);
        for length in lengths {
            end = end.saturating_add(length);
            ends.push(end);
        }
        if end == bytes.len() { Ok(Self { bytes, ends }) } else { Err(Damage("its entries do not fill it".to_owned())) }
    }

    /// Returns an entry by its index.
    pub fn entry(&self, index: u64) -> Result<&[u8], Damage> {
        let at = usize::try_from(index).ok();
        let bounds = at.and_then(|at| Some(*self.ends.get(at)?..*self.ends.get(at.checked_add(1)?)?));
        bounds.and_then(|bounds| self.bytes.get(bounds)).ok_or_else(|| Damage(format!("it has no entry {index}")))
    }

    /// Returns `true` if the section has no entries.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the memory that the section takes, in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }
}

/// Most bytes that a zstd frame can hold: each block takes four bytes or more, and holds at most 128 KiB. The memory for all of
/// them is reserved before the frame is read, so a damaged size must not reserve more.
fn most_unpacked(frame: &[u8]) -> usize {
    const BLOCK: usize = 128 << 10;
    (frame.len() / 4 + 1).saturating_mul(BLOCK)
}

thread_local! {
    /// One decompressor a thread: creating one takes as long as decompressing a section.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn decompress(frame: &[u8], size: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress(frame, size)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A damaged size is an error before memory is reserved for it, and the largest possible content is read.
    #[test]
    fn a_size_beyond_the_frame_is_damage() {
        let claim = Packer::pack(|packer| {
            packer.byte(VERSION);
            packer.number(1 << 29);
            packer.plain(&[0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00]);
        });
        assert_eq!(Section::read(&claim).unwrap_err(), Damage("it claims 536870912 bytes".to_owned()));
        let mut entries = Entries::default();
        entries.push(|packer| packer.plain(&vec![0; 8 << 20]));
        let section = SectionWriter::new().unwrap().write([&entries]).unwrap();
        assert_eq!(Section::read(&section).unwrap().entry(0).unwrap().len(), 8 << 20);
    }

    proptest! {
        #[test]
        fn entries_round_trip(contents: Vec<Vec<u8>>) {
            let mut entries = Entries::default();
            for (at, content) in contents.iter().enumerate() {
                prop_assert_eq!(entries.push(|packer| packer.plain(content)), at as u64);
            }
            let section = Section::read(&SectionWriter::new().unwrap().write([&entries]).unwrap()).unwrap();
            for (at, content) in contents.iter().enumerate() {
                prop_assert_eq!(section.entry(at as u64).unwrap(), content.as_slice());
            }
            prop_assert!(section.entry(contents.len() as u64).is_err());
        }

        /// The checksum finds damage; it is never read as other content.
        #[test]
        fn a_flipped_bit_is_detected(contents in prop::collection::vec(any::<Vec<u8>>(), 1..20), at: usize, bit in 0..8_u8) {
            let mut entries = Entries::default();
            for content in &contents {
                entries.push(|packer| packer.plain(content));
            }
            let mut bytes = SectionWriter::new().unwrap().write([&entries]).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            if let Ok(section) = Section::read(&bytes) {
                for (index, content) in contents.iter().enumerate() {
                    prop_assert_eq!(section.entry(index as u64).unwrap(), content.as_slice());
                }
            }
        }
    }
}
