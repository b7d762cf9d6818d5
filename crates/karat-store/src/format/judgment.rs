//! Judgments: an entry of a block's judgments.

use karat_types::{JudgmentRecord, Key};

use super::cost::{pack_cost, unpack_cost};
use super::notes::{pack_error, pack_keys, pack_notes, unpack_error, unpack_keys, unpack_notes};
use super::score::{pack_scores, unpack_scores};
use crate::pack::{Damage, Packer, Unpacker};

const VERSION: u8 = 1;

/// Where a judgment stands: what the columns of its row say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JudgmentPlace {
    pub ordinal: u64,
    pub scorer: u16,
    pub judge: u16,
    pub key: Key,
}

/// Whether another run may take it over: it failed in nothing.
pub(crate) fn is_reusable(judgment: &JudgmentRecord) -> bool {
    judgment.error.is_none() && !judgment.scores.iter().any(|(_, score)| score.is_unscored())
}

/// Packs all but the place.
pub(crate) fn pack_judgment(packer: &mut Packer, judgment: &JudgmentRecord) {
    packer.byte(VERSION);
    pack_scores(packer, &judgment.scores);
    packer.text(&judgment.reasoning);
    packer.option(Some(&judgment.diagnostics).filter(|map| !map.is_empty()), |packer, map| packer.json(map));
    packer.list(&judgment.caps, |packer, cap| packer.text(cap));
    packer.option(judgment.rung.as_deref(), Packer::text);
    packer.number(judgment.shuffle_seed);
    packer.option(judgment.prompt_version.as_deref(), Packer::text);
    packer.byte(u8::from(judgment.reused));
    pack_error(packer, judgment.error.as_ref());
    pack_cost(packer, &judgment.cost);
    packer.float(judgment.latency_ms);
    pack_keys(packer, &judgment.calls);
    pack_notes(packer, &judgment.notes);
}

/// Reads a judgment back.
pub(crate) fn unpack_judgment(place: JudgmentPlace, entry: &[u8]) -> Result<JudgmentRecord, Damage> {
    let mut unpacker = Unpacker::versioned(entry, VERSION)?;
    let JudgmentPlace { ordinal, scorer, judge, key } = place;
    let judgment = JudgmentRecord {
        ordinal,
        key,
        scorer,
        judge,
        scores: unpack_scores(&mut unpacker)?,
        reasoning: unpacker.text()?.to_owned(),
        diagnostics: unpacker.option(Unpacker::json)?.unwrap_or_default(),
        caps: unpacker.list(|unpacker| unpacker.text().map(str::to_owned))?,
        rung: unpacker.option(Unpacker::text)?.map(str::to_owned),
        shuffle_seed: unpacker.number()?,
        prompt_version: unpacker.option(Unpacker::text)?.map(str::to_owned),
        reused: unpacker.flag()?,
        error: unpack_error(&mut unpacker)?,
        cost: unpack_cost(&mut unpacker)?,
        latency_ms: unpacker.float()?,
        calls: unpack_keys(&mut unpacker)?,
        notes: unpack_notes(&mut unpacker)?,
    };
    unpacker.end()?;
    Ok(judgment)
}
