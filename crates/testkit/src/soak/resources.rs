//! The resources that a server uses, as the system counts them.

use std::fs;
use std::path::Path;

/// The resources of a process and its state folder at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Resources {
    /// Hours of the soak that have passed, in hundredths.
    pub at: i64,
    /// Steps since the process was started.
    pub age: usize,
    /// Due times so far: runs grow with them.
    pub due: usize,
    /// Resident memory in KiB.
    pub memory_kib: u64,
    pub open_files: usize,
    pub threads: usize,
    /// Bytes of the store.
    pub store: u64,
    /// Bytes of its write-ahead log.
    pub log: u64,
}

impl Resources {
    pub fn of(process: u32, home: &Path) -> Self {
        let folder = Path::new("/proc").join(process.to_string());
        let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default()
        };
        let size = |name: &str| fs::metadata(home.join(name)).map_or(0, |file| file.len());
        Self {
            memory_kib: field("VmRSS:"),
            threads: usize::try_from(field("Threads:")).unwrap_or_default(),
            open_files: fs::read_dir(folder.join("fd")).map_or(0, Iterator::count),
            store: size("karat.db"),
            log: size("karat.db-wal"),
            ..Self::default()
        }
    }
}
