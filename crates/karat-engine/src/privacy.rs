//! What is kept of content: the one place that blacks it out before it is stored or shown to a judge.
//!
//! The model under test gets the row as it is. What it answers is blacked out before it is parsed, so live and resumed
//! runs read the same; scorers and judges get the row blacked out too, so that both sides of a comparison are alike.

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

/// How content is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Privacy {
    redactor: Option<Redactor>,
    drops_content: bool,
    capture: Capture,
    /// Stages and models by the suite's own names.
    known: Arc<BTreeSet<String>>,
}

impl Privacy {
    pub fn of(plan: &PlanHeader) -> Result<Self, EngineError> {
        let spec = &plan.privacy;
        let redactor = Redactor::of(spec).map_err(|(name, problem)| {
            EngineError::Plan(format!("the pattern `{name}` of `privacy` is no regular expression: {problem}"))
        })?;
        let meters = plan.variants.iter().flat_map(|variant| &variant.steps).filter_map(|step| step.meter.as_ref());
        let known = meters.flat_map(|meter| meter.latency_ms.keys().chain(meter.prices.keys())).cloned().collect();
        Ok(Self { redactor, drops_content: !spec.keep_content, capture: plan.run.capture, known: Arc::new(known) })
    }

    /// Whether outputs may be stored, and so be taken over by others.
    pub fn keeps_content(&self) -> bool {
        !self.drops_content && self.capture != Capture::Hash
    }

    /// Whether rules say what is blacked out.
    pub fn has_rules(&self) -> bool {
        self.redactor.is_some()
    }

    /// Whether the words of a call may be written down.
    pub fn keeps_words(&self) -> bool {
        !self.drops_content
    }

    /// A body; the same bytes, shared, where nothing is found.
    pub fn body(&self, bytes: Bytes) -> Bytes {
        self.redactor.as_ref().and_then(|redactor| redactor.body(&bytes)).map_or(bytes, Bytes::from)
    }

    /// A message.
    pub fn text(&self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => redactor.text(&text).into_owned(),
            None => text,
        }
    }

    /// An error: it may quote what is no value of an output, such as the names of members.
    pub fn error(&self, error: &CellError) -> CellError {
        CellError { message: self.text(error.message.clone()), code: error.code.clone() }
    }

    /// An output.
    pub fn output(&self, mut output: Value) -> Value {
        if let Some(redactor) = &self.redactor {
            redactor.value(&mut output);
        }
        output
    }

    /// The row as scorers, judges and reports get it; `None` when it is the row itself.
    pub fn row(&self, sample: &Sample) -> Option<Sample> {
        let redactor = self.redactor.as_ref()?;
        let mut row = sample.clone();
        let columns = row.columns.values_mut().chain(row.metadata.values_mut());
        columns.chain(row.input.iter_mut()).chain(row.reference.iter_mut()).for_each(|value| redactor.value(value));
        Some(row)
    }

    /// A call as it is stored.
    pub fn call(&self, record: CallRecord) -> CallRecord {
        if self.drops_content {
            let error =
                record.error.map(|error| CallError { message: unsaid(error.code.as_str(), error.message), ..error });
            return CallRecord { request: Bytes::new(), response: Bytes::new(), error, ..record };
        }
        match self.capture {
            Capture::Full => record,
            Capture::Responses => CallRecord { request: hashed(&record.request), ..record },
            Capture::Hash => {
                CallRecord { request: hashed(&record.request), response: hashed(&record.response), ..record }
            }
        }
    }

    /// A cell as it is stored; whether its output was found in the dataset, so that it is there still.
    pub fn cell(&self, record: Arc<CellRecord>, is_found: bool) -> Arc<CellRecord> {
        let drops = self.drops_content || self.capture == Capture::Hash;
        if drops || is_found && !self.capture.is_full() {
            Arc::new(CellRecord { output: None, ..Arc::unwrap_or_clone(self.told(record)) })
        } else {
            record
        }
    }

    /// A cell as it is told: with its output, which its scorers and judges read, but without words about its content.
    pub fn told(&self, record: Arc<CellRecord>) -> Arc<CellRecord> {
        if !self.drops_content {
            return record;
        }
        let record = Arc::unwrap_or_clone(record);
        Arc::new(CellRecord {
            scores: bare_scores(record.scores),
            error: record.error.map(bare_error),
            facts: bare_facts(record.facts, &self.known),
            ..record
        })
    }

    /// A judgment as it is stored.
    pub fn judgment(&self, record: JudgmentRecord) -> JudgmentRecord {
        if self.drops_content {
            return JudgmentRecord {
                reasoning: String::new(),
                diagnostics: Map::new(),
                scores: bare_scores(record.scores),
                error: record.error.map(bare_error),
                answered: words(record.answered),
                ..record
            };
        }
        record
    }
}

/// What is kept of bytes that are not: their hash, as JSON; nothing of nothing.
fn hashed(bytes: &Bytes) -> Bytes {
    if bytes.is_empty() {
        return Bytes::new();
    }
    let hash = KeyBuilder::new("karat/captured/1").bytes(bytes).finish();
    serde_json::json!({ "hash": hash, "bytes": bytes.len() }).to_string().into()
}

/// Scores without their reasons, which quote answers and gold; why a metric does not apply stays where a scorer says it in
/// words of its own.
fn bare_scores(scores: Vec<(u16, Score)>) -> Vec<(u16, Score)> {
    let bare = |score: Score| match score {
        Score::Value { .. } => score.with_reason(None),
        Score::NotApplicable { na: Cow::Borrowed(why) } => Score::not_applicable(why),
        Score::NotApplicable { .. } => Score::not_applicable(NOT_KEPT),
        Score::Unscored { .. } => Score::unscored(NOT_KEPT),
    };
    scores.into_iter().map(|(metric, score)| (metric, bare(score))).collect()
}

/// Facts in the suite's own names, and a version that is a single word: an answer may write anything there.
fn bare_facts(facts: ResponseFacts, known: &BTreeSet<String>) -> ResponseFacts {
    let mut models = facts.models;
    models.retain(|part, model| known.contains(part) && known.contains(model));
    let version = facts.version.filter(|version| !version.contains(char::is_whitespace));
    ResponseFacts { models, version, answered: words(facts.answered), ..facts }
}

/// Names that are a single word.
fn words(mut answered: Vec<ServedName>) -> Vec<ServedName> {
    answered.retain(|it| !it.name().contains(char::is_whitespace));
    answered
}

fn bare_error(error: CellError) -> CellError {
    CellError { message: unsaid(&error.code, error.message), code: error.code }
}

/// A message about a connection; any other may quote content and is not kept.
fn unsaid(code: &str, message: String) -> String {
    let harmless = ["connect", "timeout", "cell_timeout", "cut", "too_large", "redirect", "cancelled", "budget"];
    if harmless.contains(&code) { message } else { NOT_KEPT.to_owned() }
}

/// What stands for words that may quote content.
const NOT_KEPT: &str = "not kept: the suite keeps no content";

#[cfg(test)]
mod tests {
    use super::*;

    /// RG-15: words of a scorer's own stay, quotations go.
    #[test]
    fn reasons_stay_that_quote_nothing() {
        let said = |score: Score| bare_scores(vec![(0, score)]).remove(0).1;
        assert_eq!(said(Score::not_applicable("no reference")), Score::not_applicable("no reference"));
        assert_eq!(said(Score::not_applicable(format!("{} is no number", "Ada"))), Score::not_applicable(NOT_KEPT));
        assert_eq!(said(Score::value_because(0.0, "the answer says Ada")), Score::value(0.0));
        assert_eq!(said(Score::unscored("Ada")), Score::unscored(NOT_KEPT));
    }

    /// RG-15: what an answer says of itself in words of its own goes.
    #[test]
    fn facts_stay_in_the_names_of_the_suite() {
        let pairs = [("llm", "gpt-5"), ("Ada Lind", "gpt-5"), ("retrieval", "as Ada said")];
        let facts = ResponseFacts {
            models: pairs.map(|(part, model)| (part.to_owned(), model.to_owned())).into(),
            version: Some("as Ada said".to_owned()),
            ..ResponseFacts::default()
        };
        let known = ["llm", "retrieval", "gpt-5"].map(str::to_owned).into();
        let bare = bare_facts(facts, &known);
        assert_eq!((bare.models, bare.version), ([("llm".to_owned(), "gpt-5".to_owned())].into(), None));
    }

    /// BR-08: what is kept is the judgment, of the document a hash.
    #[test]
    fn what_is_not_kept_has_a_hash() {
        let one = hashed(&Bytes::from_static(b"the document"));
        assert_eq!(one, hashed(&Bytes::from_static(b"the document")));
        assert_ne!(one, hashed(&Bytes::from_static(b"the documents")));
        assert!(!String::from_utf8_lossy(&one).contains("document"));
        assert!(hashed(&Bytes::new()).is_empty());
    }
}
