//! Rounds of calibration as JSON (`karat.calibration/1`).

use serde::Serialize;

use super::pretty;
use crate::RenderError;
use crate::shared::calibration_round::CalibrationRound;

/// Returns the rounds as JSON, oldest first.
///
/// # Errors
/// Never for rounds of stored runs.
pub fn calibration(rounds: &[CalibrationRound]) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct CalibrationDocument<'a> {
        schema: &'static str,
        rounds: &'a [CalibrationRound],
    }
    pretty(&CalibrationDocument { schema: "karat.calibration/1", rounds })
}
