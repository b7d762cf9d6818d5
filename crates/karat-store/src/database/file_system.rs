//! Network file systems: SQLite's write-ahead log needs memory that all processes share, which they do not have there. So a
//! store that is written must lie on a local disk.

use std::io;
use std::path::Path;

use crate::url::NetworkFiles;
use crate::{StoreError, StoreUrl};

/// Network file systems by the number that Linux gives them.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BY_NUMBER: [(u32, &str); 10] = [
    (0x0000_6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x0000_517B, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x0BD0_0BD0, "Lustre"),
    (0x00C3_6400, "Ceph"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x5346_414F, "AFS"),
];

impl StoreUrl {
    /// Checks that the store may be written where it lies.
    ///
    /// # Errors
    /// [`StoreError::NetworkFileSystem`].
    pub fn check_file_system(&self) -> Result<(), StoreError> {
        check(self, network_kind)
    }
}

/// Refuses a store on a network file system, unless its address allows one. `kind` looks up the file system of a path.
pub(crate) fn check(
    url: &StoreUrl,
    kind: impl Fn(&Path) -> io::Result<Option<&'static str>>,
) -> Result<(), StoreError> {
    if url.network_files() == NetworkFiles::Allowed {
        return Ok(());
    }
    // The store and some of its folders may not be there yet. A file system that cannot be looked up is taken for a local
    // one: opening the store will say what is wrong with it.
    let absolute = std::path::absolute(url.path()).unwrap_or_else(|_| url.path().to_owned());
    let existing = absolute.ancestors().find(|path| path.exists());
    match existing.and_then(|path| kind(path).ok().flatten()) {
        None => Ok(()),
        Some(kind) => Err(StoreError::NetworkFileSystem { path: url.path().to_owned(), kind }),
    }
}

/// The name of the network file system that a path lies on; `None` on a local disk.
pub(crate) fn network_kind(path: &Path) -> io::Result<Option<&'static str>> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let found = nix::sys::statfs::statfs(path)?.filesystem_type().0;
        // The width and sign of the number differ between systems; all numbers have 32 bits.
        #[allow(clippy::cast_lossless, clippy::unnecessary_cast, reason = "the width differs between systems")]
        return Ok(kind_of((found as i64 & 0xFFFF_FFFF) as u32));
    }
    #[cfg(target_os = "macos")]
    {
        let found = nix::sys::statfs::statfs(path)?;
        let name = found.filesystem_type_name().to_ascii_lowercase();
        let known = [("nfs", "NFS"), ("smb", "SMB"), ("afp", "AFP"), ("webdav", "WebDAV"), ("fuse", "FUSE")];
        return Ok(known.into_iter().find(|(part, _)| name.contains(part)).map(|(_, kind)| kind));
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
    {
        let _ = path;
        Ok(None)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn kind_of(number: u32) -> Option<&'static str> {
    BY_NUMBER.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    /// SC-03: the numbers of NFS, CIFS, FUSE and Lustre are those of statfs(2); those of local disks are no network's.
    #[cfg(target_os = "linux")]
    #[test]
    fn network_file_systems_have_known_numbers() {
        for (number, name) in [(0x6969, "NFS"), (0xFF53_4D42, "CIFS"), (0x6573_5546, "FUSE"), (0x0BD0_0BD0, "Lustre")] {
            assert_eq!(kind_of(number), Some(name));
        }
        // ext4, xfs, btrfs, tmpfs, overlayfs, zfs.
        for local in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1] {
            assert_eq!(kind_of(local), None, "{local:x}");
        }
    }

    /// SC-03: a store on a network file system is refused, with what to do; `--allow-network-fs` insists. It can be read
    /// while no process has it open. A folder that is not there yet counts by the one above it.
    #[test]
    fn a_store_on_a_network_file_system_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let url = StoreUrl::in_folder(folder.path().join("not/there"));
        let on = |kind: Option<&'static str>| {
            let below = folder.path().to_owned();
            move |path: &Path| Ok(kind.filter(|_| path.starts_with(&below)))
        };
        let error = Store::open_on(&url, on(Some("NFS"))).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, StoreError::NetworkFileSystem { .. }), "{message}");
        for part in ["NFS", "not/there/karat.db", "--store sqlite:", "karat store backup", "--allow-network-fs"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(!folder.path().join("not").exists(), "nothing is made there");
        let insisting = url.clone().with_network_files(NetworkFiles::Allowed);
        let store = Store::open_on(&insisting, on(Some("NFS"))).unwrap();
        assert!(store.is_writable());
        let live = Store::to_read_on(&url, on(Some("NFS"))).unwrap_err();
        assert!(matches!(live, StoreError::NetworkFileSystem { .. }), "its log is there: {live}");
        drop(store);
        let copy = folder.path().join("copy.db");
        Store::open_on(&url, on(None)).unwrap().back_up(&copy).unwrap();
        let copy: StoreUrl = copy.to_str().unwrap().parse().unwrap();
        assert!(!Store::to_read_on(&copy, on(Some("NFS"))).unwrap().is_writable());
        assert!(!Store::source_on(&copy, on(Some("NFS"))).unwrap().is_writable());
        let unknown = |_: &Path| Err(io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(Store::open_on(&url, unknown).unwrap().is_writable());
        assert!(network_kind(Path::new("/")).is_ok());
    }
}
