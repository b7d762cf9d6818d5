//! Scores: metric index, a tag byte, and a number or a text.

use karat_types::Score;

use crate::pack::{Damage, Packer, Unpacker};

const VALUE: u8 = 0;
const VALUE_WITH_REASON: u8 = 1;
const NOT_APPLICABLE: u8 = 2;
const UNSCORED: u8 = 3;

pub(super) fn pack_scores(packer: &mut Packer, scores: &[(u16, Score)]) {
    packer.list(scores, |packer, (metric, score)| {
        packer.number(u64::from(*metric));
        match score {
            Score::Value { value, reason: None } => {
                packer.byte(VALUE);
                packer.float(*value);
            }
            Score::Value { value, reason: Some(reason) } => {
                packer.byte(VALUE_WITH_REASON);
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
        let score = match unpacker.byte()? {
            VALUE => Score::Value { value: finite(unpacker)?, reason: None },
            VALUE_WITH_REASON => Score::Value { value: finite(unpacker)?, reason: Some(unpacker.text()?.to_owned()) },
            NOT_APPLICABLE => Score::NotApplicable { na: unpacker.text()?.to_owned() },
            UNSCORED => Score::Unscored { unscored: unpacker.text()?.to_owned() },
            tag => return Err(Damage(format!("{tag} is no tag of a score"))),
        };
        Ok((metric, score))
    })
}

pub(super) fn finite(unpacker: &mut Unpacker<'_>) -> Result<f64, Damage> {
    let value = unpacker.float()?;
    if value.is_finite() { Ok(value) } else { Err(Damage(format!("a score is {value}"))) }
}
