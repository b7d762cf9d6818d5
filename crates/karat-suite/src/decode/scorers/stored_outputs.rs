//! Paths into outputs, checked against the outputs of the suite's last run (D10, D60): where no step declares its fields,
//! only these show a misspelt path before calls are paid for.

use karat_text::ladder::{self, Expectation};
use karat_text::path::Path;
use serde_json::Value;

use crate::decode::Decoder;
use crate::diagnostics::nearest::nearest;
use crate::overrides::StoredOutputs;
use crate::syntax::node::Place;

/// Number of fields that a hint lists.
const LISTED: usize = 12;

/// Outputs of the last run that paths can lead into.
pub(crate) struct OutputSamples {
    run: String,
    documents: Vec<Value>,
}

impl OutputSamples {
    /// The outputs as paths see them: of a text, the JSON that it is.
    pub fn of(stored: StoredOutputs) -> Self {
        let document = |output: Value| match output {
            Value::String(text) => ladder::read(&text, Expectation::Any).ok().map(|(value, _)| value),
            output => Some(output),
        };
        let documents = stored.outputs.into_iter().filter_map(document);
        Self { run: stored.run, documents: documents.filter(|it| it.is_object() || it.is_array()).collect() }
    }
}

impl Decoder<'_> {
    /// Warns of a path that leads to nothing in any output of the last run. `name` is what the suite says, `written` says a
    /// path in the same form.
    pub(super) fn check_stored_path(
        &mut self,
        path: &str,
        name: &str,
        written: impl Fn(&Path) -> String,
        place: &Place,
    ) {
        let (Some(stored), Ok(path)) = (&self.stored_outputs, Path::parse(path)) else { return };
        let documents = &stored.documents;
        if documents.is_empty() || documents.iter().any(|document| path.reaches(document)) {
            return;
        }
        let message =
            format!("`{name}` leads to nothing in the {} outputs read of run {}", documents.len(), stored.run);
        let (missing, others) = path.alternatives(documents).unwrap_or_default();
        let near = nearest(missing, others.iter().map(|(name, _)| name.as_str()));
        let hint = match near.and_then(|near| others.iter().find(|(name, _)| name == near)) {
            Some((_, path)) => format!("did you mean `{}`?", written(path)),
            None if others.is_empty() => "`karat show --outputs all` shows the outputs".to_owned(),
            None => {
                let names: Vec<&str> = others.iter().take(LISTED).map(|(name, _)| name.as_str()).collect();
                let more = if others.len() > LISTED { ", …" } else { "" };
                format!("the outputs have: {}{more}", names.join(", "))
            }
        };
        self.problems.warn(place, message).hint(hint);
    }
}
