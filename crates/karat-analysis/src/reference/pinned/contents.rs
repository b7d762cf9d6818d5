//! The content of pinned samples: one that has changed since is another test, and not compared.

use std::collections::BTreeMap;

use karat_types::{Key, RunRows};
use serde::{Deserialize, Serialize};

use super::Pinned;
use crate::AnalysisError;
use crate::compare::content::{Contents, changed_since, contents_of};

/// Ids of changed samples that a note lists.
const LISTED: usize = 5;

/// Digests by the name of a part, for each sample in the order of the file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct PinnedContents(BTreeMap<String, Vec<Option<Key>>>);

impl PinnedContents {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of_sample(&self, at: usize) -> Contents {
        let digest = |(name, digests): (&String, &Vec<Option<Key>>)| Some((name.clone(), (*digests.get(at)?)?));
        self.0.iter().filter_map(digest).collect()
    }
}

impl Pinned {
    /// Adds what the pinned run read of each sample.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn with_contents(mut self, rows: &dyn RunRows) -> Result<Self, AnalysisError> {
        let mut parts: BTreeMap<String, Vec<Option<Key>>> = BTreeMap::new();
        for (id, contents) in contents_of(rows)? {
            let Some(at) = self.index.get(&id).copied() else { continue };
            for (name, digest) in contents {
                let digests = parts.entry(name).or_insert_with(|| vec![None; self.samples.len()]);
                if let Some(slot) = digests.get_mut(at) {
                    *slot = Some(digest);
                }
            }
        }
        self.contents = PinnedContents(parts);
        Ok(self)
    }

    /// Leaves out the samples whose content is another one in a run of another dataset; notes tell of them.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn without_changed(mut self, rows: &dyn RunRows) -> Result<Self, AnalysisError> {
        if self.contents.is_empty() || self.run.dataset_hash == rows.header().plan.dataset.hash {
            return Ok(self);
        }
        let before = |id: &str| self.index.get(id).map(|at| self.contents.of_sample(*at));
        self.changed = changed_since(&before, rows)?;
        let changed = &self.changed;
        self.index.retain(|id, _| !changed.contains(id));
        Ok(self)
    }

    /// The note on a dataset that differs from that of a run.
    pub(super) fn dataset_note(&self, name: &str, now: Option<&str>) -> String {
        let versions = match (self.run.dataset_version.as_deref(), now) {
            (None, None) => String::new(),
            (before, now) => {
                let called = |version: Option<&str>| version.unwrap_or("none").to_owned();
                format!(" (version {}, here {})", called(before), called(now))
            }
        };
        if self.contents.is_empty() {
            return format!(
                "{name} uses another dataset{versions}: samples are matched by id, and their content may have changed"
            );
        }
        let listed = self.changed.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = self.changed.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        match self.changed.len() {
            0 => format!("{name} uses another dataset{versions}: common samples have the same content"),
            n => format!(
                "{name} uses another dataset{versions}: samples with other content are left out, {n}: {listed}{more}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use karat_types::KeyBuilder;

    use super::*;
    use crate::testing::{MemoryRun, Sketch};
    use crate::{Options, analyse};

    fn run(dataset: &str, version: &str, references: [&str; 3]) -> MemoryRun {
        let mut run = Sketch::new(1, 1, 3).fill(1.0).run();
        let plan = Arc::make_mut(&mut run.header.plan);
        (plan.dataset.hash, plan.dataset.version) = (dataset.to_owned(), Some(version.to_owned()));
        for (sample, text) in run.samples.iter_mut().zip(references) {
            let digest = KeyBuilder::new("test").text(text).finish();
            sample.reads = vec![("scored: {{ reference }}".to_owned(), digest)];
        }
        run
    }

    fn pinned(run: &MemoryRun) -> Pinned {
        let findings = analyse(run, &Options::default()).unwrap();
        let pinned = Pinned::of(&run.header, &findings).with_contents(run).unwrap();
        Pinned::read(&serde_json::to_string(&pinned).unwrap()).unwrap()
    }

    /// BC-06: a pinned sample whose reference was corrected is not compared, and the note names it and both versions.
    #[test]
    fn a_corrected_reference_is_not_compared_with_a_baseline() {
        let before = pinned(&run("a", "1", ["x", "y", "z"]));
        let after = run("b", "2", ["x", "corrected", "z"]);
        let kept = before.clone().without_changed(&after).unwrap();
        let metric = "quality.overall";
        assert!(kept.value(0, metric, "sample-0").is_some());
        assert_eq!(kept.value(0, metric, "sample-1"), None);
        let note = kept.dataset_note("the baseline", Some("2"));
        assert_eq!(
            note,
            "the baseline uses another dataset (version 1, here 2): samples with other content are left out, 1: sample-1"
        );
        let same = before.without_changed(&run("b", "2", ["x", "y", "z"])).unwrap();
        assert!(same.dataset_note("it", Some("2")).ends_with("common samples have the same content"));
    }
}
