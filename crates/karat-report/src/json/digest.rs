//! The digest of a window of days as JSON (`karat.digest/1`).

use karat_analysis::digest::Digest;

use super::pretty;
use crate::RenderError;

/// Returns the digest as JSON.
///
/// # Errors
/// Never for a digest that an analysis made.
pub fn digest(digest: &Digest) -> Result<String, RenderError> {
    pretty(digest)
}
