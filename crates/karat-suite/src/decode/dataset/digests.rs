//! Hashes of the files that rows come from.
//!
//! A large file is hashed on a thread of its own while its rows are looked at.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use karat_types::{FilePath, SourceDigest};

use crate::files::Files;

/// Bytes that are hashed without a thread: a thread takes longer to start.
const ALONE: u64 = 256 * 1024;

/// A file that rows come from.
pub(crate) struct SourceFile {
    pub path: FilePath,
    /// Its name in messages and reports.
    pub name: String,
}

/// A file that could not be read to its end.
pub(crate) struct UnreadFile {
    pub path: String,
    pub error: io::Error,
}

/// The hashes of files, in order.
pub(crate) struct Digests {
    known: Vec<SourceDigest>,
    others: Option<JoinHandle<Result<Vec<SourceDigest>, UnreadFile>>>,
}

impl Digests {
    /// Begins to hash these files.
    ///
    /// # Errors
    /// One of those that are read at once cannot be read.
    pub fn begin(files: &Arc<dyn Files>, sources: Vec<SourceFile>) -> Result<Self, UnreadFile> {
        let (mut known, mut left) = (Vec::new(), ALONE);
        let mut sources = sources.into_iter();
        while let Some(source) = sources.next() {
            let mut hashing = FileHasher::of(&**files, source)?;
            left -= hashing.some(left)?;
            if left == 0 {
                let files = files.clone();
                let others = thread::spawn(move || {
                    let rest = sources.map(|source| FileHasher::of(&*files, source)?.finish());
                    std::iter::once_with(|| hashing.finish()).chain(rest).collect()
                });
                return Ok(Self { known, others: Some(others) });
            }
            known.push(hashing.finish()?);
        }
        Ok(known.into())
    }

    /// Waits for the last of them.
    ///
    /// # Errors
    /// A file could not be read to its end.
    pub fn finish(self) -> Result<Vec<SourceDigest>, UnreadFile> {
        let Self { mut known, others } = self;
        if let Some(others) = others {
            known.extend(others.join().unwrap_or_else(|died| std::panic::resume_unwind(died))?);
        }
        Ok(known)
    }
}

impl From<Vec<SourceDigest>> for Digests {
    fn from(known: Vec<SourceDigest>) -> Self {
        Self { known, others: None }
    }
}

/// A file that is being hashed.
struct FileHasher {
    source: SourceFile,
    reader: Box<dyn BufRead + Send>,
    hasher: blake3::Hasher,
}

impl FileHasher {
    fn of(files: &dyn Files, source: SourceFile) -> Result<Self, UnreadFile> {
        match files.open_path(&source.path) {
            Ok(reader) => Ok(Self { source, reader, hasher: blake3::Hasher::new() }),
            Err(error) => Err(UnreadFile { path: source.path.to_string(), error }),
        }
    }

    /// Hashes up to `most` bytes. Returns the number of bytes.
    fn some(&mut self, most: u64) -> Result<u64, UnreadFile> {
        match self.hasher.update_reader((&mut self.reader).take(most)) {
            Ok(_) => Ok(self.hasher.count()),
            Err(error) => Err(UnreadFile { path: self.source.path.to_string(), error }),
        }
    }

    fn finish(mut self) -> Result<SourceDigest, UnreadFile> {
        let Self { source: SourceFile { path, name }, mut reader, .. } = self;
        match self.hasher.update_reader(&mut reader) {
            Ok(hasher) => {
                Ok(SourceDigest { path: name, blake3: hasher.finalize().to_hex().to_string(), bytes: hasher.count() })
            }
            Err(error) => Err(UnreadFile { path: path.to_string(), error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of as many bytes as their names say; where that ends with `!`, they break off.
    struct Sized;

    impl Files for Sized {
        fn read(&self, path: &str) -> io::Result<Vec<u8>> {
            let size = path.trim_end_matches('!').parse().map_err(|_| io::ErrorKind::NotFound)?;
            Ok((0..size).map(|at: u32| (at % 251) as u8).collect())
        }

        fn list(&self, _: &str) -> io::Result<Vec<String>> {
            Ok(Vec::new())
        }

        fn is_file(&self, _: &str) -> bool {
            true
        }

        fn open_beneath(&self, _: &str, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
            self.open(path)
        }

        fn open(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
            let bytes = io::Cursor::new(self.read(path)?);
            match path.ends_with('!') {
                true => Ok(Box::new(io::BufReader::new(bytes.chain(Broken)))),
                false => Ok(Box::new(bytes)),
            }
        }
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn digests(paths: &[String]) -> Result<Vec<SourceDigest>, UnreadFile> {
        let files: Arc<dyn Files> = Arc::new(Sized);
        let sources =
            paths.iter().map(|path| SourceFile { path: FilePath::literal(path.as_str()), name: format!("the {path}") });
        Digests::begin(&files, sources.collect())?.finish()
    }

    /// The hashes are those of the files, in order, wherever the thread takes over.
    #[test]
    fn each_file_has_its_hash() {
        for sizes in [vec![], vec![0], vec![10, 0, 20], vec![ALONE], vec![ALONE - 1, 1, 5], vec![3, 2 * ALONE, 0, 7]] {
            let paths: Vec<String> = sizes.iter().map(u64::to_string).collect();
            let found = digests(&paths).ok().unwrap();
            let expected = paths.iter().map(|path| {
                let bytes = Sized.read(path).unwrap();
                let blake3 = blake3::hash(&bytes).to_hex().to_string();
                SourceDigest { path: format!("the {path}"), blake3, bytes: bytes.len() as u64 }
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "{sizes:?}");
        }
    }

    /// Bad input: the file that could not be read is named, on either thread.
    #[test]
    fn a_file_that_breaks_off_is_named() {
        for paths in
            [vec!["10!"], vec!["nothing"], vec!["400000!"], vec!["400000", "nothing"], vec!["400000", "9", "8!"]]
        {
            let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
            let unread = digests(&paths).err().unwrap();
            assert_eq!(Some(&unread.path), paths.last());
        }
    }
}
