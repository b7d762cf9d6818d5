//! The files of a server: those below its root and those of presets, and nothing else.
//!
//! A suite that is asked for over HTTP names files, and so do its parameters. Each is opened relative to the root, links
//! followed, and refused where it leads out. What was refused is remembered: the suite's own message about it says only
//! that a file cannot be read.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use karat_suite::{DiskFiles, Files, TraceFiles, is_outside, join_beneath};
use karat_traces::folder::TraceFolder;

use crate::project::Project;
use crate::project::presets::SuiteFiles;

/// The files below a folder.
pub(crate) struct RootFiles {
    root: PathBuf,
    /// The first path that led out.
    refused: Mutex<Option<String>>,
}

impl RootFiles {
    pub fn new(root: PathBuf) -> Self {
        Self { root, refused: Mutex::default() }
    }

    /// Does something with a path relative to the root.
    fn beneath<T>(&self, path: &str, act: impl FnOnce(&str, &str) -> io::Result<T>) -> io::Result<T> {
        let root = self.root.to_string_lossy();
        let own = Path::new(path).strip_prefix(&self.root).ok().and_then(Path::to_str);
        let outcome = act(&root, own.unwrap_or(path));
        outcome.inspect_err(|error| {
            if is_outside(error) {
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                refused.get_or_insert_with(|| path.to_owned());
            }
        })
    }
}

impl Files for RootFiles {
    fn refused_path(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        if dir.starts_with("preset:") {
            return SuiteFiles.list(dir);
        }
        self.beneath(dir, |root, dir| {
            join_beneath(root, dir)?;
            let dir = if dir.is_empty() { "." } else { dir };
            let entries = Dir::open_ambient_dir(root, ambient_authority())?.read_dir(dir)?;
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        })
    }

    fn is_file(&self, path: &str) -> bool {
        if path.starts_with("preset:") {
            return SuiteFiles.is_file(path);
        }
        let is_file = self.beneath(path, |root, path| {
            join_beneath(root, path)?;
            // Opened as well: a link that leads out is not a file here.
            DiskFiles.open_beneath(root, path)?;
            Ok(Dir::open_ambient_dir(root, ambient_authority())?.is_file(path))
        });
        is_file.unwrap_or_default()
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        match path.starts_with("preset:") {
            true => SuiteFiles.open(path),
            false => self.beneath(path, |root, path| DiskFiles.open_beneath(root, path)),
        }
    }

    fn open_beneath(&self, folder: &str, path: &str) -> io::Result<Box<dyn BufRead + Send>> {
        if folder.starts_with("preset:") {
            return SuiteFiles.open_beneath(folder, path);
        }
        // The inner folder keeps the path in, the root keeps the inner folder in.
        let inside = join_beneath(folder, path)?;
        self.open(&inside)
    }
}

/// The name of a suite's file.
const FILE: &str = "karat.yaml";

impl Project<'_> {
    /// The folder of traces, for datasets that read it.
    pub(crate) fn trace_files(&self) -> TraceFiles {
        TraceFiles::new(Arc::new(RootFiles::new(self.trace_folder().path().to_owned())))
    }

    /// The folder of traces.
    pub(crate) fn trace_folder(&self) -> TraceFolder {
        TraceFolder::new(self.app.home.join("traces"))
    }
    /// `karat.yaml` of the root and of the folders in it, relative to the root; without a root, of this folder.
    pub(crate) fn found_suites(&self) -> Vec<String> {
        let root = self.app.opened.root().unwrap_or(Path::new("."));
        let mut found: Vec<String> = root.join(FILE).is_file().then(|| FILE.to_owned()).into_iter().collect();
        let folders = std::fs::read_dir(root).into_iter().flatten().filter_map(Result::ok);
        let suites = folders.filter_map(|folder| {
            let name = folder.file_name().into_string().ok()?;
            let is_suite = !name.starts_with('.') && folder.path().join(FILE).is_file();
            is_suite.then(|| format!("{name}/{FILE}"))
        });
        found.extend(suites);
        found.sort();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SV-10: a path below the root is read, whatever its spelling; `..`, other folders and links that lead out are not.
    #[cfg(unix)]
    #[test]
    fn nothing_outside_of_the_root_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("root");
        std::fs::create_dir_all(root.join("suite")).unwrap();
        std::fs::write(base.join("secret"), "secret").unwrap();
        std::fs::write(root.join("suite/karat.yaml"), "name: a").unwrap();
        std::os::unix::fs::symlink(base.join("secret"), root.join("suite/link")).unwrap();
        std::os::unix::fs::symlink("karat.yaml", root.join("suite/inner")).unwrap();
        std::os::unix::fs::symlink(&base, root.join("up")).unwrap();
        let files = RootFiles::new(root.clone());
        let absolute = root.join("suite/karat.yaml").to_string_lossy().into_owned();
        for path in ["suite/karat.yaml", "suite/../suite/karat.yaml", "suite/inner", &absolute] {
            assert_eq!(files.read(path).unwrap(), b"name: a", "{path}");
            assert!(files.is_file(path), "{path}");
        }
        assert_eq!(files.list("suite").unwrap().len(), 3);
        assert_eq!(files.refused_path(), None);
        let outside = base.join("secret").to_string_lossy().into_owned();
        for path in ["../secret", "suite/../../secret", "suite/link", "up/secret", &outside, "/etc/passwd"] {
            let files = RootFiles::new(root.clone());
            assert!(files.read(path).is_err() && !files.is_file(path), "{path}");
            assert_eq!(files.refused_path().as_deref(), Some(path));
        }
        assert!(files.list("..").is_err() && files.list("/etc").is_err() && files.list("up").is_err());
        assert!(files.open_beneath("suite", "../../secret").is_err());
    }
}
