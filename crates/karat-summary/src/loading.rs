//! Corpora and candidates on disk.
//!
//! A corpus is a folder of sessions, each with a `reference.json`; candidates are one JSON file, or a folder with a file
//! `<session>.json` or a folder `<session>/` for each.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{ReferenceSession, Summary};

/// The file that makes a folder a session.
const REFERENCE: &str = "reference.json";
/// The file of a candidate that has a folder of its own.
const CANDIDATE: &str = "summary.json";

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It could not be read.
    #[error("{path} could not be read: {source}")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// It is not JSON, or lacks what it must have.
    #[error("{path} is no {wanted}: {source}")]
    Broken {
        /// The path.
        path: PathBuf,
        /// The expected content.
        wanted: &'static str,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A name that leads out of the folder.
    #[error("{0:?} is not a session's name: a name is one folder of the corpus, without `/` and `..`")]
    Name(String),
}

/// Every session of a corpus, in the order of the folders' names. Folders without a `reference.json` are left out.
///
/// # Errors
/// A corpus that cannot be listed, a reference that cannot be read or is broken.
pub fn load_corpus(corpus: impl AsRef<Path>) -> Result<Vec<ReferenceSession>, LoadError> {
    let corpus = corpus.as_ref();
    let sessions = names(corpus)?.into_iter().filter_map(|name| load_session(corpus, &name).transpose());
    sessions.collect()
}

/// One session of a corpus, by the name of its folder; it is called as its file says, or as the folder. `None` where it is not curated: there is no such folder, or no `reference.json` in it.
///
/// # Errors
/// A name that is not a folder's, a reference that cannot be read or is broken.
pub fn load_session(corpus: impl AsRef<Path>, name: &str) -> Result<Option<ReferenceSession>, LoadError> {
    let is_name = !name.is_empty() && Path::new(name).components().eq([std::path::Component::Normal(name.as_ref())]);
    if !is_name {
        return Err(LoadError::Name(name.to_owned()));
    }
    let path = corpus.as_ref().join(name).join(REFERENCE);
    let session: Option<ReferenceSession> = present(&path, "reference of a session")?;
    Ok(session.map(|session| match session.name.trim().is_empty() {
        true => ReferenceSession { name: name.to_owned(), ..session },
        false => session,
    }))
}

/// One candidate.
///
/// # Errors
/// A file that is not there, cannot be read, or holds no summary.
pub fn load_candidate(path: impl AsRef<Path>) -> Result<Summary, LoadError> {
    read(path.as_ref(), "summary")
}

/// The candidates of a folder by the session's name: `<session>.json`, or `<session>/summary.json`. Anything else in it
/// is left out.
///
/// # Errors
/// A folder that cannot be listed, a candidate that cannot be read or is broken.
pub fn load_candidates(folder: impl AsRef<Path>) -> Result<BTreeMap<String, Summary>, LoadError> {
    let folder = folder.as_ref();
    let mut candidates = BTreeMap::new();
    for name in names(folder)? {
        let found = match name.strip_suffix(".json") {
            Some(session) => Some((session.to_owned(), load_candidate(folder.join(&name))?)),
            None => present(&folder.join(&name).join(CANDIDATE), "summary")?.map(|summary| (name, summary)),
        };
        candidates.extend(found);
    }
    Ok(candidates)
}

fn names(folder: &Path) -> Result<Vec<String>, LoadError> {
    let unreadable = |source| LoadError::Unreadable { path: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        names.push(entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// The content of a file; `None` where there is none.
fn present<T: serde::de::DeserializeOwned>(path: &Path, wanted: &'static str) -> Result<Option<T>, LoadError> {
    match read(path, wanted) {
        Ok(found) => Ok(Some(found)),
        Err(LoadError::Unreadable { source, .. }) if is_absent(source.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file below something that is not a folder is absent, too.
fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn read<T: serde::de::DeserializeOwned>(path: &Path, wanted: &'static str) -> Result<T, LoadError> {
    let bytes = std::fs::read(path).map_err(|source| LoadError::Unreadable { path: path.to_owned(), source })?;
    serde_json::from_slice(&bytes).map_err(|source| LoadError::Broken { path: path.to_owned(), wanted, source })
}
