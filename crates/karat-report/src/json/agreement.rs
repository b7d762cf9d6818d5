//! The agreement of raters as JSON (`karat.agree/1`).

use karat_analysis::agree::RunAgreement;
use serde::Serialize;

use super::pretty;
use crate::RenderError;

/// Returns the agreement as JSON.
///
/// # Errors
/// Never for an agreement that [`agree`](karat_analysis::agree::agree) made.
pub fn agreement(agreed: &RunAgreement) -> Result<String, RenderError> {
    #[derive(Serialize)]
    struct AgreementDocument<'a> {
        schema: &'static str,
        #[serde(flatten)]
        agreed: &'a RunAgreement,
    }
    let document = AgreementDocument { schema: "karat.agree/1", agreed };
    pretty(&document)
}
