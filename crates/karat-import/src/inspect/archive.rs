//! Members of a ZIP archive, within limits.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::ImportError;

/// Maximum size of a member, in bytes.
const MAX_SIZE: u64 = 512 << 20;

/// Maximum of a member's size, as a multiple of its compressed size.
const MAX_RATIO: u64 = 1000;

/// First bytes of a ZIP archive.
const MAGIC: &[u8] = b"PK";

/// An archive whose members are deflated or compressed with zstd.
#[derive(Debug)]
pub(super) struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
}

impl Archive {
    /// Opens an archive; `None` if the file is none.
    pub fn open(path: &Path, mut file: BufReader<File>) -> Result<Option<Self>, ImportError> {
        let unreadable = |error: io::Error| ImportError::reading(path, &error);
        if !file.fill_buf().map_err(unreadable)?.starts_with(MAGIC) {
            return Ok(None);
        }
        let length = file.seek(io::SeekFrom::End(0)).map_err(unreadable)?;
        file.rewind().map_err(unreadable)?;
        let zip = ZipArchive::new(file).map_err(|error| {
            ImportError::new(path.display(), format!("ends without the directory of a ZIP archive: {error}"))
                .at_byte(length)
                .with_hint("the file is cut off or damaged: copy it again, or let Inspect finish writing it")
        })?;
        Ok(Some(Self { path: path.to_owned(), zip }))
    }

    /// Names of the members, in the order of the archive's directory.
    pub fn names(&self) -> Vec<String> {
        let names = (0..self.zip.len()).filter_map(|index| self.zip.name_for_index(index));
        names.filter_map(Result::ok).map(|name| name.into_owned()).collect()
    }

    /// Reads a member with `parse`, to its end; `None` if there is no such member.
    ///
    /// # Errors
    /// A member that is damaged, too large, or not the JSON that `parse` wants, with its first byte in the archive.
    pub fn read<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&mut dyn BufRead) -> Result<T, serde_json::Error>,
    ) -> Result<Option<T>, ImportError> {
        let member = match self.zip.by_name(name) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => {
                return Err(ImportError::new(
                    self.path.display(),
                    format!("the member `{name}` cannot be read: {error}"),
                ));
            }
        };
        let at = member.header_start();
        let refused = |problem: String| {
            ImportError::new(self.path.display(), format!("the member `{name}` {problem}")).at_byte(at)
        };
        let limit = MAX_SIZE.min(member.compressed_size().saturating_mul(MAX_RATIO));
        if member.size() > limit {
            let problem = format!("is larger than 512 MiB or than {MAX_RATIO} times its compressed size");
            return Err(refused(problem).with_hint("logs of Inspect have no such members: do not trust this file"));
        }
        // The archive's reader fails beyond the declared size.
        let mut reader = BufReader::new(member);
        let result = parse(&mut reader);
        // A checksum is verified at the end.
        let rest = io::copy(&mut reader, &mut io::sink());
        match result {
            Err(error) if error.is_io() => Err(refused(format!("cannot be read: {error}"))),
            Err(error) => Err(refused(format!("is not valid JSON: {error}"))),
            Ok(read) => rest.map(|_| Some(read)).map_err(|error| refused(format!("cannot be read: {error}"))),
        }
    }
}
