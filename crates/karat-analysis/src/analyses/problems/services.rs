//! `services`: versions and models that services report.

use std::collections::BTreeMap;
use std::sync::Arc;

use karat_types::{AnalysisSpec, PlanHeader};
use serde::Serialize;

use crate::AnalysisError;
use crate::analyses::{Analysis, FinishContext, NoOptions, Outcome, ScoredCell, options};

/// The self-reported versions and models of services.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Services {
    /// Number of cells by version. Several versions mean that the service changed during the run, or that results were
    /// reused.
    pub versions: BTreeMap<String, u64>,
    /// Number of cells by part (`llm`, `text`, …) and model.
    pub models: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Services {
    /// The most frequent version; the first by name of equals.
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
    fn add_cell(&mut self, cell: &ScoredCell<'_>) {
        let facts = &cell.row.cell.facts;
        if let Some(version) = &facts.version {
            *self.versions.entry(version.clone()).or_default() += 1;
        }
        for (part, model) in &facts.models {
            *self.models.entry(part.clone()).or_default().entry(model.clone()).or_default() += 1;
        }
    }

    fn finish(self: Box<Self>, _: &FinishContext<'_>) -> Outcome {
        Outcome::Services(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-10: the most frequent version represents the run.
    #[test]
    fn the_most_frequent_version_represents_the_run() {
        let of = |versions: &[(&str, u64)]| Services {
            versions: versions.iter().map(|(version, cells)| ((*version).to_owned(), *cells)).collect(),
            ..Services::default()
        };
        assert_eq!(of(&[("a", 1), ("b", 3)]).version(), Some("b"));
        assert_eq!(of(&[("b", 2), ("a", 2)]).version(), Some("a"));
        assert_eq!(of(&[]).version(), None);
    }
}
