//! The people of a task: their names, and who may label.

use crate::AppError;
use crate::error::AnnotateError;
use crate::stored::labels::task::LoadedTask;

/// The name of a person without space around it.
///
/// # Errors
/// A name that cannot stand in a link, or is too long.
pub(super) fn plain_name(name: &str) -> Result<&str, AppError> {
    let name = name.trim();
    let is_fine = !name.is_empty() && name.chars().count() <= 64;
    if !is_fine || name.chars().any(|letter| letter == '/' || letter.is_control()) {
        return Err(AnnotateError::BadPerson {}.into());
    }
    Ok(name)
}

/// Different names, each without space around it.
///
/// # Errors
/// A bad name; two names that are easily taken for one.
pub(super) fn plain_names(names: &[String]) -> Result<Vec<String>, AppError> {
    let mut plain: Vec<String> = Vec::new();
    for name in names {
        let name = plain_name(name)?;
        refuse_twin(name, plain.iter().map(String::as_str))?;
        if !plain.iter().any(|known| known == name) {
            plain.push(name.to_owned());
        }
    }
    Ok(plain)
}

/// Refuses a name that differs from a known one by case or space only: one person would count as two.
pub(crate) fn refuse_twin<'n>(name: &str, mut known: impl Iterator<Item = &'n str> + Clone) -> Result<(), AppError> {
    let fold = |name: &str| name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    if known.clone().any(|known| known == name) {
        return Ok(());
    }
    let wanted = fold(name);
    match known.find(|known| fold(known) == wanted) {
        Some(twin) => Err(AnnotateError::TwinName { name: name.to_owned(), known: twin.to_owned() }.into()),
        None => Ok(()),
    }
}

impl LoadedTask {
    /// The name of a person who may label here, without space around it.
    ///
    /// # Errors
    /// The person has no name, or is not assigned.
    pub fn check_person<'n>(&self, person: &'n str) -> Result<&'n str, AppError> {
        let person = plain_name(person)?;
        let assigned = &self.body.assigned;
        if assigned.is_empty() || assigned.iter().any(|name| name == person) {
            return Ok(person);
        }
        refuse_twin(person, assigned.iter().map(String::as_str))?;
        Err(AnnotateError::NotAssigned { person: person.to_owned(), task: self.stored.name.clone() }.into())
    }
}
