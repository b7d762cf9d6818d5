//! Parts of a split that another one replaces.

use std::path::{Path, PathBuf};

use karat_dataset::manifest::{Manifest, Part};
use serde::Serialize;

use crate::AppError;
use crate::datasets::Datasets;
use crate::datasets::source::{DatasetRequest, DatasetRows};
use crate::error::FileError;

/// Files of a split that was replaced by one with other parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ReplacedParts {
    /// Files that were removed: their rows were those that the manifest lists.
    pub removed: Vec<PathBuf>,
    /// Files that stayed: they hold other rows.
    pub left: Vec<PathBuf>,
}

impl Datasets<'_> {
    /// Removes the parts of a replaced split that were not made again. Only a file whose rows are still those that the
    /// manifest lists is removed, and none that rows are read from.
    pub(super) fn remove_parts(
        &self,
        replaced: &Manifest,
        folder: &Path,
        made: &[PathBuf],
        rows: &DatasetRows,
    ) -> Result<ReplacedParts, AppError> {
        let mut parts = ReplacedParts::default();
        let mut kept: Vec<PathBuf> = made.iter().filter_map(|file| file.canonicalize().ok()).collect();
        kept.extend(rows.files());
        for part in &replaced.parts {
            let file = folder.join(&part.file);
            // A manifest is data: it names files beside it alone.
            let is_beside = !part.file.contains(['/', '\\']) && part.file.ends_with(".jsonl");
            let is_file = file.symlink_metadata().is_ok_and(|facts| facts.is_file());
            if !is_beside || !is_file || file.canonicalize().is_ok_and(|file| kept.contains(&file)) {
                continue;
            }
            if self.holds_part(&file, part, replaced) {
                std::fs::remove_file(&file).map_err(|error| FileError::writing(&file, error))?;
                parts.removed.push(file);
            } else {
                parts.left.push(file);
            }
        }
        Ok(parts)
    }

    /// Returns whether a file holds the rows that a manifest lists. One that cannot be read does not.
    fn holds_part(&self, file: &Path, part: &Part, manifest: &Manifest) -> bool {
        let rows = self.rows(&DatasetRequest::of(file.display().to_string()));
        let version = rows.and_then(|rows| rows.version_without(&rows.recorded_columns(Some(manifest))));
        version.is_ok_and(|version| (version.rows, version.hash) == (part.rows, part.hash))
    }
}
