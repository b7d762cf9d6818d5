//! A comparison as JSON (`karat.compare/1`).

use karat_analysis::compare::RunComparison;
use serde::Serialize;

use super::pretty;
use crate::RenderError;

/// Returns the comparison as JSON.
///
/// # Errors
/// Never for a comparison that [`compare`](karat_analysis::compare::compare) made.
pub fn comparison(compared: &RunComparison) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct ComparisonDocument<'a> {
        schema: &'static str,
        #[serde(flatten)]
        compared: &'a RunComparison,
    }
    let document = ComparisonDocument { schema: "karat.compare/1", compared };
    pretty(&document)
}
