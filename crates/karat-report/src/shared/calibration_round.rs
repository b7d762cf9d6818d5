//! One round of calibration, the input of every format.

use karat_analysis::{Agreement, Calibration};
use karat_types::{Moment, RunStatus};
use serde::Serialize;

use crate::shared::moment::rfc3339;

/// One round: judges compared with people and with each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationRound {
    /// Number among the stored rounds of the suite, from 1. Stopped rounds count.
    pub number: usize,
    /// Id of the round's run.
    pub run: String,
    /// Start of the run.
    #[serde(serialize_with = "as_rfc3339")]
    pub started_at: Moment,
    /// Status of the run. An unfinished round has no verdict.
    pub status: RunStatus,
    /// Comparison of judges with people.
    pub calibration: Calibration,
    /// Comparison of judges with each other, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judges: Option<Agreement>,
}

fn as_rfc3339<S: serde::Serializer>(moment: &Moment, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*moment))
}
