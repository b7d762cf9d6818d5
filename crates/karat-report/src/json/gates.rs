//! The verdicts of gates as JSON (`karat.gate/1`).

use karat_analysis::{Decision, Verdict, Verdicts};
use serde::Serialize;

use super::pretty;
use crate::RenderError;
use crate::wording::gates::decisions_in_document;

/// Returns the verdicts on a run as JSON: `{schema, run, verdict, gates[], gates_left_out?, notes[], failures[]?}`.
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
