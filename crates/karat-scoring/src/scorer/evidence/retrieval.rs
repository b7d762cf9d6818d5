//! Metrics of retrieval: ranked lists and quotes.
//!
//! A ranking is a list of ids, or of objects with one; an object of such lists has several **spaces**. `space` picks one;
//! without it a cutoff takes the top k of each, and the relevant documents of all spaces count. Beside other spaces one that
//! is absent or null is empty; alone it is unscored. A document without an id takes its place and is never relevant.

use karat_text::path::Path;
use karat_types::Score;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::metrics::edit;
use crate::metrics::retrieval::{Cutoff, Gain, Judged, Relevance, top};
use crate::metrics::tokenize::tokens;
use crate::scorer::Origin;
use crate::scorer::metric::{
    Metric, MetricInput, Needs, Options, ReferenceForm, Structure, applies_if_scored, is_blank, kept_as_text,
};
use crate::scorer::output::text::{test, text};

/// Options shared by the ranking metrics.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
struct Ranked {
    /// The number of places that count; all of them without it.
    k: Option<u32>,
    /// The space; the union of all without it.
    space: Option<String>,
    /// Path of the id within a document that is an object; `id`, `chunk_id`, `doc_id` or `table_id` without it.
    by: Option<String>,
}

/// Names of fields that hold a document's id, the most specific first.
const IDS: [&str; 4] = ["id", "chunk_id", "doc_id", "table_id"];

/// Names of fields that hold a grade of relevance.
const GRADES: [&str; 4] = ["grade", "relevance", "gain", "rel"];

/// The relevance of a document: 1 where nothing states it, `None` where it is not a number.
fn grade(document: &Value) -> Option<f64> {
    GRADES.iter().find_map(|key| document.get(key)).map_or(Some(1.0), Value::as_f64)
}

/// A figure of a ranking.
struct RankingMetric {
    cutoff: Cutoff,
    space: Option<String>,
    by: Vec<Path>,
    figure: RankingFigure,
}

type RankingFigure = Box<dyn Fn(&Judged, Cutoff) -> f64 + Send + Sync>;

impl Ranked {
    fn metric(
        self,
        figure: impl Fn(&Judged, Cutoff) -> f64 + Send + Sync + 'static,
    ) -> Result<Box<dyn Metric>, String> {
        if self.k == Some(0) {
            return Err("`k` is 0, but at least one place must count".to_owned());
        }
        let by = match &self.by {
            Some(by) => Path::parse(by).map(|path| vec![path]),
            None => IDS.iter().map(|name| Path::parse(name)).collect(),
        };
        let by = by.map_err(|error| error.to_string())?;
        let cutoff = self.k.and_then(|k| top(k as usize));
        Ok(Box::new(RankingMetric { cutoff, space: self.space, by, figure: Box::new(figure) }))
    }
}

impl RankingMetric {
    /// The spaces of a value: the one that is wanted, all of an object, or the one list.
    fn spaces<'a>(&self, value: &'a Value) -> Vec<(&'a str, &'a Value)> {
        match value {
            Value::Object(spaces) => {
                let wanted = |name: &str| self.space.as_ref().is_none_or(|space| space == name);
                let spaces = spaces.iter().map(|(name, list)| (name.as_str(), list));
                spaces.filter(|(name, _)| wanted(name)).collect()
            }
            list => vec![("", list)],
        }
    }

    /// The spaces of a reference, which may also be one object of grades by id.
    fn relevant_spaces<'a>(&self, reference: &'a Value) -> Vec<(&'a str, &'a Value)> {
        let is_space = |value: &Value| value.is_array() || value.is_object() || value.is_null();
        match reference {
            Value::Object(members) if self.space.is_none() && !members.values().all(is_space) => vec![("", reference)],
            reference => self.spaces(reference),
        }
    }

    fn id(&self, document: &Value) -> Option<String> {
        let id = match document {
            Value::Object(_) => self.by.iter().find_map(|path| path.first(document).filter(|id| !id.is_null()))?,
            Value::Null | Value::Array(_) => return None,
            id => id,
        };
        Some(text(id).into_owned()).filter(|id| !id.is_empty())
    }

    /// The ids of a list in order. A document without an id is a place of the empty id, which nothing relevant has.
    fn ranking(&self, list: &Value) -> Option<Vec<String>> {
        match list {
            Value::Null => Some(Vec::new()),
            list => Some(list.as_array()?.iter().map(|document| self.id(document).unwrap_or_default()).collect()),
        }
    }

    /// Relevant documents: a list of ids (of objects with a grade, where some matter more), or grades by id.
    fn relevance(&self, list: &Value) -> Result<Relevance, String> {
        let unreadable = || "the reference is not a list of relevant documents".to_owned();
        let grades: Vec<(String, f64)> = match list {
            Value::Object(grades) => {
                let grades = grades.iter().map(|(id, grade)| Some((id.clone(), grade.as_f64()?)));
                grades.collect::<Option<_>>().ok_or_else(unreadable)?
            }
            Value::Array(documents) => {
                let documents = documents.iter().filter(|document| !is_blank(document));
                let documents = documents.map(|document| Some((self.id(document)?, grade(document)?)));
                documents.collect::<Option<_>>().ok_or_else(unreadable)?
            }
            Value::Null => Vec::new(),
            single => vec![(self.id(single).ok_or_else(unreadable)?, 1.0)],
        };
        Relevance::graded_gains(grades).map_err(|error| error.to_string())
    }
}

impl RankingMetric {
    fn nothing_found(&self) -> String {
        match self.cutoff {
            Some(cutoff) => format!("no relevant document is among the first {cutoff} of its space"),
            None => "no relevant document was found".to_owned(),
        }
    }
}

/// True if a text is not a document that was found, and a part of it between commas, semicolons, bars or line breaks is.
fn is_joined_list(text: &str, found: &[String]) -> bool {
    let mut parts = text.split([',', ';', '|', '\n']).map(str::trim).filter(|part| *part != text);
    !found.iter().any(|id| id == text) && parts.any(|part| found.iter().any(|id| id == part))
}

/// True for a ranking of no space, which says that nothing was returned.
fn is_empty_object(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.is_empty())
}

impl Metric for RankingMetric {
    fn structure(&self) -> Structure {
        Structure::Both
    }

    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let found = self.spaces(given.output);
        let relevant = self.relevant_spaces(given.reference).into_iter();
        let relevant =
            relevant.map(|(space, list)| Ok((space, self.relevance(list)?))).collect::<Result<Vec<_>, String>>();
        let relevant = match relevant {
            Ok(relevant) if relevant.iter().all(|(_, relevance)| relevance.is_empty()) => {
                return Score::not_applicable("no document is relevant");
            }
            Ok(relevant) => relevant,
            Err(error) => return Score::unscored(error),
        };
        if found.iter().all(|(_, list)| list.is_null()) && !is_empty_object(given.output) {
            return Score::unscored(match &self.space {
                Some(space) if !given.output.is_null() => format!("the output has no space `{space}`"),
                _ => "the output leaves out its documents".to_owned(),
            });
        }
        let mut judged: Vec<(Vec<String>, Relevance)> = Vec::new();
        let mut unreadable = false;
        for (space, relevance) in relevant {
            let list = found.iter().find(|(name, _)| *name == space || name.is_empty()).map(|(_, list)| *list);
            let ranking = list.map_or(Some(Vec::new()), |list| self.ranking(list));
            unreadable |= ranking.is_none();
            judged.push((ranking.unwrap_or_default(), relevance));
        }
        if unreadable && given.cell.origin != Origin::Model {
            return Score::unscored("the output is not a list of documents in every space");
        }
        if let Some(text) = given.reference.as_str()
            && judged.iter().any(|(found, _)| is_joined_list(text, found))
        {
            return Score::unscored("the reference is one text with several documents; keep it as a JSON list");
        }
        let union = Judged::union(judged.iter().map(|(ranking, relevance)| (ranking.as_slice(), relevance)));
        match union.map(|judged| (self.figure)(&judged, self.cutoff)) {
            Some(figure) if unreadable => {
                Score::value_because(figure, "the output is not a list of documents in every space")
            }
            Some(0.0) => Score::value_because(0.0, self.nothing_found()),
            Some(figure) => Score::value(figure),
            None => Score::not_applicable("no document is relevant"),
        }
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

macro_rules! ranked {
    ($($(#[$doc:meta])* $name:ident => $figure:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Deserialize, JsonSchema, Default)]
        #[serde(transparent)]
        pub(crate) struct $name(Ranked);

        impl Options for $name {
            const NEEDS: Needs = Needs::Reference;

            fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
                self.0.metric($figure)
            }
        }
    )*};
}

ranked! {
    /// Options of `hit_rate`.
    HitRate => Judged::hit_rate;
    /// Options of `recall`.
    Recall => Judged::recall;
    /// Options of `precision`.
    Precision => Judged::precision;
    /// Options of `mrr`.
    Mrr => Judged::reciprocal_rank;
    /// Options of `map`.
    Map => Judged::average_precision;
}

/// Options of `ndcg`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ndcg {
    /// The number of places that count; all of them without it.
    k: Option<u32>,
    /// The space; the union of all without it.
    space: Option<String>,
    /// Path of the id within a document that is an object; `id`, `chunk_id`, `doc_id` or `table_id` without it.
    by: Option<String>,
    /// The gain of a grade.
    gain: GainOption,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum GainOption {
    #[default]
    Linear,
    Exponential,
}

impl Options for Ndcg {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let gain = match self.gain {
            GainOption::Linear => Gain::Linear,
            GainOption::Exponential => Gain::Exponential,
        };
        let ranked = Ranked { k: self.k, space: self.space, by: self.by };
        ranked.metric(move |judged, cutoff| judged.ndcg(cutoff, gain))
    }
}

/// Options of `quote_match`.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QuoteMatch {
    /// Similarity in (0, 1] from which a passage counts as the quote; 1 = the words of the quote.
    similar: Option<f64>,
}

impl Options for QuoteMatch {
    const NEEDS: Needs = Needs::Reference;

    fn metric(self, _: Option<&Value>) -> Result<Box<dyn Metric>, String> {
        let threshold = self.similar.unwrap_or(1.0);
        if !(threshold > 0.0 && threshold <= 1.0) {
            return Err(format!("`similar` is {threshold}, but must be above 0 and at most 1"));
        }
        Ok(Box::new(Quote { threshold }))
    }
}

struct Quote {
    threshold: f64,
}

impl Metric for Quote {
    fn applies(&self, given: &MetricInput<'_>) -> Result<(), Score> {
        applies_if_scored(self.score(given))
    }

    fn score(&self, given: &MetricInput<'_>) -> Score {
        let object = kept_as_text(given.reference).ok().flatten().filter(Value::is_object);
        let reference = object.as_ref().unwrap_or(given.reference);
        let quote = reference.get("text").map_or_else(|| text(reference), text);
        let (wanted, said) = (words(&quote), words(&text(given.output)));
        if wanted.is_empty() {
            return Score::not_applicable("the quote is empty");
        }
        let quote = wanted.join(" ");
        let passages = said.windows(wanted.len().min(said.len()).max(1));
        if self.threshold >= 1.0 {
            return test(passages.into_iter().any(|passage| passage == wanted));
        }
        let likeness = passages.map(|passage| edit::indel_ratio(&passage.join(" "), &quote)).fold(0.0, f64::max);
        let value = if likeness >= self.threshold { 1.0 } else { 0.0 };
        Score::value_because(value, format!("the likest passage has similarity {likeness:.3}"))
    }

    fn reference_form(&self) -> ReferenceForm {
        ReferenceForm::Alternatives
    }
}

/// The words of a text without case and punctuation; of a script without spaces, its letters.
fn words(text: &str) -> Vec<String> {
    let bare =
        |word: &str| word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let cut = |run: &str| match run.contains(tokens::is_unspaced) {
        true => tokens::spaced_words(run).split(' ').map(bare).collect(),
        false => vec![bare(run)],
    };
    text.split_whitespace().flat_map(cut).filter(|word| !word.is_empty()).collect()
}
