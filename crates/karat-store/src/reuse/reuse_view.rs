//! The results that one run may reuse: its own, and those of other runs that are recent enough.

use std::sync::Mutex;

use karat_types::{JudgmentRecord, Key, Moment, StepRecord};
use rustc_hash::FxHashMap;

use crate::block::section_cache::{EntryPlace, ReuseKey, SectionKind};
use crate::error::ReadFailure;
use crate::format::run_lookup::find_run_number;
use crate::read::lookup::{JUDGMENT, STEP};
use crate::reuse::known_keys;
use crate::sql::mutex::lock;
use crate::sql::tables::{BLOCKS, RUNS, run_column as column};
use crate::sql::{Connection, params};
use crate::{Store, StoreError, StoredRecord};

pub(crate) const MAKER: &str = "from blocks join runs on runs.id = run where seq = ?1";
pub(crate) const OWN_LISTS: &str = "from blocks where run = ?1 and seq >= ?2 and seq < ?3 order by seq";

/// A view of the cached results for one run.
///
/// A result belongs to the run that wrote it, whatever its time: other runs write at the same moment.
#[derive(Debug)]
pub struct ReuseView {
    store: Store,
    oldest: Option<Moment>,
    /// True if judgments of other runs are not reused, whatever their age.
    judges_again: bool,
    /// The run's number, once it has started.
    own: Option<i64>,
    hidden: Mutex<Hidden>,
}

/// The run's own results that another run has repeated since. [`KnownKeys`](super::known_keys::KnownKeys) has the
/// latest copy only, so the run's own lists are read when that copy belongs to another run, and kept.
#[derive(Debug, Default)]
struct Hidden {
    /// The run's lists before this block have been read.
    read: i64,
    places: FxHashMap<ReuseKey, EntryPlace>,
}

impl Store {
    /// Returns the view of the run with this id, which need not have started: its own results, and those of other
    /// runs that started at `oldest` or later. Without `oldest`, no results of other runs.
    ///
    /// # Errors
    /// The runs cannot be read.
    pub fn reuse_view(&self, run: &str, oldest: Option<Moment>) -> Result<ReuseView, StoreError> {
        let own = self.read("a run", |connection| find_run_number(connection, run))?;
        Ok(ReuseView { store: self.clone(), oldest, judges_again: false, own, hidden: Mutex::default() })
    }
}

impl ReuseView {
    /// The same view without judgments of other runs, if `again`.
    #[must_use]
    pub fn judging_again(self, again: bool) -> Self {
        Self { judges_again: again, ..self }
    }

    /// Returns whether the vector of a text is known; that of any run is reused.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn has_vector(&self, key: Key) -> Result<bool, StoreError> {
        Ok(self.store.vector(key)?.is_some())
    }

    /// Returns the latest output of a step.
    ///
    /// # Errors
    /// The output exists and cannot be read.
    pub fn step(&self, key: Key) -> Result<Option<StoredRecord<StepRecord>>, StoreError> {
        self.place(STEP, (key, SectionKind::Outputs))?.map(|place| self.store.step_at(key, place)).transpose()
    }

    /// Returns the latest sound judgment with a key. Its ordinal, scorer and judge are those of the run that made it.
    ///
    /// # Errors
    /// The judgment exists and cannot be read.
    pub fn judgment(&self, key: Key) -> Result<Option<StoredRecord<JudgmentRecord>>, StoreError> {
        self.place(JUDGMENT, (key, SectionKind::Judgments))?.map(|place| self.store.judgment_at(place)).transpose()
    }

    /// Returns `true` if there is an output of the step.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn has_step(&self, key: Key) -> Result<bool, StoreError> {
        Ok(self.place(STEP, (key, SectionKind::Outputs))?.is_some())
    }

    /// Returns `true` if there is a sound judgment with the key.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn has_judgment(&self, key: Key) -> Result<bool, StoreError> {
        Ok(self.place(JUDGMENT, (key, SectionKind::Judgments))?.is_some())
    }

    fn place(&self, what: &'static str, key: ReuseKey) -> Result<Option<EntryPlace>, StoreError> {
        let Some(latest) = self.store.place(what, key)? else { return Ok(None) };
        let oldest = self.oldest.filter(|_| what != JUDGMENT || !self.judges_again);
        // Usually results of every run and age are allowed, and the owner does not matter.
        if oldest == Some(Moment(i64::MIN)) {
            return Ok(Some(latest));
        }
        self.store.read(what, |connection| match self.admits(connection, latest, oldest)? {
            true => Ok(Some(latest)),
            false => self.own_place(connection, key, latest),
        })
    }

    fn admits(&self, connection: &Connection, place: EntryPlace, oldest: Option<Moment>) -> Result<bool, ReadFailure> {
        let select = format!("select {}, {} {MAKER}", BLOCKS.select(connection, &[]), RUNS.select(connection, &[]));
        let (run, started_at) = connection.prepare_cached(&select)?.query_row(params![place.block], |row| {
            let maker = BLOCKS.check_from(0, row, &[])?;
            RUNS.check_from(maker, row, &[])?;
            Ok((row.get::<i64>(maker + column::ID)?, Moment(row.get(maker + column::STARTED_AT)?)))
        })?;
        Ok(self.own == Some(run) || oldest.is_some_and(|oldest| started_at >= oldest))
    }

    /// Returns the run's own result that another run has repeated. A place later than the index's was invalidated.
    fn own_place(
        &self,
        connection: &Connection,
        key: ReuseKey,
        latest: EntryPlace,
    ) -> Result<Option<EntryPlace>, ReadFailure> {
        let Some(own) = self.own else { return Ok(None) };
        let mut hidden = lock(&self.hidden);
        let Hidden { read, places } = &mut *hidden;
        if *read < latest.block {
            let mut statement = connection.prepare_cached(&known_keys::list_query(connection, OWN_LISTS))?;
            let mut rows = statement.query(params![own, *read, latest.block])?;
            while let Some(row) = rows.next()? {
                let (block, _, list) = known_keys::read_list(&row)?;
                known_keys::unpack_keys(block, list, |key, place| {
                    places.insert(key, place);
                })?;
            }
            *read = latest.block;
        }
        Ok(places.get(&key).copied().filter(|own| own.block < latest.block))
    }
}
