//! `manifest.json` (`karat.manifest/1`): the run that a folder's report belongs to, and the size and BLAKE3 hash of
//! each file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use karat_types::{Key, RunHeader};
use serde::{Deserialize, Serialize};

/// Name of the file.
pub(crate) const MANIFEST: &str = "manifest.json";

const SCHEMA: &str = "karat.manifest/1";

/// Maximum size of a manifest; a larger file was not written by Karat.
const MAX_HASHED_BYTES: u64 = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    schema: String,
    /// Absent in the canonical form, which is the same for every run of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    suite: String,
    suite_hash: String,
    plan_hash: Key,
    dataset_hash: String,
    karat: String,
    files: Vec<Listed>,
}

/// A file, or a folder of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    /// Relative to the folder that the report was written into.
    pub path: String,
    /// Number of files, for a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// BLAKE3 hash in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// Number of cells, for a file of cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// Hash of the file's inputs: the file is kept while it stays the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<Key>,
}

impl Manifest {
    pub fn new(header: &RunHeader, is_canonical: bool, files: Vec<Listed>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            run: (!is_canonical).then(|| header.id.clone()),
            suite: header.plan.suite.clone(),
            suite_hash: header.plan.suite_hash.clone(),
            plan_hash: header.plan.plan_hash,
            dataset_hash: header.plan.dataset.hash.clone(),
            karat: header.version.clone(),
            files,
        }
    }

    /// A manifest's entry for a file, if the manifest can be read and names this run, or none as in the canonical form.
    pub fn find_entry(manifest: &Path, run: &str, path: &Path) -> Option<Listed> {
        let mut text = Vec::new();
        File::open(manifest).ok()?.take(MAX_HASHED_BYTES).read_to_end(&mut text).ok()?;
        let manifest: Self = serde_json::from_slice(&text).ok()?;
        let is_known = manifest.schema == SCHEMA && manifest.run.as_deref().is_none_or(|it| it == run);
        manifest.files.into_iter().find(|file| is_known && Path::new(&file.path) == path)
    }
}

impl Listed {
    /// The entry for a file or folder as it is on disk.
    pub fn of(path: String, place: &Path) -> io::Result<Self> {
        if place.is_dir() {
            return Ok(Self { path, files: Some(fs::read_dir(place)?.count()), ..Self::default() });
        }
        let (bytes, blake3) = hash_file(place)?;
        Ok(Self { path, bytes: Some(bytes), blake3: Some(blake3), ..Self::default() })
    }

    /// Returns whether the file still matches its entry.
    pub fn is_intact(&self, file: &Path) -> bool {
        // A file of another size need not be read.
        fs::metadata(file).is_ok_and(|of| Some(of.len()) == self.bytes)
            && hash_file(file).is_ok_and(|(_, blake3)| Some(blake3) == self.blake3)
    }
}

/// Size and hexadecimal BLAKE3 hash of a file.
fn hash_file(file: &Path) -> io::Result<(u64, String)> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(file)?)?;
    Ok((hasher.count(), hasher.finalize().to_hex().to_string()))
}
