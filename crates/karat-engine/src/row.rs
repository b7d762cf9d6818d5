//! A row as the cells of it share it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use karat_text::template::Context;
use karat_types::Sample;
use serde_json::{Map, Value};

use crate::identity::RowDigests;
use crate::steps::StepInput;
use crate::systems::{ReadySystem, Systems};

/// What all cells of a row share.
pub(crate) struct Row {
    pub sample: Arc<Sample>,
    /// The row as scorers and judges see it: what must not be kept is blacked out.
    pub shown: Arc<Sample>,
    pub digests: RowDigests,
    /// What templates see of the row: made when the first of them is rendered, for reused cells never.
    context: OnceLock<Context>,
}

impl Row {
    pub fn new(sample: Sample, systems: &Systems) -> Self {
        let sample = Arc::new(sample);
        let shown = systems.privacy.row(&sample).map_or_else(|| sample.clone(), Arc::new);
        let digests = RowDigests::new(sample.clone(), systems.reads.len());
        Self { sample, shown, digests, context: OnceLock::new() }
    }

    fn context(&self, reads: &[String]) -> &Context {
        self.context.get_or_init(|| {
            let columns = with_id(&self.sample);
            let role = |name, value: &Option<Value>| match value {
                Some(value) if is_read(name, reads) => value.clone(),
                _ => Value::Null,
            };
            Context::new()
                .with_read("sample", &columns, reads)
                .with("input", &role("input", &self.sample.input))
                .with("reference", &role("reference", &self.sample.reference))
        })
    }
}

/// A row's columns, its id among them.
fn with_id(sample: &Sample) -> Cow<'_, Map<String, Value>> {
    if sample.columns.contains_key("id") {
        return Cow::Borrowed(&sample.columns);
    }
    let mut columns = sample.columns.clone();
    columns.insert("id".to_owned(), Value::from(&*sample.id));
    Cow::Owned(columns)
}

/// Whether any of the names is this one or a part of it.
fn is_read(name: &str, reads: &[String]) -> bool {
    reads.iter().any(|read| read.split(['.', '[']).next() == Some(name))
}

/// What the steps of a system see of a row.
pub(crate) fn step_input(row: &Row, systems: &Systems, system: &ReadySystem, output: Option<&Value>) -> StepInput {
    let context = row.context(&systems.names).over(&system.context);
    let context = output.into_iter().fold(context, |context, output| context.with("output", output));
    StepInput { context, sample: row.sample.clone(), model: system.model.clone() }
}
