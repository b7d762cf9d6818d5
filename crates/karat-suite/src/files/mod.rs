//! Reading files: the disk, or whatever the caller layers over it.
//!
//! - here: [`Files`], read access by path, and its implementation for the disk
//! - `beneath.rs` opens files whose paths come from data, so that nothing leads out of a folder
//! - `row_path.rs`: path templates, which know the folder that the paths of rows must stay in
//! - `row_media.rs`: images and files of prompts
//! - `paths.rs`: paths as texts; `jsonl.rs`: JSON and JSONL files, with the line of each problem

mod beneath;
pub(crate) mod jsonl;
mod paths;
mod row_media;
mod row_path;

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::string::FromUtf8Error;

pub use karat_columnar::ReadSeek;
use karat_types::FilePath;

pub use beneath::{is_outside, join_beneath, place_beneath};
pub use paths::{folder, is_rooted, join};
pub use row_media::{MediaKind, RowMedia, read_media};
pub use row_path::RowPath;

pub(crate) use paths::matches;
pub(crate) use row_media::digest_media;

/// Read access to files by resolved path.
///
/// A resolved path is a text: a disk path (absolute, or relative to the working directory) or
/// `preset:NAME/relative/path`. Separators are `/`.
pub trait Files: Send + Sync {
    /// The whole content of a file.
    ///
    /// # Errors
    /// As the operating system says: not found, not readable.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// The names (not paths) of the entries of a folder, in any order.
    ///
    /// # Errors
    /// As the operating system says: not found, not a folder.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;

    /// Returns whether there is a readable file.
    fn is_file(&self, path: &str) -> bool;

    /// The first path that led out of the folder that these files keep to, if they keep to one and any path did.
    fn refused_path(&self) -> Option<String> {
        None
    }

    /// A reader over a file's content, for files that are too large to load.
    ///
    /// # Errors
    /// As [`Files::read`].
    fn open(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        Ok(Box::new(Cursor::new(self.read(path)?)))
    }

    /// A reader over a file whose path, relative to `folder`, comes from data. An implementation that has no symbolic
    /// links may open the path that [`join_beneath`] returns.
    ///
    /// # Errors
    /// As [`Files::read`], and a path that leads out of the folder: absolute, by `..`, or by a link; then
    /// [`is_outside`] is true of the error.
    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn BufRead + Send>>;

    /// A reader over the file of a path, which keeps to its folder.
    ///
    /// # Errors
    /// As [`Files::open_beneath`].
    fn open_path(&self, path: &FilePath) -> io::Result<Box<dyn BufRead + Send>> {
        match &path.beneath {
            Some(folder) => self.open_beneath(folder, &path.path),
            None => self.open(&path.path),
        }
    }

    /// The file of a path, which keeps to its folder, for reading at any place. The default holds the content in memory.
    ///
    /// # Errors
    /// As [`Files::open_beneath`].
    fn open_seekable(&self, path: &FilePath) -> io::Result<Box<dyn ReadSeek>> {
        Ok(Box::new(Cursor::new(self.read_path(path)?)))
    }

    /// The whole content of the file of a path, which keeps to its folder.
    ///
    /// # Errors
    /// As [`Files::open_beneath`].
    fn read_path(&self, path: &FilePath) -> io::Result<Vec<u8>> {
        let Some(folder) = &path.beneath else { return self.read(&path.path) };
        let mut bytes = Vec::new();
        self.open_beneath(folder, &path.path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The text of a file, without a byte order mark, and with each line ended as on Unix: files that differ only in what an
/// editor adds are one prompt and one value.
///
/// # Errors
/// The bytes are not UTF-8.
pub fn file_text(bytes: Vec<u8>) -> Result<String, FromUtf8Error> {
    let text = String::from_utf8(bytes)?;
    let unmarked = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(if unmarked.contains("\r\n") { unmarked.replace("\r\n", "\n") } else { unmarked.to_owned() })
}

/// Prefix of virtual paths: `karat calibrate` serves outputs from a labels file under them.
pub const LABELLED: &str = "labelled:";

/// Bytes that a buffered reader asks the system for at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// The files of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        refuse_special(&std::fs::metadata(path)?)?;
        std::fs::read(path)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let dir = if dir.is_empty() { "." } else { dir };
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn is_file(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        refuse_special(&std::fs::metadata(path)?)?;
        Ok(buffer(std::fs::File::open(path)?))
    }

    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        beneath::open(folder, path).map(buffer)
    }

    fn open_seekable(&self, path: &FilePath) -> io::Result<Box<dyn ReadSeek>> {
        if let Some(folder) = &path.beneath {
            return Ok(Box::new(beneath::open(folder, &path.path)?));
        }
        refuse_special(&std::fs::metadata(&path.path)?)?;
        Ok(Box::new(std::fs::File::open(&path.path)?))
    }
}

fn buffer(file: impl Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
}

/// Refuses devices, pipes and sockets, also behind a link: they may never end, or wait for ever.
fn refuse_special(metadata: &std::fs::Metadata) -> io::Result<()> {
    if metadata.is_file() || metadata.is_dir() { Ok(()) } else { Err(special()) }
}

fn special() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a device, a pipe or a socket, not a file")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dataset that is a link to a device, or a pipe, is refused instead of read for ever.
    #[cfg(unix)]
    #[test]
    fn only_files_are_read() {
        let error = DiskFiles.read("/dev/zero").unwrap_err();
        assert!(error.to_string().contains("not a file"), "{error}");
        assert!(DiskFiles.open("/dev/null").is_err());
        assert!(DiskFiles.open_beneath("/dev", "null").is_err());
    }
}
