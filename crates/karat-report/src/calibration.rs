//! Rounds of calibration, for a terminal and as JSON; their Markdown is
//! [`markdown::calibration`](crate::markdown::calibration).

use std::fmt::Write as _;

use karat_analysis::{Agreement, CalibratedDimension, CalibratedJudge, Calibration, Finding, TOLERATED_BIAS};
use karat_types::{Moment, RunStatus};
use serde::Serialize;

use crate::RenderError;
use crate::agreement::{coefficient, coefficient_to};
use crate::figures::{NONE, count, signed, to_digits};
use crate::moment::rfc3339;
use crate::visible::brief;

/// What is said of a dimension that passes although the judge hardly tells the sets apart there.
const POOR: &str = "beyond chance the agreement is poor, the judge hardly tells these sets apart";

/// What is said of a dimension in which the judge's bias is beyond chance and of a size that matters.
fn biased(dimension: &CalibratedDimension) -> Option<String> {
    let finding = dimension.bias.as_ref().filter(|_| dimension.biased)?;
    let side = if finding.value() > 0.0 { "higher" } else { "lower" };
    let by = to_digits(finding.value().abs(), 2);
    let tolerated = to_digits(100.0 * TOLERATED_BIAS, 0);
    Some(format!(
        "it grades {side} than people, by {by} on average and beyond chance by more than {tolerated} % of the scale"
    ))
}

/// Most digits behind the point of an agreement.
const MOST_DIGITS: usize = 6;

/// Characters of an id on one line.
const WIDTH: usize = 100;

/// One round: judges beside people, and beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// Its number among the stored rounds of its suite, from 1; those that were stopped have one, too.
    pub number: usize,
    /// Its run.
    pub run: String,
    /// When it began.
    #[serde(serialize_with = "as_rfc3339")]
    pub started_at: Moment,
    /// How it stands; one that is not finished has no verdict.
    pub status: RunStatus,
    /// Judges beside people.
    pub calibration: Calibration,
    /// Judges beside each other, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judges: Option<Agreement>,
}

fn as_rfc3339<S: serde::Serializer>(moment: &Moment, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*moment))
}

/// The rounds for a terminal: a line each, the last one in full. Nothing in it can act on one.
pub fn terminal(rounds: &[Round]) -> String {
    let mut text = String::new();
    let Some((last, before)) = rounds.split_last() else { return text };
    for round in before.iter().chain([last]) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "round {}: {}", round.number, brief(&line(round), 4 * WIDTH));
    }
    for judge in &last.calibration.judges {
        let _ = writeln!(text, "\n{}: {}", brief(&judge.judge, WIDTH), verdict(judge));
        for dimension in &judge.dimensions {
            let _ = writeln!(text, "  {}", brief(&sentence(&last.calibration, dimension), 4 * WIDTH));
        }
    }
    text
}

/// The rounds as JSON (`karat.calibration/1`), the oldest first.
///
/// # Errors
/// Never for rounds of stored runs.
pub fn json(rounds: &[Round]) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        rounds: &'a [Round],
    }
    let mut text = serde_json::to_string_pretty(&Document { schema: "karat.calibration/1", rounds })
        .map_err(std::io::Error::from)?;
    text.push('\n');
    Ok(text)
}

/// A round in one line.
pub(crate) fn line(round: &Round) -> String {
    let found = &round.calibration;
    let judges: Vec<String> = found.judges.iter().map(|judge| format!("{} {}", judge.judge, verdict(judge))).collect();
    let go_on = if round.status == RunStatus::Finished {
        String::new()
    } else {
        format!("; `karat resume {}` goes on", round.run)
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

/// Whether a judge passes, and in what it does not.
pub(crate) fn verdict(judge: &CalibratedJudge) -> String {
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
    let reasons = [("it left too many sets unscored in ", uncovered), ("nobody labelled ", unlabelled)];
    let reasons = reasons.iter().filter(|(_, names)| !names.is_empty()).map(|(words, names)| format!("{words}{names}"));
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    match (failed.as_str(), reasons.as_str()) {
        ("", reasons) => format!("fails: {reasons}"),
        (failed, "") => format!("fails in {failed}"),
        (failed, reasons) => format!("fails in {failed}; {reasons}"),
    }
}

/// What is said of the sets that a judge left unscored; empty where there are none.
pub(crate) fn left_out(of: &Calibration, dimension: &CalibratedDimension) -> String {
    let unscored = format!("{} of {} sets unscored", count(dimension.unscored), count(dimension.labelled));
    match (dimension.unscored, dimension.covered) {
        (0, _) => String::new(),
        (_, true) => unscored,
        (_, false) => format!("{unscored}, and {} % must be scored", to_digits(100.0 * of.coverage, 0)),
    }
}

/// What speaks against relying on a judge in a dimension, a sentence each.
pub(crate) fn cautions(dimension: &CalibratedDimension) -> impl Iterator<Item = String> {
    dimension.poor.then(|| POOR.to_owned()).into_iter().chain(biased(dimension))
}

fn sentence(of: &Calibration, dimension: &CalibratedDimension) -> String {
    let decisive = dimension.decisive(of.agreement).map(|found| beside(found, dimension.threshold));
    let decisive = decisive.unwrap_or_else(|| NONE.to_owned());
    let mark = match dimension.passed {
        None => "open",
        Some(true) => "ok  ",
        Some(false) => "FAIL",
    };
    let reason = dimension.reason.as_ref().map(|why| format!(" (decided: {why})")).unwrap_or_default();
    let unscored = match left_out(of, dimension).as_str() {
        "" => String::new(),
        said => format!("; {said}"),
    };
    let cautions = cautions(dimension).map(|caution| format!("; caution: {caution}")).collect::<String>();
    if dimension.labelled == 0 {
        return format!("{mark} {}: no set is labelled, so nobody knows", dimension.dimension);
    }
    format!(
        "{mark} {}: agreement {decisive}, must exceed {}{reason}; bias {}; ICC(2,1) {}; α {}{unscored}{cautions}",
        dimension.dimension,
        dimension.threshold,
        bias(dimension.bias.as_ref()),
        maybe(dimension.icc.as_ref()),
        maybe(dimension.alpha.as_ref()),
    )
}

/// An agreement in as many digits as it takes to see on which side of its threshold it lies.
pub(crate) fn beside(found: &Finding, threshold: f64) -> String {
    let passes = found.value() > threshold;
    let tells = |digits: &usize| {
        let shown = to_digits(found.value(), *digits).replace('−', "-").parse::<f64>();
        shown.is_ok_and(|shown| (shown > threshold) == passes)
    };
    coefficient_to(found, (2..MOST_DIGITS).find(tells).unwrap_or(MOST_DIGITS))
}

/// A coefficient with its interval, or that there is none.
pub(crate) fn maybe(finding: Option<&Finding>) -> String {
    finding.map_or_else(|| NONE.to_owned(), coefficient)
}

/// A signed difference with its interval.
pub(crate) fn bias(finding: Option<&Finding>) -> String {
    let Some(finding) = finding else { return NONE.to_owned() };
    let number = |value: f64| signed(&to_digits(value, 2));
    match finding.interval() {
        Some((lo, hi)) => format!("{} ({} to {})", number(finding.value()), number(lo), number(hi)),
        None => number(finding.value()),
    }
}
