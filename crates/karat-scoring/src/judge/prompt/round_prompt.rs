//! The input of one round of a judgment.

use serde_json::Value;

use crate::judge::JudgeInput;

/// The input of one round.
#[derive(Clone, Copy)]
pub(crate) struct RoundInput<'a> {
    pub input: JudgeInput<'a>,
    /// The other output of a pair.
    pub other: Option<&'a Value>,
    /// From 0.
    pub vote: u32,
    /// True if the judged output stands second.
    pub swapped: bool,
}

impl<'a> RoundInput<'a> {
    /// The outputs of a pair, the first one first.
    pub fn sides(self) -> Option<(&'a Value, &'a Value)> {
        let (own, other) = (self.input.output, self.other?);
        Some(if self.swapped { (other, own) } else { (own, other) })
    }
}
