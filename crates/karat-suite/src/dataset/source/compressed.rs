//! Compressed files, recognised by their first bytes.

use std::io::{self, BufRead, BufReader};

use flate2::bufread::MultiGzDecoder;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The content of a file, unpacked if it is compressed by gzip or zstd.
pub(super) fn unpack(mut reader: Box<dyn BufRead + Send>) -> io::Result<Box<dyn BufRead + Send>> {
    let start = reader.fill_buf()?;
    if start.starts_with(GZIP) {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(reader))));
    }
    if start.starts_with(ZSTD) {
        return Ok(Box::new(BufReader::new(zstd::Decoder::with_buffer(reader)?)));
    }
    Ok(reader)
}
