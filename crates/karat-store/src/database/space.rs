//! Room on the disk, and whether the file can be written.

use std::path::Path;

use crate::database::state_folder::may_write;
use crate::{Store, StoreError};

/// Returns the free bytes of the disk of a file, or of the folder in which it would be made, where the system says it.
pub fn free_bytes(file: &Path) -> Option<u64> {
    let place = file.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
    #[cfg(unix)]
    {
        let disk = nix::sys::statvfs::statvfs(place).ok()?;
        #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
        Some(disk.blocks_available() as u64 * disk.fragment_size() as u64)
    }
    #[cfg(not(unix))]
    {
        let _ = place;
        None
    }
}

impl Store {
    /// Checks that the file is still there and can be written. Writes nothing.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`].
    pub fn check_writable(&self) -> Result<(), StoreError> {
        match self.is_writable() && may_write(self.path()) {
            true => Ok(()),
            false => Err(StoreError::ReadOnly { path: self.path().to_owned() }),
        }
    }
}
