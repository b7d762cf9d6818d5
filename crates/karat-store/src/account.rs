//! What a run has spent, what it may owe, and what it has paid for without using it yet.

use karat_types::{Key, Money};
use rusqlite::{Connection, params};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::calllog::{self, CallEvent, EndedCall, Reservation};
use crate::error::ReadFailure;

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
    /// What is reserved and not released: in a run that was cut off, it counts as made and spent.
    pub open: Reservation,
}

/// Replies that a run paid for and that no cell or judgment of it rests on yet, because it was cut off in between.
/// A resumed run takes them from here instead of calling again.
#[derive(Debug, Default)]
pub struct PaidCalls {
    pub(crate) at: FxHashMap<Key, TraceAt>,
    /// Calls without a reply that nothing rests on either: the run was stopped before their next attempt.
    pub(crate) cut_short: FxHashMap<Key, TraceAt>,
    /// Replies that cells or judgments rest on which are to be made again, because another of their calls failed.
    pub(crate) again: FxHashMap<Key, TraceAt>,
    /// Calls of those that have no reply.
    pub(crate) unanswered: FxHashSet<Key>,
}

/// Where a call's trace lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceAt {
    pub block: i64,
    pub entry: u64,
}

/// Everything that one pass over the call logs of a run tells.
#[derive(Debug, Default)]
pub struct Account {
    /// Calls and money.
    pub spending: Spending,
    /// Calls that are known to have cost something.
    pub billed: u64,
    /// What the dearest call cost, or counts with where nobody knows that; `None` while none has cost anything.
    pub dearest: Option<Money>,
    /// Replies that nothing rests on yet.
    pub paid: PaidCalls,
}

impl PaidCalls {
    fn add(&mut self, call: &EndedCall, at: TraceAt, is_of_failure: bool) {
        match call.is_ok {
            true => self.unanswered.remove(&call.key),
            false => is_of_failure && self.unanswered.insert(call.key),
        };
        let calls = if call.is_ok { &mut self.at } else { &mut self.cut_short };
        calls.insert(call.key, at);
    }

    fn used(&mut self, key: Key, is_of_failure: bool) {
        if let Some(at) = self.at.remove(&key).filter(|_| is_of_failure) {
            self.again.insert(key, at);
        }
        self.cut_short.remove(&key);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.at.len() + self.again.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is one of this key of a cell or judgment that is made again.
    pub fn is_of_failure(&self, key: Key) -> bool {
        self.again.contains_key(&key)
    }

    /// Whether there is one of this key that no cell has told.
    pub fn contains(&self, key: Key) -> bool {
        self.at.contains_key(&key)
    }
}

impl Account {
    /// Replies of `failures` are open again.
    pub(crate) fn of_run(connection: &Connection, run: i64, failures: &FxHashSet<Key>) -> Result<Self, ReadFailure> {
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
                    CallEvent::Released(reservation) => add(&mut settled, reservation),
                    CallEvent::Ended(call) => {
                        account.spending.add(&call);
                        account.billed += u64::from(call.cost.is_some_and(|cost| cost > Money::ZERO));
                        let counts = Some(call.cost.unwrap_or(call.counts)).filter(|money| *money > Money::ZERO);
                        account.dearest = account.dearest.max(counts);
                        add(&mut settled, call.settled);
                        account.paid.add(&call, TraceAt { block, entry }, failures.contains(&call.key));
                        entry += 1;
                    }
                    CallEvent::Used(key) => {
                        account.paid.used(key, failures.contains(&key));
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
    /// Calls, each attempt as one, and money that count: those that ended, and what is open.
    pub fn committed(&self) -> Reservation {
        Reservation { calls: self.attempts + self.open.calls, upper: self.spent + self.open.upper }
    }

    pub(crate) fn of_run(connection: &Connection, run: i64) -> Result<Self, ReadFailure> {
        Ok(Account::of_run(connection, run, &FxHashSet::default())?.spending)
    }

    fn add(&mut self, call: &EndedCall) {
        self.calls += 1;
        self.attempts += u64::from(call.attempts);
        self.spent += call.cost.unwrap_or_default();
        self.unpriced += u64::from(call.cost.is_none());
    }
}
