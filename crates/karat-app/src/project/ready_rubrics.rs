//! The ready rubrics: files of the repository that are compiled in, named by `rubric: { use: NAME }`.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};
use karat_suite::RubricSummary;

use crate::AppError;
use crate::error::SuiteError;

static RUBRICS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/embedded/rubrics");

/// The text of each ready rubric, by its name.
pub(crate) fn texts() -> BTreeMap<String, &'static str> {
    let texts = RUBRICS.files().filter_map(|file| {
        let name = file.path().to_str()?.strip_suffix(".yaml")?;
        Some((name.to_owned(), file.contents_utf8()?))
    });
    texts.collect()
}

/// The ready rubrics in short, by name.
///
/// # Errors
/// A file that cannot be read, which is a bug.
pub fn ready_rubrics() -> Result<Vec<RubricSummary>, AppError> {
    let read = |(name, text): (String, &str)| {
        RubricSummary::read(&name, text).map_err(|problem| SuiteError::BrokenRubric { rubric: name, problem }.into())
    };
    texts().into_iter().map(read).collect()
}

/// The file of a ready rubric.
///
/// # Errors
/// There is none of this name.
pub fn ready_rubric(name: &str) -> Result<&'static str, AppError> {
    let texts = texts();
    if let Some(text) = texts.get(name) {
        return Ok(text);
    }
    let rubric = name.to_owned();
    Err(match karat_suite::nearest(name, texts.keys().map(String::as_str)) {
        Some(near) => SuiteError::NoRubricNear { rubric, near: near.to_owned() }.into(),
        None => SuiteError::NoRubric { rubric }.into(),
    })
}
