//! Compressed files, recognised by their first bytes.
//!
//! A small file may unpack to any size, and a row is held in memory, so there is a limit to what a file may become.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The limit of what a file becomes: more than both of these is refused.
#[derive(Clone, Copy)]
struct Limit {
    bytes: u64,
    /// A multiple of the bytes that were unpacked.
    ratio: u64,
}

/// Rows of real data become about ten times smaller; this is far above, and below what a bomb needs to be worth it.
const LIMIT: Limit = Limit { bytes: 256 << 20, ratio: 200 };

/// The content of a file, unpacked if it is compressed by gzip or zstd, and as UTF-8 if it says that it is UTF-16.
pub(super) fn unpack(reader: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let mut reader = unpack_within(LIMIT, reader)?;
    match utf16_order(reader.fill_buf()?) {
        Some(order) => from_utf16(reader, order),
        None => Ok(reader),
    }
}

/// The order of the bytes of UTF-16 with a mark.
pub(super) fn utf16_order(start: &[u8]) -> Option<fn([u8; 2]) -> u16> {
    match start {
        [0xff, 0xfe, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] => Some(u16::from_be_bytes),
        _ => None,
    }
}

fn from_utf16(mut reader: Box<dyn BufRead + Send>, order: fn([u8; 2]) -> u16) -> io::Result<Box<dyn BufRead + Send>> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "it begins as UTF-16, and is none: save it as UTF-8");
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    if bytes.len() % 2 == 1 {
        return Err(invalid());
    }
    let units = bytes.chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().map_err(|_| invalid())?;
    Ok(Box::new(io::Cursor::new(text.into_bytes())))
}

fn unpack_within(limit: Limit, mut reader: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let start = reader.fill_buf()?;
    let (is_gzip, is_zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    if !is_gzip && !is_zstd {
        return Ok(reader);
    }
    let packed = Arc::<AtomicU64>::default();
    let counted = Packed { reader, read: Arc::clone(&packed) };
    let unpacked: Box<dyn Read + Send> = match is_gzip {
        true => Box::new(MultiGzDecoder::new(counted)),
        false => Box::new(zstd::Decoder::with_buffer(counted)?),
    };
    Ok(Box::new(BufReader::new(Unpacked { reader: unpacked, limit, packed, read: 0 })))
}

/// A compressed file that counts what is taken from it.
struct Packed {
    reader: Box<dyn BufRead + Send>,
    read: Arc<AtomicU64>,
}

impl Read for Packed {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(room)?;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

impl BufRead for Packed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        self.reader.consume(length);
    }
}

/// The content of a compressed file, up to the limit.
struct Unpacked {
    reader: Box<dyn Read + Send>,
    limit: Limit,
    packed: Arc<AtomicU64>,
    read: u64,
}

impl Read for Unpacked {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(room)?;
        self.read += length as u64;
        let Limit { bytes, ratio } = self.limit;
        let packed = self.packed.load(Ordering::Relaxed);
        if self.read > bytes && self.read > packed.saturating_mul(ratio) {
            let size = bytes >> 20;
            return Err(io::Error::other(format!(
                "it becomes more than {size} MiB and {ratio} times its own size: if you trust it, unpack it yourself"
            )));
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use super::*;

    const SMALL: Limit = Limit { bytes: 1 << 20, ratio: 100 };

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read(file: Vec<u8>) -> io::Result<usize> {
        let mut content = Vec::new();
        unpack_within(SMALL, Box::new(Cursor::new(file)))?.read_until(b'\n', &mut content)
    }

    /// A small file does not fill the memory by what it becomes; one that is only large is read.
    #[test]
    fn a_file_that_becomes_far_larger_is_refused() {
        let bomb = vec![b'0'; 8 << 20];
        for file in [gzip(&bomb), zstd::encode_all(&bomb[..], 3).unwrap()] {
            assert!(file.len() < 50_000);
            let error = read(file).unwrap_err().to_string();
            assert!(error.starts_with("it becomes more than 1 MiB and 100 times its own size"), "{error}");
        }
        // Numbers in a row: large, and no bomb.
        let honest: Vec<u8> =
            (0..400_000_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_string().into_bytes()).collect();
        assert_eq!(read(gzip(&honest)).unwrap(), honest.len());
        assert_eq!(read(zstd::encode_all(&honest[..], 3).unwrap()).unwrap(), honest.len());
        assert_eq!(read(gzip(&bomb[..1 << 20])).unwrap(), 1 << 20);
        assert_eq!(read(b"plain".to_vec()).unwrap(), 5);
    }
}
