//! Conditions and columns of gates, read from stored samples.

use karat_text::template::{Context, Expression, TemplateError};
use karat_types::{PlanHeader, SampleRecord};
use serde_json::{Map, Value, json};

/// Compiles a condition. A model compared with `model.id` may be written with its provider.
pub(in crate::gate) fn compile_condition(plan: &PlanHeader, source: &str) -> Result<Expression, TemplateError> {
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
pub(in crate::gate) fn columns(sample: &SampleRecord) -> Map<String, Value> {
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
pub(in crate::gate) fn holds(
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
