//! The account of a run: money spent, money that may still be owed, and paid replies that no result uses yet.

use karat_types::{CostSource, Key, Money};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::block::call_log;
use crate::block::call_log::{CallEvent, EndedCall, Reservation};
use crate::error::{Damage, ReadFailure};
use crate::sql::tables::BLOCKS;
use crate::sql::{Connection, OptionalExtension, Remedy, Row, params};

/// The end of the query of a run's call logs.
pub(crate) const LOGS: &str = "from blocks where run = ?1 order by seq";

/// A commit of a run whose row is gone, or names another run.
const LOST: &str = "select seq from block_sums as it where run = ?1 and not exists
    (select 1 from blocks where blocks.seq = it.seq and blocks.run = it.run) limit 1";

/// The query of call logs that ends so: number of the block, run, log.
pub(crate) fn log_query(connection: &Connection, end: &str) -> String {
    format!("select {} {end}", BLOCKS.select(connection, &["log"]))
}

/// Checks a row of [`log_query`], and returns the number of the block and its log.
pub(crate) fn read_log<'r>(row: &Row<'r>) -> Result<(i64, &'r [u8]), ReadFailure> {
    BLOCKS.check(row, &["log"])?;
    Ok((row.get(0)?, row.blob(2)?))
}

/// Checks that all commits of a run are there: a call that is missing would look unpaid.
pub(crate) fn check_commits(connection: &Connection, run: i64) -> Result<(), ReadFailure> {
    if !connection.is_sealed() {
        return Ok(());
    }
    let lost = connection.prepare_cached(LOST)?.query_row(params![run], |row| row.get::<i64>(0)).optional()?;
    match lost {
        None => Ok(()),
        Some(block) => {
            let advice = Remedy::Restore.advice();
            Err(Damage(format!("the row seq {block} of the table `blocks` is gone, or names another run; {advice}"))
                .into())
        }
    }
}

/// Calls and money of a run, over all its parts (first run, resumes, retries).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// Number of calls that ended, including failed ones.
    pub calls: u64,
    /// Number of attempts of those calls.
    pub attempts: u64,
    /// Total cost, as far as prices are known.
    pub spent: Money,
    /// The part of it that providers stated themselves.
    pub reported: Money,
    /// The part of it whose tokens the provider did not count.
    pub counted: Money,
    /// Number of calls whose price is unknown.
    pub unpriced: u64,
    /// Calls and money that are reserved and not released. In a run that was cut off, they count as made and spent.
    pub open: Reservation,
}

/// Replies that a run paid for and that no cell or judgment of it uses yet, because the run was cut off in between. A
/// resumed run takes them from here and does not repeat the call.
#[derive(Debug, Default)]
pub struct PaidCalls {
    pub(crate) at: FxHashMap<Key, TraceLocation>,
    /// Calls without a reply that no result uses: the run stopped before their next attempt.
    pub(crate) cut_short: FxHashMap<Key, TraceLocation>,
    /// Replies used by cells or judgments that will be re-run because another of their calls failed.
    pub(crate) again: FxHashMap<Key, TraceLocation>,
}

/// The place of a call's trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceLocation {
    pub block: i64,
    pub entry: u64,
}

/// The result of one pass over the call logs of a run.
#[derive(Debug, Default)]
pub struct Account {
    /// Calls and money.
    pub spending: Spending,
    /// Number of calls that are known to have cost something.
    pub billed: u64,
    /// Cost of the most expensive call, or the amount it counts with if its cost is unknown. `None` if no call has
    /// cost anything.
    pub dearest: Option<Money>,
    /// Replies that no result uses yet.
    pub paid: PaidCalls,
}

impl PaidCalls {
    fn add(&mut self, call: &EndedCall, at: TraceLocation) {
        let calls = if call.is_ok { &mut self.at } else { &mut self.cut_short };
        calls.insert(call.key, at);
    }

    fn mark_used(&mut self, key: Key, is_of_failure: bool) {
        if let Some(at) = self.at.remove(&key).filter(|_| is_of_failure) {
            self.again.insert(key, at);
        }
        self.cut_short.remove(&key);
    }

    /// Returns the number of replies.
    pub fn len(&self) -> usize {
        self.at.len() + self.again.len()
    }

    /// Returns `true` if there is no reply.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys of replies that no result uses.
    pub fn keys_without_use(&self) -> impl Iterator<Item = Key> + '_ {
        self.at.keys().copied()
    }

    /// Returns `true` if the reply with this key belongs to a cell or judgment that is re-run.
    pub fn is_of_rerun(&self, key: Key) -> bool {
        self.again.contains_key(&key)
    }

    /// Returns `true` if there is a reply with this key that no cell uses.
    pub fn contains(&self, key: Key) -> bool {
        self.at.contains_key(&key)
    }
}

impl Account {
    /// Reads the account of a run. Replies used by the calls in `failures` count as unused again.
    pub(crate) fn of_run(connection: &Connection, run: i64, failures: &FxHashSet<Key>) -> Result<Self, ReadFailure> {
        let mut account = Self::default();
        let (mut reserved, mut settled) = (Reservation::default(), Reservation::default());
        let snapshot = connection.snapshot_if_none()?;
        check_commits(&snapshot, run)?;
        let mut statement = snapshot.prepare_long(&log_query(&snapshot, LOGS))?;
        let mut rows = statement.query(params![run])?;
        while let Some(row) = rows.next()? {
            let (block, log) = read_log(&row)?;
            let mut entry = 0;
            for event in call_log::read(log)? {
                match event? {
                    CallEvent::Reserved(reservation) => add(&mut reserved, reservation),
                    CallEvent::Released(reservation) => add(&mut settled, reservation),
                    CallEvent::Ended(call) => {
                        account.spending.add(&call);
                        account.billed += u64::from(call.cost.is_some_and(|cost| cost > Money::ZERO));
                        let counts = Some(call.cost.unwrap_or(call.counts)).filter(|money| *money > Money::ZERO);
                        account.dearest = account.dearest.max(counts);
                        add(&mut settled, call.settled);
                        account.paid.add(&call, TraceLocation { block, entry });
                        entry += 1;
                    }
                    CallEvent::Used { key, .. } => account.paid.mark_used(key, failures.contains(&key)),
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
    /// Returns the calls (each attempt counts as one) and the money that count against limits: what ended and what is
    /// open.
    pub fn committed_total(&self) -> Reservation {
        Reservation { calls: self.attempts + self.open.calls, upper: self.spent + self.open.upper }
    }

    pub(crate) fn of_run(connection: &Connection, run: i64) -> Result<Self, ReadFailure> {
        Ok(Account::of_run(connection, run, &FxHashSet::default())?.spending)
    }

    fn add(&mut self, call: &EndedCall) {
        self.calls += 1;
        self.attempts += u64::from(call.attempts);
        let cost = call.cost.unwrap_or_default();
        self.spent += cost;
        match call.cost_source {
            CostSource::Reported => self.reported += cost,
            CostSource::Counted => self.counted += cost,
            CostSource::Table | CostSource::Unknown | CostSource::Simulated => {}
        }
        self.unpriced += u64::from(call.cost.is_none());
    }
}
