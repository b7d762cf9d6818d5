//! The cells that a purpose of a run needs: a claim, a gate that is decided at the end, or a place in the race.

use karat_text::path::Path;
use karat_text::template::{Context, Expression, TemplateError};
use karat_types::{PlanHeader, SampleRecord, StopSpan};
use serde_json::{Map, Value, json};

/// A compiled [`StopSpan`].
pub(crate) struct CellSpan {
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
    pub(crate) fn compile(plan: &PlanHeader, span: &StopSpan) -> Result<Self, String> {
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
    pub(crate) fn covers(&self, plan: &PlanHeader, sample: &SampleRecord, system: usize) -> Result<bool, String> {
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

/// Compiles a condition. A model compared with `model.id` may be written with its provider.
pub(crate) fn compile_condition(plan: &PlanHeader, source: &str) -> Result<Expression, TemplateError> {
    let expression = Expression::compile(source)?;
    if !expression.reads().iter().any(|name| name == "model.id") {
        return Ok(expression);
    }
    let spelt = plan.models.iter().flat_map(|model| model.spellings().map(|spelling| (spelling, &model.id)));
    let plain = spelt.fold(source.to_owned(), |source, (spelling, id)| {
        ['"', '\''].iter().fold(source, |source, quote| {
            source.replace(&format!("{quote}{spelling}{quote}"), &format!("{quote}{id}{quote}"))
        })
    });
    Expression::compile(&plain)
}

/// The stored columns of a sample.
pub(crate) fn columns(sample: &SampleRecord) -> Map<String, Value> {
    let mut columns = sample.metadata.clone();
    columns.insert("id".to_owned(), json!(sample.id));
    for (name, value) in [("cluster", &sample.cluster), ("date", &sample.date)] {
        if let (Some(value), false) = (value, columns.contains_key(name)) {
            columns.insert(name.to_owned(), json!(value));
        }
    }
    columns
}

/// The names that a condition sees of a cell.
fn context(plan: &PlanHeader, sample: &SampleRecord, system: usize) -> Context {
    let context = Context::new().with("sample", &columns(sample)).with("variant", plan.system_variant(system));
    match plan.system_model(system) {
        Some(model) => context.with("model", &json!({ "id": model.id, "name": model.model, "family": model.family })),
        None => context.with("model", &json!({ "id": null, "name": null, "family": null })),
    }
}

/// Returns whether a condition holds for a sample of a system.
///
/// # Errors
/// It cannot be evaluated on the sample.
pub(crate) fn holds(
    condition: &Expression,
    plan: &PlanHeader,
    sample: &SampleRecord,
    system: usize,
) -> Result<bool, String> {
    condition.is_true(&context(plan, sample, system)).map_err(|error| {
        let hint =
            error.hint.as_deref().unwrap_or("list the columns that conditions read under the dataset's `metadata`");
        format!("`where: {}` on sample `{}`: {} ({hint})", condition.source(), sample.id, error.message)
    })
}
