//! The version of a set of rows, and its changelog.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use karat_dataset::manifest::{Manifest, RecordedLine, VersionChange, VersionState};
use karat_dataset::version::{ApartColumns, RowsHasher, RowsVersion};
use karat_types::DatasetDesign;
use serde_json::json;

use super::manifest_file::{manifest_path, read_manifest, write_manifest};
use super::source::{DatasetRequest, DatasetRows};
use crate::AppError;
use crate::datasets::Datasets;
use crate::error::DatasetError;
use crate::project::load;
use crate::project::presets::SuiteFiles;

/// Digits of a hash in a sentence.
const DIGITS: usize = 12;

/// The version of a set of rows, and what is recorded of it.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetVersion {
    /// The source as it was named.
    pub source: String,
    /// Hashes of the rows.
    pub rows: RowsVersion,
    /// The version that the suite declares, where the rows are those of a suite.
    pub declared: Option<String>,
    apart: ApartColumns,
    /// The place of the manifest; `None` for rows that are in no file of their own.
    path: Option<PathBuf>,
    manifest: Option<Manifest>,
}

/// A version that was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedVersion {
    /// The manifest.
    pub manifest: PathBuf,
    /// The fate of its line.
    pub line: RecordedLine,
}

impl RecordedVersion {
    /// For a terminal.
    pub fn text(&self, version: &str) -> String {
        let path = self.manifest.display();
        match self.line {
            RecordedLine::Added => format!("recorded in {path}"),
            RecordedLine::Replaced => {
                format!("replaced the line of version {version} in {path}: its rows are the same")
            }
        }
    }
}

impl DatasetRows {
    /// The columns that are not part of a row's content.
    pub(crate) fn apart_columns(&self) -> ApartColumns {
        ApartColumns { ids: self.id_columns(), metadata: self.metadata_columns() }
    }

    /// The columns that were not part of the content when a version was recorded, so that a file and its suite have one
    /// version; those of the source where nothing is recorded.
    pub(crate) fn recorded_columns(&self, manifest: Option<&Manifest>) -> ApartColumns {
        match manifest.filter(|manifest| !manifest.ids.is_empty()) {
            Some(manifest) => ApartColumns { ids: manifest.ids.clone(), metadata: manifest.metadata.clone() },
            None => self.apart_columns(),
        }
    }

    /// The version of the rows.
    ///
    /// # Errors
    /// A row that cannot be read.
    pub fn version(&self) -> Result<RowsVersion, AppError> {
        self.version_without(&self.apart_columns())
    }

    pub(crate) fn version_without(&self, apart: &ApartColumns) -> Result<RowsVersion, AppError> {
        let mut hasher = RowsHasher::new();
        self.for_each(&mut |row| {
            hasher.add(&row.sample.id, &row.sample.columns, apart);
            Ok(())
        })?;
        Ok(hasher.finish())
    }

    /// The path of the manifest of the rows, where they are those of one file.
    pub(crate) fn manifest_path(&self) -> Option<PathBuf> {
        let Some(plan) = &self.plan else {
            let path = Path::new(&self.source);
            return path.is_file().then(|| manifest_path(path));
        };
        let [only] = plan.header.dataset.sources.as_slice() else { return None };
        let suite = load::find_suite(&self.source, &SuiteFiles).ok()?;
        let path = Path::new(&suite).parent()?.join(&only.path);
        path.is_file().then(|| manifest_path(&path))
    }
}

impl DatasetRows {
    /// The draw of the rows from a larger set, if the manifest beside them speaks of these rows.
    ///
    /// # Errors
    /// The manifest or a row cannot be read.
    pub(crate) fn design(&self, read: &RowsVersion) -> Result<Option<DatasetDesign>, AppError> {
        let manifest = self.manifest_path().as_deref().map(read_manifest).transpose()?.flatten();
        let Some(manifest) = manifest.filter(|manifest| manifest.design.is_some()) else { return Ok(None) };
        let apart = self.recorded_columns(Some(&manifest));
        let hash = if apart == self.apart_columns() { read.hash } else { self.version_without(&apart)?.hash };
        Ok(manifest.design.filter(|_| manifest.hash == hash))
    }
}

impl Datasets<'_> {
    /// The version of a set of rows.
    ///
    /// # Errors
    /// Rows or a manifest that cannot be read; none for rows that changed without a line: see [`DatasetVersion::check`].
    pub fn version(&self, asked: &DatasetRequest) -> Result<DatasetVersion, AppError> {
        let rows = self.rows(asked)?;
        let path = rows.manifest_path();
        let manifest = path.as_deref().map(read_manifest).transpose()?.flatten();
        let declared = rows.plan.as_ref().and_then(|plan| plan.header.dataset.version.clone());
        let apart = rows.recorded_columns(manifest.as_ref());
        let version = rows.version_without(&apart)?;
        Ok(DatasetVersion { source: asked.source.clone(), rows: version, declared, apart, path, manifest })
    }

    /// Records the rows as a version with a line of what is new in it.
    ///
    /// # Errors
    /// The version has other rows already, a text that is not a line, rows of no file, and as [`Datasets::version`].
    pub fn record_version(
        &self,
        asked: &DatasetRequest,
        version: &str,
        line: &str,
    ) -> Result<RecordedVersion, AppError> {
        let found = self.version(asked)?;
        let Some(path) = found.path else {
            return Err(DatasetError::NoManifestPlace { rows: asked.source.clone() }.into());
        };
        let name = Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.strip_suffix(karat_dataset::manifest::ENDING).unwrap_or(&name).to_owned();
        let ApartColumns { ids, metadata } = found.apart;
        let new = || Manifest { ids, metadata, ..Manifest::new(name, &found.rows) };
        let mut manifest = found.manifest.unwrap_or_else(new);
        let today = self.day();
        let line = manifest
            .record(version, &found.rows, line, &today)
            .map_err(|error| DatasetError::BadVersion { rows: asked.source.clone(), problem: error.to_string() })?;
        write_manifest(&path, &manifest)?;
        Ok(RecordedVersion { manifest: path, line })
    }
}

impl Datasets<'_> {
    /// Today in UTC.
    pub(crate) fn day(&self) -> String {
        let now = jiff::Timestamp::from_millisecond(self.app.clock.now().0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        now.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
    }
}

impl DatasetVersion {
    fn state(&self) -> Option<VersionState<'_>> {
        self.manifest.as_ref().map(|manifest| manifest.state(&self.rows))
    }

    /// Checks that rows that changed have a changelog line.
    ///
    /// # Errors
    /// They differ from their newest version, or from what the command that made them wrote, and no line says why.
    pub fn check(&self) -> Result<(), AppError> {
        let (before, hash) = match self.state() {
            Some(VersionState::Unrecorded(newest)) => (format!("version {}", newest.version), newest.hash),
            Some(VersionState::Unversioned { is_unchanged: false }) => {
                let made = self.manifest.as_ref().and_then(|it| Some((it.made_by.as_ref()?.command.clone(), it.hash)));
                let (command, hash) = made.unwrap_or_else(|| ("its author".to_owned(), self.rows.hash));
                (format!("what `{command}` wrote"), hash)
            }
            _ => return Ok(()),
        };
        Err(DatasetError::Unrecorded {
            rows: self.source.clone(),
            before,
            was: short(&hash.to_string()),
            now: short(&self.rows.hash.to_string()),
        }
        .into())
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let RowsVersion { rows, hash, metadata, order } = &self.rows;
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}: {}", self.source, karat_report::count_noun(*rows, "row"));
        let _ = writeln!(text, "content   {hash}");
        let _ = writeln!(text, "metadata  {metadata}");
        let _ = writeln!(text, "order     {order}");
        if let Some(declared) = &self.declared {
            let _ = writeln!(text, "declared  {declared}");
        }
        let _ = writeln!(text, "{}", self.state_line());
        text.trim_end().to_owned()
    }

    fn state_line(&self) -> String {
        let told = |change: &VersionChange| {
            let date = change.date.as_deref().map(|date| format!(" of {date}")).unwrap_or_default();
            format!("{}{date}: {}", change.version, change.line)
        };
        match self.state() {
            Some(VersionState::Recorded(change)) => format!("version   {}", told(change)),
            Some(VersionState::Earlier(change)) => {
                format!("version   {} (an earlier version, not the newest)", told(change))
            }
            Some(VersionState::Unrecorded(change)) => format!("version   none; the newest is {}", told(change)),
            Some(VersionState::Unversioned { .. }) | None => {
                "version   none recorded; `--set VERSION --note LINE` records one".to_owned()
            }
        }
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let (state, change) = match self.state() {
            Some(VersionState::Recorded(change)) => ("recorded", Some(change)),
            Some(VersionState::Earlier(change)) => ("earlier", Some(change)),
            Some(VersionState::Unrecorded(change)) => ("unrecorded", Some(change)),
            Some(VersionState::Unversioned { is_unchanged: false }) => ("changed", None),
            Some(VersionState::Unversioned { is_unchanged: true }) | None => ("none", None),
        };
        let document = json!({
            "source": self.source, "rows": self.rows.rows, "hash": self.rows.hash, "metadata": self.rows.metadata,
            "order": self.rows.order, "declared": self.declared, "state": state, "version": change,
            "changelog": self.manifest.as_ref().map(|manifest| &manifest.changelog),
        });
        format!("{document:#}\n")
    }
}

/// The first digits of a hash.
pub(crate) fn short(hash: &str) -> String {
    hash.chars().take(DIGITS).collect()
}
