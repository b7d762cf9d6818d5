//! Scores: metric index, a tag byte, and a number or a text. Since version 4 of cells, a value may be a verdict.

use karat_types::Score;

use crate::block::pack::{Packer, Unpacker};
use crate::error::Damage;

const VALUE: u8 = 0;
const VALUE_WITH_REASON: u8 = 1;
const NOT_APPLICABLE: u8 = 2;
const UNSCORED: u8 = 3;
const VERDICT: u8 = 4;
const VERDICT_WITH_REASON: u8 = 5;

pub(super) fn pack_scores(packer: &mut Packer, scores: &[(u16, Score)]) {
    packer.list(scores, |packer, (metric, score)| {
        packer.number(u64::from(*metric));
        match score {
            Score::Value { value, reason: None, verdict } => {
                packer.byte(if *verdict { VERDICT } else { VALUE });
                packer.float(*value);
            }
            Score::Value { value, reason: Some(reason), verdict } => {
                packer.byte(if *verdict { VERDICT_WITH_REASON } else { VALUE_WITH_REASON });
                packer.float(*value);
                packer.text(reason);
            }
            Score::NotApplicable { na } => {
                packer.byte(NOT_APPLICABLE);
                packer.text(na);
            }
            Score::Unscored { unscored } => {
                packer.byte(UNSCORED);
                packer.text(unscored);
            }
        }
    });
}

pub(super) fn unpack_scores(unpacker: &mut Unpacker<'_>) -> Result<Vec<(u16, Score)>, Damage> {
    unpacker.list(|unpacker| {
        let metric = unpacker.number()?;
        let tag = unpacker.byte()?;
        let score = match tag {
            VALUE | VERDICT => Score::Value { value: finite(unpacker)?, reason: None, verdict: tag == VERDICT },
            VALUE_WITH_REASON | VERDICT_WITH_REASON => Score::Value {
                value: finite(unpacker)?,
                reason: Some(unpacker.text()?.to_owned()),
                verdict: tag == VERDICT_WITH_REASON,
            },
            NOT_APPLICABLE => Score::NotApplicable { na: unpacker.text()?.to_owned().into() },
            UNSCORED => Score::Unscored { unscored: unpacker.text()?.to_owned() },
            _ => return Err(Damage(format!("{tag} is not the tag of a score"))),
        };
        Ok((metric, score))
    })
}

pub(super) fn finite(unpacker: &mut Unpacker<'_>) -> Result<f64, Damage> {
    let value = unpacker.float()?;
    if value.is_finite() { Ok(value) } else { Err(Damage(format!("a score is {value}"))) }
}
