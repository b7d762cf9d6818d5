//! Sentences and figures about the calibration of judges, the same in every format.

use karat_analysis::{
    CalibratedDimension, CalibratedJudge, Calibration, CalibrationForm, CalibrationGap, CalibrationVerdict, Finding,
    SETS_TO_DECIDE, TOLERATED_BIAS,
};
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
        found.judges.iter().map(|judge| format!("{} {}", judge.judge, judge_verdict(found, judge))).collect();
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

/// Returns the verdict on a judge, and the dimensions in which it does not pass, each with the reason.
pub(crate) fn judge_verdict(of: &Calibration, judge: &CalibratedJudge) -> String {
    let Some(verdict) = judge.verdict else {
        return format!("no verdict: stopped after {} sets", count(judge.graded));
    };
    if verdict == CalibrationVerdict::Pass {
        let cautions: Vec<&str> =
            judge.dimensions.iter().filter(|it| it.needs_caution()).map(|it| it.dimension.as_str()).collect();
        return if cautions.is_empty() {
            "passes".to_owned()
        } else {
            format!("passes, with caution in {}", cautions.join(", "))
        };
    }
    let on = |verdict: CalibrationVerdict| {
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for dimension in judge.dimensions.iter().filter(|it| it.verdict == Some(verdict)) {
            let why = match verdict {
                CalibrationVerdict::Fail if !dimension.covered => unscored_note(of, dimension),
                CalibrationVerdict::Fail => figure(of, dimension),
                _ => open_note(dimension),
            };
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(&dimension.dimension),
                None => reasons.push((why, vec![&dimension.dimension])),
            }
        }
        let one = |(why, names): &(String, Vec<&str>)| match judge.dimensions.len() {
            1 => format!(": {why}"),
            _ => format!(" in {}: {why}", names.join(", ")),
        };
        reasons.iter().map(one).collect::<Vec<_>>().join(",")
    };
    let (failed, open) = (on(CalibrationVerdict::Fail), on(CalibrationVerdict::Undecided));
    let parts = [("fails", failed), ("undecided", open)];
    parts
        .iter()
        .filter(|(_, why)| !why.is_empty())
        .map(|(what, why)| format!("{what}{why}"))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Returns the figure that is compared with the threshold: `agreement beyond chance −0.20 (−0.31 to 0.02)`.
pub(crate) fn figure(of: &Calibration, dimension: &CalibratedDimension) -> String {
    let name = if of.agreement == CalibrationForm::WithinShare { "agreement" } else { "agreement beyond chance" };
    let found = dimension.decisive(of.agreement).map(|found| agreement_value(found, dimension.threshold));
    let mut grades = dimension.deltas.iter().filter_map(|set| set.judge);
    let first = grades.next().filter(|_| of.agreement != CalibrationForm::WithinShare);
    let is_alike = first.is_some_and(|first| grades.all(|grade| (grade - first).abs() <= 0.0));
    let alike = if is_alike { ", the judge grades all sets alike" } else { "" };
    format!("{name} {}{alike}", found.unwrap_or_else(|| NONE.to_owned()))
}

/// Returns the reason why a verdict is undecided, and what would decide it; empty if it is decided.
pub(crate) fn open_note(dimension: &CalibratedDimension) -> String {
    let beyond = format!("agreement beyond chance {}", coefficient_or_none(dimension.beyond_chance.as_ref()));
    let sets = match dimension.needed {
        Some(needed) => format!("; about {} labelled sets would decide it", count(needed)),
        None => String::new(),
    };
    match dimension.open {
        None => String::new(),
        Some(CalibrationGap::FewSets) if dimension.labelled == 0 => "no labels".to_owned(),
        Some(CalibrationGap::FewSets) => {
            let scored = dimension.labelled - dimension.unscored;
            format!("{} sets, and nothing is decided below {SETS_TO_DECIDE}", count(scored))
        }
        Some(CalibrationGap::PeopleNeverDiffer) => {
            let ac = dimension.ac.as_ref();
            let ac = ac.map(|ac| {
                let name = if ac.method().contains("AC1") { "AC1" } else { "AC2" };
                format!("; {name} {}", coefficient(ac))
            });
            format!("people give all sets the same grade, which says nothing of the judge{}", ac.unwrap_or_default())
        }
        Some(CalibrationGap::NoInterval) => {
            format!("{beyond} has no interval: label outputs of at least three samples")
        }
        Some(CalibrationGap::ReachesThreshold) => format!("{beyond} reaches {}{sets}", dimension.threshold),
        Some(CalibrationGap::ReachesChance) => format!("{beyond} reaches 0{sets}"),
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
