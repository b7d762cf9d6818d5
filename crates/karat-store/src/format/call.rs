//! Calls: the entries of a block's traces.

use bytes::Bytes;
use karat_types::{CallRecord, CostSource, FinishReason};

use super::cost::{pack_usage, unpack_usage};
use crate::block::call_log::{source_code, unpack_source};
use crate::block::pack::{Packer, Unpacker};
use crate::error::Damage;

/// Format version. Version 2 added `impossible`, version 3 what a cache stored, version 4 the source of the cost.
const VERSION: u8 = 4;

pub(crate) fn pack_call(packer: &mut Packer, call: &CallRecord) {
    packer.reserve(call.request.len() + call.response.len() + 128);
    packer.byte(VERSION);
    packer.key(call.key);
    packer.text(&call.model);
    packer.bytes(&call.request);
    packer.bytes(&call.response);
    packer.option(call.status, |packer, status| packer.number(u64::from(status)));
    packer.option(call.usage.as_ref(), pack_usage);
    packer.option(call.cost, Packer::money);
    packer.money(call.reserved);
    packer.float(call.latency_ms);
    packer.number(u64::from(call.attempts));
    packer.option(call.finish, |packer, finish| packer.byte(finish_code(finish)));
    packer.option(call.error.as_ref(), |packer, error| packer.json(error));
    packer.byte(u8::from(call.impossible));
    packer.byte(source_code(call.cost_source));
}

pub(crate) fn unpack_call(entry: &[u8]) -> Result<CallRecord, Damage> {
    let (mut unpacker, version) = Unpacker::with_version(entry, VERSION)?;
    let mut call = CallRecord {
        key: unpacker.key()?,
        model: unpacker.text()?.to_owned(),
        request: Bytes::copy_from_slice(unpacker.bytes()?),
        response: Bytes::copy_from_slice(unpacker.bytes()?),
        status: unpacker.option(Unpacker::number)?,
        usage: unpacker.option(|unpacker| unpack_usage(unpacker, version > 2))?,
        cost: unpacker.option(Unpacker::money)?,
        cost_source: CostSource::Table,
        reserved: unpacker.money()?,
        latency_ms: unpacker.float()?,
        attempts: unpacker.number()?,
        finish: unpacker.option(unpack_finish)?,
        error: unpacker.option(Unpacker::json)?,
        impossible: version > 1 && unpacker.flag()?,
    };
    call.cost_source = match version {
        // The known part of a cost that was booked before.
        ..4 if call.cost.is_none() => CostSource::Unknown,
        ..4 => CostSource::Table,
        _ => unpack_source(&mut unpacker)?,
    };
    unpacker.end()?;
    Ok(call)
}

fn finish_code(finish: FinishReason) -> u8 {
    match finish {
        FinishReason::Stop => 0,
        FinishReason::Length => 1,
        FinishReason::Refusal => 2,
        FinishReason::Other => 3,
        FinishReason::ToolCalls => 4,
        FinishReason::MalformedCall => 5,
    }
}

fn unpack_finish(unpacker: &mut Unpacker<'_>) -> Result<FinishReason, Damage> {
    Ok(match unpacker.byte()? {
        0 => FinishReason::Stop,
        1 => FinishReason::Length,
        2 => FinishReason::Refusal,
        3 => FinishReason::Other,
        4 => FinishReason::ToolCalls,
        5 => FinishReason::MalformedCall,
        code => return Err(Damage(format!("{code} is not a finish reason"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::test_data::call;

    /// Invariant 7, formats have versions, RE-23: calls of version 3, which do not say where their cost comes from, are read.
    #[test]
    fn calls_without_a_source_of_their_cost_are_read() {
        for (cost_source, cost) in [(CostSource::Table, Some(karat_types::Money(7))), (CostSource::Unknown, None)] {
            let record = CallRecord { cost, cost_source, ..call("a") };
            let written = Packer::pack(|packer| pack_call(packer, &record));
            let mut earlier = written[..written.len() - 1].to_vec();
            earlier[0] = 3;
            assert_eq!(unpack_call(&earlier).unwrap(), record);
            let reported = CallRecord { cost_source: CostSource::Reported, ..record };
            assert_eq!(unpack_call(&Packer::pack(|packer| pack_call(packer, &reported))).unwrap(), reported);
        }
    }
}
