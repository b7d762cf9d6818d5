//! Replies that other runs have paid for and that no row of theirs uses, by the content key of the call.
//!
//! A killed run leaves such replies, and so does a judgment of several votes of which one failed. Whichever run needs the
//! call next finds its reply here: a call is paid once a store. Results that are whole are found before, as a whole.
//!
//! A pass over the call log of a run finds its replies. Those of runs that have ended are kept as derived data, so that
//! each log is read once. What other processes write meanwhile is read by [`PaidElsewhere::refresh`].

use std::sync::Mutex;

use karat_types::{CallRecord, Key, KeyBuilder, Moment};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::block::call_log;
use crate::block::call_log::CallEvent;
use crate::block::pack::{Packer, Unpacker};
use crate::error::{Damage, ReadFailure};
use crate::format::run_lookup::{find_run_number, newest_run};
use crate::read::account::{LOGS, TraceLocation, log_query, read_log};
use crate::sql::mutex::lock;
use crate::sql::tables::{RELEASED, run_column as column};
use crate::sql::{Connection, params};
use crate::{DerivedData, Store, StoreError};

/// The kind of derived data.
const KIND: &str = "paid-replies/1";

/// Runs whose results were invalidated are left out: nothing of them is used again.
const NEWEST_OF: &str = "select coalesce(max(seq), 0) from blocks where run = ?1";
const NEWEST: &str = "select coalesce(max(seq), 0) from blocks";
const NEW_LOGS: &str = "from blocks where seq > ?1 and seq <= ?2 and run <> ?3 order by seq";

type Replies = FxHashMap<Key, TraceLocation>;

/// The replies that other runs have paid for.
#[derive(Debug)]
pub struct PaidElsewhere {
    /// The run that looks for them.
    own: i64,
    found: Mutex<FoundReplies>,
    /// Runs whose call log is damaged: of them nothing is found.
    pub damaged: Vec<StoreError>,
}

#[derive(Debug, Default)]
struct FoundReplies {
    /// The last block whose log was read.
    read: i64,
    replies: Replies,
}

impl Store {
    /// Returns the replies that other runs have paid for, of those that started at `oldest` or later.
    ///
    /// # Errors
    /// A call log cannot be read.
    pub fn paid_elsewhere(&self, run: &str, oldest: Moment) -> Result<PaidElsewhere, StoreError> {
        let kept: FxHashMap<i64, DerivedData> = self.derived_by_run(KIND)?.into_iter().collect();
        let (elsewhere, new) = self.read("the calls of other runs", |connection| {
            let own = find_run_number(connection, run)?.unwrap_or_default();
            let snapshot = connection.snapshot()?;
            let read = snapshot.query_row(NEWEST, params![], |row| row.get(0))?;
            let select = format!("select {} from released", RELEASED.select(&snapshot, &[]));
            let mut statement = snapshot.prepare_cached(&select)?;
            let released = statement.query_map(params![], |row| {
                RELEASED.check(row, &[])?;
                row.get(0)
            })?;
            let released = released.collect::<Result<FxHashSet<i64>, _>>()?;
            let mut runs = Vec::new();
            let mut statement = snapshot.prepare_cached(NEWEST_OF)?;
            newest_run(&snapshot, &[], |row| {
                let (run, started_at): (i64, i64) = (row.get(column::ID)?, row.get(column::STARTED_AT)?);
                if run != own && started_at >= oldest.0 && !released.contains(&run) {
                    let newest: i64 = statement.query_row(params![run], |row| row.get(0))?;
                    let facts =
                        (row.get::<i64>(column::STATUS)?, row.get::<Option<i64>>(column::COMPLETED_AT)?, newest);
                    runs.push((run, KeyBuilder::new(KIND).json(&facts).finish()));
                }
                Ok(None::<()>)
            })?;
            let (mut all, mut new, mut damaged) = (Replies::default(), Vec::new(), Vec::new());
            for (run, state) in runs.into_iter().rev() {
                let known = kept.get(&run).filter(|kept| kept.key == state).and_then(|kept| unpack(&kept.bytes).ok());
                match known
                    .map_or_else(|| replies_of_run(&snapshot, run).map(|found| (found, true)), |it| Ok((it, false)))
                {
                    Ok((replies, is_new)) => {
                        new.extend(is_new.then(|| (run, state, pack(&replies))));
                        all.extend(replies);
                    }
                    Err(failure) if failure.is_damage() => {
                        damaged.push(failure.of(self.path(), "the call log of another run"));
                    }
                    Err(failure) => return Err(failure),
                }
            }
            let found = Mutex::new(FoundReplies { read, replies: all });
            Ok((PaidElsewhere { own, found, damaged }, new))
        })?;
        self.keep_derived_of_runs(KIND, &new)?;
        Ok(elsewhere)
    }
}

impl PaidElsewhere {
    /// Reads what other processes have written since.
    ///
    /// # Errors
    /// A call log cannot be read.
    pub fn refresh(&self, store: &Store) -> Result<(), StoreError> {
        store.read("the calls of other runs", |connection| {
            let snapshot = connection.snapshot()?;
            let newest = snapshot.query_row(NEWEST, params![], |row| row.get(0))?;
            let mut found = lock(&self.found);
            if newest > found.read {
                let mut statement = snapshot.prepare_long(&log_query(&snapshot, NEW_LOGS))?;
                let mut rows = statement.query(params![found.read, newest, self.own])?;
                while let Some(row) = rows.next()? {
                    add_replies(read_log(&row)?, &mut found.replies)?;
                }
                found.read = newest;
            }
            Ok(())
        })
    }

    /// Reads a reply by the key of its call.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn get(&self, store: &Store, key: Key) -> Result<Option<CallRecord>, StoreError> {
        let place = lock(&self.found).replies.get(&key).copied();
        place.map_or(Ok(None), |place| place.read(store, key))
    }
}

/// The replies of a run that no good row of it uses.
fn replies_of_run(connection: &Connection, run: i64) -> Result<Replies, ReadFailure> {
    let mut statement = connection.prepare_long(&log_query(connection, LOGS))?;
    let mut rows = statement.query(params![run])?;
    let mut replies = Replies::default();
    while let Some(row) = rows.next()? {
        add_replies(read_log(&row)?, &mut replies)?;
    }
    Ok(replies)
}

fn add_replies((block, log): (i64, &[u8]), replies: &mut Replies) -> Result<(), Damage> {
    let mut entry = 0;
    for event in call_log::read(log)? {
        match event? {
            CallEvent::Ended(call) => {
                if call.is_ok {
                    replies.insert(call.key, TraceLocation { block, entry });
                }
                entry += 1;
            }
            CallEvent::Used { key, in_vain: false } => _ = replies.remove(&key),
            CallEvent::Used { .. } | CallEvent::Reserved(_) | CallEvent::Released(_) => {}
        }
    }
    Ok(())
}

fn pack(replies: &Replies) -> Vec<u8> {
    Packer::pack(|packer| {
        for (key, TraceLocation { block, entry }) in replies {
            packer.key(*key);
            packer.number(block.unsigned_abs());
            packer.number(*entry);
        }
    })
}

fn unpack(bytes: &[u8]) -> Result<Replies, Damage> {
    let (mut unpacker, mut replies) = (Unpacker::plain(bytes), Replies::default());
    while !unpacker.is_empty() {
        let key = unpacker.key()?;
        replies.insert(key, TraceLocation { block: unpacker.number()?, entry: unpacker.number()? });
    }
    Ok(replies)
}
