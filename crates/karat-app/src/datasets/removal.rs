//! A new version of a suite's rows without items that have a flag.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use karat_analysis::items::{FlagKind, ItemAnalysis, TestItem};
use karat_dataset::manifest::{Manifest, VersionError};
use karat_types::{DatasetDesign, DesignKind};
use serde::Serialize;
use serde_json::Value;

use super::curate::output::{DatasetOutput, Made, RowsWriter, stem, write_beside};
use super::source::DatasetRequest;
use crate::AppError;
use crate::datasets::Datasets;
use crate::error::DatasetError;

/// The request for rows without some items.
#[derive(Debug, Clone)]
pub struct RemovalRequest {
    /// The suite whose rows are read: a file or a preset.
    pub suite: String,
    /// Flags of the items that are left out.
    pub flags: Vec<FlagKind>,
    /// The new file.
    pub output: DatasetOutput,
    /// The name of the new version.
    pub version: String,
}

/// Rows without some items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemovedItems {
    /// The new file.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// Number of its rows.
    pub rows: u64,
    /// Number of rows that are left out, by flag; a row with two flags counts twice.
    pub removed: BTreeMap<&'static str, u64>,
    /// Number of flagged items that the suite does not have any more.
    pub absent: u64,
    /// The changelog line.
    pub line: String,
}

impl Datasets<'_> {
    /// Writes the rows of a suite without the items that have one of some flags, as a new version with its changelog line.
    ///
    /// # Errors
    /// No item has such a flag, all have, rows that cannot be read, a file that is there already.
    pub fn remove_items(&self, found: &ItemAnalysis, asked: &RemovalRequest) -> Result<RemovedItems, AppError> {
        let flagged: BTreeMap<&str, &TestItem> = (found.items.iter())
            .filter(|item| asked.flags.iter().any(|flag| item.has(*flag)))
            .map(|item| (item.id.as_str(), item))
            .collect();
        let rows = self.rows(&DatasetRequest::of(&*asked.suite))?;
        let names: Vec<&str> = asked.flags.iter().map(|flag| flag.name()).collect();
        let nothing = |problem: &str| DatasetError::NothingRemoved {
            rows: asked.suite.clone(),
            flags: names.join(", "),
            problem: problem.to_owned(),
        };
        if flagged.is_empty() {
            return Err(nothing("no item has such a flag").into());
        }
        asked.output.check_file(&rows)?;
        let read = rows.version()?;
        let day = self.day();
        let unusable =
            |error: VersionError| DatasetError::BadVersion { rows: asked.suite.clone(), problem: error.to_string() };
        // A version that cannot be recorded is refused before anything is written.
        Manifest::new("", &read).record(&asked.version, &read, "-", &day).map_err(unusable)?;
        let mut removed: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut writer = RowsWriter::create(&asked.output.path, &rows)?;
        rows.for_each(&mut |row| {
            let Some(item) = flagged.get(&*row.sample.id) else { return writer.add(&row.sample) };
            seen.insert(item.id.clone());
            for flag in asked.flags.iter().filter(|flag| item.has(**flag)) {
                *removed.entry(flag.name()).or_default() += 1;
            }
            Ok(())
        })?;
        if seen.is_empty() {
            return Err(nothing("the suite's rows have none of the flagged items any more").into());
        }
        if seen.len() as u64 == read.rows {
            return Err(nothing("every row has such a flag").into());
        }
        let counts = removed.iter().map(|(flag, n)| format!("{flag} {n}")).collect::<Vec<_>>().join(", ");
        let line = format!("{} of {} rows left out: {counts}.", seen.len(), read.rows);
        let name = stem(&asked.output.path);
        let counts = removed.iter().map(|(flag, n)| ((*flag).to_owned(), Value::from(*n))).collect();
        let replaced = asked.output.replaced_manifest()?;
        // Rows were left out for their scores.
        let design = rows.design(&read)?;
        let (written, manifest) = writer.finish_if(|written| {
            let made = Made { name: &name, parent: &rows, read, written: *written, counts };
            let mut manifest = asked.output.manifest("dataset items", None, &made, replaced);
            manifest.design = design.map(|design| DatasetDesign { kind: DesignKind::None, ..design });
            manifest.record(&asked.version, written, &line, &day).map_err(unusable)?;
            Ok(manifest)
        })?;
        write_beside(&asked.output.path, &manifest)?;
        Ok(RemovedItems {
            path: asked.output.path.clone(),
            version: asked.version.clone(),
            rows: written.rows,
            removed,
            absent: (flagged.len() - seen.len()) as u64,
            line,
        })
    }
}
