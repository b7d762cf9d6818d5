//! Sentences and figures about the calibration of judges, the same in every format.

use karat_analysis::{CalibratedDimension, CalibratedJudge, Calibration, Finding, TOLERATED_BIAS};
use karat_types::RunStatus;

use crate::shared::calibration_round::CalibrationRound;
use crate::shared::figures::{NONE, count, to_digits, with_sign};
use crate::shared::moment::rfc3339;
use crate::wording::agreement::{coefficient, coefficient_to};

/// Caution for a dimension that passes although the judge hardly distinguishes the sets.
const POOR: &str = "agreement beyond chance is poor: the judge hardly distinguishes these sets";

/// Returns the caution for a dimension in which the judge's bias is significant and large enough to matter.
fn bias_caution(dimension: &CalibratedDimension) -> Option<String> {
    let finding = dimension.bias.as_ref().filter(|_| dimension.biased)?;
    let side = if finding.value() > 0.0 { "higher" } else { "lower" };
    let by = to_digits(finding.value().abs(), 2);
    let tolerated = to_digits(100.0 * TOLERATED_BIAS, 0);
    Some(format!("it grades {side} than people by {by} on average, significantly more than {tolerated} % of the scale"))
}

/// Largest number of decimals of an agreement.
const MOST_DIGITS: usize = 6;

/// Returns a round in one line.
pub(crate) fn round_line(round: &CalibrationRound) -> String {
    let found = &round.calibration;
    let judges: Vec<String> =
        found.judges.iter().map(|judge| format!("{} {}", judge.judge, judge_verdict(judge))).collect();
    let go_on = if round.status == RunStatus::Finished {
        String::new()
    } else {
        format!("; continue with `karat resume {}`", round.run)
    };
    format!(
        "{} {} of {}, prompt version {}, {} sets of {} samples: {}{go_on}",
        rfc3339(round.started_at),
        round.run,
        found.scorer,
        found.prompt_version.as_deref().unwrap_or("none"),
        count(found.sets),
        count(found.samples),
        judges.join("; ")
    )
}

/// Returns the verdict on a judge, and the dimensions in which it fails.
pub(crate) fn judge_verdict(judge: &CalibratedJudge) -> String {
    let names = |wanted: &dyn Fn(&CalibratedDimension) -> bool| -> String {
        let found = judge.dimensions.iter().filter(|it| wanted(it)).map(|dimension| dimension.dimension.as_str());
        found.collect::<Vec<_>>().join(", ")
    };
    let unlabelled = names(&|it| it.labelled == 0);
    let uncovered = names(&|it| !it.covered && it.labelled > 0);
    let failed = names(&|it| it.passed == Some(false) && it.covered);
    match judge.passed {
        None => return format!("no verdict: stopped after {} sets", count(judge.graded)),
        Some(true) => {
            let cautions = names(&CalibratedDimension::needs_caution);
            return if cautions.is_empty() {
                "passes".to_owned()
            } else {
                format!("passes, with caution in {cautions}")
            };
        }
        Some(false) => {}
    }
    let reasons = [("it left too many sets unscored in ", uncovered), ("no labels for ", unlabelled)];
    let reasons = reasons.iter().filter(|(_, names)| !names.is_empty()).map(|(words, names)| format!("{words}{names}"));
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    match (failed.as_str(), reasons.as_str()) {
        ("", reasons) => format!("fails: {reasons}"),
        (failed, "") => format!("fails in {failed}"),
        (failed, reasons) => format!("fails in {failed}; {reasons}"),
    }
}

/// Returns a note on the sets that a judge left unscored; empty if there are none.
pub(crate) fn unscored_note(of: &Calibration, dimension: &CalibratedDimension) -> String {
    let unscored = format!("{} of {} sets unscored", count(dimension.unscored), count(dimension.labelled));
    match (dimension.unscored, dimension.covered) {
        (0, _) => String::new(),
        (_, true) => unscored,
        (_, false) => format!("{unscored}, and {} % must be scored", to_digits(100.0 * of.coverage, 0)),
    }
}

/// Returns the reasons not to rely on a judge in a dimension, one sentence each.
pub(crate) fn cautions(dimension: &CalibratedDimension) -> impl Iterator<Item = String> {
    dimension.poor.then(|| POOR.to_owned()).into_iter().chain(bias_caution(dimension))
}

/// Formats an agreement with as many digits as needed to tell it from its threshold.
pub(crate) fn agreement_value(found: &Finding, threshold: f64) -> String {
    let passes = found.value() > threshold;
    let tells = |digits: &usize| {
        let shown = to_digits(found.value(), *digits).replace('−', "-").parse::<f64>();
        shown.is_ok_and(|shown| (shown > threshold) == passes)
    };
    coefficient_to(found, (2..MOST_DIGITS).find(tells).unwrap_or(MOST_DIGITS))
}

/// Formats a coefficient with its interval, or returns [`NONE`].
pub(crate) fn coefficient_or_none(finding: Option<&Finding>) -> String {
    finding.map_or_else(|| NONE.to_owned(), coefficient)
}

/// Formats a signed difference with its interval.
pub(crate) fn bias_value(finding: Option<&Finding>) -> String {
    let Some(finding) = finding else { return NONE.to_owned() };
    let number = |value: f64| with_sign(&to_digits(value, 2));
    match finding.interval() {
        Some((lo, hi)) => format!("{} ({} to {})", number(finding.value()), number(lo), number(hi)),
        None => number(finding.value()),
    }
}
