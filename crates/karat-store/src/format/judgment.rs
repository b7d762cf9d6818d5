//! Judgments: the entries of a block's judgments.

use karat_types::{AskedJudge, CascadeDraw, JudgeRound, JudgmentRecord};

use super::cost::{pack_cost, unpack_cost};
use super::notes::{
    pack_answered, pack_error, pack_keys, pack_notes, unpack_answered, unpack_error, unpack_keys, unpack_notes,
};
use super::score::{finite, pack_scores, unpack_scores};
use crate::block::pack::{Packer, Unpacker};
use crate::error::Damage;

/// Format version. 2 added the time at which a reused judgment was made, 3 the rounds of a judge that was asked
/// several times, 4 the models that answered, 6 the other side of each round, 7 the draw of a cascade.
const VERSION: u8 = 7;

/// Returns `true` if the judgment has neither an error nor an unscored metric, so that other runs may reuse it.
pub(crate) fn is_sound(judgment: &JudgmentRecord) -> bool {
    judgment.error.is_none() && !judgment.scores.iter().any(|(_, score)| score.is_unscored())
}

pub(crate) fn pack_judgment(packer: &mut Packer, judgment: &JudgmentRecord) {
    packer.byte(VERSION);
    packer.number(judgment.ordinal);
    packer.key(judgment.key);
    packer.number(u64::from(judgment.scorer));
    packer.number(u64::from(judgment.judge));
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
    packer.option(judgment.made_at, Packer::moment);
    packer.list(&judgment.rounds, pack_round);
    pack_answered(packer, &judgment.answered);
    packer.option(judgment.cascade, |packer, draw| {
        packer.byte(asked_code(draw.asked));
        packer.float(draw.pi);
    });
}

fn asked_code(asked: AskedJudge) -> u8 {
    match asked {
        AskedJudge::Unsure => 0,
        AskedJudge::Drawn => 1,
        AskedJudge::No => 2,
    }
}

fn unpack_draw(unpacker: &mut Unpacker<'_>) -> Result<CascadeDraw, Damage> {
    let code = unpacker.byte()?;
    let asked = [AskedJudge::Unsure, AskedJudge::Drawn, AskedJudge::No].into_iter().find(|it| asked_code(*it) == code);
    let asked = asked.ok_or_else(|| Damage(format!("{code} is not the part of a cell in a cascade")))?;
    Ok(CascadeDraw { asked, pi: finite(unpacker)? })
}

fn pack_round(packer: &mut Packer, round: &JudgeRound) {
    packer.byte(u8::from(round.swapped));
    packer.number(u64::from(round.opponent));
    packer.list(&round.scores, |packer, (metric, value)| {
        packer.number(u64::from(*metric));
        packer.float(*value);
    });
}

fn unpack_round(unpacker: &mut Unpacker<'_>, version: u8) -> Result<JudgeRound, Damage> {
    let swapped = unpacker.flag()?;
    let opponent = if version > 5 { unpacker.number()? } else { 0 };
    let scores = unpacker.list(|unpacker| Ok((unpacker.number()?, finite(unpacker)?)))?;
    Ok(JudgeRound { opponent, swapped, scores })
}

/// Unpacks a judgment.
pub(crate) fn unpack_judgment(entry: &[u8]) -> Result<JudgmentRecord, Damage> {
    let (mut unpacker, version) = Unpacker::with_version(entry, VERSION)?;
    let mut judgment = JudgmentRecord {
        ordinal: unpacker.number()?,
        key: unpacker.key()?,
        scorer: unpacker.number()?,
        judge: unpacker.number()?,
        scores: unpack_scores(&mut unpacker)?,
        reasoning: unpacker.text()?.to_owned(),
        diagnostics: unpacker.option(Unpacker::json)?.unwrap_or_default(),
        caps: unpacker.list(|unpacker| unpacker.text().map(str::to_owned))?,
        rung: unpacker.option(Unpacker::text)?.map(str::to_owned),
        shuffle_seed: unpacker.number()?,
        prompt_version: unpacker.option(Unpacker::text)?.map(str::to_owned),
        reused: unpacker.flag()?,
        error: unpack_error(&mut unpacker)?,
        cost: unpack_cost(&mut unpacker, version > 4)?,
        latency_ms: unpacker.float()?,
        calls: unpack_keys(&mut unpacker)?,
        notes: unpack_notes(&mut unpacker)?,
        made_at: None,
        rounds: Vec::new(),
        answered: Vec::new(),
        cascade: None,
    };
    if version > 1 {
        judgment.made_at = unpacker.option(Unpacker::moment)?;
    }
    if version > 2 {
        judgment.rounds = unpacker.list(|unpacker| unpack_round(unpacker, version))?;
    }
    judgment.answered = unpack_answered(&mut unpacker)?;
    if version > 6 {
        judgment.cascade = unpacker.option(unpack_draw)?;
    }
    unpacker.end()?;
    Ok(judgment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::test_data::judgment;

    /// Invariant 7, formats have versions: judgments of version 6, which have no draw of a cascade, are read.
    #[test]
    fn a_judgment_without_a_draw_is_read() {
        let old = judgment(3, 0, 1, "judged");
        let mut entry = Packer::pack(|packer| pack_judgment(packer, &old));
        assert_eq!(entry.pop(), Some(0));
        entry[0] = 6;
        assert_eq!(unpack_judgment(&entry).unwrap(), old);
    }
}
