//! The people of a task: who they are on the server, and how far each agrees with the others.

use karat_stats::bootstrap::bootstrap_indices;
use karat_stats::interval::Level;
use serde::Serialize;
use serde_json::Value;

use crate::error::AnnotateError;
use crate::service::role::Role;
use crate::stored::labels::agreement::resampling;
use crate::stored::labels::question::Question;
use crate::stored::labels::state::TaskState;
use crate::stored::labels::task::LoadedTask;
use crate::{App, AppError, NewToken};

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
pub(super) fn refuse_twin<'n>(name: &str, mut known: impl Iterator<Item = &'n str> + Clone) -> Result<(), AppError> {
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

/// Agreement of a person with the settled value of the others: the most that a judge can be expected to reach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HumanCeiling {
    /// The question: a dimension of the rubric.
    pub dimension: String,
    /// 1 − mean |person − others| / range of the scale, from 0 to 1: the form in which judges are calibrated.
    pub agreement: f64,
    /// Its 95 % interval, by percentile bootstrap of items.
    pub ci: Option<(f64, f64)>,
    /// Items with at least two people.
    pub n: usize,
}

impl HumanCeiling {
    /// In a line: `accuracy: people among themselves 0.81 [0.76, 0.85], 40 items`.
    pub fn line(&self) -> String {
        let ci = self.ci.map(|(lo, hi)| format!(" [{lo:.2}, {hi:.2}]")).unwrap_or_default();
        format!("{}: people among themselves {:.2}{ci}, {} items", self.dimension, self.agreement, self.n)
    }
}

/// The ceiling of every question with numbers.
pub(crate) fn ceilings(task: &LoadedTask, state: &TaskState) -> Vec<HumanCeiling> {
    task.body.questions.iter().filter_map(|question| ceiling(task, state, question)).collect()
}

fn ceiling(task: &LoadedTask, state: &TaskState, question: &Question) -> Option<HumanCeiling> {
    let worths = question.choices.iter().map(|choice| choice.value);
    let worths: Vec<f64> = worths.collect::<Option<_>>()?;
    let range = match question.scale {
        Some((lo, hi)) => hi - lo,
        None => {
            let (lo, hi) = (worths.iter().copied().reduce(f64::min)?, worths.iter().copied().reduce(f64::max)?);
            hi - lo
        }
    };
    // Mean distance of each item's people to the others.
    let items = task.items.iter().enumerate().filter(|(_, item)| item.gold.is_none());
    let distances = items.filter_map(|(position, _)| {
        let answers: Vec<&Value> =
            state.labels(position).filter_map(|(_, label)| label.body.answers.get(&question.id)).collect();
        let of_person = (0..answers.len()).filter_map(|at| {
            let mut others = answers.clone();
            let own = question.number(others.remove(at))?;
            Some((own - question.number(&question.settle_answers(&others)?)?).abs())
        });
        let distances: Vec<f64> = of_person.collect();
        (!distances.is_empty()).then(|| distances.iter().sum::<f64>() / distances.len() as f64)
    });
    let distances: Vec<f64> = distances.collect();
    let agreement = |drawn: &[usize]| {
        let drawn: Vec<f64> = drawn.iter().filter_map(|at| distances.get(*at).copied()).collect();
        (!drawn.is_empty() && range > 0.0).then(|| 1.0 - drawn.iter().sum::<f64>() / drawn.len() as f64 / range)
    };
    let n = distances.len();
    let everything: Vec<usize> = (0..n).collect();
    let interval = (n >= 10).then(|| bootstrap_indices(n, agreement, &resampling())?.percentile(Level::P95)).flatten();
    Some(HumanCeiling {
        dimension: question.id.clone(),
        agreement: agreement(&everything)?,
        ci: interval.map(|interval| (interval.lo, interval.hi)),
        n,
    })
}

impl App {
    /// Creates a token with which a person labels in one task, and nothing else.
    ///
    /// # Errors
    /// An unknown task, a person who may not label there; the store cannot be written.
    pub fn invite_annotator(&self, task: &str, person: &str, expires_ms: Option<u64>) -> Result<NewToken, AppError> {
        let task = self.loaded_task(task)?;
        let person = task.check_person(person)?;
        let tokens = self.tokens()?;
        let invited = tokens.iter().filter(|token| token.role == Role::Annotate.as_str());
        let invited = invited.filter_map(|token| token.name.split_once('/'));
        let invited = invited.filter(|(name, _)| *name == task.stored.name).map(|(_, person)| person);
        refuse_twin(person, invited)?;
        self.read_state(&task, |state| match state.closed {
            Some(_) => Err(AnnotateError::Closed { task: task.stored.name.clone() }.into()),
            None => refuse_twin(person, state.people()),
        })??;
        self.create_token(&format!("{}/{person}", task.stored.name), Role::Annotate, expires_ms)
    }

    /// The task and person of a token that [`Self::invite_annotator`] made.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn invited_person(&self, token: &str) -> Result<Option<(String, String)>, AppError> {
        let found = self.tokens()?.into_iter().find(|it| it.id == token && it.role == Role::Annotate.as_str());
        let parts = found.and_then(|it| it.name.split_once('/').map(|(task, name)| (task.to_owned(), name.to_owned())));
        Ok(parts)
    }

    /// The agreement of the people of a task with each other, by question with numbers.
    ///
    /// # Errors
    /// An unknown task.
    pub fn human_ceilings(&self, task: &str) -> Result<Vec<HumanCeiling>, AppError> {
        let task = self.loaded_task(task)?;
        self.read_state(&task, |state| ceilings(&task, state))
    }

    /// The settled labels of a task, as rows that a rubric reads, and the scorer that they are for.
    pub(crate) fn settled_labels(&self, name: &str) -> Result<(String, Vec<Value>), AppError> {
        let task = self.loaded_task(name)?;
        let scorer = task.body.scorer.clone();
        let scorer = scorer.ok_or_else(|| AnnotateError::NotScored { task: task.stored.name.clone() })?;
        let rows = self.read_state(&task, |state| {
            crate::stored::labels::label_rows::label_rows(&task, state, true, &|name| name.to_owned())
        })?;
        match rows.is_empty() {
            true => Err(AnnotateError::NoSettled { task: task.stored.name.clone() }.into()),
            false => Ok((scorer, rows)),
        }
    }
}
