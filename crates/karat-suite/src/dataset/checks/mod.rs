//! Rules for rows.
//!
//! - here: checks of the whole dataset, which count rows or distinct values within groups
//! - `row_schema.rs`: the JSON Schema of a row
//! - `only.rs`: the systems that a row is for
//! - `row_checks.rs`: the checks that rows hold for themselves (role `assert`)

pub(crate) mod only;
pub(crate) mod row_checks;
pub(crate) mod row_schema;

use std::collections::{BTreeMap, BTreeSet};

use karat_text::path::Path;
use karat_text::template::{Context, Expression};
use serde_json::Value;

use super::RowRedaction;
use super::columns::fetch::ForbiddenCondition;
use super::scalar::plain;
use crate::diagnostics::Problems;
use crate::syntax::node::Place;

/// A check and its counts so far.
pub(crate) struct Check {
    pub name: String,
    pub place: Place,
    pub condition: Option<Expression>,
    pub by: Option<(String, Path)>,
    pub distinct: Option<(String, Path)>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    counts: BTreeMap<String, Count>,
    /// The reason why rows could not be counted, and the advice.
    failure: Option<(String, Option<String>)>,
}

#[derive(Default)]
struct Count {
    rows: u64,
    values: BTreeSet<String>,
    examples: Vec<String>,
}

/// The counts of one check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckCounts {
    /// Its name.
    pub name: String,
    /// Rows or distinct values, by group; a single group has no name.
    pub counts: Vec<(String, u64)>,
    /// Smallest count in each group.
    pub min: Option<f64>,
    /// Largest count in each group.
    pub max: Option<f64>,
}

/// Most ids that are named in a message.
const EXAMPLES: usize = 5;

impl Check {
    pub fn new(name: String, place: Place, condition: Option<Expression>) -> Self {
        Self {
            name,
            place,
            condition,
            by: None,
            distinct: None,
            min: None,
            max: None,
            counts: BTreeMap::new(),
            failure: None,
        }
    }

    /// Returns the condition that no row may meet, if the check is about single rows.
    pub fn rule(&self) -> Option<ForbiddenCondition> {
        let is_of_rows = self.by.is_none() && self.distinct.is_none() && self.max.is_some_and(|max| max < 1.0);
        let broken_by = self.condition.clone().filter(|_| is_of_rows)?;
        Some(ForbiddenCondition { name: self.name.clone(), broken_by })
    }

    /// Counts one row.
    pub fn add_row(&mut self, id: &str, row: &Value) {
        if let Some(condition) = &self.condition {
            match condition.is_true(&Context::new().with_json("sample", row)) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    let failure = || (format!("cannot be decided for `{id}`: {}", error.message), error.hint);
                    self.failure.get_or_insert_with(failure);
                    return;
                }
            }
        }
        let group = match &self.by {
            Some((_, path)) => path.first(row).map_or_else(|| "(none)".to_owned(), plain),
            None => String::new(),
        };
        let count = self.counts.entry(group).or_default();
        count.rows += 1;
        if let Some((_, path)) = &self.distinct {
            count.values.extend(path.all(row).into_iter().map(plain));
        }
        if count.examples.len() < EXAMPLES {
            count.examples.push(id.to_owned());
        }
    }

    /// Returns its counts.
    pub fn counts_so_far(&self) -> CheckCounts {
        let total = |count: &Count| if self.distinct.is_some() { count.values.len() as u64 } else { count.rows };
        let mut counts: Vec<(String, u64)> =
            self.counts.iter().map(|(group, count)| (group.clone(), total(count))).collect();
        if counts.is_empty() {
            counts.push((String::new(), 0));
        }
        CheckCounts { name: self.name.clone(), counts, min: self.min, max: self.max }
    }

    /// Reports what does not hold; of values what may be shown.
    pub fn report(mut self, problems: &mut Problems, row_redaction: &RowRedaction) {
        if let Some((failure, hint)) = self.failure {
            let failure = row_redaction.text(failure, "cannot be decided for every row");
            problems.error(&self.place, format!("the check \"{}\" {failure}", self.name)).maybe_hint(hint);
            return;
        }
        if self.counts.is_empty() && self.by.is_none() {
            self.counts.insert(String::new(), Count::default());
        }
        for (group, count) in &self.counts {
            let value = if self.distinct.is_some() { count.values.len() as f64 } else { count.rows as f64 };
            let bound = match (self.min.filter(|min| value < *min), self.max.filter(|max| value > *max)) {
                (Some(min), _) => format!("at least {min}"),
                (_, Some(max)) => format!("at most {max}"),
                _ => continue,
            };
            let what = match &self.distinct {
                Some((column, _)) => format!("different values of `{column}`"),
                None => "rows".to_owned(),
            };
            let within = match &self.by {
                Some((column, _)) => {
                    row_redaction.text(format!(" where `{column}` is {group:?}"), &format!(" of one `{column}`"))
                }
                None => String::new(),
            };
            let examples =
                if count.examples.is_empty() { String::new() } else { format!(": {}", count.examples.join(", ")) };
            problems
                .error(&self.place, format!("the check \"{}\" does not hold", self.name))
                .hint(format!("expected {bound} {what}{within}, found {value}{examples}"));
        }
    }
}
