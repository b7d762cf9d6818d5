//! Rounds of calibration for a terminal.

use std::fmt::Write as _;

use karat_analysis::{CalibratedDimension, Calibration, CalibrationVerdict};

use crate::shared::calibration_round::CalibrationRound;
use crate::shared::visible::excerpt;
use crate::wording::calibration::{
    bias_value, cautions, coefficient_or_none, figure, judge_verdict, open_note, round_line, unscored_note,
};

/// Length of an id on one line, in characters.
const WIDTH: usize = 100;

/// Returns the rounds for a terminal: one line each, the last one in full. Without control sequences.
pub fn calibration(rounds: &[CalibrationRound]) -> String {
    let mut text = String::new();
    let Some((last, before)) = rounds.split_last() else { return text };
    for round in before.iter().chain([last]) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "round {}: {}", round.number, excerpt(&round_line(round), 4 * WIDTH));
    }
    for judge in &last.calibration.judges {
        let _ = writeln!(text, "\n{}: {}", excerpt(&judge.judge, WIDTH), judge_verdict(&last.calibration, judge));
        for dimension in &judge.dimensions {
            let _ = writeln!(text, "  {}", excerpt(&sentence(&last.calibration, dimension), 4 * WIDTH));
        }
    }
    text
}

fn sentence(of: &Calibration, dimension: &CalibratedDimension) -> String {
    let mark = match dimension.verdict {
        None => "open",
        Some(CalibrationVerdict::Pass) => "ok  ",
        Some(CalibrationVerdict::Undecided) => "?   ",
        Some(CalibrationVerdict::Fail) => "FAIL",
    };
    let reason = dimension.reason.as_ref().map(|why| format!(" (decided: {why})")).unwrap_or_default();
    let unscored = match unscored_note(of, dimension).as_str() {
        "" => String::new(),
        said => format!("; {said}"),
    };
    let cautions = cautions(dimension).map(|caution| format!("; caution: {caution}")).collect::<String>();
    if dimension.labelled == 0 {
        return format!("{mark} {}: {}", dimension.dimension, open_note(dimension));
    }
    format!(
        "{mark} {}: {}, must exceed {}{reason}; bias {}; ICC(2,1) {}; α {}{unscored}{cautions}",
        dimension.dimension,
        figure(of, dimension),
        dimension.threshold,
        bias_value(dimension.bias.as_ref()),
        coefficient_or_none(dimension.icc.as_ref()),
        coefficient_or_none(dimension.alpha.as_ref()),
    )
}
