//! What a run has spent, what it may owe, and what it has paid for without using it yet.

use karat_types::{CallRecord, Key, Money};
use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use crate::cache::Kind;
use crate::calllog::{self, CallEvent, EndedCall, Reservation};
use crate::error::ReadFailure;
use crate::format::unpack_call;
use crate::known::run_number;
use crate::{Store, StoreError};

pub(crate) const LOGS: &str = "select seq, log from blocks where run = ?1 order by seq";

/// Calls and money of a run, over all its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// Calls that ended, failed ones included.
    pub calls: u64,
    /// Attempts of those calls.
    pub attempts: u64,
    /// What they cost, where the price is known.
    pub spent: Money,
    /// Calls whose price is unknown.
    pub unpriced: u64,
    /// Calls that were reserved and have not ended: in a run that was cut off, they count as spent.
    pub open: Reservation,
}

/// Where a call's trace lies.
#[derive(Debug, Clone, Copy)]
struct TraceAt {
    block: i64,
    entry: u64,
}

/// Everything that one pass over the call logs of a run tells.
#[derive(Debug, Default)]
struct Account {
    spending: Spending,
    unused: FxHashMap<Key, TraceAt>,
}

impl Account {
    fn of_run(connection: &Connection, run: i64) -> Result<Self, ReadFailure> {
        let mut account = Self::default();
        let (mut reserved, mut settled) = (Reservation::default(), Reservation::default());
        let mut statement = connection.prepare_cached(LOGS)?;
        let mut rows = statement.query(params![run])?;
        while let Some(row) = rows.next()? {
            let block = row.get(0)?;
            let log = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let mut entry = 0;
            for event in calllog::read(log)? {
                match event? {
                    CallEvent::Reserved(reservation) => add(&mut reserved, reservation),
                    CallEvent::Ended(call) => {
                        account.spending.add(&call);
                        add(&mut settled, Reservation { calls: 1, upper: call.reserved });
                        if call.is_ok {
                            account.unused.insert(call.key, TraceAt { block, entry });
                        }
                        entry += 1;
                    }
                    CallEvent::Used(key) => {
                        account.unused.remove(&key);
                    }
                }
            }
        }
        account.spending.open = Reservation {
            calls: reserved.calls.saturating_sub(settled.calls),
            upper: (reserved.upper - settled.upper).max(Money::ZERO),
        };
        Ok(account)
    }
}

fn add(sum: &mut Reservation, reservation: Reservation) {
    sum.calls += reservation.calls;
    sum.upper += reservation.upper;
}

impl Spending {
    pub(crate) fn of_run(connection: &Connection, run: i64) -> Result<Self, ReadFailure> {
        Ok(Account::of_run(connection, run)?.spending)
    }

    fn add(&mut self, call: &EndedCall) {
        self.calls += 1;
        self.attempts += u64::from(call.attempts);
        self.spent += call.cost.unwrap_or_default();
        self.unpriced += u64::from(call.cost.is_none());
    }
}

/// Replies that a run paid for and that no cell or judgment of it rests on yet, because it was cut off in between.
/// A resumed run takes them from here instead of calling again.
#[derive(Debug)]
pub struct PaidCalls {
    store: Store,
    at: FxHashMap<Key, TraceAt>,
}

impl PaidCalls {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Whether there is one of this key.
    pub fn contains(&self, key: Key) -> bool {
        self.at.contains_key(&key)
    }

    /// Fetches one by its key.
    ///
    /// # Errors
    /// Its trace cannot be read.
    pub fn get(&self, key: Key) -> Result<Option<CallRecord>, StoreError> {
        let Some(TraceAt { block, entry }) = self.at.get(&key).copied() else {
            return Ok(None);
        };
        self.store.read("a paid call", |connection| {
            let traces = &self.store.0.cache.section(connection, block, Kind::Traces)?.section;
            Ok(Some(unpack_call(traces.entry(entry)?)?))
        })
    }
}

impl Store {
    /// The successful calls of a run that no row rests on yet.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn paid_calls(&self, run: &str) -> Result<PaidCalls, StoreError> {
        let at = self.account(run)?.unused;
        Ok(PaidCalls { store: self.clone(), at })
    }

    /// What a run has reserved and not settled: if it was cut off, this may have been paid and counts as spent.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn open_reservations(&self, run: &str) -> Result<Reservation, StoreError> {
        Ok(self.spending(run)?.open)
    }

    /// Calls and money of a run so far.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], or the run's call log cannot be read.
    pub fn spending(&self, run: &str) -> Result<Spending, StoreError> {
        Ok(self.account(run)?.spending)
    }

    fn account(&self, run: &str) -> Result<Account, StoreError> {
        self.read("the call log of a run", |connection| Account::of_run(connection, run_number(connection, run)?))
    }
}
