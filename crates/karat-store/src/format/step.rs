//! Steps: an entry of a block's outputs, after the entry of the output itself.

use std::sync::Arc;

use karat_types::{Key, StepRecord};
use serde_json::Value;

use super::cost::{pack_usage, unpack_usage};
use super::notes::{
    pack_answered, pack_facts, pack_keys, pack_notes, unpack_answered, unpack_facts, unpack_keys, unpack_notes,
};
use crate::block::pack::{Packer, Unpacker};
use crate::error::Damage;

/// Format version. 2 added the facts at the end, 3 the models that answered.
const VERSION: u8 = 4;

/// Packs everything but key and output. `distance` is the number of entries between the output and this one.
pub(crate) fn pack_step(packer: &mut Packer, step: &StepRecord, distance: u64) {
    packer.byte(VERSION);
    packer.number(distance);
    pack_notes(packer, &step.notes);
    pack_usage(packer, &step.usage);
    packer.option(step.cost, Packer::money);
    packer.float(step.latency_ms);
    pack_keys(packer, &step.calls);
    pack_facts(packer, &step.facts);
    pack_answered(packer, &step.facts.answered);
}

/// Unpacks a step. `output` returns the output that lies the given number of entries before it.
pub(crate) fn unpack_step(
    key: Key,
    entry: &[u8],
    output: impl FnOnce(u64) -> Result<Value, Damage>,
) -> Result<StepRecord, Damage> {
    let (mut unpacker, version) = Unpacker::with_version(entry, VERSION)?;
    let distance = unpacker.number()?;
    let mut step = StepRecord {
        key,
        output: Arc::new(output(distance)?),
        notes: unpack_notes(&mut unpacker)?,
        usage: unpack_usage(&mut unpacker, version > 3)?,
        cost: unpacker.option(Unpacker::money)?,
        latency_ms: unpacker.float()?,
        calls: unpack_keys(&mut unpacker)?,
        facts: unpack_facts(&mut unpacker)?,
    };
    step.facts.answered = unpack_answered(&mut unpacker)?;
    unpacker.end()?;
    Ok(step)
}
