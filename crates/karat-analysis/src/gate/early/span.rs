//! The cells that a purpose of a run needs: a claim, a gate that is decided at the end, or a place in the race.

use karat_text::path::Path;
use karat_text::template::Expression;
use karat_types::{PlanHeader, SampleRecord, StopSpan};
use serde_json::Value;

use super::condition::{columns, compile_condition, holds};

/// A compiled [`StopSpan`].
pub(super) struct CellSpan {
    systems: Vec<usize>,
    partners: Vec<usize>,
    condition: Option<Expression>,
    group: Option<(Path, Value)>,
}

impl CellSpan {
    /// Compiles a span.
    ///
    /// # Errors
    /// A condition or path that cannot be read.
    pub(super) fn compile(plan: &PlanHeader, span: &StopSpan) -> Result<Self, String> {
        let condition = span.condition.as_deref().map(|source| compile_condition(plan, source)).transpose();
        let group = span.group.as_ref().map(|(column, value)| {
            let path = Path::parse(column).map_err(|error| format!("`per: {column}` is not a valid path: {error}"))?;
            Ok::<_, String>((path, value.clone()))
        });
        Ok(Self {
            systems: span.systems.clone(),
            partners: span.partners.clone(),
            condition: condition.map_err(|error| error.message)?,
            group: group.transpose()?,
        })
    }

    /// Returns whether the purpose needs the cells of a sample and system.
    ///
    /// # Errors
    /// The condition cannot be evaluated on the sample.
    pub(super) fn covers(&self, plan: &PlanHeader, sample: &SampleRecord, system: usize) -> Result<bool, String> {
        let is_own = self.systems.contains(&system);
        if !is_own && !self.partners.contains(&system) || !self.has_group(sample) {
            return Ok(false);
        }
        match &self.condition {
            None => Ok(true),
            Some(condition) if is_own => holds(condition, plan, sample, system),
            // A partner is needed wherever one of the systems that it is compared with is.
            Some(condition) => {
                for own in &self.systems {
                    if holds(condition, plan, sample, *own)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn has_group(&self, sample: &SampleRecord) -> bool {
        let Some((path, value)) = &self.group else { return true };
        path.first_in(&columns(sample)).is_some_and(|found| found == value)
    }
}
