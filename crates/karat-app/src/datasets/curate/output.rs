//! Rows as JSON lines, and the manifest beside them. Neither replaces a file that was not named with `--force`, and none
//! the file that rows are read from.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use karat_dataset::manifest::{ENDING, MadeBy, Manifest, Parent, Part};
use karat_dataset::version::{ApartColumns, RowsHasher, RowsVersion};
use karat_text::path::Path as ColumnPath;
use karat_types::{DatasetDesign, Sample};
use rustc_hash::FxHashSet;
use serde::Serialize;
use serde_json::Value;

use crate::AppError;
use crate::datasets::Datasets;
use crate::datasets::manifest_file::{manifest_path, read_manifest, write_manifest};
use crate::datasets::source::{DatasetRequest, DatasetRows};
use crate::error::{DatasetError, FileError};
use crate::project::atomic_file::AtomicFile;

/// The fate of a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    /// The command is refused.
    #[default]
    Refused,
    /// The file is replaced.
    Replaced,
}

/// The place of a command's output, and how the command was called.
#[derive(Debug, Clone, Default)]
pub struct DatasetOutput {
    /// A file of JSON lines, or a folder of them.
    pub path: PathBuf,
    /// The fate of files that are there already.
    pub existing: Existing,
    /// The arguments of the command, for the manifest.
    pub arguments: Vec<String>,
}

impl DatasetOutput {
    /// Checks the place of a file of JSON lines, and of the manifest beside it.
    ///
    /// # Errors
    /// Another ending, a file that is there already, or one that rows are read from.
    pub(crate) fn check_file(&self, rows: &DatasetRows) -> Result<(), AppError> {
        let shown = self.path.display().to_string();
        if self.path.extension().is_none_or(|ending| ending != "jsonl") {
            let problem = "rows are written as JSON lines".to_owned();
            let hint_text = "name a file that ends in .jsonl".to_owned();
            return Err(DatasetError::BadOption { flag: "-o".to_owned(), text: shown, problem, hint_text }.into());
        }
        self.check(rows, &[self.path.clone(), manifest_path(&self.path)])
    }

    /// Checks that files may be written.
    pub(crate) fn check(&self, rows: &DatasetRows, files: &[PathBuf]) -> Result<(), AppError> {
        let own = rows.files();
        for file in files {
            let shown = file.display().to_string();
            let is_own = file.canonicalize().is_ok_and(|file| own.contains(&file));
            if is_own {
                return Err(DatasetError::OwnInput { path: shown }.into());
            }
            if self.existing == Existing::Refused && file.exists() {
                return Err(DatasetError::Exists { path: shown }.into());
            }
            if shown.ends_with(ENDING) {
                // Its changelog is kept: one that cannot be read is refused before anything is written.
                read_manifest(file)?;
            }
        }
        Ok(())
    }

    /// The manifest of rows that a command made, with the changelog of the one that it replaces.
    pub(crate) fn manifest(
        &self,
        command: &str,
        seed: Option<u64>,
        made: &Made<'_>,
        replaced: Option<Manifest>,
    ) -> Manifest {
        let parent = Parent { path: made.parent.source.clone(), hash: made.read.hash, rows: made.read.rows };
        let arguments = self.arguments.clone();
        let mut manifest = Manifest {
            made_by: Some(MadeBy { command: command.to_owned(), arguments, seed }),
            parents: vec![parent],
            counts: made.counts.clone(),
            ids: made.parent.id_columns(),
            metadata: made.parent.metadata_columns(),
            ..Manifest::new(made.name, &made.written)
        };
        if let Some(replaced) = replaced {
            manifest.keep_changelog(replaced);
        }
        manifest
    }

    /// The manifest beside the file that is replaced.
    pub(crate) fn replaced_manifest(&self) -> Result<Option<Manifest>, AppError> {
        read_manifest(&manifest_path(&self.path))
    }
}

/// A set that was made.
pub(crate) struct Made<'a> {
    pub name: &'a str,
    pub parent: &'a DatasetRows,
    pub read: RowsVersion,
    pub written: RowsVersion,
    pub counts: BTreeMap<String, Value>,
}

/// A file of JSON lines that is being written. It replaces another one only when it is finished.
pub(crate) struct RowsWriter {
    path: PathBuf,
    out: AtomicFile,
    hasher: RowsHasher,
    apart: ApartColumns,
    ids: FxHashSet<[u8; 16]>,
    /// Ids that were written before, the first of them.
    pub repeated_ids: u64,
}

impl RowsWriter {
    pub fn create(path: &Path, rows: &DatasetRows) -> Result<Self, AppError> {
        let out = AtomicFile::create(path).map_err(|error| unwritable(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            out,
            hasher: RowsHasher::new(),
            apart: rows.apart_columns(),
            ids: FxHashSet::default(),
            repeated_ids: 0,
        })
    }

    /// Writes a row with all of its columns. One without an id has the hash that stands for it.
    pub fn add(&mut self, sample: &Sample) -> Result<(), AppError> {
        self.hasher.add(&sample.id, &sample.columns, &self.apart);
        let mut id = [0; 16];
        id.copy_from_slice(&blake3::hash(sample.id.as_bytes()).as_bytes()[..16]);
        self.repeated_ids += u64::from(!self.ids.insert(id));
        let written = serde_json::to_writer(&mut self.out, &sample.columns).map_err(std::io::Error::from);
        written.and_then(|()| self.out.write_all(b"\n")).map_err(|error| unwritable(&self.path, error))
    }

    /// Puts the file in its place.
    pub fn finish(self) -> Result<RowsVersion, AppError> {
        self.finish_if(|_| Ok(())).map(|(version, ())| version)
    }

    /// Puts the file in its place unless its rows are refused.
    pub fn finish_if<T>(
        self,
        check: impl FnOnce(&RowsVersion) -> Result<T, AppError>,
    ) -> Result<(RowsVersion, T), AppError> {
        let version = self.hasher.finish();
        let checked = check(&version)?;
        self.out.finish().map_err(|error| unwritable(&self.path, error))?;
        Ok((version, checked))
    }
}

/// The draw of a set of which some rows stay, counted anew.
pub(crate) struct KeptDesign {
    design: DatasetDesign,
    by: Option<ColumnPath>,
}

impl KeptDesign {
    /// The draw of rows that were read, with no row yet; `None` for rows that nobody drew.
    pub fn of(rows: &DatasetRows, read: &RowsVersion) -> Result<Option<Self>, AppError> {
        let Some(mut design) = rows.design(read)? else { return Ok(None) };
        design.strata.iter_mut().for_each(|stratum| stratum.drawn = 0);
        let by = design.by.as_deref().and_then(|by| ColumnPath::parse(by).ok());
        Ok(Some(Self { design, by }))
    }

    /// Counts a row that stays.
    pub fn add(&mut self, sample: &Sample) {
        let columns = Value::Object(sample.columns.clone());
        let value = DatasetDesign::stratum_text(self.by.as_ref().and_then(|by| by.first(&columns)));
        let strata = self.design.strata.iter_mut().filter(|stratum| stratum.value == value);
        strata.for_each(|stratum| stratum.drawn += 1);
    }

    /// The draw of the rows that stay.
    pub fn finish(self) -> DatasetDesign {
        self.design
    }
}

/// Writes the manifest beside rows. Returns its path.
pub(crate) fn write_beside(path: &Path, manifest: &Manifest) -> Result<PathBuf, AppError> {
    let place = manifest_path(path);
    write_manifest(&place, manifest)?;
    Ok(place)
}

/// The name of a set by its file.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn unwritable(path: &Path, error: std::io::Error) -> AppError {
    FileError::writing(path, error).with_hint("name another file with `-o`").into()
}

impl DatasetRows {
    /// The error for a source whose second pass differs from the first.
    pub(crate) fn check_unchanged(&self, first: &RowsVersion, second: &RowsVersion) -> Result<(), AppError> {
        match first.order == second.order {
            true => Ok(()),
            false => Err(DatasetError::Changed { rows: self.source.clone() }.into()),
        }
    }

    /// The files that the rows are read from, as far as they are known.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let named = Path::new(&self.source);
        let folder = match &self.plan {
            Some(_) if named.is_dir() => named,
            Some(_) => named.parent().unwrap_or(Path::new("")),
            None => Path::new(""),
        };
        let sources = self.plan.iter().flat_map(|plan| &plan.header.dataset.sources);
        let files = sources.map(|source| folder.join(&source.path)).chain([named.to_owned()]);
        files.filter_map(|file| file.canonicalize().ok()).collect()
    }
}

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
