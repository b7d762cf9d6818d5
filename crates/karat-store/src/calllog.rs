//! What the calls of a run mean for money and for resume: a packed log in each block.
//!
//! One pass over a run's logs, oldest first, tells what was spent, which reservations are still open and which paid
//! replies no row has used yet. What the pass remembers is what is open at one moment, so it is bounded by the run's
//! concurrency, not by its length.

use karat_types::{CallRecord, Key, Money};

use crate::pack::{Damage, Packer, Unpacker};

/// In version 1 each call settled what was reserved for it; since 2 a run releases what it no longer needs; since 3 a call whose
/// cost nobody knows says what it counts with.
const VERSION: u8 = 3;

const RESERVED: u8 = 1;
const ANSWERED: u8 = 2;
const FAILED: u8 = 3;
const USED: u8 = 4;
const RELEASED: u8 = 5;

/// One entry of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEvent {
    /// So many calls may be in flight, and cost at most so much together.
    Reserved(Reservation),
    /// So much of what was reserved is not needed any more.
    Released(Reservation),
    /// A call has ended; the n-th of these in a block is the n-th entry of its traces.
    Ended(EndedCall),
    /// A cell or judgment that rests on the call has its row.
    Used(Key),
}

/// Calls that were, or are, about to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reservation {
    /// How many.
    pub calls: u64,
    /// Upper bound of what they cost together.
    pub upper: Money,
}

/// What the log keeps of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndedCall {
    pub key: Key,
    pub is_ok: bool,
    pub attempts: u32,
    pub cost: Option<Money>,
    /// What it counts with where nobody knows what it cost.
    pub counts: Money,
    /// What it settles of what was reserved.
    pub settled: Reservation,
}

pub(crate) fn pack_reserved(packer: &mut Packer, reservation: Reservation) {
    packer.byte(RESERVED);
    packer.number(reservation.calls);
    packer.money(reservation.upper);
}

pub(crate) fn pack_released(packer: &mut Packer, reservation: Reservation) {
    packer.byte(RELEASED);
    packer.number(reservation.calls);
    packer.money(reservation.upper);
}

pub(crate) fn pack_ended(packer: &mut Packer, call: &CallRecord) {
    packer.byte(if call.error.is_none() { ANSWERED } else { FAILED });
    packer.key(call.key);
    packer.number(u64::from(call.attempts));
    packer.option(call.cost, Packer::money);
    if call.cost.is_none() {
        packer.money(call.reserved);
    }
}

pub(crate) fn pack_used(packer: &mut Packer, calls: &[Key]) {
    for key in calls {
        packer.byte(USED);
        packer.key(*key);
    }
}

/// The log of a block, from what its appends have packed.
pub(crate) fn join<'a>(appends: impl Iterator<Item = &'a Packer>) -> Vec<u8> {
    let mut log = vec![VERSION];
    appends.for_each(|append| log.extend_from_slice(append.packed()));
    log
}

/// Reads the log of a block.
pub(crate) fn read(log: &[u8]) -> Result<CallEvents<'_>, Damage> {
    Unpacker::with_version(log, VERSION).map(|(unpacker, version)| CallEvents { unpacker, version })
}

/// The entries of a block's log, in order.
pub(crate) struct CallEvents<'a> {
    unpacker: Unpacker<'a>,
    version: u8,
}

impl CallEvents<'_> {
    fn read_one(&mut self) -> Result<CallEvent, Damage> {
        match self.unpacker.byte()? {
            RESERVED => self.reservation().map(CallEvent::Reserved),
            RELEASED => self.reservation().map(CallEvent::Released),
            tag @ (ANSWERED | FAILED) => self.ended(tag == ANSWERED).map(CallEvent::Ended),
            USED => self.unpacker.key().map(CallEvent::Used),
            tag => Err(Damage(format!("{tag} is no entry of a call log"))),
        }
    }

    fn ended(&mut self, is_ok: bool) -> Result<EndedCall, Damage> {
        let (key, attempts) = (self.unpacker.key()?, self.unpacker.number()?);
        let cost = self.unpacker.option(Unpacker::money)?;
        let counts = if cost.is_none() && self.version >= 3 { self.unpacker.money()? } else { Money::ZERO };
        Ok(EndedCall { key, is_ok, attempts, cost, counts, settled: self.settled()? })
    }

    fn reservation(&mut self) -> Result<Reservation, Damage> {
        let calls = self.unpacker.number()?;
        Ok(Reservation { calls, upper: self.unpacker.money()? })
    }

    fn settled(&mut self) -> Result<Reservation, Damage> {
        match self.version {
            1 => Ok(Reservation { calls: 1, upper: self.unpacker.money()? }),
            _ => Ok(Reservation::default()),
        }
    }
}

impl Iterator for CallEvents<'_> {
    type Item = Result<CallEvent, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        (!self.unpacker.is_empty()).then(|| self.read_one())
    }
}
