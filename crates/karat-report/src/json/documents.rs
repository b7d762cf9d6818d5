//! The documents of commands that have `--json`: a type of `karat-analysis` each, under a `schema` field.

use karat_analysis::agree::RunAgreement;
use karat_analysis::compare::RunComparison;
use karat_analysis::digest::Digest;
use karat_analysis::{Decision, GradeRow, Verdict, Verdicts};
use serde::Serialize;

use crate::RenderError;
use crate::shared::calibration_round::CalibrationRound;
use crate::shared::history_row::row;
use crate::wording::gates::decisions_in_document;

/// Returns a small document as indented JSON that ends in a line break.
fn pretty<T: Serialize>(document: &T) -> Result<String, RenderError> {
    let mut text = serde_json::to_string_pretty(document).map_err(std::io::Error::from)?;
    text.push('\n');
    Ok(text)
}

/// A document with the name of its schema.
#[derive(Serialize)]
struct Named<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    document: &'a T,
}

/// Returns the agreement of raters as JSON (`karat.agree/1`).
///
/// # Errors
/// Never for an agreement that [`agree`](karat_analysis::agree::agree) made.
pub fn agreement(agreed: &RunAgreement) -> Result<String, RenderError> {
    pretty(&Named { schema: "karat.agree/1", document: agreed })
}

/// Returns rounds of calibration as JSON (`karat.calibration/1`), oldest first.
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

/// Returns the comparison as JSON (`karat.compare/1`).
///
/// # Errors
/// Never for a comparison that [`compare`](karat_analysis::compare::compare) made.
pub fn comparison(compared: &RunComparison) -> Result<String, RenderError> {
    pretty(&Named { schema: "karat.compare/1", document: compared })
}

/// Returns the digest of a window of days as JSON (`karat.digest/1`).
///
/// # Errors
/// Never for a digest that an analysis made.
pub fn digest(digest: &Digest) -> Result<String, RenderError> {
    pretty(digest)
}

/// Returns the verdicts on a run as JSON (`karat.gate/1`): `{schema, run, verdict, gates[], gates_left_out?, notes[], failures[]?}`.
/// `failures` are reasons for a failed run besides its gates.
///
/// # Errors
/// Never for verdicts that [`decide`](karat_analysis::gate::decide) made.
pub fn gates(run: &str, verdicts: &Verdicts, failures: &[String]) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct GateDocument<'a> {
        schema: &'static str,
        run: &'a str,
        verdict: Option<Verdict>,
        gates: Vec<&'a Decision>,
        #[serde(skip_serializing_if = "Option::is_none")]
        gates_left_out: Option<usize>,
        notes: &'a [String],
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        failures: &'a [String],
    }
    let (gates, gates_left_out) = decisions_in_document(verdicts);
    let verdict = verdicts.verdict();
    let notes = &verdicts.notes;
    let document = GateDocument { schema: "karat.gate/1", run, verdict, gates, gates_left_out, notes, failures };
    pretty(&document)
}

/// Returns the rows of a suite's history as a JSON list with one row a line.
pub fn history<'a>(rows: impl Iterator<Item = &'a GradeRow>) -> String {
    let lines: Vec<String> = rows.map(|judged| row(judged).to_string()).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

/// Returns the rows of a suite's history as JSON lines.
pub fn history_lines<'a>(rows: impl Iterator<Item = &'a GradeRow>) -> String {
    rows.map(|judged| format!("{}\n", row(judged))).collect()
}
