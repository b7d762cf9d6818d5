//! Looks at the messages of an Arrow stream before they are read: the reader makes room for whatever a message announces,
//! so a damaged file could ask for more than there is.

use std::io::SeekFrom;

use arrow_ipc::{Message, root_as_footer, root_as_message};

use crate::random_access::ReadSeek;
use crate::read_error::ReadError;

/// First bytes of an Arrow file, which is not a stream.
const FILE_MARK: &[u8] = b"ARROW1";
/// Bytes before the length of a message; old streams lack them.
const CONTINUATION: u32 = u32::MAX;

/// Largest size of a buffer when it is unpacked.
const MAX_UNPACKED: u64 = 4 << 30;
/// Largest factor by which a buffer grows when it is unpacked.
const MAX_FACTOR: u64 = 1 << 16;

/// Checks that all messages lie within the file, and goes back to its beginning.
///
/// # Errors
/// A message that is none, or is longer than the rest of the file.
pub(crate) fn check(file: &mut dyn ReadSeek) -> Result<(), ReadError> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut at = file.seek(SeekFrom::Start(0))?;
    while let Some(word) = read_word(file)? {
        at += 4;
        let length = match word {
            CONTINUATION => {
                at += 4;
                read_word(file)?.unwrap_or_default()
            }
            length => length,
        };
        if length == 0 {
            break;
        }
        at = (at + u64::from(length)).min(size + 1);
        if at > size {
            return Err(ReadError::CutArrow);
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header)?;
        let message = root_as_message(&header).map_err(|_| ReadError::CutArrow)?;
        let body = u64::try_from(message.bodyLength()).map_err(|_| ReadError::CutArrow)?;
        check_unpacked(file, message, at, body)?;
        at = at.checked_add(body).filter(|end| *end <= size).ok_or(ReadError::CutArrow)?;
        file.seek(SeekFrom::Start(at))?;
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(())
}

/// Returns true of Arrow's file format, and goes back to the beginning.
pub(crate) fn is_file(file: &mut dyn ReadSeek) -> Result<bool, ReadError> {
    file.seek(SeekFrom::Start(0))?;
    let word = read_word(file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(word.is_some_and(|word| FILE_MARK.starts_with(&word.to_le_bytes())))
}

/// Checks that all batches of a file lie within it, and goes back to its beginning.
///
/// # Errors
/// A footer that is none, or names a batch outside of the file.
pub(crate) fn check_file(file: &mut dyn ReadSeek) -> Result<(), ReadError> {
    let size = file.seek(SeekFrom::End(0))?;
    // The length of the footer and the mark stand at the end.
    let end = size.checked_sub(10).ok_or(ReadError::CutArrow)?;
    file.seek(SeekFrom::Start(end))?;
    let length = u64::from(read_word(file)?.ok_or(ReadError::CutArrow)?);
    let mut mark = [0; 6];
    file.read_exact(&mut mark)?;
    let start = end.checked_sub(length).filter(|_| mark == FILE_MARK).ok_or(ReadError::CutArrow)?;
    file.seek(SeekFrom::Start(start))?;
    let mut footer = vec![0; usize::try_from(length).map_err(|_| ReadError::CutArrow)?];
    file.read_exact(&mut footer)?;
    let footer = root_as_footer(&footer).map_err(|_| ReadError::CutArrow)?;
    for blocks in [footer.dictionaries(), footer.recordBatches()].into_iter().flatten() {
        for block in blocks {
            let part = |number: i64| u64::try_from(number).map_err(|_| ReadError::CutArrow);
            let header = part(i64::from(block.metaDataLength()))?;
            let whole =
                part(block.offset())?.checked_add(header).and_then(|at| at.checked_add(part(block.bodyLength()).ok()?));
            whole.filter(|whole| *whole <= start).ok_or(ReadError::CutArrow)?;
            let at = part(block.offset())?;
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = vec![0; usize::try_from(header).map_err(|_| ReadError::CutArrow)?];
            file.read_exact(&mut bytes)?;
            let is_new = bytes.starts_with(&CONTINUATION.to_le_bytes());
            let message = bytes.get(if is_new { 8 } else { 4 }..).ok_or(ReadError::CutArrow)?;
            let message = root_as_message(message).map_err(|_| ReadError::CutArrow)?;
            check_unpacked(file, message, at + header, part(block.bodyLength())?)?;
        }
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(())
}

/// Checks the sizes that the buffers of a batch announce for when they are unpacked.
///
/// # Errors
/// A size that cannot be true, or a buffer outside of the body.
fn check_unpacked(file: &mut dyn ReadSeek, message: Message<'_>, body: u64, length: u64) -> Result<(), ReadError> {
    let batch = message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data());
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(()) };
    for buffer in batch.buffers().into_iter().flatten() {
        let part = |number: i64| u64::try_from(number).map_err(|_| ReadError::CutArrow);
        let (offset, packed) = (part(buffer.offset())?, part(buffer.length())?);
        offset.checked_add(packed).filter(|end| *end <= length).ok_or(ReadError::CutArrow)?;
        let Some(packed) = packed.checked_sub(8) else { continue };
        file.seek(SeekFrom::Start(body + offset))?;
        let mut size = [0; 8];
        file.read_exact(&mut size)?;
        // A negative size says that the buffer is not packed.
        let unpacked = u64::try_from(i64::from_le_bytes(size)).unwrap_or(0);
        if unpacked > MAX_UNPACKED || unpacked > packed.saturating_mul(MAX_FACTOR) {
            return Err(ReadError::CutArrow);
        }
    }
    Ok(())
}

/// The next four bytes; `None` at the end of the file.
fn read_word(file: &mut dyn ReadSeek) -> Result<Option<u32>, ReadError> {
    let mut word = [0; 4];
    let mut filled = 0;
    while let Some(room) = word.get_mut(filled..).filter(|room| !room.is_empty()) {
        match file.read(room)? {
            0 => return Ok(None),
            count => filled += count,
        }
    }
    Ok(Some(u32::from_le_bytes(word)))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use arrow_array::{RecordBatch, StringArray};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    use std::sync::Arc;

    use super::*;
    use crate::ColumnarRows;

    fn stream() -> Vec<u8> {
        let texts: Arc<dyn arrow_array::Array> = Arc::new(StringArray::from(vec!["a", "bc", "déf"]));
        let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn rows(bytes: Vec<u8>) -> Result<usize, ReadError> {
        ColumnarRows::of_arrow(Box::new(Cursor::new(bytes)))?.try_fold(0, |count, row| row.map(|_| count + 1))
    }

    /// IO-15: a damaged stream is an error, whichever byte it is, and never asks for more memory than the file has.
    #[test]
    fn damaged_streams_are_errors() {
        let whole = stream();
        assert_eq!(rows(whole.clone()).unwrap(), 3);
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                // Some bytes are texts or padding.
                let _ = rows(damaged);
            }
            let _ = rows(whole[..at].to_vec());
        }
        let mut long = whole.clone();
        long[4..8].copy_from_slice(&0x7fff_0000_u32.to_le_bytes());
        assert!(matches!(rows(long), Err(ReadError::CutArrow)));
        assert!(matches!(rows(b"ARROW1\0\0".to_vec()), Err(ReadError::CutArrow)));
    }

    /// F86: packed files and streams are read; a damaged one is an error, and never asks for more memory than there is.
    #[test]
    fn packed_files_are_read_and_damaged_ones_are_errors() {
        let texts: Arc<dyn arrow_array::Array> = Arc::new(StringArray::from(vec!["a".repeat(500), "b".repeat(500)]));
        let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
            let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
            let (mut file, mut stream) = (Vec::new(), Vec::new());
            let mut writer = FileWriter::try_new_with_options(&mut file, &batch.schema(), options.clone()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            drop(writer);
            let mut writer = StreamWriter::try_new_with_options(&mut stream, &batch.schema(), options).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
            drop(writer);
            for whole in [file, stream] {
                assert_eq!(rows(whole.clone()).unwrap(), 2, "{codec:?}");
                for at in 0..whole.len() {
                    for value in [0, 0x7f, 0xff] {
                        let mut damaged = whole.clone();
                        damaged[at] = value;
                        let _ = rows(damaged);
                    }
                }
            }
        }
    }

    /// F86: a file of Arrow, as polars and Feather write it, is read; a damaged one is an error.
    #[test]
    fn files_are_read_and_damaged_ones_are_errors() {
        let texts: Arc<dyn arrow_array::Array> = Arc::new(StringArray::from(vec!["a", "bc", "déf"]));
        let batch = RecordBatch::try_from_iter([("text", texts)]).unwrap();
        let mut whole = Vec::new();
        let mut writer = FileWriter::try_new(&mut whole, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        drop(writer);
        assert_eq!(rows(whole.clone()).unwrap(), 3);
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = rows(damaged);
            }
            assert!(rows(whole[..at].to_vec()).is_err() || at == 0, "{at}");
        }
    }
}
