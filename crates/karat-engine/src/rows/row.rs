//! A row, prepared once for all of its cells.

use std::borrow::Cow;
use std::sync::Arc;

use karat_text::template::{Context, Source};
use karat_types::Sample;
use serde_json::{Map, Value};

use crate::plan::identity::RowDigests;
use crate::plan::ready::ReadySystem;
use crate::plan::systems::Systems;
use crate::steps::StepInput;

/// The state that all cells of a row share.
pub(crate) struct Row {
    pub sample: Arc<Sample>,
    /// The row as scorers and judges see it: content that must not be kept is redacted.
    pub shown: Arc<Sample>,
    pub digests: RowDigests,
    /// The names that templates see of the row.
    context: Context,
}

impl Row {
    pub fn new(sample: Sample, systems: &Systems) -> Self {
        let sample = Arc::new(sample);
        let shown = systems.privacy.row(&sample).map_or_else(|| sample.clone(), Arc::new);
        let digests = RowDigests::new(sample.clone(), systems.reads.len());
        let context = Context::of(Arc::new(RowNames { sample: sample.clone(), reads: systems.names.clone() }));
        Self { sample, shown, digests, context }
    }
}

/// The names by which templates read a row.
struct RowNames {
    sample: Arc<Sample>,
    /// Every name that a step reads.
    reads: Arc<[String]>,
}

impl RowNames {
    fn role(&self, name: &str) -> Option<&Value> {
        match name {
            "input" => self.sample.input.as_ref(),
            "reference" => self.sample.reference.as_ref(),
            _ => None,
        }
    }
}

impl Source for RowNames {
    fn text(&self, path: &[Box<str>]) -> Option<&str> {
        let (name, rest) = path.split_first()?;
        let (value, within) = match (&**name, rest.split_first()) {
            ("sample", Some((column, within))) => match self.sample.columns.get(&**column) {
                None if **column == *"id" && within.is_empty() => return Some(&self.sample.id),
                value => (value?, within),
            },
            (role, _) => (self.role(role)?, rest),
        };
        within.iter().try_fold(value, |value, name| value.get(&**name))?.as_str()
    }

    fn has(&self, name: &str) -> bool {
        ["sample", "input", "reference"].contains(&name)
    }

    fn context(&self) -> Context {
        let role = |name| self.role(name).filter(|_| is_read(name, &self.reads)).unwrap_or(&Value::Null);
        Context::new()
            .with_read("sample", &columns_with_id(&self.sample), &self.reads)
            .with_json("input", role("input"))
            .with_json("reference", role("reference"))
    }
}

/// The columns of a row, including its id.
fn columns_with_id(sample: &Sample) -> Cow<'_, Map<String, Value>> {
    if sample.columns.contains_key("id") {
        return Cow::Borrowed(&sample.columns);
    }
    let mut columns = sample.columns.clone();
    columns.insert("id".to_owned(), Value::from(&*sample.id));
    Cow::Owned(columns)
}

/// Returns whether any of the names is this one or a part of it.
fn is_read(name: &str, reads: &[String]) -> bool {
    reads.iter().any(|read| read.split(['.', '[']).next() == Some(name))
}

/// The input of a system's steps from a row.
pub(crate) fn step_input(row: &Row, system: &ReadySystem, output: Option<&Value>) -> StepInput {
    let context = row.context.over(&system.context);
    let context = output.into_iter().fold(context, |context, output| context.with_json("output", output));
    StepInput { context, sample: row.sample.clone(), model: system.model.clone(), conversation: "".into(), trial: 0 }
}

#[cfg(test)]
mod tests {
    use karat_text::template::Template;
    use serde_json::json;

    use super::*;

    /// A text read from the row equals the one that templates see.
    #[test]
    fn texts_are_the_same_without_conversion() {
        let columns = json!({"question": "Why?", "meta": {"topic": "sea", "n": 1}, "tags": ["a"]});
        let Value::Object(columns) = columns else { panic!("columns are an object") };
        let sample = Sample {
            row: 0,
            id: "s1".into(),
            input: Some("Why?".into()),
            reference: None,
            cluster: None,
            date: None,
            columns,
            metadata: Map::new(),
            only: None,
        };
        let texts = ["sample.question", "sample.meta.topic", "sample.id", "input"];
        let others = ["sample", "sample.meta", "sample.meta.n", "sample.tags", "reference"];
        let errors = ["sample.none", "sample.meta.none", "sample.question.length"];
        let all = texts.iter().chain(&others).chain(&errors);
        let row =
            Arc::new(RowNames { sample: Arc::new(sample), reads: all.clone().map(|it| (*it).to_owned()).collect() });
        let (plain, converted) = (Context::of(row.clone()), row.context());
        for name in all {
            let template = Template::compile(&format!("{{{{ {name} }}}}!")).unwrap();
            assert_eq!(template.render(&plain), template.render(&converted), "{name}");
            let path: Vec<Box<str>> = name.split('.').map(Box::from).collect();
            assert_eq!(row.text(&path).is_some(), texts.contains(name), "{name}");
        }
    }
}
