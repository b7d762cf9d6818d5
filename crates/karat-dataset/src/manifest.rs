//! The file beside a set of rows that says where it comes from: `NAME.dataset.json` beside `NAME.jsonl`.

use std::collections::BTreeMap;

use karat_types::{DatasetDesign, DesignKind, Key};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::version::RowsVersion;

/// The version of the file's format.
pub const FORMAT: u32 = 1;

/// The ending of the file's name.
pub const ENDING: &str = ".dataset.json";

/// The origin, the counts and the versions of a set of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub format: u32,
    /// The set's name.
    pub name: String,
    /// Its version, as its owner calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Hash of the rows' content, in any order.
    pub hash: Key,
    /// Number of rows.
    pub rows: u64,
    /// Columns that may hold a row's id: they are not part of the content that is hashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Columns that describe a row to readers: no part of that content either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<String>,
    /// The command that made it; absent where a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<MadeBy>,
    /// The sets that it was made from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<Parent>,
    /// Numbers that the command reports, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, Value>,
    /// The draw of the rows from a larger set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<DatasetDesign>,
    /// The parts that it was split into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The changes from version to version, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changelog: Vec<VersionChange>,
}

/// The command that made a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBy {
    /// Its name, such as `dataset sample`.
    pub command: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The seed of what it drew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A set that another one was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// Its path, suite, traces or run, as given.
    pub path: String,
    /// Hash of its rows' content.
    pub hash: Key,
    /// Number of its rows.
    pub rows: u64,
}

/// A part of a split set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its name, such as `test`.
    pub name: String,
    /// Name of its file, beside this one.
    pub file: String,
    /// Number of its rows.
    pub rows: u64,
    /// Hash of its rows' content.
    pub hash: Key,
}

/// A version, and a line of what is new in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionChange {
    /// Its name.
    pub version: String,
    /// Hash of its rows' content.
    pub hash: Key,
    /// The day, as YYYY-MM-DD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The change, in one line.
    pub line: String,
}

/// The text is not a manifest that this version of Karat reads.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is not JSON of this form.
    #[error("it is not a file of the form `NAME.dataset.json` ({0})")]
    Form(#[from] serde_json::Error),
    /// It has another format.
    #[error("it has format {0}, and this version of karat reads format {FORMAT}: update karat")]
    Format(u32),
}

/// The fate of a changelog line that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedLine {
    /// It is the first of its version.
    Added,
    /// It replaced an earlier line of the same version with the same rows.
    Replaced,
}

/// The reason why a version cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The version has other content already.
    #[error("version `{version}` is recorded with other rows ({recorded}, now {now}): give the new rows a new version")]
    Taken {
        /// The version.
        version: String,
        /// Hash of its rows.
        recorded: Key,
        /// Hash of the rows now.
        now: Key,
    },
    /// There is no text.
    #[error("a version and its changelog line cannot be empty")]
    Empty,
    /// The text is longer than a line.
    #[error("a changelog entry is one line: leave out line breaks and control characters")]
    Lines,
}

/// The state of the rows towards their manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionState<'m> {
    /// They are what the newest version is.
    Recorded(&'m VersionChange),
    /// They are an earlier version.
    Earlier(&'m VersionChange),
    /// They differ from the newest version, and no line says so.
    Unrecorded(&'m VersionChange),
    /// No version was recorded yet; true if the rows are those that the command made.
    Unversioned {
        /// True if the rows are those that the manifest speaks of.
        is_unchanged: bool,
    },
}

impl Manifest {
    /// The manifest of a set that nobody described yet.
    pub fn new(name: impl Into<String>, rows: &RowsVersion) -> Self {
        Self {
            format: FORMAT,
            name: name.into(),
            version: None,
            hash: rows.hash,
            rows: rows.rows,
            ids: Vec::new(),
            metadata: Vec::new(),
            made_by: None,
            parents: Vec::new(),
            counts: BTreeMap::new(),
            design: None,
            parts: Vec::new(),
            changelog: Vec::new(),
        }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// The text has another form or format.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        /// The part that every format has.
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let head: Head = serde_json::from_str(text)?;
        match head.format {
            FORMAT => Ok(serde_json::from_str(text)?),
            other => Err(ManifestError::Format(other)),
        }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// None that is known: the types are those of JSON.
    pub fn to_text(&self) -> Result<String, ManifestError> {
        Ok(format!("{}\n", serde_json::to_string_pretty(self)?))
    }

    /// The state of rows towards the recorded versions.
    pub fn state(&self, rows: &RowsVersion) -> VersionState<'_> {
        let Some(newest) = self.changelog.last() else {
            return VersionState::Unversioned { is_unchanged: self.hash == rows.hash };
        };
        if newest.hash == rows.hash {
            return VersionState::Recorded(newest);
        }
        match self.changelog.iter().rev().find(|change| change.hash == rows.hash) {
            Some(earlier) => VersionState::Earlier(earlier),
            None => VersionState::Unrecorded(newest),
        }
    }

    /// Records the rows as a version. Recording the same version with the same rows again replaces its line.
    ///
    /// # Errors
    /// The version has other rows already, or a text is empty or longer than a line.
    pub fn record(
        &mut self,
        version: &str,
        rows: &RowsVersion,
        line: &str,
        date: &str,
    ) -> Result<RecordedLine, VersionError> {
        let (version, line) = (version.trim(), line.trim());
        if version.is_empty() || line.is_empty() {
            return Err(VersionError::Empty);
        }
        if version.chars().chain(line.chars()).any(char::is_control) {
            return Err(VersionError::Lines);
        }
        let known = self.changelog.iter().find(|change| change.version == version);
        if let Some(known) = known.filter(|change| change.hash != rows.hash) {
            return Err(VersionError::Taken { version: version.to_owned(), recorded: known.hash, now: rows.hash });
        }
        let recorded = known.map_or(RecordedLine::Added, |_| RecordedLine::Replaced);
        self.changelog.retain(|change| change.version != version);
        self.changelog.push(VersionChange {
            version: version.to_owned(),
            hash: rows.hash,
            date: Some(date.to_owned()),
            line: line.to_owned(),
        });
        if let Some(design) = self.design.as_mut().filter(|_| self.hash != rows.hash) {
            // Rows that were added or changed by hand are not drawn.
            design.kind = DesignKind::None;
        }
        (self.version, self.hash, self.rows) = (Some(version.to_owned()), rows.hash, rows.rows);
        Ok(recorded)
    }

    /// Keeps the changelog of the manifest that this one replaces, so that rows that differ from the newest version demand
    /// a line. The version stays only where its rows do.
    pub fn keep_changelog(&mut self, replaced: Self) {
        let newest = replaced.changelog.last().filter(|newest| newest.hash == self.hash);
        self.version = newest.map(|newest| newest.version.clone());
        self.changelog = replaced.changelog;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::version::{ApartColumns, RowsHasher};

    fn rows(values: &[&str]) -> RowsVersion {
        let mut hasher = RowsHasher::new();
        for value in values {
            hasher.add(value, json!({"q": value}).as_object().unwrap(), &ApartColumns::default());
        }
        hasher.finish()
    }

    /// BC-06: changed rows need a changelog line under a new version.
    #[test]
    fn a_change_demands_a_line_and_a_version() {
        let (before, after) = (rows(&["a", "b"]), rows(&["a", "c"]));
        let mut manifest = Manifest::new("set", &before);
        assert_eq!(manifest.state(&before), VersionState::Unversioned { is_unchanged: true });
        manifest.record("1", &before, "First version.", "2026-11-01").unwrap();
        assert!(matches!(manifest.state(&before), VersionState::Recorded(change) if change.version == "1"));
        assert!(matches!(manifest.state(&after), VersionState::Unrecorded(change) if change.version == "1"));
        let taken = manifest.record("1", &after, "Same name.", "2026-11-02").unwrap_err();
        assert!(matches!(taken, VersionError::Taken { .. }), "{taken}");
        manifest.record("2", &after, "b is c.", "2026-11-02").unwrap();
        assert!(matches!(manifest.state(&after), VersionState::Recorded(change) if change.version == "2"));
        assert!(matches!(manifest.state(&before), VersionState::Earlier(change) if change.version == "1"));
        assert_eq!((manifest.version.as_deref(), manifest.hash), (Some("2"), after.hash));
    }

    /// BC-06: a manifest that replaces another one keeps its changelog; the version stays with its rows alone.
    #[test]
    fn a_replaced_manifest_leaves_its_changelog() {
        let (before, after) = (rows(&["a", "b"]), rows(&["a"]));
        let mut replaced = Manifest::new("set", &before);
        assert_eq!(replaced.record("1", &before, "First.", "2026-11-01"), Ok(RecordedLine::Added));
        assert_eq!(replaced.record("1", &before, "The first.", "2026-11-01"), Ok(RecordedLine::Replaced));
        assert_eq!(replaced.changelog.len(), 1);
        let mut same = Manifest::new("set", &before);
        same.keep_changelog(replaced.clone());
        assert_eq!((same.version.as_deref(), same.changelog[0].line.as_str()), (Some("1"), "The first."));
        let mut other = Manifest::new("set", &after);
        other.keep_changelog(replaced);
        assert_eq!(other.version, None);
        assert!(matches!(other.state(&after), VersionState::Unrecorded(change) if change.version == "1"));
    }

    /// BC-06: a line is one line.
    #[test]
    fn a_line_is_neither_empty_nor_many() {
        let set = rows(&["a"]);
        let mut manifest = Manifest::new("set", &set);
        assert_eq!(manifest.record("1", &set, " ", "2026-11-01"), Err(VersionError::Empty));
        assert_eq!(manifest.record("1", &set, "a\nb", "2026-11-01"), Err(VersionError::Lines));
        assert_eq!(manifest.record("1\u{1b}", &set, "a", "2026-11-01"), Err(VersionError::Lines));
        assert!(manifest.changelog.is_empty());
    }

    /// BC-06: a file of format 1 is read as it was written; another format is refused.
    #[test]
    fn the_format_round_trips() {
        let mut manifest = Manifest::new("set", &rows(&["a", "b"]));
        manifest.made_by =
            Some(MadeBy { command: "dataset sample".to_owned(), arguments: vec!["--n".to_owned()], seed: Some(7) });
        manifest.parents.push(Parent { path: "logs.jsonl".to_owned(), hash: Key([7; 16]), rows: 5_000 });
        manifest.counts.insert("strata".to_owned(), json!({"billing": {"asked": 2, "got": 1}}));
        manifest.parts.push(Part { name: "test".to_owned(), file: "t.jsonl".to_owned(), rows: 1, hash: Key([8; 16]) });
        let text = manifest.to_text().unwrap();
        assert_eq!(Manifest::parse(&text).unwrap(), manifest);
        let later = text.replace("\"format\": 1", "\"format\": 2");
        assert!(matches!(Manifest::parse(&later), Err(ManifestError::Format(2))));
        assert!(Manifest::parse("{}").is_err());
    }
}
