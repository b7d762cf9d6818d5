//! The call log: a packed list in each block that says what the run's calls mean for money and for resume.
//!
//! One pass over a run's logs, oldest first, gives the money spent, the open reservations, and the paid replies that
//! no row uses yet. The pass remembers only what is open at one moment, so its memory grows with the run's
//! concurrency and not with its length.

use karat_types::{CallRecord, CellError, CostSource, Key, Money};

use crate::block::pack::{Packer, Unpacker, unseal};
use crate::error::Damage;

/// Format version. In version 1 each call settled its own reservation. Since version 2 a run releases reservations it
/// no longer needs. Since version 3 a call of unknown cost states the amount it counts with. Version 4 ends with a checksum.
/// Version 5 tells the uses of rows that failed from those of others, and where a known cost comes from.
const VERSION: u8 = 5;

/// The first version with a checksum.
const SEALED: u8 = 4;

const RESERVED: u8 = 1;
const ANSWERED: u8 = 2;
const FAILED: u8 = 3;
const USED: u8 = 4;
const RELEASED: u8 = 5;
const USED_IN_VAIN: u8 = 6;

/// One entry of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEvent {
    /// Permits this many calls in flight, which together cost at most `upper`.
    Reserved(Reservation),
    /// Returns part of a reservation that is no longer needed.
    Released(Reservation),
    /// A call ended. The n-th of these in a block is the n-th entry of its traces.
    Ended(EndedCall),
    /// A cell or judgment that uses the call has its row. `in_vain`: it failed, and this may not
    /// be the call that it failed of.
    Used { key: Key, in_vain: bool },
}

/// A number of calls and the most they may cost, reserved before they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reservation {
    /// Number of calls.
    pub calls: u64,
    /// Upper bound of their total cost.
    pub upper: Money,
}

/// The facts about a call that the log keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndedCall {
    pub key: Key,
    pub is_ok: bool,
    pub attempts: u32,
    pub cost: Option<Money>,
    pub cost_source: CostSource,
    /// Amount the call counts with when its cost is unknown.
    pub counts: Money,
    /// Part of the reservation that the call settles.
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
    match call.cost {
        None => packer.money(call.reserved),
        Some(_) => packer.byte(source_code(call.cost_source)),
    }
}

/// Packs the uses of a row that ended with an error or without one.
pub(crate) fn pack_uses(packer: &mut Packer, calls: &[Key], error: Option<&CellError>) {
    let is_in_vain = error.is_some_and(CellError::leaves_good_replies);
    for key in calls {
        packer.byte(if is_in_vain { USED_IN_VAIN } else { USED });
        packer.key(*key);
    }
}

/// Returns the log of a block, joined from the logs of its appends.
pub(crate) fn join<'a>(appends: impl Iterator<Item = &'a Packer>) -> Vec<u8> {
    Packer::pack(|packer| {
        packer.byte(VERSION);
        appends.for_each(|append| packer.plain(append.as_bytes()));
        packer.seal(0, &[]);
    })
}

/// Returns the entries of a block's log.
pub(crate) fn read(log: &[u8]) -> Result<CallEvents<'_>, Damage> {
    Unpacker::with_version(unseal(log, SEALED..=VERSION, &[])?, VERSION)
        .map(|(unpacker, version)| CallEvents { unpacker, version })
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
            tag @ (ANSWERED | FAILED) => self.ended_call(tag == ANSWERED).map(CallEvent::Ended),
            tag @ (USED | USED_IN_VAIN) => {
                Ok(CallEvent::Used { key: self.unpacker.key()?, in_vain: tag == USED_IN_VAIN })
            }
            tag => Err(Damage(format!("{tag} is not an entry of a call log"))),
        }
    }

    fn ended_call(&mut self, is_ok: bool) -> Result<EndedCall, Damage> {
        let (key, attempts) = (self.unpacker.key()?, self.unpacker.number()?);
        let cost = self.unpacker.option(Unpacker::money)?;
        let counts = if cost.is_none() && self.version >= 3 { self.unpacker.money()? } else { Money::ZERO };
        let cost_source = match cost {
            None => CostSource::Unknown,
            Some(_) if self.version >= 5 => unpack_source(&mut self.unpacker)?,
            Some(_) => CostSource::Table,
        };
        Ok(EndedCall { key, is_ok, attempts, cost, cost_source, counts, settled: self.settled_reservation()? })
    }

    fn reservation(&mut self) -> Result<Reservation, Damage> {
        let calls = self.unpacker.number()?;
        Ok(Reservation { calls, upper: self.unpacker.money()? })
    }

    fn settled_reservation(&mut self) -> Result<Reservation, Damage> {
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

pub(crate) fn source_code(source: CostSource) -> u8 {
    match source {
        CostSource::Table => 0,
        CostSource::Reported => 1,
        CostSource::Counted => 2,
        CostSource::Unknown => 3,
        CostSource::Simulated => 4,
    }
}

pub(crate) fn unpack_source(unpacker: &mut Unpacker<'_>) -> Result<CostSource, Damage> {
    Ok(match unpacker.byte()? {
        0 => CostSource::Table,
        1 => CostSource::Reported,
        2 => CostSource::Counted,
        3 => CostSource::Unknown,
        4 => CostSource::Simulated,
        code => return Err(Damage(format!("{code} is not a source of a cost"))),
    })
}
