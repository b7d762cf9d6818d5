//! The catalog of what is registered beyond the language's own grammar: metrics, providers, analyses, readers,
//! resolvers. The caller composes it, so this crate does not depend on theirs.

use std::collections::BTreeMap;

use karat_types::MetricTraits;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::dataset::columns::resolver::ResolverEntry;
use crate::diagnostics::Problems;
use crate::diagnostics::nearest::nearest;
use crate::grammar::Kind;
use crate::syntax::node::Node;
use crate::syntax::yaml;

/// Names that other tools have for metrics, and what stands for them here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("accuracy", "`exact`, or `label` for categories"),
    ("equals", "`exact`"),
    ("exact_match", "`exact`"),
    ("match", "`exact`"),
    ("includes", "`contains`"),
    ("icontains", "`contains` with `with: { ignore_case: true }`"),
    ("contains_any", "`contains` with `with: { need: any }`"),
    ("contains_all", "`contains` with a list"),
    ("starts_with", "`exact` with `with: { prefix: true }`"),
    ("llm_rubric", "`rubric: { ask: … }`, in the place of `metric`"),
    ("model_graded_qa", "`rubric: { ask: … }`, in the place of `metric`"),
    ("model_graded_closedqa", "`rubric: { ask: … }`, in the place of `metric`"),
    ("g_eval", "`rubric: { ask: … }`, in the place of `metric`"),
    ("llm_judge", "`rubric: { ask: … }`, in the place of `metric`"),
    ("judge", "`rubric: { ask: … }`, in the place of `metric`"),
    ("factuality", "`rubric: { ask: … }`, in the place of `metric`"),
    ("faithfulness", "`rubric: { ask: … }`, in the place of `metric`"),
    ("answer_relevancy", "`rubric: { ask: … }`, in the place of `metric`"),
    ("f1", "`token_f1` for texts, `set_f1` for lists, `label` with `aggregate: f1` for categories"),
    ("f1_score", "`token_f1` for texts, `set_f1` for lists, `label` with `aggregate: f1` for categories"),
    ("similar", "`similarity`"),
    ("semantic_similarity", "`similarity`"),
    ("cosine", "`similarity`"),
    ("bertscore", "`similarity`"),
    ("rouge_l", "`rouge`"),
    ("rouge_n", "`rouge`"),
    ("edit_distance", "`levenshtein`"),
    ("is_json", "`json_schema`"),
    ("contains_json", "`json_schema`"),
    ("javascript", "`command`, a program of your own"),
    ("python", "`command`, a program of your own"),
    ("webhook", "`http`"),
    ("is_valid_function_call", "`valid_calls`"),
    ("mean_reciprocal_rank", "`mrr`"),
    ("context_precision", "`precision`, with the right documents as the reference"),
    ("context_recall", "`recall`, with the right documents as the reference"),
];

/// Returns whether two names differ in nothing but case and punctuation.
fn is_same_name(one: &str, other: &str) -> bool {
    let fold = |name: &str| -> String {
        name.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    fold(one) == fold(other)
}

/// A registered metric, provider, analysis or reader.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entry {
    /// JSON Schema of its `with`. A text property with `"format": "file"` names a file; the plan holds its content. One with
    /// `"format": "embedding_model"` names a model that makes vectors of texts.
    pub options: Value,
    /// Of a metric: its traits.
    pub metric: MetricTraits,
    /// Of a provider: whether its models can be asked for vectors.
    pub makes_embeddings: bool,
    /// Of a provider: the models that a suite may name without an entry.
    pub named_models: NamedModels,
}

/// The models of a provider that need no entry: a suite names them as `PROVIDER:NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NamedModels {
    /// None: only an entry can say what answers.
    #[default]
    None,
    /// None: only an entry can say where the server is.
    NeedAddress,
    /// All; their prices are unknown.
    Billed,
    /// All; they cost nothing.
    Free,
}

/// All that is registered, by kind and name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Metrics.
    pub metrics: BTreeMap<String, Entry>,
    /// Providers.
    pub providers: BTreeMap<String, Entry>,
    /// Analyses.
    pub analyses: BTreeMap<String, Entry>,
    /// Readers of dataset files.
    pub readers: BTreeMap<String, Entry>,
    /// Resolvers of columns.
    pub resolvers: BTreeMap<String, ResolverEntry>,
    /// Ready rubrics: the text of each file.
    pub rubrics: BTreeMap<String, &'static str>,
}

/// A ready rubric in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RubricSummary {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The measured quality, in one line.
    pub about: String,
    /// The shown values that a suite must give.
    pub needs: Vec<String>,
    /// True if every row needs a reference.
    pub needs_reference: bool,
    /// Its dimensions, and its composite where it has one.
    pub scores: Vec<String>,
}

impl RubricSummary {
    /// Reads the file of a rubric.
    ///
    /// # Errors
    /// A text that is not YAML.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let rubric = yaml::value(text)?;
        let written = |key: &str| rubric.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let members = |key: &str| rubric.get(key).and_then(Value::as_object).into_iter().flatten();
        let is_open = |value: &Value| value.get("value").unwrap_or(value).as_str() == Some("");
        let overall = rubric.get("overall").map(|overall| overall.get("id").and_then(Value::as_str));
        let dimensions = members("dimensions").map(|(name, _)| name.clone());
        Ok(Self {
            name: name.to_owned(),
            version: written("version"),
            about: written("about"),
            needs: members("show").filter(|(_, value)| is_open(value)).map(|(name, _)| name.clone()).collect(),
            needs_reference: written("reference") == "required",
            scores: dimensions.chain(overall.map(|id| id.unwrap_or("overall").to_owned())).collect(),
        })
    }
}

impl Entry {
    /// Returns whether a metric with these options counts something instead of giving a share.
    pub(crate) fn is_count(&self, with: &Map<String, Value>) -> bool {
        self.metric.counts_when.is_some_and(|(option, value)| with.get(option).is_some_and(|given| given == value))
    }

    /// Returns whether a metric with these options finds texts by their words.
    pub(crate) fn is_by_words(&self, with: &Map<String, Value>) -> bool {
        self.metric.by_words && with.get("similar").and_then(Value::as_f64).is_some_and(|similar| similar < 1.0)
    }

    /// Returns whether a metric with these options gives scores from 0 to 1, or passes and fails.
    pub(crate) fn is_share(&self, with: &Map<String, Value>) -> bool {
        !self.is_count(with) && (self.metric.verdicts || self.metric.range == Some((0.0, 1.0)))
    }
}

impl Catalog {
    pub(crate) fn members(&self, kind: Kind) -> Option<&BTreeMap<String, Entry>> {
        match kind {
            Kind::Metric => Some(&self.metrics),
            Kind::Provider => Some(&self.providers),
            Kind::Analysis => Some(&self.analyses),
            Kind::Free => None,
        }
    }

    /// The names of a kind.
    pub(crate) fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        self.members(kind).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    pub(crate) fn member(&self, kind: Kind, name: &str) -> Option<&Entry> {
        self.members(kind)?.get(name)
    }

    /// The member that a node names; an unknown or missing one becomes a problem.
    pub(crate) fn find(&self, kind: Kind, node: &Node, problems: &mut Problems) -> Option<&Entry> {
        let name = node.text()?;
        let member = self.member(kind, name);
        if member.is_none() {
            let word = kind.word();
            let known: Vec<&str> = self.names(kind).collect();
            let here = ELSEWHERE.iter().filter(|_| kind == Kind::Metric).find(|(theirs, _)| is_same_name(theirs, name));
            let hint = match (here, nearest(name, known.iter().copied())) {
                (Some((_, ours)), _) => format!("here that is {ours}"),
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("{}: {}", kind.plural(), known.join(", ")),
            };
            problems.error(&node.place, format!("there is no {word} `{name}`")).hint(hint);
        }
        member
    }
}

impl Kind {
    /// The key that names a member beside `with`.
    pub(crate) fn selector(self) -> Option<&'static str> {
        match self {
            Self::Metric => Some("metric"),
            Self::Analysis => Some("analysis"),
            Self::Provider => Some("provider"),
            Self::Free => None,
        }
    }

    /// The kind in words, in the plural.
    fn plural(self) -> &'static str {
        match self {
            Self::Metric => "metrics",
            Self::Analysis => "analyses",
            Self::Provider => "providers",
            Self::Free => "members",
        }
    }

    /// The kind in words.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Metric => "metric",
            Self::Analysis => "analysis",
            Self::Provider => "provider",
            Self::Free => "member",
        }
    }
}
