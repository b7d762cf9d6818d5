//! Access to any place of a file, for Parquet, which begins at the end.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A reader that can go to any place.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file of known size.
#[derive(Clone)]
pub struct RandomAccess {
    file: Arc<Mutex<Box<dyn ReadSeek>>>,
    size: u64,
}

impl RandomAccess {
    /// # Errors
    /// The end of the file cannot be found.
    pub fn new(mut file: Box<dyn ReadSeek>) -> io::Result<Self> {
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Self { file: Arc::new(Mutex::new(file)), size })
    }

    fn read_at(&self, start: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        file.read(into)
    }
}

impl Length for RandomAccess {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for RandomAccess {
    type T = io::BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(io::BufReader::new(From { file: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // A broken file may name any length.
        if start.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Err(ParquetError::EOF(format!("the file ends before byte {start} + {length}")));
        }
        let mut bytes = vec![0; length];
        From { file: self.clone(), at: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Reads from a place on.
pub struct From {
    file: RandomAccess,
    at: u64,
}

impl Read for From {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(self.at, into)?;
        self.at += count as u64;
        Ok(count)
    }
}
