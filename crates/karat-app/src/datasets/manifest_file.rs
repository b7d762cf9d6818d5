//! The file `NAME.dataset.json` beside a set of rows.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use karat_dataset::manifest::Manifest;
use karat_types::DatasetDesign;

use crate::AppError;
use crate::error::{DatasetError, FileError};
use crate::project::atomic_file::AtomicFile;

/// The path of the manifest of a file: beside it, under its name without the ending.
pub(crate) fn manifest_path(data: &Path) -> PathBuf {
    let name = data.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    data.with_file_name(DatasetDesign::file_name(&name))
}

/// Reads a manifest; `None` if there is no such file.
///
/// # Errors
/// The file cannot be read, or is of another form.
pub(crate) fn read_manifest(path: &Path) -> Result<Option<Manifest>, AppError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::reading(path, error).into()),
    };
    let wrong = |problem: String| DatasetError::BadManifest { path: path.display().to_string(), problem };
    Manifest::parse(&text).map(Some).map_err(|error| wrong(error.to_string()).into())
}

/// Writes a manifest, as a whole or not at all.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), AppError> {
    let shown = path.display().to_string();
    let wrong = |problem: String| DatasetError::BadManifest { path: shown.clone(), problem };
    let text = manifest.to_text().map_err(|error| wrong(error.to_string()))?;
    let write = || -> std::io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.finish()
    };
    write().map_err(|error| FileError::writing(path, error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BC-06: the manifest lies beside the rows, whatever the form of their file.
    #[test]
    fn a_manifest_lies_beside_its_rows() {
        for (data, manifest) in [
            ("a/tickets.jsonl", "a/tickets.dataset.json"),
            ("tickets.v2.csv.gz", "tickets.v2.dataset.json"),
            ("rows", "rows.dataset.json"),
            (".hidden", ".hidden.dataset.json"),
        ] {
            assert_eq!(manifest_path(Path::new(data)), Path::new(manifest));
        }
    }
}
