//! Room on the disk, and whether the file can be written.

use std::path::Path;

use crate::database::state_folder::may_write;
use crate::sql::params;
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
        let is_there = match self.url().file() {
            Some(file) => may_write(file),
            None => self.read("the server", |connection| Ok(connection.execute("select 1", params![])?)).is_ok(),
        };
        match self.is_writable() && is_there {
            true => Ok(()),
            false => Err(StoreError::ReadOnly { path: self.path().to_owned() }),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::StoreUrl;

    /// looking whether a store can be written leaves the locks that hold its log.
    #[test]
    fn a_check_keeps_the_locks_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreUrl::in_folder(folder.path())).unwrap();
        let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(store.path()).unwrap());
        let (process, file) = (format!(" {} ", std::process::id()), format!(":{inode} "));
        let locks = || {
            let all = std::fs::read_to_string("/proc/locks").unwrap();
            all.lines().filter(|line| line.contains(&process) && line.contains(&file)).count()
        };
        // The threads that opened the file take their locks when they first read.
        (0..500).take_while(|_| locks() == 0).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
        let before = locks();
        assert!(before > 0, "{}", std::fs::read_to_string("/proc/locks").unwrap());
        store.check_writable().unwrap();
        assert_eq!(locks(), before);
    }
}
