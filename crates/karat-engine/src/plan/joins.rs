//! The files whose rows scorers join with cells: another tool's scores.

use std::collections::{BTreeMap, BTreeSet};

use karat_scoring::scorer::{RowJoin, Scorer};
use karat_suite::RowPath;
use karat_text::template::Template;

use crate::EngineError;

/// The joins of a plan's scorers, with their templates compiled.
#[derive(Default)]
pub(crate) struct Joins(BTreeMap<RowJoin, JoinTemplates>);

/// The templates that find the row of a cell.
pub(crate) struct JoinTemplates {
    pub from: RowPath,
    pub by: Option<Template>,
}

impl Joins {
    /// Compiles the joins of scorers.
    ///
    /// # Errors
    /// A template cannot be compiled.
    pub fn of<'s>(scorers: impl IntoIterator<Item = &'s dyn Scorer>) -> Result<Self, EngineError> {
        let joins = scorers.into_iter().flat_map(Scorer::joins).map(|join| {
            let wrong = |error| EngineError::Plan(format!("the file {}: {error}", join.from));
            let from = RowPath::compile(&join.from).map_err(wrong)?;
            let by = join.by.as_deref().map(Template::compile).transpose().map_err(wrong)?;
            Ok((join, JoinTemplates { from, by }))
        });
        joins.collect::<Result<_, _>>().map(Self)
    }

    /// The templates of a join; `None` if no scorer has it.
    pub fn templates(&self, join: &RowJoin) -> Option<&JoinTemplates> {
        self.0.get(join)
    }

    /// The names that their templates read.
    pub fn reads(&self) -> BTreeSet<&String> {
        self.0
            .values()
            .flat_map(|join| join.from.reads().iter().chain(join.by.iter().flat_map(|by| by.reads())))
            .collect()
    }
}
