//! Redacts and drops content before it is stored or shown to a judge. This is the one place that does so.
//!
//! The model under test gets the row as it is. Its answers are redacted before they are parsed, so live and resumed
//! runs read the same. Scorers and judges get the redacted row, so that both sides of a comparison are alike.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use karat_text::redact::Redactor;
use karat_types::{
    CallError, CallRecord, Capture, CellError, CellRecord, JudgmentRecord, KeyBuilder, PlanHeader, ResponseFacts,
    Sample, Score, ServedName,
};
use serde_json::{Map, Value};

use crate::EngineError;

/// The rules by which content is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Privacy {
    redactor: Option<Redactor>,
    drops_content: bool,
    capture: Capture,
    /// Names of stages and models that the suite itself uses.
    known: Arc<BTreeSet<String>>,
}

impl Privacy {
    pub fn of(plan: &PlanHeader) -> Result<Self, EngineError> {
        let spec = &plan.privacy;
        let redactor = Redactor::of(spec).map_err(|(name, problem)| {
            EngineError::Plan(format!("the pattern `{name}` of `privacy` is not a regular expression: {problem}"))
        })?;
        let meters = plan.variants.iter().flat_map(|variant| &variant.steps).filter_map(|step| step.meter.as_ref());
        let known = meters.flat_map(|meter| meter.latency_ms.keys().chain(meter.prices.keys())).cloned().collect();
        Ok(Self { redactor, drops_content: !spec.keep_content, capture: plan.run.capture, known: Arc::new(known) })
    }

    /// Returns whether outputs may be stored, and so be reused by others.
    pub fn keeps_content(&self) -> bool {
        !self.drops_content && self.capture != Capture::Hash
    }

    /// Returns whether the text of requests may be stored, and so that of rows.
    pub fn keeps_requests(&self) -> bool {
        !self.drops_content && self.capture.is_full()
    }

    /// Returns whether there are redaction rules.
    pub fn has_rules(&self) -> bool {
        self.redactor.is_some()
    }

    /// Returns whether the text of a call may be written down.
    pub fn keeps_words(&self) -> bool {
        !self.drops_content
    }

    /// A redacted body; the same bytes if nothing is found.
    pub fn body(&self, bytes: Bytes) -> Bytes {
        self.redactor.as_ref().and_then(|redactor| redactor.body(&bytes)).map_or(bytes, Bytes::from)
    }

    /// A redacted message.
    pub fn text(&self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => redactor.text(&text).into_owned(),
            None => text,
        }
    }

    /// A redacted error: it may quote text that is not a value of an output, such as the names of members.
    pub fn error(&self, error: &CellError) -> CellError {
        CellError { message: self.text(error.message.clone()), code: error.code.clone() }
    }

    /// A redacted output.
    pub fn output(&self, mut output: Value) -> Value {
        if let Some(redactor) = &self.redactor {
            redactor.value(&mut output);
        }
        output
    }

    /// The row for scorers, judges and reports; `None` when it is unchanged.
    pub fn row(&self, sample: &Sample) -> Option<Sample> {
        let redactor = self.redactor.as_ref()?;
        let mut row = sample.clone();
        let columns = row.columns.values_mut().chain(row.metadata.values_mut());
        columns.chain(row.input.iter_mut()).chain(row.reference.iter_mut()).for_each(|value| redactor.value(value));
        Some(row)
    }

    /// The call to store.
    pub fn call(&self, record: CallRecord) -> CallRecord {
        if self.drops_content {
            let error = record
                .error
                .map(|error| CallError { message: strip_message(error.code.as_str(), error.message), ..error });
            return CallRecord { request: Bytes::new(), response: Bytes::new(), error, ..record };
        }
        match self.capture {
            Capture::Full => record,
            Capture::Responses => CallRecord { request: hash_record(&record.request), ..record },
            Capture::Hash => {
                CallRecord { request: hash_record(&record.request), response: hash_record(&record.response), ..record }
            }
        }
    }

    /// Returns whether `stored` is what [`Privacy::call`] keeps of a request with this body, by whichever capture.
    pub fn is_stored_request(&self, stored: &Bytes, body: Bytes) -> bool {
        let body = self.body(body);
        *stored == body || *stored == hash_record(&body)
    }

    /// The cell to store. `is_found`: its output was read from the dataset, and can be read there again.
    pub fn cell(&self, record: Arc<CellRecord>, is_found: bool) -> Arc<CellRecord> {
        let drops = self.drops_content || self.capture == Capture::Hash;
        if drops || is_found && !self.capture.is_full() {
            Arc::new(CellRecord { output: None, ..Arc::unwrap_or_clone(self.as_reported(record)) })
        } else {
            record
        }
    }

    /// The cell for observers: with its output, which scorers and judges read, but without text about its content.
    pub fn as_reported(&self, record: Arc<CellRecord>) -> Arc<CellRecord> {
        if !self.drops_content {
            return record;
        }
        let record = Arc::unwrap_or_clone(record);
        Arc::new(CellRecord {
            scores: strip_scores(record.scores),
            error: record.error.map(strip_error),
            facts: strip_facts(record.facts, &self.known),
            ..record
        })
    }

    /// The judgment to store.
    pub fn judgment(&self, record: JudgmentRecord) -> JudgmentRecord {
        if self.drops_content {
            return JudgmentRecord {
                reasoning: String::new(),
                diagnostics: Map::new(),
                scores: strip_scores(record.scores),
                error: record.error.map(strip_error),
                answered: single_words(record.answered),
                ..record
            };
        }
        record
    }
}

/// A hash as JSON in the place of bytes that are not kept; empty for no bytes.
fn hash_record(bytes: &Bytes) -> Bytes {
    if bytes.is_empty() {
        return Bytes::new();
    }
    let hash = KeyBuilder::new("karat/captured/1").bytes(bytes).finish();
    serde_json::json!({ "hash": hash, "bytes": bytes.len() }).to_string().into()
}

/// Scores without their reasons, which quote answers and gold. The reason why a metric does not apply stays where it is
/// a fixed text of the scorer.
fn strip_scores(scores: Vec<(u16, Score)>) -> Vec<(u16, Score)> {
    let bare = |score: Score| match score {
        Score::Value { .. } => score.with_reason(None),
        Score::NotApplicable { na: Cow::Borrowed(why) } => Score::not_applicable(why),
        Score::NotApplicable { .. } => Score::not_applicable(NOT_KEPT),
        Score::Unscored { .. } => Score::unscored(NOT_KEPT),
    };
    scores.into_iter().map(|(metric, score)| (metric, bare(score))).collect()
}

/// Facts in the suite's own names, and a version that is a single word: an answer may write anything there.
fn strip_facts(facts: ResponseFacts, known: &BTreeSet<String>) -> ResponseFacts {
    let mut models = facts.models;
    models.retain(|part, model| known.contains(part) && known.contains(model));
    let version = facts.version.filter(|version| !version.contains(char::is_whitespace));
    ResponseFacts { models, version, answered: single_words(facts.answered), ..facts }
}

/// Names that are a single word.
fn single_words(mut answered: Vec<ServedName>) -> Vec<ServedName> {
    answered.retain(|it| !it.name().contains(char::is_whitespace));
    answered
}

fn strip_error(error: CellError) -> CellError {
    CellError { message: strip_message(&error.code, error.message), code: error.code }
}

/// A message about a connection; any other message may quote content and is replaced.
fn strip_message(code: &str, message: String) -> String {
    let harmless = ["connect", "timeout", "cell_timeout", "cut", "too_large", "redirect", "cancelled", "budget"];
    if harmless.contains(&code) { message } else { NOT_KEPT.to_owned() }
}

/// The text in the place of text that may quote content.
const NOT_KEPT: &str = "not kept: the suite keeps no content";

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-15: fixed texts of a scorer are kept, quotations are dropped.
    #[test]
    fn reasons_that_quote_nothing_are_kept() {
        let said = |score: Score| strip_scores(vec![(0, score)]).remove(0).1;
        assert_eq!(said(Score::not_applicable("no reference")), Score::not_applicable("no reference"));
        assert_eq!(said(Score::not_applicable(format!("{} is not a number", "Ada"))), Score::not_applicable(NOT_KEPT));
        assert_eq!(said(Score::value_because(0.0, "the answer says Ada")), Score::value(0.0));
        assert_eq!(said(Score::unscored("Ada")), Score::unscored(NOT_KEPT));
    }

    /// RG-15: text that an answer reports about itself is dropped.
    #[test]
    fn facts_in_suite_names_are_kept() {
        let pairs = [("llm", "gpt-5"), ("Ada Lind", "gpt-5"), ("retrieval", "as Ada said")];
        let facts = ResponseFacts {
            models: pairs.map(|(part, model)| (part.to_owned(), model.to_owned())).into(),
            version: Some("as Ada said".to_owned()),
            ..ResponseFacts::default()
        };
        let known = ["llm", "retrieval", "gpt-5"].map(str::to_owned).into();
        let bare = strip_facts(facts, &known);
        assert_eq!((bare.models, bare.version), ([("llm".to_owned(), "gpt-5".to_owned())].into(), None));
    }

    /// BR-08: the judgment is kept; of the document only a hash.
    #[test]
    fn dropped_bytes_leave_a_hash() {
        let one = hash_record(&Bytes::from_static(b"the document"));
        assert_eq!(one, hash_record(&Bytes::from_static(b"the document")));
        assert_ne!(one, hash_record(&Bytes::from_static(b"the documents")));
        assert!(!String::from_utf8_lossy(&one).contains("document"));
        assert!(hash_record(&Bytes::new()).is_empty());
    }
}
