//! Files in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use karat_suite::{Files, join_beneath};

/// Files by path.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles(BTreeMap<String, Vec<u8>>);

impl MemoryFiles {
    /// The same files and this one.
    #[must_use]
    pub fn with(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.0.insert(path.to_owned(), content.into());
        self
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let below = if matches!(dir, "" | ".") { String::new() } else { format!("{dir}/") };
        let names = self.0.keys().filter_map(|path| path.strip_prefix(&below)?.split('/').next());
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        if names.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(names.into_iter().collect()) }
    }

    fn is_file(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn io::BufRead + Send>> {
        self.open(&join_beneath(folder, path)?)
    }
}
