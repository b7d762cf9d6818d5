//! Files of openai.

use crate::draft::Draft;
use crate::error::ImportError;
use crate::source::Source;

pub(crate) fn import(source: &Source, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    let _ = draft;
    Err(ImportError::new(source.path().display(), "cannot be imported yet"))
}
