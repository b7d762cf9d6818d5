//! Tokens and money.

use karat_types::{CellCost, Usage};

use crate::block::pack::{Damage, Packer, Unpacker};

pub(super) fn pack_usage(packer: &mut Packer, usage: &Usage) {
    packer.number(usage.input_tokens);
    packer.number(usage.cached_input_tokens);
    packer.number(usage.output_tokens);
    packer.number(usage.reasoning_tokens);
}

pub(super) fn unpack_usage(unpacker: &mut Unpacker<'_>) -> Result<Usage, Damage> {
    Ok(Usage {
        input_tokens: unpacker.number()?,
        cached_input_tokens: unpacker.number()?,
        output_tokens: unpacker.number()?,
        reasoning_tokens: unpacker.number()?,
    })
}

pub(super) fn pack_cost(packer: &mut Packer, cost: &CellCost) {
    pack_usage(packer, &cost.usage);
    packer.option(cost.cost, Packer::money);
    packer.money(cost.paid);
}

pub(super) fn unpack_cost(unpacker: &mut Unpacker<'_>) -> Result<CellCost, Damage> {
    Ok(CellCost { usage: unpack_usage(unpacker)?, cost: unpacker.option(Unpacker::money)?, paid: unpacker.money()? })
}
