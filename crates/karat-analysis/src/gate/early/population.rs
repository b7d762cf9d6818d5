//! Counts the rows of a plan that belong to a claim.

use std::collections::{BTreeMap, HashMap};

use karat_types::Key;

/// The samples of a claim and their units.
#[derive(Debug, Default)]
pub(super) struct Population {
    samples: u64,
    /// Samples of each unit, if units are clusters.
    clusters: HashMap<Key, u64>,
}

impl Population {
    /// Adds a sample of a unit; `cluster` is the unit's key if units are clusters.
    pub(super) fn add(&mut self, cluster: Option<Key>) {
        self.samples += 1;
        if let Some(unit) = cluster {
            *self.clusters.entry(unit).or_default() += 1;
        }
    }

    /// Number of samples.
    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// Number of units.
    pub(super) fn units(&self) -> u64 {
        if self.clusters.is_empty() { self.samples } else { self.clusters.len() as u64 }
    }

    /// Samples of the largest unit, at least 1.
    pub(super) fn largest(&self) -> u64 {
        self.clusters.values().copied().max().unwrap_or(1)
    }
}

/// The place of a population: a gate, the set of systems, and the group's value as JSON.
pub(super) type Place = (usize, usize, String);

/// The pinned scores of the samples of a claim.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PinnedScores {
    pub(super) sum: f64,
    pub(super) n: u64,
}

/// The populations of all claims. Claims on every sample share one, which also is that of the whole run.
#[derive(Debug, Default)]
pub(super) struct Populations {
    pub(super) all: Population,
    /// Claims of a condition or group.
    pub(super) some: BTreeMap<Place, Population>,
    /// Pinned scores by place and metric, for changes from a pinned result.
    pub(super) pinned: BTreeMap<(Place, usize), PinnedScores>,
}

impl Populations {
    /// The population at a place.
    pub(super) fn at(&self, place: &Place) -> &Population {
        self.some.get(place).unwrap_or(&self.all)
    }
}
