//! Roles: which columns are the id, the input, the reference.

use karat_text::path::{Path, member};
use serde_json::Value;

use super::DatasetError;
use super::source::raw::RowPlace;

/// The place of a role's value.
#[derive(Debug, Clone)]
pub(crate) enum Role {
    /// The column that the suite declares.
    Declared(Path),
    /// In whichever of these columns a row has; two of them in one row are an error.
    Common(&'static [&'static str]),
}

/// The roles of a dataset.
#[derive(Debug, Clone)]
pub(crate) struct Roles {
    pub id: Role,
    pub input: Role,
    pub reference: Role,
    pub cluster: Option<Path>,
    pub date: Option<Path>,
    pub zone: jiff::tz::TimeZone,
}

/// Names that other tools give to the id.
pub(crate) const ID: &[&str] = &["id", "sample_id"];
/// Names that other tools give to the input.
pub(crate) const INPUT: &[&str] = &["input", "inputs", "user_input", "question", "prompt"];
/// Names that other tools give to the reference.
pub(crate) const REFERENCE: &[&str] =
    &["reference", "target", "ideal", "expected", "expected_output", "expectedOutput", "expectations"];
/// Names of columns that often hold the reference, and as often something else.
pub(crate) const LIKELY_REFERENCE: &[&str] = &[
    "gold",
    "golden",
    "gold_answer",
    "answer",
    "answers",
    "correct_answer",
    "expected_answer",
    "reference_answer",
    "ground_truth",
    "groundtruth",
    "truth",
    "solution",
    "label",
    "response",
    "references",
    "targets",
];

impl Role {
    /// The columns that may contain the role's value; a nested one as `outer.inner`.
    pub fn columns(&self) -> Vec<String> {
        match self {
            Self::Declared(path) => vec![path.to_string().trim_start_matches("$.").to_owned()],
            Self::Common(names) => names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Returns whether a row has a column that the role is read from.
    pub fn names_a_column_of(&self, row: &Value) -> bool {
        match self {
            Self::Declared(_) => true,
            Self::Common(names) => names.iter().any(|name| row.get(*name).is_some_and(|value| !value.is_null())),
        }
    }

    /// Returns the place of the role's value in a row that has it once.
    pub fn place<'a>(&self, row: &'a mut Value) -> Option<&'a mut Value> {
        match self {
            Self::Declared(path) => path.first_mut(row),
            Self::Common(names) => {
                let held = names.iter().find(|name| row.get(**name).is_some())?;
                row.get_mut(*held)
            }
        }
    }

    /// The value of the role in a row.
    pub fn value<'a>(&self, role: &str, row: &'a Value, at: &RowPlace) -> Result<Option<&'a Value>, DatasetError> {
        match self {
            Self::Declared(path) => Ok(path.first(row).filter(|value| !value.is_null())),
            Self::Common(names) => {
                let mut present = names.iter().filter_map(|name| Some((*name, member(row.as_object()?, name)?)));
                match (present.next(), present.next()) {
                    (Some((first, _)), Some((second, _))) => Err(at.problem_with_hint(
                        second,
                        format!("both `{first}` and `{second}` could be the {role}"),
                        Some(format!("name it: `{role}: {first}` in `dataset`")),
                    )),
                    (first, _) => Ok(first.map(|(_, value)| value).filter(|value| !value.is_null())),
                }
            }
        }
    }
}
