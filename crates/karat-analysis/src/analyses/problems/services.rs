//! `services`: which versions and models the services that answered say they are (RG-10).

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};
use serde::Serialize;

use crate::AnalysisError;
use crate::analyses::{Analysis, NoOptions, Outcome, ScoredCell, Setting, options};

/// What services say of themselves: cells by version, and by model of each part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Services {
    /// Cells by version. More than one: the service changed while it was measured, or results of two were reused.
    pub versions: BTreeMap<String, u64>,
    /// Cells by model, by part: `llm`, `text`, ….
    pub models: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Services {
    /// The version that most cells have; of equals the first by name.
    pub fn version(&self) -> Option<&str> {
        self.versions.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0))).map(|(version, _)| version.as_str())
    }
}

pub(in crate::analyses) fn build(
    spec: &AnalysisSpec,
    _: &Arc<PlanHeader>,
) -> Result<Option<Box<dyn Analysis>>, AnalysisError> {
    options::<NoOptions>(spec)?;
    Ok(Some(Box::new(Services::default())))
}

impl Analysis for Services {
    fn cell(&mut self, cell: &ScoredCell<'_>) {
        let facts = &cell.row.cell.facts;
        if let Some(version) = &facts.version {
            *self.versions.entry(version.clone()).or_default() += 1;
        }
        for (part, model) in &facts.models {
            *self.models.entry(part.clone()).or_default().entry(model.clone()).or_default() += 1;
        }
    }

    fn finish(self: Box<Self>, _: &Setting<'_>) -> Outcome {
        Outcome::Services(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-10: the version of most cells stands for the run.
    #[test]
    fn the_most_frequent_version_stands_for_the_run() {
        let of = |versions: &[(&str, u64)]| Services {
            versions: versions.iter().map(|(version, cells)| ((*version).to_owned(), *cells)).collect(),
            ..Services::default()
        };
        assert_eq!(of(&[("a", 1), ("b", 3)]).version(), Some("b"));
        assert_eq!(of(&[("b", 2), ("a", 2)]).version(), Some("a"));
        assert_eq!(of(&[]).version(), None);
    }
}
