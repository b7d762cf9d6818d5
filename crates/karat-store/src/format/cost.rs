//! Tokens and money.

use karat_types::{CellCost, Usage};

use crate::block::pack::{Packer, Unpacker};
use crate::error::Damage;

pub(super) fn pack_usage(packer: &mut Packer, usage: &Usage) {
    packer.number(usage.input_tokens);
    packer.number(usage.cached_input_tokens);
    packer.number(usage.output_tokens);
    packer.number(usage.reasoning_tokens);
    packer.number(usage.cache_write_tokens);
    packer.number(usage.cache_write_1h_tokens);
}

/// Reads token counts; those of cache writes are missing in earlier versions of the forms.
pub(super) fn unpack_usage(unpacker: &mut Unpacker<'_>, has_cache_writes: bool) -> Result<Usage, Damage> {
    let mut usage = Usage {
        input_tokens: unpacker.number()?,
        cached_input_tokens: unpacker.number()?,
        output_tokens: unpacker.number()?,
        reasoning_tokens: unpacker.number()?,
        ..Usage::default()
    };
    if has_cache_writes {
        usage.cache_write_tokens = unpacker.number()?;
        usage.cache_write_1h_tokens = unpacker.number()?;
    }
    Ok(usage)
}

pub(super) fn pack_cost(packer: &mut Packer, cost: &CellCost) {
    pack_usage(packer, &cost.usage);
    packer.option(cost.cost, Packer::money);
    packer.money(cost.paid);
}

pub(super) fn unpack_cost(unpacker: &mut Unpacker<'_>, has_cache_writes: bool) -> Result<CellCost, Damage> {
    let usage = unpack_usage(unpacker, has_cache_writes)?;
    Ok(CellCost { usage, cost: unpacker.option(Unpacker::money)?, paid: unpacker.money()? })
}
