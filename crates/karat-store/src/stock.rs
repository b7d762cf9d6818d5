//! What one run may take over: what it made itself, and what other runs made that are not too old for it.

use std::sync::Mutex;

use karat_types::{JudgmentRecord, Key, Moment, StepRecord};
use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use crate::cache::Kind;
use crate::error::ReadFailure;
use crate::known::find_number;
use crate::lock::lock;
use crate::lookup::{JUDGMENT, STEP};
use crate::reuse::{self, Place, ReuseKey};
use crate::{Store, StoreError, Stored};

pub(crate) const MAKER: &str = "select run, started_at from blocks join runs on runs.id = run where seq = ?1";
pub(crate) const OWN_LISTS: &str =
    "select seq, reuse from blocks where run = ?1 and seq >= ?2 and seq < ?3 order by seq";

/// The results that one run may take over.
///
/// Whose a result is says the run that wrote it, not a time: other runs write while this one does.
#[derive(Debug)]
pub struct Stock {
    store: Store,
    oldest: Option<Moment>,
    /// The run's number, once it has begun.
    own: Option<i64>,
    hidden: Mutex<Hidden>,
}

/// What the run made itself and another has made again since. [`reuse`] knows the latest of both only, so this is read
/// where it is that of another run, and kept.
#[derive(Debug, Default)]
struct Hidden {
    /// The run's lists before this block have been read.
    read: i64,
    places: FxHashMap<ReuseKey, Place>,
}

impl Store {
    /// What the run of this id may take over, whether or not it has begun: its own results, and those of other runs that
    /// began at `oldest` or later; without it, of no other run.
    ///
    /// # Errors
    /// The runs cannot be read.
    pub fn stock(&self, run: &str, oldest: Option<Moment>) -> Result<Stock, StoreError> {
        let own = self.read("a run", |connection| Ok(find_number(connection, run)?))?;
        Ok(Stock { store: self.clone(), oldest, own, hidden: Mutex::default() })
    }
}

impl Stock {
    /// The latest output of a step.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn step(&self, key: Key) -> Result<Option<Stored<StepRecord>>, StoreError> {
        self.place(STEP, (key, Kind::Outputs))?.map(|place| self.store.step_at(key, place)).transpose()
    }

    /// The latest judgment under a key that failed in nothing. Ordinal, scorer and judge are those of the run that made it.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn judgment(&self, key: Key) -> Result<Option<Stored<JudgmentRecord>>, StoreError> {
        self.place(JUDGMENT, (key, Kind::Judgments))?.map(|place| self.store.judgment_at(place)).transpose()
    }

    /// Whether there is an output of a step.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn has_step(&self, key: Key) -> Result<bool, StoreError> {
        Ok(self.place(STEP, (key, Kind::Outputs))?.is_some())
    }

    /// Whether there is a judgment under a key that failed in nothing.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn has_judgment(&self, key: Key) -> Result<bool, StoreError> {
        Ok(self.place(JUDGMENT, (key, Kind::Judgments))?.is_some())
    }

    fn place(&self, what: &'static str, key: ReuseKey) -> Result<Option<Place>, StoreError> {
        let Some(latest) = self.store.place(what, key)? else { return Ok(None) };
        // Most often any run of any age will do, and then nobody asks whose it is.
        if self.oldest == Some(Moment(i64::MIN)) {
            return Ok(Some(latest));
        }
        self.store.read(what, |connection| match self.admits(connection, latest)? {
            true => Ok(Some(latest)),
            false => self.hidden(connection, key, latest),
        })
    }

    fn admits(&self, connection: &Connection, place: Place) -> Result<bool, ReadFailure> {
        let maker = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, Moment(row.get(1)?)));
        let (run, started_at) = connection.prepare_cached(MAKER)?.query_row(params![place.block], maker)?;
        Ok(self.own == Some(run) || self.oldest.is_some_and(|oldest| started_at >= oldest))
    }

    /// The run's own result behind one of another run. A later one than the index has was taken out of reuse.
    fn hidden(&self, connection: &Connection, key: ReuseKey, latest: Place) -> Result<Option<Place>, ReadFailure> {
        let Some(own) = self.own else { return Ok(None) };
        let mut hidden = lock(&self.hidden);
        let Hidden { read, places } = &mut *hidden;
        if *read < latest.block {
            let mut statement = connection.prepare_cached(OWN_LISTS)?;
            let mut rows = statement.query(params![own, *read, latest.block])?;
            while let Some(row) = rows.next()? {
                let list = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
                reuse::unpack_keys(row.get(0)?, list, |key, place| {
                    places.insert(key, place);
                })?;
            }
            *read = latest.block;
        }
        Ok(places.get(&key).copied().filter(|own| own.block < latest.block))
    }
}
