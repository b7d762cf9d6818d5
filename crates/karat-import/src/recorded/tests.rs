//! Imports into a folder of a test.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::{ImportError, ImportKind, ImportReport, import};

/// The folder of a test's import, and its report.
pub(crate) struct Imported {
    folder: TempDir,
    pub report: ImportReport,
}

impl Imported {
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn find_text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder.path().join(path)).ok()
    }

    pub fn rows(&self, path: &str) -> Vec<Value> {
        self.text(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn suite(&self) -> Value {
        serde_saphyr::from_str(&self.text("karat.yaml")).unwrap()
    }

    /// Dropped constructs, each with its place and number of samples.
    pub fn dropped(&self) -> Vec<(&str, &str, u64)> {
        self.report.dropped.iter().map(|it| (it.construct.as_str(), it.path.as_str(), it.samples)).collect()
    }

    pub fn notes(&self) -> Vec<&str> {
        self.report.notes.iter().map(|note| note.text.as_str()).collect()
    }
}

/// The path of a sample file of another tool.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/interop").join(path)
}

pub(crate) fn try_import(kind: ImportKind, file: &Path) -> Result<Imported, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    let report = import(kind, file, None, folder.path())?;
    Ok(Imported { folder, report })
}

pub(crate) fn import_file(kind: ImportKind, file: &Path) -> Imported {
    try_import(kind, file).unwrap_or_else(|error| panic!("{error}"))
}

/// Imports files that are written into a folder of their own; `name` is the imported one, "" the folder.
pub(crate) fn import_files(kind: ImportKind, files: &[(&str, &[u8])], name: &str) -> Result<Imported, ImportError> {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    try_import(kind, &folder.path().join(name))
}
