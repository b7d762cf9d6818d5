//! The columns of an index. All have the same length: one entry for each cell that has a row.

use std::ops::Range;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use karat_types::{CellStatus, PlanHeader};
use serde::{Deserialize, Serialize};

/// A reason to look at a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CellFlag {
    /// The cell has no output, a score below its threshold, or an unscored metric.
    Flagged,
    /// The cell has no output because something failed.
    Error,
    /// The cell has an output, and a scorer failed on it.
    Unscored,
    /// Its judges differ by more than the scorer allows, or have no majority.
    JudgesDisagree,
    /// A cap lowered a judge's score.
    Capped,
    /// Its output was reused from an earlier run.
    Cached,
    /// A score differs from that of the same cell in the previous run of the suite.
    Moved,
}

impl CellFlag {
    /// All flags.
    pub const ALL: [Self; 7] =
        [Self::Flagged, Self::Error, Self::Unscored, Self::JudgesDisagree, Self::Capped, Self::Cached, Self::Moved];

    /// The name in addresses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flagged => "flagged",
            Self::Error => "error",
            Self::Unscored => "unscored",
            Self::JudgesDisagree => "judges-disagree",
            Self::Capped => "capped",
            Self::Cached => "cached",
            Self::Moved => "moved",
        }
    }

    /// The flag of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| flag.name() == name)
    }
}

/// The flags that the rows of one run tell; [`CellFlag::Moved`] needs two, and [`CellFlag::Flagged`] the plan's thresholds.
pub(super) const OWN_FLAGS: [CellFlag; 5] =
    [CellFlag::Error, CellFlag::Unscored, CellFlag::JudgesDisagree, CellFlag::Capped, CellFlag::Cached];

/// The numbers of a metric.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricColumn {
    pub(super) values: Vec<f64>,
    /// The cells that have a value.
    pub(super) present: FixedBitSet,
}

impl MetricColumn {
    /// The value of a cell, if it has one.
    pub fn value(&self, cell: usize) -> Option<f64> {
        self.values.get(cell).copied().filter(|_| self.present.contains(cell))
    }

    pub(super) fn push(&mut self, value: Option<f64>) {
        let at = self.values.len();
        self.values.push(value.unwrap_or_default());
        self.present.grow(at + 1);
        self.present.set(at, value.is_some());
    }

    /// The mean over the cells of a range that have a value.
    pub(crate) fn mean(&self, cells: Range<usize>) -> Option<f64> {
        let (mut sum, mut n) = (0.0, 0_u32);
        for value in cells.filter_map(|cell| self.value(cell)) {
            sum += value;
            n += 1;
        }
        (n > 0).then(|| sum / f64::from(n))
    }
}

/// A sample of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexedSample {
    /// Its row in the plan.
    pub row: u64,
    /// Its id.
    pub id: String,
}

/// The place of a cell in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Ordinal in the plan.
    pub ordinal: u64,
    /// Index of the system.
    pub system: usize,
    /// Repetition, from 0.
    pub trial: u32,
}

/// The numbers of all cells of a run that have a row, in plan order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunIndex {
    pub(super) ordinals: Vec<u64>,
    /// 0 is ok, 1 error, 2 skipped.
    pub(super) statuses: Vec<u8>,
    pub(super) systems: Vec<u16>,
    pub(super) trials: Vec<u32>,
    /// Index into `sample_names`.
    pub(super) samples: Vec<u32>,
    pub(super) sample_names: Vec<IndexedSample>,
    /// Beginning of the hash of each output; equal outputs have equal ones.
    pub(super) outputs: Vec<u64>,
    /// One bit for each of [`OWN_FLAGS`].
    pub(super) flags: Vec<u8>,
    /// The metrics of the plan, in its order.
    pub(super) metrics: Vec<MetricColumn>,
    /// Milliseconds that the calls of each cell took.
    pub(super) latency: MetricColumn,
    /// Dollars that each cell cost, judges included.
    pub(super) cost: MetricColumn,
    /// Texts of errors and notes, each once.
    pub(super) texts: Vec<String>,
    /// Cell and text, by cell.
    pub(super) remarks: Vec<(u32, u32)>,
    /// Metrics that could have been checks, and whose scores are plain numbers.
    pub(super) plain_numbers: Vec<u16>,
    /// First cell of each group: the trials of one sample and system.
    #[serde(skip)]
    pub(super) groups: Vec<u32>,
}

impl RunIndex {
    /// Number of cells.
    pub fn len(&self) -> usize {
        self.ordinals.len()
    }

    /// Returns true if no cell has a row.
    pub fn is_empty(&self) -> bool {
        self.ordinals.is_empty()
    }

    /// Number of groups: a group is the trials of one sample and system.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The cells of a group.
    pub fn group(&self, group: usize) -> Range<usize> {
        let start = self.groups.get(group).map_or(self.len(), |start| *start as usize);
        let end = self.groups.get(group + 1).map_or(self.len(), |end| *end as usize);
        start..end
    }

    /// The cell of an ordinal.
    pub fn find(&self, ordinal: u64) -> Option<usize> {
        self.ordinals.binary_search(&ordinal).ok()
    }

    /// The group of a cell by its ordinal.
    pub fn group_of(&self, ordinal: u64) -> Option<usize> {
        let cell = self.find(ordinal)?;
        Some(self.groups.partition_point(|start| *start as usize <= cell).saturating_sub(1))
    }

    /// The groups of a sample, by its id.
    pub fn groups_of_sample(&self, id: &str) -> Option<Range<usize>> {
        let sample = self.sample_names.iter().position(|sample| sample.id == id)?;
        let of = |group: &u32| self.samples.get(*group as usize).map_or(usize::MAX, |sample| *sample as usize);
        let start = self.groups.partition_point(|group| of(group) < sample);
        let end = self.groups.partition_point(|group| of(group) <= sample);
        Some(start..end)
    }

    /// The place of a cell in the plan.
    pub fn place(&self, cell: usize) -> Place {
        Place {
            ordinal: self.ordinals.get(cell).copied().unwrap_or_default(),
            system: self.systems.get(cell).copied().map_or(0, usize::from),
            trial: self.trials.get(cell).copied().unwrap_or_default(),
        }
    }

    /// The status of a cell.
    pub fn status(&self, cell: usize) -> CellStatus {
        match self.statuses.get(cell) {
            Some(1) => CellStatus::Error,
            Some(2) => CellStatus::Skipped,
            _ => CellStatus::Ok,
        }
    }

    /// Position of a cell's sample among the samples of the run.
    pub(crate) fn sample(&self, cell: usize) -> usize {
        self.samples.get(cell).map_or(0, |sample| *sample as usize)
    }

    /// The id of a cell's sample.
    pub fn sample_id(&self, cell: usize) -> &str {
        self.sample_names.get(self.sample(cell)).map_or("", |sample| &sample.id)
    }

    /// The row of a cell's sample in the plan.
    pub fn sample_row(&self, cell: usize) -> u64 {
        self.sample_names.get(self.sample(cell)).map_or(0, |sample| sample.row)
    }

    /// The ids of samples, by their position.
    pub(crate) fn sample_ids(&self) -> impl Iterator<Item = &str> {
        self.sample_names.iter().map(|sample| sample.id.as_str())
    }

    /// Returns true if a cell has a flag. [`CellFlag::Moved`] and [`CellFlag::Flagged`] are not in the index.
    pub fn has_flag(&self, cell: usize, flag: CellFlag) -> bool {
        let bit = OWN_FLAGS.iter().position(|own| *own == flag);
        bit.is_some_and(|bit| self.flags.get(cell).is_some_and(|flags| flags & (1 << bit) != 0))
    }

    /// The column of a metric of the plan.
    pub fn metric(&self, at: usize) -> Option<&MetricColumn> {
        self.metrics.get(at)
    }

    /// Milliseconds that the calls of each cell took.
    pub fn latency(&self) -> &MetricColumn {
        &self.latency
    }

    /// Dollars that each cell cost, judges included.
    pub fn cost(&self) -> &MetricColumn {
        &self.cost
    }

    /// The beginning of the hash of a cell's output.
    pub(crate) fn output(&self, cell: usize) -> u64 {
        self.outputs.get(cell).copied().unwrap_or_default()
    }

    /// Texts of errors and notes, each once.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The errors and notes of a cell, by their position in [`RunIndex::texts`].
    pub(crate) fn remarks(&self, cell: usize) -> impl Iterator<Item = usize> {
        let start = self.remarks.partition_point(|(of, _)| (*of as usize) < cell);
        let rest = self.remarks.get(start..).unwrap_or_default().iter();
        rest.take_while(move |(of, _)| *of as usize == cell).map(|(_, text)| *text as usize)
    }

    /// The plan with its checks resolved, as `resolve_checks` does it from the rows.
    pub(crate) fn resolve(&self, plan: &Arc<PlanHeader>) -> Arc<PlanHeader> {
        let mut plan = Arc::clone(plan);
        if !self.plain_numbers.is_empty() {
            let metrics = &mut Arc::make_mut(&mut plan).metrics;
            for at in &self.plain_numbers {
                if let Some(metric) = metrics.get_mut(usize::from(*at)) {
                    metric.verdicts = false;
                }
            }
        }
        plan
    }

    /// Bytes that the index takes in memory.
    pub(crate) fn size(&self) -> usize {
        let columns = (self.metrics.len() + 2) * self.len() * 9;
        let texts: usize = self.texts.iter().map(|text| text.len() + 24).sum();
        let samples: usize = self.sample_names.iter().map(|sample| sample.id.len() + 32).sum();
        columns + texts + samples + self.len() * 32 + self.remarks.len() * 8
    }

    /// Finds the groups; called when the cells are complete.
    pub(super) fn find_groups(&mut self) {
        let place = |cell: usize| (self.samples.get(cell), self.systems.get(cell));
        let starts = (0..self.len()).filter(|cell| *cell == 0 || place(*cell) != place(*cell - 1));
        self.groups = starts.map(|cell| cell as u32).collect();
    }

    /// Returns true if all columns have the same length and all references lead somewhere: bytes of a file are not
    /// trusted.
    pub(super) fn is_sound(&self) -> bool {
        let n = self.ordinals.len();
        let lengths = [
            self.statuses.len(),
            self.systems.len(),
            self.trials.len(),
            self.samples.len(),
            self.outputs.len(),
            self.flags.len(),
            self.latency.values.len(),
            self.cost.values.len(),
        ];
        lengths.into_iter().chain(self.metrics.iter().map(|metric| metric.values.len())).all(|length| length == n)
            && self.samples.iter().all(|sample| (*sample as usize) < self.sample_names.len())
            && self.remarks.iter().all(|(cell, text)| (*cell as usize) < n && (*text as usize) < self.texts.len())
            && self.ordinals.is_sorted()
            && self.remarks.is_sorted_by_key(|(cell, _)| *cell)
    }
}

/// The rank of each text; equal texts have the same.
pub(crate) fn ranks(texts: Vec<String>) -> Vec<u32> {
    let mut sorted: Vec<(&str, usize)> = texts.iter().map(String::as_str).zip(0..).collect();
    sorted.sort_unstable();
    let mut ranks = vec![0; texts.len()];
    let (mut rank, mut last) = (0, None);
    for (text, at) in sorted {
        rank += u32::from(last.is_some_and(|last| last != text));
        last = Some(text);
        if let Some(place) = ranks.get_mut(at) {
            *place = rank;
        }
    }
    ranks
}
